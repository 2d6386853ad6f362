"""The Runs page: the import and the table."""
