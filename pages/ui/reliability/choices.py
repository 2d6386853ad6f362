"""What is chosen on the Reliability page: what is audited, its bins, the scale of the counts."""

import numpy as np
import streamlit as st

from core import defaults
from core.configs import BinRule
from core.metrics.records import Audit, BinTable
from core.predictions import Task
from core.screens.kit.diagram import has_log_odds
from core.screens.kit.marks import filled
from core.screens.kit.numbers import count, edges
from core.screens.kit.text import clean
from core.screens.kit.words import with_row_noun
from pages.ui import cache, controls, state

RULES = {BinRule.EQUAL_WIDTH.value: "Equal width", BinRule.EQUAL_MASS.value: "Equal mass"}
SCALES = {"auto": "Auto scale", "linear": "Linear", "log": "Log"}
AXES = {"linear": "Linear axes", "odds": "Log odds"}
CONFIDENT = 0.9  # of the middle one of its bins
ANSWERS, ALL = "answers", "all"


def target(run: cache.Run, audit: Audit) -> int | None:
    """Return what is audited: one class or label; None for the answers given, or all labels."""
    if audit.task == Task.TOP_LABEL:
        return None
    labels = audit.task == Task.MULTILABEL
    whole = ALL if labels else ANSWERS
    options = {whole: "All labels" if labels else "Answers given"}
    options |= {str(i): clean(name) for i, name in enumerate(run.class_names)}
    first = audit.headline.target
    default = whole if labels or first is None else str(first)
    title = "Finding" if labels else "Reliability of"
    chosen = controls.select(title, "of", options, default, width=200)
    return None if chosen == whole else int(chosen)


def bins() -> tuple[str, int]:
    """Return how answers are binned, and into how many."""
    rule = controls.segments("Bins", "rule", list(RULES), BinRule.EQUAL_WIDTH.value, RULES)
    least, most, default = defaults.N_BINS_MIN, defaults.N_BINS_MAX, str(defaults.N_BINS)
    n_bins = int(state.choice("bins", [str(n) for n in range(least, most + 1)], default))
    st.session_state["widget.bins"] = n_bins
    st.slider(
        "Number of bins",
        least,
        most,
        key="widget.bins",
        on_change=state.pick,
        args=("bins", default),
        format="%d bins",
        width=200,
    )
    return rule, n_bins


def opened_bin(table: BinTable) -> int | None:
    """Return the bin whose rows are shown, by the list or by a click in the diagram."""
    options = {"": with_row_noun("Choose a bin to see its images")}
    for index in map(int, filled(table)):
        low, high = edges(float(table.low[index]), float(table.high[index]))
        options[str(index + 1)] = f"Bin {low} to {high}: {count(int(table.count[index]))}"
    chosen = controls.select("Bin", "bin_rows", options, "", width=280)
    return int(chosen) - 1 if chosen else None


def open_bin(number: str) -> None:
    """Open the rows of a bin, counted from 1, or of none, otherwise than by the list."""
    state.remember("bin_rows", number, "")
    state.mount_anew("bin_rows")
    if not number:  # else the next click on the same dot changes nothing, and nobody is told
        state.next_generation()


def log_odds(rule: str, table: BinTable) -> bool:
    """Return whether the axes of the diagram are in log odds; asked of bins of equal mass.

    Of a confident model that is the default: most of its bins lie next to 100 %.
    """
    at = filled(table)
    if rule != BinRule.EQUAL_MASS or not has_log_odds(table):
        return False
    default = "odds" if np.median(table.confidence[at]) > CONFIDENT else "linear"
    return controls.segments("Axes", "axes", list(AXES), default, AXES) == "odds"


def log_counts() -> bool | None:
    """Return whether counts are drawn on a logarithmic scale; None leaves it to the data."""
    scale = controls.segments("Histogram", "counts", list(SCALES), "auto", SCALES)
    return {"linear": False, "log": True}.get(scale)
