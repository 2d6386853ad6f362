"""A training's history: Parquet and back bit by bit, from events, in a run and out of it."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from core.arrays import file_map_of
from core.errors import LibraryError, Notice, Refused
from core.histories import COLUMNS, LATER, BinHistory, History
from core.library import Library
from core.library.history import (
    Tables,
    from_events,
    read_bins,
    read_history,
    write_bins,
    write_history,
)
from tests.core.library.builders import (
    SOURCE,
    headline,
    keep_history,
    same_columns,
    small,
    small_bins,
    small_history,
)

ROOT = Path(__file__).parents[3]
CONFIG = {"loss": {"name": "adafocal", "lambda": 1.0}, "epochs": 3}
ENVIRONMENT = {"torch": "2.15.0", "device": "cpu"}


def keep_trained(library: Library, seed: int = 0, **changed: object):
    val, test = small(seed, n=5), small(seed + 1, n=9)
    logits = np.random.default_rng(seed).standard_normal((3, 5, 3)).astype(np.float16)
    parts = {
        "source": SOURCE,
        "summary": {"test": headline()},
        "notices": [Notice("SMALL_N", "few rows")],
        "tags": ["adafocal"],
        "config": CONFIG,
        "environment": ENVIRONMENT,
        "run_id": f"training-{seed}",
    }
    tables = {"metrics": small_history(), "bins": small_bins(seed=seed), "validation": logits}
    tables |= {name: changed.pop(name) for name in [*changed] if name in tables}
    parts |= {"kind": "train", "tables": Tables(**tables)}
    return library.keep("a training", {"val": val, "test": test}, **parts | changed)


# Files ------------------------------------------------------------------------------------------

# A NaN has many bit patterns; the file holds null, which comes back as the usual one.
numbers = st.floats(allow_nan=False) | st.just(np.nan)


@settings(max_examples=40, deadline=None)
@given(
    rows=st.lists(st.tuples(st.integers(0, 400), st.text(max_size=9), numbers), max_size=9),
)
def test_metrics_come_back_from_parquet_bit_by_bit(rows, tmp_path_factory):
    columns = zip(*rows, strict=True) if rows else ((), (), ())
    epoch, metric, value = columns
    history = History(np.array(epoch, np.int64), metric, np.array(value, np.float64))
    path = tmp_path_factory.getbasetemp() / "history.parquet"
    write_history(path, history)
    assert same_columns(read_history(path), history)


@settings(max_examples=40, deadline=None)
@given(
    n_epochs=st.integers(1, 4),
    n_bins=st.integers(1, 5),
    seed=st.integers(0, 99),
    gamma=hnp.arrays(np.float64, 20, elements=st.floats(allow_nan=False, allow_infinity=False)),
)
def test_bins_come_back_from_parquet_bit_by_bit(n_epochs, n_bins, seed, gamma, tmp_path_factory):
    plain = small_bins(n_epochs, n_bins, seed)
    columns = {name: getattr(plain, name) for name in COLUMNS}
    bins = BinHistory(**columns | {"gamma": gamma[: n_epochs * n_bins]})
    assert (bins.n_epochs, bins.n_bins) == (n_epochs, n_bins)
    path = tmp_path_factory.getbasetemp() / "bins.parquet"
    write_bins(path, bins)
    assert same_columns(read_bins(path), bins)


def test_parquet_has_the_stated_columns_and_null_for_what_is_not_a_number(tmp_path):
    write_bins(tmp_path / "bins.parquet", small_bins())
    table = pq.read_table(tmp_path / "bins.parquet")
    wanted = "epoch bin lower upper count confidence accuracy gap gamma train_confidence"
    assert table.column_names == [*wanted.split(), "update", "trained"]
    assert table.column("confidence").null_count == 3
    assert not np.isnan(table.column("confidence").drop_null().to_numpy()).any()
    write_history(tmp_path / "history.parquet", small_history())
    rows = pq.read_table(tmp_path / "history.parquet").to_pylist()
    assert rows[:2] == [
        {"epoch": 0, "metric": "val_loss", "value": 0.5},
        {"epoch": 0, "metric": "val_ece", "value": None},
    ]


def test_rows_in_any_order_are_the_same_history():
    bins = small_bins()
    order = np.random.default_rng(0).permutation(len(bins.epoch))
    assert same_columns(BinHistory(**{n: getattr(bins, n)[order] for n in COLUMNS}), bins)


# Events -----------------------------------------------------------------------------------------


def event(epoch: int, loss: float | None = 0.5, bins: list[dict[str, object]] | None = None) -> str:
    return json.dumps({"event": "epoch", "epoch": epoch, "metrics": {"loss": loss}, "bins": bins})


def one_bin(gamma: float, confidence: float | None = 0.75) -> dict[str, object]:
    return {
        "bin": 0, "lower": 0.25, "upper": 1.0, "count": 0 if confidence is None else 8,
        "confidence": confidence, "accuracy": None if confidence is None else 0.5,
        "gap": 0.0 if confidence is None else 0.25, "gamma": gamma, "train_confidence": None,
    }  # fmt: skip


def test_events_become_columns_and_null_is_no_number():
    lines = [
        '{"event": "start", "device": "cpu"}\n',
        event(0, 0.75, [one_bin(1.5)]) + "\n",
        event(1, None, [one_bin(1.5, None)]) + "\n",
    ]
    history, bins = from_events(lines)
    assert (history.epoch.tolist(), history.metric) == ([0, 1], ("loss", "loss"))
    np.testing.assert_array_equal(history.value, [0.75, np.nan])
    assert bins.count.tolist() == [8, 0]
    np.testing.assert_array_equal(bins.accuracy, [0.5, np.nan])
    assert bins.gamma.tolist() == [1.5, 1.5]


def test_every_update_of_an_epoch_is_kept_in_order():
    updates = [[one_bin(1.5) | {"trained": at} for at in ends] for ends in ((0.4, 0.8), (1.2,))]
    _, bins = from_events([event(0, 0.5, updates[0]), event(1), event(2, 0.5, updates[1])])
    assert bins.epoch.tolist() == [0, 0, 2]
    assert bins.update.tolist() == [0, 1, 2]
    assert bins.trained.tolist() == [0.4, 0.8, 1.2]
    assert (bins.n_updates, bins.n_epochs) == (3, 2)


def test_a_job_that_an_older_version_began_keeps_its_first_updates():
    updates = [one_bin(1.5) | {"trained": at} for at in (1.5, 2.0)]
    _, bins = from_events([event(0, 0.5, [one_bin(1.5)]), event(1, 0.5, updates)])
    assert bins.trained.tolist() == [1.0, 1.5, 2.0]
    assert bins.update.tolist() == [0, 1, 2]


def test_an_older_table_without_updates_has_one_an_epoch(tmp_path):
    plain = small_bins()
    columns = {n: pa.array(getattr(plain, n).tolist()) for n in COLUMNS if n not in LATER}
    nullable = {n: [None if v != v else v for v in c.to_pylist()] for n, c in columns.items()}
    pq.write_table(pa.table(nullable), tmp_path / "bins.parquet")
    old = read_bins(tmp_path / "bins.parquet")
    assert same_columns(old, plain)
    assert (old.update == old.epoch).all()
    assert (old.trained == old.epoch + 1).all()


@pytest.mark.parametrize(
    ("changed", "what"),
    [
        ({"trained": [0.5, 0.5, 0.25, 0.25]}, "trained differs within an update, or falls"),
        ({"trained": [0.5, 0.75, 1.0, 1.0]}, "trained differs within an update, or falls"),
        ({"epoch": [1, 1, 0, 0]}, "epoch differs within an update, or falls"),
        ({"trained": [0.5, 0.5, np.nan, np.nan]}, "trained is no number of epochs"),
        ({"update": [0, 0, 0, 0]}, "This bin occurs twice in its update"),
    ],
)
def test_updates_out_of_order_are_refused(changed, what):
    two = small_bins(2, 2)
    columns = {name: getattr(two, name) for name in COLUMNS}
    columns |= {"epoch": [0, 0, 0, 0], "update": [0, 0, 1, 1], "trained": [0.5, 0.5, 1.0, 1.0]}
    BinHistory(**{name: np.asarray(column) for name, column in columns.items()})
    with pytest.raises(Refused, match=what):
        BinHistory(**{name: np.asarray(column) for name, column in (columns | changed).items()})


def test_an_epoch_that_comes_again_takes_the_place_of_all_that_followed():
    lines = [event(0), event(1, 0.4), event(2, 0.3), event(1, 0.25)]
    history, bins = from_events(lines)
    assert (history.epoch.tolist(), history.value.tolist()) == ([0, 1], [0.5, 0.25])
    assert bins is None


def test_a_last_line_that_is_still_being_written_is_left_out():
    assert from_events([event(0), event(1)[:-9]])[0].epoch.tolist() == [0]
    assert from_events([])[0].n_epochs == 0


@pytest.mark.parametrize(
    "lines",
    [
        ['{"event": "ep', event(1)],
        ["[]", event(1)],
        ['{"event": "epoch", "epoch": 0}'],
        ['{"event": "epoch", "epoch": "0", "metrics": {}}', event(1)],
        ['{"event": "epoch", "epoch": 0, "metrics": {"a": "x"}}'],
        ['{"event": "epoch", "epoch": 0, "metrics": {}, "bins": [{"bin": 0}]}'],
    ],
)
def test_damaged_events_are_refused(lines):
    with pytest.raises(LibraryError, match="EVENTS"):
        from_events(lines)


# In the library ---------------------------------------------------------------------------------


def test_a_kept_training_comes_back_whole_in_another_process_s_library(library, home, tmp_path):
    kept = keep_trained(library)
    other = Library(home, tmp_path / "samples")
    manifest = other.get(kept.id)
    assert manifest == kept
    assert (manifest.kind, manifest.config, manifest.environment) == ("train", CONFIG, ENVIRONMENT)
    assert manifest.history.epochs == 3
    assert manifest.history.last == {"val_loss": 0.5 / 3, "val_ece": 2.0}
    assert same_columns(other.history(kept.id), small_history())
    assert same_columns(other.bins(kept.id), small_bins())
    logits = other.validation_logits(kept.id)
    assert file_map_of(logits) is not None
    wanted = np.random.default_rng(0).standard_normal((3, 5, 3)).astype(np.float16)
    assert (logits.dtype, logits.tobytes()) == (wanted.dtype, wanted.tobytes())
    assert other.load(kept.id, "val").digest == small(0, n=5).digest
    (row,) = other.rows(kind="train")
    assert (row.id, row.n, row.split, row.tags) == (kept.id, 9, "test", ("adafocal",))


def test_files_lists_the_tables_of_the_history(library, home):
    kept = keep_trained(library)
    folder = home.resolve() / "runs" / kept.id
    assert library.files(kept.id) == {
        "val": str(folder / "predictions" / "val.safetensors"),
        "test": str(folder / "predictions" / "test.safetensors"),
        "history.parquet": str(folder / "history.parquet"),
        "bins.parquet": str(folder / "bins.parquet"),
        "validation.safetensors": str(folder / "validation.safetensors"),
    }
    assert all(Path(path).is_file() for path in library.files(kept.id).values())


def test_what_was_not_kept_is_said(library, keep):
    plain = keep("an upload")
    kept = keep_trained(library, bins=None, validation=None)
    assert (kept.history.bins, kept.history.validation) == (None, None)
    for act in (lambda: library.bins(kept.id), lambda: library.history(plain)):
        with pytest.raises(LibraryError, match="NO_HISTORY"):
            act()


def test_metrics_without_a_value_are_null_in_the_manifest(library):
    history = History(np.zeros(2, np.int64), ("a", "b"), np.array([np.nan, np.inf]))
    kept = keep_trained(library, metrics=history, bins=None, validation=None)
    assert kept.history.last == {"a": None, "b": None}
    assert library.history(kept.id).value[1] == np.inf


@pytest.mark.parametrize("shape", [(2, 5, 3), (3, 4, 3), (3, 5)])
def test_logits_of_other_epochs_or_rows_are_not_kept(shape, library, home):
    with pytest.raises(LibraryError, match="HISTORY: Validation logits have shape"):
        keep_trained(library, validation=np.zeros(shape, np.float32))
    assert not home.exists()


def test_a_history_without_epochs_is_not_kept(library, home):
    nothing = History(np.empty(0, np.int64), (), np.empty(0))
    with pytest.raises(LibraryError, match="no epoch"):
        keep_trained(library, metrics=nothing, bins=None, validation=None)
    assert not home.exists()


READS = {
    "history.parquet": Library.history,
    "bins.parquet": Library.bins,
    "validation.safetensors": Library.validation_logits,
}
DAMAGES = {
    "history.parquet": lambda path: path.write_bytes(path.read_bytes()[:-9]),
    "bins.parquet": lambda path: pq.write_table(pa.table({"epoch": [0]}), path),
    "validation.safetensors": lambda path: os.truncate(path, 40),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_table_is_told_and_the_rest_is_read(name, library):
    kept = keep_trained(library)
    DAMAGES[name](Path(library.files(kept.id)[name]))
    for other, read in READS.items():
        if other == name:
            with pytest.raises(LibraryError, match=f"DAMAGED.*{name} cannot be read"):
                read(library, kept.id)
        else:
            read(library, kept.id)
    assert library.load(kept.id, "test").n == 9


@pytest.mark.parametrize("name", READS)
def test_one_flipped_bit_in_the_numbers_of_a_table_is_noticed(name, library):
    kept = keep_trained(library)
    path = Path(library.files(kept.id)[name])
    data = path.read_bytes()
    numbers = range(len(data) - 90, len(data)) if "safetensors" in name else _pages(path)
    for at in list(numbers)[:: len(numbers) // 9]:
        path.write_bytes(data[:at] + bytes([data[at] ^ 4]) + data[at + 1 :])
        with pytest.raises(LibraryError, match="DAMAGED"):
            READS[name](library, kept.id)
    path.write_bytes(data)
    READS[name](library, kept.id)


def _pages(path: Path) -> range:
    """Bytes of the last page of the last column of a Parquet file, behind its header."""
    column = pq.ParquetFile(path).metadata.row_group(0).column(2)
    return range(
        column.data_page_offset + column.total_compressed_size - 20,
        column.data_page_offset + column.total_compressed_size,
    )


@pytest.mark.parametrize("name", DAMAGES)
def test_a_missing_table_is_damage_of_the_run(name, library):
    kept = keep_trained(library)
    Path(library.files(kept.id)[name]).unlink()
    assert library.rows() == []
    assert library.damaged()[0].what.endswith(f"{name} is missing")


def test_bins_that_contradict_themselves_in_a_run_are_damage(library):
    kept = keep_trained(library)
    path = Path(library.files(kept.id)["bins.parquet"])
    table = pq.read_table(path)
    pq.write_table(table.set_column(1, "bin", pa.array([0] * len(table), pa.int64())), path)
    with pytest.raises(LibraryError, match="DAMAGED"):
        library.bins(kept.id)


def test_a_deleted_training_comes_back_and_the_index_is_rebuilt(library, home):
    kept = keep_trained(library)
    before = library.rows()
    library.delete(kept.id)
    assert library.rows() == []
    library.restore(kept.id)
    assert library.rows() == before
    (home / "index.sqlite").unlink()
    assert library.rebuild_index() == 1
    assert library.rows() == before
    assert same_columns(library.bins(kept.id), small_bins())


def test_renaming_a_training_keeps_its_history(library):
    kept = keep_trained(library)
    library.rename(kept.id, "renamed")
    assert library.get(kept.id).history == kept.history
    assert library.get(kept.id).config == CONFIG


def test_an_exported_training_is_read_back_as_its_splits(library, tmp_path):
    kept = keep_trained(library)
    library.export(kept.id, tmp_path / "run.npz")
    with np.load(tmp_path / "run.npz") as found:
        np.testing.assert_array_equal(found["val_logits"], small(0, n=5).scores)
        np.testing.assert_array_equal(found["test_labels"], small(1, n=9).labels)
        manifest = json.loads(str(found["manifest"]))
    assert manifest["history"]["last"] == {"val_loss": 0.5 / 3, "val_ece": 2.0}
    assert manifest["config"] == CONFIG


def test_a_gamma_history_is_a_run_without_predictions(library, home, tmp_path):
    kept = library.get(keep_history(library, "theirs", small_bins()))
    other = Library(home, tmp_path / "samples")
    manifest = other.get(kept.id)
    assert manifest == kept
    assert (manifest.kind, manifest.splits, manifest.headline) == ("history", {}, "")
    assert (manifest.history.epochs, manifest.history.last) == (3, {})
    assert list(other.files(kept.id)) == ["bins.parquet"]
    (row,) = other.rows()
    assert (row.kind, row.n, row.n_classes, row.splits, row.metrics) == ("history", 0, 0, (), None)
    assert same_columns(other.bins(kept.id), small_bins())
    with pytest.raises(LibraryError, match="NO_HISTORY"):
        other.history(kept.id)
    with pytest.raises(LibraryError, match="SPLIT_UNKNOWN"):
        other.load(kept.id, "test")


def test_a_manifest_of_the_first_schema_becomes_the_newest_only_when_changed(tmp_path):
    shutil.copytree(Path(__file__).parent / "schema_1", tmp_path / "runs")
    library = Library(tmp_path, tmp_path / "samples")
    path = tmp_path / "runs" / "v1sample2345" / "manifest.json"
    before = path.read_bytes()
    found = library.get("v1sample2345")
    assert (found.config, found.environment, found.history) == (None, None, None)
    library.load("v1sample2345", "test")
    library.rows()
    assert path.read_bytes() == before
    library.tag("v1sample2345", ["y"])
    data = json.loads(path.read_text())
    assert (data["schema_version"], data["history"], data["tags"]) == (7, None, ["y"])


KEEPER = """
import sys
from pathlib import Path
from core.library import Library
from tests.core.library.test_history import keep_trained
library = Library(Path(sys.argv[1]), Path("none"))
for seed in range(int(sys.argv[2]), int(sys.argv[3])):
    print(keep_trained(library, seed).id, flush=True)
