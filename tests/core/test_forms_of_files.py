"""The same logits and labels have the same numbers, whatever kind of file they come in."""

import io
import json
from contextlib import redirect_stdout
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from safetensors.numpy import save_file
from scipy.special import softmax

from core import arrays
from core.__main__ import main
from core.arrays import file_map_of
from core.readers.sandbox import read as sandbox
from core.readers.sandbox import wire
from core.readers.sandbox.readers import PREDICTIONS
from tests.reading import read_here

N, K = 3_000, 8
CUTS = (0, 700, 1_900, 1_901, N)
RNG = np.random.default_rng(5)
Z = (RNG.normal(size=(N, K)) * 3).astype(np.float32)
Y = (Z / 2 + RNG.gumbel(size=Z.shape)).argmax(axis=1)
VERBS = {
    "audit": ("--resamples", "50"),
    "calibrate": ("--methods", "ts,focal_ts", "--fit", "cut"),
}
# What is of the file and not of its numbers, and how long something took.
ASIDE = {"file", "digest", "notices", "fit_seconds"}


def npy(folder):
    np.save(path := folder / "z.npy", Z)
    np.save(folder / "y.npy", Y)
    return path, "--labels", folder / "y.npy"


def npz(folder):
    np.savez(path := folder / "stored.npz", logits=Z, labels=Y)
    return (path,)


def packed(folder):
    np.savez_compressed(path := folder / "packed.npz", logits=Z, labels=Y)
    return (path,)


def safetensors(folder):
    save_file({"labels": Y, "logits": Z}, path := folder / "run.safetensors")
    return (path,)


def pieces():
    """Rows of each shard, by its number."""
    return enumerate(pairwise(CUTS))


def npy_shards(folder):
    (path := folder / "shards").mkdir()
    for i, (start, end) in pieces():
        np.save(path / f"logits-{i}.npy", Z[start:end])
        np.save(path / f"labels-{i}.npy", Y[start:end])
    return (path,)


def parquet_shards(folder):
    (path := folder / "tables").mkdir()
    for i, (start, end) in pieces():
        columns = {f"logit_{k}": Z[start:end, k] for k in range(K)} | {"label": Y[start:end]}
        pq.write_table(pa.table(columns), path / f"part-{i}.parquet")
    return (path,)


FORMS = (npy, npz, packed, safetensors, npy_shards, parquet_shards)
# Of one form each command, of the others the audit: what calibrates is handed the same rows.
CASES = [
    pytest.param(
        *(form, verb),
        marks=() if verb == "audit" or form is npy_shards else pytest.mark.nightly,
        id=f"{form.__name__}-{verb}",
    )
    for form in FORMS
    for verb in VERBS
]


def numbers(verb, folder, form):
    """Return every number and word that a command prints of a file of that form, by its key."""
    words = (verb, *form(folder), "--scores", "logits", *VERBS[verb], "--json", "-")
    with redirect_stdout(io.StringIO()) as out:
        assert main([str(word) for word in words]) == 0
    return leaves(json.loads(out.getvalue()))


def leaves(item, way=""):
    if not isinstance(item, dict | list):
        return {way: item}
    pairs = item.items() if isinstance(item, dict) else enumerate(item)
    kept = [(key, value) for key, value in pairs if key not in ASIDE]
    return {at: leaf for key, value in kept for at, leaf in leaves(value, f"{way}/{key}").items()}


@pytest.fixture(scope="module")
def of_one_file(tmp_path_factory):
    """What each command says of a file that is read into memory."""
    return {verb: numbers(verb, tmp_path_factory.mktemp(verb), npz) for verb in VERBS}


def check(found, expected):
    assert found.keys() == expected.keys()
    assert sum(isinstance(value, float) for value in expected.values()) > 100
    for key, value in expected.items():
        if isinstance(value, float):
            assert found[key] == pytest.approx(value, rel=1e-10, abs=1e-10), key
        else:
            assert found[key] == value, key


def test_the_one_file_has_the_numbers_of_its_arrays(of_one_file):
    found = of_one_file["audit"]
    p = softmax(Z.astype(np.float64), axis=1)
    assert found["/n"] == N
    assert found["/metrics/accuracy/value"] == pytest.approx((p.argmax(axis=1) == Y).mean())
    assert found["/metrics/nll/value"] == pytest.approx(-np.log(p[range(N), Y]).mean())
    # labels are drawn from softmax(z / 2)
    assert of_one_file["calibrate"]["/methods/ts/parameters/temperature"] == pytest.approx(2, 0.1)


@pytest.mark.parametrize(("form", "verb"), [case for case in CASES if case.values[0] is not npz])
def test_every_form_has_the_numbers_of_the_one_file(tmp_path, of_one_file, form, verb):
    check(numbers(verb, tmp_path, form), of_one_file[verb])


@pytest.fixture
def mapped(monkeypatch):
    """Treat scores as too large for memory; return those of each file that is read."""

    def read(job, *given):
        """In this process, which knows of the changed limit."""
        assert job["in_place"]
        read_here(job, *given)

    for module in (arrays, wire):
        monkeypatch.setattr(module, "MAPPED_BYTES", Z.nbytes // 2)  # calibrate cuts them in two
    monkeypatch.setattr(sandbox, "run", read)
    seen, load = [], wire.load_predictions

    def loaded(exchange):
        result = load(exchange)
        seen.extend(split.scores for split in result.splits.values())
        return result

    monkeypatch.setattr(sandbox, "PREDICTIONS", replace(PREDICTIONS, load=loaded))
    return seen


@pytest.mark.parametrize(("form", "verb"), CASES)
def test_what_stays_in_its_file_has_the_numbers_of_the_one_in_memory(
    tmp_path, of_one_file, mapped, form, verb
):
    check(numbers(verb, tmp_path, form), of_one_file[verb])
    (scores,) = mapped
    assert file_map_of(scores)
