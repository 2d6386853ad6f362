"""Files of each format are read; what cannot be audited is refused with a code and a remedy."""

import gzip
import io
import json
import pickle
import re
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest

from core.errors import Refused
from core.predictions import ScoreKind
from core.readers.formats.contents import FileBytes
from core.readers.formats.sniff import FileFormat, sniff
from core.readers.predictions.interpret import read_source
from core.readers.predictions.result import NeedsChoice, ReadOptions
from tests import hostile_cases as made

z, p, y = made.LOGITS, made.PROBABILITIES, made.LABELS
sig, findings = made.SIGMOID, made.FINDINGS
hole = np.arange(made.N)[:, None] == 5
few_z, few_y = z[:12], y[:12]
HEADER = {
    "logits": {"dtype": "F64", "shape": [12, 4], "data_offsets": [0, 384]},
    "labels": {"dtype": "I64", "shape": [12], "data_offsets": [384, 480]},
}
SCORED = [
    {
        "out": [{"label": n, "score": s} for n, s in zip(made.NAMES, row, strict=True)],
        "truth": made.NAMES[k],
    }
    for row, k in zip(made.PROBABILITIES[:12].tolist(), few_y.tolist(), strict=True)
]
VALID = {
    "file.npz": made.npz(logits=few_z, labels=few_y),
    "file.npy": made.npy(few_z),
    "file.csv": b"\n".join(made.CSV.splitlines()[:13]),
    "file.parquet": made.parquet({**dict(zip(made.NAMES, few_z.T, strict=True)), "label": few_y}),
    "file.safetensors": made.safetensors(HEADER, few_z.tobytes() + few_y.tobytes()),
    "file.json": json.dumps({"logits": few_z.tolist(), "labels": few_y.tolist()}).encode(),
    "two.pkl": made.pickled(((few_z, few_y), (few_z, few_y)), 2),
    "five.pkl": made.pickled({"logits": few_z, "labels": few_y}, 5),
    "lines.jsonl": b"\n".join(
        json.dumps({"logits": row.tolist(), "label": int(label)}).encode()
        for row, label in zip(few_z, few_y, strict=True)
    ),
    "split.json": json.dumps(
        {
            "columns": ["logits", "label"],
            "data": [list(r) for r in zip(few_z.tolist(), few_y.tolist(), strict=True)],
        }
    ).encode(),
    "lists.csv": made.table(
        ("logits", "label"),
        [[f'"{row.tolist()}"', label] for row, label in zip(few_z, few_y, strict=True)],
    ),
    "batches.pkl": made.pickled([(few_z[i : i + 3], few_y[i : i + 3]) for i in range(0, 12, 3)]),
    "lists.parquet": made.parquet({"logits": few_z.tolist(), "label": few_y}),
    "names.npz": made.npz(logits=few_z, labels=few_y, class_names=np.array(made.NAMES, object)),
    "table.feather": made.feather({**dict(zip(made.NAMES, few_z.T, strict=True)), "label": few_y}),
    "nested.json": json.dumps({"run": 1, "results": SCORED}).encode(),
    "samples.jsonl": b"\n".join(
        json.dumps(
            {"doc": {}, "target": int(label), "filtered_resps": [[v - 9, False] for v in row]}
        ).encode()
        for row, label in zip(few_z.tolist(), few_y, strict=True)
    ),
    "book.xlsx": made.workbook(
        [
            [*made.NAMES, "label"],
            *([*row, int(k)] for row, k in zip(few_z.tolist(), few_y, strict=True)),
        ]
    ),
    "packed.zip": made.archive({"a.csv": b"\n".join(made.CSV.splitlines()[:13])}),
}


def labels_of(name: str) -> FileBytes | None:
    """The labels of a valid file that has none."""
    return FileBytes.of_bytes("y.npy", made.npy(few_y)) if name == "file.npy" else None


@pytest.mark.parametrize("name", VALID)
def test_a_valid_file_of_each_form_holds_what_was_written(name: str) -> None:
    source = FileBytes.of_bytes(name, VALID[name])
    found = read_source(source, labels_of(name), ReadOptions())
    assert found.splits
    for ready in found.splits.values():
        read = ready.predictions()
        np.testing.assert_array_equal(read.scores.argmax(axis=1), few_z.argmax(axis=1))
        np.testing.assert_array_equal(read.labels, few_y)


