"""Slope, intercept, AUROC and their intervals beside statsmodels and R (pROC, rms).

``python -m tests.benchmarks.second_opinions``. What is not installed is named and left out.
"""

import importlib
import importlib.util
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from core.arrays import Bool, Float, Int
from core.defaults import LEVEL
from core.metrics.clinical.curve import curve_errors
from core.metrics.clinical.fit import recalibration
from core.metrics.intervals import quantile, student
from core.metrics.ranked import SortedOutcomes
from core.metrics.ranking import auroc, auroc_error
from core.metrics.records import Score
from core.predictions import Outcomes, SamplingDesign

TIMEOUT_S = 120
ROC = """
suppressMessages(library(pROC))
d <- read.csv(commandArgs(TRUE)[1])
r <- roc(d$y, d$p, levels = c(0, 1), direction = "<", quiet = TRUE)
cat(sprintf("%.17g %.17g", auc(r), sqrt(var(r, method = "delong"))))
"""
VAL_PROB = """
suppressMessages(library(rms))
d <- read.csv(commandArgs(TRUE)[1])
v <- val.prob(d$p, d$y, pl = FALSE)
cat(sprintf("%.17g", v[c("Slope", "Intercept", "Eavg", "E90", "Emax")]))
"""


@dataclass(frozen=True)
class Rows:
    """A binary score of patients with several rows each: claims, outcomes and patients."""

    name: str
    p: Float
    y: Bool
    group: Int


class Line(NamedTuple):
    """One number by Candor and by another program."""

    rows: str
    what: str
    other: str
    ours: float
    theirs: float


def drawn(name: str, n_groups: int, most: int, base: float, seed: int) -> Rows:
    """Return rows of which a patient's share a risk that the claims do not know.

    Parameters
    ----------
    n_groups, most : int
        Patients, with 1 to `most` rows each.
    base : float
        Log-odds of the mean patient.
    """
    rng = np.random.default_rng(seed)
    group = np.repeat(np.arange(n_groups), rng.integers(1, most + 1, n_groups))
    known = base + rng.normal(size=n_groups)[group] + 0.7 * rng.normal(size=group.size)
    risk = known + rng.normal(size=n_groups)[group]
    y = rng.random(group.size) < 1.0 / (1.0 + np.exp(-risk))
    return Rows(name, 1.0 / (1.0 + np.exp(-1.3 * known)), y, group)


DESIGNS = (
    drawn("500 rows of as many", 500, 1, -0.5, 0),
    drawn("about 1,500 rows of 300", 300, 9, -1.0, 1),
    drawn("about 6,000 rows of 2,000, rare", 2000, 5, -3.5, 2),
)


def standard_error(score: Score, groups: int | None = None) -> float:
    """Return the standard error that a Wald interval was made of, of rows or of groups."""
    assert score.low is not None
    assert score.high is not None
    ends = quantile(LEVEL) if groups is None else student(LEVEL, groups - 1)
    return (score.high - score.low) / (2.0 * ends)


def by_statsmodels(rows: Rows) -> list[Line]:
    """Compare slope, intercept and calibration in the large, and the errors of all three."""
    api: Any = importlib.import_module("statsmodels.api")
    logit = np.log(rows.p) - np.log1p(-rows.p)
    y = rows.y.astype(np.float64)
    ours = recalibration(rows.p, rows.y)
    family = api.families.Binomial()
    joint = api.GLM(y, api.add_constant(logit), family=family)
    large = api.GLM(y, np.ones((y.size, 1)), family=family, offset=logit)
    options: dict[str, Any] = {"maxiter": 200, "tol": 1e-14}
    fits = {one: one.fit(**options) for one in (joint, large)}
    patients = int(rows.group.max()) + 1
    kinds = {"groups": rows.group, "use_correction": False}
    by_patient = {
        one: one.fit(cov_type="cluster", cov_kwds=kinds, **options) for one in (joint, large)
    }
    few = (patients / (patients - 1)) ** 0.5  # G / (G - 1), which is left out above
    grouped = recalibration(rows.p, rows.y, sampling=SamplingDesign(rows.group))
    lines = []
    for what, model, at, score, own in (
        ("intercept", joint, 0, ours.intercept, grouped.intercept),
        ("slope", joint, 1, ours.slope, grouped.slope),
        ("in the large", large, 0, ours.in_the_large, grouped.in_the_large),
    ):
        assert score.value is not None
        found, clustered = fits[model], by_patient[model]
        lines += [
            Line(rows.name, what, "statsmodels", score.value, float(found.params[at])),
            Line(
                rows.name,
                f"{what}, error",
                "statsmodels",
                standard_error(score),
                float(found.bse[at]),
            ),
            Line(
                rows.name,
                f"{what}, error by patient",
                "statsmodels, cluster",
                standard_error(own, patients),
                few * float(clustered.bse[at]),
            ),
        ]
    return lines


