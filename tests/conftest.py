"""Settings that must hold before tests are imported: one thread a process, the same examples."""

import gc
import os
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling
from xdist.scheduler.protocol import Scheduling

from core.jobs.processes import step_back

if TYPE_CHECKING:
    from syrupy.assertion import SnapshotAssertion

BROWSER = "tests/e2e/"

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")  # of torch: threads that wait for a core spin

# The examples of a property depend on its source alone, so a run is red or green for a reason that
# the next run meets too; and no example is judged by the time a busy machine takes for it.
settings.register_profile(
    "candor", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("candor")


def pytest_configure() -> None:
    """Step back as far as jobs do: else what a job does waits for what tests leave of two cores."""
    step_back(os.getpid())


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Start the longest first: the browser tests, then files of slow tests."""
    marked = ("slow", "nightly")
    slow = {item.path for item in items if any(map(item.get_closest_marker, marked))}
    items.sort(key=lambda item: (not item.nodeid.startswith(BROWSER), item.path not in slow))


def pytest_collection_finish() -> None:
    """Set aside what was collected: the end of a page's script walks all that is not."""
    gc.collect()
    gc.freeze()


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Scheduling | None:
    """Run each file in one process, and all browser tests in one of the processes."""
    return FilesAndBrowser(config, log) if config.getoption("dist") == "loadfile" else None


class FilesAndBrowser(LoadScopeScheduling):
    """Tests of a file share what their module makes; two browsers at once would disturb."""

    def _split_scope(self, nodeid: str) -> str:
        return BROWSER if nodeid.startswith(BROWSER) else nodeid.split("::")[0]


@pytest.fixture
def snapshot(snapshot: "SnapshotAssertion") -> "SnapshotAssertion":
    """Return what a text is held against: the file of this test in `__snapshots__`."""
    from tests.written import TextFile  # with syrupy and plotly, which tests on a GPU run without

    return snapshot.use_extension(TextFile)


@pytest.fixture
def unsealed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read files in this process: to start a sealed one takes longer than most tests do.

    Its walls have tests of their own in tests/core/readers. Every verb reads through it at least
    once: in a test that is `sealed`, or as a command in a shell.
    """
    from core.readers.sandbox import read
    from tests.reading import read_here

    monkeypatch.setattr(read, "run", read_here)


@pytest.fixture
def sealed(unsealed: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read files in a sealed process after all, among tests that do not."""
    from core.readers.sandbox import child_process, read

    monkeypatch.setattr(read, "run", child_process.run)
