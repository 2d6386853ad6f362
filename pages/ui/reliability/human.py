"""The Reliability page held against people: what the votes of a run say, or where to give some."""

from dataclasses import replace

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.errors import LibraryError
from core.screens.kit import row_noun
from core.screens.kit.records import Phrase, Sentence
from core.screens.reliability.human import HumanView, human_view
from pages.ui import audits, cache, controls, drafts, frame, state, widgets
from pages.ui.escape import esc
from pages.ui.reliability import votes
from pages.ui.reliability.choices import LABELS, PEOPLE

ROWS_SHOWN = 20
SAMPLE = "digits-crowd"
EMPTY = "No votes yet. Upload people’s answers for these images."


def draw(run: cache.Run, split: str, top: DeltaGenerator, settings: DeltaGenerator) -> None:
    """Draw a split beside its votes; where it has none, say what to give."""
    votes.settle(run, split)
    with settings:
        controls.splits(run)
    rows = cache.predictions(run, split)
    if rows.votes is None or not rows.votes.voted.size:
        with top:
            widgets.eyebrow(f"Reliability · Human truth · {run.name}", controls.chip(run))
            widgets.sentence(Sentence((Phrase(row_noun.with_row_noun(EMPTY)),)))
            drafts.bar(run)
        votes.draw(run, split)
        _offer_sample()
        return
    study = audits.human(run, split)
    if study is None:
        with top:
            widgets.eyebrow(f"Reliability · Human truth · {run.name}", controls.chip(run))
            widgets.sentence(Sentence((Phrase(f"Comparing “{run.name}” with people."),)))
            drafts.bar(run)
        return
    view = human_view(study, rows, name=run.name, split=split, plain=state.plain())
    with top:
        widgets.eyebrow(view.eyebrow, controls.chip(run))
        widgets.sentence(view.sentence)
        drafts.bar(run)
        widgets.strip(view.numbers)
        frame.notices(run.notices)
    _below(view)
    with st.expander("Use other votes", key="votes.other"):
        votes.draw(run, split)


def _offer_sample() -> None:
    """Offer the sample with votes, which says that they are simulated."""
    try:
        sample = cache.find(SAMPLE)
    except LibraryError:
        return
    widgets.title("No file yet?")
    if st.button(esc(sample.name), icon=":material/play_arrow:", key="human.sample"):
        state.open_run(sample)
        state.remember("votes", PEOPLE, LABELS)
        st.rerun()


def _below(view: HumanView) -> None:
    if view.figure is not None:
        widgets.figure(view.figure)
        widgets.key(view.key)
        widgets.title(view.fits_title)
        widgets.second(view.fits_words)
    if view.fits and not state.plain():
        widgets.scores("Temperatures on votes and on labels", view.heads, view.fits)
        widgets.save(view.fits_file, "human_fits", "All numbers, CSV")
    widgets.title(view.far_title, f"the first {min(ROWS_SHOWN, len(view.far_rows.rows))}")
    shown = replace(view.far_rows, rows=view.far_rows.rows[:ROWS_SHOWN])
    widgets.table(shown, key="table.human_rows")
    widgets.save(view.far_rows, "human_rows", row_noun.with_row_noun("More images, CSV"))
    widgets.caption(view.caption)
    with st.expander("What these numbers mean", key="human.words"):
        widgets.meanings((tile.label, tile.help) for tile in view.numbers if tile.help)
