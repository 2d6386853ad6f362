"""What a screen computes: a study takes predictions and settings and gives picklable records."""
