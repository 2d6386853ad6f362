"""The rows of a set that look most like in-distribution ones, as a table."""

import math
from collections.abc import Sequence

from core.ood.scores import SCORES
from core.screens.kit.records import Column, Table
from core.studies.ood import ConfidentRows


def certain_table(confident: ConfidentRows, row_ids: Sequence[str], score: str) -> Table:
    """Return one line a row: its name or number, the answer, the confidence and the score."""
    columns = (
        Column("row", "row"),
        Column("answer", "answers"),
        Column("confidence", "confidence", "share"),
        Column(f"{score}_higher_is_ood", SCORES[score].axis, "number"),
    )
    rows = tuple(
        (
            row_ids[row] if row_ids else str(row),
            answer,
            None if math.isnan(sure) else sure,
            value,
        )
        for row, answer, sure, value in zip(
            confident.rows.tolist(),
            confident.answers,
            confident.confidence.tolist(),
            confident.score.tolist(),
            strict=True,
        )
    )
    return Table(columns, rows)
