"""Whom and which day rows are of is in no export, index, log or trail: not one byte of it."""

import numpy as np
import pytest

from core.__main__ import main

pytestmark = pytest.mark.usefixtures("unsealed")
CANARY, TIME = "Zyxwvut", "04:59:37"
PATIENTS, N = 40, 240
FORMS = (  # every form and every edition of a report
    *(("html", edition) for edition in ("technical", "plain", "board")),
    *((form, "technical") for form in ("markdown", "json")),
)
USUAL = ("--group", "patient", "--id-column", "image", "--resamples", "50")


@pytest.fixture
def file(tmp_path, monkeypatch):
    """Write films, each with an id and a patient whose names hold the canary, and a time."""
    monkeypatch.setenv("CANDOR_HOME", str(tmp_path / "home"))

    def write(name, scale):
        rng = np.random.default_rng(0)
        logits = 2 * rng.normal(size=(N, 3))
        labels = (logits / 2 + rng.gumbel(size=logits.shape)).argmax(axis=1)
        lines = [
            f"{CANARY}{i}.png,{CANARY}-{i % PATIENTS},2021-03-{1 + i % 30:02} {TIME},"
            f"{','.join(map(str, scale * row))},{label}"
            for i, (row, label) in enumerate(zip(logits, labels, strict=True))
        ]
        path = tmp_path / name
        path.write_text("\n".join(["image,patient,taken,a,b,c,label", *lines]) + "\n")
        return path

    return write


def test_reports_tables_and_calibrators_hold_no_patient(file, tmp_path, capsys):
    first, second, out = file("one.csv", 1.0), file("two.csv", 2.0), tmp_path / "out"
    out.mkdir()
    commands = [
        ["audit", first, *USUAL, "--json", out / "audit.json", "--html", out / "audit.html"],
        ["calibrate", first, *USUAL[:4], "--methods", "ts,isotonic", "--fit", "cut", "--json",
         out / "calibrate.json", "--save", out / "saved"],
        ["ood", "--in", first, "--out", f"other={second}", "--json", out / "ood.json"],
        *(["report", first, *USUAL, "--format", form, "--edition", edition, "--out",
           out / f"{edition}.{form}"]
          for form, edition in FORMS),
        *(["compare", first, second, *USUAL[:4], "--format", form]
          for form in ("text", "csv")),  # the others are the table of CSV
    ]  # fmt: skip
    printed = ""
    for words in commands:
        assert main([str(word) for word in words]) == 0, words
        printed += "".join(capsys.readouterr())
    written = [path for path in out.rglob("*") if path.is_file()]
    assert len(written) > 8
    assert b"one.csv" in (out / "technical.html").read_bytes()  # as it would stand there
    assert "taken (2021-03)" in printed
    for word in (CANARY, TIME, "2021-03-"):
        assert word not in printed
        assert not [path.name for path in written if word.encode() in path.read_bytes()]


def test_of_a_kept_run_only_its_rows_name_patients(file, tmp_path, capsys):
    assert main(["runs", "import", str(file("one.csv", 1.0)), *USUAL[:4]]) == 0
    assert main(["runs", "list"]) == 0
    assert CANARY not in "".join(capsys.readouterr())
    home = tmp_path / "home"
    assert not [p for p in home.rglob("*") if p.is_file() and b"2021-03-" in p.read_bytes()]
    holding = [p for p in home.rglob("*") if p.is_file() and CANARY.encode() in p.read_bytes()]
    assert {path.suffix for path in holding} <= {".safetensors"}
    assert {path.relative_to(home).parts[0] for path in holding} == {"runs"}
