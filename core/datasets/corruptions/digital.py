"""What cameras and computers do to images: colour, form and compression."""

from collections.abc import Sequence
from io import BytesIO
from typing import Final

import numpy as np
from numpy.random import Generator
from PIL import Image

from core.arrays import Float
from core.datasets.corruptions.sampling import Pixels, bell, between

# By severity, of make_cifar_c.py in hendrycks/robustness (ImageNet-C/create_c).
BRIGHTNESS: Final = (0.05, 0.1, 0.15, 0.2, 0.3)  # added to the value
CONTRAST: Final = (0.75, 0.5, 0.4, 0.3, 0.15)  # of the distance to the mean, kept
SATURATE: Final = ((0.3, 0.0), (0.1, 0.0), (1.5, 0.0), (2.0, 0.1), (2.5, 0.2))  # factor, addend
QUALITY: Final = (80, 65, 58, 50, 40)
PIXELS: Final = (0.95, 0.9, 0.85, 0.75, 0.65)  # of a side, kept
# Ripple's height and width, and the largest move of a corner: shares of the image's side.
ELASTIC: Final = (
    (0.0, 0.0, 0.08),
    (0.05, 0.2, 0.07),
    (0.08, 0.06, 0.06),
    (0.1, 0.04, 0.05),
    (0.1, 0.03, 0.03),
)


def brightness(light: Float, place: int, _draws: Sequence[Generator]) -> Float:
    """Raise the value of hue, saturation and value; the other two stay."""
    value = light.max(axis=1, keepdims=True)
    raised = np.minimum(value + BRIGHTNESS[place], 1)
    # black has no colour to keep, so it becomes grey
    scaled = light * (raised / np.where(value > 0, value, 1))
    return np.asarray(np.where(value > 0, scaled, raised))


def saturate(light: Float, place: int, _draws: Sequence[Generator]) -> Float:
    """Change the saturation of hue, saturation and value; one channel has none, and stays.

    A grey pixel of a colour image has the hue of red, by convention, which shows at severities
    4 and 5.
    """
    if light.shape[1] == 1:
        return light
    factor, addend = SATURATE[place]
    value = light.max(axis=1, keepdims=True)
    spread = value - light.min(axis=1, keepdims=True)
    coloured = spread > 0
    saturation = spread / np.where(value > 0, value, 1)
    changed = np.clip(saturation * factor + addend, 0, 1)
    below = (value - light) / np.where(coloured, spread, 1)  # 0 for the top channel, 1 for the last
    below = np.where(coloured, below, np.array([0.0, 1.0, 1.0])[:, None, None])
    return np.asarray(value * (1 - changed * below))


def contrast(light: Float, place: int, _draws: Sequence[Generator]) -> Float:
    """Draw every value towards the mean of its channel."""
    means = light.mean(axis=(2, 3), keepdims=True)
    return np.asarray((light - means) * CONTRAST[place] + means)


def elastic_transform(light: Float, place: int, draws: Sequence[Generator]) -> Float:
    """Map three points of the middle to places nearby, then let the image ripple."""
    height, width = light.shape[-2:]
    side = min(height, width)
    tall, wide, move = (side * share for share in ELASTIC[place])
    moves = np.stack([rng.uniform(-move, move, (3, 2)) for rng in draws])
    ripples = np.stack([rng.uniform(-1, 1, (2, height, width)) for rng in draws])
    down, across = np.mgrid[:height, :width].astype(np.float64)
    places = np.stack([across, down, np.ones_like(down)])
    back = np.einsum("nij,jhw->nihw", _back(height, width, moves), places)
    sheared = between(light, back[:, 1], back[:, 0], "mirror")
    ripples = bell(ripples, wide, mode="reflect", truncate=3.0) * tall
    return between(sheared, down + ripples[:, 1], across + ripples[:, 0], "reflect")


def _back(height: int, width: int, moves: Float) -> Float:
    """Return (n, 2, 3) affine maps from the moved points, given as (x, y), to where they were."""
    x, y, reach = height // 2, width // 2, min(height, width) // 3
    points = np.array([[x + reach, y + reach], [x + reach, y - reach], [x - reach, y - reach]])
    moved = np.concatenate([points + moves, np.ones((len(moves), 3, 1))], axis=2)
    maps = np.linalg.solve(moved, np.broadcast_to(points, moves.shape))
    return np.asarray(maps.transpose(0, 2, 1))


def pixelate(images: Pixels, place: int) -> Pixels:
    """Shrink with Pillow's box filter and enlarge again."""
    height, width = images.shape[2:]
    small = (int(width * PIXELS[place]), int(height * PIXELS[place]))

    def coarse(picture: Image.Image) -> Image.Image:
        shrunk = picture.resize(small, Image.Resampling.BOX)
        return shrunk.resize((width, height), Image.Resampling.BOX)

    return np.stack([_array(coarse(_picture(image))) for image in images])


def jpeg_compression(images: Pixels, place: int) -> Pixels:
    """Store with Pillow as JPEG, and read again."""
    out = []
    for image in images:
        stored = BytesIO()
        _picture(image).save(stored, "JPEG", quality=QUALITY[place])
        with Image.open(stored) as picture:
            out.append(_array(picture))
    return np.stack(out)


def _picture(image: Pixels) -> Image.Image:
    """Return (C, H, W) pixels as a picture, grey where C is 1."""
    pixels = image[0] if len(image) == 1 else image.transpose(1, 2, 0)
    return Image.fromarray(np.ascontiguousarray(pixels))


def _array(picture: Image.Image) -> Pixels:
    pixels = np.asarray(picture)
    return pixels[None] if pixels.ndim == 2 else pixels.transpose(2, 0, 1)
