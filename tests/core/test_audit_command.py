"""`python -m core audit`: its JSON, its exit codes, its gates, and the two real prediction sets."""

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from core.__main__ import main
from core.metrics import METRICS, clinical
from core.readers.predictions.result import ReadOptions
from core.readers.sandbox import read as sandbox

pytestmark = pytest.mark.usefixtures("unsealed")
ROOT = Path(__file__).parents[2]
SHARED = Path(os.environ.get("CANDOR_SHARED", ROOT.parent / "shared")) / "data" / "predictions"
needs_shared = pytest.mark.skipif(not SHARED.exists(), reason=f"no shared data at {SHARED.name}")
FEW = ("--resamples", "50")


@pytest.fixture
def npz(tmp_path):
    """Two hundred over-confident rows of three classes."""
    rng = np.random.default_rng(3)
    logits = rng.normal(size=(200, 3)) * 2
    p = np.exp(logits / 2) / np.exp(logits / 2).sum(axis=1, keepdims=True)
    labels = [rng.choice(3, p=row) for row in p]
    np.savez(path := tmp_path / "run.npz", logits=logits, labels=labels)
    return path


@pytest.fixture
def run(capsys):
    def run(*words: object) -> tuple[int, str, str]:
        code = main(["audit", *map(str, words)])
        return code, *capsys.readouterr()

    return run


def test_a_number_without_an_interval_is_printed_with_the_reason(run, tmp_path):
    path = tmp_path / "rare.csv"
    lines = [f"{int(k % 100 == 7)},{0.002 + k / 20_000:.6f}" for k in range(600)]
    path.write_text("\n".join(["label,p", *lines]) + "\n")
    code, out, _ = run(path, *FEW)
    assert code == 0
    line = {row.split()[0]: row for row in out.splitlines() if row.startswith("  ")}
    assert "only 6 of the rarer outcome" in line["brier_skill"]
    assert "a bin of 600 rows" not in line["mce"]
    assert " to " in line["ece"]


def test_periods_of_dates_are_audited_by_themselves(run, tmp_path, npz):
    """Right until June, and off by 30 points from July on: what Holm leaves are the later ones."""
    rng = np.random.default_rng(6)
    p = rng.uniform(0.05, 0.65, 1_000).round(3)
    late = np.arange(1_000) >= 500
    y = (rng.random(1_000) < p + 0.3 * late).astype(int)
    months = [f"2024-{'07' if x else '06'}-01" for x in late]
    lines = [f"{month},{score},{label}" for month, score, label in zip(months, p, y, strict=True)]
    path = tmp_path / "dated.csv"
    path.write_text("\n".join(["visit,prob,label", *lines]) + "\n")
    code, out, _ = run(path, "--by-date", "--json", tmp_path / "out.json", *FEW)
    groups = json.loads((tmp_path / "out.json").read_text())["by_date"]["groups"]
    assert code == 0
    assert [(g["period"], g["of"], g["n"]) for g in groups] == [
        ("2024-06", "1", 500),
        ("2024-07", "1", 500),
    ]
    assert [g["beyond_chance"] for g in groups] == [False, True]
    assert groups[1]["ece"] > 0.2 > groups[0]["ece"]
    line = next(line for line in out.splitlines() if line.startswith("  2024-07"))
    assert line.endswith("off beyond chance")
    # Of calibrated periods one in twenty is above its floor: it says so, and that it means little.
    years = [str(1990 + i % 30) for i in range(1_500)]
    rng = np.random.default_rng(1)
    p = rng.uniform(0.05, 0.95, 1_500).round(3)
    rows = zip(years, p, (rng.random(1_500) < p).astype(int), strict=True)
    path.write_text("\n".join(["visit,prob,label", *(f"{a}-06-01,{b},{c}" for a, b, c in rows)]))
    _, out, _ = run(path, "--by-date", "--json", tmp_path / "out.json", *FEW)
    groups = json.loads((tmp_path / "out.json").read_text())["by_date"]["groups"]
    listed = out.partition("By visit")[2].splitlines()[1 : len(groups) + 1]
    endings = [line.rpartition(", ")[2] for line in listed]
    above = [g["ece"] > g["floor"] for g in groups]
    assert [ending == f"not in {len(groups)}" for ending in endings] == above
    assert 0 < sum(above) < 5
    assert not any(g["beyond_chance"] for g in groups)
    code, _, err = run(npz, "--by-date")
    assert code == 3
    assert "no dates" in err


