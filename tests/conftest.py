"""Settings that must hold before tests are imported: one thread a process, the same examples."""

import os

import pytest
from hypothesis import HealthCheck, settings

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")  # of torch: threads that wait for a core spin

# The examples of a property depend on its source alone, so a run is red or green for a reason that
# the next run meets too; and no example is judged by the time a busy machine takes for it.
settings.register_profile(
    "candor", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("candor")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Start the longest first: the browser tests, all in one process, then files of slow tests.

    Every other file is a group of its own, so that what a module makes is made once.
    """
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: (not _in_browser(item), item.path not in slow))
    for item in items:
        group = "browser" if _in_browser(item) else str(item.path.name)
        item.add_marker(pytest.mark.xdist_group(group))


def _in_browser(item: pytest.Item) -> bool:
    return item.get_closest_marker("e2e") is not None
