"""Bytes to named arrays and tables: one module a format."""
