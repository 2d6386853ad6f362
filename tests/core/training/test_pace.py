"""How far a training says it is: by hand on a clock of our own."""

import json
from pathlib import Path
from types import SimpleNamespace

import torch

from core.training import loop
from core.training.config import from_json
from core.training.folder import JobFolder, Progress, read_progress, write_progress

CONFIG = from_json({"data": "digits", "model": "small_cnn", "loss": {"name": "ce"}, "epochs": 10})


def test_what_is_left_counts_from_where_this_process_began(tmp_path: Path, monkeypatch):
    now = [100.0]
    monkeypatch.setattr("core.training.loop.time.monotonic", lambda: now[0])
    device = SimpleNamespace(device=torch.device("cpu"))
    parts = SimpleNamespace(config=CONFIG, rows=range(200), epoch=4, fabric=device)
    folder = JobFolder.make(tmp_path / "job", CONFIG)
    found = loop.TrainingProgress(parts, folder)
    now[0] = 100.5
    found.stepped(1, 4)  # half a second later: not yet said
    assert read_progress(folder.path) is None
    parts.epoch, now[0] = 5, 106.0
    found.stepped(2, 4)  # one epoch and a half in six seconds; four and a half to go
    said = read_progress(folder.path)
    assert said.memory > 2**20
    assert said == Progress(
        epoch=5,
        n_epochs=10,
        batch=2,
        n_batches=4,
        images_per_second=50.0,
        memory=said.memory,
        seconds=6.0,
        left=18.0,
    )
    # it slows down: only the last minute counts
    parts.epoch, now[0] = 6, 110.0
    found.stepped(2, 4)
    parts.epoch, now[0] = 7, 118.0
    found.stepped(2, 4)
    parts.epoch, now[0] = 8, 178.0  # one epoch in the last minute, one and a half to go
    found.stepped(2, 4)
    assert read_progress(folder.path).left == 90.0


def test_values_of_another_type_say_nothing(tmp_path: Path):
    right = Progress(
        epoch=5,
        n_epochs=10,
        batch=2,
        n_batches=4,
        images_per_second=50.0,
        memory=1,
        seconds=6.0,
        left=None,
    )
    write_progress(tmp_path, right)
    assert read_progress(tmp_path) == right
    stored = json.loads((tmp_path / "progress.json").read_text())
    for wrong in ({"epoch": "5"}, {"batch": 1.5}, {"left": "soon"}, {"more": 1}):
        (tmp_path / "progress.json").write_text(json.dumps(stored | wrong))
        assert read_progress(tmp_path) is None


def test_what_was_cut_short_says_nothing(tmp_path: Path):
    for text in ("", "{", "[]", '{"epoch": 1}', '{"epochs": 1}'):
        (tmp_path / "progress.json").write_text(text)
        assert read_progress(tmp_path) is None
