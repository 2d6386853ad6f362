"""What is said of trainings: states, times, memory, devices, and the numbers of one job."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from core.histories import History
from core.jobs.audit import AUDIT
from core.jobs.devices import CPU, Device
from core.jobs.records import LOCAL, SLURM, Job, JobState
from core.screens.kit.numbers import MISSING, about, count, duration, memory, percent, points
from core.screens.kit.records import Phrase, Sentence, Tile
from core.screens.kit.words import with_row_noun
from core.training import threads
from core.training.folder import Progress

LAUNCHERS: Final = {LOCAL: "This machine", SLURM: "Cluster (SLURM)"}
TRAIN, EVALUATE = "train", "evaluate"  # kinds of jobs, beside `AUDIT`
RUNNING: Final = {EVALUATE: "evaluating", AUDIT: "auditing"}
STATES: Final[dict[JobState, str]] = {
    JobState.QUEUED: "waiting",
    JobState.STARTING: "starting",
    JobState.RUNNING: "training",
    JobState.SUCCEEDED: "done",
    JobState.FAILED: "failed",
    JobState.CANCELLED: "stopped",
    JobState.LOST: "lost",
}
HELP: Final = {
    "epoch": "Passes over the training images.",
    "round": "Passes over the training pictures.",
    "left": "Estimated from the last minute.",
    "rate": ("Training images or texts per second over the last minute, including evaluations."),
    "memory": "Memory of the training process; on a GPU, its GPU memory.",
    "val_error": "Share of wrong answers on the validation set.",
    "val_ece": "ECE on the validation set, 15 bins of equal width.",
    "took": "From start to finish, including reading data and the last evaluation.",
}


def device_words(device: Device, busy: str = "") -> str:
    """Return what a device is, what is free of it, and which job is on it."""
    words = "CPU" if device.slot == CPU else device.slot
    if device.name not in (CPU, "CPU", device.slot):
        words += f": {device.name}"
    if device.free is not None and device.total is not None:
        words += f", {memory(device.free)} of {memory(device.total)} free"
    return words + (f", busy with {busy}" if busy else "")


def share_done(progress: Progress) -> float:
    """Return how much of the training is done, 0 to 1."""
    batches = progress.epoch * progress.n_batches + progress.batch
    return min(1.0, batches / max(1, progress.n_epochs * progress.n_batches))


def standing(job: Job) -> str:
    """Return the state of a job in a word."""
    if job.state is JobState.RUNNING:
        return RUNNING.get(job.kind, STATES[job.state])
    return STATES[job.state]


def state_words(job: Job, before: int | None = None, *, paused: bool = False) -> str:
    """Return where a job stands; `before` jobs are ahead of a queued one."""
    if job.asked and not job.state.ended:
        return "stopping"
    if job.state is JobState.QUEUED and job.launcher == SLURM:
        return "waiting in the cluster"
    if job.state is JobState.QUEUED and paused:
        return "waiting, the queue is paused"
    if job.state is JobState.QUEUED and before is not None:
        return f"waiting, {count(before)} before it" if before else "waiting, next in line"
    return standing(job)


def before(job: Job, jobs: Sequence[Job]) -> int:
    """Return how many queued jobs of this machine come before this one."""
    key = (-job.priority, job.place)
    queue = (j for j in jobs if waits_here(j))
    return sum((-j.priority, j.place) < key for j in queue)


def waits_here(job: Job) -> bool:
    """Whether a job stands in this machine's queue; that of a cluster is the cluster's own."""
    return job.state is JobState.QUEUED and job.launcher == LOCAL


def grouped(jobs: Sequence[Job]) -> list[list[Job]]:
    """Return the jobs by submission, in the order in which each submission first appears."""
    groups: dict[str, list[Job]] = {}
    for job in jobs:
        groups.setdefault(job.group, []).append(job)
    return list(groups.values())


@dataclass(frozen=True)
class JobProgress:
    """How far a job came: epochs that are recorded, of those asked for, and their last scores."""

    done: int
    n_epochs: int
    last: dict[str, float]

    @classmethod
    def of(cls, history: History, n_epochs: int) -> "JobProgress":
        """Return the course that a history tells."""
        return cls(history.n_epochs, n_epochs, history.last() if history.n_epochs else {})

    def place(self, words: "TrainingWords") -> str:
        """After which epoch it ended, which plain words call a round."""
        epoch = words.epoch.lower()
        if not self.done:
            return f"before the end of its first {epoch}"
        return f"after {epoch} {count(self.done)} of {count(self.n_epochs)}"


@dataclass(frozen=True, kw_only=True)
class TrainingWords:
    """How one edition of the pages speaks of a training."""

    epoch: str
    learning: str  # of a training under way
    result: Callable[[float, float], str]  # of error and ECE on the validation part
    tiles: Callable[[Job, Progress | None, JobProgress], tuple[Tile, ...]]


def progress_words(progress: Progress, words: TrainingWords) -> str:
    """Return how far a training is, in one line."""
    if progress.stage:
        return progress.stage
    now = count(min(progress.epoch + 1, progress.n_epochs))
    text = f"{words.epoch} {now} of {count(progress.n_epochs)}"
    return text + (f", {about(progress.left)} left" if progress.left is not None else "")


def sentence(
    job: Job, course: JobProgress, waiting: str, words: TrainingWords, *, paused: bool
) -> Sentence:
    """Return the sentence of a job's page; `waiting` says where it stands while it waits."""
    name = f"“{job.name}”"
    if job.state is JobState.SUCCEEDED:
        took = f" in {duration((job.ended or 0) - (job.started or 0))}" if job.started else ""
        error, ece = course.last.get("val_error"), course.last.get("val_ece")
        result = "" if error is None or ece is None else words.result(error, ece)
        return Sentence((Phrase(f"Trained {name}{took}."),), result)
    if job.state is JobState.QUEUED:
        held = paused and job.launcher == LOCAL
        starts = "It starts when the queue resumes." if held else "It starts by itself."
        return Sentence((Phrase(f"{name} is {waiting}."),), starts * (not job.asked))
    if not job.state.ended:
        verb = "Stopping" if job.asked else "Training"
        return Sentence((Phrase(f"{verb} {name}."),), with_row_noun(words.learning))
    verb = {JobState.FAILED: "failed", JobState.LOST: "was lost"}.get(job.state, "was stopped")
    return Sentence((Phrase(f"{name} {verb} {course.place(words)}."),))


