"""How far a job's process is, as it says itself about once a second; standard library only."""

import json
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from core import codec
from core.disk import PART, read_json
from core.errors import UsageError

TIME_IS_UP: Final = 75  # exit code of a training that stopped before its end
_NAME: Final = "stop"  # a file of the job's folder, which every node sees


def ask(folder: Path) -> None:
    """Ask the training in a job's folder to stop."""
    (folder / _NAME).touch()


def is_asked(folder: Path) -> bool:
    """Whether it is to stop."""
    return (folder / _NAME).exists()


def forget(folder: Path) -> None:
    """Forget what was asked of the process before."""
    (folder / _NAME).unlink(missing_ok=True)


NAME: Final = "progress.json"


@dataclass(frozen=True)
class Progress:
    """How far a training is."""

    # epoch, n_epochs: the one being trained, from 0, and how many there will be
    epoch: int
    n_epochs: int
    # batch, n_batches: done in this epoch, and how many it has
    batch: int
    n_batches: int
    images_per_second: float  # trained by this process, evaluations counted in the time
    memory: int  # bytes: most that this process held, or that it held on its GPU
    seconds: float  # since this process began to train
    left: float | None  # seconds to go as far as can be told; None before the first step
    stage: str = ""  # what is done instead, in words, before there are steps to count


def write(folder: Path, progress: Progress) -> None:
    """Replace what was said before; a full disk or a loss of power may take it."""
    unfinished = folder / f".{NAME}{PART}"
    with suppress(OSError):
        unfinished.write_text(json.dumps(codec.to_json(progress)))
        unfinished.replace(folder / NAME)


def read(folder: Path) -> Progress | None:
    """Return what was said last; None where nothing was."""
    try:
        return codec.read(Progress, read_json(folder / NAME), stored=True)
    except (OSError, ValueError, UsageError):
        return None
