"""Large scores stay in the file they came from: not copied, and no place taken on trust."""

import json
import os
from dataclasses import replace

import numpy as np
import pytest
from safetensors.numpy import save_file

from core import arrays
from core.__main__ import main
from core.commands import ood
from core.errors import LostWorker, Refused
from core.predictions import ScoreKind
from core.readers.formats.contents import FileBytes
from core.readers.predictions.interpret import read_source
from core.readers.predictions.result import ReadOptions
from core.readers.sandbox import read as sandbox
from core.readers.sandbox import wire

N, K = 300, 7


@pytest.fixture
def scores(monkeypatch):
    for module in (arrays, wire):
        monkeypatch.setattr(module, "MAPPED_BYTES", N * K * 4)
    return np.random.default_rng(0).standard_normal((N, K)).astype(np.float32) * 3


def labels_of(scores):
    return (scores + np.random.default_rng(1).standard_normal(scores.shape)).argmax(axis=1)


def save_npy(path, scores, labels):
    np.save(path, scores)


def save_npz(path, scores, labels):
    np.savez(path, logits=scores, labels=labels)


def save_packed(path, scores, labels):
    np.savez_compressed(path, logits=scores, labels=labels)


def save_tensors(path, scores, labels):
    save_file({"logits": np.ascontiguousarray(scores), "labels": labels}, path)


def crossed(path, folder, labels, in_place=True):
    """Let a reading cross from child to parent; return its sources and what arrived."""
    folder.mkdir()
    names = {"file": path}
    if path.suffix == ".npy":
        names["labels"] = path.with_name("labels.npy")
        np.save(names["labels"], labels)
    sources = {role: FileBytes.of_file(p.name, p.open("rb")) for role, p in names.items()}
    exchange = wire.Exchange(folder, sources if in_place else wire.NOTHING)
    read = read_source(sources["file"], sources.get("labels"), ReadOptions(scores=ScoreKind.LOGITS))
    wire.write_predictions(exchange, read)
    for source in sources.values():
        source.file.close()
    fresh = {role: FileBytes.of_file(p.name, p.open("rb")) for role, p in names.items()}
    arrived = wire.load_predictions(exchange._replace(inputs=fresh))
    (predictions,) = arrived.splits.values()
    for source in fresh.values():
        source.file.close()
    return fresh["file"], predictions


@pytest.mark.parametrize(
    ("suffix", "save"), [("npy", save_npy), ("npz", save_npz), ("safetensors", save_tensors)]
)
def test_scores_that_lie_in_the_file_are_mapped_and_not_copied(tmp_path, scores, suffix, save):
    path, labels = tmp_path / f"run.{suffix}", labels_of(scores)
    save(path, scores, labels)
    source, predictions = crossed(path, tmp_path / "left", labels)
    assert np.shares_memory(predictions.scores, np.frombuffer(source.data, np.uint8))
    assert not list((tmp_path / "left").glob("*.scores.npy"))
    np.testing.assert_array_equal(predictions.scores, scores)
    np.testing.assert_array_equal(predictions.labels, labels)
    assert predictions.rows.correct.mean() > 0.5  # an unaligned matrix can be read by every loop


def test_scores_are_read_wherever_they_begin(tmp_path, scores):
    expected = None
    for k in range(4):  # a longer name of a member moves the next one by a byte
        path, labels = tmp_path / f"{k}.npz", labels_of(scores)
        np.savez(path, **{"labels" + k * "_": labels, "logits": scores})
        source, predictions = crossed(path, tmp_path / f"left{k}", labels)
        assert np.shares_memory(predictions.scores, np.frombuffer(source.data, np.uint8))
        expected = predictions.rows if expected is None else expected
        np.testing.assert_array_equal(predictions.rows.brier, expected.brier)


def test_a_stored_member_is_held_against_its_checksum(tmp_path, scores):
    path = tmp_path / "run.npz"
    save_npz(path, scores, labels_of(scores))
    data = bytearray(path.read_bytes())
    data[data.index(scores.tobytes()) + 5] ^= 1
    path.write_bytes(data)
    with path.open("rb") as file, pytest.raises(Refused) as caught:
        read_source(FileBytes.of_file("run.npz", file), None, ReadOptions())
    assert caught.value.code == "ARCHIVE_SIZE"


