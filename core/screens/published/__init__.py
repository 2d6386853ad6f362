"""The Published page: the papers' tables, and runs of one's own beside them."""
