"""Large splits: audited elsewhere with the same numbers, watched, stopped, shared, kept."""

from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Event

import numpy as np
import pytest
import streamlit as st
from pandas import DataFrame
from streamlit.runtime.scriptrunner import RerunData, RerunException

from core import arrays
from core.library import SAMPLES, Library, RunSource
from core.metrics.suite import audit
from core.predictions import Predictions, ScoreKind, Task
from pages.ui import audits, caching, open_runs, session, task
from tests.core.library.builders import answers
from tests.pages.seen import fine, html, opened, said, until

N, K = 400, 3
STOP, RESUME = "audit_split.stop", "audit_split.resume"


def made(n_classes: int = K, of: Task = Task.MULTICLASS) -> Predictions:
    rng = np.random.default_rng(1)
    shape = (N, n_classes) if of is Task.MULTILABEL else N
    top = 2 if of is Task.MULTILABEL else n_classes
    return Predictions(
        of, ScoreKind.LOGITS, rng.normal(size=(N, n_classes)), rng.integers(0, top, shape)
    )


@pytest.fixture
def keep(home):
    def kept(predictions: Predictions | None = None) -> str:
        source = RunSource("a.npz", "")
        splits = {"test": predictions or made()}
        return Library(home, SAMPLES).keep("big one", splits, source=source, summary={}).id

    return kept


def page(run: str, **query: str):
    return opened("reliability", run=run, **query)


def words_of(test) -> list[str]:
    """Return all that the page says once it is whole."""
    until(fine(test), lambda: "Reliability diagram" in html(test))
    return [one.proto.body for one in fine(test).main.get("html")]


def test_what_was_computed_of_a_run_goes_with_the_last_session(keep):
    """A million rows hold 130 MB."""
    run = keep()
    words_of(page(run))
    step = audits._split(open_runs.find(run), "test")
    step.keep(object())
    assert step.known
    caching.release()
    assert step.known is None


def test_the_page_prints_the_intervals_of_the_audit_that_commands_make(keep):
    scores, printed = audit(answers()).main.metrics, html(fine(page(keep(answers()))))
    for key, times, digits in (
        ("ece", 100, 1),
        ("accuracy", 100, 1),
        ("nll", 1, 2),
        ("brier", 1, 2),
    ):
        low, high = (f"{times * end:.{digits}f}" for end in (scores[key].low, scores[key].high))
        assert f">{low} to {high}<" in printed, key


@pytest.mark.parametrize(
    ("of", "n_classes"),
    [
        (Task.MULTICLASS, K),
        pytest.param(Task.BINARY, 2, marks=pytest.mark.nightly),
        pytest.param(Task.MULTILABEL, 2, marks=pytest.mark.nightly),
    ],
)
def test_a_large_split_is_audited_elsewhere_with_the_same_numbers(keep, monkeypatch, of, n_classes):
    run = keep(made(n_classes, of))
    shown = {"of": "1"} if of is Task.MULTILABEL else {}  # without a label, a table of all
    here = words_of(page(run, **shown))
    monkeypatch.setattr(audits, "LARGE_CLAIMS", 0)
    st.cache_resource.clear()
    test = page(run, **shown)
    assert "Analysing “big one”." in said(test)
    assert f"big one”, {N} rows of {n_classes} classes." in said(test)
    assert test.button(key=STOP)
    assert words_of(test) == here
    assert words_of(page(run, **shown)) == here
    assert not task._CALLS


@pytest.mark.nightly
def test_a_class_and_every_metric_are_computed_elsewhere_as_here(keep, monkeypatch):
    run = keep()
    here = page(run, of="1")
    expected, metrics = words_of(here), unfolded_metrics(here)
    monkeypatch.setattr(audits, "LARGE_CLAIMS", 0)
    st.cache_resource.clear()
    test = page(run, of="1")
    assert words_of(test) == expected
    assert unfolded_metrics(test).equals(metrics)


def unfolded_metrics(test) -> DataFrame:
    """Return the table of every metric."""
    test.session_state["details.scores"] = True
    until(fine(test.run()), lambda: test.dataframe)
    return fine(test).dataframe[0].value


@pytest.fixture
def calls(monkeypatch) -> "Calls":
    """Let processes wait, and everything be large."""
    monkeypatch.setattr(audits, "LARGE_CLAIMS", 0)
    st.cache_resource.clear()
    calls = Calls(task._run)
    monkeypatch.setattr(task, "_run", calls.run)
    yield calls
    calls.go.set()


@dataclass
class Calls:
    """Calls in processes: how many were begun and ended, and a gate before which they wait."""

    real: Callable
    begun: int = 0
    ended: int = 0
    go: Event = field(default_factory=Event)

    def run(self, request, ending, tell):
        self.begun += 1
        tell(0.25, "Reading the scores")
        while not self.go.wait(0.01):
            if ending.is_set():
                self.ended += 1
                return -9, None
        return self.real(request, ending, tell)


@pytest.fixture
def draft(home, tmp_path, monkeypatch, calls):
    """Return the page of a draft whose audit is done."""
    monkeypatch.setenv("CANDOR_IMPORT", str(tmp_path))
    monkeypatch.setattr(arrays, "MAPPED_BYTES", 1)  # it lies in a file without a name
    np.savez(tmp_path / "big.npz", logits=made().scores, labels=made().labels)
    test = opened()
    test.text_input(key="import.path").set_value(str(tmp_path / "big.npz"))
    test.button(key="import.read").click().run()
    assert "Analysing “big”." in said(test)
    calls.go.set()
    words_of(test)
    return test


