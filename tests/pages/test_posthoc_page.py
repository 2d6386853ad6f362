"""The post-hoc page through app.py: its choices, its links, drafts and refusals."""

import re
from concurrent.futures import CancelledError
from dataclasses import replace
from functools import partial
from html import unescape
from pathlib import Path
from threading import Event
from types import SimpleNamespace

import numpy as np
import pytest
import streamlit as st
from streamlit.runtime.scriptrunner_utils.exceptions import StopException
from streamlit.testing.v1 import AppTest

from core.calibrators.search import PROTOCOLS
from core.errors import LostWorker
from core.library import SAMPLES, Library, RunSource
from core.predictions import Predictions, ScoreKind, Task, Weights
from core.studies import posthoc, temperatures
from core.studies.posthoc import cut, fit, judge, parts
from core.studies.precomputed import keep_studies
from pages.ui import audits, compute, selected_runs, task
from pages.ui.posthoc import figures, studies
from tests import hostile_cases as made
from tests.pages.seen import fine, html, opened, until

OVER = "digits-overconfident"


@pytest.fixture
def page(home):
    return partial(opened, "posthoc")


@pytest.fixture
def keep(home):
    def kept(name, **splits):
        source = RunSource("file.npz", "0" * 64, None)
        return Library(home, SAMPLES).keep(name, splits, source=source, summary={}).id

    return kept


def rows(n=300, seed=0, scale=2.0):
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, 3))
    p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    labels = np.array([rng.choice(3, p=row) for row in p])
    return Predictions(Task.MULTICLASS, ScoreKind.LOGITS, scale * z, labels)


def replaced(module, **functions):
    """A module with functions of ours."""
    return SimpleNamespace(**vars(module) | functions)


def methods(test: AppTest) -> list[str]:
    """Return the names and notes in the table of methods."""
    table = html(test).split('aria-label="Scores of the methods"')[1].split("</table>")[0]
    return re.findall(r"<th scope=\"row\"><span>(.*?)</span>", table)


def temperature(test: AppTest) -> str:
    (line,) = [one for one in methods(test) if one.startswith("Temperature<")]
    return re.search(r"T = ([\d.]+)", line)[1]


def unfolded(test: AppTest) -> AppTest:
    """Open what stands of temperature and gamma together."""
    test.session_state["posthoc.map"] = True
    return test.run()


@pytest.mark.slow
def test_sample_shows_none_temperature_focal_map_and_both(page):
    test = fine(page(run=OVER))
    names = [re.sub("<.*", "", one) for one in methods(test)]
    assert names == ["None", "Temperature", "Focal map", "Focal temperature", "Vector"]
    library = Library(Path("unused"), SAMPLES)
    own = fit("ts", library.load(OVER, "val")).calibrator.temperature_
    assert temperature(test) == f"{own:.2f}"
    text = html(test)
    assert "Fitted on 299 images of val, reported on 899 of test" in text
    assert "takes the calibration error from" in text
    assert "NLL over T and γ" not in text  # folded, and not computed
    text = html(unfolded(test))
    assert "Best temperature for each γ" in text
    assert "NLL over T and γ" in text


@pytest.mark.slow
def test_run_of_one_split_is_cut_in_two_by_the_seed_in_the_link(page, keep):
    whole = rows()
    run = keep("one part", test=whole)
    for seed in (0, 5):
        test = page(run=run, seed=str(seed), methods="ts")
        first, second = cut(whole, 0.5, seed)
        assert f"reported on the other {second.n} (seed {seed})" in html(test)
        assert temperature(test) == f"{fit('ts', first).calibrator.temperature_:.2f}"


def test_a_run_that_was_studied_opens_as_it_is_computed_and_computes_nothing(
    page, keep, home, monkeypatch
):
    run, evaluated = keep("one part", test=rows()), []

    def evaluate(*arguments):
        evaluated.append(arguments)
        return posthoc.evaluate_splits(*arguments)

    monkeypatch.setattr(studies, "posthoc", replaced(posthoc, evaluate_splits=evaluate))
    computed = html(page(run=run))
    assert len(evaluated) == 4
    keep_studies(Library(home, SAMPLES), run)
    st.cache_resource.clear()
    with monkeypatch.context() as without:
        without.setattr(studies, "temperature_map", None)
        without.setattr(studies, "temperature_curve", None)
        assert html(page(run=run)) == computed
    assert len(evaluated) == 4
    assert html(page(run=run, seed="5")) != computed  # of another cut nothing is kept
    assert len(evaluated) == 8


