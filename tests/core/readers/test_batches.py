"""Batches that a loop collected are one part; two or three pairs of them may be parts as well."""

import json
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch

from core import defaults
from core.errors import Refused
from core.readers.formats.contents import Contents, FileBytes
from core.readers.formats.parse import read_contents
from core.readers.predictions.interpret import read_source
from core.readers.predictions.result import NeedsChoice, ReadOptions
from tests import hostile_cases as made

z, y = made.LOGITS, made.LABELS
p, b = made.PROBABILITIES[:, 0], (made.LABELS == 0).astype(np.int64)
HOSTILE = Path(os.environ.get("CANDOR_SHARED", Path(__file__).parents[3].parent / "shared"))


def cut(array: np.ndarray, size: int) -> list[np.ndarray]:
    return [array[i : i + size] for i in range(0, len(array), size)]


def pairs(size: int, scores: np.ndarray = z, labels: np.ndarray = y) -> list[object]:
    return list(zip(cut(scores, size), cut(labels, size), strict=True))


def mappings(size: int, **arrays: np.ndarray) -> list[object]:
    parts = {name: cut(array, size) for name, array in arrays.items()}
    count = len(next(iter(parts.values())))
    return [{name: part[i] for name, part in parts.items()} for i in range(count)]


def read(value: object) -> Contents:
    return read_contents(FileBytes.of_bytes("a.pkl", pickle.dumps(value)))


def read_json(value: object) -> Contents:
    def plain(node: object) -> object:
        return node.tolist() if isinstance(node, np.ndarray) else node

    text = json.dumps(value, default=plain)
    return read_contents(FileBytes.of_bytes("a.json", text.encode()))


def refusal(value: object) -> Refused:
    with pytest.raises(Refused) as caught:
        read(value)
    return caught.value


def check(entries: object, expected: dict[str, np.ndarray]) -> None:
    assert list(entries) == list(expected)
    for name, array in expected.items():
        np.testing.assert_array_equal(entries[name], array)


def texts(contents: Contents) -> str:
    return " / ".join(notice.text for notice in contents.notices)


