"""The reliability page: its controls, its figures, and the rows behind a bin."""

import streamlit as st

from core import defaults
from core.arrays import Float
from core.configs import BinRule
from core.metrics.records import Audit, TargetAudit
from core.metrics.selective import risk_coverage
from core.predictions import Task
from core.screens.kit import cards
from core.screens.reliability import view as views
from core.screens.reliability.plain import plain_view
from core.screens.reliability.rows import bin_rows
from pages.ui import cache, controls, drafts, frame, state, widgets

RULES = {BinRule.EQUAL_WIDTH.value: "Equal width", BinRule.EQUAL_MASS.value: "Equal mass"}
ANSWERS = "answers"
ROWS_SHOWN = 200
DIAGRAM_WIDTH = 486  # where square, axis and histogram fit without a hole between them
PARTS_OPEN = 20  # with more classes the table starts folded


def draw(run: cache.Run, split: str) -> None:
    """Draw the page for engineers."""
    audit = cache.audit(run, split)
    top = st.container()
    with st.container(horizontal=True, vertical_alignment="top", key="controls"):
        _splits(run)
        target = _target(run, audit)
        n_bins, rule = _bins()
        logarithmic = _log_counts()
    target_audit = cache.diagram(run, split, target, n_bins=n_bins, rule=rule)
    view = views.reliability_view(
        audit,
        subject(run, split),
        chosen=target_audit,
        classes=cache.classes(run, split),
        curve=_curve(run, split, audit),
        log_counts=logarithmic,
    )
    with top:
        widgets.eyebrow(view.eyebrow, controls.chip(run))
        widgets.sentence(view.sentence)
        drafts.bar(run)
        if audit.labels:
            widgets.second(f"All together: {audit.main.verdict.text}")
        widgets.strip(view.numbers)
        frame.notices(view.notices)
    _figures(run, split, target_audit, view)
    widgets.key(view.key)
    widgets.caption(view.caption)
    _details(run, split, target_audit, view)


def _curve(run: cache.Run, split: str, audit: Audit) -> tuple[Float, Float] | None:
    """Return the risk-coverage curve of the answers; labels have no single answer."""
    if audit.task == Task.MULTILABEL:
        return None
    return risk_coverage(cache.prepared(run, split, None).resamples.ranked)


def subject(run: cache.Run, split: str) -> views.Subject:
    """Return the names that travel with every figure."""
    return views.Subject(run.name, split, run.file_digest, run.class_names, run.notices)


def _splits(run: cache.Run) -> None:
    if len(run.splits) > 1:
        controls.segments("Split", "split", run.splits, run.split, controls.SPLIT_NAMES)


def _target(run: cache.Run, audit: Audit) -> int | None:
    """Return what is audited: the answers given, or one class or label against the rest."""
    if audit.task == Task.TOP_LABEL:
        return None
    labels = audit.task == Task.MULTILABEL
    options = [*([] if labels else [ANSWERS]), *map(str, range(len(run.class_names)))]
    default = "0" if labels else ANSWERS if audit.main.target is None else str(audit.main.target)
    chosen = state.choice("of", options, default)
    st.selectbox(
        "Finding" if labels else "Reliability of",
        options,
        key="widget.of",
        format_func=lambda option: (
            "answers given" if option == ANSWERS else run.class_names[int(option)]
        ),
        on_change=state.pick,
        args=("of", default),
        width=200,
        help="Answers given: the class it picked, with its confidence. "
        "A class or finding: its probability against how often it was there.",
    )
    return None if chosen == ANSWERS else int(chosen)


def _bins() -> tuple[int, str]:
    rule = controls.segments(
        "Bins",
        "rule",
        list(RULES),
        BinRule.EQUAL_WIDTH.value,
        RULES,
        "Equal width: every bin spans the same range of confidence. "
        "Equal mass: every bin holds as many rows.",
    )
    n_bins = st.slider(
        "Number of bins",
        defaults.N_BINS_MIN,
        defaults.N_BINS_MAX,
        defaults.N_BINS,
        key="bins",
        bind="query-params",
        persist_state="session",
        on_change=state.next_generation,
        width=200,
    )
    return int(n_bins), rule


