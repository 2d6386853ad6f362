"""A job's folder: what a training process writes as it goes, and finds when it goes on.

`spec.json` (the config), `events.jsonl` (a line an epoch), `checkpoint/`, `validation/` (logits of
each epoch) and at the end `result.json`. Line and logits of an epoch are on the disk before its
checkpoint is, so a checkpoint never stands without its history.
"""

import argparse
import json
import logging
import math
import os
import platform
import shutil
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final, Protocol

from core import codec
from core.codes import RefusalCode
from core.defaults import VERSION
from core.disk import (
    PART,
    make_private,
    open_file,
    read_json,
    replace_bytes,
    replace_text,
    storing,
    writing,
)
from core.errors import AuditError, LibraryError, UsageError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import torch

    from core.training.config import TrainConfig

Json = dict[str, Any]  # Any: plain JSON values


class JobSpec(Protocol):
    """What a job is to do."""

    def to_json(self) -> Json:
        """Return it as plain JSON."""


@dataclass
class Epoch:
    """What is kept of an epoch."""

    epoch: int  # from 0
    metrics: dict[str, float]  # NaN where there was nothing to average
    bins: list[Json]  # of an update of gammas; empty where the loss has none

    def to_json(self) -> Json:
        """Return plain JSON, null for NaN."""
        metrics = {key: v if math.isfinite(v) else None for key, v in self.metrics.items()}
        return {"event": "epoch", "epoch": self.epoch, "metrics": metrics, "bins": self.bins}


