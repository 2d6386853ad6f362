"""Images a second of a folder's pictures: decoded, kept resized, and read from what was kept.

Run from the project's folder: python -m tests.benchmarks.bench_pictures [FILMS]
JPEGs of 500 x 375 and 4,000 x 3,000 pixels are drawn; FILMS is a folder of films of 1,024 x 1,024.
One thread; seconds of the processor, in which reading a disk does not count, the best of three.
"""

import argparse
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from PIL import Image, ImageOps

from core.datasets.pictures import Scaling, decode, pictures_below
from core.datasets.stream import StreamedSplit, keep_resized, resized_pictures

ROUNDS = 3
COVER = Scaling(cover=True)


def draw(path: Path, seed: int, width: int, height: int) -> None:
    """Save a JPEG whose spectrum falls as that of photographs does."""
    rng = np.random.default_rng(seed)
    side = 500
    far = np.hypot(np.fft.fftfreq(side)[:, None], np.fft.rfftfreq(side)[None])
    far[0, 0] = 1.0
    noise = rng.normal(size=(4, *far.shape)) + 1j * rng.normal(size=(4, *far.shape))
    grey, *colours = np.fft.irfft2(noise / far**1.3, (side, side))
    mixed = np.stack([grey / grey.std() + 0.3 * colour / colour.std() for colour in colours], 2)
    pixels = np.clip(mixed / mixed.std() * 55 + 115, 0, 255).astype(np.uint8)
    picture = ImageOps.fit(Image.fromarray(pixels), (width, height), Image.Resampling.BICUBIC)
    picture.save(path, quality=93)


def best(n: int, work: Callable[[], object], before: Callable[[], object] = lambda: None) -> float:
    """Return pictures a second of the processor, of the fastest of some rounds."""
    spent = []
    for _ in range(ROUNDS):
        before()
        began = time.process_time()
        work()
        spent.append(time.process_time() - began)
    return n / min(spent)


def plain(path: Path, side: int) -> np.ndarray:
    """Return a picture as it was read before: decoded whole, in three channels, then scaled."""
    picture = Image.open(path).convert("RGB")
    return np.asarray(ImageOps.fit(picture, (side, side), Image.Resampling.BILINEAR))


def measure(title: str, root: Path, side: int) -> None:
    """Print the rates of a folder, and how far the pixels are from those of whole pictures."""
    pictures, _ = pictures_below(root, "")
    names, n = tuple(picture.name for picture in pictures), len(pictures)
    rows = torch.arange(n)

    def split(filled: bool) -> StreamedSplit:
        kept = resized_pictures(root, pictures, (side, side), COVER, filled=filled)
        targets, places = torch.zeros(n, dtype=torch.int64), np.arange(n)
        return StreamedSplit(
            targets, names, root=root, size=(side, side), scaling=COVER, kept=kept, places=places
        )

    def read(part: StreamedSplit) -> None:
        for _ in part.images(torch.split(rows, 64), torch.device("cpu")):
            pass

    def forget() -> None:
        shutil.rmtree(Path(os.environ["CANDOR_HOME"]) / "cache", ignore_errors=True)

    off = [
        np.abs(
            decode(root, name, (side, side), COVER).transpose(1, 2, 0)
            - plain(root / name, side).astype(float)
        )
        for name in names
    ]
    rates = {
        "whole, then scaled": best(n, lambda: [plain(root / name, side) for name in names]),
        "decoded each epoch": best(n, lambda: read(split(filled=False)), forget),
        "prepared": best(n, lambda: keep_resized([(split(filled=True), rows)]), forget),
        "later epochs": best(n, lambda: read(split(filled=False))),
    }
    words = ", ".join(f"{what} {rate:,.0f}" for what, rate in rates.items())
    print(f"{title} ({n}) to {side}: {words} images/s;", end=" ")
    print(f"pixels off by {np.mean(off):.3f} on average, at most {np.max(off):.0f}", flush=True)


def main() -> None:
    """Measure each kind of picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("films", nargs="?", type=Path)
    films = parser.parse_args().films
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["CANDOR_HOME"] = f"{folder}/home"
        for width, height, n in ((500, 375, 300), (4000, 3000, 8)):
            root = Path(folder) / str(width)
            root.mkdir()
            for seed in range(n):
                draw(root / f"{seed:03}.jpg", seed, width, height)
            measure(f"JPEGs of {width} x {height}", root, 256)
        if films is not None:
            measure("Films", films, 224)


if __name__ == "__main__":
    main()
