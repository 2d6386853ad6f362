"""Numbers of out-of-distribution detection beside scikit-learn and pytorch-ood, in one run.

Run from the project's folder: python -m tests.benchmarks.bench_ood [--size S|XL]
pytorch-ood is used where it can be imported; `make bench` puts it into a folder of its own.
"""

import argparse
import os
from collections.abc import Callable
from importlib.util import find_spec

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy: peers and we on one thread
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from sklearn.metrics import average_precision_score, roc_auc_score, roc_curve

from core.ood import values
from core.ood.separation import Separation
from tests.benchmarks.bench_metrics import best_ms, peak_mib

SIZES = {"S": 10_000, "XL": 1_000_000}  # rows of each of the two sets
TARGET = 2.0  # times as fast as pytorch-ood
KEYS = ("auroc", "aupr_in", "aupr_out", "fpr95")
PEER_KEYS = ("AUROC", "AUPR-IN", "AUPR-OUT", "FPR95TPR")


def make(size: str) -> tuple[np.ndarray, np.ndarray]:
    """Return scores of both sets; a tenth of them repeat."""
    rng = np.random.default_rng(0)
    inside, outside = (rng.normal(size=SIZES[size]) + shift for shift in (0.0, 1.0))
    for side in (inside, outside):
        side[::10] = np.round(side[::10], 1)
    return inside, outside


def ours(inside: np.ndarray, outside: np.ndarray) -> dict[str, float]:
    found = Separation.of(inside, outside)
    return {key: values.NUMBERS[key](found) for key in KEYS}


def scikit_learn(inside: np.ndarray, outside: np.ndarray) -> dict[str, float]:
    truth = np.r_[np.zeros(inside.size), np.ones(outside.size)]
    scores = np.r_[inside, outside]
    alarms, found, _ = roc_curve(truth, scores, drop_intermediate=False)
    return {
        "auroc": roc_auc_score(truth, scores),
        "aupr_in": average_precision_score(1 - truth, -scores),
        "aupr_out": average_precision_score(truth, scores),
        "fpr95": alarms[np.argmax(found >= values.KEEP)],
    }


def pytorch_ood(inside: np.ndarray, outside: np.ndarray) -> dict[str, float]:
    """What its collection of the same four metrics says; labels below 0 are positive there."""
    import torch
    from pytorch_ood.metrics import AUPR, AUROC, FPRAtTPR, MetricCollection

    torch.set_num_threads(1)
    metrics = MetricCollection([AUROC(), AUPR("id"), AUPR("ood"), FPRAtTPR(values.KEEP)])
    labels = np.r_[np.zeros(inside.size), -np.ones(outside.size)]
    scores = torch.from_numpy(np.r_[inside, outside])
    metrics.update(scores=scores, labels=torch.from_numpy(labels))
    found = metrics.compute()
    return dict(zip(KEYS, (found[key] for key in PEER_KEYS), strict=True))


def peers() -> dict[str, Callable[[np.ndarray, np.ndarray], dict[str, float]]]:
    """Return the peers that can be imported."""
    found = {"scikit-learn": scikit_learn}
    return found | ({"pytorch-ood": pytorch_ood} if find_spec("pytorch_ood") else {})


def table(size: str, repeats: int) -> list[str]:
    """Measure at a size; return the lines of a table."""
    data = make(size)
    mine = best_ms(lambda: ours(*data), repeats)
    extra = peak_mib(lambda: ours(*data))
    lines = [
        f"| AUROC, AUPR both ways, FPR at 95 % TPR, {size} ({SIZES[size]:,} against as many) "
        "| ms | ratio |",
        "|---|---|---|",
        f"| Candor (+{extra:.0f} MiB) | {mine:.1f} | |",
    ]
    for name, peer in peers().items():
        other = best_ms(lambda one=peer: one(*data), repeats)
        lines.append(f"| {name} | {other:.1f} | {other / mine:.1f} |")
    return [*lines, f"| target | | {TARGET:.0f} times as fast as pytorch-ood |"]


def main() -> None:
    """Print the table of one size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", choices=SIZES, default="S")
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    print("\n".join(table(given.size, given.repeats)))


if __name__ == "__main__":
    main()
