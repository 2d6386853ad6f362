"""The compare page through app.py: links, drafts, refusals, and hostile names as text."""

import csv
import json
import re
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import streamlit as st
from scipy.special import softmax
from streamlit.testing.v1 import AppTest

from core.__main__ import main
from core.library import SAMPLES, Library, RunSource
from core.metrics.suite import audit
from core.predictions import Predictions, ScoreKind, Task
from core.readers.sandbox import read as sandbox
from core.studies import comparison
from core.studies.precomputed import keep_studies
from pages.ui import compare
from pages.ui.task import Work
from tests.core.library.builders import headline
from tests.pages.seen import fine, html, opened, said, table, until

HOSTILE = "<b>**x**</b> ![x](http://x/y) :red[r]"
PAIR = "digits-fair,digits-overconfident"
COMPUTED = {"runs": PAIR, "split": "val"}  # a sample brings its test part only


@pytest.fixture
def page(home):
    return partial(opened, "compare")


def names_in_table(test: AppTest) -> list[str]:
    return re.findall(
        r"<tr class=\"(?:run|ref)\"><th.*?>(?:<i.*?</i>)?<span>(.*?)(?:<small|</span)", html(test)
    )


def sample(name):
    return audit(Library(Path("unused"), SAMPLES).load(name, "test")).main


@pytest.mark.slow
def test_with_no_runs_three_samples_are_compared_until_runs_are_picked(page):
    test = page()  # at once: what is compared comes with the samples
    assert names_in_table(test) == [
        "CIFAR-10 (JPEG), AdaFocal",
        "CIFAR-10 (JPEG), Cross-entropy",
        "CIFAR-10 (JPEG), Focal γ = 3",
    ]
    assert "runs" not in test.query_params
    test.multiselect(key="widget.runs").set_value(PAIR.split(",")).run()
    assert test.query_params["runs"] in (PAIR, [PAIR])
    assert "Open your own run" not in [link.label for link in test.main.page_link]


@pytest.mark.slow
def test_the_numbers_on_the_page_are_the_audits(page):
    test = page(runs=PAIR)
    text = html(test)
    fair, over = (
        sample(f"digits-{name}").metrics["ece"].value for name in ("fair", "overconfident")
    )
    assert f"“Fair digits” has the smaller ECE, {100 * (over - fair):.1f} points below" in text
    for value in (fair, over):
        assert f">{100 * value:.1f}<small>" in text


@pytest.mark.parametrize("in_a_thread", [0, pytest.param(10**9, marks=pytest.mark.nightly)])
def test_what_takes_long_is_computed_elsewhere_and_gives_the_same_page(
    page, monkeypatch, in_a_thread
):
    monkeypatch.setattr(compare, "IN_A_THREAD", in_a_thread)
    st.cache_resource.clear()
    at_once = page(**COMPUTED)
    st.cache_resource.clear()
    monkeypatch.setattr(compare, "AT_ONCE", 0)
    waiting = page(**COMPUTED)
    if "Analysing 2 runs." in html(waiting):  # not done yet
        assert waiting.button(key="compare.stop")
    until(waiting, lambda: names_in_table(waiting))
    assert table(waiting, "Scores of the runs") == table(at_once, "Scores of the runs")
    monkeypatch.setattr(compare, "in_turn", None)  # nothing is computed twice
    assert names_in_table(page(**COMPUTED))


def test_runs_that_were_studied_are_compared_at_once(page, home, monkeypatch):
    ids = [keep(home, f"run {i}") for i in range(2)]
    computed = table(page(runs=",".join(ids)), "Scores of the runs")
    for run_id in ids:
        keep_studies(Library(home, SAMPLES), run_id)
    st.cache_resource.clear()
    monkeypatch.setattr(comparison, "compared", None)  # nothing is computed
    assert table(page(runs=",".join(ids)), "Scores of the runs") == computed


def test_work_that_is_stopped_goes_on_with_what_is_missing(page, monkeypatch):
    st.cache_resource.clear()
    monkeypatch.setattr(compare, "AT_ONCE", 0)
    begun = []

    def in_turn(calls, keep, *, processes):
        assert not processes  # two small runs
        begun.append((calls, keep))
        return Work()

    monkeypatch.setattr(compare, "in_turn", in_turn)
    test = page(**COMPUTED)
    ((calls, keep),) = begun
    assert [named(call) for call in calls] == [[(i, "val")] for i in PAIR.split(",")]
    function, arguments = calls[0]
    keep(0, function(*arguments))
    test.button(key="compare.stop").click().run()
    assert not names_in_table(test)
    test.button(key="compare.resume").click().run()
    assert [named(call) for call in begun[1][0]] == [[("digits-overconfident", "val")]]


