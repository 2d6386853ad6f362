import numpy as np
import pytest

from core.configs import BinRule
from core.metrics.suite import diagram, prepare
from core.predictions import Predictions, ScoreKind, Task


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