@pytest.mark.slow
def test_reporting_the_fitted_rows_is_warned_of(page, keep):
    test = page(run=keep("one part", test=rows()), fit="test", methods="ts")
    assert 'title="SAME_ROWS"' in html(test)
    assert "Fitted and reported on the same 300 rows" in html(test)


@pytest.mark.slow
def test_choices_live_in_the_link(page):
    test = page(run=OVER, methods="ts,vector", objective="ece", by="grid", fit="cut", share="30")
    names = [re.sub("<.*", "", one) for one in methods(test)]
    assert names == ["None", "Temperature", "Vector"]
    assert test.multiselect(key="widget.methods").value == ["ts", "vector"]
    assert "ECE over T and γ" in html(unfolded(test))
    assert "Fitted on 270 images of test, reported on the other 629" in html(test)
    test.multiselect(key="widget.methods").set_value(["ts"]).run()
    assert test.query_params["methods"] in ("ts", ["ts"])
    test.multiselect(key="widget.methods").set_value(["ts", "focal_map", "focal_ts"]).run()
    assert "methods" not in test.query_params


@pytest.mark.slow
@pytest.mark.parametrize(
    ("link", "objective", "search"),
    [
        ({"by": "grid"}, "nll", "grid"),
        ({"search": "paper"}, "nll", "komisarenko"),  # older links
        ({"search": "mukhoti", "objective": "ada_ece"}, "ada_ece", "mukhoti"),
        ({"search": "mukhoti"}, "nll", "mukhoti"),
        ({"search": "komisarenko", "objective": "ece_em"}, "ece_em", "komisarenko"),
        ({"by": "fcl2024", "objective": "nll"}, "ece", "mukhoti"),  # it has no other
        ({"by": "x"}, "nll", "exact"),
    ],
)
def test_one_search_is_that_of_temperatures(page, link, objective, search):
    test = page(run=OVER, methods="ts", **link)
    assert "search" not in test.query_params
    library = Library(Path("unused"), SAMPLES)
    fitted = fit("ts", library.load(OVER, "val"), objective=objective, search=search)
    assert temperature(test) == f"{fitted.calibrator.temperature_:.2f}"
    if "by" in link and search in ("grid", "exact"):
        assert html(test).count(PROTOCOLS[search].words) == 1


@pytest.mark.slow
def test_a_paper_is_chosen_in_one_click(page):
    """Ghosh et al.: T of a tenth by ECE of equal mass, the ensemble by Brier, and a spline."""
    test = page(run=OVER, methods="isotonic", by="grid")
    assert "widget.objective" not in {one.key for one in test.get("button_group")}  # none has any
    test.selectbox(key="widget.by").set_value("adafocal2022").run()
    names = [re.sub("<.*", "", one) for one in methods(test)]
    assert names == ["None", "Temperature", "Ensemble", "Spline"]
    assert test.query_params["by"] in ("adafocal2022", ["adafocal2022"])
    assert not {"methods", "objective"} & set(test.query_params)
    rows = Library(Path("unused"), SAMPLES).load(OVER, "val")
    by_paper = fit("ts", rows, objective="ada_ece", search="mukhoti").calibrator
    assert temperature(test) == f"{by_paper.temperature_:.2f}"
    ensemble = fit("ets", rows, objective="brier").calibrator.temperature_
    assert f"T = {ensemble:.2f}" in methods(test)[2]
    text = html(test)
    assert "AdaECE, %" in text
    assert "As in Ghosh et al. 2022, section 6: temperature scaling, T = 0.1, 0.2, …, 10.0" in text


def test_a_link_to_a_paper_sets_its_methods_whatever_was_picked_before(page):
    test = page(run=OVER, methods="isotonic")
    del test.query_params["methods"]
    test.query_params["by"] = "adafocal2022"
    test.run()
    names = [re.sub("<.*", "", one) for one in methods(test)]
    assert names == ["None", "Temperature", "Ensemble", "Spline"]


