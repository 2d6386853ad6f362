"""`python -m tests.size`: lines, files and helpers of each room beside what it may have.

A room over its budget ends with exit status 1. A budget leaves its room 100 to 200 lines, a file
and four helpers, so that a small addition does not touch it; "all" leaves the rooms together about
1,000 lines, so that they cannot all grow unseen. A capability that needs more raises the budget, as
its commit says; `--write` puts the table into `docs/architecture.md`.
"""

import ast
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).resolve().parents[1]
DOCUMENT: Final = ROOT / "docs/architecture.md"
START, END = "<!-- size -->\n", "<!-- /size -->\n"
LONGEST: Final = 90  # lines of a function, without its docstring
Function = ast.FunctionDef | ast.AsyncFunctionDef


class Size(NamedTuple):
    """What a room has, or may have."""

    lines: int
    files: int
    once: int
    """Private functions that one place of their module uses."""


BUDGETS: Final[dict[str, Size]] = {
    "core": Size(3_850, 20, 33),
    "core/calibrators": Size(4_300, 14, 39),
    "core/checkpoints": Size(1_000, 6, 10),
    "core/commands": Size(2_400, 12, 30),
    "core/compiled": Size(1_600, 12, 28),
    "core/datasets": Size(5_150, 20, 38),
    "core/inference": Size(2_750, 14, 22),
    "core/jobs": Size(3_200, 15, 36),
    "core/library": Size(3_100, 13, 27),
    "core/losses": Size(2_150, 9, 12),
    "core/metrics": Size(11_100, 29, 69),
    "core/models": Size(1_800, 9, 10),
    "core/ood": Size(1_250, 5, 9),
    "core/readers": Size(16_350, 46, 153),
    "core/reports": Size(3_200, 10, 26),
    "core/screens": Size(18_550, 54, 102),
    "core/studies": Size(3_300, 14, 15),
    "core/training": Size(4_500, 16, 32),
    "core/xray": Size(1_350, 7, 16),
    "pages": Size(18_000, 78, 161),
    "all": Size(107_400, 390, 800),
}


def docstring_lines(node: ast.AST) -> int:
    """Return the lines of the docstring of a function."""
    body = getattr(node, "body", [])
    first = body[0] if body else None
    if not isinstance(first, ast.Expr) or not isinstance(first.value, ast.Constant):
        return 0
    last = first.end_lineno or first.lineno
    return last - first.lineno + 1 if isinstance(first.value.value, str) else 0


def functions(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Yield the name of each function and its lines without the docstring."""
    for node in ast.walk(tree):
        if isinstance(node, Function):
            last = node.end_lineno or node.lineno
            yield node.name, last - node.lineno + 1 - docstring_lines(node)


def used_once(tree: ast.AST) -> int:
    """Return how many private functions of a module it names once."""
    uses = Counter(
        node.id if isinstance(node, ast.Name) else node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Name | ast.Attribute)
    )
    helpers = [name for name, _ in functions(tree) if name.startswith("_") and name[1:2] != "_"]
    return sum(uses[name] == 1 for name in helpers)


def sizes(root: Path = ROOT) -> tuple[dict[str, Size], int]:
    """Return the size of each room and of all, and the lines of the longest function."""
    rooms, longest = defaultdict[str, list[Size]](list), 0
    for path in sorted([root / "app.py", *root.glob("core/**/*.py"), *root.glob("pages/**/*.py")]):
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text)
        parts = path.relative_to(root).parts
        room = "/".join(parts[:2]) if parts[0] == "core" and len(parts) > 2 else parts[0]
        rooms["pages" if room == "app.py" else room].append(
            Size(len(text.splitlines()), 1, used_once(tree))
        )
        longest = max(longest, *(lines for _, lines in functions(tree)), 0)
    rooms["all"] = [size for parts in list(rooms.values()) for size in parts]
    return {
        room: Size(*map(sum, zip(*parts, strict=True))) for room, parts in rooms.items()
    }, longest


def table(budgets: dict[str, Size]) -> str:
    """Return the budgets in Markdown."""
    lines = ["| room | lines | files | helpers used once |", "|---|---|---|---|"]
    lines += [f"| {r} | {s.lines:,} | {s.files} | {s.once:,} |" for r, s in budgets.items()]
    return "\n".join(lines) + "\n"


def over(rooms: dict[str, Size], longest: int) -> list[str]:
    """Return a sentence for each budget that is exceeded."""
    sentences = [f"a function has {longest} lines, of {LONGEST}"] if longest > LONGEST else []
    for room, size in rooms.items():
        budget = BUDGETS.get(room, Size(0, 0, 0))
        for field, value, limit in zip(Size._fields, size, budget, strict=True):
            if value > limit:
                sentences.append(f"{room}: {value:,} {field}, of {limit:,}")
    return sentences


def main(arguments: list[str]) -> int:
    """Print the sizes, or write the budgets into the document."""
    if "--write" in arguments:
        before, _, rest = DOCUMENT.read_text(encoding="utf-8").partition(START)
        DOCUMENT.write_text(
            before + START + table(BUDGETS) + END + rest.partition(END)[2], encoding="utf-8"
        )
        return 0
    rooms, longest = sizes()
    for room, size in rooms.items():
        budget = BUDGETS.get(room, Size(0, 0, 0))
        shares = (f"{value:>7,} of {most:>7,}" for value, most in zip(size, budget, strict=True))
        print(f"{room:18}", *shares)
    sentences = over(rooms, longest)
    print(*sentences, sep="\n")
    return 1 if sentences else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
