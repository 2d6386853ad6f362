"""What is said of audits that run as jobs: how far one is, how it ended, and its numbers."""

from collections.abc import Mapping
from typing import Any

from core.jobs.audit import STAGES
from core.jobs.records import LOCAL, Job, JobState
from core.screens.kit.numbers import MISSING, count, duration, memory, points
from core.screens.kit.records import Phrase, Sentence, Tile
from core.screens.kit.words import GLOSSARY
from core.training.progress import Progress

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

    Parameters
    ----------
    job : Job
    place : str
        Where it stands while it waits.
    audit : mapping or None
        What it found, as ``python -m core audit --json`` writes it.
    paused : bool
        Whether the queue is.
    plain : bool
        Plain words leave the verdict to the page that explains it.
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