JOINED = {
    "pairs": (pairs(15), {"scores": z, "labels": y}, 4),
    "pairs-shorter-last": (pairs(11), {"scores": z, "labels": y}, 6),
    "pairs-binary": (pairs(7, p, b), {"scores": p, "labels": b}, 9),
    "pairs-reversed": (list(zip(cut(y, 7), cut(z, 7), strict=True)), {"labels": y, "scores": z}, 9),
    "pairs-column": (pairs(7, z, y[:, None]), {"scores": z, "labels": y[:, None]}, 9),
    "pairs-of-one": (pairs(1), {"scores": z, "labels": y}, 60),
    "tuple-of-pairs": (tuple(pairs(15)), {"scores": z, "labels": y}, 4),
    "mappings": (mappings(15, logits=z, labels=y), {"logits": z, "labels": y}, 4),
    "mappings-shorter-last": (
        mappings(14, probs=p, labels=b), {"probs": p, "labels": b}, 5,
    ),
    "lists": ({"logits": cut(z, 15), "labels": cut(y, 15)}, {"logits": z, "labels": y}, 4),
    "two-lists": ({"logits": cut(z, 30), "labels": cut(y, 30)}, {"logits": z, "labels": y}, 2),
    "lists-shorter-last": (
        {"logits": cut(z, 16), "labels": cut(y, 16)}, {"logits": z, "labels": y}, 4,
    ),
    "lists-binary": ({"probs": cut(p, 16), "labels": cut(b, 16)}, {"probs": p, "labels": b}, 4),
    "list-and-array": ({"logits": cut(z, 16), "labels": y}, {"logits": z, "labels": y}, 4),
    "list-alone": ({"logits": cut(z, 16)}, {"logits": z}, 4),
    "names": (
        {"logits": cut(z, 16), "ids": cut(np.array(made.IDS), 16)},
        {"logits": z, "ids": np.array(made.IDS, object)}, 4,
    ),
    "part-of-pairs": ({"test": pairs(30)}, {"test.scores": z, "test.labels": y}, 2),
    "part-of-mappings": (
        {"test": mappings(20, logits=z, labels=y)}, {"test.logits": z, "test.labels": y}, 3,
    ),
    "part-of-lists": (
        {"val": {"logits": cut(z, 20), "labels": cut(y, 20)}},
        {"val.logits": z, "val.labels": y}, 3,
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", JOINED)
@pytest.mark.parametrize("reader", [read, read_json])
def test_batches_are_joined_in_order(kind: str, reader: Callable[..., Contents]) -> None:
    value, expected, count = JOINED[kind]
    if reader is read_json and kind in ("pairs-binary", "pairs-of-one", "pairs-column"):
        pytest.skip("lists of equal lengths are a matrix in JSON")
    got = reader(value)
    check(got.entries, expected)
    assert (got.table, got.batches) == (False, None)
    assert f"{count} batches were joined" in texts(got)
    assert {notice.code for notice in got.notices} == {"KEYS_GUESSED"}


@pytest.mark.parametrize("reader", [read, read_json])
@pytest.mark.parametrize(
    ("size", "names"), [(30, ("val", "test")), (20, ("train", "val", "test")), (23, ("train",))]
)
def test_two_or_three_pairs_in_a_list_may_be_parts_or_batches(
    reader: Callable[..., Contents], size: int, names: tuple[str, ...]
) -> None:
    got = reader(pairs(size))
    assert [name.split(".")[0] for name in list(got.entries)[::2]][: len(names)] == list(names)
    np.testing.assert_array_equal(got.entries["test.labels"], cut(y, size)[-1])
    check(got.batches, {"scores": z, "labels": y})


def test_mappings_in_a_list_may_be_parts_too() -> None:
    got = read(mappings(30, logits=z, labels=y))
    assert list(got.entries) == ["val.logits", "val.labels", "test.logits", "test.labels"]
    check(got.batches, {"logits": z, "labels": y})
    ordered = read(tuple(mappings(30, logits=z, labels=y)))
    assert (list(ordered.entries), ordered.batches) == (list(got.entries), None)


@pytest.mark.parametrize(
    "value",
    [
        tuple(pairs(30)),
        tuple(pairs(20)),
        [(z[:20], y[:20]), (z[20:], y[20:])],
        [(z[:20], y[:20]), (z[20:40], y[20:40]), (z[39:], y[39:])],
        [(z[:20], y[:20]), (z[20:40, :3], y[20:40])],
    ],
    ids=["tuple", "tuple-of-three", "longer-last", "three-longer-last", "other-columns"],
)
def test_parts_stay_parts(value: object) -> None:
    got = read(value)
    assert got.batches is None
    assert "test.scores" in got.entries
    assert "batches" not in texts(got)


def test_one_number_a_row_in_equal_batches_may_be_a_matrix() -> None:
    """Lists of five arrays of twelve: 60 rows, or five of twelve labels each."""
    lists = {"probs": cut(p, 12), "labels": cut(b, 12), "names": ["a", "b"]}
    got = read(lists)
    assert got.entries["probs"].shape == (5, 12)
    expected = {"probs": p, "labels": b, "names": np.array(["a", "b"], object)}
    check(got.batches, expected)
    rows = read(mappings(12, probs=p, labels=b))
    assert rows.table
    assert rows.entries["probs"].shape == (5, 12)
    check(rows.batches, {"probs": p, "labels": b})
    numbers = {"probs": np.split(p, 5), "labels": [part.tolist() for part in np.split(b, 5)]}
    assert read(numbers).batches is None


def test_what_is_no_batch_lies_aside() -> None:
    batches = [{**batch, "loss": 0.5} for batch in mappings(15, logits=z, labels=y)]
    got = read(batches)
    check(got.entries, {"logits": z, "labels": y})
    assert "loss" in texts(got)
    layers = read({"logits": z, "labels": y, "layers": [z[:, :2], z[:, :2], z[:, :2]]})
    check(layers.entries, {"logits": z, "labels": y})
    assert "layers" in texts(layers)
    parts = read({"val": [z, np.eye(4)[y]], "test": [z, np.eye(4)[y]]})
    assert list(parts.entries)[:2] == ["val.scores", "val.labels"]


def test_arrays_in_a_list_may_be_batches_without_labels() -> None:
    got = read(cut(z, 16))
    assert list(got.entries) == [f"array {i}" for i in range(4)]
    check(got.batches, {"array": z})
    assert read([z, y, p]).batches is None


@pytest.mark.parametrize(
    ("value", "where"),
    [
        ([*pairs(15), (z[:15, :3], y[:15])], "pair 4"),
        ([*pairs(15), (z[:15], y[:14])], "pair 4"),
        ({"logits": [z[0], z[0, :3]], "labels": y[:2]}, "row 1"),
        ([z[0], z[1, :3], z[2]], "row 1"),
        ([{"tokens": z[0]}, {"tokens": z[0, :3]}], "row 1, field tokens"),
    ],
    ids=["columns", "rows", "ragged", "ragged-list", "ragged-records"],
)
def test_what_cannot_be_joined_is_refused_by_its_place(value: object, where: str) -> None:
    found = refusal(value)
    assert (found.code, found.location) == ("PICKLE_SHAPE", where)


def test_an_array_named_many_times_is_no_larger_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(defaults, "MAX_BYTES", 10 * z.nbytes)
    assert len(read([(z, y)] * 9).entries["scores"]) == 9 * len(z)
    assert refusal([(z, y)] * 11).code == "PICKLE_LIMIT"


def test_control_characters_are_cleaned_in_both_readings() -> None:
    names = np.array([f"r\x1b{i}" for i in range(60)])
    got = read([(z[:30], names[:30]), (z[30:], names[30:])])
    assert got.entries["test.labels"][0] == "r?30"
    assert got.batches["labels"][59] == "r?59"


@pytest.mark.parametrize("dtype", ["float64", "bfloat16"])
def test_a_list_of_torch_batches(tmp_path: Path, dtype: str) -> None:
    torch: ModuleType = pytest.importorskip("torch")
    scores, labels = torch.tensor(z).to(getattr(torch, dtype)), torch.tensor(y)
    torch.save(list(zip(scores.split(20), labels.split(20), strict=True)), tmp_path / "a.pt")
    got = read_contents(FileBytes.of_bytes("a.pt", (tmp_path / "a.pt").read_bytes()))
    check(got.batches, {"scores": scores.double().numpy(), "labels": y})
    assert ("scores" in got.coarse) == ("test.scores" in got.coarse) == (dtype == "bfloat16")
    torch.save({"logits": list(scores.split(7)), "labels": list(labels.split(7))}, tmp_path / "b")
    whole = read_contents(FileBytes.of_bytes("b.pt", (tmp_path / "b").read_bytes()))
    check(whole.entries, {"logits": scores.double().numpy(), "labels": y})


@pytest.mark.skipif(not (HOSTILE / "hostile").exists(), reason="needs the shared folder")
def test_files_of_the_shared_folder() -> None:
    def shared(name: str) -> Contents:
        path = HOSTILE / "hostile" / name
        return read_contents(FileBytes.of_bytes(path.name, path.read_bytes()))

    for count in (2, 3):
        got = shared(f"readings/p_list_batches{count}.pt")
        assert {name: len(array) for name, array in got.batches.items()} == {
            "scores": 120,
            "labels": 120,
        }
    for version in (2, 3, 5):
        assert shared(f"ok_markus93_p{version}.pkl").batches is None


def lightning(form: str) -> tuple[object, bool]:
    """What Lightning's `predict` returns, of one dataloader or two; whether it has labels."""
    dicts = [
        {"logits": torch.tensor(z), "labels": torch.tensor(y)} for z, y in zip(ZS, YS, strict=True)
    ]
    pairs = [(torch.tensor(z), torch.tensor(y)) for z, y in zip(ZS, YS, strict=True)]
    matrices = [torch.tensor(z) for z in ZS]
    alone = {"mappings": dicts, "pairs": pairs, "matrices": matrices}[form.split()[-1]]
    return ([alone, alone[:2]] if form.startswith("two") else [alone]), "matrices" not in form


SIZES = (8, 8, 8, 3)
ROWS = np.random.default_rng(3).normal(size=(sum(SIZES), 3))
TRUTHS = ROWS.argmax(axis=1)
ZS, YS = (np.split(a, np.cumsum(SIZES)[:-1]) for a in (ROWS, TRUTHS))


@pytest.mark.parametrize("how_many", ["one", "two"])
@pytest.mark.parametrize("form", ["mappings", "pairs", "matrices"])
@pytest.mark.parametrize("suffix", ["pt", "pkl"])
def test_batches_of_dataloaders_are_joined_or_asked_for(tmp_path, how_many, form, suffix):
    tree, labelled = lightning(f"{how_many} {form}")
    path, labels = tmp_path / f"predictions.{suffix}", tmp_path / "y.npy"
    if suffix == "pt":
        torch.save(tree, path)
    else:
        path.write_bytes(pickle.dumps(as_numpy(tree)))
    np.save(labels, TRUTHS)
    given = None if labelled else FileBytes.of_bytes("y.npy", labels.read_bytes())
    file = FileBytes.of_bytes(path.name, path.read_bytes())
    choices = ReadOptions()
    if how_many == "two":
        with pytest.raises(NeedsChoice, match="Batches of 2 dataloaders") as caught:
            read_source(file, given, choices)
        first = caught.value.inspection.candidates[0]
        assert (first.option, first.title) == ("--records 0", "dataloader 0: 27 rows")
        with pytest.raises(Refused, match="there are 2 dataloaders"):
            read_source(file, given, ReadOptions(records="2"))
        choices = first.options
    got = read_source(file, given, choices)
    rows = got.splits["test"].predictions()
    np.testing.assert_allclose(rows.scores, ROWS)
    np.testing.assert_array_equal(rows.labels, TRUTHS)
    assert any("4 batches were joined" in notice.text for notice in got.notices)


def as_numpy(node: object) -> object:
    if isinstance(node, dict):
        return {key: as_numpy(value) for key, value in node.items()}
    if isinstance(node, list | tuple):
        return type(node)(as_numpy(item) for item in node)
    assert isinstance(node, torch.Tensor)
    return node.numpy()


def test_batches_of_scores_labels_and_names_are_joined(tmp_path):
    ids = np.split(np.array([f"v{k}" for k in range(sum(SIZES))]), np.cumsum(SIZES)[:-1])
    triples = [(z, y, i.tolist()) for z, y, i in zip(ZS, YS, ids, strict=True)]
    file = FileBytes.of_bytes("x.pkl", pickle.dumps(triples))
    rows = read_source(file, None, ReadOptions()).splits["test"].predictions()
    np.testing.assert_allclose(rows.scores, ROWS)
    np.testing.assert_array_equal(rows.labels, TRUTHS)
