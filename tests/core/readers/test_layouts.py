"""Every way in which people store predictions gives the same numbers, and what was guessed."""

import numpy as np
import pytest

from core.errors import Refused
from core.predictions import Predictions, ScoreKind, Task
from core.readers.formats.contents import FileBytes
from core.readers.predictions.interpret import InterpretedFile, read_source
from core.readers.predictions.result import ReadOptions
from tests import hostile_cases as made

z, p, y = made.LOGITS, made.PROBABILITIES, made.LABELS
sig, findings = made.SIGMOID, made.FINDINGS
names = np.array(made.NAMES)
binary = (y == 0).astype(np.int64)
FLIPPED = [[*row[:-1], made.NAMES[row[-1]]] for row in made.ROWS]


def read(
    name: str,
    data: bytes,
    labels: tuple[str, bytes] | None = None,
    options: ReadOptions | None = None,
) -> InterpretedFile:
    second = None if labels is None else FileBytes.of_bytes(*labels)
    return read_source(FileBytes.of_bytes(name, data), second, options or ReadOptions())


def predictions(found: InterpretedFile, split: str = "test") -> Predictions:
    return found.splits[split].predictions()


def codes(found: InterpretedFile) -> set[str]:
    return {notice.code for notice in found.notices}


def test_the_data_tells_mistakes_apart() -> None:
    """Else a wrong order of classes or rows could go unseen below."""
    accuracy = np.mean(z.argmax(axis=1) == y)
    assert 0.7 < accuracy < 1.0
    assert set(y) == set(range(made.K))
    assert findings.sum(axis=1).min() == 0
    assert findings.sum(axis=1).max() > 1


