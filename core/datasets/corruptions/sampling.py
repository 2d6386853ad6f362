"""What several corruptions are made of: bells, zooms, streaks and values between pixels."""

from typing import Final, Literal

import numpy as np
import numpy.typing as npt
from scipy import ndimage

from core.arrays import Float, Int

Pixels = npt.NDArray[np.uint8]
# Share of red, green and blue in a grey; ITU-R BT.601.
LUMA: Final = np.array([0.299, 0.587, 0.114])


def luma(light: Float) -> Float:
    """Return (n, 1, H, W) greys of (n, C, H, W) light."""
    if light.shape[1] == 1:
        return light
    return np.asarray(np.tensordot(light, LUMA, axes=(1, 0))[:, None])


def tinted(colour: tuple[float, float, float], channels: int) -> Float:
    """Return a colour of red, green and blue as (C, 1, 1) light: its grey where C is 1."""
    red_green_blue = np.array(colour)
    chosen = red_green_blue if channels == 3 else np.array([red_green_blue @ LUMA])
    return np.asarray(chosen[:, None, None])


def bell(
    light: Float,
    sigma: float,
    mode: Literal["nearest", "reflect"] = "nearest",
    truncate: float = 4.0,
) -> Float:
    """Return light spread over a normal bell along its last two axes."""
    return np.asarray(
        ndimage.gaussian_filter(light, sigma, mode=mode, truncate=truncate, axes=(-2, -1))
    )


def zoomed(light: Float, factor: float) -> Float:
    """Return the middle of (n, C, H, W) light enlarged linearly to the old size.

    The script cuts out ceil(side / factor) pixels, stretches them to the nearest whole number of
    pixels so that first and last stay first and last, and cuts the old size out of the middle.
    """
    for axis in (-2, -1):
        side = light.shape[axis]
        inner = int(np.ceil(side / factor))
        outer = round(inner * factor)
        first = (outer - side) // 2
        step = (inner - 1) / (outer - 1)
        places = (side - inner) // 2 + np.arange(first, first + side) * step
        low = np.minimum(np.floor(places).astype(np.int64), side - 2)
        share = places - low
        if axis == -2:
            share = share[:, None]
        light = np.asarray(light.take(low, axis) * (1 - share) + light.take(low + 1, axis) * share)
    return light


def streaked(light: Float, radius: int, sigma: float, degrees: Float) -> Float:
    """Return (n, C, H, W) light smeared along a direction of each image.

    Parameters
    ----------
    radius : int
        The streak has 2 * radius + 1 pixels, all on one side of the pixel that they fall on.
    sigma : float
        Weights fall as half a normal bell of this width.
    degrees : (n,) float64
        Clockwise from the right, where rows count downwards.

    Returns
    -------
    (n, C, H, W) float64
        Beyond its edges an image goes on with its outermost pixels.
    """
    steps = np.arange(2 * radius + 1)
    weights = np.exp(-(steps**2) / (2 * sigma**2))
    weights /= weights.sum()
    offsets = steps[weights > NEGLIGIBLE]
    reach = int(offsets[-1])
    height, width = light.shape[-2:]
    around = ((0, 0), (0, 0), (reach, reach), (reach, reach))
    padded = np.pad(light, around, mode="edge")
    out = np.zeros_like(light)
    for row, angle in enumerate(np.deg2rad(degrees)):
        # half a pixel goes down, as in ImageMagick's rounding
        tops = reach + np.ceil(offsets * np.sin(angle) - 0.5).astype(np.int64)
        lefts = reach + np.ceil(offsets * np.cos(angle) - 0.5).astype(np.int64)
        for weight, top, left in zip(weights, tops, lefts, strict=False):
            out[row] += weight * padded[row, :, top : top + height, left : left + width]
    return out


NEGLIGIBLE: Final = 1e-7  # of a weight: far below one of 255 levels


def between(light: Float, down: Float, across: Float, mode: str) -> Float:
    """Return light at places between pixels, linearly.

    Parameters
    ----------
    light : (n, C, H, W) float64
    down, across : (n, H, W) float64
        Row and column to read at, perhaps outside.
    mode : str
        `mirror`: the outermost pixel is the mirror; `reflect`: its outer edge is.
    """
    n, _, height, width = light.shape
    top, left = np.floor(down).astype(np.int64), np.floor(across).astype(np.int64)
    lower, right = (down - top)[:, None], (across - left)[:, None]
    rows = [_folded(top + step, height, mode) for step in (0, 1)]
    columns = [_folded(left + step, width, mode) for step in (0, 1)]
    image = np.arange(n)[:, None, None]

    def at(row: Int, column: Int) -> Float:
        return np.moveaxis(light[image, :, row, column], -1, 1)

    upper = at(rows[0], columns[0]) * (1 - right) + at(rows[0], columns[1]) * right
    under = at(rows[1], columns[0]) * (1 - right) + at(rows[1], columns[1]) * right
    return upper * (1 - lower) + under * lower


def _folded(places: Int, side: int, mode: str) -> Int:
    """Return places inside 0..side-1 for any whole numbers."""
    if mode == "mirror":
        turned = np.abs(places) % (2 * side - 2)
        return np.asarray(np.minimum(turned, 2 * side - 2 - turned))
    turned = places % (2 * side)
    return np.asarray(np.minimum(turned, 2 * side - 1 - turned))
