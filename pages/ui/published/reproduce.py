"""Train what a paper's table prints: one submission of its networks, losses and recipe."""

from collections.abc import Sequence

import streamlit as st

from core.codes import NoticeCode
from core.datasets.catalogue import data_entry
from core.errors import AuditError, UsageError
from core.fields import JsonObject
from core.jobs.local import LocalJobs
from core.jobs.records import Job, SlurmRequest
from core.models.catalogue import MODELS
from core.published import PAPERS, PublishedNumber, published, seeds_of
from core.reports.compare import latex_table
from core.screens.published.lines import DATA, METHODS, NETWORKS, Filters, numbers
from core.screens.published.view import fitted_as, place_of, recipe, reproduced_table
from core.training.config import TrainConfig
from core.training.submission import BERT_BASE, check_folder, printed_settings, reproductions, seeds
from pages.ui import cache as runs
from pages.ui import frame, site, visitor, widgets
from pages.ui.jobs import launcher, machine, queue
from pages.ui.published import studies
from pages.ui.visitor import open_jobs

PRINTED = "As printed"


def draw(filters: Filters) -> None:
    """Draw the choice of table and rows, what trains them, and what was trained of them here."""
    off = visitor.off("pages/train.py")
    label = "My results in a table" if off else "Train a table or a row"
    with st.expander(label, key="published.train"):
        shown = numbers(filters)
        tables = {
            (row.paper, row.table): f"{PAPERS[row.paper]}, table {row.table}" for row in shown
        }
        with st.container(horizontal=True, vertical_alignment="bottom"):
            chosen = st.selectbox(
                "Table",
                list(tables),
                key="published.table",
                format_func=tables.__getitem__,
                width=300,
            )
            there = published(paper=chosen[0], table=chosen[1]) if chosen else ()
            places = {place_of(row): " · ".join(_names(row)) for row in there}
            picked = st.multiselect(
                "Rows",
                list(places),
                key="published.rows",
                format_func=places.__getitem__,
                placeholder="All of the table",
                width=420,
            )
        rows = [row for row in there if not picked or place_of(row) in picked]
        own: JsonObject = {} if off else _training(rows)
        if not st.toggle("My results in this table", key="published.results"):
            return
        # The table in its own layout, with what was trained here: with other settings than the
        # paper's the runs of these, which do not reproduce it
        numbers_here, ids = studies.repeated(rows, own)
        for run_id in ids:
            visitor.note(run_id)
        table = reproduced_table(rows, numbers_here)
        widgets.table(table, key="table.reproduced")
        as_printed = [settings for row in rows if (settings := printed_settings(row))]
        means = "Here: mean ± sample deviation over seeds, T in brackets. Runs"
        note = f"{means if ids else 'No run here'} with the settings of the paper"
        if any(recipe(settings | own) != recipe(settings) for settings in as_printed):
            other = [MODELS[own["model"]].label] if "model" in own else []
            if n := own.get("epochs"):
                other.append(f"{n} epoch{'s' if n > 1 else ''}")
            note += f" but {' and '.join(other)}. They do not reproduce it"
        widgets.caption(f"{note}. {fitted_as(rows)}".strip())
        codes = {notice.code for run_id in ids for notice in runs.look_up(run_id).notices}
        if NoticeCode.REENCODED in codes:
            widgets.caption("Some of these runs saw JPEGs in place of the published pixels.")
        if NoticeCode.CHANGED_FILES in codes:
            widgets.caption("Some of these runs read files that are not the published ones.")
        with st.container(horizontal=True):
            widgets.save(table, "reproduced")
            widgets.download(
                "LaTeX",
                lambda: latex_table(table),
                "candor_reproduced.tex",
                "application/x-tex",
                key="tex.reproduced",
            )