def kept_form(test, name: str):
    test.text_input[0].set_value(name)
    (keep,) = [button for button in test.button if button.label == "Keep"]
    return keep.click().run()


def test_a_large_draft_is_kept_elsewhere_once_and_not_audited_again(home, draft, calls):
    calls.go.clear()
    kept_form(draft, "mine")
    assert "Keeping “mine” in the library." in said(fine(draft))
    until(draft, lambda: calls.begun == 2)
    kept_form(draft, "mine")
    assert (calls.begun, calls.ended) == (2, 0)
    calls.go.set()
    until(draft, lambda: draft.query_params.get("run"))
    (row,) = [row for row in Library(home, SAMPLES).rows() if row.name == "mine"]
    assert draft.query_params["run"] in (row.id, [row.id])
    assert "Only you see this draft" not in said(draft)
    assert "Reliability diagram" in "".join(words_of(draft))
    assert calls.begun == 2
    kept = Library(home, SAMPLES).load(row.id, "test")
    assert kept.scores.tolist() == made().scores.tolist()


def test_a_click_between_keeping_and_opening_keeps_no_second_run(home, draft, monkeypatch):
    monkeypatch.setattr(audits, "LARGE_CLAIMS", 10**9)
    moved, clicks = audits.move_results, iter([RerunException(RerunData())])

    def interrupted(*given):
        for click in clicks:
            raise click
        moved(*given)

    monkeypatch.setattr(audits, "move_results", interrupted)
    kept_form(draft, "mine")
    draft.switch_page("pages/reliability.py").run()
    (row,) = [row for row in Library(home, SAMPLES).rows() if row.name == "mine"]
    assert draft.query_params["run"] in (row.id, [row.id])  # the draft has become it
    assert not any(room.drafts for room in session._ROOMS.values())


def test_to_discard_a_draft_stops_its_keeping(home, draft, calls):
    calls.go.clear()
    kept_form(draft, "mine")
    until(draft, lambda: calls.begun == 2)
    draft.button(key="draft.discard").click().run()
    until(draft, lambda: calls.ended)
    assert not [row for row in Library(home, SAMPLES).rows() if row.name == "mine"]


def test_a_keeping_that_is_resumed_asks_whether_another_tab_keeps_the_draft(home, draft, calls):
    calls.go.clear()
    kept_form(draft, "mine")
    until(draft, lambda: calls.begun == 2)
    (stop,) = [button for button in draft.button if str(button.key).startswith("keep.")]
    stop.click().run()
    (keepers,) = [room.keepers for room in session._ROOMS.values() if room.drafts]
    (draft_id,) = [draft_id for room in session._ROOMS.values() for draft_id in room.drafts]
    until(draft, lambda: draft_id not in keepers)
    keepers[draft_id] = object()  # the other tab
    draft.button(key=f"keep.{draft_id}.resume").click().run()
    assert "Another tab is keeping “big”" in draft.error[0].value
    assert calls.begun == 2


def test_how_far_it_is_is_drawn_in_words(keep, calls):
    test = page(keep())
    until(test, lambda: test.get("progress"))
    (bar,) = test.get("progress")
    assert (bar.proto.value, bar.proto.text) == (25, "Reading the scores")


def test_what_is_stopped_ends_and_goes_on_when_told(keep, calls):
    test = page(keep())
    until(test, lambda: calls.begun)
    test.button(key=STOP).click().run()
    assert "Stopped: Auditing “big one”" in said(test)
    assert "Analysing “big one”." in said(test)
    until(test, lambda: calls.ended)
    until(test, lambda: not task._CALLS)
    calls.go.set()
    test.button(key=RESUME).click().run()
    words_of(test)
    assert (calls.begun, calls.ended) == (2, 1)


def test_sessions_share_what_runs_until_the_last_one_stops_it(keep, calls):
    run = keep()
    one, two = page(run), page(run)
    until(one, lambda: calls.begun)
    one.button(key=STOP).click().run()
    assert "Stopped" in said(one)
    assert two.run().button(key=STOP)
    assert not calls.ended
    one.button(key=RESUME).click().run()
    calls.go.set()
    assert words_of(one) == words_of(two)
    assert calls.begun == 1
    assert words_of(page(run)) == words_of(two)  # a third session finds it
    assert (calls.begun, calls.ended) == (1, 0)


def test_what_the_last_session_stops_is_ended(keep, calls):
    run = keep()
    one, two = page(run), page(run)
    until(one, lambda: calls.begun)
    one.button(key=STOP).click().run()
    two.button(key=STOP).click().run()
    until(one, lambda: calls.ended)
    assert (calls.begun, calls.ended) == (1, 1)


def test_a_failure_is_said_and_can_be_tried_again(keep, calls, monkeypatch):
    monkeypatch.setattr(task, "_run", lambda *_: (-9, None))
    test = page(keep())
    until(test, lambda: test.error)
    assert "ended with code -9" in said(test)
    assert "Analysing “big one”." in said(test)
    assert test.button(key="audit_split.again")
