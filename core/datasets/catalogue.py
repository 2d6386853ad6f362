"""What the data sets are called and where they come from; no torch."""
