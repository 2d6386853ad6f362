"""The first screen: words, the table of runs, audits that run as jobs, and steps of the tour."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from core.jobs.audit import STAGES
from core.jobs.records import LOCAL, Job, JobState
from core.library.index import DamagedRun, RunRow
from core.library.manifest import Summary
from core.metrics.records import DETECTED, TargetAudit, VerdictCode
from core.screens.kit.labels import label_verdicts
from core.screens.kit.numbers import MISSING, count, duration, in_hundred, memory, points, span
from core.screens.kit.records import Phrase, Sentence, Tile
from core.screens.kit.theme import Tone
from core.screens.kit.words import GLOSSARY
from core.training.folder import Progress

if TYPE_CHECKING:  # the first page names no study
    from core.studies.tour import Claimed, FilmBand, Mended

Spoken = tuple[str, Tone]
NO_VERDICT: Final = "–"


@dataclass(frozen=True, kw_only=True)
class RunsWords:
    """What the first screen says."""

    headline: str  # over the drop zone
    # Of the table's columns, in their order, by the name of a column of `RunTable`; a column
    # without one is left out.
    heads: Mapping[str, str]
    helps: Mapping[str, str]  # what a column shows, where its head does not say it
    caption: str  # below the table, behind the number of runs
    # Kinds of answers, by task; "" for a history of gammas, ``{n}`` the number of classes.
    tasks: Mapping[str, str]
    labels: str  # what a run of many labels answers with
    verdicts: Mapping[str, Spoken]  # a verdict with its tone; ``{by}`` is the gap in points
    alone: Mapping[str, Spoken]  # as `verdicts`, where no head of a column says what they are of
    # by_label, by_label_alone: instead of a verdict, where each label has its own
    by_label: str
    by_label_alone: str
    labels_off: str  # how many labels are off, where that is known; ``{off}``, ``{n}``
    # rows, line: what a draft holds, and its numbers; ``{n}``, ``{accuracy}``, ``{ece}``,
    # ``{interval}``
    rows: str
    line: str


TECHNICAL: Final = RunsWords(
    headline="Drop logits or probabilities to see whether the confidence can be trusted.",
    heads={
        "name": "Run",
        "task": "Task",
        "n": "n",
        "accuracy": "Accuracy, %",
        "ece": "ECE, %",
        "interval": "95 % interval",
        "floor": "Floor",
        "direction": "Direction",
        "tags": "Tags",
        "added": "Added",
    },
    helps={
        "ece": "Expected calibration error over 15 equal-width bins, as on the run’s own page.",
        "floor": "A perfect model’s ECE on as many rows stays below this 95 times in 100.",
        "direction": "Mean claim minus what came true, in points: of answers, or of the event.",
    },
    caption="Click a name to open the run.",
    tasks={
        "multiclass": "{n} classes",
        "binary": "yes or no",
        "top_label": "top answer",
        "": "gammas",
    },
    labels="{n} labels",
    verdicts={
        VerdictCode.OVER_CONFIDENT: ("▲ says more by {by}", "over"),
        VerdictCode.UNDER_CONFIDENT: ("▼ says less by {by}", "under"),
        VerdictCode.OVERESTIMATES: ("▲ says more by {by}", "over"),
        VerdictCode.UNDERESTIMATES: ("▼ says less by {by}", "under"),
        VerdictCode.TOO_EXTREME: ("◆ too extreme", "ink"),
        VerdictCode.TOO_MODERATE: ("◆ too moderate", "ink"),
        VerdictCode.MIXED: ("◆ mixed", "ink"),
        VerdictCode.OFF_BUT_SMALL: ("● off by little", "ink"),
        VerdictCode.SOUND: ("● sound", "sound"),
        VerdictCode.COULD_BE_CHANCE: ("○ could be chance", "ink"),
    },
    alone={
        VerdictCode.OVER_CONFIDENT: ("▲ over-confident by {by} points", "over"),
        VerdictCode.UNDER_CONFIDENT: ("▼ under-confident by {by} points", "under"),
        VerdictCode.OVERESTIMATES: ("▲ overestimates by {by} points", "over"),
        VerdictCode.UNDERESTIMATES: ("▼ underestimates by {by} points", "under"),
    },
    by_label="by label",
    by_label_alone="verdicts by label",
    labels_off="{off} of {n} labels off",
    rows="{n} rows",
    line="accuracy {accuracy} % · ECE {ece} % ({interval})",
)
PLAIN: Final = RunsWords(
    headline="Drop your model’s answers to see whether its certainty can be trusted.",
    heads={
        "name": "Run",
        "n": "Pictures",
        "accuracy": "Right, in 100",
        "ece": "Off by, points",
        "direction": "Its certainty",
        "tags": "Tags",
        "added": "Added",
    },
    helps={
        "accuracy": "How often it is right, out of 100.",
        "ece": "How far its stated certainty is from how often it is right, on average.",
        "direction": "How its stated certainty compares with how often it is right.",
    },
    caption="Click a name to open the run.",
    tasks={**TECHNICAL.tasks, "": "rounds of training"},
    labels="{n} findings",
    verdicts={
        VerdictCode.OVER_CONFIDENT: ("▲ too sure by {by} in 100", "over"),
        VerdictCode.UNDER_CONFIDENT: ("▼ not sure enough by {by} in 100", "under"),
        VerdictCode.OVERESTIMATES: ("▲ expects too many, by {by} in 100", "over"),
        VerdictCode.UNDERESTIMATES: ("▼ expects too few, by {by} in 100", "under"),
        VerdictCode.TOO_EXTREME: ("◆ chances differ too much", "ink"),
        VerdictCode.TOO_MODERATE: ("◆ chances differ too little", "ink"),
        VerdictCode.MIXED: ("◆ too sure here, too unsure there", "ink"),
        VerdictCode.OFF_BUT_SMALL: ("● off by little", "ink"),
        VerdictCode.SOUND: ("● well calibrated", "sound"),
        VerdictCode.COULD_BE_CHANCE: ("○ could be chance", "ink"),
    },
    alone={},
    by_label="differs by finding",
    by_label_alone="differs by finding",
    labels_off="{off} of {n} findings off",
    rows="{n} pictures",
    line="right {accuracy} in 100 · off by {ece} points ({interval})",
)


# Audits that run as jobs.
Json = Mapping[str, Any]  # Any: plain JSON values
READ_ANOTHER_WAY = (
    "To choose how the files are read, enter the path on the Runs page and press **Read**."
)
HELP = {
    "took": "From start to end, reading the files included.",
    "memory": "The most that the process used.",
}


def progress_words(progress: Progress) -> str:
    """Return what an audit is doing."""
    stage = min(progress.epoch, len(STAGES) - 1)
    return f"{STAGES[stage]}, step {stage + 1} of {len(STAGES)}"


def sentence(job: Job, place: str, audit: Json | None, *, paused: bool, plain: bool) -> Sentence:
    """Return the sentence of a job's page.

    `place` says where it stands while it waits; `audit` is what it found, as ``python -m core audit
    --json`` writes it. Plain words leave the verdict to the page that explains it.
    """
    name = f"“{job.name}”"
    if job.state is JobState.SUCCEEDED:
        took = f" in {duration((job.ended or 0) - job.started)}" if job.started else ""
        verdict = "" if audit is None or plain else str(audit["verdict"]["text"])
        return Sentence((Phrase(f"Audited {name}{took}."),), verdict)
    if job.state is JobState.QUEUED:
        held = paused and job.launcher == LOCAL
        starts = "It starts when the queue resumes." if held else "It starts by itself."
        return Sentence((Phrase(f"{name} is {place}."),), starts * (not job.asked))
    if not job.state.ended:
        verb = "Stopping" if job.asked else "Auditing"
        return Sentence((Phrase(f"{verb} {name}."),))
    verb = {JobState.FAILED: "failed", JobState.LOST: "was lost"}.get(job.state, "was stopped")
    return Sentence((Phrase(f"{name} {verb}."),), "Nothing was kept.")


def tiles(job: Job, progress: Progress | None, audit: Json | None) -> tuple[Tile, ...]:
    """Return the numbers of a job: what it holds, or what it found."""
    if audit is not None:
        # of two classes there are two kinds of ECE: that which the verdict is of
        of_answers = "event" in audit and audit["verdict"]["of"] == "answer"
        shown = ("accuracy", "ece_answer" if of_answers else "ece")
        took = duration((job.ended or 0) - job.started) if job.started else MISSING
        return (
            Tile("Rows", count(audit["n"])),
            *(_score(audit, key) for key in shown if key in audit["metrics"]),
            Tile("Took", took, help=HELP["took"]),
        )
    if progress is None or job.state.ended:
        return ()
    return (
        Tile("Time so far", duration(progress.seconds)),
        Tile("Memory", memory(progress.memory), help=HELP["memory"]),
    )


def _score(audit: Json, key: str) -> Tile:
    value = audit["metrics"][key]["value"]
    event = f"ECE of “{audit['event']}”" if "event" in audit else "ECE"
    label = {"accuracy": "Accuracy", "ece": event, "ece_answer": "ECE of the answers"}[key]
    words = GLOSSARY["ece" if key == "ece_answer" else key]
    return Tile(label, points(value), "" if value is None else "%", help=words)


@dataclass(frozen=True)
class Stop:
    """A step of the tour: what is found there, and what it means."""

    title: str
    text: str


def confidence_stop(all_rows: "Claimed", sure: "Claimed") -> Stop:
    """Return what a model claims of all answers, and how often its sure ones are right."""
    says, right = in_hundred(all_rows.says), in_hundred(all_rows.right)
    wrong, promised = in_hundred(1.0 - sure.right), in_hundred(1.0 - sure.says)
    low, high = (round(100.0 * edge) for edge in (sure.low, sure.high))
    return Stop(
        f"It says {says} in 100 and is right {right} times.",
        f"Look at the row “{low} to {high}”: "
        f"it expects {promised} in 100 to be wrong, {wrong} are.",
    )


def mended_stop(fixed: "Mended", n_fit: int) -> Stop:
    """Return what one correction does to a sample, learned from n_fit other rows."""
    before, after = points(fixed.before), points(fixed.after)
    return Stop(
        f"A correction lowers its error from {before} to {after} points.",
        f"Learned from {count(n_fit)} other pictures; holds only for such.",
    )


def film_stop(name: str, band: "FilmBand", finding: str) -> Stop:
    """Return what a model's scores of films were worth; `finding` is its name in plain words."""
    claimed = band.claimed
    between = f"{round(100.0 * claimed.low)} to {round(100.0 * claimed.high)}"
    return Stop(
        f"Of 100 films scoring {between} for {finding}, {in_hundred(claimed.right)} show it.",
        f"Another model, “{name}”, on {count(claimed.n)} synthetic films. A score is not the "
        "patient’s risk.",
    )


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
    """Return the table of runs in the order given: all, or `first` of `total` come before these."""
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
