"""What is said of evaluations: how far a job is, how it ended, and its numbers."""

from core.codes import RefusalCode
from core.jobs.records import Job, JobState
from core.screens.evaluate.results import EvaluationWords, Plausibility, SplitResult
from core.screens.kit.numbers import MISSING, about, count, duration, memory, span
from core.screens.kit.records import Phrase, Sentence, Tile
from core.screens.kit.words import GLOSSARY
from core.training.progress import Progress

SMALLER = frozenset(
    {
        RefusalCode.MEMORY,
        RefusalCode.HOST_MEMORY,
        RefusalCode.DEVICE_MEMORY,
        RefusalCode.LIMIT_MEMORY,
        RefusalCode.SIGNAL,
        RefusalCode.HANG,
    }
)
HELP = {
    "parts": "Splits of the data and additional sets.",
    "left": "Estimated from the speed so far.",
    "rate": "Images per second so far, including reading them.",
    "memory": "Peak memory of the process, without GPU memory.",
    "took": "From start to finish, including reading the data.",
}


def progress_words(progress: Progress) -> str:
    """Return how far an evaluation is, in one line."""
    if progress.stage:
        return progress.stage
    now = count(min(progress.epoch + 1, progress.n_epochs))
    words = f"Part {now} of {count(progress.n_epochs)}"
    words += f", {count(progress.batch)} of {count(progress.n_batches)} images"
    return words + (f", {about(progress.left)} left" if progress.left is not None else "")


def sentence(
    job: Job, queue_state: str, judged: Plausibility | None, words: EvaluationWords, *, paused: bool
) -> Sentence:
    """Return the sentence of a job's page.

    `queue_state` says where it stands while it waits; `judged` is its sanity line, once it has
    succeeded and its run is there.
    """
    name = f"“{job.name}”"
    if judged is not None:
        line = judged.line
        if line.score.metric == "auroc":
            value = f"{line.score.value:.3f}" if line.score.value is not None else MISSING
            return Sentence(
                (Phrase(f"{name} has a mean AUROC of {value} on {line.label}."),), judged.text
            )
        ends = span(line.score.low, line.score.high)
        write, among = words.result
        parts = (
            Phrase(f"{name} is right {write(line.score.value)}"),
            Phrase(f" ({ends})", unbroken=True),
            Phrase(f" {among} {count(line.n)} {line.images}."),
        )
        return Sentence(parts, judged.text)
    if job.state is JobState.SUCCEEDED:
        took = f" in {duration((job.ended or 0) - job.started)}" if job.started else ""
        return Sentence((Phrase(f"Evaluated {name}{took}."),))
    if job.state is JobState.QUEUED:
        starts = "It starts when the queue resumes." if paused else "It starts by itself."
        return Sentence((Phrase(f"{name} is {queue_state}."),), starts * (not job.asked))
    if not job.state.ended:
        verb = "Stopping" if job.asked else "Evaluating"
        return Sentence((Phrase(f"{verb} {name}."),), words.showing)
    verb = {JobState.FAILED: "failed", JobState.LOST: "was lost"}.get(job.state, "was stopped")
    after = " before it began"
    if job.started is not None and job.ended is not None:
        after = f" after {duration(job.ended - job.started)}"
    return Sentence((Phrase(f"{name} {verb}{after}."),), "Nothing was kept.")


def tiles(
    job: Job, progress: Progress | None, results: tuple[SplitResult, ...]
) -> tuple[Tile, ...]:
    """Return the numbers of a job: how far and how fast, or what was looked at."""
    if job.state is JobState.SUCCEEDED:
        images = sum(result.n for result in results)
        took = duration((job.ended or 0) - job.started) if job.started else MISSING
        return (
            Tile("Images", count(images), help=GLOSSARY["images"]),
            Tile("Splits and sets", count(len(results)), help=HELP["parts"]),
            Tile("Took", took, help=HELP["took"]),
        )
    if progress is None or job.state.ended:
        return ()
    left = MISSING if progress.left is None else about(progress.left)
    done = Tile(
        "Splits and sets done",
        count(progress.epoch),
        f"of {count(progress.n_epochs)}",
        help=HELP["parts"],
    )
    return (
        done,
        Tile("Time left", left, help=HELP["left"]),
        Tile("Images per second", count(round(progress.images_per_second)), help=HELP["rate"]),
        Tile("Memory", memory(progress.memory), help=HELP["memory"]),
    )
