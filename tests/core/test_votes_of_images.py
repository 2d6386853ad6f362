"""About fifty votes for each of many images in ten classes: every form of file, every number."""

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from core.__main__ import main
from core.configs import AuditConfig
from core.errors import Refused
from core.library import open_library
from core.metrics.human import human_audit
from core.predictions import Predictions, ScoreKind, Task
from core.readers.formats.contents import FileBytes
from core.readers.predictions.interpret import read_source
from core.readers.predictions.result import ReadOptions
from core.readers.tables.votes import UndecidedVotes, VoteChoice, attach_votes, read_votes_file
from core.studies.human import human_study
from core.studies.posthoc import cut
from tests.reference import plain_human as plain

pytestmark = pytest.mark.usefixtures("unsealed")
CLASSES = (
    "airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck",
)  # fmt: skip
N = 600
RNG = np.random.default_rng(10)
OTHER = np.array([6, 2, 9, 0, 8, 3, 7, 1, 5, 4])  # the classes as the files of votes have them
LABELS = RNG.integers(0, 10, N)
TRUE = RNG.normal(size=(N, 10))
TRUE[np.arange(N), LABELS] += np.where(RNG.random(N) < 0.2, 2.0, 7.0)
VOTES = np.array(
    [
        RNG.multinomial(people, row)
        for people, row in zip(RNG.integers(47, 64, N), plain.probabilities(TRUE), strict=True)
    ]
)
SHARES = VOTES / VOTES.sum(axis=1, keepdims=True)
LOGITS = 1.6 * (TRUE + 0.8 * RNG.normal(size=TRUE.shape))
IDS = [f"test/{CLASSES[label]}/{row:05d}.png" for row, label in enumerate(LABELS)]
ANY = RNG.permutation(N)  # the rows as the files of votes have them
FEW = AuditConfig(n_resamples=50)


def table(values, before="", *, rows=ANY, order=OTHER, classes=CLASSES) -> bytes:
    lines = [",".join(["uid", *(before + classes[k] for k in order)])]
    lines += [",".join([IDS[row], *map(repr, values[row, order].tolist())]) for row in rows]
    return "\n".join(lines).encode()


def records(key, cells) -> bytes:
    return "\n".join(json.dumps({"uid": IDS[row], key: cells(row)}) for row in ANY).encode()


def by_name(row) -> dict[str, int]:
    return {CLASSES[k]: int(VOTES[row, k]) for k in OTHER}


FORMS = {
    "columns of counts": ("votes.csv", table(VOTES, "votes_"), {}),
    "columns of counts called like the classes": ("votes.csv", table(VOTES), {}),
    "columns of shares": ("shares.csv", table(SHARES, "share_"), {}),
    "columns that are chosen": ("votes.csv", table(VOTES, "x."), {"columns": "x."}),
    "JSON lines": ("votes.jsonl", records("label_count", lambda row: VOTES[row].tolist()), {}),
    "JSON lines of shares": (
        "votes.jsonl",
        records("label_dist", lambda row: SHARES[row].tolist()),
        {},
    ),
    "JSON lines in the order that is said": (
        "votes.jsonl",
        records("label_count", lambda row: VOTES[row, OTHER].tolist()),
        {"classes": ",".join(CLASSES[k] for k in OTHER)},
    ),
    "JSON lines by class": ("votes.jsonl", records("label_count", by_name), {}),
}


def scores_json(*, rows=range(N), labelled=True) -> bytes:
    return "\n".join(
        json.dumps(
            {"uid": IDS[row], "logits": LOGITS[row].tolist()}
            | ({"label": CLASSES[LABELS[row]]} if labelled else {})
        )
        for row in rows
    ).encode()


def labels_csv() -> bytes:
    rows = [f"{IDS[row]},{CLASSES[LABELS[row]]}" for row in ANY[::-1]]
    return "\n".join(["uid,label", *rows]).encode()


def scores_csv() -> bytes:
    header = ["uid", *(f"logit_{name}" for name in CLASSES), "label"]
    rows = [[IDS[row], *LOGITS[row].tolist(), CLASSES[LABELS[row]]] for row in range(N)]
    return "\n".join(",".join(map(str, row)) for row in [header, *rows]).encode()


def run(**changes) -> Predictions:
    given = {
        "task": Task.MULTICLASS,
        "kind": ScoreKind.LOGITS,
        "scores": LOGITS,
        "labels": LABELS,
        "class_names": CLASSES,
        "row_ids": tuple(IDS),
    }
    return Predictions(**given | changes)


def attached(name: str, data: bytes, scores: Predictions | None = None, **choice):
    file = replace(read_votes_file(FileBytes.of_bytes(name, data)), name=name)
    return attach_votes({"test": scores or run()}, "test", file, VoteChoice(**choice))


