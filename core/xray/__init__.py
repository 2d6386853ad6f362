"""Chest films: phantoms with known lesions, heatmaps and what can be checked about them."""