def test_json_on_stdout_is_one_object_and_nothing_else(run, npz):
    code, out, err = run(npz, "--json", "-", *FEW)
    report = json.loads(out)
    assert (code, err) == (0, "")
    assert report["file"] == "run.npz"
    assert report["n"] == 200
    assert report["task"] == "multiclass"
    assert report["metrics"]["ece"]["settings"]["n_bins"] == 15


def test_the_smoother_of_the_flexible_curve_is_named_and_chosen(run, tmp_path):
    rng = np.random.default_rng(0)
    p = rng.beta(1, 3, 300)
    np.savez(path := tmp_path / "binary.npz", probabilities=p, labels=rng.random(300) < p)
    values = {}
    for words in ((), ("--smoother", "loess")):
        code, out, _ = run(path, "--json", "-", "--metrics", "ici", *words, *FEW)
        assert code == 0
        ici = json.loads(out)["metrics"]["ici"]
        values[ici["settings"]["smoother"]] = ici["value"]
    assert values["lowess"] != values["loess"]


@pytest.mark.slow
def test_the_table_names_every_metric_once(run, npz):
    code, out, _ = run(npz, *FEW)
    assert code == 0
    named = [line.split()[0] for line in out.splitlines() if line.startswith("  ")]
    assert sorted(named) == sorted(key for key in METRICS if not METRICS[key].of_print)


@pytest.mark.slow
def test_options_reach_the_numbers(run, npz):
    _, out, _ = run(
        npz, "--json", "-", *FEW, "--bins", 7, "--level", 0.8, "--seed", 4, "--metrics", "ece,nll"
    )
    report = json.loads(out)
    assert set(report["metrics"]) == {"ece", "nll"}
    assert report["metrics"]["ece"]["level"] == 0.8
    assert report["metrics"]["ece"]["settings"]["n_bins"] == 7
    assert len(report["bins"]) == 7


@pytest.mark.slow
def test_the_same_seed_gives_the_same_bytes(run, npz):
    first, second = (run(npz, "--json", "-", *FEW)[1] for _ in range(2))
    assert first == second
    assert run(npz, "--json", "-", *FEW, "--seed", 1)[1] != first


@pytest.mark.parametrize(
    ("gates", "code"),
    [
        (["ece>0.01"], 1),
        (["ece>0.9"], 0),
        pytest.param(["accuracy<0.99", "ece>0.9"], 1, marks=pytest.mark.nightly),
        pytest.param(["auroc<0.5"], 1, marks=pytest.mark.slow),
        pytest.param(["accuracy >= 0"], 1, marks=pytest.mark.nightly),
        pytest.param(["nll <= 100"], 1, marks=pytest.mark.nightly),
    ],
)
def test_gates_fail_when_they_hold_or_cannot_be_judged(run, npz, gates, code):
    got, _, err = run(npz, *FEW, *[word for gate in gates for word in ("--fail-if", gate)])
    assert got == code
    assert bool(err) == bool(code)


