"""The Gamma page."""
