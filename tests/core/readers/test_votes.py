"""Votes brought to a run: where they lie, which class and row they are for, what is refused."""

import gzip
import io
import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from core.errors import LostWorker, Refused
from core.predictions import Predictions, ScoreKind, Task
from core.readers.formats.contents import FileBytes
from core.readers.sandbox import read as sandbox
from core.readers.sandbox import wire
from core.readers.tables.votes import (
    UndecidedVotes,
    VoteChoice,
    VoteFile,
    attach_votes,
    read_votes_file,
)

RNG = np.random.default_rng(4)
N, NAMES = 40, ("cat", "dog", "fox")
VOTES = RNG.multinomial(12, [0.6, 0.3, 0.1], N)[:, RNG.permuted(np.arange(3))]
for at, shift in enumerate(RNG.integers(0, 3, N)):
    VOTES[at] = np.roll(VOTES[at], shift)
LABELS = VOTES.argmax(axis=1)
LOGITS = RNG.normal(size=(N, 3)) + 2.0 * np.eye(3)[LABELS]
IDS = tuple(f"pictures/{k:03d}.png" for k in range(N))


def run(**changes) -> Predictions:
    given = {
        "task": Task.MULTICLASS,
        "kind": ScoreKind.LOGITS,
        "scores": LOGITS,
        "labels": LABELS,
        "class_names": NAMES,
        "row_ids": IDS,
    }
    return Predictions(**given | changes)


def csv(**columns) -> bytes:
    lines = [",".join(columns)]
    lines += [",".join(map(str, row)) for row in zip(*columns.values(), strict=True)]
    return ("\n".join(lines) + "\n").encode()


def npz(**arrays) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def parquet(**columns) -> bytes:
    file = io.BytesIO()
    pyarrow.parquet.write_table(pa.table(columns), file)
    return file.getvalue()


def columns(order=(0, 1, 2), before="", rows=slice(None), **more):
    return more | {f"{before}{NAMES[k]}": VOTES[rows, k].tolist() for k in order}


def attached(name: str, data: bytes, predictions: Predictions | None = None, **choice):
    file = read_votes_file(FileBytes.of_bytes(name, data))
    file = replace(file, name=name)
    splits = {"test": predictions or run()}
    return attach_votes(splits, "test", file, VoteChoice(**choice))


def votes_of(matched) -> list[list[float]]:
    return matched.splits["test"].votes.of_row.tolist()


def lines(rows=range(N), key="label_count", order=(0, 1, 2)) -> bytes:
    return "\n".join(
        json.dumps({"uid": IDS[k], key: VOTES[k, list(order)].tolist(), "entropy": 0.5 + k})
        for k in rows
    ).encode()


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("v.csv", csv(**columns(image=IDS))),
        ("v.csv", csv(**columns((2, 0, 1), "votes_", image=IDS))),
        ("v.tsv", csv(**columns((1, 0, 2), "n_", image=IDS)).replace(b",", b"\t")),
        ("v.csv.gz", gzip.compress(csv(**columns(image=IDS)))),
        ("v.parquet", parquet(**columns((2, 1, 0), image=list(IDS)))),
        ("v.jsonl", lines()),
        ("v.json", lines()),
        ("v.npz", npz(votes=VOTES, ids=np.array(IDS))),
        ("v.npy", npz(votes=VOTES)),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_votes_are_read_from_any_format(name, data):
    if name == "v.npy":
        file = io.BytesIO()
        np.save(file, VOTES)
        data = file.getvalue()
    assert votes_of(attached(name, data)) == VOTES.tolist()


def test_rows_are_joined_by_name_in_any_order_and_folders_aside():
    order = RNG.permutation(N)
    ids = [IDS[k].rpartition("/")[2] for k in order]
    matched = attached("v.csv", csv(**columns(rows=order, image=ids)))
    assert votes_of(matched) == VOTES.tolist()
    assert not matched.notices


