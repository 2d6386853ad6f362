"""The words of every screen: names of metrics, the glossary of help texts, names of settings."""

from typing import Final

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
