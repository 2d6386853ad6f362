"""The views All findings and One finding through app.py: links, choices, tables, refusals."""

import gzip
import io
import re
from dataclasses import replace
from functools import partial
from html import unescape

import numpy as np
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from core.library import SAMPLES, Library, RunSource
from core.metrics.clinical import bands, recalibration
from core.predictions import Dates, Predictions, ScoreKind, Task
from core.screens.xray.words import MINED, SYNTHETIC
from core.studies.posthoc import CUT, SHARE, parts
from pages.ui.xray import shared
from tests.core.screens.test_labels_agree import off_alone
from tests.pages import seen
from tests.pages.seen import fine, opened, unfolded, until

NAMES = ("Effusion", "Mass", "Hernia")
N = 900
ENDS = ["5 %", "20 %"]


@pytest.fixture
def home(home):
    st.cache_resource.clear()
    return home


@pytest.fixture
def page(home):
    return partial(opened, "xray")


def films(seed=0, n=N, ids=True):
    rng = np.random.default_rng(seed)
    true = rng.normal([-0.5, -1.0, -3.5], [1.2, 1.0, 0.8], size=(n, 3))
    labels = (rng.random((n, 3)) < 1 / (1 + np.exp(-true))).astype(np.int64)
    said = 1 / (1 + np.exp(-2.0 * true))
    names = tuple(f"{k:05}.png" for k in range(n)) if ids else ()
    return Predictions(
        task=Task.MULTILABEL,
        kind=ScoreKind.SIGMOID,
        scores=said,
        labels=labels,
        class_names=NAMES,
        row_ids=names,
    )


@pytest.fixture
def keep(home):
    def kept(name="the run", **splits):
        library = Library(home, SAMPLES)
        source = RunSource("file.npz", "0" * 64, None)
        return library.keep(name, splits or {"test": films()}, source=source, summary={}).id

    return kept


def html(test: AppTest) -> str:
    return unescape(seen.html(test)).replace("\u202f", " ")


def table(test: AppTest, label: str) -> str:
    return html(test).split(f'aria-label="{label}"')[1].split("</table>")[0]


@pytest.mark.parametrize("view", [shared.ALL, shared.ONE])
def test_a_first_visit_shows_films_drawn_by_a_program(page, view):
    test = fine(page(show=view))
    assert test.query_params[shared.VIEW] in (view, [view])
    assert "Phantom films" in html(test)
    said = html(test) + " ".join(text.value for text in test.markdown)
    assert SYNTHETIC in said
    assert MINED not in said


def test_errors_that_cancel_are_told_in_plain_words_without_their_ends(page):
    test = fine(page(run="phantom-ce", show=shared.ONE, plain="true"))
    assert "are off in places" in html(test)


def test_a_threshold_of_a_link_is_printed_with_its_digits(page, keep):
    test = fine(page(run=keep(), show=shared.ONE, of="0", at="7.25"))
    assert "At 7.25 % or more, " in html(test)
    flagged = int((films().scores[:, 0] >= 0.0725).sum())
    assert f"At 7.25 % or more, {flagged} of " in html(test)


def test_all_findings_and_from_there_to_one(page, keep):
    test = fine(page(run=keep(), show=shared.ALL))
    assert "Corrected for 3 findings (Holm)." in html(test)
    assert table(test, "Every finding").count('<th scope="row">') == 4
    assert "Research use, not a medical device." in html(test)
    fine(test.button(key="clinic.open.1").click().run())
    assert test.query_params[shared.VIEW] == shared.ONE
    assert test.query_params[shared.FINDING] == "1"
    assert "Too extreme for “Mass”" in html(test)


def test_a_finding_that_is_off_only_when_looked_at_alone_is_said_so_on_both_pages(page, keep):
    def words(test: AppTest) -> str:
        return re.sub("<[^>]+>", "", html(fine(test)))

    run = keep(test=off_alone(None))
    count = "1 is overestimated and 2 could be chance"
    assert count in words(page(run=run, show=shared.ALL))
    one = words(page(run=run, show=shared.ONE, of="1"))
    assert "Could be chance among 3 findings." in one
    assert "Off by" not in one
    plain = words(page(run=run, show=shared.ONE, of="1", plain="true"))
    assert "Taken alone it looks off; among 3 that could be chance." in plain
    assert count in words(opened("reliability", run=run))
    label = words(opened("reliability", run=run, of="1"))
    assert "Could be chance among 3 labels." in label
    assert "Taken alone, it is too extreme" in label


