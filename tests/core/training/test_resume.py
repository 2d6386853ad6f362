"""Going on after a stop: bit-equal on a CPU, and every part of the state matters."""

import random
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from core.datasets.load import load
from core.errors import LibraryError, Refused, UsageError
from core.models.small_images import SmallCnn
from core.training import checkpoint
from core.training import parts as parts_module
from core.training.config import from_json
from core.training.folder import JobFolder
from core.training.parts import assemble, connect, predict
from tests.core.training.conftest import SMALL

EVERY = {"loss": {"name": "adafocal", "n_bins": 5, "update_every": 3}}  # 5 batches an epoch


class Noisy(nn.Module):
    """Draws from torch's, Python's and NumPy's global generators, and keeps running statistics."""

    def __init__(self) -> None:
        super().__init__()
        self.body = SmallCnn(1, 10)
        self.first = nn.BatchNorm2d(1, momentum=0.5)
        self.drop = nn.Dropout(0.2)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        images = self.drop(self.first(images))
        if self.training:
            images = images * (1 + 0.1 * random.random()) + 0.1 * np.random.rand()  # noqa: NPY002
        return self.body(images)


def weights(parts):
    return {key: value.clone() for key, value in parts.net.state_dict().items()}


def same(one, other):
    return all(torch.equal(one[key], other[key]) for key in one)


def rows(folder):
    """The recorded epochs without what the clock says."""
    clock = {"seconds", "images_per_second"}
    return [
        (line["epoch"], {k: v for k, v in line["metrics"].items() if k not in clock}, line["bins"])
        for line in folder.events()
    ]


def interrupted(folder, tmp_path, name, epoch, change=lambda state: state):
    """Copy a job as it was after an epoch, its checkpoint changed, into a folder of its own."""
    path = tmp_path / name
    copy = JobFolder.make(path, folder.config())
    state = checkpoint.newest(folder.path / "kept" / str(epoch))
    checkpoint.save(copy.checkpoints, epoch, change(state))
    (path / "events.jsonl").write_text("\n".join(folder.lines()[:epoch]) + "\n")
    (path / "validation").mkdir()
    for file in sorted((folder.path / "validation").iterdir())[:epoch]:
        (path / "validation" / file.name).write_bytes(file.read_bytes())
    return copy


@pytest.fixture
def keep_all(monkeypatch):
    """Keep the state after each epoch beside the checkpoints, of which only two stay."""

    def save(folder, epoch, state):
        original(folder.parent / "kept" / str(epoch), epoch, state)
        original(folder, epoch, state)

    original = checkpoint.save
    monkeypatch.setattr(checkpoint, "save", save)


@pytest.mark.parametrize("loss", ["adafocal", "calfocal_1"])
def test_stopped_after_each_epoch_gives_the_same_bits_as_training_through(loss, trainer):
    every = {"loss": {**EVERY["loss"], "name": loss}}
    parts, folder, trained = trainer("through", net=Noisy, **every)
    assert trained.finished
    finished = False
    rounds = 0
    while not finished and rounds < 5:
        # seeds and draws of the process differ from round to round; the run must not
        random.seed(rounds)
        torch.manual_seed(rounds)
        resumed, piece, trained = trainer("pieces", net=Noisy, seconds=0.0, **every)
        finished, rounds = trained.finished, rounds + 1
    assert rounds == 4
    assert same(weights(parts), weights(resumed))
    assert rows(folder) == rows(piece)
    np.testing.assert_array_equal(folder.validation(), piece.validation())
    assert checkpoint.checksum(parts.state()) == checkpoint.checksum(resumed.state())


CHEXNET = {
    "optimizer": {"name": "adam", "lr": 0.005},
    "schedule": {"name": "plateau", "patience": 0, "factor": 0.5},
    "keep": "val_error",
    "epochs": 16,
}


def test_adam_on_a_plateau_resumes_to_the_same_bits_and_the_same_kept_epoch(trainer):
    parts, folder, _ = trainer("through", **CHEXNET)
    finished = False
    while not finished:
        resumed, piece, trained = trainer("pieces", seconds=0.0, **CHEXNET)
        finished = trained.finished
    assert rows(folder) == rows(piece)
    assert checkpoint.checksum(parts.state()) == checkpoint.checksum(resumed.state())
    metrics = [line["metrics"] for line in folder.events()]
    # PyTorch's own schedule, told the losses that were recorded
    own = torch.optim.SGD([torch.zeros(1)], lr=0.005)
    schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(own, factor=0.5, patience=0)
    for epoch in metrics:
        assert epoch["lr"] == pytest.approx(own.param_groups[0]["lr"], rel=1e-12)
        schedule.step(epoch["val_loss"])
    assert len({epoch["lr"] for epoch in metrics}) > 1
    errors = [epoch["val_error"] for epoch in metrics]
    assert parts.kept["epoch"] == errors.index(min(errors)) + 1
    parts.note(metrics[-1] | {"val_error": min(errors)})  # as good, but later
    assert parts.kept["epoch"] == errors.index(min(errors)) + 1
    parts.take_kept()
    found = parts.loss.answers(predict(parts, parts.data.val), parts.targets["val"])[1]
    assert 1.0 - float(found.double().mean()) == pytest.approx(min(errors))