@pytest.mark.parametrize(
    "words",
    [
        ["--fail-if", "ece!0.05"],
        ["--fail-if", "elegance>0.5"],
        ["--fail-if", "ece>1e"],
        ["--metrics", "elegance"],
        ["--level", "1.5"],
        ["--bins", "0"],
        ["--bins", "1001"],
        ["--bins", "1" + 30 * "0"],
        ["--resamples", "9"],
        ["--seed", "-1"],
        pytest.param(["--html", "no/such/folder/report.html"], marks=pytest.mark.nightly),
        ["--nll-clip", "2"],
        ["--small-gap", "0"],
        ["--small-slope", "1"],
        ["--split", "holdout"],
        ["--scores", "vibes"],
        ["--unknown"],
    ],
)
def test_wrong_usage_ends_with_3_and_one_line(run, npz, words):
    code, out, err = run(npz, *FEW, *words)
    assert (code, out) == (3, "")
    assert len(err.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("words", "allowed"),
    [
        (["--resamples", "20001"], "10 to 20000"),
        (["--resamples", "1000000000"], "10 to 20000"),
        (["--level", "0.99999"], "0.01 to 0.9999"),
        (["--level", "0.9999999999999999"], "0.01 to 0.9999"),
        (["--level", "1e-320"], "0.01 to 0.9999"),
        (["--level", "nan"], "0.01 to 0.9999"),
        (["--seed", str(2**63)], "0 to 9223372036854775807"),
    ],
)
def test_absurd_settings_are_refused_with_the_range(run, npz, words, allowed):
    code, out, err = run(npz, *FEW, *words)
    assert (code, out) == (3, "")
    assert err.startswith(f"SETTING: {words[0][2:]} is ")
    assert allowed in err


def test_a_missing_file_is_wrong_usage_and_no_path_is_printed(run, tmp_path):
    code, _, err = run(tmp_path / "nowhere.npz")
    assert code == 3
    assert "nowhere.npz" in err
    assert str(tmp_path) not in err


def test_a_refused_file_ends_with_2_and_says_it_twice_when_json_is_asked(run, tmp_path):
    np.savez(path := tmp_path / "bad.npz", logits=[[0.0, np.nan]] * 3, labels=[0, 1, 0])
    code, out, err = run(path, "--json", "-")
    error = json.loads(out)["error"]
    assert code == 2
    assert error["code"] == "NONFINITE"
    assert set(error) == {"code", "what", "where", "remedy", "file"}
    assert error["file"] == "bad.npz"
    assert err.startswith(f"NONFINITE: bad.npz: {error['what']}")
    assert err.count("bad.npz") == 1
    assert error["remedy"] in err


def test_an_undecided_file_ends_with_2_and_names_what_picks_each_reading(run, tmp_path):
    rng = np.random.default_rng(0)
    risk = rng.beta(2, 3, 200)
    sick = (rng.random(200) < risk).astype(int)
    lines = (f"{100 * r:.1f},{s}" for r, s in zip(risk, sick, strict=True))
    (path := tmp_path / "risk.csv").write_text("risk,outcome\n" + "\n".join(lines))
    code, out, err = run(path, "--json", "-")
    error = json.loads(out)["error"]
    assert (code, error["code"]) == (2, "UNDECIDED")
    assert [set(c) for c in error["candidates"]] == [{"option", "means"}] * 2
    assert error["candidates"][0]["option"] == "--units percent"
    assert err.startswith("UNDECIDED: ")
    for candidate in error["candidates"]:
        assert f"  {candidate['option']}: {candidate['means']}" in err.splitlines()
        code, out, _ = run(path, *candidate["option"].split(), "--json", "-", *FEW)
        shown = json.loads(out)
        assert code == 0
        assert f"accuracy {shown['metrics']['accuracy']['value']:.3f}" in candidate["means"]


def test_every_option_that_settles_a_question_reaches_the_reader(run, npz, tmp_path):
    logits = np.load(npz)["logits"]
    labels = np.array(["a", "b", "c"])[np.load(npz)["labels"]]
    np.savez(path := tmp_path / "named.npz", logits=logits[:, [2, 0, 1]], labels=labels)
    assert run(path, *FEW)[0] == 2
    code, out, _ = run(path, "--classes", "c,a,b", "--json", "-", *FEW)
    assert (code, json.loads(out)["metrics"]["accuracy"]["value"] > 0.5) == (0, True)
    code, _, err = run(path, "--classes", "c,,b")
    assert (code, err.startswith("SETTING: Classes is 'c,,b'")) == (3, True)


