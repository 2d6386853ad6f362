"""Pictures or texts of a run's rows, where what it was tested on can be opened again."""

from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np
import streamlit as st

from core.datasets.catalogue import TEXT_DATA, data_entry
from core.datasets.splits import SPLIT_NAMES
from core.datasets.texts.corpus import LEFT_OUT
from core.errors import LibraryError, UsageError
from core.fields import JsonObject
from core.inference import config as evaluation
from core.predictions import Predictions
from core.training import config as training
from core.training.submission import check_folder
from pages.ui import html_macros, inference, widgets
from pages.ui.escape import esc
from pages.ui.visitor import open_library

SHOWN: Final = 12
SIDE: Final = 112  # pixels on the screen


def source(run_id: str, split: str) -> JsonObject | None:
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
        what = "texts" if of_texts(manifest.config) else "pictures"
        widgets.caption(f"No {what}: the server may not read their folder.")
        return None
    return manifest.config


def of_texts(opened: JsonObject | None) -> bool:
    """Whether a config that opens rows opens texts."""
    return opened is not None and opened.get("data") in TEXT_DATA


def draw(
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
    if of_texts(opened):
        named = {"config": opened, "row_ids": [ids[row] for row in chosen]}
        reading = inference.query(key, "texts", named, "Reading the texts.")
        if reading.error is not None:  # its remedy may name a path
            widgets.caption(f"No texts: {reading.error.what}.")
            return False
        texts = reading.wait()
        if texts is not None:
            with st.container(key=key):
                html_macros.draw("texts", list(zip(captions, texts.values["texts"], strict=False)))
        return True
    question = {
        "config": opened,
        "split": split,
        "rows": chosen,
        "row_ids": [ids[row] for row in chosen] if ids else None,
        "labels": predictions.labels[chosen].tolist(),
        "n": predictions.n,
    }
    task = inference.query(key, "pictures", question, "Opening the pictures.")
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