def named(call) -> list[tuple[str, str]]:
    """Return the runs and splits that a call is to read."""
    _, (sources,) = call
    return [(source.run_id, source.split) for source in sources]


@pytest.mark.nightly
def test_many_runs_are_searched_in_a_table_that_scrolls(page, home, monkeypatch):
    ids = [keep(home, f"run {i}") for i in range(14)]
    test = page(runs=",".join(ids))
    assert len(names_in_table(test)) == 14
    monkeypatch.setattr(comparison, "compare_all", None)  # a search compares nothing again
    test.text_input(key="compare.search").set_value("run 1").run()
    assert set(names_in_table(test)) == {"run 1", *(f"run {i}" for i in range(10, 14))}
    assert "5 of 14 runs." in html(test)
    test.text_input(key="compare.search").set_value("nothing").run()
    assert "No run’s name contains that." in said(test)


@pytest.mark.slow
def test_a_link_restores_runs_reference_metric_and_split(page):
    test = page(runs=PAIR, ref="digits-overconfident", metric="nll", split="val")
    assert test.selectbox(key="widget.ref").value == "digits-overconfident"
    text = html(test)
    assert "val split · the same 299 images" in text
    assert "From reference</th>" in text
    assert re.search(r'class="ref".*?Over-confident digits<small>reference', text)


@pytest.mark.slow
def test_a_run_more_or_less_changes_the_link(page):
    test = page(runs=PAIR)
    test.multiselect(key="widget.runs").set_value(["digits-fair"]).run()
    assert "Compare “Fair digits” with another run." in html(test)
    assert test.query_params["runs"] in ("digits-fair", ["digits-fair"])


def test_a_tag_brings_all_of_its_runs(page, home):
    ids = [keep(home, f"seed {i}") for i in range(3)]
    for run_id in ids:
        Library(home, SAMPLES).tag(run_id, ["seeds", "of today"])
    test = page(runs=ids[1])
    picker = test.multiselect(key="widget.runs")
    tags = [option for option in picker.options if "of today" in option or "seeds" in option]
    assert tags == ["Tag: of today (3 runs)", "Tag: seeds (3 runs)"]
    picker.set_value([ids[1], "tag:seeds"]).run()
    linked = ",".join((ids[1], ids[2], ids[0]))  # those of a tag the newest first
    assert test.query_params["runs"] in (linked, [linked])
    assert sorted(names_in_table(test)) == ["seed 0", "seed 1", "seed 2"]
    assert test.multiselect(key="widget.runs").value == [ids[1], ids[2], ids[0]]


def test_the_choice_is_kept_when_the_page_is_left(page):
    test = page(runs=PAIR)
    test.switch_page("pages/library.py").run()
    test.query_params.clear()
    test.switch_page("pages/compare.py").run()
    assert len(names_in_table(test)) == 2


@pytest.mark.slow
def test_other_labels_are_not_ranked_and_the_page_says_why(page):
    test = page(runs="digits-overconfident,digits-traits")
    text = html(test)
    assert "These runs cannot be ranked" in text
    assert "is judged by" in text
    assert names_in_table(test) == ["Over-confident digits", "Traits of digits"]
    assert "From reference" not in text
    assert [box.key for box in test.selectbox if box.key == "widget.ref"] == []


def test_a_run_on_other_rows_is_set_aside_and_the_rest_are_ranked(page):
    test = page(runs="digits-traits,digits-ce,digits-focal-3")
    assert "These runs cannot be ranked" in html(test)
    button = test.button(key="compare.rest")
    assert button.label == "Set aside “Traits of digits”, rank the rest"
    fine(button.click().run())
    assert test.query_params["runs"] in ("digits-ce,digits-focal-3", ["digits-ce,digits-focal-3"])
    assert len(names_in_table(test)) == 2
    assert "cannot be ranked" not in html(test)
    test = page(runs="digits-overconfident,digits-traits")  # neither has another of its kind
    assert [one.key for one in test.button if one.key == "compare.rest"] == []


@pytest.mark.parametrize(
    ("runs", "said"),
    [
        ("digits-fair,nosuchrun", "There is no run “nosuchrun”"),
        (",".join(f"r{i}" for i in range(51)), "51 runs are too many"),
    ],
)
def test_a_link_that_cannot_be_followed_is_refused_in_words(page, runs, said):
    test = page(runs=runs)
    assert said in test.error[0].value


@pytest.mark.slow
def test_a_draft_of_another_session_is_not_opened(page):
    test = page(runs=f"{PAIR},draft-00000000")
    assert len(names_in_table(test)) == 2