def _training(rows: Sequence[PublishedNumber]) -> JsonObject:
    """Draw with what rows are trained, how long they take, and the button that trains them.

    Returns the settings that were chosen in the place of the paper's.
    """
    jobs = open_jobs()
    jobs.tick()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        of_paper = max(map(seeds_of, rows), key=len, default=range(1))
        printed_seeds = ", ".join(map(str, of_paper))  # another table begins with its own
        key = f"published.seeds.{of_paper[-1]}"
        text = st.text_input("Seeds", printed_seeds, key=key, width=140)
        network = st.selectbox(
            "Network",
            [PRINTED, *MODELS],
            key="published.own_network",
            format_func=lambda key: MODELS[key].label if key in MODELS else key,
            help="Another network does not reproduce the paper.",
            width=220,
        )
        epochs = st.number_input(
            "Epochs", 1, 10_000, None, key="published.epochs", width=170,
            placeholder="as printed", help="Fewer epochs do not reproduce the paper.",
        )  # fmt: skip
        launcher.choose()
        # Each data set that can be trained on has a folder
        roots = {}
        for data in dict.fromkeys(row.dataset for row in rows if printed_settings(row)):
            entry = data_entry(data)
            instead = "needed" if entry.needs_root else "downloaded if empty"
            roots[data] = _path(f"Folder of {entry.label}", f"root.{data}", instead)
        # Each file or folder that trainings begin with has a path
        printed = filter(None, map(printed_settings, rows))
        paths = {}
        for name in dict.fromkeys(name for of in printed for name in of.get("text", {}).values()):
            label = "Folder of BERT" if name == BERT_BASE else "Word vectors"
            paths[name] = _path(label, f"begins.{name}", name)
    roots, paths = ({key: path for key, path in of.items() if path} for of in (roots, paths))
    launcher.ask(jobs)
    own: JsonObject = {} if network == PRINTED else {"model": network}
    own |= {} if epochs is None else {"epochs": int(epochs)}
    try:
        for path in (*roots.values(), *paths.values()):
            check_folder(path)
        request = launcher.request()
        if request is not None and request.nodes * request.gpus > 1:
            own["sync_batch_norm"] = True  # as on the one device of the papers
        configs, left_out = reproductions(rows, seeds(text), own, roots, paths)
    except UsageError as refused:
        frame.refusal(refused)
        return own
    for why in dict.fromkeys(left_out.values()):
        names = (" · ".join(_names(row)) for row, of in left_out.items() if of == why)
        widgets.caption(f"{why}: {'; '.join(names)}.")
    listed = jobs.list()
    new = _not_queued(listed, configs)
    machine.time(new, listed)
    queue.refused()
    with st.container(horizontal=True, vertical_alignment="center"):
        if new:
            st.button(
                f"Train {len(new)}" if len(new) > 1 else "Train",
                key="published.submit",
                on_click=_queue,
                args=(jobs, new, request),
            )
        if n := len(configs) - len(new):
            st.markdown(f"{n} training{'s' if n > 1 else ''} queued or running.", width="content")
            st.page_link(site.TRAIN.script, label="Open the queue", icon=site.TRAIN.icon)
    return own


def _path(label: str, name: str, instead: str) -> str:
    return st.text_input(label, key=f"published.{name}", placeholder=instead, width=220)


def _names(row: PublishedNumber) -> tuple[str, str, str]:
    return DATA[row.dataset], NETWORKS[row.model], METHODS[row.method]


def _not_queued(listed: Sequence[Job], configs: Sequence[TrainConfig]) -> list[TrainConfig]:
    queued = {job.digest for job in listed if not job.state.ended}
    return [config for config in configs if config.digest not in queued]


def _queue(jobs: LocalJobs, configs: Sequence[TrainConfig], request: SlurmRequest | None) -> None:
    """Queue trainings; a second click before the page is drawn again adds nothing."""
    try:
        if new := _not_queued(jobs.list(), configs):
            jobs.submit(new, request=request)
    except AuditError as error:
        st.session_state[queue.REFUSED] = error
