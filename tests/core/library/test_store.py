"""The library from the outside: what is kept is listed, loads again, and can be undone."""

import errno
import json
import os
import shutil
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from core import codec, defaults
from core.access import user_id
from core.errors import LibraryError, Notice, UsageError
from core.library import Library
from core.library import home as library_home
from core.library.files import describe, write_run
from core.predictions import ScoreKind
from tests.core.library.builders import SOURCE, small


def _code(excinfo: pytest.ExceptionInfo[LibraryError]) -> str:
    return excinfo.value.code


def test_kept_run_is_listed_and_loads_bit_by_bit_in_another_process_s_library(
    library, home, tmp_path
):
    val, test = small(1, n=5), small(2, n=9)
    kept = library.keep(
        "VGG <b>x</b> ünï",
        {"val": val, "test": test},
        source=SOURCE,
        summary={},
        notices=[Notice("SMALL_N", "few rows")],
        tags=["cifar", " seed 0 ", "cifar"],
    )
    other = Library(home, tmp_path / "samples")
    (row,) = other.rows()
    assert (row.id, row.name, row.n, row.n_classes, row.split, row.splits, row.tags) == (
        kept.id,
        "VGG <b>x</b> ünï",
        9,
        3,
        "test",
        ("val", "test"),
        ("cifar", "seed 0"),
    )
    assert (row.owner, row.kind, row.task, row.metrics) == ("local", "upload", "multiclass", None)
    assert other.get(kept.id) == kept
    loaded = other.load(kept.id, "val")
    assert loaded.digest == val.digest
    assert loaded.scores.tobytes() == val.scores.tobytes()
    assert not loaded.scores.flags.writeable


@pytest.mark.parametrize("change", ["columns", "names", "kind"])
def test_splits_that_do_not_go_together_are_not_kept(library, home, change):
    val, test = small(1), small(2)
    other = {
        "columns": replace(test, scores=test.scores[:, :2], labels=test.labels % 2, class_names=()),
        "names": replace(test, class_names=("cat", "dog", "owl")),
        "kind": replace(val, scores=np.full((7, 3), 1 / 3), kind=ScoreKind.PROBABILITIES),
    }[change]
    with pytest.raises(LibraryError) as excinfo:
        library.keep("a", {"val": val, "test": other}, source=SOURCE, summary={})
    assert _code(excinfo) == "CLASSES"
    assert "val is multiclass logits with 3 classes" in excinfo.value.what
    assert not home.exists()


def test_row_shows_the_headline_numbers_of_the_test_part(keep, library):
    keep("a", ece=0.0625)
    (row,) = library.rows()
    assert row.metrics["ece"] == {"value": 0.0625, "low": 0.04, "high": 0.07}
    assert row.metrics["gap"]["gap"] == 0.05
    assert row.metrics["verdict"] == "over_confident"
    assert json.loads(json.dumps(codec.to_json(row)))["metrics"]["floor_q95"] == 0.02


def test_rows_are_searched_in_any_case_in_name_and_tags(keep, library):
    keep("Größe 100%", tags=("chest films",))
    keep("plain_name", tags=("cifar",))
    found = lambda text: [row.name for row in library.rows(search=text)]  # noqa: E731
    assert found("GRÖSSE") == ["Größe 100%"]
    assert found("Films") == ["Größe 100%"]
    assert found("%") == ["Größe 100%"]
    assert found("n_n") == ["plain_name"]
    assert found("nothing") == []


def test_rows_filter_by_tag_and_kind_sort_and_limit(keep, library):
    for name, ece, tags in (("B", 0.3, ("x",)), ("a", None, ("x", "y")), ("c", 0.1, ())):
        keep(name, ece=ece, tags=tags)
    assert {row.name for row in library.rows(tag="x")} == {"a", "B"}
    assert library.rows(tag="x, y") == []
    assert library.rows(kind="sample") == []
    assert [row.name for row in library.rows(sort="name", descending=False)] == ["a", "B", "c"]
    assert [row.name for row in library.rows(sort="ece")] == ["B", "c", "a"]
    assert [row.name for row in library.rows(sort="ece", descending=False)] == ["c", "B", "a"]
    assert [row.name for row in library.rows(sort="name", limit=2)] == ["c", "B"]
    with pytest.raises(UsageError, match=r"Sort is 'id; DROP'.*name, kind"):
        library.rows(sort="id; DROP")


def test_rename_and_tag_change_the_manifest_and_the_list(keep, library):
    run_id = keep("old", tags=("x",))
    assert library.rows()[0].name == "old"
    library.rename(run_id, "new \U0001f9ea")
    library.tag(run_id, ["y", "z"])
    (row,) = library.rows()
    assert (row.name, row.tags) == ("new \U0001f9ea", ("y", "z"))
    assert (library.get(run_id).name, library.get(run_id).tags) == (row.name, row.tags)


@pytest.mark.parametrize("name", ["", "  ", "x" * 301, "\udcff.npz"])
def test_names_that_cannot_be_shown_are_refused(name, keep, library):
    run_id = keep("good")
    with pytest.raises(LibraryError) as excinfo:
        library.rename(run_id, name)
    assert _code(excinfo) == "NAME"
    assert library.get(run_id).name == "good"


