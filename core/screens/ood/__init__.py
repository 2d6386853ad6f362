"""The page Out of distribution: one run beside inputs it never saw."""
