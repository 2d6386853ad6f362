"""HTML from templates: only they make markup, and every value that is put into one is text."""

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from core.screens.kit.text import clean


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
