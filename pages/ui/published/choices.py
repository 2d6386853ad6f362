"""What is chosen on the Published page: data, network, metric, paper, losses, and runs beside."""

from collections.abc import Mapping, Sequence
from typing import cast

import streamlit as st

from core.errors import LibraryError
from core.published import PAPERS, definition
from core.screens.published.lines import (
    Filters,
    Moment,
    methods,
    metrics,
    networks,
    richest_paper,
    usual_network,
)
from core.screens.published.words import DATA, METHODS, NETWORKS, PublishedWords
from core.studies.published import comparable
from pages.ui import cache, controls, picked_runs, session, state

ALL = "all"
FIRST_DATA = "cifar10"
FIRST_RUN = "cifar10-ce"  # the sample beside the first story
MOST = 3  # runs beside
LISTED = 200
MOMENTS: dict[str, str] = {"both": "Both", "before": "As trained", "after": "After"}
NAMES = ("data", "network", "measure", "paper", "moment")
WIDTH = 168  # two abreast on a phone


def filters(words: PublishedWords) -> Filters:
    """Draw the filters, and return what they ask for."""
    data = _select("Data", "data", list(DATA), FIRST_DATA, DATA)
    known = "" if data == ALL else data
    usual = usual_network(known)
    network = _select(words.network, "network", list(networks(known)), usual, NETWORKS)
    of_network = "" if network == ALL else network
    offered = [
        key for key in metrics(known, of_network) if not words.metrics or key in words.metrics
    ]
    labels = {key: words.label(key) for key in offered}
    metric = _select(words.metric, "measure", offered, offered[0] if offered else ALL, labels)
    asked = "" if metric == ALL else metric
    best = richest_paper(known, of_network, asked)
    paper = _select("Paper", "paper", list(PAPERS), best, PAPERS)
    with st.popover("More filters", key="published.more"):
        moment, kept = _moment(words), _methods(words)
    return Filters(
        data=known,
        network=of_network,
        metric=asked,
        paper="" if paper == ALL else paper,
        methods=kept,
        moment=moment,
    )


def _moment(words: PublishedWords) -> Moment:
    moment = controls.segments(
        words.moment,
        "moment",
        list(MOMENTS),
        "both",
        MOMENTS,
    )
    return cast(Moment, moment)


def _select(
    label: str, name: str, options: list[str], default: str, words: Mapping[str, str]
) -> str:
    """Draw a choice of one key or all that lives in the link."""
    names = {ALL: "All", **words}
    every = [*options, ALL]
    value = state.choice(name, every, default)
    st.selectbox(
        label,
        every,
        format_func=lambda option: names.get(option, option),
        key=f"widget.{name}",
        on_change=state.pick,
        args=(name, default),
        width=WIDTH,
    )
    return value


def _methods(words: PublishedWords) -> tuple[str, ...]:
    """Draw the choice of losses; none chosen stands for all."""
    linked = [key for key in st.query_params.get("loss", "").split(",") if key in methods()]
    st.session_state["widget.loss"] = linked
    st.multiselect(
        words.method,
        list(methods()),
        key="widget.loss",
        format_func=METHODS.__getitem__,
        placeholder="All",
        on_change=_keep_methods,
        width=2 * WIDTH,
    )
    return tuple(linked)


def _keep_methods() -> None:
    chosen = st.session_state["widget.loss"]
    if chosen:
        st.query_params["loss"] = ",".join(chosen)
    else:
        st.query_params.pop("loss", None)


def clear() -> None:
    """Forget every filter."""
    for name in NAMES:
        st.session_state.pop(f"set.{name}", None)
        st.session_state.pop(f"widget.{name}", None)
        st.query_params.pop(name, None)
    st.query_params.pop("loss", None)


def beside(filters: Filters) -> list[cache.Run]:
    """Draw the choice of runs beside the papers' numbers, and return them.

    There is none where nothing is drawn, or where Candor has no metric of the same definition.
    """
    if not filters.one_kind or not definition(filters.metric).metric:
        return []
    names = {draft.id: f"{draft.name} (draft)" for draft in session.drafts().values()}
    names |= {row.id: row.name for row in cache.openable(LISTED) if row.task == "multiclass"}
    chosen = [run_id for run_id in _chosen(filters) if run_id in names][:MOST]
    names = state.distinct_names(names)
    st.session_state["widget.own"] = chosen
    st.multiselect(
        "Your runs beside",
        list(names),
        key="widget.own",
        format_func=lambda run_id: names.get(run_id, run_id),
        max_selections=MOST,
        placeholder="Pick runs",
        on_change=_keep_runs,
        width=2 * WIDTH,
    )
    return _found(chosen)


def _chosen(filters: Filters) -> Sequence[str]:
    """Return the runs that the link names, were chosen, or are open; else the story's sample."""
    if linked := st.query_params.get("own"):
        return linked.split(",")
    remembered: Sequence[str] | None = st.session_state.get("set.own")
    if remembered is not None:
        return remembered
    try:
        current = state.current_run()
    except LibraryError:
        current = None
    if current is not None and comparable(current.task):
        return [current.id]
    return [FIRST_RUN] if filters.data == FIRST_DATA else []


def _keep_runs() -> None:
    picked_runs.keep("set.own", "own", tuple(st.session_state["widget.own"]))


def _found(ids: Sequence[str]) -> list[cache.Run]:
    """Return the runs that are still there."""
    runs = []
    for run_id in ids:
        try:
            runs.append(cache.find(run_id))
        except LibraryError:  # deleted meanwhile
            continue
    return runs
