"""One self-contained HTML file of an audit, made from the same view as the page."""

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape

from core.errors import Notice
from core.metrics.ranked import Ranked
from core.metrics.records import Audit
from core.readers.predictions.result import ReadResult
from core.reports.page import page
from core.screens.kit.records import FigureCard, Sentence, Table, Tile
from core.screens.kit.text import clean
from core.screens.reliability.plain import PlainView, plain_view
from core.screens.reliability.view import ReliabilityView, Subject, audited_view, pictured
from core.screens.xray.plain import HundredFilms

SQUARE = {"reliability", "clinic_curve", "clinic_bands"}


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
    banners = "".join(f"<p><strong>{_text(banner)}</strong></p>" for banner in sheet.banners)
    body = "\n".join(
        [
            banners,
            f'<p class="eyebrow">{_text(sheet.eyebrow)}</p>',
            _sentence(sheet.sentence, "h1"),
            _numbers(sheet.numbers) if sheet.numbers else "",
            f"<h3>{_text(sheet.icons[0])}</h3>{films_html(sheet.icons[1])}" if sheet.icons else "",
            *(f"<p>{_text(paragraph)}</p>" for paragraph in sheet.paragraphs),
            *(_picture(alt, data) for alt, data in sheet.pictures),
            f'<div class="figures">{"".join(map(_figure, sheet.cards))}</div>',
            *(_section(_text(title), _table(table)) for title, table in sheet.tables),
            f'<p class="quiet">{_text(sheet.caption)}</p>',
            banners,
        ]
    )
    figures = {card.key: _json(card) for card in sheet.cards}
    return page(f"Candor: {_text(sheet.eyebrow)}", f"<main>\n{body}\n</main>", figures)


def films_html(icons: HundredFilms) -> str:
    """Return 100 films: solid to the lower bound, paler to the estimate, dashed to the upper one.

    The page and the file each style its classes, alike.
    """
    kinds = (
        ["sure"] * icons.low
        + ["found"] * (icons.filled - icons.low)
        + ["might"] * (icons.high - icons.filled)
        + [""] * (100 - icons.high)
    )
    cells = "".join(f'<i class="{kind}" aria-hidden="true"></i>' for kind in kinds)
    sure, chance, without = map(_text, icons.key)
    return (
        f'<div class="c-hundred" role="img" aria-label="{_text(icons.text)}">{cells}</div>'
        f'<p class="c-key"><span><i class="c-film sure" aria-hidden="true"></i>{sure}</span>'
        '<span><i class="c-film found" aria-hidden="true"></i>'
        f'<i class="c-film might" aria-hidden="true"></i>{chance}</span>'
        f'<span><i class="c-film" aria-hidden="true"></i>{without}</span></p>'
    )


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
    cards = [*view.figures.values(), plain.dumbbells]
    body = "\n".join(
        [
            f'<p class="eyebrow">{_text(view.eyebrow)}</p>',
            _sentence(view.sentence, "h1"),
            _numbers(view.numbers),
            _notices(view.notices),
            f'<div class="figures">{"".join(map(_figure, view.figures.values()))}</div>',
            _section("By class or label", _table(view.parts)) if view.parts.rows else "",
            _section("All numbers", _table(view.scores)),
            _section("Not possible with this file", _table(view.unavailable))
            if view.unavailable.rows
            else "",
            _plain(plain),
            _section("Settings", _definitions(settings)),
        ]
    )
    figures = {card.key: _json(card) for card in cards}
    return page(f"Candor: {_text(view.eyebrow)}", f"<main>\n{body}\n</main>", figures)


def _picture(alt: str, data: bytes) -> str:
    inline = b64encode(data).decode()
    return f'<p><img alt="{_text(alt)}" src="data:image/png;base64,{inline}"></p>'


def _text(text: str) -> str:
    return escape(clean(text), quote=True)


def _section(title: str, content: str) -> str:
    return f"<section><h2>{title}</h2>{content}</section>"


