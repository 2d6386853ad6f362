"""python -m core compare: its JSON, its lines, and what it refuses."""

import json

import numpy as np
import pytest

from core.__main__ import main
from core.metrics.suite import audit
from core.predictions import Predictions, ScoreKind, Task
from tests.reference import plain_human

pytestmark = pytest.mark.usefixtures("unsealed")
RNG = np.random.default_rng(0)
LOGITS = 2 * RNG.normal(size=(300, 3))
P = np.exp(LOGITS) / np.exp(LOGITS).sum(axis=1, keepdims=True)
LABELS = np.array([RNG.choice(3, p=row) for row in P])


@pytest.fixture
def file(tmp_path):
    def write(name, scale, labels=LABELS):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        np.savez(path, logits=scale * LOGITS, labels=labels)
        return str(path)

    return write


def read(capsys, *arguments):
    assert main(["compare", *arguments, "--json", "-"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.usefixtures("sealed")
def test_differences_are_the_files_scores_minus_the_firsts(file, capsys):
    found = read(capsys, file("a.npz", 1.0), file("b.npz", 3.0), file("c.npz", 1.0))
    assert (found["metric"], found["same_labels"], found["reason"]) == ("ece", True, "")
    assert [run["name"] for run in found["runs"]] == ["a.npz", "b.npz", "c.npz"]
    assert len({run["letter"] for run in found["runs"]}) == 3
    scores = [run["metrics"]["ece"]["value"] for run in found["runs"]]
    own = audit(Predictions(Task.MULTICLASS, ScoreKind.LOGITS, 3.0 * LOGITS, LABELS))
    assert scores[1] == own.main.metrics["ece"].value
    first, second = found["differences"]
    assert (first["a"], first["b"], first["tie"]) == ("b.npz", "a.npz", False)
    assert first["value"] == pytest.approx(scores[1] - scores[0], abs=1e-15)
    assert first["low"] < first["value"] < first["high"]
    assert 0.95 <= first["level"] <= 1 - 0.05 / 3  # of three pairs, two of them the same
    assert (second["value"], second["low"], second["high"]) == (0.0, 0.0, 0.0)
    assert second["tie"]
    assert "ece" not in found["best"]  # the first and the third are the same


def test_the_best_file_is_the_reference_whichever_comes_first(file, capsys):
    found = read(capsys, file("worse.npz", 9.0), file("best.npz", 1.0))
    assert found["reference"] == found["differences"][0]["b"] == "best.npz"
    other = read(capsys, file("worse.npz", 9.0), file("other.npz", 1.0, LABELS[::-1]))
    assert other["reference"] == "worse.npz"  # nothing is ranked


@pytest.mark.slow
def test_another_metric_is_compared_on_request(file, capsys):
    found = read(capsys, file("a.npz", 1.0), file("b.npz", 3.0), "--metric", "nll")
    assert found["differences"][0]["metric"] == "nll"
    values = [run["metrics"]["nll"]["value"] for run in found["runs"]]
    assert found["differences"][0]["value"] == pytest.approx(values[1] - values[0])


@pytest.mark.slow
def test_other_labels_are_not_ranked_and_the_reason_is_given(file, capsys):
    found = read(capsys, file("a.npz", 1.0), file("b.npz", 1.0, LABELS[::-1]))
    assert (found["same_labels"], found["differences"]) == (False, [])
    assert "different labels" in found["reason"]
    assert found["runs"][1]["metrics"]["ece"]["value"] is not None


@pytest.mark.slow
def test_equal_file_names_are_told_apart(file, capsys):
    first, second = file("one/p.npz", 1.0), file("two/p.npz", 2.0)
    found = read(capsys, first, second)
    assert [run["name"] for run in found["runs"]] == [first, second]


@pytest.mark.slow
def test_the_best_and_the_tied_are_named(file, capsys):
    paths = [file("a.npz", 1.0), file("b.npz", 3.0), file("c.npz", 9.0)]
    found = read(capsys, *paths, "--metric", "nll")
    assert found["best"]["nll"] == "a.npz"
    assert set(found["tied"]["accuracy"]) == {"a.npz", "b.npz", "c.npz"}
    main(["compare", *paths, "--metric", "nll"])
    assert "“a.npz” has the smallest NLL; " in capsys.readouterr().out


@pytest.mark.slow
def test_labels_may_lie_in_a_file_of_their_own(tmp_path, capsys):
    np.savetxt(labels := tmp_path / "labels.txt", LABELS, fmt="%d")
    paths = [tmp_path / "a.npy", tmp_path / "b.npy"]
    for scale, path in enumerate(paths, 1):
        np.save(path, scale * LOGITS)
    found = read(capsys, *map(str, paths), "--labels", str(labels))
    assert found["same_labels"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["a.npz"], "USAGE: 1 file is given"),
        (["a.npz"] * 51, "USAGE: 51 files are given"),
        (["a.npz", "a.npz", "--metric", "mce"], "SETTING: Metric 'mce' cannot be compared"),
        (["nowhere.npz", "a.npz"], "FILE: There is no file nowhere.npz"),
    ],
)
def test_wrong_usage_is_refused_with_code_3(capsys, arguments, said):
    assert main(["compare", *arguments]) == 3
    assert capsys.readouterr().err.startswith(said)


