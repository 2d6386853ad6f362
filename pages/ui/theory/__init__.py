"""The Theory page."""