def test_labels_that_are_the_answers_are_doubted_in_the_headline(run, npz, tmp_path):
    logits = np.load(npz)["logits"]
    np.savez(path := tmp_path / "own.npz", logits=logits, labels=logits.argmax(axis=1))
    report = json.loads(run(path, "--json", "-", *FEW)[1])
    assert report["verdict"]["text"].startswith("All 200 answers are right: are the labels")
    assert "ALWAYS_RIGHT" in {notice["code"] for notice in report["notices"]}
    assert (
        "answers are right" not in json.loads(run(npz, "--json", "-", *FEW)[1])["verdict"]["text"]
    )


@pytest.mark.slow
def test_a_run_in_a_shell_ends_with_the_same_codes(npz, tmp_path):
    def shell(*words):
        command = [sys.executable, "-m", "core", *map(str, words)]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    html = tmp_path / "report.html"
    done = shell("audit", npz, "--json", "-", "--html", html, *FEW)
    assert done.returncode == 0
    assert json.loads(done.stdout)["verdict"]["code"]
    assert "<html" in html.read_text(encoding="utf-8")
    assert shell("audit").returncode == 3
    assert shell("frobnicate").returncode == 3


@pytest.mark.slow
def test_two_parts_are_audited_on_the_test_part(run, tmp_path):
    rng = np.random.default_rng(0)
    parts = {
        "val_logits": rng.normal(size=(30, 3)),
        "val_labels": rng.integers(0, 3, 30),
        "test_logits": rng.normal(size=(40, 3)),
        "test_labels": rng.integers(0, 3, 40),
    }
    np.savez(path := tmp_path / "both.npz", **parts)
    report = json.loads(run(path, "--json", "-", *FEW)[1])
    assert report["splits"] == {"val": 30, "test": 40}
    assert (report["split"], report["n"]) == ("test", 40)
    assert "SPLIT_CHOSEN" in [notice["code"] for notice in report["notices"]]
    assert json.loads(run(path, "--json", "-", "--split", "val", *FEW)[1])["n"] == 30


@pytest.mark.slow
@needs_shared
def test_the_14_aurocs_of_the_chest_films_are_scikit_learns(run):
    scores = SHARED / "chexnet_reproduction_preds.csv"
    labels = SHARED / "chexnet_reproduction_labels.txt"
    code, out, _ = run(
        scores, "--labels", labels, "--json", "-", "--metrics", "auroc,ece", "--resamples", 20
    )
    report = json.loads(out)
    truth = {
        line.split()[0]: [int(digit) for digit in line.split()[1:]]
        for line in labels.read_text().splitlines()
    }
    lines = [line.split(",") for line in scores.read_text().splitlines()]
    p = np.array([[float(cell) for cell in line[1:]] for line in lines[1:]])
    y = np.array([truth[line[0]] for line in lines[1:]])
    assert code == 0
    assert (report["task"], report["n"], len(report["labels"])) == ("multilabel", 22433, 14)
    got = [label["metrics"]["auroc"]["value"] for label in report["labels"]]
    expected = [roc_auc_score(y[:, k], p[:, k]) for k in range(14)]
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-12)
    assert report["metrics"]["auroc"]["value"] == pytest.approx(np.mean(expected), abs=1e-12)


@needs_shared
@pytest.mark.slow
def test_the_vgg16_pickle_is_read_as_probabilities_and_over_confident(run):
    code, out, _ = run(SHARED / "cifar10_vgg16_probs.dat", "--json", "-", "--resamples", 200)
    report = json.loads(out)
    assert code == 0
    assert (report["task"], report["n"], report["n_classes"]) == ("multiclass", 10000, 10)
    assert report["scores"] == "probabilities"
    assert report["verdict"]["code"] == "over_confident"
    gap = sum(b["count"] * (b["confidence"] - b["accuracy"]) for b in report["bins"] if b["count"])
    assert report["direction"]["gap"] == pytest.approx(gap / 10000, abs=1e-12)


