"""What the networks are called and where they come from; no torch."""
