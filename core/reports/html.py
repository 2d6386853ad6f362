"""One self-contained HTML file of an audit, made from the same view as the page."""

import json
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from plotly.offline import get_plotlyjs

from core.metrics.ranked import Ranked
from core.metrics.records import Audit
from core.readers.predictions.result import ReadResult
from core.screens.kit.markup import templates
from core.screens.kit.records import FigureCard, Sentence, Table, Tile
from core.screens.kit.theme import DARK, LIGHT, Side
from core.screens.reliability.plain import PlainView, plain_view
from core.screens.reliability.view import ReliabilityView, Subject, audited_view, pictured
from core.screens.xray.plain import HundredFilms

POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data: blob:; base-uri 'none'; form-action 'none'"
)
SIDES: tuple[Side, ...] = ("light", "dark")
TEMPLATES = templates(Path(__file__).parent / "templates")


@dataclass(frozen=True, kw_only=True)
class PageView:
    """One view of a page, to be saved as a file.

    Attributes
    ----------
    eyebrow, sentence, numbers
        As of the view.
    banners : tuple of str
        What must be read first, in every copy.
    paragraphs : tuple of str
        Paragraphs under the numbers.
    cards : tuple of FigureCard
        Its figures.
    tables : tuple of (str, Table)
        Titles and tables.
    caption : str
        n, split, digest.
    pictures : tuple of (str, bytes)
        What each shows, in words, and the PNG; over the figures.
    icons : (str, Hundred) or None
        Title and 100 films, under the sentence.
    """

    eyebrow: str
    banners: tuple[str, ...]
    sentence: Sentence
    numbers: tuple[Tile, ...]
    paragraphs: tuple[str, ...]
    cards: tuple[FigureCard, ...]
    tables: tuple[tuple[str, Table], ...]
    caption: str
    pictures: tuple[tuple[str, bytes], ...] = ()
    icons: tuple[str, HundredFilms] | None = None


def sheet_html(sheet: PageView) -> str:
    """Return a view as one HTML file that works offline, its banners first and last."""
    pictures = [(alt, b64encode(data).decode()) for alt, data in sheet.pictures]
    return _file("sheet.html", sheet.eyebrow, sheet.cards, sheet=sheet, pictures=pictures)


def films_html(icons: HundredFilms) -> str:
    """Return 100 films: solid to the lower bound, paler to the estimate, dashed to the upper one.

    The page and the file each style its classes, alike.
    """
    return TEMPLATES.get_template("films.html").render(icons=icons)


def audit_html(name: str, result: ReadResult, split: str, audit: Audit) -> str:
    """Return the report of one audited split of a file.

    Parameters
    ----------
    name : str
        The file's name, as the user knows it.
    result : ReadResult
        What the reader handed over.
    split : str
        The split that was audited.
    audit : Audit
        Its audit.
    """
    predictions = result.splits[split]
    subject = Subject(name, split, result.digest, predictions.class_names, tuple(result.notices))
    target = pictured(audit)
    ranked = Ranked.of(predictions.outcomes(target.target))
    plain = plain_view(audit, target, ranked, name=name, split=split)
    settings = {
        "file": name,
        "file digest": result.digest,
        "task": audit.task,
        "scores": audit.scores,
        "rows": str(audit.n),
        "classes": str(audit.n_classes),
        "splits": ", ".join(f"{part} ({rows.n})" for part, rows in result.splits.items()),
        "audited split": split,
    }
    return report_html(audited_view(predictions, audit, subject), plain, settings)


def report_html(view: ReliabilityView, plain: PlainView, settings: Mapping[str, str]) -> str:
    """Return a view, its plain twin and the settings as one HTML file that works offline."""
    tables = (
        ("By class or label", view.parts),
        ("All numbers", view.scores),
        ("Not possible with this file", view.unavailable),
    )
    return _file(
        "report.html",
        view.eyebrow,
        (*view.figures.values(), plain.dumbbells),
        view=view,
        plain=plain,
        tables=tables,
        settings=settings,
    )


def _file(template: str, title: str, cards: Sequence[FigureCard], **values: object) -> str:
    """Return a self-contained file; its figures are drawn into elements that name their keys."""
    figures = {card.key: {side: _drawn(card, side) for side in SIDES} for card in cards}
    return TEMPLATES.get_template(template).render(
        title=title,
        policy=POLICY,
        light=LIGHT,
        dark=DARK,
        figures=figures,
        plotly=get_plotlyjs(),
        **values,
    )


def _drawn(card: FigureCard, side: Side) -> object:
    return json.loads(card.figure(side).to_json())
