"""No module needs, while it is imported, one that needs it: else the first to come fails."""

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parents[1]


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(body: list[ast.stmt], modules: set[str]) -> Iterator[str]:
    """Yield the modules that are imported as a module is: not within functions, nor for types."""
    for node in body:
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in modules else node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.Try):
            yield from imported(node.body, modules)
        elif isinstance(node, ast.If) and "TYPE_CHECKING" not in ast.unparse(node.test):
            yield from imported([*node.body, *node.orelse], modules)


def test_no_circle_of_imports():
    paths = [path for top in ("core", "pages") for path in (ROOT / top).rglob("*.py")]
    files = {name_of(path): path for path in paths}
    graph = {}
    for name, path in files.items():
        body = ast.parse(path.read_text("utf-8")).body
        graph[name] = set(imported(body, set(files))) & set(files) - {name}
    assert len(graph) > 100
    TopologicalSorter(graph).prepare()  # CycleError names the circle
