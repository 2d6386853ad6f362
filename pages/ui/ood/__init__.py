"""The page Out of distribution."""
