"""What the ways to a heatmap are called; no torch, so that pages can name them."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Method:
    """One way to weigh the maps of a layer: its printed name, what it does, and the paper.

    Where it does all findings `at_once`, they come from one forward pass; else one is asked for.
    `unit` is what a map's values are: the ``logit``, or the method's ``own`` weights.
    """

    label: str
    plain: str
    source: str
    at_once: bool = True
    unit: str = "logit"


METHODS: Final[dict[str, Method]] = {
    "gradcam": Method(
        "Grad-CAM",
        "Each map of the layer is weighted by its mean gradient on the finding's logit.",
        "Selvaraju et al. 2017",
    ),
    "gradcam++": Method(
        "Grad-CAM++",
        "As Grad-CAM, but places with a strong gradient count more: for several lesions.",
        "Chattopadhay et al. 2018",
        unit="own",
    ),
    "hirescam": Method(
        "HiResCAM",
        "Each place in each map is weighted by its own gradient, not averaged over the film.",
        "Draelos and Carin 2020",
    ),
    "xgradcam": Method(
        "XGrad-CAM",
        "As Grad-CAM, with gradients weighted by the map's activation.",
        "Fu et al. 2020",
    ),
    "eigencam": Method(
        "EigenCAM",
        "The strongest pattern of the layer, whatever the finding is; its sign is arbitrary.",
        "Muhammad and Yeasin 2020",
        at_once=False,
        unit="own",
    ),
    "scorecam": Method(
        "ScoreCAM",
        "Each map is weighted by the logit of the film masked with it: one pass per map, slow.",
        "Wang et al. 2020",
        at_once=False,
        unit="own",
    ),
}
DEFAULT: Final = "gradcam"
