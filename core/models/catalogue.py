"""What the networks are called and where they come from; no torch.

Pages and configs read it; `build` makes the networks.
"""

import re
from dataclasses import dataclass
from typing import Final

from core.errors import UsageError


@dataclass(frozen=True)
class ModelEntry:
    """One network.

    Attributes
    ----------
    label : str
        Printed name.
    plain : str
        What it is, in a sentence.
    source : str
        Where the structure comes from.
    millions : float
        Trained parameters in millions, with three channels and ten outputs.
    """

    label: str
    plain: str
    source: str
    millions: float


MODELS: Final[dict[str, ModelEntry]] = {
    "resnet50_cifar": ModelEntry(
        "ResNet-50",
        "Fifty layers in bottlenecks with shortcuts, and a stem for small images: the papers' "
        "usual network.",
        "He et al. 2016; released code of Mukhoti et al. 2020",
        23.5,
    ),
    "resnet110_cifar": ModelEntry(
        "ResNet-110",
        "A narrow network of 110 layers with shortcuts, made for CIFAR.",
        "He et al. 2016, section 4.2",
        1.7,
    ),
    "resnet110_released": ModelEntry(
        "ResNet-110 (released)",
        "What the papers' released code calls ResNet-110: bottlenecks, much wider than the "
        "network of that name.",
        "Released code of Mukhoti et al. 2020 and Ghosh et al. 2022",
        45.9,
    ),
    "resnet50_tiny_imagenet": ModelEntry(
        "ResNet-50 (Tiny-ImageNet)",
        "ResNet-50 with a stem for small images, whose last layer sees four places of an image.",
        "Released code of Mukhoti et al. 2020",
        23.6,
    ),
    "wrn_26_10_cifar": ModelEntry(
        "Wide-ResNet-26-10",
        "A shallower network with shortcuts, ten times as wide; the slowest of these.",
        "Zagoruyko and Komodakis 2016; released code of Mukhoti et al. 2020",
        36.5,
    ),
    "densenet121_cifar": ModelEntry(
        "DenseNet-121",
        "Every layer sees the maps of all layers before it in its stage; a stem for small images.",
        "Huang et al. 2017; released code of Mukhoti et al. 2020",
        7.0,
    ),
    "densenet_small": ModelEntry(
        "Small DenseNet",
        "Two short stages in which every layer sees all before it: trains on CPUs, for films and "
        "other images from 64 x 64 on.",
        "Candor; Huang et al. 2017",
        0.05,
    ),
    "small_cnn": ModelEntry(
        "Small CNN",
        "Three convolutions with group normalisation; trains on a CPU.",
        "Candor; group normalisation of Wu and He 2018",
        0.06,
    ),
}

# Networks that read texts, of 20,000 words in 100 numbers each and 20 classes.
TEXT_MODELS: Final[dict[str, ModelEntry]] = {
    "text_cnn": ModelEntry(
        "Global-pooling CNN",
        "Three convolutions over five words each, the strongest of each feature over the whole "
        "text, and 128 units: the papers' network for texts.",
        "Lin et al. 2014; layers as in the 20 Newsgroups script of Kumar et al. 2018",
        2.2,
    ),
    "text_mean": ModelEntry(
        "Bag of words",
        "The mean of a text's word vectors, and a linear layer: a baseline that trains in seconds.",
        "Candor; Joulin et al. 2017",
        2.0,
    ),
}


# Names that timm and torchvision give, in form; which there are is known when one is built.
BY_NAME: Final = re.compile(r"timm:[a-z0-9_]+(\.[a-z0-9_]+)?|torchvision:[a-z0-9_]+")


def checked_model(name: object) -> str:
    """Return the name of a network.

    Parameters
    ----------
    name : str
        One of `MODELS`, or ``timm:NAME`` or ``torchvision:NAME``, checked in its form only.

    Raises
    ------
    UsageError
        SETTING: a name that is none of these.
    """
    if isinstance(name, str) and (name in MODELS or BY_NAME.fullmatch(name)):
        return name
    if isinstance(name, str) and name in TEXT_MODELS:
        raise UsageError("SETTING", f"{name} reads texts", f"use one of {', '.join(MODELS)}")
    known = ", ".join([*MODELS, "timm:NAME", "torchvision:NAME"])
    raise UsageError("SETTING", f"Model {name!r} is unknown", f"use one of {known}")


def checked_text_model(name: object) -> str:
    """Return the name of a network for texts.

    Raises
    ------
    UsageError
        SETTING: any other name.
    """
    if isinstance(name, str) and name in TEXT_MODELS:
        return name
    what = f"Model {name!r} reads no texts"
    raise UsageError("SETTING", what, f"use one of {', '.join(TEXT_MODELS)}")
