"""The documentation says what the program does: metrics, codes, examples, links, commands, tree."""

import ast
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from core.__main__ import _parser
from core.codes import NoticeCode, RefusalCode
from core.metrics import METRICS
from core.readers.formats.contents import FileBytes
from core.readers.predictions.interpret import InterpretedFile, read_source
from core.readers.predictions.result import ReadOptions, choose_split
from tests import docs

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
ERRORS = {"AuditError", "Refused", "UsageError", "LibraryError", "LostWorker", "Notice", "Failure"}
ENUMS = {"NoticeCode", "RefusalCode"}
CODE = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*")
FENCE = re.compile(r"^```(.*)\n((?:.*\n)*?)^```$", re.MULTILINE)


def page(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


def section(text: str, title: str) -> str:
    """The text below a heading of the second level, up to the next one."""
    return text.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def table_rows(text: str) -> Iterator[list[str]]:
    """Cells of each row of the tables in a text, without their headers."""
    for table in re.findall(r"(?:^\|.*\n?)+", text, re.MULTILINE):
        for line in table.splitlines()[2:]:
            yield [cell.strip() for cell in line.strip("|").split("|")]


# Written by the program ---------------------------------------------------------------------------


def test_pages_hold_what_the_code_says() -> None:
    assert list(docs.stale()) == [], "python -m tests.docs --write"
    text = "".join(path.read_text("utf-8") for path in PAGES)
    assert sorted(found[2] for found in docs.BLOCK.finditer(text)) == sorted(docs.TABLES)


def test_pages_say_what_the_code_does_not() -> None:
    text = page("docs/metrics.md")
    assert docs.TO_WRITE not in text
    written = (page(f"docs/{name}.md") for name in ("training", "evaluation", "reading"))
    for found in docs.BLOCK.finditer(text + "".join(written)):
        assert [row[0] for row in table_rows(found[3]) if not row[-1]] == []


def test_a_row_that_is_new_is_drafted_and_others_keep_their_words() -> None:
    before = (
        "| key | size | meaning |\n|---|---|---|\n| `old` | 1 | as it says |\n| `gone` | 3 | - |\n"
    )
    table = docs.Table("key, size, meaning", {"new": ("2",), "old": ("4",)}, {"new": "a draft"})
    rows = table.markdown(before).splitlines()[2:]
    assert rows == ["| `new` | 2 | a draft |", "| `old` | 4 | as it says |"]
    name = next(iter(METRICS))
    text = docs.written(f"### `{name}`\n\nOther words.\n\n- Formula: x / N.\n\n## Next\n")
    assert text.startswith(f"### `{name}`\n\n{METRICS[name].plain}\n\n- Formula: x / N.\n\n### `")
    assert text.count(docs.TO_WRITE) == len(METRICS) - 1
    assert text.endswith("## Next\n")


# Codes ------------------------------------------------------------------------------------------


class _Codes(ast.NodeVisitor):
    """Codes that a module can raise or say, and calls whose code cannot be told from the source.

    A code is the first argument of an error or notice. A name there stands for the strings
    assigned to it in the function, or, where it is the function's own first parameter, for the
    first arguments of that function's calls.
    """

    def __init__(self, module: ast.Module) -> None:
        self.module = module
        self.codes: set[str] = set()
        self.unknown: list[str] = []
        self._functions: list[ast.FunctionDef] = []
        self.visit(module)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._functions.append(node)
        self.generic_visit(node)
        self._functions.pop()

    def visit_Call(self, node: ast.Call) -> None:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id in ERRORS:
            self._take(node)

    def _take(self, call: ast.Call) -> None:
        if not call.args:  # Refused(**fields): a copy of another
            return
        first = call.args[0]
        codes = self._named(first.id) if isinstance(first, ast.Name) else self._strings(first)
        handed_on = not isinstance(first, ast.Name) and "code" in ast.unparse(first)
        if not codes and not handed_on:
            self.unknown.append(ast.unparse(call))
        self.codes |= codes

    def _strings(self, node: ast.AST | None) -> set[str]:
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) in ENUMS:
            return {node.attr}
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return {node.value}
        if isinstance(node, ast.IfExp):
            return self._strings(node.body) | self._strings(node.orelse)
        return set()

    def _named(self, name: str) -> set[str]:
        function = self._functions[-1]
        found: set[str] = set()
        for node in ast.walk(function):
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name:
                found |= self._strings(node.value)
        if function.args.args and function.args.args[0].arg == name:
            for node in ast.walk(self.module):
                if isinstance(node, ast.Call) and ast.unparse(node.func) == function.name:
                    found |= self._strings(node.args[0])
        return found


@cache
def raised() -> frozenset[str]:
    found: set[str] = set()
    for path in [*(ROOT / "core").rglob("*.py"), *(ROOT / "pages").rglob("*.py")]:
        module = _Codes(ast.parse(path.read_text("utf-8")))
        assert not module.unknown, f"{path.name}: no code in {module.unknown}"
        found |= module.codes
    return frozenset(found)


def test_codes_are_found_in_every_form_the_code_uses() -> None:
    """The search itself: plain, by a variable, by a helper's first parameter."""
    assert {"PROB_SUM", "NONFINITE", "HEADER_SHAPE", "RENORMALISED", "LOST_WORKER"} <= raised()
    source = """
def helper(code, what):
    return Refused(code, what, "remedy")
def act(flag):
    name = "ONE" if flag else "TWO"
    helper("THREE", "what")
    raise Refused(name, "what", "remedy")
def lost(what):
    raise Refused(what, "what", "remedy")
"""
    found = _Codes(ast.parse(source))
    assert found.codes == {"ONE", "TWO", "THREE"}
    assert len(found.unknown) == 1


