"""The words beside a heatmap: what it shows, what it does not, its scale, and its alt text."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from core.screens.kit.numbers import percent, three
from core.screens.xray.film import HALF, score_words
from core.screens.xray.words import FindingWords, finding, listed
from core.xray import heat, localisation
from core.xray.heat import Frame, Map
from core.xray.methods import METHODS

GRID: Final = 100  # pixels a side that saliency is measured on
LOOKS: Final = {"film": "Film", "overlay": "Overlay", "contour": "Contour"}
FINDINGS, FILMS, OWN = "findings", "films", "own"
SCALES: Final = {
    FINDINGS: "The findings of this film",
    FILMS: "This finding on all films here",
    OWN: "This picture alone",
}
LEGENDS: Final = {
    FINDINGS: "strong influence, one scale for this film’s findings",
    FILMS: "strong influence, one scale for all films here",
    OWN: "strongest in this picture alone",
}
ALONE: Final = (
    "Each picture has its own scale, so a weak influence looks as strong as a strong one. Do not "
    "compare pictures."
)
BESIDE: Final = "Each model has its own scale: compare where the heat lies, not how strong it is."
EACH_ITS_OWN: Final = (
    "By default each model’s own: the finding’s frequency in its test set, or 50\u202f% where that "
    "is not known. A number set here is the threshold of all models."
)
WITHHELD: Final = "No score and no heat: this model was trained on other films."
BURNT_IN: Final = "Text in the picture is kept and may name a patient."
CAPTION: Final = (
    "The colours show where, by this method, the picture influenced the score. They are not the "
    "outline of a disease, often miss small or multiple findings, and can follow drains, text or "
    "the device that took the film."
)
MORE: Final = (
    (
        "What it is",
        "How much each place in the network’s last maps supports the finding: in units of the "
        "logit with Grad-CAM, HiResCAM and XGrad-CAM, in arbitrary units with other methods. It is "
        "coarse: one cell of the map covers many pixels, and values between the cells are "
        "interpolated.",
    ),
    (
        "What it is not",
        "Not the outline of a lesion, and no proof that the score is right. Compared with "
        "radiologists, such maps were worst for small, multiple and irregular findings (Saporta "
        "et al. 2022), and all of eight methods failed at least one of four tests of trust (Arun "
        "et al. 2021).",
    ),
    (
        "What it can follow instead",
        "A chest drain for pneumothorax, a pacemaker, text or markers, the edge of the film, or "
        "signs of the hospital or device (Zech et al. 2018, DeGrave et al. 2021).",
    ),
    (
        "What helps",
        "The sanity check below: a map that does not change when the weights are randomised says "
        "nothing about what was learned (Adebayo et al. 2018).",
    ),
)
MINUTES: Final = frozenset({"scorecam"})  # methods with a pass for every map of the layer
BLANK: Final = (
    "No part of the film supports this finding in this layer: the map is empty. That happens "
    "when the score is near 0, or so near 1 that nothing could raise it. Another finding, layer "
    "or method may show something."
)


def slow(method: str) -> str:
    """Say before a map is asked for how long it takes, and whom that keeps waiting."""
    if method in MINUTES:
        return (
            f"{METHODS[method].label} runs the film through the network once for each map of the "
            "layer. On a large network that takes minutes, about four on DenseNet-121. Other "
            "requests to models here wait until it is done."
        )
    return "This method handles one finding at a time, so it is computed on request."


def too_slow(method: str, what: str) -> str:
    """Say that a method is not offered for what needs many maps."""
    return f"{METHODS[method].label} takes one map at a time and is too slow {what}."


def legend_end(method: str, top: float) -> str:
    """Return the strong end of a scale with its unit."""
    unit = "units of the logit" if METHODS[method].unit == "logit" else "arbitrary units"
    return f"scale 0 to {three(top)}, in {unit}"


def provenance(method: str, layer: str, top: float | None, frame: Frame = heat.WHOLE) -> str:
    """Return how a map came about, and what of the film the network saw."""
    end = "" if top is None else f", {legend_end(method, top)}"
    frame_text = (
        "" if frame == heat.WHOLE else " The network saw only the part within the map’s edges."
    )
    return f"{METHODS[method].label} on the logit, layer {layer}{end}.{frame_text}"


def no_lesion(name: str, drawn: Sequence[str], words: FindingWords) -> str:
    """Say why a synthetic film has no box of a finding, and which others it was drawn with."""
    others = f" but with {listed([words.shown(other) for other in drawn])}" if drawn else ""
    return f"This film was drawn without {words.shown(name)}{others}, so there is no box."


def hidden(score: float, threshold: float | None) -> str:
    """Say why saliency is not shown at first; where no threshold is known, a half stands for it."""
    limit = f"{percent(HALF)}, used because this model has no known threshold for such films"
    if threshold is not None:
        limit = f"{percent(threshold)}, the threshold of this finding"
    return (
        f"No heatmap: the score, {score_words(score)}, is below {limit}. With so low a score, "
        "colours would only mislead."
    )


def beside(scales: Sequence[str]) -> str:
    """Say which pictures cannot be compared in strength; empty where all can.

    One with its own scale can be compared with no other, those of several models with theirs not.

    Parameters
    ----------
    scales : sequence of str
        What shares the scale of each picture with saliency, keys of SCALES.
    """
    if OWN in scales:
        return ALONE
    return BESIDE if len(scales) > 1 else ""


def title(model: str, score: float | None) -> str:
    """Return what stands over one of several pictures."""
    return model if score is None else f"{model}: {score_words(score)}"


def alt(
    film: str,
    name: str,
    saliency: Map | None,
    frame: Frame,
    boxes: Sequence[Frame],
) -> str:
    """Return a picture of a film in words: where saliency is strongest, how much lies in the box.

    Parameters
    ----------
    film, name : str
        What film and finding are called.
    saliency : (h, w) float32 or None
        The map that is shown, if any.
    frame : Frame
        What of the film it covers.
    boxes : sequence of Frame
        Where the finding is, as far as that is known.
    """
    text = f"{film}."
    if boxes:
        text += f" {len(boxes)} box{'' if len(boxes) == 1 else 'es'} where {finding(name)} is."
    if saliency is None or heat.blank(saliency):
        return f"{text} No heat is shown."
    large = _large(saliency, frame)
    row, column = np.unravel_index(int(large.argmax()), large.shape)
    text += (
        f" Heat for {finding(name)} is strongest {column}{_PERCENT} from the left and {row}"
        f"{_PERCENT} from the top"
    )
    at = focus(saliency, frame, boxes)
    return f"{text}." if at is None else f"{text}; {percent(at.energy)} of it lies in the box."


_PERCENT: Final = "\u202f%"


@dataclass(frozen=True)
class SaliencyFocus:
    """Where the saliency of one map points.

    Attributes
    ----------
    hit : bool
        Whether its strongest place lies where the finding is.
    energy : float
        The share of it that does, in [0, 1].
    """

    hit: bool
    energy: float


def focus(saliency: Map, frame: Frame, boxes: Sequence[Frame]) -> SaliencyFocus | None:
    """Return where a map points; None where it is blank, or no box of the finding is known."""
    if not boxes or heat.blank(saliency):
        return None
    large = _large(saliency, frame)
    at = [(GRID * x0, GRID * y0, GRID * x1, GRID * y1) for x0, y0, x1, y1 in boxes]
    return SaliencyFocus(localisation.hit(large, at), localisation.energy(large, at))


def _large(saliency: Map, frame: Frame) -> Map:
    return heat.on_film(saliency, frame, (GRID, GRID))
