"""The report page through app.py, and that page, compare, command and report say the same."""

import json
import re
from html import unescape

import pytest

from core.__main__ import main
from core.library import SAMPLES, Library, RunSource
from core.reports import certificate
from core.reports.build import ReportFiles
from pages.ui import report as choices
from pages.ui.task import WORKS
from tests.pages.seen import fine, html, opened, said, until

_reported = choices.reported
FAIR, OVER = "digits-fair", "digits-overconfident"


def made(test) -> ReportFiles:
    """Make the report and return its files."""
    test.button(key="report.make").click().run()
    until(test, lambda: "Your report" in said(test))
    works = [w for (slot, _), w in test.session_state[WORKS].items() if slot == "report"]
    return works[-1].future.result()


def shown(text: str) -> str:
    """Return what a reader of HTML sees, on one line."""
    return re.sub(r"\s+", " ", unescape(re.sub("<[^>]*>", " ", text)))


@pytest.mark.nightly
def test_page_report_command_and_compare_print_the_same_numbers(home, tmp_path):
    """One run in four places: every score of the audit to the last bit, the headlines as read.

    It is a copy of a sample: audits of the samples themselves are kept beside them.
    """
    parts = {"test": Library(home, SAMPLES).load(OVER, "test")}
    source = RunSource("over.npz", "0" * 32)
    over = Library(home, SAMPLES).keep("over", parts, source=source, summary={}).id
    file = tmp_path / "over.npz"
    assert main(["runs", "export", over, "--out", str(file)]) == 0
    out = tmp_path / "out.json"
    assert main(["audit", str(file), "--json", str(out)]) == 0
    audit = json.loads(out.read_text())
    files = made(fine(opened("report", run=over)))
    content = certificate.stated(files.json.encode()).content
    own = content["runs"][0]["audit"]
    for key in ("metrics", "noise_floor", "direction", "verdict", "bins", "n", "task", "scores"):
        assert own[key] == json.loads(json.dumps(audit[key])), key
    assert main(["compare", str(file), str(file), "--json", str(out)]) == 0
    beside = json.loads(out.read_text())["runs"][0]["metrics"]
    for key in ("accuracy", "nll", "brier", "ece"):
        assert beside[key] == audit["metrics"][key], key
    ece = audit["metrics"]["ece"]
    printed = f"{100 * ece['value']:.1f}", f"{100 * ece['low']:.1f} to {100 * ece['high']:.1f}"
    reliability = html(fine(opened("reliability", run=over)))
    compare = opened("compare", runs=f"{FAIR},{over}")
    until(compare, lambda: "c-compare" in html(compare))
    pages = (shown(files.html), files.markdown, shown(reliability), shown(html(compare)))
    for text in pages:
        assert all(number in text for number in printed)
    sentence = shown(reliability.split("<h1")[1].split("</h1>")[0])
    words = sentence.split(">", 1)[-1].replace(" ", "")
    assert words in shown(files.html).replace(" ", "")


@pytest.mark.nightly
def test_a_board_reads_what_the_page_in_plain_words_says(home, tmp_path):
    """One run in plain words: page, report page, command and the audit behind them."""
    file = tmp_path / "over.npz"
    assert main(["runs", "export", OVER, "--out", str(file)]) == 0
    page = html(fine(opened("reliability", run=OVER, plain="true")))
    sentence = shown(page.split("<h1")[1].split("</h1>")[0]).split(">", 1)[-1].strip()
    strip = shown(page.split('class="c-strip')[1].split("</dl>")[0])
    files = made(fine(opened("report", run=OVER, edition="board")))
    out = {ending: tmp_path / f"board.{ending}" for ending in ("html", "markdown", "json")}
    for ending, path in out.items():
        wanted = ["--edition", "board", "--format", ending, "--out", str(path)]
        assert main(["report", str(file), *wanted]) == 0
    numbers = re.findall(r"\d+(?:\.\d+)?", f"{sentence} {strip}")
    assert len(numbers) >= 6
    commanded = out["html"].read_text(), out["markdown"].read_text()
    for text in (files.html, files.markdown, *commanded):
        board = shown(text.split("For the board")[0])
        assert squeezed(sentence) in squeezed(board)
        assert not [number for number in numbers if number not in board]
        assert ".." not in board
    assert main(["audit", str(file), "--json", str(tmp_path / "audit.json")]) == 0
    audit = json.loads((tmp_path / "audit.json").read_text())
    for text in (files.json, out["json"].read_text()):
        own = json.loads(text)["runs"][0]["audit"]
        assert own["metrics"] == audit["metrics"]
        assert own["verdict"] == audit["verdict"]
    # of 100 answers: what is read is what was counted
    assert f"{100 * audit['metrics']['accuracy']['value']:.0f}" in numbers


def squeezed(text: str) -> str:
    return re.sub(r"[\s\u2060*\\]", "", text)


@pytest.mark.nightly
def test_two_runs_in_plain_words_are_compared_and_sections_can_be_left_out(home):
    test = fine(opened("report", run=FAIR, reported=f"{FAIR},{OVER}", edition="plain"))
    files = made(test)
    text = shown(files.html)
    assert "Comparison" in text
    assert "ECE" not in text.split("Settings, versions")[0]
    assert [run["name"] for run in json.loads(files.json)["runs"]] == [
        "Fair digits",
        "Over-confident digits",
    ]
    kept = [key for key in json.loads(files.json)["sections"] if key != "compare"]
    test.session_state["set.report.left_out"] = ("compare",)
    assert json.loads(made(fine(test.run())).json)["sections"] == kept


def test_a_run_that_is_gone_is_said_and_the_open_one_is_offered(home):
    test = opened("report", run=FAIR, reported="nothing-here")
    assert "RUN_UNKNOWN" in test.error[0].value
    assert test.multiselect(key="widget.report.runs").value == []
    assert "Fair digits" not in test.multiselect(key="widget.report.runs").options
    assert test.multiselect(key="widget.report.runs").proto.max_selections == 49  # beside it


def test_other_runs_are_reported_on_the_same_split_or_that_is_said(home, monkeypatch):
    reported = []

    def noted(runs, splits):
        reported.append(splits)
        return _reported(runs, splits)

    monkeypatch.setattr(choices, "reported", noted)
    test = fine(opened("report", run=OVER, split="val", reported=f"{OVER},{FAIR}"))
    assert reported[-1] == ["val", "val"]
    assert "has no" not in said(test)
    fog = "corrupted-fog-1"
    test = fine(opened("report", run="cifar10-ce", split=fog, reported=f"cifar10-ce,{FAIR}"))
    assert reported[-1] == [fog, "test"]
    assert f"“Fair digits” has no {fog} split. Its Test split is reported." in said(test)
