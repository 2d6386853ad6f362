"""The Train page: curves of a training and what is said of it."""
