"""Human votes: an audit held against what people said of each row, or where to give votes."""

from dataclasses import replace

import streamlit as st

from core.errors import LibraryError, Refused
from core.predictions import Task
from core.screens.kit import row_noun
from core.screens.kit.records import Phrase, Sentence
from core.screens.reliability.human import HumanView, human_view
from pages.ui import audits, cache, drafts, frame, selected_run, site, state, widgets
from pages.ui.escape import esc
from pages.ui.reliability import votes

ROWS_SHOWN = 20
EMPTY = "No votes yet. Upload people’s answers for these images."


def draw(run: cache.Run, split: str) -> None:
    """Draw a split beside its votes; where it has none, say what to give."""
    if run.task in {Task.TOP_LABEL, Task.MULTILABEL}:
        raise Refused(
            "CLASSES",
            f"{run.name} has no single answer of several classes to hold against votes",
            "open a run whose answer is one of several classes",
        )
    votes.settle(run, split)
    rows = cache.predictions(run, split)
    if rows.votes is None or not rows.votes.voted.size:
        widgets.sentence(Sentence((Phrase(row_noun.with_row_noun(EMPTY)),)))
        drafts.bar(run)
        votes.draw(run, split)
        offer_sample()
        return
    study = audits.human(run, split)
    if study is None:
        widgets.sentence(Sentence((Phrase(f"Comparing “{run.name}” with people."),)))
        drafts.bar(run)
        return
    view = human_view(study, rows, split=split, plain=state.plain())
    widgets.sentence(view.sentence)
    drafts.bar(run)
    widgets.strip(view.numbers)
    frame.notices(run.notices)
    below(view)
    with st.expander("Use other votes", key="votes.other"):
        votes.draw(run, split)


def offer_sample() -> None:
    """Offer the sample with votes, which says that they are simulated."""
    try:
        sample = cache.find(site.HUMAN.sample)
    except LibraryError:
        return
    widgets.title("No file yet?")
    if st.button(esc(sample.name), icon=":material/play_arrow:", key="human.sample"):
        state.open_run(sample)
        st.rerun()


def below(view: HumanView) -> None:
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


frame.begin("pages/human.py")
with frame.caught():
    opened = selected_run.open_run(site.HUMAN.sample)
    draw(opened, selected_run.header(opened))
