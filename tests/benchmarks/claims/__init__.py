"""Simulations behind every interval and every sentence that claims something."""
