"""The table of runs, sets and scores, and other runs beside the open one."""

from contextlib import suppress
from dataclasses import replace

import streamlit as st

from core.errors import LibraryError
from core.losses.catalogue import subject
from core.metrics.records import Score
from core.published import PaperSetting, PublishedNumber, auroc_rows, compared
from core.screens.kit.marks import RunMark, marks
from core.screens.kit.words import with_row_noun
from core.screens.ood import tables as ood_table
from core.screens.ood.tables import SetRow
from core.screens.ood.words import SetName
from core.studies import ood as study
from pages.ui import cache, picked_runs, state, widgets
from pages.ui.ood import sources
from pages.ui.ood.sources import OodQuestion, Sets, SplitSource, shifted
from pages.ui.visitor import open_library

MOST = 5  # beside the open one
LISTED = 200


def draw(sets: Sets, question: OodQuestion) -> None:
    """Draw the table of the open run and of those beside it, on every chosen set."""
    inside = question.inside
    with st.container(horizontal=True, vertical_alignment="bottom", key="bare.ood_beside"):
        widgets.title("Runs, sets and scores", "AUROC, out-of-distribution positive")
        others = picker(inside.owner)
    badges = dict(
        zip(
            (inside.owner, *others),
            marks([inside.owner.id, *(other.id for other in others)]),
            strict=True,
        )
    )
    lines = []
    for reference in sets.shown:
        base, name = replace(question, outside=sets.offers[reference]), sets.names[reference]
        lines.append(_line(inside, base.outside, name, badges[inside.owner]))
        for other in others if base.outside.owner == inside.owner else ():
            split = base.outside.split  # the part of the same name
            if split not in (*other.splits, *other.outside):
                continue
            part = SplitSource(other, split)
            own_split = inside.split if inside.split in other.splits else other.split
            inside_other = SplitSource(other, own_split)
            line = _line(inside_other, part, name, badges[other])
            # Its difference from the open run, at the page's setting
            as_read = base.temperature == 1.0
            if base.score in (line.as_read if as_read else line.after):
                temperature = 1.0 if as_read else line.temperature or 1.0
                of_other = OodQuestion(inside_other, part, base.score, temperature)
                difference, why = sources.difference(of_other, base)
                line = replace(line, difference=difference, why=why)
            lines.append(line)
    chosen = question.score, question.temperature != 1.0
    heads, rows = ood_table.heads(lines), ood_table.rows(lines, chosen)
    widgets.scores("AUROC of runs, sets and scores", heads, rows)
    widgets.noted(ood_table.caption(lines), ood_table.table(lines), "ood", "All numbers, CSV")


def _line(inside: SplitSource, outside: SplitSource, name: SetName, mark: RunMark) -> SetRow:
    run = inside.owner
    temperature, shift = sources.temperature(inside)[0], name.shift
    printed: tuple[PublishedNumber, ...] = ()
    if shift is not None:  # a set of Candor's has no counterpart
        printed = auroc_rows(_paper_setting(run), shift.kind, shift.corruption, shift.severity)
    return SetRow(
        run=run.name,
        mark=mark,
        name=name,
        temperature=temperature,
        as_read=_scores(inside, outside, 1.0),
        after={} if temperature is None else _scores(inside, outside, temperature),
        printed=printed,
    )


def _paper_setting(run: cache.Run) -> PaperSetting | None:
    """Return what the run corresponds to in the papers.

    An evaluation of all images of the data that a training here was made on is one of that
    training; weights of unknown origin, and some of the images, correspond to nothing.
    """
    if run.draft or run.split != "test":
        return None
    try:
        manifest = open_library().get(run.id)
        config = compared(manifest.config, manifest.class_names) or {}
        weights = config.get("weights")
        if weights is None:
            return subject(config)
        trained = open_library().get(weights["run"] or "")
    except LibraryError:
        return None
    of_training = subject(compared(trained.config, trained.class_names))
    if of_training is None or config["limit"] is not None:
        return None
    return of_training if of_training.dataset == config["data"] else None


def _scores(inside: SplitSource, outside: SplitSource, temperature: float) -> dict[str, Score]:
    """Return the AUROC of every score that both parts support."""
    why = study.offered(inside.rows, outside.rows)
    keys = [key for key, text in why.items() if not text]
    if temperature != 1.0 and "entropy" not in keys:
        return {}
    return {key: sources.auroc(OodQuestion(inside, outside, key, temperature)) for key in keys}


def picker(run: cache.Run) -> list[cache.Run]:
    """Draw the choice of other runs that hold parts of the same names."""
    own = {*run.outside, *shifted(run)}
    candidates: dict[str, cache.Run] = {}
    for row in cache.openable(LISTED):
        if row.id != run.id and row.n_classes == len(run.class_names):
            with suppress(LibraryError):  # deleted meanwhile
                other = cache.look_up(row.id)
                if own & {*other.splits, *other.outside}:
                    candidates[row.id] = other
    if not candidates:
        return []
    chosen = picked_runs.others("set.ood_beside", candidates, MOST)
    st.session_state["widget.ood_beside"] = chosen
    names = state.distinct_names({run_id: other.name for run_id, other in candidates.items()})
    st.multiselect(
        "Other runs",
        list(candidates),
        key="widget.ood_beside",
        format_func=lambda run_id: names.get(run_id, run_id),
        max_selections=MOST,
        placeholder="Pick runs evaluated on the same sets",
        on_change=lambda: picked_runs.keep(
            "set.ood_beside", "beside", st.session_state["widget.ood_beside"]
        ),
        help=with_row_noun("Differences are paired by image (DeLong)."),
    )
    others = [candidates[run_id] for run_id in chosen]
    for other in others:
        cache.note(other)
    return others