def _log_counts() -> bool | None:
    words = {"auto": "Auto", "linear": "Linear", "log": "Log"}
    scale = controls.segments(
        "Histogram",
        "counts",
        list(words),
        "auto",
        words,
        "Scale of the counts. Auto is logarithmic when one bin holds most rows.",
    )
    return {"linear": False, "log": True}.get(scale)


def _figures(
    run: cache.Run, split: str, target_audit: TargetAudit, view: views.ReliabilityView
) -> None:
    cards = view.figures
    with st.container(horizontal=True, gap="medium", key="figures"):
        left = st.container(width=DIAGRAM_WIDTH, key="diagram")
        right = st.container(key="beside")
    with left:
        picked = widgets.figure(cards["reliability"], select=True)
        widgets.caption("Click a dot or a bar to see the rows of its bin.")
        if "risk" in cards:
            widgets.figure(cards["risk"])
    with right:
        for name in ("gap", "classes"):
            if name in cards:
                widgets.figure(cards[name])
    _rows(run, split, target_audit, picked)


def _rows(run: cache.Run, split: str, target_audit: TargetAudit, picked: object) -> None:
    """Show the rows of the bin that was clicked."""
    points = picked["selection"]["points"] if isinstance(picked, dict) else []
    if not points:
        return
    index = _first(points[0]["customdata"])
    arrays = cache.predictions(run, split)
    bin_list = bin_rows(arrays, target_audit.target, target_audit.bins, index)
    with st.container(border=True, key="bin_rows"):
        widgets.title("Rows of this bin", bin_list.text)
        widgets.table(bin_list.table, key=f"rows.{index}", limit=ROWS_SHOWN)
        if bin_list.total > ROWS_SHOWN:
            widgets.caption(f"The first {ROWS_SHOWN} of {bin_list.total}; the file has all.")
        with st.container(horizontal=True):
            widgets.save(bin_list.table, f"bin_{index}", "All rows of this bin, CSV")
            st.button("Close", key="rows.close", on_click=state.next_generation)


def _first(value: object) -> int:
    """Return the bin's number out of Plotly's customdata, however deep it is wrapped."""
    while isinstance(value, (list, tuple)):
        value = value[0]
    return int(str(value))


def _details(
    run: cache.Run, split: str, target_audit: TargetAudit, view: views.ReliabilityView
) -> None:
    with st.expander("What these numbers mean", key="details.words"):
        widgets.meanings((tile.label, tile.help) for tile in view.numbers if tile.help)
    if view.parts.rows:
        many = len(view.parts.rows) > PARTS_OPEN
        with st.expander("By class or label", key="details.parts", expanded=not many):
            widgets.table(view.parts, key="table.parts")
            widgets.save(view.parts, "parts")
    every = st.expander(
        "Every metric, with interval, n and settings; and what this file cannot support",
        key="details.scores",
        on_change="rerun",
    )
    if every.open:
        full = cache.audit(run, split, ())
        with every:
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
    return full.main if target_audit.target == full.main.target else target_audit


def draw_plain(run: cache.Run, split: str) -> None:
    """Draw the same audit in plain words."""
    audit = cache.audit(run, split)
    top = st.container()
    with st.container(horizontal=True, key="controls"):
        _splits(run)
        target = _target(run, audit)
    prepared = cache.prepared(run, split, target)
    target_audit = cache.diagram(
        run, split, target, n_bins=defaults.N_BINS, rule=BinRule.EQUAL_WIDTH
    )
    view = plain_view(audit, target_audit, prepared.resamples.ranked, name=run.name, split=split)
    with top:
        widgets.eyebrow(view.eyebrow, controls.chip(run))
        widgets.sentence(view.sentence)
        drafts.bar(run)
        widgets.strip(view.numbers)
    widgets.plain(view)