@pytest.mark.nightly
def test_the_distance_from_people_is_compared_where_they_voted(file, tmp_path, capsys):
    votes = np.array([RNG.multinomial(15, row) for row in P])
    np.save(crowd := tmp_path / "votes.npy", votes)
    files = file("a.npz", 1.0), file("b.npz", 3.0)
    asked = "--votes", str(crowd)
    found = read(capsys, *files, *asked, "--metric", "tvd")
    values = [run["metrics"]["tvd"]["value"] for run in found["runs"]]
    for scale, value in zip((1.0, 3.0), values, strict=True):
        expected = plain_human.measures(scale * LOGITS, votes)["tvd"]
        assert value == pytest.approx(expected, rel=0.0, abs=1e-12)
    (difference,) = found["differences"]
    assert (difference["metric"], difference["tie"]) == ("tvd", False)
    assert difference["value"] == pytest.approx(values[1] - values[0], rel=0.0, abs=1e-12)
    assert 0.0 < difference["low"] < difference["high"]
    assert found["best"]["tvd"] == "a.npz"
    usual = read(capsys, *files)
    assert usual["differences"][0] != difference
    assert "tvd" not in usual["runs"][0]["metrics"]
    assert main(["compare", *files, *asked, "--metric", "tvd"]) == 0
    told = capsys.readouterr().out
    assert "“a.npz” has the smaller distance from people" in told
    assert "Distance from people, %" in told
    assert main(["compare", *files, "--metric", "tvd"]) == 3
    assert "No file has votes to compare by tvd; name them with --votes" in capsys.readouterr().err


def test_two_classes_have_auroc_slope_and_net_benefit_and_rank_by_auroc(tmp_path, capsys):
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 200)
    files = []
    for name, signal in (("dull.npz", 0.5), ("keen.npz", 3.0)):
        risk = 1 / (1 + np.exp(-(signal * (y - 0.5) + rng.normal(size=200))))
        np.savez(tmp_path / name, probabilities=np.stack([1 - risk, risk], axis=1), labels=y)
        files.append(str(tmp_path / name))
    found = read(capsys, *files, "--metric", "auroc", "--threshold", "0.2")
    keen = found["runs"][1]["metrics"]
    wins = risk[y == 1][:, None] > risk[y == 0]
    assert keen["auroc"]["value"] == pytest.approx(wins.mean(), abs=1e-12)
    acted = risk >= 0.2
    benefit = np.mean(acted & (y == 1)) - np.mean(acted & (y == 0)) * 0.25  # 0.2 / 0.8
    assert keen["net_benefit"]["value"] == pytest.approx(benefit, abs=1e-12)
    assert keen["net_benefit"]["settings"] == {"threshold": 0.2}
    assert keen["slope"]["low"] < keen["slope"]["value"] < keen["slope"]["high"]
    assert (found["reference"], found["best"]["auroc"]) == ("keen.npz", "keen.npz")
    (difference,) = found["differences"]
    assert (difference["a"], difference["metric"]) == ("dull.npz", "auroc")
    assert difference["high"] < 0.0
    assert main(["compare", *files, "--threshold", "0.2"]) == 0
    out = capsys.readouterr().out
    assert all(head in out for head in ("AUROC", "Calibration slope", "Net benefit at 20\u202f%"))


def test_what_net_benefit_and_auroc_cannot_be_of_is_refused(file, capsys):
    files = [file("a.npz", 1.0), file("b.npz", 3.0)]
    assert main(["compare", *files, "--threshold", "20"]) == 3
    assert "threshold of net benefit is 20; use a risk between 0 and 1" in capsys.readouterr().err
    assert main(["compare", *files, "--metric", "auroc"]) == 3
    assert "only where all are of two classes" in capsys.readouterr().err
