"""Views and audits to files: HTML, JSON and CSV."""
