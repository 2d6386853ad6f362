"""The corruptions a second time: plain loops over pixels, written from their definitions.

Images are (C, H, W) of 0..255; what comes back is not yet cut to whole numbers, but for pictures
that Pillow would make. Slow on purpose: a few small images only.
"""

import colorsys
import math
from collections.abc import Callable

import numpy as np


def each_pixel(image: np.ndarray, change: Callable[..., tuple[float, ...]]) -> np.ndarray:
    """Apply a function of (red, green, blue) in 0..1 to every pixel."""
    out = np.zeros(image.shape)
    for row in range(image.shape[1]):
        for column in range(image.shape[2]):
            pixel = [float(value) / 255 for value in image[:, row, column]]
            out[:, row, column] = [255 * value for value in change(*pixel)]
    return out


def brightness(image: np.ndarray, severity: int) -> np.ndarray:
    more = [0.05, 0.1, 0.15, 0.2, 0.3][severity - 1]
    if len(image) == 1:
        return np.minimum(image + 255 * more, 255)

    def change(red: float, green: float, blue: float) -> tuple[float, ...]:
        hue, saturation, value = colorsys.rgb_to_hsv(red, green, blue)
        return colorsys.hsv_to_rgb(hue, saturation, min(value + more, 1))

    return each_pixel(image, change)


def saturate(image: np.ndarray, severity: int) -> np.ndarray:
    factor, addend = [(0.3, 0), (0.1, 0), (1.5, 0), (2, 0.1), (2.5, 0.2)][severity - 1]
    if len(image) == 1:
        return image.astype(float)

    def change(red: float, green: float, blue: float) -> tuple[float, ...]:
        hue, saturation, value = colorsys.rgb_to_hsv(red, green, blue)
        return colorsys.hsv_to_rgb(hue, min(max(saturation * factor + addend, 0), 1), value)

    return each_pixel(image, change)


def contrast(image: np.ndarray, severity: int) -> np.ndarray:
    kept = [0.75, 0.5, 0.4, 0.3, 0.15][severity - 1]
    out = np.zeros(image.shape)
    for channel, plane in enumerate(image):
        values = [float(value) for value in plane.ravel()]
        mean = sum(values) / len(values)
        out[channel] = np.reshape([kept * v + (1 - kept) * mean for v in values], plane.shape)
    return out


def filtered(
    image: np.ndarray, kernel: dict[tuple[int, int], float], place: Callable[[int, int], int]
) -> np.ndarray:
    """Weigh neighbours (down, across); `place` says which pixel lies at a number outside."""
    out = np.zeros(image.shape)
    _, height, width = image.shape
    for row in range(height):
        for column in range(width):
            for (down, across), weight in kernel.items():
                y, x = place(row + down, height), place(column + across, width)
                out[:, row, column] += weight * image[:, y, x]
    return out


def edge(place: int, side: int) -> int:
    return min(max(place, 0), side - 1)


def mirror(place: int, side: int) -> int:
    """c b | a b c | b a: the outermost pixel is not repeated."""
    while not 0 <= place < side:
        place = -place if place < 0 else 2 * (side - 1) - place
    return place


def bell(sigma: float, reach: int) -> list[float]:
    heights = [math.exp(-(step**2) / (2 * sigma**2)) for step in range(-reach, reach + 1)]
    return [height / sum(heights) for height in heights]


def gaussian_blur(image: np.ndarray, severity: int) -> np.ndarray:
    sigma = [0.4, 0.6, 0.7, 0.8, 1][severity - 1]
    reach = math.floor(4 * sigma + 0.5)
    weights = bell(sigma, reach)
    steps = range(-reach, reach + 1)
    kernel = {(a, b): weights[a + reach] * weights[b + reach] for a in steps for b in steps}
    return filtered(image, kernel, edge)


