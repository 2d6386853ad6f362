"""Networks of timm and torchvision by their own names, new or pretrained; torch."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any, Final

import torch
from torch import nn

from core.errors import UsageError
from core.models.layers import weighted_layers

# What torchvision's builders must be told beside the number of classes: to have one output in
# training as in evaluation, and to take images of the size of their default weights.
ARGUMENTS: Final[dict[str, dict[str, Any]]] = {  # Any: keyword arguments
    "googlenet": {"aux_logits": False, "init_weights": True},
    "inception_v3": {"aux_logits": False, "init_weights": True},
    "vit_h_14": {"image_size": 518},
}
POSITIONED: Final = {"vision_transformer", "maxvit"}  # torchvision's that count positions
STRANGE: Final = 1_000_003  # outputs that no layer has by chance


def timm_model(name: str, channels: int, n_outputs: int, pretrained: bool = False) -> nn.Module:
    """Return a network of timm.

    Parameters
    ----------
    name : str
        As in `timm.list_models`; a tag, which names weights there, sets no more than the size.
    channels, n_outputs : int

    Raises
    ------
    UsageError
        SETTING: an unknown or outdated name, or a network whose logits do not come from one last
        layer, as where two heads are averaged.
    """
    import timm

    _refuse_unknown_to_timm(name)
    with torch.device("meta"):  # shapes without weights
        shapes = timm.create_model(name, num_classes=STRANGE)
    outputs = [len(layer.weight) for layer in weighted_layers(shapes)]
    if outputs[-1] != STRANGE or outputs.count(STRANGE) > 1:
        raise UsageError(
            "SETTING",
            f"The logits of timm:{name} do not come from one last layer",
            "use another network",
        )
    with fetching(f"timm:{name}"):
        return timm.create_model(
            name, num_classes=n_outputs, in_chans=channels, pretrained=pretrained
        )


def timm_size(name: str) -> tuple[int, int]:
    """Return the height and width of timm's settings; errors for names as `timm_model`."""
    import timm

    _refuse_unknown_to_timm(name)
    settings = timm.get_pretrained_cfg(name)
    assert settings is not None
    _, height, width = settings.input_size
    return height, width


def _refuse_unknown_to_timm(name: str) -> None:
    import timm

    known = {*timm.list_models(), *timm.list_models(include_tags=True)}
    _refuse_unknown("timm", name, known)


def torchvision_model(
    name: str, channels: int, n_outputs: int, pretrained: bool = False
) -> nn.Module:
    """Return a network of torchvision.

    Its first convolution is made anew, as PyTorch draws it, for other than three channels.

    Raises
    ------
    UsageError
        SETTING: an unknown name.
    """
    from torchvision import models  # type: ignore[import-untyped]

    _refuse_unknown("torchvision", name, models.list_models(module=models))
    if pretrained:
        model = _pretrained(name, n_outputs)
    else:
        model = models.get_model(
            name, weights=None, num_classes=n_outputs, **ARGUMENTS.get(name, {})
        )
    first = next(layer for layer in model.modules() if isinstance(layer, nn.Conv2d))
    if channels != first.in_channels:
        first.in_channels = channels
        first.weight = nn.Parameter(
            first.weight.new_empty(first.out_channels, channels, *first.kernel_size)
        )
        first.reset_parameters()
    return model


def _pretrained(name: str, n_outputs: int) -> nn.Module:
    """Return a network of torchvision with its default weights and a new last layer."""
    from torchvision import models

    with fetching(f"torchvision:{name}"):
        model: nn.Module = models.get_model(name, weights="DEFAULT")
    old = weighted_layers(model)[-1]
    path = next(path for path, layer in model.named_modules() if layer is old)
    new: nn.Module = (
        nn.Linear(old.in_features, n_outputs)
        if isinstance(old, nn.Linear)
        else nn.Conv2d(old.in_channels, n_outputs, old.kernel_size)  # type: ignore[arg-type]
    )
    parent, _, last = path.rpartition(".")
    setattr(model.get_submodule(parent), last, new)
    return model


@contextmanager
def fetching(name: str) -> Iterator[None]:
    """Refuse where pretrained weights cannot be fetched: UsageError DOWNLOAD."""
    try:
        yield
    except (OSError, RuntimeError) as error:
        raise UsageError(
            "DOWNLOAD",
            f"The pretrained weights of {name} cannot be fetched ({type(error).__name__})",
            "connect to the network, put them into the cache of torch, or use new weights",
        ) from error


def torchvision_size(name: str) -> tuple[int, int]:
    """Return the size of the default weights' images; UsageError SETTING for unknown names."""
    from torchvision import models

    _refuse_unknown("torchvision", name, models.list_models(module=models))
    (side,) = models.get_model_weights(name).DEFAULT.transforms().crop_size
    return side, side


def fixed_in_size(network: str) -> bool:
    """Whether a ``timm:NAME`` or ``torchvision:NAME`` takes one size of images only."""
    library, _, name = network.partition(":")
    if library == "timm":
        import timm

        settings = timm.get_pretrained_cfg(name)
        return settings is not None and bool(settings.fixed_input_size)
    from torchvision import models

    if library != "torchvision":
        return False
    builder = models.get_model_builder(name)
    return builder.__module__.rpartition(".")[2] in POSITIONED


def _refuse_unknown(library: str, name: str, known: Collection[str]) -> None:
    if name in known:
        return
    near = [f"{library}:{candidate}" for candidate in get_close_matches(name, sorted(known))]
    raise UsageError(
        "SETTING",
        f"Model '{library}:{name}' is unknown",
        f"use {' or '.join(near)}" if near else f"use a name that {library}.list_models() gives",
    )
