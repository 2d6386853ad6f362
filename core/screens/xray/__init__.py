"""The page Chest X-ray: findings of a run, films, heatmaps and how far to trust them."""
