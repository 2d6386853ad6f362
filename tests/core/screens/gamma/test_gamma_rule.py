"""The update written out: hand arithmetic, a second evaluation of what is printed, inference."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.losses.bins import AdaFocalRule, CalFocalRule
from core.screens.gamma.figures import HistoryGrid
from core.screens.gamma.words import HistoryRule, given_by, known_before, learned, update
from tests.core.screens.gamma.gamma_cases import followed, grid, history

ADA = AdaFocalRule()
SET = "from the training settings"


def evaluated(equation: str) -> tuple[float, str]:
    """Compute the middle of "rule = numbers = result" as a reader would, beside the result."""
    _, numbers, result = equation.split(" = ")
    text = numbers.replace("−", "-").replace("·", "*").replace("exp", "math.exp")
    assert re.fullmatch(r"[-0-9.e+*() ]*(math\.exp)?[-0-9.e+*() ]*", text)
    return eval(text), result


def number(text: str) -> float:
    return float(text.replace("−", "-"))


def test_one_step_by_hand():
    # 1.94 e^(1.5 * 0.11) = 1.94 * 1.17939 = 2.28802
    found = update(
        grid([[1.94], [1.94 * math.exp(0.165)]], [[0.0], [0.11]]),
        HistoryRule(AdaFocalRule(rate=1.5), SET),
        1,
        0,
    )
    assert found.equation.startswith("γ ← γ · exp(λ · gap) = 1.94 · exp(1.5 · 0.11")
    assert found.equation.endswith("= 2.29")
    assert found.steps == ()


def test_a_negative_gamma_moves_the_other_way():
    # -0.5 e^(-1 * 0.2) = -0.409
    found = update(
        grid([[-0.5], [-0.5 * math.exp(-0.2)]], [[0.0], [0.2]]), HistoryRule(ADA, SET), 1, 0
    )
    assert "γ · exp(−λ · gap) = −0.5 · exp(−1 · 0.2) = −0.409" in found.equation


def test_a_switch_and_then_a_bound_are_told():
    # 0.22 e^-0.3 = 0.163, nearer to 0 than 0.5: becomes -0.5, and the bound is -0.4
    rule = AdaFocalRule(gamma_min=-0.4, s_th=0.5)
    found = update(grid([[0.22], [-0.4]], [[0.0], [-0.3]]), HistoryRule(rule, SET), 1, 0)
    assert found.equation.endswith("0.22 · exp(1 · (−0.3)) = 0.163")
    assert found.steps == (
        "0.163 is nearer to 0 than S_th = 0.500, so γ changes sign: −0.500.",
        "That is below γ min, so γ is −0.400.",
    )


def test_the_upper_bound_is_told():
    found = update(grid([[19.0], [20.0]], [[0.0], [0.1]]), HistoryRule(ADA, SET), 1, 0)
    assert found.equation.endswith("= 21.0")
    assert found.steps == ("That is above γ max, so γ is 20.0.",)


def test_an_empty_bin_rests():
    table = grid([[0.83], [0.83]], [[0.0], [0.0]], count=[[5], [0]])
    found = update(table, HistoryRule(ADA, SET), 1, 0)
    assert "0.83 · exp(1 · 0) = 0.830" in found.equation
    assert found.steps[0].startswith("No validation answer fell into this bin")


def test_an_empty_bin_is_moved_by_a_bound_or_a_switch_all_the_same():
    bound = AdaFocalRule(gamma_max=0.5)
    found = update(grid([[0.5]], [[0.0]], count=[[0]]), HistoryRule(bound, SET), 0, 0)
    assert found.steps == (
        "No validation answer fell into this bin: the gap counts as 0.",
        "That is above γ max, so γ is 0.500.",
    )
    table = grid([[-1.5]], [[0.0]], count=[[0]])
    steps = update(table, HistoryRule(AdaFocalRule(s_th=1.5), SET), 0, 0).steps
    assert "stays" not in " ".join(steps)
    assert "changes sign" in steps[1]
    rests = update(grid([[1.0]], [[0.0]], count=[[0]]), HistoryRule(ADA, SET), 0, 0).steps
    assert rests[0].endswith("the gap counts as 0 and γ stays.")


def test_a_power_beyond_float64_ends_at_the_bound():
    # 5000 * 0.5 = 2500: e to that is no float64
    table = grid([[20.0], [20.0]], [[0.5], [0.5]])
    found = update(table, HistoryRule(AdaFocalRule(rate=5000.0), SET), 1, 0)
    assert found.equation.endswith("20 · exp(5000 · 0.5) = over 1e+308")
    assert found.steps == ("That is above γ max, so γ is 20.0.",)
    low = update(
        grid([[-2.0], [-2.0]], [[0.0], [-0.5]]), HistoryRule(AdaFocalRule(rate=5000.0), SET), 1, 0
    )
    assert low.equation.endswith("= below −1e+308")


def test_calfocal_forgets_what_was_before():
    found = update(
        grid([[7.0], [math.exp(0.5)]], [[0.0], [0.05]]), HistoryRule(CalFocalRule(10.0), SET), 1, 0
    )
    assert found.equation == "γ ← exp(λ · gap) = exp(10 · 0.05) = 1.65"


def test_an_exponent_beyond_the_most_is_told():
    table = grid([[math.exp(69)]], [[0.4]])
    found = update(table, HistoryRule(CalFocalRule(200.0), SET), 0, 0)
    assert found.equation == "γ ← exp(λ · gap) = exp(69) = 9.25e+29"
    assert found.steps == ("λ · gap = 200 · 0.400 is limited to 69.",)


def test_the_first_epoch_begins_at_one():
    found = update(grid([[math.exp(0.1)]], [[0.1]]), HistoryRule(ADA, SET), 0, 0)
    assert "= 1 · exp(1 · 0.1) = 1.11" in found.equation


def test_a_gamma_that_does_not_follow_gets_no_equation():
    found = update(grid([[1.0], [1.3]], [[0.0], [0.1]]), HistoryRule(ADA, SET), 1, 0)
    assert found.equation == ""
    assert "the rule gives 1.11, but the history has 1.30" in found.steps[0]


def test_after_a_missing_epoch_nothing_is_claimed():
    table = grid([[1.1], [1.2], [1.3]], [[0.1], [0.1], [0.1]], epoch=[4, 5, 8])
    assert known_before(table).tolist() == [False, True, False]
    assert (
        update(table, HistoryRule(ADA, SET), 0, 0).steps[0].startswith("This history has no epoch")
    )
    assert "Epoch 7 is not in this history" in update(table, HistoryRule(ADA, SET), 2, 0).steps[0]


def test_updates_by_batches_of_which_one_an_epoch_was_kept_cannot_be_written():
    config = {"name": "adafocal", "update_every": 100}
    lacking = grid([[1.4]], [[0.1]])  # of more than one update: one gives exp(0.1)
    found = learned(config, lacking)
    assert found.rule is None
    assert "only the last update of an epoch is kept" in update(lacking, found, 0, 0).steps[0]


def test_each_update_within_an_epoch_is_written_from_the_one_before():
    bins = history(
        [[math.exp(0.1)], [math.exp(0.3)]], [[0.1], [0.2]],
        epoch=[0, 0], update=[0, 1], trained=[0.4, 0.8],
    )  # fmt: skip
    table = HistoryGrid.of(bins)
    found = learned({"name": "adafocal", "update_every": 2}, table)
    assert found.rule == AdaFocalRule()
    assert known_before(table).tolist() == [True, True]
    assert table.epoch.tolist() == [0.4, 0.8]
    assert (
        update(table, found, 1, 0).equation == "γ ← γ · exp(λ · gap) = 1.105 · exp(1 · 0.2) = 1.35"
    )
    third = HistoryGrid.of(replace(bins, update=np.array([0, 2])))
    assert "Update 2 is not in this history" in update(third, found, 1, 0).steps[0]


def test_the_config_names_the_rule_with_defaults_filled_in():
    table = grid([[1.1]], [[0.1]])
    assert learned({"name": "adafocal", "lambda": 2.0}, table).rule == AdaFocalRule(rate=2.0)
    assert learned({"name": "calfocal_1", "lambda": 10.0}, table).rule == CalFocalRule(10.0)


@st.composite
def courses(draw):
    """Confidences, accuracies and counts of some epochs and bins; some bins are empty."""
    shape = draw(st.tuples(st.integers(1, 6), st.integers(1, 4)))
    share = st.floats(0.0, 1.0)
    cells = shape[0] * shape[1]
    says, right = (
        np.array(draw(st.lists(share, min_size=cells, max_size=cells))).reshape(shape)
        for _ in range(2)
    )
    count = np.array(draw(st.lists(st.integers(0, 3), min_size=cells, max_size=cells)))
    return says, right, count.reshape(shape)


rules = st.one_of(
    st.builds(
        AdaFocalRule,
        rate=st.floats(0.01, 20),
        gamma_max=st.floats(0.5, 50),
        gamma_min=st.floats(-5, 0),
        s_th=st.floats(0, 1),
    ),
    st.builds(CalFocalRule, rate=st.floats(0.01, 200)),
)


@given(courses(), rules)
def test_what_is_written_gives_the_gamma_that_is_kept(course, rule):
    table = followed(rule, *course)
    for at in range(table.n_updates):
        for of in range(table.n_bins):
            found = update(table, HistoryRule(rule, SET), at, of)
            kept = float(table.gamma[at, of])
            if not found.equation:  # CalFocal in an empty bin
                assert kept == 1.0
                continue
            value, result = evaluated(found.equation)
            steps = " ".join(found.steps)
            assert number(result) == pytest.approx(value, rel=1e-2, abs=1e-9)
            if "changes sign" in steps:
                value = -rule.s_th if value > 0 else rule.s_th
            if "γ max" in steps:
                value = rule.gamma_max
            if "γ min" in steps:
                value = rule.gamma_min
            assert value == pytest.approx(kept, rel=1e-2, abs=1e-9)


@given(courses(), st.sampled_from([0.25, 1.0, 1.5, 10.0]), st.booleans())
def test_an_inferred_rule_gives_every_gamma(course, rate, adafocal):
    rule = AdaFocalRule(rate=rate) if adafocal else CalFocalRule(rate)
    table = followed(rule, *course)
    found = learned(None, table)
    if found.rule is not None:
        np.testing.assert_allclose(given_by(table, found.rule), table.gamma, rtol=1e-5, atol=1e-5)


def wandering(rule, n_epochs=40):
    rng = np.random.default_rng(3)
    right = rng.uniform(0.3, 0.7, (n_epochs, 6))
    says = np.clip(right + rng.normal(0.02, 0.1, right.shape), 0, 1)
    return followed(rule, says, right, np.full(right.shape, 50))


def test_lambda_switch_and_bounds_are_found_again():
    rule = AdaFocalRule(rate=2.5, gamma_max=1.4, gamma_min=-1.3, s_th=0.3)
    table = wandering(rule, 200)
    assert table.turned.any()
    assert (table.gamma == 1.4).any()
    found = learned(None, table).rule
    assert found.rate == 2.5
    assert found.s_th == 0.3
    assert found.gamma_max == 1.4


def test_what_was_found_says_so():
    assert "not in the file" in learned(None, wandering(CalFocalRule(7.25))).note
    own = learned({"name": "calfocal_1", "lambda": 1.0}, wandering(CalFocalRule(1.0)))
    assert "every training image has its own γ" in own.note


def test_calfocal_is_found_again():
    assert learned(None, wandering(CalFocalRule(7.25))).rule == CalFocalRule(7.25)


def test_two_lambdas_in_one_history_are_not_known():
    one, two = wandering(AdaFocalRule(rate=1.0), 20), wandering(AdaFocalRule(rate=1.1), 40)
    gamma = two.gamma.copy()
    gamma[:20] = one.gamma
    mixed = grid(gamma, two.gap, accuracy=two.accuracy)
    assert learned(None, mixed).rule is None


def test_rounded_gammas_are_not_taken_for_exact():
    table = wandering(AdaFocalRule())
    rough = grid(table.gamma.round(3), table.gap, accuracy=table.accuracy)
    found = learned(None, rough)
    assert found.rule is None
    assert "not known" in update(rough, found, 3, 0).steps[0]


def test_a_first_epoch_alone_does_not_tell_the_rules_apart():
    gap = np.array([[0.1, -0.2, 0.3, 0.05]])
    found = learned(None, grid(np.exp(1.5 * gap), gap))
    assert found.rule is None
    assert "AdaFocal and CalFocal would both" in found.source


def test_a_lambda_below_0_is_no_rule():
    # every gamma is exp(-1.5) per unit of gap: AdaFocal with a lambda that none may set
    gap = np.array([[0.1, -0.1], [0.12, -0.2], [0.05, -0.04], [0.1, 0.2]])
    found = learned(None, grid(np.exp(-1.5 * np.cumsum(gap, axis=0)), gap))
    assert found.rule is None


def test_two_updates_are_too_few_to_believe_a_lambda():
    assert learned(None, grid([[1.1, 1.2]], [[0.1, 0.2]])).rule is None
