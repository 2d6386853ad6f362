"""Named arrays and columns to predictions; every assumption is said."""