def test_names_cannot_steer_the_terminal(run, tmp_path):
    names = np.array(["\x1b[31mred", "b\u202ec", "plain"])
    rng = np.random.default_rng(0)
    np.savez(
        path := tmp_path / "esc\x1b[2J.npz",
        logits=rng.normal(size=(30, 3)),
        labels=names[rng.integers(0, 3, 30)],
    )
    code, out, err = run(path, *FEW)
    assert code in {0, 2}
    assert not {"\x1b", "\u202e"} & set(out + err)


@pytest.mark.slow
def test_one_row_has_no_interval_of_a_mean(run, tmp_path):
    np.savez(path := tmp_path / "one.npz", logits=[[1.0, 0.0, 0.0]], labels=[0])
    report = json.loads(run(path, "--json", "-", *FEW)[1])
    for metric in ("nll", "brier"):
        score = report["metrics"][metric]
        assert (score["low"], score["high"]) == (None, None)
        assert "one row" in score["reason"]


@pytest.mark.slow
def test_findings_beside_a_label_list_without_a_header_have_their_clinical_numbers(run, tmp_path):
    """The form in which predictions for chest films are published, on films of our own making."""
    rng = np.random.default_rng(2)
    names = ("Mass", "Pleural_Thickening", "Hernia")
    p = rng.beta(0.6, 3.0, (300, 3))
    y = (rng.random((300, 3)) < p**1.3).astype(int)
    films = [f"{k:08d}_000.png" for k in range(300)]
    heads = ["Image Index", *(f"prob_{name}" for name in names)]
    rows = [[film, *map(str, row)] for film, row in zip(films, p.tolist(), strict=True)]
    scores, labels = tmp_path / "preds.csv", tmp_path / "labels.txt"
    scores.write_text("\n".join(",".join(row) for row in [heads, *rows]) + "\n")
    order = rng.permutation(300)  # matched by name, not by place
    lines = [f"{films[k]} {' '.join(map(str, y[k]))}" for k in order]
    labels.write_text("\n".join(lines) + "\n")
    code, out, err = run(scores, "--labels", labels, "--json", "-", *FEW)
    report = json.loads(out)
    assert (code, err, report["task"]) == (0, "", "multilabel")
    codes = [notice["code"] for notice in report["notices"]]
    assert {"DIALECT", "HEADER_GUESSED", "KEYS_GUESSED"} <= set(codes)
    assert [label["name"] for label in report["labels"]] == list(names)
    assert {"citl", "slope", "intercept", "spiegelhalter_z"} <= set(report["unavailable"])
    for k, label in enumerate(report["labels"]):
        metrics, own = label["metrics"], clinical.recalibration(p[:, k], y[:, k] == 1)
        assert metrics["slope"]["value"] == pytest.approx(own.slope.value, rel=1e-12)
        assert metrics["citl"]["high"] == pytest.approx(own.in_the_large.high, rel=1e-12)
        assert metrics["intercept"]["low"] == pytest.approx(own.intercept.low, rel=1e-12)
        assert metrics["spiegelhalter_z"]["low"] is None
        assert metrics["spiegelhalter_z"]["reason"].startswith("a test statistic")
        assert set(label["noise_floor"]) >= {"ici", "e50", "e90", "emax"}
        for name in ("ici", "e50", "e90", "emax", "brier_skill"):
            assert metrics[name]["low"] <= metrics[name]["value"] <= metrics[name]["high"]


@pytest.fixture
def films(tmp_path):
    """Scores of films, and a packed table of their patients."""
    rng = np.random.default_rng(1)
    names = [f"{k // 3:04d}_{k % 3}.png" for k in range(60)]
    labels = rng.integers(0, 2, 60)
    p = np.clip(0.3 + 0.4 * labels + rng.normal(0, 0.2, 60), 0.01, 0.99)
    rows = [f"{name},{a:.4f},{b}" for name, a, b in zip(names, p, labels, strict=True)]
    (tmp_path / "films.csv").write_text("\n".join(["image,probability,label", *rows]))
    table = "\n".join(["image,patient:id", *(f"{name},{name[:4]}" for name in names)])
    (tmp_path / "patients.csv.gz").write_bytes(gzip.compress(table.encode()))
    return tmp_path