def test_every_format_has_a_valid_file_and_every_suffix_a_row_of_the_docs() -> None:
    forms = {sniff(FileBytes.of_bytes(name, data)) for name, data in VALID.items()}
    assert forms == set(FileFormat)
    page = (Path(__file__).parents[3] / "docs" / "reading.md").read_text("utf-8")
    rows = page.partition("\n## Formats\n")[2].partition("\n## ")[0]
    first = " ".join(re.findall(r"^\| (.*?) \|", rows, re.MULTILINE))
    listed = set(re.findall(r"`\.(\w+)`", first))
    assert listed == {suffix for form in FileFormat for suffix in form.suffixes} | {"eval"}


def refusal(
    name: str,
    data: bytes,
    labels: tuple[str, bytes] | None = None,
    options: ReadOptions | None = None,
) -> Refused:
    second = None if labels is None else FileBytes.of_bytes(*labels)
    with pytest.raises(Refused) as caught:
        read_source(FileBytes.of_bytes(name, data), second, options or ReadOptions())
    return caught.value


def encrypted() -> bytes:
    data = bytearray(made.archive({"b.csv": made.CSV}))
    data[6] |= 1
    data[data.rfind(b"PK\x01\x02") + 8] |= 1
    return bytes(data)


def lying_size() -> bytes:
    """A member that claims one byte less than it holds."""
    data = bytearray(made.archive({"labels.npy": made.npy(y)}))
    at = data.rfind(b"PK\x01\x02") + 24
    data[at : at + 4] = struct.pack("<I", len(made.npy(y)) - 1)
    return bytes(data)


def overlapping() -> bytes:
    """Two names for the same stored bytes."""
    data = made.archive({"aaaaaa.npy": made.npy(y), "bbbbbb.npy": made.npy(y)})
    first, second = data.find(b"PK\x01\x02"), data.rfind(b"PK\x01\x02")
    out = bytearray(data)
    out[second + 42 : second + 46] = data[first + 42 : first + 46]
    return bytes(out)


def inside() -> bytes:
    """An entry whose stored bytes begin inside those of another."""
    data = bytearray(made.archive({"aaaaaa.npy": made.npy(y), "bbbbbb.npy": made.npy(y)}))
    second = data.rfind(b"PK\x01\x02")
    data[second + 42 : second + 46] = struct.pack("<I", 60)
    return bytes(data)