@pytest.mark.parametrize("tags", [["ok", " "], ["x" * 61], [str(i) for i in range(31)]])
def test_tags_that_cannot_be_shown_are_refused(tags, keep, library):
    with pytest.raises(LibraryError) as excinfo:
        library.tag(keep("a"), tags)
    assert _code(excinfo) == "TAGS"


def test_deleted_run_leaves_the_list_and_comes_back_whole(keep, library):
    run_id, other = keep("first", seed=3), keep("second")
    before, digest = library.rows(), library.load(run_id, "test").digest
    library.delete(run_id)
    assert [row.id for row in library.rows()] == [other]
    (trashed,) = library.trash()
    assert (trashed.id, trashed.name) == (run_id, "first")
    with pytest.raises(LibraryError) as excinfo:
        library.delete(run_id)
    assert _code(excinfo) == "RUN_UNKNOWN"
    library.restore(run_id)
    assert library.rows() == before
    assert library.trash() == []
    assert library.load(run_id, "test").digest == digest
    with pytest.raises(LibraryError) as excinfo:
        library.restore(run_id)
    assert _code(excinfo) == "RUN_UNKNOWN"


@pytest.mark.parametrize(
    "act",
    [
        lambda library, run: library.rename(run, "b"),
        lambda library, run: library.tag(run, ["b"]),
        lambda library, run: library.share(run, user_id("https://a.example", "b")),
        lambda library, run: library.delete(run),
        lambda library, run: library.get(run),
        lambda library, run: library.load(run, "test"),
        lambda library, run: library.history(run),
    ],
)
def test_what_is_deleted_in_that_moment_is_unknown_and_not_damaged(act, keep, library, home):
    run_id, folder, other = keep("a"), library.folder, Library(home, home / "none")

    def checked(asked):
        path = folder(asked)
        other.delete(asked)
        return path

    library.folder = checked
    with pytest.raises(LibraryError) as excinfo:
        act(library, run_id)
    assert _code(excinfo) == "RUN_UNKNOWN"
    assert [trashed.id for trashed in library.trash()] == [run_id]


def test_purge_removes_only_what_was_deleted_long_ago(keep, library, home):
    old, new = keep("old"), keep("new")
    library.delete(old)
    library.delete(new)
    (path,) = (home / "trash").glob(f"{old}@*")
    path.rename(home / "trash" / f"{old}@20200101T000000Z")
    assert defaults.TRASH_DAYS == 30
    assert library.purge() == 1
    assert [trashed.id for trashed in library.trash()] == [new]


def test_trash_is_swept_when_something_is_deleted_and_lists_the_last_deleted_first(
    keep, library, home
):
    ids = [keep(name) for name in "abcd"]
    today = datetime.now(UTC)
    for run_id in ids[:3]:
        library.delete(run_id)
    for run_id, days in zip(ids[:3], (31, 2, 5), strict=True):
        (path,) = (home / "trash").glob(f"{run_id}@*")
        when = (today - timedelta(days=days)).strftime("%Y%m%dT%H%M%SZ")
        path.rename(home / "trash" / f"{run_id}@{when}")
    assert [trashed.name for trashed in library.trash()] == ["b", "c", "a"]
    library.delete(ids[3])
    assert [trashed.name for trashed in library.trash()] == ["d", "b", "c"]


def test_a_run_is_deleted_though_what_is_old_cannot_be_removed(keep, library, home, monkeypatch):
    old, older, new, last = (keep(name) for name in "abcd")
    for run_id, when in ((old, "20200102T000000Z"), (older, "20200101T000000Z")):
        library.delete(run_id)
        (path,) = (home / "trash").glob(f"{run_id}@*")
        path.rename(home / "trash" / f"{run_id}@{when}")
    stuck, half = home / "trash" / f"{older}@20200101T000000Z", home / "runs" / ".half.part"
    half.touch()
    os.utime(half, (0, 0))
    rename, unlink = Path.rename, Path.unlink

    def unless(refused, act):
        def changed(path, *rest, **options):
            if path == refused:
                raise PermissionError(errno.EACCES, "Permission denied", str(path))
            return act(path, *rest, **options)

        return changed

    monkeypatch.setattr(Path, "rename", unless(stuck, rename))
    monkeypatch.setattr(Path, "unlink", unless(half, unlink))
    library.delete(new)
    assert [trashed.id for trashed in library.trash()] == [new, older]
    monkeypatch.setattr(library, "rebuild_index", _refuse)
    (home / "runs" / ".x.gone.part").mkdir()
    library.delete(last)
    assert {trashed.id for trashed in library.trash()} == {new, last, older}


def _refuse():
    raise LibraryError("LIBRARY_WRITE", "x", "y")


def test_trash_lists_a_damaged_run_and_skips_what_is_none(keep, library, home):
    run_id = keep("a")
    (home / "runs" / run_id / "manifest.json").write_text("{")
    library.delete(run_id)
    (home / "trash" / "x@yesterday").mkdir()
    assert [(trashed.id, trashed.name) for trashed in library.trash()] == [(run_id, "(damaged)")]


