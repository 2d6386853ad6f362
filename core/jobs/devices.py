"""The devices that jobs may use, as slots: one job on each at a time; no torch."""

import csv
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from core.jobs.records import Job

ALLOWED: Final = "CANDOR_DEVICES"  # environment variable: slots by comma, in place of all
CPU: Final = "cpu"
QUERY: Final = ("nvidia-smi", "--query-gpu=index,name,memory.free,memory.total")
PATIENCE_S: Final = 20.0


@dataclass(frozen=True)
class Device:
    """One slot.

    Attributes
    ----------
    slot : str
        ``cpu``, or ``cuda:`` and the number that the driver gives the GPU.
    name : str
    free, total : int or None
        Bytes of the GPU's memory.
    """

    slot: str
    name: str
    free: int | None = None
    total: int | None = None


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
        return tuple(known.get(slot, Device(slot, slot)) for slot in slots)
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is not None:
        kept = {f"cuda:{number.strip()}" for number in visible.split(",")}
        gpus = [gpu for gpu in gpus if gpu.slot in kept]
    return (*gpus, Device(CPU, "CPU"))


def slots() -> tuple[str, ...]:
    """Return the slots of `devices`."""
    return tuple(device.slot for device in devices())


def suits(job: Job, slot: str, there: Sequence[str]) -> bool:
    """Whether a job wants a slot of those that there are."""
    if job.wants == "auto":
        gpus = any(one != CPU for one in there)
        return (slot != CPU) == gpus
    return slot == job.wants or (job.wants == "cuda" and slot != CPU)


def environment(taken: Sequence[str]) -> dict[str, str]:
    """Return the variables that show a process the slots it has and no other GPU."""
    gpus = [slot.removeprefix("cuda:") for slot in taken if slot != CPU]
    return {"CUDA_VISIBLE_DEVICES": ",".join(gpus), "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}


def _gpus() -> list[Device]:
    """Return the GPUs that NVIDIA's driver names; none where there is no driver."""
    try:
        told = subprocess.run(
            [*QUERY, "--format=csv,noheader,nounits"],
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=True,
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return []
    rows = (row for row in csv.reader(told.splitlines(), skipinitialspace=True) if len(row) == 4)
    return [
        Device(f"cuda:{index}", name, _mebibytes(free), _mebibytes(total))
        for index, name, free, total in rows
    ]


def _mebibytes(text: str) -> int | None:
    return int(text) * 2**20 if text.strip().isdecimal() else None
