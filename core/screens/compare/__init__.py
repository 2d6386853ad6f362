"""The Compare page: several runs on the same rows."""
