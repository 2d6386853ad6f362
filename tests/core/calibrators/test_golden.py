"""The rest of the golden values: what the tests of each method leave over, and that none is lost.

`sla_overflow_bug` documents a bug of the released code: compared are its float64 rows, which the
bug does not reach. `order_preservation` counts rows of an experiment that is not stored: its
statements are checked on rows of our own.
"""

import json
import os
from pathlib import Path

import numpy as np
import pytest

from core.arrays import log_softmax, softmax
from core.calibrators.focal_map import log_focal_map
from core.calibrators.one_vs_rest import IsotonicOrdered, tilted
from core.calibrators.spline import Spline
from core.metrics.ranked import SortedOutcomes
from core.metrics.top_label import ks
from core.predictions import Outcomes
from tests.core.calibrators.cases import GOLDEN, golden_input
from tests.reference import slow_calibrators

HERE = Path(__file__).parent
SHARED = Path(os.environ.get("CANDOR_SHARED", HERE.parents[2].parent / "shared"))
COVERED_BY = {
    "test_focal_map": {
        *("fcmap", "fcmap_binary_table", "paper_example", "prop5_counterexamples", "prop3"),
        *("fcmap_inverse_binary", "fcmap_inverse_multiclass", "linear_fits", "sla_overflow_bug"),
        *("g_values", "g_crossings", "gamma_star"),
    },
    "test_methods": {
        *("ts_mse", "ets_mse", "irm", "irova", "hist_binning", "vector_scaling", "dirichlet_odir"),
        *("isotonic_binary", "platt_binary", "spline"),
    },
    "test_golden": {"stable_form_max_abs_error_in_log_p", "order_preservation"},
}


def test_every_entry_is_read_by_a_test():
    named = {name for names in COVERED_BY.values() for name in names}
    assert {entry.partition("/")[0] for entry in GOLDEN} == named
    for module, names in COVERED_BY.items():
        source = (HERE / f"{module}.py").read_text("utf-8")
        # irm and irova are keys of a parametrised test
        missing = {name for name in names if f'"{name}' not in source and f"{name}/" not in source}
        assert missing == set()


def test_copies_are_the_shared_values():
    path = SHARED / "golden" / "golden.json"
    if not path.exists():
        pytest.skip("needs the golden values of the shared folder (CANDOR_SHARED)")
    entries = json.loads(path.read_text())["items"]
    wanted = {one["id"]: one["value"] for one in entries if one["part"] in ("fcmap", "posthoc")}
    assert set(wanted) <= set(GOLDEN)
    for name, value in wanted.items():
        kept = GOLDEN[name]["value"]
        if name.startswith("fcmap/"):  # the released float32 rows are not kept
            value = {key: value[key] for key in kept}
        assert kept == value, name


def test_map_is_as_exact_as_the_golden_experiment():
    largest = GOLDEN["stable_form_max_abs_error_in_log_p"]["value"]
    rng = np.random.default_rng(5)
    errors = []
    for gamma in rng.uniform(-0.95, 7.0, 60):
        row = rng.normal(size=rng.integers(2, 12)) * rng.choice([1.0, 10.0, 100.0])
        exact = slow_calibrators.focal_map_logs(row, gamma)
        errors.append(np.abs(log_focal_map(log_softmax(row), gamma) - exact).max())
    assert max(errors) < 5e-13
    assert largest < 5e-13


@pytest.mark.parametrize("gamma", GOLDEN["order_preservation"]["value"])
def test_arg_max_is_kept_and_confidence_moves_as_the_golden_experiment_says(gamma):
    golden = GOLDEN["order_preservation"]["value"][gamma]
    rng = np.random.default_rng(6)
    for n_classes, (wrong, _) in golden["confidence_moved_the_wrong_way_by_K"].items():
        scale = rng.choice([0.3, 1.0, 3.0, 10.0], (2000, 1))
        log_q = log_softmax(rng.normal(size=(2000, int(n_classes))) * scale)
        log_p = log_focal_map(log_q, float(gamma))
        changed = np.count_nonzero(log_p.argmax(axis=1) != log_q.argmax(axis=1))
        assert changed == golden["argmax_changed"] == 0
        rise = (log_p.max(axis=1) - log_q.max(axis=1)) * np.sign(float(gamma))
        if n_classes in ("2", "100"):  # between them it depends on the rows
            assert (rise < -1e-12).any() == (wrong > 0)


@pytest.mark.parametrize("name", ["noisy512x10", "mc512x10"])
def test_ordered_map_before_division_is_the_released_one(name):
    logits, labels = golden_input(name)
    golden = GOLDEN[f"irm/{name}"]["value"]["test_unnormalised"]
    fitted = IsotonicOrdered().fit(logits[:256], labels[:256])
    mapped = tilted(softmax(logits[256:]), fitted.x_, fitted.y_)
    sums = mapped.sum(axis=1)
    assert sums.min() == pytest.approx(golden["row_sum_min"], rel=1e-6)
    assert sums.max() == pytest.approx(golden["row_sum_max"], rel=1e-6)
    nll = -np.log(mapped[np.arange(256), labels[256:]]).mean()
    assert nll == pytest.approx(golden["nll"], rel=1e-6)


def test_error_that_the_spline_smooths_is_the_golden_one():
    p, y = golden_input("bin400")
    golden = GOLDEN["spline/bin400"]["value"]
    assert ks(SortedOutcomes.of(Outcomes(p, y == 1))) == pytest.approx(golden["ks"], rel=1e-8)
    s = np.log(p) - np.log1p(-p)
    after = Spline().fit(s, y).predict_proba(s)[:, 1]
    assert ks(SortedOutcomes.of(Outcomes(after, y == 1))) < 0.5 * golden["ks"]