def _sentence(sentence: Sentence, tag: str) -> str:
    parts = "".join(f'<span class="{p.tone}">{_text(p.text)}</span>' for p in sentence.parts)
    second = f"<p>{_text(sentence.second)}</p>" if sentence.second else ""
    return f"<{tag}>{parts}</{tag}>{second}"


def _numbers(tiles: tuple[Tile, ...]) -> str:
    return f'<dl class="numbers">{"".join(_tile(tile) for tile in tiles)}</dl>'


def _tile(tile: Tile) -> str:
    under = "<br>".join(_text(line) for line in (tile.interval, tile.note) if line)
    return (
        f'<div title="{_text(tile.help)}"><dt>{_text(tile.label)}</dt>'
        f"<dd><b>{_text(tile.value)}</b> {_text(tile.unit)}<br><small>{under}</small></dd></div>"
    )


def _notices(notices: tuple[Notice, ...]) -> str:
    if not notices:
        return ""
    items = "".join(f"<li>{_text(n.text)} <code>{_text(n.code)}</code></li>" for n in notices)
    return _section("What to know first", f"<ul>{items}</ul>")


def _figure(card: FigureCard) -> str:
    square = ' class="square"' if card.key in SQUARE else ""
    return (
        f"<figure{square}><h3>{_text(card.title)}<small>{_text(card.explanation)}</small></h3>"
        f'<div data-figure="{card.key}" role="img" aria-label="{_text(card.alt)}"></div>'
        f"<figcaption>{_text(card.caption)}</figcaption>"
        f"<details><summary>as table</summary>{_table(card.table)}</details></figure>"
    )


def _json(card: FigureCard) -> dict[str, str]:
    return {
        "light": str(card.figure("light").to_json()),
        "dark": str(card.figure("dark").to_json()),
    }


def _table(table: Table) -> str:
    classes = ["" if column.kind == "text" else ' class="number"' for column in table.columns]
    head = "".join(
        f"<th{css} scope='col'>{_text(column.label)}</th>"
        for css, column in zip(classes, table.columns, strict=True)
    )
    rows = "".join(f"<tr>{_cells(row, classes)}</tr>" for row in table.written())
    return (
        f'<div class="scroll" tabindex="0"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )


def _cells(row: list[str], classes: list[str]) -> str:
    return "".join(f"<td{css}>{_text(cell)}</td>" for css, cell in zip(classes, row, strict=True))


def _definitions(settings: Mapping[str, str]) -> str:
    rows = "".join(
        f'<tr><th scope="row">{_text(key)}</th><td>{_text(value)}</td></tr>'
        for key, value in settings.items()
    )
    return f"<table><tbody>{rows}</tbody></table>"


def _plain(plain: PlainView) -> str:
    advice = "".join(
        f"<h3>{_text(part.title)}</h3><p>{_text(part.text)}</p>"
        for part in (plain.limits, plain.helps)
    )
    return _section(
        "In plain words",
        f"{_sentence(plain.sentence, 'p')}{_numbers(plain.numbers)}{_figure(plain.dumbbells)}"
        f"{_icons(plain)}{advice}<p class='quiet'>{_text(plain.caption)}</p>",
    )


def _icons(plain: PlainView) -> str:
    if plain.icons is None:
        return ""
    icons = plain.icons
    return (
        f"<h3>{_text(icons.title)}<small>{_text(icons.note)}</small></h3>"
        f"<p>{_text(icons.promised_text)}</p>{_hundred(icons.promised, 'quiet')}"
        f"<p>{_text(icons.observed_text)}</p>{_hundred(icons.observed, icons.tone)}"
    )


def _hundred(crosses: int, tone: str) -> str:
    """Draw 100 boxes, the last ones crossed; the sentence over them says the same."""
    boxes = "<i></i>" * (100 - crosses) + f'<i class="{tone}">×</i>' * crosses
    return f'<div class="icons" aria-hidden="true">{boxes}</div>'
