"""A slider move on the Reliability page, from the prepared target to the drawn view.

Run from the project's folder: python -m tests.benchmarks.bench_slider [--size S|M|L|XL]
"""

import argparse
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy

from core.configs import AuditConfig, BinRule
from core.metrics import suite
from core.metrics.selective import risk_coverage
from core.screens.reliability.view import Subject, reliability_view
from tests.benchmarks.peers.data import SIZES, Data, make_logits
from tests.benchmarks.peers.worker import cost_of

TARGET_MS = 150


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
    """Print the slowest move at one size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", choices=SIZES, default="L")
    size = parser.parse_args().size
    spent = slowest_move(make_logits(*SIZES[size]))
    print(f"slowest of six moves at {size}: {spent:.1f} ms (target {TARGET_MS} ms)")


if __name__ == "__main__":
    main()
