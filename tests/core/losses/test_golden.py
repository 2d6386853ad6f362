"""Values, gradients and gammas against the golden entries; none is left out.

`focal_g0.5` on the edges documents NaN gradients of the released code where p rounds to 1; the
right gradient there is 0. `mmce_w_*` other than textbook is the released normalisation.
"""

import json
import math
import os
from pathlib import Path

import mpmath as mp
import numpy as np
import pytest

from tests.core.losses.cases import (
    GOLDEN,
    HERE,
    N_VALIDATION,
    golden_rows,
    golden_validation,
)

SHARED = Path(os.environ.get("CANDOR_SHARED", HERE.parents[2].parent / "shared"))
RELEASED = {"normalisation": "released"}
# Golden function to loss, settings and reduction.
ROWS = {
    "ce_sum": ("ce", {}, "sum"),
    "ls005_mean": ("ls", {}, "mean"),
    "brier_mean": ("brier", {}, "mean"),
    **{f"focal_g{g:g}_sum": ("focal", {"gamma": float(g)}, "sum") for g in (0, 0.5, 1, 2, 3, 5)},
    "flsd53_sum": ("flsd_53", {}, "sum"),
    "flsd532_sum": ("fla_532", {"edges": "released"}, "sum"),
    **{f"dual_focal_g{g}_sum": ("dual_focal", {"gamma": float(g)}, "sum") for g in (1, 2, 5)},
    **{
        f"mmce_w_ce_lam{weight}": ("mmce_weighted", {"lambda": float(weight), **RELEASED}, "mean")
        for weight in (2, 8)
    },
    **{
        f"fcl_g{g}_l{weight}_sum": ("fcl", {"gamma": float(g), "lambda": weight}, "sum")
        for g, weight in ((2, 0.5), (3, 0.5), (4, 1.5), (5, 4.5))
    },
    "fcl_l1_g4_l1.5_sum": ("fcl_l1", {"gamma": 4.0, "lambda": 1.5}, "sum"),
    **{f"inv_focal_g{g:g}_sum": ("inverse_focal", {"gamma": float(g)}, "sum") for g in (0.2, 1, 2)},
}
CONSTANT_GAMMA = "adafocal_const"
ERRORS = {  # the calibration error alone
    "mmce_w_only": ("mmce_weighted", RELEASED),
    "mmce_m_only": ("mmce", {}),
    "mmce_w_textbook": ("mmce_weighted", {}),
}
SCALARS = {
    *("focal_scalar_table", "gamma_star", "flsd_gamma_table", "adafocal_initial_bins"),
    *("fcl_minimisers", "g_crossings", "g_values", "calfocal"),
}


def ids(chosen):
    return sorted(name for name in GOLDEN if chosen(name.split("/")[0]))


def test_every_entry_is_read_by_a_test():
    trajectories = {name for name in GOLDEN if name.startswith("adafocal/")}
    constant = {name for name in GOLDEN if name.startswith(CONSTANT_GAMMA)}
    read = {name for name in GOLDEN if name.split("/")[0] in {*ROWS, *ERRORS}}
    assert set(GOLDEN) == read | trajectories | constant | SCALARS
    assert len(GOLDEN) == 100


def test_copies_are_the_shared_values():
    path = SHARED / "golden" / "golden.json"
    if not path.exists():
        pytest.skip("needs the golden values of the shared folder (CANDOR_SHARED)")
    entries = json.loads(path.read_text())["items"]
    wanted = {e["id"]: e["value"] for e in entries if e["part"] in ("loss", "adafocal")}
    assert {name: entry["value"] for name, entry in GOLDEN.items()} == wanted


def stepped(torch, loss, name, dtype):
    """Loss and gradient of a golden input, float64."""
    rows, labels = golden_rows(name)
    logits = torch.tensor(rows, dtype=dtype, requires_grad=True)
    value = loss(logits, torch.from_numpy(labels))
    value.backward()
    return value.item(), logits.grad.double().numpy()


def assert_gradient(found, entry):
    value, tol = entry["value"], entry["tol"]
    close = {"rtol": tol["rtol"], "atol": 1e-12}
    if value["grad_nan_count"] == 0:
        assert math.sqrt((found**2).sum()) == pytest.approx(value["grad_l2"], rel=tol["rtol"])
        assert np.abs(found).sum() == pytest.approx(value["grad_abs_sum"], rel=tol["rtol"])
        for row, at in (("grad_first_row", 0), ("grad_last_row", -1)):
            np.testing.assert_allclose(found[at, : len(value[row])], value[row], **close)
    with np.load(HERE / "golden_inputs.npz") as file:
        key = f"grad_{value['grad_array']}"
        if key in file:
            kept = np.nan_to_num(file[key])  # NaN only where the right gradient is 0
            atol = 1e-12 if kept.dtype == np.float64 else 1e-6
            np.testing.assert_allclose(found, kept, rtol=tol["rtol"], atol=atol)


