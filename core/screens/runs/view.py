"""The table of runs on the first screen: rows of the library to columns as people read them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from core.library.index import DamagedRun, RunRow
from core.library.manifest import Summary
from core.metrics.records import TargetAudit
from core.metrics.verdict_codes import DETECTED
from core.screens.kit.labels import label_verdicts
from core.screens.kit.numbers import points, span
from core.screens.kit.theme import Tone
from core.screens.runs.words import NO_VERDICT, TECHNICAL, RunsWords


@dataclass(frozen=True)
class RunTable:
    """Columns of equal length; accuracy, ECE and floor in percent, None where there is none.

    A gamma history has no rows.

    `tones` colours the words of `direction`, which carry a glyph as well.
    """

    ids: tuple[str, ...]
    name: tuple[str, ...]
    task: tuple[str, ...]
    n: tuple[int | None, ...]
    accuracy: tuple[float | None, ...]
    ece: tuple[float | None, ...]
    interval: tuple[str, ...]
    floor: tuple[float | None, ...]
    direction: tuple[str, ...]
    tones: tuple[Tone, ...]
    tags: tuple[tuple[str, ...], ...]
    added: tuple[datetime, ...]
    caption: str


def run_table(
    rows: Sequence[RunRow],
    *,
    first: int = 0,
    total: int | None = None,
    words: RunsWords = TECHNICAL,
) -> RunTable:
    """Return the table of runs in the order given.

    Parameters
    ----------
    rows : sequence of RunRow
        What is listed.
    first, total : int
        How many come before them, and how many there are in all; by default these are all.
    words : RunsWords
        Of the edition.
    """
    spoken = [direction(row, words) for row in rows]
    numbers = [_numbers(row.metrics) for row in rows]
    n = total or len(rows)
    counted = f"{n:,} run" if n == 1 else f"{n:,} runs"
    if n != len(rows):
        shown = f"{first + 1:,} to {first + len(rows):,} of {n:,}"
        counted = f"Runs {shown}. Ticks apply to this page"
    return RunTable(
        ids=tuple(row.id for row in rows),
        name=tuple(row.name for row in rows),
        task=tuple(task_words(row.task, row.n_classes, words) for row in rows),
        n=tuple(row.n or None for row in rows),
        accuracy=tuple(accuracy for accuracy, _, _ in numbers),
        ece=tuple(ece for _, ece, _ in numbers),
        interval=tuple(_interval(row) for row in rows),
        floor=tuple(floor for _, _, floor in numbers),
        direction=tuple(words for words, _ in spoken),
        tones=tuple(tone for _, tone in spoken),
        tags=tuple(row.tags for row in rows),
        added=tuple(datetime.fromisoformat(row.created) for row in rows),
        caption=f"{counted}. {words.caption}",
    )


def damaged_words(run: DamagedRun) -> tuple[str, str]:
    """Return what is wrong with a run that cannot be opened, and what can be done."""
    removal = "delete it" if run.own else "remove it by hand"
    named = f"{run.name}: {run.what}" if run.name else run.what
    return named, f"restore its folder from a backup, or {removal}"


def task_words(task: str, n_classes: int, words: RunsWords = TECHNICAL) -> str:
    """Return what kind of answer a run holds."""
    if task == "multilabel":
        return words.labels.format(n=n_classes)
    return words.tasks.get(task, task).format(n=n_classes)


def draft_line(row: RunRow, words: RunsWords = TECHNICAL) -> str:
    """Return rows and verdict of a run in one line; the rows alone before its audit."""
    rows = words.rows.format(n=f"{row.n:,}")
    if row.metrics is None:
        return rows
    accuracy, ece, _ = _numbers(row.metrics)
    numbers = words.line.format(
        accuracy="–" if accuracy is None else f"{accuracy:.1f}",
        ece="–" if ece is None else f"{ece:.1f}",
        interval=_interval(row),
    )
    return f"{rows} · {numbers} · {direction(row, words)[0]}"


def direction(row: RunRow, words: RunsWords = TECHNICAL) -> tuple[str, Tone]:
    """Return the direction in words with a glyph, and its tone."""
    return verdict(row.metrics, row.task, words)


def verdict(
    metrics: Summary | None,
    task: str,
    words: RunsWords,
    *,
    alone: bool = False,
    labels: Sequence[TargetAudit] = (),
) -> tuple[str, Tone]:
    """Return what the headline numbers of a split come to, in a few words, and their tone.

    `alone` is where no head of a column says what they are of; `labels` are many, where their
    audits are known.
    """
    if metrics is None:
        return NO_VERDICT, "quiet"
    if task == "multilabel":
        if not labels:
            return words.by_label_alone if alone else words.by_label, "quiet"
        off = sum(each.code in DETECTED for each in label_verdicts(labels))
        return f"{'◆' if off else '○'} {words.labels_off.format(off=off, n=len(labels))}", "ink"
    gap = metrics["gap"]["gap"]
    code = metrics["verdict"]
    spoken, tone = (alone and words.alone.get(code)) or words.verdicts[code]
    return spoken.format(by="–" if gap is None else points(abs(gap))), tone


def _numbers(summary: Summary | None) -> tuple[float | None, float | None, float | None]:
    if summary is None:
        return None, None, None
    accuracy, ece, floor = summary["accuracy"], summary["ece"]["value"], summary["floor_q95"]
    return _percent(accuracy), _percent(ece), _percent(floor)


def _percent(value: float | None) -> float | None:
    return None if value is None else 100.0 * value


def _interval(row: RunRow) -> str:
    if row.metrics is None:
        return "–"
    ece = row.metrics["ece"]
    if row.task == "multilabel":
        return f"mean of {row.n_classes}"
    return span(ece["low"], ece["high"]) or "–"
