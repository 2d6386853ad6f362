"""The Gamma page through app.py: runs with gammas, epochs, bins, replays, and odd links."""

import os
import re
import time
from dataclasses import replace

import numpy as np
import pytest

from core.histories import COLUMNS
from core.jobs.local import open_jobs
from core.jobs.records import Job, JobState
from core.jobs.store import JobStore
from core.library import RunSource
from core.losses.bins import AdaFocalRule, replay
from core.process_identity import identity
from core.training.config import from_json
from core.training.folder import Epoch, JobFolder
from pages.ui.gamma import state as gamma_state
from tests.core.library.builders import (
    answers,
    keep_history,
    keep_trained,
    small_bins,
)
from tests.pages.seen import PATIENCE_S, bodies, fine, html, opened

SAMPLE = "digits-adafocal"


def test_without_a_run_the_sample_is_open_and_another_is_one_choice_away(library):
    test = opened("gamma")
    told = html(test)
    assert re.search("Over 30 epochs gamma rose to .* for unsure answers and fell to .* sure", told)
    assert test.selectbox(key="widget.source").value == "cifar10-adafocal"
    assert "run" not in test.query_params  # nobody chose it
    for other, epochs in ((SAMPLE, 40), ("cifar10-adafocal", 30)):
        test.selectbox(key="widget.source").set_value(other).run()
        assert f"Over {epochs} epochs gamma" in html(test)
        assert test.query_params["run"] in (other, [other])


def test_the_numbers_are_those_of_the_run(library):
    bins = library.bins(SAMPLE)
    gamma = bins.gamma.reshape(40, 15)[11]
    test = opened("gamma", run=SAMPLE, epoch="12")
    text = html(test)
    assert "Over 12 epochs gamma " in text
    assert f"In bin {gamma.argmax() + 1} " in text
    assert f">{gamma.max():.2f}<" in text
    assert f">{gamma.min():.2f}<" in text


def test_a_bin_is_chosen_and_its_update_written_out(library):
    test = opened("gamma", run=SAMPLE, epoch="2")
    test.selectbox(key="widget.bin").set_value(14).run()
    assert "The update here, bin 15" in html(test)
    before, after = library.bins(SAMPLE).gamma.reshape(40, 15)[:2, 14]
    said = next(body for body in bodies(test) if "c-update" in body)
    assert f"{before:.3f}"[:5] in said
    assert f"= {after:.3f}" in said


@pytest.mark.parametrize(
    ("epoch", "place"),
    [("-1", "99"), ("<script>", "²"), ("9" * 99, "x")],
)
def test_an_odd_link_shows_the_newest_epoch(library, epoch, place):
    test = fine(opened("gamma", run=SAMPLE, epoch=epoch, bin=place))
    assert "Over 40 epochs" in html(test)


def test_a_history_from_elsewhere_is_shown_and_says_what_is_not_known(library):
    kept = keep_history(library, "gammas *of* <b>another", small_bins(), RunSource("g.csv", "1"))
    test = fine(opened("gamma", run=kept, epoch="2"))
    text = html(test)
    assert "gammas *of* &lt;b&gt;another" in text
    assert "The rule is not known" in text
    assert np.isfinite(library.bins(kept).gamma).all()


def test_a_run_without_gammas_says_so_and_offers_those_with(library):
    test = opened("gamma", run="digits-ce")
    assert "“Digits, Cross-entropy” has no gammas by bin" in html(test)
    test.button(key="gamma.open.cifar10-adafocal").click().run()
    assert "Over 30 epochs gamma" in html(test)


def test_an_unknown_run_is_refused_in_words(library):
    test = opened("gamma", run="nosuchrun")
    assert "There is no run “nosuchrun”" in test.error[0].value.replace("&#45;", "-")
    assert any(button.key == f"gamma.open.{SAMPLE}" for button in test.button)


def test_a_replay_under_the_same_rule_asks_for_the_same_gammas(library):
    test = fine(opened("gamma", run=SAMPLE, against="replay"))
    text = html(test)
    assert "Nothing was trained with it" in text
    assert "the same γ in every bin; the gaps are the same" in text


def test_a_replay_with_another_lambda_differs_and_can_be_looked_at(library):
    test = opened("gamma", run=SAMPLE, against="replay")
    test.number_input(key="lambda").set_value(3.0).run()
    assert "(replay, AdaFocal, λ = 3): γ from" in html(test)
    test.segmented_control(key="widget.look").set_value("replay").run()
    text = html(test)
    assert "Replay: not what it was trained with" in text
    rows = library.load(SAMPLE, "val")
    again = replay(
        library.validation_logits(SAMPLE),
        rows.labels,
        task=rows.task,
        rule=AdaFocalRule(rate=3.0),
        n_bins=15,
    )
    assert f">{again.gamma[-15:].max():.2f}<" in text