@pytest.mark.parametrize("verb", ["audit", "calibrate", "compare", "ood", "runs import"])
def test_every_command_that_reads_takes_groups_from_a_table(verb, films, monkeypatch, capsys):
    table = f"{films / 'patients.csv.gz'}:patient:id"
    file = str(films / "films.csv")
    seen = []
    taken = sandbox.read

    def noted(*arguments, **options):
        seen.append(taken(*arguments, **options))
        return seen[-1]

    monkeypatch.setattr(sandbox, "read", noted)
    monkeypatch.setenv("CANDOR_HOME", str(films / "home"))
    words = {
        "audit": ["audit", file, *FEW],
        "calibrate": ["calibrate", file, "--methods", "ts"],
        "compare": ["compare", file, file],
        "ood": ["ood", "--in", file, "--out", f"same={file}"],
        "runs import": ["runs", "import", file],
    }[verb]
    code = main([*words, "--group", table])
    groups = seen[0].splits["test"].groups
    assert (groups.name, groups.count) == ("patient:id", 20)
    assert code in (0, 2), capsys.readouterr().err


def test_a_table_of_groups_that_is_missing_is_refused(run, films):
    code, _, err = run(films / "films.csv", "--group", f"{films}/none.csv:patient")
    assert (code, err[:34]) == (3, "FILE: There is no file none.csv; c")
    code, _, err = run(films / "films.csv", "--group", "a:b")
    assert code == 2
    assert "--group names 'a:b', which is not there; use one of image" in err


def test_labels_that_are_a_folder_are_called_one(run, npz, tmp_path):
    code, _, err = run(npz, "--labels", tmp_path)
    assert code == 3
    assert err.startswith(f"FILE: {tmp_path.name} is a folder, and one file is read here;")


@needs_shared
def test_the_patients_of_the_chest_films_are_joined_by_name(run):
    stem = SHARED / "chexnet_reproduction"
    options = ReadOptions(group="Patient ID")
    found = sandbox.read(
        Path(f"{stem}_preds.csv"),
        labels=Path(f"{stem}_labels.txt"),
        labels_name="labels.txt",
        tables={"group": (Path(f"{stem}_patients.csv.gz"), "patients.csv.gz")},
        options=options,
    ).splits["test"]
    assert (found.n, found.groups.count) == (22433, 6187)
    assert np.bincount(found.groups.of_row).max() > 1


