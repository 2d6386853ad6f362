"""Telling inputs that a model never saw from those it knows, by its scores alone; numpy only."""
