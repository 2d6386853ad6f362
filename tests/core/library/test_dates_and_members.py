"""Dates of the rows and members of an ensemble are kept with a run, exported, and brought back."""

import json
from dataclasses import replace

import numpy as np
import pytest

from core.errors import LibraryError, Refused
from core.library.store import keep_result
from core.predictions import Dates, Members
from core.readers.formats.contents import FileBytes
from core.readers.predictions.interpret import read_source
from core.readers.predictions.result import ReadOptions
from core.readers.sandbox import read as sandbox
from core.studies.posthoc import calibrated_splits
from tests.core.library.builders import SOURCE, small

RNG = np.random.default_rng(5)
N, DAY = 60, 86_400_000_000
SCORES = RNG.dirichlet(np.ones(3), (4, N))  # of four members
LABELS = SCORES.mean(axis=0).argmax(axis=1)
DAYS = [str(np.datetime64("2021-03-01") + 7 * (i // 2)) for i in range(N)]  # two films a week


def table(folder, cells=DAYS, name="study_date", label=LABELS):
    """Write a table of scores with a column more, and return its path."""
    lines = [
        f"f{i}.png,{cell},{','.join(f'{p:.6f}' for p in row)},{k}"
        for i, (cell, row, k) in enumerate(zip(cells, SCORES[0], label, strict=True))
    ]
    path = folder / "scores.csv"
    path.write_text("\n".join([f"image,{name},prob_a,prob_b,prob_c,label", *lines]) + "\n")
    return path


def read(path, labels=None, **choices):
    sources = [FileBytes.of_bytes(p.name, p.read_bytes()) for p in (path, labels) if p]
    return read_source(sources[0], sources[1] if labels else None, ReadOptions.from_json(choices))


def said(result):
    return [notice.text for notice in result.notices if notice.code == "DATED"]


def test_a_run_keeps_its_dates_and_brings_them_back(library, home, tmp_path):
    result = sandbox.read(table(tmp_path))
    assert said(result) == ["dates in study_date (2021-03 to 2021-09) are kept with the run"]
    assert not any("study_date" in n.text for n in result.notices if n.code != "DATED")
    kept = keep_result(library, "a", "scores.csv", result)
    stored = library.load(kept.id, "test")
    assert stored.dates.texts.tolist() == DAYS
    assert stored.digest == result.splits["test"].digest
    library.export(kept.id, tmp_path / "out.npz")
    with np.load(tmp_path / "out.npz") as arrays:
        assert (arrays["test_dates"].tolist(), str(arrays["date_name"])) == (DAYS, "study_date")
    (tmp_path / "back.npz").write_bytes((tmp_path / "out.npz").read_bytes())
    back = sandbox.read(tmp_path / "back.npz")
    assert back.splits["test"].digest == stored.digest
    assert said(back) == said(result)
    path = home / "runs" / kept.id / "manifest.json"
    path.write_text(path.read_text().replace('"study_date"', '""'))
    with pytest.raises(LibraryError, match="differs from what was kept"):
        library.load(kept.id, "test")


def test_a_run_of_schema_6_has_neither_dates_nor_members(library, home):
    kept = library.keep("a", {"test": small()}, source=SOURCE, summary={})
    path = home / "runs" / kept.id / "manifest.json"
    data = json.loads(path.read_text()) | {"schema_version": 6}
    assert [data["splits"]["test"].pop(key) for key in ("dates", "members")] == ["", ""]
    path.write_text(json.dumps(data))
    stored = library.load(kept.id, "test")
    assert (stored.dates, stored.members) == (None, None)
    assert stored.digest == small().digest


def test_a_digest_of_a_version_before_holds_for_rows_with_dates():
    dated = replace(small(), dates=Dates("day", np.arange(7)))
    assert dated.digest != replace(small(), dates=Dates("day", np.arange(1, 8))).digest
    assert dated.digest_as(small().digest) == small().digest != dated.digest
    assert dated.digest_as(dated.digest) == dated.digest
    assert dated.take(np.array([3, 1])).dates.of_row.tolist() == [3, 1]


@pytest.mark.parametrize(
    ("cells", "days"),
    [
        (["2021-03-01", "", "2020-2-29"], ["2021-03-01", "", "2020-02-29"]),
        (["1.3.2021", "4.12.2021"], ["2021-03-01", "2021-12-04"]),
        (["01/03/2021", "13/04/2021"], ["2021-03-01", "2021-04-13"]),
        (["01/03/2021", "04/13/2021"], ["2021-01-03", "2021-04-13"]),
        (["2021-03-01 23:30+01:00", "2021-03-01T23:30:00Z"],
         ["2021-03-01T22:30:00", "2021-03-01T23:30:00"]),
        (["2021-03-01 00:00:00.5", "NaT"], ["2021-03-01T00:00:00.500000", ""]),
    ],
)  # fmt: skip
def test_dates_are_what_they_say(cells, days):
    assert Dates.of("day", cells).texts.tolist() == days


@pytest.mark.parametrize(
    "cells",
    [
        ["01/03/2021", "04/05/2021"],  # of March, or of January
        ["13/03/2021", "04/15/2021"],
        ["2021-02-29"],
        ["2021-03-01", "2021-03"],
        ["2021-03-01T10:00", "2021-03-01T10:00Z"],
        ["", "nan"],
    ],
)
def test_what_may_be_another_day_is_no_date(cells):
    assert Dates.of("day", cells) is None


def test_dates_that_may_be_of_two_days_are_left_out_and_named(tmp_path):
    cells = [f"0{1 + i % 9}/0{1 + i % 3}/2021" for i in range(N)]
    result = read(table(tmp_path, cells))
    assert said(result) == ["dates in study_date are not kept: write every day as 2021-03-31"]
    assert result.splits["test"].predictions().dates is None


def test_days_of_birth_are_not_kept_and_dates_are_no_labels(tmp_path):
    result = read(table(tmp_path, name="patient_birth_date"))
    assert not said(result)
    assert result.splits["test"].predictions().dates is None
    assert read(table(tmp_path, name="diagnosis_date")).splits["test"].predictions().dates


def test_dates_of_a_file_of_labels_follow_its_names(tmp_path):
    path, labels = table(tmp_path), tmp_path / "labels.csv"
    bare = [",".join(np.delete(line.split(","), (1, 5))) for line in path.read_text().splitlines()]
    path.write_text("\n".join(bare) + "\n")
    order = RNG.permutation(N)
    lines = [f"f{i}.png,{LABELS[i]},{DAYS[i]}" for i in order]
    labels.write_text("\n".join(["image,label,day", *lines]) + "\n")
    rows = read(path, labels, id_column="image").splits["test"].predictions()
    assert rows.dates.texts.tolist() == DAYS


def test_rows_without_a_label_take_their_dates_along(tmp_path):
    known = [k if i % 5 else "" for i, k in enumerate(LABELS % 2)]
    lines = [f"{d},{p:.6f},{k}" for d, p, k in zip(DAYS, SCORES[0, :, 0], known, strict=True)]
    path = tmp_path / "finding.csv"
    path.write_text("\n".join(["day,probability,label", *lines]) + "\n")
    rows = read(path, uncertain="leave_out").splits["test"].predictions()
    assert rows.dates.texts.tolist() == [day for i, day in enumerate(DAYS) if i % 5]


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("dtype", [np.float32, pytest.param(np.float64, marks=pytest.mark.nightly)])
def test_a_run_keeps_the_members_of_its_ensemble(library, tmp_path, axis, dtype):
    members = np.moveaxis(SCORES.astype(dtype), 0, axis)
    np.savez(tmp_path / "in.npz", test_probs=members, test_labels=LABELS)
    result = sandbox.read(tmp_path / "in.npz", options=ReadOptions(members="mean"))
    kept = keep_result(library, "a", "in.npz", result)
    stored = library.load(kept.id, "test")
    by_row = SCORES.astype(dtype).transpose(1, 0, 2)
    assert stored.members.of_row.dtype == dtype
    assert np.array_equal(stored.members.of_row, by_row)
    assert np.allclose(stored.scores, by_row.mean(axis=1))
    library.export(kept.id, tmp_path / "out.npz")
    (tmp_path / "back.npz").write_bytes((tmp_path / "out.npz").read_bytes())
    with np.load(tmp_path / "back.npz") as arrays:
        assert np.array_equal(arrays["test_members"], by_row)
        doctored = dict(arrays) | {"test_members": by_row[1:]}
    back = sandbox.read(tmp_path / "back.npz")
    assert back.splits["test"].digest == stored.digest
    assert not any("members" in notice.text for notice in back.notices)
    np.savez(tmp_path / "doctored.npz", **doctored)
    with pytest.raises(Refused, match="test_probs has 59"):
        sandbox.read(tmp_path / "doctored.npz")


def test_members_are_of_these_scores_and_of_all_rows(tmp_path):
    np.savez(tmp_path / "in.npz", test_probs=SCORES, test_labels=LABELS)
    rows = read(tmp_path / "in.npz", members="mean").splits["test"].predictions()
    assert rows.take(np.arange(5)).members is None
    assert read(tmp_path / "in.npz", members="2").splits["test"].predictions().members is None

    class Same:
        def predict_proba(self, logits):
            return np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)

    assert calibrated_splits(Same(), {"test": rows})["test"].members is None


def test_members_count_towards_the_quota(library, monkeypatch):
    seen = []
    monkeypatch.setattr(type(library), "check_room", lambda _, more: seen.append(more))
    rows = small()
    library.keep("a", {"test": rows}, source=SOURCE, summary={})
    more = replace(rows, members=Members("m", np.zeros((7, 5, 3), np.float32)))
    library.keep("b", {"test": more}, source=SOURCE, summary={})
    assert seen[1] - seen[0] == 7 * 5 * 3 * 4
