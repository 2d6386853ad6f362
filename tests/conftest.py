"""Settings that must hold before tests are imported: one thread a process, the same examples."""

import os

from hypothesis import HealthCheck, settings

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")  # of torch: threads that wait for a core spin

# The examples of a property depend on its source alone, so a run is red or green for a reason that
# the next run meets too; and no example is judged by the time a busy machine takes for it.
settings.register_profile(
    "candor", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("candor")
