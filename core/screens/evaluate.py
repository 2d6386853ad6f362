"""The Evaluate page: weights and whether they fit, a quick look, and what an evaluation found."""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from core.arrays import row_chunks
from core.checkpoints.names import Match
from core.codes import RefusalCode
from core.configs import AuditConfig
from core.datasets.catalogue import DATASETS
from core.datasets.shifts import parse_name
from core.defaults import LEVEL
from core.inference.config import EvaluationConfig
from core.jobs.records import Job, JobState
from core.losses.catalogue import subject
from core.metrics import METRICS
from core.metrics.intervals import wilson
from core.metrics.ranked import SortedOutcomes
from core.metrics.records import Score
from core.metrics.suite import audit
from core.models.catalogue import ONNX, OURS
from core.predictions import Predictions, Task
from core.published import PAPERS, compared, networks_of, published
from core.readers.weights.named_tensors import MODEL, WeightGroup, WeightsFile
from core.screens.kit.numbers import (
    FORMS,
    MISSING,
    Kind,
    about,
    count,
    duration,
    in_hundred,
    memory,
    percent,
    points,
    span,
    three,
)
from core.screens.kit.records import (
    Column,
    Phrase,
    ScoreTable,
    Sentence,
    Table,
    TableRow,
    Tile,
    columns_of,
    estimate,
)
from core.training.folder import Progress

SHOWN: Final = 10
FORMATS: Final = {
    "torch": "PyTorch",
    "torch-legacy": "PyTorch before 1.6",
    "safetensors": "safetensors",
    "onnx": "ONNX",
}
TITLES: Final = {
    "missing": ("Missing", "the network has them, the file does not"),
    "unexpected": ("Unexpected", "the file has them, the network does not"),
    "mismatched": ("Different shape", "both have them, in different shapes"),
    "left": ("Not used", "in the file, but not part of the network"),
}


def model_label(model: str) -> str:
    """Return the printed name of a network."""
    if model in OURS:
        return OURS[model].label
    if model == ONNX:
        return "ONNX model"
    library, _, name = model.partition(":")
    return f"{name} from {library}"


def plain_fit_words(fit: Match) -> str:
    """Return in a sentence without terms that the weights fit."""
    return f"The weights fit {model_label(fit.model)} with {fit.n_outputs} classes."


def fit_words(fit: Match) -> str:
    """Return in a sentence whether the weights fit."""
    if fit.model == ONNX:
        known = fit.n_outputs if fit.likely_outputs is None else fit.likely_outputs
        runs = f"The model runs and gives {known} outputs"
        return f"{runs}." if fit.ok else f"{runs}, not {fit.n_outputs}."
    network = f"{model_label(fit.model)} with {fit.n_outputs} outputs"
    steps = (f" {step[:1].upper()}{step[1:]}." for step in fit.renamed.split("; ") if step)
    renamed = "".join(steps)
    if fit.ok:
        all_ = "The one tensor fits" if fit.total == 1 else f"All {count(fit.total)} tensors fit"
        return f"{all_} {network}.{renamed}"
    fitting = f"{count(fit.matched)} of {count(fit.total)} tensors fit {network}"
    return f"{fitting}. Every tensor must fit.{renamed}"


def lists(fit: Match) -> dict[str, tuple[str, ...]]:
    """Return the names of tensors that found no place, by a key of TITLES; only what there is."""
    return {key: names for key in TITLES if (names := getattr(fit, key))}


def shown(names: tuple[str, ...]) -> str:
    """Return the first names, one a line, and how many more there are."""
    more = len(names) - SHOWN
    return "\n".join([*names[:SHOWN], *([f"and {count(more)} more"] if more > 0 else [])])


def all_names(fit: Match) -> Table:
    """Return every tensor that found no place, for a file."""
    columns = (Column("list", "list"), Column("tensor", "tensor"))
    return Table(columns, tuple((key, name) for key in lists(fit) for name in lists(fit)[key]))


def n_numbers(group: WeightGroup) -> int:
    """Return how many numbers the tensors of a group hold."""
    return sum(math.prod(tensor.shape) for tensor in group.tensors)


def group_label(group: WeightGroup) -> str:
    """Return the name of a group, and that it is an average where it is."""
    name = group.key or "all of it"
    return f"{name}, averaged (EMA)" if group.ema else name