def defocus_blur(image: np.ndarray, severity: int) -> np.ndarray:
    radius, sigma = [(0.3, 0.4), (0.4, 0.5), (0.5, 0.6), (1, 0.2), (1.5, 0.1)][severity - 1]
    near = range(-3, 4)
    disk = [(a, b) for a in near for b in near if a * a + b * b <= radius * radius]
    soft = bell(sigma, 1)
    kernel = {(a, b): 0.0 for a in range(-4, 5) for b in range(-4, 5)}
    for a, b in disk:
        for down in (-1, 0, 1):
            for across in (-1, 0, 1):
                weight = soft[down + 1] * soft[across + 1] / len(disk)
                kernel[a + down, b + across] += weight
    return filtered(image, kernel, mirror)


def enlarged(image: np.ndarray, factor: float) -> np.ndarray:
    """The middle, stretched so that its first and last pixels stay first and last, then cut."""
    out = np.zeros(image.shape)
    _, height, width = image.shape

    def source(place: int, side: int) -> float:
        inner = math.ceil(side / factor)
        outer = round(inner * factor)
        return (side - inner) // 2 + (place + (outer - side) // 2) * (inner - 1) / (outer - 1)

    for row in range(height):
        for column in range(width):
            y, x = source(row, height), source(column, width)
            for a in (math.floor(y), math.floor(y) + 1):
                for b in (math.floor(x), math.floor(x) + 1):
                    weight = max(0.0, 1 - abs(y - a)) * max(0.0, 1 - abs(x - b))
                    if weight > 1e-12:
                        out[:, row, column] += weight * image[:, edge(a, height), edge(b, width)]
    return out


def zoom_blur(image: np.ndarray, severity: int) -> np.ndarray:
    # the script's arange(1, 1.06, 0.01) reaches its end by rounding, as does the second
    last = [6, 11, 15, 20, 25][severity - 1]
    factors = [1 + 0.01 * k for k in range(last + 1)]
    total = image.astype(float)
    for factor in factors:
        total = total + enlarged(image, factor)
    return total / (len(factors) + 1)


def box(line: list[float], wanted: int) -> list[float]:
    """Pillow's box filter of one line: the mean of the pixels whose centres lie in the new one."""
    scale = len(line) / wanted
    reach = max(scale, 1) / 2
    out = []
    for place in range(wanted):
        centre = (place + 0.5) * scale
        inside = [v for k, v in enumerate(line) if -reach < k + 0.5 - centre <= reach]
        out.append(math.floor(sum(inside) / len(inside) + 0.5))
    return out


def pixelate(image: np.ndarray, severity: int) -> np.ndarray:
    kept = [0.95, 0.9, 0.85, 0.75, 0.65][severity - 1]
    _, height, width = image.shape
    out = []
    for plane in image.astype(float):
        for tall, wide in ((int(height * kept), int(width * kept)), (height, width)):
            rows = [box(list(line), wide) for line in plane]
            columns = [box(list(line), tall) for line in np.transpose(rows)]
            plane = np.transpose(columns)
        out.append(plane)
    return np.array(out)


# Standard luminance table, ITU-T T.81, table K.1.
LUMINANCE = [
    [16, 11, 10, 16, 24, 40, 51, 61],
    [12, 12, 14, 19, 26, 58, 60, 55],
    [14, 13, 16, 24, 40, 57, 69, 56],
    [14, 17, 22, 29, 51, 87, 80, 62],
    [18, 22, 37, 56, 68, 109, 103, 77],
    [24, 35, 55, 64, 81, 104, 113, 92],
    [49, 64, 78, 87, 103, 121, 120, 101],
    [72, 92, 95, 98, 112, 100, 103, 99],
]


