"""A folder of shards is read as the one file that its pieces are of."""

import io
import json
import resource
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from core.__main__ import main
from core.arrays import file_map_of
from core.errors import Refused
from core.predictions import ScoreKind
from core.readers.formats import shards as module
from core.readers.formats.contents import FileBytes
from core.readers.formats.shards import Shards, read_shards, shard_files
from core.readers.predictions.interpret import read_source
from core.readers.predictions.result import ReadOptions
from core.readers.sandbox import read as sandbox

N, K = 60, 4
RNG = np.random.default_rng(0)
Z = (RNG.normal(size=(N, K)) * 3).astype(np.float32)
Y = (Z / 2 + RNG.gumbel(size=Z.shape)).argmax(axis=1)
CUTS = (0, 7, 20, 21, 60)
PIECES = [slice(start, end) for start, end in pairwise(CUTS)]
COLUMNS = {f"logit_{k}": Z[:, k] for k in range(K)} | {"label": Y}


def sources(*paths):
    return tuple(FileBytes.of_bytes(path.name, path.read_bytes()) for path in paths)


def joined(folder):
    """What the shards of a folder hold together, in this process."""
    paths, _ = shard_files(folder)
    return read_shards(Shards(sources(*paths)))


def refusal(folder):
    with pytest.raises(Refused) as caught:
        joined(folder)
    return caught.value


def save_arrays(folder, number="{}", **arrays):
    folder.mkdir(exist_ok=True)
    for i, rows in enumerate(PIECES):
        for name, array in arrays.items():
            np.save(folder / f"{name}{number.format(i)}.npy", array[rows])
    return folder


def save_tables(folder, columns=COLUMNS):
    folder.mkdir()
    for i, rows in enumerate(PIECES):
        table = pa.table({name: list(column[rows]) for name, column in columns.items()})
        pq.write_table(table, folder / f"part-{i}.parquet")
    return folder


@pytest.mark.parametrize(
    "number", ["-{}", "_{:05}", "{}", ".{:03}-of-004", "-{}_of_4", "-5{}-of-4"]
)
def test_numbered_arrays_are_one_npz(tmp_path, number):
    contents = joined(save_arrays(tmp_path / "shards", number, logits=Z, labels=Y))
    assert (contents.format, list(contents.entries)) == ("npz", ["labels", "logits"])
    np.testing.assert_array_equal(contents.entries["logits"], Z)
    np.testing.assert_array_equal(contents.entries["labels"], Y)
    assert contents.entries["logits"].dtype == np.float32


def test_shards_are_in_natural_order(tmp_path):
    rows = np.arange(24.0).reshape(12, 2)
    for i in range(12):
        np.save(tmp_path / f"logits-{i}.npy", rows[[i]])
    np.testing.assert_array_equal(joined(tmp_path).entries["logits"], rows)


def test_arrays_without_a_name_are_one_npy(tmp_path):
    contents = joined(save_arrays(tmp_path / "shards", "{:02}", **{"": Z}))
    assert (contents.format, contents.named, list(contents.entries)) == ("npy", False, ["array"])
    np.testing.assert_array_equal(contents.entries["array"], Z)


@pytest.mark.parametrize("form", ["columns", "lists", "text"])
def test_tables_are_one_table(tmp_path, form):
    columns = dict(COLUMNS)
    if form == "lists":
        columns = {"logits": Z, "label": Y}
    if form == "text":
        columns |= {"label": np.array(["cat", "dog", "eel", "fox"], object)[Y]}
    contents = joined(save_tables(tmp_path / "shards", columns))
    whole = tmp_path / "whole.parquet"
    pq.write_table(pa.table({name: list(column) for name, column in columns.items()}), whole)
    expected = read_source(*sources(whole), None, ReadOptions())
    found = read_source(Shards(sources(*shard_files(tmp_path / "shards")[0])), None, ReadOptions())
    assert contents.format == "parquet"
    assert found.recipe == expected.recipe
    assert found.notices == expected.notices
    split, other = found.splits["test"], expected.splits["test"]
    np.testing.assert_array_equal(split.prepared.scores, other.prepared.scores)
    np.testing.assert_array_equal(split.labels, other.labels)