@pytest.mark.usefixtures("keep_all")
def test_checkpoints_at_an_interval_resume_to_the_same_bits(trainer, tmp_path):
    """Saved after epochs 2 and 4, at a stop, and at the end; killed after the third."""
    parts, folder, _ = trainer("through", net=Noisy, epochs=5, checkpoint_every=2, **EVERY)
    assert sorted(path.name for path in (folder.path / "kept").iterdir()) == ["2", "4", "5"]
    back = interrupted(folder, tmp_path, "back", 2)
    with (back.path / "events.jsonl").open("a") as file:
        file.write(folder.lines()[2] + "\n")  # its checkpoint was not written yet
    resumed, *_ = trainer("back", net=Noisy, epochs=5, checkpoint_every=2, **EVERY)
    assert rows(back) == rows(folder)
    assert checkpoint.checksum(parts.state()) == checkpoint.checksum(resumed.state())
    every, *_ = trainer("every", net=Noisy, epochs=5, **EVERY)
    assert checkpoint.checksum(parts.state()) == checkpoint.checksum(every.state())
    _, stopped, _ = trainer("stopped", epochs=5, checkpoint_every=3, seconds=0.0)
    assert checkpoint.of_job(stopped)["epoch"] == 1


class Broken(Noisy):
    """Fails in the middle of its third epoch."""

    n_batches = 0

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        self.n_batches += self.training
        if self.n_batches == 13:
            raise MemoryError
        return super().forward(images)


def test_a_training_that_fails_goes_on_from_the_last_epoch_whatever_the_interval(trainer, tmp_path):
    parts, folder, _ = trainer("through", net=Noisy, **EVERY)
    with pytest.raises(MemoryError):
        trainer("broken", net=Broken, checkpoint_every=10, **EVERY)
    broken = JobFolder(tmp_path / "broken")
    assert checkpoint.of_job(broken)["epoch"] == 2
    resumed, *_ = trainer("broken", net=Noisy, checkpoint_every=10, **EVERY)
    assert rows(broken) == rows(folder)
    assert checkpoint.checksum(parts.state()) == checkpoint.checksum(resumed.state())


def test_a_checkpoint_that_cannot_be_written_ends_the_training(trainer, tmp_path):
    config = from_json({**SMALL, "epochs": 3})
    folder = JobFolder.make(tmp_path / "full", config)
    folder.checkpoints.write_bytes(b"a file where the folder should be")
    with pytest.raises(LibraryError, match="The checkpoint of epoch 1 cannot be written") as caught:
        trainer("full", epochs=3)
    assert caught.value.code == "LIBRARY_WRITE"
    assert len(folder.events()) == 1  # ended after the epoch that trained meanwhile
    with pytest.raises(LibraryError, match="The checkpoint of epoch 1 cannot be written"):
        trainer("full", epochs=1)  # the last is waited for


def fresh_of(part):
    """Return a change that puts a part of the state back to what a new training starts with."""

    def change(state):
        config = from_json(
            {
                "data": "digits", "model": "small_cnn", "n_train": 150, "batch_size": 32,
                "epochs": 4, "device": "cpu", **EVERY,
            }
        )  # fmt: skip
        new = assemble(config, load("digits", root=None, split_seed=0), connect(config)).state()
        names = {"momentum": "optimizer", "statistics": "net"}
        key = names.get(part, part)
        if part == "statistics":
            for name, value in (("mean", 0.0), ("var", 1.0)):
                state["net"][f"first.running_{name}"].fill_(value)
        elif part == "net":
            for name in new["net"]:
                state["net"][f"body.{name}"] = new["net"][name]
        elif part == "momentum":
            state["optimizer"]["state"] = {}
        else:
            state[key] = new[key]
        return state

    return change


