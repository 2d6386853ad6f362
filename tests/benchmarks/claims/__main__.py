"""Simulate every claim and write docs/coverage.md anew.

Run from the project's folder: python -m tests.benchmarks.claims [--sets 400] [--only intervals].
With --only, the other sections of the page stay as they are.
"""

import argparse
import inspect
import re
from pathlib import Path
from types import ModuleType

from tests.benchmarks.claims import intervals
from tests.benchmarks.claims.designs import COVERAGE, outside, table

PAGE = Path("docs/coverage.md")
HEAD = """# How often claims hold

Written by `python -m tests.benchmarks.claims`: data sets are drawn from designs whose truth is
known (`tests/benchmarks/claims/designs.py`), and each cell is the share of them in which an
interval at 95 % held the truth, or in which a sentence was said that is not true. "none" is a cell
where no data set had the claim. Below each table stand the cells outside 92 to 98 % (for
sentences: above 6 %), with the reason.
"""
# what the rates of a module should lie within
PARTS: dict[str, tuple[ModuleType, tuple[float, float]]] = {"intervals": (intervals, COVERAGE)}


def section(module: ModuleType, limits: tuple[float, float], sets: int, seed: int) -> str:
    """Return a module's part of the page: its docstring, its table, and what lies outside."""
    title, _, text = inspect.cleandoc(str(module.__doc__)).partition("\n")
    rows = module.rows(sets, seed)
    return (
        f"## {title.rstrip('.')}\n\n{text.strip()}\n\n{sets} data sets a cell unless listed, seed "
        f"{seed}.\n\n{table(rows)}\n\nOutside {limits[0]:.0%} to {limits[1]:.0%}:\n\n"
        f"{outside(rows, limits)}\n"
    )


def sections(page: str) -> dict[str, str]:
    """Return the parts of a page by their titles."""
    parts = re.split(r"^(?=## )", page, flags=re.MULTILINE)[1:]
    return {part.partition("\n")[0]: part.strip() + "\n" for part in parts}


def main() -> None:
    """Run the modules and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=400)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=list(PARTS), action="append")
    given = parser.parse_args()
    found = sections(PAGE.read_text()) if PAGE.exists() else {}
    for name in given.only or PARTS:
        text = section(*PARTS[name], given.sets, given.seed)
        found[text.partition("\n")[0]] = text
        print(text, flush=True)
        PAGE.write_text(HEAD + "\n" + "\n".join(found.values()))


if __name__ == "__main__":
    main()
