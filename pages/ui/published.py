"""The Published page: what is chosen, own runs beside the numbers, and training of a table."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import cast

import streamlit as st

from core.codes import NoticeCode
from core.datasets.catalogue import data_entry
from core.errors import AuditError, LibraryError, UsageError
from core.fields import JsonObject
from core.jobs.local import LocalJobs
from core.jobs.records import Job, SlurmRequest
from core.models.catalogue import MODELS
from core.published import (
    ALL,
    PAPERS,
    PublishedNumber,
    compared,
    definition,
    protocol,
    published,
    seeds_of,
)
from core.reports.tables import latex_table
from core.screens.kit.marks import marks
from core.screens.published.lines import (
    DATA,
    METHODS,
    NETWORKS,
    Filters,
    Moment,
    OwnRun,
    PublishedWords,
    RunFacts,
    TrainedRun,
    metrics,
    networks,
    numbers,
    richest_paper,
)
from core.screens.published.view import (
    Place,
    Repeated,
    corrected,
    fitted_as,
    place_of,
    recipe,
    repetitions,
    reproduced_table,
)
from core.studies.published import OwnNumbers, comparable, own_numbers
from core.training.config import TrainConfig
from core.training.submission import BERT_BASE, check_folder, printed_settings, reproductions, seeds
from pages.ui import frame, open_runs, selected_runs, session, site, state, visitor, widgets
from pages.ui.caching import cached
from pages.ui.compute import Computation, Rows, computed, step
from pages.ui.jobs import machine
from pages.ui.jobs import watch as job_watch
from pages.ui.markup import esc
from pages.ui.visitor import open_jobs, open_library


def own_runs(
    runs: Sequence[open_runs.Run], metric: str, rows: Sequence[PublishedNumber]
) -> tuple[OwnRun, ...]:
    """Return the runs whose numbers are known, after calibrators fitted as those of rows."""
    steps = {run: _step(run, metric, rows) for run in runs}
    known = computed(list(steps.values()))
    own = []
    for run, mark in zip(runs, marks([run.id for run in runs]), strict=True):
        if steps[run] not in known:
            continue
        facts = RunFacts(n=run.n(run.split))
        if not run.draft:
            manifest = open_library().get(run.id)
            config = compared(manifest.config, manifest.class_names)
            weights = (config or {}).get("weights")
            if isinstance(weights, dict):  # an evaluation: of the training that it names
                config = None
                with suppress(LibraryError):
                    training = open_library().get(weights["run"] or "")
                    config = compared(training.config, training.class_names)
            facts = RunFacts.of(config, manifest.source.file, facts.n)
        numbers = known[steps[run]]
        own.append(OwnRun(id=run.id, name=run.name, mark=mark, facts=facts, numbers=numbers))
    return tuple(own)


def _step(
    run: open_runs.Run, metric: str, rows: Sequence[PublishedNumber]
) -> Computation[OwnNumbers]:
    """Return the step that computes a metric of the papers, of a run, as rows have it."""
    protocols = {row.posthoc: protocol(row) for row in corrected(rows) if row.metric == metric}
    # Calibrators can be fitted where there is a validation split beside the one that is shown.
    splits = [run.split] + ["val"] * ("val" in run.splits and run.split != "val")

    test, *fit = (Rows(run, split) for split in splits)
    return step(
        own_numbers,
        test,
        fit[0] if fit else None,
        metric,
        tuple(protocols.items()),
        words=esc(run.name),
        heavy=True if "focal_ts" in protocols else None,
        keep_rows=False,
    )


def repeated(
    rows: Sequence[PublishedNumber], settings: JsonObject
) -> tuple[Repeated, tuple[str, ...]]:
    """Return the numbers of the runs that repeat rows, and the ids of these runs.

    Settings stand in the place of the paper's, where others were tried. Of all trainings in the
    library; evaluations of theirs show the same test images again.
    """
    metrics = [m for m in dict.fromkeys(row.metric for row in rows) if definition(m).metric]
    steps: dict[tuple[Place, str], list[Computation[OwnNumbers]]] = {}
    ids: list[str] = []
    for place, runs in repetitions(rows, _recipes(), settings).items():
        for run_id in runs:
            with suppress(LibraryError):  # deleted meanwhile
                run = open_runs.look_up(run_id)
                ids.append(run_id)
                for metric in metrics:
                    of_run = replace(_step(run, metric, rows), slot="reproduced")
                    steps.setdefault((place, metric), []).append(of_run)
    known = computed(list(dict.fromkeys(of for several in steps.values() for of in several)))
    numbers = {key: [known.get(of) for of in several] for key, several in steps.items()}
    return numbers, tuple(dict.fromkeys(ids))


def _recipes() -> dict[str, tuple[str, int]]:
    """Return what every training of the library was trained with, the newest first."""
    recipes = {}
    for row in open_runs.rows(kind="train"):
        with suppress(LibraryError):  # deleted meanwhile
            of = _recipe(row.id, row.created) if row.split == "test" else None
            if of is not None:
                recipes[row.id] = of
    return recipes


@cached(8192)
def _recipe(run_id: str, created: str) -> tuple[str, int] | None:
    """Return what a run of the library was trained with, which never changes."""
    del created  # part of the key only: a run of the same id made later is another one
    manifest = open_library().get(run_id)
    return recipe(compared(manifest.config, manifest.class_names))


def trained(rows: Sequence[PublishedNumber]) -> dict[Place, TrainedRun]:
    """Return the newest run of the library that was trained as each of the rows was."""
    runs = {}
    for place, ids in repetitions(rows, _recipes()).items():
        with suppress(LibraryError):  # deleted meanwhile
            for run_id in ids[:1]:
                run = open_library().get(run_id)
                runs[place] = TrainedRun(id=run_id, name=run.name, summary=run.metrics.get("test"))
    return runs


# What is chosen.
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
        moment = widgets.segments(words.moment, "moment", list(MOMENTS), "both", MOMENTS)
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
    value = widgets.select(label, name, every, default, width=WIDTH)
    return "" if value == ALL else value


def clear() -> None:
    """Forget every filter."""
    for name in ("data", "network", "measure", "paper", "moment", "loss"):
        st.session_state.pop(f"set.{name}", None)
        st.session_state.pop(f"widget.{name}", None)
        st.query_params.pop(name, None)


def pick_own_runs(filters: Filters) -> list[open_runs.Run]:
    """Draw the choice of runs beside the papers' numbers, and return them.

    There is none where nothing is drawn, or where Candor has no metric of the same definition.
    """
    if not filters.one_kind or not definition(filters.metric).metric:
        return []
    names = {draft.id: f"{draft.name} (draft)" for draft in session.drafts().values()}
    names |= {row.id: row.name for row in open_runs.openable(LISTED) if row.task == "multiclass"}
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
        on_change=lambda: selected_runs.keep(
            "set.own", "own", tuple(st.session_state["widget.own"])
        ),
        width=2 * WIDTH,
    )
    return [run for run in map(open_runs.find_or_none, chosen) if run is not None]


# Training what a table prints.
PRINTED = "As printed"


def reproduce(filters: Filters) -> None:
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
        numbers_here, ids = repeated(rows, own)
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
        codes = {notice.code for run_id in ids for notice in open_runs.look_up(run_id).notices}
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
        machine.choose()
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
    machine.ask(jobs)
    own: JsonObject = {} if network == PRINTED else {"model": network}
    own |= {} if epochs is None else {"epochs": int(epochs)}
    try:
        for path in (*roots.values(), *paths.values()):
            check_folder(path)
        request = machine.request()
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
    job_watch.refused()
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
        st.session_state[job_watch.REFUSED] = error
