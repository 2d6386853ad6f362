import pickle
from dataclasses import replace

import numpy as np
import pytest

from core.errors import Notice
from core.metrics.records import (
    ClassCell,
    Floor,
    Gap,
    MixedEnd,
    MixedReading,
    Statistic,
    VerdictSubject,
)
from core.screens.kit.marks import tone
from core.screens.kit.numbers import counts_apart
from core.screens.kit.sentences import other_sentence, plain_sentence, verdict_sentence
from core.screens.reliability.view import Subject, reliability_view

SUBJECT = Subject("VGG <b>16</b>", "test", "fe3cdd9e00", ("a", "b", "c", "d", "e"))


def test_sentence_of_an_over_confident_run_carries_gap_interval_and_averages(make_audit):
    view = reliability_view(make_audit(), SUBJECT)
    # 20, 180, 800 rows: (6 + 126 + 792) / 1000 = 92.4 % said, (6.2 + 108 + 760) / 1000 = 87.4 %
    assert view.sentence.text == (
        "Over-confident by 4.0 points (3.5 to 4.4): "
        "on average it says 92.4\u202f% and is right 87.4\u202f%."
    )
    assert [part.tone for part in view.sentence.parts] == ["over", "ink"]
    assert view.sentence.second == (
        "Where it says 99.0\u202f% (800 images), it is right 95 times in 100 (91.0 to 99.0)."
    )


@pytest.mark.parametrize(
    ("code", "gap", "starts"),
    [
        (
            "under_confident",
            (-0.153, -0.167, -0.14),
            "Under-confident by 15.3 points (14.0 to 16.7",
        ),
        (
            "mixed",
            (0.001, -0.01, 0.012),
            "Mixed: off, but not on average beyond chance; bin by bin",
        ),
        ("sound", (0.001, -0.003, 0.005), "Sound: on average it says"),
        (
            "could_be_chance",
            (0.01, -0.02, 0.04),
            "Could be chance: 1,000 images are too few to tell.",
        ),
    ],
)
def test_every_verdict_has_its_sentence(make_audit, make_target, code, gap, starts):
    view = reliability_view(make_audit(make_target(code, gap)), SUBJECT)
    assert view.sentence.text.startswith(starts)
    assert "1 in" not in view.sentence.text


@pytest.mark.parametrize(
    ("reading", "statistic", "said"),
    [
        (
            "too_extreme",
            "slope",
            "Its confidence rises faster than its accuracy.",
        ),
        (
            "too_moderate",
            "ece",
            "Its confidence rises more slowly than its accuracy; bin by bin it is "
            "off by 4.1 points.",
        ),
        (
            "uneven",
            "ece",
            "Mixed: off, but not on average beyond chance; bin by bin it is off by 4.1 points.",
        ),
        (
            "uneven",
            "fine",
            "Mixed: off, but not on average beyond chance; over 50 bins ECE is 4.1 points (chance: "
            "up to 2.0).",
        ),
    ],
)
def test_a_mixed_verdict_says_only_what_was_detected(
    make_audit, make_target, reading, statistic, said
):
    gap = (0.001, -0.01, 0.012)
    target = make_target("mixed", gap, reading=reading, statistic=Statistic(statistic))
    assert reliability_view(make_audit(target), SUBJECT).sentence.text == said


def test_an_uneven_error_names_the_classes_or_the_side_that_is_decided(make_audit, make_target):
    """What a class or the interval of the gap decides is no error "to neither side"."""
    apart = make_target("mixed", (0.154, 0.019, 0.302), reading="uneven", statistic=Statistic.FINE)
    few = replace(apart.bins, count=np.array([0, 5, 0, 10, 25]))
    apart = replace(apart, bins=few)
    text = reliability_view(make_audit(apart), SUBJECT).sentence.text
    assert text.startswith(
        "Off: on average over-confident by 15.4 points (1.9 to 30.2); over 40 bins"
    )
    assert other_sentence(apart) == (
        "Its answers are on average over-confident by 15.4 points (1.9 to 30.2)."
    )
    assert plain_sentence(apart).text.startswith(
        "How sure this model is does not match how often it is right; on average it is too sure by "
        "15.4 points (1.9 to 30.2)."
    )
    cell = ClassCell(part="answers", name="1", bounds=(0, 1), n=17, stated=0.75, true=0.33)
    named = replace(apart, verdict=replace(apart.verdict, classes=(cell,)))
    text = reliability_view(make_audit(named), SUBJECT).sentence.text
    assert text.startswith("Off: answers “1” are over-confident by 42.0 points; over 40 bins")
    assert other_sentence(named) == "Its answers “1” are over-confident by 42.0 points."
    none = replace(apart, direction=Gap(0.001, -0.01, 0.012))
    assert other_sentence(none) == "Its answers are off, but not on average beyond chance."
    steep = replace(none, verdict=replace(none.verdict, reading="too_extreme"))
    assert (
        other_sentence(steep) == "The confidence of its answers rises faster than their accuracy."
    )


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