def check(audit, expected) -> None:
    """Hold every number of an audit against the definitions written out."""
    numbers = {name: score.value for name, score in audit.scores.items()}
    numbers["least soft_nll"] = audit.scores["soft_nll"].floor
    numbers |= {"confidence": audit.confidence, "agreement": audit.agreement}
    scalars = {name: value for name, value in expected.items() if name not in {"bins", "groups"}}
    assert numbers == pytest.approx(scalars, rel=0.0, abs=1e-12)
    bins = [(part.count, part.confidence, part.agreement) for part in audit.bins]
    np.testing.assert_allclose(bins, expected["bins"], rtol=0.0, atol=1e-12)
    parts = audit.disagreement
    groups = np.stack([parts.count, parts.entropy, parts.confidence, parts.agreement], axis=1)
    np.testing.assert_allclose(groups, expected["groups"], rtol=0.0, atol=1e-12)
    gap = parts.confidence - parts.agreement
    np.testing.assert_allclose(parts.gap, gap, rtol=0.0, atol=1e-12)


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_votes_gives_the_numbers_of_the_definitions(form):
    name, data, choice = FORMS[form]
    with_votes = attached(name, data, **choice).splits["test"]
    audit = human_audit(with_votes, FEW)
    check(audit, plain.measures(LOGITS, VOTES))
    if "shares" in form:
        assert (audit.mean, audit.scores["tvd"].floor) == (None, None)
    else:
        totals = VOTES.sum(axis=1)
        assert (audit.least, audit.mean, audit.most) == pytest.approx(
            (totals.min(), totals.mean(), totals.max())
        )
        assert with_votes.votes.of_row.tolist() == VOTES.tolist()


@pytest.mark.parametrize("form", ["votes_", "label_count", "share_"])
def test_scores_labels_and_votes_in_three_files_are_joined_by_uid(form):
    scores = FileBytes.of_bytes("scores.jsonl", scores_json(rows=ANY[::2], labelled=False))
    result = read_source(
        scores,
        FileBytes.of_bytes("labels.csv", labels_csv()),
        ReadOptions(classes=",".join(CLASSES)),
    )
    rows = result.splits["test"].predictions()
    name, data = {
        "votes_": ("votes.csv", table(VOTES, "votes_")),
        "share_": ("votes.csv", table(SHARES, "share_")),
        "label_count": ("votes.jsonl", records("label_count", by_name)),
    }[form]
    matched = attached(name, data, rows)
    audit = human_audit(matched.splits["test"], FEW)
    check(audit, plain.measures(LOGITS[ANY[::2]], VOTES[ANY[::2]]))
    (notice,) = matched.notices
    assert notice.text == "300 of 300 rows have votes; 300 rows of votes are not in this part"


def test_the_command_prints_the_same(tmp_path, capsys):
    (tmp_path / "scores.csv").write_bytes(scores_csv())
    (tmp_path / "shares.csv").write_bytes(table(SHARES, "share_"))
    words = ["audit", f"{tmp_path}/scores.csv", "--votes", f"{tmp_path}/shares.csv"]
    assert main([*words, "--resamples", "20", "--json", "-"]) == 0
    human = json.loads(capsys.readouterr().out)["human"]
    expected = plain.measures(LOGITS, VOTES)
    names = ("tvd", "entropy_gap", "entropy_gap_signed", "rank", "soft_nll", "ece_votes")
    printed = {name: human[name]["value"] for name in names}
    assert printed == pytest.approx({name: expected[name] for name in names}, rel=0, abs=1e-12)
    assert human["votes_per_row"] is None


def test_rows_that_are_missing_or_that_nobody_voted_on_are_left_out_and_counted():
    none = VOTES.copy()
    none[:40] = 0
    matched = attached("votes.csv", table(none, "votes_", rows=ANY[:500]))
    kept = np.sort(ANY[:500])
    kept = kept[kept >= 40]
    (notice,) = matched.notices
    assert (notice.code, notice.text) == ("VOTES_PARTLY", f"{kept.size} of 600 rows have votes")
    audit = human_audit(matched.splits["test"], FEW)
    assert (audit.n, audit.n_rows) == (kept.size, N)
    check(audit, plain.measures(LOGITS[kept], VOTES[kept]))


def test_rows_of_nobody_are_counted_where_votes_are_taken_in_order():
    none = VOTES.copy()
    none[7] = 0
    data = "\n".join(",".join(map(str, row)) for row in none.tolist()).encode()
    notices = attached("votes.csv", data, run(row_ids=())).notices
    assert [n.text for n in notices if n.code == "VOTES_PARTLY"] == ["599 of 600 rows have votes"]


