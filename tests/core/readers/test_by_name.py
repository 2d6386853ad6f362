"""Columns, labels and rows that have names are matched by them, whatever their order or case."""

import numpy as np
import pytest

from core.errors import Refused
from core.predictions import Predictions
from core.readers.formats.contents import FileBytes
from core.readers.predictions.interpret import InterpretedFile, read_source
from core.readers.predictions.result import ReadOptions
from tests import hostile_cases as made

z, p, y = made.LOGITS, made.PROBABILITIES, made.LABELS


def read(
    data: bytes,
    labels: bytes | None = None,
    options: ReadOptions | None = None,
    names: tuple[str, str] = ("x.csv", "y.csv"),
) -> InterpretedFile:
    second = None if labels is None else FileBytes.of_bytes(names[1], labels)
    return read_source(FileBytes.of_bytes(names[0], data), second, options or ReadOptions())


def refused(
    data: bytes, labels: bytes | None = None, options: ReadOptions | None = None
) -> Refused:
    with pytest.raises(Refused) as caught:
        read(data, labels, options)
    return caught.value


def the_part(found: InterpretedFile) -> Predictions:
    return found.splits["test"].predictions()


def guesses(found: InterpretedFile) -> str:
    return "; ".join(n.text for n in found.notices if n.code == "KEYS_GUESSED")


def columns(header: tuple[str, ...], order: list[int], truth: object) -> bytes:
    """Scores of the classes in some order, with labels."""
    rows = [[*z[i, order], t] for i, t in enumerate(np.asarray(truth).tolist())]
    return made.table((*header, "label"), rows)


def in_order(order: list[int]) -> np.ndarray:
    """Where each label's class stands among the columns."""
    return np.argsort(order)[y]


@pytest.mark.parametrize("header", ["logit_{}", "{}", "c{}", "class {}"])
def test_numbers_in_column_names_are_the_labels(header: str) -> None:
    order = [2, 0, 3, 1]
    found = read(columns(tuple(header.format(k) for k in order), order, y))
    got = the_part(found)
    np.testing.assert_array_equal(got.labels, in_order(order))
    np.testing.assert_allclose(got.scores, z[:, order])
    assert "numbers in the column names" in guesses(found)


def test_numbered_columns_in_their_order_need_no_word() -> None:
    found = read(columns(tuple(f"logit_{k}" for k in range(4)), [0, 1, 2, 3], y))
    np.testing.assert_array_equal(the_part(found).labels, y)
    assert guesses(found) == ""


def test_a_label_that_no_row_has_does_not_shift_the_others() -> None:
    """Labels 1 to 3 below columns 1 to 4 fit as positions too, and would be wrong."""
    low = np.minimum(y, 2)
    header = tuple(f"logit_{k}" for k in (1, 2, 3, 4))
    for truth in (low + 1, np.array(["1", "2", "3"])[low]):
        found = read(columns(header, [0, 1, 2, 3], truth))
        np.testing.assert_array_equal(the_part(found).labels, low)
        assert "numbers in the column names" in guesses(found)


def test_numbers_that_no_column_has_are_positions_or_refused() -> None:
    header = tuple(f"logit_{k}" for k in (10, 20, 30, 40))
    found = read(columns(header, [0, 1, 2, 3], y))
    np.testing.assert_array_equal(the_part(found).labels, y)
    assert "positions" in guesses(found)
    assert refused(columns(header, [0, 1, 2, 3], y + 10)).code == "LABEL_RANGE"


def test_names_that_differ_in_case_are_the_same() -> None:
    order = [1, 0, 3, 2]
    header = tuple(made.NAMES[k].upper() for k in order)
    found = read(columns(header, order, np.array(made.NAMES)[y]))
    got = the_part(found)
    np.testing.assert_array_equal(got.labels, in_order(order))
    assert got.class_names == header


def test_names_that_differ_only_in_case_stay_apart() -> None:
    truth = np.array(["a", "A", "b", "B"])
    found = read(columns(("A", "a", "B", "b"), [1, 0, 3, 2], truth[y]))
    np.testing.assert_array_equal(the_part(found).labels, in_order([1, 0, 3, 2]))


