"""What names and values decide is read; what they leave open is asked, and the answer obeyed."""

import csv
import io
import json
from collections.abc import Sequence

import numpy as np
import pytest

from core import codec
from core.arrays import sigmoid
from core.errors import Refused
from core.predictions import Predictions, ScoreKind, Task
from core.readers.formats.contents import FileBytes
from core.readers.predictions.interpret import InterpretedFile, read_source
from core.readers.predictions.result import (
    AnswersPerRow,
    Inspection,
    NeedsChoice,
    ReadOptions,
    Units,
    choose_split,
    classes_text,
)
from core.repeats import repeats
from tests import hostile_cases as made

N, K = 240, 4
CLASSES = ("cat", "dog", "fox", "owl")


def draw(seed: int = 0, k: int = K, n: int = N) -> tuple[np.ndarray, np.ndarray]:
    """Return logits and labels that agree far better than chance, and not always."""
    rng = np.random.default_rng(seed)
    logits = 2.0 * rng.normal(size=(n, k))
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    return logits, np.array([rng.choice(k, p=row) for row in p])


def softmax(logits: np.ndarray) -> np.ndarray:
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


Z, Y = draw()
P = softmax(Z)
ACCURACY = float((Z.argmax(axis=1) == Y).mean())
RISK = P[:, 0] + P[:, 1]  # of a class made of two, which the labels follow
SICK = (Y < 2).astype(int)
RIGHT = float(((RISK > 0.5) == SICK).mean())


def table(header: Sequence[str], *columns: Sequence[object]) -> bytes:
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(header)
    writer.writerows(zip(*columns, strict=True))
    return out.getvalue().encode()


def read(
    data: bytes,
    options: ReadOptions | None = None,
    labels: bytes | None = None,
    name: str = "x.csv",
) -> InterpretedFile:
    second = None if labels is None else FileBytes.of_bytes("labels.csv", labels)
    return read_source(FileBytes.of_bytes(name, data), second, options or ReadOptions())


def part(found: InterpretedFile) -> Predictions:
    return found.splits[choose_split(found.splits)].predictions()


def accuracy(found: InterpretedFile) -> float:
    return float(part(found).rows.correct.mean())


def nll(found: InterpretedFile) -> float:
    return -float(part(found).rows.log_p_true.mean())


def refusal(data: bytes, options: ReadOptions | None = None, **more: object) -> NeedsChoice:
    with pytest.raises(NeedsChoice) as caught:
        read(data, options, **more)
    return caught.value


def asked(data: bytes, options: ReadOptions | None = None, **more: object) -> Inspection:
    """What is to be chosen; every choice leads to the numbers that it shows."""
    refused = refusal(data, options, **more)
    assert refused.code == "UNDECIDED"
    seen = refused.inspection
    assert seen.candidates
    numbers = {(c.accuracy, c.ece) for c in seen.candidates if c.accuracy is not None}
    assert len(numbers) == len([c for c in seen.candidates if c.accuracy is not None])
    for candidate in seen.candidates:
        assert candidate.option in refused.remedy
        chosen = read(data, candidate.options, **more)
        if candidate.accuracy is not None and part(chosen).task is not Task.MULTILABEL:
            right = float(part(chosen).rows.correct.mean())
            assert right == pytest.approx(candidate.accuracy, abs=1e-12)
    return seen


def by_option(seen: Inspection, option: str) -> ReadOptions:
    return next(c.options for c in seen.candidates if c.option == option)


def words(labels: np.ndarray, absent: str, present: str) -> list[str]:
    return [present if label else absent for label in labels]


# Roles -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["correct", "is_correct", "isCorrect", "right", "hit", "hit_1"])
@pytest.mark.parametrize("truths", [("0", "1"), ("False", "True"), ("no", "yes")])
def test_a_column_of_correctness_is_enough_beside_a_confidence(name, truths):
    right = Z.argmax(axis=1) == Y
    found = read(table(("confidence", name), P.max(axis=1), [truths[int(r)] for r in right]))
    assert part(found).task is Task.TOP_LABEL
    assert accuracy(found) == ACCURACY
    np.testing.assert_allclose(part(found).rows.confidence, P.max(axis=1))


def test_wrong_answers_without_a_label_are_some_other_answer():
    answers = [CLASSES[k] for k in Z.argmax(axis=1)]
    right = (Z.argmax(axis=1) == Y).astype(int)
    found = read(table(("prediction", "confidence", "is_correct"), answers, P.max(axis=1), right))
    assert accuracy(found) == ACCURACY
    assert set(part(found).class_names) == {*CLASSES, "(another answer)"}


def test_a_right_lung_is_no_right_answer():
    header = ("prob_left_lung", "prob_right_lung", "label_left_lung", "label_right_lung")
    each = (P[:, 0], P[:, 1], Y == 0, Y == 1)
    found = read(table(header, *each[:2], *(column.astype(int) for column in each[2:])))
    assert part(found).task is Task.MULTILABEL


def test_correctness_that_contradicts_answers_and_labels_is_asked_about():
    answers, right = Z.argmax(axis=1), (Z.argmax(axis=1) == Y).astype(int)
    right[:5] = 1 - right[:5]
    header = ("prediction", "label", "confidence", "correct")
    data = table(
        header, [CLASSES[k] for k in answers], [CLASSES[k] for k in Y], P.max(axis=1), right
    )
    options = {c.option for c in asked(data).candidates}
    assert options == {"--correct-key correct", "--labels-key label"}


@pytest.mark.parametrize("name", ["gold", "reference", "target", "actual", "truth", "outcome", "y"])
def test_words_for_labels(name):
    found = read(table((*(f"prob_{c}" for c in CLASSES), name), *P.T, [CLASSES[k] for k in Y]))
    assert accuracy(found) == ACCURACY


def test_the_score_beside_an_answer_is_its_confidence_where_no_row_is_below_a_half():
    sure = np.maximum(RISK, 1 - RISK)
    answers = words(RISK > 0.5, "benign", "malignant")
    truth = words(SICK == 1, "benign", "malignant")
    found = read(table(("prediction", "probability", "actual"), answers, sure, truth))
    assert part(found).task is Task.TOP_LABEL
    assert accuracy(found) == RIGHT


@pytest.mark.parametrize("flipped", [False, True])
def test_the_score_that_divides_the_answers_is_of_the_upper_one(flipped):
    """Of two classes without meaning, the answers themselves tell which the score is of."""
    risk = 1 - RISK if flipped else RISK
    answers, truth = words(RISK > 0.5, "a1", "b2"), words(SICK == 1, "a1", "b2")
    found = read(table(("prediction", "score", "actual"), answers, risk, truth))
    assert part(found).task is Task.BINARY
    assert accuracy(found) == RIGHT
    assert part(found).class_names[1] == ("a1" if flipped else "b2")


def test_a_score_that_is_neither_is_asked_about():
    rng = np.random.default_rng(1)
    answers, truth = words(RISK > 0.5, "a", "b"), words(SICK == 1, "a", "b")
    data = table(("prediction", "score", "actual"), answers, rng.random(N), truth)
    options = {c.option for c in refusal(data).inspection.candidates}
    turned = {f"--scores probabilities --classes {order}" for order in ("a,b", "b,a")}
    assert options == {"--scores confidence", *turned}


def test_a_confidence_below_one_over_k_is_asked_about():
    answers, truth = [CLASSES[k] for k in Z.argmax(axis=1)], [CLASSES[k] for k in Y]
    score = np.linspace(0.01, 1.0, N)
    seen = asked(table(("prediction", "score", "actual"), answers, score, truth))
    assert [c.option for c in seen.candidates] == ["--scores confidence"]


@pytest.mark.parametrize(
    ("name", "absent", "present"),
    [
        ("prob_0", "1", "0"),
        ("P(abnormal)", "normal", "abnormal"),
        ("prob_benign", "malignant", "benign"),
        ("p_disease", "healthy", "disease"),
        ("score_pos", "0", "1"),
        ("prob_True", "no", "yes"),
        ("p_neg", "1", "0"),
    ],
)
def test_a_column_names_its_class(name, absent, present):
    found = read(table((name, "label"), RISK, words(SICK == 1, absent, present)))
    assert accuracy(found) == RIGHT
    present_there = part(found).labels == 1
    np.testing.assert_array_equal(present_there, SICK == 1)
    np.testing.assert_allclose(part(found).column(1), RISK)