"""


@pytest.mark.nightly
def test_killed_while_keeping_leaves_whole_trainings_only(home, library):
    for round_ in range(6):
        words = [sys.executable, "-c", KEEPER, str(home), str(100 * round_), str(100 * round_ + 99)]
        child = subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        child.stdout.readline()
        time.sleep(0.0017 * round_)  # another moment of the next one each time
        child.send_signal(signal.SIGKILL)
        child.communicate()
    rows = library.rows()
    assert len(rows) >= 6
    assert library.damaged() == []
    for row in rows:
        assert library.history(row.id).n_epochs == library.bins(row.id).n_epochs == 3
        assert library.validation_logits(row.id).shape == (3, 5, 3)


FULL_DISK = """
import resource, signal, sys
from pathlib import Path
import numpy as np
from core.errors import LibraryError
from core.histories import History
from core.library import Library
from tests.core.library.test_history import keep_trained
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))
rows = np.arange(9000)
history = History(rows, ("loss",) * 9000, np.random.default_rng(0).random(9000))
try:
    keep_trained(Library(Path(sys.argv[1]), Path("none")), metrics=history, validation=None)
except LibraryError as error:
    print(error.code)
"""


def test_a_full_disk_leaves_nothing_behind(home, library, keep):
    run_id = keep("before")
    words = [sys.executable, "-c", FULL_DISK, str(home)]
    found = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)
    assert found.stdout == "LIBRARY_WRITE\n", found.stderr
    assert [path.name for path in (home / "runs").iterdir()] == [run_id]


# What a history must hold -----------------------------------------------------------------------


def changed(row: int, **values: object) -> dict[str, np.ndarray]:
    columns = {name: getattr(small_bins(), name).copy() for name in COLUMNS}
    for name, value in values.items():
        columns[name][row] = value
    return columns


FULL = int(np.flatnonzero(small_bins().count[:4])[1])
EMPTY = int(np.flatnonzero(small_bins().count == 0)[0])
WRONG = {
    "no rows": ({n: c[:0] for n, c in changed(0).items()}, "EMPTY"),
    "negative epoch": (changed(0, epoch=-1), "HISTORY_RANGE"),
    "epoch too far": (changed(0, epoch=10**9 + 1), "HISTORY_RANGE"),
    "negative count": (changed(FULL, count=-1), "HISTORY_RANGE"),
    "twice": (changed(1, bin=0), "HISTORY_BINS"),
    "missing bin": ({n: np.delete(c, 5) for n, c in changed(0).items()}, "HISTORY_BINS"),
    "bins from 1": ({n: c + (n == "bin") for n, c in changed(0).items()}, "HISTORY_BINS"),
    "too many bins": (changed(11, bin=4_000), "TABLE_SIZE"),
    "edge outside": (changed(3, upper=1.5), "HISTORY_RANGE"),
    "edge no number": (changed(3, upper=np.nan), "NONFINITE"),
    "edges turned": (changed(0, lower=1.0), "HISTORY_BINS"),
    "edges fall": (changed(0, upper=1.0), "HISTORY_BINS"),
    "gamma no number": (changed(2, gamma=np.nan), "NONFINITE"),
    "gamma infinite": (changed(2, gamma=np.inf), "NONFINITE"),
    "confidence missing": (changed(FULL, confidence=np.nan), "NONFINITE"),
    "accuracy above 1": (changed(FULL, accuracy=1.25), "HISTORY_RANGE"),
    "accuracy of nothing": (changed(EMPTY, accuracy=0.5), "HISTORY_RANGE"),
    "train confidence": (changed(FULL, train_confidence=-0.5), "HISTORY_RANGE"),
    "gap": (changed(FULL, gap=0.999), "HISTORY_GAP"),
    "gap of nothing": (changed(EMPTY, gap=0.01), "HISTORY_GAP"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_history_that_cannot_be_true_is_refused(case):
    columns, code = WRONG[case]
    with pytest.raises(Refused) as excinfo:
        BinHistory(**columns)
    assert excinfo.value.code == code


def test_a_refusal_names_epoch_and_bin():
    row = 4 + int(np.flatnonzero(small_bins().count[4:8])[0])
    with pytest.raises(Refused, match="accuracy lies outside 0 to 1") as excinfo:
        BinHistory(**changed(row, accuracy=2.0))
    assert excinfo.value.location == f"epoch 1, bin {row - 4}"


def test_the_last_epoch_that_is_kept():
    columns = {n: getattr(small_bins(), n).copy() for n in COLUMNS}
    newest = columns["epoch"] == columns["epoch"].max()
    columns["epoch"][newest] = 10**9
    assert BinHistory(**columns).epoch.max() == 10**9
    columns["epoch"][newest] = 2**63 - 1
    with pytest.raises(Refused, match="above 1,000,000,000"):
        BinHistory(**columns)


def test_rounding_beyond_one_or_below_the_last_edge_is_let_pass():
    columns = changed(FULL, accuracy=1 + 1e-12)
    columns["gap"][FULL] = columns["confidence"][FULL] - columns["accuracy"][FULL]
    assert BinHistory(**columns).accuracy[FULL] > 1


def test_a_training_that_ends_twice_is_kept_once(library):
    first = keep_trained(library)
    again = keep_trained(library, notices=[])
    assert again == first
    assert [row.id for row in library.rows(kind="train")] == ["training-0"]