def test_names_of_columns_that_are_no_labels_are_refused_with_both() -> None:
    truth = np.array(["ant", "bee", "cow", "eel"])[y]
    found = refused(columns(("logit_w", "logit_x", "logit_y", "logit_z"), [0, 1, 2, 3], truth))
    assert found.code == "LABEL_RANGE"
    assert "ant, bee, cow, eel" in found.what
    assert "w, x, y, z" in found.what


def test_columns_that_are_only_counted_take_names_in_alphabetical_order() -> None:
    header = tuple(f"logit_{k}" for k in range(4))
    found = read(columns(header, [0, 1, 2, 3], np.array(made.NAMES)[y]))
    np.testing.assert_array_equal(the_part(found).labels, y)
    assert "alphabetical" in guesses(found)
    odd = tuple(f"logit_{k}" for k in (2, 0, 3, 1))
    assert refused(columns(odd, [0, 1, 2, 3], np.array(made.NAMES)[y])).code == "LABEL_RANGE"


AGES = 20 + np.arange(made.N) % 50
LOSSES = 0.3 + np.arange(made.N) / 7


def beside(header: tuple[str, ...], extra: str, values: np.ndarray, scores: np.ndarray) -> bytes:
    """Scores with one more column in front, and labels as words."""
    rows = [[values[i], *scores[i], made.NAMES[y[i]]] for i in range(made.N)]
    return made.table((extra, *header, "label"), rows)


@pytest.mark.parametrize(
    ("header", "extra", "values", "scores"),
    [
        (("p0", "p1", "p2", "p3"), "age", AGES, z),
        (("p0", "p1", "p2", "p3"), "loss", LOSSES, z),
        (("m_cat", "m_dog", "m_owl", "m_rat"), "age", AGES, z),
        (("m_cat", "m_dog", "m_owl", "m_rat"), "loss", LOSSES, p),
        (made.NAMES, "age", AGES, z),
        (made.NAMES, "loss", LOSSES, p),
    ],
    ids=["counted-whole", "counted", "alike-whole", "alike-sums", "called-whole", "called-sums"],
)
def test_a_column_that_is_no_score_makes_no_class(
    header: tuple[str, ...], extra: str, values: np.ndarray, scores: np.ndarray
) -> None:
    found = read(beside(header, extra, values, scores))
    got = the_part(found)
    np.testing.assert_allclose(got.scores, scores)
    np.testing.assert_array_equal(got.labels, y)
    assert f"not used: {extra}" in guesses(found)


@pytest.mark.parametrize("header", [made.NAMES, ("m_cat", "m_dog", "m_owl", "m_rat")])
def test_a_column_that_may_be_a_score_is_refused(header: tuple[str, ...]) -> None:
    """Logits without a row of some class look the same as logits beside something else."""
    found = refused(beside(header, "bat", LOSSES, z))
    assert found.code == "AMBIGUOUS_KEYS"
    assert "--scores-key" in found.remedy
    chosen = ReadOptions(scores_key=",".join(header))
    np.testing.assert_allclose(
        the_part(read(beside(header, "bat", LOSSES, z), options=chosen)).scores, z
    )


def test_classes_without_a_row_are_kept_where_the_rows_sum_to_one() -> None:
    low = np.array(made.NAMES)[np.minimum(y, 2)]
    rows = [[*p[i], low[i]] for i in range(made.N)]
    assert the_part(read(made.table((*made.NAMES, "label"), rows))).n_classes == 4


def test_one_column_unlike_all_others_is_refused() -> None:
    for extra, scores in ((AGES, z), (LOSSES, p), (AGES, p)):
        rows = [[extra[i], *scores[i], y[i]] for i in range(made.N)]
        found = refused(made.table(("q", *made.NAMES, "label"), rows))
        assert found.code == "AMBIGUOUS_KEYS"
        assert "q is unlike" in found.what
        assert "--scores-key" in found.remedy