def test_one_score_of_classes_without_meaning_is_asked_about():
    data = table(("score", "label"), RISK, words(SICK == 1, "kestrel", "buzzard"))
    seen = asked(data)
    assert {c.option for c in seen.candidates} == {
        "--classes buzzard,kestrel",
        "--classes kestrel,buzzard",
    }
    found = read(data, by_option(seen, "--classes kestrel,buzzard"))
    assert accuracy(found) == RIGHT


@pytest.mark.parametrize(
    ("columns", "labels"),
    [
        (("yes", "no"), (0, 1)),
        (("prob_True", "prob_False"), (0, 1)),
        (("neg", "pos"), ("no", "yes")),
    ],
)
def test_two_columns_and_labels_are_matched_by_meaning(columns, labels):
    of = {"yes": RISK, "prob_True": RISK, "pos": RISK}
    scores = [of.get(name, 1 - RISK) for name in columns]
    found = read(table((*columns, "label"), *scores, [labels[s] for s in SICK]))
    assert accuracy(found) == RIGHT


def test_a_single_score_that_denies_its_class_is_asked_about():
    seen = asked(table(("score", "label"), 1 - RISK, SICK))
    assert {c.option for c in seen.candidates} == {"--classes 0,1", "--classes 1,0"}
    best = max(seen.candidates, key=lambda c: c.accuracy)
    assert (best.option, best.accuracy) == ("--classes 1,0", pytest.approx(RIGHT))


@pytest.mark.parametrize("name", ["loss", "time_ms", "margin", "x1", "feature_3", "entropy"])
def test_what_is_no_class_is_left_aside(name):
    noise = np.linspace(-3, 3, N)
    header = (*(f"c{k}" for k in range(K)), name, "label")
    found = read(table(header, *Z.T, noise, Y))
    assert part(found).scores.shape == (N, K)
    assert accuracy(found) == ACCURACY


def test_features_are_no_logits():
    points = np.random.default_rng(0).normal(size=(N, 2))
    assert refusal(table(("x1", "x2", "y"), *points.T, SICK)).code == "AMBIGUOUS_KEYS"
    images = made.npz(x_test=np.zeros((N, 9), np.uint8), y_test=Y)
    assert refusal(images, name="x.npz").code == "AMBIGUOUS_KEYS"


# Pairing ---------------------------------------------------------------------------------------

FINDINGS = ("Edema", "Pleural_Thickening", "Mass")
SEEN = np.column_stack([Y == 0, Y == 1, Y <= 2]).astype(int)
SAID = np.column_stack([P[:, 0], P[:, 1], P[:, :3].sum(axis=1)])


@pytest.mark.parametrize("prefix", ["prob", "pred", "sigmoid"])
def test_many_labels_pair_by_name(prefix):
    names = ("label_mass", "label_pleural thickening", "label_EDEMA")
    header = (*(f"{prefix}_{f}" for f in FINDINGS), *names)
    got = part(read(table(header, *SAID.T, *SEEN.T[::-1])))
    np.testing.assert_array_equal(got.labels, SEEN)
    assert got.class_names == FINDINGS


def test_a_list_of_labels_of_which_some_pair_is_no_order():
    header = ("prob_Edema", "prob_Mass", "label_Mass", "label_Effusion")
    options = ReadOptions(labels_key="label_Mass,label_Effusion")
    error = refusal(table(header, *SAID.T[:2], *SEEN.T[:2]), options)
    assert (error.code, "label_Effusion" in error.what) == ("CLASSES", True)


def test_labels_of_more_findings_than_scores_are_picked_by_name():
    header = ("prob_Edema", "prob_Mass", *(f"label_{f}" for f in FINDINGS))
    got = part(read(table(header, SAID[:, 0], SAID[:, 2], *SEEN.T)))
    np.testing.assert_array_equal(got.labels, SEEN[:, [0, 2]])


@pytest.mark.parametrize("two_files", [False, True])
def test_names_that_do_not_pair_are_refused(two_files):
    scores, labels = [f"prob_{f}" for f in FINDINGS], ["Edema", "Mass", "Effusion"]
    if two_files:
        error = refusal(table(scores, *SAID.T), labels=table(labels, *SEEN.T))
    else:
        header = (*scores, *(f"label_{f}" for f in labels))
        error = refusal(table(header, *SAID.T, *SEEN.T))
        assert "label_Effusion" in error.what
    assert error.code == "CLASSES"


def test_one_hot_columns_pair_by_name():
    header = (*(f"prob_{c}" for c in CLASSES), *(f"label_{c.upper()}" for c in CLASSES[::-1]))
    found = read(table(header, *P.T, *np.eye(K, dtype=int)[Y].T[::-1]))
    assert accuracy(found) == ACCURACY


def test_labels_listed_by_the_user_count_in_their_order():
    header = ("prob_A", "prob_B", "u", "v")
    options = ReadOptions(labels_key="u,v", scores_key="prob_A,prob_B")
    got = part(read(table(header, *SAID.T[:2], *SEEN.T[:2]), options))
    np.testing.assert_array_equal(got.labels, SEEN[:, :2])


# Joining ---------------------------------------------------------------------------------------

ORDER = np.random.default_rng(5).permutation(N)
SCORES = [f"prob_{c}" for c in CLASSES]


@pytest.mark.parametrize("name", ["slide", "accession", "", "__index_level_0__", "Unnamed: 0"])
def test_a_column_that_both_files_share_joins_them(name):
    scores = table((name, *SCORES), range(N), *P.T)
    labels = table((name, "label"), ORDER, Y[ORDER])
    assert accuracy(read(scores, labels=labels)) == ACCURACY
    assert (
        accuracy(
            read(
                table((name, *SCORES), ORDER, *P[ORDER].T),
                labels=table((name, "label"), range(N), Y),
            )
        )
        == ACCURACY
    )


def test_columns_of_other_names_that_hold_the_same_values_join():
    ids = [f"{7 * i:05d}" for i in range(N)]
    scores = table(("study no", *SCORES), ids, *P.T)
    labels = table(("accession", "label"), [ids[i] for i in ORDER], Y[ORDER])
    assert accuracy(read(scores, labels=labels)) == ACCURACY


def test_an_index_of_the_labels_alone_puts_them_into_the_order_of_rows():
    labels = table(("", "label"), ORDER, Y[ORDER])
    assert accuracy(read(table(SCORES, *P.T), labels=labels)) == ACCURACY


def test_an_index_that_reads_worse_than_the_order_is_asked_about():
    labels = table(("", "label"), ORDER, Y)
    seen = asked(table(SCORES, *P.T), labels=labels)
    assert {c.option for c in seen.candidates} == {"--id-column ''", "--in-order"}
    best = max(seen.candidates, key=lambda c: c.accuracy)
    assert best.option == "--in-order"


def test_rows_in_no_order_are_asked_about():
    scores = table(("film", *SCORES), [f"a{i}" for i in range(N)], *P.T)
    refused = refusal(scores, labels=table(("label",), Y[ORDER]))
    assert refused.code == "UNDECIDED"
    assert [c.option for c in refused.inspection.candidates] == ["--in-order"]
    found = read(scores, ReadOptions(in_order=True), labels=table(("label",), Y[ORDER]))
    assert accuracy(found) < ACCURACY


def test_ids_that_were_rounded_are_refused():
    ids = [10**17 + i for i in range(N)]
    labels = table(("id", "label"), [f"{float(i):.3g}" for i in ids], Y)
    error = refusal(table(("id", *SCORES), ids, *P.T), labels=labels)
    assert error.code == "LENGTH_MISMATCH"
    assert "rounded" in error.what


def test_suffixes_are_left_off_where_no_name_fits_as_it_stands():
    scores = table(("image", *SCORES), [f"a/{i}.png" for i in range(N)], *P.T)
    labels = table(("image", "label"), ORDER, Y[ORDER])
    assert accuracy(read(scores, labels=labels)) == ACCURACY


def test_rows_that_occur_twice_are_said():
    ids = [f"i{k // 2}" for k in range(N)]
    found = read(table(("image", *SCORES, "label"), ids, *P.T, Y))
    assert "ROWS_REPEATED" in {n.code for n in found.notices}
    twice = read(table((*SCORES, "label"), *np.vstack([P, P]).T, np.r_[Y, Y]))
    assert "ROWS_REPEATED" in {n.code for n in twice.notices}
    once = read(table((*SCORES, "label"), *P.T, Y))
    assert "ROWS_REPEATED" not in {n.code for n in once.notices}


