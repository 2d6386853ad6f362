"""Trainings on trees: phrases teach a Tree-LSTM, whole sentences judge it."""

import numpy as np
import pytest
import torch

from core.library import Library
from core.losses.catalogue import subject
from core.published import published
from core.screens.published.view import place_of, recipe, repetitions
from core.training import estimate, job
from core.training.config import RECIPES, from_json
from core.training.folder import JobFolder
from core.training.loop import train
from core.training.parts import assemble, connect
from core.training.submission import GLOVE, GLOVE_OF, NO_WORDS, reproductions

WORDS = {"good": 1, "great": 1, "fine": 1, "bad": -1, "poor": -1, "dull": -1}
SMALL = {
    "data": "sst_binary",
    "model": "tree_lstm",
    "loss": {"name": "ce"},
    "epochs": 12,
    "batch_size": 64,
    "optimizer": {"name": "adagrad", "lr": 0.05, "weight_decay": 1e-6, "vectors_lr": 1.0},
    "schedule": {"name": "constant"},
    "device": "cpu",
    "text": {"dimension": 8},
}


def sentence(rng):
    """A tree such as "(1 (2 (2 the) (2 film)) (1 (2 not) (3 good)))", where "not" turns it."""
    word = str(rng.choice(list(WORDS)))
    sign, tree = WORDS[word], f"({2 + WORDS[word]} {word})"
    for _ in range(rng.integers(0, 3)):
        sign = -sign
        tree = f"({2 + sign} (2 not) {tree})"
    return f"({2 + 2 * sign} (2 (2 the) (2 {rng.choice(['film', 'plot'])})) {tree})"


@pytest.fixture
def folder(tmp_path):
    """Makes the folder of a training on a made treebank: folder("job", epochs=2)."""
    rng = np.random.default_rng(0)
    root = tmp_path / "trees"
    root.mkdir()
    for name, n in (("train", 120), ("dev", 40), ("test", 40)):
        (root / f"{name}.txt").write_text("".join(f"{sentence(rng)}\n" for _ in range(n)))

    def make(name="0123456789ab", **changes):
        config = from_json({**SMALL, "data_root": str(root), **changes})
        return JobFolder.make(tmp_path / name, config)

    return make


def trained(folder, *, seconds=None):
    config = folder.config()
    parts = assemble(config, job.load_data(config), connect(config))
    train(parts, folder, seconds=seconds)
    return parts


def test_a_treebank_is_learned_and_its_run_answers_for_whole_sentences(
    folder, tmp_path, monkeypatch
):
    monkeypatch.setenv("CANDOR_HOME", str(tmp_path / "home"))
    made = folder()
    result = job.run(made)
    errors = [line["metrics"]["val_error"] for line in made.events()]
    assert errors[-1] == 0.0  # half by guessing, and by words without their tree
    library = Library(tmp_path / "home", tmp_path / "none")
    test = library.load(result["run"], "test")
    assert test.class_names == ("negative", "positive")
    assert test.scores.shape == (40, 2)  # no answer is neutral
    assert test.row_ids[0] == "test.txt:1"
    parts = assemble(made.config(), job.load_data(made.config()), connect(made.config()))
    assert parts.net.head.weight.shape[0] == 3  # neutral phrases are trained on
    assert set(parts.targets["train"].tolist()) == {0, 1, 2}


@pytest.mark.nightly
def test_a_resumed_training_ends_with_the_same_bits(folder):
    loss = {"name": "adafocal", "n_bins": 5}
    straight = trained(folder("straight", loss=loss, epochs=3))
    stopped = folder("stopped", loss=loss, epochs=3)
    for _ in range(3):
        resumed = trained(stopped, seconds=0)
    assert resumed.epoch == 3
    for name, value in straight.net.state_dict().items():
        assert torch.equal(resumed.net.state_dict()[name], value), name


def test_word_vectors_take_plain_steps_and_the_rest_those_of_adagrad(folder):
    made = folder(
        epochs=2,
        schedule={"name": "step", "drops": [0.5], "factor": 0.1},
        optimizer={"name": "adagrad", "lr": 0.05, "weight_decay": 0.1, "vectors_lr": 2.0},
    )
    parts = trained(made)  # its second epoch has a tenth of the rates
    config = made.config()
    fresh = assemble(config, job.load_data(config), connect(config))
    for group, of in zip(fresh.optimizer.param_groups, parts.optimizer.param_groups, strict=True):
        group["lr"] = of["lr"]
    generator = torch.Generator().manual_seed(0)
    before = {name: part.detach().clone() for name, part in fresh.net.named_parameters()}
    steps = [
        {name: torch.rand(part.shape, generator=generator) + 0.5 for name, part in before.items()}
        for _ in range(2)
    ]
    expected = {name: part.clone() for name, part in before.items()}
    sums = {name: torch.zeros_like(part) for name, part in before.items()}
    for gradients in steps:
        for name, part in fresh.net.named_parameters():
            part.grad = gradients[name].clone()
            if name == "embedding.weight":
                expected[name] -= 0.2 * gradients[name]
                continue
            gradient = gradients[name] + 0.1 * expected[name]
            sums[name] += gradient.square()
            expected[name] -= 0.005 * gradient / sums[name].sqrt()
        fresh.optimizer.step()
    for name, part in fresh.net.named_parameters():
        torch.testing.assert_close(part.detach(), expected[name], rtol=1e-5, atol=1e-6)


def test_adagrad_without_a_rate_of_its_own_trains_word_vectors_like_the_rest(folder):
    config = folder(optimizer={"name": "adagrad"}).config()
    parts = assemble(config, job.load_data(config), connect(config))
    (group,) = parts.optimizer.param_groups
    assert len(group["params"]) == len(list(parts.net.parameters()))


def test_the_rows_of_the_paper_are_trained_as_printed():
    rows = published(paper="mukhoti2020iclr", dataset="sst_binary", model="tree_lstm")
    root, file = {"sst_binary": "/data/trees"}, GLOVE_OF["sst_binary"]
    configs, left_out = reproductions(rows, (0,), {}, root, {file: "/data/glove.txt"})
    assert not left_out
    methods = {row.method for row in rows}
    assert {m for c in configs for m in subject(c.to_json()).methods} >= methods
    for config in configs:
        assert (config.model, config.epochs, config.keep) == ("tree_lstm", 25, "val_error")
        assert (config.optimizer.name, config.optimizer.lr) == ("adagrad", 0.05)
        assert config.optimizer.weight_decay == pytest.approx(2.7027e-6, rel=1e-4)
        assert (config.text.embeddings, config.text.dimension) == ("/data/glove.txt", 300)
    mmce = next(c.loss for c in configs if c.loss["name"] == "mmce_weighted")
    assert mmce["lambda"] == 8.0
    runs = {config.name: recipe(config.to_json()) for config in configs}
    found = repetitions(rows, runs)  # a run of each stands beside the printed cells
    assert {place_of(row) for row in rows} == set(found)
    assert all(len(ids) == 1 for ids in found.values())
    _, without = reproductions(rows, (0,), {}, root, {GLOVE: "/data/glove.txt"})
    assert set(without.values()) == {NO_WORDS}
    assert RECIPES["sst"].settings["batch_size"] == 925


def test_the_time_of_a_training_is_measured_on_random_trees():
    config = from_json(SMALL | {"text": {"vocabulary": 50, "length": 20}})
    speed = estimate.measure(config)
    assert speed.trained > 0
    assert estimate.seconds(speed, config) > 0