MULTICLASS = {
    "plain.npz": (made.npz(logits=z, labels=y), set()),
    "column.npz": (made.npz(logits=z, labels=y[:, None].astype(np.uint8)), set()),
    "row.npz": (made.npz(logits=z, labels=y[None]), set()),
    "onehot.npz": (made.npz(logits=z, labels=np.eye(made.K)[y]), set()),
    "whole_floats.npz": (made.npz(logits=z, labels=y.astype(np.float32)), set()),
    "big_endian.npz": (made.npz(logits=np.asfortranarray(z, ">f8"), labels=y.astype(">i2")), set()),
    "matrix.npz": (made.npz(logits=z, labels=y, features=z[:, :2]), {"KEYS_GUESSED"}),
    "positions.npz": (made.npz(arr_0=z, arr_1=y), {"KEYS_GUESSED"}),
    "transposed.npz": (made.npz(logits=z.T, labels=y), {"ORIENTATION"}),
    "names.npz": (made.npz(logits=z, labels=names[y]), {"KEYS_GUESSED"}),
    "reversed.npz": (
        made.npz(logits=z[:, ::-1], labels=names[y], class_names=names[::-1]), set(),
    ),
    "camel.npz": (made.npz(testLogits=z, yTest=y), set()),
    "pair.pkl": (made.pickled((z, y), 2), set()),
    "reversed_pair.p": (made.pickled((y[:, None], z), 5), set()),
    "lists.pkl": (made.pickled({"logits": z.tolist(), "labels": y.tolist()}, 0), set()),
    "aside.pkl": (made.pickled({"logits": z, "labels": y, "epoch": 3}, 3), {"KEYS_GUESSED"}),
    "dict.dat": (made.pickled({"logits": z, "labels": y}), set()),
    "plain.csv": (made.CSV, set()),
    "bom.csv": (b"\xef\xbb\xbf" + made.CSV, set()),
    "utf16.csv": (made.CSV.decode().encode("utf-16"), {"ENCODING_GUESSED"}),
    "tabs.tsv": (made.table(made.HEADER, made.ROWS, "\t"), set()),
    "semicolons.csv": (made.table(made.HEADER, made.ROWS, ";"), {"DIALECT"}),
    "decimal_comma.csv": (
        made.table(made.HEADER, made.ROWS, ";").replace(b".", b","), {"DIALECT"},
    ),
    "cr.csv": (made.CSV.replace(b"\n", b"\r"), {"DIALECT"}),
    "crlf.csv": (made.CSV.replace(b"\n", b"\r\n"), set()),
    "blank_lines.csv": (made.CSV.replace(b"\n", b"\n\n"), set()),
    "comment.csv": (b"# by a script\n" + made.CSV, {"DIALECT"}),
    "five_words.csv": (b"#by,a,script,of,mine\n" + made.CSV, {"DIALECT"}),
    "savetxt.csv": (b"# " + made.CSV, set()),
    "savetxt.txt": (b"# " + made.CSV.replace(b",", b" "), {"DIALECT"}),
    "number_sign.csv": (
        made.table(("#", *made.HEADER), [[i, *r] for i, r in enumerate(made.ROWS)]),
        {"INDEX_COLUMN"},
    ),
    "trailing.csv": (made.CSV.replace(b"\n", b",\n"), {"DIALECT"}),
    "no_header.csv": (made.table((), made.ROWS), {"HEADER_GUESSED", "KEYS_GUESSED"}),
    "label_first.csv": (
        made.table((), [[r[-1], *r[:-1]] for r in made.ROWS]), {"HEADER_GUESSED", "KEYS_GUESSED"},
    ),
    "numbered.csv": (
        made.table(("", *made.HEADER), [[i, *r] for i, r in enumerate(made.ROWS)]),
        {"INDEX_COLUMN"},
    ),
    "numbered_no_header.csv": (
        made.table((), [[i, *r] for i, r in enumerate(made.ROWS)]),
        {"HEADER_GUESSED", "INDEX_COLUMN", "KEYS_GUESSED"},
    ),
    "weights.npz": (made.npz(arr_0=z, arr_1=p[:, 0], arr_2=y), {"KEYS_GUESSED"}),
    "quoted.csv": (
        made.table(("id", *made.HEADER), [[f'"a\n{i}"', *r] for i, r in enumerate(made.ROWS)]),
        set(),
    ),
    "named.csv": (made.table((*made.NAMES, "label"), FLIPPED), set()),
    "float_labels.csv": (made.CSV.replace(b"\n", b".0\n").replace(b"label.0", b"label"), set()),
    "plain.parquet": (
        made.parquet({**dict(zip(made.NAMES, z.T, strict=True)), "y": y}), {"KEYS_GUESSED"},
    ),
    "packed.zip": (made.archive({"a/b.csv": made.CSV, "__MACOSX/._b": b"x"}), set()),
    "remark.zip": (made.remarked(made.archive({"b.csv": made.CSV}), b"by a script"), set()),
    "packed_npz.zip": (made.archive({"b.npz": made.npz(logits=z, labels=y)}), set()),
    "records.json": (
        b'[%s]' % b",".join(
            b'{"label":%d,"a":%f,"b":%f,"c":%f,"d":%f}' % (y[i], *z[i]) for i in range(made.N)
        ),
        {"KEYS_GUESSED"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MULTICLASS)
def test_the_same_logits_and_labels_come_out_of_every_wrapping(name: str) -> None:
    data, expected = MULTICLASS[name]
    found = read(name, data)
    got = predictions(found)
    assert (got.task, got.kind) == (Task.MULTICLASS, ScoreKind.LOGITS)
    order = slice(None, None, -1) if name == "reversed.npz" else slice(None)
    np.testing.assert_allclose(got.scores[:, order], z, atol=1e-6)
    np.testing.assert_array_equal(got.labels, made.K - 1 - y if order.step else y)
    assert codes(found) == expected


def test_class_names_come_from_columns_and_keys() -> None:
    assert predictions(read("named.csv", MULTICLASS["named.csv"][0])).class_names == made.NAMES
    header = (*(f"prob_{n}" for n in made.NAMES), "label")
    got = predictions(read("prefix.csv", made.table(header, made.ROUNDED)))
    assert got.class_names == made.NAMES
    assert predictions(read("r.npz", MULTICLASS["reversed.npz"][0])).class_names == made.NAMES[::-1]


def test_labels_may_be_the_numbers_in_the_column_names() -> None:
    rows = [[*row[:-1], row[-1] + 1] for row in made.ROUNDED]
    found = read("x.csv", made.table(("p_1", "p_2", "p_3", "p_4", "label"), rows))
    np.testing.assert_array_equal(predictions(found).labels, y)
    assert "KEYS_GUESSED" in codes(found)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i1", "i4"])
def test_scores_keep_their_dtype_and_whole_numbers_become_floats(dtype: str) -> None:
    scores = (z * 10).astype(dtype)
    got = predictions(read("x.npz", made.npz(logits=scores, labels=y)))
    wanted = {"i1": "f4", "i4": "f8"}.get(dtype, dtype)
    assert got.scores.dtype == np.dtype(wanted)
    np.testing.assert_array_equal(got.scores, scores.astype(wanted))


def test_binary_scores_come_as_one_column_or_two() -> None:
    flat = read("x.npz", made.npz(y_score=p[:, 0], y_true=binary == 1))
    assert codes(flat) == {"SCORES_GUESSED"}
    got = predictions(flat)
    assert (got.task, got.kind, got.scores.shape) == (
        Task.BINARY,
        ScoreKind.PROBABILITIES,
        (made.N,),
    )
    np.testing.assert_array_equal(got.labels, binary)
    two = predictions(read("x.npz", made.npz(probs=np.c_[1 - p[:, 0], p[:, 0]], labels=binary)))
    assert (two.task, two.scores.shape) == (Task.BINARY, (made.N, 2))
    np.testing.assert_allclose(two.column(1), got.column(1))
    declared = ReadOptions(scores=ScoreKind.PROBABILITIES)
    thin = read("x.npz", made.npz(probs=p[:, :1], labels=binary), options=declared)
    np.testing.assert_array_equal(predictions(thin).scores, p[:, 0])


def test_one_column_outside_zero_to_one_is_a_logit() -> None:
    got = predictions(read("x.npz", made.npz(scores=z[:, 0], labels=binary)))
    assert (got.task, got.kind) == (Task.BINARY, ScoreKind.LOGITS)


@pytest.mark.parametrize(
    ("key", "scores", "kind", "expected"),
    [
        ("scores", sig, ScoreKind.SIGMOID, {"SCORES_GUESSED"}),
        ("probs", sig, ScoreKind.SIGMOID, set()),
        ("logits", z, ScoreKind.LOGITS, set()),
        ("sigmoid", sig, ScoreKind.SIGMOID, set()),
    ],
)
def test_a_zero_one_matrix_of_labels_makes_it_multilabel(
    key: str, scores: np.ndarray, kind: ScoreKind, expected: set[str]
) -> None:
    found = read("x.npz", made.npz(**{key: scores, "labels": findings}))
    got = predictions(found)
    assert (got.task, got.kind) == (Task.MULTILABEL, kind)
    np.testing.assert_array_equal(got.labels, findings)
    assert codes(found) == expected


def test_one_hot_labels_beside_sigmoid_scores_stay_a_matrix() -> None:
    got = predictions(read("x.npz", made.npz(scores=sig, labels=np.eye(made.K)[y])))
    assert (got.task, got.kind) == (Task.MULTILABEL, ScoreKind.SIGMOID)
    np.testing.assert_array_equal(got.labels, np.eye(made.K)[y])


def test_columns_of_labels_follow_the_names_of_the_scores() -> None:
    header = ("id", *(f"y_{n}" for n in made.NAMES[::-1]), *(f"prob_{n}" for n in made.NAMES))
    rows = [[f"r{i}", *findings[i, ::-1], *sig[i]] for i in range(made.N)]
    got = predictions(read("x.csv", made.table(header, rows)))
    assert (got.task, got.class_names) == (Task.MULTILABEL, made.NAMES)
    np.testing.assert_array_equal(got.labels, findings)
    assert got.row_ids[:2] == ("r0", "r1")


@pytest.mark.parametrize("words", [False, True])
def test_top_label_files_state_answer_and_confidence(words: bool) -> None:
    shown = names if words else np.arange(made.K)
    rows = [[shown[y[i]], shown[z[i].argmax()], p[i].max()] for i in range(made.N)]
    found = read("x.csv", made.table(("true_label", "pred_label", "confidence"), rows))
    got = predictions(found)
    assert (got.task, got.kind) == (Task.TOP_LABEL, ScoreKind.CONFIDENCE)
    np.testing.assert_array_equal(got.rows.correct, z.argmax(axis=1) == y)
    np.testing.assert_allclose(got.scores, p.max(axis=1))
    arrays = made.npz(pred=z.argmax(axis=1), conf=p.max(axis=1), label=y)
    np.testing.assert_array_equal(predictions(read("x.npz", arrays)).labels, y)


SPLITS = {
    "keys.npz": made.npz(val_logits=z, val_labels=y, logits_test=z[:9], y_test=y[:9]),
    "pairs.p": made.pickled(((z, y[:, None]), (z[:9], y[:9, None])), 2),
    "nested.pkl": made.pickled({"valid": (z, y), "test": {"logits": z[:9], "y": y[:9]}}),
    "column.csv": made.table(
        ("split", *made.HEADER),
        [["val", *r] for r in made.ROWS] + [["Test", *r] for r in made.ROWS[:9]],
    ),
}


@pytest.mark.parametrize("name", SPLITS)
def test_a_file_may_hold_a_validation_and_a_test_part(name: str) -> None:
    found = read(name, SPLITS[name])
    assert list(found.splits) == ["val", "test"]
    assert "SPLIT_CHOSEN" in codes(found)
    np.testing.assert_array_equal(predictions(found, "val").labels, y)
    np.testing.assert_allclose(predictions(found).scores, z[:9], atol=1e-6)


def test_a_key_picks_one_of_several() -> None:
    both = made.npz(logits=z, probs=p, labels=y, other=y[::-1].copy())
    options = ReadOptions(scores_key="probs", labels_key="other")
    got = predictions(read("x.npz", both, options=options))
    np.testing.assert_array_equal(got.scores, p)
    np.testing.assert_array_equal(got.labels, y[::-1])


def test_a_prefix_or_a_list_picks_columns() -> None:
    header = (*(f"a_{n}" for n in made.NAMES), *(f"b_{n}" for n in made.NAMES), "label")
    data = made.table(header, [[*z[i], *p[i], y[i]] for i in range(made.N)])
    for key in ("b_", ",".join(f"b_{n}" for n in made.NAMES)):
        got = predictions(read("x.csv", data, options=ReadOptions(scores_key=key)))
        np.testing.assert_allclose(got.scores, p)
        assert got.class_names == made.NAMES


JOINED = made.table(
    ("image", *made.NAMES), [[made.IDS[i], *made.ROWS[i][:-1]] for i in range(made.N)]
)
LISTED = [[made.IDS[i], made.NAMES[y[i]]] for i in made.SHUFFLED]
LABEL_FILES = {
    "header.csv": (made.table(("image", "label"), LISTED), set()),
    "superset.csv": (made.table(("image", "label"), [*LISTED, ["x.png", "cat"]]), {"KEYS_GUESSED"}),
    "folders.csv": (made.table(("path", "label"), [[f"a/b/{i}", v] for i, v in LISTED]), set()),
    "spaces.txt": (
        made.table((), [[i, made.NAMES.index(v)] for i, v in LISTED], " "),
        {"DIALECT", "HEADER_GUESSED", "KEYS_GUESSED"},
    ),
    "in_order.npy": (made.npy(y), {"KEYS_GUESSED"}),
    "in_order.npz": (made.npz(labels=y, weights=p[:, 0]), {"KEYS_GUESSED"}),
}


@pytest.mark.parametrize("name", LABEL_FILES)
def test_labels_of_a_second_file_find_their_rows(name: str) -> None:
    data, expected = LABEL_FILES[name]
    found = read("scores.csv", JOINED, (name, data))
    got = predictions(found)
    np.testing.assert_array_equal(got.labels, y)
    assert got.row_ids == tuple(made.IDS)
    assert codes(found) == expected


def test_a_first_line_that_counts_the_columns_is_no_row() -> None:
    scores = made.table(("0", "1", "2", "3"), [row[:-1] for row in made.ROWS])
    found = read("x.csv", scores, ("y.csv", made.table((), [[v] for v in y])))
    np.testing.assert_array_equal(predictions(found).labels, y)
    assert codes(found) == {"HEADER_GUESSED"}


def test_rows_with_two_labels_are_multilabel_even_beside_logits() -> None:
    several = np.maximum(findings, np.eye(made.K, dtype=int)[y])
    assert several.sum(axis=1).min() == 1
    got = predictions(read("x.npz", made.npz(logits=z, labels=several)))
    assert (got.task, got.kind) == (Task.MULTILABEL, ScoreKind.LOGITS)
    np.testing.assert_array_equal(got.labels, several)


def test_a_second_file_overrules_labels_of_the_first_and_says_so() -> None:
    other = np.where(np.arange(made.N) % 9 == 8, (y + 1) % made.K, y)
    found = read("x.npz", made.npz(logits=z, labels=y), ("y.npy", made.npy(other)))
    np.testing.assert_array_equal(predictions(found).labels, other)
    table = read("x.csv", made.CSV, ("y.npy", made.npy(other)))
    np.testing.assert_array_equal(predictions(table).labels, other)
    assert "KEYS_GUESSED" in codes(table)


def test_timm_lists_need_the_truth_from_a_second_file() -> None:
    answers = [[made.IDS[i], z[i].argmax(), p[i].max()] for i in range(made.N)]
    scores = made.table(("filename", "label", "prob"), answers)
    truth = made.table(("filename", "label"), [[made.IDS[i], y[i]] for i in made.SHUFFLED])
    got = predictions(read("x.csv", scores, ("y.csv", truth)))
    assert got.task is Task.TOP_LABEL
    np.testing.assert_array_equal(got.labels, y)


def test_bfloat16_is_widened_exactly() -> None:
    bits = (z.astype("f4").view("u4") >> 16).astype("u2")
    header = {
        "logits": {"dtype": "BF16", "shape": list(z.shape), "data_offsets": [0, bits.nbytes]},
        "labels": {"dtype": "I64", "shape": [made.N],
                   "data_offsets": [bits.nbytes, bits.nbytes + y.nbytes]},
    }  # fmt: skip
    data = made.safetensors(header, bits.tobytes() + y.tobytes())
    got = predictions(read("x.safetensors", data))
    assert got.scores.dtype == np.float32
    np.testing.assert_array_equal(got.scores.view("u4"), bits.astype("u4") << 16)


@pytest.mark.parametrize("dtype", ["BF16", "F32"])
def test_probabilities_may_be_off_by_the_rounding_of_bfloat16_and_of_no_other(dtype) -> None:
    bits = (p.astype("f4").view("u4") >> 16).astype("u2")  # cut off, which adds up
    stored = bits if dtype == "BF16" else (bits.astype("u4") << 16).view("f4")
    header = {
        "scores": {"dtype": dtype, "shape": list(p.shape), "data_offsets": [0, stored.nbytes]},
        "labels": {"dtype": "I64", "shape": [made.N],
                   "data_offsets": [stored.nbytes, stored.nbytes + y.nbytes]},
    }  # fmt: skip
    data = made.safetensors(header, stored.tobytes() + y.tobytes())
    if dtype == "BF16":
        found = read("x.safetensors", data)
        assert predictions(found).kind is ScoreKind.PROBABILITIES
        assert "RENORMALISED" in codes(found)
    else:
        with pytest.raises(Refused) as caught:
            read("x.safetensors", data)
        assert caught.value.code == "PROB_SUM"


def test_a_single_row_is_read() -> None:
    got = predictions(read("x.npz", made.npz(logits=z[:1], labels=y[:1])))
    assert got.n == 1


def test_a_row_without_any_class_is_no_one_hot_row() -> None:
    """All but one row one-hot, one row empty: that is multi-label, not class 0."""
    hot = np.eye(made.K, dtype=np.int64)[y]
    hot[3] = 0
    found = predictions(read("a.npz", made.npz(scores=sig[:, : made.K], labels=hot)))
    assert found.task is Task.MULTILABEL
    assert found.labels[3].sum() == 0


def test_a_guess_keeps_what_else_must_be_said() -> None:
    loose = (p * (1.0 + 2e-5)).astype(np.float32)
    found = read("a.npz", made.npz(scores=loose, labels=y))
    assert codes(found) >= {"SCORES_GUESSED", "RENORMALISED"}
    assert predictions(found).renormalise


def test_each_part_of_a_table_keeps_the_names_of_its_rows() -> None:
    """A column of parts cuts scores, labels and row names alike."""
    rows = [[f"r{i}", ("val", "test")[i % 2], *row] for i, row in enumerate(made.ROWS)]
    header = ["id", "split", *(f"logit_{k}" for k in range(made.K)), "label"]
    found = read("a.csv", made.table(header, rows))
    for at, split in enumerate(("val", "test")):
        part = predictions(found, split)
        assert part.row_ids == tuple(f"r{i}" for i in range(at, made.N, 2))
        assert part.labels.tolist() == y[at::2].tolist()


@pytest.mark.parametrize("words", [False, True])
def test_parts_that_state_answers_share_their_classes(words: bool) -> None:
    """A class that one part lacks keeps its place there."""
    rows = [["val", "dog", 0.9, "cat"], ["val", "cat", 0.6, "cat"], ["test", "ant", 0.7, "dog"]]
    at = {"ant": 0, "cat": 1, "dog": 2}
    if not words:
        rows = [[split, at[str(a)], c, at[str(b)]] for split, a, c, b in rows]
    found = read("a.csv", made.table(("split", "predicted", "confidence", "label"), rows))
    val, test = predictions(found, "val"), predictions(found)
    assert val.class_names == test.class_names == (tuple(at) if words else ("0", "1", "2"))
    assert (val.predicted.tolist(), val.labels.tolist()) == ([2, 1], [1, 1])
    assert (test.predicted.tolist(), test.labels.tolist()) == ([0], [2])


# Inputs of no class -----------------------------------------------------------------------------

OUTSIDE = ReadOptions(unlabelled=True)


@pytest.mark.parametrize(
    "data",
    [
        made.npz(logits=z),
        made.npz(logits=z, labels=np.full(len(z), -1)),
        made.npz(logits=z, labels=y),
        made.npz(logits=z, label=np.full(len(z), -1), names=np.array(["a", "b"])),
        made.npy(z),
    ],
    ids=["none", "minus-one", "looked-past", "odd-companions", "bare"],
)
def test_scores_of_no_class_need_no_labels(data: bytes) -> None:
    name = "outside.npy" if data.startswith(b"\x93NUMPY") else "outside.npz"
    found = read(name, data, options=OUTSIDE)
    got = predictions(found)
    np.testing.assert_array_equal(got.scores, z)
    assert (got.labelled, got.kind) == (False, ScoreKind.LOGITS)
    assert set(got.labels) == {-1}
    assert all(reading.accuracy is None for reading in found.inspection.readings)
    assert found.recipe.unlabelled


@pytest.mark.parametrize("label", [-1, 7], ids=["outside", "inside"])
def test_openood_files_keep_scores_that_are_no_probabilities(label: int) -> None:
    conf = np.array([-12.25, 3.5, 0.0, 88.0])
    data = made.npz(pred=np.array([1, 0, 3, 3]), conf=conf, label=np.full(4, label))
    got = predictions(read("svhn.npz", data, options=OUTSIDE))
    assert (got.task, got.kind, got.labelled) == (Task.TOP_LABEL, ScoreKind.CONFIDENCE, False)
    np.testing.assert_array_equal(got.scores, conf)
    assert got.predicted is not None
    assert got.predicted.tolist() == [1, 0, 3, 3]
    with pytest.raises(Refused):
        read("svhn.npz", data)