def link() -> bytes:
    """A member that is a symbolic link."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as packed:
        member = zipfile.ZipInfo("logits.npy")
        member.external_attr = 0o120777 << 16
        packed.writestr(member, "/etc/hostname")
    return out.getvalue()


def long_footer() -> bytes:
    data = bytearray(made.parquet({"a": [1.0]}))
    data[-8:-4] = struct.pack("<I", 2**31 - 1)
    return bytes(data)


def memo_far_away() -> bytes:
    """Fills memo slot 4,000,000,000, for which a naive reader allocates 32 GB."""
    return b"\x80\x02]r" + struct.pack("<I", 4_000_000_000) + b"."


TENSOR = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}
HUGE_SHAPE = "{'descr': '<f4', 'fortran_order': False, 'shape': (1000000, 1000000), }"
CASES = {
    "nan.npz": (made.npz(logits=np.where(hole, np.nan, z), labels=y), "NONFINITE", "row 5 col 0"),
    "inf.npz": (made.npz(logits=np.where(hole, np.inf, z), labels=y), "NONFINITE", "row 5 col 0"),
    "rowinf.npz": (made.npz(logits=np.where(hole, -np.inf, z), labels=y), "NONFINITE", "row 5"),
    "one_based.npz": (made.npz(logits=z, labels=y + 1), "LABEL_RANGE", "row"),
    "minus.npz": (made.npz(logits=z, labels=np.where(hole[:, 0], -1, y)), "LABEL_RANGE", "row 5"),
    "wrap.npz": (made.npz(logits=z, labels=y.astype("u8") + np.uint64(2**63)), "LABEL_RANGE", ""),
    "half.npz": (
        made.npz(logits=z, labels=np.where(hole[:, 0], 1.5, y)), "LABEL_NOT_INTEGER", "row 5",
    ),
    "soft.npz": (made.npz(logits=z, labels=p), "LABEL_SOFT", "row 0"),
    "unsure.npz": (
        made.npz(probs=sig, labels=np.where(hole, -1, findings)), "UNDECIDED", "",
    ),
    "short.npz": (made.npz(logits=z, labels=y[1:]), "LENGTH_MISMATCH", "logits and labels"),
    "empty.npz": (made.npz(logits=z[:0], labels=y[:0]), "EMPTY", "logits"),
    "column.npz": (made.npz(logits=z[:, :1], labels=y), "CLASSES", "logits"),
    "cube.npz": (made.npz(logits=z[None], labels=y), "CLASSES", "logits"),
    "complex.npz": (made.npz(logits=z.astype("c8"), labels=y), "DTYPE", "logits"),
    "decisions.npz": (made.npz(logits=z > 0, labels=y), "DTYPE", "logits"),
    "structured.npy": (made.npy(np.zeros(5, [("a", "f4")])), "DTYPE", ""),
    "dates.npy": (made.npy(np.zeros(5, "M8[s]")), "DTYPE", ""),
    "two.npz": (made.npz(logits=z, logits_test=z, labels=y), "AMBIGUOUS_KEYS", ""),
    "kinds.npz": (made.npz(logits=z, probs=p[::-1], labels=y), "UNDECIDED", ""),
    "alone.npy": (made.npy(z), "AMBIGUOUS_KEYS", ""),
    "negative.npz": (
        made.npz(probs=np.where(hole, -0.1, p), labels=y), "PROB_RANGE", "row 5 col 0",
    ),
    "percent.npz": (made.npz(probs=100 * p, labels=y), "PROB_RANGE", ""),
    "percent_unnamed.npz": (made.npz(scores=100 * p, labels=y), "PROB_RANGE", ""),
    "off.npz": (made.npz(probs=0.98 * p, labels=y), "PROB_SUM", "row"),
    "unsummed.npz": (made.npz(scores=sig, labels=y), "PROB_SUM", "row"),
    "claims.npy": (made.npy_header(HUGE_SHAPE), "HEADER_SHAPE", ""),
    "called.npy": (made.npy_header("__import__('os').getcwd()"), "HEADER_PARSE", ""),
    "nested.npy": (made.npy_header("[" * 9_000), "HEADER_PARSE", ""),
    "long.npy": (made.npy_header(" " * 20_000), "HEADER_LEN", ""),
    "junk.npy": (made.npy(z) + b"x", "TRAILING", ""),
    "cut.npy": (made.npy(z)[:-8], "HEADER_SHAPE", ""),
    "encrypted.zip": (encrypted(), "FORMAT_UNKNOWN", "b.csv"),
    "lying.npz": (lying_size(), "ARCHIVE_SIZE", "labels.npy"),
    "overlap.npz": (overlapping(), "ARCHIVE_OVERLAP", ""),
    "inside.npz": (inside(), "ARCHIVE_OVERLAP", "aaaaaa.npy"),
    "link.npz": (link(), "ARCHIVE_LINK", "logits.npy"),
    "hollow.zip": (made.archive({}), "EMPTY", ""),
    "up.zip": (made.archive({"../b.csv": made.CSV}), "ARCHIVE_PATH", "../b.csv"),
    "root.zip": (made.archive({"/b.csv": made.CSV}), "ARCHIVE_PATH", "/b.csv"),
    "drive.zip": (made.archive({"C:b.csv": made.CSV}), "ARCHIVE_PATH", "C:b.csv"),
    "crowd.npz": (made.archive({f"{i}.npy": b"" for i in range(2_001)}), "ARCHIVE_COUNT", ""),
    "nest.zip": (made.archive({"a.zip": made.archive({"b": b"x"})}), "ARCHIVE_NESTED", "a.zip"),
    "bomb.npz": (
        made.archive({"logits.npy": made.npy(np.zeros((10**6, 5)))}, zipfile.ZIP_DEFLATED),
        "ARCHIVE_RATIO", "",
    ),
    "after.npz": (made.npz(logits=z, labels=y) + bytes(500), "TRAILING", ""),
    "after.zip": (made.archive({"b.csv": made.CSV}) + b"x", "TRAILING", ""),
    "bzip.zip": (made.archive({"b.csv": made.CSV}, zipfile.ZIP_BZIP2), "FORMAT_UNKNOWN", "b.csv"),
    "sheet.xlsx": (made.archive({"[Content_Types].xml": b"x"}), "FORMAT_UNKNOWN", ""),
    "beside.npz": (made.archive({"a.npy": made.npy(z), "b.txt": b""}), "FORMAT_UNKNOWN", "b.txt"),
    "pair.zip": (made.archive({"a.csv": made.CSV, "b.csv": made.CSV}), "AMBIGUOUS_KEYS", "a.csv"),
    "nothing.npz": (b"", "EMPTY_FILE", ""),
    "renamed.npz": (made.CSV, "FORMAT_MISMATCH", ""),
    "renamed.csv": (made.npz(logits=z), "FORMAT_MISMATCH", ""),
    "picture.npz": (b"\x89PNG\r\n\x1a\n", "FORMAT_MISMATCH", ""),
    "picture.png": (b"\x89PNG\r\n\x1a\n", "IMAGE", ""),
    "film.dcm": (bytes(128) + b"DICM", "PHI", ""),
    "bare": (b"\x08\0\5\0CS\x0a\0ISO_IR 100", "PHI", ""),
    "pointer.p": (b"version https://git-lfs.github.com/spec/v1\noid", "FORMAT_MISMATCH", ""),
    "page.csv": (b"<!DOCTYPE html><html></html>", "FORMAT_MISMATCH", ""),
    "packed.csv.gz": (gzip.compress(made.CSV, mtime=0), "FORMAT_UNKNOWN", ""),
    "model.onnx": (made.ONNX, "STATE_DICT", ""),
    "model.keras": (made.KERAS, "FORMAT_UNKNOWN", ""),
    "model.h5": (b"\x89HDF\r\n\x1a\n" + bytes(99), "FORMAT_UNKNOWN", ""),
    "saved_model.pb": (b"\x08\x01\x12\xa0\x01\n" + bytes(99), "FORMAT_UNKNOWN", ""),
    "model.gguf": (b"GGUF\3\0\0\0" + bytes(99), "FORMAT_UNKNOWN", ""),
    "model.tflite": (b"\x1c\0\0\0TFL3" + bytes(99), "FORMAT_UNKNOWN", ""),
    "noise": (bytes(range(256)), "FORMAT_UNKNOWN", ""),
    "evil.pkl": (made.pickled(made.Evil(), 2), "PICKLE_GLOBAL", "__builtin__.exec"),
    "prefix.pkl": (made.pickled(made.ByPrefix()), "PICKLE_GLOBAL", "runstring"),
    "masked.pkl": (made.pickled(np.ma.masked_array(z)), "PICKLE_GLOBAL", "_mareconstruct"),
    "objects.pkl": (made.pickled((np.array([z, None], object), y)), "OBJECT_DTYPE", ""),
    "memo.pkl": (memo_far_away(), "PICKLE_LIMIT", ""),
    "claim.pkl": (b"\x80\x04\x8e" + struct.pack("<Q", 2**40) + b"x.", "PICKLE_LIMIT", ""),
    "registry.pkl": (b"\x80\x02\x82\x01.", "PICKLE_SHAPE", ""),
    "instance.pkl": (b"\x80\x02(ios\ngetcwd\n.", "PICKLE_SHAPE", ""),
    "after.pkl": (made.pickled((z, y)) + b"x", "TRAILING", ""),
    "cut.pkl": (made.pickled((z, y))[:-3], "PICKLE_SHAPE", ""),
    "ragged.csv": (made.with_row(1, 2, 3, 4, 0, 9), "CSV_RAGGED", "line 5"),
    "gap.csv": (made.with_row("", 1, 2, 3, 0), "NONFINITE", "line 5"),
    "na.csv": (made.with_row("NA", 1, 2, 3, 0), "NONFINITE", "line 5"),
    "word.csv": (made.with_row("oops", 1, 2, 3, 0), "DTYPE", "line 5"),
    "over.csv": (made.with_row("1e400", 1, 2, 3, 0), "NONFINITE", ""),
    "under.csv": (made.with_row("-1e400", 1, 2, 3, 0), "NONFINITE", "row 3"),
    "unlabelled.csv": (made.with_row(1, 1, 2, 3, ""), "LABEL_NOT_INTEGER", "line 5"),
    "half.csv": (made.with_row(1, 1, 2, 3, 1.5), "LABEL_NOT_INTEGER", "line 5"),
    "twice.csv": (made.CSV.replace(b"c1", b"c0"), "CSV_HEADER", "line 1"),
    "shifted.csv": (made.CSV.replace(b"\n", b",\n").replace(b"label,", b"label"), "CSV_RAGGED", ""),
    "wide.csv": (b",".join([b"1"] * 20_001) + b"\n", "CSV_COLUMNS", "line 1"),
    "nul.csv": (made.CSV + b"\0", "CSV_ENCODING", "byte"),
    "header.csv": (made.CSV.splitlines()[0] + b"\n", "EMPTY", ""),
    "blank.csv": (b"\n\n", "EMPTY", ""),
    "models.csv": (b"model,top1,top5\nresnet,80,90\n", "FORMAT_UNKNOWN", ""),
    "null.parquet": (made.parquet({"prob_a": [None, 0.7], "prob_b": [1, 0.3], "y": [0, 1]}),
                     "NONFINITE", "row 0"),
    "lists.parquet": (made.parquet({"tags": [["a"]] * made.N, "y": y}), "DTYPE", "tags"),
    "footer.parquet": (long_footer(), "HEADER_LEN", ""),
    "cut.parquet": (made.parquet({"a": [1.0]})[:-5], "FORMAT_UNKNOWN", ""),
    "nan.json": (b'{"logits":[[1,NaN],[2,3]],"labels":[0,1]}', "NONFINITE", "row 0 col 1"),
    "null.json": (b'{"logits":[[1,2],[2,null]],"labels":[0,1]}', "NONFINITE", "row 1 col 1"),
    "records.json": (b'[{"a":1,"b":2,"y":0},{"a":null,"b":2,"y":1}]', "NONFINITE", "row 1 col 0"),
    "hollow.json": (b'{"logits":[[1,2],[2,3]],"labels":[0,null]}', "LABEL_NOT_INTEGER", "row 1"),
    "ragged.json": (b'{"logits":[[1,2],[2,3,4]],"labels":[0,1]}', "PICKLE_SHAPE", "row 1"),
    "percent_cell.csv": (made.with_row("20%", 1, 2, 3, 0), "PROB_RANGE", "line 5"),
    "over.json": (b'{"logits":[[1,1e400],[2,3]],"labels":[0,1]}', "NONFINITE", "row 0 col 1"),
    "wide.json": (b'{"logits":[[1,%s],[2,3]],"labels":[0,1]}' % (b"9" * 30), "DTYPE", ""),
    "digits.json": (b"[%s]" % (b"9" * 5_000), "HEADER_PARSE", ""),
    "deep.json": (b"[" * 100_000, "HEADER_PARSE", ""),
    "bools.json": (b'{"probs":[[true,0.5],[0.2,0.8]],"labels":[0,1]}', "DTYPE", ""),
    "decisions.json": (b'{"probs":[[true,false],[false,true]],"labels":[0,1]}', "DTYPE", "probs"),
    "dotted.json": (
        b'{"a.b":[{"prob":0.1,"label":0},{"prob":0.9,"label":1}],"a":{"b":[{"prob":0.9,"label":0},'
        b'{"prob":0.1,"label":1}]}}', "CSV_HEADER", "",
    ),
    "twice.json": (b'{"logits":[[1,2]],"logits":[[2,1]],"labels":[0]}', "CSV_HEADER", ""),
    "length.safetensors": (struct.pack("<Q", 3 * 10**9) + b"{}", "HEADER_LEN", ""),
    "overlap.safetensors": (made.safetensors({"a": TENSOR, "b": TENSOR}, bytes(8)), "HEADER_SHAPE",
                            "b"),
    "shape.safetensors": (made.safetensors({"a": {**TENSOR, "shape": [2**63, 2]}}, bytes(8)),
                          "HEADER_SHAPE", "a"),
    "after.safetensors": (made.safetensors({"a": TENSOR}, bytes(9)), "TRAILING", ""),
    "weights.safetensors": (made.safetensors({"fc.weight": TENSOR}, bytes(8)), "STATE_DICT", ""),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_refused_with_code_place_and_remedy(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    data, code, where = CASES[name]
    found = refusal(name, data)
    assert (found.code, where in found.location) == (code, True), found.to_json()
    assert found.what
    assert found.remedy
    for text in found.to_json().values():
        assert "Traceback" not in text
        assert str(tmp_path) not in text
    assert not (tmp_path / "pwned").exists()


def test_the_evil_pickles_would_act_if_they_were_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else their refusal above would prove nothing."""
    monkeypatch.chdir(tmp_path)
    for evil in (made.Evil(), made.ByPrefix()):
        function, arguments = evil.__reduce__()
        function(*arguments)
        (tmp_path / "pwned").unlink()
        assert pickle.dumps(evil)


