"""What is said of an epoch: sentences from hand-made bins, empty bins, tables, comparisons."""

from dataclasses import replace

import numpy as np
import pytest

from core.histories import COLUMNS, History
from core.losses.bins import AdaFocalRule, CalFocalRule
from core.metrics.intervals import wilson
from core.readers.formats.contents import FileBytes
from core.readers.tables.strict_tables import read_history
from core.reports.tables import csv_text
from core.screens.gamma.figures import HistoryGrid
from core.screens.gamma.view import (
    PLAIN,
    TECHNICAL,
    GammaDynamics,
    bin_mismatch,
    bins_table,
    difference,
    gamma_view,
    panels_of,
    training_bins_cards,
    whole_table,
)
from core.screens.gamma.words import (
    HistoryRule,
    bins_of,
    frozen_words,
    gap_words,
    listed,
    mean_gap,
    missing_words,
    plain_sentence,
    sentence,
    tiles,
)
from core.screens.kit.theme import LIGHT
from tests.core.screens.gamma.gamma_cases import grid, history

RULE = HistoryRule(AdaFocalRule(), "from the training settings")


def dynamics(table, name="a run"):
    return GammaDynamics(name=name, origin="AdaFocal, λ = 1", grid=table, learned=RULE)


def test_the_sentence_says_where_gamma_rose_and_where_it_fell():
    table = grid([[2.3, 1.0, -0.2]], [[0.2, 0.0, 0.0]])
    assert sentence(table, 0).text == (
        "In the first epoch gamma rose to 2.30 for unsure answers and fell to −0.20 for sure ones. "
        "In bin 1 the model says 20.0 points more than it should. Below 0: bin 3."
    )
    later = grid([[1.0] * 4, [0.34, 1.0, 1.0, 1.8]], np.zeros((2, 4)))
    assert sentence(later, 1).text.startswith(
        "Over 2 epochs gamma rose to 1.80 for sure answers and fell to 0.34 for unsure ones. In bin"
    )


def test_extremes_on_one_side_are_named_by_their_bins():
    text = sentence(grid([[1.0, 1.0, 1.0, 0.5, 1.0]], np.zeros((1, 5))), 0).text
    assert "gamma stayed at 1.00 for unsure answers and fell to 0.50 for sure ones" in text
    text = sentence(grid([[0.9, 0.9, 0.9, 0.5, 2.0]], np.zeros((1, 5))), 0).text
    assert "gamma rose to 2.00 for bin 5 and fell to 0.50 for bin 4" in text


def test_sentence_and_tiles_give_both_ends_with_equal_decimals():
    table = grid([[2.0449, 1.0, 0.3417]], np.zeros((1, 3)))
    text = sentence(table, 0).text
    assert "gamma rose to 2.04 for unsure answers and fell to 0.34 for sure ones" in text
    values = {tile.label: tile.value for tile in tiles(table, RULE, 0)}
    assert (values["Largest γ"], values["Smallest γ"]) == ("2.04", "0.34")
    tiny = sentence(grid([[2.0, 1.0, 0.0034]], np.zeros((1, 3))), 0).text
    assert "fell to 0.0034" in tiny


def test_both_ends_that_moved_alike_share_the_verb():
    text = sentence(grid([[0.4, 0.5, 0.8]], np.zeros((1, 3))), 0).text
    assert "gamma fell to 0.80 for sure answers and to 0.40 for unsure ones." in text


def test_bins_below_zero_are_listed():
    table = grid([[1.0, -0.2, -0.5, -0.3]], np.zeros((1, 4)))
    assert sentence(table, 0).text.endswith(" Below 0: bins 2 to 4.")


def test_a_replay_says_what_the_rule_would_do():
    rule = HistoryRule(AdaFocalRule(), "from the replay settings")
    table = grid([[1.0, -0.1, 2.3], [1.0, -0.2, 2.3]], np.zeros((2, 3)))
    found = GammaDynamics(
        name="a run", origin="replay, AdaFocal, λ = 1", grid=table, learned=rule, replayed=True
    )
    view = gamma_view(found, 1, 0, TECHNICAL)
    assert "gamma would have risen to 2.30" in view.sentence.text
    assert "would have fallen to −0.20" in view.sentence.text
    assert any("Nothing was trained with it" in text for text in view.caveats)
    assert "trains with it" not in view.caption
    plain = gamma_view(found, 1, 0, PLAIN)
    assert "the model would be pushed hardest" in plain.sentence.text
    assert any("Nothing was trained with it" in text for text in plain.caveats)


