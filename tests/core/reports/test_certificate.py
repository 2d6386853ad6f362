import json
import os
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import core
from core.__main__ import main
from core.configs import AuditConfig
from core.errors import Refused
from core.predictions import Predictions, ScoreKind, Task
from core.reports import build, certificate
from core.reports.certificate import canonical, certified, code_digest, digest
from core.reports.document import Edition
from core.studies.report import ReportedRun

QUICK = AuditConfig(n_resamples=20, metrics=("accuracy", "ece"))
SECTIONS = ("verdict", "classes", "settings")


def logits(n, seed=3):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, n)
    return rng.normal(size=(n, 3)) + 2 * np.eye(3)[labels], labels


def made(name="a", seed=3):
    scores, labels = logits(60, seed)
    rows = Predictions(Task.MULTICLASS, ScoreKind.LOGITS, scores, labels)
    return ReportedRun(
        name=name,
        file=f"{name}.npz",
        file_digest=f"{seed:032x}",
        split="test",
        splits={"test": rows},
        sizes={"test": 60},
    )


@pytest.fixture(scope="module")
def report():
    request = build.ReportRequest(runs=(made(),), sections=SECTIONS, config=QUICK)
    content, _ = build.report(request)
    return content


@pytest.fixture(scope="module")
def data(report):
    return canonical(report).encode()


def test_a_report_as_written_is_opened_as_it_was_made(report, data):
    opened = certificate.stated(data)
    assert opened.content == json.loads(data)
    assert opened.sections == SECTIONS
    assert opened.edition is Edition.TECHNICAL
    assert opened.config == QUICK
    assert opened.runs[0].differences(made()) == []
    assert certificate.differences(opened.content, report) == []


@settings(max_examples=400, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=st.integers(0, 10**6), bit=st.integers(0, 7))
def test_one_bit_flipped_anywhere_is_refused(data, place, bit):
    broken = bytearray(data)
    broken[place % len(data)] ^= 1 << bit
    with pytest.raises(Refused) as refusal:
        certificate.stated(bytes(broken))
    assert refusal.value.code == "REPORT"


def test_rows_settings_and_split_stand_in_the_certificate(report):
    """Digests by hand: of the canonical JSON with hashlib, of the rows by the rows themselves."""
    stated = report["certificate"]
    scores, labels = logits(60)
    rows = Predictions(Task.MULTICLASS, ScoreKind.LOGITS, scores, labels)
    assert stated["rows"] == [rows.digest]
    assert stated["splits"] == ["test"]
    asked = {
        "settings": QUICK.to_json(),
        "sections": list(SECTIONS),
        "edition": "technical",
    }
    assert stated["settings"] == digest(asked)


def forged(report, change):
    """Return a report that somebody changed and certified anew: there is no key."""
    content = json.loads(json.dumps(report))
    change(content)
    content.pop("certificate")
    return canonical(certified(content)).encode()


def test_a_forged_number_agrees_with_its_certificate_but_not_with_the_rows(report):
    def better(content):
        content["runs"][0]["audit"]["metrics"]["ece"]["value"] = 0.001

    opened = certificate.stated(forged(report, better))
    lines = certificate.differences(opened.content, report)
    assert len(lines) == 1
    assert lines[0].startswith("runs[0].audit.metrics.ece.value: 0.001 in the report, ")


def test_other_rows_are_told_by_their_digest(report, data):
    lines = certificate.stated(data).runs[0].differences(made(seed=4))
    assert [line.split(" differs")[0] for line in lines] == ["a: the file", "a: the rows of test"]


def test_a_certificate_of_an_earlier_version_is_held_against_the_rows(report):
    """Its digest of the rows is one that class names joined by a bar went into."""

    def earlier(digest):
        def change(content):
            content["runs"][0]["rows_digest"] = digest
            content["software"]["code"] = "0" * 64

        return certificate.stated(forged(report, change))

    run = made()
    same = earlier(run.splits["test"].first_digest)
    assert same.runs[0].differences(run) == []
    assert certificate.differences(same.content, report) == []
    (line,) = earlier("0" * 32).runs[0].differences(run)
    assert line.startswith("a: the rows of test differs, digest 000000000000 in the report")
    newer = earlier("2-" + "0" * 32)
    assert newer.runs[0].differences(run)
    assert "rows_digest" in certificate.differences(newer.content, report)[1]


