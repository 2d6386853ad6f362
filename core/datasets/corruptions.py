"""The corruptions of CIFAR-10-C for any image set, each image by its own seed; no torch."""

import zlib
from collections.abc import Callable, Sequence
from io import BytesIO
from typing import Final, Literal

import numpy as np
import numpy.typing as npt
from numpy.random import Generator
from PIL import Image
from scipy import ndimage

from core.arrays import Bool, Float, Int, row_chunks
from core.datasets.shifts import CORRUPTIONS, OWN, SEVERITIES
from core.errors import Refused, UsageError

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
        # The two whole numbers that the script's cut and stretch end
        # at, without making the larger image.
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
    # Steps whose weight cannot change a level of 255 are left out.
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
    # The four pixels around each place, those outside folded back in.
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


# The corruptions.
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
    # Canny's edges: ridges of the gradient, weak ones only beside strong ones
    down = _sobel(greys, -2)
    across = _sobel(greys, -1)
    strength = np.abs(down) + np.abs(across)
    ridge = _is_ridge(strength, down, across)
    weak = ridge & (strength > WEAK)
    # Hysteresis: a weak ridge is an edge where the region that it is in has a strong one. A label
    # for each image, as TOUCHING does not join neighbouring images.
    regions, n_regions = ndimage.label(weak, structure=TOUCHING)
    strong = np.zeros(n_regions + 1, bool)
    strong[regions[ridge & (strength > STRONG)]] = True
    strong[0] = False
    edges = np.asarray(strong[regions])
    height = np.floor(_blurred(_distances(edges)) + ROUNDING)
    # Greys 0..255 mapped so that each image's are spread evenly
    n = len(height)
    levels = height.astype(np.int64)
    cells = levels + 256 * np.arange(n)[:, None, None]
    counts = np.bincount(cells.ravel(), minlength=256 * n).reshape(n, 256)
    up_to = counts.cumsum(axis=1)
    first = np.take_along_axis(counts, counts.astype(bool).argmax(axis=1)[:, None], axis=1)
    above = up_to[:, -1:] - first
    scale = np.float32(255) / np.where(above > 0, above, 1).astype(np.float32)
    table = np.rint((up_to - first).astype(np.float32) * scale)  # ties fall as OpenCV's do
    table = np.where(above > 0, np.maximum(table, 0), np.arange(256))  # a single level stays
    # Histogram equalisation per image, by a table of 256 greys.
    equalised = np.asarray(table[np.arange(n)[:, None, None], levels])
    lit = ndimage.correlate(equalised, RELIEF[None].astype(np.float64), mode="mirror")
    return np.rint(_blurred(np.clip(lit, 0, 255)))


def _distances(edges: Bool) -> Float:
    """Return the length of the shortest way to an edge in a few kinds of steps, at most FAR."""
    height, width = edges.shape[1:]
    distances = np.where(edges, 0.0, FAR)
    # Until no pixel gets nearer: a chamfer distance, in which a way may turn as often as it likes.
    while True:
        padded = np.pad(distances, ((0, 0), (2, 2), (2, 2)), constant_values=FAR)
        nearer = distances
        for (down, across), cost in STEPS.items():
            reached = padded[:, 2 + down : 2 + down + height, 2 + across : 2 + across + width]
            nearer = np.minimum(nearer, reached + cost)
        if (distances - nearer).max(initial=0) < ROUNDING:
            return distances
        distances = nearer


def _blurred(values: Float) -> Float:
    return np.asarray(ndimage.uniform_filter(values, 3, mode="mirror", axes=(-2, -1)))


def _sobel(greys: Float, axis: int) -> Float:
    """Return Sobel's derivative along one of the last two axes."""
    other = -3 - axis
    slope = ndimage.correlate1d(greys, [-1, 0, 1], axis, mode="nearest")
    return np.asarray(ndimage.correlate1d(slope, [1, 2, 1], other, mode="nearest"))