def group_words(group: WeightGroup) -> str:
    """Return what a group holds."""
    n = len(group.tensors)
    if group.tensors[0].name == MODEL:
        return f"{n_numbers(group) / 1e6:.1f} MB"
    return f"{count(n)} tensor{'' if n == 1 else 's'}, {millions(n_numbers(group))} numbers"


def millions(n: int) -> str:
    """Return a large count in millions."""
    return f"{three(n / 1e6)} million" if n >= 1e5 else count(n)


def file_words(file: WeightsFile) -> str:
    """Return what a file is."""
    if file.format == ONNX:
        return f"ONNX, {count(int(file.hints['nodes']))} nodes, digest {file.digest[:8]}"
    groups = "1 group of tensors" if len(file.groups) == 1 else f"{len(file.groups)} groups"
    return f"{FORMATS[file.format]}, {groups}, digest {file.digest[:8]}"


def hints(file: WeightsFile) -> Table:
    """Return what was saved beside the weights."""
    columns = (Column("key", "saved beside"), Column("value", "value"))
    return Table(columns, tuple((key, str(value)) for key, value in file.hints.items()))


# The quick look.
SAME: Final = 0.9  # share of one answer from which a model looks stuck
PURE: Final = 0.6  # share of images whose answer goes with their class, whatever its name
ENOUGH: Final = 4  # images for each answer before that says something
STUCK: Final = "The mean and standard deviation or the image size may be wrong."
CHECK_ORDER: Final = (
    "Images of one class mostly get one answer, but the wrong one. The class order may differ "
    "from that of the data."
)
UNKNOWN: Final = (
    "The mean and standard deviation, the image size, the class order, the data or the network "
    "may be wrong."
)


@dataclass(frozen=True)
class ModelTrial:
    """How a model did on a few images, or of many labels answers.

    `right` is a share, `chance` that of guessing, or of always giving each label's commoner answer.
    `advice` is what to look at where it is no better; `few` what of the images does not show.
    """

    n: int
    right: float
    low: float
    high: float
    chance: float
    advice: str
    few: str

    @property
    def guessed(self) -> bool:
        """Whether so few images do not tell it from guessing."""
        return self.low <= self.chance

    @property
    def text(self) -> str:
        """The outcome in a line."""
        ends = span(self.low, self.high)
        return (
            f"Right on {percent(self.right)} ({ends}) of {count(self.n)}; guessing would be right "
            f"on {percent(self.chance)}."
        )


def trial(
    scores: npt.NDArray[Any],  # Any: float32 as they come
    labels: npt.NDArray[Any],
    names: Sequence[str],
    *,
    even: float = 0.0,
) -> ModelTrial:
    """Return how scores, (n, K), go with labels: (n,) classes, or (n, K) of 0 and 1.

    At `even` a label is as likely as not: 0 for logits, one half for probabilities.
    """
    advice, few = UNKNOWN, ""
    if labels.ndim == 2:
        right = ((scores > even) == (labels > 0)).ravel()
        chance = float(np.maximum(labels.mean(axis=0), 1 - labels.mean(axis=0)).mean())
    else:
        answers = scores.argmax(axis=1)
        right, chance = answers == labels, 1 / len(names)
        n_seen = len(set(labels.tolist()))
        if n_seen <= len(names) / 2:
            few = f"The images cover {n_seen} of {len(names)} classes."
        (often, times), *_ = Counter(answers.tolist()).most_common(1)
        distinct = set(answers.tolist())
        together = [
            Counter(labels[answers == answer].tolist()).most_common(1)[0][1] for answer in distinct
        ]
        if times >= SAME * answers.size and n_seen > 1:
            advice = f"It answers “{names[often]}” for {times} of {answers.size}. {STUCK}"
        elif answers.size >= ENOUGH * len(distinct) and sum(together) >= PURE * answers.size:
            advice = CHECK_ORDER
    hits = int(right.sum())
    low, high = (float(end) for end in wilson(np.array(hits), np.array(right.size), LEVEL))
    return ModelTrial(right.size, hits / right.size, low, high, chance, advice, few)


