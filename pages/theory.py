"""Theory: what gamma does to stated certainty, and where print and numbers differ."""

import streamlit as st

from core.screens.kit.records import Phrase, Sentence
from core.screens.theory import view as views
from core.screens.theory.claims import claims, claims_table, loss_cards, simplex_cards
from pages.ui import frame, state, theory, widgets

frame.begin("pages/theory.py")
with frame.caught():
    top = st.container()
    part = theory.part()
    if part == "words":
        with top:
            widgets.sentence(Sentence((Phrase("What the words on these pages mean."),)))
        theory.topic()
        theory.glossary()
    else:
        with st.container(horizontal=True, vertical_alignment="bottom", key="controls"):
            gamma = theory.gamma()
            truth = theory.share()
            if part:
                theory.topic()
        view = (views.plain_top if state.plain() else views.theory_top)(gamma, truth)
        with top:
            widgets.eyebrow(view.eyebrow)
            widgets.sentence(view.sentence)
            if part != "print":  # has numbers of its own
                widgets.second(view.plain)
                if view.numbers:
                    widgets.strip(view.numbers)
        match part:
            case "map":
                theory.draw(views.map_cards(gamma, truth, theory.also()))
            case "temperature":
                theory.draw(views.temperature_cards(gamma, theory.sweeps()))
            case "classes":
                theory.draw(simplex_cards(gamma))
            case "loss":
                cards = loss_cards(gamma, theory.truths())
                theory.draw((*cards, *views.optimum_cards(gamma, truth)))
            case "gradient":
                with st.container(
                    horizontal=True, vertical_alignment="bottom", key="more.controls"
                ):
                    p0 = theory.p0()
                    also = theory.also()
                theory.draw(views.gradient_cards(gamma, p0, also))
            case "print":
                all_claims = claims(gamma, truth, theory.weight(), theory.sweeps())
                theory.draw_claims(all_claims)
                widgets.save(claims_table(all_claims), "claims", "All statements, CSV")
            case _:
                theory.draw((views.plain_card(gamma, truth),))
                with st.expander("Glossary", key="details.glossary"):
                    theory.glossary()