def test_a_gap_within_chance_is_not_called_an_error():
    # 10 answers that are right 6 times in 10: 5 right are no surprise
    table = grid([[1.0, 1.5]], [[0.0, 0.1]], count=[[10, 10]])
    text = sentence(table, 0).text
    assert "the gap (+10.0 points, 10 answers) could be chance" in text
    assert "should" not in text


def test_the_worst_of_many_bins_is_judged_as_such():
    # 59 of 100 right where 70 are claimed leave the band of one bin, not that of the worst of 15
    gap = [[0.0] * 14 + [0.11]]
    many = sentence(grid([[1.0] * 14 + [1.5]], gap, count=[[100] * 15], accuracy=0.59), 0).text
    assert "could be chance" in many
    two = gap_words(grid([[1.0, 1.5]], [[0.0, 0.11]], count=[[0, 100]], accuracy=0.59), 0, 1)
    assert two.text == "the model says 11.0 points more than it should"


def test_bins_that_hold_no_answers_are_not_among_the_many():
    gap, count = [[0.0] * 14 + [0.11]], [[0] * 14 + [100]]
    alone = gap_words(grid([[1.0] * 14 + [1.5]], gap, count=count, accuracy=0.59), 0, 14)
    assert alone.text == "the model says 11.0 points more than it should"


def test_a_model_that_says_less_than_it_should_is_told_so():
    table = grid([[1.0, 1.5]], [[0.0, -0.3]])
    assert "the model says 30.0 points less than it should" in sentence(table, 0).text


def test_equal_gammas_name_no_bin():
    text = sentence(grid([[-0.2, -0.2]], [[0.1, -0.1]]), 0).text
    assert text == (
        "In the first epoch gamma fell to −0.20 in every bin. "
        "Confidence is off by 10.0 points on average."
    )


def test_a_resting_bin_is_never_the_hardest():
    table = grid([[1.2, 9.0]], [[0.3, 0.0]], count=[[50, 0]])
    text = sentence(table, 0).text
    assert "bin 2" not in text
    empty = grid([[1.0, 1.0]], np.zeros((1, 2)), count=[[0, 0]])
    assert "no bin holds validation answers" in sentence(empty, 0).text
    assert gap_words(empty, 0, 0).text == "it holds no validation answers"


@pytest.mark.parametrize(
    ("places", "text"),
    [
        ([2], "bin 3"),
        ([0, 1], "bins 1 and 2"),
        ([2, 3, 4], "bins 3 to 5"),
        ([0, 2, 3, 4, 8], "bins 1, 3 to 5 and 9"),
    ],
)
def test_bins_are_counted_from_one(places, text):
    assert listed(places) == text


def test_empty_bins_at_a_tie_are_explained():
    edges = [[0.2, 0.9, 1.0, 1.0]]
    table = grid(
        [[1.1, 0.9, 0.75]],
        np.zeros((1, 3)),
        count=[[10, 10, 0]],
        lower=[[*edges[0][:3]]],
        upper=[[*edges[0][1:]]],
    )
    text = frozen_words(table, RULE.rule, 0)
    assert "Bin 3 is empty: so many validation answers are exactly 100.0\u202f%" in text
    assert "with its γ of 0.750" in text


def test_an_empty_bin_between_other_edges_is_not_called_a_tie():
    table = grid([[1.1, 1.0, 0.8]], np.zeros((1, 3)), count=[[10, 0, 9]])
    text = frozen_words(table, RULE.rule, 0)
    assert "Bin 2 holds no validation answer." in text
    assert "exactly" not in text
    assert "γ stays as it was there" in text
    assert "γ is 1 there" in frozen_words(table, CalFocalRule(), 0)
    assert frozen_words(grid([[1.0]], [[0.0]]), None, 0) == ""


