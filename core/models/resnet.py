"""Residual networks for small images: ResNet-50 and 110, Wide-ResNet-26-10; torch."""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import ClassVar

from torch import Tensor, nn
from torch.nn import functional

from core.models.layers import convolution, draw_he_normal

Shortcut = Callable[[int, int, int], nn.Module]  # from channels before, after, and the stride


class Basic(nn.Module):
    """Two 3x3 convolutions, and a shortcut around them.

    Parameters
    ----------
    before : int
        Channels that come in.
    width : int
        Channels of the convolutions; `expansion` times as many go out.
    stride : int
        Of the first 3x3 convolution.
    shortcut : callable
    """

    expansion: ClassVar = 1

    def __init__(self, before: int, width: int, stride: int, shortcut: Shortcut) -> None:
        super().__init__()
        self.conv1 = convolution(before, width, 3, stride)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = convolution(width, width, 3)
        self.bn2 = nn.BatchNorm2d(width)
        self.shortcut = shortcut(before, width, stride)

    def forward(self, x: Tensor) -> Tensor:
        """Return maps (N, width, H / stride, W / stride)."""
        out = functional.relu(self.bn1(self.conv1(x)))
        return functional.relu(self.bn2(self.conv2(out)) + self.shortcut(x))


class Bottleneck(nn.Module):
    """A 3x3 convolution between two of 1x1, and a shortcut around them; arguments as `Basic`."""

    expansion: ClassVar = 4

    def __init__(self, before: int, width: int, stride: int, shortcut: Shortcut) -> None:
        super().__init__()
        after = width * self.expansion
        self.conv1 = convolution(before, width, 1)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = convolution(width, width, 3, stride)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = convolution(width, after, 1)
        self.bn3 = nn.BatchNorm2d(after)
        self.shortcut = shortcut(before, after, stride)

    def forward(self, x: Tensor) -> Tensor:
        """Return maps (N, 4 width, H / stride, W / stride)."""
        out = functional.relu(self.bn1(self.conv1(x)))
        out = functional.relu(self.bn2(self.conv2(out)))
        return functional.relu(self.bn3(self.conv3(out)) + self.shortcut(x))


class Padding(nn.Module):
    """Every stride-th point, and zeros for the channels there are more of: no parameters."""

    def __init__(self, before: int, after: int, stride: int) -> None:
        super().__init__()
        self.more = after - before
        self.stride = stride

    def forward(self, x: Tensor) -> Tensor:
        """Return maps (N, after, H / stride, W / stride)."""
        return functional.pad(x[..., :: self.stride, :: self.stride], (0, 0, 0, 0, 0, self.more))


def projection(before: int, after: int, stride: int) -> nn.Module:
    """Return a 1x1 convolution with its norm, or nothing where shapes already agree."""
    if stride == 1 and before == after:
        return nn.Identity()
    return nn.Sequential(convolution(before, after, 1, stride), nn.BatchNorm2d(after))


def resnet(
    channels: int,
    n_outputs: int,
    *,
    block: type[Basic] | type[Bottleneck],
    widths: Sequence[int],
    depths: Sequence[int],
    shortcut: Shortcut,
    head: str = "fc",
    pooled: bool = False,
) -> nn.Sequential:
    """Return a residual network whose stem is a 3x3 convolution without pooling.

    Layers bear the names of the released code of Mukhoti et al. 2020.

    Parameters
    ----------
    channels, n_outputs : int
        C of the images, K of the logits.
    block : type
    widths : sequence of int
        Of the stem, then of each stage; every stage after the first halves the map.
    depths : sequence of int
        Blocks of each stage.
    shortcut : callable
        `projection` or `Padding`.
    head : str
        What the last layer is called.
    pooled : bool
        Halve the maps once more after the stem.
    """
    stem, *stages = widths
    layers: OrderedDict[str, nn.Module] = OrderedDict(
        conv1=convolution(channels, stem, 3), bn1=nn.BatchNorm2d(stem), relu=nn.ReLU(inplace=True)
    )
    if pooled:
        layers["maxpool"] = nn.MaxPool2d(3, 2, 1)
    before = stem
    for number, (width, depth) in enumerate(zip(stages, depths, strict=True), 1):
        blocks: list[nn.Module] = []
        for index in range(depth):
            stride = 2 if index == 0 and number > 1 else 1
            blocks.append(block(before, width, stride, shortcut))
            before = width * block.expansion
        layers[f"layer{number}"] = nn.Sequential(*blocks)
    layers |= {"pool": nn.AdaptiveAvgPool2d(1), "flatten": nn.Flatten()}
    layers[head] = nn.Linear(before, n_outputs)
    model = nn.Sequential(layers)
    draw_he_normal(model)
    return model


def resnet50(channels: int, n_outputs: int) -> nn.Sequential:
    """Return ResNet-50 with the stem for small images, as Mukhoti et al. 2020 released it.

    References
    ----------
    He et al. 2016, table 1; the stride is in the 3x3 convolutions.
    """
    return resnet(
        channels,
        n_outputs,
        block=Bottleneck,
        widths=(64, 64, 128, 256, 512),
        depths=(3, 4, 6, 3),
        shortcut=projection,
    )


def resnet50_tiny_imagenet(channels: int, n_outputs: int) -> nn.Sequential:
    """Return ResNet-50 as Mukhoti et al. 2020 released it for Tiny-ImageNet.

    As `resnet50`, but the last layer sees the means over the quarters of each map.
    """
    model = resnet50(channels, n_outputs)
    model.pool = nn.AdaptiveAvgPool2d(2)
    model.fc = nn.Linear(4 * 512 * Bottleneck.expansion, n_outputs)
    return model


def resnet110_released(channels: int, n_outputs: int) -> nn.Sequential:
    """Return what Mukhoti et al. 2020 and Ghosh et al. 2022 released under the name ResNet-110.

    Bottlenecks [3, 4, 26, 3] of widths 64 to 512, not the network of He et al. 2016, section 4.2.
    """
    return resnet(
        channels,
        n_outputs,
        block=Bottleneck,
        widths=(64, 64, 128, 256, 512),
        depths=(3, 4, 26, 3),
        shortcut=projection,
    )


def resnet110(channels: int, n_outputs: int) -> nn.Sequential:
    """Return ResNet-110 of He et al. 2016, section 4.2: n = 18, shortcuts without parameters.

    Notes
    -----
    What Mukhoti et al. 2020 released under this name is another network, `resnet110_released`.
    """
    return resnet(
        channels,
        n_outputs,
        block=Basic,
        widths=(16, 16, 32, 64),
        depths=(18, 18, 18),
        shortcut=Padding,
    )


def wide_resnet_26_10(channels: int, n_outputs: int) -> nn.Sequential:
    """Return Wide-ResNet-26-10: four basic blocks a stage, ten times as wide, no dropout.

    Notes
    -----
    Zagoruyko and Komodakis 2016 count two more layers, the shortcuts', and call it 28-10; they
    normalise before each convolution. Here, as Mukhoti et al. 2020 released it, norms come after.
    """
    return resnet(
        channels,
        n_outputs,
        block=Basic,
        widths=(16, 160, 320, 640),
        depths=(4, 4, 4),
        shortcut=projection,
    )
