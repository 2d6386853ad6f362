"""Simulate every claim and write docs/coverage.md anew.

Run from the project's folder: python -m tests.benchmarks.claims [--sets 400] [--only intervals]
(hours; a part with 100 sets takes a quarter of an hour).
With --only, the other sections of the page stay as they are.
"""

import argparse
import inspect
import re
from pathlib import Path
from types import ModuleType

from tests.benchmarks.claims import (
    clinical,
    comparisons,
    corrections,
    decisions,
    equal_runs,
    every_pair,
    few,
    groups,
    intervals,
    ood,
    people,
    reductions,
    sentences,
    shares,
    training,
    uneven,
    verdicts,
)
from tests.benchmarks.claims.designs import outside, table

PAGE = Path("docs/coverage.md")
HEAD = """# How often claims hold

Written by `python -m tests.benchmarks.claims`: data sets are drawn from designs whose truth is
known (`tests/benchmarks/claims/designs.py`), and each cell is the share of them in which an
interval at 95 % held the truth, or in which a sentence was said that is not true. "none" is a cell
where no data set had the claim. Below each table stand the cells outside 92 to 98 % (for
sentences: above 6 %), with the reason.
"""
PARTS: dict[str, ModuleType] = {
    "intervals": intervals,
    "shares": shares,
    "few": few,
    "verdicts": verdicts,
    "groups": groups,
    "uneven": uneven,
    "decisions": decisions,
    "equal_runs": equal_runs,
    "comparisons": comparisons,
    "every_pair": every_pair,
    "corrections": corrections,
    "reductions": reductions,
    "ood": ood,
    "people": people,
    "training": training,
    "clinical": clinical,
}

TABLES: dict[str, ModuleType] = {"sentences": sentences}


def section(name: str, sets: int, seed: int) -> str:
    """Return a part of the page: a module's docstring, its table, and what lies outside."""
    module = PARTS.get(name) or TABLES[name]
    title, _, text = inspect.cleandoc(str(module.__doc__)).partition("\n")
    opening = f"## {title.rstrip('.')}\n\n{text.strip()}\n"
    if name in TABLES:
        return opening + "\n" + "\n".join(module.lines()) + "\n"
    rows = list(module.rows(sets, seed))
    others = sorted({row.sets for row in rows} - {0, sets})
    ends = others[:1] + others[-1:]
    fewer = " to ".join(f"{count:,}" for count in dict.fromkeys(ends))
    some = f" (in some {fewer})" if others else ""
    return (
        f"{opening}\n{sets} data sets a cell{some}, seed {seed}.\n\n{table(rows)}\n\n"
        f"Outside 92 to 98 %, or above 6 % for sentences:\n\n{outside(rows)}\n"
    )


def sections(page: str) -> dict[str, str]:
    """Return the parts of a page by their titles."""
    parts = re.split(r"^(?=## )", page, flags=re.MULTILINE)[1:]
    return {part.partition("\n")[0]: part.strip() + "\n" for part in parts}


ALARMS = {
    "rows of their own": (verdicts, verdicts.ANY, ("",)),
    "groups of one size": (groups, "verdict of a calibrated set", ("films a patient",)),
    "copies of rows": (groups, "verdict of a calibrated set", ("copies",)),
    "rows that count by weight": (groups, "verdict of a calibrated set", ("weights",)),
    "uneven groups, and few events": (uneven, "verdict of a calibrated set", ("",)),
}
IN_ALL, OTHER = "## Calibrated sets in all", ("in all", "true temperature")


def in_all(parts: dict[str, str]) -> str:
    """Return how many calibrated sets are called off, by kind of rows and in all."""
    lines, every = [], []
    for kind, (module, claim, names) in ALARMS.items():
        title = inspect.cleandoc(str(module.__doc__)).partition(".")[0]
        table_of = parts.get(f"## {title}", "")
        cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table_of.split("\n")]
        rates = [
            float(rate)
            for claimed, design, *shown in (row for row in cells if len(row) > 2)
            if claimed == claim and any(name in design for name in names)
            if not any(other in design for other in OTHER)
            for rate in shown
            if rate and rate != "none"
        ]
        every += rates
        lines.append(f"| {kind} | {len(rates)} | {sum(rates) / max(1, len(rates)):.3f} |")
    lines.append(f"| in all | {len(every)} | {sum(every) / max(1, len(every)):.3f} |")
    return (
        f"{IN_ALL}\n\nHow often a verdict says that something is off where nothing is: the mean of "
        "the cells above,\neach of which counts once. At most 0.06 is asked of all together.\n\n"
        "| calibrated sets | cells | called off |\n|---|---|---|\n" + "\n".join(lines) + "\n"
    )


def main() -> None:
    """Run the modules and write the page."""
    names = [*PARTS, *TABLES]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=400)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=names, action="append")
    given = parser.parse_args()
    for name in given.only or names:
        text = section(name, given.sets, given.seed)
        parts = sections(PAGE.read_text())  # a part that is there keeps its place
        parts[text.partition("\n")[0]] = text
        parts[IN_ALL] = in_all(parts)
        print(text, flush=True)
        PAGE.write_text("\n".join([HEAD, *parts.values()]))


if __name__ == "__main__":
    main()
