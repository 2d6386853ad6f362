"""The rows that look most ordinary, with pictures where their images can be opened again."""

from typing import Final

import numpy as np

from core.screens.kit.numbers import percent
from core.screens.ood.rows import certain_table
from core.screens.ood.words import SetName
from core.studies.ood import ConfidentRows
from pages.ui import row_pictures, widgets
from pages.ui.ood import cache as cache_ood
from pages.ui.ood.cache import OodQuestion

ROWS_SHOWN: Final = 50


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
    outside = question.outside
    opened = row_pictures.source(outside.owner.id, outside.split)
    if opened is None:
        return
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
