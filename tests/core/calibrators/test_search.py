"""Temperature and focal temperature: margins, searches against trying all, golden temperatures."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from core.arrays import file_map_of, log_softmax
from core.calibrators.focal_map import log_focal_map
from core.calibrators.focal_temperature import (
    GRID_GAMMAS,
    PAPER_GAMMAS,
    FocalMap,
    FocalTemperature,
    best_on_line,
)
from core.calibrators.margins import OBJECTIVES, LogitMargins, objective_of, samples
from core.calibrators.search import (
    SearchPoint,
    best_on_grid,
    grid_zoom,
    newton_refine,
    scan,
    simplex_refine,
)
from core.calibrators.temperature import (
    BOTH_GRIDS,
    FINE_GRID,
    GRIDS,
    MUKHOTI_GRID,
    TEMPERATURES,
    Temperature,
    _derivatives,
    nll_temperature,
)
from core.metrics import top_label
from core.metrics.ranked import SortedOutcomes
from core.predictions import Outcomes
from tests.core.calibrators.cases import GOLDEN, drawn, golden_input, hard_runs

RUNS = hard_runs()
NAMES = [f"{i}-{z.shape[1]}" for i, (z, _) in enumerate(RUNS)]

AT_ONCE = 10  # the run that is tried with the fast tests
# The runs of which every search tries most points: `make soak` has them, and the suite has runs of
# every number of classes and of every scale, with equal rows and without.
EXHAUSTIVE = {0, 4, 5, 7, 8, 9, 11, 13, 14, 15, 16, 17, 19}


def effort(index):
    """The marker of a run: how long trying all takes decides who tries it."""
    if index == AT_ONCE:
        return ()
    return pytest.mark.soak if index in EXHAUSTIVE else pytest.mark.nightly


def mapped(logits, gamma, temperature):
    return log_focal_map(log_softmax(logits / temperature), gamma)


def test_grids_are_those_of_the_papers():
    assert PAPER_GAMMAS == (-0.5, -0.25, 0.05, 0.25, 0.37, 0.5, 0.75, 1.0, 5.0)
    assert GRID_GAMMAS == (-0.5, -0.25, 0.0, 0.05, 0.25, 0.37, 0.5, 0.75, 1.0, 5.0)
    assert (len(FINE_GRID), FINE_GRID[0], FINE_GRID[-1]) == (500, 0.01, 5.0)
    assert (len(MUKHOTI_GRID), MUKHOTI_GRID[0], MUKHOTI_GRID[-1]) == (100, 0.1, 10.0)
    assert FINE_GRID[99] == MUKHOTI_GRID[9] == 1.0
    assert len(BOTH_GRIDS) == 550  # up to 5 Mukhoti's temperatures are among the others
    expected = {
        "grid": FINE_GRID,
        "komisarenko": FINE_GRID,
        "mukhoti": MUKHOTI_GRID,
        "line": FINE_GRID,
    }
    assert expected == GRIDS


@pytest.mark.parametrize("run", RUNS[::3], ids=NAMES[::3])
@pytest.mark.parametrize("temperature", [0.01, 0.7, 1.0, 20.0])
def test_margins_give_the_map_of_the_whole_row(run, temperature):
    logits, labels = run
    margins = LogitMargins.of(logits, labels)
    gammas = [-0.95, -0.5, 0.0, 0.05, 1.0, 5.0]
    confidences = margins.confidences(temperature, gammas)
    nlls = margins.nll(temperature, gammas)
    for gamma, confidence, nll in zip(gammas, confidences, nlls, strict=True):
        log_p = mapped(logits, gamma, temperature)
        np.testing.assert_allclose(confidence, np.exp(log_p.max(axis=1)), rtol=0, atol=1e-12)
        np.testing.assert_allclose(nll, objective_of(log_p, labels, "nll"), rtol=1e-11, atol=1e-12)
    assert np.array_equal(margins.correct, logits.argmax(axis=1) == labels)


def test_margins_hold_rows_of_very_many_classes():
    logits, labels = drawn(10, 40_000, scale=5.0)
    found = LogitMargins.of(logits, labels).confidences(2.0, [0.5])[0]
    expected = np.exp(mapped(logits, 0.5, 2.0).max(axis=1))
    np.testing.assert_allclose(found, expected, rtol=1e-10)


def judged(calibrator, logits, labels, objective):
    """The objective of what a calibrator predicts."""
    if objective == "nll":
        return objective_of(calibrator.predict_log_proba(logits), labels, "nll")
    p = calibrator.predict_proba(logits)
    found = Outcomes(p.max(axis=1), p.argmax(axis=1) == labels)
    return getattr(top_label, objective)(SortedOutcomes.of(found))


def exhaustive(margins):
    """Every objective at all 10 x 500 points, gamma by gamma."""
    values = {name: np.empty((10, 500)) for name in OBJECTIVES}
    for column, temperature in enumerate(FINE_GRID):
        values["nll"][:, column] = margins.nll(temperature, GRID_GAMMAS)
        for row, confidence in enumerate(margins.confidences(temperature, GRID_GAMMAS)):
            ranked = SortedOutcomes.of(Outcomes(confidence, margins.correct))
            for name in ("ece", "ece_em", "ada_ece"):
                values[name][row, column] = getattr(top_label, name)(ranked)
    return values


@pytest.mark.parametrize(
    "run",
    [pytest.param(run, id=NAMES[i], marks=effort(i)) for i, run in enumerate(RUNS)],
)
def test_searches_are_never_worse_than_trying_all(run):
    logits, labels = run
    margins = LogitMargins.of(logits, labels)
    for objective, values in exhaustive(margins).items():
        row, column = np.unravel_index(values.argmin(), values.shape)
        best = best_on_grid(margins, objective, GRID_GAMMAS, FINE_GRID)
        assert (best.value, best.gamma, best.temperature) == (
            values[row, column],
            GRID_GAMMAS[row],
            FINE_GRID[column],
        )
        exact = FocalTemperature(objective, "exact").fit(logits, labels)
        scaling = Temperature(objective, "exact").fit(logits, labels)
        value = judged(exact, logits, labels, objective)
        alone = judged(scaling, logits, labels, objective)
        unchanged = objective_of(log_softmax(logits), labels, objective)
        slack = 1e-9 * max(1.0, float(values.min()))
        assert value <= min(values.min(), alone, unchanged) + slack
        assert alone <= values[GRID_GAMMAS.index(0.0)].min() + slack


@pytest.mark.parametrize("seed", [10, 24])
def test_adaptive_error_that_leaves_half_of_the_rows_out_is_searched_like_trying_all(seed):
    """Equal rows with the lowest confidence lie in no bin of the released code."""
    rng = np.random.default_rng(seed)
    logits, labels = drawn(60, 3, seed=seed)
    equal = rng.integers(25, 40)
    logits[:equal] = np.array([0.3, 0.0, -1.0]) * rng.uniform(0.2, 2.0)
    labels = np.where(rng.random(60) < 0.7, logits.argmax(axis=1), labels)
    margins = LogitMargins.of(logits, labels)
    values = scan(margins, "ada_ece", (0.0,), FINE_GRID)[0]
    assert best_on_grid(margins, "ada_ece", (0.0,), FINE_GRID).value == values.min()


@pytest.mark.parametrize("seed", [3, 19, 23])
def test_error_near_its_bound_is_searched_like_trying_all(seed):
    """Rows on which the ECE is hardly above |mean confidence - accuracy| at its lowest."""
    margins = LogitMargins.of(*drawn(300, 4, scale=4.0, seed=seed))
    values = scan(margins, "ece", (0.0,), FINE_GRID)[0]
    assert best_on_grid(margins, "ece", (0.0,), FINE_GRID).value == values.min()


@pytest.mark.parametrize("objective", ["ece", "ece_em"])
def test_only_temperatures_that_the_bound_allows_are_tried(objective, monkeypatch):
    margins, tried = LogitMargins.of(*drawn(3_000, 10, scale=4.0, seed=5)), []
    values = scan(margins, objective, (0.0,), FINE_GRID)[0]
    means = np.array([margins.confidences(t, [0.0]).mean() for t in FINE_GRID])
    allowed = np.count_nonzero(np.abs(means - margins.accuracy) <= values.min())
    confidences = LogitMargins.confidences

    def noted(margins, temperature, gammas):
        tried.append(temperature)
        return confidences(margins, temperature, gammas)

    monkeypatch.setattr(LogitMargins, "confidences", noted)
    best = best_on_grid(margins, objective, (0.0,), FINE_GRID)
    assert (best.value, best.temperature) == (values.min(), FINE_GRID[values.argmin()])
    assert len(tried) <= allowed + 2 * np.log2(len(FINE_GRID))  # those that close in on both ends


def test_paper_grid_lacks_zero_and_can_be_worse_than_temperature_scaling():
    logits, labels = drawn(3000, 4, sharpness=1.5, seed=3)
    plain = Temperature("nll", "grid").fit(logits, labels).report_.after
    assert FocalTemperature("nll", "komisarenko").fit(logits, labels).report_.after > plain
    assert FocalTemperature("nll", "grid").fit(logits, labels).report_.after == plain


@pytest.mark.parametrize(
    "objective",
    [
        name if name == "nll" else pytest.param(name, marks=pytest.mark.nightly)
        for name in OBJECTIVES
    ],
)
@pytest.mark.parametrize(
    "search", ["grid", "komisarenko", "mukhoti", pytest.param("paper", marks=pytest.mark.soak)]
)
def test_both_methods_return_the_first_smallest_point_of_one_grid(objective, search):
    """Every point is tried: the temperatures are the same for both, whatever the search."""
    logits, labels = drawn(150, 4, scale=4.0)
    margins = LogitMargins.of(logits, labels)
    gammas = GRID_GAMMAS if search == "grid" else PAPER_GAMMAS
    grid = MUKHOTI_GRID if search == "mukhoti" else FINE_GRID
    values = scan(margins, objective, gammas, grid)
    row, column = np.unravel_index(values.argmin(), values.shape)
    fitted = FocalTemperature(objective, search).fit(logits, labels)
    assert (fitted.gamma_, fitted.temperature_) == (gammas[row], grid[column])
    plain = scan(margins, objective, (0.0,), grid)[0]
    assert Temperature(objective, search).fit(logits, labels).temperature_ == grid[plain.argmin()]


def test_ranking_of_the_methods_does_not_come_from_their_grids():
    """On these rows the coarser temperatures alone would put temperature scaling second."""
    logits, labels = drawn(1000, 10, scale=5.0, seed=21)
    after = {
        (kind.name, search): kind("ada_ece", search).fit(logits, labels).report_.after
        for kind in (Temperature, FocalTemperature)
        for search in ("komisarenko", "mukhoti", "paper")
    }
    assert after["ts", "komisarenko"] < after["focal_ts", "komisarenko"] < after["ts", "mukhoti"]
    for name in ("ts", "focal_ts"):
        assert after[name, "paper"] == after[name, "komisarenko"]


@pytest.mark.parametrize("objective", ["nll", "ece", "ada_ece"])
def test_exact_search_is_not_worse_than_temperatures_that_one_grid_alone_has(objective):
    logits, labels = drawn(300, 10, scale=25.0, seed=2)
    mukhoti = FocalTemperature(objective, "mukhoti").fit(logits, labels)
    assert mukhoti.temperature_ > FINE_GRID[-1]
    exact = FocalTemperature(objective, "exact").fit(logits, labels)
    assert exact.report_.after <= mukhoti.report_.after


def test_end_of_the_grid_that_was_searched_is_reported():
    logits, labels = drawn(300, 10, scale=8.0, seed=2)
    for kind in (Temperature, FocalTemperature):
        assert kind("nll", "komisarenko").fit(logits, labels).report_.at_bound
        wide = kind("nll", "mukhoti").fit(logits, labels)
        assert FINE_GRID[-1] < wide.temperature_ < MUKHOTI_GRID[-1]
    assert not Temperature("nll", "mukhoti").fit(logits, labels).report_.at_bound


def test_line_is_never_worse_than_temperature_scaling_on_the_grid_and_near_the_plane():
    logits, labels = drawn(2000, 10, scale=5.0)
    margins = LogitMargins.of(logits, labels)
    line = best_on_line(margins, "nll")
    plain = best_on_grid(margins, "nll", (0.0,), FINE_GRID)
    plane = best_on_grid(margins, "nll", GRID_GAMMAS, FINE_GRID)
    assert line.value <= plain.value
    assert line.value - plane.value < 1e-3
    report = FocalTemperature("nll", "line").fit(logits, labels).report_
    assert report.after == line.value
    assert Temperature("nll", "line").fit(logits, labels).report_.after == plain.value


@pytest.mark.parametrize("objective", ["nll", "ece"])
def test_line_runs_through_the_temperatures_of_gamma_zero_and_one(objective):
    logits, labels = drawn(300, 10, scale=5.0, seed=2)
    margins = LogitMargins.of(logits, labels)
    ends = [best_on_grid(margins, objective, (gamma,), FINE_GRID) for gamma in (0.0, 1.0)]
    gammas = np.arange(-50, 501) / 100
    line = ends[0].temperature + gammas * (ends[1].temperature - ends[0].temperature)
    values = [
        scan(margins, objective, (gamma,), (temperature,)).item()
        for gamma, temperature in zip(gammas, line, strict=True)
    ]
    found = best_on_line(margins, objective)
    assert found.value == pytest.approx(min(values), abs=1e-12)
    assert found.temperature == pytest.approx(np.interp(found.gamma, gammas, line), rel=1e-9)


def slow_temperature(logits, labels):
    rows = np.arange(len(labels))
    found = minimize_scalar(
        lambda b: -log_softmax(logits * b)[rows, labels].mean(),
        bounds=(0.05, 100.0),
        method="bounded",
        options={"xatol": 1e-12},
    )
    return 1.0 / found.x


@pytest.mark.parametrize("shape", [(200, 2), (5000, 3), (300, 50)])
@pytest.mark.parametrize("scale", [0.5, 3.0, 12.0])
def test_temperature_is_the_optimum_of_the_nll(shape, scale):
    logits, labels = drawn(*shape, scale=scale, seed=5)
    temperature, before, after = nll_temperature(logits, labels)
    np.testing.assert_allclose(temperature, slow_temperature(logits, labels), rtol=1e-6)
    assert before == pytest.approx(objective_of(log_softmax(logits), labels, "nll"), rel=1e-13)
    scaled = log_softmax(logits / temperature)
    assert after == pytest.approx(objective_of(scaled, labels, "nll"), rel=1e-13)


@pytest.mark.parametrize("seed", range(8))
def test_the_slope_of_the_nll_is_zero_at_the_temperature(seed):
    logits, labels = drawn(900, 4, scale=0.5 + seed, seed=seed)
    inverse = 1.0 / nll_temperature(logits, labels)[0]
    gaps = logits - logits.max(axis=1, keepdims=True)
    p = np.exp(log_softmax(logits * inverse))
    mean, own = (p * gaps).sum(axis=1), gaps[np.arange(900), labels]
    curve = ((p * gaps**2).sum(axis=1) - mean**2).mean()
    assert abs((mean - own).mean() / curve) < 1e-11 * inverse


def test_many_rows_are_read_twice_and_once_more_at_one(monkeypatch):
    logits, labels = drawn(40_000, 5, scale=4.0, seed=1)
    seen = []

    def counted(rows, inverse):
        seen.append((len(rows.labels), inverse))
        return _derivatives(rows, inverse)

    monkeypatch.setattr("core.calibrators.temperature._derivatives", counted)
    nll_temperature(logits, labels)
    whole = [inverse for rows, inverse in seen if rows == 40_000]
    assert len(whole) == 3
    assert whole[-1] == 1.0


@pytest.mark.parametrize("name", ["noisy512x10", "mc512x10"])
def test_temperature_is_the_golden_one(name):
    logits, labels = golden_input(name)
    golden = GOLDEN[f"ts_mse/{name}"]["value"]["T_ce"]
    fitted = Temperature().fit(logits[:256], labels[:256])
    np.testing.assert_allclose(fitted.temperature_, golden, rtol=1e-4)


def test_exact_temperature_of_an_error_lies_between_the_points_of_the_grids():
    logits, labels = drawn(400, 4, scale=4.0, seed=3)
    margins = LogitMargins.of(logits, labels)
    both = tuple(sorted({*FINE_GRID, *MUKHOTI_GRID}))
    start = best_on_grid(margins, "ece", (0.0,), both)
    at = both.index(start.temperature)
    between = np.linspace(both[at - 1], both[at + 1], 21).tolist()
    values = scan(margins, "ece", (0.0,), between)
    assert values.min() < start.value
    assert Temperature("ece").fit(logits, labels).report_.after <= values.min()


def test_ends_of_the_range_are_reached_and_reported():
    right = np.eye(3)[np.arange(30) % 3] * 5.0
    fitted = Temperature().fit(right, np.arange(30) % 3)
    assert fitted.temperature_ == pytest.approx(TEMPERATURES[0])
    assert fitted.report_.at_bound
    assert "end of its range" in fitted.report_.message
    wrong = Temperature().fit(right, (np.arange(30) + 1) % 3)
    assert wrong.temperature_ == pytest.approx(TEMPERATURES[1])
    assert wrong.report_.at_bound
    middle = Temperature().fit(*drawn(200, 3))
    assert not middle.report_.at_bound


@pytest.mark.parametrize(
    "objective", ["ece", "ece_em", pytest.param("ada_ece", marks=pytest.mark.nightly)]
)
@pytest.mark.parametrize(
    "run", [1, *(pytest.param(i, marks=pytest.mark.nightly) for i in (5, 9, 19))]
)
def test_error_of_predictions_is_the_one_the_search_found_to_the_last_bit(objective, run):
    """Rows that tie are many here: an error in the last place would tear bins apart."""
    logits, labels = RUNS[run]
    for kind in (Temperature, FocalTemperature):
        fitted = kind(objective, "mukhoti").fit(logits, labels)
        assert judged(fitted, logits, labels, objective) == fitted.report_.after


@pytest.mark.parametrize(("seed", "at_end"), [(3, True), (6, False)])
def test_gamma_at_the_end_of_its_grid_is_reported(seed, at_end):
    fitted = FocalTemperature("nll", "grid").fit(*drawn(200, 10, scale=4.0, seed=seed))
    assert (fitted.gamma_ in (GRID_GAMMAS[0], GRID_GAMMAS[-1])) == at_end
    assert FINE_GRID[0] < fitted.temperature_ < FINE_GRID[-1]
    assert fitted.report_.at_bound == at_end


def test_gamma_at_the_end_of_its_range_is_reported():
    right = np.eye(3)[np.arange(30) % 3]
    fitted = FocalMap().fit(right, np.arange(30) % 3)
    assert fitted.gamma_ == pytest.approx(10.0)
    assert fitted.report_.at_bound


def test_exact_focal_temperature_is_a_minimum_of_the_nll():
    logits, labels = drawn(1500, 5, scale=4.0, seed=2)
    fitted = FocalTemperature().fit(logits, labels)
    best = fitted.report_.after
    for gamma_step, scale in ((0.02, 1.0), (-0.02, 1.0), (0.0, 1.01), (0.0, 0.99), (0.02, 1.01)):
        near = mapped(logits, fitted.gamma_ + gamma_step, fitted.temperature_ * scale)
        assert objective_of(near, labels, "nll") > best


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_focal_map_alone_is_best_among_gammas_and_never_worse_than_none(objective):
    logits, labels = drawn(300, 4, scale=2.0, sharpness=3.0)
    fitted = FocalMap(objective).fit(logits, labels)
    value = judged(fitted, logits, labels, objective)
    assert value == pytest.approx(fitted.report_.after, rel=1e-9)
    for gamma in np.arange(-18, 200) / 20.0:
        assert value <= objective_of(mapped(logits, gamma, 1.0), labels, objective) + 1e-12
    assert value <= fitted.report_.before


def test_focal_map_recovers_the_gamma_that_made_the_labels():
    logits, _ = drawn(20_000, 3, scale=1.5)
    rng = np.random.default_rng(1)
    p = np.exp(mapped(logits, 2.0, 1.0))
    labels = (p.cumsum(axis=1) > rng.random((len(p), 1))).argmax(axis=1)
    assert FocalMap().fit(logits, labels).gamma_ == pytest.approx(2.0, abs=0.15)


def test_zoom_finds_a_valley_and_keeps_its_ends():
    at, value = grid_zoom(lambda x: (x - 0.3) ** 2, 0.0, 1.0, rounds=8)
    assert at == pytest.approx(0.3, abs=1e-8)
    assert value == pytest.approx(0.0, abs=1e-15)
    assert grid_zoom(lambda x: x, -1.0, 1.0, rounds=3)[0] == -1.0


def test_polish_returns_its_start_where_nothing_is_lower():
    logits, labels = drawn(200, 3)
    margins = LogitMargins.of(logits, labels)
    best = simplex_refine(
        margins, "nll", best_on_grid(margins, "nll", GRID_GAMMAS, FINE_GRID), ((-0.9, 5), (0.1, 9))
    )
    again = simplex_refine(margins, "nll", best, ((-0.9, 5), (0.1, 9)))
    assert again.value <= best.value
    assert again.value == pytest.approx(best.value, rel=1e-9)


@pytest.fixture
def small_samples(monkeypatch):
    """Samples of 60 rows and more, so that few rows are many."""
    monkeypatch.setattr("core.calibrators.margins.SAMPLE_ROWS", 60)


@pytest.mark.parametrize("weighted", [False, True])
def test_samples_are_ever_more_rows_and_at_last_all(small_samples, weighted):
    logits, labels = drawn(60 * 17, 3)
    weights = np.arange(1.0, 60 * 17 + 1) if weighted else None
    margins = LogitMargins.of(logits, labels, weights)
    found = list(samples(margins, logits, labels))
    assert [few.n for few in found] == [60, 60 * 17 // 2, 60 * 17]
    assert found[-1] is margins
    right = logits.argmax(axis=1) == labels
    assert np.array_equal(found[0].correct, right[::17])
    if weighted:
        assert np.array_equal(found[1].weights, weights[::2])


@pytest.mark.parametrize("scale", [0.5, 3.0, 30.0])
@pytest.mark.parametrize("sharpness", [0.5, 2.0])
def test_optimum_of_many_rows_is_that_of_a_search_of_all(monkeypatch, scale, sharpness):
    logits, labels = drawn(1200, 5, scale=scale, sharpness=sharpness, seed=4)
    for method in (FocalTemperature, FocalMap):
        expected = method("nll").fit(logits, labels).report_.after
        with monkeypatch.context() as patch:
            patch.setattr("core.calibrators.margins.SAMPLE_ROWS", 100)
            found = method("nll").fit(logits, labels).report_
        assert found.after == pytest.approx(expected, abs=1e-11)


def test_rows_that_a_sample_does_not_know_are_searched_to_the_end(small_samples):
    """Every sampled row is right, so that the sample's temperature stands at the end."""
    logits, labels = drawn(1200, 3, seed=5)
    labels[::20] = logits[::20].argmax(axis=1)
    stated = FocalTemperature("nll").fit(logits, labels)
    margins = LogitMargins.of(logits, labels)
    best = best_on_grid(margins, "nll", GRID_GAMMAS, BOTH_GRIDS)
    assert stated.report_.after <= best.value
    assert stated.report_.after == pytest.approx(judged(stated, logits, labels, "nll"), abs=1e-12)


