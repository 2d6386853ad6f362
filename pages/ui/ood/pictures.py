"""The rows that look most ordinary, with pictures where their images can be opened again."""

from typing import Final

import numpy as np
import numpy.typing as npt
import streamlit as st

from core.errors import AuditError, LibraryError
from core.inference.config import EvaluationConfig, from_json
from core.library import open_library
from core.screens.kit.numbers import percent
from core.screens.ood.rows import certain_table
from core.screens.ood.words import SetName
from core.studies.ood import ConfidentRows
from core.training.submission import check_folder
from pages.ui import inference, widgets
from pages.ui.escape import esc
from pages.ui.ood import cache as cache_ood
from pages.ui.ood.cache import OodQuestion

ROWS_SHOWN: Final = 50
SHOWN: Final = 12  # as pictures
SIDE: Final = 112  # pixels on the screen


def draw(question: OodQuestion, name: SetName) -> None:
    """Draw the rows of the set that look most like ordinary ones."""
    confident_rows = cache_ood.certain(question, ROWS_SHOWN)
    widgets.title("Most like in-distribution rows", f"rows of {name.label} with the lowest score")
    _pictures(question, confident_rows)
    table = certain_table(confident_rows, question.outside.rows.row_ids, question.score)
    widgets.table(table, key="ood.certain")
    widgets.save(table, "most_ordinary")
    if np.isnan(confident_rows.confidence).any():
        widgets.caption("These scores are not probabilities.")


def _pictures(question: OodQuestion, confident_rows: ConfidentRows) -> None:
    """Draw the first rows as pictures; nothing where the run was not evaluated here."""
    config = _config(question.outside.owner.id)
    if config is None:
        return
    rows = confident_rows.rows[:SHOWN].tolist()
    ids = question.outside.rows.row_ids
    request = {
        "config": config.to_json(),
        "split": question.outside.split,
        "rows": rows,
        "row_ids": [ids[row] for row in rows],
    }
    task = inference.query("ood.pictures", "pictures", request, "Opening the pictures.")
    if task.error is not None:  # the page does without, and its remedy may name a path
        widgets.caption(f"No pictures: {task.error.what}.")
        return
    answer = task.wait()
    if answer is not None:
        _gallery(answer.arrays["images"], confident_rows)


def _config(run_id: str) -> EvaluationConfig | None:
    """Return how a run was evaluated, if this page may open its images."""
    try:
        manifest = open_library().get(run_id)
        if manifest.kind != "evaluate":
            return None
        config = from_json(manifest.config)
        for root in (config.data_root, *(outside_set.root for outside_set in config.sets)):
            check_folder(root)
    except LibraryError:  # a file that was dropped, or a run that is gone
        return None
    except AuditError:  # whose words would name a path of the server
        widgets.caption("No pictures: the server may not read their folder.")
        return None
    return config


def _gallery(images: npt.NDArray[np.uint8], confident_rows: ConfidentRows) -> None:
    captions = [
        esc(answer) + ("" if np.isnan(sure) else f", {percent(sure)}")
        for answer, sure in zip(confident_rows.answers, confident_rows.confidence, strict=True)
    ]
    with st.container(horizontal=True, gap="small", key="ood.pictures"):
        for image, caption in zip(images, captions, strict=False):  # the first of the rows
            st.image(_enlarged(image), caption=caption, width=SIDE)


def _enlarged(image: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """Return (H, W, 3) with whole pixels repeated, so that small images are not blurred."""
    times = max(1, SIDE // max(image.shape[1:]))
    large = image.repeat(times, axis=1).repeat(times, axis=2)
    return np.broadcast_to(large, (3, *large.shape[1:])).transpose(1, 2, 0)
