"""python -m core ood: its JSON, its lines, and what it refuses."""

import json
import os

import numpy as np
import pytest
from safetensors.numpy import save_file
from sklearn.metrics import average_precision_score, roc_auc_score

from core.__main__ import main
from core.calibrators.temperature import nll_temperature
from core.ood.scores import ood_scores
from core.predictions import Predictions, ScoreKind, Task

pytestmark = pytest.mark.usefixtures("unsealed")
RNG = np.random.default_rng(0)
K = 4
LABELS = RNG.integers(0, K, 600)
LOGITS = 3 * (RNG.normal(size=(600, K)) + 2 * np.eye(K)[LABELS])
STRANGE = 3 * RNG.normal(size=(250, K))


@pytest.fixture
def files(tmp_path):
    """In-distribution logits with a validation part, two sets, and OpenOOD's form of one."""
    val, test = slice(0, 200), slice(200, 600)
    np.savez(
        tmp_path / "in.npz",
        val_logits=LOGITS[val],
        val_labels=LABELS[val],
        test_logits=LOGITS[test],
        test_labels=LABELS[test],
    )
    np.save(tmp_path / "svhn.npy", STRANGE)
    np.savez(tmp_path / "near.npz", logits=LOGITS[:90] / 2 + RNG.normal(size=(90, K)))
    return tmp_path


def expected(strange, key="entropy", temperature=1.0):
    def scores(logits):
        rows = np.full(len(logits), -1)
        part = Predictions(Task.MULTICLASS, ScoreKind.LOGITS, logits, rows, labelled=False)
        return ood_scores(part, key, temperature)

    inside, outside = scores(LOGITS[200:]), scores(strange)
    truth = np.r_[np.zeros(inside.size), np.ones(outside.size)]
    return truth, np.r_[inside, outside]


def read(capsys, folder, *arguments):
    code = main(["ood", "--in", str(folder / "in.npz"), *arguments, "--json", "-"])
    assert code == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.usefixtures("sealed")
def test_json_holds_every_set_with_its_positive_class(files, capsys):
    found = read(capsys, files, "--out", f"svhn={files / 'svhn.npy'}", f"near={files / 'near.npz'}")
    assert (found["score"], found["positive"], found["split"]) == ("entropy", "ood", "test")
    assert found["temperature"] is None
    assert list(found["sets"]) == ["svhn", "near"]
    one = found["sets"]["svhn"]
    assert (one["n_in"], one["n_out"]) == (400, 250)
    truth, scores = expected(STRANGE)
    assert one["auroc"]["value"] == pytest.approx(roc_auc_score(truth, scores), abs=1e-9)
    assert one["auroc"]["low"] < one["auroc"]["value"] < one["auroc"]["high"]
    assert one["aupr_out"] == pytest.approx(average_precision_score(truth, scores), abs=1e-9)
    assert one["aupr_in"] == pytest.approx(average_precision_score(1 - truth, -scores), abs=1e-9)
    assert one["intervals"]["fpr95"]["low"] <= one["fpr95"] <= one["intervals"]["fpr95"]["high"]
    assert "after_temperature" not in one


@pytest.mark.slow
def test_the_temperature_is_fitted_on_the_validation_part_alone(files, capsys):
    out = ["--out", f"svhn={files / 'svhn.npy'}", "--score", "energy"]
    found = read(capsys, files, *out, "--temperature", "fit")
    best = nll_temperature(LOGITS[:200], LABELS[:200])[0]
    assert found["temperature"] == {"value": pytest.approx(best, rel=1e-9), "fitted_on": "val"}
    one = found["sets"]["svhn"]
    for part, temperature in ((one, 1.0), (one["after_temperature"], best)):
        area = roc_auc_score(*expected(STRANGE, "energy", temperature))
        assert part["auroc"]["value"] == pytest.approx(area, abs=1e-9)
    given = read(capsys, files, *out, "--temperature", "2.5")
    assert given["temperature"] == {"value": 2.5, "fitted_on": None}