def test_steps_end_at_the_optimum_or_nowhere():
    margins = LogitMargins.of(*drawn(500, 4, scale=4.0, seed=6))
    bounds = ((-0.95, 10.0), TEMPERATURES)
    on_grid = best_on_grid(margins, "nll", GRID_GAMMAS, BOTH_GRIDS)
    best = simplex_refine(margins, "nll", on_grid, bounds)
    assert newton_refine(margins, on_grid, bounds).value == pytest.approx(best.value, abs=1e-11)
    for gamma, temperature in ((4.0, 0.2), (-0.95, 20.0), (0.0, 0.01)):
        assert newton_refine(margins, SearchPoint(0.0, gamma, temperature), bounds) is None
    alone = newton_refine(margins, SearchPoint(0.0, 0.1, 2.0), bounds, along_gamma=True)
    near = margins.nll(2.0, [alone.gamma - 1e-3, alone.gamma, alone.gamma + 1e-3])
    assert (alone.value, alone.temperature) == (near.min(), 2.0)


@pytest.mark.parametrize("objective", ["nll", "ece"])
def test_margins_in_a_file_fit_the_same(monkeypatch, objective):
    logits, labels = drawn(400, 6, scale=4.0, seed=8)
    in_memory = FocalTemperature(objective, "grid").fit(logits, labels)
    monkeypatch.setattr("core.arrays.MAPPED_BYTES", 64)
    assert file_map_of(LogitMargins.of(logits, labels).blocks[0])
    in_file = FocalTemperature(objective, "grid").fit(logits, labels)
    assert in_file.parameters() == in_memory.parameters()
    assert in_file.report_.after == in_memory.report_.after
