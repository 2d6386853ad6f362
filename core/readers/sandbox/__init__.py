"""Reading in a confined child process: its limits, and how its answer crosses."""