def test_rows_without_votes_and_votes_without_rows_are_counted():
    matched = attached("v.jsonl", lines(range(10, N)), run().take(np.arange(30)))
    votes = matched.splits["test"].votes
    assert votes.voted.tolist() == list(range(10, 30))
    (notice,) = (n for n in matched.notices if n.code == "VOTES_PARTLY")
    assert notice.text == "20 of 30 rows have votes; 10 rows of votes are not in this part"


def test_shares_are_votes_of_unknown_number():
    shares = (VOTES / 12).round(3)
    votes = attached("v.npz", npz(shares=shares, ids=np.array(IDS))).splits["test"].votes
    assert not votes.counted
    assert votes.of_row == pytest.approx(VOTES / 12, abs=0.002)


def test_counts_go_before_shares_of_the_same_votes():
    """Files of ChaosNLI hold both, and only counts say how many people were asked."""
    both = {"label_dist": VOTES / 12, "label_count": VOTES, "ids": np.array(IDS)}
    assert votes_of(attached("v.npz", npz(**both))) == VOTES.tolist()


def test_rows_without_names_are_taken_in_order():
    matched = attached("v.npz", npz(votes=VOTES), run(row_ids=()))
    assert votes_of(matched) == VOTES.tolist()
    assert any("row order" in notice.text for notice in matched.notices)
    with pytest.raises(Refused, match="40 rows, the votes 39") as refusal:
        attached("v.npz", npz(votes=VOTES[1:]), run(row_ids=()))
    assert refusal.value.code == "LENGTH_MISMATCH"


def test_names_of_other_rows_are_not_taken_for_the_order():
    other = npz(votes=VOTES, ids=np.array([f"z{k}" for k in range(N)]))
    with pytest.raises(Refused, match=r"No column of v\.npz \(ids\) names rows") as refusal:
        attached("v.npz", other)
    assert (refusal.value.code, refusal.value.options) == ("VOTES", ("--in-order",))
    assert votes_of(attached("v.npz", other, in_order=True)) == VOTES.tolist()


def test_counts_of_few_rows_are_not_taken_for_names():
    few, votes = run().take(np.arange(4)), np.array([[3, 0, 1], [1, 4, 0], [4, 1, 2], [3, 1, 1]])
    data = csv(a=votes[:, 0], b=votes[:, 1], c=votes[:, 2])
    assert votes_of(attached("v.csv", data, few)) == votes.tolist()


def test_a_name_given_twice_is_refused():
    twice = npz(votes=VOTES, ids=np.array([*IDS[:-1], IDS[3]]))
    with pytest.raises(Refused, match=rf"Rows 3 and {N - 1} of v\.npz have the same ids, {IDS[3]}"):
        attached("v.npz", twice)


def test_an_order_that_the_labels_do_not_bear_out_is_asked():
    turned = npz(votes=VOTES[:, [0, 2, 1]], ids=np.array(IDS))
    with pytest.raises(UndecidedVotes, match="of 100 rows") as refusal:
        attached("v.npz", turned)
    assert refusal.value.code == "UNDECIDED"
    assert list(refusal.value.orders) == ["cat,fox,dog", "cat,dog,fox"]
    options = [item["option"] for item in refusal.value.to_json()["candidates"]]
    assert options[0] == "--votes-classes cat,fox,dog"
    assert votes_of(attached("v.npz", turned, classes="cat,fox,dog")) == VOTES.tolist()
    kept = attached("v.npz", turned, classes="cat,dog,fox")
    assert votes_of(kept) == VOTES[:, [0, 2, 1]].tolist()


def test_the_columns_can_be_chosen():
    data = csv(**columns(before="a.", image=IDS) | columns((1, 2, 0), "b.") | {"more": [1] * N})
    for text in ("b.", "b.dog,b.fox,b.cat"):
        assert votes_of(attached("v.csv", data, columns=text)) == VOTES.tolist()
    both = npz(first=VOTES + 1, second=VOTES, ids=np.array(IDS))
    assert votes_of(attached("v.npz", both, columns="second")) == VOTES.tolist()