def test_only_a_gamma_that_stays_is_said_to_stay():
    moved = grid([[1.1, 0.5, 0.8]], np.zeros((1, 3)), count=[[10, 0, 9]])
    later = grid([[1.1, 0.5, 0.8]], np.zeros((1, 3)), count=[[10, 0, 9]], epoch=[7])
    for table in (moved, later):
        text = frozen_words(table, AdaFocalRule(gamma_max=0.5), 0)
        assert "so the gap counts as 0 there" in text
        assert "stays" not in text


def test_missing_epochs_are_counted():
    table = grid(np.ones((3, 1)), np.zeros((3, 1)), epoch=[1, 2, 9])
    assert "has 3 epochs from 1 to 9: 6 in between are missing" in missing_words(table)
    one = grid(np.ones((2, 1)), np.zeros((2, 1)), epoch=[1, 3])
    assert "1 in between is missing" in missing_words(one)
    assert missing_words(grid([[1.0]], [[0.0]])) == ""


def test_the_mean_gap_is_weighted_by_answers():
    table = grid([[1.0, 1.0]], [[0.1, -0.4]], count=[[30, 10]])
    assert mean_gap(table, 0) == pytest.approx((30 * 0.1 + 10 * 0.4) / 40)
    assert np.isnan(mean_gap(grid([[1.0]], [[0.0]], count=[[0]]), 0))


def test_epochs_are_counted_from_one_only_where_the_history_counts_from_zero():
    assert grid(np.ones((2, 1)), np.zeros((2, 1))).epoch.tolist() == [1, 2]
    assert grid(np.ones((2, 1)), np.zeros((2, 1)), epoch=[1, 5]).epoch.tolist() == [1, 5]


@pytest.mark.parametrize("rule", [AdaFocalRule(0.5), CalFocalRule(0.5)])
def test_the_rate_stands_with_its_rule(rule):
    found = tiles(grid([[1.0]], [[0.1]]), HistoryRule(rule, "from the training settings"), 0)
    (rate,) = [tile for tile in found if tile.label == "λ"]
    assert rate.value == "0.5"
    assert rate.note == type(rule).__name__.removesuffix("Rule")


def test_both_editions_say_the_same_of_one_history():
    table = grid([[1.0, -2.3]], [[0.0, 0.2]], count=[[40, 0]])
    found = dynamics(table)
    views = {words.page: gamma_view(found, 0, 1, words) for words in (TECHNICAL, PLAIN)}
    technical, plain = views["Gamma dynamics"], views["Training, round by round"]
    assert technical.eyebrow == f"Gamma dynamics · {found.name} · {found.origin}"
    assert plain.eyebrow == f"Training, round by round · {found.name}"
    assert "Bin 2 is empty." in technical.diagram.alt
    assert "Group 2 is empty." in plain.diagram.alt
    assert plain.diagram.title == "Validation after round 1"
    assert len(technical.caveats) == len(plain.caveats) + 1  # why bins are empty
    keys = [[column.key for column in view.heatmap.table.columns] for view in (technical, plain)]
    assert keys[0] == [*keys[1], "train_confidence"]


def test_plain_words_say_times_in_100():
    table = grid([[1.0, 2.3]], [[0.0, 0.2]])
    assert plain_sentence(table, 0).text == (
        "In round 1 of training, the model was pushed hardest to be less sure where it says 70 in "
        "100. There it was right 50 times in 100."
    )
    few = grid([[1.0, 2.3]], [[0.0, 0.1]], count=[[10, 10]])
    assert "10 answers are too few to tell" in plain_sentence(few, 0).text
    lone = grid([[1.0, 2.3]], [[0.0, 0.1]], count=[[10, 1]])
    assert "1 answer is too few to tell" in plain_sentence(lone, 0).text
    view = gamma_view(dynamics(table), 0, 1, PLAIN)
    words = " ".join([view.eyebrow, view.caption, view.diagram.title, view.heatmap.title])
    words += " ".join(tile.label + tile.note + tile.help for tile in view.numbers)
    for term in ("γ", "λ", "epoch", "bin ", "confidence"):
        assert term not in words


