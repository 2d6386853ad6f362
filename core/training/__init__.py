"""Trains networks in a process of its own."""
