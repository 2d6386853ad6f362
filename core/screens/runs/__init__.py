"""The first screen: the table of runs."""
