"""Temperature and focal temperature of each finding, before and after: a table and its sentence."""

from collections.abc import Mapping

from core.calibrators.posthoc import NONE, PosthocRows
from core.figures.numbers import count, points, span
from core.metrics.paired import Difference
from core.views.clinic_study import HEATS, Error, TemperatureScaled
from core.views.clinic_words import ClinicSource, finding
from core.views.compare_words import better, difference_words
from core.views.posthoc_words import parameters
from core.views.records import Cell, CellWords, Column, ScoreRow, Table

HEADS = (
    "Finding",
    "ECE as read, %",
    "Temperature",
    "ECE after, %",
    "Difference",
    "Focal temperature",
    "ECE after, %",
    "Difference",
)
COLUMNS = (
    Column("finding", "finding"),
    Column("method", "method"),
    Column("parameters", "parameters"),
    Column("ece", "ECE", "number"),
    Column("low", "low", "number"),
    Column("high", "high", "number"),
    Column("floor_q95", "noise floor, 95th percentile", "number"),
    Column("difference", "difference from none", "number"),
    Column("difference_low", "low", "number"),
    Column("difference_high", "high", "number"),
    Column("source", "source"),
)


def rows(source: ClinicSource, found: Mapping[int, TemperatureScaled]) -> tuple[ScoreRow, ...]:
    """Return a row for each finding that is known, in the order given."""
    return tuple(_row(finding(source.findings[k]), heated) for k, heated in found.items())


def _row(name: str, heated: TemperatureScaled) -> ScoreRow:
    cells = [_error(heated.errors[NONE])]
    told: set[int] = set()
    ties: set[int] = set()
    for fit in heated.fits:
        if fit.method not in heated.errors:
            cells += [CellWords("–", reason=fit.refusal)] * 3
            continue
        difference = heated.differences[fit.method]
        cells += [
            CellWords(parameters(fit)),
            _error(heated.errors[fit.method]),
            CellWords(*difference_words(difference)),
        ]
        (ties if difference.tie else told).add(len(cells) - 1)
    return ScoreRow(name, tuple(cells), told=frozenset(told), ties=frozenset(ties))


def _error(error: Error) -> CellWords:
    score = error.score
    return CellWords(points(score.value, score.low, score.high), span(score.low, score.high))


def summary(found: Mapping[int, TemperatureScaled]) -> str:
    """Return in how many findings each method helps or harms beyond chance."""
    told = []
    for method, name in zip(HEATS, ("A temperature", "A focal temperature"), strict=True):
        known = [h.differences[method] for h in found.values() if method in h.differences]
        helped = sum(better(one) for one in known)
        harmed = sum(_harmed(one) for one in known)
        worse = f", and raises it in {harmed}" if harmed else ""
        told.append(
            f"{name} of its own lowers the calibration error beyond chance in {helped} of "
            f"{len(known)} findings{worse}."
        )
    return " ".join(told)


def _harmed(found: Difference) -> bool:
    return found.low is not None and not found.tie and not better(found)


def caption(source: ClinicSource, parts: PosthocRows) -> str:
    """Return which rows were fitted on and which are reported."""
    fitted, reported = count(parts.fit.n), count(parts.test.n)
    where = (
        f"half of the {source.films} ({fitted}, drawn with seed {parts.cut[1]}), reported on the "
        f"other half ({reported})"
        if parts.cut is not None
        else f"{parts.fit_name} ({fitted} {source.films}), reported on {parts.test_name} "
        f"({reported})"
    )
    return f"Fitted by log-loss on {where}. Differences are paired. {source.caption}"


def table(source: ClinicSource, found: Mapping[int, TemperatureScaled], said: str) -> Table:
    """Return every number of the table, one row a finding and method; `said` as `caption` says."""
    lines: list[tuple[Cell, ...]] = []
    for k, heated in found.items():
        fits = {fit.method: fit for fit in heated.fits}
        for method, error in heated.errors.items():
            score, difference = error.score, heated.differences.get(method)
            ends = (
                (None, None, None)
                if difference is None
                else (difference.value, difference.low, difference.high)
            )
            lines.append(
                (
                    finding(source.findings[k]),
                    method,
                    parameters(fits[method]) if method in fits else "",
                    score.value,
                    score.low,
                    score.high,
                    error.floor.q95,
                    *ends,
                    said,
                )
            )
    return Table(COLUMNS, tuple(lines))