@pytest.mark.parametrize(
    "change",
    [
        lambda c: c["settings"].update(n_resamples=10**9),
        lambda c: c["settings"].update(more=1),
        lambda c: c.update(sections=[1]),
        lambda c: c.update(edition="gold"),
        lambda c: c["runs"][0].update(reading={"scores": "hearsay"}),
        lambda c: c["runs"][0].update(name=None),
        lambda c: c.update(runs={}),
    ],
)
def test_what_a_forger_asks_for_is_checked(report, change):
    with pytest.raises(Refused):
        certificate.stated(forged(report, change))


def test_numbers_agree_to_nine_digits_and_truth_is_no_number(report):
    def with_value(value):
        return {"software": {"code": "x"}, "n": value}

    assert certificate.differences(with_value(0.1), with_value(0.1 * (1 + 1e-12))) == []
    assert certificate.differences(with_value(0.1), with_value(0.1000001))
    assert certificate.differences(with_value(1), with_value(True))
    older = {"software": {"code": "y"}, "n": 1}
    assert "another version" in certificate.differences(older, with_value(2))[0]
    assert certificate.differences(older, with_value(1)) == []


def test_the_commands_write_a_report_and_hold_it_against_its_file(tmp_path, capsys):
    scores, labels = logits(80)
    file, out = tmp_path / "scores.npz", tmp_path / "report.json"
    np.savez(file, logits=scores, labels=labels)
    few = ["--resamples", "20", "--sections", "verdict"]
    gate = ["--fail-if", "accuracy<2"]
    assert main(["report", str(file), "--out", str(out), *few, *gate]) == 1
    assert "scores.npz: gate accuracy<2" in capsys.readouterr().err
    assert main(["verify", str(out), str(file)]) == 0
    report = out.read_bytes()
    rng = np.random.default_rng(8)
    whole = file.read_bytes()
    for place in rng.integers(0, len(whole), 3):
        broken = bytearray(whole)
        broken[place] ^= 1
        file.write_bytes(broken)
        assert main(["verify", str(out), str(file)]) == 1, place
    file.write_bytes(whole)
    out.write_bytes(report.replace(b'"low":0', b'"low":1', 1))
    assert main(["verify", str(out), str(file)]) == 1
    assert "REPORT" in capsys.readouterr().out
    assert main(["verify", str(tmp_path / "none.json"), str(file)]) == 3
    out.write_bytes(report)
    assert main(["verify", str(out), str(file), str(file)]) == 3


def test_a_file_whose_form_was_guessed_agrees_with_its_report(tmp_path, capsys):
    rng = np.random.default_rng(5)
    file, out = tmp_path / "scores.csv", tmp_path / "report.json"
    lines = [",".join([*map(str, rng.dirichlet(np.ones(3))), str(i % 3)]) for i in range(40)]
    file.write_text("\n".join(["p_cat,p_dog,p_cow,label", *lines]))
    few = ["--resamples", "20", "--sections", "verdict"]
    assert main(["report", str(file), "--out", str(out), *few]) == 0
    noted = {
        notice["code"] for notice in json.loads(out.read_text())["runs"][0]["audit"]["notices"]
    }
    assert "SCORES_GUESSED" in noted
    assert main(["verify", str(out), str(file)]) == 0
    # any other notice that is taken away shows
    content = json.loads(out.read_text())
    audit = content["runs"][0]["audit"]
    kept = [notice for notice in audit["notices"] if notice["code"] in certificate.GUESSED]
    assert len(kept) < len(audit["notices"])
    audit["notices"] = kept
    del content["certificate"]
    out.write_text(canonical(certified(content)))
    capsys.readouterr()
    assert main(["verify", str(out), str(file)]) == 1
    assert "audit.notices: 0 entries in the report" in capsys.readouterr().out


def test_a_run_that_was_trained_here_agrees_with_its_report(tmp_path, capsys):
    out = tmp_path / "report.json"
    few = ["--resamples", "20", "--sections", "verdict"]
    assert main(["report", "digits-ce", "digits-fair", "--out", str(out), *few]) == 0
    assert main(["verify", str(out), "digits-ce", "digits-fair"]) == 0
    capsys.readouterr()
    assert main(["verify", str(out), "digits-fair", "digits-ce"]) == 1
    assert "differs, digest" in capsys.readouterr().out