def test_a_finding_is_chosen_from_the_list(page, keep):
    test = fine(page(run=keep(), show=shared.ALL, plain="true"))
    assert "Fluid around the lung (Effusion)" in table(test, "Every finding")
    fine(test.selectbox(key="clinic.choose").select(2).run())
    assert "labelled as showing a hernia of the diaphragm in this test set of 900 films" in html(
        test
    )


def test_one_finding_shows_the_numbers_of_the_run(page, keep):
    run = films()
    test = fine(page(run=keep(), show=shared.ONE, of="0"))
    fit = recalibration(run.column(0), run.labels[:, 0] == 1)
    assert f"{fit.slope.value:.2f}" in html(test)
    assert "Off by" in html(test)
    assert "Hosmer-Lemeshow over" not in html(test)
    fine(test.toggle(key="clinic.hosmer").set_value(True).run())
    assert "Hosmer-Lemeshow over" in html(test)
    assert "Guidelines advise against it" in html(test)


def test_one_click_recalibrates_and_one_undoes_it(page, keep):
    test = fine(page(run=keep(), show=shared.ONE, of="0"))
    fine(test.button(key="clinic.recalibrate").click().run())
    assert test.query_params[shared.RECALIBRATE] == "beta"
    assert "Recalibrated by beta calibration" in html(test)
    assert "test · recalibrated" in html(test)
    assert "the films not fitted on (450, seed 0)" in html(test)
    assert "this test set of 450 films are flagged" in html(test)
    fine(test.button(key="clinic.recalibrate").click().run())
    assert shared.RECALIBRATE not in test.query_params
    assert "n = 900 films" in html(test)


def test_the_curve_is_smoothed_as_chosen_and_says_how(page, keep):
    run = keep()
    test = unfolded(page(run=run, show=shared.ONE, of="0"), "clinic_curve")
    assert "lowess as of Harrell" in html(test)
    link = {"run": run, "show": shared.ONE, "of": "0", "smoother": "loess", "recal": "beta"}
    test = unfolded(page(**link), "clinic_curve")
    assert "loess as of Austin and Steyerberg" in html(test)
    assert "test · recalibrated" in html(test)
    fine(test.button(key="clinic.recalibrate").click().run())
    assert "n = 900 films" in html(test)
    assert "loess as of Austin and Steyerberg" in html(test)


def test_recalibration_is_fitted_on_the_validation_part(page, keep):
    run = keep(val=films(1, 600), test=films(2, 500))
    test = fine(page(run=run, show=shared.ONE, of="0", recal="isotonic"))
    assert "fitted on 600 other films" in html(test)
    assert "test · recalibrated" in html(test)
    fine(test.selectbox(key="widget.of").select("1").run())
    assert shared.RECALIBRATE not in test.query_params


def test_plain_words_count_the_events_of_the_band(page, keep):
    run = films()
    found = bands(run.column(0), run.labels[:, 0] == 1)
    test = fine(page(run=keep(), show=shared.ONE, of="0", plain="true", band="7"))
    text = re.sub("<[^>]+>", "", html(test))
    value = re.search(r"between 70 and 80 %, about (\d+) ", text)[1]
    assert int(value) == round(100 * found.events[7] / found.count[7])
    assert "This is not the patient’s risk." in text
    assert "in this test set of 900 films" in text
    test.number_input(key="prevalence").set_value(2.0)
    text = re.sub("<[^>]+>", "", html(fine(test.run())))
    assert "Where 2 in 100 films carry the label" in text
    assert "nothing else changes" in text


def test_two_classes_are_one_finding(page, keep):
    rows = films()
    two = Predictions(
        task=Task.BINARY,
        kind=rows.kind,
        scores=rows.scores[:, 0],
        labels=rows.labels[:, 0],
        class_names=("healthy", "Effusion"),
    )
    test = fine(page(run=keep(test=two), show=shared.ONE))
    assert "Too extreme for “Effusion”" in html(test)
    assert "holds no findings" in html(fine(page(run=keep("b", test=two), show=shared.ALL)))