def test_off_by_less_than_matters_says_by_how_much(make_audit, make_target):
    target = make_target("off_but_small", (0.006, 0.002, 0.01))
    sentence = reliability_view(make_audit(target), SUBJECT).sentence
    assert sentence.text.startswith("Off by less than 2.0 points on average: it says")
    assert sentence.second.startswith("Its error on 1,000 images is beyond chance, but below ")
    assert plain_sentence(target).text.startswith("On average this model is almost as sure as")
    target = make_target("off_but_small", (0.006, -0.002, 0.014), statistic=Statistic.CLASSES)
    cell = ClassCell(part="answers", name="cat", bounds=(0, 1), n=300, stated=0.8, true=0.68)
    off = replace(target, verdict=replace(target.verdict, deviant=cell))
    assert (
        "below Candor’s usual limit once chance is allowed for; where it answers “cat” it says "
        "80 % and is right 68 times in 100."
        in reliability_view(make_audit(off), SUBJECT).sentence.second
    )


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


def test_a_risk_off_in_gap_and_slope_names_the_bins_of_both_sides(make_audit, make_target):
    ends = (
        MixedEnd(over=False, bins=2, low=0.0, high=0.2, gap=Gap(-0.08, -0.1, -0.06)),
        MixedEnd(over=True, bins=3, low=0.6, high=0.8, gap=Gap(0.05, 0.03, 0.07)),
    )
    target = make_target("underestimates", (-0.04, -0.044, -0.035), 1, reading="too_extreme")
    verdict = replace(target.verdict, ends=ends, of="event")
    target = replace(target, verdict=verdict)
    sentence = reliability_view(make_audit(target), SUBJECT).sentence
    assert sentence.text.endswith(
        "It is also too extreme: underestimates by 8.0 points (at least 6.0) in 2 bins "
        "from 0 to 20\u202f%, overestimates by 5.0 points (at least 3.0) in 3 bins from 60 to "
        "80\u202f%; bounds hold jointly."
    )
    assert [part.tone for part in sentence.parts if part.tone in {"over", "under"}] == [
        "under",
        "under",
        "over",
    ]
    plain = plain_sentence(target).text
    assert "too low where it says 0 to 20 in 100, and too high where it says 60 to 80" in plain


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


def test_classes_that_are_off_are_named(make_audit, make_target):
    target = make_target("mixed", reading="by_class", statistic=Statistic.CLASSES)
    answers = ClassCell(part="answers", name="cat", bounds=(0, 1), n=300, stated=0.8, true=0.68)
    stated = ClassCell(
        part="stated", name="", bounds=(2**-10, 2**-9), n=90, stated=0.002, true=0.98
    )
    none = "its answers show no error beyond chance, the other classes do; "
    for cell, words in (
        (answers, "where it answers “cat” it says 80 % and is right 68 times in 100."),
        (
            stated,
            f"{none}of 100 wrong answers it expects a class stated at 0.1 to 0.2 % to be the "
            "truth in 0.2; one is in 98.",
        ),
    ):
        off = replace(target, verdict=replace(target.verdict, deviant=cell))
        text = reliability_view(make_audit(off), SUBJECT).sentence.text
        assert text == f"Mixed: {words}"