def test_every_depth_of_sharing_is_bounded() -> None:
    tree: object = (1.0, 2.0)
    for _ in range(60):
        tree = (tree, tree)
    assert refusal("laughs.pkl", pickle.dumps(tree)).code == "PICKLE_SHAPE"
    itself: list[object] = []
    itself.append(itself)
    assert refusal("itself.pkl", pickle.dumps(itself)).code == "PICKLE_SHAPE"


def test_one_based_labels_are_named_as_such() -> None:
    assert "1-based" in refusal("x.npz", made.npz(logits=z, labels=y + 1)).what


def test_percent_is_named_with_its_remedy() -> None:
    found = refusal("x.npz", made.npz(probs=100 * p, labels=y))
    assert "percent" in found.what
    assert "100" in found.remedy


def test_a_declared_kind_that_the_values_contradict_is_refused() -> None:
    data = made.npz(scores=sig, labels=y)
    for kind, code in (("probabilities", "PROB_SUM"), ("sigmoid", "CLASSES")):
        assert refusal("x.npz", data, options=ReadOptions(ScoreKind(kind))).code == code
    logits = made.npz(scores=z, labels=y)
    assert refusal("x.npz", logits, options=ReadOptions(ScoreKind.SIGMOID)).code == "PROB_RANGE"


