"""One measurement in a process of its own: ``worker WORKLOAD SIZE TOOL`` prints a line of JSON."""

import json
import re
import resource
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tests.benchmarks.peers.data import shape_of
from tests.benchmarks.peers.ours import Values
from tests.benchmarks.peers.workloads import WORKLOADS, Workload

WARM_UP = (200, 4)  # rows and classes of a first call, which imports and compiles
ENOUGH_S = 0.3  # calls that take less are repeated
MOST_BYTES = 8 * 2**30  # of a tool and its data together: other programs use the machine, too
MOST_S = 150  # of the processor, in all
STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


@dataclass(frozen=True)
class Cost:
    """Milliseconds of the fastest call by the clock, and of a mean call of the processor."""

    wall_ms: float
    cpu_ms: float


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """What a tool needed and returned.

    Attributes
    ----------
    first, again : Cost
        From the data in memory, and with what Candor keeps; None for what keeps nothing.
    extra_mib : float
        Largest resident memory of the calls, less what was resident before them.
    values, reference : dict
        What it returned, and what Candor returns in float64.
    right : bool
        No value is further from its reference than the workload tolerates.
    """

    first: Cost
    again: Cost | None
    extra_mib: float
    values: Values
    reference: Values
    right: bool


def _resident_kib(key: str) -> int:
    match = re.search(rf"^{key}:\s+(\d+) kB", STATUS.read_text(), re.MULTILINE)
    assert match is not None
    return int(match[1])


def peak_mib(call: Callable[[], object]) -> float:
    """Return by how much the call raises the resident memory at most."""
    CLEAR.write_text("5")  # forgets the largest resident size up to now
    before = _resident_kib("VmRSS")
    call()
    return max(0, _resident_kib("VmHWM") - before) / 2**10


def cost_of(call: Callable[[], object], enough_s: float = ENOUGH_S) -> Cost:
    """Call at least once, until that many seconds have passed.

    The clock of the processor may advance by 4 ms at a time: it is read around all calls.
    """
    wall: list[float] = []
    began = time.process_time()
    while not wall or sum(wall) < enough_s:
        start = time.perf_counter()
        call()
        wall.append(time.perf_counter() - start)
    cpu = (time.process_time() - began) / len(wall)
    return Cost(1e3 * min(wall), 1e3 * cpu)


def agrees(values: Values, reference: Values, tolerance: float) -> bool:
    return all(abs(values[key] - number) <= tolerance for key, number in reference.items())


def measure(workload: Workload, tool: str, data: Any, *, enough_s: float = ENOUGH_S) -> Measurement:
    """Let a tool do a workload on data of any size, and check its numbers."""
    function, opened = workload.tools[tool], workload.opened
    ours = tool in workload.candor

    def from_memory(some: Any) -> Values:
        return function(opened(some) if ours and opened else some)

    from_memory(workload.make(*WARM_UP))
    returned: list[Values] = []
    costs: list[Cost] = []
    extra = peak_mib(
        lambda: costs.append(cost_of(lambda: returned.append(from_memory(data)), enough_s))
    )
    again = None
    if ours and opened:
        kept = opened(data)
        function(kept)
        again = cost_of(lambda: function(kept), enough_s)
    exact = data.exact()
    reference = next(iter(workload.candor.values()))(opened(exact) if opened else exact)
    rows = len(next(iter(vars(data).values())))
    return Measurement(
        first=costs[0],
        again=again,
        extra_mib=extra,
        values=returned[0],
        reference=reference,
        right=agrees(returned[0], reference, workload.tolerance(rows)),
    )


def to_json(measurement: Measurement) -> str:
    return json.dumps(asdict(measurement))


def from_json(line: str) -> Measurement:
    fields = json.loads(line)
    again = fields["again"]
    fields["first"] = Cost(**fields["first"])
    return Measurement(**{**fields, "again": None if again is None else Cost(**again)})


def main() -> None:
    resource.setrlimit(resource.RLIMIT_DATA, (MOST_BYTES, MOST_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (MOST_S, resource.RLIM_INFINITY))
    workload, size, tool = sys.argv[1:]
    chosen = WORKLOADS[workload]
    print(to_json(measure(chosen, tool, chosen.make(*shape_of(size)))))


if __name__ == "__main__":
    main()
