"""What is chosen on the Compare page: runs, their split, what ranks them, the reference."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import streamlit as st

from core.defaults import ACTS_AT
from core.errors import LibraryError
from core.metrics.comparison import Compared, best, why_not
from core.predictions import Task
from core.screens.compare.view import FEW
from core.screens.kit.differences import NAMES, OFFERED, RISKS, UNRANKED, with_others
from core.screens.kit.numbers import THIN
from pages.ui import cache, frame, picked_runs, site, state
from pages.ui.controls import SPLIT_NAMES
from pages.ui.escape import esc

LEAST, MOST = 0.1, 99.9  # percent
IN_A_ROW = 7  # metrics; more are a list
SIBLINGS = 8  # offered to compare a run with


def runs() -> list[cache.Run]:
    """Return the runs that are compared; none, and why, where one of them is gone."""
    try:
        return picked_runs.chosen()
    except LibraryError as gone:  # the picker lets one go on without it
        frame.refusal(gone)
        return []


def siblings(run: cache.Run) -> None:
    """Offer the runs with as many rows and the same kind of answer: one of them, or all."""
    key = (run.task, run.n(run.split), len(run.class_names))
    rows = [row for row in cache.openable(picked_runs.LISTED) if row.id != run.id]
    alike = [row for row in rows if (row.task, row.n, row.n_classes) == key][:SIBLINGS]
    offered = [(row.name, [row]) for row in alike]
    offered += [(f"Compare all {len(alike) + 1}", alike)] if len(alike) > 1 else []
    with st.container(horizontal=True, key="samples"):
        for i, (name, others) in enumerate(offered):
            st.button(
                esc(name),
                type="secondary" if i else "primary",
                key=f"compare.with.{i}",
                on_click=picked_runs.choose,
                args=([run.id, *(row.id for row in others)],),
            )


def other_ways() -> None:
    """Draw the other ways to pick runs: two samples, or the list."""
    with st.container(horizontal=True, vertical_alignment="center", key="nothing"):
        # The first two samples of one kind and size share their test images
        rows = cache.rows(kind="sample", sort="name", descending=False)
        groups = ([one for one in rows if (one.task, one.n) == (row.task, row.n)] for row in rows)
        pair = next((alike[:2] for alike in groups if len(alike) > 1), [])
        if pair:
            st.button(
                "Compare two sample runs",
                type="primary",
                key="compare.samples",
                on_click=picked_runs.choose,
                args=([row.id for row in pair],),
            )
        st.page_link(site.HOME.script, label="Tick runs in the list", icon=site.HOME.icon)


def splits(runs: list[cache.Run]) -> list[str]:
    """Return each run's split: the one chosen among those that all have, else its own."""
    common = [split for split in runs[0].splits if all(split in run.splits for run in runs)]
    own = [run.split for run in runs]
    if not common:
        return own
    default = own[0] if own[0] in common else common[0]
    split = state.choice("split", common, default)
    if len(common) > 1:
        st.segmented_control(
            "Split",
            common,
            required=True,
            format_func=lambda option: SPLIT_NAMES.get(option, option),
            key="widget.split",
            on_change=state.pick,
            args=("split", default),
        )
    return [split] * len(runs)


def threshold() -> float:
    """Return the risk at which net benefit is compared, with its choice; the link holds it."""
    if state.plain():
        return ACTS_AT
    at, default = "compare.at", 100 * ACTS_AT
    if at not in st.session_state:
        st.session_state[at] = default
        with suppress(ValueError):  # a link may hold anything
            linked = float(st.query_params.get("at", ""))
            st.session_state[at] = linked if LEAST <= linked <= MOST else default
    with st.popover(f"Net benefit at {st.session_state[at]:g}{THIN}%", key="compare.at.fold"):
        percent = st.number_input(
            "Act from a risk of, %",
            LEAST,
            MOST,
            key=at,
            help="Net benefit: true alarms minus false ones, weighed by this risk.",
        )
    state.remember("at", f"{percent:g}", f"{default:g}")
    return percent / 100


def two_classes(runs: Sequence[cache.Run]) -> bool:
    """Whether all runs state the risk of one event."""
    return all(run.task is Task.BINARY for run in runs)


def rest(runs: Sequence[cache.Run], audited: Sequence[Compared]) -> None:
    """Offer to rank the most runs that share their rows, and to set the others aside."""
    groups: list[list[int]] = []
    for i in range(len(runs)):
        for group in groups:
            alike = [*group, i]
            if not why_not([audited[k].rows for k in alike], [runs[k].name for k in alike]):
                group.append(i)
                break
        else:
            groups.append([i])
    most = max(groups, key=len)
    if 1 < len(most) < len(runs):
        others = [run.name for i, run in enumerate(runs) if i not in most]
        aside = f"“{others[0]}”" if len(others) == 1 else f"{len(others)} runs"
        st.button(
            f"Set aside {esc(aside)}, rank the rest",
            type="primary",
            key="compare.rest",
            on_click=picked_runs.choose,
            args=([runs[i].id for i in most],),
        )


def ranking(runs: list[cache.Run], audited: Sequence[Compared]) -> tuple[str, int]:
    """Draw what runs are ranked by, and the one they are compared with, where they can be."""
    if why_not([run_audit.rows for run_audit in audited], [run.name for run in runs]):
        return "ece", 0
    unranked = UNRANKED if two_classes(runs) else RISKS
    offered = [key for key in with_others(OFFERED, audited) if key not in unranked]
    metric = "ece"
    if not state.plain():
        metric = state.choice("metric", offered, "ece")
        widget: dict[str, Any] = {
            "format_func": NAMES.__getitem__,
            "on_change": state.pick,
            "args": ("metric", "ece"),
            "help": "The table is sorted by it, and its differences are drawn.",
        }
        if len(offered) > IN_A_ROW:
            st.selectbox("Ranked by", offered, key="widget.metric", width=240, **widget)
        else:
            st.segmented_control("Ranked by", offered, key="widget.metric", required=True, **widget)
    # A reference that was picked stays in the link, also where it is the default; a draft has none
    ids = [run.id for run in runs]
    names = state.distinct_names({run.id: run.name for run in runs})
    reference = state.choice("ref", ["", *ids], "") or ids[best(audited, metric)]
    st.session_state["widget.ref"] = reference
    st.selectbox(
        "Against",
        ids,
        key="widget.ref",
        format_func=names.__getitem__,
        on_change=state.pick,
        args=("ref", ""),
        width=240,
        help="The reference: differences are the other runs minus this one.",
    )
    at = ids.index(reference)
    if runs[at].draft:
        st.query_params.pop("ref", None)
    return metric, at


def search(runs: Sequence[cache.Run]) -> str:
    """Return what is searched for among many runs."""
    if len(runs) <= FEW:
        return ""
    text = st.text_input(
        "Find runs",
        placeholder="Part of a name",
        key="compare.search",
        type="search",
        live=True,
        width=240,
        help="Lists the runs that match, and highlights the first six in the figures.",
    )
    return text or ""


def chip(runs: list[cache.Run]) -> str:
    """Return the dashed mark beside the eyebrow: drafts and samples say what they are."""
    if any(run.draft for run in runs):
        return "With a draft that only you see"
    samples = all(run.kind == "sample" for run in runs)
    return "Samples" if samples else ""