@pytest.mark.nightly
def test_a_report_with_votes_agrees_with_its_files_and_no_others(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("CANDOR_HOME", str(tmp_path / "home"))
    scores, labels = logits(80)
    votes = np.random.default_rng(2).integers(0, 9, scores.shape)
    votes[np.arange(80), labels] += 9
    file, crowd, out = (str(tmp_path / name) for name in ("s.npz", "v.npy", "r.json"))
    np.savez(file, logits=scores, labels=labels)
    np.save(crowd, votes)
    few = ["--resamples", "20", "--sections", "verdict,human"]
    assert main(["report", file, "--votes", crowd, "--out", out, *few]) == 0
    content = json.loads(Path(out).read_text())
    assert content["runs"][0]["human"]["n"] == 80
    assert main(["verify", out, file, "--votes", crowd]) == 0
    capsys.readouterr()
    assert main(["verify", out, file]) == 1
    assert (
        "s.npz: the report holds the votes of v.npy, which are not here" in capsys.readouterr().out
    )
    content["runs"][0]["human"]["tvd"]["value"] += 0.001
    del content["certificate"]
    Path(out).write_text(canonical(certified(content)))
    assert main(["verify", out, file, "--votes", crowd]) == 1
    assert "runs[0].human.tvd.value: " in capsys.readouterr().out
    assert main(["runs", "import", file, "--votes", crowd]) == 0
    kept = capsys.readouterr().out.strip()
    assert main(["report", kept, "--out", out, *few]) == 0
    assert main(["verify", out, kept]) == 0
    assert main(["verify", out, file, "--votes", crowd]) == 0
    votes[3] += 1
    np.save(crowd, votes)
    capsys.readouterr()
    assert main(["verify", out, file, "--votes", crowd]) == 1
    assert "the rows of test differs, digest" in capsys.readouterr().out
    assert main(["runs", "import", file]) == 0
    plain = capsys.readouterr().out.strip()
    assert main(["report", plain, "--votes", crowd, "--out", out]) == 3
    assert "SETTING: --votes is for files" in capsys.readouterr().err


def test_rows_are_told_apart_though_the_file_says_the_same(data):
    other = replace(made(seed=4), file_digest=made().file_digest)
    lines = certificate.stated(data).runs[0].differences(other)
    assert [line.split(" differs")[0] for line in lines] == ["a: the rows of test"]


def test_a_list_of_another_length_differs_either_way():
    def with_list(*values):
        return {"software": {"code": "x"}, "n": list(values)}

    for theirs, own in (((1, 2, 3), (1, 2)), ((1, 2), (1, 2, 3))):
        assert certificate.differences(with_list(*theirs), with_list(*own)) == [
            f"n: {len(theirs)} entries in the report, {len(own)} from the files"
        ]


def test_a_certificate_that_names_other_rows_is_refused_though_its_digest_agrees(report):
    content = json.loads(json.dumps(report))
    stated = content["certificate"]
    stated["rows"] = ["0" * 32]
    rest = {key: value for key, value in stated.items() if key != "digest"}
    stated["digest"] = digest(content | {"certificate": rest})
    with pytest.raises(Refused, match="names other rows"):
        certificate.stated(canonical(content).encode())


def test_the_code_is_every_module_wherever_it_lies():
    """The digest once more, from what git would list: every Python file below core."""
    state = sha256()
    root = Path(core.__file__).parent
    files = {
        f"{Path(folder, name).relative_to(root)}": Path(folder, name)
        for folder, _, names in os.walk(root)
        for name in names
        if name.endswith(".py")
    }
    for name, file in sorted(files.items(), key=lambda entry: entry[1]):
        state.update(f"{name} {file.stat().st_size}\n".encode() + file.read_bytes())
    assert code_digest() == state.hexdigest()


def test_no_report_says_how_long_a_fit_took():
    """It differs every time, so that no report could be verified."""
    one = made()
    both = replace(
        one, splits=one.splits | {"val": one.splits["test"]}, sizes={"test": 60, "val": 60}
    )
    request = build.ReportRequest(runs=(both,), sections=("posthoc",), config=QUICK)
    content, _ = build.report(request)
    assert content["runs"][0]["posthoc"]["methods"]
    assert "_seconds" not in json.dumps(content)
