"""Choices that several pages draw alike: the split of a run, and a few options side by side."""

from collections.abc import Mapping, Sequence
from typing import Literal

import streamlit as st

from pages.ui import cache, state

MOST_SEGMENTS = 6  # more are a list that can be searched
SPLIT_NAMES = {"val": "Validation", "test": "Test", "train": "Training"}


def split_of(run: cache.Run) -> str:
    """Return the split that the link or the session names, else the run's headline split."""
    return state.choice("split", run.splits, run.split)


def splits(run: cache.Run) -> None:
    """Draw the choice of the split where there are several."""
    if len(run.splits) > 1:
        segments("Split", "split", run.splits, run.split, SPLIT_NAMES)


def chip(run: cache.Run) -> str:
    """Return the dashed mark beside the eyebrow: samples and drafts say what they are."""
    return {"sample": "Sample", "draft": "Draft"}.get(run.kind, "")


def select(
    label: str,
    name: str,
    options: Mapping[str, str],
    default: str,
    *,
    width: int | Literal["stretch"] = "stretch",
    help_text: str | None = None,
    elsewhere: Sequence[str] = (),
) -> str:
    """Draw a list of options, each with its words, that lives in the link; see `state.choice`."""
    key, value = state.widget_key(name), state.choice(name, list(options), default, elsewhere)
    st.selectbox(
        label,
        list(options),
        format_func=lambda option: options.get(option, option),
        key=key,
        on_change=state.pick,
        args=(name, default, key),
        width=width,
        help=help_text,
    )
    return value


def segments(
    label: str,
    name: str,
    options: Sequence[str],
    default: str,
    words: Mapping[str, str],
    help_text: str | None = None,
    elsewhere: Sequence[str] = (),
) -> str:
    """Draw a choice between a few options that lives in the link; see `state.choice`."""
    if len(options) > MOST_SEGMENTS:
        every = {option: words.get(option, option) for option in options}
        return select(label, name, every, default, help_text=help_text, elsewhere=elsewhere)
    value = state.choice(name, options, default, elsewhere)
    st.segmented_control(
        label,
        options,
        required=True,
        format_func=lambda option: words.get(option, option),
        key=f"widget.{name}",
        on_change=state.pick,
        args=(name, default),
        help=help_text,
    )
    return value
