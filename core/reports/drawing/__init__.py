"""Plotly figures as still SVG: no script, nothing fetched, the same on paper and on a screen."""
