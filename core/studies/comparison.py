"""What a comparison needs of several runs, read one after another in a process of its own."""

from collections.abc import Sequence

from core.library import open_library
from core.metrics.comparison import Compared, compared
from core.predictions import Predictions
from core.progress import part


def of_library(places: Sequence[tuple[str, str]]) -> list[Compared]:
    """Return what a comparison needs of runs of the library, each given by its id and split.

    Only one of them is open at a time, and what is kept of it does not grow with its rows. How many
    are done is said (`core.progress`).

    Raises
    ------
    LibraryError
        As of `Library.load`.
    """
    library, found = open_library(), []
    for i, (run_id, split) in enumerate(places):
        with part("", i / len(places), i / len(places), 1):
            found.append(compared(library.load(run_id, split)))
    return found


def of_drafts(drafts: Sequence[Predictions]) -> list[Compared]:
    """Return the same of rows that lie in no library."""
    return [compared(draft) for draft in drafts]