@pytest.mark.slow
def test_the_ensemble_is_fitted_by_brier_where_the_link_says_so(page):
    rows = Library(Path("unused"), SAMPLES).load(OVER, "val")
    test = page(run=OVER, methods="ets", objective="brier")
    ensembles = [fit("ets", rows, objective=by).calibrator for by in ("brier", "nll")]
    brier, nll = (f"T = {one.temperature_:.2f}" for one in ensembles)
    assert brier != nll
    assert brier in methods(test)[1]
    assert "NLL over T and γ" in html(unfolded(test))
    test.multiselect(key="widget.methods").set_value(["ts"]).run()  # which knows no Brier
    assert "objective" not in test.query_params


@pytest.mark.slow
def test_error_that_was_fitted_by_has_a_column(page):
    test = page(run=OVER, methods="ts", objective="ada_ece")
    assert "AdaECE, %" in html(test)
    assert "AdaECE over T and γ" in html(unfolded(test))


@pytest.mark.slow
@pytest.mark.parametrize(
    "query",
    [{"share": "5"}, {"seed": "9" * 5000}, {"seed": "-1"}, {"methods": "platt"}, {"fit": "x"}],
)
def test_nonsense_in_a_link_is_read_as_the_default(page, query):
    test = fine(page(**({"run": OVER, "fit": "cut"} | query)))
    usual = page(run=OVER, **({} if "fit" in query else {"fit": "cut"}))
    assert methods(test) == methods(usual)
    assert len(methods(test)) >= 4


@pytest.mark.slow
def test_answers_that_may_change_are_marked_and_counted(page):
    test = page(run=OVER, methods="ts,vector")
    options = test.multiselect(key="widget.methods").options
    assert "Vector (Platt)" in options
    assert "Temperature" in options
    table = html(test).split('aria-label="Scores of the methods"')[1]
    vector = table[table.index("<span>Vector") :]
    library = Library(Path("unused"), SAMPLES)
    found = fit("vector", library.load(OVER, "val")).calibrator
    z = library.load(OVER, "test").scores
    changed = int((found.predict_proba(z).argmax(1) != z.argmax(1)).sum())
    head, cells = table.split("<tbody>")[0], vector.split("</tr>")[0]
    place = re.findall(r'<th scope="col">([^<]*)</th>', head).index("Answers changed") - 1
    assert re.findall(r"<td[^>]*>([^<]*)", cells)[place] == str(changed)


@pytest.mark.slow
def test_other_runs_are_told_before_and_after_their_temperature(page):
    test = page(run=OVER, methods="ts", beside="digits-fair")
    table = html(test).split('aria-label="Runs before and after their temperature"')[1]
    assert "Over-confident digits" in table
    assert "Fair digits" in table
    fair = table[table.index("Fair digits") :]
    library = Library(Path("unused"), SAMPLES)
    own = fit("ts", library.load("digits-fair", "val")).calibrator.temperature_
    assert f'<td class="">{own:.2f}</td>' in fair  # decimals as of the T above 1


def before_and_after(test: AppTest) -> str:
    _, _, table = html(test).partition('aria-label="Runs before and after their temperature"')
    return table.split("</table>")[0]


@pytest.mark.nightly
def test_large_runs_are_told_before_and_after_from_elsewhere(page, keep, monkeypatch):
    runs = [keep(name, test=rows(400, seed=seed)) for name, seed in (("a", 7), ("b", 8))]
    expected = before_and_after(page(run=runs[0], methods="ts", beside=runs[1]))
    st.cache_resource.clear()
    monkeypatch.setattr(compute, "HEAVY_CELLS", 0)
    monkeypatch.setattr("core.studies.temperatures.innate_calibration", None)  # in this process
    test = page(run=runs[0], methods="ts", beside=runs[1])
    until(test, lambda: before_and_after(test).count("<tr") == 3)
    assert before_and_after(test) == expected


@pytest.mark.slow
def test_hostile_names_are_text_everywhere(page, keep):
    name = "<b>**x**</b> ![x](http://x/y) :red[r]"
    run = keep(name, val=rows(seed=1), test=rows(seed=2))
    test = page(run=OVER, methods="ts", beside=run)
    assert "<b>**x**" not in html(test)
    assert "&lt;b&gt;**x**" in html(test)