def test_the_diagram_has_the_bins_of_its_epoch():
    table = grid([[1.0, 1.0]], [[0.1, 0.2]], count=[[40, 0]])
    found = bins_of(table, 0)
    low, high = wilson(np.array([20.0]), np.array([40]), 0.95)
    assert found.ci_low[0] == low[0]
    assert found.ci_high[0] == high[0]
    assert found.band_low[0] < 0.6 < found.band_high[0]
    assert np.isnan(found.band_low[1])
    assert np.isnan(found.confidence[1])


def test_the_band_holds_what_chance_gives():
    found = bins_of(grid([[1.0]], [[0.3]], count=[[200]]), 0)
    rng = np.random.default_rng(0)
    shares = rng.binomial(200, 0.8, 20_000) / 200
    inside = np.mean((shares >= found.band_low[0]) & (shares <= found.band_high[0]))
    assert 0.94 < inside < 0.975


def test_few_panels_are_an_even_choice_with_the_chosen_bin():
    assert panels_of(15, 3) == tuple(range(15))
    some = panels_of(500, 123)
    assert {0, 123, 499} <= set(some)
    assert len(some) <= 17


def test_the_table_of_bins_counts_turns_and_rests():
    table = grid(
        [[1.0, -0.2], [1.0, 0.2], [2.0, 0.2]], np.zeros((3, 2)), count=[[5, 5]] * 2 + [[5, 0]]
    )
    rows = bins_table(table, 2).rows
    assert rows[0] == (1, 2.0, 1.0, 2.0, 0, 0, 0.0)
    assert rows[1] == (2, 0.2, -0.2, 0.2, 2, 1, None)


def test_the_whole_history_is_written_as_it_is_kept():
    table = grid([[1.5, 2.0]], [[0.25, 0.0]], count=[[4, 0]])
    lines = csv_text(whole_table(table)).splitlines()
    assert lines[0] == "epoch,bin,lower,upper,count,confidence,accuracy,gap,gamma,train_confidence"
    assert lines[1] == "0,0,0.0,0.5,4,0.75,0.5,0.25,1.5,"
    assert lines[2] == "0,1,0.5,1.0,0,,,0.0,2.0,"


def test_updates_within_epochs_are_written_and_read_again():
    bins = history(
        [[1.5, 2.0], [1.25, 2.0]], [[0.25, 0.0], [0.125, 0.0]], count=[[4, 0], [8, 0]],
        epoch=[0, 0], update=[0, 1], trained=[0.375, 0.75],
    )  # fmt: skip
    text = csv_text(whole_table(HistoryGrid.of(bins)))
    again = read_history(FileBytes.of_bytes("gammas.csv", text.encode())).bins
    for name in COLUMNS:
        np.testing.assert_array_equal(getattr(again, name), getattr(bins, name))
    view = gamma_view(dynamics(HistoryGrid.of(bins)), 1, 0, TECHNICAL)
    assert "Two heat maps of 2 updates by 2 bins" in view.heatmap.alt
    last = HistoryGrid.of(replace(bins, trained=np.array([0.375, 0.375, 1.0, 1.0])))
    assert (last.moment(0), last.moment(1)) == ("0.37", "1")
    assert view.numbers[0].value == "0.75"


def test_updates_just_before_an_epoch_ends_are_not_called_epochs():
    ends = np.array([1, 2, 3]) * 351 / 352
    flat = np.ones((3, 2)), np.zeros((3, 2))
    nearly, whole = (grid(*flat, update=[0, 1, 2], trained=at) for at in (ends, [1.0, 2.0, 3.0]))
    assert nearly.within
    assert not whole.within
    assert [nearly.moment(at) for at in range(3)] == ["0.99", "1.99", "2.99"]
    one, two = dynamics(nearly), dynamics(whole)
    assert "has no epoch 0.99" in difference(one, two, 0)
    assert "the same γ in every bin" in difference(one, one, 1)


