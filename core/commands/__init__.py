"""The verbs of ``python -m core``, and what they share."""
