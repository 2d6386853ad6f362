"""How long a training takes: the sum over its epochs, and the steps it is measured by."""

import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from core.datasets.catalogue import DATASETS
from core.errors import Refused, UsageError
from core.training import estimate
from core.training.config import from_json
from core.training.estimate import SHAPES, Speed, basis, measure, seconds

SPEED = Speed(
    device="cpu", trained=100.0, evaluated=1000.0, start_s=5.0, epoch_s=0.2, checkpoint_s=0.3
)
DIGITS = {"data": "digits", "model": "small_cnn", "loss": {"name": "ce"}, "epochs": 10}


def config(**changes):
    return from_json(DIGITS | changes)


def test_the_sum_is_start_epochs_and_the_last_evaluation():
    # an epoch: 997 / 100 + 300 / 1000 + 0.2 + 0.3 = 10.77; at the end 800 / 1000
    assert seconds(SPEED, config()) == pytest.approx(5 + 10 * 10.77 + 0.8)


def test_fewer_images_and_several_devices_are_counted():
    # an epoch: 100 / 200 + 300 / 2000 + 0.5 = 1.15; at the end 800 / 2000
    found = seconds(SPEED, config(n_train=100, devices=2))
    assert found == pytest.approx(5 + 10 * 1.15 + 0.4)


def test_a_loss_that_asks_the_validation_part_often_takes_longer():
    # 10 epochs of 10 batches, asked every third: 33 times, and at the other 7 ends of epochs
    loss = {"name": "adafocal", "update_every": 3}
    often = seconds(SPEED, config(loss=loss, batch_size=100))
    once = seconds(SPEED, config(loss={"name": "adafocal"}, batch_size=100))
    assert often - once == pytest.approx(30 * 300 / 1000)


def test_checkpoints_every_other_epoch_take_half_as_long_and_copies_as_long_as_before():
    spared = seconds(SPEED, config()) - seconds(SPEED, config(checkpoint_every=2))
    assert spared == pytest.approx(10 * 0.3 / 2)
    assert seconds(replace(SPEED, epoch_s=1.2), config(checkpoint_every=2)) == pytest.approx(
        seconds(SPEED, config(checkpoint_every=2)) + 10
    )


def test_curves_of_the_test_part_take_an_evaluation_an_epoch():
    more = seconds(SPEED, config(test_curves=True)) - seconds(SPEED, config())
    assert more == pytest.approx(10 * 500 / 1000)


def test_unknown_numbers_of_images_give_no_sum():
    assert seconds(SPEED, config(data="folder")) is None


def test_every_data_set_has_a_shape():
    assert set(SHAPES) == set(DATASETS)


def test_the_basis_is_the_same_where_an_image_takes_as_long():
    here = basis(config())
    same = {"epochs": 999, "seed": 4, "name": "x", "n_train": 20, "optimizer": {"lr": 0.7}}
    assert basis(config(**same, compile="on", changed_files=True)) == here
    for change in ({"model": "resnet110_cifar"}, {"batch_size": 7}, {"device": "cpu"}):
        assert basis(config(**change)) != here


@pytest.mark.slow
@pytest.mark.parametrize(
    "loss",
    ["adafocal", *(pytest.param(loss, marks=pytest.mark.nightly) for loss in ("mmce", "fcl"))],
)
def test_a_small_network_is_measured(loss):
    found = measure(config(loss={"name": loss}, device="cpu", batch_size=64))
    assert found.device == "cpu"
    assert found.trained > 0
    assert found.evaluated > 0
    assert found.epoch_s > 0
    assert found.checkpoint_s > 0
    assert seconds(found, config()) > found.start_s > 0


@pytest.mark.nightly
@pytest.mark.slow
def test_many_labels_and_images_of_another_size_are_measured():
    small = config(data="chestxray14", model="timm:resnet18", batch_size=2, device="cpu")
    assert measure(small).trained > 0


@pytest.mark.slow
def test_a_network_that_is_not_there_is_refused():
    with pytest.raises(UsageError, match="unknown"):
        measure(replace(config(device="cpu"), model="timm:nosuchnetwork"))


def test_what_takes_too_long_is_ended_and_says_so():
    before = signal.getsignal(signal.SIGALRM)
    with pytest.raises(Refused, match="TIME"):
        measure(config(device="cpu"), limit_s=1e-3)
    assert signal.getsignal(signal.SIGALRM) is before
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0


def test_a_large_network_is_begun_with_two_images(monkeypatch):
    sizes = []

    def slow(parts, n):  # the clock alone is replaced: each step takes a minute
        sizes.append(n)
        return 60.0

    monkeypatch.setattr(estimate, "_seconds", slow)
    found = measure(config(device="cpu", batch_size=64))
    assert set(sizes) == {2}
    assert found.trained == 2 / 60


@pytest.mark.parametrize(
    ("a_row_s", "n_last"),
    [(0.001, 256), (0.01, 64), (1.0, 32)],  # 256 is the most; 64 are first to take over 0.5 s
)
def test_as_many_rows_are_evaluated_at_once_as_in_training_unless_it_takes_long(
    monkeypatch, a_row_s, n_last
):
    def spent_s(parts, n):  # a call costs 0.1 s, however many rows it takes
        return 0.1 + n * a_row_s

    monkeypatch.setattr(estimate, "_pass_seconds", spent_s)
    parts = SimpleNamespace(at_once=256)
    assert estimate._evaluated(parts, 32) == n_last / (0.1 + n_last * a_row_s)


def test_a_pass_takes_what_the_clock_says_and_shows_rows_again(monkeypatch):
    clock, asked = [10.0], []

    def predict(parts, split, rows):
        asked.extend(rows.tolist())
        clock[0] += 4.0

    monkeypatch.setattr("core.training.loop.now", lambda parts: clock[0])
    monkeypatch.setattr("core.training.parts.predict", predict)
    parts = SimpleNamespace(data=SimpleNamespace(val=range(3)))
    assert estimate._pass_seconds(parts, 5) == 4.0
    assert asked == [0, 1, 2, 0, 1]


def test_pages_may_import_it_without_torch():
    code = "import sys, core.training.estimate; sys.exit('torch' in sys.modules)"
    root = Path(__file__).parents[3]
    assert subprocess.run([sys.executable, "-c", code], cwd=root, check=False).returncode == 0