def test_the_tenth_table_comes_after_the_second(tmp_path):
    for i in range(12):
        pq.write_table(pa.table({"row": [i]}), tmp_path / f"part-{i}.parquet")
    assert joined(tmp_path).entries["row"].tolist() == list(range(12))


def test_empty_shards_are_passed_over(tmp_path):
    folder = save_arrays(tmp_path / "shards", "-{}", logits=Z, labels=Y)
    for name, array in (("logits", np.empty((0, 0))), ("labels", np.empty(0, object))):
        np.save(folder / f"{name}-4.npy", array)
    np.testing.assert_array_equal(joined(folder).entries["logits"], Z)


def test_large_arrays_are_put_together_in_a_file(tmp_path, monkeypatch):
    monkeypatch.setattr("core.arrays.MAPPED_BYTES", Z.nbytes)
    arrays = joined(save_arrays(tmp_path / "arrays", "-{}", logits=Z, labels=Y)).entries
    tables = joined(save_tables(tmp_path / "tables")).entries
    for entry in (arrays["logits"], tables["logit_0"], tables["logit_3"]):
        assert file_map_of(entry)


def test_what_is_no_shard_is_left_aside(tmp_path):
    folder = save_arrays(tmp_path / "shards", "-{}", logits=Z, labels=Y)
    for name in ("_SUCCESS", ".logits-0.npy.crc", ".hidden.npy"):
        (folder / name).write_bytes(b"x")
    (folder / "logits-9.npy").mkdir()
    assert shard_files(folder)[1] == []
    for name in ("README.md", "config.json"):
        (folder / name).write_text("{}")
    shards, others = shard_files(folder)
    assert (len(shards), others) == (8, ["README.md", "config.json"])


@pytest.mark.parametrize("names", [("logits-3.npy", "labels-3.npy"), ("labels-1.npy",)])
def test_a_shard_that_is_a_link_to_nothing_is_refused(tmp_path, names):
    folder = save_arrays(tmp_path / "shards", "-{}", logits=Z, labels=Y)
    for name in names:
        (folder / name).rename(tmp_path / name)
        (folder / name).symlink_to(tmp_path / name)
    options = ReadOptions(scores=ScoreKind.LOGITS)
    assert len(sandbox.read(folder, options=options).splits["test"].labels) == N
    for name in names:
        (tmp_path / name).unlink()
    with pytest.raises(Refused) as caught:
        sandbox.read(folder, options=options)
    assert (caught.value.code, caught.value.what) == (
        "FORMAT_UNKNOWN",
        f"{names[-1]} cannot be opened (No such file or directory)",
    )


@pytest.mark.parametrize("save", [save_arrays, save_tables])
def test_a_row_is_named_with_its_shard(tmp_path, save):
    bad = Z.copy()
    bad[23, 1] = np.inf
    if save is save_arrays:
        folder, name = save(tmp_path / "s", "-{}", logits=bad, labels=Y), "logits-3.npy"
    else:
        columns = {f"logit_{k}": bad[:, k] for k in range(K)} | {"label": Y}
        folder, name = save(tmp_path / "s", columns), "part-3.parquet"
    with pytest.raises(Refused) as caught:
        sandbox.read(folder, options=ReadOptions(scores=ScoreKind.LOGITS))
    assert caught.value.code == "NONFINITE"
    assert caught.value.location == f"row 23 (row 2 of {name}) col 1"


def put(name, array):
    """What writes an array into a folder under a name."""
    return lambda folder: np.save(folder / name, array)


def without(*names):
    return lambda folder: [(folder / name).unlink() for name in names]


def say_five(folder):
    for path in list(folder.iterdir()):
        path.rename(path.with_name(f"{path.stem}-of-5.npy"))


def cut_short(folder):
    data = (folder / "logits-1.npy").read_bytes()
    (folder / "logits-1.npy").write_bytes(data[:-1])


