"""Out of distribution: how sure a model is of what it never saw, and what an alarm catches."""

import streamlit as st

from core.ood.scores import SCORES
from core.predictions import Task
from core.screens.kit.records import Phrase, Sentence
from core.screens.kit.words import with_row_noun
from core.studies.ood import extent_notices
from pages.ui import drafts, frame, markup, selected_runs, state, widgets
from pages.ui.ood import figures, sources
from pages.ui.ood.sources import OodQuestion, offered

NEEDED = "This page needs one answer among several classes."

frame.begin("pages/ood.py")
with frame.caught():
    run = selected_runs.open_run()
    split = selected_runs.header(run, sources.intact(run), lacks="in-distribution images")
    if run.task is Task.MULTILABEL:
        widgets.sentence(
            Sentence((Phrase(f"“{run.name}” gives one yes or no for each label."),), NEEDED)
        )
        drafts.bar(run)
        st.stop()
    inside = sources.SplitSource(run, split)
    sources.settle_scores()
    offers = offered(run)
    top, numbers = st.container(), st.container()
    sets, notices = figures.sets(inside, offers)
    if not sets.shown:
        with top:
            markup.draw("headline", with_row_noun(figures.NONE_YET[state.plain()]))
            sources.say_what_is_needed()
        if not offers:
            sources.upload_outcome()
            sources.drop_zone(run)
    else:
        with st.container(horizontal=True, vertical_alignment="bottom", key="controls"):
            with st.container(key="bare.set", width="content"):
                focus = figures.focus(sets)
            score, temperature = figures.score_settings(inside, offers[focus])
        questions = {
            reference: OodQuestion(inside, offers[reference], score, temperature or 1.0)
            for reference in sets.shown
        }
        question, name = questions[focus], sets.names[focus]
        scaling = figures.scaling(temperature)
        view = figures.threshold(sets, focus, questions, scaling, numbers)
        notices += extent_notices(sources.judged(question, full=True), name.label)
        with top:
            widgets.sentence(view.sentence)
            drafts.bar(run)
            for draft in sources.dropped().values():
                sources.draft_bar(draft)
            frame.notices(tuple(dict.fromkeys(notices)))
        if not state.plain():
            figures.sets_table(sets, question)
            figures.corruptions(question, scaling)
        widgets.caption(view.caption)
        if not state.plain():
            figures.most_ordinary(question, name)
            with st.expander("More numbers, and what all of them mean", key="details.words"):
                widgets.strip(view.more)
                widgets.meanings((s.label, f"{s.plain} {s.source}.") for s in SCORES.values())
                tiles = (*view.numbers, *view.more)
                widgets.meanings((tile.label, tile.help) for tile in tiles if tile.help)