# What an evaluation found.
PART_WORDS: Final = {
    "train": ("Training part", "training images"),
    "val": ("Validation part", "validation images"),
    "test": ("Test part", "test images"),
}
PLAIN_PARTS: Final = {
    "train": ("Training part", "training pictures"),
    "val": ("Checking part", "pictures for checking"),
    "test": ("Test part", "test pictures"),
}
ORDER: Final = ("test", "val", "train")  # which part a sanity line speaks of
HALF: Final = 0.5  # AUROC of guessing
FAR: Final = 0.1  # above guessing: an interval that reaches so far leaves all open
NO_ROOM: Final = "its rows have no labels"
COLUMNS: Final = (
    *columns_of(split="split", role="role"),
    Column("n", "images", "count"),
    Column("accuracy", "accuracy", "share"),
    Column("auroc", "AUROC", "number"),
    *columns_of("share", ece="ECE", confidence="mean confidence"),
)
SMALLER: Final = (  # refusals after which a smaller batch may do
    *(RefusalCode.MEMORY, RefusalCode.HOST_MEMORY, RefusalCode.DEVICE_MEMORY),
    *(RefusalCode.LIMIT_MEMORY, RefusalCode.SIGNAL, RefusalCode.HANG),
)
HELP = {
    "parts": "Splits of the data and additional sets.",
    "left": "Estimated from the speed so far.",
    "rate": "How many a second so far, including reading them.",
    "memory": "Peak memory of the process, without GPU memory.",
    "took": "From start to finish, including reading the data.",
}


@dataclass(frozen=True, kw_only=True)
class EvaluationWords:
    """How one edition of the pages speaks of an evaluation."""

    showing: str  # of one under way
    result: tuple[Callable[[float | None], str], str]  # share of right answers, of which images
    share: Callable[[float], str]
    right: str  # before a share of right answers
    sure: Callable[[float], str]
    heads: tuple[str, ...]
    # label_heads, ranks, guessing: of many labels; `guessing` in brackets, and as a sentence
    label_heads: tuple[str, ...]
    ranks: tuple[str, str, str]  # around the name, and how often two rows are ranked correctly
    guessing: tuple[str, str]
    auroc: Kind  # how that is written in a table
    wrong: str  # what may be where a model does no better than guessing
    details: bool  # numbers of papers, and names of sets as files have them
    unit: str  # what rows are called
    parts: Mapping[str, tuple[str, str]]  # names of the parts of the data, and of their rows


TECHNICAL: Final = EvaluationWords(
    showing="",
    result=(lambda share: f"on {percent(share)}", "of the"),
    share=percent,
    right="right on",
    sure=percent,
    heads=("Split or set", "Images", "Right", "ECE", "Mean confidence"),
    label_heads=("Split or set", "Images", "AUROC, mean of labels", "ECE", "Mean confidence"),
    ranks=("", "has a mean AUROC of", "on the"),
    auroc="decimals",
    guessing=(f"{HALF:g}", f"Guessing has {HALF:g}."),
    wrong="The mean and standard deviation, the image size, the class order or the network may be "
    "wrong.",
    details=True,
    unit="images",
    parts=PART_WORDS,
)
PLAIN: Final = EvaluationWords(
    showing="For each picture the model says what it shows and how sure it is.",
    result=(lambda share: f"{points(share)} times in 100", "on the"),
    share=lambda share: f"{in_hundred(share)} times in 100",
    right="right",
    sure=lambda share: f"{in_hundred(share)} in 100",
    heads=("Pictures of", "Pictures", "Right", "Off by, on average", "Says, on average"),
    label_heads=(
        "Pictures of",
        "Pictures",
        "Ranked correctly, of 100 pairs",
        "Off by, on average",
        "Says, on average",
    ),
    ranks=(
        "Of 100 pairs of pictures, one with a finding and one without, ",
        "ranks",
        "correctly, on the",
    ),
    auroc="hundred",
    guessing=("50 of 100 pairs", "Guessing would rank 50 of 100 pairs correctly."),
    wrong="The settings of the pictures, the order of the classes or the network may be wrong.",
    details=False,
    unit="pictures",
    parts=PLAIN_PARTS,
)


@dataclass(frozen=True, kw_only=True)
class SplitResult:
    """What was found on one split or set, named as in the manifest of the run.

    `score` is the accuracy, or of many labels the mean AUROC, without a value where there are no
    labels; `confidence` the mean of what it states, None for many labels.
    """

    split: str
    role: str
    n: int
    score: Score
    ece: Score
    confidence: float | None

    def label(self, words: EvaluationWords) -> str:
        """Return its printed name."""
        if self.split in words.parts:
            return words.parts[self.split][0]
        outside_set = parse_name(self.split)
        return self.split if outside_set is None else outside_set.label


