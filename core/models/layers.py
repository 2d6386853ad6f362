"""What networks share: convolutions without bias, initial weights, layers in order; torch."""

from torch import nn


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
