"""Rows that stand for several: a row of weight 2 is the row twice, one of weight 0 is not there."""

import csv
import io
import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.__main__ import main
from core.configs import AuditConfig
from core.errors import Refused, UsageError
from core.metrics import ranking
from core.metrics.ranked import SortedOutcomes
from core.ood import separation
from core.ood.intervals import auroc_difference, numbers
from core.ood.scores import ood_scores
from core.ood.separation import NUMBERS, Separation, auroc_error, cells, counts_of, thresholds_at
from core.predictions import Groups, Outcomes, Predictions, ScoreKind, Task, Weights
from core.studies import ood as study
from core.studies.ood import OodPair

NO_GROUPS = (None, None)
SIDES = st.lists(
    st.tuples(st.integers(-4, 4).map(float), st.integers(0, 4)), min_size=1, max_size=25
).filter(lambda side: any(weight for _, weight in side))

# Weighted rows are worth no more than Kish says, which groups of copies do not know.
NEAR = 0.04


QUICK = AuditConfig(n_resamples=20)


def columns(side):
    scores, weights = zip(*side, strict=True)
    return np.array(scores), np.array(weights, dtype=np.float64)


def weighted(*sides, groups=NO_GROUPS):
    (inside, own), (outside, other) = sides
    return Separation.of(inside, outside, groups, (own, other))


def repeated(*sides, grouped=False):
    """Every row as often as its weight says; grouped by the row it was."""
    rows, groups = [], []
    for scores, weights in sides:
        times = weights.astype(np.int64)
        rows.append(scores.repeat(times))
        groups.append(np.unique(np.arange(scores.size).repeat(times), return_inverse=True)[1])
    return Separation.of(*rows, tuple(groups) if grouped else NO_GROUPS)


def sample(seed, n=160, m=110, digits=1):
    rng = np.random.default_rng(seed)
    return tuple(
        (rng.normal(shift, 1, size).round(digits), rng.integers(0, 4, size).astype(np.float64))
        for shift, size in ((0.0, n), (0.9, m))
    )


def test_by_hand():
    inside = np.array([1.0, 2.0, 3.0, 9.0]), np.array([1.0, 2.0, 1.0, 0.0])
    found = weighted(inside, (np.array([2.0, 4.0]), np.array([3.0, 1.0])))
    assert found.values.tolist() == [1, 2, 3, 4]
    assert (found.total_in, found.total_out, found.n_in, found.n_out) == (4, 4, 3, 2)
    # 2 beats the one row at 1 and half of the two at 2; 4 beats all four
    assert separation.auroc(found) == (3 * (1 + 0.5 * 2) + 1 * 4) / 16
    assert separation.aupr_out(found) == pytest.approx(0.25 * 1 + 0.75 * 4 / 7)
    assert separation.fpr95(found) == 3 / 4
    assert separation.fpr95_in(found) == 3 / 4
    assert separation.detection_error(found) == pytest.approx(0.375)
    # shares of weight that each row beats, about their means 5/8: rows are groups of their own
    other = 3 / 4 * (2 / 4 - 5 / 8), 1 / 4 * (1 - 5 / 8)
    own = 1 / 4 * (1 - 5 / 8), 2 / 4 * (2.5 / 4 - 5 / 8), 1 / 4 * (1 / 4 - 5 / 8)
    variance = 2 / 1 * sum(v**2 for v in other) + 3 / 2 * sum(v**2 for v in own)
    assert auroc_error(found) == pytest.approx(variance**0.5, rel=1e-12)


@given(SIDES, SIDES)
def test_whole_weights_are_rows_repeated(inside, outside):
    sides = columns(inside), columns(outside)
    found, often = weighted(*sides), repeated(*sides)
    for key, function in NUMBERS.items():
        assert function(found) == function(often), key
    for share in (0.0, 0.05, 0.2, 0.5):
        threshold = thresholds_at(often, [share])[0]
        assert thresholds_at(found, [share])[0] == threshold
        assert counts_of(found, [threshold])[0] == counts_of(often, [threshold])[0]
    for one, other in zip(separation.roc_points(found), separation.roc_points(often), strict=True):
        np.testing.assert_array_equal(one, other)