def _is_ridge(strength: Float, down: Float, across: Float) -> Bool:
    """Return where the gradient is largest across its edge; outside an image it is 0."""
    padded = np.pad(strength, ((0, 0), (1, 1), (1, 1)))
    height, width = strength.shape[1:]

    def neighbour(row: int, column: int) -> Float:
        return padded[:, 1 + row : 1 + row + height, 1 + column : 1 + column + width]

    level = np.abs(down) < DIAGONAL * np.abs(across)
    upright = np.abs(across) < DIAGONAL * np.abs(down)
    falling = down * across >= 0  # the gradient points down right, or up left
    slanted = np.where(
        falling,
        (strength > neighbour(-1, -1)) & (strength > neighbour(1, 1)),
        (strength > neighbour(-1, 1)) & (strength > neighbour(1, -1)),
    )
    sideways = (strength > neighbour(0, -1)) & (strength >= neighbour(0, 1))
    endways = (strength > neighbour(-1, 0)) & (strength >= neighbour(1, 0))
    return np.asarray(np.where(level, sideways, np.where(upright, endways, slanted)))


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
    # For each pixel of the result where it comes from: an
    # affine map backwards, then a ripple added.
    back = np.einsum("nij,jhw->nihw", _back(height, width, moves), places)
    sheared = between(light, back[:, 1], back[:, 0], "mirror")
    ripples = bell(ripples, wide, mode="reflect", truncate=3.0) * tall
    return between(sheared, down + ripples[:, 1], across + ripples[:, 0], "reflect")


def _back(height: int, width: int, moves: Float) -> Float:
    """Return (n, 2, 3) affine maps from the moved points, given as (x, y), to where they were."""
    x, y, reach = height // 2, width // 2, min(height, width) // 3
    points = np.array([[x + reach, y + reach], [x + reach, y - reach], [x - reach, y - reach]])
    moved = np.concatenate([points + moves, np.ones((len(moves), 3, 1))], axis=2)
    # Three points before and after decide an affine map; solved
    # from the moved ones to where they were.
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


# By severity, of make_cifar_c.py in hendrycks/robustness (ImageNet-C/create_c).
# Flakes' mean and deviation, their zoom, the least that shows, streak's radius and deviation, and
# the share of the image that is not whitened.
SNOW: Final = (
    (0.1, 0.2, 1.0, 0.6, 8, 3.0, 0.95),
    (0.1, 0.2, 1.0, 0.5, 10, 4.0, 0.9),
    (0.15, 0.3, 1.75, 0.55, 10, 4.0, 0.9),
    (0.25, 0.3, 2.25, 0.6, 12, 6.0, 0.85),
    (0.3, 0.3, 1.25, 0.65, 14, 12.0, 0.8),
)
FROST: Final = ((1.0, 0.2), (1.0, 0.3), (0.9, 0.4), (0.85, 0.4), (0.75, 0.45))  # image, frost
FOG: Final = ((0.2, 3.0), (0.5, 3.0), (0.75, 2.5), (1.0, 2.0), (1.5, 1.75))  # fog, decay
# Ours, chosen by eye: how often a crystal begins, how long its needles are, and their colours.
SEEDS, NEEDLE, HAZE_DECAY = 0.04, (6, 3.0), 2.0
HAZE: Final = (0.42, 0.55, 0.70)
ICE: Final = (0.90, 0.96, 1.0)


def snow(light: Float, place: int, draws: Sequence[Generator]) -> Float:
    """Whiten the image and lay smeared flakes over it, twice: as drawn and upside down."""
    mean, deviation, zoom, least, radius, sigma, own_share = SNOW[place]
    shape = (1, *light.shape[2:])
    flakes = np.stack([rng.normal(mean, deviation, shape) for rng in draws])
    flakes = zoomed(flakes, zoom)
    flakes[flakes < least] = 0
    degrees = np.array([rng.uniform(-135, -45) for rng in draws])
    # the script's flakes go through two pictures of 256 greys
    greys = np.floor(np.clip(flakes, 0, 1) * 255)
    fallen = np.floor(streaked(greys, radius, sigma, degrees)) / 255
    whitened = np.maximum(light, luma(light) * 1.5 + 0.5)
    return own_share * light + (1 - own_share) * whitened + fallen + fallen[:, :, ::-1, ::-1]


