"""Drawing the pieces of a view: sentence, number strip, figures with their table and downloads."""

from collections.abc import Sequence
from dataclasses import replace
from html import escape
from typing import Literal

import streamlit as st

from core.reports.table import csv_text
from core.screens.kit.records import (
    CellWords,
    FigureCard,
    Phrase,
    ScoreRow,
    Sentence,
    Strip,
    Swatch,
    Table,
    Tile,
)
from core.screens.kit.run_marks import RunMark
from core.screens.kit.theme import Side
from core.screens.reliability.plain import Icons, PlainView
from pages.ui import state

TONES = {"over", "under", "sound", "quiet"}
Width = int | Literal["stretch", "content"]


def eyebrow(text: str, chip: str = "") -> None:
    """Draw the small line over the sentence, with a dashed chip for what is not the user's own."""
    mark = f'<span class="c-chip">{escape(chip)}</span>' if chip else ""
    st.html(f'<p class="c-eyebrow">{escape(text)}{mark}</p>')


def sentence(heading: Sentence) -> None:
    """Draw the one sentence of the page as its heading."""
    words = "".join(_part(part) for part in heading.parts)
    st.html(f'<h1 class="c-sentence">{words}</h1>{_second(heading.second)}')


def second(text: str) -> None:
    """Draw a line in ordinary type under the sentence."""
    st.html(_second(text))


def _second(text: str) -> str:
    return f'<p class="c-second">{escape(text)}</p>' if text else ""


def _part(part: Phrase) -> str:
    if part.tone == "quiet":
        return f'<span class="c-range">{escape(part.text)}</span>'
    if part.tone in TONES:
        return f'<span class="t-{part.tone}">{escape(part.text)}</span>'
    return escape(part.text)


def strip(tiles: tuple[Tile, ...]) -> None:
    """Draw the row of numbers between two rules."""
    st.html(f'<dl class="c-strip">{"".join(_tile(tile) for tile in tiles)}</dl>')


def _tile(tile: Tile) -> str:
    mark = '<span class="c-floor" aria-hidden="true"></span>' if tile.floor_mark else ""
    unit = f'<span class="c-unit">{escape(tile.unit)}</span>' if tile.unit else ""
    lines = "".join(
        f'<div class="c-note">{escape(text)}</div>' for text in (tile.interval, tile.note) if text
    )
    gauge = _gauge(tile.strip) if tile.strip else ""
    return (
        f'<div class="c-tile"><dt title="{escape(tile.help)}">{mark}{escape(tile.label)}</dt>'
        f'<dd><span class="c-value">{escape(tile.value)}</span>{unit}{lines}{gauge}</dd></div>'
    )


def meanings(tiles: tuple[Tile, ...]) -> None:
    """Say in plain words what each number of the strip means."""
    terms = "".join(
        f"<dt>{escape(tile.label)}</dt><dd>{escape(tile.help)}</dd>" for tile in tiles if tile.help
    )
    st.html(f'<dl class="c-words">{terms}</dl>')


def _gauge(gauge: Strip) -> str:
    """Return the scale of a value: noise floor as a block, interval as a line, value as a dot."""

    def at(value: float) -> str:
        return f"{100 * min(1.0, max(0.0, value / gauge.scale)):.1f}%"

    colour = {"over": "--mark-over", "under": "--mark-under", "sound": "--mark-sound"}.get(
        gauge.tone, "--quiet"
    )
    floor = f'<i class="floor" style="width:{at(gauge.floor)}"></i>' if gauge.floor else ""
    span = ""
    if gauge.low is not None and gauge.high is not None:
        width = f"calc({at(gauge.high)} - {at(gauge.low)})"
        style = f"left:{at(gauge.low)};width:{width};background:var({colour})"
        span = f'<i class="range" style="{style}"></i>'
    dot = f'<i class="dot" style="left:{at(gauge.value)};background:var({colour})"></i>'
    return f'<div class="c-gauge" aria-hidden="true"><i class="axis"></i>{floor}{span}{dot}</div>'


def title(text: str, explanation: str = "", mark: RunMark | None = None) -> None:
    """Draw the title of a figure or table, its explanation quiet beside it, a run's badge first."""
    quiet = f" <small>{escape(explanation)}</small>" if explanation else ""
    st.html(f'<h2 class="c-title">{badge(mark) if mark else ""}{escape(text)}{quiet}</h2>')


def key(swatches: tuple[Swatch, ...]) -> None:
    """Draw the key, once a page, under the figures."""
    items = "".join(
        f'<span><i class="c-swatch {_swatch_class(swatch)}" aria-hidden="true"></i>'
        f"{escape(swatch.text)}</span>"
        for swatch in swatches
    )
    st.html(f'<p class="c-key">{items}</p>')


def _swatch_class(swatch: Swatch) -> str:
    return {"block": "band", "bar": "bar"}.get(swatch.shape, swatch.tone)


def caption(text: str) -> None:
    """Draw a quiet line of provenance."""
    st.html(f'<p class="c-caption">{escape(text)}</p>')


def caveat(heading: str, text: str, *, helpful: bool = False) -> None:
    """Draw a caveat in ink, with a rule at its left."""
    kind = " help" if helpful else ""
    st.html(f'<div class="c-caveat{kind}"><h4>{escape(heading)}</h4><p>{escape(text)}</p></div>')


def banner(text: str, more: str) -> None:
    """Draw what must be known before anything else, beside a rule in the colour of alarm."""
    st.html(f'<p class="c-banner"><strong>{escape(text)}</strong> <span>{escape(more)}</span></p>')


def side() -> Side:
    """Return which theme the browser shows, for the figures."""
    return "dark" if st.context.theme.type == "dark" else "light"