@pytest.mark.parametrize("entry", ids(lambda name: name in ROWS))
def test_loss_and_gradient_are_golden(torch, made, entry):
    function, rows = entry.split("/")
    name, settings, reduction = ROWS[function]
    loss = made(name, reduction=reduction, **settings)
    value, gradient = stepped(torch, loss, rows, torch.float64)
    assert value == pytest.approx(GOLDEN[entry]["value"]["loss"], rel=GOLDEN[entry]["tol"]["rtol"])
    assert_gradient(gradient, GOLDEN[entry])
    value, gradient = stepped(torch, loss, rows, torch.float32)
    assert value == pytest.approx(GOLDEN[entry]["value"]["loss"], rel=1e-5)
    assert np.isfinite(gradient).all()


@pytest.mark.parametrize("entry", ids(lambda name: name.startswith(CONSTANT_GAMMA)))
def test_one_gamma_in_every_bin_is_golden(torch, made, entry):
    loss = made("adafocal", reduction="sum")
    loss.gamma.fill_(float(entry.split("/")[0].removeprefix(CONSTANT_GAMMA)))
    value, gradient = stepped(torch, loss, "loss_edges", torch.float64)
    assert value == pytest.approx(GOLDEN[entry]["value"]["loss"], rel=1e-7)  # their gamma: float32
    kept = np.load(HERE / "golden_inputs.npz")[f"grad_{GOLDEN[entry]['value']['grad_array']}"]
    np.testing.assert_allclose(gradient, kept, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("entry", ids(lambda name: name in ERRORS))
def test_calibration_error_alone_is_golden(torch, made, entry):
    function, rows = entry.split("/")
    name, settings = ERRORS[function]
    error = made(name, **settings).error
    golden = GOLDEN[entry]

    def alone(logits, labels):
        confidence, predicted = logits.softmax(dim=-1).max(dim=-1)
        return error(confidence, (predicted == labels).double())

    if rows == "all_correct":
        logits = torch.tensor(golden["input"]["logits"], dtype=torch.float64)
        assert alone(logits, torch.tensor(golden["input"]["labels"])).item() == golden["value"]
        return
    value, gradient = stepped(torch, alone, rows, torch.float64)
    if function == "mmce_w_textbook":
        assert value == pytest.approx(golden["value"], rel=golden["tol"]["rtol"])
    else:
        assert value == pytest.approx(golden["value"]["loss"], rel=golden["tol"]["rtol"])
        assert_gradient(gradient, golden)


# Gammas -----------------------------------------------------------------------------------------


def adafocal_settings(params):
    renamed = {"num_bins": "n_bins", "gmax": "gamma_max", "gmin": "gamma_min"}
    renamed |= {"adafocal_lambda": "lambda", "adafocal_switch_pt": "s_th"}
    return {renamed[key]: value for key, value in params.items() if key in renamed}


@pytest.mark.parametrize("entry", [name for name in GOLDEN if name.startswith("adafocal/")])
def test_gammas_follow_the_golden_trajectory(torch, made, entry):
    golden = GOLDEN[entry]
    loss = made("adafocal", reduction="sum", **adafocal_settings(golden["params"]))
    rows, labels = golden_rows("mc512x10")
    close = {"rtol": golden["tol"]["rtol"], "atol": golden["tol"]["atol"]}
    for step, wanted in enumerate(golden["value"]):
        if step:
            confidence, correct = golden_validation(entry.removeprefix("adafocal/"), step)
            found = loss.update(torch.from_numpy(confidence), torch.from_numpy(correct))
            assert_update(found, wanted, close)
        np.testing.assert_allclose(loss.gamma, wanted["gamma"], **close)
        if "lower" in wanted:
            np.testing.assert_allclose(loss.edges[:-1], wanted["lower"], **close)
            np.testing.assert_allclose(loss.edges[1:], wanted["upper"], **close)
        logits = torch.tensor(rows[:128], requires_grad=True)
        value = loss(logits, torch.from_numpy(labels[:128]))
        value.backward()
        assert value.item() == pytest.approx(wanted["loss"], rel=close["rtol"])
        assert logits.grad.norm().item() == pytest.approx(wanted["grad_l2"], rel=close["rtol"])
    probes = torch.tensor(wanted["probe_p"], dtype=torch.float64)
    np.testing.assert_allclose(loss.gamma[loss.bin_of(probes)], wanted["probe_gamma"], **close)


def assert_update(found, wanted, close):
    gap, share = np.abs(found.bins.gap), found.bins.count / N_VALIDATION
    assert (gap * share).sum() == pytest.approx(wanted["val_adaece"], rel=close["rtol"])
    np.testing.assert_allclose(found.gamma, wanted["gamma"], **close)
    if "gap" in wanted:
        np.testing.assert_allclose(found.bins.gap, wanted["gap"], **close)
        np.testing.assert_allclose(share, wanted["prop"], **close)


def test_ties_freeze_the_top_bins_and_a_p_of_one_falls_into_the_last(torch, made):
    loss = made("adafocal")
    for step in (1, 2, 3):
        confidence, correct = golden_validation("ties", step)
        found = loss.update(torch.from_numpy(confidence), torch.from_numpy(correct))
        wanted = np.array(GOLDEN["adafocal/ties"]["value"][step].get("prop", found.bins.count)) == 0
        np.testing.assert_array_equal(found.frozen, wanted)
        assert found.frozen[-1]
        assert found.gamma[-1] == 1.0
        assert not found.switched.any()
    assert loss.bin_of(torch.tensor([1.0])).tolist() == [14]


def test_bins_before_the_first_update_are_golden(torch, made):
    golden = GOLDEN["adafocal_initial_bins"]
    p = torch.tensor(golden["input"]["p_t"], dtype=torch.float64)
    assert made("adafocal").bin_of(p).tolist() == golden["value"]


@pytest.mark.parametrize(
    ("column", "name", "settings", "dtype"),
    [
        ("flsd53_f64", "flsd_53", {}, "float64"),
        ("flsd53_f32", "flsd_53", {}, "float32"),
        ("flsd532_f64", "fla_532", {"edges": "released"}, "float64"),
        ("fla53_text", "fla_53", {}, "float64"),
        ("fla532_text", "fla_532", {}, "float64"),
    ],
)
def test_gamma_of_a_p_is_golden(torch, made, column, name, settings, dtype):
    golden = GOLDEN["flsd_gamma_table"]
    p = torch.tensor(golden["input"]["p_t"], dtype=getattr(torch, dtype))
    assert made(name, **settings).gamma_at(p).tolist() == golden["value"][column]


def test_calfocal_is_golden(torch, made):
    for row in GOLDEN["calfocal"]["value"]:
        loss = made(f"calfocal_{row['case']}", n_bins=1, **{"lambda": row["lam"]})
        if row["case"] == 1:
            loss.accuracy.fill_(row["A_val"])
        else:
            loss.gamma.fill_(row["gamma"])
        logits = torch.tensor([[math.log(row["p"] / (1 - row["p"])), 0.0]], dtype=torch.float64)
        found = loss(logits, torch.tensor([0])).item()
        assert found == pytest.approx(row["loss"], rel=1e-9, abs=1e-300)


def test_calfocal_gammas_by_bin_are_golden():
    from core.losses.bins import CalFocalRule, ValidationBins

    for row in GOLDEN["calfocal"]["value"]:
        if row["case"] == 2:
            means = (np.array([row["C_val"]]), np.array([row["A_val"]]))
            bins = ValidationBins(np.array([0.0, 1.0]), np.array([9]), *means)
            found = CalFocalRule(row["lam"]).update(np.array([5.0]), bins)
            assert found.gamma[0] == pytest.approx(row["gamma"], rel=1e-12)


# Scalars ----------------------------------------------------------------------------------------


def pulled(torch, loss, p):
    """Loss and gradient factor -dL/dz_t / (1 - p) where the true class of two has p."""
    with mp.workdps(40):
        missing = 1 - mp.mpf(p)
        log_odds = float(mp.log((1 - missing) / missing))
    logits = torch.tensor([[log_odds, 0.0]], dtype=torch.float64, requires_grad=True)
    value = loss(logits, torch.tensor([0]))
    value.backward()
    return value.item(), -logits.grad[0, 0].item() / float(missing)


def test_focal_losses_and_gradient_factors_are_golden(torch, made):
    for row in GOLDEN["focal_scalar_table"]["value"]:
        for kind, factor in (("focal", "g_factor"), ("inverse_focal", "g_inverse_factor")):
            found = pulled(torch, made(kind, gamma=float(row["gamma"])), row["p"])
            wanted = (float(row[kind]), float(row[factor]))
            assert found == pytest.approx(wanted, rel=1e-12, abs=1e-300)


def test_gradient_factors_are_golden_and_one_where_they_must_be(torch, made):
    for name, wanted in GOLDEN["g_values"]["value"].items():
        p, gamma = map(float, name[2:-1].split(","))
        assert pulled(torch, made("focal", gamma=gamma), p)[1] == pytest.approx(wanted, rel=1e-12)
    for gamma, p in GOLDEN["g_crossings"]["value"].items():
        factor = pulled(torch, made("focal", gamma=float(gamma)), p)[1]
        assert factor == pytest.approx(1.0, rel=1e-9)
    for row in GOLDEN["gamma_star"]["value"]:
        gamma = float(mp.mpf(row["mpmath"]))
        if gamma <= 100.0:  # the catalogue's range
            factor = pulled(torch, made("focal", gamma=gamma), row["p0"])[1]
            assert factor == pytest.approx(float(row["g_at"]), rel=1e-9)


@pytest.mark.parametrize("case", GOLDEN["fcl_minimisers"]["value"])
def test_expected_fcl_is_flat_at_its_golden_minimiser(torch, made, case):
    gamma, weight, truth = (float(part.split("=")[1]) for part in case.split(","))
    loss = made("fcl", gamma=gamma, **{"lambda": weight})
    q = GOLDEN["fcl_minimisers"]["value"][case]
    logits = torch.tensor([[0.0, math.log(q / (1 - q))]], dtype=torch.float64, requires_grad=True)
    risk = sum(share * loss(logits, torch.tensor([k])) for k, share in ((1, truth), (0, 1 - truth)))
    risk.backward()
    assert abs(logits.grad[0, 1].item()) < 1e-6
