"""The fragment that redraws only the parts of the page that depend on the bins."""

from dataclasses import dataclass

from streamlit.delta_generator import DeltaGenerator

from core.metrics.estimates import PreparedTarget
from core.metrics.records import Audit
from core.screens.kit import units
from core.screens.kit.records import Table
from core.screens.reliability.view import KEY, Subject, reliability_view
from pages.ui import audits, cache, controls, frame, widgets
from pages.ui.reliability import choices, details, figures


@dataclass(frozen=True)
class Shown:
    """What the page speaks of, whatever the bins."""

    run: cache.Run
    split: str
    audit: Audit
    ready: PreparedTarget
    subject: Subject
    parts: Table
    furthest: str = ""


@dataclass(frozen=True)
class Places:
    """Where what the bins decide stands, in the order of the page."""

    head: DeltaGenerator
    numbers: DeltaGenerator
    controls: DeltaGenerator
    figures: figures.Places
    below: DeltaGenerator


@frame.fragment
def draw(shown: Shown, at: Places) -> None:
    """Draw the choice of bins, and all that depends on it."""
    run, split, audit = shown.run, shown.split, shown.audit
    with at.controls:
        rule, n_bins = choices.bins()
    with at.figures.scale.container():
        widgets.key(KEY)
        widgets.caption(units.spoken("Click a dot or a bar to see the images of its bin."))
        log_counts = choices.log_counts()
    target_audit = audits.diagram(shown.ready, n_bins=n_bins, rule=rule)
    view = reliability_view(
        audit,
        shown.subject,
        chosen=target_audit,
        log_counts=log_counts,
        furthest=shown.furthest,
    )
    with at.head:
        widgets.eyebrow(view.eyebrow, controls.chip(run))
        widgets.sentence(view.sentence)
    with at.numbers:
        widgets.strip(view.numbers)
        frame.notices(view.notices)
    bin_index = figures.binned(at.figures, view.figures)
    with at.figures.rows.container():
        figures.rows(run, split, target_audit, bin_index)
    with at.below.container():
        widgets.caption(view.caption)
        details.meanings(view.numbers)
        details.parts(shown.parts)
        details.metrics(run, split, target_audit)
