"""How a network wants its images, as its library says; torch."""

import math
from itertools import islice
from pathlib import Path
from typing import Any

from core.checkpoints.guess import COLOURS, shipped
from core.datasets.catalogue import MIDDLE, data_entry
from core.datasets.pictures import SUFFIXES, common_size
from core.inference.config import CIFAR, SMALL
from core.inference.preprocessing import INTERPOLATIONS, MOMENTS, Preprocessing, shown_by_code
from core.models.build import input_size
from core.models.catalogue import ONNX, OURS, PUBLIC


def settings_of(
    model: str,
    size: tuple[int, int] | None,
    channels: int = COLOURS,
    *,
    data: str = "folder",
    file: str = "",
    trained_here: bool = False,
) -> Preprocessing:
    """Return the preprocessing that a network was most likely trained with.

    Parameters
    ----------
    size : (int, int), optional
        Height and width of its images where they are known. A network that is shown far smaller
        images than its library shows it was trained on the data alone: they are shown whole, with
        the moments of the data.
    channels : int, optional
        Of the network; moments of networks of public code are given for as many.
    data : str, optional
        That it is evaluated on; that it was trained on where Candor trained it.
    file : str, optional
        What its weights are called: torchvision's own names tell which of its recipes they are of.
        Others are taken to be of its first, which scales to 256 pixels for most networks, as the
        papers do; a later one scales to 232.
    trained_here : bool
        Candor trained it, by the data's moments, on whole images or ImageNet's middles.

    Raises
    ------
    UsageError
        SETTING: an unknown network.
    """
    if model == ONNX:  # nothing tells: as most networks for pictures, or for small ones
        shown = size or CIFAR
        named = MOMENTS["imagenet"] if channels == COLOURS and max(shown) > SMALL else ((), ())
        return Preprocessing(shown, *named)
    entry = PUBLIC.get(model)
    if trained_here or model in OURS:
        shown = (entry and entry.size) or input_size(model, size or CIFAR)
        if entry is not None and entry.mean:
            return shown_by_code(entry, shown, channels)
        cropped = data_entry(data).cropped
        return Preprocessing(shown, crop=MIDDLE if cropped else 1.0, cover=cropped)
    own = input_size(model, CIFAR)  # refuses unknown names
    if size is not None and max(size) <= SMALL < min(own):
        return Preprocessing(size)
    library, _, name = model.partition(":")
    values = _timm(name, own) if library == "timm" else _torchvision(name, file)
    if size is None or (size == own and shipped().takes_any(model)):  # nobody chose another
        size = values["size"]
    return Preprocessing(**{**values, "size": size})


def settings_for_folder(model: str, folder: Path, channels: int = COLOURS) -> Preprocessing | None:
    """Return the preprocessing where a folder holds small pictures of one size, and that tells.

    None where pictures differ or are large, or the network takes its own size only.
    """
    named = (path for path in folder.rglob("*") if path.suffix.lower() in SUFFIXES)
    size = common_size(islice(named, 20))
    if size is None or max(size) > SMALL or not shipped().takes_any(model):
        return None
    return settings_of(model, size, channels)


def _timm(name: str, size: tuple[int, int]) -> dict[str, Any]:
    import timm

    settings = timm.get_pretrained_cfg(name)
    assert settings is not None
    square = settings.crop_mode in (None, "center", "border")
    return {
        "size": size,
        "mean": tuple(settings.mean),
        "std": tuple(settings.std),
        "crop": size[0] / math.floor(size[0] / settings.crop_pct),  # as timm rounds
        "cover": square,
        "interpolation": _interpolation(settings.interpolation),
    }


def _torchvision(name: str, file: str) -> dict[str, Any]:
    from torchvision import models  # type: ignore[import-untyped]

    released = list(models.get_model_weights(name))
    named = (weights for weights in released if Path(weights.url).stem == Path(file).stem)
    transforms = next(named, released[0]).transforms()
    (scaled,), (side,) = transforms.resize_size, transforms.crop_size
    return {
        "size": (side, side),
        "mean": tuple(transforms.mean),
        "std": tuple(transforms.std),
        "crop": min(1.0, side / scaled),
        "cover": True,
        "interpolation": _interpolation(transforms.interpolation.value),
    }


def _interpolation(name: str) -> str:
    return name if name in INTERPOLATIONS else "bilinear"