def test_an_unknown_key_is_refused_with_those_that_exist() -> None:
    for options in (ReadOptions(scores_key="nope"), ReadOptions(labels_key="nope")):
        found = refusal("x.npz", made.npz(logits=z, labels=y), options=options)
        assert found.code == "AMBIGUOUS_KEYS"
        assert "logits" in found.remedy


SCORES = made.table(("image", *made.NAMES), [[made.IDS[i], *z[i]] for i in range(made.N)])
LISTED = [[made.IDS[i], y[i]] for i in made.SHUFFLED]


@pytest.mark.parametrize(
    ("rows", "shown"),
    [(LISTED[2:], LISTED[0][0]), ([*LISTED, LISTED[7]], LISTED[7][0])],
    ids=["missing", "twice"],
)
def test_rows_without_a_label_or_with_two_are_named(rows: list[list[object]], shown: str) -> None:
    found = refusal("x.csv", SCORES, ("y.csv", made.table(("image", "label"), rows)))
    assert found.code == "LENGTH_MISMATCH"
    assert shown in found.what


def test_a_bad_label_file_is_named() -> None:
    found = refusal("x.csv", SCORES, ("y.csv", b""))
    assert (found.code, found.file) == ("EMPTY_FILE", "y.csv")
    unnamed = made.table(("image", "left", "right"), [[i, 0, 1] for i in range(12)])
    found = refusal("x.csv", SCORES, ("y.csv", unnamed))
    assert (found.location, found.file) == ("label file", "y.csv")