REFUSED = {
    "AMBIGUOUS_KEYS": ("v.npz", npz(first=VOTES, second=VOTES), {}),
    "CLASSES": ("v.npz", npz(votes=VOTES[:, :2]), {"columns": "votes"}),
    "LENGTH_MISMATCH": ("v.npz", npz(votes=VOTES[:7]), {}),
    "VOTES": ("v.csv", csv(**columns(image=IDS)).replace(b",0\n", b",-1\n", 1), {}),
    "FORMAT_MISMATCH": ("v.npz", b"no archive", {}),
}


@pytest.mark.parametrize("code", REFUSED)
def test_what_is_no_file_of_votes_is_refused(code):
    name, data, choice = REFUSED[code]
    with pytest.raises(Refused) as refusal:
        attached(name, data, **choice)
    assert refusal.value.code == code
    assert refusal.value.remedy


UNSURE = (np.arange(N) % 5 + 3 * (LABELS == 1)).tolist()
LACKING = {  # votes for a class that the model lacks, as files hold them
    "called alike": csv(**columns(before="votes_", image=IDS), votes_unsure=UNSURE),
    "called alike, first": csv(votes_unsure=UNSURE, **columns(before="votes_", image=IDS)),
    "called like nothing else": csv(**columns(image=IDS), unsure=UNSURE),
    "beside a total": csv(
        **columns(before="n_", image=IDS), n_unsure=UNSURE, n_annotators=(12 + np.array(UNSURE))
    ),
    "in a total only": csv(**columns(before="n_", image=IDS), n_people=12 + np.array(UNSURE)),
    "in a mapping": "\n".join(
        json.dumps(
            {
                "uid": IDS[k],
                "label_count": dict(zip(NAMES, VOTES[k].tolist(), strict=True), other=UNSURE[k]),
            }
        )
        for k in range(N)
    ).encode(),
    "in an array": npz(
        label_count=np.column_stack([VOTES, UNSURE]), features=VOTES + 0.5, ids=np.array(IDS)
    ),
}


@pytest.mark.parametrize("case", LACKING)
def test_votes_for_a_class_that_the_model_lacks_are_not_dropped(case):
    suffix = {b"PK": "npz", b'{"': "jsonl"}.get(LACKING[case][:2], "csv")
    if case == "called like nothing else":  # 12 people in every row would leave nothing for more
        votes = VOTES.copy()
        votes[:, 0] += np.arange(N) % 3
        data = csv(image=IDS, **{n: votes[:, k] for k, n in enumerate(NAMES)}, unsure=UNSURE)
    else:
        data = LACKING[case]
    with pytest.raises(Refused) as refusal:
        attached(f"v.{suffix}", data)
    assert refusal.value.code in ("CLASSES", "AMBIGUOUS_KEYS")


def test_columns_that_count_may_be_named_and_totals_are_no_votes():
    data = LACKING["called alike"]
    names = ",".join(f"votes_{name}" for name in NAMES)
    assert votes_of(attached("v.csv", data, columns=names)) == VOTES.tolist()
    for more in ({"n_total": [12] * N}, {"label": LABELS}, {"age": LABELS + 40}):
        data = csv(**columns(before="n_", image=IDS), **more)
        assert votes_of(attached("v.csv", data)) == VOTES.tolist()


def test_other_refusals_say_what_to_do():
    with pytest.raises(Refused, match="No numbers"):
        attached("v.csv", b"image,who\na,b\nc,d\n")
    with pytest.raises(Refused, match="are cat, dog, fox") as refusal:
        attached("v.npz", npz(votes=VOTES), classes="cat,dog,cow")
    assert refusal.value.code == "CLASSES"
    many = run(task=Task.MULTILABEL, kind=ScoreKind.SIGMOID, labels=np.eye(3, dtype=int)[LABELS])
    with pytest.raises(Refused, match="multilabel scores"):
        attached("v.npz", npz(votes=VOTES), many)
    with pytest.raises(Refused, match="may be in any of first, second"):
        attached("v.npz", npz(first=VOTES, second=VOTES))


def test_two_classes_and_one_score_a_row():
    two = run(task=Task.BINARY, scores=LOGITS[:, 0], labels=LABELS % 2, class_names=("no", "yes"))
    data = csv(image=IDS, yes=(LABELS % 2).tolist(), no=(1 - LABELS % 2).tolist())
    assert votes_of(attached("v.csv", data, two)) == np.eye(2)[LABELS % 2].tolist()


