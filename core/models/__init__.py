"""Networks by name; `catalogue` needs no torch, all others do."""
