"""Corruptions made by scikit-image, OpenCV, Pillow and ImageMagick: what ours are held against.

One image at a time, with the calls that make_cifar_c.py of hendrycks/robustness makes, and its
constants written down a second time. Each takes an (H, W, 3) uint8 image, a severity and a numpy
generator, and returns (H, W, 3) values of 0 to 255, which the caller cuts to whole numbers.
"""

from collections.abc import Callable
from io import BytesIO

import cv2
import numpy as np
from PIL import Image
from scipy import ndimage
from skimage import color, filters, util

try:  # needs ImageMagick's library, which pip does not bring
    from wand.image import Image as Magick
except ImportError:
    Magick = None

Peer = Callable[[np.ndarray, int, np.random.Generator], np.ndarray]


def of(severity: int, *constants):
    return constants[severity - 1]


def unit(image):
    return image / 255.0


def bytes_of(light):
    return np.clip(light, 0, 1) * 255


def gaussian_noise(image, severity, rng):
    scale = of(severity, 0.04, 0.06, 0.08, 0.09, 0.10)
    return bytes_of(unit(image) + rng.normal(size=image.shape, scale=scale))


def shot_noise(image, severity, rng):
    rate = of(severity, 500, 250, 100, 75, 50)
    return bytes_of(rng.poisson(unit(image) * rate) / float(rate))


def impulse_noise(image, severity, rng):
    amount = of(severity, 0.01, 0.02, 0.03, 0.05, 0.07)
    return bytes_of(util.random_noise(unit(image), mode="s&p", amount=amount, rng=rng))


def speckle_noise(image, severity, rng):
    scale = of(severity, 0.06, 0.1, 0.12, 0.16, 0.2)
    light = unit(image)
    return bytes_of(light + light * rng.normal(size=image.shape, scale=scale))


def gaussian_blur(image, severity, rng):
    sigma = of(severity, 0.4, 0.6, 0.7, 0.8, 1)
    return bytes_of(filters.gaussian(unit(image), sigma=sigma, channel_axis=-1))


def glass_blur(image, severity, rng):
    sigma, delta, rounds = of(
        severity, (0.05, 1, 1), (0.25, 1, 1), (0.4, 1, 1), (0.25, 1, 2), (0.4, 1, 2)
    )
    out = np.uint8(filters.gaussian(unit(image), sigma=sigma, channel_axis=-1) * 255)
    height, width = out.shape[:2]
    for _ in range(rounds):
        for row in range(height - delta, delta, -1):
            for column in range(width - delta, delta, -1):
                dx, dy = rng.integers(-delta, delta, size=2)
                # a swap of two views: the second assignment reads what the first one wrote
                one, other = out[row, column], out[row + dy, column + dx]
                one[:], other[:] = other, one
    return bytes_of(filters.gaussian(out / 255.0, sigma=sigma, channel_axis=-1))


def defocus_blur(image, severity, rng):
    radius, sigma = of(severity, (0.3, 0.4), (0.4, 0.5), (0.5, 0.6), (1, 0.2), (1.5, 0.1))
    x, y = np.meshgrid(np.arange(-8, 9), np.arange(-8, 9))
    disk = np.array(x**2 + y**2 <= radius**2, dtype=np.float32)
    kernel = cv2.GaussianBlur(disk / disk.sum(), ksize=(3, 3), sigmaX=sigma)
    light = unit(image)
    planes = [cv2.filter2D(np.ascontiguousarray(light[:, :, k]), -1, kernel) for k in range(3)]
    return bytes_of(np.stack(planes, axis=2))


def magick_blur(image, radius, sigma, angle):
    """ImageMagick's motion blur of (H, W) or (H, W, 3) uint8."""
    stored = BytesIO()
    Image.fromarray(image).save(stored, format="PNG")
    with Magick(blob=stored.getvalue()) as picture:
        picture.motion_blur(radius=radius, sigma=sigma, angle=angle)
        flags = cv2.IMREAD_UNCHANGED
        found = cv2.imdecode(np.frombuffer(picture.make_blob("PNG"), np.uint8), flags)
    if image.ndim == 2:
        return found if found.ndim == 2 else found[..., 0]
    return found[..., ::-1] if found.ndim == 3 else np.repeat(found[..., None], 3, axis=2)


def plain_blur(image, radius, sigma, angle):
    """The same kernel by OpenCV's filter: half a bell laid along a line of whole pixels."""
    reach = 2 * radius
    kernel = np.zeros((2 * reach + 1, 2 * reach + 1))
    for step in range(reach + 1):
        down = round(step * np.sin(np.radians(angle)))
        across = round(step * np.cos(np.radians(angle)))
        kernel[reach + down, reach + across] += np.exp(-(step**2) / (2 * sigma**2))
    kernel /= kernel.sum()
    blurred = cv2.filter2D(image.astype(np.float64), -1, kernel, borderType=cv2.BORDER_REPLICATE)
    return blurred.astype(np.uint8)  # cut to whole numbers, as ImageMagick 6.9 does


