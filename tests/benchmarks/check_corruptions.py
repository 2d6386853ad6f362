"""Candor's corruptions beside those of scikit-image, OpenCV, Pillow and ImageMagick.

Run in an environment of its own, from the project's folder:

    python -m venv build/peers
    build/peers/bin/pip install -r tests/benchmarks/requirements_corruptions.txt
    build/peers/bin/python -m tests.benchmarks.check_corruptions [--pictures FOLDER] [--n 2000]

Pictures are 32 x 32 files in a folder, nested or not; without one, smooth images are made.
Deterministic corruptions: the largest difference of a value, in levels of 255, and the share of
values that differ by more than one level. Random ones: mean, variance and correlation with the
next pixel of each image, ours minus theirs, over its standard error (paired by image, seeds apart).
"""

import argparse
import sys
import time
from pathlib import Path

import numpy as np
from PIL import Image
from scipy import ndimage

from core.datasets.corruptions import corrupt
from core.datasets.shifts import OWN, SEVERITIES
from tests.benchmarks import peers_corruptions as peers

SIDE, ALLOWED, SEED = 32, 2, 20_260
STATISTICS = ("mean", "variance", "next pixel")


def pictures(folder: Path | None, n: int) -> np.ndarray:
    """(n, 3, 32, 32) uint8: every k-th picture of a folder, or smooth images."""
    rng = np.random.default_rng(SEED)
    if folder is None:
        noise = rng.normal(size=(n, 3, SIDE, SIDE))
        smooth = ndimage.gaussian_filter(noise, (0, 0.5, 3, 3), mode="wrap")
        low = smooth.min(axis=(1, 2, 3), keepdims=True)
        return np.uint8((smooth - low) / (smooth - low).max(axis=(1, 2, 3), keepdims=True) * 255)
    files = sorted(f for f in folder.rglob("*") if f.suffix.lower() in (".png", ".jpg", ".jpeg"))
    chosen = [files[k] for k in np.linspace(0, len(files) - 1, n).astype(int)]
    images = [np.asarray(Image.open(file).convert("RGB")) for file in chosen]
    return np.ascontiguousarray(np.stack(images).transpose(0, 3, 1, 2))


def theirs(name: str, severity: int, images: np.ndarray) -> np.ndarray:
    peer = {**peers.DETERMINISTIC, **peers.RANDOM}[name]
    rng = np.random.default_rng((SEED, severity))
    made = [np.uint8(peer(image.transpose(1, 2, 0).copy(), severity, rng)) for image in images]
    return np.stack(made).transpose(0, 3, 1, 2)


def statistics(images: np.ndarray) -> np.ndarray:
    """(n, 3): mean, variance and mean correlation with the pixel to the right and below."""
    light = images / 255.0
    mean = light.mean(axis=(1, 2, 3))
    centred = light - light.mean(axis=(2, 3), keepdims=True)
    variance = (centred**2).mean(axis=(1, 2, 3))
    beside = (centred[..., 1:] * centred[..., :-1]).mean(axis=(1, 2, 3))
    below = (centred[..., 1:, :] * centred[..., :-1, :]).mean(axis=(1, 2, 3))
    return np.stack([mean, variance, (beside + below) / 2 / np.maximum(variance, 1e-9)], axis=1)


def compare_deterministic(images: np.ndarray) -> int:
    print("| corruption | severity 1 | 2 | 3 | 4 | 5 |\n|---|---|---|---|---|---|")
    beyond = 0
    for name in peers.DETERMINISTIC:
        cells = []
        for severity in SEVERITIES:
            ours = corrupt(images, name, severity, seed=0, rows=np.arange(len(images)))
            gap = np.abs(ours.astype(int) - theirs(name, severity, images))
            beyond += gap.max() > ALLOWED
            cells.append(f"{gap.max()} ({(gap > 1).mean():.1%})")
        print(f"| {name} | {' | '.join(cells)} |", flush=True)
    return beyond


def compare_random(images: np.ndarray) -> int:
    print(
        "\n| corruption | " + " | ".join(f"{s}: {', '.join(STATISTICS)}" for s in SEVERITIES) + " |"
    )
    print("|---" * (1 + len(SEVERITIES)) + "|")
    beyond = 0
    for name in peers.RANDOM:
        cells = []
        for severity in SEVERITIES:
            ours = corrupt(images, name, severity, seed=SEED, rows=np.arange(len(images)))
            gap = statistics(ours) - statistics(theirs(name, severity, images))
            error = gap.std(axis=0, ddof=1) / np.sqrt(len(gap))
            z = gap.mean(axis=0) / np.maximum(error, 1e-12)
            beyond += int((np.abs(z) > 3).sum())
            cells.append(", ".join(f"{one:+.1f}" for one in z))
        print(f"| {name} | {' | '.join(cells)} |", flush=True)
    return beyond


def timed(images: np.ndarray) -> None:
    print("\n| corruption | seconds for 10,000 images, severity 1 | 5 |\n|---|---|---|")
    for name in OWN:
        seconds = []
        for severity in (1, 5):
            start = time.perf_counter()
            corrupt(images, name, severity, seed=0, rows=np.arange(len(images)))
            seconds.append((time.perf_counter() - start) * 10_000 / len(images))
        print(f"| {name} | {seconds[0]:.1f} | {seconds[1]:.1f} |", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--pictures", type=Path)
    parser.add_argument("--n", type=int, default=2000)
    options = parser.parse_args()
    images = pictures(options.pictures, options.n)
    source = "smooth made images" if options.pictures is None else "pictures"
    streaks = "OpenCV's filter" if peers.blur_along is peers.plain_blur else "ImageMagick"
    print(
        f"{len(images)} {source}; streaks of motion blur and snow by {streaks}; frost has no peer\n"
    )
    beyond = compare_deterministic(images)
    apart = compare_random(images)
    tests = len(peers.RANDOM) * len(SEVERITIES) * len(STATISTICS)
    print(f"\nDeterministic: {beyond} beyond {ALLOWED} levels.", end=" ")
    print(f"Random: {apart} of {tests} beyond 3 standard errors; {tests * 0.0027:.1f} by chance.")
    timed(images)
    return int(beyond > 0)


if __name__ == "__main__":
    sys.exit(main())
