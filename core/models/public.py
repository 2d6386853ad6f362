"""Networks of timm and torchvision by name, and forms of public code that is evaluated only; torch.

`catalogue.PUBLIC` says whose code those forms follow, and what images it shows them.
"""

from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from functools import partial
from itertools import pairwise
from typing import Any, Final

import torch
from torch import Tensor, nn
from torch.nn import functional

from core.errors import UsageError
from core.models.small_images import Basic, Bottleneck, Padding, projection, resnet, weighted_layers

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

    `name`: as in `timm.list_models`; a tag, which names weights there, sets no more than the size.

    Raises UsageError SETTING: an unknown or outdated name, or a network whose logits do not come
    from one last layer, as where two heads are averaged.
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

    Raises UsageError SETTING: an unknown name.
    """
    from torchvision import models  # type: ignore[import-untyped]

    _refuse_unknown("torchvision", name, models.list_models(module=models))
    if pretrained:
        model = _pretrained(name, n_outputs)
    else:
        model = models.get_model(
            name, weights=None, num_classes=n_outputs, **ARGUMENTS.get(name, {})
        )
    # Drawn after all other layers, whose numbers stay those of three channels.
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
    # By its place and not by its name, which differs between families.
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


NetworkMaker = Callable[[int, int], nn.Module]  # from channels and outputs
SMALL_WIDTHS: Final = (16, 16, 32, 64)
WIDTHS: Final = (64, 64, 128, 256, 512)
DEPTHS: Final = {18: (2, 2, 2, 2), 34: (3, 4, 6, 3), 50: (3, 4, 6, 3)}
VGG: Final = {  # 3x3 convolutions of each stage; Simonyan and Zisserman 2015, table 1
    11: (1, 1, 2, 2, 2),
    13: (2, 2, 2, 2, 2),
    16: (2, 2, 3, 3, 3),
    19: (2, 2, 4, 4, 4),
}


class CentredPadding(Padding):
    """As `Padding`, with half of the zero channels before and half after the others."""

    def forward(self, x: Tensor) -> Tensor:
        """Return maps (N, after, H / stride, W / stride)."""
        half = self.more // 2
        x = x[..., :: self.stride, :: self.stride]
        return functional.pad(x, (0, 0, 0, 0, half, self.more - half))


class PreActivated(nn.Module):
    """Two 3x3 convolutions, each after its norm, and a shortcut that is not normed.

    `biased`: as bmsookim's code: convolutions have biases, the second one has the stride, and
    shortcuts begin before the first norm. Otherwise as xternalz's: where channels change, both
    paths begin after the first norm.
    """

    def __init__(self, before: int, after: int, stride: int, *, biased: bool) -> None:
        super().__init__()
        strides = (1, stride) if biased else (stride, 1)
        self.bn1 = nn.BatchNorm2d(before)
        self.conv1 = nn.Conv2d(before, after, 3, strides[0], 1, bias=biased)
        self.bn2 = nn.BatchNorm2d(after)
        self.conv2 = nn.Conv2d(after, after, 3, strides[1], 1, bias=biased)
        self.biased = biased
        if before != after:
            projected = nn.Conv2d(before, after, 1, stride, bias=biased)
            if biased:
                self.shortcut = nn.Sequential(projected)
            else:
                self.convShortcut = projected

    def forward(self, x: Tensor) -> Tensor:
        """Return maps (N, after, H / stride, W / stride)."""
        normed = functional.relu(self.bn1(x))
        out: Tensor = self.conv2(functional.relu(self.bn2(self.conv1(normed))))
        if hasattr(self, "convShortcut"):
            return torch.add(out, self.convShortcut(normed))
        return torch.add(out, self.shortcut(x) if hasattr(self, "shortcut") else x)


def wide_resnet(
    depth: int, factor: int, channels: int, n_outputs: int, *, biased: bool = False
) -> nn.Sequential:
    """Return a Wide-ResNet with norms before convolutions, under the names of public code.

    References
    ----------
    Zagoruyko and Komodakis 2016, table 1; (depth - 4) / 6 blocks a stage.
    """
    widths = (16, 16 * factor, 32 * factor, 64 * factor)
    layers: OrderedDict[str, nn.Module] = OrderedDict(
        conv1=nn.Conv2d(channels, 16, 3, padding=1, bias=biased)
    )
    for number, (before, after) in enumerate(pairwise(widths), 1):
        blocks = nn.Sequential(
            *(
                PreActivated(
                    after if index else before,
                    after,
                    2 if number > 1 and index == 0 else 1,
                    biased=biased,
                )
                # Only the first block of a stage changes width and size.
                for index in range((depth - 4) // 6)
            )
        )
        name = f"layer{number}" if biased else f"block{number}"
        layers[name] = blocks if biased else nn.Sequential(OrderedDict(layer=blocks))
    layers |= {"bn1": nn.BatchNorm2d(widths[-1]), "relu": nn.ReLU(inplace=True)}
    layers |= {"pool": nn.AdaptiveAvgPool2d(1), "flatten": nn.Flatten()}
    layers["linear" if biased else "fc"] = nn.Linear(widths[-1], n_outputs)
    return nn.Sequential(layers)


def vgg_bn(depth: int, channels: int, n_outputs: int, *, deep: bool = False) -> nn.Sequential:
    """Return VGG with batch normalisation, for small images: what is left of a map is averaged.

    Its head is one linear layer or, `deep`, three with dropout between them.
    """
    features: list[nn.Module] = []
    before = channels
    for number, count in enumerate(VGG[depth]):
        width = min(64 * 2**number, 512)
        for _ in range(count):
            features += [nn.Conv2d(before, width, 3, padding=1), nn.BatchNorm2d(width)]
            features.append(nn.ReLU(inplace=True))
            before = width
        # Five halvings: 8 x 8 needs the ceiling, or nothing would be left; 32 x 32 does not.
        features.append(nn.MaxPool2d(2, ceil_mode=True))
    head: nn.Module = nn.Linear(512, n_outputs)
    if deep:
        inner = [
            layer
            for _ in range(2)
            for layer in (nn.Dropout(), nn.Linear(512, 512), nn.ReLU(inplace=True))
        ]
        head = nn.Sequential(*inner, nn.Linear(512, n_outputs))
    return nn.Sequential(
        OrderedDict(
            features=nn.Sequential(*features),
            pool=nn.AdaptiveAvgPool2d(1),
            flatten=nn.Flatten(),
            classifier=head,
        )
    )


def _small_resnet(depth: int, *, own: str) -> NetworkMaker:
    """Return the form of a ResNet of three narrow stages, in akamaster's or bearpaw's layout."""
    n = (depth - 2) // 6
    bottleneck = own == "bearpaw" and depth >= 44  # as its code has it, whatever the name says
    return partial(
        resnet,
        block=Bottleneck if bottleneck else Basic,
        widths=SMALL_WIDTHS,
        depths=(n, n, n),
        shortcut=CentredPadding if own == "akamaster" else projection,
        head="linear" if own == "akamaster" else "fc",
    )


def _resnet(depth: int, *, head: str = "fc", pooled: bool = False) -> NetworkMaker:
    block = Bottleneck if depth >= 50 else Basic
    return partial(
        resnet,
        block=block,
        widths=WIDTHS,
        depths=DEPTHS[depth],
        shortcut=projection,
        head=head,
        pooled=pooled,
    )


def _densenet121(channels: int, n_outputs: int) -> nn.Module:
    return torchvision_model("densenet121", channels, n_outputs)


PUBLIC_FORMS: Final[dict[str, NetworkMaker]] = {
    **{f"resnet{d}_akamaster": _small_resnet(d, own="akamaster") for d in (20, 32, 44, 56, 110)},
    **{f"resnet{d}_bearpaw": _small_resnet(d, own="bearpaw") for d in (20, 32, 44, 56, 110)},
    **{f"resnet{d}_chenyaofo": _small_resnet(d, own="chenyaofo") for d in (44, 56, 110)},
    "resnet18_cifar": _resnet(18),
    "resnet34_cifar": _resnet(34),
    **{f"resnet{d}_kuangliu": _resnet(d, head="linear") for d in DEPTHS},
    **{f"resnet{d}_huyvnphan": _resnet(d, pooled=True) for d in DEPTHS},
    "wrn_28_10_cifar": partial(wide_resnet, 28, 10),
    "wrn_40_2_cifar": partial(wide_resnet, 40, 2),
    "wrn_28_10_bmsookim": partial(wide_resnet, 28, 10, biased=True),
    **{f"vgg{d}_bn_cifar": partial(vgg_bn, d) for d in VGG},
    **{f"vgg{d}_bn_chengyangfu": partial(vgg_bn, d, deep=True) for d in VGG},
    "densenet121_xrv": _densenet121,
    "densenet121_monai": _densenet121,
}
