"""What the post-hoc page draws under its numbers: diagrams, landscape, other runs, details."""

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Final

import numpy as np
import streamlit as st

from core.calibrators import CALIBRATORS
from core.calibrators.focal_temperature import FocalTemperature
from core.calibrators.search import GAMMAS
from core.calibrators.stored import code, to_json
from core.calibrators.temperature import Temperature
from core.errors import Refused, sentence
from core.library import Manifest
from core.library.export import npz_bytes
from core.library.manifest import checked_name
from core.predictions import Task
from core.screens.kit.differences import NamedRun
from core.screens.kit.marks import marks
from core.screens.kit.methods import parameters
from core.screens.kit.numbers import count
from core.screens.kit.records import FigureCard
from core.screens.kit.words import with_row_noun
from core.screens.posthoc import view as views
from core.screens.posthoc.words import NAMES, meaning
from core.screens.reliability.view import KEY
from core.studies.posthoc import (
    CUT,
    NONE,
    Fit,
    PosthocRows,
    RowChoice,
    calibrated_splits,
    keep_calibrated,
    provenance,
)
from core.studies.temperatures import FocalPoint
from pages.ui import (
    drafts,
    frame,
    open_runs,
    plot,
    selected_runs,
    session,
    site,
    state,
    visitor,
    widgets,
)
from pages.ui.compute import computed
from pages.ui.markup import esc
from pages.ui.plot import Dragged, MovedFigure, columns
from pages.ui.posthoc import studies
from pages.ui.posthoc.studies import method_step
from pages.ui.streamlit_internals import ExpanderContainer
from pages.ui.task import BackgroundTask, in_process
from pages.ui.visitor import open_library

MOST_BYTES: Final = 2**28  # of a download


def take_away(run: open_runs.Run, fits: Sequence[Fit], rows: PosthocRows) -> None:
    """Offer a fitted method as parameters, as code, and the predictions after it."""
    fitted = {fit.method: fit.calibrator for fit in fits if fit.calibrator is not None}
    if not fitted:
        return
    with st.popover("Export a fit", icon=":material/download:", key="posthoc.take"):
        widgets.caption("python -m core apply reads the parameters.")
        with st.container(horizontal=True, vertical_alignment="bottom", key="take"):
            method = _pick_method(fitted, "take")
            calibrator = fitted[method]
            # Read here: a download is made outside the session, which alone can read its drafts.
            splits = {name: open_runs.predictions(run, name) for name in run.splits}
            widgets.download(
                "Parameters, JSON",
                lambda: json.dumps(to_json(calibrator, provenance(rows)), allow_nan=False),
                f"candor_{method}.json",
                "application/json",
                key="take.json",
            )
            widgets.download(
                "Code, Python",
                lambda: code(calibrator),
                f"candor_{method}.py",
                "text/x-python",
                key="take.code",
            )
            # A download of probabilities (float64) is put together in the server's memory
            cells = sum(run.n(name) for name in run.splits) * len(run.class_names)
            if 8 * cells <= MOST_BYTES:
                widgets.download(
                    "Calibrated predictions, NPZ",
                    lambda: npz_bytes(calibrated_splits(calibrator, splits)),
                    f"candor_{method}.npz",
                    "application/octet-stream",
                    key="take.npz",
                )
        if 8 * cells > MOST_BYTES:
            file = visitor.file_name(f"candor_{method}.json")
            widgets.caption(
                "The calibrated predictions are too large to download. Save the parameters, then "
                f"use python -m core apply {file} FILE --out OUT.npz."
            )
        chosen = next(fit for fit in fits if fit.method == method)
        weights = rows.fit_from.weights
        by = f", which count by {weights.name}" if weights is not None else ""
        on_rows = f"fitted on {count(rows.n_fit)} {with_row_noun('images')}{by}"
        widgets.caption(f"{NAMES[method]}: {parameters(chosen)}; {on_rows}.")


def _pick_method(fitted: Iterable[str], key: str) -> str:
    """Draw the choice of a fitted method, the first at first."""
    methods = list(fitted)
    return st.segmented_control(
        "Method",
        methods,
        default=methods[0],
        required=True,
        format_func=NAMES.__getitem__,
        key=f"{key}.{'.'.join(methods)}",
    )


KEEPING: Final = "posthoc.keeping"  # the task that keeps a calibrated run, and of which rows


def keep_as_run(run: open_runs.Run, fits: Sequence[Fit], row_choice: RowChoice) -> None:
    """Offer to keep the predictions after a fitted method as a run; a draft is kept with them."""
    fitted = {fit.method: fit for fit in fits if fit.calibrator is not None}
    may = run.draft or run.kind == "sample" or open_library().owns(run.id)
    if not fitted or not may or visitor.off("upload"):
        return
    with st.popover("Keep as a run", type="primary", key="posthoc.keep"):
        method = _pick_method(fitted, "keep")
        after = NAMES[method][0].lower() + NAMES[method][1:]
        with st.form("keep.form", border=False):
            original = st.text_input("Original", run.name, max_chars=300) if run.draft else ""
            name = st.text_input(
                "Corrected" if run.draft else "Name",
                f"{run.name}, {after}"[:300],
                max_chars=300,
                key=f"keep.name.{method}",
            )
            if st.form_submit_button("Keep both" if run.draft else "Keep", type="primary"):
                with frame.caught():
                    checked_name(name)
                    then = partial(_keep, name=name, fit=fitted[method], row_choice=row_choice)
                    if run.draft:
                        drafts.keep(run, original, then=then)
                    else:
                        then(run)
                        st.rerun()