def line(split: str, role: str, predictions: Predictions) -> SplitResult:
    """Return what was found on one split.

    The parts of the data get intervals by the audit, as on every page; of a shifted set, of which
    there may be a hundred, the accuracy gets one and the rest stands alone.
    """
    multilabel, n = predictions.task is Task.MULTILABEL, predictions.n
    name, sure = "auroc" if multilabel else "accuracy", None
    bare = partial(Score, low=None, high=None, level=LEVEL, n=n)
    if not predictions.labelled:
        score = ece = bare(metric="accuracy", value=None, reason=NO_ROOM)
        if not multilabel:
            chunks = row_chunks(n, predictions.n_classes)
            largest = (predictions.probabilities(rows).max(axis=1) for rows in chunks)
            sure = sum(float(part.sum()) for part in largest) / n
    elif role == "shifted" and not multilabel:
        ranked = SortedOutcomes.of(predictions.outcomes(None))
        ends = wilson(np.array(ranked.hits), np.array(n), LEVEL)
        low, high = (float(end) for end in ends)
        score = replace(bare(metric=name, value=ranked.hits / n), low=low, high=high)
        ece = bare(metric="ece", value=METRICS["ece"].function(ranked))
        sure = float(ranked.sum_confidence[-1] / n)
    else:
        main = audit(predictions, AuditConfig(metrics=(name, "ece"))).main
        score, ece = main.metrics[name], main.metrics["ece"]
        sure = None if multilabel else float(predictions.outcomes(None).confidence.mean())
    return SplitResult(split=split, role=role, n=n, score=score, ece=ece, confidence=sure)


@dataclass(frozen=True)
class Plausibility:
    """Whether an evaluation can be right: one part of the data, against chance and the papers.

    `guessed` says that its score is within chance of guessing. The others are a sentence each:
    `worst` is of the shifted set with the fewest right answers, `papers` empty without numbers.
    """

    line: SplitResult
    guessed: bool
    against: str
    worst: str
    papers: str

    @property
    def text(self) -> str:
        """All of them."""
        return " ".join(filter(None, (self.against, self.worst, self.papers)))


def judged(
    config: EvaluationConfig,
    results: Sequence[SplitResult],
    words: EvaluationWords,
    trained: Mapping[str, Any] | None = None,
    class_names: Sequence[str] = (),
) -> Plausibility | None:
    """Return the sanity line of an evaluation.

    With `trained`, the config of the training as `compared` returns it, the papers' numbers are
    those of its loss. By `class_names` data that were once called ImageNet are known to be others.
    """
    named = {result.split: result for result in results if result.score.value is not None}
    judged_split = next((named[split] for split in ORDER if split in named), None)
    if judged_split is None:
        return None
    chance = HALF if judged_split.score.metric == "auroc" else 1 / config.n_outputs
    chance_text, guessing = words.guessing
    if judged_split.score.metric != "auroc":
        chance_text = words.share(chance)
        guessing = f"Guessing would be {words.right} {chance_text}."
    value, low, high = judged_split.score.value, judged_split.score.low, judged_split.score.high
    assert value is not None
    guessed = (value if low is None else low) <= chance
    if guessed and (value if high is None else high) > chance + FAR:
        against = f"On so few {words.unit} that could be guessing ({chance_text})."
    elif guessed:
        against = f"That is no better than guessing ({chance_text}). {words.wrong}"
    else:
        against = guessing
    # The shifted set with the fewest right answers, and what the model says there
    shifted = [
        (result.score.value, result.confidence, result.label(words))
        for result in results
        if result.role == "shifted"
        and result.score.value is not None
        and result.confidence is not None
    ]
    worst = ""
    if shifted:
        right, says, name = min(shifted)
        sure = f"while it says {words.sure(says)} on average"
        worst = f"Worst on {name}: {words.right} {words.share(right)}, {sure}."
    papers = _papers(config, judged_split, trained, class_names) if words.details else ""
    return Plausibility(judged_split, guessed, against, worst, papers)


