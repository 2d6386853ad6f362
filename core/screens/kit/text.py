"""Text that users and files control, made harmless, and HTML from templates that escape it."""

import re
from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

ENDS = (", ", " · ")  # of words that several names may begin with
_CONTROL = re.compile(r"[\x00-\x1f\x7f\u200e\u200f\u202a-\u202e\u2066-\u2069]+")


def clean(text: str) -> str:
    """Return text without control characters and direction overrides; each run is a space."""
    return _CONTROL.sub(" ", text)


def safe(text: str) -> str:
    """Return text so that plotly shows it letter by letter instead of as markup."""
    return clean(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def without_shared_start(names: Sequence[str]) -> tuple[str, ...]:
    """Return names without the words that all begin with: "CIFAR-10, FCL" is "FCL" beside others.

    Words end at a comma or a middle dot; a name that would be empty keeps all names as they are.
    """
    shared = takewhile(lambda letters: len(set(letters)) == 1, zip(*names, strict=False))
    start = "".join(letters[0] for letters in shared)
    cut = max((start.rfind(end) + len(end) for end in ENDS if end in start), default=0)
    shorter = tuple(name[cut:] for name in names)
    return shorter if len(names) > 1 and all(shorter) else tuple(names)


def short(text: str, limit: int = 22) -> str:
    """Return text cut to `limit` characters, with an ellipsis where it was cut."""
    flat = " ".join(clean(text).split())
    return flat if len(flat) <= limit else flat[: limit - 1] + "…"


def templates(folder: Path) -> Environment:
    """Return the templates of a folder, which escape every value and know no missing ones."""
    return Environment(
        loader=FileSystemLoader(folder),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_clean,
    )


def _clean(value: object) -> object:
    """Return text without control characters; what is markup already stays as it is."""
    return clean(value) if type(value) is str else value
