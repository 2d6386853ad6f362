"""The fragment that redraws only the parts of the page that depend on the bins."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.metrics.estimates import PreparedTarget
from core.metrics.records import Audit, TargetAudit
from core.screens.kit import cards
from core.screens.kit.records import Phrase, Sentence, Table, Tile
from core.screens.reliability.view import KEY, Subject, reliability_view
from pages.ui import audits, cache, drafts, frame, widgets
from pages.ui.reliability import choices, figures


def end(top: DeltaGenerator, run: cache.Run) -> NoReturn:
    """Say what the page will speak of, and end it here."""
    with top:
        widgets.sentence(Sentence((Phrase(f"Analysing “{run.name}”."),)))
        drafts.bar(run)
    st.stop()


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
        # Beside the full audit stands a label's own, else the scores of the bins as shown
        target, own = target_audit.target, target_audit
        if full.labels and target is not None:
            own = full.labels[target]
        elif target is None and full.answers is not None:
            own = full.answers
        elif target == full.main.target:
            own = full.main
        scores = cards.scores_table(full, own)
        widgets.table(scores, key="table.scores")
        widgets.save(scores, "metrics")
        unavailable = cards.unavailable_table(full)
        if unavailable.rows:
            widgets.title("What this file cannot support", "and why")
            widgets.table(unavailable, key="table.unavailable")


@dataclass(frozen=True)
class Shown:
    """What the page speaks of, whatever the bins."""

    run: cache.Run
    split: str
    audit: Audit
    ready: PreparedTarget
    subject: Subject
    parts: Table


@dataclass(frozen=True)
class Places:
    """Where what the bins decide stands, in the order of the page."""

    head: DeltaGenerator
    numbers: DeltaGenerator
    controls: DeltaGenerator
    figures: figures.FigurePlaces
    below: DeltaGenerator


@frame.fragment
def draw(shown: Shown, at: Places) -> None:
    """Draw the choice of bins, and all that depends on it."""
    run, split, audit = shown.run, shown.split, shown.audit
    with at.controls:
        rule, n_bins = choices.bins()
    target_audit = audits.diagram(shown.ready, n_bins=n_bins, rule=rule)
    with at.figures.scale.container():
        widgets.key(KEY)
        bin_index = choices.opened_bin(target_audit.bins)
        log_counts = choices.log_counts()
        log_odds = choices.log_odds(rule, target_audit.bins)
    view = reliability_view(
        audit, shown.subject, chosen=target_audit, log_counts=log_counts, log_odds=log_odds
    )
    with at.head:
        widgets.eyebrow(view.eyebrow)
        widgets.sentence(view.sentence)
    with at.numbers:
        widgets.strip(view.numbers)
        frame.verdict_notices(view.notices)
    figures.binned(at.figures, view.figures, bin_index)
    with at.figures.rows.container():
        figures.rows(run, split, target_audit, bin_index)
    with at.below.container():
        widgets.caption(view.caption)
        if audits.by_majority(run, split):
            widgets.caption("Labels are what most people chose.")
        frame.read_notes(view.notices)
        meanings(view.numbers)
        parts(shown.parts)
        metrics(run, split, target_audit)
