import re
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from core.configs import AuditConfig
from core.metrics.ranked import SortedOutcomes
from core.metrics.records import Gap, MixedEnd
from core.metrics.suite import audit
from core.predictions import Outcomes, Predictions, ScoreKind, Task
from core.screens.reliability.plain import certainty_groups, plain_view

CODES = ("over_confident", "under_confident", "mixed", "sound", "could_be_chance")

QUICK = AuditConfig(n_resamples=40)


def ranked(pairs):
    confidence, correct = (np.array(column) for column in zip(*pairs, strict=True))
    return SortedOutcomes.of(Outcomes(confidence.astype(float), correct.astype(bool)))


def texts(view):
    card = view.dumbbells
    tiles = [part for t in view.numbers for part in (t.label, t.value, t.unit, t.interval, t.note)]
    icons = (
        [view.icons.title, view.icons.promised_text, view.icons.observed_text] if view.icons else []
    )
    said = [view.sentence.text, view.sentence.second, view.limits.text, view.helps.text]
    return " ".join([*said, *tiles, *icons, card.title, card.alt, view.caption])


def test_groups_are_closed_at_their_lower_end(make_target):
    rows = ranked([(0.59, 0), (0.6, 1), (0.8, 1), (0.95, 0), (1.0, 1)])
    groups = certainty_groups(rows, make_target())
    assert [group.n for group in groups] == [1, 1, 1, 2]
    assert groups[3].says == pytest.approx(0.975)
    assert groups[3].right == 0.5
    # Wilson 1927 for 1 of 2 at 95 %: 0.5 -+ 0.4055
    assert (groups[3].low, groups[3].high) == pytest.approx((0.0945, 0.9055), abs=1e-4)


def test_icons_show_the_group_that_keeps_its_promise_least(make_audit, make_target):
    sure = [(0.9, i % 100 < 60) for i in range(400)]
    certain = [(0.99, i % 100 < 90) for i in range(900)]
    view = plain_view(make_audit(), make_target(), ranked(sure + certain), split="test")
    icons = view.icons
    assert icons.title == "Answers that were 80 to 95 in 100 sure"
    assert icons.note == "400 of 1,300 answers"
    assert (icons.promised, icons.observed, icons.tone) == (10, 40, "over")
    assert (icons.low, icons.high) == (35, 45)  # Wilson for 240 of 400: 0.551 to 0.647
    assert icons.observed_text == "In this test 40 of 100 were wrong (35 to 45)."
    assert "where it is “sure” (80 to 95 in 100): 400 of 1,300 answers." in (view.sentence.second)
    assert [(swatch.tone, swatch.shape) for swatch in view.key] == [("ink", "bar"), ("over", "dot")]


def test_a_missed_promise_that_100_would_hide_is_counted_of_more(make_audit, make_target):
    rows = ranked([(0.994, i % 1000 >= 9) for i in range(20_000)])
    icons = plain_view(make_audit(), make_target(), rows, split="test").icons
    assert icons.promised_text == "If that were right, about 6 of 1,000 would be wrong."
    assert icons.observed_text == "In this test 9 of 1,000 were wrong (8 to 10)."
    for n, wrong, words in (
        (100_000, 10, "1 of 10,000 was"),
        (30_000, 1, "fewer than 1 of 10,000 was"),
    ):
        rows = ranked([(0.9999, i >= wrong) for i in range(n)])
        view = plain_view(make_audit(), make_target("sound"), rows, split="test")
        assert f" {words} wrong (" in view.icons.observed_text


def test_few_rows_give_no_picture_of_a_hundred(make_audit, make_target):
    view = plain_view(make_audit(), make_target(), ranked([(0.9, 1)] * 5), split="test")
    assert view.icons is None


def test_plain_view_of_a_real_audit_names_its_class():
    rng = np.random.default_rng(3)
    p = rng.random(900)
    labels = (rng.random(900) < p).astype(np.int64)
    found = Predictions(
        Task.BINARY, ScoreKind.PROBABILITIES, p, labels, class_names=("well", "ill")
    )
    made = audit(found, QUICK)
    view = plain_view(made, made.main, SortedOutcomes.of(found.outcomes(1)), split="test")
    assert "“ill”" in view.sentence.text
    assert "is it there?" in view.dumbbells.title
    assert sum(row[1] for row in view.dumbbells.table.rows) == 900


def test_tiles_of_a_rare_event_count_as_the_sentence_does():
    labels = np.arange(4_000) < 20
    rows = Predictions(Task.BINARY, ScoreKind.SIGMOID, np.full(4_000, 0.01), labels * 1)
    made = audit(rows, QUICK)
    view = plain_view(made, made.main, SortedOutcomes.of(rows.outcomes(1)), split="test")
    assert re.search("Of 1,000 .* it expects 10 to show “1”; 5 do.", view.sentence.text)
    tiles = {tile.label: (tile.value, tile.unit) for tile in view.numbers}
    assert tiles["There"] == ("5", "in 1,000")
    assert tiles["It says"] == ("10", "in 1,000")


