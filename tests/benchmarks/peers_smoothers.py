"""Compare lowess and loess with R's, where Rscript is installed; print the largest differences.

Run from the project's folder: python -m tests.benchmarks.peers_smoothers
"""

import json
import shutil
import subprocess

import numpy as np

from core.arrays import Bool, Float
from core.metrics.clinical.curve import SMOOTHERS, ClaimCells
from core.metrics.ranked import SortedOutcomes
from core.predictions import Outcomes

PEERS = {
    "lowess": "lowess(p, y, f=2/3, iter=0, delta=0)$y[rank(p)]",
    "loess, direct": 'fitted(loess(y ~ p, span=.75, degree=2, surface="direct"))',
    "loess, interpolated": "fitted(loess(y ~ p, span=.75, degree=2))",
}
PROGRAM = """
given <- readLines(file("stdin")); p <- scan(text=given[1], quiet=TRUE)
y <- scan(text=given[2], quiet=TRUE); cat(sprintf("%.17g", {peer}), sep="\\n")
"""


def peer(expression: str, p: Float, y: Bool) -> Float:
    """Return what an expression of R gives for p and y, (N,)."""
    given = "\n".join(" ".join(map(repr, part.tolist())) for part in (p, y.astype(float)))
    command = [shutil.which("Rscript"), "-e", PROGRAM.replace("{peer}", expression)]
    done = subprocess.run(command, input=given, capture_output=True, text=True, check=True)
    return np.array(done.stdout.split(), dtype=np.float64)


def main() -> None:
    """Compare on 1,000 rows of three kinds of scores."""
    if shutil.which("Rscript") is None:
        print("Rscript is not installed: nothing compared")
        return
    rng = np.random.default_rng(0)
    for name, p in {
        "spread": rng.beta(0.8, 2.0, 1_000),
        "rare": rng.beta(0.2, 9.0, 1_000),
        "saturated": 1 - rng.beta(0.2, 9.0, 1_000),
    }.items():
        y = rng.random(p.size) < p**1.4
        for kind, expression in PEERS.items():
            fitted = SMOOTHERS[kind.split(",")[0]](ClaimCells.of(SortedOutcomes.of(Outcomes(p, y))))
            own = np.interp(
                p, fitted.cells.claim, fitted.fit(fitted.cells.rows, fitted.cells.events)
            )
            off = np.abs(own - peer(expression, p, y))
            print(json.dumps({"scores": name, "of": kind, "most": off.max(), "mean": off.mean()}))


if __name__ == "__main__":
    main()