def test_a_refusal_for_want_of_a_choice_carries_what_may_be_chosen() -> None:
    keys = refusal("x.npz", made.npz(logits=z, probs=p[::-1], labels=y))
    assert isinstance(keys, NeedsChoice)
    assert keys.inspection.scores_keys == ("logits", "probs")
    assert keys.inspection.labels_keys == ("labels",)
    assert keys.inspection.rows[0][-1] == str(y[0])
    kinds = refusal("x.npz", made.npz(scores=sig, labels=y))
    assert isinstance(kinds, NeedsChoice)
    possible = {str(r.kind): r.possible for r in kinds.inspection.readings}
    assert possible == {"logits": True, "probabilities": False, "sigmoid": False}
    logits = kinds.inspection.readings[0]
    assert logits.accuracy == pytest.approx(np.mean(z.argmax(axis=1) == y))


@pytest.mark.parametrize("name", ["ndarray", "dtype"])
def test_a_known_name_of_another_module_is_refused(name: str) -> None:
    """The pair of module and name is allowed, never a name below a trusted package."""
    data = f"cnumpy.testing\n{name}\n.".encode()
    error = refusal("a.pkl", data)
    assert error.code == "PICKLE_GLOBAL"
    assert f"numpy.testing.{name}" in error.what


def test_lines_above_the_header_count_in_the_place() -> None:
    """A refused cell is named by its line in the file, comments included."""
    rows = [list(row) for row in made.ROWS]
    rows[4][1] = "nan"
    header = [*(f"logit_{k}" for k in range(made.K)), "label"]
    plain = made.table(header, rows)
    assert "line 6" in refusal("a.csv", plain).location
    assert "line 8" in refusal("a.csv", b"# made by hand\n# twice\n" + plain).location


