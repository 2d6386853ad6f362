"""HTML of the pages: macros of one template, to which every value is text."""

from pathlib import Path

import streamlit as st

from core.screens.kit.text import templates

PIECES = templates(Path(__file__).parent / "templates").get_template("pieces.html").module


def draw(piece: str, *values: object) -> None:
    """Draw a piece: the macro of that name, of these values."""
    st.html(text(piece, *values))


def text(piece: str, *values: object) -> str:
    """Return the HTML of a piece."""
    return str(getattr(PIECES, piece)(*values))
