"""Drops of water or mud on the lens."""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.random import Generator
from scipy import ndimage

from core.arrays import Bool, Float
from core.datasets.corruptions.sampling import bell, tinted

# By severity, of make_cifar_c.py in hendrycks/robustness (ImageNet-C/create_c): liquid's mean and
# deviation, bell's deviation, the least that is a drop, then the strength of water or the bell's
# deviation of mud, and whether it is mud.
SPATTER: Final = (
    (0.62, 0.1, 0.7, 0.7, 0.5, False),
    (0.65, 0.1, 0.8, 0.7, 0.5, False),
    (0.65, 0.3, 1.0, 0.69, 0.5, False),
    (0.65, 0.1, 0.7, 0.69, 0.6, True),
    (0.65, 0.1, 0.5, 0.68, 0.6, True),
)
WATER: Final = (175 / 255, 238 / 255, 238 / 255)
MUD: Final = (63 / 255, 42 / 255, 20 / 255)
THIN: Final = 0.8  # mud below this share does not show
WEAK, STRONG = 50, 150  # gradients of an edge
FAR: Final = 20.0  # pixels from an edge, from where all are alike
# What steps to a neighbour cost in OpenCV's distance transform with a mask of 5.
STEPS: Final = {
    (down, across): (0.0, 1.0, 1.4, 0.0, 0.0, 2.1969)[down * down + across * across]
    for down in range(-2, 3)
    for across in range(-2, 3)
    if down * down + across * across in (1, 2, 5)
}
ROUNDING: Final = 1e-6  # of distances: a mean of ones is one
RELIEF: Final = np.array([[-2, -1, 0], [-1, 1, 1], [0, 1, 2]])
# Tangent of 22.5 degrees: the border between level, diagonal and upright gradients.
DIAGONAL: Final = float(np.tan(np.pi / 8))
TOUCHING: Final = np.stack([np.zeros((3, 3)), np.ones((3, 3)), np.zeros((3, 3))])


def spatter(light: Float, place: int, draws: Sequence[Generator]) -> Float:
    """Throw water (severities 1 to 3) or mud (4 and 5) on the image."""
    mean, deviation, sigma, least, strength, mud = SPATTER[place]
    noise = np.stack([rng.normal(mean, deviation, light.shape[2:]) for rng in draws])
    liquid = bell(noise, sigma)
    channels = light.shape[1]
    if mud:
        cover = bell((liquid > least).astype(np.float64), strength)[:, None]
        cover[cover < THIN] = 0
        return np.asarray(light * (1 - cover) + tinted(MUD, channels) * cover)
    # liquid above 1 begins anew at 0, as the bytes of the script do
    greys = np.floor(np.where(liquid < least, 0, liquid) * 255) % 256
    drops = greys * _relief(greys)
    largest = drops.max(axis=(1, 2), keepdims=True)
    # where an image got no drop at all, the script would divide by 0; it then stays as it is
    drops = drops / np.where(largest > 0, largest, 1) * strength
    return np.asarray(light + tinted(WATER, channels) * drops[:, None])


def _relief(greys: Float) -> Float:
    """Return (n, H, W) brightness of drops lit from one side, 0 to 255."""
    height = np.floor(_blurred(_distances(_edges(greys))) + ROUNDING)
    lit = ndimage.correlate(_equalised(height), RELIEF[None].astype(np.float64), mode="mirror")
    return np.rint(_blurred(np.clip(lit, 0, 255)))


def _distances(edges: Bool) -> Float:
    """Return the length of the shortest way to an edge in a few kinds of steps, at most FAR."""
    height, width = edges.shape[1:]
    distances = np.where(edges, 0.0, FAR)
    while True:
        padded = np.pad(distances, ((0, 0), (2, 2), (2, 2)), constant_values=FAR)
        nearer = distances
        for (down, across), cost in STEPS.items():
            beside = padded[:, 2 + down : 2 + down + height, 2 + across : 2 + across + width]
            nearer = np.minimum(nearer, beside + cost)
        if (distances - nearer).max(initial=0) < ROUNDING:
            return distances
        distances = nearer


def _blurred(values: Float) -> Float:
    return np.asarray(ndimage.uniform_filter(values, 3, mode="mirror", axes=(-2, -1)))


def _equalised(greys: Float) -> Float:
    """Return greys 0..255 mapped so that each image's are spread evenly."""
    n = len(greys)
    levels = greys.astype(np.int64)
    cells = levels + 256 * np.arange(n)[:, None, None]
    counts = np.bincount(cells.ravel(), minlength=256 * n).reshape(n, 256)
    up_to = counts.cumsum(axis=1)
    first = np.take_along_axis(counts, counts.astype(bool).argmax(axis=1)[:, None], axis=1)
    above = up_to[:, -1:] - first
    scale = np.float32(255) / np.where(above > 0, above, 1).astype(np.float32)
    table = np.rint((up_to - first).astype(np.float32) * scale)  # ties fall as OpenCV's do
    table = np.where(above > 0, np.maximum(table, 0), np.arange(256))  # a single level stays
    return np.asarray(table[np.arange(n)[:, None, None], levels])


def _edges(greys: Float) -> Bool:
    """Return Canny's edges: ridges of the gradient, weak ones only beside strong ones."""
    down = _sobel(greys, -2)
    across = _sobel(greys, -1)
    strength = np.abs(down) + np.abs(across)
    ridge = _is_ridge(strength, down, across)
    weak = ridge & (strength > WEAK)
    regions, n_regions = ndimage.label(weak, structure=TOUCHING)
    strong = np.zeros(n_regions + 1, bool)
    strong[regions[ridge & (strength > STRONG)]] = True
    strong[0] = False
    return np.asarray(strong[regions])


def _sobel(greys: Float, axis: int) -> Float:
    """Return Sobel's derivative along one of the last two axes."""
    other = -3 - axis
    slope = ndimage.correlate1d(greys, [-1, 0, 1], axis, mode="nearest")
    return np.asarray(ndimage.correlate1d(slope, [1, 2, 1], other, mode="nearest"))


def _is_ridge(strength: Float, down: Float, across: Float) -> Bool:
    """Return where the gradient is largest across its edge; outside an image it is 0."""
    padded = np.pad(strength, ((0, 0), (1, 1), (1, 1)))
    height, width = strength.shape[1:]

    def beside(row: int, column: int) -> Float:
        return padded[:, 1 + row : 1 + row + height, 1 + column : 1 + column + width]

    level = np.abs(down) < DIAGONAL * np.abs(across)
    upright = np.abs(across) < DIAGONAL * np.abs(down)
    falling = down * across >= 0  # the gradient points down right, or up left
    slanted = np.where(
        falling,
        (strength > beside(-1, -1)) & (strength > beside(1, 1)),
        (strength > beside(-1, 1)) & (strength > beside(1, -1)),
    )
    sideways = (strength > beside(0, -1)) & (strength >= beside(0, 1))
    endways = (strength > beside(-1, 0)) & (strength >= beside(1, 0))
    return np.asarray(np.where(level, sideways, np.where(upright, endways, slanted)))
