"""What is said of an epoch: sentences from hand-made bins, empty bins, tables, comparisons."""

from dataclasses import replace

import numpy as np
import pytest

from core.histories import COLUMNS, History
from core.losses.bins import AdaFocalRule
from core.metrics.intervals import wilson
from core.readers.formats.contents import FileBytes
from core.readers.tables.strict_tables import read_history
from core.reports.tables import csv_text
from core.screens.gamma.figures import HistoryGrid
from core.screens.gamma.view import (
    TECHNICAL,
    GammaDynamics,
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
    sentence,
)
from core.screens.kit.theme import LIGHT
from tests.core.screens.gamma.gamma_cases import grid, history

RULE = HistoryRule(AdaFocalRule(), "from the training settings")


def dynamics(table, name="a run"):
    return GammaDynamics(name=name, origin="AdaFocal, λ = 1", grid=table, learned=RULE)


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


def test_only_a_gamma_that_stays_is_said_to_stay():
    moved = grid([[1.1, 0.5, 0.8]], np.zeros((1, 3)), count=[[10, 0, 9]])
    later = grid([[1.1, 0.5, 0.8]], np.zeros((1, 3)), count=[[10, 0, 9]], epoch=[7])
    for table in (moved, later):
        text = frozen_words(table, AdaFocalRule(gamma_max=0.5), 0)
        assert "so the gap counts as 0 there" in text
        assert "stays" not in text


def test_the_mean_gap_is_weighted_by_answers():
    table = grid([[1.0, 1.0]], [[0.1, -0.4]], count=[[30, 10]])
    assert mean_gap(table, 0) == pytest.approx((30 * 0.1 + 10 * 0.4) / 40)
    assert np.isnan(mean_gap(grid([[1.0]], [[0.0]], count=[[0]]), 0))


def test_epochs_are_counted_from_one_only_where_the_history_counts_from_zero():
    assert grid(np.ones((2, 1)), np.zeros((2, 1))).epoch.tolist() == [1, 2]
    assert grid(np.ones((2, 1)), np.zeros((2, 1)), epoch=[1, 5]).epoch.tolist() == [1, 5]


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
