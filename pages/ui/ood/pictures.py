"""Pictures of the rows that look most ordinary, where their images can be opened again."""

from typing import Any, Final

import numpy as np
import numpy.typing as npt
import streamlit as st

from core.errors import AuditError, LibraryError
from core.inference.config import EvaluationConfig, from_json
from core.library import open_library
from core.screens.kit.numbers import percent
from core.studies.ood import ConfidentRows
from core.training.submission import check_folder
from pages.ui import inference as evaluate_ask
from pages.ui import widgets
from pages.ui.escape import esc
from pages.ui.ood.cache import OodQuestion

SHOWN: Final = 12
SIDE: Final = 112  # pixels on the screen
LOOK_S: Final = 1.0


def draw(question: OodQuestion, confident_rows: ConfidentRows) -> None:
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
    outcome = evaluate_ask.ask("pictures", request)
    if outcome is None:
        _wait(request)
    elif isinstance(outcome, AuditError):
        widgets.caption(f"No pictures: {outcome.what}.")
    else:
        _pictures(outcome.arrays["images"], confident_rows)


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
        widgets.caption("No pictures: this page may not read the folder they lie in.")
        return None
    return config


@st.fragment(run_every=LOOK_S)
def _wait(request: dict[str, Any]) -> None:
    """Say that pictures come, and draw the page anew when they are there."""
    if not evaluate_ask.waits("pictures", request):
        st.rerun()
    widgets.caption("Opening the pictures.")


def _pictures(images: npt.NDArray[np.uint8], confident_rows: ConfidentRows) -> None:
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
