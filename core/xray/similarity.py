"""How alike two heatmaps are; numpy and scipy."""

from typing import Final

import numpy as np
import numpy.typing as npt
from scipy import ndimage

from core.arrays import Float

SIDE: Final = 64  # both maps are brought to it
WINDOW: Final = 7
C1, C2 = 0.01**2, 0.03**2  # Wang et al. 2004, for values of 0 to 1


def ssim(first: npt.NDArray[np.floating], second: npt.NDArray[np.floating]) -> float:
    """Return the structural similarity of two maps, each scaled to its own largest value.

    Parameters
    ----------
    first, second : (h, w) float
        At least 0; sizes may differ.

    Returns
    -------
    float
        In [-1, 1]; 1 for maps of the same form. 0 where one of them is blank and the other is
        not, 1 where both are.

    References
    ----------
    Wang, Bovik, Sheikh and Simoncelli 2004, equation 13, over windows of 7 x 7 of 64 x 64.
    """
    a, b = _scaled(first), _scaled(second)
    if not a.any() or not b.any():
        return float(a.any() == b.any())
    mean_a, mean_b = _local(a), _local(b)
    var_a, var_b = _local(a * a) - mean_a**2, _local(b * b) - mean_b**2
    shared = _local(a * b) - mean_a * mean_b
    light = (2 * mean_a * mean_b + C1) / (mean_a**2 + mean_b**2 + C1)
    structure = (2 * shared + C2) / (var_a + var_b + C2)
    return float((light * structure).mean())


def _scaled(saliency: npt.NDArray[np.floating]) -> Float:
    values = np.asarray(saliency, np.float64)
    zoom = (SIDE / values.shape[0], SIDE / values.shape[1])
    wide = ndimage.zoom(values, zoom, order=1, mode="nearest", grid_mode=True)
    top = values.max()
    return np.asarray(wide / top if top > 0 else np.zeros_like(wide))


def _local(values: Float) -> Float:
    """Return means over windows that lie wholly inside."""
    edge = WINDOW // 2
    means: Float = ndimage.uniform_filter(values, WINDOW)[edge:-edge, edge:-edge]
    return means