def test_other_splits_get_their_votes_by_name():
    file = read_votes_file(FileBytes.of_bytes("v.jsonl", lines()))
    splits = {"val": run().take(np.arange(15)), "test": run().take(np.arange(15, N))}
    matched = attach_votes(splits, "test", file)
    assert matched.splits["val"].votes.of_row.tolist() == VOTES[:15].tolist()
    nameless = splits | {"val": run(row_ids=())}
    assert attach_votes(nameless, "test", file).splits["val"].votes is None


def test_a_split_of_rows_that_nobody_voted_on_has_no_votes():
    votes = np.where(np.arange(N)[:, None] < 15, 0, VOTES)
    file = read_votes_file(FileBytes.of_bytes("v.npz", npz(votes=votes, ids=np.array(IDS))))
    splits = {"val": run().take(np.arange(15)), "test": run().take(np.arange(15, N))}
    matched = attach_votes(splits, "test", file)
    assert matched.splits["val"].votes is None
    assert votes_of(matched) == VOTES[15:].tolist()


def test_names_of_more_rows_than_have_votes_name_none_of_them():
    data = npz(votes=VOTES[:7], ids=np.array(IDS))
    with pytest.raises(Refused) as refusal:
        attached("v.npz", data)
    assert refusal.value.code == "LENGTH_MISMATCH"


def test_the_sealed_process_reads_them(tmp_path):
    path = tmp_path / "upload"
    path.write_bytes(lines())
    file = sandbox.read_votes(path, name="v.jsonl")
    assert file.name == "v.jsonl"
    assert file.digest
    assert file.numbers["label_count"].tolist() == VOTES.tolist()
    assert file.names["uid"] == IDS
    path.write_bytes(b"\x80\x04cos\nsystem\n(S'true'\ntR.")
    with pytest.raises(Refused) as refusal:
        sandbox.read_votes(path, name="v.pkl")
    assert refusal.value.code == "PICKLE_GLOBAL"


def test_what_no_reader_writes_is_not_taken_over(tmp_path):
    wire.write_votes(wire.Exchange(tmp_path), VoteFile({"a": np.zeros((2, 3, 4))}, {}))
    with pytest.raises(LostWorker):
        wire.load_votes(wire.Exchange(tmp_path))


def test_classes_that_go_round_come_back_in_their_order():
    data = npz(votes=VOTES[:, [1, 2, 0]], ids=np.array(IDS))
    assert votes_of(attached("v.npz", data, classes="dog,fox,cat")) == VOTES.tolist()


@pytest.mark.parametrize("columns_chosen", [None, "votes_", "votes_fox,votes_cat,votes_dog"])
def test_what_is_said_of_the_columns_is_said_in_their_order(columns_chosen):
    """They are called like the classes, which must not put them into another order before."""
    data = csv(**columns((2, 0, 1), "votes_", image=IDS))
    same = attached("v.csv", data, columns=columns_chosen, classes="fox,cat,dog")
    assert votes_of(same) == VOTES.tolist()
    other = attached("v.csv", data, columns=columns_chosen, classes="dog,fox,cat")
    assert votes_of(other) == VOTES[:, [1, 2, 0]].tolist()


def judgements(rows=range(N), classes=NAMES, names=("image", "annotator_id", "label")) -> bytes:
    """One line for each vote, those of a person together; every person judges each row once."""
    answers = {row: np.repeat(np.arange(3), VOTES[row]).tolist() for row in rows}
    lines = [
        (IDS[row], f"p{person}", classes[answers[row][(person + row) % 12]])
        for person in range(12)
        for row in rows
    ]
    return csv(**dict(zip(names, zip(*lines, strict=True), strict=True)))


@pytest.mark.parametrize("first", [0, 1])
def test_numbered_columns_are_taken_by_their_numbers(first):
    turned = {f"class_{k + first}": VOTES[:, k].tolist() for k in (2, 0, 1)}
    matched = attached("v.csv", csv(image=list(IDS), **turned))
    assert votes_of(matched) == VOTES.tolist()
    assert "in the order of their numbers: cat, dog, fox" in matched.notices[0].text