def jpeg_of_grey(image: np.ndarray, severity: int) -> tuple[np.ndarray, np.ndarray]:
    """Baseline JPEG of a grey image whose sides are multiples of 8: cosine, round, and back.

    Also says which pixels are sure: in no coefficient of their block does rounding hang on the
    precision of the cosines.
    """
    quality = [80, 65, 58, 50, 40][severity - 1]
    percent = 5000 // quality if quality < 50 else 200 - 2 * quality
    table = [[max(1, (entry * percent + 50) // 100) for entry in line] for line in LUMINANCE]
    cosine = np.array(
        [
            [math.cos((2 * k + 1) * u * math.pi / 16) * (math.sqrt(0.5) if u == 0 else 1) / 2]
            for u in range(8)
            for k in range(8)
        ]
    ).reshape(8, 8)
    out, sure = np.zeros(image.shape), np.zeros(image.shape, bool)
    for top in range(0, image.shape[1], 8):
        for left in range(0, image.shape[2], 8):
            block = image[0, top : top + 8, left : left + 8].astype(float) - 128
            steps = cosine @ block @ cosine.T / table
            kept = np.rint(steps) * table
            clear = np.abs(np.abs(steps - np.rint(steps)) - 0.5).min() > 0.02
            sure[0, top : top + 8, left : left + 8] = clear
            out[0, top : top + 8, left : left + 8] = cosine.T @ kept @ cosine + 128
    return np.clip(np.rint(out), 0, 255), sure


def streak(image: np.ndarray, radius: int, sigma: float, degrees: float) -> np.ndarray:
    """Half a bell of 2 radius + 1 pixels, laid along a line to one side."""
    kernel: dict[tuple[int, int], float] = {}
    for step in range(2 * radius + 1):
        down = math.ceil(step * math.sin(math.radians(degrees)) - 0.5)
        across = math.ceil(step * math.cos(math.radians(degrees)) - 0.5)
        weight = math.exp(-(step**2) / (2 * sigma**2))
        kernel[down, across] = kernel.get((down, across), 0) + weight
    total = sum(kernel.values())
    return filtered(image, {key: value / total for key, value in kernel.items()}, edge)


def glass(image: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """Rounds of copies, last pixel first, as the script's swap of two views comes out.

    `steps` are (rounds, 2, H - 2, W - 2) of -1 and 0: down and across for pixels from (2, 2).
    """
    pixels = image.transpose(1, 2, 0).copy()
    for turn in steps:
        for row in range(len(pixels) - 1, 1, -1):
            for column in range(pixels.shape[1] - 1, 1, -1):
                down, across = turn[:, row - 2, column - 2]
                here, there = pixels[row, column], pixels[row + down, column + across]
                here[:], there[:] = there, here
    return pixels.transpose(2, 0, 1)


def plasma(uniform: np.ndarray, decay: float) -> np.ndarray:
    """Diamond-square point by point; `uniform` has the draw of each point."""
    side = len(uniform)
    field = np.zeros((side, side))
    step, reach = side, 100.0

    def set_point(row: int, column: int, points: list[tuple[int, int]]) -> None:
        mean = sum(field[a % side, b % side] for a, b in points) / 4
        field[row, column] = mean + reach * reach * uniform[row, column]

    while step > 1:
        half = step // 2
        for row in range(0, side, step):
            for column in range(0, side, step):
                ends = [(row + a, column + b) for a in (0, step) for b in (0, step)]
                set_point(row + half, column + half, ends)
        for row in range(0, side, half):
            for column in range(0, side, half):
                if (row // half + column // half) % 2:
                    ends = [(row - half, column), (row + half, column)]
                    set_point(row, column, [*ends, (row, column - half), (row, column + half)])
        step, reach = half, reach / decay
    lowest = min(field.ravel())
    return (field - lowest) / (max(field.ravel()) - lowest)


DETERMINISTIC = {
    "brightness": brightness,
    "contrast": contrast,
    "saturate": saturate,
    "pixelate": pixelate,
    "defocus_blur": defocus_blur,
    "gaussian_blur": gaussian_blur,
    "zoom_blur": zoom_blur,
}