def test_another_number_of_bins_is_not_drawn_over(library):
    test = opened("gamma", run=SAMPLE, against="replay", n_bins="10")
    assert "has 10 bins, this history 15" in html(test)


def test_another_run_is_laid_over_the_panels(library):
    test = opened("gamma", run=SAMPLE, against="cifar10-adafocal", epoch="30")
    assert "CIFAR-10 (JPEG), AdaFocal (AdaFocal, λ = 1): γ from" in html(test)


def test_a_replay_that_cannot_be_made_is_refused_once(library):
    kept = keep_with_logits(library, np.full((3, 90, 3), np.nan))
    test = opened("gamma", run=kept, look="replay")
    assert "NONFINITE" in test.error[0].value


def keep_with_logits(library, logits):
    parts, config = {"val": answers()}, {"loss": {"name": "focal"}}
    tables = {"bins": None, "validation": logits.astype(np.float32)}
    return keep_trained(library, "focal", parts, config=config, name="focal, with logits", **tables)


def test_a_run_of_another_loss_is_replayed(library):
    logits = np.random.default_rng(1).normal(size=(3, 90, 3)) * 2
    test = fine(opened("gamma", run=keep_with_logits(library, logits)))
    text = html(test)
    assert "Over 3 epochs gamma would have" in text
    assert "Replay: not what it was trained with" in text
    assert text.count("Nothing was trained with it") == 1


def left_and_entered_again(test):
    test.query_params.clear()
    test.switch_page("pages/theory.py").run()
    test.query_params.clear()
    return test.switch_page("pages/gamma.py").run()


def test_entering_again_restores_the_link_so_that_a_bin_leaves_the_epoch(library):
    test = opened("gamma", run=SAMPLE, epoch="5")
    test.selectbox(key="widget.bin").set_value(3).run()
    test = left_and_entered_again(test)
    assert "Over 5 epochs gamma" in html(test)
    assert test.query_params["epoch"] in ("5", ["5"])
    assert test.query_params["bin"] in ("4", ["4"])
    test.selectbox(key="widget.bin").set_value(6).run()
    assert "Over 5 epochs gamma" in html(test)
    assert "The update here, bin 7" in html(test)


def test_a_run_beyond_the_newest_and_the_samples_are_found(library, monkeypatch):
    kept = keep_history(library, "oldest", small_bins(), RunSource("g.csv", "1"))
    keep_history(library, "newest", small_bins(), RunSource("h.csv", "2"))
    monkeypatch.setattr("pages.ui.gamma.state.LISTED", 1)
    test = opened("gamma", run=kept)
    assert "keeps no gammas" not in html(test)
    assert "oldest" in html(test)
    assert any("AdaFocal" in option for option in test.selectbox(key="widget.source").options)


def test_a_job_never_becomes_the_run_of_other_pages(library, running):
    folder, job = running
    write_epochs(folder, 0, 3)
    test = opened("gamma")
    test.selectbox(key="widget.source").set_value(job).run()
    assert "Over 3 epochs gamma" in html(test)
    assert test.session_state["app.run"] is None
    assert "run" not in test.query_params
    test.query_params.clear()
    test.switch_page("pages/reliability.py").run()
    assert not test.error
    test.query_params.clear()
    test.switch_page("pages/gamma.py").run()
    assert "Over 3 epochs gamma" in html(test)  # the job is remembered here
    test = opened("gamma", run=job)  # a link that calls it a run
    assert "Over 3 epochs gamma" in html(test)
    assert test.session_state["app.run"] is None


def test_a_queued_job_is_not_live(library, queued):
    _, job = queued
    offering = opened("gamma", run="digits-ce")  # it has no gammas: others are offered
    offered = [button.key for button in offering.button]
    assert f"gamma.open.{SAMPLE}" in offered
    assert f"gamma.open.{job}" not in offered
    listed = opened("gamma").selectbox(key="widget.source").options
    assert any("AdaFocal" in option for option in listed)
    label = open_jobs().get(job).name or job
    assert not any(label in option for option in listed)
    test = opened("gamma", job=job)
    assert "No epoch has finished yet" in html(test)
    assert "raining now" not in html(test)