blur_along = plain_blur if Magick is None else magick_blur


def motion_blur(image, severity, rng):
    radius, sigma = of(severity, (6, 1), (6, 1.5), (6, 2), (8, 2), (9, 2.5))
    return blur_along(image, radius, sigma, rng.uniform(-45, 45)).astype(float)


def clipped_zoom(light, factor):
    side = light.shape[0]
    inner = int(np.ceil(side / factor))
    top = (side - inner) // 2
    cut = light[top : top + inner, top : top + inner]
    large = ndimage.zoom(cut, (factor, factor, 1), order=1)
    trim = (large.shape[0] - side) // 2
    return large[trim : trim + side, trim : trim + side]


def zoom_blur(image, severity, rng):
    factors = np.arange(1, of(severity, 1.06, 1.11, 1.16, 1.21, 1.26), 0.01)
    light = unit(image).astype(np.float32)
    total = np.zeros_like(light)
    for factor in factors:
        total += clipped_zoom(light, factor)
    return bytes_of((light + total) / (len(factors) + 1))


def plasma(side, decay, rng):
    """Diamond-square point by point, round the edges; reach squared, as the script has it."""
    field = np.zeros((side, side))
    step, reach = side, 100.0

    def displaced(points):
        total = sum(field[row % side, column % side] for row, column in points)
        return total / 4 + reach * rng.uniform(-reach, reach)

    while step >= 2:
        half = step // 2
        for row in range(0, side, step):
            for column in range(0, side, step):
                square = [(row + a, column + b) for a in (0, step) for b in (0, step)]
                field[row + half, column + half] = displaced(square)
        for first in (0, half):
            for row in range(first, side, step):
                for column in range(half - first, side, step):
                    cross = [(row + half, column), (row - half, column)]
                    cross += [(row, column + half), (row, column - half)]
                    field[row, column] = displaced(cross)
        step, reach = half, reach / decay
    field -= field.min()
    return field / field.max()


def fog(image, severity, rng):
    amount, decay = of(severity, (0.2, 3), (0.5, 3), (0.75, 2.5), (1, 2), (1.5, 1.75))
    light = unit(image)
    top = light.max()
    clouds = plasma(32, decay, rng)[: image.shape[0], : image.shape[1], None]
    return bytes_of((light + amount * clouds) * top / (top + amount))


def snow(image, severity, rng):
    mean, deviation, zoom, least, radius, sigma, kept = of(
        severity,
        (0.1, 0.2, 1, 0.6, 8, 3, 0.95),
        (0.1, 0.2, 1, 0.5, 10, 4, 0.9),
        (0.15, 0.3, 1.75, 0.55, 10, 4, 0.9),
        (0.25, 0.3, 2.25, 0.6, 12, 6, 0.85),
        (0.3, 0.3, 1.25, 0.65, 14, 12, 0.8),
    )
    light = unit(image).astype(np.float32)
    layer = rng.normal(size=light.shape[:2], loc=mean, scale=deviation)
    layer = clipped_zoom(layer[..., None], zoom)[..., 0]
    layer[layer < least] = 0
    layer = (np.clip(layer, 0, 1) * 255).astype(np.uint8)
    layer = blur_along(layer, radius, sigma, rng.uniform(-135, -45))[..., None] / 255.0
    grey = cv2.cvtColor(light, cv2.COLOR_RGB2GRAY)[..., None]
    light = kept * light + (1 - kept) * np.maximum(light, grey * 1.5 + 0.5)
    return bytes_of(light + layer + np.rot90(layer, k=2))


