"""Weights of others: which network they belong to, and loading them whole or not at all."""