def test_two_families_of_columns_need_a_choice() -> None:
    rows = [[*z[i, :2], *z[i, 2:], y[i]] for i in range(made.N)]
    found = refused(made.table(("a0", "a1", "b0", "b1", "label"), rows))
    assert found.code == "AMBIGUOUS_KEYS"


def test_columns_that_nothing_names_are_said() -> None:
    rows = [[*z[i], y[i]] for i in range(made.N)]
    assert "scores from cat, dog, owl, rat" in guesses(
        read(made.table((*made.NAMES, "label"), rows))
    )


@pytest.mark.parametrize("cell", ["1,200.5", "0x10", "٠.٥", "1_0"])
@pytest.mark.parametrize("row", [0, 1])
def test_a_column_with_a_slip_is_a_class_and_names_no_rows(cell: str, row: int) -> None:
    cells = ["0.3", "0.4"]
    cells[row] = cell
    rows = [f'"{shown}",0.{k + 5},{k}' for k, shown in enumerate(cells)]
    found = refused("\n".join(["a,b,label", *rows]).encode())
    assert (found.code, found.location) == ("DTYPE", f"row {row} (line {row + 2}), column a")
    assert repr(cell) in found.what


@pytest.mark.parametrize("cells", [["٠.٥", "٠.٢"], ["1,200.5", "1,300.5"]])
def test_numbers_that_no_table_holds_are_no_names(cells: list[str]) -> None:
    rows = [f'"{shown}",0.{k + 5},{k}' for k, shown in enumerate(cells)]
    assert refused("\n".join(["a,b,label", *rows]).encode()).code == "DTYPE"


def test_a_column_named_after_a_label_names_no_rows() -> None:
    rows = [["low", 0.2, "a"], ["high", 0.7, "b"], ["mid", 0.1, "b"]]
    found = refused(made.table(("a", "b", "label"), rows))
    assert (found.code, found.location) == ("DTYPE", "row 0 (line 2), column a")
    second = made.table(("label",), [[row[2]] for row in rows])
    assert refused(made.table(("a", "b"), [row[:2] for row in rows]), second).code == "DTYPE"


def test_guessed_names_of_rows_are_said() -> None:
    rows = [[f"x{i}", *z[i], y[i]] for i in range(made.N)]
    for header in ("", "tag"):
        found = read(made.table((header, *(f"c{k}" for k in range(4)), "label"), rows))
        assert the_part(found).row_ids[:2] == ("x0", "x1")
        assert f"rows named by {header or 'the column without a name'}" in guesses(found)


def test_a_column_beside_named_scores_may_hold_anything() -> None:
    rows = [[("7", "unknown")[i % 2], *z[i], y[i]] for i in range(made.N)]
    found = read(made.table(("stage", *(f"logit_{k}" for k in range(4)), "label"), rows))
    np.testing.assert_allclose(the_part(found).scores, z)
    assert "not used: stage" in guesses(found)


def named(name: str, ids: list[object], *columns: np.ndarray) -> bytes:
    rows = [[i, *(c[k] for c in columns)] for k, i in enumerate(ids)]
    header = ["label"] if len(columns) == 1 else [f"logit_{k}" for k in range(len(columns))]
    return made.table((name, *header), rows)


COUNT = list(range(made.N))
BACK = y[::-1]


@pytest.mark.parametrize("name", ["id", "image", "index"])
@pytest.mark.parametrize("fractions", [(False, True), (True, False), (False, False)])
def test_whole_numbers_name_rows_however_they_are_written(
    name: str, fractions: tuple[bool, bool]
) -> None:
    ids = [[f"{i}.0" if f else i for i in COUNT] for f in fractions]
    found = read(named(name, ids[0], *z.T), named(name, ids[1][::-1], BACK))
    np.testing.assert_array_equal(the_part(found).labels, y)
    assert guesses(found) == ""


def test_arrays_and_tables_name_rows_alike() -> None:
    second = made.npz(id=np.arange(made.N)[::-1].astype(float), labels=BACK)
    found = read(named("id", list(COUNT), *z.T), second, names=("x.csv", "y.npz"))
    np.testing.assert_array_equal(the_part(found).labels, y)