@pytest.mark.slow
def test_many_labels_pick_the_finding_of_the_landscape(page):
    test = fine(page(run="digits-traits", methods="ts"))
    unfolded(test)
    assert test.selectbox(key="widget.of").value == "0"
    assert "T " in methods(test)[1]
    test.selectbox(key="widget.of").set_value("1").run()


def test_many_fits_that_take_long_say_their_cost_before_they_begin(page, keep, monkeypatch):
    run = keep("large", val=rows(60), test=rows(60, 1))
    monkeypatch.setattr(compute, "HEAVY_CELLS", 0)
    begun = []

    def computed(steps):
        begun.extend(step.key[1] for step in steps)
        return {}

    monkeypatch.setattr(studies, "computed", computed)
    monkeypatch.setattr(studies, "uncalibrated", lambda *_: judge(rows(60, 1), None))
    test = page(run=run, methods="ts,focal_map,focal_ts,vector,isotonic")
    assert begun == []
    assert any("5 fits on 120 rows of" in one.value for one in test.markdown)
    next(b for b in test.button if b.key == "posthoc.fit_many").click().run()
    assert begun == ["ts", "focal_map", "focal_ts", "vector", "isotonic"]
    begun.clear()
    page(run=run, methods="ts,focal_map,focal_ts,vector")
    assert begun == ["ts", "focal_map", "focal_ts", "vector"]  # few are begun at once


def test_confidences_alone_are_recalibrated_without_changing_an_answer(page, keep):
    top = Predictions(
        Task.TOP_LABEL,
        ScoreKind.CONFIDENCE,
        np.linspace(0.3, 0.9, 400),
        np.arange(400) % 3,
        predicted=np.arange(400) % 3 * (np.arange(400) % 2),
    )
    test = fine(page(run=keep("top", test=top)))
    names = [re.sub("<.*", "", one) for one in methods(test)]
    assert names == ["None", "Vector", "Beta", "Isotonic"]
    test = fine(page(run=keep("top", test=top), plain="true"))
    assert "can change" not in html(test)


def test_too_few_rows_are_a_reason_in_the_table(page, keep):
    test = page(run=keep("few", val=rows(6), test=rows(50, 1)), methods="ts")
    assert "No method could be fitted on these rows." in html(test)
    assert "not fitted: 6 rows are too few" in html(test)
    assert not test.error
    assert "No picture of T and γ" in html(unfolded(test))
    assert not test.error
    assert "No picture of T and γ" in html(unfolded(test))


@pytest.mark.slow
def test_score_that_is_no_probability_is_recalibrated_at_first(page, keep):
    rng = np.random.default_rng(0)
    p = rng.beta(0.35, 10.5, size=4000)
    present = (rng.random(4000) < p).astype(int)
    mapped = np.where(p < 0.024, p / 0.048, 0.5 + (p - 0.024) / 1.952)
    rare = Predictions(Task.BINARY, ScoreKind.PROBABILITIES, mapped, present)
    test = page(run=keep("rare", test=rare))
    assert 'title="NOT_PROBABILITY"' in html(test)
    assert [re.sub("<.*", "", one) for one in methods(test)] == ["None", "Beta", "Isotonic"]
    said = re.search(
        r"takes the calibration error .*?from ([\d.]+) to ([\d.]+), a drop of", html(test)
    )
    assert float(said[1]) > 15
    assert float(said[2]) < 1


def has_table(test: AppTest) -> bool:
    return "Scores of the methods" in html(test)


@pytest.mark.nightly
@pytest.mark.slow
def test_long_work_is_done_elsewhere_with_the_same_numbers(page, keep, monkeypatch):
    run = keep("large", val=rows(seed=1), test=rows(seed=2))
    here = page(run=run, methods="ts,vector")
    expected = methods(here)
    monkeypatch.setattr(compute, "HEAVY_CELLS", 0)
    st.cache_resource.clear()
    test = page(run=run, methods="ts,vector")
    assert not has_table(test)
    assert test.button(key="fitting.stop")
    until(test, lambda: has_table(test) and len(methods(test)) == 3)
    assert methods(test) == expected
    assert not test.error


