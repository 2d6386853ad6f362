"""Images read from their files as they are needed; imports torch."""

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import torch
from torch import Tensor

from core.datasets.base import DatasetSplit
from core.datasets.pictures import STRETCHED, Pixels, Scaling, Size, decode, threads

AHEAD: Final = 3  # batches decoded while the device works on one


@dataclass(frozen=True, eq=False, kw_only=True)
class StreamedSplit(DatasetSplit):
    """Images decoded and resized by threads, a few batches ahead.

    Attributes
    ----------
    root : Path
        Folder below which the `row_ids` are the files' paths.
    size : (int, int)
        Height and width of the images yielded.
    scaling : Scaling
    """

    root: Path
    size: Size
    scaling: Scaling = STRETCHED

    def images(self, batches: Sequence[Tensor], device: torch.device) -> Iterator[Tensor]:
        """Yield the images of each batch of rows; a picture is read each time it is asked for."""
        with threads() as pool:
            coming: deque[tuple[Tensor, list[Future[None]]]] = deque()
            for batch in batches:
                coming.append(self._begin(batch, device, pool))
                if len(coming) > AHEAD:
                    yield _finished(*coming.popleft(), device)
            while coming:
                yield _finished(*coming.popleft(), device)

    def _begin(
        self, batch: Tensor, device: torch.device, pool: ThreadPoolExecutor
    ) -> tuple[Tensor, list[Future[None]]]:
        """Ask for the pictures of a batch; return where they will stand, and when."""
        images = torch.empty(
            (len(batch), 3, *self.size),
            dtype=torch.uint8,
            pin_memory=device.type == "cuda",  # the copy then does not hold up the host
        )
        pixels: Pixels = images.numpy()
        rows = enumerate(batch.tolist())
        return images, [pool.submit(self._fill, pixels, place, row) for place, row in rows]

    def _fill(self, pixels: Pixels, place: int, row: int) -> None:
        pixels[place] = decode(self.root, self.row_ids[row], self.size, self.scaling)


def _finished(images: Tensor, pictures: Sequence[Future[None]], device: torch.device) -> Tensor:
    """Return a batch on the device once all its pictures are there, or raise for the first."""
    for picture in pictures:
        picture.result()
    return images.to(device, non_blocking=True)
