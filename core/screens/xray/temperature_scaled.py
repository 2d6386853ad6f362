"""Temperature and focal temperature of each finding, before and after: a table and its sentence."""

from collections.abc import Mapping

from core.metrics.paired import Difference
from core.screens.kit.differences import better, difference_words
from core.screens.kit.methods import parameters
from core.screens.kit.numbers import count, points, span
from core.screens.kit.records import Cell, CellWords, Column, ScoreRow, Table
from core.screens.xray.words import ClinicSource, finding
from core.studies.clinic import TEMPERATURE_METHODS, Error, TemperatureScaled
from core.studies.posthoc import NONE, PosthocRows

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


def rows(source: ClinicSource, by_finding: Mapping[int, TemperatureScaled]) -> tuple[ScoreRow, ...]:
    """Return a row for each finding that is known, in the order given."""
    return tuple(_row(finding(source.findings[k]), scaled) for k, scaled in by_finding.items())


def _row(name: str, scaled: TemperatureScaled) -> ScoreRow:
    cells = [_error(scaled.errors[NONE])]
    beyond_chance: set[int] = set()
    ties: set[int] = set()
    for fit in scaled.fits:
        if fit.method not in scaled.errors:
            cells += [CellWords("–", reason=fit.refusal)] * 3
            continue
        difference = scaled.differences[fit.method]
        cells += [
            CellWords(parameters(fit)),
            _error(scaled.errors[fit.method]),
            CellWords(*difference_words(difference)),
        ]
        (ties if difference.tie else beyond_chance).add(len(cells) - 1)
    return ScoreRow(
        name=name, cells=tuple(cells), strong=frozenset(beyond_chance), ties=frozenset(ties)
    )


def _error(error: Error) -> CellWords:
    score = error.score
    return CellWords(points(score.value, score.low, score.high), span(score.low, score.high))


def summary(by_finding: Mapping[int, TemperatureScaled]) -> str:
    """Return in how many findings each method helps or harms beyond chance."""
    sentences = []
    for method, name in zip(
        TEMPERATURE_METHODS, ("A temperature", "A focal temperature"), strict=True
    ):
        differences = [
            scaled.differences[method]
            for scaled in by_finding.values()
            if method in scaled.differences
        ]
        helped = sum(better(difference) for difference in differences)
        harmed = sum(_harmed(difference) for difference in differences)
        worse = f", and raises it in {harmed}" if harmed else ""
        sentences.append(
            f"{name} of its own lowers the calibration error beyond chance in {helped} of "
            f"{len(differences)} findings{worse}."
        )
    return " ".join(sentences)


def _harmed(difference: Difference) -> bool:
    return difference.low is not None and not difference.tie and not better(difference)


def caption(source: ClinicSource, parts: PosthocRows) -> str:
    """Return which rows were fitted on and which are reported."""
    fitted, reported = count(parts.n_fit), count(parts.n_test)
    split = (
        f"half of the {source.films} ({fitted}, drawn with seed {parts.cut[1]}), reported on the "
        f"other half ({reported})"
        if parts.cut is not None
        else f"{parts.fit_name} ({fitted} {source.films}), reported on {parts.test_name} "
        f"({reported})"
    )
    return f"Fitted by NLL on {split}. Differences are paired. {source.caption}"


def table(
    source: ClinicSource, by_finding: Mapping[int, TemperatureScaled], caption_text: str
) -> Table:
    """Return every number, one row a finding and method; `caption_text` as of `caption`."""
    lines: list[tuple[Cell, ...]] = []
    for k, scaled in by_finding.items():
        fits = {fit.method: fit for fit in scaled.fits}
        for method, error in scaled.errors.items():
            score, difference = error.score, scaled.differences.get(method)
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
                    caption_text,
                )
            )
    return Table(COLUMNS, tuple(lines))
