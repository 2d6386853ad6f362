"""What follows below the table: maps of corruptions, the rows that look most ordinary, words."""

import numpy as np
import streamlit as st

from core.datasets.shifts import OutsideSet, parse_name
from core.ood.scores import SCORES
from core.screens.kit.differences import NamedRun
from core.screens.kit.records import Tile
from core.screens.ood.rows import certain_table
from core.screens.ood.shifts import shift_view
from core.screens.ood.words import SetName
from core.studies.ood import ShiftEffect
from pages.ui import widgets
from pages.ui.ood import cache as cache_ood
from pages.ui.ood import pictures, sets
from pages.ui.ood.cache import OodQuestion, SplitSource

MAP_WIDTH = 248
ROWS_SHOWN = 50


def shifts(
    inside: SplitSource, named: NamedRun, score: str, temperature: float | None, scaling: str
) -> None:
    """Draw the maps of every kind of corruption that the run was evaluated on."""
    effects = _computed(inside, score, temperature or 1.0)
    for kind in ("cifar10c", "corrupted"):
        own = {
            outside_set: shift for outside_set, shift in effects.items() if outside_set.kind == kind
        }
        if not own:
            continue
        view = shift_view(named, kind, own, f"{SCORES[score].label.lower()}, {scaling}")
        widgets.title(view.title, view.explanation)
        with st.container(horizontal=True, gap="small", key=f"maps.{kind}"):
            for card in view.maps:
                with st.container(width=MAP_WIDTH, key=f"map.{card.key}"):
                    widgets.figure(card)
        widgets.caption(view.caption)


def _computed(inside: SplitSource, score: str, temperature: float) -> dict[OutsideSet, ShiftEffect]:
    """Return what each corruption does, counting them while any is new."""
    splits = sets.shifted(inside.owner)
    bar, effects = st.empty(), {}
    for i, split in enumerate(splits):
        named = parse_name(split)
        if named is None:
            continue
        if i % 10 == 0:
            bar.progress(i / len(splits), text=f"{i} of {len(splits)} corruptions")
        effects[named] = cache_ood.shift(
            OodQuestion(inside, SplitSource(inside.owner, split), score, temperature)
        )
    bar.empty()
    return effects


def certain(question: OodQuestion, name: SetName) -> None:
    """Draw the rows of the set that look most like ordinary ones."""
    confident_rows = cache_ood.certain(question, ROWS_SHOWN)
    widgets.title("Most ordinary of the strange", f"rows of {name.label} with the lowest score")
    pictures.draw(question, confident_rows)
    table = certain_table(confident_rows, question.outside.rows.row_ids, question.score)
    widgets.table(table, key="ood.certain")
    widgets.save(table, "most_ordinary")
    if np.isnan(confident_rows.confidence).any():
        widgets.caption("The file states scores that are no probabilities.")


def meanings(numbers: tuple[Tile, ...]) -> None:
    """Say what the scores and the numbers mean."""
    with st.expander("What these scores and numbers mean", key="details.words"):
        widgets.meanings(
            (score.label, f"{score.plain} {score.source}.") for score in SCORES.values()
        )
        widgets.meanings((tile.label, tile.help) for tile in numbers if tile.help)
