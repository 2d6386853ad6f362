"""What the rows of the run that a page speaks of are called: images, films, or texts.

Pages and reports are written for images. Where all runs that they speak of are of films or of
texts, that is said once by `speak_of`; whatever is said after that, in the same thread, goes
through `spoken`.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import Final

from core.datasets.catalogue import TEXT_DATA
from core.errors import Notice

WRITTEN: Final = re.compile(r"\b(?:(an|a) )?(image|picture)(s?)\b", re.IGNORECASE)
ROWS: Final = re.compile(r"\b(R|r)ow(s\b|\b(?! \d))")  # "row 12" is a place in a file
FILM_DATA: Final = frozenset({"chestxray14", "phantom"})
IMAGE, FILM, TEXT = "image", "film", "text"
_NOUN: Final = ContextVar("noun", default=IMAGE)


def speak_of(*data_sets: str) -> None:
    """Name the data sets of the runs that are spoken of from now on; "" where one is not known."""
    _NOUN.set(_noun(data_sets))


def of_texts() -> bool:
    """Whether the rows that are spoken of are texts."""
    return _NOUN.get() == TEXT


@contextmanager
def speaking_of(*data_sets: str) -> Iterator[None]:
    """Speak of runs of these data sets, and then of what was spoken of before."""
    token = _NOUN.set(_noun(data_sets))
    try:
        yield
    finally:
        _NOUN.reset(token)


def spoken(words: str) -> str:
    """Return words of ours about images or pictures as they are said of the run's rows.

    Parameters
    ----------
    words : str
        Without names that users or files gave, which may hold such words themselves.

    Returns
    -------
    str
        The same for images; else with film, films and a film (or text) in their place.
    """
    return words if _NOUN.get() == IMAGE else WRITTEN.sub(_called, words)


def noticed(notices: Sequence[Notice]) -> tuple[Notice, ...]:
    """Return notices of readers and audits; rows are films or texts where the runs are."""
    own = _NOUN.get()
    if own == IMAGE:
        return tuple(notices)
    return tuple(
        replace(
            note,
            text=ROWS.sub(lambda m: f"{own.capitalize() if m[1] == 'R' else own}{m[2]}", note.text),
        )
        for note in notices
    )


def _noun(data_sets: tuple[str, ...]) -> str:
    nouns = {
        TEXT if data in TEXT_DATA else FILM if data in FILM_DATA else IMAGE for data in data_sets
    }
    return nouns.pop() if len(nouns) == 1 else IMAGE


def _called(match: re.Match[str]) -> str:
    article, noun, plural = match.groups()
    own = _NOUN.get()
    called = f"{own.capitalize() if noun[0].isupper() else own}{plural}"
    return f"{'A' if article[0].isupper() else 'a'} {called}" if article else called