@pytest.mark.nightly
def test_rows_of_a_large_run_are_cut_where_they_are_computed_with(page, keep, monkeypatch):
    """A script that copied them would hold up its page, once for each method."""
    run = keep("one part", test=rows(400))
    expected = methods(page(run=run, methods="ts,focal_map"))
    st.cache_resource.clear()
    taken, take = [], Predictions.take

    def watched(self, numbers):
        taken.append(len(numbers))
        return take(self, numbers)

    monkeypatch.setattr(selected_runs, "QUICK_CELLS", 0)  # or the header would audit the run
    monkeypatch.setattr(compute, "HEAVY_CELLS", 0)
    monkeypatch.setattr(temperatures, "MAP_ROWS", 50)
    monkeypatch.setattr(temperatures, "MAP_CELLS", 0)
    monkeypatch.setattr(temperatures, "WALK_CELLS", 0)
    monkeypatch.setattr(Predictions, "take", watched)
    test = page(run=run, methods="ts,focal_map")
    until(test, lambda: has_table(test) and len(methods(test)) == 3)
    assert methods(test) == expected
    assert set(taken) == {50}  # for the diagram at a temperature


@pytest.mark.slow
def test_what_is_too_large_for_a_download_is_left_to_the_command(page, keep, monkeypatch):
    run = keep("large", val=rows(seed=1), test=rows(seed=2))
    n_bytes = 2 * 300 * 3 * 8
    for most, offered in ((n_bytes, True), (n_bytes - 1, False)):
        monkeypatch.setattr(figures, "MOST_BYTES", most)
        test = page(run=run, methods="ts")
        labels = [button.proto.label for button in test.get("download_button")]
        assert ("Calibrated predictions, NPZ" in labels) == offered
        assert "Parameters, JSON" in labels
        assert ("apply candor_ts_" in html(test)) != offered


@pytest.mark.slow
@pytest.mark.parametrize("leaves", [False, pytest.param(True, marks=pytest.mark.nightly)])
def test_who_waits_for_a_kept_run_is_taken_to_the_comparison_others_get_a_link(page, keep, leaves):
    run = keep("mine", val=rows(seed=1), test=rows(seed=2))
    test = page(run=run, methods="ts")
    next(one for one in test.button if one.label == "Keep").click().run()
    (work,) = test.session_state[task.WORKS].values()
    if leaves:
        test.switch_page("pages/theory.py").run()
    manifest = work.future.result(60)
    if leaves:
        test.switch_page("pages/posthoc.py").run()
        assert has_table(test)
    else:
        test.run()
        assert test.query_params["runs"] == f"{run},{manifest.id}"
        assert not has_table(test)
        # Back on the page there is the link
        test.query_params.clear()
        test.switch_page("pages/posthoc.py").run()
    (link,) = (one for one in test.main.page_link if "temperature" in one.label)
    assert unescape(link.label) == "Compare with “mine, temperature”"
    assert link.proto.query_string == f"runs={run}%2C{manifest.id}"


@pytest.mark.slow
@pytest.mark.parametrize(
    "begun",
    [
        *(
            pytest.param(begun, marks=pytest.mark.nightly)
            for begun in ("alone", "while it is kept")
        ),
        "interrupted",
    ],
)
def test_a_draft_is_kept_with_its_correction_and_both_are_compared(page, home, begun, monkeypatch):
    """Also where the script ends as the draft goes, or the draft alone is being kept by then."""
    arrays = {
        f"{part}_{name}": array
        for part, seed in (("val", 1), ("test", 2))
        for name, array in (("logits", rows(seed=seed).scores), ("labels", rows(seed=seed).labels))
    }
    test = opened()
    test.file_uploader[0].set_value([("two.npz", made.npz(**arrays), "application/octet-stream")])
    until(test.run(), lambda: "draft" in test.query_params)
    test.switch_page("pages/posthoc.py").run()

    def keep_both(corrected):
        (name,) = (one for one in test.text_input if one.label == "Corrected")
        name.set_value(corrected)
        next(one for one in test.button if one.label == "Keep both").click().run()

    def correcting(test):
        works = test.session_state[task.WORKS]
        return [work for (slot, _), work in works.items() if slot.startswith("posthoc.keep")]

    def own():
        return {row.name for row in Library(home, SAMPLES).rows() if row.kind != "sample"}

    keep_both("")  # no name: then nothing is kept, and the draft stays
    assert "name" in test.error[0].value
    assert not own()
    if begun == "interrupted":
        discard, ends = audits.discard, iter([StopException()])

        def ended(draft_id):
            for end in ends:
                raise end
            discard(draft_id)

        monkeypatch.setattr(audits, "discard", ended)
    if begun == "while it is kept":
        gate = Event()
        waiting = [task._process_threads().submit(gate.wait) for _ in range(task.PROCESSES)]
        monkeypatch.setattr(audits, "LARGE_CLAIMS", 0)
        next(one for one in test.button if one.label == "Keep").click().run()
        keep_both("Mended")
        assert not own()
        gate.set()
        assert all(one.result(60) for one in waiting)
        until(test, lambda: correcting(test))
    else:
        keep_both("Mended")
    if begun == "interrupted":
        test.run()
    assert "two" in own()  # whatever becomes of the correction
    (work,) = correcting(test)
    mended = work.future.result(60)
    test.run()
    parent = mended.source.recipe["calibrated"]["run"]
    assert test.query_params["runs"] == f"{parent},{mended.id}"
    assert Library(home, SAMPLES).get(parent).name == "two"
    assert own() == {"two", "Mended"}


