"""What the rows of the run that a page speaks of are called: images, or texts.

Pages and reports are written for images. Where all runs that they speak of are of texts, that is
said once by `speak_of`; whatever is said after that, in the same thread, goes through `spoken`.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from core.datasets.catalogue import TEXT_DATA

WRITTEN: Final = re.compile(r"\b(?:(an|a) )?(image|picture)(s?)\b", re.IGNORECASE)
_OF_TEXTS: Final = ContextVar("of_texts", default=False)


def speak_of(*data_sets: str) -> None:
    """Name the data sets of the runs that are spoken of from now on; "" where one is not known."""
    _OF_TEXTS.set(_all_texts(data_sets))


def of_texts() -> bool:
    """Whether the rows that are spoken of are texts."""
    return _OF_TEXTS.get()


@contextmanager
def speaking_of(*data_sets: str) -> Iterator[None]:
    """Speak of runs of these data sets, and then of what was spoken of before."""
    token = _OF_TEXTS.set(_all_texts(data_sets))
    try:
        yield
    finally:
        _OF_TEXTS.reset(token)


def spoken(words: str) -> str:
    """Return words of ours about images or pictures as they are said of the run's rows.

    Parameters
    ----------
    words : str
        Without names that users or files gave, which may hold such words themselves.

    Returns
    -------
    str
        The same for images; for texts with text, texts and a text in their place.
    """
    return WRITTEN.sub(_text, words) if of_texts() else words


def _all_texts(data_sets: tuple[str, ...]) -> bool:
    return bool(data_sets) and all(data in TEXT_DATA for data in data_sets)


def _text(match: re.Match[str]) -> str:
    article, noun, plural = match.groups()
    told = f"{'Text' if noun[0].isupper() else 'text'}{plural}"
    return f"{'A' if article[0].isupper() else 'a'} {told}" if article else told
