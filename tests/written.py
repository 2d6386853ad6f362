"""A view written out as text, for snapshots: all that its screen shows, in order, a line each.

`make snapshots` writes them anew; the diff is what a reader will see differently, and is read.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass

from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

from core.screens.kit.records import (
    FigureCard,
    Phrase,
    ScoreRow,
    ScoreTable,
    Sentence,
    Swatch,
    Table,
    Tile,
)

MOST_ROWS = 8  # of a table under a figure


class TextFile(SingleFileSnapshotExtension):
    """A snapshot a text file, in `__snapshots__` beside the test."""

    file_extension = "txt"
    _write_mode = WriteMode.TEXT


def written(**views: object) -> str:
    """Write views under their names; parts that are empty, fractions or functions are left out."""
    return "\n".join(line for name, view in views.items() for line in _lines(name, view)) + "\n"


def _lines(name: str, shown: object) -> Iterator[str]:
    """Write one part of a view under its name, with its own parts below it."""
    parts: Iterable[tuple[str, object]] = ()
    match shown:
        case Sentence():
            yield f"{name}: {''.join(map(_phrase, shown.parts))}"
            parts = [("second", shown.second)]
        case Tile():
            words = (shown.value, shown.unit, shown.interval, shown.note, shown.help)
            yield f"{name}: {shown.label} | {' | '.join(words)}"
        case Swatch():
            yield f"{name}: {shown.text} ({shown.tone} {shown.shape})"
        case Table():
            if shown.rows:
                yield f"{name}: {' | '.join(column.label for column in shown.columns)}"
                yield from (f"  {' | '.join(row)}" for row in shown.written()[:MOST_ROWS])
                yield f"  {len(shown.rows)} rows"
        case ScoreRow():
            yield f"{name}: {_row(shown)}"
        case ScoreTable():
            yield f"{name}: {' | '.join(shown.heads)}"
            parts = [("row", _row(row)) for row in shown.written()]
        case str() | int() if shown:
            yield f"{name}: {shown}"
        case FigureCard():
            shown.figure("dark")  # draws as well; what it says is the same
            figure = shown.figure("light")
            axes = (*figure.select_xaxes(), *figure.select_yaxes())
            drawn = [trace.name for trace in figure.data]
            drawn += [note.text for note in figure.layout.annotations]
            drawn += [axis.title.text for axis in axes]
            own = {key: getattr(shown, key) for key in ("title", "explanation", "alt", "caption")}
            own |= {"drawn": " | ".join(filter(None, drawn)), "table": shown.table}
            yield from _lines(name, own)
        case Mapping():
            parts = shown.items()
        case list() | tuple():
            parts = [("-", part) for part in shown]
        case _ if is_dataclass(shown):
            parts = [(field.name, getattr(shown, field.name)) for field in fields(shown)]
    below = [line for key, part in parts for line in _lines(key, part)]
    if below and not isinstance(shown, Sentence | ScoreTable):
        yield name
    yield from (f"  {line}" for line in below)


def _phrase(phrase: Phrase) -> str:
    return phrase.text if phrase.tone == "ink" else f"<{phrase.tone}>{phrase.text}</>"


def _row(row: ScoreRow) -> str:
    """Write a row of a table; * is a cell beyond chance, ~ a tie."""
    marks = {**dict.fromkeys(row.strong, "*"), **dict.fromkeys(row.ties, "~")}
    cells = [
        " ".join(filter(None, (f"{cell.value}{marks.get(i, '')}", cell.interval, cell.reason)))
        for i, cell in enumerate(row.cells)
    ]
    shaded = " (shaded)" if row.shaded else ""
    return " | ".join([f"{row.name}{shaded}", *row.notes, *cells])