def spatter(image, severity, rng):
    mean, deviation, sigma, least, strength, mud = of(
        severity,
        (0.62, 0.1, 0.7, 0.7, 0.5, 0),
        (0.65, 0.1, 0.8, 0.7, 0.5, 0),
        (0.65, 0.3, 1, 0.69, 0.5, 0),
        (0.65, 0.1, 0.7, 0.69, 0.6, 1),
        (0.65, 0.1, 0.5, 0.68, 0.6, 1),
    )
    light = unit(image).astype(np.float32)
    liquid = filters.gaussian(rng.normal(size=light.shape[:2], loc=mean, scale=deviation), sigma)
    liquid[liquid < least] = 0
    if mud:
        cover = filters.gaussian(np.where(liquid > least, 1, 0).astype(np.float32), strength)
        cover = np.where(cover < 0.8, 0, cover)[..., None]
        return bytes_of(light * (1 - cover) + np.array([63, 42, 20]) / 255 * cover)
    liquid = (liquid * 255).astype(np.uint8)
    distance = cv2.distanceTransform(255 - cv2.Canny(liquid, 50, 150), cv2.DIST_L2, 5)
    _, distance = cv2.threshold(distance, 20, 20, cv2.THRESH_TRUNC)
    relief = cv2.equalizeHist(cv2.blur(distance, (3, 3)).astype(np.uint8))
    relief = cv2.filter2D(relief, cv2.CV_8U, np.array([[-2, -1, 0], [-1, 1, 1], [0, 1, 2]]))
    drops = liquid * cv2.blur(relief, (3, 3)).astype(np.float32)
    drops = drops / drops.max() * strength if drops.max() > 0 else drops
    return bytes_of(light + drops[..., None] * np.array([175, 238, 238]) / 255)


def contrast(image, severity, rng):
    kept = of(severity, 0.75, 0.5, 0.4, 0.3, 0.15)
    light = unit(image)
    means = np.mean(light, axis=(0, 1), keepdims=True)
    return bytes_of((light - means) * kept + means)


def brightness(image, severity, rng):
    hsv = color.rgb2hsv(unit(image))
    hsv[..., 2] = np.clip(hsv[..., 2] + of(severity, 0.05, 0.1, 0.15, 0.2, 0.3), 0, 1)
    return bytes_of(color.hsv2rgb(hsv))


def saturate(image, severity, rng):
    factor, addend = of(severity, (0.3, 0), (0.1, 0), (1.5, 0), (2, 0.1), (2.5, 0.2))
    hsv = color.rgb2hsv(unit(image))
    hsv[..., 1] = np.clip(hsv[..., 1] * factor + addend, 0, 1)
    return bytes_of(color.hsv2rgb(hsv))


def jpeg_compression(image, severity, rng):
    stored = BytesIO()
    quality = of(severity, 80, 65, 58, 50, 40)
    Image.fromarray(image).save(stored, "JPEG", quality=quality)
    return np.asarray(Image.open(stored)).astype(float)


def pixelate(image, severity, rng):
    side = int(32 * of(severity, 0.95, 0.9, 0.85, 0.75, 0.65))
    small = Image.fromarray(image).resize((side, side), Image.Resampling.BOX)
    return np.asarray(small.resize((32, 32), Image.Resampling.BOX)).astype(float)


def elastic_transform(image, severity, rng):
    side = 32
    tall, wide, move = of(
        severity,
        (0, 0, side * 0.08),
        (side * 0.05, side * 0.2, side * 0.07),
        (side * 0.08, side * 0.06, side * 0.06),
        (side * 0.1, side * 0.04, side * 0.05),
        (side * 0.1, side * 0.03, side * 0.03),
    )
    light = unit(image).astype(np.float32)
    shape = light.shape[:2]
    centre, reach = np.float32(shape) // 2, min(shape) // 3
    corners = [centre + reach, [centre[0] + reach, centre[1] - reach], centre - reach]
    points = np.array(corners, np.float32)
    moved = points + rng.uniform(-move, move, size=points.shape).astype(np.float32)
    affine = cv2.getAffineTransform(points, moved)
    light = cv2.warpAffine(light, affine, shape[::-1], borderMode=cv2.BORDER_REFLECT_101)
    ripple = [
        filters.gaussian(rng.uniform(-1, 1, size=shape), wide, mode="reflect", truncate=3) * tall
        for _ in range(2)
    ]
    down, across = np.mgrid[: shape[0], : shape[1]]
    places = [down + ripple[1], across + ripple[0]]
    planes = [
        ndimage.map_coordinates(light[..., k], places, order=1, mode="reflect") for k in range(3)
    ]
    return bytes_of(np.stack(planes, axis=2))


DETERMINISTIC: dict[str, Peer] = {
    "brightness": brightness,
    "contrast": contrast,
    "saturate": saturate,
    "pixelate": pixelate,
    "jpeg_compression": jpeg_compression,
    "defocus_blur": defocus_blur,
    "gaussian_blur": gaussian_blur,
    "zoom_blur": zoom_blur,
}
RANDOM: dict[str, Peer] = {
    "gaussian_noise": gaussian_noise,
    "shot_noise": shot_noise,
    "impulse_noise": impulse_noise,
    "speckle_noise": speckle_noise,
    "glass_blur": glass_blur,
    "motion_blur": motion_blur,
    "snow": snow,
    "fog": fog,
    "spatter": spatter,
    "elastic_transform": elastic_transform,
}
