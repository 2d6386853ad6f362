"""What jobs and their forms ask for often: histories, devices, measured speeds, networks."""

from functools import partial
from typing import Final

import streamlit as st

from core.errors import LibraryError
from core.histories import History
from core.jobs.devices import Device
from core.jobs.devices import devices as find_devices
from core.library.history import from_events
from core.models import names
from core.training.estimate import Speed
from pages.ui.caching import Results, cached, results
from pages.ui.task import BackgroundTask, in_process
from pages.ui.visitor import open_jobs, open_library

Recorded = tuple[str, int, int]  # a file, its bytes, and when it was written last

NETWORKS: Final = BackgroundTask(
    "networks",
    "",
    "Asking timm and torchvision for their names.",
    partial(in_process, names.listed),
)


@st.cache_data(ttl=10, max_entries=1, show_spinner=False)
def devices() -> tuple[Device, ...]:
    """Return the devices; the driver is asked at most every ten seconds."""
    return find_devices()


def recorded(job_id: str) -> Recorded | None:
    """Return what tells events of a job from those that it had before; None before the first."""
    path = open_jobs().folder(job_id).path / "events.jsonl"
    try:
        state = path.stat()
    except OSError:
        return None
    return str(path), state.st_size, state.st_mtime_ns


def history_of_job(job_id: str) -> History:
    """Return what is recorded of a job so far; read again only when its events have grown."""
    at = recorded(job_id)
    return from_events([])[0] if at is None else _history_of_job(job_id, at)


@cached(32)
def _history_of_job(job_id: str, at: Recorded) -> History:
    del at  # part of the key only
    return from_events(open_jobs().folder(job_id).lines())[0]


def history_of_run(run_id: str) -> History | None:
    """Return the history of a run in the library, or None where there is none (yet)."""
    try:
        open_library().get(run_id)  # what is cached is for those who may see the run
        return _history_of_run(run_id)
    except LibraryError:
        return None


@cached(64)
def _history_of_run(run_id: str) -> History:
    return open_library().history(run_id)


def parts_of_history(run_id: str) -> tuple[str, ...]:
    """Return the files of the history of a run in the library; none where it has none."""
    history = open_library().get(run_id).history
    return tuple(history.files) if history else ()


def speeds() -> Results[str, Speed]:
    """Return where measured speeds are kept, by the digest of what they depend on (`basis`)."""
    return results("speeds", draft=False)


def networks() -> tuple[str, ...] | None:
    """Return the networks of timm and torchvision; None while they are asked, which is drawn."""
    return names.known() or NETWORKS.wait()
