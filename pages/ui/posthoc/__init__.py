"""The Post-hoc page."""