def kept(run: open_runs.Run) -> None:
    """Draw how far the keeping of a calibrated run is, then compare both runs.

    Who waited is taken there; who comes back later is given the link. What was cut in two is no
    comparison: the run as trained has rows that the other lacks.
    """
    place = f"{KEEPING}.{run.id}"
    if place not in st.session_state:
        return
    task, row_choice = st.session_state[place]
    waited = task.watched
    manifest = task.draw()
    if manifest is None:
        return
    compare = {"runs": f"{run.id},{manifest.id}"}
    if row_choice.fit_on == CUT:
        task.forget()
        state.say(f"Kept {manifest.name} in your runs.")
        st.rerun()
    if waited:
        state.say(f"Kept {manifest.name} in your runs.")
        st.switch_page(site.COMPARE.script, query_params=compare)
    if open_runs.find_or_none(manifest.id) is not None:
        label = f"Compare with “{esc(manifest.name)}”"
        st.page_link(site.COMPARE.script, label=label, icon=site.COMPARE.icon, query_params=compare)


def _keep(run: open_runs.Run, name: str, fit: Fit, row_choice: RowChoice) -> None:
    """Begin to keep the predictions after a method, in a process of its own."""
    sources = {split: open_runs.source(run, split) for split in (*run.splits, *run.outside)}
    given = open_library(), name, run.id, fit, sources, row_choice
    start = partial(in_process, keep_calibrated, *given)
    text = f"Keeping “{esc(name)}” in the library."
    task: BackgroundTask[Manifest]
    task = BackgroundTask(f"posthoc.keep.{run.id}", (name, fit.method), text, start)
    st.session_state[f"{KEEPING}.{run.id}"] = task, row_choice
    task.begin()


def meanings(fits: Sequence[Fit], task: Task) -> None:
    """Say what the methods do, and who says so."""
    with st.expander("What these methods do", key="details.words"):
        widgets.meanings(
            (NAMES[fit.method], f"{meaning(fit.method, task)} {CALIBRATORS[fit.method].source}.")
            for fit in fits
        )


HANDLE_WIDTH = 460  # px, of the diagram at a temperature
MOST = 11  # beside the open one
LISTED = 200


def picker(run: open_runs.Run, task: Task) -> tuple[list[open_runs.Run], ExpanderContainer]:
    """Draw the choice of other runs of the same task; return them, and where it is folded.

    Drafts stay out of the link.
    """
    names = {
        draft.id: f"{draft.name} (draft)"
        for draft in session.drafts().values()
        if draft.result.splits[draft.result.chosen_split].task is task
    }
    names |= {row.id: row.name for row in open_runs.openable(LISTED) if row.task == task}
    names.pop(run.id, None)
    names = state.distinct_names(names)
    chosen = selected_runs.others("set.beside", names, MOST)
    st.session_state["widget.beside"] = chosen
    more = st.expander(
        "Trained for calibration, or calibrated afterwards: this run and others",
        key="posthoc.beside",
        expanded=bool(chosen),
        on_change="rerun",
    )
    more.multiselect(
        "Other runs beside it",
        list(names),
        key="widget.beside",
        format_func=lambda run_id: names.get(run_id, run_id),
        max_selections=MOST,
        placeholder="Pick runs trained with other losses",
        on_change=lambda: selected_runs.keep(
            "set.beside", "beside", st.session_state["widget.beside"]
        ),
        help="Each is fitted on its own validation split; a run with one split, on half of it.",
    )
    return [other for other in map(open_runs.find_or_none, chosen) if other is not None], more


def draw(runs: Mapping[open_runs.Run, RowChoice]) -> None:
    """Draw the table of runs before and after their temperature."""
    steps = [
        method_step(run, row_choice, method)
        for run, row_choice in runs.items()
        for method in (NONE, "ts")
    ]
    known = computed(steps)
    judged: dict[open_runs.Run, RowChoice] = {}
    for run, row_choice in runs.items():
        scaled = known.get(method_step(run, row_choice, "ts"))
        if scaled is None:
            continue
        if scaled.judged is None:
            widgets.caption(f"{run.name}: {scaled.fit.refusal if scaled.fit else ''}.")
        else:
            judged[run] = row_choice
    calibrations = studies.innate_calibrations(judged, begin=len(known) == len(steps))
    if not calibrations:
        return
    badges = dict(zip(runs, marks([run.id for run in runs]), strict=True))
    widgets.second(
        views.innate_summary(
            {run.name: run_calibration for run, run_calibration in calibrations.items()}
        )
    )
    table = views.innate_table(
        [(run.name, badges[run], calibration) for run, calibration in calibrations.items()]
    )
    widgets.scores("Runs before and after their temperature", table.heads, table.written())
    widgets.save(table.file, "before_and_after")
    widgets.caption(views.INNATE_CAPTION)


