"""The tables of a run: Candor beside the best library whose numbers are right, and the others."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from tests.benchmarks.peers.data import shape_of
from tests.benchmarks.peers.rounds import Job, Rounds
from tests.benchmarks.peers.workloads import WORKLOADS, Workload

BEGIN, END = "<!-- bench: begin -->", "<!-- bench: end -->"
HEADER = (
    "| workload | Candor ms | again | MiB | best right peer | its ms | its MiB | ratio "
    "| other peers |",
    "|---|---|---|---|---|---|---|---|---|",
)
Results = Mapping[Job, Rounds]


def best_peer(peers: Mapping[str, Rounds]) -> str | None:
    """Return the quickest peer among those that are right."""
    right = {tool: rounds.wall_ms for tool, rounds in peers.items() if rounds.right}
    return min(right, key=right.__getitem__, default=None)


def ratio(ours: Rounds, peer: Rounds) -> float:
    """Return how many times as long the peer takes."""
    return peer.wall_ms / ours.wall_ms


def ms(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def times(rounds: Rounds) -> str:
    """Write the time by the clock, and of the processor in brackets."""
    once = ", once" if rounds.slow else ""
    return f"{ms(rounds.wall_ms)} ({ms(rounds.cpu_ms)}{once})"


def remark(tool: str, rounds: Rounds) -> str:
    """Write what a peer needed, or why it does not count."""
    if not rounds.measurements:
        return f"{tool} left out: {rounds.failure}"
    if not rounds.right:
        wrong = next(m for m in rounds.measurements if not m.right)
        key = max(wrong.reference, key=lambda k: abs(wrong.values[k] - wrong.reference[k]))
        value, reference = wrong.values[key], wrong.reference[key]
        return f"{tool} wrong on this data: {key} {value:.6f}, not {reference:.6f}"
    return f"{tool} {times(rounds)}"


def lines_of(
    workload: Workload, ours: Mapping[str, Rounds], peers: Mapping[str, Rounds]
) -> Iterator[str]:
    """Yield a line for each of Candor's ways to do a workload."""
    best = best_peer(peers)
    others = "; ".join(remark(tool, rounds) for tool, rounds in peers.items() if tool != best)
    for tool, rounds in ours.items():
        label = f"{workload.label}{tool.removeprefix('Candor')}"
        if not rounds.right:
            yield f"| {label} | {remark(tool, rounds)} | | | | | | | |"
            continue
        again = "" if rounds.again_ms is None else ms(rounds.again_ms)
        cells = [label, times(rounds), again, f"{rounds.extra_mib:.0f}"]
        if best is None:
            cells += ["none", "", "", "", others]
        else:
            peer = peers[best]
            cells += [best, times(peer), f"{peer.extra_mib:.0f}"]
            cells += [f"{ratio(rounds, peer):.1f}", others]
        yield "| " + " | ".join(cells) + " |"


def size_table(results: Results, size: str) -> list[str]:
    """Return the lines of the table of one size."""
    rows, classes = shape_of(size)
    lines = [f"**{size}**, {rows:,} x {classes:,}:", "", *HEADER]
    for name, workload in WORKLOADS.items():
        own = {tool: results.get(Job(name, size, tool)) for tool in workload.candor}
        if None in own.values():
            continue
        peers = {
            tool: results[Job(name, size, tool)]
            for tool in workload.peers
            if Job(name, size, tool) in results
        }
        lines += lines_of(workload, own, peers)
    return [*lines, ""]


def slope(sizes: Sequence[float], costs: Sequence[float]) -> float:
    """Return by which power of the size the cost grows: least squares of the logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(costs), 1)[0])


def slope_line(results: Results, workload: str, axis: int, sizes: Sequence[str]) -> str:
    """Write the growth with rows (axis 0) or classes (axis 1)."""
    runs = [results[Job(workload, size, "Candor")] for size in sizes]
    along, other = "NK"[axis], "KN"[axis]
    fixed = f"{other} = {shape_of(sizes[0])[1 - axis]:,}"
    label = WORKLOADS[workload].label
    if not all(run.right for run in runs):
        return f"- {label}, {along}: not measured"
    costs = [run.wall_ms for run in runs]
    numbers = [shape_of(size)[axis] for size in sizes]
    measured = ", ".join(f"{n:,}: {ms(c)}" for n, c in zip(numbers, costs, strict=True))
    return f"- {label}, {along} at {fixed}: {slope(numbers, costs):.2f} (ms at {measured})"


def write_between(
    path: Path, lines: Sequence[str], markers: tuple[str, str] = (BEGIN, END)
) -> None:
    """Put the lines between the two markers of a file."""
    before, begin, rest = path.read_text("utf-8").partition(markers[0])
    _, end, after = rest.partition(markers[1])
    if not begin or not end:
        raise SystemExit(f"{path} has no {markers[0]} followed by {markers[1]}")
    text = "\n".join(lines).strip()
    path.write_text(f"{before}{begin}\n\n{text}\n\n{end}{after}", "utf-8")