class JobFolder:
    """The folder of one job: of a training, or of what evaluates a model.

    Parameters
    ----------
    path : Path
        Holds `spec.json`.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._events = path / "events.jsonl"
        self._validation = path / "validation"

    @classmethod
    def make(cls, path: Path, config: JobSpec) -> "JobFolder":
        """Make a folder for what is to be done; LibraryError LIBRARY_WRITE when it cannot be."""
        with writing():
            make_private(path)
        folder = cls(path)
        folder.specify(config)
        return folder

    def specify(self, config: JobSpec) -> None:
        """Write what the job is to do."""
        with writing():
            replace_text(self.path / "spec.json", json.dumps(config.to_json(), indent=1))

    def config(self) -> "TrainConfig":
        """Return the config of a training; UsageError SETTING or JOB."""
        from core.training.config import from_json

        return from_json(self.spec())

    def spec(self) -> object:
        """Return what the job is to do as plain JSON.

        Raises UsageError JOB when the folder holds none that can be read, or is gone.
        """
        remedy = "put it back from a backup, or start the job anew"
        try:
            return read_json(self.path / "spec.json")
        except (FileNotFoundError, NotADirectoryError) as error:
            what = f"The folder of job {self.path.name} is gone"
            if self.path.exists():
                what = f"{self.path.name} is not a job's folder"
                remedy = "name one with a spec.json"
            raise UsageError("JOB", what, remedy) from error
        except PermissionError as error:
            what = f"The settings of job {self.path.name} (spec.json) may not be read"
            raise UsageError("JOB", what, "give yourself the right to read them") from error
        except (OSError, ValueError) as error:
            what = f"The settings of job {self.path.name} (spec.json) are damaged"
            raise UsageError("JOB", what, remedy) from error

    def record(self, epoch: Epoch, logits: "npt.NDArray[np.floating] | None") -> None:
        """Keep an epoch: its validation logits where there are any, then its line.

        Raises LibraryError DISK_FULL, or LIBRARY_WRITE.
        """
        with storing(f"Epoch {epoch.epoch + 1}"):
            # Logits first, line after: a line promises that its logits are there.
            if logits is not None:
                import numpy as np  # arrays are a training's; a supervisor has none
                from safetensors.numpy import save

                self._validation.mkdir(exist_ok=True)
                contiguous = np.ascontiguousarray(logits, dtype=np.float32)
                replace_bytes(self._logits(epoch.epoch), save({"logits": contiguous}))
            with self._events.open("a", encoding="utf-8") as file:
                file.write(json.dumps(epoch.to_json(), allow_nan=False) + "\n")
                # On the disk, and not only handed to the kernel, before the
                # checkpoint of this epoch is renamed.
                file.flush()
                os.fsync(file.fileno())

    @property
    def checkpoints(self) -> Path:
        """Where its checkpoints lie."""
        return self.path / "checkpoint"

    def lock(self) -> IO[bytes]:
        """Return the job's lock, held until it is closed or the process ends.

        Raises UsageError RUNNING: another process trains it.
        """
        import fcntl  # not on Windows, where pages still open

        with writing():
            file = (self.path / "lock").open("wb")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            file.close()
            raise UsageError(
                "RUNNING", f"Job {self.path.name} is running", "wait until it has ended"
            ) from error
        return file

    def forget_after(self, n_epochs: int) -> None:
        """Drop what was recorded of epochs that will be trained again."""
        # Lines and checkpoint must tell of the same epochs, or the history would have a hole.
        kept = self.events()[:n_epochs]
        if [line["epoch"] for line in kept] != list(range(n_epochs)):
            raise UsageError(
                "JOB", f"{self.path.name} has lost events of its epochs", "start the job again"
            )
        with writing():
            text = "".join(json.dumps(line, allow_nan=False) + "\n" for line in kept)
            replace_text(self._events, text)

    def lines(self) -> list[str]:
        """Return the events as text; UsageError JOB where they may not be read, or are no file."""
        try:
            with open_file(self._events) as file:
                return file.read().decode(errors="replace").splitlines()
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            what = f"The epochs of job {self.path.name} (events.jsonl) cannot be read"
            raise UsageError("JOB", what, "put them back from a backup") from error

    def events(self) -> list[Json]:
        """Return the epochs recorded so far; a line that was cut short is left out."""
        epochs = []
        for line in self.lines():
            try:
                epochs.append(json.loads(line))
            # A process that was killed while it wrote: what follows a
            # broken line cannot be trusted either.
            except ValueError:
                break
        return epochs

    def validation(self) -> "npt.NDArray[np.float32] | None":
        """Return the validation logits of all epochs, (E, N, K), or None where not kept."""
        import numpy as np
        from safetensors.numpy import load_file

        paths = [self._logits(line["epoch"]) for line in self.events()]
        if not paths or not all(path.exists() for path in paths):
            return None
        return np.stack([load_file(path)["logits"] for path in paths])

    def begin(self) -> None:
        """Forget how the job ended when it was run before."""
        with writing():
            (self.path / "result.json").unlink(missing_ok=True)

    def finish(self, result: Json) -> None:
        """Write how the job ended."""
        with writing():
            replace_text(self.path / "result.json", json.dumps(result, allow_nan=False, indent=1))

    def fail(self, error: AuditError) -> None:
        """Write what a job failed of; it is raised where the disk is full, for the log to say it.

        Raises AuditError: the one that is given.
        """
        failure = {"state": "failed", "error": error.to_json(), "exit_code": error.exit_code}
        try:
            self.finish(failure)
        except LibraryError:
            raise error from None

    def tidy(self) -> None:
        """Remove what the run in the library holds too, and all checkpoints but the last."""
        shutil.rmtree(self._validation, ignore_errors=True)
        for path in sorted(self.checkpoints.glob("*.pt"))[:-1]:
            path.unlink(missing_ok=True)

    def result(self) -> Json | None:
        """Return how the job ended, or None while it has not."""
        try:
            content = read_json(self.path / "result.json")
        except (OSError, ValueError):
            return None
        return content if isinstance(content, dict) else None

    def _logits(self, epoch: int) -> Path:
        return self._validation / f"epoch-{epoch:05d}.safetensors"


def environment(device: "torch.device", n_devices: int | None = None) -> Json:
    """Return what a run is made with; trainings say on how many devices Fabric spreads them."""
    import numpy as np
    import torch

    cuda, trained = device.type == "cuda", n_devices is not None
    return {
        "candor": VERSION,
        "python": platform.python_version(),
        "torch": torch.__version__,
        **({"lightning_fabric": version("lightning-fabric")} if trained else {}),
        "numpy": np.__version__,
        "pillow": version("pillow"),
        "platform": sys.platform,
        "device": device.type,
        "device_name": torch.cuda.get_device_name(device) if cuda else platform.machine(),
        **({"devices": n_devices} if trained else {}),
        "threads": torch.get_num_threads(),
    }


def job_main(
    program: str,
    work: Callable[[JobFolder, argparse.Namespace], int],
    options: Mapping[str, Json],
    *,
    leads: bool = True,
) -> int:
    """Work on the job whose folder the command line names, and return the exit code.

    The job is locked meanwhile, by the first of those that work on it together; it forgets how it
    ended before, and is told why it failed.

    Parameters
    ----------
    program : str
        What ``--help`` calls it.
    work : callable
        Returns the exit code; takes the folder and what was given for the options.
    options : mapping of str to dict
        By their names, as argparse takes them.
    leads : bool
        Whether this process is the first of those that work on the job.
    """
    parser = argparse.ArgumentParser(prog=program)
    parser.add_argument("folder", type=Path)
    for name, words in options.items():
        parser.add_argument(name, **words)
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.INFO, stream=sys.stdout, format="%(message)s")
    folder, lock = JobFolder(arguments.folder), None
    try:
        if leads:
            lock = folder.lock()
            folder.begin()
        return work(folder, arguments)
    except AuditError as error:
        # Another process trains it: its result is not this one's to write.
        if error.code != RefusalCode.RUNNING and folder.result() is None:
            folder.fail(error)  # of several that work on it the first that failed
        return error.exit_code
    except KeyboardInterrupt:
        return 130
    finally:
        if lock is not None:
            lock.close()


# How far a job's process is, as it writes about once a second, and whether it is to stop.
TIME_IS_UP: Final = 75  # exit code of a training that stopped before its end
_STOP: Final = "stop"  # a file of the job's folder, which every node sees


def request_stop(folder: Path) -> None:
    """Ask the training in a job's folder to stop."""
    (folder / _STOP).touch()


def stop_requested(folder: Path) -> bool:
    """Whether it is to stop."""
    return (folder / _STOP).exists()


def forget_stop(folder: Path) -> None:
    """Forget what was asked of the process before."""
    (folder / _STOP).unlink(missing_ok=True)


PROGRESS: Final = "progress.json"


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


def write_progress(folder: Path, progress: Progress) -> None:
    """Replace what was said before; a full disk or a loss of power may take it."""
    unfinished = folder / f".{PROGRESS}{PART}"
    with suppress(OSError):
        unfinished.write_text(json.dumps(codec.to_json(progress)))
        unfinished.replace(folder / PROGRESS)


def read_progress(folder: Path) -> Progress | None:
    """Return what was said last; None where nothing was."""
    try:
        return codec.read(Progress, read_json(folder / PROGRESS), stored=True)
    except (OSError, ValueError, UsageError):
        return None
