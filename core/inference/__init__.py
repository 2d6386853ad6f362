"""Models at work: evaluations in the background, and a warm process for quick calls."""