def test_a_file_of_updates_every_second_epoch_is_read_as_it_was():
    flat = np.ones((2, 2)), np.zeros((2, 2))
    bins = history(*flat, epoch=[1, 3], update=[0, 1], trained=[2.0, 4.0])
    text = csv_text(whole_table(HistoryGrid.of(bins)))
    again = read_history(FileBytes.of_bytes("gammas.csv", text.encode())).bins
    assert HistoryGrid.of(again).epoch.tolist() == [2, 4]


def of_bins(parts, without=()):
    """An epoch of 15 validation bins that hold the same; `without` names what is left out."""
    values = {f"val_bins.{b}.{name}": parts[name] for name in parts for b in range(15)}
    for name in without:
        del values[name]
    return History(np.zeros(len(values), np.int64), tuple(values), np.array([*values.values()]))


BINS = {"lower": 0.0, "upper": 1.0, "count": 4.0, "confidence": 0.75, "accuracy": 0.5}


def test_bins_of_a_loss_without_gammas_are_drawn_without_them():
    parts, of = BINS, of_bins
    of_training = {"train": 0.625, "train_top": 0.75, "train_own": 0.5}
    edges = {"own_lower": 0.25, "own_upper": 0.75}
    errors, card = training_bins_cards(of(parts | of_training | edges), own=False)
    assert "bin 1 +25.0, bin 2 +25.0" in errors.alt
    assert "off by 25.0 points on average" in errors.caption
    assert errors.table.rows[14][:8] == (1, 15, 0.0, 1.0, 4, 0.75, 0.5, 0.25)
    assert "Half of the pairs lie within 12.5 points" in card.alt
    assert (
        "True class and answer are at most 12.5 points apart in half of the bins and epochs, "
        "at most 12.5 in all"
    ) in card.alt
    assert "gamma" not in [column.key for column in card.table.columns]
    assert card.table.rows[14] == (1, 15, 0.0, 1.0, 4, 0.75, 0.5, 0.25, 0.625, 0.75)
    assert len(card.draw(LIGHT).data) == 4

    _, card = training_bins_cards(of(parts | of_training | edges), own=True)
    assert "Half of the edges lie within 25.0 points" in card.alt
    assert "in bins of its own, dashed below" in card.explanation
    assert "Ghosh et al. 2022, figure 9." in card.caption
    assert card.table.rows[0][8:] == (0.5, 0.25, 0.75)
    older = training_bins_cards(of(parts | of_training), own=True)[1]
    assert "edges" not in older.alt  # trainings from before they were kept
    assert "in bins of its own; stars" in older.explanation
    assert older.table.columns[-1].key == "train_confidence"
    assert len(older.draw(LIGHT).data) == 3
    oldest = training_bins_cards(of(parts | {"train": 0.625}), own=False)[1]
    assert "answer" not in oldest.explanation
    assert oldest.table.columns[-1].key == "train_confidence"
    assert len(oldest.draw(LIGHT).data) == 3
    cards = training_bins_cards(of(parts), own=False)  # none of the rows that were trained on
    assert [card.key for card in cards] == ["bin_errors"]
    assert training_bins_cards(of({}), own=False) == ()


def test_a_bin_of_true_classes_without_answers_is_left_out_of_their_distance():
    of_training = BINS | {"train": 0.625, "train_top": 0.75}
    said = training_bins_cards(of_bins(of_training, ["val_bins.3.train_top"]), own=False)[1].alt
    assert "at most 12.5 points apart in half of the bins and epochs, at most 12.5 in all" in said
    # The only bin that holds answers holds no true class
    lost = [f"val_bins.{b}.train_top" for b in range(1, 15)] + ["val_bins.0.train"]
    said = training_bins_cards(of_bins(of_training, lost), own=False)[1].alt
    assert "True class and answer" not in said
    near = training_bins_cards(of_bins(BINS | {"train": 0.75, "train_top": 0.75 + 1e-6}), own=False)
    assert "less than 0.01 points apart in half of the bins and epochs, less" in near[1].alt


