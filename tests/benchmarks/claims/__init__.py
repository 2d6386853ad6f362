"""Simulated error rates of what Candor claims."""
