"""Questions to the warm process that holds torch, as tasks of a page.

One thread asks for all sessions, for the process answers one call at a time; a question that is
stopped before its turn is not asked. Questions about ONNX models go to a process of their own.
"""

import json
import logging
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Timer
from typing import Any, Final

import streamlit as st

from core.errors import AuditError, LostWorker
from core.inference.client import Answer, Client, shared
from pages.ui import server
from pages.ui.caching import once
from pages.ui.task import BackgroundTask, Work, in_thread

TIMEOUT_S: Final = 180.0  # the first question waits for torch itself
COLD_S: Final = 2.0  # how often a page looks whether the process has answered for the first time
COLD: Final = "The first answer takes up to a minute, while the models load."
AFTER_S: Final = 4.0  # from a visitor's first page on: it is painted by then
WARMED: Final = "app.warmed"
LOG: Final = logging.getLogger("candor")
Json = Mapping[str, Any]  # Any: plain JSON values


@once
def _pools() -> tuple[ThreadPoolExecutor, ThreadPoolExecutor]:
    """Return the thread that asks, and that which asks of models as programs."""
    names = ("asking", "asking-programs")
    one, other = (ThreadPoolExecutor(max_workers=1, thread_name_prefix=name) for name in names)
    return one, other


def warm_up() -> None:
    """Start the process for a visitor who has just come, a moment after the first page is drawn.

    It takes seconds of another core to load torch; the first film no longer waits for that.
    """
    if st.session_state.get(WARMED) or not server.serves():
        return  # known by now, or a test of a page
    st.session_state[WARMED] = True
    timer = Timer(AFTER_S, _warm)
    timer.daemon = True
    timer.start()


def _warm() -> None:
    if shared().warm:
        return
    try:
        shared().call("ready", {}, timeout_s=TIMEOUT_S)
    except (AuditError, OSError):  # whoever has a question is told
        LOG.warning("the process that holds torch could not be started", exc_info=True)


def query(
    slot: str,
    name: str,
    question: Json,
    text: str,
    *,
    patient: bool = False,
    timeout_s: float = TIMEOUT_S,
    program: bool = False,
) -> BackgroundTask[Answer]:
    """Return a question as a task.

    Parameters
    ----------
    slot, text : str
        Of the task.
    name : str
        One of `core.inference.calls.CALLS`.
    question : mapping
        Plain JSON.
    patient : bool
        Leaves what is being answered alone: ending it would end the process, which then has to
        load torch anew.
    timeout_s : float
        How long the answer may take once the process is at it.
    program : bool
        It is about an ONNX model.
    """
    client = shared(programs=True) if program else shared()
    ask = partial(_ask, client, name, question, timeout_s)
    start = partial(in_thread, ask, _pools()[program])
    key = json.dumps([name, question], sort_keys=True)
    if client.warm:
        return BackgroundTask(slot, key, text, start, patient=patient)
    return BackgroundTask(slot, key, text, start, patient=patient, note=COLD, every_s=COLD_S)


def _ask(client: Client, name: str, question: Json, timeout_s: float, work: Work[Answer]) -> Answer:
    try:
        return client.call(name, question, timeout_s=timeout_s, cancel=work.cancel)
    except OSError as error:  # no memory or no process left
        what = f"The process that runs the models could not start ({error.strerror})"
        raise LostWorker("LOST_WORKER", what, "try again in a moment") from error
