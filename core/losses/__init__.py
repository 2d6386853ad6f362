"""Training losses of the focal family; `catalogue` and `bins` need no torch, all others do."""
