"""A refusal reads `What was found; what to do`: one sentence whose end its writer does not set.

The message begins in upper case or with a name, the remedy in lower case or with a name.
"""

import ast
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
# Position of the message, and of the remedy, among a call's arguments.
NAMES = ("AuditError", "Refused", "UsageError", "LibraryError", "LostWorker", "Failure")
MESSAGE, REMEDY = dict.fromkeys(NAMES, 1), dict.fromkeys(NAMES, 2)
WORD = re.compile(r"[a-z][a-z'-]*[,:]?(?=\s|$)")  # no file name, option, key or symbol
SENTENCE = re.compile(r"(?!I\b)[A-Z][a-z]*(?=\s)")  # a word that may begin a sentence of its own


class Literal(NamedTuple):
    """A literal that a text may begin or end with."""

    line: int
    column: int
    text: str


Functions = ast.FunctionDef | ast.AsyncFunctionDef


@cache
def calls_of(file: Path) -> list[tuple[ast.Call, Functions | None]]:
    """Return the calls in a file, with the function around each."""
    calls: list[tuple[ast.Call, Functions | None]] = []

    def visit(node: ast.AST, around: Functions | None) -> None:
        inside = node if isinstance(node, Functions) else around
        if isinstance(node, ast.Call):
            calls.append((node, inside))
        for child in ast.iter_child_nodes(node):
            visit(child, inside)

    visit(ast.parse(file.read_text()), None)
    return calls


def lower_case(text: str) -> bool:
    """Whether a message begins with a plain word in lower case."""
    return WORD.match(text) is not None


def messages(file: Path, makers: dict[str, int]) -> Iterator[tuple[ast.expr, Functions | None]]:
    """Return the messages that calls of these makers state, with the function around each."""
    for call, around in calls_of(file):
        place = makers.get(ast.unparse(call.func).rpartition(".")[2])
        if place is not None and place < len(call.args):
            yield call.args[place], around


def literals(text: ast.expr, around: Functions | None, *, last: bool = False) -> Iterator[Literal]:
    """Return what a text may begin (or end) with, through names of the same function."""
    match text:
        case ast.Constant(value=str(value)):
            yield Literal(text.lineno, text.col_offset, value)
        case ast.JoinedStr(values=[*parts]) if parts:
            match parts[-1 if last else 0]:
                case ast.Constant(value=str(value)):
                    yield Literal(text.lineno, text.col_offset, value)
                case ast.FormattedValue(value=inner) if not isinstance(inner, ast.Constant):
                    yield from literals(inner, around, last=last)
        case ast.IfExp(body=first, orelse=second) | ast.BoolOp(values=[first, second]):
            yield from literals(first, around, last=last)
            yield from literals(second, around, last=last)
        case ast.BinOp(left=left, right=right):
            yield from literals(right if last else left, around, last=last)
        case ast.Name(id=name) if around is not None:
            for node in ast.walk(around):
                if isinstance(node, ast.Assign) and any(
                    isinstance(target, ast.Name) and target.id == name for target in node.targets
                ):
                    yield from literals(node.value, None, last=last)


def message_makers(file: Path, makers: dict[str, int]) -> dict[str, int]:
    """Return functions that hand a parameter on as a message, with its position."""
    found = {}
    for message, around in messages(file, makers):
        if around is not None and isinstance(message, ast.Name):
            parameters = [argument.arg for argument in around.args.args]
            if message.id in parameters:
                found[around.name] = parameters.index(message.id)
    return found


def makers_of(files: list[Path], records: dict[str, int]) -> dict[Path, dict[str, int]]:
    """Return by file what makes refusals there: records, public functions of all, its own."""
    public = dict(records)
    for file in files:
        own = message_makers(file, records)
        public |= {name: place for name, place in own.items() if not name.startswith("_")}
    return {file: public | message_makers(file, public) for file in files}


def refusals(
    files: list[Path], records: dict[str, int] = MESSAGE, *, last: bool = False
) -> Iterator[tuple[Path, Literal]]:
    """Return how the messages (or remedies) of all refusals in these files may begin or end."""
    for file, makers in makers_of(files, records).items():
        for message, around in messages(file, makers):
            for literal in literals(message, around, last=last):
                yield file, literal


def test_openings_are_found_through_names_choices_and_functions(tmp_path: Path) -> None:
    source = tmp_path / "source.py"
    source.write_text(
        "def refuse(key, what):\n    return Refused('A', what, 'do')\n"
        "def check(name, many):\n"
        "    what = f'one file {name}' if many else 'Two'\n"
        "    raise UsageError('B', what, 'do')\n"
        "def other(name):\n    raise refuse(name, f'three of {name}')\n"
    )
    found = [opening.text for _, opening in refusals([source])]
    assert found == ["one file ", "Two", "three of "]


def test_a_word_is_told_from_a_name() -> None:
    assert all(map(lower_case, ("no file", "a logit", "label ", "scores: few", "model's")))
    names = ("No file", "labels.npy has", "n_train is", "--lines is", "p0 lies", "val/a.txt is")
    assert not any(map(lower_case, names))


def lines(found: Iterable[tuple[Path, Literal]]) -> str:
    """Return what was found, a line each."""
    return "\n".join(f"{f.relative_to(ROOT)}:{part.line}: {part.text}" for f, part in found)


FILES = [*sorted((ROOT / "core").rglob("*.py")), *sorted((ROOT / "pages").rglob("*.py"))]


def test_every_message_begins_as_a_sentence() -> None:
    found = list(refusals(FILES))
    assert len(found) > 500
    lower = [(file, opening) for file, opening in found if lower_case(opening.text)]
    assert not lower, lines(lower)


def test_every_remedy_goes_on_with_the_sentence() -> None:
    found = list(refusals(FILES, REMEDY))
    assert len(found) > 500
    upper = [(file, opening) for file, opening in found if SENTENCE.match(opening.text)]
    assert not upper, lines(upper)


def test_no_refusal_ends_its_own_sentence() -> None:
    ends = [*refusals(FILES, last=True), *refusals(FILES, REMEDY, last=True)]
    assert len(ends) > 1000
    closed = [(file, end) for file, end in ends if end.text.endswith((".", ";", "!", " "))]
    assert not closed, lines(closed)
