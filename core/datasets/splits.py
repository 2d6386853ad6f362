"""Seeded splits; no torch."""