def test_a_class_that_the_mean_does_not_tell_of_is_named_in_every_edition(make_audit, make_target):
    cells = tuple(
        ClassCell(part="answers", name=name, bounds=(0, 1), n=300, stated=0.8, true=true)
        for name, true in (("cat", 0.55), ("dog", 0.87))
    )
    target = make_target()
    target = replace(target, verdict=replace(target.verdict, classes=cells))
    text = reliability_view(make_audit(target), SUBJECT).sentence.text
    assert text.endswith(
        " By class, furthest off: answers “cat” are over-confident by 25.0 points, “dog” "
        "under-confident by 7.0."
    )
    plain = plain_sentence(target).text
    assert plain.endswith("Furthest off: answers “cat” (says 80 in 100, right 55).")
    more = tuple(replace(cells[0], name=name, true=0.6) for name in ("cow", "sheep", "hen"))
    target = replace(target, verdict=replace(target.verdict, classes=(cells[0], *more, cells[1])))
    text = reliability_view(make_audit(target), SUBJECT).sentence.text
    assert text.endswith(
        "“cow” over-confident by 20.0, “sheep” over-confident by 20.0, and 2 more."
    )
    plain = plain_sentence(target).text
    assert plain.endswith(
        "“cat” (says 80 in 100, right 55), “cow” (says 80 in 100, right 60), “sheep” (says 80 in "
        "100, right 60), and 1 more."
    )


def test_plain_words_count_errors_and_more_answers_where_100_hide_them(make_target, make_bins):
    bins = make_bins([0, 1000], [0, 0.992], [0, 0.988])
    text = plain_sentence(make_target(bins=bins)).text
    assert text.endswith("Of 1,000 answers it expects 8 to be wrong; 12 are.")
    bins = make_bins([0, 1000], [0, 0.93], [0, 0.89])
    assert plain_sentence(make_target(bins=bins)).text.endswith(
        "Of 100 answers it expects 7 to be wrong; 11 are."
    )
    assert counts_apart(0.0203, 0.0204) == (10_000, ["203", "204"])
    assert counts_apart(0.0203, 0.0204, most=2_000) == (2_000, ["41", "41"])
    assert counts_apart(0.0005, 0.0035, most=40) == (100, ["fewer than 1", "fewer than 1"])
    assert counts_apart(0.02, 0.02) == (100, ["2", "2"])
    assert counts_apart(0.0, 0.3) == (100, ["0", "30"])


def test_the_line_below_quotes_the_bin_that_costs_most(make_audit, make_target):
    target = make_target()  # 180 rows are off by 10 points, 800 by 4
    target = replace(target, verdict=replace(target.verdict, costly=3))
    assert "Where it says 70.0\u202f% (180 images)" in (
        reliability_view(make_audit(target), SUBJECT).sentence.second
    )


def test_a_mixed_headline_says_both_ends_and_then_the_average(make_audit, make_target):
    under = MixedEnd(over=False, bins=1, low=14 / 15, high=1.0, gap=Gap(-0.021, -0.026, -0.015))
    over = MixedEnd(over=True, bins=5, low=8 / 15, high=13 / 15, gap=Gap(0.121, 0.098, 0.144))
    target = make_target("mixed", (-0.009, -0.013, -0.004), reading="opposite")
    target = replace(target, verdict=replace(target.verdict, ends=(over, under)))
    sentence = reliability_view(make_audit(target), SUBJECT).sentence
    assert sentence.text.replace("\u202f", " ") == (
        "Mixed: over-confident by 12.1 points (at least 9.8) in 5 bins from 53 to 87 %, "
        "under-confident by 2.1 points (at least 1.5) in 1 bin from 93 to 100 %; bounds hold "
        "jointly."
    )
    assert [part.tone for part in sentence.parts if "confident" in part.text] == ["over", "under"]
    assert sentence.second.startswith("On average it says")
    assert plain_sentence(target).text.startswith(
        "This model is too sure where it says 53 to 87 in 100, and not sure enough where it says "
        "93 to 100 in 100."
    )


def test_what_would_have_shown_of_a_risk_is_said_in_risks(make_target):
    sound = make_target("sound", (0.001, -0.003, 0.005))
    bins = replace(sound.bins, confidence=np.where(sound.bins.count > 0, 0.1, np.nan))
    code = replace(sound.verdict, power_odds=0.99, power_spread=0.96, of=VerdictSubject.EVENT)
    sound = replace(sound, target=1, name="Mass", bins=bins, verdict=code)
    second = verdict_sentence(sound).second
    # odds of 1 to 9 times 1.2 and over 1.2: 1.2 to 9 and 1 to 10.8
    assert "a true average of 8.5 or 12 % in place of 10 %, or logits that spread 15 %" in second
    assert "odds off" not in second