def threads_words(counts: Sequence[int | None], now: int | None) -> str:
    """Return that a resume here would go on with other threads; empty where it would not."""
    before = counts[-1] if counts else None
    if before is None or now is None or before == now:
        return ""
    return (
        f"Trained with {threads.words(before)} so far; resumed here it uses {now}. The last digits "
        "of later epochs may differ."
    )


def _tiles(job: Job, progress: Progress | None, course: JobProgress) -> tuple[Tile, ...]:
    """Return the numbers of a job: how far, how fast, and its last scores."""
    rate = progress.images_per_second if progress else course.last.get("images_per_second")
    speed = MISSING if rate is None else count(round(rate))
    return (
        _done("Epochs", course, HELP["epoch"]),
        _time(job, progress),
        Tile("Examples per second", speed, help=HELP["rate"]),
        Tile("Memory", memory(progress.memory) if progress else MISSING, help=HELP["memory"]),
        _score("Error, validation", course, "val_error"),
        _score("ECE, validation", course, "val_ece"),
    )


def _plain_tiles(job: Job, progress: Progress | None, course: JobProgress) -> tuple[Tile, ...]:
    return (
        _done("Rounds through the data", course, HELP["round"]),
        _time(job, progress),
        Tile("Wrong, in 100", points(course.last.get("val_error"))),
        Tile("Off by, points", points(course.last.get("val_ece"))),
    )


def _done(label: str, course: JobProgress, help_text: str) -> Tile:
    of_all = f"of {count(course.n_epochs)}"
    return Tile(label, count(course.done), of_all, help=with_row_noun(help_text))


def _time(job: Job, progress: Progress | None) -> Tile:
    if job.state.ended:
        took = duration(job.ended - job.started) if job.started and job.ended else MISSING
        return Tile("Took", took, help=HELP["took"])
    left = progress.left if progress else None
    return Tile("Time left", MISSING if left is None else about(left), help=HELP["left"])


def _score(label: str, course: JobProgress, metric: str) -> Tile:
    value = course.last.get(metric)
    return Tile(label, points(value), "" if value is None else "%", help=HELP[metric])


TECHNICAL: Final = TrainingWords(
    epoch="Epoch",
    learning="",
    result=lambda error, ece: (
        f"Validation set: error {percent(error)}, ECE {percent(ece)}. The Reliability page has "
        "the test set, with intervals."
    ),
    tiles=_tiles,
)
PLAIN: Final = TrainingWords(
    epoch="Round",
    learning="A network goes through the pictures again and again and corrects itself. What comes "
    "out is a run: its answers on pictures it never learned from, and how sure it said it was.",
    result=lambda error, ece: (
        f"On {with_row_noun('pictures')} it did not learn from it was wrong {points(error)} times "
        f"in 100, and what it says of its certainty was off by {points(ece)} points on average."
    ),
    tiles=_plain_tiles,
)
