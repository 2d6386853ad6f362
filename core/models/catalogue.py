"""What the networks are called and where they come from; no torch.

Pages and configs read it; `build` makes the networks.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from core.errors import UsageError


@dataclass(frozen=True)
class ModelEntry:
    """One network."""

    label: str  # printed name
    plain: str  # what it is, in a sentence
    source: str  # where the structure comes from
    millions: float  # trained parameters in millions, with three channels and ten outputs


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


@dataclass(frozen=True, kw_only=True)
class PublicEntry(ModelEntry):
    """A network of public code, which is evaluated and not trained here."""

    # mean, std: what its code shows it, of pixels divided by 255; one number is of every channel;
    # empty for those of the data
    mean: tuple[float, ...] = ()
    std: tuple[float, ...] = ()
    # (int, int) or None, height and width of its images; None for those of the data
    size: tuple[int, int] | None = None


IMAGENET: Final = {"mean": (0.485, 0.456, 0.406), "std": (0.229, 0.224, 0.225)}
CIFAR10: Final = {"mean": (0.4914, 0.4822, 0.4465), "std": (0.2023, 0.1994, 0.2010)}


def _public(
    label: str, code: str, millions: float, **shown: tuple[float, ...] | tuple[int, int]
) -> PublicEntry:
    return PublicEntry(label, f"{label} of public code.", code, millions, **shown)  # type: ignore[arg-type]


def _family(
    key: str, label: str, code: str, millions: Mapping[int, float], **shown: tuple[float, ...]
) -> dict[str, PublicEntry]:
    """Return the networks of one public code by their depths: {} in key and label."""
    return {
        key.format(depth): _public(label.format(depth), code, size, **shown)
        for depth, size in millions.items()
    }


PUBLIC: Final[dict[str, PublicEntry]] = {
    **_family(
        "resnet{}_akamaster",
        "ResNet-{} (akamaster)",
        "akamaster/pytorch_resnet_cifar10; shortcuts of option A, half of the zeros on each side",
        {20: 0.27, 32: 0.46, 44: 0.66, 56: 0.85, 110: 1.7},
        **IMAGENET,
    ),
    **_family(
        "resnet{}_bearpaw",
        "ResNet-{} (bearpaw)",
        "bearpaw/pytorch-classification; shortcuts of option B, bottlenecks from 44 on",
        {20: 0.27, 32: 0.47, 44: 0.68, 56: 0.87, 110: 1.7},
        **CIFAR10,
    ),
    **_family(
        "resnet{}_chenyaofo",
        "ResNet-{} (chenyaofo)",
        "chenyaofo/pytorch-cifar-models; shortcuts of option B; 20 and 32 are as bearpaw's",
        {44: 0.66, 56: 0.86, 110: 1.7},
        **CIFAR10,
    ),
    "resnet18_cifar": _public("ResNet-18", "Jingkang50/OpenOOD; stem for small images", 11.2),
    "resnet34_cifar": _public("ResNet-34", "Jingkang50/OpenOOD; stem for small images", 21.3),
    **_family(
        "resnet{}_kuangliu",
        "ResNet-{} (kuangliu)",
        "kuangliu/pytorch-cifar; its last layer is called linear",
        {18: 11.2, 34: 21.3, 50: 23.5},
        **CIFAR10,
    ),
    **_family(
        "resnet{}_huyvnphan",
        "ResNet-{} (huyvnphan)",
        "huyvnphan/PyTorch_CIFAR10; pools after the stem",
        {18: 11.2, 34: 21.3, 50: 23.5},
    ),
    "wrn_28_10_cifar": _public("Wide-ResNet-28-10", "xternalz/WideResNet-pytorch; OpenOOD", 36.5),
    "wrn_40_2_cifar": _public("Wide-ResNet-40-2", "xternalz/WideResNet-pytorch", 2.2),
    "wrn_28_10_bmsookim": _public(
        "Wide-ResNet-28-10 (bmsookim)",
        "bmsookim/wide-resnet.pytorch; convolutions with biases",
        36.5,
        **CIFAR10,
    ),
    **_family(
        "vgg{}_bn_cifar",
        "VGG-{}-BN",
        "kuangliu/pytorch-cifar, bearpaw/pytorch-classification; one linear layer",
        {11: 9.2, 13: 9.4, 16: 14.7, 19: 20.0},
        **CIFAR10,
    ),
    **_family(
        "vgg{}_bn_chengyangfu",
        "VGG-{}-BN (chengyangfu)",
        "chengyangfu/pytorch-vgg-cifar10; three linear layers",
        {11: 9.8, 13: 9.9, 16: 15.3, 19: 20.6},
        **IMAGENET,
    ),
    "densenet121_xrv": _public(
        "DenseNet-121 (TorchXRayVision)",
        "mlmed/torchxrayvision; films from −1024 to 1024",
        7.0,
        mean=(0.5,),
        std=(1 / 2048,),
        size=(224, 224),
    ),
    "densenet121_monai": _public(
        "DenseNet-121 (MONAI)",
        "Project-MONAI/MONAI; pixels from 0 to 1, as ScaleIntensity makes them",
        7.0,
        mean=(0.0,),
        std=(1.0,),
    ),
}
OURS: Final[dict[str, ModelEntry]] = {**MODELS, **PUBLIC}  # that Candor makes itself

TREE_LSTM: Final = "tree_lstm"
BERT: Final = "bert"  # its sizes, vocabulary and first weights come from a folder
# Networks that read texts, of 20,000 words in 100 numbers each and 20 classes.
TEXT_MODELS: Final[dict[str, ModelEntry]] = {
    "text_cnn": ModelEntry(
        "Global-pooling CNN",
        "Three convolutions over five words each, the strongest of each feature over the whole "
        "text, and 128 units: the papers' network for texts.",
        "Lin et al. 2014; layers as in the 20 Newsgroups script of Kumar et al. 2018",
        2.2,
    ),
    "text_cnn_released": ModelEntry(
        "Global-pooling CNN, released",
        "The same layers as released with Mukhoti et al. 2020: 1,000 places, filled in front, and "
        "maxima that move on by one; slow without a GPU.",
        "Released code of Mukhoti et al. 2020",
        2.2,
    ),
    "text_mean": ModelEntry(
        "Bag of words",
        "The mean of a text's word vectors, and a linear layer: a baseline that trains in seconds.",
        "Candor; Joulin et al. 2017",
        2.0,
    ),
    TREE_LSTM: ModelEntry(
        "Tree-LSTM",
        "A memory cell for each phrase, made of those of its two halves: the papers' network for "
        "the trees of SST.",
        "Tai et al. 2015, binary constituency trees",
        2.3,
    ),
    BERT: ModelEntry(
        "BERT",
        "Twelve layers of attention over pieces of words, pretrained on other texts, and one new "
        "linear layer; the weights come from a folder, and a GPU is needed.",
        "Devlin et al. 2019; Ghosh et al. 2022, appendix D",
        109.5,
    ),
}


ONNX: Final = "onnx"  # the file is the network: evaluated alone
# Names that timm and torchvision give, in form; which there are is known when one is built.
BY_NAME: Final = re.compile(r"timm:[a-z0-9_]+(\.[a-z0-9_]+)?|torchvision:[a-z0-9_]+")


def checked_model(name: object) -> str:
    """Return the name of a network.

    `name`: one of `OURS`, `ONNX`, or ``timm:NAME`` or ``torchvision:NAME``, checked in its form
    only.

    Raises UsageError SETTING: a name that is none of these.
    """
    if isinstance(name, str) and (name in OURS or name == ONNX or BY_NAME.fullmatch(name)):
        return name
    if isinstance(name, str) and name in TEXT_MODELS:
        raise UsageError("SETTING", f"{name} reads texts", f"use one of {', '.join(MODELS)}")
    known = ", ".join([*MODELS, "timm:NAME", "torchvision:NAME"])
    raise UsageError("SETTING", f"Model {name!r} is unknown", f"use one of {known}")


def checked_text_model(name: object) -> str:
    """Return the name of a network for texts.

    Raises UsageError SETTING: any other name.
    """
    if isinstance(name, str) and name in TEXT_MODELS:
        return name
    what = f"Model {name!r} reads no texts"
    raise UsageError("SETTING", what, f"use one of {', '.join(TEXT_MODELS)}")
