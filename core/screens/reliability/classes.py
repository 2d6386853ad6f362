"""What is said about each class, each label and the surest answers: tables and their figures."""

from functools import partial

from core.arrays import Float
from core.metrics.macro import corrected_codes
from core.metrics.records import ClassRow, Gap, Score, TargetAudit
from core.screens.kit.bin_marks import shares
from core.screens.kit.numbers import count, percent, points, span, three
from core.screens.kit.records import Cell, Column, FigureCard, Table
from core.screens.kit.tiles import calibration_error
from core.screens.kit.words import TONE_WORDS
from core.screens.reliability.class_figure import class_gaps, gap_tone
from core.screens.reliability.selective_figure import risk_coverage, thinned

MAX_CLASSES = 20  # drawn; the table has all of them
COVERAGES = (0.5, 0.8, 0.9, 1.0)  # named in the alt text of the risk-coverage curve

CLASS_COLUMNS = (
    Column("class", "class"),
    Column("labelled", "labelled", "count"),
    Column("n", "answered", "count"),
    Column("confidence", "says", "share"),
    Column("accuracy", "right", "share"),
    Column("gap", "gap, points", "points"),
    Column("gap_low", "low", "points"),
    Column("gap_high", "high", "points"),
    Column("p_holm", "p (Holm)", "number"),
    Column("ece", "ECE, one vs. rest", "share"),
    Column("reading", "reading"),
)

LABEL_COLUMNS = (
    Column("label", "label"),
    Column("n", "n", "count"),
    Column("present", "present in", "share"),
    Column("confidence", "says", "share"),
    Column("gap", "gap, points", "points"),
    Column("gap_low", "low", "points"),
    Column("gap_high", "high", "points"),
    Column("ece", "ECE", "share"),
    Column("floor_q95", "noise floor, 95th percentile", "share"),
    Column("auroc", "AUROC", "number"),
    Column("reading", "reading among all labels (Holm)"),
)


def class_table(rows: tuple[ClassRow, ...]) -> Table:
    """Return every class with its counts, gap and one-against-the-rest ECE."""
    cells: list[tuple[Cell, ...]] = []
    for row in rows:
        gap = _gap_cells(row.gap)
        reading = "no such answers" if row.gap is None else _reading(row)
        cells.append(
            (
                *(row.name, row.labelled, row.n, row.confidence, row.accuracy),
                *(*gap, row.p_value, row.ece, reading),
            )
        )
    return Table(CLASS_COLUMNS, tuple(cells))


def label_table(labels: tuple[TargetAudit, ...]) -> Table:
    """Return every label with its frequency, gap, error, floor and AUROC.

    The reading is the verdict, corrected for looking at all labels.
    """
    cells: list[tuple[Cell, ...]] = []
    for label, code in zip(labels, corrected_codes(labels), strict=True):
        says, present = shares(label.bins)
        ece, floor = calibration_error(label)
        auroc = label.metrics.get("auroc")
        cells.append(
            (
                label.name,
                int(label.bins.count.sum()),
                present,
                says,
                *_gap_cells(label.direction),
                None if ece is None else ece.value,
                None if floor is None else floor.q95,
                None if auroc is None else auroc.value,
                code.words,
            )
        )
    return Table(LABEL_COLUMNS, tuple(cells))


def class_card(rows: tuple[ClassRow, ...], level: str, caption: str) -> FigureCard:
    """Return the forest of gaps by predicted class, the widest ones where there are many."""
    answered = [(row, row.gap) for row in rows if row.gap is not None]
    widest = sorted(answered, key=lambda pair: abs(pair[1].gap), reverse=True)[:MAX_CLASSES]
    by_gap = sorted(widest, key=lambda pair: pair[1].gap, reverse=True)
    cut = f", the {MAX_CLASSES} widest of {count(len(answered))}"
    cut = cut if len(answered) > MAX_CLASSES else ""
    listed = "; ".join(f"{row.name} {_gap_words(gap)}" for row, gap in by_gap)
    return FigureCard(
        key="classes",
        title="Gap by predicted class",
        explanation=f"points, {level} intervals of all classes together{cut}",
        draw=partial(class_gaps, tuple(row for row, _ in by_gap)),
        alt=(
            "Gap by predicted class, what it says minus how often it was right, in points: "
            f"{listed}."
        ),
        table=class_table(rows),
        caption=f"{caption}; {_looks(len(answered))}",
    )


def furthest_class(rows: tuple[ClassRow, ...]) -> str:
    """Say how far off the class is that is off most beyond chance; empty where none is."""
    off = [(row, row.gap) for row in rows if row.gap is not None and gap_tone(row) != "few"]
    if not off:
        return ""
    row, gap = max(off, key=lambda pair: abs(pair[1].gap))
    over = gap.gap > 0.0
    size, low, high = (gap.gap, gap.low, gap.high) if over else (-gap.gap, -gap.high, -gap.low)
    much = f"{'over' if over else 'under'}-confident by {points(size, low, high)} points"
    furthest = f"answers “{row.name}” are {much} ({span(low, high)})"
    if len(off) == 1:
        return f"But {furthest}."
    return f"But {count(len(off))} classes are off beyond chance: {furthest}."


def risk_card(coverage: Float, risk: Float, aurc: Score | None, caption: str) -> FigureCard:
    """Return the risk-coverage curve; its table holds the points that are drawn."""
    named = []
    for share in COVERAGES:
        at = min(int((coverage < share - 1e-12).sum()), coverage.size - 1)
        of = "all" if coverage[at] >= 1 else f"the surest {percent(float(coverage[at]))}"
        named.append(f"{percent(float(risk[at]))} of {of}")
    area = ""
    if aurc is not None and aurc.value is not None:
        area = f" Area under the curve {three(aurc.value)}."
    places = thinned(coverage.size)  # before it is stored: a curve may have as many points as rows
    columns = (Column("coverage", "answered", "share"), Column("risk", "wrong", "share"))
    return FigureCard(
        key="risk",
        title="Wrong answers among the most confident",
        explanation="risk–coverage",
        draw=partial(risk_coverage, coverage[places], risk[places]),
        alt=f"Share of wrong answers: {', '.join(named)}.{area}",
        table=Table(columns, tuple((float(coverage[i]), float(risk[i])) for i in places)),
        caption=caption,
    )


def _gap_cells(gap: Gap | None) -> tuple[Cell, Cell, Cell]:
    return (None, None, None) if gap is None else (gap.gap, gap.low, gap.high)


def _looks(classes: int) -> str:
    """Return what colour means in the forest of classes."""
    if classes == 1:
        return "coloured beyond chance"
    return f"coloured beyond chance among {count(classes)} classes (Holm)"


def _reading(row: ClassRow) -> str:
    tone = gap_tone(row)
    return "could be chance" if tone == "few" else TONE_WORDS[tone]


def _gap_words(gap: Gap) -> str:
    interval = span(gap.low, gap.high, signed=True)
    return f"{points(gap.gap, gap.low, gap.high, signed=True)} ({interval})"
