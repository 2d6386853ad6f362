"""What networks share, and the small CNN that is made of nothing else; torch."""

from itertools import pairwise
from typing import Final

from torch import Tensor, nn
from torch.nn import functional

WIDTHS: Final = (24, 48, 96)
CHANNELS_IN_A_GROUP: Final = 8


class SmallCnn(nn.Module):
    """Three blocks of 3x3 convolution, group normalisation and ReLU, then a linear layer.

    The first two blocks end in max pooling by 2; 2x2 means of what the third gives are the
    features. Groups of 8 channels are normalised within each image, so that neither the size of a
    batch nor how it is spread over devices changes an answer.

    Parameters
    ----------
    channels : int
        C of the images.
    n_outputs : int
        K columns of logits.

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