@pytest.mark.parametrize("name", ["id", "index"])
def test_row_names_that_never_meet_are_refused(name: str) -> None:
    far = [i + 1000 for i in COUNT]
    found = refused(named(name, list(COUNT), *z.T), named(name, far, y))
    assert found.code == "LENGTH_MISMATCH"
    assert "60 of 60" in found.what


def test_an_id_column_that_is_not_there_is_refused() -> None:
    nope = ReadOptions(id_column="NOPE")
    scores, labels = named("id", list(COUNT), *z.T), named("id", list(COUNT), y)
    prefix = ReadOptions(id_column="i")
    arrays = made.npz(logits=z, labels=y)
    for options in (nope, prefix):
        assert refused(made.CSV, options=options).code == "AMBIGUOUS_KEYS"
        assert refused(scores, labels, options).code == "AMBIGUOUS_KEYS"
        with pytest.raises(Refused, match="--id-column"):
            read(arrays, options=options, names=("x.npz", ""))
    assert the_part(read(scores, labels, ReadOptions(id_column="id"))).n == made.N


odd = p[:, 1] + p[:, 3]
TURNED = {
    "matrix": ("y_true.npy", made.npy(y), "y_pred.npy", made.npy(z), z, y),
    "one": ("y.npy", made.npy(y % 2), "x.npz", made.npz(y_score=odd), odd, y % 2),
    "table": ("truth.csv", named("id", COUNT[::-1], BACK), "x.csv", named("id", COUNT, *z.T), z, y),
    "npz": ("y.npz", made.npz(labels=y), "x.npz", made.npz(logits=z), z, y),
}


@pytest.mark.parametrize("case", TURNED)
def test_two_files_in_the_wrong_order_are_turned_and_it_is_said(case: str) -> None:
    first, data, second, other, scores, labels = TURNED[case]
    found = read(data, other, names=(first, second))
    got = the_part(found)
    np.testing.assert_allclose(got.scores, scores)
    np.testing.assert_array_equal(got.labels, labels)
    assert f"{first} was taken for the labels, {second} for the scores" in guesses(found)
    right = read(other, data, names=(second, first))
    assert "was taken for the labels" not in guesses(right)


def test_files_are_not_turned_for_weights_beside_labels() -> None:
    weighted = made.npz(labels=y, weights=p[:, 0])
    whole = made.npz(logits=np.round(z * 10).astype(int))
    found = read(whole, weighted, names=("x.npz", "y.npz"))
    np.testing.assert_array_equal(the_part(found).labels, y)


@pytest.mark.parametrize(
    ("labels", "named"),
    [
        (["cat"] * 4, 'all labels are the same class, "cat"'),
        (["cat", "cow", "dog", "cow"], "the labels name 3 classes (cat, cow, dog)"),
    ],
)
def test_names_of_classes_that_fit_no_columns_are_refused_by_name(
    labels: list[str], named: str
) -> None:
    single = refused(made.table(("score", "label"), zip([0.1, 0.8, 0.6, 0.3], labels, strict=True)))
    assert (single.code, single.what) == (
        "CLASSES",
        f"{named}, but a single column of scores is for two classes",
    )
    scores = [(0.1, 0.9), (0.8, 0.2), (0.6, 0.4), (0.3, 0.7)]
    rows = [[*pair, label] for pair, label in zip(scores, labels, strict=True)]
    several = refused(made.table(("p_0", "p_1", "label"), rows))
    assert (several.code, several.what) == (
        "CLASSES",
        f"{named}, but the 2 columns of scores are not named after classes",
    )
    assert several.remedy == "name the columns after the classes, or give class numbers"


MARKED = ["Barrett's", "R&D", "C#", "a, b", "x [y]", "no!", "p(x)", "100$", "~z", '"q"', "a|b"]


