"""The page of a large split while it is computed elsewhere."""

from typing import NoReturn

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.screens.kit.records import Phrase, Sentence
from pages.ui import cache, controls, drafts, widgets


def end(top: DeltaGenerator, run: cache.Run, split: str) -> NoReturn:
    """Say what the page will speak of, and end it here."""
    with top:
        eyebrow = f"Reliability · {run.name} · {split} split"
        widgets.eyebrow(eyebrow, controls.chip(run))
        widgets.sentence(Sentence((Phrase(f"Analysing “{run.name}”."),)))
        drafts.bar(run)
    st.stop()