def refusal(name, data, scores=None, **choice) -> Refused:
    with pytest.raises(Refused) as raised:
        attached(name, data, scores, **choice)
    return raised.value


def test_a_uid_given_twice_is_refused():
    twice = refusal("votes.csv", table(VOTES, rows=[*ANY, ANY[4]]))
    assert twice.what == f"Rows 4 and 600 of votes.csv have the same uid, {IDS[ANY[4]]}"


def test_a_bad_number_is_named_with_its_class_and_its_row_in_the_file():
    bad = VOTES.copy()
    bad[ANY[17], 3] = -2
    found = refusal("votes.csv", table(bad))
    assert (found.what, found.location) == ("-2 votes for class cat in votes.csv", "row 17")
    empty = VOTES.astype(float)
    empty[ANY[5], 9] = np.nan
    found = refusal("votes.csv", table(empty))
    assert (found.what, found.location) == (
        "No number of votes for class truck in votes.csv",
        "row 5",
    )


def test_votes_for_all_but_one_class_are_refused():
    found = refusal("votes.csv", table(VOTES, "votes_", order=OTHER[1:]))
    assert (found.code, found.what) == ("CLASSES", "No column holds the votes for frog")


def renamed() -> bytes:
    names = ("plane", "car", *CLASSES[2:])
    return table(VOTES, "votes_", classes=names)


def test_classes_of_other_names_are_asked_by_what_people_chose():
    with pytest.raises(UndecidedVotes) as raised:
        attached("votes.csv", renamed())
    right, taken = raised.value.orders
    assert right == ",".join(CLASSES[k] for k in OTHER)
    assert taken == ",".join(CLASSES)
    assert "the votes of votes_frog, votes_bird, votes_truck, votes_plane" in raised.value.what
    matched = attached("votes.csv", renamed(), classes=right)
    assert matched.splits["test"].votes.of_row.tolist() == VOTES.tolist()


def test_classes_of_some_other_names_are_not_taken_in_order_where_no_label_tells():
    unlabelled = run(labels=np.full(N, -1), labelled=False)
    found = refusal("votes.csv", renamed(), unlabelled)
    assert (found.code, found.options) == ("CLASSES", ("--votes-classes",))
    assert found.what.endswith("and votes_plane, votes_car like none")
    said = ",".join(CLASSES[k] for k in OTHER)
    matched = attached("votes.csv", renamed(), unlabelled, classes=said)
    assert matched.splits["test"].votes.of_row.tolist() == VOTES.tolist()


def test_votes_of_other_rows_are_not_taken_in_order():
    nameless = run(row_ids=())
    found = refusal("votes.csv", table(VOTES), nameless)
    assert (found.code, found.options) == ("VOTES", ("--in-order",))
    assert "no more than by chance" in found.what
    assert attached("votes.csv", table(VOTES), nameless, in_order=True)
    right = attached("votes.csv", table(VOTES, rows=range(N)), nameless)
    assert right.splits["test"].votes.of_row.tolist() == VOTES.tolist()


def test_few_rows_and_labels_of_one_class_do_not_tell_the_order():
    few = run(row_ids=()).take(np.arange(5))
    turned = np.roll(np.arange(5), 2)
    assert attached("votes.csv", table(VOTES, rows=turned), few)
    same = run(row_ids=(), labels=np.zeros(N, dtype=np.int64))
    votes = np.tile([9, *[1] * 9], (N, 1))
    assert attached("votes.csv", table(votes), same)


