"""HTML of the pages: macros of one template, and the escape of what users and files control."""

import re
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


# Escape.
_SPECIAL = re.compile(r"[!-/:-@\[-`{-~]")
_CONTROL = re.compile(r"[\x00-\x1f\x7f\u200e\u200f\u202a-\u202e\u2066-\u2069]+")
_DIRECTIVE = re.compile(r"&#58;(?=\w)")
_TYPOGRAPHY = re.compile(r"(&#(?:45|60|61|62);)(?=&#(?:45|60|61|62);)")  # --, ->, <=, =>


def esc(text: object) -> str:
    """Return the text so that Markdown, HTML and Streamlit's directives show it as it is.

    Every ASCII punctuation mark becomes a numeric character reference, which neither Markdown nor
    HTML takes for markup. A word joiner after a colon keeps shortcodes such as ``:material/x:``,
    and one inside ``--`` or ``->`` keeps typographic replacement, from being read after decoding.
    Control characters and direction overrides become spaces.
    """
    plain = _CONTROL.sub(" ", str(text))
    coded = _SPECIAL.sub(lambda match: f"&#{ord(match.group())};", plain)
    return _TYPOGRAPHY.sub("\\1\u2060", _DIRECTIVE.sub("&#58;\u2060", coded))
