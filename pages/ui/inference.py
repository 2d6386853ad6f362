"""Questions to the warm process that holds torch, as tasks of a page, and what rows look like.

One thread asks for all sessions, for the process answers one call at a time; a question that is
stopped before its turn is not asked. Questions about ONNX models go to a process of their own.
"""

import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Timer
from typing import Any, Final

import numpy as np
import streamlit as st

from core.datasets.catalogue import TEXT_DATA, data_entry
from core.datasets.splits import SPLIT_NAMES
from core.datasets.texts.corpus import LEFT_OUT
from core.errors import AuditError, LibraryError, LostWorker, UsageError
from core.fields import JsonObject
from core.inference import config as evaluation
from core.inference.client import Answer, Client, shared
from core.predictions import Predictions
from core.training import config as training
from core.training.submission import check_folder
from pages.ui import markup, streamlit_internals, widgets
from pages.ui.caching import once
from pages.ui.markup import esc
from pages.ui.task import BackgroundTask, Work, in_thread
from pages.ui.visitor import open_library

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
    if st.session_state.get(WARMED) or not streamlit_internals.serves():
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
    """Return a question, plain JSON, to one of `core.inference.calls.CALLS` as a task.

    A patient one leaves what is being answered alone: ending it would end the process, which then
    has to load torch again. The answer may take `timeout_s` once the process is at it. `program`
    says that it is about an ONNX model.
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


# Pictures and texts of rows.
SHOWN: Final = 12
SIDE: Final = 112  # pixels on the screen


def rows_source(run_id: str, split: str) -> JsonObject | None:
    """Return the config that opens a split's images or texts; None but for runs made here."""
    try:
        manifest = open_library().get(run_id)
        if manifest.kind == "evaluate":
            evaluated = evaluation.from_json(manifest.config)
            sets = {each.name: each.root for each in evaluated.sets}
            roots = [evaluated.data_root, *sets.values()]
        elif manifest.config and "loss" in manifest.config:
            trained = training.from_json(manifest.config)
            if trained.data_root is None and data_entry(trained.data).needs_root:
                return None  # as of a sample: nobody said where its images are
            sets = {LEFT_OUT: None} if trained.text.left_out else {}
            roots = [trained.data_root]
        else:
            return None
    except (LibraryError, UsageError):  # a draft, a run that is gone, or a folder not known
        return None
    if split not in (*SPLIT_NAMES, *sets):
        return None
    try:
        for root in roots:
            check_folder(root)
    except UsageError:  # whose words would name a path of the server
        what = "texts" if is_text_source(manifest.config) else "pictures"
        widgets.caption(f"No {what}: the server may not read their folder.")
        return None
    return manifest.config


def is_text_source(opened: JsonObject | None) -> bool:
    """Whether a config that opens rows opens texts."""
    return opened is not None and opened.get("data") in TEXT_DATA


def draw_rows(
    key: str,
    opened: JsonObject,
    split: str,
    predictions: Predictions,
    rows: Sequence[int],
    captions: Iterable[str],
) -> bool:
    """Draw rows as pictures or texts, once they are opened; return whether they can be.

    `captions` are plain text.
    """
    chosen, ids = [int(row) for row in rows], predictions.row_ids
    if is_text_source(opened):
        named = {"config": opened, "row_ids": [ids[row] for row in chosen]}
        reading = query(key, "texts", named, "Reading the texts.")
        if reading.error is not None:  # its remedy may name a path
            widgets.caption(f"No texts: {reading.error.what}.")
            return False
        texts = reading.wait()
        if texts is not None:
            with st.container(key=key):
                markup.draw("texts", list(zip(captions, texts.values["texts"], strict=False)))
        return True
    question = {
        "config": opened,
        "split": split,
        "rows": chosen,
        "row_ids": [ids[row] for row in chosen] if ids else None,
        "labels": predictions.labels[chosen].tolist(),
        "n": predictions.n,
    }
    task = query(key, "pictures", question, "Opening the pictures.")
    if task.error is not None:  # the page does without, and its remedy may name a path
        what = task.error.what
        widgets.caption(f"No pictures. {what[:1].upper()}{what[1:]}.")
        return False
    answer = task.wait()
    if answer is not None:
        images = answer.arrays["images"]
        with st.container(horizontal=True, gap="small", key=key):
            for image, caption in zip(images, captions, strict=False):  # the first of the rows
                # (H, W, 3) with whole pixels repeated, so that small images are not blurred
                times = max(1, SIDE // max(image.shape[1:]))
                large = image.repeat(times, axis=1).repeat(times, axis=2)
                enlarged = np.broadcast_to(large, (3, *large.shape[1:])).transpose(1, 2, 0)
                st.image(enlarged, caption=esc(caption), alt="", width=SIDE)
    return True
