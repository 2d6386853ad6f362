"""Pieces of a view, drawn: sentence, strip, figures with table and downloads; shared choices."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal

import pandas  # noqa: F401  whole before a figure is drawn: Plotly takes it half loaded, and fails
import streamlit as st

from core.reports.tables import csv_text
from core.screens.kit.marks import RunMark
from core.screens.kit.records import FigureCard, ScoreRow, Sentence, Swatch, Table, Tile
from core.screens.kit.theme import Side
from pages.ui import frame, open_runs, plot, state, visitor
from pages.ui.markup import draw

MOST_SEGMENTS = 6  # more are a list that can be searched
SPLIT_NAMES = {"val": "Validation", "test": "Test", "train": "Training"}


def split_of(run: open_runs.Run) -> str:
    """Return the split that the link or the session names, else the run's headline split."""
    return state.choice("split", run.splits, run.split)


def splits(run: open_runs.Run) -> None:
    """Draw the choice of the split where there are several."""
    if len(run.splits) > 1:
        segments("Split", "split", run.splits, run.split, SPLIT_NAMES)


def chip(run: open_runs.Run) -> str:
    """Return the dashed mark beside the eyebrow: samples and drafts say what they are."""
    return {"sample": "Sample", "draft": "Draft"}.get(run.kind, "")


def select(
    label: str,
    name: str,
    options: Mapping[str, str],
    default: str,
    *,
    width: int | Literal["stretch"] = "stretch",
    help_text: str | None = None,
    elsewhere: Sequence[str] = (),
) -> str:
    """Draw a list of options, each with its words, that lives in the link; see `state.choice`."""
    key, value = state.widget_key(name), state.choice(name, list(options), default, elsewhere)
    st.selectbox(
        label,
        list(options),
        format_func=lambda option: options.get(option, option),
        key=key,
        on_change=state.pick,
        args=(name, default, key),
        width=width,
        help=help_text,
    )
    return value


def segments(
    label: str,
    name: str,
    options: Sequence[str],
    default: str,
    words: Mapping[str, str],
    help_text: str | None = None,
    elsewhere: Sequence[str] = (),
) -> str:
    """Draw a choice between a few options that lives in the link; see `state.choice`."""
    if len(options) > MOST_SEGMENTS:
        every = {option: words.get(option, option) for option in options}
        return select(label, name, every, default, help_text=help_text, elsewhere=elsewhere)
    value = state.choice(name, options, default, elsewhere)
    st.segmented_control(
        label,
        options,
        required=True,
        format_func=lambda option: words.get(option, option),
        key=f"widget.{name}",
        on_change=state.pick,
        args=(name, default),
        help=help_text,
    )
    return value


def eyebrow(text: str, chip: str = "") -> None:
    """Draw the small line over the sentence, with a dashed chip for what is not the user's own."""
    if text:
        draw("eyebrow", text, chip)


def sentence(heading: Sentence) -> None:
    """Draw the one sentence of the page as its heading."""
    draw("sentence", heading)


def second(text: str) -> None:
    """Draw a line in ordinary type under the sentence."""
    draw("second", text)


def strip(tiles: tuple[Tile, ...]) -> None:
    """Draw the row of numbers between two rules."""
    draw("strip", tiles)


def meanings(terms: Iterable[tuple[str, str]]) -> None:
    """Say what terms mean."""
    draw("meanings", terms)


def title(text: str, explanation: str = "", mark: RunMark | None = None) -> None:
    """Draw the title of a figure or table, its explanation quiet beside it, a run's badge first."""
    draw("title", text, explanation, mark)


def key(swatches: tuple[Swatch, ...]) -> None:
    """Draw the key, once a page, under the figures."""
    draw("key", swatches)


def caption(text: str) -> None:
    """Draw a quiet line of provenance."""
    draw("caption", text)


def caveat(heading: str, *paragraphs: str, helpful: bool = False, last: str = "") -> None:
    """Draw a caveat in ink, with a rule at its left; its last paragraph may be strong."""
    draw("caveat", heading, paragraphs, helpful, last)


def banner(text: str, more: str) -> None:
    """Draw what must be known before anything else, beside a rule in the colour of alarm."""
    draw("banner", text, more)


