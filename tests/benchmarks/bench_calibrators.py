"""Focal temperature scaling beside brute force, in one run; only ratios count.

No library fits it: the peer is its definition, written plainly.

Run from the project's folder: python -m tests.benchmarks.bench_calibrators [--size S|M]
"""

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from core.calibrators.focal_temperature import PAPER_GAMMAS, FocalTemperature
from core.calibrators.temperature import FINE_GRID
from tests.benchmarks.peers.data import SIZES, Data, make_logits
from tests.benchmarks.peers.worker import cost_of

N_BINS = 15
POINTS = 15  # of a peer's grid are timed and stand for all

Error = Callable[[np.ndarray, np.ndarray], float]


@dataclass(frozen=True)
class Workload:
    """What is timed.

    Attributes
    ----------
    ours : callable
        Returns the objective reached.
    peer : callable
        Likewise; on some of its points only where `times` is above 1.
    times : float
        What the peer's time is multiplied by.
    """

    ours: Callable[[], float]
    peer: Callable[[], float]
    times: float = 1.0


def softmax(logits: np.ndarray) -> np.ndarray:
    e = np.exp(logits - logits.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def peer_map(q: np.ndarray, gamma: float) -> np.ndarray:
    """The focal calibration map as it is printed; sharp rows, where it breaks, keep theirs."""
    with np.errstate(all="ignore"):
        u = 1.0 - q
        w = 1.0 / (u**gamma / q - gamma * u ** (gamma - 1.0) * np.log(q))
        p = w / w.sum(axis=1, keepdims=True)
    return np.where(np.isfinite(p).all(axis=1, keepdims=True), p, q)


def peer_nll(p: np.ndarray, labels: np.ndarray) -> float:
    return -float(np.log(np.maximum(p[np.arange(labels.size), labels], 1e-300)).mean())


def peer_ece(confidence: np.ndarray, correct: np.ndarray) -> float:
    """The loop over bins that most scripts hold."""
    edges, total = np.linspace(0, 1, N_BINS + 1), 0.0
    for low, high in pairwise(edges):
        inside = (confidence > low) & (confidence <= high)
        if inside.any():
            gap = confidence[inside].mean() - correct[inside].mean()
            total += inside.mean() * abs(gap)
    return total


def peer_equal_mass(confidence: np.ndarray, correct: np.ndarray) -> float:
    order = np.argsort(confidence)
    parts = np.array_split(order, N_BINS)
    return sum(
        len(part) * abs(confidence[part].mean() - correct[part].mean()) for part in parts
    ) / len(order)


def peer_grid(data: Data, error: Error | None, points: list[tuple[float, float]]) -> float:
    """Map every row and judge it anew at each point; without an error the NLL."""
    z, best = data.logits.astype(np.float64), np.inf
    for gamma, temperature in points:
        p = softmax(z / temperature)
        p = peer_map(p, gamma) if gamma else p
        if error is None:
            value = peer_nll(p, data.labels)
        else:
            value = error(p.max(axis=1), p.argmax(axis=1) == data.labels)
        best = min(best, value)
    return best


def some(points: list[tuple[float, float]]) -> tuple[list[tuple[float, float]], float]:
    """Return evenly chosen points, and how many each stands for."""
    chosen = points[:: max(1, len(points) // POINTS)]
    return chosen, len(points) / len(chosen)


def workloads(data: Data) -> dict[str, Workload]:
    """Return what is timed, by name."""
    plane = [(gamma, t) for gamma in PAPER_GAMMAS for t in FINE_GRID]
    part, part_times = some(plane)

    def after(calibrator: FocalTemperature) -> float:
        return float(calibrator.fit(data.logits, data.labels).report_.after)

    found = {}
    errors = {"nll": None, "ece": peer_ece, "ece_em": peer_equal_mass}
    for objective, error in errors.items():
        for search in ("komisarenko", "grid", "exact"):
            found[f"focal T, {objective}, {search}"] = Workload(
                lambda o=objective, s=search: after(FocalTemperature(o, s)),
                lambda e=error: peer_grid(data, e, part),
                part_times,
            )
    return found


def table(data: Data, title: str) -> list[str]:
    """Measure every workload; return the lines of a table."""
    lines = [f"| {title} | Candor s | brute force s | ratio |", "|---|---|---|---|"]
    for name, one in workloads(data).items():
        ours = cost_of(one.ours).wall_ms / 1e3
        peer = cost_of(one.peer).wall_ms * one.times / 1e3
        lines.append(f"| {name} | {ours:.3f} | {peer:.2f} | {peer / ours:.0f} |")
    return lines


def main() -> None:
    """Print the table of one size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", choices=("S", "M"), default="S")
    size = parser.parse_args().size
    data = make_logits(*SIZES[size])
    print("\n".join(table(data, f"{size} {data.logits.shape}")))


if __name__ == "__main__":
    main()
