"""The devices that jobs may use, as slots: one job on each at a time; no torch."""

import csv
import os
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from core.jobs.records import Job

ALLOWED: Final = "CANDOR_DEVICES"  # environment variable: slots by comma, in place of all
CPU: Final = "cpu"
VISIBLE: Final = "CUDA_VISIBLE_DEVICES"  # numbers, or beginnings of UUIDs
QUERY: Final = ("nvidia-smi", "--query-gpu=index,uuid,name,memory.free,memory.total")
PATIENCE_S: Final = 20.0
AGAIN_S: Final = 1.0
FRESH_S: Final = 5.0  # for which an answer of the driver holds


@dataclass(frozen=True, kw_only=True)
class Device:
    """One slot.

    Attributes
    ----------
    slot : str
        ``cpu``, or ``cuda:`` and the number that the driver gives the GPU.
    name, uuid : str
    free, total : int or None
        Bytes of the GPU's memory.
    """

    slot: str
    name: str
    free: int | None = None
    total: int | None = None
    uuid: str = ""


def devices() -> tuple[Device, ...]:
    """Return what jobs may use, GPUs first.

    ``CANDOR_DEVICES`` (``cpu,cuda:0``) names the slots that there are; without it there is one for
    the CPU and one for each GPU that ``CUDA_VISIBLE_DEVICES`` leaves visible.
    """
    gpus = _gpus()
    named = os.environ.get(ALLOWED)
    if named is not None:
        known = {gpu.slot: gpu for gpu in gpus}
        slots = dict.fromkeys(slot.strip() for slot in named.split(",") if slot.strip())
        return tuple(known.get(slot, Device(slot=slot, name=slot)) for slot in slots)
    return (*(gpu for gpu in gpus if _visible(gpu)), Device(slot=CPU, name="CPU"))


def slots() -> tuple[str, ...]:
    """Return the slots of `devices`."""
    return tuple(device.slot for device in devices())


def fit(job: Job, available: Sequence[str]) -> tuple[list[str], int]:
    """Return the slots that a job could use, and how many it needs; processes share the CPU's."""
    gpus = [slot for slot in available if slot != CPU]
    acceptable = {"auto": gpus or [CPU], "cuda": gpus}.get(job.wants, [job.wants])
    fitting = [slot for slot in available if slot in acceptable]
    return fitting, 1 if fitting == [CPU] else job.n_devices


def environment(taken: Sequence[str]) -> dict[str, str]:
    """Return the variables that show a process the slots it has and no other GPU."""
    gpus = [slot.removeprefix("cuda:") for slot in taken if slot != CPU]
    return {"CUDA_VISIBLE_DEVICES": ",".join(gpus), "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}


def _visible(gpu: Device) -> bool:
    """Whether `CUDA_VISIBLE_DEVICES` leaves a GPU; its numbers are read as the driver's."""
    named = os.environ.get(VISIBLE)
    if named is None:
        return True
    names = [name.strip() for name in named.split(",")]
    number = gpu.slot.removeprefix("cuda:")
    return any(name == number or (len(name) > 3 and gpu.uuid.startswith(name)) for name in names)


def _gpus() -> Sequence[Device]:
    """Return the GPUs that NVIDIA's driver names; none where there is no driver."""
    return _query_driver(int(time.monotonic() / FRESH_S))


@lru_cache(maxsize=1)
def _query_driver(_: int) -> tuple[Device, ...]:
    """Ask the driver; one that does not answer is asked again, for it may be busy."""
    for last in (False, True):
        try:
            output = subprocess.run(
                [*QUERY, "--format=csv,noheader,nounits"],
                capture_output=True,
                timeout=PATIENCE_S,
                check=True,
            ).stdout
        except FileNotFoundError:
            return ()
        except (OSError, subprocess.SubprocessError):
            time.sleep(0.0 if last else AGAIN_S)
        else:
            return _read(output.decode("utf-8", "replace"))
    return ()


def _read(text: str) -> tuple[Device, ...]:
    rows = csv.reader(text.splitlines(), skipinitialspace=True)
    return tuple(
        Device(
            slot=f"cuda:{row[0]}",
            name=row[2],
            free=_mebibytes(row[3]),
            total=_mebibytes(row[4]),
            uuid=row[1],
        )
        for row in rows
        if len(row) == 5 and row[0].isdecimal()
    )


def _mebibytes(text: str) -> int | None:
    return int(text) * 2**20 if text.strip().isdecimal() else None
