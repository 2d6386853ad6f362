"""Every golden value of a metric we have; where a definition differs, that it does and why.

Which golden definition is which of ours:

| golden | ours |
|---|---|
| ece_ew_tensor, ece_list, ece_np, vc_ece_ew15_top, vc_l1_ew15, relplot_binnedECE10 | ece |
| ece_em_exact, vc_ece_em15_top, vc_l1_em15 | ece_em |
| adaece, adaece_sla, ada_binstats | ada_ece |
| mce_*, ace_*, rmsce_* | mce, ace, rmsce |
| classwise | classwise_ece |
| vc_l2_debiased, _top, _marginal | ece_debiased; marginal: root of the mean square over classes |
| vc_l2_plugin* | rmsce's statistic over equal-mass bins |
| vc_l1_normal_debiased_top | ece_debiased_l1, of which it is a mean of 1,000 draws |
| sweep_em, ece_sweep_em_p1 | ece_sweep |
| sweep_ew | ece_sweep_ew |
| smece_exact; relplot_* | smece; its relplot option |
| smCE_lp; pgap_squared | smce; pgap and smce |
| nll, brier_sum, ks_top, s99, signed_gap | nll, brier, ks, s99_*, Ranked.gap |
"""

import json
import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from core.metrics import METRICS, binning, smooth, top_label
from core.metrics.ranked import SortedOutcomes
from core.predictions import Predictions, ScoreKind, Task

HERE = Path(__file__).parent
ENTRIES = json.loads((HERE / "golden_metric.json").read_text())
INPUTS = np.load(HERE / "golden_inputs.npz")

SPLIT_TIES = "the golden value splits tied confidences, so it depends on the order of rows"
FLOAT32_EDGES = "the golden edges are float32, which moves every k/15"
ZERO_DROPPED = "the golden code puts a probability of exactly 0 into no bin"
ABSENT_CLASS = "the golden code takes the highest label plus one for the number of classes"
ONE_MEAN = "the golden value is a mean of 1,000 draws, which scatters with so few rows"
OTHER_SIDE = "the golden bins are [low, high), and confidences lie on their edges"
BUG = "documented bug of the released code: edges by running sums lose rows on an edge"

DIFFERENT = {
    "ece_nn_15/ties": BUG,
    "ece_nn_15/edge10": BUG,
    **{
        f"ece_em_exact_{bins}/{name}": SPLIT_TIES
        for bins in (10, 15)
        for name in ("ties", "edge15", "edge10", "const")
    },
    "vc_l1_normal_debiased_top/zeroone": ONE_MEAN,
    "vc_l1_normal_debiased_top/absent": ONE_MEAN,
    "sweep_ew/edge15": OTHER_SIDE,
    "ks_top/edge15": SPLIT_TIES,
    "ks_top/const": SPLIT_TIES,
    "sweep_em/edge15": SPLIT_TIES,
    "sweep_em/manyones": SPLIT_TIES,
    "ece_sweep_em_p1/mc256x100": "a second opinion with other bins (np.array_split)",
    "ece_ew_tensor_15_f64/edge15": FLOAT32_EDGES,
    "ece_ew_tensor_15_f32/edge15": FLOAT32_EDGES,
    **{
        f"classwise_{bins}_{kind}/{name}": why
        for kind in ("f64", "f32")
        for bins, name, why in (
            (15, "edge15", FLOAT32_EDGES),
            *((b, "edge10", ZERO_DROPPED) for b in (10, 15)),
            *((b, "zeroone", ZERO_DROPPED) for b in (10, 15)),
            *((b, "manyones", ZERO_DROPPED) for b in (10, 15)),
            *((b, "absent", ABSENT_CLASS) for b in (10, 15)),
        )
    },
}


@cache
def predictions(name):
    name = name.removesuffix("_top")
    if name.startswith("bin4"):
        every = slice(None, None, {"bin400": 1, "bin40": 10}[name])
        p, y = INPUTS["bin400_p"][every], INPUTS["bin400_y"][every]
        return Predictions(Task.BINARY, ScoreKind.SIGMOID, p, y)
    if name.startswith("mc"):
        return Predictions(
            Task.MULTICLASS, ScoreKind.LOGITS, INPUTS[f"{name}_logits"], INPUTS[f"{name}_labels"]
        )
    return Predictions(
        Task.MULTICLASS, ScoreKind.PROBABILITIES, INPUTS[f"{name}_p"], INPUTS[f"{name}_y"]
    )


def ranked_of(rows):
    return SortedOutcomes.of(rows.outcomes(rows.default_target))


def l2_plugin(ranked):
    bins = binning.sums(ranked, binning.equal_mass_cuts(ranked, 15))
    return float(top_label.root_mean_square_gap(bins, ranked.n))


def over_classes(rows, metric):
    squares = [metric(SortedOutcomes.of(rows.outcomes(k))) ** 2 for k in range(rows.n_classes)]
    return np.sqrt(np.mean(squares))


