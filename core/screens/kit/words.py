"""The words of every screen: metrics, help texts, settings, and what rows are called.

Pages and reports are written for images. Where all runs that they speak of are of films or of
texts, or nothing says what their rows are, `set_row_noun` is told so once; whatever is said after
that, in the same thread, goes through `with_row_noun`.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import Final

from core.datasets.catalogue import TEXT_DATA
from core.errors import Notice
from core.metrics import METRICS
from core.screens.kit.theme import Tone

UNIT: Final = "images"

LABELS: Final[dict[str, str]] = {key: metric.label for key, metric in METRICS.items()}

GLOSSARY: Final[dict[str, str]] = {
    "confidence": "What the model says: the probability it gives to the answer it chose.",
    "probability": "What the model says: the probability it gives to this class or label.",
    "accuracy": "The share of answers that were right.",
    "accuracy_in_bin": "How often it was right among answers of this certainty.",
    "ece": (
        "Expected calibration error: on average its stated certainty is off by this many points. "
        "Answers are grouped into bins; in each, what it says is compared with how often it was "
        "right. It is not the share of wrong answers."
    ),
    "noise_floor": (
        "How far off a perfect model would look on this many images. The grey block runs from 0 "
        "to the value that 95 in 100 such perfect models stay under; an error inside it could be "
        "chance."
    ),
    "gap": (
        "What it says on average minus how often it is right. Above zero it says more than it "
        "should. Differences are taken before rounding, so the printed digits may differ by 0.1."
    ),
    "nll": (
        "Negative log-likelihood, or log-loss: the mean of minus the natural logarithm of the "
        "probability given to the true class. Lower is better; a confident wrong answer costs most."
    ),
    "brier": (
        "Brier score: the squared distance between the stated probabilities and the truth, summed "
        "over classes and averaged over images. Lower is better; 0 is perfect."
    ),
    "auroc": (
        "Shown one image with and one without, how often the one with it gets the higher "
        "probability; 0.5 is guessing. It says nothing about calibration."
    ),
    "auprc": "Average precision: the area under the precision-recall curve. Guessing gives the "
    "share of images in which it is present.",
    "aurc": (
        "Area under the risk-coverage curve: the share of wrong answers, averaged over how many "
        "of the surest answers are kept. Lower is better."
    ),
    "prevalence": "The share of images in which it is present.",
    "images": "The number of images that were audited.",
    "interval": "In 95 of 100 samples like this one such an interval holds the true value.",
    "band": (
        "Where the dots of a perfectly calibrated model with the same confidences would land in "
        "95 of 100 samples of this size."
    ),
}

TONE_WORDS: Final[dict[Tone, str]] = {
    "over": "says more than it should",
    "under": "says less than it should",
    "sound": "within chance",
    "few": "too few to tell",
}

BIN_WORDS: Final[dict[str, str]] = {
    "equal_width": "equal-width bins (lo, hi]",
    "equal_mass": "equal-mass bins",
}

SCORE_WORDS: Final[dict[str, str]] = {
    "logits": "from logits",
    "probabilities": "from probabilities",
    "sigmoid": "from sigmoid scores",
    "confidence": "from top-label confidences",
}


# What rows are called.
WRITTEN: Final = re.compile(r"\b(?:(an|a) )?(image|picture)(s?)\b", re.IGNORECASE)
# "row 12" is a place in a file, and a row's name or order is the file's.
ROWS: Final = re.compile(r"\b(?:(an|a) )?(row)(s?)\b(?! (?:\d|name|order|number))", re.IGNORECASE)
FILM_DATA: Final = frozenset({"chestxray14", "phantom"})
IMAGE, FILM, TEXT, ROW = "image", "film", "text", "row"
PLAIN: Final = {ROW: "example"}  # in place of a picture, which plain words call an image
_NOUN: Final = ContextVar("noun", default=IMAGE)


def set_row_noun(*data_sets: str) -> None:
    """Name the data sets of the runs that are spoken of from now on; "" where one is not known.

    Without any, no run is open: what a page offers then is written for images.
    """
    _NOUN.set(_noun(data_sets))


def of_texts() -> bool:
    """Whether the rows that are spoken of are texts."""
    return _NOUN.get() == TEXT


@contextmanager
def speaking_of(*data_sets: str) -> Iterator[None]:
    """Speak of runs of these data sets, and then of what was spoken of before."""
    token = _NOUN.set(_noun(data_sets))
    try:
        yield
    finally:
        _NOUN.reset(token)


def with_row_noun(words: str) -> str:
    """Return words of ours about images or pictures as they are said of the run's rows.

    Of films and texts, these stand in place of images; where the data are not known, an image is a
    row and a picture an example. Names that users or files gave may hold such words: leave them
    out.
    """
    return words if _NOUN.get() == IMAGE else WRITTEN.sub(_called, words)


def noticed(notices: Sequence[Notice]) -> tuple[Notice, ...]:
    """Return notices of readers and audits; rows are called what they are, where it is known."""
    own = _NOUN.get()
    if own == ROW:
        return tuple(notices)
    return tuple(replace(note, text=ROWS.sub(_called, note.text)) for note in notices)


def _noun(data_sets: tuple[str, ...]) -> str:
    nouns = {
        TEXT if data in TEXT_DATA else FILM if data in FILM_DATA else IMAGE if data else ROW
        for data in data_sets
    }
    if nouns <= {IMAGE, FILM}:
        return FILM if nouns == {FILM} else IMAGE
    return nouns.pop() if len(nouns) == 1 else ROW


def _called(match: re.Match[str]) -> str:
    article, noun, plural = match.groups()
    own = _NOUN.get()
    own = PLAIN.get(own, own) if noun[0] in "Pp" else own
    called = f"{own.capitalize() if noun[0].isupper() else own}{plural}"
    if not article:
        return called
    fitting = "an" if own[0] in "ie" else "a"
    return f"{fitting.capitalize() if article[0].isupper() else fitting} {called}"
