"""The documentation says what the program does: metrics, codes, examples, links, commands, tree."""

import ast
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from core.__main__ import _parser
from core.calibrators import CALIBRATORS
from core.codes import NoticeCode, RefusalCode
from core.datasets.catalogue import DATASETS, TEXT_DATA
from core.fields import REQUIRED, declared
from core.inference.config import EvaluationConfig
from core.jobs.slurm.launcher import SlurmLauncher
from core.jobs.slurm.request import SlurmRequest
from core.losses.catalogue import LOSSES
from core.metrics import METRICS
from core.models.catalogue import MODELS, PUBLIC, TEXT_MODELS
from core.readers.formats.contents import FileBytes
from core.readers.predictions.interpret import InterpretedFile, read_source
from core.readers.predictions.options import ReadOptions
from core.readers.predictions.result import choose_split
from core.training.config import TrainConfig
from core.training.recipes import RECIPES

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


# Metrics ----------------------------------------------------------------------------------------


def test_every_metric_stands_in_the_table_as_the_registry_has_it() -> None:
    rows = {
        cells[0].strip("`"): cells[1:4]
        for cells in table_rows(section(page("docs/metrics.md"), "All metrics"))
    }
    ends = {key: [f"{end:g}".replace("inf", "∞") for end in m.range] for key, m in METRICS.items()}
    assert rows == {
        key: [metric.label, " to ".join(ends[key]), metric.better]
        for key, metric in METRICS.items()
    }


def test_every_metric_has_its_own_entry_that_opens_with_its_plain_words() -> None:
    entries = re.findall(r"^### `(\w+)`\n\n(.*)\n", page("docs/metrics.md"), re.MULTILINE)
    assert entries == [(key, metric.plain) for key, metric in METRICS.items()]


def test_every_calibrator_has_its_row_with_what_it_promises() -> None:
    rows = {
        cells[0].strip("`"): cells[1:]
        for cells in table_rows(section(page("docs/calibrators.md"), "All methods"))
    }
    assert rows == {
        key: [
            kind.label,
            "kept" if kind.keeps_accuracy else "may change",
            "never rises" if kind.improves_nll else "may rise",
            ", ".join(task.value for task in kind.tasks),
            kind.source,
        ]
        for key, kind in CALIBRATORS.items()
    }


def test_every_loss_network_data_set_and_recipe_has_its_row() -> None:
    def rows(title: str) -> dict[str, list[str]]:
        found = table_rows(section(page("docs/training.md"), title))
        return {cells[0].strip("`"): cells[1:] for cells in found}

    assert rows("Losses") == {
        key: [
            loss.label,
            ", ".join(f"`{key}` {one.default}" for key, one in loss.parameters.items()) or "none",
            ", ".join(task.value for task in loss.tasks),
            loss.source,
        ]
        for key, loss in LOSSES.items()
    }
    assert rows("Networks") == {
        key: [net.label, f"{net.millions:g}", net.source]
        for key, net in (MODELS | TEXT_MODELS).items()
    }
    public = table_rows(section(page("docs/checkpoints.md"), "Networks of public code"))
    assert {cells[0].strip("`"): cells[1:] for cells in public} == {
        key: [net.label, f"{net.millions:g}", net.source] for key, net in PUBLIC.items()
    }
    assert rows("Data") == {
        key: [data.label, data.plain, data.source] for key, data in (DATASETS | TEXT_DATA).items()
    }
    assert rows("Recipes") == {key: [one.label, one.source] for key, one in RECIPES.items()}


@pytest.mark.parametrize(
    ("path", "title", "config"),
    [
        ("docs/training.md", "The config", TrainConfig),
        ("docs/training.md", "Cluster", SlurmRequest),
        ("docs/evaluation.md", "The config", EvaluationConfig),
    ],
)
def test_every_field_of_a_config_has_its_row_as_it_is_declared(
    path: str, title: str, config: type
) -> None:
    rows = {cells[0].strip("`"): cells[1:] for cells in table_rows(section(page(path), title))}
    rows = {key: cells[:2] for key, cells in rows.items() if len(cells) == 3}
    assert rows == {
        key: [
            field.allowed,
            "" if field.default is REQUIRED else f"`{json.dumps(field.default)}`",
        ]
        for key, field in declared(config).items()
    }


def test_what_a_cluster_cannot_promise_is_listed() -> None:
    rows = table_rows(section(page("docs/training.md"), "Cluster"))
    listed = {cells[0].strip("`"): cells[1] for cells in rows if len(cells) == 2}
    assert listed == SlurmLauncher.cannot


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


def documented() -> list[str]:
    text = page("docs/reading.md")
    return [c for title in ("Refusals", "Notices", "Other codes") for c in _codes(text, title)]


def _codes(text: str, title: str) -> list[str]:
    rows = table_rows(section(text, title))
    return [cells[0].strip("`") for cells in rows if cells[0].startswith("`")]


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


def test_the_lists_of_codes_are_those_of_the_tables_in_their_order() -> None:
    text = page("docs/reading.md")
    tables = {title: _codes(text, title) for title in ("Refusals", "Notices", "Other codes")}
    assert list(RefusalCode) == tables["Refusals"] + tables["Other codes"]
    assert list(NoticeCode) == [*tables["Notices"], "OVERLAP"]  # refused, or said of rows alone
    assert [code.name for code in (*RefusalCode, *NoticeCode)] == [*RefusalCode, *NoticeCode]


def test_every_code_has_one_line_in_the_tables_and_no_line_is_without_a_code() -> None:
    rows = documented()
    assert sorted(rows) == sorted(set(rows))
    assert set(rows) - raised() == set()
    assert raised() - set(rows) == set()


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


def anchors(path: Path) -> set[str]:
    titles = re.findall(r"^#+ (.+)$", path.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("link", links(), ids=lambda link: f"{link[0].name}:{link[1]}")
def test_links_and_pictures_lead_somewhere(link: tuple[Path, str]) -> None:
    path, target = link
    name, _, anchor = target.partition("#")
    to = path.parent / name if name else path
    assert to.exists()
    assert not anchor or anchor in anchors(to)


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


@pytest.mark.parametrize("command", commands())
def test_commands_are_understood(command: str) -> None:
    words = shlex.split(command, comments=True)[3:]
    assert callable(_parser().parse_args(words).run)


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