def test_a_bin_without_answers_has_no_calibration_error():
    lost = [f"val_bins.2.{name}" for name in ("confidence", "accuracy")]
    history = of_bins(BINS, lost)
    count = np.array(history.metric) == "val_bins.2.count"
    history = History(history.epoch, history.metric, np.where(count, 0.0, history.value))
    (errors,) = training_bins_cards(history, own=False)
    assert "bin 2 +25.0, bin 4 +25.0" in errors.alt
    assert [row[7] for row in errors.table.rows[1:4]] == [0.25, None, 0.25]
    figure = errors.draw(LIGHT)
    assert [note.text for note in figure.layout.annotations][2:6] == [
        "<b>2</b>", "25.0", "<b>3</b>", "<b>4</b>"
    ]  # fmt: skip
    # One epoch a bin, each with a break after it
    assert np.isnan(figure.data[2].y[4])
    assert figure.data[2].y[6] == 25.0
    assert not np.isnan(figure.data[0].y).any()
    assert "underlined in grey" in errors.caption


def test_numbers_are_announced_only_where_they_are_drawn():
    shape = 1, 30
    crowd = dynamics(grid(np.ones(shape), np.zeros(shape), train=np.full(shape, 0.5)))
    for at, announced in ((0, True), (4, True), (1, False)):  # 4 is one of the even choice
        view = gamma_view(crowd, 0, at, TECHNICAL)
        for card in (view.panels, view.correspondence):
            texts = [note.text for note in card.draw(LIGHT).layout.annotations]
            assert any("<b>" not in text for text in texts) == announced
            assert ("right: " in card.explanation) == announced


def test_thinned_maps_say_so():
    table = grid(np.ones((1, 250)), np.zeros((1, 250)))
    assert "one bin in 3 of 250" in gamma_view(dynamics(table), 0, 0, TECHNICAL).caveats[0]


def test_thinned_rings_and_panels_say_so():
    gamma = np.where(np.arange(2100)[:, None] % 2, -1.0, 1.0) * np.ones((1, 2))
    view = gamma_view(dynamics(grid(gamma, np.zeros_like(gamma))), 0, 0, TECHNICAL)
    # 2 bins turn at each of 2,099 epochs
    assert "one change of sign in 3 of 4,198" in view.caveats[0]
    assert "one in 14 of 2,100 epochs" in view.panels.caption
    assert "one change of sign in 3 of 4,198" in view.panels.caption
    short = gamma_view(dynamics(grid(gamma[:160], np.zeros((160, 2)))), 0, 0, TECHNICAL)
    assert "panels draw" not in short.panels.caption


def test_correspondence_needs_training_confidences():
    known = grid([[1.0]], [[0.1]], train=[[0.58]])
    assert gamma_view(dynamics(grid([[1.0]], [[0.1]])), 0, 0, TECHNICAL).correspondence is None
    card = gamma_view(dynamics(known), 0, 0, TECHNICAL).correspondence
    assert "within 2.0 points" in card.alt  # 0.58 against 0.60


def test_a_second_history_is_compared_at_the_same_epoch():
    one = dynamics(grid([[1.0, 2.0]], [[0.1, 0.1]]))
    two = replace(one, name="other", grid=grid([[1.5, -0.4]], [[0.2, 0.2]]))
    said = difference(one, two, 0)
    assert "γ from −0.40 to 1.50, here 1.00 to 2.00" in said
    assert "furthest apart in bin 2 (−0.40 instead of 2.00)" in said
    assert "a mean gap of 20.0 points instead of 10.0" in said
    same = replace(one, name="same")
    assert "the same γ in every bin; the gaps are the same" in difference(one, same, 0)


def test_histories_that_do_not_go_together_say_why():
    one = dynamics(grid([[1.0, 2.0]], np.zeros((1, 2))))
    other = replace(one, grid=grid([[1.0]], [[0.0]]))
    assert "has 1 bins where" not in bin_mismatch(one, replace(one))
    assert bin_mismatch(one, other)
    late = replace(one, name="late", grid=grid([[1.0, 2.0]], np.zeros((1, 2)), epoch=[7]))
    assert difference(one, late, 0) == "late (AdaFocal, λ = 1) has no epoch 1: it runs from 7 to 7."
