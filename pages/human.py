"""Human votes: an audit held against what people said of each row, or where to give votes."""

from dataclasses import replace

import streamlit as st

from core.predictions import Task
from core.screens.kit.records import Phrase, Sentence
from core.screens.kit.words import with_row_noun
from core.screens.reliability.human import HumanView, human_view
from pages.ui import (
    audits,
    drafts,
    frame,
    human,
    open_runs,
    selected_runs,
    site,
    state,
    visitor,
    widgets,
)
from pages.ui.markup import esc

ROWS_SHOWN = 20
EMPTY = {  # in the full view, in plain words
    False: "No votes yet. Upload people’s answers for these images.",
    True: "No votes yet. Upload people’s answers for these pictures.",
}
NO_VOTES, SAMPLE = "This run has no votes.", "A sample with votes"
UNFIT = {
    Task.TOP_LABEL: "states how sure each answer is, and no more",
    Task.MULTILABEL: "gives one yes or no for each label",
}
NEEDED = "Votes need one answer among several classes, with a score for each."


def draw(run: open_runs.Run, split: str) -> None:
    """Draw a split beside its votes; where it has none, say what to give."""
    if run.task in UNFIT:
        widgets.sentence(Sentence((Phrase(f"“{run.name}” {UNFIT[run.task]}."),), NEEDED))
        drafts.bar(run)
        offer_sample(SAMPLE)
        return
    human.open_votes(run, split)
    rows = open_runs.predictions(run, split)
    if rows.votes is None or not rows.votes.voted.size:
        given = not visitor.off("upload")
        words = with_row_noun(EMPTY[state.plain()]) if given else NO_VOTES
        widgets.sentence(Sentence((Phrase(words),)))
        drafts.bar(run)
        human.draw(run, split)
        offer_sample("No file yet?" if given else SAMPLE)
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
    if not visitor.off("upload"):
        with st.expander("Use other votes", key="votes.other"):
            human.draw(run, split)


def offer_sample(title: str) -> None:
    """Offer the sample with votes, which says that they are simulated."""
    sample = open_runs.find_or_none(site.HUMAN.sample)
    if sample is None:
        return
    widgets.title(title)
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
    more = with_row_noun("More pictures, CSV" if state.plain() else "More images, CSV")
    widgets.save(view.far_rows, "human_rows", more)
    widgets.caption(view.caption)
    with st.expander("What these numbers mean", key="human.words"):
        widgets.meanings((tile.label, tile.help) for tile in view.numbers if tile.help)


frame.begin("pages/human.py")
with frame.caught():
    opened = selected_runs.open_run()
    draw(opened, selected_runs.header(opened, against="against labels"))
