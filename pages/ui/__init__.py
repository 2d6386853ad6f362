"""The only package that wraps Streamlit."""

import gc
import os

# Before numpy: its threads would take the cores from the processes that compute for pages.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# `session` collects once runs of scripts have ended. To look for garbage while modules are imported
# and figures are built as well, each time 700 objects are more, takes a tenth of a start.
gc.set_threshold(50_000, 20, 50)
