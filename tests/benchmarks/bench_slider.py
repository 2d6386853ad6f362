"""Preparing a target, and a slider move on Reliability from there to the drawn view.

Run from the project's folder: python -m tests.benchmarks.bench_slider [--size S|M|L|XL]
"""

import argparse
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy

from core.configs import AuditConfig, BinRule
from core.metrics import suite
from core.metrics.ranking import risk_coverage
from core.screens.reliability.view import Subject, reliability_view
from tests.benchmarks.peers.data import SIZES, Data, make_logits
from tests.benchmarks.peers.worker import Cost, cost_of

TARGET_MS = 150


def preparing(data: Data) -> Cost:
    """Return what the page's target of new logits costs, sorted and resampled 1,000 times."""
    suite.prepare(make_logits(200, 4).predictions(), None, n_resamples=10, seed=0)  # compiles
    return cost_of(lambda: suite.prepare(data.predictions(), None, n_resamples=1_000, seed=0))


def slowest_move(data: Data) -> float:
    """Return the time in ms of the page's view function and its figures after a slider move."""
    predictions = data.predictions()
    ready = suite.prepare(predictions, None, n_resamples=1_000, seed=0)
    audit = suite.audit(predictions, AuditConfig(metrics=("accuracy", "nll", "brier", "aurc")))
    classes = suite.class_gaps(predictions, 0.95)
    subject = Subject("run", "test", "0" * 32, predictions.class_names)

    def move(n_bins: int, rule: BinRule) -> None:
        shown = suite.diagram(ready, n_bins=n_bins, rule=rule, level=0.95)
        curve = risk_coverage(ready.resamples.ranked)
        view = reliability_view(audit, subject, chosen=shown, classes=classes, curve=curve)
        for card in view.figures.values():
            card.figure("light").to_plotly_json()

    return max(
        cost_of(lambda b=bins, r=rule: move(b, r)).wall_ms
        for bins in (5, 15, 50)
        for rule in BinRule
    )


def main() -> None:
    """Print what preparing and the slowest move take at one size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", choices=SIZES, default="L")
    size = parser.parse_args().size
    data = make_logits(*SIZES[size])
    cost, load = preparing(data), os.getloadavg()[0]
    spent_on = f"{cost.wall_ms:.0f} ms by the clock, {cost.cpu_ms:.0f} ms of the processor"
    print(f"preparing {size}: {spent_on} (load {load:.1f})")
    spent = slowest_move(data)
    print(f"slowest of six moves at {size}: {spent:.1f} ms (target {TARGET_MS} ms)")


if __name__ == "__main__":
    main()
