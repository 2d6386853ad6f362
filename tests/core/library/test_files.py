"""Run folders: every kind of predictions comes back bit by bit; damage is told, never a crash."""

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.disk import PART
from core.errors import LibraryError
from core.library import Library
from core.library.backup import backup, restore
from core.library.files import MANIFEST, describe, entry_of, read_predictions, write_predictions
from core.predictions import Predictions, ScoreKind, Task
from tests.core.library.builders import SOURCE, small

ROOT = Path(__file__).parents[3]
FLOATS = st.sampled_from([np.float16, np.float32, np.float64])


@st.composite
def predictions(draw: st.DrawFn) -> Predictions:
    task = draw(st.sampled_from(Task))
    n, k = draw(st.integers(1, 5)), draw(st.integers(2, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    flat = task is Task.TOP_LABEL or (task is Task.BINARY and draw(st.booleans()))
    k = 2 if task is Task.BINARY else k
    scores = rng.random(n if flat else (n, k)).astype(draw(FLOATS))
    labels = rng.integers(0, 2, (n, k)) if task is Task.MULTILABEL else rng.integers(0, k, n)
    ids = draw(st.lists(st.text(st.characters(), max_size=6), min_size=n, max_size=n))
    return Predictions(
        task,
        draw(st.sampled_from(ScoreKind)),
        scores,
        labels,
        class_names=tuple(f"{i} ünï\n" for i in range(k)),
        predicted=rng.integers(0, k, n) if task is Task.TOP_LABEL else None,
        row_ids=tuple(ids) if draw(st.booleans()) else (),
        renormalise=draw(st.booleans()),
    )


def _same(a: Predictions, b: Predictions) -> bool:
    arrays = [(a.scores, b.scores), (a.labels, b.labels)]
    if a.predicted is not None:
        arrays.append((a.predicted, b.predicted))
    plain = [(x.task, x.kind, x.class_names, x.row_ids, x.renormalise, x.digest) for x in (a, b)]
    return plain[0] == plain[1] and all(
        x.dtype == y.dtype and x.shape == y.shape and x.tobytes() == y.tobytes() for x, y in arrays
    )


@settings(
    max_examples=60,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(given_predictions=predictions())
def test_every_kind_of_predictions_comes_back_bit_by_bit(given_predictions, tmp_path):
    (tmp_path / "predictions").mkdir(exist_ok=True)
    manifest = describe("a", {"val": given_predictions}, source=SOURCE, summary={})
    write_predictions(tmp_path / manifest.splits["val"].file, given_predictions)
    assert _same(read_predictions(tmp_path, manifest, "val"), given_predictions)


def test_row_ids_that_are_no_valid_text_come_back(library):
    odd = replace(small(n=2), row_ids=("\udcff.png", "\x00"))
    kept = library.keep("a", {"test": odd}, source=SOURCE, summary={})
    assert library.load(kept.id, "test").row_ids == ("\udcff.png", "\x00")


def test_who_reads_a_manifest_while_it_changes_sees_the_old_one_whole(keep, library, home):
    run_id = keep("old")
    with (home / "runs" / run_id / "manifest.json").open() as reading:
        library.rename(run_id, "new")
        assert json.load(reading)["name"] == "old"


def test_scores_in_foreign_byte_order_keep_their_values(library):
    scores = np.array([[0.25, 0.75], [1.0, 0.0]], dtype=">f4")
    foreign = Predictions(Task.MULTICLASS, ScoreKind.PROBABILITIES, scores, np.array([1, 0]))
    kept = library.keep("a", {"test": foreign}, source=SOURCE, summary={})
    loaded = library.load(kept.id, "test")
    assert loaded.scores.dtype == np.float32
    assert loaded.scores.tolist() == [[0.25, 0.75], [1.0, 0.0]]


def _flip_byte(path: Path, offset: int) -> None:
    data = bytearray(path.read_bytes())
    data[offset] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize("offset", [-1, -60, -120, -200])
def test_one_flipped_bit_in_any_array_is_noticed(offset, keep, library):
    run_id = keep("a")
    _flip_byte(Path(library.files(run_id)["test"]), offset)
    with pytest.raises(LibraryError) as excinfo:
        library.load(run_id, "test")
    assert excinfo.value.code == "DAMAGED"


@pytest.mark.parametrize("size", [0, 4, 40, 300])
def test_predictions_cut_short_are_noticed(size, keep, library):
    run_id = keep("a")
    os.truncate(library.files(run_id)["test"], size)
    with pytest.raises(LibraryError) as excinfo:
        library.load(run_id, "test")
    assert excinfo.value.code == "DAMAGED"
    assert str(library.home) not in str(excinfo.value)


DAMAGES = {
    "no manifest": lambda run: (run / "manifest.json").unlink(),
    "empty manifest": lambda run: (run / "manifest.json").write_text(""),
    "binary manifest": lambda run: (run / "manifest.json").write_bytes(b"\xff\xfe\x00"),
    "deep manifest": lambda run: (run / "manifest.json").write_text("[" * 100_000),
    "manifest is a folder": lambda run: (
        (run / "manifest.json").unlink(),
        (run / "manifest.json").mkdir(),
    ),
    "no arrays": lambda run: (run / "predictions" / "test.safetensors").unlink(),
    "another run's": lambda run: run.rename(run.with_name("elsewhere")),
    "newer": lambda run: _edit(run, schema_version=99),
    "repeated key": lambda run: (run / "manifest.json").write_text('{"id": "a", "id": "b"}'),
    "extra key": lambda run: _edit(run, extra=1),
    "outside": lambda run: _edit(run, splits={"test": {"file": "../../x"}}),
}


def _edit(run: Path, **changes: object) -> None:
    path = run / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_run_is_reported_and_the_others_are_listed(damage, keep, library, home):
    run_id, other = keep("bad"), keep("good")
    DAMAGES[damage](home / "runs" / run_id)
    assert [row.id for row in library.rows()] == [other]
    (found,) = library.damaged()
    assert found.id == ("elsewhere" if damage == "another run's" else run_id)
    assert found.what.startswith(f"Run {found.id} is damaged: ")
    assert found.name == ("bad" if damage in {"no arrays", "another run's"} else "")
    with pytest.raises(LibraryError):
        library.get(found.id)
    library.delete(found.id)
    assert library.damaged() == []


def test_arrays_that_go_after_the_list_was_made_are_noticed(keep, library, home):
    run_id = keep("a")
    assert [row.id for row in library.rows()] == [run_id]
    arrays = home / "runs" / run_id / "predictions" / "test.safetensors"
    arrays.rename(home / "away")
    assert library.rows() == []
    assert library.damaged()[0].what.endswith("predictions/test.safetensors is missing")
    (home / "away").rename(arrays)
    assert [row.id for row in library.rows()] == [run_id]


def test_a_run_that_is_mended_is_listed_again(keep, library, home):
    run_id = keep("a")
    path = home / "runs" / run_id / "manifest.json"
    text = path.read_text()
    path.write_text("{")
    assert library.rows() == []
    path.write_text(text)
    assert [row.id for row in library.rows()] == [run_id]
    assert library.damaged() == []


KEEPER = """
import sys
from pathlib import Path
from core.library import Library
from tests.core.library.builders import SOURCE, small
library = Library(Path(sys.argv[1]), Path("none"))
for seed in range(int(sys.argv[2]), int(sys.argv[3])):
    library.keep(f"run {seed}", {"test": small(seed, n=2000)}, source=SOURCE, summary={})
    library.rows()
    print(seed, flush=True)
"""


def _keeper(home: Path, first: int, last: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", KEEPER, str(home), str(first), str(last)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.mark.slow
def test_killed_while_keeping_leaves_whole_runs_only(home, library):
    acknowledged = []
    for round_ in range(6):
        child = _keeper(home, 1000 * round_, 1000 * (round_ + 1))
        acknowledged.append(int(child.stdout.readline()))
        time.sleep(0.0013 * round_)  # another moment of the next one each time
        child.send_signal(signal.SIGKILL)
        acknowledged += [int(line) for line in child.communicate()[0].split()]
    rows = library.rows()
    names = [row.name for row in rows]
    assert {f"run {seed}" for seed in acknowledged} <= set(names)
    assert len(set(names)) == len(names) <= len(acknowledged) + 6
    assert library.damaged() == []
    for row in rows:
        seed = int(row.name.split()[1])
        assert library.load(row.id, "test").digest == small(seed, n=2000).digest


KILLED = """
import sys
from pathlib import Path
from core.library import Library
from core.library.backup import backup

home, act = Path(sys.argv[1]), sys.argv[2]
library = Library(home, home / "none")
print("ready", flush=True)
for turn in range(10**6):
    for row in library.rows():
        if act == "change":
            library.rename(row.id, f"turn {turn}")
            library.tag(row.id, [f"turn {turn}"])
        elif act == "delete":
            library.delete(row.id)
            library.restore(row.id)
    if act == "backup":
        backup(home, home.parent / f"{turn}.tar")
        (home.parent / f"{turn}.tar").unlink()
"""


@pytest.mark.soak
@pytest.mark.parametrize("act", ["change", "delete", "backup"])
def test_rounds_of_kill_show_nothing_by_half(act, library, home, tmp_path):
    splits = {"test": small(n=20_000)}
    runs = [library.keep("run", splits, source=SOURCE, summary={}).id for _ in range(3)]
    rng = np.random.default_rng(46)
    for _ in range(30):
        script = [sys.executable, "-c", KILLED, home, act]
        with subprocess.Popen(script, cwd=ROOT, stdout=subprocess.PIPE) as child:
            child.stdout.readline()
            time.sleep(rng.uniform(0, 0.3))
            child.kill()
        listed, trashed = [row.id for row in library.rows()], [run.id for run in library.trash()]
        assert sorted(listed + trashed) == sorted(runs)
        assert library.damaged() == []
        for run in trashed:
            library.restore(run)
        assert all(library.load(run, "test").n == 20_000 for run in runs)
        for whole in home.parent.glob("*.tar"):
            restore(whole, tmp_path / "again")
            assert len(Library(tmp_path / "again", tmp_path).rows()) == len(runs)
            shutil.rmtree(tmp_path / "again")
            whole.unlink()
    backup(home, tmp_path / "last.tar")
    assert not [*home.glob(f".*{PART}"), *tmp_path.glob(f".*{PART}")]


@pytest.mark.slow
def test_four_processes_keep_at_once_and_nothing_is_lost_or_doubled(home, library):
    children = [_keeper(home, 10 * i, 10 * i + 10) for i in range(4)]
    assert [child.wait(600) for child in children] == [0, 0, 0, 0]
    for child in children:
        child.stdout.close()
    assert sorted(row.name for row in library.rows()) == sorted(f"run {i}" for i in range(40))
    assert library.damaged() == []


CHANGER = """
import sys
from pathlib import Path
from core.library import Library
library, run = Library(Path(sys.argv[1]), Path("none")), sys.argv[2]
for i in range(25):
    if sys.argv[3] == "name":
        library.rename(run, f"name {i}")
    else:
        library.tag(run, [f"tag {i}"])
"""


@pytest.mark.slow
def test_name_and_tags_changed_by_two_processes_both_hold(home, library, keep):
    run_id = keep("a")
    arguments = [
        [sys.executable, "-c", CHANGER, str(home), run_id, what] for what in ("name", "tag")
    ]
    children = [subprocess.Popen(argument, cwd=ROOT) for argument in arguments]
    assert [child.wait(600) for child in children] == [0, 0]
    (row,) = library.rows()
    assert (row.name, row.tags) == ("name 24", ("tag 24",))


RIVAL = """
import sys
from pathlib import Path
import numpy as np
from core.errors import LibraryError
from core.library import Library
home, seed, runs, aged = Path(sys.argv[1]), int(sys.argv[2]), *(w.split() for w in sys.argv[3:])
library, rng = Library(home, Path("none")), np.random.default_rng(seed)
for turn in range(60):
    run, act = rng.choice(runs + aged), rng.integers(5)
    try:
        if act == 0:
            library.rename(run, f"turn {turn} of {seed}")
        elif act == 1:
            library.tag(run, [f"turn {turn}"])
        elif act == 2:
            library.delete(run)
        elif act == 3:
            library.restore(run)
        else:
            with library._index.locked():  # age them
                for path in (home / "trash").glob("*@*"):
                    if path.name.split("@")[0] in aged:
                        path.rename(path.with_name(f"{path.name.split('@')[0]}@20200101T000000Z"))
            library.purge()
    except LibraryError as error:
        if error.code != "RUN_UNKNOWN":
            raise
    for row in library.rows():
        assert row.id in runs + aged
"""


@pytest.mark.slow
def test_deletes_restores_renames_and_purges_at_once_lose_only_what_is_old(home, library, keep):
    runs, aged = [keep(f"run {i}", seed=i) for i in range(4)], [keep("old"), keep("older")]
    words = [sys.executable, "-c", RIVAL, str(home)]
    children = [
        subprocess.Popen([*words, str(seed), " ".join(runs), " ".join(aged)], cwd=ROOT)
        for seed in range(4)
    ]
    assert [child.wait(600) for child in children] == [0, 0, 0, 0]
    listed, trashed = [row.id for row in library.rows()], [run.id for run in library.trash()]
    assert len({*listed, *trashed}) == len(listed) + len(trashed)
    assert {*runs} <= {*listed, *trashed} <= {*runs, *aged}
    for run in trashed:
        library.restore(run)
    assert library.damaged() == []
    for seed, run in enumerate(runs):
        assert library.load(run, "test").digest == small(seed).digest
    assert not [*(home / "runs").glob(".*")]


FULL_DISK = """
import resource, signal, sys
from pathlib import Path
from core.errors import LibraryError
from core.library import Library
from tests.core.library.builders import SOURCE, small
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))
try:
    Library(Path(sys.argv[1]), Path("none")).keep(
        "big", {"test": small(0, n=5000)}, source=SOURCE, summary={}
    )
except LibraryError as error:
    print(error.code, error.remedy)
"""


def test_full_disk_is_an_error_with_a_remedy_and_leaves_nothing_behind(home, library, keep):
    run_id = keep("before")
    found = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(home)], cwd=ROOT, capture_output=True, text=True
    )
    assert found.stdout.startswith("LIBRARY_WRITE free some space"), found.stderr
    assert [path.name for path in (home / "runs").iterdir()] == [run_id]
    assert [row.id for row in library.rows()] == [run_id]


def test_a_disk_that_is_full_at_any_step_leaves_what_was_there(home, library, keep, monkeypatch):
    run_id, real = keep("before"), os.fsync
    synced, full = [], 0

    def fsync(handle):
        synced.append(handle)
        if len(synced) == full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    counted, n_steps = keep("counted"), len(synced)
    library.delete(counted)
    assert n_steps >= 4  # arrays, manifest, and folders
    for full in range(1, n_steps + 1):
        synced.clear()
        with pytest.raises(LibraryError) as caught:
            keep("after")
        assert caught.value.code == "LIBRARY_WRITE"
        assert [path.name for path in (home / "runs").iterdir()] == [run_id], full
        assert [row.id for row in library.rows()] == [run_id]
        assert library.load(run_id, "test").n


def test_home_that_cannot_be_made_is_an_error_with_a_remedy(tmp_path):
    (tmp_path / "file").write_text("")
    library = Library(tmp_path / "file" / "home", tmp_path / "samples")
    assert library.rows() == []
    with pytest.raises(LibraryError, match="CANDOR_HOME") as excinfo:
        library.keep("a", {"test": small()}, source=SOURCE, summary={})
    assert excinfo.value.code == "LIBRARY_WRITE"


def test_half_written_folders_are_nobody_s_run_and_are_swept_a_day_later(keep, library, home):
    run_id = keep("a")
    old, young = home / "runs" / ".old.part", home / "runs" / ".young.part"
    for part in (old, young):
        shutil.copytree(home / "runs" / run_id, part)
    within = home / "runs" / run_id / f".{MANIFEST}.0a0a{PART}"  # of a rename that was killed
    within.touch()
    for part in (old, within):
        os.utime(part, (0, 0))
    assert [row.id for row in library.rows()] == [run_id]
    assert library.damaged() == []
    library.purge()
    assert not old.exists()
    assert not within.exists()
    assert young.exists()


def test_manifest_of_the_first_schema_is_still_read(tmp_path):
    shutil.copytree(Path(__file__).parent / "schema_1", tmp_path / "runs")
    library = Library(tmp_path, tmp_path / "samples")
    (row,) = library.rows()
    assert (row.id, row.name, row.tags, row.split) == (
        "v1sample2345",
        "Stored <run>",
        ("x",),
        "test",
    )
    manifest = library.get(row.id)
    assert manifest.source.recipe == {"scores": "probabilities"}
    assert manifest.notices[0].code == "RENORMALISED"
    loaded = library.load(row.id, "test")
    assert loaded.scores.dtype == np.float16
    assert loaded.scores.tolist() == [[0.25, 0.5, 0.125], [1.0, 0.0, 0.0]]
    assert loaded.labels.tolist() == [1, 2]
    assert loaded.row_ids == ("é.png", "b")
    assert loaded.class_names == ("cat", "dog", "hen")
    assert loaded.renormalise


def test_entry_tells_row_ids_apart():
    base = small()
    changed = replace(base, row_ids=("x", *base.row_ids[1:]))
    assert entry_of("test", base) != entry_of("test", changed)
