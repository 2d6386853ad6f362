"""Views and reports as self-contained HTML files: still pictures, no script, made for paper too."""

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from core.metrics.ranked import SortedOutcomes
from core.metrics.records import Audit
from core.readers.predictions.result import ReadResult
from core.reports.document import BOARD_LINES, Document, Edition
from core.reports.drawing import Drawing, drawn, short
from core.screens.kit.labels import headline
from core.screens.kit.records import FigureCard, Sentence, Table, Tile
from core.screens.kit.text import templates
from core.screens.kit.theme import LIGHT
from core.screens.reliability.plain import PlainView, plain_view
from core.screens.reliability.view import ReliabilityView, Subject, audited_view
from core.screens.xray.figures import IconArray

POLICY: Final = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
    "form-action 'none'"
)
PRINT: Final = (
    "<style>.print { position: sticky; top: 0; margin: 0; text-align: right }"
    ".print button { font: inherit; padding: .35rem .9rem; border: 1px solid var(--line);"
    " border-radius: 6px; background: var(--paper); color: var(--ink); cursor: pointer }"
    "@media print { .print { display: none } }</style>"
    '<p class="print"><button type="button">Print</button></p>'
)
SQUARE: Final = ("reliability", "roc", "clinic_curve", "clinic_bands")
SQUARE_PX, SMALL_PX, WIDE_PX = 486, 262, 560
SMALL_HEIGHT = 240  # a lower figure is one of several in a row,
SMALL_ROOM = 100  # unless the words at its sides leave no more than this for its plot
TEMPLATES = templates(Path(__file__).parent / "templates")


def picture(card: FigureCard) -> Drawing:
    """Return the figure of a card as a still drawing, on paper."""
    figure = card.figure("light")
    sides = figure.layout.margin.l + figure.layout.margin.r
    small = float(figure.layout.height) < SMALL_HEIGHT and SMALL_PX - sides > SMALL_ROOM
    width = SQUARE_PX if card.key in SQUARE else SMALL_PX if small else WIDE_PX
    return drawn(figure, width)


TEMPLATES.filters["picture"] = picture
TEMPLATES.filters["short"] = short


@dataclass(frozen=True, kw_only=True)
class PageView:
    """One view of a page, to be saved as a file.

    The banners must be read first, in every copy. Paragraphs stand under the numbers; pictures, in
    words and as PNG, over the figures; 100 films with their title under the sentence.
    """

    eyebrow: str
    banners: tuple[str, ...]
    sentence: Sentence
    caption: str
    numbers: tuple[Tile, ...] = ()
    paragraphs: tuple[str, ...] = ()
    cards: tuple[FigureCard, ...] = ()
    tables: tuple[tuple[str, Table], ...] = ()
    pictures: tuple[tuple[str, bytes], ...] = ()
    icons: tuple[str, IconArray] | None = None


def sheet_html(sheet: PageView) -> str:
    """Return a view as one HTML file that works offline, its banners first and last."""
    pictures = [(alt, b64encode(data).decode()) for alt, data in sheet.pictures]
    return _file("sheet.html", sheet.eyebrow, sheet=sheet, pictures=pictures)


def films_html(icons: IconArray) -> str:
    """Return 100 films: solid to the lower bound, paler to the estimate, dashed to the upper one.

    The page and the file each style its classes, alike.
    """
    return TEMPLATES.get_template("films.html").render(icons=icons)


def audit_html(name: str, result: ReadResult, split: str, audit: Audit) -> str:
    """Return the report of one audited split of a file, called as the user knows it."""
    predictions = result.splits[split]
    subject = Subject(name, split, result.digest, predictions.class_names, tuple(result.notices))
    target = headline(audit)
    ranked = SortedOutcomes.of(predictions.outcomes(target.target))
    plain = plain_view(audit, target, ranked, split=split)
    settings = {
        "file": name,
        "file digest": result.digest,
        "task": audit.task,
        "scores": audit.scores,
        "rows": f"{audit.n:,}",
        "classes": f"{audit.n_classes:,}" if audit.task != "top_label" else "not known",
        "splits": ", ".join(f"{part} ({rows.n:,})" for part, rows in result.splits.items()),
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
    title = f"Reliability · {settings['file']} · {settings['audited split']} split"
    return _file("report.html", title, view=view, plain=plain, tables=tables, settings=settings)


def preview_html(report: str, nonce: str) -> str:
    """Return a report as a page shows it in a frame: with a button that prints it alone.

    A file of `document_html` runs no script. That stays so but for the button's: the only script
    that runs is the one with the nonce, of letters and digits, a new one each time.
    """
    own = f"<script nonce={nonce}>document.querySelector('.print button').onclick=()=>print()"
    allowed = f'content="script-src &#39;nonce-{nonce}&#39;; '
    policy = '<meta http-equiv="Content-Security-Policy" '
    report = report.replace(f'{policy}content="', policy + allowed, 1)
    return report.replace("<body>", f"<body>{PRINT}{own}</script>", 1)


def document_html(document: Document) -> str:
    """Return a report as one HTML file that works offline and prints on A4."""
    template = "board.html" if document.edition is Edition.BOARD else "document.html"
    return _file(template, document.title, document=document, board_lines=BOARD_LINES)


def _file(template: str, title: str, **values: object) -> str:
    return TEMPLATES.get_template(template).render(
        title=title, policy=POLICY, theme=LIGHT, **values
    )
