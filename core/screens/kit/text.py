"""Text that users and files control, made harmless before it is drawn; standard library only."""

import re

_CONTROL = re.compile(r"[\x00-\x1f\x7f\u200e\u200f\u202a-\u202e\u2066-\u2069]+")


def clean(text: str) -> str:
    """Return text without control characters and direction overrides; each run is a space."""
    return _CONTROL.sub(" ", text)


def safe(text: str) -> str:
    """Return text so that plotly shows it letter by letter instead of as markup."""
    return clean(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def short(text: str, limit: int = 22) -> str:
    """Return text cut to `limit` characters, with an ellipsis where it was cut."""
    flat = " ".join(clean(text).split())
    return flat if len(flat) <= limit else flat[: limit - 1] + "…"
