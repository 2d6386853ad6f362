"""A class name means one thing, wherever it is read."""

import ast
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[1]


def classes() -> dict[str, list[str]]:
    """The modules that define each class, private ones too."""
    places = defaultdict(list)
    paths = [ROOT / "app.py", *(p for top in ("core", "pages") for p in (ROOT / top).rglob("*.py"))]
    for path in sorted(paths):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(path.relative_to(ROOT).as_posix())
    assert len(places) > 500
    return places


def test_no_class_name_is_defined_twice() -> None:
    assert {name: places for name, places in classes().items() if len(places) > 1} == {}
