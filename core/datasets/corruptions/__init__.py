"""The corruptions of CIFAR-10-C for any image set; numpy, scipy and Pillow."""

from core.datasets.corruptions.kinds import corrupt

__all__ = ["corrupt"]