@pytest.mark.usefixtures("keep_all")
@pytest.mark.parametrize(
    "part",
    [
        "momentum",
        *(
            pytest.param(part, marks=pytest.mark.nightly)
            for part in ("net", "statistics", "loss", "n_batches")
        ),
    ],
)
def test_a_state_without_one_of_its_parts_trains_to_something_else(part, trainer, tmp_path):
    parts, folder, _ = trainer("through", net=Noisy, **EVERY)
    whole = interrupted(folder, tmp_path, "whole", 2)
    resumed, *_ = trainer(whole.path.name, net=Noisy, **EVERY)
    assert same(weights(parts), weights(resumed))
    broken = interrupted(folder, tmp_path, "broken", 2, fresh_of(part))
    other, *_ = trainer(broken.path.name, net=Noisy, **EVERY)
    assert not same(weights(parts), weights(other))


@pytest.mark.usefixtures("keep_all")
def test_the_epoch_of_a_state_decides_where_it_goes_on(trainer, tmp_path):
    _, folder, _ = trainer("through")
    back = interrupted(folder, tmp_path, "back", 2, lambda s: {**s, "epoch": 0})
    _, again, _ = trainer(back.path.name)
    assert [line["epoch"] for line in again.events()] == [0, 1, 2, 3]


@pytest.mark.parametrize("draws", ["torch", "random", "numpy"])
def test_each_generator_is_seeded_anew_for_each_epoch_and_rank(draws):
    from core.training.parts import seed_all

    def drawn(*at):
        seed_all(*at)
        return {
            "torch": lambda: float(torch.rand(())),
            "random": random.random,
            "numpy": np.random.rand,
        }[draws]()

    first = drawn(0, 1, 0)
    assert drawn(0, 1, 0) == first
    assert len({first, drawn(1, 1, 0), drawn(0, 2, 0), drawn(0, 1, 1)}) == 4


def test_order_and_augmentation_are_the_same_on_all_ranks():
    from core.training.parts import seed_all

    one, other = seed_all(3, 5, 0), seed_all(3, 5, 1)
    assert torch.equal(torch.randperm(9, generator=one), torch.randperm(9, generator=other))


@pytest.mark.parametrize(
    ("changes", "what"),
    [({"seed": 1}, "settings"), ({"optimizer": {"lr": 0.1}}, "settings")],
)
def test_a_checkpoint_of_other_settings_is_refused(changes, what, trainer, tmp_path):
    _, folder, _ = trainer("one", seconds=0.0)
    (tmp_path / "two").mkdir()
    (tmp_path / "two" / "spec.json").write_text((folder.path / "spec.json").read_text())
    (tmp_path / "two" / "checkpoint").symlink_to(folder.path / "checkpoint")
    with pytest.raises(Refused, match=f"belongs to other {what}"):
        trainer("two", **changes)


def test_a_checkpoint_of_other_images_or_another_split_is_refused(trainer, digits):
    trainer("one", seconds=0.0)
    with pytest.raises(Refused, match="belongs to other images"):
        trainer("one", data=replace(digits, digest="changed"))
    with pytest.raises(Refused, match="belongs to another split"):
        trainer("one", data=replace(digits, split=load("digits", root=None, split_seed=1).split))


def test_a_checkpoint_of_another_program_is_refused(trainer, monkeypatch):
    trainer("one", seconds=0.0)
    monkeypatch.setattr(parts_module, "VERSION", "0.0.1")
    with pytest.raises(Refused, match="another version of Candor"):
        trainer("one")


def test_damaged_checkpoints_are_said_and_not_trained_over(trainer):
    _, folder, _ = trainer("one", epochs=3)
    for path in (folder.path / "checkpoint").iterdir():
        path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(LibraryError, match="No checkpoint of job one can be read"):
        trainer("one", epochs=3)
    assert len(folder.events()) == 3


def test_history_that_was_lost_is_said(trainer):
    _, folder, _ = trainer("one", seconds=0.0)
    (folder.path / "events.jsonl").unlink()
    with pytest.raises(UsageError, match="has lost events"):
        trainer("one")


def test_an_evaluation_takes_as_many_rows_at_once_as_before_a_resume(digits):
    """Checkpoints that say nothing are of a time when it was always 512."""
    config = from_json({**SMALL, "batch_size": 16})
    parts = assemble(config, digits, connect(config))
    assert parts.at_once == 128
    state = parts.state()
    del state["at_once"]
    parts.restore(state)
    assert parts.at_once == 512
    parts.restore(state | {"at_once": 128})
    assert parts.at_once == 128


def test_a_checkpoint_from_before_fused_steps_leaves_the_optimiser_fused(digits):
    config = from_json(SMALL | {"optimizer": {"name": "adam"}})
    parts = assemble(config, digits, connect(config))
    state = parts.state()
    state["optimizer"]["param_groups"][0]["fused"] = None
    parts.restore(state)
    assert [group["fused"] for group in parts.optimizer.param_groups] == [True]
