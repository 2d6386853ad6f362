"""Figures: records and plain arrays to plotly figures; nothing is computed here."""