def by_r(rows: Rows, script: str) -> list[float]:
    """Return the numbers that an R script prints of the rows."""
    with tempfile.TemporaryDirectory() as place:
        table, code = Path(place) / "rows.csv", Path(place) / "code.R"
        told = [f"{p!r},{int(y)}" for p, y in zip(rows.p.tolist(), rows.y, strict=True)]
        table.write_text("p,y\n" + "\n".join(told) + "\n")
        code.write_text(script)
        done = subprocess.run(
            ["Rscript", str(code), str(table)],
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=True,
        )
    return [float(word) for word in done.stdout.split()]


def by_proc(rows: Rows) -> list[Line]:
    """Compare the AUROC and DeLong's error."""
    ranked = SortedOutcomes.of(Outcomes(rows.p, rows.y))
    value, error = by_r(rows, ROC)
    return [
        Line(rows.name, "AUROC", "pROC", auroc(ranked), value),
        Line(rows.name, "AUROC, error", "pROC", auroc_error(ranked), error),
    ]


def by_rms(rows: Rows) -> list[Line]:
    """Compare slope, intercept and the errors of the smooth curve with `val.prob`.

    Its lowess skips claims within a hundredth of the range (`delta`), so the curve's errors agree
    to a few digits only; `peers_smoothers` compares the curve itself.
    """
    fit = recalibration(rows.p, rows.y)
    curve = curve_errors(SortedOutcomes.of(Outcomes(rows.p, rows.y)))[0]
    ours = {"slope": fit.slope.value, "intercept": fit.intercept.value}
    ours |= {name: curve[name] for name in ("ici", "e90", "emax")}
    theirs = by_r(rows, VAL_PROB)
    return [
        Line(rows.name, what, "rms", float(value), other)
        for (what, value), other in zip(ours.items(), theirs, strict=True)
    ]


def has_r(package: str) -> bool:
    """Whether R and one of its packages are installed."""
    if shutil.which("Rscript") is None:
        return False
    code = f'quit(status = !requireNamespace("{package}", quietly = TRUE))'
    return subprocess.run(["Rscript", "-e", code], capture_output=True, check=False).returncode == 0


def main() -> None:
    """Print every number side by side, and what could not be asked."""
    others = {
        "statsmodels": (importlib.util.find_spec("statsmodels") is not None, by_statsmodels),
        "R with pROC": (has_r("pROC"), by_proc),
        "R with rms": (has_r("rms"), by_rms),
    }
    print("| rows | number | other | Candor | other's | difference |\n|---|---|---|---|---|---|")
    for there, ask in others.values():
        for rows in DESIGNS if there else ():
            for line in ask(rows):
                print(shown(line))
    for name, (there, _) in others.items():
        if not there:
            print(f"\n{name} is not installed: not compared.")


def shown(line: Line) -> str:
    """Return a line of the table."""
    numbers = f"{line.ours:.8f} | {line.theirs:.8f} | {line.ours - line.theirs:.1e}"
    return f"| {line.rows} | {line.what} | {line.other} | {numbers} |"


if __name__ == "__main__":
    main()
