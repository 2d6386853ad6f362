"""The Reliability page."""
