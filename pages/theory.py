"""Theory: what gamma does to stated certainty, and where print and numbers differ."""

import streamlit as st

from core.screens.theory import view as views
from core.screens.theory.claims import claims, claims_table
from core.screens.theory.triangle import loss_cards, simplex_cards
from pages.ui import frame, state, widgets
from pages.ui.theory import choices, figures

frame.begin("pages/theory.py")
with frame.caught():
    top = st.container()
    with st.container(horizontal=True, vertical_alignment="bottom", key="controls"):
        gamma = choices.gamma()
        truth = choices.share()
        part = choices.part()
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
            figures.draw(views.map_cards(gamma, truth, choices.also()))
        case "temperature":
            figures.draw(views.temperature_cards(gamma, figures.sweeps()))
        case "classes":
            figures.draw(simplex_cards(gamma))
        case "loss":
            cards = loss_cards(gamma, choices.truths())
            figures.draw((*cards, *views.optimum_cards(gamma, truth)))
        case "gradient":
            with st.container(horizontal=True, vertical_alignment="bottom", key="more.controls"):
                p0 = choices.p0()
                also = choices.also()
            figures.draw(views.gradient_cards(gamma, p0, also))
        case "print":
            all_claims = claims(gamma, truth, choices.weight(), figures.sweeps())
            figures.draw_claims(all_claims)
            widgets.save(claims_table(all_claims), "claims", "All statements, CSV")
        case _:
            figures.draw((views.plain_card(gamma, truth),))
