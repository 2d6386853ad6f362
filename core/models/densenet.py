"""DenseNet-121 for small images, and a small DenseNet for grey films; torch."""

from collections import OrderedDict
from typing import Final

import torch
from torch import Tensor, nn

from core.models.layers import convolution, draw_he_normal

GROWTH: Final = 32
DEPTHS: Final = (6, 12, 24, 16)
SMALL_GROWTH: Final = 12
SMALL_DEPTHS: Final = (3, 3)


class Dense(nn.Module):
    """A 1x1 and a 3x3 convolution, each after its norm; their maps are put before the others.

    Parameters
    ----------
    before : int
        Channels that come in.
    growth : int
        How many more go out.
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

    Parameters
    ----------
    channels, n_outputs : int
        C of the images, K of the logits.

    References
    ----------
    Huang et al. 2017, table 1 and section 3.
    """
    stem = OrderedDict[str, nn.Module](conv1=convolution(channels, 2 * GROWTH, 3))
    return _dense_net(stem, 2 * GROWTH, GROWTH, DEPTHS, n_outputs)


def densenet_small(channels: int, n_outputs: int) -> nn.Sequential:
    """Return a DenseNet of two short stages for grey films: growth 12, three blocks each.

    Stem, pooling and transition each halve both sides: films of 128 x 128 end in maps of 16 x 16.

    Parameters
    ----------
    channels, n_outputs : int
        C of the images, K of the logits.
    """
    before = 2 * SMALL_GROWTH
    stem = OrderedDict[str, nn.Module](
        conv1=convolution(channels, before, 3, stride=2),
        pool1=nn.MaxPool2d(2),
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