COPIED = {
    "logits": lambda rng: rng.normal(size=(400, 4)).astype(np.float32),
    "risks": lambda rng: rng.beta(2, 2, 400),
    "rounded": lambda rng: rng.dirichlet(np.ones(4), 400).round(2),
    "saturated": lambda rng: sigmoid(rng.normal(0, 20, 400)).astype(np.float32),
}


@pytest.mark.parametrize("times", [2, 5])
@pytest.mark.parametrize("draw", COPIED.values(), ids=COPIED)
def test_copies_of_every_row_belong_together_and_count_once(draw, times):
    rng = np.random.default_rng(0)
    scores = draw(rng)
    labels = rng.integers(0, 4 if scores.ndim == 2 else 2, 400)
    again = rng.permutation(np.repeat(np.arange(400), times))
    scores, labels = scores[again], labels[again]
    key = "logits" if scores.min() < 0 else "probs"
    found = read(made.npz(**{key: scores, "labels": labels}), name="x.npz")
    said = [notice.text for notice in found.notices if notice.code == "ROWS_REPEATED"]
    repeated = 400 * (times - 1)
    assert len(said) == 1
    assert said[0].startswith(f"{repeated:,} of {400 * times:,} rows repeat another bit for bit")
    groups = found.splits["test"].predictions().groups
    assert np.bincount(groups.of_row).tolist() == [times] * 400
    first = np.unique(groups.of_row, return_index=True)[1]
    assert np.array_equal(scores, scores[first][groups.of_row])
    assert np.array_equal(labels, labels[first][groups.of_row])


def test_copies_of_some_rows_belong_together():
    rng = np.random.default_rng(0)
    scores, labels = rng.normal(size=(400, 3)), rng.integers(0, 3, 400)
    drawn = rng.integers(0, 400, 400)
    found = read(made.npz(logits=scores[drawn], labels=labels[drawn]), name="x.npz")
    groups = found.splits["test"].predictions().groups
    assert groups.count == np.unique(drawn).size
    assert len({*zip(drawn.tolist(), groups.of_row.tolist(), strict=True)}) == groups.count


@pytest.mark.parametrize("unknown", [0.0, 0.8])
def test_copies_among_rows_of_two_labels_belong_together(unknown):
    rng = np.random.default_rng(0)
    scores = rng.beta(1, 2, (600, 2))
    labels = (rng.random((600, 2)) < scores).astype(int).astype(object)
    labels[rng.random((600, 2)) < unknown] = ""
    drawn = rng.permutation(np.r_[np.arange(600), rng.choice(600, 60, replace=False)])
    names = ("prob_a", "prob_b", "label_a", "label_b")
    data = table(names, *scores[drawn].T, *labels[drawn].T)
    found = read(data, ReadOptions(uncertain="leave_out"))
    groups = found.splits["test"].predictions().groups
    assert len({*zip(drawn.tolist(), groups.of_row.tolist(), strict=True)}) == groups.count == 600


def test_order_of_rows_does_not_make_copies():
    """One score for all rows that lack a trait, in any order or sorted by outcome; and copies."""
    rng = np.random.default_rng(0)
    stated = np.r_[np.full(300, 0.2371234), rng.beta(1, 3, 1_700)]
    labels = (rng.random(2_000) < stated).astype(int)
    drawn = np.r_[np.arange(2_000), rng.integers(0, 2_000, 400)]
    copied = rng.random(2_000)[drawn], labels[drawn]
    for (scores, true), copies in (((stated, labels), False), (copied, True)):
        for order in (rng.permutation(true.size), np.argsort(true, kind="stable")):
            found = read(made.npz(probs=scores[order], labels=true[order]), name="x.npz")
            groups = found.splits["test"].predictions().groups
            assert (groups is not None) == copies
            if groups is not None:
                assert groups.count == 2_000


def test_numbers_of_rows_with_a_divisor_in_common_are_no_copies():
    """Nineteen claims of a hundred rows each, of which just so many come true."""
    claims = np.repeat(np.arange(1, 20) / 20, 100)
    labels = (np.tile(np.arange(100), 19) < np.round(100 * claims)).astype(int)
    for order in (np.random.default_rng(0).permutation(1_900), np.arange(1_900)):
        found = read(made.npz(probs=claims[order], labels=labels[order]), name="x.npz")
        assert found.splits["test"].predictions().groups is None


def test_rows_that_a_model_cannot_tell_apart_are_no_copies():
    """One score for every combination of a few traits, with all its digits."""
    rng = np.random.default_rng(0)
    stated = rng.beta(2, 2, 500)[rng.integers(0, 500, 2_000)]
    labels = (rng.random(2_000) < stated).astype(int)
    found = read(made.npz(probs=stated, labels=labels), name="x.npz")
    assert "ROWS_REPEATED" not in {notice.code for notice in found.notices}
    assert found.splits["test"].predictions().groups is None


def test_runs_of_the_same_copied_rows_have_the_same_groups():
    rng = np.random.default_rng(0)
    labels = np.tile(rng.integers(0, 2, 300), 3)
    both = [
        read(made.npz(probs=np.tile(scores, 3), labels=labels), name="x.npz")
        for scores in (rng.random(300), rng.random(300).round(2))
    ]
    first, second = (run.splits["test"].predictions().groups.of_row for run in both)
    assert np.array_equal(first, second)


CHANCE = {
    "rounded": lambda rng: rng.beta(2, 2, 2_000).round(2),
    "finely rounded": lambda rng: rng.beta(2, 2, 50_000).round(4),
    "saturated": lambda rng: sigmoid(rng.normal(0, 20, 20_000)).astype(np.float32),
    "half precision": lambda rng: rng.dirichlet(np.ones(10), 5_000).astype(np.float16),
    "leaves of a tree": lambda rng: rng.dirichlet(np.ones(5), 30)[rng.integers(0, 30, 2_000)],
    "rounded and certain": lambda rng: rng.dirichlet(np.full(10, 0.3), 5_000).round(2),
    "single precision": lambda rng: rng.random(3_000_000, np.float32),
}


@pytest.mark.parametrize("draw", CHANCE.values(), ids=CHANCE)
def test_scores_that_repeat_by_chance_are_no_copies(draw):
    scores = draw(np.random.default_rng(1))
    assert repeats(scores, np.zeros(len(scores), dtype=np.int64), logits=False) == 0


def test_any_word_in_a_split_column_makes_a_part():
    split = ["dev" if i < 60 else "external-A" if i < 120 else "train" for i in range(N)]
    found = read(table(("split", *SCORES, "label"), split, *P.T, Y))
    assert list(found.splits) == ["train", "val", "external-A"]
    assert part(found).n == 60
    held = read(
        table(
            ("split", *SCORES, "label"),
            ["holdout" if i % 2 else "train" for i in range(N)],
            *P.T,
            Y,
        )
    )
    assert list(held.splits) == ["train", "test"]


def test_parts_with_the_same_rows_are_said():
    data = made.npz(val_logits=Z, val_labels=Y, test_logits=Z, test_labels=Y)
    assert "SAME_ROWS" in {n.code for n in read(data, name="x.npz").notices}
    other = made.npz(val_logits=Z, val_labels=Y, test_logits=Z[::-1], test_labels=Y[::-1])
    assert "SAME_ROWS" not in {n.code for n in read(other, name="x.npz").notices}


def test_scores_of_one_part_take_no_labels_of_another():
    error = refusal(made.npz(test_logits=Z, train_labels=Y), name="x.npz")
    assert error.code == "AMBIGUOUS_KEYS"
    assert "train" in error.what


def test_class_names_of_another_length_are_refused():
    data = made.npz(logits=Z, labels=Y, class_names=np.array(["a", "b", "c"]))
    assert refusal(data, name="x.npz").code == "CLASSES"


# Values ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("base", [2, 10])
def test_logarithms_of_other_bases_are_converted_and_it_is_said(base):
    found = read(made.npz(log_probs=np.log(P) / np.log(base), labels=Y), name="x.npz")
    assert "UNITS" in {n.code for n in found.notices}
    assert nll(found) == pytest.approx(-np.log(P[np.arange(N), Y]).mean(), abs=1e-9)


