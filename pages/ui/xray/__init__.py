"""The page Chest X-ray."""
