"""Labelled parse trees of the Stanford Sentiment Treebank, read within limits; no torch."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from core.datasets.texts.reading import Budget, TextRow, lines_of
from core.errors import Refused

LONGEST_TREE: Final = 10_000  # characters; in the treebank below 2,000
NEGATIVE, NEUTRAL, POSITIVE = "negative", "neutral", "positive"
POLARITY: Final = {"0": NEGATIVE, "1": NEGATIVE, "2": NEUTRAL, "3": POSITIVE, "4": POSITIVE}
# A bracket with its label, a word, a bracket that closes; or a bracket without a label.
PART: Final = re.compile(r"\(\s*([0-4])(?=[\s(])|([^\s()]+)|(\))|\(")
WORD, JOINED = [True], [False, False]  # what a node may hold: a word, or two nodes
JOIN: Final = "<join>"


def phrases(path: Path, budget: Budget, *, every: bool) -> list[TextRow]:
    """Return the sentences of a file with a tree such as ``(3 (2 It) (4 works))`` on each line.

    Parameters
    ----------
    path : Path
    budget : Budget
    every : bool
        All phrases of each sentence, the sentence itself last.

    Returns
    -------
    list of TextRow
        Without sentences that are neutral as a whole. A text has a pair of brackets around each
        two phrases that are joined: ``(It works)``.

    Raises
    ------
    Refused
        As of `lines_of`; FORMAT_UNKNOWN: a line that is no such tree. TABLE_SIZE: one too long.
    """
    rows = []
    for line, cells in lines_of(path, "\t", budget):
        place = f"{path.name}, line {line}"
        nodes = list(_nodes(" ".join(cells), place))
        if nodes[-1][0] == NEUTRAL:
            continue
        for k, (label, text) in enumerate(nodes if every else nodes[-1:], 1):
            budget.add(len(text), place)
            rows.append(TextRow(text, label, f"{path.name}:{line}{f'.{k}' if every else ''}"))
    return rows


def tokens(text: str) -> list[str]:
    """Return the words of a text of `phrases` in lower case, and a JOIN behind each two phrases."""
    return text.replace("(", "").replace(")", f" {JOIN} ").lower().split()


def _nodes(tree: str, place: str) -> Iterator[tuple[str, str]]:
    """Yield label and text of each node after those below it."""
    if len(tree) > LONGEST_TREE:
        what = f"This tree has more than {LONGEST_TREE:,} characters"
        raise Refused("TABLE_SIZE", what, "give one tree a line", place)
    opened: list[tuple[str, list[tuple[bool, str]]]] = []  # label and contents of each open node
    closed = False
    for part in PART.finditer(tree):
        label, word, closes = part.groups()
        if closed or not (opened or part[0].startswith("(")):
            raise _refused("something stands outside its brackets", place)
        if label:
            opened.append((POLARITY[label], []))
        elif word:
            opened[-1][1].append((True, word))
        elif closes:
            name, contents = opened.pop()
            kind = [is_word for is_word, _ in contents]
            if kind not in (WORD, JOINED):
                raise _refused("a node holds neither one word nor two nodes", place)
            text = " ".join(text for _, text in contents)
            text = f"({text})" if kind == JOINED else text
            yield name, text
            closed = not opened
            if opened:
                opened[-1][1].append((False, text))
        else:
            raise _refused("a bracket has no label of 0 to 4", place)
    if not closed:
        raise _refused("its brackets do not close", place)


def _refused(why: str, place: str) -> Refused:
    remedy = "give the treebank's own train.txt, dev.txt and test.txt, such as (3 (2 It) (4 works))"
    return Refused("FORMAT_UNKNOWN", f"This line is no labelled binary tree: {why}", remedy, place)
