"""Several trainings as one submission: seeds, losses and names."""

import pytest

from core.errors import UsageError
from core.training.config import from_json
from core.training.submission import FIRST, IMPORT, MOST, check_folder, seeds, trainings

BASE = from_json(FIRST)


@pytest.mark.parametrize(
    ("text", "found"),
    [("0", (0,)), ("0, 1, 2", (0, 1, 2)), (" 7;3 ", (7, 3)), ("1 2", (1, 2)), ("4,4", (4,))],
)
def test_seeds_are_read_in_their_order_and_once(text, found):
    assert seeds(text) == found


@pytest.mark.parametrize("text", ["", "a", "1.5", "-1", "1,,2", "1e3", "٣", "1," * 20, "9" * 20])
def test_what_is_no_list_of_whole_numbers_is_refused(text):
    with pytest.raises(UsageError, match="SEEDS"):
        seeds(text)


def test_long_white_space_is_refused_at_once():
    # A pattern that could split the white space in two ways would not come back from this.
    with pytest.raises(UsageError, match="SEEDS"):
        seeds("0" + "  0" * 600 + "x")


def test_every_loss_meets_every_seed():
    found = trainings(BASE, "", ["ce", "focal"], (0, 5))
    assert [(one.loss["name"], one.seed) for one in found] == [
        ("adafocal", 0),
        ("adafocal", 5),
        ("ce", 0),
        ("ce", 5),
        ("focal", 0),
        ("focal", 5),
    ]
    assert len({one.name for one in found}) == 6
    assert len({one.digest for one in found}) == 6
    assert found[2].loss == {"name": "ce"}


def test_one_training_keeps_its_name_and_several_are_told_apart():
    assert trainings(BASE, "", [], (0,))[0].name == "AdaFocal, small_cnn on digits"
    assert trainings(BASE, "mine", [], (3,))[0].name == "mine"
    names = [one.name for one in trainings(BASE, "mine", ["ce"], (0, 1))]
    assert names[0] == "mine, AdaFocal, seed 0"
    assert names[3] == "mine, Cross-entropy, seed 1"


def test_a_loss_that_does_not_fit_the_data_is_refused():
    films = from_json({"data": "chestxray14", "model": "small_cnn", "loss": {"name": "ce"}})
    with pytest.raises(UsageError, match="cannot train"):
        trainings(films, "", ["mmce"], (0,))


def test_too_many_at_once_are_refused():
    with pytest.raises(UsageError, match="at most"):
        trainings(BASE, "", [], tuple(range(MOST + 1)))


@pytest.mark.parametrize("root", ["~nosuchuser/x", "a\0b", "\ud800", "x" * 5000])
def test_what_cannot_be_a_folder_is_refused(root, monkeypatch, tmp_path):
    monkeypatch.setenv(IMPORT, str(tmp_path))
    with pytest.raises(UsageError, match="FOLDER"):
        check_folder(root)


def test_a_page_reads_only_below_the_folders_it_was_given(tmp_path, monkeypatch):
    inside, outside = tmp_path / "data" / "films", tmp_path / "other"
    check_folder(None)
    monkeypatch.delenv(IMPORT, raising=False)
    with pytest.raises(UsageError, match="FOLDER"):
        check_folder(str(inside))
    monkeypatch.setenv(IMPORT, f"{tmp_path / 'more'}:{tmp_path / 'data'}")
    check_folder(str(inside))
    for wrong in (outside, inside / ".." / ".." / "other", tmp_path / "data2"):
        with pytest.raises(UsageError, match="FOLDER"):
            check_folder(str(wrong))
