"""Subgroups of one finding by any column of a table that the user drops."""

from core.views.clinic_study import OneFinding
from core.views.clinic_words import Source
from pages.ui import cache


def draw(run: cache.Run, source: Source, found: OneFinding) -> None:
    """Draw the door for a table and the subgroups by one of its columns."""
