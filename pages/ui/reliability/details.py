"""What is unfolded under the audit: the meaning of its numbers, its parts, every metric."""

from collections.abc import Sequence

import streamlit as st

from core.metrics.records import Audit, TargetAudit
from core.screens.kit import cards
from core.screens.kit.records import Table, Tile
from pages.ui import audits, cache, frame, widgets

PARTS_OPEN = 20  # with more classes the table starts folded


def meanings(tiles: Sequence[Tile]) -> None:
    """Say what the numbers mean."""
    with st.expander("What these numbers mean", key="details.words"):
        widgets.meanings((tile.label, tile.help) for tile in tiles if tile.help)


@frame.fragment
def parts(table: Table) -> None:
    """Draw the numbers of each class or label, where there are any, once they are unfolded."""
    if not table.rows:
        return
    folded = len(table.rows) > PARTS_OPEN
    every = st.expander(
        "By class or label", key="details.parts", expanded=not folded, on_change="rerun"
    )
    if every.open:
        with every:
            widgets.table(table, key="table.parts")
            widgets.save(table, "parts")


@frame.fragment
def metrics(run: cache.Run, split: str, target_audit: TargetAudit) -> None:
    """Draw every metric, computed only once it is unfolded, and what the file cannot support."""
    every = st.expander(
        "Every metric, with interval, n and settings; and what this file cannot support",
        key="details.scores",
        on_change="rerun",
    )
    if not every.open:
        return
    with every:
        full = audits.every_metric(run, split)
        if full is None:
            return
        scores = cards.scores_table(full, _beside(full, target_audit))
        widgets.table(scores, key="table.scores")
        widgets.save(scores, "metrics")
        unavailable = cards.unavailable_table(full)
        if unavailable.rows:
            widgets.title("What this file cannot support", "and why")
            widgets.table(unavailable, key="table.unavailable")


def _beside(full: Audit, target_audit: TargetAudit) -> TargetAudit:
    """Return the full audit of what is shown: a label's own, else the shown bins' scores."""
    if full.labels and target_audit.target is not None:
        return full.labels[target_audit.target]
    if target_audit.target is None and full.answers is not None:
        return full.answers
    return full.main if target_audit.target == full.main.target else target_audit
