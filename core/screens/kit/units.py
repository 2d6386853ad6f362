"""What the rows of the run that a page speaks of are called: images, or texts.

Pages and reports are written for images. A run whose rows are texts is named once, where it is
opened, by `speak_of`; whatever is said after that, in the same thread, goes through `spoken`.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from core.datasets.catalogue import TEXT_DATA

WRITTEN: Final = re.compile(r"\b(?:(an|a) )?(image|picture)(s?)\b", re.IGNORECASE)
_OF_TEXTS: Final = ContextVar("of_texts", default=False)


def speak_of(data: str) -> None:
    """Name the data set of the run that is spoken of from now on; "" where it is not known."""
    _OF_TEXTS.set(data in TEXT_DATA)


def of_texts() -> bool:
    """Whether the rows that are spoken of are texts."""
    return _OF_TEXTS.get()


@contextmanager
def speaking_of(data: str) -> Iterator[None]:
    """Speak of a run of this data set, and then of what was spoken of before."""
    token = _OF_TEXTS.set(data in TEXT_DATA)
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


def _text(match: re.Match[str]) -> str:
    article, noun, plural = match.groups()
    told = f"{'Text' if noun[0].isupper() else 'text'}{plural}"
    return f"{'A' if article[0].isupper() else 'a'} {told}" if article else told