def fog(light: Float, place: int, draws: Sequence[Generator]) -> Float:
    """Add clouds, then scale so that the brightest value an image can have stays."""
    thickness, decay = FOG[place]
    top = light.max(axis=(1, 2, 3), keepdims=True)
    return np.asarray((light + thickness * _clouds(light, decay, draws)) * top / (top + thickness))


def frost_procedural(light: Float, place: int, draws: Sequence[Generator]) -> Float:
    """Mix in a haze with needles of ice along three directions, 60 degrees apart."""
    own_share, frost = FROST[place]
    shape = (1, *light.shape[2:])
    haze = _clouds(light, HAZE_DECAY, draws)
    seeds = np.stack([rng.random(shape) < SEEDS for rng in draws]).astype(np.float64)
    turn = np.array([rng.uniform(0, 60) for rng in draws])
    ice = np.zeros_like(seeds)
    for degrees in range(0, 360, 60):
        needles = streaked(seeds, *NEEDLE, turn + degrees)
        ice = np.maximum(ice, needles / needles.max(initial=1e-9, axis=(1, 2, 3), keepdims=True))
    channels = light.shape[1]
    texture = haze * tinted(HAZE, channels)
    texture = texture + ice * (tinted(ICE, channels) - texture)
    return own_share * light + frost * texture


def _clouds(light: Float, decay: float, draws: Sequence[Generator]) -> Float:
    """Return (n, 1, H, W) clouds, cut from a map of the next power of two."""
    height, width = light.shape[2:]
    side = 1 << (max(height, width) - 1).bit_length()
    uniform = np.stack([rng.uniform(-1, 1, (side, side)) for rng in draws])
    return plasma(uniform, decay)[:, None, :height, :width]


def plasma(uniform: Float, decay: float) -> Float:
    """Return the diamond-square fractals of uniform draws.

    Parameters
    ----------
    uniform : (n, S, S) float64 in -1..1
        The draw of each point; S is a power of two. The first corner takes none.
    decay : float
        By which the displacements shrink, each time that the step is halved.

    Returns
    -------
    (n, S, S) float64
        From 0 to 1 in each; opposite edges continue one another.
    """
    field = np.zeros_like(uniform)
    step, reach = uniform.shape[-1], 100.0
    while step >= 2:
        half = step // 2
        # Diamond: the middle of each square from its four corners;
        # edges join, since np.roll wraps around.
        corners = field[:, ::step, ::step]
        pairs = corners + np.roll(corners, -1, axis=1)
        middle = (slice(None), slice(half, None, step), slice(half, None, step))
        _displace(field, middle, pairs + np.roll(pairs, -1, axis=2), uniform, reach)
        # Square: the middle of each side from two corners and the two centres beside it.
        centres = field[middle]
        top = (slice(None), slice(None, None, step), slice(half, None, step))
        left = (slice(None), slice(half, None, step), slice(None, None, step))
        around_top = centres + np.roll(centres, 1, axis=1) + corners + np.roll(corners, -1, axis=2)
        around_left = centres + np.roll(centres, 1, axis=2) + corners + np.roll(corners, -1, axis=1)
        _displace(field, top, around_top, uniform, reach)
        _displace(field, left, around_left, uniform, reach)
        step, reach = half, reach / decay
    field -= field.min(axis=(1, 2), keepdims=True)
    return np.asarray(field / field.max(axis=(1, 2), keepdims=True))