@pytest.mark.parametrize(
    ("units", "scores", "said"),
    [
        (Units.PERCENT, 100 * P, "percent: divided by 100"),
        (Units.BYTE, np.rint(255 * P), "from 0 to 255: divided by 255"),
        (Units.SUM, 3 * P, "shares of the same sum in every row: divided by it"),
        (Units.LN, np.log(P), "natural logarithms of probabilities"),
        (Units.LOG2, np.log2(P), "base-2 logarithms of probabilities"),
        (Units.LOG10, np.log10(P), "base-10 logarithms of probabilities"),
        (Units.SOFTMAX_TWICE, softmax(P), "a softmax of a softmax: the second one was undone"),
    ],
)
def test_a_notice_says_what_was_done_with_the_units(units, scores, said):
    found = read(made.npz(s=scores, labels=Y), ReadOptions(units=units), name="x.npz")
    assert [n.text for n in found.notices if n.code == "UNITS"] == [f"scores of s are {said}"]


def test_natural_logarithms_are_logits():
    found = read(made.npz(log_probs=np.log(P), labels=Y), name="x.npz")
    assert "UNITS" not in {n.code for n in found.notices}
    assert nll(found) == pytest.approx(-np.log(P[np.arange(N), Y]).mean(), abs=1e-9)


def test_one_score_in_percent_is_asked_about():
    data = table(("risk", "outcome"), np.round(100 * RISK, 2), SICK)
    seen = asked(data)
    assert {c.option for c in seen.candidates} == {"--units percent", "--scores logits"}
    found = read(data, by_option(seen, "--units percent"))
    assert accuracy(found) == pytest.approx(RIGHT, abs=0.01)
    np.testing.assert_allclose(part(found).column(1), RISK, atol=1e-4)


def test_percent_of_several_classes_is_refused_with_the_way_out():
    data = table((*SCORES, "label"), *(100 * P).T, [CLASSES[k] for k in Y])
    error = refusal(data)
    assert error.code == "PROB_RANGE"
    assert [c.option for c in error.inspection.candidates] == ["--units percent"]
    found = read(data, error.inspection.candidates[0].options)
    np.testing.assert_allclose(part(found).probabilities(), P, atol=1e-9)


def test_percent_that_was_rounded_by_row_is_not_taken_for_logits():
    data = table((*CLASSES, "label"), *np.round(100 * P).T, [CLASSES[k] for k in Y])
    seen = asked(data)
    assert "--units percent" in {c.option for c in seen.candidates}


def test_bytes_are_asked_about():
    data = table((*(f"score_{c}" for c in CLASSES), "label"), *np.round(255 * P).astype(int).T, Y)
    seen = asked(data)
    assert {c.option for c in seen.candidates} >= {"--units byte", "--scores logits"}
    found = read(data, by_option(seen, "--units byte"))
    np.testing.assert_allclose(part(found).probabilities(), P, atol=0.01)


def test_softmax_taken_twice_is_asked_about_and_undone():
    wide = draw(3, k=10)
    sharp = softmax(4.0 * wide[0])
    labels = wide[0].argmax(axis=1)
    labels[:20] = (labels[:20] + 1) % 10
    data = made.npz(probs=softmax(sharp), labels=labels)
    seen = asked(data, name="x.npz")
    chosen = by_option(seen, "--units softmax_twice")
    np.testing.assert_allclose(
        part(read(data, chosen, name="x.npz")).probabilities(), sharp, atol=1e-9
    )
    kept = by_option(seen, "--scores probabilities")
    np.testing.assert_allclose(
        part(read(data, kept, name="x.npz")).probabilities(), softmax(sharp), atol=1e-12
    )


def test_sorted_scores_and_decisions_are_refused():
    sorted_rows = np.sort(P, axis=1)[:, ::-1]
    assert refusal(made.npz(probs=sorted_rows, labels=Y), name="x.npz").code == "CLASSES"
    hard = np.eye(K)[P.argmax(axis=1)]
    error = refusal(made.npz(probs=hard, labels=Y), name="x.npz")
    assert error.code == "DTYPE"
    found = read(
        made.npz(probs=hard, labels=Y), error.inspection.candidates[0].options, name="x.npz"
    )
    assert accuracy(found) == ACCURACY


def test_rows_that_sum_to_one_are_no_logits():
    found = read(made.npz(logits=P, labels=Y), name="x.npz")
    assert part(found).kind is ScoreKind.PROBABILITIES


@pytest.mark.parametrize("name", ["x.npz", "x.csv"])
def test_logits_beside_their_probabilities(name):
    def file(probabilities: np.ndarray) -> bytes:
        if name == "x.npz":
            return made.npz(logits=Z, probs=probabilities, labels=Y)
        header = [f"{kind}_{c}" for kind in ("logit", "prob") for c in CLASSES]
        return table((*header, "label"), *Z.T, *probabilities.T, Y)

    assert part(read(file(P), name=name)).kind is ScoreKind.LOGITS
    seen = asked(file(softmax(Z / 3)), name=name)
    assert len(seen.candidates) == 2
    kinds = {part(read(file(softmax(Z / 3)), c.options, name=name)).kind for c in seen.candidates}
    assert kinds == {ScoreKind.LOGITS, ScoreKind.PROBABILITIES}


@pytest.mark.parametrize("columns", [("resnet_{}", "vit_{}"), ("{}_resnet", "{}_vit")])
def test_columns_of_two_models_are_asked_about(columns):
    header = [form.format(c) for form in columns for c in CLASSES]
    data = table((*header, "label"), *P.T, *softmax(Z / 2).T, Y)
    seen = asked(data)
    assert len(seen.candidates) == 2
    assert {part(read(data, c.options)).scores.shape for c in seen.candidates} == {(N, K)}


def test_scores_of_two_models_of_one_class_are_asked_about():
    seen = asked(table(("prob_resnet", "prob_vit", "label"), RISK, RISK**2, SICK))
    assert {c.option for c in seen.candidates} == {
        "--scores-key prob_resnet",
        "--scores-key prob_vit",
    }


def test_the_spread_of_an_ensemble_is_no_class():
    header = [f"{word}_{c}" for word in ("mean", "std") for c in CLASSES]
    found = read(table((*header, "label"), *P.T, *(P / 9).T, Y))
    assert part(found).scores.shape == (N, K)
    assert accuracy(found) == ACCURACY


def test_a_margin_is_asked_about():
    margins = made.npz(decision_function=np.log(RISK / (1 - RISK)), y=SICK)
    seen = asked(margins, name="x.npz")
    assert [c.option for c in seen.candidates] == ["--scores logits"]


def test_logits_beside_one_hot_columns_are_asked_about():
    header = [f"{kind}_{f}" for kind in ("logit", "label") for f in CLASSES]
    data = table(header, *Z.T, *np.eye(K, dtype=int)[Y].T)
    seen = asked(data)
    tasks = {c.options.answers: part(read(data, c.options)).task for c in seen.candidates}
    assert tasks == {AnswersPerRow.ONE: Task.MULTICLASS, AnswersPerRow.MANY: Task.MULTILABEL}
    array = made.npz(logits=Z, labels=np.eye(K)[Y])
    assert part(read(array, name="x.npz")).task is Task.MULTICLASS


# Classes ---------------------------------------------------------------------------------------


def test_labels_from_one_without_the_last_class_are_asked_about():
    few = Y < K - 1
    data = table((*(f"p{k}" for k in range(K)), "label"), *P[few].T, Y[few] + 1)
    seen = asked(data)
    assert "--classes 1..4" in {c.option for c in seen.candidates}
    right = float((P[few].argmax(axis=1) == Y[few]).mean())
    assert accuracy(read(data, by_option(seen, "--classes 1..4"))) == pytest.approx(right)


@pytest.mark.parametrize("first", [1, 5])
def test_labels_that_would_fit_otherwise_are_refused_with_the_way_out(first):
    data = made.npz(logits=Z, labels=Y + first)
    error = refusal(data, name="x.npz")
    assert error.code == "LABEL_RANGE"
    (way,) = error.inspection.candidates
    assert way.option == f"--classes {first}..{first + K - 1}"
    assert accuracy(read(data, way.options, name="x.npz")) == ACCURACY


def test_names_in_an_order_that_is_not_alphabetical_are_asked_about():
    order = [2, 0, 3, 1]
    data = made.npz(logits=Z[:, order], labels=np.array(CLASSES)[Y])
    seen = asked(data, name="x.npz")
    best = max(seen.candidates, key=lambda c: c.accuracy)
    assert best.option == f"--classes {','.join(CLASSES[k] for k in order)}"
    assert best.accuracy == pytest.approx(ACCURACY)