def side() -> Side:
    """Return which theme the browser shows, for the figures."""
    return "dark" if st.context.theme.type == "dark" else "light"


def figure(
    card: FigureCard,
    *,
    select: bool | Callable[[], None] = False,
    chosen: int | None = None,
    width: plot.Width = "stretch",
    titled: bool = True,
    least: int | None = None,
) -> None:
    """Draw a figure with its title, description, table and downloads.

    Without `titled` all but the figure stands already. `least` is the height in px to which it may
    shrink so that the window holds all of it; `select` and `chosen` are those of `plot.draw`.
    """
    if titled:
        headed(card.title, card.explanation, card)
    plot.draw(card, side(), select=select, chosen=chosen, width=width, least=least)


def headed(text: str, explanation: str, card: FigureCard) -> None:
    """Draw a title, with the table and the downloads of a figure in its row."""
    with st.container(
        horizontal=True, vertical_alignment="bottom", gap="small", key=f"head.{card.key}"
    ):
        title(text, explanation)
        downloads(card)


def small_figures(
    figures: Iterable[tuple[RunMark | None, str, str, FigureCard]], width: int
) -> None:
    """Draw small figures side by side, each under its name, with a run's badge or with words."""
    with st.container(horizontal=True, key="small"):
        for mark, name, words, card in figures:
            with st.container(key=f"small.{card.key}", width=width, gap="xsmall"):
                with st.container(horizontal=True, gap=None, key=f"head.{card.key}"):
                    draw("small_title", mark, name, words)
                    downloads(card)
                figure(card, titled=False)


@frame.fragment
def downloads(card: FigureCard) -> None:
    """Offer a figure's numbers as a table and as a file.

    The table is drawn, and sent, once it is opened.
    """
    more = st.popover(
        "As table, downloads",
        icon=":material/download:",
        type="tertiary",
        key=f"more.{card.key}",
        on_change="rerun",
    )
    if not more.open:
        return
    with more:
        caption(card.caption)
        table(card.table, key=f"table.{card.key}")
        save(card.table, card.key)


def save(contents: Table | Callable[[], Table], name: str, label: str = "CSV") -> None:
    """Offer a table as a CSV file, in which no cell can act as a spreadsheet formula.

    A large table is given as a function, called once somebody wants the file.
    """
    download(
        label,
        lambda: csv_text(contents() if callable(contents) else contents),
        f"candor_{name}.csv",
        "text/csv",
        key=f"csv.{name}",
    )


def noted(text: str, contents: Table, name: str, label: str) -> None:
    """Draw the quiet line under a table, and beside it the table as a file."""
    with st.container(horizontal=True, gap="small", key=f"noted.{name}"):
        caption(text)
        save(contents, name, label)


def download(
    label: str,
    make: Callable[[], str | bytes],
    file_name: str,
    mime: str,
    *,
    key: str,
    kind: Literal["primary", "secondary"] = "secondary",
    explanation: str | None = None,
    job: str = "",
) -> None:
    """Offer a file, made once somebody wants it; the audit trail hears of it.

    Its name says which runs it is of, but for a job's, whose name the caller gives it.
    `job` is the one that the file is of, where it is of no run.
    """
    st.download_button(
        label,
        visitor.exported(make, key, job=job),
        file_name if job else visitor.file_name(file_name),
        mime,
        type=kind,
        key=key,
        on_click="ignore",
        help=explanation,
    )


def table(contents: Table, key: str) -> None:
    """Draw a table; cells are shown as text, never as markup."""
    shared = Counter(column.label for column in contents.columns)
    heads: list[str] = []  # those of one name would be drawn as one column
    for column in contents.columns:
        head = column.label if shared[column.label] == 1 else column.key
        while head in heads:
            head += " (2)"
        heads.append(head)
    rows = [dict(zip(heads, row, strict=True)) for row in contents.written()]
    st.dataframe(rows, hide_index=True, key=key, width="stretch")


def scores(
    label: str, heads: Sequence[str], rows: Sequence[ScoreRow], marks: Sequence[RunMark] = ()
) -> None:
    """Draw a table of scores, intervals quiet under their numbers; it scrolls by itself.

    `marks` are the badges of the columns after the first, where each is of a run.
    """
    draw("scores", label, heads, rows, marks)