@pytest.fixture
def asked(tmp_path):
    """Scores of eighty rows that twenty people each voted on, beside them and in another file."""
    rng = np.random.default_rng(8)
    logits = 2.0 * rng.normal(size=(80, 3))
    p = np.exp(logits / 2.0) / np.exp(logits / 2.0).sum(axis=1, keepdims=True)
    votes = np.array([rng.multinomial(20, row) for row in p])
    rows = zip(logits.tolist(), votes.tolist(), strict=True)
    lines = ["id,logit_a,logit_b,logit_c,votes_a,votes_b,votes_c,label"]
    records = []
    for k, (z, n) in enumerate(rows):
        lines.append(",".join(map(str, [f"r{k}", *z, *n, "abc"[int(np.argmax(n))]])))
        records.append(json.dumps({"uid": f"r{k}", "label_count": n}))
    (tmp_path / "scores.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "votes.jsonl").write_text("\n".join(records[::-1]) + "\n")
    turned = [json.loads(line)["label_count"][::-1] for line in records]
    np.savez(tmp_path / "turned.npz", votes=turned)
    return tmp_path


def test_votes_add_what_people_say_and_change_nothing_else(run, asked):
    few = (*FEW, "--metrics", "ece", "--json", "-")
    code, out, err = run(asked / "scores.csv", *few)
    plain = json.loads(out)
    assert (code, err, "human" in plain) == (0, "", False)
    reports = [
        json.loads(run(asked / "scores.csv", "--votes", votes, *few)[1])
        for votes in ("votes_", ":votes_a,votes_b,votes_c", asked / "votes.jsonl")
    ]
    named = json.loads(run(asked / "scores.csv", "--votes", f"{asked}/scores.csv:votes_", *few)[1])
    for report in (*reports, named):
        human = report.pop("human")
        for key in plain.keys() - {"notices"}:
            assert report[key] == plain[key]
        assert (human["n"], human["votes_per_row"], human["least_votes"]) == (80, 20.0, 20.0)
        assert 0.0 < human["tvd"]["floor"] < human["tvd"]["low"] < human["tvd"]["value"]
        assert human["soft_nll"]["floor"] < human["soft_nll"]["known"] < human["soft_nll"]["value"]
        assert human["entropy_gap_signed"]["high"] < 0.0
        assert {"rank", "ece_votes", "entropy_gap", "direction"} <= human.keys()
        assert sum(item["count"] for item in human["disagreement"]) == 80
        assert human["text"].startswith("Of 100 people asked, ")
    assert not any("votes_a" in n["text"] for n in reports[0]["notices"])


def test_votes_are_printed_below_the_metrics(run, asked):
    code, out, _ = run(asked / "scores.csv", "--votes", asked / "votes.jsonl", *FEW)
    assert code == 0
    assert " split, against the majority label: " in out.splitlines()[0]
    assert "Compared with people on 80 rows, 20 votes a row: Of 100 people asked, " in out
    assert "  tvd " in out
    assert "floor 0." in out


@pytest.mark.parametrize("majority", [True, False])
def test_what_votes_show_the_opposite_of_is_said_with_the_verdict(run, tmp_path, majority):
    """It is 90 % sure of 400 answers: 8 in 10 people agree with 396 of them, 2 in 10 with 4."""
    votes = np.array(396 * [[8, 2]] + 4 * [[2, 8]])
    labels = np.argmax(votes, axis=1)
    labels[0] = 0 if majority else 1
    logits = np.tile([np.log(9.0), 0.0], (400, 1)) + np.linspace(-3.0, 3.0, 400)[:, None]
    np.savez(tmp_path / "people.npz", logits=logits, labels=labels)
    np.savez(tmp_path / "votes.npz", votes=votes)
    code, out, _ = run(tmp_path / "people.npz", "--votes", tmp_path / "votes.npz", *FEW)
    assert code == 0
    first = out.splitlines()[0]
    against = "the majority label" if majority else "the labels"
    assert f"split, against {against}: Under-confident by" in first
    assert "Against people’s votes it is the opposite: more sure than people by 10.6" in first


def test_the_order_of_the_classes_of_votes_is_asked(run, asked):
    words = (asked / "scores.csv", "--votes", asked / "turned.npz", *FEW, "--json", "-")
    code, out, err = run(*words)
    error = json.loads(out)["error"]
    assert (code, error["code"], error["file"]) == (2, "UNDECIDED", "turned.npz")
    assert error["candidates"][0]["option"] == "--votes-classes c,b,a"
    assert "--votes-classes c,b,a: most people chose the label" in err
    code, out, _ = run(*words, "--votes-classes", "c,b,a")
    assert code == 0
    assert json.loads(out)["human"]["n"] == 80


def test_a_file_of_votes_that_is_missing_is_refused(run, asked):
    code, _, err = run(asked / "scores.csv", "--votes", asked / "none.jsonl")
    assert (code, "There is no file none.jsonl" in err) == (3, True)
    code, _, err = run(asked / "scores.csv", "--votes", "annotators")
    assert code == 2
    assert "--votes names 'annotators', which is 0 columns for 3 classes" in err