DAMAGE = {
    "missing labels": without("labels-2.npy"),
    "missing last labels": without("labels-3.npy"),
    "missing number": without("labels-2.npy", "logits-2.npy"),
    "fewer than said": say_five,
    "no number": lambda folder: (folder / "labels-2.npy").rename(folder / "labels.npy"),
    "one number twice": put("logits-02.npy", Z[:1]),
    "length": put("labels-1.npy", Y[:9]),
    "columns": put("logits-1.npy", Z[PIECES[1], :3]),
    "type": put("logits-1.npy", Z[PIECES[1]].astype(np.float64)),
    "text": put("labels-1.npy", Y[PIECES[1]].astype(str)),
    "unreadable": cut_short,
    "other format": lambda folder: (folder / "logits-1.npy").write_text("a,b\n1,2\n"),
    "empty file": lambda folder: (folder / "logits-1.npy").write_bytes(b""),
    "number": put("logits-1.npy", np.float32(3.0)),
}


@pytest.mark.parametrize(
    ("case", "code", "words"),
    [
        ("missing labels", "LENGTH_MISMATCH", "labels has the number 2"),
        ("missing last labels", "LENGTH_MISMATCH", "no shard of labels to go with logits-3.npy"),
        ("missing number", "LENGTH_MISMATCH", "has the number 2"),
        ("fewer than said", "LENGTH_MISMATCH", "4 shards of labels, but their names say 5"),
        ("no number", "AMBIGUOUS_KEYS", "labels.npy has no number"),
        ("one number twice", "AMBIGUOUS_KEYS", "logits-02.npy and logits-2.npy have the same"),
        ("length", "LENGTH_MISMATCH", "9 in labels-1.npy, 13 in logits-1.npy"),
        ("columns", "CLASSES", "Rows have 3 values, those of the first shard 4"),
        ("type", "DTYPE", "logits holds float64, in the first shard float32"),
        ("text", "DTYPE", "labels holds text, in the first shard int64"),
        ("unreadable", "HEADER_SHAPE", "logits-1.npy"),
        ("other format", "FORMAT_MISMATCH", "logits-1.npy"),
        ("empty file", "EMPTY_FILE", "logits-1.npy"),
        ("number", "HEADER_SHAPE", "logits-1.npy"),
    ],
)
def test_arrays_that_do_not_go_together_are_refused(tmp_path, case, code, words):
    folder = save_arrays(tmp_path / "shards", "-{}", logits=Z, labels=Y)
    DAMAGE[case](folder)
    refused = refusal(folder)
    assert refused.code == code
    assert words in f"{refused.named()} ({refused.location})"


def test_tables_are_read_some_rows_at_a_time(tmp_path, monkeypatch):
    folder = save_tables(tmp_path / "shards", COLUMNS | {"note": np.array(["a", "b"] * 30, object)})
    monkeypatch.setattr("core.readers.formats.table_file.BATCH_ROWS", 4)
    entries = joined(folder).entries
    np.testing.assert_array_equal(entries["logit_2"], Z[:, 2])
    assert entries["note"].tolist() == ["a", "b"] * 30
    column = pa.array([None if i == 30 else 1.0 for i in range(39)], pa.float32())
    path = folder / "part-3.parquet"
    pq.write_table(pq.read_table(path).set_column(0, "logit_0", column), path)
    refused = refusal(folder)
    assert refused.code == "NONFINITE"
    assert (refused.file, refused.location) == ("part-3.parquet", "row 30, logit_0")


def test_shards_without_rows_are_refused(tmp_path):
    np.save(tmp_path / "logits-0.npy", Z[:0])
    assert refusal(tmp_path).code == "EMPTY"
    (tmp_path / "logits-0.npy").unlink()
    pq.write_table(pa.table({"label": Y[:0]}), tmp_path / "0.parquet")
    assert refusal(tmp_path).code == "EMPTY"


def test_footers_that_miscount_are_refused(tmp_path, monkeypatch):
    folder = save_tables(tmp_path / "shards")
    for claimed in (6, 50):
        monkeypatch.setattr(module, "parquet_rows", lambda _, n=claimed: n)
        refused = refusal(folder)
        assert (refused.code, refused.file) == ("FORMAT_UNKNOWN", "part-0.parquet")
        assert f"does not hold the {claimed} rows" in refused.what
    pq.write_table(pa.table({"label": Y[:0]}), folder / "part-0.parquet")
    refused = refusal(folder)
    assert (refused.code, refused.file) == ("FORMAT_UNKNOWN", "part-0.parquet")