def test_a_group_averages_no_bins_that_are_off_on_both_sides(make_target):
    gap = Gap(0.2, 0.1, 0.3)
    over = MixedEnd(over=True, bins=2, low=0.3, high=0.4, gap=gap)
    under = MixedEnd(
        over=False, bins=3, low=0.1, high=0.98, gap=gap, spans=((0.1, 0.15), (0.5, 0.55), (0.97, 1))
    )
    target = replace(make_target("mixed"), target=1)
    target = replace(target, verdict=replace(target.verdict, ends=(under, over)))
    rows = ranked(
        [(0.35, i % 100 < 5) for i in range(300)] + [(0.52, i % 100 < 82) for i in range(300)]
    )
    groups = [(g.name, g.range, g.n, g.tone) for g in certainty_groups(rows, target)]
    assert groups == [
        ("Very unlikely", "under 5", 0, "few"),
        ("Unlikely", "5 to 20", 0, "few"),
        ("Possible", "20 to 50", 300, "over"),
        ("Possible", "50 to 60", 300, "under"),
        ("Likely", "60 or more", 0, "few"),
    ]
    sure = replace(over, low=0.7, high=0.75)
    target = replace(target, verdict=replace(target.verdict, ends=(under, sure)))
    ranges = [group.range for group in certainty_groups(rows, target)]
    assert ranges[-3:] == ["20 to 60", "60 to 97", "97 or more"]


@pytest.mark.parametrize(
    ("lows", "expected"),
    [
        ((0.612, 0.614), ["under 5", "5 to 20", "20 to 60", "60 to 61", "61 or more"]),
        ((0.001, 0.3), ["under 0.1", "0.1 to 5", "5 to 20", "20 to 30", "30 to 60", "60 or more"]),
        ((0.00001, 0.597), ["under 5", "5 to 20", "20 to 60", "60 or more"]),
        ((0.052, 0.9999), ["under 5", "5 to 5.2", "5.2 to 20", "20 to 60", "60 or more"]),
    ],
)
def test_no_two_ends_of_a_group_print_alike(make_target, lows, expected):
    gap, target = Gap(0.2, 0.1, 0.3), replace(make_target("mixed"), target=1)
    before, between = (0.0, lows[0]), (lows[0], lows[1])
    over = MixedEnd(over=True, bins=2, low=0.0, high=1.0, gap=gap, spans=(before, (lows[1], 1.0)))
    under = MixedEnd(over=False, bins=1, low=lows[0], high=lows[1], gap=gap, spans=(between,))
    target = replace(target, verdict=replace(target.verdict, ends=(over, under)))
    rows = ranked([(0.35, 0)] * 30)
    assert [group.range for group in certainty_groups(rows, target)] == expected


def test_groups_are_called_wrong_only_where_the_verdict_is(make_target):
    off = ranked([(0.9, i % 100 < 60) for i in range(400)])
    tones = {c: certainty_groups(off, make_target(c))[2].tone for c in CODES}
    assert tones == {
        "over_confident": "over",
        "under_confident": "over",
        "mixed": "over",
        "sound": "few",
        "could_be_chance": "few",
    }


def test_groups_are_corrected_for_their_number(make_target):
    rows = [(0.9, i < 82) for i in range(100)]
    one = certainty_groups(ranked(rows), make_target())[2]
    assert one.says > one.high
    assert one.tone == "over"
    others = [(c, i < 100 * c) for c in (0.5, 0.7, 0.99) for i in range(100)]
    among_four = certainty_groups(ranked(rows + others), make_target())[2]
    assert among_four.high == one.high  # what is printed is of the group alone
    assert (one.most, among_four.most) == tuple(
        pytest.approx(stats.binomtest(82, 100).proportion_ci(level, "exact").high)
        for level in (0.95, 0.9875)
    )
    assert among_four.tone == "few"


@pytest.mark.parametrize(
    ("own", "limit"), [(False, "Candor’s usual limit"), (True, "the limit that you set")]
)
def test_a_small_error_is_below_a_limit_whose_it_is(make_audit, make_target, own, limit):
    target = make_target("off_but_small", (0.006, 0.002, 0.01))
    target = replace(target, verdict=replace(target.verdict, own_limit=own))
    rows = ranked([(0.7, 1), (0.9, 1)])
    view = plain_view(make_audit(target), target, rows, split="test")
    shown = f"Nothing is needed: what is off is below 2.0 points, {limit}, once chance is allowed"
    assert view.helps.text.startswith(shown)


def test_an_error_that_is_not_ruled_out_takes_more_images(make_audit, make_target):
    chance = make_target("could_be_chance", (0.001, -0.003, 0.005), power=0.96)
    still = replace(chance, verdict=replace(chance.verdict, open_to=0.025))
    for target, advised in ((chance, False), (still, True)):
        view = plain_view(make_audit(), target, ranked([(0.9, 1)] * 30), split="test")
        assert ("More pictures with known answers" in str(view)) is advised
