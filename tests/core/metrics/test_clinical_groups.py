"""Subgroups: how columns become groups, and that each is audited like rows of its own."""

import numpy as np
import pytest

from core.metrics import clinical, suite
from core.metrics.clinical.groups import (
    MISSING,
    MOST,
    REST,
    by_date,
    grouping,
    subgroups,
    too_few,
)
from core.predictions import Dates, Predictions, ScoreKind, Task


def test_values_are_groups_the_most_frequent_first_the_missing_last():
    found = grouping(["F", " M", "F", "", "", "", "X"])
    assert found.order == ("F", "M", "X", MISSING)
    assert found.groups == ("F", "M", "F", MISSING, MISSING, MISSING, "X")
    assert found.edges == ()


@pytest.mark.parametrize(
    ("days", "period", "groups"),
    [
        (["2024-02-29", "2023-12-31", "", "2024-02-01"], "month",
         ("2024-02", "2023-12", MISSING, "2024-02")),
        (["2023-01-01", "2023-12-31"], "month", ("2023-01", "2023-12")),
        (["2023-01-01", "2024-01-01"], "quarter", ("2023 Q1", "2024 Q1")),
        (["2021-04-01", "2024-03-31"], "quarter", ("2021 Q2", "2024 Q1")),
        (["2021-01-01", "2024-03-31"], "year", ("2021", "2024")),
        (["1969-12-31", "1970-01-01"], "month", ("1969-12", "1970-01")),
        (["2001-05-05", "2012-01-01", "2013-01-01", "2024-01-01"], "year",
         ("up to 2013", "up to 2013", "up to 2013", "2024")),
    ],
)  # fmt: skip
def test_dates_are_groups_as_fine_as_their_span_allows(days, period, groups):
    dates = Dates.of("visit", days)
    found = by_date(dates.of_row)
    assert (found.period, found.groups) == (period, groups)
    in_time = sorted(set(groups) - {MISSING}, key=lambda name: name.removeprefix("up to "))
    assert found.order == (*in_time, *({MISSING} & set(groups)))
    assert len(found.order) <= MOST + 1


def test_few_different_numbers_stay_as_they_are():
    found = grouping(["1", "0", "1"])
    assert found.order == ("1", "0")


def test_many_different_numbers_are_cut_into_quartiles_that_name_their_edges():
    ages = [str(age) for age in range(20, 60)]
    found = grouping([*ages, ""])
    assert found.edges == (29.0, 39.0, 49.0)
    assert found.order == ("up to 29", "over 29 to 39", "over 39 to 49", "over 49", MISSING)
    assert found.groups[9:11] == ("up to 29", "over 29 to 39")
    assert [found.groups.count(name) for name in found.order] == [10, 10, 10, 10, 1]


def test_quartiles_that_coincide_become_fewer_groups():
    values = ["0"] * 80 + [str(k) for k in range(1, 21)]
    found = grouping(values)
    assert found.order == ("up to 0", "over 0")
    assert [found.groups.count(name) for name in found.order] == [80, 20]


def test_beyond_twelve_groups_the_rest_is_one():
    values = [f"ward {k:02d}" for k in range(20) for _ in range(30 - k)]
    found = grouping(values)
    assert len(found.order) == MOST
    assert found.order[0] == "ward 00"
    assert found.order[-1] == REST
    assert found.groups.count(REST) == sum(30 - k for k in range(MOST - 1, 20))


@pytest.mark.parametrize("cell", ["NA", "n/a", "NaN", "null", "None", " ? ", ""])
def test_one_missing_cell_leaves_numbers_numbers(cell):
    found = grouping([*(str(age) for age in range(20, 60)), cell])
    assert found.edges == (29.0, 39.0, 49.0)
    assert found.groups[-1] == found.order[-1] == "missing"


def test_ages_with_their_unit_are_years():
    ages = [f"{age:03d}Y" for age in range(20, 60)]
    plain = grouping([str(age) for age in range(20, 60)])
    assert grouping(ages) == plain
    young = grouping([*ages, "018M", "364D", "052W", "NA"])
    assert young.groups[-4:] == ("up to 27", "up to 27", "up to 27", "missing")
    for age, years in (("018M", 1.5), ("364D", 364 / 365.25), ("052W", 364 / 365.25)):
        column = [age, *(str(k) for k in range(100, 130))]
        assert grouping([age] * 90 + column).edges[0] == pytest.approx(years)


@pytest.mark.parametrize("odd", ["inf", "about 40", "058X"])
def test_what_is_no_number_leaves_values_as_they_are(odd):
    found = grouping([*(str(k) for k in range(30)), odd])
    assert found.edges == ()
    assert len(found.order) == MOST


def test_a_group_is_audited_like_rows_of_its_own():
    rng = np.random.default_rng(1)
    p = rng.random(900)
    y = rng.random(900) < p**1.5
    sex = np.where(rng.random(900) < 0.7, "F", "M")
    women, men = subgroups(p, y, grouping(sex.tolist()), n_resamples=80)
    own = sex == "F"
    assert (women.name, men.name) == ("F", "M")
    assert women.fit == clinical.recalibration(p[own], y[own])
    binary = Predictions(Task.BINARY, ScoreKind.SIGMOID, p[own], y[own].astype(np.int64))
    drawn = suite.diagram(suite.prepare(binary, 1, n_resamples=80, seed=0), n_bins=15, level=0.95)
    ece = drawn.metrics["ece"]
    assert (women.ece.value, women.ece.low, women.ece.high) == (ece.value, ece.low, ece.high)
    assert women.floor == drawn.noise_floor["ece"]
    assert women.fit.n + men.fit.n == 900
    assert (women.too_few, men.too_few) == (False, True)


@pytest.mark.parametrize(
    ("n", "events", "few"), [(400, 200, False), (400, 199, True), (400, 201, True), (0, 0, True)]
)
def test_two_hundred_of_each_are_enough(n, events, few):
    assert too_few(min(events, n - events)) is few


def test_groups_of_one_row_or_one_outcome_say_what_is_missing():
    p, y = np.array([0.2, 0.4, 0.9]), np.array([False, False, True])
    groups = grouping(["a", "a", "b"])
    first, second = subgroups(p, y, groups, n_resamples=20)
    assert first.fit.slope.reason.startswith("only one outcome")
    assert (second.fit.n, second.ece.value) == (1, pytest.approx(0.1))
    assert first.fit.observed_expected.value == 0.0