def test_events_are_read_again_only_when_they_have_grown(library, running):
    folder, job = running
    write_epochs(folder, 0, 3)
    source = gamma_state.HistorySource(job, "a job", "live")
    first = gamma_state.written(source)
    assert gamma_state.written(source).grid is first.grid
    write_epochs(folder, 3, 4)
    assert gamma_state.written(source).grid.n_updates == 4


@pytest.fixture
def running(library):
    """An AdaFocal training that this process is said to supervise."""
    home = library.home
    config = from_json(
        {"data": "digits", "model": "small_cnn", "loss": {"name": "adafocal"}, "epochs": 9}
    )
    folder = JobFolder.make(home / "jobs" / "running", config)
    job = Job("running", "train", "a job", "g", config.digest, 5.0, state=JobState.RUNNING)
    JobStore(home).add([replace(job, started=10.0, supervisor=identity(os.getpid()))])
    return folder, job.id


@pytest.mark.slow
def test_a_training_under_way_is_followed_and_stays_where_it_was_scrubbed_to(library, running):
    folder, job = running
    test = opened("gamma", run=job)
    assert "No epoch has finished yet" in html(test)
    write_epochs(folder, 0, 3)
    test.run()
    assert "Over 3 epochs gamma" in html(test)
    assert "Training now" in html(test)
    write_epochs(folder, 3, 5)
    test.run()
    assert "Over 5 epochs gamma" in html(test)
    test.query_params["epoch"] = "2"
    test.run()
    write_epochs(folder, 5, 7)
    test.run()
    assert "Over 2 epochs gamma" in html(test)


@pytest.fixture
def queued(library):
    """A queue at rest with one AdaFocal training in it: nothing starts it."""
    jobs = open_jobs()
    jobs.pause()
    config = from_json(
        {"data": "digits", "model": "small_cnn", "loss": {"name": "adafocal"}, "epochs": 9}
    )
    (job,) = jobs.submit([config])
    return jobs.folder(job.id), job.id


def write_epochs(folder, first: int, last: int) -> None:
    bins = small_bins(n_epochs=9)
    columns = [name for name in COLUMNS if name != "epoch"]
    for epoch in range(first, last):
        rows = np.flatnonzero(bins.epoch == epoch)
        found = [
            {name: None if np.isnan(v := getattr(bins, name)[i]) else v.item() for name in columns}
            for i in rows
        ]
        folder.record(Epoch(epoch, {"val_ece": 0.1}, found), None)


@pytest.mark.slow
def test_a_long_replay_is_made_in_a_process_of_its_own(library, monkeypatch):
    monkeypatch.setattr("pages.ui.gamma.state.HEAVY_CELLS", 0)
    test = opened("gamma", run=SAMPLE, look="replay", **{"lambda": "2.75"})
    assert "The replay is still being computed" in html(test)
    until = time.monotonic() + PATIENCE_S
    while "Over 40 epochs" not in html(test) and time.monotonic() < until:
        time.sleep(0.2)
        test.run()
    assert not test.error
    assert "replay, AdaFocal, λ = 2.75" in html(test)


@pytest.mark.slow
def test_a_long_replay_is_stopped_and_goes_on(library, monkeypatch):
    monkeypatch.setattr("pages.ui.gamma.state.HEAVY_CELLS", 0)
    test = opened("gamma", run=SAMPLE, look="replay", **{"lambda": "2.25"})
    test.button(key="fitting.stop").click().run()
    test.run()
    stopped = "Stopped: Replaying the rule"
    assert any(stopped in element.value for element in test.markdown)
    test.button(key="fitting.resume").click().run()
    assert not any(stopped in element.value for element in test.markdown)


def test_a_kept_correction_opens_the_gammas_of_the_run_it_corrects(library):
    origin = {"calibrated": {"run": "cifar10-adafocal", "name": "AdaFocal"}}
    rows = library.load("cifar10-adafocal", "test")
    source = RunSource("scores.npz", "0" * 32, origin)
    child = library.keep("mended", {"test": rows}, source=source, summary={})
    test = opened("gamma", run=child.id)
    assert "has no gammas" not in html(test)
    assert "CIFAR-10 (JPEG), AdaFocal" in html(test)
    tab = opened("reliability", run="cifar10-adafocal")
    assert "Gamma dynamics" in [link.label for link in tab.main.page_link]
    none = opened("reliability", run="cifar10-ce")
    assert "Gamma dynamics" not in [link.label for link in none.main.page_link]
