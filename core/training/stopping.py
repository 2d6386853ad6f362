"""How a training is asked to stop after the epoch under way; it goes on from there when run again.

Standard library only.
"""

from pathlib import Path
from typing import Final

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
