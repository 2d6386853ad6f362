"""A report as Markdown: the words and tables of the document, figures as what they show."""

import re
from collections.abc import Iterator
from dataclasses import replace

from core.reports.document import BOARD_LINES, Chapter, Document, Edition, WrittenTable
from core.screens.kit.text import clean

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~])")


def document_markdown(document: Document) -> str:
    """Return a report as Markdown; what users and files wrote cannot act as markup."""
    lines = [f"# Candor report: {text(document.title)}"]
    lines += [f"**{text(banner)}**" for banner in document.banners]
    for chapter in document.chapters:
        if document.edition is not Edition.BOARD:
            lines += _chapter(chapter)
        elif chapter.sections and chapter.sections[0].key == "verdict":
            # One page: the verdict, and what a board fills in.
            lines += _chapter(
                replace(chapter, notices=chapter.caveats, sections=chapter.sections[:1])
            )
            rows = tuple((line, "") for line in BOARD_LINES)
            lines += _table(WrittenTable("For the board", ("to fill in", ""), rows))
    lines.append(f"Candor {document.version}. Certificate of the JSON: `{document.digest}`")
    return "\n\n".join(lines) + "\n"


def text(words: str) -> str:
    """Return words on one line, with the signs of Markdown escaped."""
    return _SPECIAL.sub(r"\\\1", " ".join(clean(words).split(" ")))


def _chapter(chapter: Chapter) -> Iterator[str]:
    if chapter.title:
        yield f"## {text(chapter.title)}"
    if chapter.notices:
        yield "\n".join(f"- {text(note.sentence)} `{note.code}`" for note in chapter.notices)
    for section in chapter.sections:
        yield f"### {text(section.title)}"
        if section.sentence is not None:
            yield f"**{text(section.sentence.text)}**"
            if section.sentence.second:
                yield text(section.sentence.second)
        if section.numbers:
            lines = []
            for tile in section.numbers:
                detail = "; ".join(filter(None, (tile.interval, tile.note)))
                value, after = f"{tile.value} {tile.unit}".strip(), f" ({text(detail)})"
                lines.append(f"- {text(tile.label)}: **{text(value)}**{after if detail else ''}")
            yield "\n".join(lines)
        if section.icons is not None:
            weight = f"{text(section.icons.title)} ({text(section.icons.note)})"
            promised, observed = section.icons.promised_text, section.icons.observed_text
            yield f"{weight}: {text(promised)} {text(observed)}"
        yield from map(text, section.paragraphs)
        for card in section.cards:
            stop = "" if card.title.endswith("?") else "."
            yield f"*{text(card.title)}{stop}* {text(card.alt)}"
        for table in section.tables:
            yield from _table(table)
        if section.caption:
            yield text(section.caption)


def _table(table: WrittenTable) -> Iterator[str]:
    if table.title:
        yield f"**{text(table.title)}**"
    marks = ["---:" if i in table.numeric else "---" for i in range(len(table.heads))]
    cells = [
        [
            f"**{text(cell)}**" if (i, k) in table.strong else text(cell)
            for k, cell in enumerate(row)
        ]
        for i, row in enumerate(table.rows)
    ]
    rows = [list(map(text, table.heads)), marks, *cells]
    yield "\n".join(f"| {' | '.join(row)} |" for row in rows)
