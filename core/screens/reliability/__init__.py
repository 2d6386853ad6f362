"""The Reliability page: the audit of one run, in full and in plain words."""