@pytest.mark.parametrize(
    ("columns", "code", "words"),
    [
        ({"label": Y}, "CLASSES", "lacks the column logit_0"),
        (COLUMNS | {"more": Y}, "CLASSES", "has the column more"),
        (COLUMNS | {"label": Z[:, 0]}, "DTYPE", "label holds float32, in the first shard int64"),
        (COLUMNS | {"label": Z}, "CLASSES", "Rows have 4 values, those of the first shard 1"),
        (None, "FORMAT_UNKNOWN", "damaged"),
    ],
)
def test_tables_that_do_not_go_together_are_refused(tmp_path, columns, code, words):
    folder, path = save_tables(tmp_path / "shards"), tmp_path / "shards" / "part-2.parquet"
    if columns is None:
        data = bytearray(path.read_bytes())
        data[4:40] = bytes(36)
        path.write_bytes(data)
    else:
        pq.write_table(pa.table({name: list(column) for name, column in columns.items()}), path)
    refused = refusal(folder)
    assert (refused.code, refused.file) == (code, "part-2.parquet")
    assert words in refused.what


def test_folders_without_shards_of_one_kind_are_refused(tmp_path, monkeypatch):
    with pytest.raises(Refused, match=r"EMPTY: The folder .* holds neither \.npy"):
        shard_files(tmp_path)
    with pytest.raises(Refused, match="FORMAT_UNKNOWN: nowhere cannot be opened"):
        shard_files(tmp_path / "nowhere")
    np.save(tmp_path / "logits-0.npy", Z)
    np.save(tmp_path / "logits-1.npy", Z)
    with monkeypatch.context() as patch:
        patch.setattr(module, "MOST_SHARDS", 1)
        with pytest.raises(Refused, match="ARCHIVE_COUNT: The folder holds 2 shards; at most 1"):
            shard_files(tmp_path)
    (tmp_path / "part-0.parquet").write_bytes(b"PAR1")
    with pytest.raises(Refused, match="AMBIGUOUS_KEYS"):
        shard_files(tmp_path)


NUMBERS = [
    ("-{}", (0, 2), "No shard of logits has the number 1"),
    ("-{}", (2, 3), "No shard of logits has the number 0"),
    ("-{}", (0, 100), "No shard of logits has the number 1"),
    ("-{}-of-2", (0, 2), "No shard of logits has the number 1"),
    ("-{}-of-3", (0, 1), "There are 2 shards of logits, but their names say 3"),
    ("-{}-of-{of}", (0, 1), "There are 2 shards of logits, but their names say 2 and 5"),
    ("-{}", (1, 2), ""),
    ("-{}-of-2", (7, 8), ""),
]


@pytest.mark.parametrize("suffix", ["npy", "parquet"])
@pytest.mark.parametrize(("form", "numbers", "words"), NUMBERS)
def test_no_number_may_be_missing(tmp_path, suffix, form, numbers, words):
    for number, of in zip(numbers, (5, 2), strict=True):
        path = tmp_path / f"logits{form.format(number, of=of)}.{suffix}"
        if suffix == "npy":
            np.save(path, Z)
        else:
            pq.write_table(pa.table({"label": Y}), path)
    if words:
        refused = refusal(tmp_path)
        assert (refused.code, refused.what) == ("LENGTH_MISMATCH", words)
    else:
        assert len(next(iter(joined(tmp_path).entries.values()))) == 2 * N


def test_names_of_tables_are_free_where_they_are_not_numbered_alike(tmp_path):
    for name in ("3f9a", "7", "cats-12", "part"):
        pq.write_table(pa.table({"label": Y}), tmp_path / f"{name}.parquet")
    assert len(joined(tmp_path).entries["label"]) == 4 * N