def test_a_run_without_findings_says_what_to_do(page, keep):
    rng = np.random.default_rng(0)
    many = Predictions(
        Task.MULTICLASS, ScoreKind.LOGITS, rng.normal(size=(60, 4)), np.arange(60) % 4
    )
    for view in (shared.ALL, shared.ONE):
        test = fine(page(run=keep(view, test=many), show=view))
        assert "This run holds no findings." in html(test)
        samples = [b for b in test.button if b.key and b.key.startswith("clinic.sample.")]
        assert samples
    fine(samples[0].click().run())
    assert "on average it says" in html(test)


def drop(test: AppTest, text: str) -> AppTest:
    (uploader,) = test.file_uploader
    return uploader.set_value(("secret name.csv", text.encode(), "text/csv")).run()


def described(n=N, shuffled=True):
    order = np.random.default_rng(3).permutation(n) if shuffled else range(n)
    out = io.StringIO("Image Index,View,Age\n")
    out.seek(0, io.SEEK_END)
    for k in order:
        out.write(f"{k:05}.png,{'AP' if k % 3 else 'PA'},{20 + k % 60}\n")
    return out.getvalue()


def by(test: AppTest):
    (box,) = [one for one in test.selectbox if one.label == "Groups by"]
    return box


@pytest.fixture
def saved(monkeypatch):
    """What each run of the page offers as a file."""
    sheets = []
    monkeypatch.setattr(shared, "export", sheets.append)
    return sheets


@pytest.mark.slow
def test_subgroups_by_a_column_of_a_table_in_any_order(page, keep):
    test = drop(fine(page(run=keep(), show=shared.ONE, of="0")), described())
    fine(by(test).select("View").run())
    run = films()
    here = np.arange(N) % 3 == 0
    fit = recalibration(run.column(0)[here], run.labels[here, 0] == 1)
    row = table(test, "Subgroups").split("<span>PA")[1]
    assert f">{fit.slope.value:.2f}<" in row
    assert "too few events: its curve is not judged" in row
    assert "secret" not in html(test)
    fine(by(test).select("Age").run())
    assert "Numbers were cut into quartiles" in html(test)
    fine(by(test).select("View").run())
    fine(test.button(key="clinic.recalibrate").click().run())
    rest = parts({"test": run}, CUT, "test", share=SHARE, seed=0).test
    shown = sum(int(name[:5]) % 3 == 0 for name in rest.row_ids)
    row = table(test, "Subgroups").split("<span>PA")[1]
    assert row.split("</td>")[0].endswith(f">{shown}")
    fit = recalibration(run.column(0)[here], run.labels[here, 0] == 1)
    assert f">{fit.slope.value:.2f}<" not in row
    fine(test.button(key="clinic.forget").click().run())
    assert 'aria-label="Subgroups"' not in html(test)


def test_the_only_column_of_a_packed_table_is_chosen_and_its_groups_are_drawn(page, keep):
    test = fine(page(run=keep(), show=shared.ONE, of="0"))
    lines = ["film,View", *(f"{k:05}.png,{'AP' if k % 3 else 'PA'}" for k in range(N))]
    (uploader,) = test.file_uploader
    packed = gzip.compress("\n".join(lines).encode())
    uploader.set_value(("views.csv.gz", packed, "application/octet-stream")).run()
    test = until(test, lambda: 'aria-label="Subgroups"' in html(test))
    assert by(fine(test)).value == "View"
    assert "In the large by View" in html(test)
    assert 'aria-label="Model and reader"' not in html(test)
    lines = ["film,Read", *(f"{k:05}.png,{'no' if k % 3 else 'yes'}" for k in range(N))]
    (uploader,) = test.file_uploader
    uploader.set_value(("reads.csv", "\n".join(lines).encode(), "text/csv")).run()
    test = until(test, lambda: any(box.label == "Reads" for box in test.selectbox))
    (reads,) = (box for box in test.selectbox if box.label == "Reads")
    assert reads.value is None  # yes and no may say anything, as of who smokes
    assert 'aria-label="Model and reader"' not in html(test)
    fine(reads.select("Read").run())
    benefit = table(fine(test), "Model and reader").split("<span>Net benefit")[1]
    here, y = np.arange(N) % 3 == 0, films().labels[:, 0] == 1
    net = np.mean(here & y) - np.mean(here & ~y) * 0.1 / 0.9  # at 10 %, the threshold at first
    assert f">{net:.3f}<".replace("-", "−") in benefit