def test_of_two_deleted_runs_of_one_id_the_last_comes_back(keep, library, home):
    run_id = keep("the last")
    library.delete(run_id)
    (home / "trash" / f"{run_id}@20200101T000000Z").mkdir()
    library.restore(run_id)
    assert library.get(run_id).name == "the last"


def test_a_damaged_run_is_deleted_and_comes_back_as_it_was(keep, library, home):
    run_id = keep("a")
    (home / "runs" / run_id / "manifest.json").write_text("{")
    library.delete(run_id)
    assert library.damaged() == []
    library.restore(run_id)
    assert [(one.id, one.own) for one in library.damaged()] == [(run_id, True)]


def test_a_damaged_sample_and_a_folder_that_no_run_is_called_cannot_be_deleted(library, home, keep):
    keep("a")
    (home / "runs" / "My Folder").mkdir()
    (library.samples / "broken").mkdir(parents=True)
    assert {one.id: one.own for one in library.damaged()} == {"My Folder": False, "broken": False}


@pytest.mark.parametrize(
    "run_id", ["..", "../x", "a/b", "", ".x.part", "A", "x\x00", "a" * 41, "-a", "ä", "a\n", "a\\b"]
)
@pytest.mark.parametrize("act", ["get", "delete", "restore", "files"])
def test_ids_that_could_leave_the_folder_are_refused(act, run_id, keep, library, home):
    keep("a")
    (home / "x").mkdir()
    with pytest.raises(LibraryError) as excinfo:
        getattr(library, act)(run_id)
    assert _code(excinfo) == "RUN_UNKNOWN"
    assert (home / "x").is_dir()


@pytest.mark.parametrize("split", ["../../x", "a/b", "", "ünï", "x" * 61])
def test_split_names_that_could_leave_the_folder_are_refused(split, library, home):
    with pytest.raises(LibraryError) as excinfo:
        library.keep("a", {split: small()}, source=SOURCE, summary={})
    assert _code(excinfo) == "SPLIT_NAME"
    assert not home.exists()


def test_unknown_split_names_those_there_are(keep, library):
    with pytest.raises(LibraryError, match=r"'val'.*pick one of test"):
        library.load(keep("a"), "val")


def _add_sample(samples: Path) -> None:
    manifest = describe("Digits", {"test": small()}, source=SOURCE, summary={})
    write_run(samples, replace(manifest, id="digits", kind="sample"), {"test": small()})


def test_samples_are_listed_and_load_but_cannot_be_changed(library, tmp_path, keep):
    _add_sample(tmp_path / "samples")
    before = {p: p.stat().st_mtime_ns for p in (tmp_path / "samples").rglob("*")}
    own = keep("own")
    assert {row.id for row in library.rows()} == {"digits", own}
    assert [row.id for row in library.rows(kind="sample")] == ["digits"]
    assert library.load("digits", "test").digest == small().digest
    for act in (
        lambda: library.rename("digits", "x"),
        lambda: library.tag("digits", ["x"]),
        lambda: library.delete("digits"),
    ):
        with pytest.raises(LibraryError) as excinfo:
            act()
        assert _code(excinfo) == "SAMPLE"
    assert {p: p.stat().st_mtime_ns for p in (tmp_path / "samples").rglob("*")} == before


def test_a_run_cannot_take_the_place_of_a_sample(keep, library, home, tmp_path):
    _add_sample(tmp_path / "samples")
    run_id = keep("false", seed=5)
    write_run(home / "runs", replace(library.get(run_id), id="digits"), {"test": small(5)})
    assert library.get("digits").name == "Digits"
    assert [row.name for row in library.rows(kind="sample")] == ["Digits"]
    assert {row.id for row in library.rows()} == {"digits", run_id}


def test_listing_alone_makes_no_folder(library, home, tmp_path):
    _add_sample(tmp_path / "samples")
    assert [row.id for row in library.rows()] == ["digits"]
    assert library.trash() == []
    assert not home.exists()


def test_files_are_where_the_arrays_are(keep, library, home):
    run_id = keep("a")
    expected = home / "runs" / run_id / "predictions" / "test.safetensors"
    assert library.files(run_id) == {"test": str(expected.resolve())}
    assert expected.is_file()


def test_home_is_candor_home_or_below_the_user(monkeypatch, tmp_path):
    monkeypatch.setenv("CANDOR_HOME", str(tmp_path / "x"))
    assert library_home() == tmp_path / "x"
    monkeypatch.setenv("CANDOR_HOME", "")
    assert library_home() == Path.home() / ".candor"


def test_what_is_kept_is_private_to_the_user(keep, home):
    run_id = keep("a")
    modes = {p.name: p.stat().st_mode & 0o077 for p in (home, home / "runs" / run_id)}
    assert modes == {"home": 0, run_id: 0}


def test_run_that_another_process_removed_leaves_the_list(keep, library, home):
    run_id, other = keep("a"), keep("b")
    assert len(library.rows()) == 2
    shutil.rmtree(home / "runs" / run_id)
    assert [row.id for row in library.rows()] == [other]
