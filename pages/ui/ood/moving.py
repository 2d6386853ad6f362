"""What moves with the threshold while its slider is dragged, and where on the page it stands."""

from collections.abc import Sequence

from core.screens.ood.plain import hundreds
from core.screens.ood.threshold import AtThreshold
from core.screens.ood.words import SetName
from pages.ui import state
from pages.ui.dragged import Crossed, Dragged, MovedFigure, columns

COUNTS = "What the threshold does"
HUNDREDS = ("ood_flagged", "ood_mistaken")
CROSSED, FLAGGED = "found-quiet", "!"  # the mark as in assets/dragged.js


def moved(name: SetName, steps: Sequence[AtThreshold]) -> Dragged:
    """Return what the page says and draws at each step."""
    texts = {
        "h1.c-sentence": [step.sentence.parts[0].text for step in steps],
        "h1.c-sentence + .c-second": [step.sentence.second for step in steps],
        **_cells(steps),
    }
    crossed = {}
    if state.plain():
        pictures = [hundreds(name, step.tally) for step in steps]
        for key, picture in zip(HUNDREDS, zip(*pictures, strict=True), strict=True):
            texts[f".st-key-{key} .c-said"] = [hundred.text for hundred in picture]
            values = [hundred.crossed for hundred in picture]
            crossed[f".st-key-{key} .c-icons"] = Crossed(values=values, kind=CROSSED)
    return Dragged(
        written=[step.written for step in steps],
        said=[step.said for step in steps],
        texts=texts,
        crossed=crossed,
        figures=(
            MovedFigure(figure="density", layout=columns([step.line for step in steps])),
            MovedFigure(figure="roc", last=columns([step.spot for step in steps])),
        ),
    )


def _cells(steps: Sequence[AtThreshold]) -> dict[str, list[str]]:
    """Return the cells of the table of counts, numbers and what stands under them."""
    tables, found = [step.counts.written() for step in steps], {}
    for i, row in enumerate(tables[0]):
        for j in range(len(row.cells) - 1):  # the last holds all rows, whatever the threshold
            cells = [table[i].cells[j] for table in tables]
            place = f'[aria-label="{COUNTS}"] tbody tr:nth-of-type({i + 1}) td:nth-of-type({j + 1})'
            found[place] = [cell.value for cell in cells]
            found[f"{place} small"] = [cell.interval for cell in cells]
    return found