def test_a_model_at_chance_is_read_where_its_file_is_plain():
    rng = np.random.default_rng(9)
    found = read(made.npz(logits=rng.normal(size=(N, K)), labels=Y), name="x.npz")
    assert accuracy(found) < 0.4
    found = read(table((*SCORES, "label"), *P[:, ::-1].T, [CLASSES[k] for k in Y]))
    assert accuracy(found) < 0.3


@pytest.mark.parametrize("classes", ["a,b", "1..3", "a,b,c,d,e"])
def test_as_many_classes_must_be_named_as_there_are_columns(classes):
    error = refusal(made.npz(logits=Z, labels=Y), ReadOptions(classes=classes), name="x.npz")
    assert error.code == "CLASSES"


def test_a_label_outside_the_named_classes_is_refused():
    error = refusal(made.npz(logits=Z, labels=Y), ReadOptions(classes="1..4"), name="x.npz")
    assert error.code == "LABEL_RANGE"


# The answer ------------------------------------------------------------------------------------


def test_a_question_has_a_form_of_its_own():
    """A choice made for an open question does not hold for a file that asks nothing."""
    percent = refusal(table(("risk", "outcome"), np.round(100 * RISK, 1), SICK)).inspection
    again = refusal(
        table(("risk", "outcome"), np.round(100 * RISK[::-1], 1), SICK[::-1])
    ).inspection
    plain = read(table(("risk", "outcome"), RISK, SICK)).inspection
    assert percent.fingerprint == again.fingerprint != plain.fingerprint
    few = Y < K - 1
    header = (*(f"p{k}" for k in range(K)), "label")
    shifted = refusal(table(header, *P[few].T, Y[few] + 1)).inspection
    straight = read(table(header, *P[few].T, Y[few])).inspection
    assert shifted.fingerprint != straight.fingerprint


def test_what_may_be_chosen_survives_json():
    seen = refusal(table(("risk", "outcome"), np.round(100 * RISK, 1), SICK)).inspection
    text = json.dumps(codec.to_json(seen))
    assert codec.read(Inspection, json.loads(text), stored=True) == seen


def test_a_given_choice_is_not_asked_about_again():
    data = table(("risk", "outcome"), np.round(100 * RISK, 1), SICK)
    assert part(read(data, ReadOptions(scores=ScoreKind.LOGITS))).kind is ScoreKind.LOGITS
    assert part(read(data, ReadOptions(units=Units.PERCENT))).kind is ScoreKind.PROBABILITIES


def test_few_rows_have_the_benefit_of_the_doubt():
    found = read(table(("score", "label"), 1 - RISK[:12], SICK[:12]))
    assert part(found).n == 12


def test_no_refusal_without_words():
    with pytest.raises(Refused) as caught:
        read(table(("score", "label"), RISK, words(SICK == 1, "kestrel", "buzzard")))
    assert "--classes" in caught.value.remedy


# What others ran into --------------------------------------------------------------------------

Q, QY = draw(7, k=3)
ANSWERS = np.array(["A", "B", "C"])[Q.argmax(axis=1)]
GOLD = np.array(["A", "B", "C"])[QY]
SURE = softmax(Q).max(axis=1)
TOP = float((ANSWERS == GOLD).mean())


def test_a_score_of_a_class_keeps_its_labels_beside_correctness():
    right = ((RISK > 0.5) == (SICK == 1)).astype(int)
    found = read(table(("prob", "label", "correct"), RISK, SICK, right))
    assert part(found).task is Task.BINARY
    assert accuracy(found) == RIGHT
    alone = asked(table(("prob", "correct"), RISK, right))
    assert [c.option for c in alone.candidates] == ["--scores confidence"]


def test_a_column_of_errors_says_the_opposite():
    wrong = (ANSWERS != GOLD).astype(int)
    assert accuracy(read(table(("confidence", "is_wrong"), SURE, wrong))) == TOP


def test_all_scores_beside_correctness_and_no_label_are_refused():
    right = (Q.argmax(axis=1) == QY).astype(int)
    error = refusal(table(("prob_0", "prob_1", "prob_2", "correct"), *softmax(Q).T, right))
    assert error.code == "AMBIGUOUS_KEYS"


@pytest.mark.parametrize(
    "spelled", [str.lower, "{}.".format, "({})".format, " {}".format], ids=["a", "A.", "(A)", " A"]
)
def test_answers_and_labels_are_one_word_however_they_are_spelled(spelled):
    mixed = [spelled(a) if i % 2 else a for i, a in enumerate(ANSWERS)]
    found = read(table(("answer", "confidence", "gold"), mixed, SURE, GOLD))
    assert accuracy(found) == TOP


def test_an_empty_label_beside_answers_is_refused():
    gold = [g if i % 9 else "" for i, g in enumerate(GOLD)]
    error = refusal(table(("answer", "confidence", "gold"), ANSWERS, SURE, gold))
    assert error.code == "LABEL_NOT_INTEGER"


def test_answers_numbered_otherwise_than_labels_are_refused():
    data = table(("pred", "confidence", "label"), Q.argmax(axis=1), SURE, QY + 1)
    error = refusal(data)
    assert (error.code, error.inspection.candidates) == ("CLASSES", ())


def test_a_confidence_that_divides_two_answers_below_a_half_is_asked_about():
    data = table(("pred", "confidence", "label"), (RISK > 0.5).astype(int), RISK, SICK)
    seen = asked(data)
    tasks = {part(read(data, c.options)).task for c in seen.candidates}
    assert tasks == {Task.TOP_LABEL, Task.BINARY}


def test_a_list_of_label_columns_is_taken_in_its_order():
    header = ("pred_a1", "pred_b1", "pred_c1", "x_three", "x_one", "x_two")
    options = ReadOptions(labels_key="x_one,x_two,x_three")
    got = part(read(table(header, *SAID.T, *SEEN.T[[2, 0, 1]]), options))
    np.testing.assert_array_equal(got.labels, SEEN)


@pytest.mark.parametrize("kind", [float, str])
def test_a_shared_column_joins_whatever_its_type(kind):
    names = [kind(1000 + i) for i in range(N)]
    scores = table(("slide", *SCORES), names, *P.T)
    labels = table(("slide", "label"), [names[i] for i in ORDER], Y[ORDER])
    assert accuracy(read(scores, labels=labels)) == ACCURACY


def test_a_name_that_is_shared_beats_a_column_that_counts():
    films = [f"f{i}" for i in range(N)]
    scores = table(("id", "film", *SCORES), range(N), films, *P.T)
    labels = table(("id", "film", "label"), range(N), [films[i] for i in ORDER], Y[ORDER])
    assert accuracy(read(scores, labels=labels)) == ACCURACY


def test_films_join_where_patients_repeat():
    films, patients = [f"f{i}" for i in range(N)], [f"p{i // 3}" for i in range(N)]
    scores = table(("patient", "film", *SCORES), patients, films, *P.T)
    labels = table(("film", "label"), [films[i] for i in ORDER], Y[ORDER])
    assert accuracy(read(scores, labels=labels)) == ACCURACY


def test_case_and_leading_zeros_of_names_do_not_matter():
    scores = table(("study", *SCORES), [f"F{i:05d}.PNG" for i in range(N)], *P.T)
    labels = table(("study", "label"), [f"f{i:05d}.png" for i in ORDER], Y[ORDER])
    assert accuracy(read(scores, labels=labels)) == ACCURACY
    scores = table(("slide", *SCORES), [f"{i:04d}" for i in range(N)], *P.T)
    labels = table(("accession", "label"), ORDER, Y[ORDER])
    assert accuracy(read(scores, labels=labels)) == ACCURACY


def test_two_files_without_names_are_asked_about_where_answers_are_blind():
    refused = refusal(table(SCORES, *P.T), labels=table(("label",), Y[ORDER]))
    assert [c.option for c in refused.inspection.candidates] == ["--in-order"]
    assert accuracy(read(table(SCORES, *P.T), labels=table(("label",), Y))) == ACCURACY


@pytest.mark.parametrize("name", ["pred_0", "output_0", "n_score", "score"])
def test_the_number_of_an_output_is_no_class(name):
    assert accuracy(read(table((name, "label"), RISK, SICK))) == RIGHT


