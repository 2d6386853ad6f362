"""Images and labels by name, split and seeded; `catalogue` and `splits` need no torch."""
