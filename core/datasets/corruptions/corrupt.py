"""Images made worse by name and severity, each by its own seed."""

import zlib
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
from numpy.random import Generator

from core.arrays import Float, Int, row_chunks
from core.datasets.corruptions import blur, digital, noise, spatter, weather
from core.datasets.corruptions.sampling import Pixels
from core.datasets.shifts import CORRUPTIONS, OWN, SEVERITIES
from core.errors import Refused, UsageError

MIN_SIDE: Final = 8
Draws = Sequence[Generator]

# Each takes (n, C, H, W) float64 in 0..1, a severity's place 0 to 4 and n generators, and gives
# values that are cut to 0..1 afterwards.
ON_LIGHT: Final[dict[str, Callable[[Float, int, Draws], Float]]] = {
    "gaussian_noise": noise.gaussian_noise,
    "shot_noise": noise.shot_noise,
    "impulse_noise": noise.impulse_noise,
    "speckle_noise": noise.speckle_noise,
    "defocus_blur": blur.defocus_blur,
    "glass_blur": blur.glass_blur,
    "motion_blur": blur.motion_blur,
    "zoom_blur": blur.zoom_blur,
    "gaussian_blur": blur.gaussian_blur,
    "snow": weather.snow,
    "frost_procedural": weather.frost_procedural,
    "fog": weather.fog,
    "spatter": spatter.spatter,
    "brightness": digital.brightness,
    "contrast": digital.contrast,
    "elastic_transform": digital.elastic_transform,
    "saturate": digital.saturate,
}
# Pillow works on bytes.
ON_BYTES: Final[dict[str, Callable[[Pixels, int], Pixels]]] = {
    "pixelate": digital.pixelate,
    "jpeg_compression": digital.jpeg_compression,
}


def corrupt(images: Pixels, name: str, severity: int, *, seed: int, rows: Int) -> Pixels:
    """Return images with one corruption.

    Parameters
    ----------
    images : (n, C, H, W) uint8
        C is 1 (grey) or 3 (red, green, blue); H and W at least 8.
    name : str
        One of `shifts.OWN`.
    severity : int
        1 to 5.
    seed : int
        At least 0.
    rows : (n,) int64
        Numbers of the images in their set. What happens to an image depends on its pixels, the
        seed, the name, the severity and its number alone, so that batches change nothing.

    Returns
    -------
    (n, C, H, W) uint8
        Values are cut, not rounded, to whole numbers as in the published files.

    Raises
    ------
    UsageError
        SETTING: an unknown name or severity.
    Refused
        IMAGE_SIZE: images smaller than 8 x 8 pixels, or with other channels.
    """
    if name not in OWN:
        raise UsageError("SETTING", f"No corruption is called {name!r}", f"use {', '.join(OWN)}")
    if severity not in SEVERITIES:
        raise UsageError("SETTING", f"Severity is {severity!r}", "use 1, 2, 3, 4 or 5")
    n, channels, height, width = images.shape
    if channels not in (1, 3) or min(height, width) < MIN_SIDE:
        raise Refused(
            "IMAGE_SIZE",
            f"Images of {channels} channels and {height} x {width} pixels cannot be corrupted",
            f"use images of 1 or 3 channels and at least {MIN_SIDE} x {MIN_SIDE} pixels",
        )
    if n and name in ON_BYTES:
        return ON_BYTES[name](images, severity - 1)
    out = np.empty_like(images, order="C")
    for some in row_chunks(n, channels * height * width):
        draws = _draws(name, severity, seed, rows[some])
        light = ON_LIGHT[name](images[some] / 255.0, severity - 1, draws)
        out[some] = (np.clip(light, 0, 1) * 255).astype(np.uint8)
    return out


def _draws(name: str, severity: int, seed: int, rows: Int) -> Draws:
    """Return a generator for each image; none where nothing is drawn."""
    if not CORRUPTIONS[name].random:
        return ()
    word = zlib.crc32(name.encode())
    return [np.random.default_rng((seed, word, severity, row)) for row in rows.tolist()]