@pytest.mark.slow
def test_a_run_that_was_deleted_leaves_the_others(page, home):
    kept = keep(home, "short-lived")
    test = page(runs=f"digits-fair,{kept}")
    assert len(names_in_table(test)) == 2
    Library(home, SAMPLES).delete(kept)
    test.query_params["runs"] = "digits-fair,digits-overconfident"
    test.run()
    assert names_in_table(test) == ["Fair digits", "Over-confident digits"]


def keep(home, name, predictions=None):
    rng = np.random.default_rng(0)
    predictions = predictions or Predictions(
        Task.MULTICLASS, ScoreKind.LOGITS, rng.normal(size=(60, 3)), rng.integers(0, 3, 60)
    )
    kept = Library(home, SAMPLES).keep(
        name,
        {"test": predictions},
        source=RunSource("f.npz", "0" * 32),
        summary={"test": headline()},
    )
    return kept.id


@pytest.mark.parametrize("plain", ["false", pytest.param("true", marks=pytest.mark.slow)])
def test_a_hostile_name_stays_text(page, home, plain):
    ids = [keep(home, HOSTILE), keep(home, f"{HOSTILE}2")]
    test = page(runs=",".join(ids), plain=plain)
    assert "<b>**x**" not in html(test)
    assert "&lt;b&gt;**x**" in html(test)
    texts = [element.value for element in (*test.markdown, *test.caption)]
    assert not [text for text in texts if "**x**" in text or ":red[r]" in text]


NUMBER = re.compile(r"[−+]?\d+\.\d+")


def printed(capsys, *arguments, verb="compare"):
    assert main([verb, *arguments]) == 0
    return capsys.readouterr().out


@pytest.fixture
def read_once(monkeypatch):
    """Let commands read each file once, for they read it alike: it takes a process each time."""
    read, results = sandbox.read, {}

    def once(path, **wishes):
        wanted = repr((path, wishes))
        if wanted not in results:
            results[wanted] = read(path, **wishes)
        return results[wanted]

    monkeypatch.setattr(sandbox, "read", once)


@pytest.mark.nightly
@pytest.mark.usefixtures("read_once")
def test_page_terminal_report_and_exports_print_the_same_numbers(page, home, tmp_path, capsys):
    rng = np.random.default_rng(0)
    logits = 2 * rng.normal(size=(200, 3))
    labels = np.array([rng.choice(3, p=row) for row in softmax(logits, axis=1)])
    ids, files = [], []
    for name, scale in {"a.npz": 1.0, "b_%.npz": 3.0, "c.npz": 9.0}.items():
        np.savez(tmp_path / name, logits=scale * logits, labels=labels)
        files.append(str(tmp_path / name))
        rows = Predictions(Task.MULTICLASS, ScoreKind.LOGITS, scale * logits, labels)
        ids.append(keep(home, name, rows))
    test = page(runs=",".join(ids))
    until(test, lambda: names_in_table(test))
    shown = re.findall(r'<tr class="(?:run|ref)">.*?</tr>', table(test, "Scores of the runs"), re.S)
    numbers = [NUMBER.findall(re.sub("<.*?>", " ", row)) for row in shown]
    assert len(numbers) == 3
    assert all(len(row) >= 21 for row in numbers)  # seven metrics with their intervals

    def told(*arguments):
        lines = printed(capsys, *files, *arguments).replace("$-$", "−").splitlines()
        return [NUMBER.findall(line) for line in lines if re.search(r"[abc]\S*npz.*\d", line)][-3:]

    assert told() == told("--format", "markdown") == told("--format", "latex") == numbers
    reported = partial(printed, capsys, *files, "--sections", "compare", verb="report")
    names = re.compile(r"\| (?:[ABC]  )?[abc]\S*npz(?: \(reference\)|\. reference)?")
    tables = reported("--format", "markdown"), printed(capsys, *files, "--format", "markdown")
    lines = [[names.split(line)[1] for line in t.splitlines() if names.match(line)] for t in tables]
    assert lines[0] == lines[1]  # with what is in bold
    assert r"b\_\%.npz" in printed(capsys, *files, "--format", "latex")
    head, *raw = csv.reader(printed(capsys, *files, "--format", "csv").splitlines())
    found = json.loads(printed(capsys, *files, "--json", "-"))
    certified = json.loads(reported("--format", "json"))["comparison"]
    assert certified == {key: found[key] for key in certified}
    runs = {run["name"]: run["metrics"] for run in found["runs"]}
    for cells in raw:
        row = dict(zip(head, cells, strict=True))
        for metric in ("ece", "nll", "accuracy"):
            assert float(row[metric]) == runs[row["run"]][metric]["value"]


