"""What a classifier's scores say about inputs it never saw: out-of-distribution scores and their detection; numpy."""