@pytest.mark.slow
def test_the_terminal_names_the_positive_class(files, capsys):
    out = ["--out", f"svhn={files / 'svhn.npy'}", "--temperature", "fit"]
    assert main(["ood", "--in", str(files / "in.npz"), *out]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "in.npz, test part, told by entropy; positive class: out-of-distribution"
    assert lines[1] == "svhn: 250 rows against 400 in-distribution ones"
    assert lines[3].split()[0] == "AUROC"
    assert any("fitted on val" in line for line in lines)
    assert any("FPR at 95 % TPR, in-distribution positive" in line for line in lines)


@pytest.mark.slow
def test_stated_confidences_of_openood_are_told_by_themselves(files, capsys):
    for name, n in (("cifar10", 300), ("svhn", 200)):
        label = np.full(n, -1) if name == "svhn" else RNG.integers(0, 10, n)
        conf = RNG.normal(size=n) * 5 + (3 if name == "cifar10" else 0)
        np.savez(files / f"{name}.npz", pred=RNG.integers(0, 10, n), conf=conf, label=label)
    arguments = ["--in", str(files / "cifar10.npz"), "--out", f"svhn={files / 'svhn.npz'}"]
    assert main(["ood", *arguments, "--score", "msp", "--json", "-"]) == 0
    found = json.loads(capsys.readouterr().out)["sets"]["svhn"]
    conf = [np.load(files / f"{name}.npz")["conf"] for name in ("cifar10", "svhn")]
    truth = np.r_[np.ones(300), np.zeros(200)]  # OpenOOD: a higher conf is in-distribution
    area = roc_auc_score(truth, np.concatenate(conf))
    assert found["auroc"]["value"] == pytest.approx(area, abs=1e-9)
    assert main(["ood", *arguments]) == 2
    assert "Entropy: needs the scores of every class" in capsys.readouterr().err


def test_corrupted_inputs_answer_like_the_intact_ones_without_a_word_of_another_model(
    files, capsys
):
    np.save(files / "fog.npy", LOGITS[200:] + 0.1 * RNG.normal(size=LOGITS[200:].shape))
    for name, warned in (("fog", True), ("CIFAR-10-C", False)):
        out = f"{name}={files / 'fog.npy'}"
        assert main(["ood", "--in", str(files / "in.npz"), "--out", out, "--json", "-"]) == 0
        notices = json.loads(capsys.readouterr().out)["sets"][name]["notices"]
        assert ("OVERLAP" in {notice["code"] for notice in notices}) is warned


@pytest.mark.nightly
@pytest.mark.slow
def test_what_says_nothing_is_refused(files, capsys):
    own = str(files / "in.npz")
    assert main(["ood", "--in", own, "--out", f"again={own}"]) == 2
    assert capsys.readouterr().err.startswith("OOD_SAME: again has the same scores as the in-")
    np.save(files / "val.npy", LOGITS[:200])
    assert main(["ood", "--in", own, "--out", f"val={files / 'val.npy'}"]) == 2
    assert capsys.readouterr().err.startswith("OOD_SAME: val has the same scores as the part val")
    np.save(files / "narrow.npy", STRANGE[:, :3])
    assert main(["ood", "--in", own, "--out", f"x={files / 'narrow.npy'}"]) == 2
    assert capsys.readouterr().err.startswith("CLASSES: x has scores of 3 classes, the run of 4")
    np.savez(files / "one.npz", logits=LOGITS, labels=LABELS)
    out = ["--out", f"svhn={files / 'svhn.npy'}", "--temperature", "fit"]
    assert main(["ood", "--in", str(files / "one.npz"), *out]) == 3
    assert "no validation part to fit a temperature on" in capsys.readouterr().err
    assert main(["ood", "--in", own, *out, "--split", "val"]) == 3  # would be fitted on itself
    said = capsys.readouterr().err
    assert said.startswith("SPLIT: The part val is reported, but a temperature would be fitted on")
    assert "no validation part" not in said


@pytest.mark.slow
def test_a_remedy_names_no_option_that_the_verb_lacks(files, capsys):
    svhn = str(files / "svhn.npy")
    arguments = ["ood", "--in", svhn, "--out", f"near={files / 'near.npz'}"]
    assert main([*arguments, "--temperature", "fit"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("AMBIGUOUS_KEYS: svhn.npy: No labels were found")
    assert "--labels" not in said
    assert "--temperature" in said
    np.savez(files / "two.npz", a=STRANGE, b=STRANGE)
    assert main(["ood", "--in", svhn, "--out", f"two={files / 'two.npz'}"]) == 2
    assert "--scores-key" not in capsys.readouterr().err


def test_percent_are_read_as_such_where_the_command_says_so(files, capsys):
    rng = np.random.default_rng(4)
    inside, outside = 100 * rng.dirichlet(np.ones(K), 80), 100 * rng.dirichlet(np.ones(K), 50)
    np.savez(files / "own.npz", probabilities=inside, labels=inside.argmax(1))
    np.savez(files / "other.npz", probabilities=outside)
    arguments = ["ood", "--in", str(files / "own.npz"), "--out", f"a={files / 'other.npz'}"]
    assert main(arguments) == 2
    refusal = capsys.readouterr().err
    assert refusal.startswith("PROB_RANGE")
    assert "\n  --units percent: " in refusal
    assert main([*arguments, "--units", "percent", "--json", "-"]) == 0
    entropy = [-(p * np.log(p)).sum(1) for p in (inside / 100, outside / 100)]
    area = roc_auc_score(np.r_[np.zeros(80), np.ones(50)], np.concatenate(entropy))
    found = json.loads(capsys.readouterr().out)["sets"]["a"]
    assert found["auroc"]["value"] == pytest.approx(area, abs=1e-9)


def test_labels_that_nobody_asked_for_are_not_said_to_be_unused(files, capsys):
    found = read(capsys, files, "--out", f"svhn={files / 'svhn.npy'}")
    assert [notice["code"] for notice in found["notices"]] == ["SPLIT_CHOSEN"]


@pytest.mark.skipif(os.name == "nt", reason="the length of names is that of POSIX systems")
def test_paths_that_cannot_be_opened_are_refused_by_name(files, capsys):
    own, svhn, long = str(files / "in.npz"), str(files / "svhn.npy"), "n" * 300
    for arguments in (
        ["ood", "--in", long, "--out", f"a={svhn}"],
        ["ood", "--in", own, "--out", f"a={long}"],
        ["audit", long],
        ["audit", svhn, "--labels", long],
    ):
        assert main(arguments) == 3
        assert capsys.readouterr().err.startswith(f"FILE: {long} cannot be opened")


@pytest.mark.slow
def test_a_corruption_that_changes_nothing_is_told_by_its_name(files, capsys):
    found = read(capsys, files, "--out", f"corrupted-saturate-1={files / 'in.npz'}")
    one = found["sets"]["corrupted-saturate-1"]
    assert one["auroc"]["value"] == 0.5
    assert "UNCHANGED" in [notice["code"] for notice in one["notices"]]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--out", "svhn.npz"], "USAGE: 'svhn.npz' is not NAME=FILE"),
        (["--out", "a=x", "a=y"], "USAGE: Two files are called a"),
        (["--out", "a=x", "--score", "odin"], "SETTING: There is no score 'odin'"),
        (["--out", "a=x", "--temperature", "warm"], "SETTING: The temperature is 'warm'"),
        (["--out", "a=x"], "FILE: There is no file nowhere.npz"),
    ],
)
def test_wrong_usage_is_refused_with_code_3(capsys, arguments, said):
    assert main(["ood", "--in", "nowhere.npz", *arguments]) == 3
    assert capsys.readouterr().err.startswith(said)


@pytest.mark.parametrize(
    "form",
    ["shards", *(pytest.param(f, marks=pytest.mark.nightly) for f in ("npz", "safetensors"))],
)
def test_every_form_of_the_same_rows_gives_the_same_numbers(files, capsys, form):
    own, other = LOGITS.astype(np.float32), STRANGE.astype(np.float32)
    np.save(files / "own.npy", own)
    np.save(files / "other.npy", other)
    np.save(files / "truth.npy", LABELS)
    for name, logits, labels in (("own", own, LABELS), ("other", other, None)):
        arrays = {"logits": logits} if labels is None else {"logits": logits, "labels": labels}
        if form == "shards":
            (files / name).mkdir()
            for i, rows in enumerate((slice(0, 90), slice(90, 100), slice(100, None))):
                for key, array in arrays.items():
                    np.save(files / name / f"{key}-{i}.npy", array[rows])
        elif form == "npz":
            np.savez(files / f"{name}.npz", **arrays)
        else:
            save_file(arrays, files / f"{name}.safetensors")
    ending = "" if form == "shards" else f".{form}"
    found = []
    for paths in (
        ["own.npy", "other.npy", "--labels", str(files / "truth.npy")],
        [f"own{ending}", f"other{ending}"],
    ):
        inside, outside, *labels = paths
        arguments = ["--in", str(files / inside), "--out", f"svhn={files / outside}", *labels]
        assert main(["ood", *arguments, "--scores", "logits", "--json", "-"]) == 0
        found.append(json.loads(capsys.readouterr().out)["sets"]["svhn"])
    assert found[0] == found[1]
    assert (found[0]["n_in"], found[0]["n_out"]) == (600, 250)


def test_labels_beside_the_scores_serve_the_temperature(files, capsys):
    np.savez(files / "scores.npz", val_logits=LOGITS[:200], test_logits=LOGITS[200:])
    np.savez(files / "truth.npz", val_labels=LABELS[:200], test_labels=LABELS[200:])
    out = ["--out", f"svhn={files / 'svhn.npy'}", "--temperature", "fit", "--json", "-"]
    arguments = ["--in", str(files / "scores.npz"), "--labels", str(files / "truth.npz")]
    assert main(["ood", *arguments, *out]) == 0
    given = json.loads(capsys.readouterr().out)
    assert main(["ood", "--in", str(files / "in.npz"), *out]) == 0
    assert given["sets"] == json.loads(capsys.readouterr().out)["sets"]
    np.save(files / "short.npy", LABELS[:9])
    np.save(files / "own.npy", LOGITS)
    arguments = ["--in", str(files / "own.npy"), "--labels", str(files / "short.npy")]
    assert main(["ood", *arguments, *out[:2]]) == 2
    assert capsys.readouterr().err.startswith("LENGTH_MISMATCH")
