"""How fast a training goes, said about once a second without waiting for the device; torch."""

import resource
import sys
import time
from collections import deque
from typing import Final

import torch

from core.training.folder import JobFolder
from core.training.parts import TrainingSetup
from core.training.progress import Progress, write

EVERY_S: Final = 1.0
RECENT_S: Final = 60.0  # the pace is that of the last minute: a slow start is forgotten


class TrainingProgress:
    """Counts steps from now on and writes how far the training is.

    Parameters
    ----------
    parts : TrainingSetup
        Its epoch says where it began.
    folder : JobFolder
    """

    def __init__(self, parts: TrainingSetup, folder: JobFolder) -> None:
        self._parts = parts
        self._folder = folder
        self._began = self._said = time.monotonic()
        self._first = float(parts.epoch)
        self._recent = deque([(self._began, 0.0)])  # when how many epochs were done

    def stepped(self, batch: int, n_batches: int) -> None:
        """Take note of a step; `batch` of `n_batches` of this epoch are done."""
        now = time.monotonic()
        if now - self._said < EVERY_S:
            return
        self._said = now
        parts, spent = self._parts, now - self._began
        done = parts.epoch + batch / n_batches - self._first  # evaluations count in the time
        left = parts.config.epochs - self._first - done
        self._recent.append((now, done))
        while now - self._recent[1][0] >= RECENT_S:
            self._recent.popleft()
        then, before = self._recent[0]
        pace = (done - before) / (now - then)
        write(
            self._folder.path,
            Progress(
                epoch=parts.epoch,
                n_epochs=parts.config.epochs,
                batch=batch,
                n_batches=n_batches,
                images_per_second=pace * len(parts.rows),
                memory=_memory(parts.fabric.device),
                seconds=spent,
                left=left / pace,
            ),
        )


def _memory(device: torch.device) -> int:
    """Return the most bytes held so far: on the GPU, or by this process."""
    if device.type == "cuda":
        return int(torch.cuda.max_memory_allocated(device))
    unit = 1 if sys.platform == "darwin" else 1024  # macOS counts bytes, Linux KiB
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