def _displace(
    field: Float, points: tuple[slice, ...], four: Float, uniform: Float, reach: float
) -> None:
    """Set points to the mean of four, displaced by up to reach squared, as the script does."""
    field[points] = four / 4 + reach**2 * uniform[points]


# By severity, of make_cifar_c.py in hendrycks/robustness (ImageNet-C/create_c).
GAUSSIAN_BLUR: Final = (0.4, 0.6, 0.7, 0.8, 1.0)  # standard deviation in pixels
GLASS: Final = ((0.05, 1), (0.25, 1), (0.4, 1), (0.25, 2), (0.4, 2))  # deviation, rounds
DEFOCUS: Final = ((0.3, 0.4), (0.4, 0.5), (0.5, 0.6), (1.0, 0.2), (1.5, 0.1))  # radius, deviation
MOTION: Final = ((6, 1.0), (6, 1.5), (6, 2.0), (8, 2.0), (9, 2.5))  # radius, deviation
ZOOM_ENDS: Final = (1.06, 1.11, 1.16, 1.21, 1.26)  # not reached, but for rounding
ZOOM_STEP: Final = 0.01


def gaussian_blur(light: Float, place: int, _draws: Sequence[Generator]) -> Float:
    """Spread every pixel over a normal bell, cut at four deviations."""
    return bell(light, GAUSSIAN_BLUR[place])


def glass_blur(light: Float, place: int, draws: Sequence[Generator]) -> Float:
    """Let pixels take the colour of a neighbour above, left or both, between two blurs.

    The script means to swap the two, but its arrays are views, so the neighbour keeps its own
    colour. It goes through the pixels from the last to the first, so no colour travels further
    than one step in a round. Its two first rows and columns are never changed.
    """
    sigma, rounds = GLASS[place]
    n, _, height, width = light.shape
    moved = np.floor(bell(light, sigma) * 255)
    rows, columns = np.meshgrid(np.arange(2, height), np.arange(2, width), indexing="ij")
    steps = np.stack([rng.integers(-1, 1, (rounds, 2, *rows.shape)) for rng in draws])
    image = np.arange(n)[:, None, None]
    for turn in range(rounds):
        neighbours = moved[image, :, rows + steps[:, turn, 0], columns + steps[:, turn, 1]]
        moved[:, :, 2:, 2:] = np.moveaxis(neighbours, -1, 1)
    return bell(moved / 255, sigma)


def defocus_blur(light: Float, place: int, _draws: Sequence[Generator]) -> Float:
    """Spread every pixel over a small disk with soft edges."""
    kernel = disk(*DEFOCUS[place])[None, None]
    return np.asarray(ndimage.correlate(light, kernel, mode="mirror"))


def disk(radius: float, sigma: float) -> Float:
    """Return a disk's pixels, softened by a normal bell of three pixels; they sum to one."""
    reach = int(radius) + 1
    down, across = np.mgrid[-reach : reach + 1, -reach : reach + 1]
    inside = (down**2 + across**2 <= radius**2).astype(np.float64)
    soft = np.exp(-(np.arange(-1, 2) ** 2) / (2 * sigma**2))
    soft /= soft.sum()
    for axis in (0, 1):
        inside = ndimage.correlate1d(inside, soft, axis, mode="constant")
    return np.asarray(inside / inside.sum())


def motion_blur(light: Float, place: int, draws: Sequence[Generator]) -> Float:
    """Smear the image to one side, within 45 degrees of the horizontal."""
    degrees = np.array([rng.uniform(-45, 45) for rng in draws])
    return streaked(light, *MOTION[place], degrees)


def zoom_blur(light: Float, place: int, _draws: Sequence[Generator]) -> Float:
    """Average the image with itself enlarged in steps of one in a hundred."""
    factors = np.arange(1, ZOOM_ENDS[place], ZOOM_STEP)
    total = light.copy()
    for factor in factors:
        total += zoomed(light, float(factor))
    return total / (len(factors) + 1)


