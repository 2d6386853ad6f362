"""Temperature and focal temperature scaling beside brute force, in one run; only ratios count.

Run from the project's folder: python -m tests.benchmarks.bench_calibrators [--size S|M]
"""

import argparse
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar

from core.calibrators.focal_temperature import PAPER_GAMMAS, FocalTemperature
from core.calibrators.temperature import FINE_GRID, MUKHOTI_GRID, Temperature
from tests.benchmarks.bench_metrics import Data, best_ms, make, peer_ece, peer_equal_mass

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


def peer_temperature(data: Data) -> float:
    """A bounded search over T for the NLL."""
    z = data.logits.astype(np.float64)
    found = minimize_scalar(
        lambda t: peer_nll(softmax(z / t), data.labels), bounds=(0.05, 10.0), method="bounded"
    )
    return float(found.fun)


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
    line, line_times = some([(0.0, t) for t in MUKHOTI_GRID])
    part, part_times = some(plane)

    def after(calibrator: Temperature | FocalTemperature) -> float:
        return float(calibrator.fit(data.logits, data.labels).report_.after)

    found = {
        "T, NLL, exact": Workload(
            lambda: after(Temperature()),
            lambda: peer_temperature(data),
        ),
        "T, ECE, grid of 100": Workload(
            lambda: after(Temperature("ece", "mukhoti")),
            lambda: peer_grid(data, peer_ece, line),
            line_times,
        ),
    }
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
        ours = best_ms(one.ours, 1) / 1e3
        peer = best_ms(one.peer, 1) * one.times / 1e3
        lines.append(f"| {name} | {ours:.3f} | {peer:.2f} | {peer / ours:.0f} |")
    return lines


def main() -> None:
    """Print the table of one size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", choices=("S", "M"), default="S")
    size = parser.parse_args().size
    data = make(size)
    print("\n".join(table(data, f"{size} {data.logits.shape}")))


if __name__ == "__main__":
    main()
