"""The message of a refusal begins as a sentence does: in upper case, or with a name."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
# Position of the message among a call's arguments.
RECORDS = dict.fromkeys(
    ("AuditError", "Refused", "UsageError", "LibraryError", "LostWorker", "Failure"), 1
)
WORD = re.compile(r"[a-z][a-z'-]*[,:]?(?=\s|$)")  # no file name, option, key or symbol


class Opening(NamedTuple):
    """A literal that a message may begin with."""

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


def openings(message: ast.expr, around: Functions | None) -> Iterator[Opening]:
    """Return the literals that a message may begin with, through names of the same function."""
    match message:
        case ast.Constant(value=str(text)):
            yield Opening(message.lineno, message.col_offset, text)
        case ast.JoinedStr(values=[ast.Constant(value=str(text)), *_]):
            yield Opening(message.lineno, message.col_offset, text)
        case ast.JoinedStr(values=[ast.FormattedValue(value=value), *_]):
            if not isinstance(value, ast.Constant):
                yield from openings(value, around)
        case ast.IfExp(body=first, orelse=second) | ast.BoolOp(values=[first, second]):
            yield from openings(first, around)
            yield from openings(second, around)
        case ast.BinOp(left=left):
            yield from openings(left, around)
        case ast.Name(id=name) if around is not None:
            for node in ast.walk(around):
                if isinstance(node, ast.Assign) and any(
                    isinstance(target, ast.Name) and target.id == name for target in node.targets
                ):
                    yield from openings(node.value, None)


def message_makers(file: Path, makers: dict[str, int]) -> dict[str, int]:
    """Return functions that hand a parameter on as a message, with its position."""
    found = {}
    for message, around in messages(file, makers):
        if around is not None and isinstance(message, ast.Name):
            parameters = [argument.arg for argument in around.args.args]
            if message.id in parameters:
                found[around.name] = parameters.index(message.id)
    return found


def makers_of(files: list[Path]) -> dict[Path, dict[str, int]]:
    """Return by file what makes refusals there: records, public functions of all, its own."""
    public = dict(RECORDS)
    for file in files:
        own = message_makers(file, RECORDS)
        public |= {name: place for name, place in own.items() if not name.startswith("_")}
    return {file: public | message_makers(file, public) for file in files}


def refusals(files: list[Path]) -> Iterator[tuple[Path, Opening]]:
    """Return how the messages of all refusals in these files may begin."""
    for file, makers in makers_of(files).items():
        for message, around in messages(file, makers):
            for opening in openings(message, around):
                yield file, opening


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


def test_every_refusal_begins_as_a_sentence() -> None:
    files = [*sorted((ROOT / "core").rglob("*.py")), *sorted((ROOT / "pages").rglob("*.py"))]
    found = list(refusals(files))
    assert len(found) > 500
    lower = [
        f"{file.relative_to(ROOT)}:{opening.line}: {opening.text}"
        for file, opening in found
        if lower_case(opening.text)
    ]
    assert not lower, "\n".join(lower)