@pytest.mark.slow
def test_dates_of_the_run_are_subgroups_without_a_table(page, keep):
    run = films()
    days = [f"2024-0{1 + k % 3}-15" for k in range(N)]
    test = fine(page(run=keep(test=replace(run, dates=Dates.of("visit", days))), show=shared.ONE))
    assert "by date, or by any column" in html(test)
    (option,) = by(test).options
    assert option == "visit, by month"
    fine(by(test).select(option).run())
    here = np.arange(N) % 3 == 1
    fit = recalibration(run.column(0)[here], run.labels[here, 0] == 1)
    row = table(test, "Subgroups").split("<span>2024-02")[1]
    assert f">{fit.slope.value:.2f}<" in row
    assert "By the month of visit" in html(test)
    test = drop(test, described())
    assert by(test).options == ["visit, by month", "View", "Age"]
    one = replace(run, dates=Dates.of("visit", ["2024-01-15"] * N))
    test = fine(page(run=keep("of one month", test=one), show=shared.ONE))
    assert not [box for box in test.selectbox if box.label == "Groups by"]


@pytest.mark.slow
def test_a_table_that_does_not_fit_is_refused_in_words(page, keep):
    run = keep(test=films(ids=False))
    test = drop(fine(page(run=run, show=shared.ONE, of="0")), described(N - 1))
    assert "LENGTH_MISMATCH" in test.error[0].value
    test = drop(test, described(shuffled=False))
    fine(by(test).select("View").run())
    assert "in the table's order" in html(test)


@pytest.mark.nightly
@pytest.mark.slow
def test_long_work_is_done_elsewhere_and_said(page, keep, monkeypatch):
    run = keep()
    here = fine(page(run=run, show=shared.ONE, of="1"))
    expected = table(here, "How far off")
    monkeypatch.setattr(shared, "HEAVY_CELLS", 0)
    st.cache_resource.clear()
    test = page(run=run, show=shared.ONE, of="1")
    assert "Analysing Mass." in html(test)
    assert test.button(key="fitting.stop")
    until(test, lambda: "How far off" in html(test))
    assert table(fine(test), "How far off") == expected


@pytest.mark.nightly
def test_choices_outlast_long_work(page, keep, monkeypatch):
    test = drop(fine(page(run=keep(), show=shared.ONE, of="0", at="50.0", range=ENDS)), described())
    fine(by(test).select("View").run())
    monkeypatch.setattr(shared, "HEAVY_CELLS", 0)
    test.button(key="clinic.recalibrate").click().run()
    assert "Analysing Effusion." in html(test)
    assert test.query_params["at"] == "50"
    assert test.query_params["range"] == ENDS
    until(test, lambda: 'aria-label="Subgroups"' in html(test))
    assert by(test).value == "View"
    assert "At 50.0 % or more" in html(test)
    assert test.select_slider(key="range").value == (0.05, 0.2)


@pytest.mark.slow
def test_a_saved_view_holds_its_badge_and_all_its_tables(page, keep, saved):
    run = keep()
    test = drop(fine(page(run=run, show=shared.ONE, of="0")), described())
    assert [name for name, _ in saved[-1].tables] == ["All numbers", "At a threshold"]
    fine(by(test).select("View").run())
    name, table_ = saved[-1].tables[-1]
    assert name == "Subgroups by View"
    assert "View; all 900 rows were found by column Image Index" in table_.rows[0][-1]
    assert saved[-1].icons is None
    fine(page(run=run, show=shared.ONE, of="0", plain="true"))
    drawn = saved[-1].icons
    assert drawn[0].startswith("100 films like these: ")
    assert drawn[1].key[0] == "labelled at least"
    assert any("Off by" in text for text in saved[-1].paragraphs)
    test = fine(page(run=run, show=shared.ALL))
    assert [name for name, _ in saved[-1].tables] == ["Every finding"]
    fine(test.button(key="clinic.heat").click().run())
    assert [name for name, _ in saved[-1].tables] == ["Every finding", "Temperatures"]
    assert "reported on the other half (450)" in saved[-1].tables[1][1].rows[0][-1]


@pytest.mark.slow
def test_temperatures_are_fitted_when_asked(page, keep):
    test = fine(page(run=keep(), show=shared.ALL))
    assert 'aria-label="Temperatures"' not in html(test)
    fine(test.button(key="clinic.heat").click().run())
    found = table(test, "Temperatures")
    assert found.count('<th scope="row">') == 3
    assert found.count("T = ") == 6
    assert "reported on the other half" in html(test)