@pytest.mark.nightly
def test_long_work_is_stopped_and_goes_on(page, keep, monkeypatch):
    monkeypatch.setattr(compute, "HEAVY_CELLS", 0)
    test = page(run=keep("large", val=rows(seed=3), test=rows(seed=4)), methods="ts")
    (work,) = test.session_state[task.WORKS].values()
    test.button(key="fitting.stop").click().run()
    with pytest.raises((LostWorker, CancelledError)):  # its process was killed, or never begun
        work.future.result(60)
    assert any("Stopped" in one.value for one in test.markdown)
    assert not has_table(test)
    test.button(key="fitting.resume").click().run()
    until(test, lambda: has_table(test) and len(methods(test)) == 2)


@pytest.mark.nightly
def test_lost_process_is_said_and_can_be_started_again(page, keep, monkeypatch):
    monkeypatch.setattr(compute, "HEAVY_CELLS", 0)
    with monkeypatch.context() as broken:
        broken.setattr(task, "_run", lambda *_: (-9, None))
        test = page(run=keep("large", val=rows(seed=5), test=rows(seed=6)), methods="ts")
        until(test, lambda: len(test.error) > 0)
    assert "LOST_WORKER" in test.error[0].value
    test.button(key="fitting.again").click().run()
    until(test, lambda: has_table(test) and len(methods(test)) == 2)


@pytest.mark.slow
def test_rows_with_weights_are_fitted_by_weight(page, keep):
    plain = rows(400, scale=3.0)
    wrong = plain.scores.argmax(axis=1) != plain.labels
    whole = replace(plain, weights=Weights.of("films", np.where(wrong, 4.0, 1.0)))
    test = page(run=keep("weighted", val=whole, test=rows(seed=1)), methods="ts")
    assert temperature(test) == f"{fit('ts', whole).calibrator.temperature_:.2f}"
    assert temperature(test) != f"{fit('ts', plain).calibrator.temperature_:.2f}"
    assert "fitted on 400 rows, which count by films" in html(test)


def test_map_is_drawn_from_rows_that_count_with_their_weights(monkeypatch):
    plain = rows(400)
    weights = np.where(np.arange(400) < 300, 0.0, 2.0 + np.arange(400))
    whole = replace(plain, weights=Weights.of("films", weights))
    monkeypatch.setattr(temperatures, "MAP_ROWS", 50)
    monkeypatch.setattr(temperatures, "MAP_CELLS", 0)
    monkeypatch.setattr(temperatures, "WALK_CELLS", 0)

    def some(fitted):
        return temperatures._some(parts({"val": fitted}, "val", "val", share=0.5, seed=0), 0)

    logits, labels, own = some(whole)
    at = [int(np.flatnonzero((plain.scores == row).all(axis=1))[0]) for row in logits]
    assert len(at) == 50
    assert min(at) >= 300
    np.testing.assert_array_equal(labels, plain.labels[at])
    np.testing.assert_array_equal(own, weights[at])
    assert some(plain)[2] is None