@pytest.mark.nightly
def test_as_many_shards_as_may_be_fit_into_the_handles_of_a_process(tmp_path):
    for i in range(module.MOST_SHARDS // 2):
        np.save(tmp_path / f"logits-{i}.npy", Z[:4])
        np.save(tmp_path / f"labels-{i}.npy", Y[:4])
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (1024, limits[1]))
    try:
        result = sandbox.read(tmp_path, in_place=True, options=ReadOptions(scores=ScoreKind.LOGITS))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert len(result.splits["test"].labels) == 2 * module.MOST_SHARDS


def test_more_shards_than_may_be_opened_are_refused(tmp_path):
    folder = save_arrays(tmp_path / "shards", "-{}", logits=Z, labels=Y)
    read = f"""
import resource
import subprocess
import sys
from pathlib import Path
from core.errors import Refused
from core.readers.sandbox.read import OTHER_HANDLES, read
resource.setrlimit(resource.RLIMIT_NOFILE, (OTHER_HANDLES, OTHER_HANDLES))
try:
    read(Path({str(folder)!r}))
except Refused as refused:
    print(refused)
"""
    done = subprocess.run([sys.executable, "-c", read], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("ARCHIVE_COUNT: The folder holds ")


def test_shards_without_room_for_them_are_refused(tmp_path, monkeypatch):
    folder = save_arrays(tmp_path / "shards", "-{}", logits=Z, labels=Y)
    needed = 2 * (Z.nbytes + Y.nbytes)
    for free in (needed, needed - 1):
        usage = SimpleNamespace(free=free)
        monkeypatch.setattr("shutil.disk_usage", lambda _, usage=usage: usage)
        if free == needed:
            joined(folder)
        else:
            assert refusal(folder).code == "QUOTA"


def test_shards_are_not_mapped_where_they_were_opened(tmp_path, monkeypatch):
    """What they hold together lies in none of them."""
    folder = save_arrays(tmp_path / "shards", "-{}", logits=Z)
    np.save(tmp_path / "truth.npy", Y)
    mapped, of_file = [], FileBytes.of_file

    def watched(name, file):
        mapped.append(name)
        return of_file(name, file)

    monkeypatch.setattr(FileBytes, "of_file", watched)
    options = ReadOptions(scores=ScoreKind.LOGITS)
    sandbox.read(folder, labels=tmp_path / "truth.npy", options=options, in_place=True)
    assert "truth.npy" in mapped
    assert not [name for name in mapped if name.startswith("logits-")]


def test_columns_of_text_keep_their_shape(tmp_path):
    names = Y.astype(str).astype("U5")[:, None]
    folder = save_arrays(tmp_path / "shards", "-{}", logits=Z, labels=names)
    np.testing.assert_array_equal(joined(folder).entries["labels"], names)


def test_shards_larger_than_an_array_may_be_are_refused(tmp_path, monkeypatch):
    folder = save_arrays(tmp_path / "shards", "-{}", logits=Z, labels=Y)
    n_bytes = Z.nbytes + Y.nbytes
    monkeypatch.setattr("core.defaults.MAX_MAPPED_BYTES", n_bytes)
    joined(folder)
    monkeypatch.setattr("core.defaults.MAX_MAPPED_BYTES", n_bytes - 1)
    refused = refusal(folder)
    assert (refused.code, f"{n_bytes:,}" in refused.what) == ("TABLE_SIZE", True)


def printed(*arguments):
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as errors:
        code = main(arguments)
    return code, out.getvalue(), errors.getvalue()


def test_the_audit_of_a_folder_is_that_of_the_file(tmp_path):
    folder = save_arrays(tmp_path / "shards", "-{:05}", logits=Z, labels=Y)
    (folder / "README.md").write_text("x")
    np.savez(tmp_path / "whole.npz", logits=Z, labels=Y)
    settings = ("--json", "-", "--resamples", "20")
    reports = [
        json.loads(printed("audit", str(path), *settings)[1])
        for path in (folder, tmp_path / "whole.npz")
    ]
    aside = reports[0]["notices"].pop(0)
    assert (aside["code"], aside["text"].split()[-1]) == ("FILES_SKIPPED", "README.md")
    for report in reports:
        assert report.pop("file") in ("shards", "whole.npz")
        report.pop("digest")
    assert reports[0] == reports[1]


def test_labels_may_come_in_a_file_of_their_own(tmp_path):
    folder = save_arrays(tmp_path / "shards", "-{}", logits=Z)
    np.save(tmp_path / "truth.npy", Y)
    options = ReadOptions(scores=ScoreKind.LOGITS)
    result = sandbox.read(folder, labels=tmp_path / "truth.npy", options=options)
    np.testing.assert_array_equal(result.splits["test"].scores, Z)
    np.testing.assert_array_equal(result.splits["test"].labels, Y)


def test_the_command_names_the_shard_that_it_refuses(tmp_path):
    folder = save_arrays(tmp_path / "shards", "-{}", logits=Z, labels=Y)
    cut_short(folder)
    code, _, errors = printed("audit", str(folder))
    assert code == 2
    assert errors.startswith("HEADER_SHAPE: ")
    assert errors.count("logits-1.npy") == 1
    code, _, errors = printed("audit", str(tmp_path / "truth"))
    assert (code, errors.split(":")[0]) == (3, "FILE")


def save_ranks(folder, n_ranks, *, indices, ids):
    """Write what each process of Lightning saves: batches of a sampler that fills the last rank."""
    folder.mkdir()
    padded = np.r_[np.arange(N), np.arange(-N % n_ranks)]
    for rank in range(n_ranks):
        own = padded[rank::n_ranks]
        parts = [own[k : k + 4] for k in range(0, len(own), 4)]
        batches = [{"logits": torch.tensor(Z[p]), "labels": torch.tensor(Y[p])} for p in parts]
        for batch, part in zip(batches, parts, strict=True):
            batch |= {"idx": torch.tensor(part)} if ids else {}
        torch.save([batches], folder / f"predictions_{rank}.pt")  # a list for each dataloader
        if indices:
            torch.save([[p.tolist() for p in parts]], folder / f"batch_indices_{rank}.pt")


@pytest.mark.parametrize("form", ["indices", "ids"])
def test_rows_that_a_distributed_sampler_repeats_count_once(tmp_path, form):
    n_ranks = 7  # 60 rows: the sampler repeats the first three
    save_ranks(tmp_path / "out", n_ranks, indices=form == "indices", ids=form == "ids")
    found = joined(tmp_path / "out")
    np.testing.assert_array_equal(found.entries["logits"], Z)
    np.testing.assert_array_equal(found.entries["labels"], Y)
    (text,) = (n.text for n in found.notices if "shards" in n.text)
    key = "id" if form == "indices" else "idx"
    assert text == (
        "7 shards were put together; 3 rows that several of them hold by "
        f"{key} counted once, in the order of their numbers"
    )


def test_without_ids_what_a_sampler_repeats_is_said_to_be_unknown(tmp_path):
    save_ranks(tmp_path / "out", 7, indices=False, ids=False)
    found = joined(tmp_path / "out")
    order = np.r_[np.arange(N), np.arange(3)]
    order = np.concatenate([order[rank::7] for rank in range(7)])
    np.testing.assert_array_equal(found.entries["logits"], Z[order])
    assert any("up to 6 rows that a distributed sampler repeats" in n.text for n in found.notices)


def test_a_rank_that_is_missing_or_unlike_is_named(tmp_path):
    save_ranks(tmp_path / "out", 3, indices=True, ids=False)
    (tmp_path / "out" / "batch_indices_2.pt").unlink()
    assert "no batch_indices of rank 2" in str(refusal(tmp_path / "out"))
    (tmp_path / "out" / "predictions_1.pt").unlink()
    assert "has the number 1" in str(refusal(tmp_path / "out"))
    torch.save([Z[:3], Z[:3]], tmp_path / "out" / "predictions_1.pt")
    for file in (tmp_path / "out").glob("batch*"):
        file.unlink()
    assert refusal(tmp_path / "out").file == "predictions_1.pt"
    torch.save({"a": "text"}, tmp_path / "out" / "batch_indices_0.pt")
    assert refusal(tmp_path / "out")
