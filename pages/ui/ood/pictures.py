"""The rows that look most ordinary, with pictures where their images can be opened again."""

from typing import Final

import numpy as np
import streamlit as st

from core.fields import JsonObject
from core.screens.kit.numbers import percent
from core.screens.ood.table import certain_table
from core.screens.ood.words import SetName
from core.studies.ood import ConfidentRows
from pages.ui import frame, row_pictures, widgets
from pages.ui.escape import esc
from pages.ui.ood import sources
from pages.ui.ood.sources import OodQuestion

ROWS_SHOWN: Final = 50


@frame.fragment
def draw(question: OodQuestion, name: SetName) -> None:
    """Draw what of the set looks most like ordinary ones; without pictures, folded."""
    outside = question.outside
    opened = row_pictures.source(outside.owner.id, outside.split)
    fold = st.expander(
        f"{esc(name.label)}: lowest scores, which look most in-distribution",
        key="ood.certain",
        expanded=opened is not None,
        on_change="rerun",
    )
    if not fold.open:
        return
    with fold:
        confident_rows = sources.certain(question, ROWS_SHOWN)
        if opened is not None:
            _pictures(question, opened, confident_rows)
        table = certain_table(confident_rows, outside.rows.row_ids, question.score)
        widgets.table(table, key="ood.certain.rows")
        widgets.save(table, "most_ordinary")
        if np.isnan(confident_rows.confidence).any():
            widgets.caption("These scores are not probabilities.")


def _pictures(question: OodQuestion, opened: JsonObject, confident_rows: ConfidentRows) -> None:
    """Draw the first rows as pictures."""
    outside = question.outside
    captions = [
        answer + ("" if np.isnan(sure) else f", {percent(sure)}")
        for answer, sure in zip(confident_rows.answers, confident_rows.confidence, strict=True)
    ]
    row_pictures.draw(
        "ood.pictures",
        opened,
        outside.split,
        outside.rows,
        confident_rows.rows[: row_pictures.SHOWN].tolist(),
        captions,
    )