@pytest.mark.parametrize("prefix", ["prob_", ""])
@pytest.mark.parametrize("name", MARKED)
def test_a_class_may_be_called_like_anything(name: str, prefix: str) -> None:
    """No column is lost for the marks in its name, whatever the labels are."""
    for names in (["nevus", name], ["nevus", name, "other"]):
        k = len(names)
        scores = p[:, :k] / p[:, :k].sum(axis=1, keepdims=True)
        truth = y % k
        for labels in (truth.tolist(), [names[c] for c in truth]):
            rows = [[*map("{:.6f}".format, s), t] for s, t in zip(scores, labels, strict=True)]
            header = [f"{prefix}{n}" for n in names]
            cells = [[_quoted(str(cell)) for cell in row] for row in ([*header, "label"], *rows)]
            got = the_part(read("\n".join(",".join(row) for row in cells).encode()))
            np.testing.assert_allclose(got.scores, scores, atol=1e-6)
            np.testing.assert_array_equal(got.labels, truth)


@pytest.mark.parametrize("name", MARKED)
def test_a_finding_may_be_called_like_anything(name: str) -> None:
    names = ["edema", name, "mass"]
    header = [_quoted(f"{word}_{n}") for word in ("pred", "label") for n in names]
    truth = (made.SIGMOID[:, :3] > 0.5).astype(int)
    truth[::7] = 1 - truth[::7]
    rows = [[*s, *t] for s, t in zip(made.SIGMOID[:, :3].tolist(), truth.tolist(), strict=True)]
    got = the_part(read(made.table(tuple(header), rows)))
    assert got.scores.shape == (made.N, 3)
    np.testing.assert_array_equal(got.labels, truth)


def _quoted(cell: str) -> str:
    return '"' + cell.replace('"', '""') + '"'


def risks(header: str, truth: np.ndarray) -> bytes:
    return made.table((header, "label"), zip(np.linspace(0.01, 0.99, 40), truth, strict=True))


@pytest.mark.parametrize(
    ("header", "event"),
    [
        ("prob_good", "good"),
        ("p_malignant", "malignant"),
        ("risk_death", "death"),
        ("P(abnormal)", "abnormal"),
        ("score_pleural_effusion", "pleural effusion"),
        ("prob_1", "1"),
        ("prob", "1"),
        ("y_score", "1"),
        ("prob_pos", "1"),
        ("p_hat", "1"),
        ("prob_xgb", "1"),
        ("score_resnet50", "1"),
        ("prob_calibrated", "1"),
        ("sofa_score", "1"),
    ],
)
def test_one_score_is_of_the_event_in_its_header(header: str, event: str) -> None:
    truth = (np.arange(40) > 15 + np.arange(40) % 7).astype(int)
    got = the_part(read(risks(header, truth)))
    other = "0" if event == "1" else f"not {event}"
    assert got.class_names == (other, event)
    np.testing.assert_array_equal(got.labels, truth)


def test_the_score_of_the_class_that_denies_is_of_that_event() -> None:
    truth = (np.arange(40) > 15 + np.arange(40) % 7).astype(int)
    got = the_part(read(risks("prob_normal", 1 - truth)))
    assert got.class_names == ("not normal", "normal")
    np.testing.assert_array_equal(got.labels, truth)
    said = np.where(truth == 1, "yes", "no")
    assert the_part(read(risks("prob_death", said))).class_names == ("not death", "death")
    words = np.where(truth == 1, "ill", "well")
    assert the_part(read(risks("prob_ill", words))).class_names == ("well", "ill")
    given = read(risks("prob_death", truth), options=ReadOptions(classes="alive,dead"))
    assert the_part(given).class_names == ("alive", "dead")


@pytest.mark.parametrize("mark", ["_", " ", "-", ""])
def test_names_that_count_are_matched_whole_and_not_in_alphabetical_order(mark):
    """Of twelve, the third in alphabetical order is 10; nothing is right more often by chance."""
    names = [f"class{mark}{k}" for k in range(12)]
    lines = [",".join([*names, "label"])]
    lines += [",".join([*map(str, [1 / 12] * 12), name]) for name in names]
    got = the_part(read("\n".join(lines).encode()))
    assert got.labels.tolist() == list(range(12))
