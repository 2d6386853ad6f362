"""From the name of a network to the network; torch."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from core.errors import UsageError
from core.models.catalogue import ONNX, checked_model
from core.models.public import (
    PUBLIC_FORMS,
    timm_model,
    timm_size,
    torchvision_model,
    torchvision_size,
)
from core.models.small_images import (
    SmallCnn,
    densenet121,
    densenet_small,
    resnet50,
    resnet50_tiny_imagenet,
    resnet110,
    resnet110_released,
    weighted_layers,
    wide_resnet_26_10,
)

LEAST_SIDE: Final = 8  # of images for the networks of the catalogue: three times halved, 1 is left

FORMS: Final[dict[str, Callable[[int, int], nn.Module]]] = {  # from channels and outputs
    "resnet50_cifar": resnet50,
    "resnet110_cifar": resnet110,
    "resnet110_released": resnet110_released,
    "resnet50_tiny_imagenet": resnet50_tiny_imagenet,
    "wrn_26_10_cifar": wide_resnet_26_10,
    "densenet121_cifar": densenet121,
    "densenet_small": densenet_small,
    "small_cnn": SmallCnn,
    **PUBLIC_FORMS,
}
LIBRARIES: Final = {
    "timm": (timm_model, timm_size),
    "torchvision": (torchvision_model, torchvision_size),
}


def build(
    name: str, *, n_outputs: int, channels: int, size: tuple[int, int], pretrained: bool = False
) -> nn.Module:
    """Return a network with new weights, drawn from torch's global generator.

    Its forward takes float32 images (N, C, H, W), normalised, and returns logits (N, K).

    Parameters
    ----------
    name : str
        One of `catalogue.OURS`, ``timm:NAME`` or ``torchvision:NAME``.
    n_outputs : int
        K >= 1 columns of logits.
    channels : int
        C >= 1 of the images.
    size : (int, int)
        Height and width of the images it will be given: what `input_size` says.
    pretrained : bool
        Begin with the weights that timm or torchvision give it; the last layer's are new.

    Raises
    ------
    UsageError
        DOWNLOAD: they cannot be fetched. SETTING: an unknown network, no output or channel, images
        of another size, or a network of timm whose logits do not come from one last layer.
    """
    required = input_size(name, size)
    if size != required:
        raise UsageError("SETTING", f"Images of {size} for {name}", f"resize them to {required}")
    for what, count in (("outputs", n_outputs), ("channels", channels)):
        if count < 1:
            raise UsageError("SETTING", f"{count} {what}", "give at least 1")
    if name in FORMS:
        return FORMS[name](channels, n_outputs)
    library, _, own_name = name.partition(":")
    return LIBRARIES[library][0](own_name, channels, n_outputs, pretrained)


def outline(name: str, *, n_outputs: int, channels: int, size: tuple[int, int]) -> nn.Module:
    """Return a network without numbers, which only knows its shapes; arguments as of `build`.

    Those that compute their widths from tensors, as torchvision's RegNets, have some numbers.
    """
    try:
        with torch.device("meta"):
            return build(name, n_outputs=n_outputs, channels=channels, size=size)
    # Some networks read a number while they are built, and a tensor without numbers has none.
    except NotImplementedError:
        with _Outlining():
            return build(name, n_outputs=n_outputs, channels=channels, size=size)


class _Outlining(TorchFunctionMode):
    """Weights of layers, which are made empty before they are drawn, take no memory."""

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Iterable[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:  # noqa: ANN401  as torch's own
        device = {"device": "meta"} if func is torch.empty else {}
        return func(*args, **{**(kwargs or {}), **device})


def input_size(name: str, size: tuple[int, int]) -> tuple[int, int]:
    """Return the height and width in which a network takes images of `size`.

    The networks of `catalogue.OURS` take any from 8 x 8 on as they are, those of timm and
    torchvision only those of their own size.

    Raises UsageError SETTING: an unknown network, or images too small for it.
    """
    checked_model(name)
    if name == ONNX:
        return size
    if name not in FORMS:
        library, _, own_name = name.partition(":")
        return LIBRARIES[library][1](own_name)
    if min(size) < LEAST_SIDE:
        least = f"{LEAST_SIDE} x {LEAST_SIDE}"
        raise UsageError("SETTING", f"Images of {size}", f"{name} takes {least} or larger")
    return size


def last_layer(model: nn.Module) -> nn.Linear | nn.Conv2d:
    """Return the layer that makes the logits: in all that `build` makes, the last one added."""
    return weighted_layers(model)[-1]


@contextmanager
def exact() -> Iterator[None]:
    """Keep TF32, with its 10 bits, out of an evaluation: confidence is read off it."""
    cudnn, matmul = torch.backends.cudnn, torch.backends.cuda.matmul
    before = cudnn.allow_tf32, matmul.allow_tf32
    cudnn.allow_tf32 = matmul.allow_tf32 = False
    try:
        yield
    finally:
        cudnn.allow_tf32, matmul.allow_tf32 = before