SMALL_WIDTH = 229  # four fit beside each other at 1,280 px


def diagrams(cards: Sequence[tuple[str, str, FigureCard]]) -> None:
    """Draw a small diagram of each method, where there are any."""
    if not cards:
        return
    widgets.small_figures(((None, *named) for named in cards), SMALL_WIDTH)
    widgets.key(KEY)


def temperature_handle(run: open_runs.Run, row_choice: RowChoice, fits: Sequence[Fit]) -> None:
    """Draw the diagram at a temperature and γ that one takes hold of; the browser moves it."""
    fitted = [
        (fit.calibrator.objective, float(fit.calibrator.temperature_))
        for fit in fits
        if isinstance(fit.calibrator, Temperature)
    ]
    focal = next(
        (
            FocalPoint(float(fit.calibrator.gamma_), float(fit.calibrator.temperature_))
            for fit in fits
            if isinstance(fit.calibrator, FocalTemperature)
        ),
        None,
    )
    given = run, row_choice, fitted[0] if fitted else None, focal
    plain = studies.walk(*given)
    temperatures = [step.temperature for step in plain.steps]
    default = next(iter(plain.marks.values()), 1.0)
    temperature = plot.slider_value("t", temperatures, default)
    by_gamma = studies.gammas(run, row_choice, focal, temperature)
    gammas = [step.gamma for step in by_gamma.steps]
    gamma = plot.slider_value("g", gammas, 0.0)
    by_temperature = plain if gamma == 0.0 else studies.walk(*given, gamma)
    at = by_gamma.steps[gammas.index(gamma)]
    named = NamedRun(run.id, run.name, row_choice.test, run.file_digest)
    with st.container(horizontal=True, gap="medium", key="walk"):
        with st.container(width=HANDLE_WIDTH):
            widgets.figure(views.walk_card(plain, at, named))
        with st.container():
            steps = views.at_temperatures(by_temperature)
            words = "Divides the logits. Above 1 the model becomes less sure, below 1 more."
            moved = _moved("T", steps)
            plot.slider("Temperature T", "t", temperatures, temperature, default, moved, words)
            moved = _moved("γ", views.at_gammas(by_gamma))
            words = "Of the focal map, after T. Above 0 the model becomes more sure, below 0 less."
            plot.slider("Focal map γ", "g", gammas, gamma, 0.0, moved, words)
            widgets.second(steps[temperatures.index(temperature)].sentence)


def _moved(letter: str, steps: Sequence[views.AtStep]) -> Dragged:
    return Dragged(
        written=[step.written for step in steps],
        said=[f"{letter} {step.written}: {step.sentence}" for step in steps],
        texts={".st-key-walk .c-second": [step.sentence for step in steps]},
        figures=(MovedFigure(figure="walk", last=columns([step.dots for step in steps])),),
        ticks=[i for i, step in enumerate(steps) if step.marked],
    )


def temperatures(run: open_runs.Run, row_choice: RowChoice, objective: str, task: Task) -> None:
    """Draw temperature against gamma, folded, and other runs beside this one.

    What is folded is computed once it is opened.
    """
    objective = "nll" if objective == "brier" else objective  # that no temperature is fitted by
    place = st.container()
    others, more = ([], None) if task is Task.MULTILABEL else picker(run, task)
    runs = {run: row_choice} | {curve_run: studies.first(curve_run) for curve_run in others}
    both = place.expander(
        "Temperature and γ together",
        key="posthoc.map",
        expanded=bool(others) or "of" in st.query_params,
        on_change="rerun",
    )
    try:
        if both.open:
            with both:
                label = studies.label(run) if task is Task.MULTILABEL else 0
                left, right = st.columns(2, gap="medium")
                line = studies.curve(run, row_choice, objective, label)
                with left:
                    area = studies.landscape(run, row_choice, objective, label)
                    test, fit_on = row_choice.test, row_choice.fit_on
                    part = f"part of {test}" if fit_on == CUT else fit_on
                    named = NamedRun(run.id, run.name, part, run.file_digest)
                    rows = area.used, area.rows
                    widgets.figure(views.landscape_card(area.landscape, line, rows, named))
                with right:
                    lines = [
                        (other.name, mark, studies.curve(other, choice, objective, label))
                        for (other, choice), mark in zip(
                            runs.items(), marks([r.id for r in runs]), strict=True
                        )
                    ]
                    widgets.figure(views.curves_card(lines, np.array(GAMMAS), objective))
        if more is not None and more.open:
            with more:
                draw(runs)
    except Refused as refusal:
        widgets.caption(f"No picture of T and γ: {refusal.what}. {sentence(refusal.remedy)}")
