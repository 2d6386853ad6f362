"""Settings that must hold before numpy is imported: one thread, so that two cores are enough."""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
