"""What is chosen and drawn out of distribution: threshold, corruptions, rows, and other runs."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.codes import NoticeCode
from core.datasets.shifts import OutsideSet, parse_name
from core.errors import LibraryError, Notice
from core.losses.catalogue import subject
from core.metrics.records import Score
from core.ood.scores import DEFAULT, SCORES, unavailable
from core.published import PaperSetting, PublishedNumber, auroc_rows, compared
from core.screens.kit.differences import NamedRun
from core.screens.kit.marks import DASHES, RunMark, marks
from core.screens.kit.numbers import percent
from core.screens.kit.text import short
from core.screens.kit.words import with_row_noun
from core.screens.ood import tables as ood_table
from core.screens.ood import view as views
from core.screens.ood.tables import SetRow, certain_table, shift_view
from core.screens.ood.view import AtThreshold, OodView, ShownCurve, at_thresholds
from core.screens.ood.words import SetName, icon_arrays, plain_view
from core.studies import ood as study
from core.studies.ood import ShiftEffect
from pages.ui import frame, inference, markup, open_runs, plot, selected_runs, state, widgets
from pages.ui.markup import esc
from pages.ui.ood import sources
from pages.ui.ood.sources import Offer, OodQuestion, Sets, SplitSource, shifted
from pages.ui.plot import Dragged, Filled, MovedFigure, columns
from pages.ui.visitor import open_library

ALARMS = 5.0  # percent of ordinary pictures stopped, at first
STEPS = [0.5 * step for step in range(101)]
AS_READ, FITTED = "read", "fitted"
SCALINGS = {AS_READ: "As read", FITTED: "After temperature"}
NONE_YET = {  # in the full view, in plain words
    False: "No out-of-distribution images to compare with yet.",
    True: "No unfamiliar pictures to compare with yet.",
}
FOREIGN = (
    "comes from another run. If that is another model, the scores separate the models, not the "
    "inputs"
)


def sets(inside: SplitSource, offers: Offer) -> tuple[Sets, list[Notice]]:
    """Return the sets beside the run; those that cannot be told from its rows are refused."""
    if not offers:
        return Sets({}, {}, []), []
    names = sources.names(offers, inside.owner)
    with st.container(horizontal=True, vertical_alignment="bottom", key="sets"):
        chosen = sources.picker(offers, names, inside.owner)
        sources.upload_popover(inside.owner)
    sources.upload_outcome()
    sound: list[str] = []
    notices: list[Notice] = []
    for reference in chosen:
        pair_notices, refusal = sources.checked(inside, offers[reference], names[reference].label)
        if refusal is not None:
            frame.refusal(refusal)
            continue
        sound.append(reference)
        if offers[reference].owner.id not in sources.dropped():
            open_runs.note(offers[reference].owner)
        notices += pair_notices
        if sources.foreign(offers[reference], inside.owner):
            notices.append(Notice(NoticeCode.OTHER_MODEL, f"“{names[reference].label}” {FOREIGN}"))
    return Sets(offers, names, sound), notices


def focus(sets: Sets) -> str:
    """Return the set that the page speaks of; a file of this session has no link."""
    shown = sets.shown
    linked, remembered = st.query_params.get("set"), st.session_state.get("set.set")
    chosen = next((reference for reference in (linked, remembered) if reference in shown), shown[0])
    assert chosen is not None
    _keep_focus(chosen, sets)
    if len(shown) > 1:
        st.session_state["widget.set"] = chosen
        st.segmented_control(
            "Set",
            shown,
            required=True,
            format_func=lambda reference: esc(short(sets.names[reference].label, 36)),
            key="widget.set",
            on_change=lambda: _keep_focus(st.session_state["widget.set"], sets),
        )
    return chosen


def _keep_focus(reference: str, sets: Sets) -> None:
    st.session_state["set.set"] = reference
    if reference == sets.shown[0] or sets.offers[reference].draft:
        st.query_params.pop("set", None)
    else:
        st.query_params["set"] = reference


def score_settings(inside: SplitSource, outside: SplitSource) -> tuple[str, float | None]:
    """Return the score and the temperature; plain words take the defaults."""
    why = study.offered(inside.rows, outside.rows)
    offered = [key for key in SCORES if not why[key]]
    default = DEFAULT if DEFAULT in offered else offered[0]
    if state.plain():
        return default, None
    with st.popover("Score settings", key="ood.score"):
        missing = "; ".join(f"{SCORES[key].label}: {text}" for key, text in why.items() if text)
        score = widgets.segments(
            "Score",
            "score",
            offered,
            default,
            {key: entry.label for key, entry in SCORES.items()},
            f"Higher is more out-of-distribution. {missing}".strip(),
        )
        fitted, why_not = sources.temperature(inside)
        if "entropy" in unavailable(inside.rows):
            return score, None
        if fitted is None:
            st.caption(f"No temperature: {esc(why_not)}.", width=200)
            return score, None
        text = f"T = {fitted:.3g}, fitted on the labelled validation part alone."
        if score == "max_logit":
            text += (
                " It divides all largest logits by the same number, so it changes no ranking here."
            )
        heat = widgets.segments("Temperature", "heat", list(SCALINGS), AS_READ, SCALINGS, text)
        return score, fitted if heat == FITTED else None


def scaling(temperature: float | None) -> str:
    """Return how the scores were changed, in words."""
    if temperature is None:
        return "scores as read"
    return f"after T = {temperature:.3g}, fitted on val"


def alarms() -> float:
    """Return the threshold, in percent of false alarms."""
    return plot.slider_value("alarms", STEPS, ALARMS)


def threshold_slider(alarms: float, moved: Dragged) -> None:
    """Draw the slider of the threshold, and what it moves."""
    plot.slider(
        "False alarms, at most",
        "alarms",
        STEPS,
        alarms,
        ALARMS,
        moved,
        "Moves the threshold. Whatever scores above it is flagged.",
    )


# What is drawn.
HALF_WIDTH = 470
ROWS_SHOWN = 50
MAP_WIDTH = 229  # four stand beside each other at 1,280 px
COUNTS = "What the threshold does"
HUNDREDS = ("ood_flagged", "ood_mistaken")
CROSSED, FLAGGED = "found-quiet", "!"


def threshold(
    chosen: Sets, focus: str, questions: dict[str, OodQuestion], scaling: str, strip: DeltaGenerator
) -> OodView:
    """Draw the figures with the threshold under the densities, its counts, and numbers above."""
    name, question = chosen.names[focus], questions[focus]
    # Every curve has a dash of its own; the set in focus has every number
    curves = {
        reference: ShownCurve(
            chosen.names[reference].label,
            replace(mark, dash=dash),
            sources.judged(asked, full=reference == focus),
        )
        for (reference, asked), mark, dash in zip(
            questions.items(), marks(list(questions)), DASHES, strict=False
        )
    }
    with st.container(horizontal=True, gap="medium", key="figures"):
        left = st.container(width=HALF_WIDTH, key="ood.left")
        right = st.container(key="beside")
    share, named, plain = alarms(), _named(question.inside), state.plain()
    owner, effects = question.inside.owner, None
    if question.outside.owner == owner and question.outside.split in sources.shifted(owner):
        # What a shift of the run's own images does stands beside the intact ones
        intact = replace(question, outside=question.inside)
        effects = sources.shift(question), sources.shift(intact)
    judged = curves[focus].judged
    view = views.ood_view(
        named,
        name,
        curves[focus],
        list(curves.values()),
        share / 100.0,
        scaling,
        effects=effects,
        plain=plain,
    )
    shares = [step / 100.0 for step in STEPS]
    steps = at_thresholds(named, name, judged, shares, effects=effects, plain=plain)
    with left if plain else right:
        widgets.figure(view.figures["density"])
        threshold_slider(share, moved(name, steps))
    with right:
        if plain:
            pictures = plain_view(name, judged, view.tally)
            widgets.title("What the alarm flags")
            for key, hundred in zip(HUNDREDS, pictures.hundreds, strict=True):
                with st.container(key=key):
                    markup.draw("hundred", hundred.text, hundred.crossed, CROSSED, FLAGGED, True)
            widgets.caveat("What this does not say", pictures.limits)
            widgets.caveat("What helps", pictures.helps, helpful=True)
        widgets.scores(COUNTS, view.counts.heads, view.counts.written())
        widgets.noted(view.reading, view.counts.file, "threshold", "Counts, CSV")
    if not plain:
        with strip:
            widgets.strip(view.numbers)
    with left:
        for key, card in view.figures.items():
            if key != "density":
                widgets.figure(card)
    return view


def corruptions(question: OodQuestion, scaling: str) -> None:
    """Draw the maps of every kind of corruption that the run was evaluated on."""
    named = _named(question.inside)
    owner = question.inside.owner
    splits = sources.shifted(owner)
    bar, effects = st.empty(), dict[OutsideSet, ShiftEffect]()
    for i, split in enumerate(splits):
        corruption = parse_name(split)
        if corruption is not None:
            if i % 10 == 0:
                bar.progress(i / len(splits), text=f"{i} of {len(splits)} corruptions")
            part = replace(question, outside=SplitSource(owner, split))
            effects[corruption] = sources.shift(part)
    bar.empty()
    for kind in ("cifar10c", "corrupted"):
        own = {
            outside_set: shift for outside_set, shift in effects.items() if outside_set.kind == kind
        }
        if not own:
            continue
        scoring = f"{SCORES[question.score].label.lower()}, {scaling}"
        switch = f"ood.every.{kind}"
        view = shift_view(named, kind, own, scoring, every=st.session_state.get(switch, False))
        with st.container(horizontal=True, vertical_alignment="bottom", key=f"every.{kind}"):
            widgets.title(view.title, view.explanation)
            if view.more:
                st.toggle(view.more, key=switch, width="content", persist_state="session")
        with st.container(horizontal=True, gap="small", key=f"maps.{kind}"):
            for card in view.maps:
                with st.container(width=MAP_WIDTH, key=f"map.{card.key}"):
                    widgets.figure(card)
        widgets.caption(view.caption)


@frame.fragment
def most_ordinary(question: OodQuestion, name: SetName) -> None:
    """Draw what of the set looks most like ordinary ones; without pictures, folded."""
    outside = question.outside
    opened = inference.rows_source(outside.owner.id, outside.split)
    fold = st.expander(
        f"{esc(name.label)}: lowest scores, which look most in-distribution",
        key="ood.certain",
        expanded=opened is not None,
        on_change="rerun",
    )
    if not fold.open:
        return
    with fold:
        ordinary = sources.certain(question, ROWS_SHOWN)
        if opened is not None:
            captions = [
                answer + ("" if np.isnan(sure) else f", {percent(sure)}")
                for answer, sure in zip(ordinary.answers, ordinary.confidence, strict=True)
            ]
            first = ordinary.rows[: inference.SHOWN].tolist()
            inference.draw_rows(
                "ood.pictures", opened, outside.split, outside.rows, first, captions
            )
        table = certain_table(ordinary, outside.rows.row_ids, question.score)
        widgets.table(table, key="ood.certain.rows")
        widgets.save(table, "most_ordinary")
        if np.isnan(ordinary.confidence).any():
            widgets.caption("These scores are not probabilities.")


def _named(inside: SplitSource) -> NamedRun:
    run = inside.owner
    return NamedRun(run.id, run.name, inside.split, run.file_digest)


def moved(name: SetName, steps: Sequence[AtThreshold]) -> Dragged:
    """Return what the page says and draws at each step."""
    texts = {
        "h1.c-sentence": [step.sentence.parts[0].text for step in steps],
        "h1.c-sentence + .c-second": [step.sentence.second for step in steps],
    }
    # The cells of the table of counts: numbers, and what stands under them
    tables = [step.counts.written() for step in steps]
    for i, row in enumerate(tables[0]):
        for j in range(len(row.cells) - 1):  # the last holds all rows, whatever the threshold
            cells = [table[i].cells[j] for table in tables]
            place = f'[aria-label="{COUNTS}"] tbody tr:nth-of-type({i + 1}) td:nth-of-type({j + 1})'
            texts[place] = [cell.value for cell in cells]
            texts[f"{place} small"] = [cell.interval for cell in cells]
    filled = {}
    if state.plain():
        pictures = [icon_arrays(name, step.tally) for step in steps]
        for key, picture in zip(HUNDREDS, zip(*pictures, strict=True), strict=True):
            texts[f".st-key-{key} .c-said"] = [hundred.text for hundred in picture]
            values = [[hundred.crossed] for hundred in picture]
            filled[f".st-key-{key} .c-icons"] = Filled(values=values, kinds={CROSSED: FLAGGED})
    return Dragged(
        written=[step.written for step in steps],
        said=[step.said for step in steps],
        texts=texts,
        filled=filled,
        figures=(
            MovedFigure(figure="density", layout=columns([step.line for step in steps])),
            MovedFigure(figure="roc", last=columns([step.spot for step in steps])),
        ),
    )


# The table, and other runs.
MOST = 5  # beside the open one
LISTED = 200


def sets_table(sets: Sets, question: OodQuestion) -> None:
    """Draw the table of the open run and of those beside it, on every chosen set."""
    inside = question.inside
    with st.container(horizontal=True, vertical_alignment="bottom", key="bare.ood_beside"):
        widgets.title("Runs, sets and scores", "AUROC, out-of-distribution positive")
        others = other_runs(inside.owner)
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


def _paper_setting(run: open_runs.Run) -> PaperSetting | None:
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


def other_runs(run: open_runs.Run) -> list[open_runs.Run]:
    """Draw the choice of runs that hold parts of the same names, and return those chosen."""
    own = {*run.outside, *shifted(run)}
    candidates: dict[str, open_runs.Run] = {}
    for row in open_runs.openable(LISTED):
        if row.id != run.id and row.n_classes == len(run.class_names):
            with suppress(LibraryError):  # deleted meanwhile
                other = open_runs.look_up(row.id)
                if own & {*other.splits, *other.outside}:
                    candidates[row.id] = other
    if not candidates:
        return []
    chosen = selected_runs.others("set.ood_beside", candidates, MOST)
    st.session_state["widget.ood_beside"] = chosen
    names = state.distinct_names({run_id: other.name for run_id, other in candidates.items()})
    st.multiselect(
        "Other runs",
        list(candidates),
        key="widget.ood_beside",
        format_func=lambda run_id: names.get(run_id, run_id),
        max_selections=MOST,
        placeholder="Pick runs evaluated on the same sets",
        on_change=lambda: selected_runs.keep(
            "set.ood_beside", "beside", st.session_state["widget.ood_beside"]
        ),
        help=with_row_noun("Differences are paired by image (DeLong)."),
    )
    others = [candidates[run_id] for run_id in chosen]
    for other in others:
        open_runs.note(other)
    return others