def test_what_is_folded_is_drawn_for_trained_runs(page):
    test = page(runs="digits-ce,digits-adafocal,digits-focal-3")
    until(test, lambda: names_in_table(test))
    assert "different answers" not in html(test)
    said_by_way = {
        "sweep": "ECE by loss",
        "scatter": "ECE against accuracy",
        "training": "Gamma by epoch",
        "rows": "of 500 images get different answers",
    }
    test.session_state["compare.more"] = True
    for way, words in said_by_way.items():
        if way != "sweep":  # the first
            test.run()
            test.segmented_control(key="widget.way").set_value(way)
        fine(test.run())
        assert words in html(test)
        assert test.query_params.get("way", "sweep") in (way, [way])


def test_a_link_unfolds_the_view_that_it_names(page):
    test = page(runs="digits-ce,digits-adafocal,digits-focal-3", way="scatter")
    until(test, lambda: names_in_table(test))
    assert "ECE against accuracy" in html(fine(test))
    test = page(runs="digits-ce,digits-adafocal,digits-focal-3", way="nothing")
    until(test, lambda: names_in_table(test))
    assert "ECE by loss" in html(fine(test))


def test_figure_and_headline_have_one_reference_until_another_is_chosen(page):
    test = page(runs="digits-overconfident,digits-fair")
    assert test.selectbox(key="widget.ref").value == "digits-fair"  # which has the smaller ECE
    assert re.search(r'class="ref".*?Fair digits<small>reference', html(test))
    test.selectbox(key="widget.ref").set_value("digits-fair").run()
    assert "ref" not in test.query_params  # it is shown already: nothing was picked
    test.selectbox(key="widget.ref").set_value("digits-overconfident").run()
    test.selectbox(key="widget.ref").set_value("digits-fair").run()
    assert test.query_params["ref"] in ("digits-fair", ["digits-fair"])  # picked, though best


def test_all_runs_can_be_cleared_where_the_link_names_one(page):
    test = page(run="digits-fair")
    test.multiselect(key="widget.runs").set_value([]).run()
    assert test.multiselect(key="widget.runs").value == []
    assert "Pick two or more runs." in html(fine(test))
    test.query_params["run"] = "digits-overconfident"  # opened since
    test.run()
    assert test.multiselect(key="widget.runs").value == ["digits-overconfident"]


def two_classes(home) -> str:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 80)
    ids = []
    for name, strength in (("dull", 0.5), ("keen", 3.0)):
        p = 1 / (1 + np.exp(-(strength * (2 * labels - 1) + rng.normal(size=80))))
        scores = np.stack([1 - p, p], axis=1)
        rows = Predictions(Task.BINARY, ScoreKind.PROBABILITIES, scores, labels)
        ids.append(keep(home, name, rows))
    return ",".join(ids)


def test_ranks_of_many_rows_are_compared_in_a_process(page, home, monkeypatch):
    runs = two_classes(home)
    at_once = table(fine(page(runs=runs, metric="auroc")), "Scores of the runs")
    st.cache_resource.clear()
    monkeypatch.setattr(compare, "RANKED_AT_ONCE", 0)
    monkeypatch.setattr(comparison, "with_auroc", None)  # not in the thread of the page
    waiting = fine(page(runs=runs, metric="auroc"))
    if "Analysing 2 runs." in html(waiting):  # not done yet
        assert waiting.button(key="compare.stop")
        assert waiting.selectbox(key="widget.ref")
    until(waiting, lambda: names_in_table(waiting))
    assert table(waiting, "Scores of the runs") == at_once


def test_two_classes_are_compared_by_auroc_slope_and_net_benefit(page, home):
    runs = two_classes(home)
    test = fine(page(runs=runs, metric="auroc"))
    assert "“keen” has the higher AUROC" in html(test)
    shown = table(test, "Scores of the runs")
    assert "Calibration slope</th>" in shown
    assert "Net benefit at 10\u202f%</th>" in shown
    test.number_input(key="compare.at").set_value(60.0).run()
    assert "Net benefit at 60\u202f%</th>" in table(fine(test), "Scores of the runs")
    assert test.query_params["at"] in ("60", ["60"])
    linked = fine(page(runs=runs, at="30"))
    assert "Net benefit at 30\u202f%</th>" in table(linked, "Scores of the runs")
    assert test.selectbox(key="widget.metric").value == "auroc"  # a list of eight
    assert "AUROC" not in html(page(runs=PAIR))  # of several classes there is no such number