def test_every_code_is_written_as_codes_are() -> None:
    assert [code for code in sorted(raised()) if not CODE.fullmatch(code)] == []


def test_every_code_is_listed_and_every_listed_one_is_raised_or_said() -> None:
    assert {*RefusalCode, *NoticeCode} == raised()
    assert all(code == code.name for code in (*RefusalCode, *NoticeCode))


def test_codes_named_in_running_text_exist() -> None:
    text = page("docs/reading.md") + page("docs/metrics.md")
    named = {word for word in re.findall(r"`([A-Z_0-9]{4,})`", text) if CODE.fullmatch(word)}
    assert named - raised() - {"PATH", "SYSTEMROOT"} == set()


# Examples ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files that the page's examples write, and its text tables."""
    folder = tmp_path_factory.mktemp("examples")
    for info, body in FENCE.findall(section(page("docs/reading.md"), "Examples")):
        words = info.split()
        if words[0] == "csv":
            (folder / words[1]).write_text(body, "utf-8")
        elif words[0] == "python":  # in a process of its own: it imports torch
            subprocess.run([sys.executable, "-c", body], cwd=folder, check=True)
    return folder


def example_rows() -> list[list[str]]:
    rows = table_rows(section(page("docs/reading.md"), "Examples"))
    return [[cell.strip("`") for cell in cells] for cells in rows]


def read(folder: Path, name: str, labels: str) -> InterpretedFile:
    sources = [
        FileBytes.of_bytes(n, (folder / n).read_bytes()) if n else None for n in (name, labels)
    ]
    assert sources[0] is not None
    return read_source(sources[0], sources[1], ReadOptions())


@pytest.mark.slow
@pytest.mark.parametrize("row", example_rows(), ids=lambda row: row[0])
def test_examples_are_read_as_their_table_says(examples: Path, row: list[str]) -> None:
    name, labels, *said = row
    found = read(examples, name, labels)
    ready = found.splits[choose_split(found.splits)]
    shape = " x ".join(map(str, ready.prepared.scores.shape))
    codes = ", ".join(sorted({notice.code for notice in found.notices}))
    assert said == [str(ready.task), str(ready.verdict.kind), shape, codes]


@pytest.mark.slow
def test_every_example_file_is_in_the_table(examples: Path) -> None:
    listed = {name for row in example_rows() for name in row[:2] if name}
    assert listed == {path.name for path in examples.iterdir()}


# Links, commands, tree --------------------------------------------------------------------------


def links() -> list[tuple[Path, str]]:
    return [
        (path, target)
        for path in PAGES
        for target in re.findall(r"\]\(([^)\s]+)\)", path.read_text("utf-8"))
        if not re.match(r"[a-z]+:", target)
    ]


@cache
def anchors(path: Path) -> set[str]:
    titles = re.findall(r"^#+ (.+)$", path.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def test_links_and_pictures_lead_somewhere() -> None:
    for path, target in links():
        name, _, anchor = target.partition("#")
        to = path.parent / name if name else path
        assert to.exists(), (path, target)
        assert not anchor or anchor in anchors(to), (path, target)


def commands() -> list[str]:
    return [
        line.strip()
        for path in PAGES
        for info, body in FENCE.findall(path.read_text("utf-8"))
        if info.strip() in ("sh", "bash", "")
        for line in body.splitlines()
        if line.strip().startswith("python -m core ")
    ]


def test_commands_are_found() -> None:
    assert "python -m core audit classes.npz" in commands()


def test_commands_are_understood() -> None:
    parser = _parser()
    for command in commands():  # argparse itself says what it does not understand
        words = shlex.split(command, comments=True)[3:]
        assert callable(parser.parse_args(words).run), command


def tree() -> dict[str, set[str]]:
    """What the README's tree names: by folder, with the top level under an empty name."""
    block = next(body for info, body in FENCE.findall(section(page("README.md"), "The tree")))
    named: dict[str, set[str]] = {"": set()}
    folder = ""
    for line in block.splitlines():
        names, _, words = line.strip().partition("  ")
        if not line.startswith(" "):
            folder = names.rstrip("/")
            named[""].update(names.split())
            named[folder] = set(re.findall(r"[\w.]+(?:\.py\b|/)", words))
        else:
            named[folder].update(re.findall(r"[\w.]+(?:\.py\b|/)", names))
    return named


def on_disk(folder: str) -> set[str]:
    """Python files and folders, but hidden, ignored and package-marking ones."""
    ignored = {line.strip("/") for line in page(".gitignore").splitlines()}
    return {
        path.name + "/" * path.is_dir()
        for path in (ROOT / folder).iterdir()
        if path.name not in {"__init__.py", "__pycache__", *ignored}
        and not path.name.startswith(".")
        and (path.is_dir() or path.suffix == ".py")
    }


@pytest.mark.parametrize("folder", ["", "core", "pages"])
def test_tree_of_the_readme_is_the_tree_on_disk(folder: str) -> None:
    assert tree()[folder] == on_disk(folder)


def test_folders_that_the_tree_names_inside_others_exist() -> None:
    missing = [
        f"{folder}/{name}"
        for folder, names in tree().items()
        for name in names
        if folder and not (ROOT / folder / name).exists()
    ]
    assert missing == []


def test_pages_that_the_tree_names_are_those_in_docs() -> None:
    line = re.search(r"^docs/ +(.+)$", page("README.md"), re.MULTILINE)
    assert line is not None
    here = {path.stem for path in (ROOT / "docs").iterdir() if not path.name.startswith(".")}
    assert set(line[1].split(", ")) == here
