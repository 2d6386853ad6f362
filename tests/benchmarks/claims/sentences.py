"""Where each sentence is tested.

Every template that claims more than it counted: what is said, where it is made, by which rule it
is said, and the row of this page that holds its error rate. Sentences that only describe the rows
at hand (averages, counts, point estimates with their interval beside them, what a paper prints,
what follows from a formula) claim nothing beyond them and are not listed. The last lines are
those without a row of their own, with the reason.
"""

import csv
import inspect
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import NamedTuple


class Claimed(NamedTuple):
    """A template, and where its error rate stands.

    Attributes
    ----------
    said : str
        As it stands in the source.
    page : str
        Where it is read.
    where : str
        Module and function, or constant.
    rule : str
        By which it is said.
    section, row : str
        Of this page: how the title of the section begins, and the claim; both empty where none.
    """

    said: str
    page: str
    where: str
    rule: str
    section: str = ""
    row: str = ""


TABLE = Path(__file__).with_name("sentences.csv")
with TABLE.open(encoding="utf-8", newline="") as _file:
    CLAIMED = tuple(Claimed(**row) for row in csv.DictReader(_file))


def source(claimed: Claimed) -> str:
    """Return the source of the function, or the words of the constant, that holds a template."""
    module, _, name = claimed.where.partition(":")
    there = getattr(import_module(module), name)
    made = inspect.isfunction(there) or inspect.isclass(there)
    return inspect.getsource(there) if made else repr(there)


def lines() -> Iterator[str]:
    """Yield the table."""
    yield "| said | read on | made by | said where | section: row |"
    yield "|---|---|---|---|---|"
    for one in CLAIMED:
        place = f"{one.section}: {one.row}" if one.section else "no row"
        said = one.said.replace("|", "\\|")
        yield f"| `{said}` | {one.page} | `{one.where}` | {one.rule} | {place} |"
