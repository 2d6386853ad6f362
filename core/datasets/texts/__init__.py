"""Data whose rows are texts: files and tables of them, their words, and the parts that train."""
