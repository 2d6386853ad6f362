"""Picture files and folders that tests write, from pixels they know."""

import struct
import zlib
from pathlib import Path

import numpy as np
import torch
from PIL import Image

from core.datasets.base import DatasetSplit, SplitDataset

CPU = torch.device("cpu")


def rows(*numbers: int) -> torch.Tensor:
    return torch.tensor(numbers, dtype=torch.int64)


def random_pixels(n: int, channels: int = 3, height: int = 8, width: int = 6) -> np.ndarray:
    rng = np.random.default_rng(5)
    return rng.integers(0, 256, (n, channels, height, width), dtype=np.uint8)


def write_png(path: Path, pixels: np.ndarray) -> None:
    """Write (3, H, W) pixels; PNG loses none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.ascontiguousarray(pixels.transpose(1, 2, 0))).save(path)


def claim(path: Path, width: int, height: int) -> None:
    """Write a PNG of a few bytes that claims to be of this size, one bit a pixel."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return (
            struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        )

    header = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    body = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"\0" * 64)) + chunk(b"IEND", b"")
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + body)


def all_images(part: DatasetSplit) -> np.ndarray:
    """Every image of a part, in its order, asked for in batches of three."""
    return np.concatenate([b.numpy() for b in part.images(torch.arange(len(part)).split(3), CPU)])


def by_name(data: SplitDataset) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Image and target of every row of all parts, by its id."""
    return {
        name: (image, target)
        for part in (data.train, data.val, data.test)
        for name, image, target in zip(
            part.row_ids, all_images(part), part.targets.numpy(), strict=True
        )
    }
