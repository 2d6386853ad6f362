import pickle
from dataclasses import replace

import numpy as np
import pytest

from core.errors import Notice
from core.metrics.records import (
    Floor,
    Gap,
    MixedEnd,
    MixedReading,
    Statistic,
    VerdictSubject,
)
from core.screens.kit.marks import tone
from core.screens.kit.numbers import distinct_counts
from core.screens.kit.sentences import plain_sentence, verdict_sentence
from core.screens.reliability.view import Subject, reliability_view

SUBJECT = Subject("VGG <b>16</b>", "test", "fe3cdd9e00", ("a", "b", "c", "d", "e"))


def test_a_verdict_beside_an_ece_within_chance_says_which_test_shows_it(make_audit, make_target):
    within = {"ece": Floor(0.03, 0.05)}  # the ECE is 4.1 points
    for code, statistic, what in (
        ("over_confident", Statistic.GAP, "mean gap shows it"),
        ("overestimates", Statistic.GAP, "mean gap shows the overestimate"),
        ("mixed", Statistic.SLOPE, "slope shows it"),
    ):
        target = make_target(code, reading="too_extreme", statistic=statistic)
        shown = f"The {what}; the ECE of these bins alone could be chance."
        assert shown not in reliability_view(make_audit(target), SUBJECT).sentence.second
        target = replace(target, noise_floor=within)
        sentence = reliability_view(make_audit(target), SUBJECT).sentence
        assert shown in sentence.second
        assert "bin by bin" not in sentence.text


def test_no_dot_is_coloured_where_the_joint_test_finds_nothing(make_audit, make_target):
    target = make_target("sound", (0.002, -0.01, 0.02))
    for chance, readings in ((False, 2), (True, 0)):
        own = replace(target, bins=replace(target.bins, could_be_chance=chance))
        view = reliability_view(make_audit(own), SUBJECT)
        words = [row[-1] for row in view.figures["reliability"].table.rows]
        assert sum("says" in reading for reading in words) == readings
        assert tone(own.bins, 4) == ("few" if chance else "over")  # 99 said, 95 right: not sound
        said = "No bin is off beyond chance." in view.figures["reliability"].alt
        assert said == chance


def test_too_few_is_said_only_where_power_is_low(make_audit, make_target):
    target = make_target("could_be_chance", (0.002, -0.01, 0.02), power=0.7)
    odds = replace(target.verdict, power_odds=0.8, power_spread=0.7)
    target = replace(target, noise_floor={"ece": Floor(0.03, 0.05)}, verdict=odds)
    sentence = reliability_view(make_audit(target), SUBJECT).sentence
    assert sentence.text == (
        "No error beyond chance: its ECE of 4.1 points is within what a perfect model shows "
        "(up to 5.0)."
    )
    assert sentence.second.startswith(
        "Odds off by a fifth would be found at least 80 times in 100, logits that spread 15 % too "
        "far at least 70 times."
    )
    assert "could be chance" in plain_sentence(target).text
    low = make_target("could_be_chance", (0.002, -0.01, 0.02), power=0.4)
    text = reliability_view(make_audit(low), SUBJECT).sentence.text
    assert text == "Could be chance: 1,000 images are too few to tell."


def test_plain_words_count_errors_and_more_answers_where_100_hide_them(make_target, make_bins):
    bins = make_bins([0, 1000], [0, 0.992], [0, 0.988])
    text = plain_sentence(make_target(bins=bins)).text
    assert text.endswith("Of 1,000 answers it expects 8 to be wrong; 12 are.")
    bins = make_bins([0, 1000], [0, 0.93], [0, 0.89])
    assert plain_sentence(make_target(bins=bins)).text.endswith(
        "Of 100 answers it expects 7 to be wrong; 11 are."
    )
    assert distinct_counts(0.0203, 0.0204) == (10_000, ["203", "204"])
    assert distinct_counts(0.0203, 0.0204, most=2_000) == (2_000, ["41", "41"])
    assert distinct_counts(0.0005, 0.0035, most=40) == (100, ["fewer than 1", "fewer than 1"])
    assert distinct_counts(0.02, 0.02) == (100, ["2", "2"])
    assert distinct_counts(0.0, 0.3) == (100, ["0", "30"])


def test_what_would_have_shown_of_a_risk_is_said_in_risks(make_target):
    sound = make_target("sound", (0.001, -0.003, 0.005))
    bins = replace(sound.bins, confidence=np.where(sound.bins.count > 0, 0.1, np.nan))
    code = replace(sound.verdict, power_odds=0.99, power_spread=0.96, of=VerdictSubject.EVENT)
    sound = replace(sound, target=1, name="Mass", bins=bins, verdict=code)
    second = verdict_sentence(sound).second
    # odds of 1 to 9 times 1.2 and over 1.2: 1.2 to 9 and 1 to 10.8
    assert "a true average of 8.5 or 12 % in place of 10 %, or logits that spread 15 %" in second
    assert "odds off" not in second


def test_notices_of_reader_and_audit_are_each_said_once(make_audit):
    ties, small = Notice("TIES", "3 rows tie"), Notice("SMALL_N", "few rows")
    subject = Subject("run", "test", "ab", notices=(small, ties))
    view = reliability_view(make_audit(notices=(ties,)), subject)
    assert [(c.code, c.text) for c in view.notices] == [
        ("SMALL_N", "few rows"),
        ("TIES", "3 rows tie"),
    ]


def test_a_doubt_about_the_class_order_comes_before_all_other_notices(make_audit):
    ties, below = Notice("TIES", "3 rows tie"), Notice("BELOW_CHANCE", "class order?")
    assert reliability_view(make_audit(notices=(ties, below)), SUBJECT).notices == (below, ties)


def test_labels_that_may_be_the_answers_are_doubted_before_the_verdict(make_audit):
    doubt = Notice("ALWAYS_RIGHT", "All 400 answers are right: are the labels the truth?")
    assert reliability_view(make_audit(notices=(doubt,)), SUBJECT).sentence.text.startswith(
        doubt.text
    )
    assert not reliability_view(make_audit(), SUBJECT).sentence.text.startswith(doubt.text)


def test_a_view_survives_a_cache_that_pickles(make_audit):
    view = pickle.loads(pickle.dumps(reliability_view(make_audit(), SUBJECT)))
    assert view.figures["gap"].figure("dark").data


@pytest.mark.parametrize("of", VerdictSubject)
@pytest.mark.parametrize("reading", MixedReading)
def test_plain_words_have_an_opening_for_every_reading_with_ends_and_without(
    make_target, reading, of
):
    target = make_target("mixed", (0.0, -0.01, 0.01), reading=reading)
    over = MixedEnd(over=True, bins=5, low=8 / 15, high=13 / 15, gap=Gap(0.121, 0.098, 0.144))
    for ends in ((), (over,)):
        text = plain_sentence(replace(target, verdict=replace(target.verdict, ends=ends, of=of)))
        assert text.text
    uneven = replace(target.verdict, ends=(), of=of, reading=MixedReading.UNEVEN)
    if reading in {MixedReading.CANCEL, MixedReading.OPPOSITE}:
        bare = replace(target.verdict, ends=(), of=of)
        assert plain_sentence(replace(target, verdict=bare)) == (
            plain_sentence(replace(target, verdict=uneven))
        )
