"""All that a GPU changes, measured by one command; on a CPU the same stages at small sizes."""