@pytest.mark.slow
def test_ten_thousand_images_give_the_numbers_of_the_definitions():
    times = 17
    ids = [f"{row:05d}.png" for row in range(times * N)]
    logits = np.tile(LOGITS, (times, 1)) + 0.1 * RNG.normal(size=(times * N, 10))
    labels, votes = np.tile(LABELS, times), np.tile(VOTES, (times, 1))
    rows = [[ids[row], *votes[row, OTHER].tolist()] for row in RNG.permutation(times * N)]
    header = ["uid", *(f"votes_{CLASSES[k]}" for k in OTHER)]
    data = "\n".join(",".join(map(str, row)) for row in [header, *rows]).encode()
    matched = attached("votes.csv", data, run(scores=logits, labels=labels, row_ids=tuple(ids)))
    check(human_audit(matched.splits["test"]), plain.measures(logits, votes))


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Scores, votes called like other columns, and a library of its own."""
    monkeypatch.setenv("CANDOR_HOME", str(tmp_path / "home"))
    (tmp_path / "scores.csv").write_bytes(scores_csv())
    (tmp_path / "votes.csv").write_bytes(table(VOTES, "x."))
    return f"{tmp_path}/scores.csv", "--votes", f"{tmp_path}/votes.csv:x."


def test_a_run_is_imported_with_its_votes(files, tmp_path, capsys):
    assert main(["runs", "import", *files]) == 0
    with_votes = capsys.readouterr().out.strip()
    assert main(["runs", "import", files[0]]) == 0
    without = capsys.readouterr().out.strip()
    library = open_library()
    kept = library.load(with_votes, "test")
    assert kept.votes.of_row.tolist() == VOTES.tolist()
    check(human_study({"test": kept}, "test").audit, plain.measures(LOGITS, VOTES))
    assert library.get(with_votes).source.digest != library.get(without).source.digest
    assert library.load(without, "test").votes is None


def test_several_files_become_runs_and_a_refused_one_stops_no_other(files, tmp_path, capsys):
    (tmp_path / "more.csv").write_bytes(scores_csv())
    (tmp_path / "bad.csv").write_text("no,scores\nhere,at all\n")
    names = [f"{tmp_path}/{name}.csv" for name in ("scores", "bad", "more")]
    assert main(["runs", "import", *names, "--tag", "sweep 3", "--tag", "resnet"]) == 2
    out, err = capsys.readouterr()
    ids = dict(reversed(line.split("  ")) for line in out.splitlines())
    assert list(ids) == ["scores.csv", "more.csv"]
    assert err.startswith("bad.csv: ")
    for file, run_id in ids.items():
        manifest = open_library().get(run_id)
        assert (manifest.name, set(manifest.tags)) == (file[:-4], {"sweep 3", "resnet"})
    assert main(["runs", "import", *names[::2], "--name", "two"]) == 3
    assert main(["runs", "import", names[0], "--name", "one", "--tag", "last"]) == 0
    run_id = capsys.readouterr().out.strip()
    assert open_library().get(run_id).tags == ("last",)


def test_a_run_is_not_imported_with_votes_that_are_refused(files, capsys):
    assert main(["runs", "import", files[0], "--votes", f"{files[2]}pt"]) == 2
    assert "AMBIGUOUS_KEYS" in capsys.readouterr().err
    assert not [row for row in open_library().rows() if row.kind == "upload"]


def test_temperatures_on_votes_are_judged_on_other_rows(files, tmp_path, capsys):
    words = ["calibrate", *files, "--methods", "ts", "--share", "0.4", "--seed", "3"]
    assert main([*words, "--json", "-", "--save", f"{tmp_path}/saved"]) == 0
    human = json.loads(capsys.readouterr().out)["human"]
    assert (human["n_fit"], human["n_test"]) == (240, 360)
    fitted, judged = cut(attached(*FORMS["JSON lines"][:2]).splits["test"], 0.4, 3)
    shares, held = fitted.votes.of_row, judged.votes.of_row
    shares = shares / shares.sum(axis=1, keepdims=True)

    def soft_nll(t):
        return -(shares * np.log(plain.probabilities(fitted.scores / t))).sum(axis=1).mean()

    best = minimize_scalar(soft_nll, bounds=(0.1, 10.0), method="bounded", options={"xatol": 1e-9})
    votes = human["methods"]["ts"]["votes"]
    t = votes["parameters"]["temperature"]
    assert t == pytest.approx(best.x, rel=1e-5)
    majority = (held == held.max(axis=1, keepdims=True)).astype(float)
    for scores, numbers in ((judged.scores, human["none"]), (judged.scores / t, votes)):
        people, labels = (plain.measures(scores, target) for target in (held, majority))
        expected = {name: people[name] for name in ("tvd", "soft_nll", "ece_votes")}
        expected["ece"] = labels["ece_votes"]
        assert numbers["metrics"] == pytest.approx(expected, rel=0.0, abs=1e-12)
    assert votes["difference"]["ece_votes"]["high"] < 0.0
    assert set(human["methods"]["focal_ts"]) == {"labels", "votes"}
    saved = json.loads((tmp_path / "saved" / "ts_votes.json").read_text())
    assert saved["parameters"]["temperature"] == t
    assert saved["fitted_on"]["target"] == "votes"
    assert main(words) == 0
    told = capsys.readouterr().out
    assert "compared with people: fitted on 240 rows of test with votes" in told
    assert "ts, votes        ece " in told


def test_too_few_rows_with_votes_are_said_to_be(files, tmp_path, capsys):
    few = table(VOTES, "x.", rows=ANY[:9])
    (tmp_path / "votes.csv").write_bytes(few)
    assert main(["calibrate", *files, "--methods", "ts", "--json", "-"]) == 0
    reason = json.loads(capsys.readouterr().out)["human"]["reason"]
    assert reason == "9 rows with votes are too few to fit on some and judge others"