@given(SIDES, SIDES)
def test_the_error_of_the_area_is_that_of_rows_repeated_in_groups(inside, outside):
    sides = columns(inside), columns(outside)
    found, often = auroc_error(weighted(*sides)), auroc_error(repeated(*sides, grouped=True))
    assert found == pytest.approx(often, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("digits", [1, 9])
def test_every_interval_is_that_of_rows_repeated_in_groups(digits):
    sides = sample(3, 900, 700, digits)
    found = numbers(weighted(*sides), n_resamples=100)
    often = numbers(repeated(*sides, grouped=True), n_resamples=100)
    for key, score in found.items():
        assert score.value == often[key].value
        assert (score.low, score.high) == pytest.approx((often[key].low, often[key].high), rel=NEAR)
        assert score.settings["resampled_by"] == "row"
        assert often[key].settings["resampled_by"] == "group"
    assert found["auroc"].n == sum(np.count_nonzero(weights) for _, weights in sides)


def test_groups_and_weights_together_are_rows_repeated_in_their_groups():
    sides = sample(5)
    patients = tuple(np.arange(scores.size) // 4 for scores, _ in sides)
    often = [
        (scores.repeat(w.astype(int)), patient.repeat(w.astype(int)))
        for (scores, w), patient in zip(sides, patients, strict=True)
    ]
    one = numbers(weighted(*sides, groups=patients), n_resamples=60)
    other = numbers(
        Separation.of(*(scores for scores, _ in often), tuple(group for _, group in often)),
        n_resamples=60,
    )
    for key, score in one.items():
        assert score.value == pytest.approx(other[key].value, rel=1e-9), key
        ends = other[key].low, other[key].high
        assert (score.low, score.high) == pytest.approx(ends, rel=NEAR), key
        assert score.settings["resampled_by"] == "group"


def test_perfectly_separated_weights_are_worth_as_many_rows_as_repeated_ones_in_groups():
    inside = np.arange(6.0), np.array([1.0, 5.0, 0.0, 2.0, 1.0, 1.0])
    outside = np.arange(10.0, 14.0), np.array([2.0, 1.0, 1.0, 8.0])
    one, other = weighted(inside, outside), repeated(inside, outside, grouped=True)
    ends = [(s.low, s.high) for s in (numbers(found)["auroc"] for found in (one, other))]
    assert ends[0] == pytest.approx(ends[1])
    assert ends[0][0] < numbers(repeated(inside, outside))["auroc"].low


@pytest.mark.parametrize("factor", [0.1, 3.0, 1e-7, 1e9])
def test_the_scale_of_weights_changes_no_number(factor):
    rng = np.random.default_rng(8)
    sides = [(scores, w * rng.uniform(0.2, 3, w.size)) for scores, w in sample(7)]
    found = weighted(*sides)
    scaled = weighted(*((scores, factor * w) for scores, w in sides))
    for key, score in numbers(found, n_resamples=50).items():
        again = numbers(scaled, n_resamples=50)[key]
        ends = again.value, again.low, again.high
        assert (score.value, score.low, score.high) == pytest.approx(ends, rel=1e-9), key
    assert thresholds_at(scaled, [0.05])[0] == thresholds_at(found, [0.05])[0]


@given(st.integers(1, 2000), st.sampled_from([0.1, 0.7, 1 / 3]))
def test_shares_of_equal_weights_are_free_of_rounding(n, weight):
    scores = np.arange(n, dtype=np.float64)
    alike = Separation.of(scores, scores, NO_GROUPS, (np.full(n, weight), np.full(n, weight)))
    plain = Separation.of(scores, scores)
    assert separation.fpr95(alike) == pytest.approx(separation.fpr95(plain), abs=1e-9)
    for share in (0.01, 0.05, 0.18, 0.2):
        assert thresholds_at(alike, [share])[0] == thresholds_at(plain, [share])[0]


def test_equal_weights_are_nearly_the_rows_themselves():
    """Up to the factor of each variance, which counts rows either way."""
    inside, outside = (scores for scores, _ in sample(2))
    alone = Separation.of(inside, outside)
    alike = Separation.of(inside, outside, NO_GROUPS, (np.ones(160), np.ones(110)))
    assert auroc_error(alike) == pytest.approx(auroc_error(alone), rel=1e-12)


def test_the_area_and_its_error_are_those_of_the_audit():
    rng = np.random.default_rng(1)
    sides = [(1 / (1 + np.exp(-s)), w * rng.uniform(0.1, 2, w.size)) for s, w in sample(9)]
    (inside, own), (outside, other) = sides
    patients = np.arange(inside.size) // 3, np.arange(outside.size) // 3 + 1000
    found = weighted(*sides, groups=patients)
    outcomes = Outcomes(
        np.r_[inside, outside],
        np.arange(inside.size + outside.size) >= inside.size,
        np.concatenate(patients),
        np.r_[own, other],
    )
    ranked = SortedOutcomes.of(outcomes)
    assert separation.auroc(found) == pytest.approx(ranking.auroc(ranked), rel=1e-12)
    # the audit counts the groups of both sides together: G / (G - 1) of all, not of either
    assert found.members is not None
    parts = [
        side.variance(each)
        for side, each in zip(found.members, reversed(separation.components(found)), strict=True)
    ]
    counts = [side.units.count for side in found.members]
    both = sum(counts) / (sum(counts) - 1)
    joint = both * sum(v * (g - 1) / g for v, g in zip(parts, counts, strict=True))
    assert ranking.auroc_error(ranked) == pytest.approx(joint**0.5, rel=1e-9)
    assert auroc_error(found) == pytest.approx(sum(parts) ** 0.5, rel=1e-12)


def test_the_question_asked_the_other_way_round_keeps_its_weights():
    found = weighted(*sample(4))
    other = found.swapped()
    assert separation.auroc(other) == pytest.approx(separation.auroc(found), abs=1e-15)
    assert auroc_error(other) == pytest.approx(auroc_error(found), rel=1e-12)
    assert (other.n_in, other.n_out) == (found.n_out, found.n_in)


@given(st.integers(1, 50))
def test_cells_keep_all_weight(most):
    sides = sample(6, 300, 40, 9)
    for ours, theirs in zip(
        cells(weighted(*sides), most), cells(repeated(*sides), most), strict=True
    ):
        np.testing.assert_array_equal(ours, theirs)


def test_only_one_set_may_be_weighted():
    (inside, own), (outside, _) = sample(1)
    found = Separation.of(inside, outside, NO_GROUPS, (own, None))
    often = Separation.of(inside.repeat(own.astype(int)), outside)
    assert [f(found) for f in NUMBERS.values()] == [f(often) for f in NUMBERS.values()]
    assert found.outside.dtype == np.int64


def test_rows_of_weight_0_are_not_looked_at():
    (inside, own), other = sample(1)
    own = np.r_[own, 0.0, 0.0]
    wild = weighted((np.r_[inside, np.nan, 1e300], own), other)
    assert [f(wild) for f in NUMBERS.values()] == [
        f(weighted(*sample(1))) for f in NUMBERS.values()
    ]
    with pytest.raises(Refused, match="EMPTY: No out-of-distribution row has a weight above 0"):
        Separation.of(inside, inside, NO_GROUPS, (None, np.zeros(inside.size)))


def test_many_weighted_rows_are_drawn_less_often():
    sides = sample(3, 1200, 900)
    assert numbers(weighted(*sides), n_resamples=30)["fpr95"].settings["resamples"] == 30
    sides = [tuple(column.repeat(100) for column in side) for side in sides]
    many = numbers(weighted(*sides), n_resamples=2000)
    assert many["fpr95"].settings["resamples"] == 200
    assert many["auroc"].n > 150_000


# Two runs on the same rows ---------------------------------------------------------------------


def two_runs(seed=3):
    rng = np.random.default_rng(seed)
    sides = sample(seed)
    one = tuple(scores for scores, _ in sides)
    other = tuple(scores + rng.normal(size=scores.size) / 3 for scores in one)
    return one, other, tuple(weights for _, weights in sides)


def test_a_difference_of_weighted_rows_is_that_of_rows_repeated_in_groups():
    one, other, weights = two_runs()
    times = [w.astype(np.int64) for w in weights]
    both = [tuple(s.repeat(t) for s, t in zip(run, times, strict=True)) for run in (one, other)]
    groups = tuple(np.unique(np.arange(t.size).repeat(t), return_inverse=True)[1] for t in times)
    often = auroc_difference(*both, groups=groups)
    found = auroc_difference(one, other, weights=weights)
    assert found == pytest.approx(often, abs=NEAR * (often[2] - often[1]))
    areas = [separation.auroc(Separation.of(*run, NO_GROUPS, weights)) for run in (one, other)]
    assert found[0] == pytest.approx(areas[0] - areas[1], abs=1e-12)
    scaled = auroc_difference(one, other, weights=tuple(7.3 * w for w in weights))
    assert scaled == pytest.approx(found, rel=1e-9)
    assert auroc_difference(one, one, weights=weights) == (0.0, 0.0, 0.0)


# Parts of files --------------------------------------------------------------------------------

K = 4


def part(seed, n, *, labelled=True, weights=None, skill=2.0, groups=None):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, K, n)
    z = rng.normal(size=(n, K)) + skill * np.eye(K)[labels]
    return Predictions(
        Task.MULTICLASS,
        ScoreKind.LOGITS,
        z,
        labels if labelled else np.full(n, -1),
        labelled=labelled,
        weights=None if weights is None else Weights.of("films", weights),
        groups=None if groups is None else Groups.of("patient", groups),
    )


def both_parts(**other):
    rng = np.random.default_rng(0)
    inside = part(1, 200, weights=rng.integers(0, 4, 200).astype(float), **other)
    outside = part(
        2, 150, labelled=False, skill=0.3, weights=rng.integers(0, 3, 150).astype(float), **other
    )
    return inside, outside


def tall(rows):
    """The rows as often as their weights say."""
    times = rows.weights.of_row.astype(np.int64)
    return replace(rows, weights=None).take(np.arange(rows.n).repeat(times))


def test_a_set_is_judged_by_weight():
    inside, outside = both_parts()
    for key in ("entropy", "energy"):
        found = study.judge(inside, outside, key, 1.7, config=QUICK)
        often = study.judge(tall(inside), tall(outside), key, 1.7, config=QUICK)
        for name, score in found.numbers.items():
            assert score.value == often.numbers[name].value
        assert [one.column for one in found.weights] == ["films", "films"]
        own = inside.weights.of_row
        assert found.weights[0].effective_n == pytest.approx(own.sum() ** 2 / (own @ own))
        assert found.groups == (None, None)
    assert often.weights == (None, None)


def test_what_a_shift_does_is_counted_by_weight():
    inside, shifted = (
        both_parts()[0],
        part(4, 200, skill=1.0, weights=np.random.default_rng(2).integers(0, 4, 200).astype(float)),
    )
    found = study.shift(inside, shifted, "entropy", 1.3)
    often = study.shift(tall(inside), tall(shifted), "entropy", 1.3)
    assert (found.weight, often.weight) == ("films", "")
    for name in ("accuracy", "confidence", "ece", "auroc"):
        assert getattr(found, name) == pytest.approx(getattr(often, name), rel=1e-12), name


def test_groups_say_what_their_rows_are_worth_for_the_area():
    patients = [f"p{k // 10}" for k in range(200)], [f"q{k // 10}" for k in range(150)]
    inside, outside = part(1, 200, groups=patients[0]), part(2, 150, labelled=False, skill=0.3)
    alone, found = (
        study.judge(rows, outside, "entropy", full=False)
        for rows in (replace(inside, groups=None), inside)
    )
    assert alone.groups == (None, None)
    own, other = found.groups
    assert (own.column, own.n, own.largest, other) == ("patient", 20, 10, None)
    assert own.effective_n == pytest.approx(200 / own.design_effect)
    copies = Groups.of("patient", np.arange(200).repeat(5).astype(str))
    often = replace(replace(inside, groups=None).take(np.arange(200).repeat(5)), groups=copies)
    (of_copies, _) = study.judge(often, outside, "entropy", full=False).groups
    assert of_copies.effective_n == pytest.approx(200, rel=0.01)


def test_groups_of_weighted_rows_are_worth_their_weight_by_the_design_effect():
    weights = 1.0 + np.arange(200) % 3
    inside = part(1, 200, groups=[f"p{k // 5}" for k in range(200)], weights=weights)
    outside = part(2, 150, labelled=False, skill=0.3)
    own, _ = study.judge(inside, outside, "entropy", full=False).groups
    assert own.effective_n * own.design_effect == pytest.approx(weights.sum())


def test_notices_say_what_rows_are_worth_and_that_they_are_weighted():
    groups = [f"p{k // 5}" for k in range(200)]
    inside = part(1, 200, groups=groups, weights=1.0 + np.arange(200) % 2)
    outside = part(2, 150, labelled=False, skill=0.3)
    found = study.judge(inside, outside, "entropy", full=False)
    texts = {note.code: note.text for note in study.extent_notices(found, "noise")}
    worth = round(found.groups[0].effective_n)
    assert texts == {
        "GROUPED": "200 in-distribution rows of 40 groups by patient count as about "
        f"{worth} independent ones for the AUROC; intervals draw whole groups.",
        "WEIGHTED": "in-distribution rows count by films: 200 rows count as about 180 of equal "
        "weight.",
    }
    assert study.extent_notices(study.judge(tall(both_parts()[0]), outside, "entropy"), "x") == ()


def test_few_groups_are_said_to_be_few():
    outside = part(2, 150, labelled=False, groups=[f"p{k % 7}" for k in range(150)])
    found = study.judge(part(1, 200), outside, "entropy", full=False)
    texts = {note.code: note.text for note in study.extent_notices(found, "noise")}
    assert (
        texts["FEW_GROUPS"]
        == "7 groups by patient among the rows of noise are few: intervals are rough."
    )


def test_rows_of_weight_0_are_not_among_the_most_ordinary():
    outside = part(2, 150, labelled=False)
    order = np.argsort(ood_scores(outside, "entropy"))
    weights = np.ones(150)
    weights[order[:3]] = 0.0
    found = study.most_certain(
        replace(outside, weights=Weights.of("films", weights)), "entropy", most=4
    )
    np.testing.assert_array_equal(found.rows, order[3:7])


def test_two_runs_are_compared_by_weight_where_they_say_the_same_of_it():
    inside, outside = both_parts()
    better = tuple(replace(rows, scores=1.5 * rows.scores + 0.1) for rows in (inside, outside))
    one, other = OodPair(*better), OodPair(inside, outside)
    found = study.difference(one, other, "energy")
    areas = [
        study.judge(pair.inside, pair.outside, "energy", full=False).numbers["auroc"].value
        for pair in (one, other)
    ]
    assert found.value == pytest.approx(areas[0] - areas[1], abs=1e-12)
    assert found.settings["resampled_by"] == "row"
    bare = OodPair(inside, replace(outside, weights=None))
    with pytest.raises(UsageError, match="set differ in their groups or weights"):
        study.difference(one, bare, "energy")


def test_a_difference_says_what_is_drawn_where_only_the_set_is_no_independent_rows():
    inside = part(1, 200)
    strange = {"labelled": False, "skill": 0.3}
    patients, films = [f"p{k // 5}" for k in range(150)], 1.0 + np.arange(150) % 2
    for outside, drawn in (
        (part(2, 150, **strange), None),
        (part(2, 150, weights=films, **strange), "row"),
        (part(2, 150, groups=patients, **strange), "group"),
    ):
        other = OodPair(inside, replace(outside, scores=outside.scores + 0.1))
        found = study.difference(OodPair(inside, outside), other, "energy")
        assert found.settings.get("resampled_by") == drawn


# The command -----------------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path):
    """The same two sets as tables with weights, and with every row as often as its weight."""
    rng = np.random.default_rng(12)
    labels = rng.integers(0, K, 120)
    sets = {
        "in": (rng.normal(size=(120, K)) + 2 * np.eye(K)[labels], labels),
        "out": (rng.normal(size=(90, K)), None),
    }
    for name, (z, truth) in sets.items():
        z, n = z.round(4), len(z)
        table = {f"logit_{k}": z[:, k] for k in range(K)}
        table |= {} if truth is None else {"label": truth}
        table |= {"patient": [f"{name}{k // 2}" for k in range(n)], "n": rng.integers(0, 4, n)}
        times = np.asarray(table["n"])
        write(tmp_path / f"{name}.csv", table, np.ones(n, dtype=int))
        table["row"] = [f"r{k:03}" for k in range(n)]
        write(tmp_path / f"{name}_often.csv", table, times)
    return tmp_path


def write(path, table, times):
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(table)
    rows = list(zip(*table.values(), strict=True))
    for row, often in zip(rows, times.tolist(), strict=True):
        writer.writerows([row] * often)
    path.write_text(out.getvalue())


def read(capsys, folder, name, *more):
    sets = ["--in", str(folder / f"in{name}.csv"), "--out", f"noise={folder / f'out{name}.csv'}"]
    code = main(["ood", *sets, *more])
    printed = capsys.readouterr()
    assert code == 0, printed.err
    return printed.out


def test_the_command_counts_by_weight(files, capsys):
    found = json.loads(read(capsys, files, "", "--weight", "n", "--json", "-"))
    often = json.loads(read(capsys, files, "_often", "--group", "row", "--json", "-"))
    one, other = found["sets"]["noise"], often["sets"]["noise"]
    for key in ("aupr_out", "aupr_in", "fpr95", "fpr95_in", "detection_error"):
        assert one[key] == other[key]
    assert one["auroc"]["value"] == pytest.approx(other["auroc"]["value"], rel=1e-9)
    assert one["auroc"] == pytest.approx(other["auroc"], rel=NEAR)
    assert one["intervals"]["fpr95"] == pytest.approx(other["intervals"]["fpr95"], rel=NEAR)
    assert one["weights"]["in"]["column"] == "n"
    assert one["weights"]["out"]["effective_n"] < one["n_out"] <= 90
    assert "groups" not in one
    codes = [note["code"] for note in one["notices"]]
    assert codes.count("WEIGHTED") == 2
    plain = json.loads(read(capsys, files, "", "--json", "-"))["sets"]["noise"]
    assert plain["auroc"] != one["auroc"]
    assert not {"groups", "weights"} & set(plain)


@pytest.mark.nightly
def test_the_command_says_groups_and_what_they_are_worth(files, capsys):
    more = "--weight", "n", "--group", "patient"
    one = json.loads(read(capsys, files, "", *more, "--json", "-"))["sets"]["noise"]
    assert {side: one["groups"][side]["column"] for side in ("in", "out")} == {
        "in": "patient",
        "out": "patient",
    }
    lines = read(capsys, files, "", *more).splitlines()
    worth = round(one["groups"]["in"]["effective_n"])
    (line,) = (text for text in lines if "GROUPED" in text and "in-distribution" in text)
    assert f"count as about {worth} independent ones" in line
