"""The words that docs/style.md leaves out stand in no sentence that Candor shows."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SHOWN = ("pages", "core/screens", "core/reports", "core/commands", "core/readers")


def dropped_words() -> list[str]:
    """Return the first column of the table that ends docs/style.md."""
    table = (ROOT / "docs/style.md").read_text().partition("| not | but |")[2]
    rows = [line.split("|") for line in table.splitlines() if line.startswith("|")]
    return [row[1].strip() for row in rows if not row[1].strip().startswith("---")]


def sentences(source: str) -> Iterator[tuple[int, str]]:
    """Return line and text of every string that is neither a docstring nor a key."""
    tree = ast.parse(source)
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    docstrings = {
        id(statement.value)
        for node in ast.walk(tree)
        if isinstance(node, documented)
        for statement in node.body
        if isinstance(statement, ast.Expr)
    }
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in docstrings
            and not (node.value.isidentifier() and node.value.islower())
        ):
            yield node.lineno, node.value


def found(text: str, words: list[str]) -> list[str]:
    """Return the dropped words that a text holds, whole; those in small letters in any case."""
    return [
        word
        for word in words
        if re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text, re.I if word.islower() else 0)
    ]


def test_the_word_list_is_read_and_sorted() -> None:
    words = dropped_words()
    assert len(words) >= 15
    assert words == sorted(words, key=str.casefold)


def test_a_dropped_word_is_found_in_a_sentence_and_not_in_a_key_or_docstring() -> None:
    source = '"""Go on."""\nKEY = "strange"\nTEXT = f"Nothing strange, {KEY}. Go on"\n'
    hits = [(line, found(text, ["go on", "strange"])) for line, text in sentences(source)]
    assert [hit for hit in hits if hit[1]] == [(3, ["strange"]), (3, ["go on"])]


@pytest.mark.parametrize("folder", SHOWN)
def test_no_sentence_holds_a_dropped_word(folder: str) -> None:
    words = dropped_words()
    files = [*sorted((ROOT / folder).rglob("*.py")), *sorted((ROOT / folder).rglob("*.html"))]
    hits = []
    for file in files:
        text = file.read_text()
        lines = sentences(text) if file.suffix == ".py" else enumerate(text.splitlines(), 1)
        for line, sentence in lines:
            hits += [f"{file.relative_to(ROOT)}:{line}: {word}" for word in found(sentence, words)]
    assert files
    assert not hits, "\n".join(hits)