NAMED = ["cat", "dog", "owl", "rat"]
PARTS = {
    "columns": {"test_logits": z[:9, :2], "test_labels": y[:9] % 2},
    "names": {"test_logits": z[:9], "test_labels": np.array(["ape", *NAMED[1:]])[y[:9]]},
    "task": {"test_logits": z[:9], "test_labels": np.maximum(findings[:9], np.eye(made.K)[y[:9]])},
}


@pytest.mark.parametrize("case", PARTS)
def test_parts_that_do_not_go_together_are_refused_naming_both(case: str) -> None:
    labels = np.array(NAMED)[y] if case == "names" else y
    data = made.npz(val_logits=z, val_labels=labels, **PARTS[case])
    found = refusal("a.npz", data)
    assert (found.code, found.location) == ("CLASSES", "test_logits")
    assert "val part" in found.what
    assert "test part" in found.what
    shown = {"columns": "2 classes", "names": "ape", "task": "multilabel"}[case]
    assert shown in found.what
    alone = ReadOptions(scores_key="test_logits", labels_key="test_labels")
    assert list(read_source(FileBytes.of_bytes("a.npz", data), None, alone).splits) == ["test"]


def test_class_numbers_of_stated_answers_are_bounded() -> None:
    """Each class gets a name: two billion of them would fill the memory of the app."""
    data = made.npz(confidence=p[:, 0], predicted=y, labels=np.where(hole[:, 0], 2**31 - 1, y))
    found = refusal("a.npz", data)
    assert (found.code, found.location) == ("LABEL_RANGE", "row 5")


@pytest.mark.parametrize("name", [name for name in CASES if name.startswith(("model.", "saved_"))])
def test_a_model_is_named_with_what_to_make_of_it(name: str) -> None:
    found = refusal(name, CASES[name][0])
    kinds = ("ONNX", "Keras", "TensorFlow", "GGUF")
    assert sum(kind in found.what for kind in kinds) == 1
    assert "save its outputs" in found.remedy
    assert ("open it under Evaluate" in found.remedy) == (name == "model.onnx")


def test_a_refusal_names_the_value_the_row_and_the_remedy() -> None:
    """Messages that were once wrong or unclear, word by word."""
    huge = refusal("a.npz", made.npz(logits=z, labels=y.astype("u8") + np.uint64(2**63)))
    assert f"Label {2**63 + int(y[0])} " in huge.what
    ragged = refusal("a.json", CASES["ragged.json"][0])
    assert ragged.what == "Rows differ in length: 3 values where row 0 has 2"
    missing = refusal("a.json", CASES["null.json"][0])
    assert "missing" in missing.what
    percent = refusal("a.csv", CASES["percent_cell.csv"][0])
    assert "'20%'" in percent.what
    assert "with a percent sign" in percent.remedy
    single = refusal("a.npz", made.npz(logits=z[:1], labels=y[:2]))
    assert single.what == "The scores have 1 row, the labels 2"
    weights = refusal("a.safetensors", CASES["weights.safetensors"][0])
    assert "logits or probabilities" in weights.remedy
    assert "page" not in weights.remedy
    for name in ("picture.png", "film.dcm"):
        remedy = refusal(name, CASES[name][0]).remedy
        assert "logits or probabilities" in remedy
        assert "on the Chest X-ray page" in remedy


def test_a_copy_that_broke_off_is_called_cut_off_and_copied_again() -> None:
    packed = io.BytesIO()
    np.savez_compressed(packed, probs=p, labels=y)
    plain = io.BytesIO()
    np.savez(plain, probs=p, labels=y)
    whole = {
        "a.pkl": pickle.dumps({"probs": p, "labels": y}),
        "a.npz": plain.getvalue(),
        "b.npz": packed.getvalue(),
    }
    for name, data in whole.items():
        for share in (0.3, 0.9, 0.999):
            cut = data[: int(share * len(data))]
            refused = refusal(name, cut)
            assert refused.what == f"The file is cut off after {len(cut):,} bytes"
            assert refused.remedy == "copy or download it again"