@pytest.mark.parametrize("in_place", [True, False])
@pytest.mark.parametrize(
    ("suffix", "save", "turn"),
    [("npz", save_packed, np.ascontiguousarray), ("npy", save_npy, np.asfortranarray)],
)
def test_other_scores_are_written_row_after_row(tmp_path, scores, suffix, save, turn, in_place):
    path, labels = tmp_path / f"run.{suffix}", labels_of(scores)
    save(path, turn(scores), labels)
    _, predictions = crossed(path, tmp_path / "left", labels, in_place)
    (left,) = (tmp_path / "left").glob("*.scores.npy")
    assert not np.load(left, mmap_mode="r").flags.f_contiguous
    np.testing.assert_array_equal(predictions.scores, scores)


def test_a_file_that_others_may_change_is_copied(tmp_path, scores):
    path, labels = tmp_path / "run.npz", labels_of(scores)
    save_npz(path, scores, labels)
    source, predictions = crossed(path, tmp_path / "left", labels, in_place=False)
    assert not np.shares_memory(predictions.scores, np.frombuffer(source.data, np.uint8))
    (left,) = (tmp_path / "left").glob("*.scores.npy")
    left.unlink()
    np.testing.assert_array_equal(predictions.scores, scores)


@pytest.mark.parametrize(
    "change",
    [
        {"input": "another"},
        {"at": -8},
        {"at": 10**9},
        {"shape": [N + 1000, K]},
        {"shape": [-N, -K]},
        {"shape": [N * K]},
        {"dtype": "<i4"},
        {"dtype": "O"},
        {"dtype": None},
        {"at": "8"},
        {"at": 2**70},
        {"shape": [2**62, 4]},
        {"shape": [N, K - 1]},
    ],
)
def test_a_place_that_is_none_is_refused(tmp_path, scores, change):
    path, labels = tmp_path / "run.npz", labels_of(scores)
    save_npz(path, scores, labels)
    crossed(path, tmp_path / "left", labels)
    left = tmp_path / "left" / wire.RESULT
    data = json.loads(left.read_text())
    (split,) = data["splits"].values()
    split["scores"] |= change
    left.write_text(json.dumps(data))
    with path.open("rb") as file:
        exchange = wire.Exchange(tmp_path / "left", {"file": FileBytes.of_file("run.npz", file)})
        with pytest.raises((LostWorker, Refused)):
            wire.load_predictions(exchange)


@pytest.mark.parametrize(
    ("command", "step"),
    [
        ("audit", "core.metrics.suite.audit"),
        ("calibrate", "core.studies.posthoc.judge"),
        ("compare", "core.metrics.comparison.compared"),
        ("ood", "core.studies.ood.judge"),
    ],
)
def test_a_file_that_is_written_to_under_a_command_is_refused(
    tmp_path, scores, monkeypatch, capsys, command, step
):
    path, labels = tmp_path / "run.npz", labels_of(scores)
    save_npz(path, scores, labels)
    read = sandbox.read(path)
    _, predictions = crossed(path, tmp_path / "left", labels)
    in_place = replace(read, splits={"test": predictions})
    for function in ("core.__main__.read", "core.commands.calibrate.read"):
        monkeypatch.setattr(function, lambda *_: in_place)
    other, read_set = tmp_path / "other.npz", ood._read
    save_npz(other, -scores, labels)
    monkeypatch.setattr(
        ood, "_read", lambda file, *given: in_place if file == path else read_set(file, *given)
    )
    module, _, name = step.rpartition(".")
    compute = getattr(__import__(module, fromlist=[name]), name)
    options = {
        "audit": (path, "--resamples", "20"),
        "calibrate": (path, "--fit", "cut", "--methods", "ts"),
        "compare": (path, path),
        "ood": ("--in", path, "--out", f"other={other}"),
    }
    line = [command, *map(str, options[command])]
    assert main(line) == 0

    def meanwhile(*given, **named):
        os.utime(path, ns=(0, 0))
        return compute(*given, **named)

    monkeypatch.setattr(step, meanwhile)
    capsys.readouterr()
    assert main(line) == 2
    assert capsys.readouterr().err.startswith("CHANGED: run.npz was written to while it was read;")


def test_files_that_are_filled_here_do_not_count_as_written_to(scores):
    own = arrays.empty(scores.shape, scores.dtype)
    assert arrays.file_map_of(own) is not None
    own[:] = scores
    arrays.file_map_of(own).flush()
    assert not arrays.was_written_to(own)
