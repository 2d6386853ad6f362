"""Tables: which columns are what, and tables beside the predictions."""