WITH_BINS = {
    "ece_ew_tensor": "ece",
    "ece_list": "ece",
    "ece_np": "ece",
    "ece_nn": "ece",
    "adaece": "ada_ece",
    "adaece_sla": "ada_ece",
    "ada_binstats": "ada_ece",
    "mce_list": "mce",
    "mce_np": "mce",
    "ace_list": "ace",
    "rmsce_list": "rmsce",
    "ece_em_exact": "ece_em",
    "classwise": "classwise_ece",
}

OTHERS = {
    "vc_ece_ew15_top": lambda rows: top_label.ece(ranked_of(rows)),
    "vc_l1_ew15": lambda rows: top_label.ece(ranked_of(rows)),
    "relplot_binnedECE10": lambda rows: top_label.ece(ranked_of(rows), n_bins=10),
    "vc_ece_em15_top": lambda rows: top_label.ece_em(ranked_of(rows)),
    "vc_l1_em15": lambda rows: top_label.ece_em(ranked_of(rows)),
    "vc_l2_debiased": lambda rows: top_label.ece_debiased(ranked_of(rows)),
    "vc_l2_debiased_top": lambda rows: top_label.ece_debiased(ranked_of(rows)),
    "vc_l2_debiased_marginal": lambda rows: over_classes(rows, top_label.ece_debiased),
    "vc_l2_plugin": lambda rows: l2_plugin(ranked_of(rows)),
    "vc_l2_plugin_top": lambda rows: l2_plugin(ranked_of(rows)),
    "vc_l2_plugin_marginal": lambda rows: over_classes(rows, l2_plugin),
    "relplot_smECE": lambda rows: smooth.relplot_smece(ranked_of(rows))[0],
    "relplot_smECE_width": lambda rows: smooth.relplot_smece(ranked_of(rows))[1],
    "relplot_sigma005": lambda rows: smooth.relplot_smece_at(ranked_of(rows), 0.05),
    "smece_exact": lambda rows: smooth.smece(ranked_of(rows)),
    "smCE_lp": lambda rows: smooth.smce(ranked_of(rows)),
    "pgap_squared": lambda rows: {
        "pgap": smooth.pgap(ranked_of(rows)),
        "smCE": smooth.smce(ranked_of(rows)),
    },
    "nll": lambda rows: METRICS["nll"].function(rows),
    "brier_sum": lambda rows: METRICS["brier"].function(rows),
    "brier_meanKN": lambda rows: METRICS["brier"].function(rows) / rows.n_classes,
    "brier_top": lambda rows: np.mean((rows.rows.confidence - rows.rows.correct) ** 2),
    "ks_top": lambda rows: top_label.ks(ranked_of(rows)),
    "signed_gap": lambda rows: ranked_of(rows).gap,
    "s99": lambda rows: {
        "fraction": top_label.s99_share(ranked_of(rows)),
        "accuracy": top_label.s99_accuracy(ranked_of(rows)),
    },
    "ece_sweep_em_p1": lambda rows: top_label.ece_sweep(ranked_of(rows)),
    "vc_l1_normal_debiased_top": lambda rows: top_label.ece_debiased_l1(ranked_of(rows)),
    "sweep_ew": lambda rows: {
        "value": top_label.ece_sweep_ew(ranked_of(rows)),
        "n_bins": len(top_label.sweep_cuts(ranked_of(rows), binning.equal_width_cuts)) - 1,
    },
    "sweep_em": lambda rows: {
        "value": top_label.ece_sweep(ranked_of(rows)),
        "n_bins": len(top_label.sweep_cuts(ranked_of(rows))) - 1,
    },
}


def ours(family, rows):
    if family in OTHERS:
        return OTHERS[family](rows)
    stem, bins = re.fullmatch(r"(\w+?)_(\d+)(?:_f64|_f32)?", family).groups()
    metric = METRICS[WITH_BINS[stem]]
    given = rows if metric.needs == "scores" else ranked_of(rows)
    return metric.function(given, n_bins=int(bins))


def as_array(value):
    parts = value.values() if isinstance(value, dict) else [value]
    return np.array([np.nan if part is None else float(part) for part in parts])


def test_every_golden_value_agrees_or_is_listed_as_different():
    different = {}
    for entry in ENTRIES:
        family, name = entry["id"].rsplit("/", 1)
        found, golden = as_array(ours(family, predictions(name))), as_array(entry["value"])
        if not np.allclose(found, golden, rtol=entry["rtol"], atol=entry["atol"], equal_nan=True):
            different[entry["id"]] = found, golden
    assert different.keys() == DIFFERENT.keys(), different


def test_reference_adaptive_ece_is_blind_where_all_confidences_are_equal():
    # 40 rows say 0.7 and 26 are right: the true error is 0.05, the released code says 0
    ranked = ranked_of(predictions("const"))
    assert top_label.ada_ece(ranked) == 0.0
    assert top_label.ece_em(ranked) == pytest.approx(0.05, abs=1e-12)
