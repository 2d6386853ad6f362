"""Networks for small images: a small CNN, ResNet-50 and 110, Wide-ResNet-26-10, DenseNet; torch."""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import ClassVar, Final

import torch
from torch import Tensor, nn
from torch.nn import functional

WIDTHS: Final = (24, 48, 96)
CHANNELS_IN_A_GROUP: Final = 8


class SmallCnn(nn.Module):
    """Three blocks of 3x3 convolution, group normalisation and ReLU, then a linear layer.

    The first two blocks end in max pooling by 2; 2x2 means of what the third gives are the
    features. Groups of 8 channels are normalised within each image, so that neither the size of a
    batch nor how it is spread over devices changes an answer.

    `channels`: C of the images; `n_outputs`: K columns of logits.

    Notes
    -----
    PyTorch's initialisation: He et al. 2015, uniform.

    References
    ----------
    Wu and He 2018, *Group Normalization*.
    """

    def __init__(self, channels: int, n_outputs: int) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(
            nn.Sequential(
                nn.Conv2d(before, after, 3, padding=1, bias=False),
                nn.GroupNorm(after // CHANNELS_IN_A_GROUP, after),
                nn.ReLU(inplace=True),
            )
            for before, after in pairwise((channels, *WIDTHS))
        )
        self.head = nn.Linear(4 * WIDTHS[-1], n_outputs)

    def forward(self, images: Tensor) -> Tensor:
        """Return logits (N, K) of images (N, C, H, W), H and W at least 8."""
        first, second, third = self.blocks
        features = functional.max_pool2d(first(images), 2)
        features = functional.max_pool2d(second(features), 2)
        return self.head(quarters(third(features)).flatten(1))  # type: ignore[no-any-return]


def quarters(features: Tensor) -> Tensor:
    """Return the means over the four quarters of each map, (N, C, 2, 2).

    Quarters of an odd side share its middle line, as in adaptive average pooling, whose gradient
    has no deterministic form on a GPU.
    """
    height, width = features.shape[-2:]
    return functional.avg_pool2d(
        features, (height - height // 2, width - width // 2), (height // 2, width // 2)
    )


def convolution(before: int, after: int, side: int, stride: int = 1) -> nn.Conv2d:
    """Return a convolution of `side` x `side` that keeps the size of the map at stride 1."""
    return nn.Conv2d(before, after, side, stride, side // 2, bias=False)


def draw_he_normal(model: nn.Module) -> None:
    """Redraw the weights of all convolutions, N(0, 2 / (outputs x area)).

    Norms and the linear layer keep PyTorch's own: 1 and 0, and uniform.

    References
    ----------
    He et al. 2015, *Delving Deep into Rectifiers*, equation 14.
    """
    for layer in model.modules():
        if isinstance(layer, nn.Conv2d):
            nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")


def weighted_layers(model: nn.Module) -> list[nn.Linear | nn.Conv2d]:
    """Return all linear and convolutional layers, in the order in which they were added."""
    return [layer for layer in model.modules() if isinstance(layer, nn.Linear | nn.Conv2d)]


Shortcut = Callable[[int, int, int], nn.Module]  # from channels before, after, and the stride


class Basic(nn.Module):
    """Two 3x3 convolutions, and a shortcut around them.

    `before`: channels that come in; `width`: channels of the convolutions; `expansion` times as
    many go out; `stride`: of the first 3x3 convolution.
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
            # The stem keeps the size and the first stage too: 32 x 32 ends at 4 x 4; behind
            # ImageNet's stem it would end at 1 x 1.
            stride = 2 if index == 0 and number > 1 else 1
            blocks.append(block(before, width, stride, shortcut))
            before = width * block.expansion
        layers[f"layer{number}"] = nn.Sequential(*blocks)
    layers |= {"pool": nn.AdaptiveAvgPool2d(1), "flatten": nn.Flatten()}
    layers[head] = nn.Linear(before, n_outputs)
    model = nn.Sequential(layers)
    # As released; PyTorch's own start has a smaller deviation, and trains otherwise.
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


GROWTH: Final = 32
DEPTHS: Final = (6, 12, 24, 16)
SMALL_GROWTH: Final = 12
SMALL_DEPTHS: Final = (3, 3)


class Dense(nn.Module):
    """A 1x1 and a 3x3 convolution, each after its norm; their maps are put before the others.

    `before`: channels that come in; `growth`: how many more go out.
    """

    def __init__(self, before: int, growth: int) -> None:
        super().__init__()
        self.bn1 = nn.BatchNorm2d(before)
        self.conv1 = convolution(before, 4 * growth, 1)
        self.bn2 = nn.BatchNorm2d(4 * growth)
        self.conv2 = convolution(4 * growth, growth, 3)
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        """Return maps (N, before + growth, H, W), the new ones first."""
        new = self.conv1(self.relu(self.bn1(x)))
        new = self.conv2(self.relu(self.bn2(new)))
        return torch.cat([new, x], 1)


def densenet121(channels: int, n_outputs: int) -> nn.Sequential:
    """Return DenseNet-121 with a 3x3 stem of 64 channels and no pooling after it.

    Growth 32, four dense stages of 6, 12, 24 and 16 blocks; between them half the channels are
    kept and the map is halved. Layers bear the names, and maps the order, of the released code of
    Mukhoti et al. 2020.

    `channels`, `n_outputs`: C of the images, K of the logits.

    References
    ----------
    Huang et al. 2017, table 1 and section 3.
    """
    stem = OrderedDict[str, nn.Module](conv1=convolution(channels, 2 * GROWTH, 3))
    return _dense_net(stem, 2 * GROWTH, GROWTH, DEPTHS, n_outputs)


def densenet_small(channels: int, n_outputs: int) -> nn.Sequential:
    """Return a DenseNet of two short stages for grey films: growth 12, three blocks each.

    Stem, pooling and transition each halve both sides: films of 128 x 128 end in maps of 16 x 16.

    `channels`, `n_outputs`: C of the images, K of the logits.
    """
    before = 2 * SMALL_GROWTH
    stem = OrderedDict[str, nn.Module](
        conv1=convolution(channels, before, 3, stride=2), pool1=nn.MaxPool2d(2)
    )
    return _dense_net(stem, before, SMALL_GROWTH, SMALL_DEPTHS, n_outputs)


def _dense_net(
    stem: "OrderedDict[str, nn.Module]",
    before: int,
    growth: int,
    depths: tuple[int, ...],
    n_outputs: int,
) -> nn.Sequential:
    """Return a stem of `before` channels, stages with transitions between them, last layers."""
    layers = stem
    for number, depth in enumerate(depths, 1):
        layers[f"dense{number}"] = nn.Sequential(
            *(Dense(before + growth * index, growth) for index in range(depth))
        )
        before += growth * depth
        if number < len(depths):
            layers[f"trans{number}"] = transition(before)
            before //= 2
    layers |= {"bn": nn.BatchNorm2d(before), "relu": nn.ReLU(inplace=True)}
    layers |= {"pool": nn.AdaptiveAvgPool2d(1), "flatten": nn.Flatten()}
    layers["linear"] = nn.Linear(before, n_outputs)
    model = nn.Sequential(layers)
    draw_he_normal(model)
    return model


def transition(before: int) -> nn.Sequential:
    """Return what halves the number of channels and both sides of the maps."""
    return nn.Sequential(
        OrderedDict(
            bn=nn.BatchNorm2d(before),
            relu=nn.ReLU(inplace=True),
            conv=convolution(before, before // 2, 1),
            pool=nn.AvgPool2d(2),
        )
    )
