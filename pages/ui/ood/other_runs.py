"""The table of runs, sets and scores, and other runs beside the open one."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

import streamlit as st

from core.errors import LibraryError
from core.metrics.records import Score
from core.published import PublishedNumber, auroc_rows
from core.screens.kit import row_noun
from core.screens.kit.run_marks import RunMark, marks
from core.screens.ood import table as ood_table
from core.screens.ood.table import SetRow
from core.screens.ood.words import SetName
from core.studies import ood as study
from pages.ui import cache, papers, picked_runs, state, widgets
from pages.ui.ood import sources
from pages.ui.ood.sources import OodQuestion, Sets, SplitSource, shifted

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
            if split in (*other.splits, *other.outside):
                part = SplitSource(other, split)
                lines.append(_other(other, part, name, badges[other], base))
    chosen = question.score, question.temperature != 1.0
    heads, rows = ood_table.heads(lines), ood_table.rows(lines, chosen)
    widgets.scores("AUROC of runs, sets and scores", heads, rows)
    widgets.noted(ood_table.caption(lines), ood_table.table(lines), "ood", "All numbers, CSV")


def _line(inside: SplitSource, outside: SplitSource, name: SetName, mark: RunMark) -> SetRow:
    run = inside.owner
    temperature, shift = sources.temperature(inside)[0], name.shift
    printed: tuple[PublishedNumber, ...] = ()
    if shift is not None:  # a set of Candor's has no counterpart
        printed = auroc_rows(papers.setting(run), shift.kind, shift.corruption, shift.severity)
    return SetRow(
        run=run.name,
        mark=mark,
        name=name,
        temperature=temperature,
        as_read=_scores(inside, outside, 1.0),
        after={} if temperature is None else _scores(inside, outside, temperature),
        printed=printed,
    )


def _scores(inside: SplitSource, outside: SplitSource, temperature: float) -> dict[str, Score]:
    """Return the AUROC of every score that both parts support."""
    why = study.offered(inside.rows, outside.rows)
    keys = [key for key, text in why.items() if not text]
    if temperature != 1.0 and "entropy" not in keys:
        return {}
    return {key: sources.auroc(OodQuestion(inside, outside, key, temperature)) for key in keys}


def _other(
    other: cache.Run, part: SplitSource, name: SetName, mark: RunMark, base: OodQuestion
) -> SetRow:
    """Return another run's row, with its difference from the open run at the page's setting."""
    split = base.inside.split
    inside = SplitSource(other, split if split in other.splits else other.split)
    line = _line(inside, part, name, mark)
    as_read = base.temperature == 1.0
    if base.score not in (line.as_read if as_read else line.after):
        return line
    temperature = 1.0 if as_read else line.temperature or 1.0
    question = OodQuestion(inside, part, base.score, temperature)
    difference, why = sources.difference(question, base)
    return replace(line, difference=difference, why=why)


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
    linked = [
        run_id for run_id in st.query_params.get("beside", "").split(",") if run_id in candidates
    ]
    remembered = [
        run_id for run_id in st.session_state.get("set.ood_beside", ()) if run_id in candidates
    ]
    chosen = (linked or remembered)[:MOST]
    _keep(chosen)
    st.session_state["widget.ood_beside"] = chosen
    names = state.distinct_names({run_id: other.name for run_id, other in candidates.items()})
    st.multiselect(
        "Other runs",
        list(candidates),
        key="widget.ood_beside",
        format_func=lambda run_id: names.get(run_id, run_id),
        max_selections=MOST,
        placeholder="Pick runs evaluated on the same sets",
        on_change=lambda: _keep(st.session_state["widget.ood_beside"]),
        help=row_noun.with_row_noun("Differences are paired by image (DeLong)."),
    )
    others = [candidates[run_id] for run_id in chosen]
    for other in others:
        cache.note(other)
    return others


def _keep(ids: Sequence[str]) -> None:
    picked_runs.keep("set.ood_beside", "beside", ids)