def test_sound_and_chance_say_what_would_have_shown(make_audit, make_target):
    gap = (0.001, -0.003, 0.005)
    sound = make_target("sound", gap)
    powers = {"power_odds": 0.99, "power_spread": 0.96}
    sound = replace(sound, verdict=replace(sound.verdict, each_class=True, **powers))
    sound = reliability_view(make_audit(sound), SUBJECT).sentence.second
    assert sound.startswith(
        "On 1,000 images odds off by a fifth, or logits that spread 15 % too far, would "
        "have shown in the mean gap, slope, ECE, cumulative differences and each class."
    )
    still = make_target("could_be_chance", gap, power=0.96)
    still = replace(still, verdict=replace(still.verdict, open_to=0.025, **powers))
    second = reliability_view(make_audit(still), SUBJECT).sentence.second
    assert "; an average error of 2.5 points is not ruled out." in second
    chance = make_target("could_be_chance", gap, power=0.2)
    chance = replace(chance, verdict=replace(chance.verdict, power_odds=0.31))
    chance = reliability_view(make_audit(chance), SUBJECT)
    assert (
        "more than 2.0. Odds off by a fifth would be found at least 31 times in 100."
        in chance.sentence.second
    )
    assert {part.tone for part in chance.sentence.parts} == {"ink"}


@pytest.mark.parametrize("code", ["sound", "could_be_chance"])
def test_an_interval_that_leaves_0_out_alone_is_explained(make_audit, make_target, code):
    view = reliability_view(make_audit(make_target(code, (0.01, 0.001, 0.02))), SUBJECT)
    assert (
        "The gap’s own interval excludes 0; allowing for all tests, that could be chance."
        in view.sentence.second
    )


def test_one_image_is_too_few_to_tell(make_audit, make_target, make_bins):
    one = make_target("could_be_chance", (0.3, -0.2, 0.8), bins=make_bins([0, 1], [0, 0.7], [0, 1]))
    assert reliability_view(make_audit(one), SUBJECT).sentence.text == (
        "Could be chance: 1 image is too few to tell."
    )


def test_a_positive_class_is_present_and_not_right(make_audit, make_target):
    view = reliability_view(make_audit(make_target(target=1), task="binary"), SUBJECT)
    assert "present in 87.4\u202f% of images" in view.sentence.text
    assert "“cat” is present 95 times in 100" in view.sentence.second
    assert view.eyebrow == "Class “cat”"


def test_tiles_show_value_interval_floor_and_reason(make_audit):
    ece, floor, accuracy, nll, brier, images = reliability_view(make_audit(), SUBJECT).numbers
    assert (ece.value, ece.unit, ece.interval) == ("4.1", "%", "3.6 to 4.7")
    assert (ece.strip.floor, ece.strip.value, ece.strip.high) == (0.02, 0.041, 0.047)
    assert ece.strip.scale > ece.strip.high
    assert (floor.value, floor.note) == ("1.2", "chance: up to 2.0")
    assert (accuracy.value, accuracy.interval) == ("87.4", "85.3 to 89.4")
    assert (nll.value, nll.note) == ("–", "NLL_INFINITE: 2 rows")
    assert (brier.value, brier.interval) == ("0.105", "0.098 to 0.113")
    assert (images.value, images.note) == ("1,000", "5 classes")
    # right and wrong are two, however many classes there are
    of_answers = replace(make_audit(), task="top_label", n_classes=2)
    assert reliability_view(of_answers, SUBJECT).numbers[-1].note == ""


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


def test_figures_carry_alt_text_caption_and_table_made_of_the_same_numbers(make_audit):
    view = reliability_view(make_audit(), SUBJECT)
    card = view.figures["reliability"]
    assert "92.4\u202f%" in card.alt
    assert "Bin 0.60 to 0.80: 180 images, says 70.0\u202f%, right 60.0\u202f%" in card.alt
    assert card.caption.endswith("; of 3 dots of a perfect model about 0.2 would lie outside")
    assert card.caption.startswith("n = 1,000, 5 equal-width bins (lo, hi], Wilson 95\u202f%")
    assert "test split, file digest fe3cdd9e; of 3 dots" in card.caption
    assert [row[2] for row in card.table.rows] == [20, 180, 800]
    assert card.table.written()[1][3] == "70.0\u202f%"
    assert card.table.written()[1][7] == "+10.0"
    assert view.log_counts  # one bin holds 80 % of the images


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