def figure(
    card: FigureCard,
    *,
    select: bool = False,
    width: Width = "stretch",
    titled: bool = True,
    more: bool = True,
) -> object:
    """Draw a figure with its title, unless that stands already, description, table, downloads.

    Without `more` the table and the downloads of several figures stand once, elsewhere.

    Returns
    -------
    object
        Streamlit's selection state when `select` is set.
    """
    if titled:
        title(card.title, card.explanation)
    selection = st.plotly_chart(
        card.figure(side()),
        theme=None,
        width=width,
        key=f"figure.{card.key}.{state.generation()}",
        alt=card.alt,
        config=_config(card.key),
        on_select="rerun" if select else "ignore",
        selection_mode="points",
    )
    if more:
        downloads(card)
    return selection


def _config(name: str) -> dict[str, object]:
    """Return Plotly's settings: one button, which saves the picture in the chosen format."""
    picture = {
        "format": st.session_state.get("app.picture", "png"),
        "filename": f"candor_{name}",
        "scale": 3,
    }
    return {
        "displaylogo": False,
        "modeBarButtons": [["toImage"]],
        "toImageButtonOptions": picture,
    }


def downloads(card: FigureCard) -> None:
    """Offer a figure's numbers as a table and as a file, and say how to save the picture."""
    with st.popover("As table, downloads", type="tertiary", key=f"more.{card.key}"):
        caption(card.caption)
        table(card.table, key=f"table.{card.key}")
        with st.container(horizontal=True, vertical_alignment="bottom"):
            save(card.table, card.key)
            st.segmented_control(
                "Picture as",
                ["png", "svg"],
                default=st.session_state.get("app.picture", "png"),
                required=True,
                format_func=str.upper,
                key=f"picture.{card.key}",
                on_change=_choose_picture,
                args=(f"picture.{card.key}",),
                help="The camera at the figure's upper right saves the picture in this format.",
            )


def _choose_picture(widget: str) -> None:
    st.session_state["app.picture"] = st.session_state[widget]


def save(contents: Table, name: str, label: str = "CSV") -> None:
    """Offer a table as a CSV file, in which no cell can act as a spreadsheet formula."""
    st.download_button(
        label,
        lambda: csv_text(contents),
        f"candor_{name}.csv",
        "text/csv",
        key=f"csv.{name}",
        on_click="ignore",
    )


def table(contents: Table, key: str, limit: int | None = None) -> None:
    """Draw a table; cells are shown as text, never as markup."""
    columns = [column.label for column in contents.columns]
    visible = replace(contents, rows=contents.rows[:limit])
    rows = [dict(zip(columns, row, strict=True)) for row in visible.written()]
    st.dataframe(rows, hide_index=True, key=key, width="stretch")


def scores(
    label: str, heads: Sequence[str], rows: Sequence[ScoreRow], marks: Sequence[RunMark] = ()
) -> None:
    """Draw a table of scores, intervals quiet under their numbers; it scrolls by itself.

    `marks` are the badges of the columns after the first, where each is of a run.
    """
    badges = ["", *map(badge, marks), *[""] * (len(heads) - 1 - len(marks))]
    head = "".join(
        f'<th scope="col">{mark}{escape(text)}</th>'
        for mark, text in zip(badges, heads, strict=True)
    )
    body = "".join(_score_row(row) for row in rows)
    st.html(
        f'<div class="c-scroll" role="region" tabindex="0" aria-label="{escape(label)}">'
        f'<table class="c-compare"><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _score_row(row: ScoreRow) -> str:
    quiet = "".join(f"<small>{escape(text)}</small>" for text in row.notes if text)
    mark = badge(row.mark) if row.mark else ""
    cells = "".join(
        _score_cell(cell, "tie" if i in row.ties else "told" if i in row.strong else "")
        for i, cell in enumerate(row.cells)
    )
    kind = "ref" if row.shaded else "run"
    return (
        f'<tr class="{kind}"><th scope="row">{mark}<span>{escape(row.name)}{quiet}</span></th>'
        f"{cells}</tr>"
    )


def _score_cell(cell: CellWords, kind: str) -> str:
    under = f"<small>{escape(cell.interval)}</small>" if cell.interval else ""
    why = f' title="{escape(cell.reason)}"' if cell.reason else ""
    return f'<td class="{kind}"{why}>{escape(cell.value)}{under}</td>'


def badge(mark: RunMark) -> str:
    """Return a run's letter on its colour, as HTML."""
    return f'<i class="c-badge c-run-{mark.colour}">{escape(mark.letter)}</i>'


def plain(view: PlainView) -> None:
    """Draw the figures of the page in plain words, and what they do not say."""
    left, right = st.columns([6, 5], gap="medium")
    with left:
        figure(view.dumbbells)
        key(view.key)
    with right:
        if view.icons:
            _icons(view.icons)
        caveat(view.limits.title, view.limits.text)
        caveat(view.helps.title, view.helps.text, helpful=True)
    caption(view.caption)


def _icons(icons: Icons) -> None:
    """Draw two arrays of 100: what was promised and what was found."""
    title(icons.title, icons.note)
    for text, count, kind in (
        (icons.promised_text, icons.promised, "promised"),
        (icons.observed_text, icons.observed, f"found-{icons.tone}"),
    ):
        cells = '<i aria-hidden="true"></i>' * (100 - count)
        crosses = f'<i class="{kind}" aria-hidden="true">×</i>' * count
        st.html(
            f'<p class="c-said">{escape(text)}</p>'
            f'<div class="c-icons" role="img" aria-label="{escape(text)}">{cells}{crosses}</div>'
        )
