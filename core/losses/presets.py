"""Settings that the papers print for their losses; no torch."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Preset:
    """Settings of one loss as a paper has them.

    Attributes
    ----------
    label : str
        For what they were used.
    settings : mapping of str to float, int or str
        Parameters that differ from the loss's defaults, or are named by the source.
    source : str
        Paper and place.
    """

    label: str
    settings: Mapping[str, float | int | str]
    source: str


_FCL_ROWS: Final = {
    "cifar100_resnet50": ("CIFAR-100, ResNet-50", 2.0, 0.5),
    "cifar100_resnet110": ("CIFAR-100, ResNet-110", 4.0, 1.5),
    "cifar100_wide_resnet_26_10": ("CIFAR-100, Wide-ResNet-26-10", 3.0, 0.5),
    "cifar100_densenet121": ("CIFAR-100, DenseNet-121", 3.0, 0.5),
    "cifar10_resnet50": ("CIFAR-10, ResNet-50", 4.0, 1.5),
    "cifar10_resnet110": ("CIFAR-10, ResNet-110", 4.0, 1.5),
    "cifar10_wide_resnet_26_10": ("CIFAR-10, Wide-ResNet-26-10", 2.0, 0.5),
    "cifar10_densenet121": ("CIFAR-10, DenseNet-121", 2.0, 0.5),
    "tiny_imagenet_resnet50": ("Tiny-ImageNet, ResNet-50", 3.0, 0.5),
    "20newsgroups_gp_cnn": ("20 Newsgroups, global-pooling CNN", 5.0, 4.5),
    "ag_news_gp_cnn": ("AG News, global-pooling CNN", 4.0, 3.0),
    "finsen_gp_cnn": ("FinSen, global-pooling CNN", 4.0, 4.0),
}
_DUAL_ROWS: Final = {
    "cifar10_resnet50": ("CIFAR-10, ResNet-50", 5.0),
    "cifar10_resnet110": ("CIFAR-10, ResNet-110", 4.5),
    "cifar10_wide_resnet_26_10": ("CIFAR-10, Wide-ResNet-26-10", 2.6),
    "cifar10_densenet121": ("CIFAR-10, DenseNet-121", 5.0),
    "cifar100_resnet50": ("CIFAR-100, ResNet-50", 5.0),
    "cifar100_resnet110": ("CIFAR-100, ResNet-110", 6.1),
    "cifar100_wide_resnet_26_10": ("CIFAR-100, Wide-ResNet-26-10", 3.9),
    "cifar100_densenet121": ("CIFAR-100, DenseNet-121", 3.4),
    "tiny_imagenet_resnet50": ("Tiny-ImageNet, ResNet-50", 2.3),
}
_KUMAR_WEIGHTS: Final = {
    "images": Preset("Images", {"lambda": 2.0}, "Mukhoti et al. 2020, appendix D"),
    "text": Preset("Text", {"lambda": 8.0}, "Mukhoti et al. 2020, appendix D"),
}


def _focal(gamma: float) -> Preset:
    source = "Mukhoti et al. 2020, section 5" if gamma <= 3 else "Komisarenko and Kull 2024, 5.1"
    return Preset(f"γ = {gamma:g}", {"gamma": gamma}, source)


PRESETS: Final[dict[str, dict[str, Preset]]] = {
    "ls": {"paper": Preset("ε = 0.05", {"smoothing": 0.05}, "Ghosh et al. 2022, section 6")},
    "mmce": _KUMAR_WEIGHTS,
    "mmce_weighted": {
        **_KUMAR_WEIGHTS,
        "released": Preset(
            "Images, as released",
            {"lambda": 2.0, "normalisation": "released"},
            "Mukhoti et al. 2020, released code",
        ),
    },
    "focal": {f"gamma_{gamma}": _focal(float(gamma)) for gamma in (1, 2, 3, 5, 7)},
    "calfocal": {
        f"lambda_{rate}": Preset(
            f"λ = {rate}", {"lambda": float(rate)}, "Ghosh et al. 2022, section 5.1"
        )
        for rate in (1, 10, 100)
    },
    "adafocal": {
        "paper": Preset(
            "As in the tables",
            {
                "lambda": 1.0,
                "gamma_max": 20.0,
                "gamma_min": -2.0,
                "s_th": 0.2,
                "n_bins": 15,
                "update_every": "epoch",
            },
            "Ghosh et al. 2022, sections 5.2 and 6",
        ),
        "imagenet_s_th": Preset(
            "ImageNet, switching early", {"s_th": 0.5}, "Ghosh et al. 2022, figures 4 and 5"
        ),
        "gamma_max_50": Preset("γ up to 50", {"gamma_max": 50.0}, "Ghosh et al. 2022, appendix N"),
        "unbounded": Preset("γ unbounded", {"gamma_max": 1e6}, "Ghosh et al. 2022, appendix N"),
        **{
            f"bins_{n}": Preset(f"{n} bins", {"n_bins": n}, "Ghosh et al. 2022, appendix H")
            for n in (5, 10, 20, 30, 50)
        },
        **{
            f"every_{n}": Preset(
                f"Update every {n} batches", {"update_every": n}, "Ghosh et al. 2022, appendix I"
            )
            for n in (1, 10, 50, 100)
        },
    },
    "dual_focal": {
        key: Preset(label, {"gamma": gamma}, "Tao et al. 2023, released code")
        for key, (label, gamma) in _DUAL_ROWS.items()
    },
    "fcl": {
        key: Preset(
            label, {"gamma": gamma, "lambda": weight}, "Focal calibration loss 2024, table 5"
        )
        for key, (label, gamma, weight) in _FCL_ROWS.items()
    },
}
