"""The devices that jobs may use, as slots: one job on each at a time; no torch."""

import csv
import json
import logging
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final

from core.disk import make_private, may_pass, parse_json, read_json, replace_text
from core.errors import LibraryError
from core.jobs.records import Job
from core.process_identity import boot_id
from core.training.ranks import GPUS

ALLOWED: Final = "CANDOR_DEVICES"  # environment variable: slots by comma, in place of all
CPU: Final = "cpu"
UNSEEN: Final = "cuda"  # what stands among slots for the GPUs of a driver that does not answer
VISIBLE: Final = "CUDA_VISIBLE_DEVICES"  # numbers, or beginnings of UUIDs
QUERY: Final = ("nvidia-smi", "--query-gpu=index,uuid,name,memory.free,memory.total")
PATIENCE_S: Final = 20.0
AGAIN_S: Final = 1.0
FRESH_S: Final = 5.0  # for which an answer of the driver holds
RETRY_S: Final = 600.0  # after which PyTorch is asked again for what it lacked
TORCH_S: Final = 60.0
# Initialising counts the devices and makes no context on any of them.
TORCH: Final = """
import json, torch
try:
    torch.cuda.init()
    answer = torch.cuda.device_count(), ""
except Exception as error:
    answer = 0, str(error).partition("\\n")[0]
print(json.dumps(answer))
"""
LOG: Final = logging.getLogger("candor")


@dataclass(frozen=True, kw_only=True)
class Device:
    """One slot."""

    slot: str  # ``cpu``, or ``cuda:`` and the number that the driver gives the GPU
    name: str
    # free, total: bytes of the GPU's memory
    free: int | None = None
    total: int | None = None
    uuid: str = ""

    @property
    def number(self) -> int:
        """The number that the driver gives a GPU."""
        return int(self.slot.removeprefix("cuda:"))


def devices() -> tuple[Device, ...]:
    """Return what jobs may use, GPUs first.

    ``CANDOR_DEVICES`` (``cpu,cuda:0``) names the slots that there are; without it there is one for
    the CPU and one for each GPU that ``CUDA_VISIBLE_DEVICES`` leaves visible.
    """
    return _usable(_gpus() or ())


def _usable(gpus: Sequence[Device]) -> tuple[Device, ...]:
    # An administrator's list counts as it is, whatever the driver says.
    named = os.environ.get(ALLOWED)
    if named is not None:
        known = {gpu.slot: gpu for gpu in gpus}
        slots = dict.fromkeys(slot.strip() for slot in named.split(",") if slot.strip())
        return tuple(known.get(slot, Device(slot=slot, name=slot)) for slot in slots)
    visible = tuple(gpu for gpu in gpus if _visible(gpu))
    period = int(time.monotonic() / RETRY_S)
    # The driver may show GPUs that this build of PyTorch cannot
    # use: a job would fail there at once.
    seen = _count_of_torch(tuple(gpu.uuid for gpu in gpus), period) if visible else 0
    return (*(gpu for gpu in visible if gpu.number < seen), Device(slot=CPU, name="CPU"))


def slots() -> tuple[str, ...]:
    """Return the slots of `devices`, with UNSEEN first where the driver does not answer.

    No job starts there, and what would rather have a GPU does not take the CPU.
    """
    gpus = _gpus()
    unseen = [UNSEEN] if gpus is None and ALLOWED not in os.environ else []
    return (*unseen, *(device.slot for device in _usable(gpus or ())))


def fit(job: Job, available: Sequence[str]) -> tuple[list[str], int]:
    """Return the slots that a job could use, and how many it needs; processes share the CPU's."""
    # auto takes the CPU only where there is no GPU; a silent driver's stand-in counts as one.
    gpus = [slot for slot in available if slot != CPU]
    acceptable = {"auto": gpus or [CPU], "cuda": gpus}.get(job.wants, [job.wants])
    fitting = [slot for slot in available if slot in acceptable]
    return fitting, 1 if fitting == [CPU] else job.n_devices


def environment(taken: Sequence[str]) -> dict[str, str]:
    """Return the variables that show a process the slots it has and no other GPU."""
    gpus = [slot.removeprefix("cuda:") for slot in taken if slot != CPU]
    return {VISIBLE: ",".join(gpus), "CUDA_DEVICE_ORDER": "PCI_BUS_ID", GPUS: str(len(gpus))}


def _visible(gpu: Device) -> bool:
    """Whether `CUDA_VISIBLE_DEVICES` leaves a GPU; its numbers are read as the driver's."""
    named = os.environ.get(VISIBLE)
    if named is None:
        return True
    names = [name.strip() for name in named.split(",")]
    number = gpu.slot.removeprefix("cuda:")
    return any(name == number or (len(name) > 3 and gpu.uuid.startswith(name)) for name in names)


def _gpus() -> Sequence[Device] | None:
    """Return the GPUs of NVIDIA's driver: none without a driver, None if it does not answer."""
    return _query_driver(int(time.monotonic() / FRESH_S))


@lru_cache(maxsize=1)
def _query_driver(_: int) -> tuple[Device, ...] | None:
    """Ask the driver; one that does not answer is asked again, for it may be busy."""
    for last in (False, True):
        try:
            output = subprocess.run(
                [*QUERY, "--format=csv,noheader,nounits"],
                capture_output=True,
                timeout=PATIENCE_S,
                check=True,
            ).stdout
        except (OSError, subprocess.SubprocessError) as error:
            if isinstance(error, OSError) and not may_pass(error):  # no such program, or no use
                return ()
            code: int = getattr(error, "returncode", -1)  # below 0: killed, or it took too long
            time.sleep(0.0 if last else AGAIN_S)
        else:
            return _read(output.decode("utf-8", "replace"))
    # A program that ended with an error has answered: there are no GPUs to use. One that hung has
    # not.
    return () if code > 0 else None


@lru_cache(maxsize=1)
def _count_of_torch(uuids: tuple[str, ...], _: int) -> int:
    """Return how many of the driver's GPUs PyTorch can use; all where it does not answer.

    It takes seconds, so that it sees all is kept until GPUs, PyTorch or the start of the machine
    change. What it lacks may pass: then it is asked again in the next period.
    """
    from core.library import home  # and numpy with it, which a supervisor starts without

    path = home() / "cache" / "gpus.json"
    try:
        torch: str | None = version("torch")
    except PackageNotFoundError:  # built here and on the path, or not there at all
        torch = None
    key = [*uuids, torch, boot_id()]
    with suppress(OSError, ValueError, TypeError, KeyError):
        kept: Any = read_json(path)
        if kept["of"] == key:
            return int(kept["count"])
    # Asked without CUDA_VISIBLE_DEVICES, and in the driver's order:
    # numbers must mean what nvidia-smi means.
    order = {name: value for name, value in os.environ.items() if name != VISIBLE}
    try:
        output = subprocess.run(
            [sys.executable, "-c", TORCH],
            env=order | {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"},
            capture_output=True,
            timeout=TORCH_S,
            check=True,
        ).stdout
        answer: Any = parse_json(output.splitlines()[-1].decode())
        count, why = int(answer[0]), str(answer[1])
    except (OSError, subprocess.SubprocessError, ValueError, LookupError, TypeError):
        return len(uuids)
    if count < len(uuids):
        LOG.warning("PyTorch sees %d of %d GPUs. %s", count, len(uuids), why)
        return count
    with suppress(OSError, LibraryError):
        make_private(path.parent, exist_ok=True)
        replace_text(path, json.dumps({"of": key, "count": count}))
    return count


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
