"""Train what a paper's table prints: one submission of its networks, losses and recipe."""

from collections.abc import Sequence
from typing import Any

import streamlit as st

from core.errors import UsageError
from core.models.catalogue import MODELS
from core.published import PAPERS, PublishedNumber, published
from core.reports.compare_text import latex_table
from core.screens.published.lines import Filters, numbers
from core.screens.published.reproduced import reproduced_table
from core.screens.published.words import DATA, METHODS, NETWORKS
from core.training.config import TrainConfig
from core.training.submission import check_folder, reproductions, seeds
from pages.ui import frame, site, visitor, widgets
from pages.ui.jobs import queue, speed
from pages.ui.jobs import watch as job_watch
from pages.ui.published import cache
from pages.ui.visitor import open_jobs

PRINTED = "As printed"
Place = tuple[str, str, str]  # data, network, loss


def draw(filters: Filters) -> None:
    """Draw the choice of table and rows, what trains them, and what was trained of them here."""
    off = visitor.off("pages/train.py")
    label = "My results in a table" if off else "Train a table or a row"
    with st.expander(label, key="published.train"):
        rows = _rows(numbers(filters))
        if not off:
            _training(rows)
        _results(rows)


def _training(rows: Sequence[PublishedNumber]) -> None:
    """Draw with what rows are trained, how long they take, and the button that trains them."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        text = st.text_input("Seeds", "0", key="published.seeds", width=120)
        network = st.selectbox(
            "Network",
            [PRINTED, *MODELS],
            key="published.own_network",
            format_func=lambda key: MODELS[key].label if key in MODELS else key,
            help="Another one than the paper’s is no reproduction.",
            width=220,
        )
        epochs = st.number_input(
            "Epochs", 1, 10_000, None, key="published.epochs", width=170,
            placeholder="as printed", help="Fewer than the paper’s are no reproduction.",
        )  # fmt: skip
        root = (
            st.text_input(
                "Data folder",
                key="published.root",
                placeholder="downloaded where it can be",
                width=300,
            )
            or None
        )
    own: dict[str, Any] = {"data_root": root} if root else {}
    own |= {} if network == PRINTED else {"model": network}
    own |= {} if epochs is None else {"epochs": int(epochs)}
    try:
        check_folder(root)
        configs, lacking = reproductions(rows, seeds(text), own)
    except UsageError as refused:
        frame.refusal(refused)
        return
    _submit(configs, lacking)


def _results(rows: Sequence[PublishedNumber]) -> None:
    """Draw the table in its own layout, with what was trained here, once that is asked for."""
    if not st.toggle("My results in this table", key="published.results"):
        return
    own, ids = cache.repeated(rows)
    for run_id in ids:
        visitor.note(run_id)
    table = reproduced_table(rows, own)
    widgets.table(table, key="table.reproduced")
    widgets.caption(
        "Mean ± sample deviation over the runs of this data, network and loss with the paper’s "
        "settings of it. T here has the smallest validation NLL."
    )
    with st.container(horizontal=True):
        widgets.save(table, "reproduced")
        widgets.download(
            "LaTeX",
            lambda: latex_table(table),
            "candor_reproduced.tex",
            "application/x-tex",
            key="tex.reproduced",
        )


def _rows(shown: Sequence[PublishedNumber]) -> list[PublishedNumber]:
    """Draw which table, and which of its rows; return the numbers of these."""
    tables = {(row.paper, row.table): f"{PAPERS[row.paper]}, table {row.table}" for row in shown}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        table = st.selectbox(
            "Table", list(tables), key="published.table", format_func=tables.__getitem__, width=300
        )
        there = published(paper=table[0], table=table[1]) if table else ()
        places = {_place(row): " · ".join(_names(row)) for row in there}
        chosen = st.multiselect(
            "Rows",
            list(places),
            key="published.rows",
            format_func=places.__getitem__,
            placeholder="All of the table",
            width=420,
        )
    return [row for row in there if not chosen or _place(row) in chosen]


def _place(row: PublishedNumber) -> Place:
    return row.dataset, row.model, row.method


def _names(row: PublishedNumber) -> tuple[str, str, str]:
    return DATA[row.dataset], NETWORKS[row.model], METHODS[row.method]


def _submit(configs: Sequence[TrainConfig], lacking: Sequence[PublishedNumber]) -> None:
    """Draw what cannot be trained here, the time, and the button."""
    jobs = open_jobs()
    if lacking:
        names = "; ".join(dict.fromkeys(" · ".join(_names(row)) for row in lacking))
        widgets.caption(f"Not trained here, or its settings are not stated: {names}.")
    speed.time(configs, jobs.list())
    queue.refused()
    if configs:
        st.button(
            f"Train {len(configs)}",
            key="published.submit",
            on_click=job_watch.submit,
            args=(jobs, configs),
            kwargs={"wants": "auto", "priority": 0, "time_limit": None, "request": None},
        )
    if st.query_params.get("job"):
        st.page_link(site.TRAIN.script, label="Open the queue", icon=site.TRAIN.icon)
