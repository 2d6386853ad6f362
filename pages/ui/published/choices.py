"""What is chosen on the Published page: data, network, metric, paper, losses, and runs beside."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import cast

import streamlit as st

from core.errors import LibraryError
from core.published import ALL, PAPERS, definition
from core.screens.published.lines import (
    DATA,
    METHODS,
    NETWORKS,
    Filters,
    Moment,
    PublishedWords,
    metrics,
    networks,
    richest_paper,
)
from core.studies.published import comparable
from pages.ui import cache, controls, picked_runs, session, state

FIRST_DATA, FIRST_NETWORK = "cifar10", "resnet50"
FIRST_RUN = "cifar10-ce"  # the sample beside the first story
MOST = 3  # runs beside
LISTED = 200
MOMENTS = {"both": "Both", "before": "As trained", "after": "After"}
WIDTH = 168  # two abreast on a phone


def filters(words: PublishedWords) -> Filters:
    """Draw the filters, and return what they ask for."""
    data = _select("Data", "data", DATA, FIRST_DATA)
    there = networks(data)
    usual = FIRST_NETWORK if FIRST_NETWORK in there else there[0]
    network = _select(words.network, "network", {key: NETWORKS[key] for key in there}, usual)
    offered = {
        key: words.label(key)
        for key in metrics(data, network)
        if not words.metrics or key in words.metrics
    }
    # A paper that is chosen opens on a metric of its own: not all print the usual one
    entered = "widget.paper" not in st.session_state
    chosen = st.query_params.get("paper") or (st.session_state.get("set.paper") if entered else "")
    known = metrics(data, network, chosen if chosen in PAPERS else "")
    usual = next((key for key in offered if key in known), next(iter(offered), ALL))
    metric = _select(words.metric, "measure", offered, usual)
    # Of the metric that is shown once the link names no paper
    alone = metric if st.query_params.get("measure") else next(iter(offered), "")
    paper = _select("Paper", "paper", PAPERS, richest_paper(data, network, alone))
    with st.popover("More filters", key="published.more"):
        moment = controls.segments(words.moment, "moment", list(MOMENTS), "both", MOMENTS)
        linked = st.query_params.get("loss", "").split(",")
        losses = [key for key in linked if key in METHODS]
        st.session_state["widget.loss"] = losses
        st.multiselect(
            words.method,
            list(METHODS),
            key="widget.loss",
            format_func=METHODS.__getitem__,
            placeholder="All",
            on_change=lambda: state.remember("loss", ",".join(st.session_state["widget.loss"]), ""),
            width=2 * WIDTH,
        )
    return Filters(
        data=data,
        network=network,
        metric=metric,
        paper=paper,
        methods=tuple(losses),
        moment=cast(Moment, moment),
    )


def _select(label: str, name: str, options: Mapping[str, str], default: str) -> str:
    """Draw a choice of one key, or of all, that lives in the link; all is empty."""
    every = {**options, ALL: "All"}
    value = controls.select(label, name, every, default, width=WIDTH)
    return "" if value == ALL else value


def clear() -> None:
    """Forget every filter."""
    for name in ("data", "network", "measure", "paper", "moment", "loss"):
        st.session_state.pop(f"set.{name}", None)
        st.session_state.pop(f"widget.{name}", None)
        st.query_params.pop(name, None)


def beside(filters: Filters) -> list[cache.Run]:
    """Draw the choice of runs beside the papers' numbers, and return them.

    There is none where nothing is drawn, or where Candor has no metric of the same definition.
    """
    if not filters.one_kind or not definition(filters.metric).metric:
        return []
    names = {draft.id: f"{draft.name} (draft)" for draft in session.drafts().values()}
    names |= {row.id: row.name for row in cache.openable(LISTED) if row.task == "multiclass"}
    names = state.distinct_names(names)
    # The runs that the link names, were chosen, or are open; else the story's sample
    remembered: Sequence[str] | None = st.session_state.get("set.own")
    run_ids: Sequence[str] = [FIRST_RUN] if filters.data == FIRST_DATA else []
    if linked := st.query_params.get("own"):
        run_ids = linked.split(",")
    elif remembered is not None:
        run_ids = remembered
    else:
        with suppress(LibraryError):
            current = state.current_run()
            if current is not None and comparable(current.task):
                run_ids = [current.id]
    chosen = [run_id for run_id in run_ids if run_id in names][:MOST]
    st.session_state["widget.own"] = chosen
    st.multiselect(
        "Your runs beside",
        list(names),
        key="widget.own",
        format_func=lambda run_id: names.get(run_id, run_id),
        max_selections=MOST,
        placeholder="Pick runs",
        on_change=lambda: picked_runs.keep("set.own", "own", tuple(st.session_state["widget.own"])),
        width=2 * WIDTH,
    )
    return [run for run in map(cache.find_or_none, chosen) if run is not None]