def _papers(
    config: EvaluationConfig,
    result: SplitResult,
    trained: Mapping[str, Any] | None,
    class_names: Sequence[str],
) -> str:
    """Return what papers print for the network and data; nothing for part of the test images."""
    whole = result.split == "test" and config.limit is None and result.score.value is not None
    data = str((compared({"data": config.data}, class_names) or {}).get("data"))
    network = networks_of(data).get(config.model)
    if not whole or network is None:
        return ""
    rows = published(metric="error", dataset=data, model=network)
    setting = subject(trained)
    if setting is not None and setting.dataset == data:
        rows = tuple(row for row in rows if row.method in setting.methods)
    if not rows:
        return ""
    assert result.score.value is not None
    loss = ", data and loss" if setting is not None else " and data, over all losses"
    low, high = min(row.value for row in rows), max(row.value for row in rows)
    ends = percent(low) if low == high else f"{percent(low)} to {percent(high)}"
    return (
        f"Its error is {percent(1 - result.score.value)}; papers report {ends} for this "
        f"network{loss} ({'; '.join(dict.fromkeys(PAPERS[row.paper] for row in rows))})."
    )


def table(results: Sequence[SplitResult], words: EvaluationWords) -> ScoreTable:
    """Return the table of splits and sets; on the page those of the data are shaded."""
    multilabel = any(result.score.metric == "auroc" for result in results)
    split, images, score, ece, confidence = words.label_heads if multilabel else words.heads
    shown = (
        Column("n", images, "count"),
        Column("auroc", score, words.auroc) if multilabel else Column("accuracy", score, "share"),
        Column("ece", ece, "share"),
        Column("confidence", confidence, "share"),
    )
    rows = [
        TableRow(
            name=result.label(words),
            cells={
                "split": result.split,
                "role": result.role,
                "n": result.n,
                result.score.metric: estimate(result.score),
                "ece": estimate(result.ece),
                "confidence": result.confidence,
            },
            notes=(result.split,) if words.details and result.split not in PART_WORDS else (),
            shaded=result.split in PART_WORDS,
        )
        for result in results
    ]
    return ScoreTable(split, shown, COLUMNS, tuple(rows))


def caption(config: EvaluationConfig, results: Sequence[SplitResult], digest: str) -> str:
    """Return what the numbers rest on."""
    preprocessing = config.preprocessing
    crops = f", {preprocessing.crops} crops" if preprocessing.crops > 1 else ""
    first = f", at most {count(config.limit)} of each" if config.limit else ""
    return (
        f"{DATASETS[config.data].label}, split seed {config.split_seed}{first}; images of "
        f"{preprocessing.size[0]} x {preprocessing.size[1]}{crops}. {len(results)} splits and "
        "sets; ECE of 15 bins of equal width; intervals at 95 %. Config "
        f"{digest[:8]}, weights {config.weights.digest[:8]}."
    )


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
        rows = words.parts[line.split][1] if line.split in words.parts else words.unit
        if line.score.metric == "auroc":
            assert line.score.value is not None
            number, ends = FORMS[words.auroc](line.score.value, line.score.low, line.score.high)
            before, ranks, before_count = words.ranks
            first = f"{before}{name} {ranks} {number}"
        else:
            ends, (write, before_count) = span(line.score.low, line.score.high), words.result
            first = f"{name} is right {write(line.score.value)}"
        parts = (
            Phrase(first),
            Phrase(f" ({ends})" if ends else "", unbroken=True),
            Phrase(f" {before_count} {count(line.n)} {rows}."),
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
    job: Job, progress: Progress | None, results: tuple[SplitResult, ...], words: EvaluationWords
) -> tuple[Tile, ...]:
    """Return the numbers of a job: how far and how fast, or what was looked at."""
    if job.state is JobState.SUCCEEDED:
        images = sum(result.n for result in results)
        took = duration((job.ended or 0) - job.started) if job.started else MISSING
        return (
            Tile(
                words.unit.capitalize(),
                count(images),
                help=f"The number of {words.unit} that were audited.",
            ),
            Tile("Splits and sets", count(len(results)), help=HELP["parts"]),
            Tile("Took", took, help=HELP["took"]),
        )
    if progress is None or job.state.ended:
        return ()
    left = MISSING if progress.left is None else about(progress.left)
    of = f"of {count(progress.n_epochs)}"
    return (
        Tile("Splits and sets done", count(progress.epoch), of, help=HELP["parts"]),
        Tile("Time left", left, help=HELP["left"]),
        Tile(
            f"{words.unit.capitalize()} per second",
            count(round(progress.images_per_second)),
            help=HELP["rate"],
        ),
        Tile("Memory", memory(progress.memory), help=HELP["memory"]),
    )
