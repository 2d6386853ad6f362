"""Candor's numbers beside those of real libraries: what they cost, and whether they agree."""
