"""The Post-hoc page: calibrators before and after, and several runs side by side."""
