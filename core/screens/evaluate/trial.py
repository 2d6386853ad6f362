"""A quick look at a model: is it better than guessing, and if not, what looks wrong."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from core.defaults import LEVEL
from core.metrics.intervals import wilson
from core.screens.kit.numbers import count, percent, span

SAME: Final = 0.9  # share of one answer from which a model looks stuck
PURE: Final = 0.6  # share of images whose answer goes with their class, whatever its name
ENOUGH: Final = 4  # images for each answer before that says something
STUCK: Final = "The mean and standard deviation or the image size may be wrong."
ORDER: Final = (
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
            advice = ORDER
    hits = int(right.sum())
    low, high = (float(end) for end in wilson(np.array(hits), np.array(right.size), LEVEL))
    return ModelTrial(right.size, hits / right.size, low, high, chance, advice, few)