# By severity, of make_cifar_c.py in hendrycks/robustness (ImageNet-C/create_c).
GAUSSIAN: Final = (0.04, 0.06, 0.08, 0.09, 0.10)  # standard deviation
PHOTONS: Final = (500, 250, 100, 75, 50)  # that white counts
IMPULSES: Final = (0.01, 0.02, 0.03, 0.05, 0.07)  # share of the values
SPECKLE: Final = (0.06, 0.1, 0.12, 0.16, 0.2)  # standard deviation, relative


def gaussian_noise(light: Float, place: int, draws: Sequence[Generator]) -> Float:
    """Add normal noise."""
    return light + _normal(light, draws) * GAUSSIAN[place]


def shot_noise(light: Float, place: int, draws: Sequence[Generator]) -> Float:
    """Count photons, whose expected number is proportional to the light."""
    photons = PHOTONS[place]
    counts = [rng.poisson(image * photons) for rng, image in zip(draws, light, strict=True)]
    return np.stack(counts) / photons


def impulse_noise(light: Float, place: int, draws: Sequence[Generator]) -> Float:
    """Set a share of the values, channels apart, to 0 or 1 with equal chances."""
    uniform = np.stack([rng.random(light.shape[1:]) for rng in draws])
    half = IMPULSES[place] / 2
    return np.where(uniform < half, 0.0, np.where(uniform < 2 * half, 1.0, light))


def speckle_noise(light: Float, place: int, draws: Sequence[Generator]) -> Float:
    """Add normal noise in proportion to the light."""
    return light + light * _normal(light, draws) * SPECKLE[place]


def _normal(light: Float, draws: Sequence[Generator]) -> Float:
    return np.stack([rng.standard_normal(light.shape[1:]) for rng in draws])


MIN_SIDE: Final = 8
Draws = Sequence[Generator]

# Each takes (n, C, H, W) float64 in 0..1, a severity's place 0 to 4 and n generators, and gives
# values that are cut to 0..1 afterwards.
ON_LIGHT: Final[dict[str, Callable[[Float, int, Draws], Float]]] = {
    "gaussian_noise": gaussian_noise,
    "shot_noise": shot_noise,
    "impulse_noise": impulse_noise,
    "speckle_noise": speckle_noise,
    "defocus_blur": defocus_blur,
    "glass_blur": glass_blur,
    "motion_blur": motion_blur,
    "zoom_blur": zoom_blur,
    "gaussian_blur": gaussian_blur,
    "snow": snow,
    "frost_procedural": frost_procedural,
    "fog": fog,
    "spatter": spatter,
    "brightness": brightness,
    "contrast": contrast,
    "elastic_transform": elastic_transform,
    "saturate": saturate,
}
# Pillow works on bytes.
ON_BYTES: Final[dict[str, Callable[[Pixels, int], Pixels]]] = {
    "pixelate": pixelate,
    "jpeg_compression": jpeg_compression,
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
        what = f"Images of {channels} channels and {height} x {width} pixels cannot be corrupted"
        remedy = f"use images of 1 or 3 channels and at least {MIN_SIDE} x {MIN_SIDE} pixels"
        raise Refused("IMAGE_SIZE", what, remedy)
    # Pillow's filters know no randomness, and see each image by itself.
    if n and name in ON_BYTES:
        return ON_BYTES[name](images, severity - 1)
    out = np.empty_like(images, order="C")
    word = zlib.crc32(name.encode())
    for some in row_chunks(n, channels * height * width):
        draws: Draws = ()
        if CORRUPTIONS[name].random:  # a generator for each image
            # By the image's own number, so that a batch of another size, or
            # a part of the set, gets the same draws.
            seeds = ((seed, word, severity, row) for row in rows[some].tolist())
            draws = list(map(np.random.default_rng, seeds))
        light = ON_LIGHT[name](images[some] / 255.0, severity - 1, draws)
        out[some] = (np.clip(light, 0, 1) * 255).astype(np.uint8)
    return out