def test_numbered_columns_from_one_beside_labels_from_zero_are_asked_about():
    some = Y > 0
    data = table((*(f"p{k + 1}" for k in range(K)), "target"), *P[some].T, Y[some])
    seen = asked(data)
    best = max(seen.candidates, key=lambda c: c.accuracy)
    assert best.accuracy == pytest.approx(float((P[some].argmax(axis=1) == Y[some]).mean()))


@pytest.mark.parametrize(
    "names", [("prob_tb", "prob_normal"), ("prob_tumor", "prob_no_tumor"), ("p_krank", "p_gesund")]
)
def test_one_word_that_denies_is_enough_for_two_columns(names):
    found = read(table((*names, "label"), RISK, 1 - RISK, SICK))
    assert accuracy(found) == RIGHT


def test_initials_stand_for_names():
    data = table(("malignant", "benign", "dx"), RISK, 1 - RISK, words(SICK == 1, "B", "M"))
    assert accuracy(read(data)) == RIGHT


def test_labels_that_only_count_are_asked_about_beside_named_findings():
    header = (*(f"pred_{f}" for f in FINDINGS), *(f"label_{i}" for i in range(3)))
    seen = asked(table(header, *SAID.T, *SEEN.T))
    assert [c.option for c in seen.candidates] == ["--labels-key label_0,label_1,label_2"]


def test_yes_and_no_are_labels_of_findings():
    header = (*(f"pred_{f}" for f in FINDINGS), *(f"label_{f}" for f in FINDINGS))
    truth = [["True" if cell else "False" for cell in column] for column in SEEN.T]
    np.testing.assert_array_equal(part(read(table(header, *SAID.T, *truth))).labels, SEEN)
    truth[0][3] = ""
    error = refusal(table(header, *SAID.T, *truth))
    assert (error.code, "Edema" in error.what) == ("LABEL_NOT_INTEGER", True)


def test_rows_for_each_annotator_are_refused():
    films = [f"f{i // K}" for i in range(N * K)]
    people, truth = [f"m{i % K}" for i in range(N * K)], [str(y) for y in Y for _ in range(K)]
    error = refusal(table(("film", "annotator", "prob", "y"), films, people, P.reshape(-1), truth))
    assert (error.code, "one for each annotator" in error.what) == ("AMBIGUOUS_KEYS", True)


