"""The picture of docs/corruptions.md: every corruption at every severity, on two images.

Run from the project's folder: python -m tests.benchmarks.grid_corruptions [PATH]

The photograph is scikit-learn's china.jpg, by danielbuechele, CC BY 2.0
(https://www.flickr.com/photos/danielbuechele/6061409035), cropped, scaled to 32 x 32 pixels and
corrupted; the digit is one of scikit-learn's, scaled from 8 x 8.
"""

import sys
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont
from sklearn.datasets import load_digits, load_sample_image

from core.datasets.corruptions import corrupt
from core.datasets.shifts import CORRUPTIONS, OWN, SEVERITIES

SIDE, CELL, GAP, WORDS, BETWEEN, HEAD, MARGIN = 32, 64, 6, 168, 22, 46, 16
PAPER, INK, QUIET = (255, 255, 255), (32, 38, 46), (96, 104, 114)
PATH = Path("docs/screenshots/corruptions.png")


def photograph() -> np.ndarray:
    """(1, 3, 32, 32): the temple and the sky above it."""
    picture = Image.fromarray(load_sample_image("china.jpg"))
    part = picture.crop((110, 0, 537, 427)).resize((SIDE, SIDE), Image.Resampling.LANCZOS)
    return np.asarray(part).transpose(2, 0, 1)[None]


def digit() -> np.ndarray:
    """(1, 1, 32, 32): the first 3."""
    small = np.uint8(load_digits().images[3] * (255 / 16))
    large = Image.fromarray(small).resize((SIDE, SIDE), Image.Resampling.BICUBIC)
    return np.asarray(large)[None, None]


def cell(image: np.ndarray) -> Image.Image:
    shown = np.broadcast_to(image, (3, SIDE, SIDE)).transpose(1, 2, 0)
    return Image.fromarray(np.ascontiguousarray(shown)).resize(
        (CELL, CELL), Image.Resampling.NEAREST
    )


def grid() -> Image.Image:
    """Rows of corruptions; columns are the image and its five severities, for both images."""
    block = 6 * (CELL + GAP)
    width = 2 * MARGIN + WORDS + 2 * block + BETWEEN - GAP
    height = 2 * MARGIN + HEAD + len(OWN) * (CELL + GAP) - GAP
    page = Image.new("RGB", (width, height), PAPER)
    draw = ImageDraw.Draw(page)
    words, small = ImageFont.load_default(15), ImageFont.load_default(13)
    for place, (title, image) in enumerate((("photograph", photograph()), ("digit", digit()))):
        left = MARGIN + WORDS + place * (block + BETWEEN)
        draw.text((left, MARGIN), f"{title}, severity", INK, words)
        for column, head in enumerate(("none", *map(str, SEVERITIES))):
            x = left + column * (CELL + GAP)
            draw.text((x, MARGIN + 23), head, QUIET, small)
            for row, name in enumerate(OWN):
                y = MARGIN + HEAD + row * (CELL + GAP)
                severity = column  # 0 is the image itself
                made = (
                    corrupt(image, name, severity, seed=1, rows=np.arange(1)) if column else image
                )
                page.paste(cell(made[0]), (x, y))
    for row, name in enumerate(OWN):
        y = MARGIN + HEAD + row * (CELL + GAP) + CELL // 2
        draw.text((MARGIN, y), CORRUPTIONS[name].label, INK, words, anchor="lm")
    return page


def main() -> None:
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else PATH
    grid().quantize(256).save(path, optimize=True)
    print(f"{path}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