@pytest.mark.parametrize(
    "names", [("image", "annotator_id", "label"), ("what", "Worker", "choice")]
)
def test_judgements_one_a_line_are_counted(names):
    matched = attached("v.csv", judgements(range(N)[::-1], names=names))
    assert votes_of(matched) == VOTES.tolist()
    (notice,) = matched.notices
    assert notice.code == "KEYS_GUESSED"
    assert notice.text == f"{names[2]} was counted as one vote of each {names[1]} for {names[0]}"


def test_judgements_by_number_are_of_classes_called_so():
    numbered = run(class_names=("0", "1", "2"))
    data = judgements(classes=("0", "1", "2"))
    assert votes_of(attached("v.csv", data, numbered)) == VOTES.tolist()
    with pytest.raises(Refused, match="name 0, 1, 2; the scores are cat, dog, fox") as refusal:
        attached("v.csv", data)
    assert refusal.value.code == "CLASSES"
    named = attached("v.csv", data, classes="cat,dog,fox")
    assert votes_of(named) == VOTES.tolist()


def test_labels_that_are_numbers_stand_in_the_order_of_their_values():
    lines = [f"{row},p{k},{k + 1}" for row in IDS[:2] for k in range(12)] + [f"{IDS[0]},q,2"]
    data = "\n".join(["image,annotator,label", *lines]).encode()
    file = read_votes_file(FileBytes.of_bytes("v.csv", data))
    assert list(file.numbers) == [str(k) for k in range(1, 13)]
    assert file.numbers["2"].tolist() == [2.0, 1.0]


def test_judgements_that_name_the_classes_are_not_called_otherwise():
    with pytest.raises(Refused, match="name the classes themselves: cat, dog, fox") as refusal:
        attached("v.csv", judgements(), classes="fox,cat,dog")
    assert refusal.value.options == ("--votes-classes",)


def test_a_class_that_no_judgement_names_has_no_votes():
    four = run(class_names=("ape", *NAMES), scores=np.column_stack([LOGITS[:, 0] - 9, LOGITS]))
    four = replace(four, labels=LABELS + 1)
    votes = attached("v.csv", judgements(), four).splits["test"].votes.of_row
    assert votes.tolist() == np.column_stack([np.zeros(N), VOTES]).tolist()


def test_lines_without_a_label_are_no_votes():
    data = judgements() + f"{IDS[0]},p98,\n{IDS[1]},p99,fox\n,p97,fox\n".encode()
    more = VOTES.copy()
    more[1, 2] += 1
    assert votes_of(attached("v.csv", data)) == more.tolist()


def test_judgements_that_cannot_be_told_apart_are_refused():
    again = judgements() + f"{IDS[7]},p3,cat\n".encode()
    with pytest.raises(Refused, match=f"annotator_id p3 judged image {IDS[7]} twice") as refusal:
        attached("v.csv", again)
    assert refusal.value.code == "VOTES"
    with pytest.raises(Refused, match="of image, which names no row") as refusal:
        attached("v.csv", judgements(), run(row_ids=()))
    assert refusal.value.options == ("--in-order",)
    in_order = attached("v.csv", judgements(), run(row_ids=()), in_order=True)
    assert votes_of(in_order) == VOTES.tolist()
    two = judgements(names=("image", "annotator", "label")).replace(b"\n", b",x\n")
    two = two.replace(b"label,x", b"label,class", 1)
    with pytest.raises(Refused, match="No numbers in the file"):
        attached("v.csv", two)


def test_judgements_come_whole_out_of_the_sealed_process(tmp_path):
    path = tmp_path / "upload"
    path.write_bytes(judgements())
    file = sandbox.read_votes(path, name="v.csv")
    assert file.judgements
    assert list(file.numbers) == ["cat", "dog", "fox"]
    assert file.numbers["dog"].tolist() == VOTES[:, 1].tolist()
    assert file.names == {"image": IDS}