def test_a_column_of_parts_is_known_by_what_it_holds():
    cohort = ["train" if i % 3 else "test" for i in range(N)]
    found = read(table(("Kohorte", *SCORES, "label"), cohort, *P.T, Y))
    assert (list(found.splits), part(found).n) == (["train", "test"], N // 3)


def test_folds_of_a_cross_validation_are_one_part():
    found = read(table(("fold", *SCORES, "label"), [f"fold{i % 5}" for i in range(N)], *P.T, Y))
    assert list(found.splits) == ["test"]


def test_columns_of_two_parts_are_asked_about():
    header = [f"{split}_{c}" for split in ("val", "test") for c in (*CLASSES, "label")]
    logits, labels = draw(11)
    data = table(header, *P.T, Y, *softmax(logits).T, labels)
    seen = asked(data)
    assert [c.accuracy for c in seen.candidates] == pytest.approx(
        [ACCURACY, float((logits.argmax(axis=1) == labels).mean())]
    )


# Arrays ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("shift", [1, 3])
def test_labels_in_another_order_are_asked_about_without_names(shift):
    data = made.npz(logits=Z, labels=(Y + shift) % K)
    seen = asked(data, name="x.npz")
    best = max(seen.candidates, key=lambda c: c.accuracy)
    assert best.accuracy == pytest.approx(ACCURACY)


def test_class_names_with_commas_can_be_asked_about():
    names = np.array(["tench, Tinca tinca", "goldfish", "shark, white", "hen"])
    data = made.npz(logits=Z[:, [1, 2, 3, 0]], labels=names[Y])
    best = max(refusal(data, name="x.npz").inspection.candidates, key=lambda c: c.accuracy)
    assert '"tench, Tinca tinca"' in best.option
    assert accuracy(read(data, best.options, name="x.npz")) == ACCURACY


def test_weak_models_of_many_classes_are_read():
    rng = np.random.default_rng(4)
    logits, labels = rng.normal(size=(300, 60)), rng.integers(0, 60, 300)
    assert part(read(made.npz(logits=logits, labels=labels), name="x.npz")).n == 300


def test_energies_and_square_transposed_arrays_are_refused():
    error = refusal(made.npz(logits=-np.log(P), labels=Y), name="x.npz")
    assert (error.code, "negate" in error.remedy) == ("CLASSES", True)
    square, labels = draw(2, k=40, n=40)
    labels = square.argmax(axis=1)
    error = refusal(made.npz(logits=square.T.copy(), labels=labels), name="x.npz")
    assert (error.code, "transpose" in error.remedy) == ("CLASSES", True)


def test_one_hot_arrays_are_turned_with_what_is_turned():
    for logits, labels in ((Z.T, np.eye(K)[Y]), (Z, np.eye(K)[Y].T), (Z.T, np.eye(K)[Y].T)):
        found = read(made.npz(logits=logits.copy(), labels=labels.copy()), name="x.npz")
        assert accuracy(found) == ACCURACY
        assert "ORIENTATION" in {n.code for n in found.notices}


def test_counts_are_asked_about_also_under_the_name_of_logits():
    votes = np.round(100 * P)
    votes[:, 0] += 100 - votes.sum(axis=1)
    votes = np.abs(votes) * 3
    for key in ("scores", "logits"):
        data = made.npz(**{key: votes, "labels": Y})
        seen = asked(data, name="x.npz")
        found = read(data, by_option(seen, "--units sum"), name="x.npz")
        np.testing.assert_allclose(part(found).probabilities().sum(axis=1), 1.0)


def test_the_logarithm_of_one_probability_is_no_log_odds():
    data = made.npz(log_prob=np.log(RISK), labels=SICK)
    seen = asked(data, name="x.npz")
    found = read(data, by_option(seen, "--units ln"), name="x.npz")
    assert accuracy(found) == RIGHT


@pytest.mark.parametrize("key", ["probs", "sigmoid", "scores", "output"])
def test_a_network_with_one_output_is_read(key):
    found = read(made.npz(**{key: RISK[:, None], "labels": SICK}), name="x.npz")
    assert (part(found).task, accuracy(found)) == (Task.BINARY, RIGHT)


def test_fractions_called_logits_are_asked_about():
    data = made.npz(logits=RISK, labels=SICK)
    assert {c.option for c in asked(data, name="x.npz").candidates} == {
        "--scores probabilities",
        "--scores logits",
    }


@pytest.mark.parametrize(
    ("file", "options"),
    [
        ({"logits": Z}, ReadOptions(units=Units.PERCENT)),
        ({"probs": P}, ReadOptions(units=Units.PERCENT)),
        ({"logits": Z}, ReadOptions(units=Units.LOG2)),
        ({"logits": Z}, ReadOptions(units=Units.SOFTMAX_TWICE)),
        ({"scores": 100 * P}, ReadOptions(units=Units.PERCENT, scores=ScoreKind.LOGITS)),
    ],
)
def test_units_that_the_values_cannot_have_are_refused(file, options):
    error = refusal(made.npz(**file, labels=Y), options, name="x.npz")
    assert error.code == "PROB_RANGE"


def test_one_answer_of_many_is_obeyed_or_refused():
    sigmoids = 1 / (1 + np.exp(-Z))
    options = ReadOptions(answers=AnswersPerRow.ONE)
    error = refusal(made.npz(scores=sigmoids, labels=np.eye(K)[Y]), options, name="x.npz")
    assert error.code == "PROB_SUM"


def test_many_labels_that_agree_with_other_columns_are_refused():
    data = made.npz(sigmoid=SAID, labels=SEEN[:, [1, 2, 0]])
    assert refusal(data, name="x.npz").code == "CLASSES"
    assert part(read(made.npz(sigmoid=SAID, labels=SEEN), name="x.npz")).task is Task.MULTILABEL


def test_grades_are_no_percent():
    data = table(("answer", "confidence", "gold"), ANSWERS, np.arange(N) % 5 + 1.0, GOLD)
    error = refusal(data)
    assert "percent" not in error.what


# Review ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("names", [("malignant", "benign"), ("positive", "negative")])
def test_a_list_of_class_names_says_which_number_is_which(names):
    """As scikit-learn's breast cancer data have it: 0 is malignant."""
    data = made.npz(probs=np.c_[RISK, 1 - RISK], labels=1 - SICK, class_names=np.array(names))
    assert accuracy(read(data, name="x.npz")) == RIGHT


def test_a_meaning_that_reads_reversed_is_asked_about():
    data = table(("prob_malignant", "prob_benign", "label"), RISK, 1 - RISK, 1 - SICK)
    best = max(asked(data).candidates, key=lambda c: c.accuracy)
    assert best.accuracy == pytest.approx(RIGHT)
    truth = words(SICK == 0, "negative", "positive")
    best = max(
        asked(table(("prob_malignant", "prob_benign", "label"), RISK, 1 - RISK, truth)).candidates,
        key=lambda c: c.accuracy,
    )
    assert best.accuracy == pytest.approx(RIGHT)


@pytest.mark.parametrize("name", ["x.csv", "x.npz"])
def test_a_named_column_of_correctness_counts(name):
    right = (ANSWERS != GOLD).astype(int)  # the opposite of the truth
    if name == "x.csv":
        data = table(("prediction", "label", "confidence", "correct"), ANSWERS, GOLD, SURE, right)
    else:
        data = made.npz(prediction=ANSWERS, label=GOLD, confidence=SURE, correct=right)
    assert {c.option for c in asked(data, name=name).candidates} == {
        "--correct-key correct",
        "--labels-key label",
    }
    found = read(data, ReadOptions(correct_key="correct"), name=name)
    assert accuracy(found) == pytest.approx(1 - TOP)


def test_answers_in_words_agree_with_labels_in_numbers():
    answers = words(RISK > 0.5, "negative", "positive")
    right = ((RISK > 0.5) == (SICK == 1)).astype(int)
    sure = np.maximum(RISK, 1 - RISK)
    data = table(("prediction", "label", "confidence", "correct"), answers, SICK, sure, right)
    assert accuracy(read(data)) == RIGHT


def test_natural_logarithms_of_a_sure_model_stay_natural():
    sharp = softmax(40.0 * Z)
    sharp = np.clip(sharp, 1e-9, None) / np.clip(sharp, 1e-9, None).sum(axis=1, keepdims=True)
    labels = np.where(np.arange(N) % 7 == 0, Y, Z.argmax(axis=1))
    found = read(made.npz(log_probs=np.log(sharp), labels=labels), name="x.npz")
    assert "UNITS" not in {n.code for n in found.notices}
    few = read(made.npz(log_probs=np.array([[-0.1, -0.7]]), labels=np.array([0])), name="x.npz")
    assert "UNITS" not in {n.code for n in few.notices}


def test_a_damaged_reading_does_not_decide_for_the_other():
    header = [f"{model}_prob_{c}" for model in ("a", "b") for c in CLASSES]
    other = softmax(Z / 2)
    cells = [[f"{v:.12f}" for v in column] for column in (*P.T, *other.T)]
    cells[0][5] = "nan"
    error = refusal(table((*header, "label"), *cells, Y))
    assert "KEYS_GUESSED" not in error.code


def test_a_choice_of_kind_leaves_the_order_of_rows_open():
    labels = table(("label",), Y[ORDER])
    options = ReadOptions(scores=ScoreKind.PROBABILITIES)
    seen = asked(table(SCORES, *P.T), options, labels=labels)
    assert [c.option for c in seen.candidates] == ["--in-order"]


def test_one_answer_settles_all_that_was_assumed():
    rng = np.random.default_rng(3)
    points = rng.normal(size=(N, 3))
    seen = asked(table(("alpha", "beta", "gamma_ray", "kind"), *points.T, rng.integers(0, 3, N)))
    assert len(seen.candidates) == 1
    assert (
        part(
            read(
                table(("alpha", "beta", "gamma_ray", "kind"), *points.T, QY[:N]),
                seen.candidates[0].options,
            )
        ).n
        == N
    )


def test_margins_of_many_classes_are_asked_about():
    assert asked(made.npz(decision_function=Z, y=Y), name="x.npz").candidates


@pytest.mark.parametrize(
    "names", [("pneumonia, viral", "pneumonia, bacterial"), ("a\nb", "c"), ('say "x"', "y, z")]
)
def test_odd_names_of_two_classes_can_be_picked(names):
    data = table(("score", "label"), RISK, words(SICK == 1, *names))
    best = max(asked_odd(data).candidates, key=lambda c: c.accuracy)
    assert best.accuracy == pytest.approx(RIGHT)


def asked_odd(data: bytes) -> Inspection:
    seen = refusal(data).inspection
    for candidate in seen.candidates:
        assert accuracy(read(data, candidate.options)) == pytest.approx(candidate.accuracy)
    return seen


def test_columns_with_commas_in_their_names_can_be_picked():
    header = [f"{split}_prob, {c}" for split in ("val", "test") for c in CLASSES]
    data = table((*header, "val_label", "test_label"), *P.T, *P[::-1].T, Y, Y[::-1])
    candidates = asked_odd(data).candidates
    assert [c.accuracy for c in candidates] == pytest.approx([ACCURACY, ACCURACY])


@pytest.mark.parametrize("cell", ["n/a", "", "1,2"])
def test_a_bad_cell_among_two_sets_of_scores_is_refused_by_its_row(cell):
    header = [f"{kind}_{c}" for kind in ("logit", "prob") for c in CLASSES]
    cells = [[f"{v:.9f}" for v in column] for column in (*Z.T, *P.T)]
    cells[6][9] = cell
    error = refusal(table((*header, "label"), *cells, Y))
    assert error.code in {"DTYPE", "NONFINITE"}
    assert "row 9" in error.location


@pytest.mark.parametrize("label", ["+-1", "--1", "1e", "²"])
def test_odd_labels_are_refused_in_words(label):
    labels = [label if i == 4 else str(y) for i, y in enumerate(Y)]
    assert refusal(table((*SCORES, "label"), *P.T, labels)).what


def test_weak_scores_of_rare_findings_are_read():
    rng = np.random.default_rng(8)
    rare = (rng.random((100, 14)) < 0.02).astype(int)
    rare[:2] = 1
    found = read(made.npz(sigmoid=rng.random((100, 14)), labels=rare), name="x.npz")
    assert part(found).task is Task.MULTILABEL


def test_rows_that_all_follow_one_order_can_be_said_to_be_classes():
    scores = np.sort(P, axis=1)[:, ::-1]
    (way,) = refusal(made.npz(probs=scores, labels=Y), name="x.npz").inspection.candidates
    assert part(read(made.npz(probs=scores, labels=Y), way.options, name="x.npz")).n == N


def test_what_a_question_cannot_settle_an_option_lifts():
    data = made.npz(logits=-np.log(P), labels=Y)
    assert refusal(data, name="x.npz").code == "CLASSES"
    assert part(read(data, ReadOptions(scores=ScoreKind.LOGITS), name="x.npz")).n == N


def test_percent_of_many_labels_may_be_called_sigmoid():
    header = (*(f"prob_{f}" for f in FINDINGS), *(f"label_{f}" for f in FINDINGS))
    data = table(header, *(100 * SAID).T, *SEEN.T)
    options = ReadOptions(units=Units.PERCENT, scores=ScoreKind.SIGMOID)
    np.testing.assert_allclose(part(read(data, options)).scores, SAID, atol=1e-9)
    logs = made.npz(log_probs=np.log(SAID), labels=SEEN)
    found = read(logs, ReadOptions(units=Units.LN), name="x.npz")
    np.testing.assert_allclose(part(found).scores, SAID, atol=1e-12)


def test_columns_of_models_of_two_classes_are_those_of_two_models():
    half = 0.5 * RISK + 0.2
    header = ("a_prob_0", "a_prob_1", "b_prob_0", "b_prob_1", "label")
    seen = asked(table(header, 1 - RISK, RISK, 1 - half, half, SICK))
    assert len(seen.candidates) == 2


def test_more_models_than_anybody_compares_are_refused():
    header = [f"prob_m{chr(97 + i)}x" for i in range(12)]
    data = table((*header, "label"), *[np.clip(RISK * (1 - i / 50), 0, 1) for i in range(12)], SICK)
    assert refusal(data).code == "AMBIGUOUS_KEYS"


def test_inputs_of_no_class_are_neither_right_nor_wrong():
    data = made.npz(pred=np.array([1, 0, 3, 3] * 20), conf=np.linspace(0.1, 0.9, 80) * 100)
    options = ReadOptions(unlabelled=True, units=Units.PERCENT)
    assert not part(read(data, options, name="x.npz")).labelled


@pytest.mark.parametrize(
    "data",
    [
        made.npz(val_logits=Z[:99], val_labels=Y[:99], test_logits=Z, test_labels=Y),
        made.npz(confidence=SURE, correct=(ANSWERS == GOLD).astype(int)),
        made.npz(logits=Z, labels=Y),
    ],
    ids=["parts", "correct", "plain"],
)
def test_a_kept_recipe_reads_the_same_again(data):
    first = read(data, name="x.npz")
    again = read(data, first.recipe, name="x.npz")
    assert part(again).digest == part(first).digest
    assert list(again.splits) == list(first.splits)


def test_few_rows_show_that_labels_count_from_one():
    some = (Y < K - 1) & (np.arange(N) < 36)
    data = made.npz(logits=Z[some], labels=Y[some] + 1)
    seen = asked(data, name="x.npz")
    assert {c.option for c in seen.candidates} == {"--classes 0..3", "--classes 1..4"}


def test_many_labels_that_lie_on_their_side_are_refused():
    data = made.npz(sigmoid=SAID.T.copy(), labels=SEEN.T.copy())
    error = refusal(data, name="x.npz")
    assert (error.code, "transpose" in error.remedy) == ("CLASSES", True)
    assert [c.option for c in error.inspection.candidates] == ["--answers many"]
    square = np.eye(30)[np.arange(30) // 2]
    logits = np.random.default_rng(0).normal(size=(30, 30))
    assert refusal(made.npz(logits=logits, labels=square.T.copy()), name="x.npz").code == "CLASSES"


# Seeded bugs -----------------------------------------------------------------------------------


def test_a_list_of_scores_is_taken_in_its_order():
    got = part(
        read(table(("a", "b", "label"), 1 - RISK, RISK, 1 - SICK), ReadOptions(scores_key="b,a"))
    )
    assert got.class_names == ("b", "a")
    np.testing.assert_allclose(got.scores[:, 0], RISK)


def test_labels_keep_the_meaning_of_two_columns_that_are_taken_in_their_order():
    data = table(("yes", "no", "label"), RISK, 1 - RISK, SICK)
    got = part(read(data, ReadOptions(scores_key="yes,no")))
    assert got.class_names == ("yes", "no")
    assert got.labels.tolist() == (1 - SICK).tolist()


def test_labels_are_looked_for_at_both_ends_of_a_table():
    shuffled = np.random.default_rng(1).permutation(SICK)
    found = read(table(("u", "c0", "c1", "v"), shuffled, 1 - RISK, RISK, SICK))
    assert accuracy(found) == RIGHT
    assert any("not used: u" in n.text for n in found.notices)


def test_each_choice_about_correctness_says_what_it_does():
    right = (ANSWERS != GOLD).astype(int)
    data = table(("prediction", "label", "confidence", "correct"), ANSWERS, GOLD, SURE, right)
    candidates = asked(data).candidates
    numbers = {c.option: c.accuracy for c in candidates}
    assert numbers["--correct-key correct"] == pytest.approx(1 - TOP)
    assert numbers["--labels-key label"] == pytest.approx(TOP)
    words = {c.option: c.means for c in candidates}
    assert "correct says so" in words["--correct-key correct"]
    assert "equals label" in words["--labels-key label"]


def test_an_index_of_json_joins_where_it_does_not_count():
    frame = {"columns": SCORES, "index": ORDER.tolist(), "data": P[ORDER].tolist()}
    labels = table(("index", "label"), range(N), Y)
    found = read(json.dumps(frame).encode(), labels=labels, name="x.json")
    assert accuracy(found) == ACCURACY


@pytest.mark.parametrize("letters", ["AN", "NV"])
def test_a_single_letter_says_too_little(letters):
    data = table(("score", "label"), RISK, words(SICK == 1, *letters))
    a, b = sorted(letters)
    assert {c.option for c in asked(data).candidates} == {
        f"--classes {a},{b}",
        f"--classes {b},{a}",
    }


def test_a_score_that_divides_answers_the_wrong_way_round_is_asked_about():
    answers = words(RISK <= 0.5, "no", "yes")
    data = table(("score", "prediction", "label"), RISK, answers, words(SICK == 0, "no", "yes"))
    assert {c.option for c in asked(data).candidates} == {
        "--scores confidence",
        "--scores probabilities",
    }


def test_columns_of_one_model_are_picked_without_those_of_the_other():
    header = ("cat_a", "cow_a", "cat_b", "cow_b", "label")
    half = 0.5 * RISK + 0.2
    data = table(header, 1 - RISK, RISK, 1 - half, half, words(SICK == 1, "cat", "cow"))
    keys = {c.options.scores_key for c in asked(data).candidates}
    assert keys == {"cat_a,cow_a", "cat_b,cow_b"}


@pytest.mark.parametrize("seed", range(8))
def test_luck_among_many_orders_asks_nothing(seed):
    rng = np.random.default_rng(seed)
    data = made.npz(logits=rng.normal(size=(40, 20)), labels=rng.integers(0, 20, 40))
    assert part(read(data, name="x.npz")).n == 40


def test_whole_numbers_of_which_one_row_sums_to_255_are_no_bytes():
    scores = np.round(20 * (Z - Z.min()) / 4).astype(int)
    scores[0] = [55, 60, 70, 70]
    data = table((*(f"c{k}" for k in range(K)), "label"), *scores.T, Y)
    found = read(data)
    assert part(found).kind is ScoreKind.LOGITS
    assert "SCORES_GUESSED" in {n.code for n in found.notices}


@pytest.mark.parametrize("names", [("Opacity, left", "Clear"), ('a "b"', "c"), ("1", "2", "3")])
def test_class_names_survive_the_option_that_names_them(names):
    assert ReadOptions(classes=classes_text(names)).class_list() == names


def test_the_only_possible_reading_is_said():
    answers = Q.argmax(axis=1)
    batches = [
        {"pred": answers[i : i + 80], "conf": SURE[i : i + 80], "label": QY[i : i + 80]}
        for i in range(0, N, 80)
    ]
    found = read(made.pickled(batches), name="x.pkl")
    assert (part(found).n, accuracy(found)) == (N, TOP)
    assert any(n.text.endswith("as nothing else is possible") for n in found.notices)


@pytest.mark.parametrize("name", ["confidence", "probability"])
def test_grades_under_a_name_are_no_percent(name):
    grades = np.arange(N) % 5 + 1
    answers = table(("answer", name, "gold"), ANSWERS, grades, GOLD)
    error = refusal(answers)
    assert "--units percent" not in {c.option for c in error.inspection.candidates}
    assert "percent" not in error.what


# Ordinary files that say the same twice --------------------------------------------------------


@pytest.mark.parametrize("second", ["label_name", "target"])
def test_labels_twice_are_one(second):
    names = [CLASSES[k] for k in Y] if second == "label_name" else Y
    found = read(table((*SCORES, "label_id", second), *P.T, Y, names))
    assert accuracy(found) == ACCURACY
    other = table((*SCORES, "label_id", second), *P.T, Y, np.roll(Y, 1))
    assert refusal(other).code == "AMBIGUOUS_KEYS"


@pytest.mark.parametrize(
    "more",
    [
        {"targets": Y},
        {"classes": np.arange(K)},
        {"target_names": np.array(CLASSES)},
        {"log_probs": np.log(P)},
    ],
    ids=lambda more: next(iter(more)),
)
def test_arrays_that_say_nothing_else_do_not_stand_in_the_way(more):
    assert accuracy(read(made.npz(logits=Z, labels=Y, **more), name="x.npz")) == ACCURACY


def test_other_labels_are_refused_and_other_logits_asked_about():
    cases = (({"targets": Y[::-1]}, "AMBIGUOUS_KEYS"), ({"logits2": Z[::-1]}, "UNDECIDED"))
    for more, code in cases:
        assert refusal(made.npz(logits=Z, labels=Y, **more), name="x.npz").code == code


def test_one_hot_labels_may_come_first_in_a_pair():
    assert accuracy(read(made.pickled((np.eye(K)[Y], Z)), name="x.pkl")) == ACCURACY


def test_a_mapping_of_columns_is_a_table():
    columns = {f"class_{k}": P[:, k].tolist() for k in range(K)} | {"label": Y.tolist()}
    assert accuracy(read(json.dumps(columns).encode(), name="x.json")) == ACCURACY
