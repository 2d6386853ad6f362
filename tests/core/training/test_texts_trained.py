"""Trainings on texts: they learn, resume bit by bit, and join the library with their words."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from core.datasets.texts.dataset import load_texts
from core.datasets.texts.words import TextConfig
from core.errors import LibraryError, Refused, UsageError
from core.library import Library
from core.losses.catalogue import LOSSES
from core.predictions import Task
from core.training import estimate, job
from core.training.config import from_json
from core.training.folder import JobFolder
from core.training.loop import train
from core.training.parts import assemble, connect
from tests.bert_folder import PIECES, make, tensors

NAMES = ("cats", "dogs", "fish")
SMALL = {
    "data": "texts",
    "model": "text_mean",
    "loss": {"name": "ce"},
    "epochs": 6,
    "batch_size": 16,
    "optimizer": {"name": "adam", "lr": 0.05, "weight_decay": 0.0},
    "schedule": {"name": "constant"},
    "device": "cpu",
    "text": {"dimension": 8},
}


@pytest.fixture
def root(tmp_path):
    """Forty texts of each class: words of their own, of all, and of different lengths."""
    rng = np.random.default_rng(0)
    for name in NAMES:
        folder = tmp_path / "texts" / name
        folder.mkdir(parents=True)
        for k in range(40):
            own = [f"{name}{rng.integers(12)}" for _ in range(rng.integers(1, 9))]
            shared = [f"word{rng.integers(30)}" for _ in range(rng.integers(1, 9))]
            (folder / f"{k:02}.txt").write_text(" ".join(rng.permutation(own + shared)))
    return tmp_path / "texts"


@pytest.fixture
def folder(tmp_path, root):
    """Makes the folder of a training: folder("job", epochs=2)."""

    def make(name="0123456789ab", **changes):
        config = from_json({**SMALL, "data_root": str(root), **changes})
        return JobFolder.make(tmp_path / name, config)

    return make


def trained(folder, *, seconds=None):
    config = folder.config()
    data = load_texts(config.data, config.data_root, config.text, seed=config.split_seed)
    parts = assemble(config, data, connect(config))
    train(parts, folder, seconds=seconds)
    return parts


@pytest.mark.parametrize(
    "model", ["text_mean", pytest.param("text_cnn", marks=pytest.mark.nightly)]
)
def test_networks_learn_to_tell_the_classes(folder, model):
    optimizer = {"name": "adam", "lr": 0.05 if model == "text_mean" else 0.005}
    made = folder(model=model, optimizer=optimizer, epochs=30)
    trained(made)
    errors = [line["metrics"]["val_error"] for line in made.events()]
    assert len(errors) == 30
    assert errors[-1] <= 0.1  # two thirds by guessing


@pytest.mark.parametrize("name", [k for k, e in LOSSES.items() if Task.MULTICLASS in e.tasks])
def test_every_loss_trains_on_texts(folder, name):
    made = folder(loss={"name": name}, epochs=2)
    trained(made)
    assert all(np.isfinite(line["metrics"]["train_loss"]) for line in made.events())


def test_a_resumed_training_ends_with_the_same_bits(folder):
    loss = {"name": "adafocal", "n_bins": 5}
    straight = trained(folder("straight", model="text_cnn", loss=loss, epochs=4))
    stopped = folder("stopped", model="text_cnn", loss=loss, epochs=4)
    for _ in range(4):
        resumed = trained(stopped, seconds=0)
    assert resumed.epoch == 4
    for name, value in straight.net.state_dict().items():
        assert torch.equal(resumed.net.state_dict()[name], value), name


def bert_of(tmp_path):
    return {
        "model": "bert",
        "optimizer": {"name": "adamw", "lr": 0.003, "weight_decay": 0.01},
        "schedule": {"name": "linear", "warmup": 0.5},
        "text": {"bert": str(make(tmp_path / "bert")), "length": 8, "test_length": 20},
    }


@pytest.mark.nightly
def test_bert_learns_from_the_weights_of_its_folder_and_resumes_bit_by_bit(folder, root, tmp_path):
    for k, path in enumerate(sorted(root.glob("*/*.txt"))):  # of letters that BERT's pieces have
        path.write_text(f"{'abc'[k // 40]}{'jklmnop'[k % 7]} {'qrst'[k % 4]} " * (1 + k % 7))
    made = folder("straight", epochs=8, batch_size=8, **bert_of(tmp_path))
    straight = trained(made)
    rates = [line["metrics"]["lr"] for line in made.events()]
    n = straight.n_batches // 8  # steps an epoch; the rate is that of the last one
    assert rates == pytest.approx([0.003 * (8 - k + 1 / n) / 7.5 for k in range(1, 9)])
    assert made.events()[-1]["metrics"]["val_error"] <= 0.1  # two thirds by guessing
    assert np.diff(straight.data.train.ends).max() == 8
    assert np.diff(straight.data.test.ends).max() == 20
    stopped = folder("stopped", epochs=8, batch_size=8, **bert_of(tmp_path))
    for _ in range(8):
        resumed = trained(stopped, seconds=0)
    for name, value in straight.net.state_dict().items():
        assert torch.equal(resumed.net.state_dict()[name], value), name
    for change in ({"layer_norm_eps": 1e-5}, {"named": tensors(seed=1)}):
        make(tmp_path / "bert", **change)
        with pytest.raises(Refused, match="CHANGED"):
            trained(stopped)


def test_the_run_of_a_bert_says_what_was_new_and_keeps_its_pieces(folder, tmp_path, monkeypatch):
    monkeypatch.setenv("CANDOR_HOME", str(tmp_path / "home"))
    result = job.run(folder(epochs=1, **bert_of(tmp_path)))
    manifest = Library(tmp_path / "home", tmp_path / "none").get(result["run"])
    (notice,) = [notice for notice in manifest.notices if notice.code == "PRETRAINED"]
    assert "head.weight and head.bias" in notice.text
    assert manifest.source.recipe["vocabulary"]["n"] == len(PIECES)


@pytest.mark.parametrize(
    ("text", "config", "what"),
    [
        ({"length": 25}, {}, "25 pieces of a text are read, BERT has 24"),
        ({"test_length": 30}, {}, "30 pieces"),
        ({"test_length": 2}, {}, "BERT reads a start, an end"),
        ({}, {"vocab_size": 9}, "config.json says 9"),
    ],
)
def test_a_bert_that_does_not_fit_the_texts_is_refused(folder, tmp_path, text, config, what):
    given = bert_of(tmp_path)
    make(tmp_path / "bert", **config)
    with pytest.raises((Refused, UsageError), match=what):
        trained(folder(**given | {"text": given["text"] | text}))


def test_a_folder_with_pickled_weights_alone_is_refused(folder, tmp_path):
    given = bert_of(tmp_path)
    (tmp_path / "bert" / "model.safetensors").rename(tmp_path / "bert" / "pytorch_model.bin")
    with pytest.raises(Refused, match=r"pytorch_model.bin.*convert_checkpoint"):
        trained(folder(**given))


def test_the_time_of_a_bert_is_measured_by_its_folder(tmp_path):
    config = from_json({**SMALL, "data": "20newsgroups", **bert_of(tmp_path)})
    speed = estimate.measure(config)
    assert estimate.seconds(speed, config) > 15_098 * 6 / speed.trained


def test_fixed_vectors_stay_as_they_were_read(folder, tmp_path):
    path = tmp_path / "vectors.txt"
    path.write_text("cats1 1 2 3\nword1 4 5 6\n")
    for fixed in (True, False):
        text = {"dimension": 3, "embeddings": str(path), "fixed": fixed}
        parts = trained(folder(f"fixed{fixed}", text=text, epochs=1))
        weight = parts.net.embedding.weight[parts.data.vocabulary.index("cats1")]
        assert torch.equal(weight.detach(), torch.tensor([1.0, 2.0, 3.0])) is fixed


def test_the_run_has_its_words_its_texts_names_and_the_classes_left_out(
    folder, root, tmp_path, monkeypatch
):
    monkeypatch.setenv("CANDOR_HOME", str(tmp_path / "home"))
    made = folder(text={"dimension": 8, "left_out": ["dogs"]}, epochs=2)
    result = job.run(made)
    library = Library(tmp_path / "home", tmp_path / "none")
    manifest = library.get(result["run"])
    data = load_texts("texts", str(root), TextConfig(left_out=("dogs",)), seed=0)

    assert manifest.class_names == ("cats", "fish")
    assert {name: entry.role for name, entry in manifest.splits.items()} == {
        "val": "val",
        "test": "test",
        "left-out": "ood",
    }
    assert library.load(result["run"], "test").row_ids == data.test.row_ids
    outside = library.load(result["run"], "left-out")
    assert outside.row_ids == tuple(f"dogs/{k:02}.txt" for k in range(40))
    assert not outside.labelled

    files = library.files(result["run"])
    words = Path(files["vocabulary.txt"]).read_text("utf-8").splitlines()
    assert tuple(words) == data.vocabulary
    stated = manifest.source.recipe["vocabulary"]
    assert stated["n"] == len(words)
    assert json.loads(json.dumps(manifest.config))["text"]["left_out"] == ["dogs"]

    place = Path(files["vocabulary.txt"])
    kept = place.read_text("utf-8")
    for changed in (
        kept.replace("cats1\n", "cats01\n"),
        kept + "more\n",
        kept.encode()[:-1] + b"\xff",
    ):
        place.write_bytes(changed if isinstance(changed, bytes) else changed.encode())
        with pytest.raises(LibraryError, match=r"vocabulary\.txt differs from what was kept"):
            library.load(result["run"], "test")
    place.write_text(kept, "utf-8")
    assert library.load(result["run"], "test").n == len(data.test)
    place.unlink()
    with pytest.raises(LibraryError, match=r"vocabulary\.txt is missing"):
        library.get(result["run"])


def test_the_time_of_a_training_is_measured_on_random_texts():
    config = from_json(SMALL | {"data": "sst2", "text": {"length": 20, "vocabulary": 50}})
    speed = estimate.measure(config)
    assert speed.trained > 0
    assert estimate.seconds(speed, config) > 0
    assert estimate.seconds(speed, from_json(SMALL)) is None


def test_random_texts_are_about_as_long_as_those_of_the_data():
    def mean(data, length):
        text = {"length": length, "vocabulary": 50}
        train = estimate._random(from_json(SMALL | {"data": data, "text": text})).train
        return np.diff(train.ends).mean()

    assert mean("20newsgroups", 400) == pytest.approx(125, rel=0.05)  # measured on all messages
    assert mean("sst2", 400) == pytest.approx(18, rel=0.1)
    assert mean("sst2", 10) <= 10
    assert mean("texts", 300) == 300  # nothing is known of them
