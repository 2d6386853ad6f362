import numpy as np
import pytest

from core.configs import BinRule
from core.metrics.records import (
    Audit,
    BinTable,
    Evidence,
    Floor,
    Gap,
    Score,
    Statistic,
    TargetAudit,
    Verdict,
)
from core.metrics.suite import diagram, prepare
from core.predictions import Predictions, ScoreKind, Task


def _bins(count, confidence, accuracy, half=0.04, band=0.03):
    """Equal-width bins whose intervals and bands are `half` and `band` wide either way."""
    n = np.array(count, dtype=np.int64)
    conf = np.where(n > 0, np.array(confidence, dtype=float), np.nan)
    acc = np.where(n > 0, np.array(accuracy, dtype=float), np.nan)
    edges = np.arange(n.size + 1) / n.size
    return BinTable(
        low=edges[:-1],
        high=edges[1:],
        count=n,
        confidence=conf,
        accuracy=acc,
        ci_low=np.maximum(acc - half, 0.0),
        ci_high=np.minimum(acc + half, 1.0),
        band_low=np.maximum(conf - band, 0.0),
        band_high=np.minimum(conf + band, 1.0),
    )


@pytest.fixture
def make_bins():
    return _bins


@pytest.fixture
def make_target(make_bins):
    def make(
        code="over_confident",
        gap=(0.04, 0.035, 0.044),
        target=None,
        bins=None,
        reading="",
        power=None,
        statistic=Statistic.ECE,
    ):
        ece = 0.041
        table = make_bins([0, 20, 0, 180, 800], [0, 0.3, 0, 0.7, 0.99], [0, 0.31, 0, 0.6, 0.95])
        settings = {"bins": "equal_width", "n_bins": 5}
        return TargetAudit(
            name="answers" if target is None else "cat",
            target=target,
            metrics={
                "ece": Score(
                    metric="ece",
                    value=ece,
                    low=ece - 0.005,
                    high=ece + 0.006,
                    level=0.95,
                    n=1000,
                    settings=settings,
                ),
                "accuracy": Score(
                    metric="accuracy", value=0.8742, low=0.853, high=0.894, level=0.95, n=1000
                ),
                "nll": Score(
                    metric="nll",
                    value=None,
                    low=None,
                    high=None,
                    level=0.95,
                    n=1000,
                    settings={},
                    reason="NLL_INFINITE: 2 rows",
                ),
                "brier": Score(
                    metric="brier", value=0.1053, low=0.0981, high=0.1127, level=0.95, n=1000
                ),
            },
            noise_floor={"ece": Floor(0.012, 0.02)},
            direction=Gap(*gap),
            verdict=Verdict(
                code=code,
                text="stated by the audit",
                p_value=0.01,
                reading=reading,
                evidence=(Evidence(statistic=statistic, value=0.041, q95=0.02),),
                power=power,
                small=0.02 if code == "off_but_small" else None,
            ),
            bins=table if bins is None else bins,
        )

    return make


@pytest.fixture
def make_audit(make_target):
    def make(target=None, task="multiclass", notices=(), unavailable=None, labels=()):
        main = make_target() if target is None else target
        unavailable = {} if unavailable is None else unavailable
        return Audit(task, "logits", 1000, 5, tuple(notices), unavailable, main, tuple(labels))

    return make


@pytest.fixture(scope="package")
def over_confident():
    """A binary file whose stated probabilities are pushed away from a half."""
    rng = np.random.default_rng(7)
    true = rng.beta(0.6, 0.6, 4000)
    stated = np.clip(true + 0.25 * (true - 0.5), 0.0, 1.0)
    labels = (rng.random(4000) < true).astype(np.int64)
    return Predictions(Task.BINARY, ScoreKind.PROBABILITIES, stated, labels)


@pytest.fixture(scope="package")
def audited(over_confident):
    """Bins, errors and verdicts of the same rows by target and rule."""
    prepared = {t: prepare(over_confident, t, n_resamples=200, seed=0) for t in (None, 1)}

    def look(target, rule=BinRule.EQUAL_WIDTH, n_bins=15):
        return diagram(prepared[target], n_bins=n_bins, rule=rule, level=0.95)

    return look
