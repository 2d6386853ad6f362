"""What of this program results depend on: modules and all that they import, but no comment."""

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from core.arrays import digest

ROOT: Final = Path(__file__).parents[2]
STORE: Final = "core.library"  # hands over rows, whose digests are compared, and computes nothing
Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def program_digest(modules: Iterable[str], root: Path = ROOT) -> str:
    """Return a digest of modules and of every module of their package that they import.

    Comments, docstrings and where lines stand do not count; names, constants and sentences do.

    Parameters
    ----------
    modules : iterable of str
        Dotted names below `root`.
    root : Path
        Folder of the package.
    """
    trees = modules_of(modules, root)
    parts = (f"{name} {_meaning(trees[name])}" for name in sorted(trees))
    return digest(*parts)


def modules_of(modules: Iterable[str], root: Path = ROOT) -> dict[str, ast.Module]:
    """Return modules and what they import of their package, wherever in their lines, parsed."""
    trees: dict[str, ast.Module] = {}
    ahead = list(modules)
    while ahead:
        name = ahead.pop()
        path = None if name in trees or name == STORE else _source(name, root)
        if path is not None:
            trees[name] = ast.parse(path.read_bytes())
            ahead += [name.rpartition(".")[0], *_imports(trees[name])]
    return trees


def _source(name: str, root: Path) -> Path | None:
    """Return the file of a module or package; None of what lies elsewhere."""
    stem = root.joinpath(*name.split("."))
    files = (stem / "__init__.py", stem.with_name(f"{stem.name}.py"))
    return next((path for path in files if name and path.is_file()), None)


def _imports(tree: ast.Module) -> Iterator[str]:
    """Yield the names that an import may mean: of a package also its modules."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.module != STORE:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _meaning(tree: ast.Module) -> str:
    for node in ast.walk(tree):
        if isinstance(node, Documented) and ast.get_docstring(node, clean=False) is not None:
            del node.body[0]
    return ast.dump(tree)
