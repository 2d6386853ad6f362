"""What the pages of trainings and of evaluations have in common: one job, its actions, the list."""

from dataclasses import replace

import pytest

from core.inference.config import WEIGHTS, EvaluationConfig
from core.jobs.local import LocalJobs, open_jobs
from core.jobs.records import Failure, Job, JobState
from core.jobs.store import JobStore
from core.training.config import TrainConfig, from_json
from core.training.folder import JobFolder, Progress, write_progress
from core.training.submission import FIRST
from tests.pages.evaluate_cases import CONFIG
from tests.pages.seen import fine, opened, said
from tests.pages.test_train_page import buttons, links

pytestmark = [
    pytest.mark.usefixtures("paused"),
    pytest.mark.parametrize("kind", ["train", "evaluate"]),
]
NOUNS = {"train": "training", "evaluate": "evaluation"}
CONFIGS: dict[str, TrainConfig | EvaluationConfig] = {"train": from_json(FIRST), "evaluate": CONFIG}


@pytest.fixture
def keep(home):
    """Return a function that puts a job of a kind and state into the table."""

    def kept(kind, job_id, state=JobState.QUEUED, **changes):
        config = CONFIGS[kind]
        JobFolder.make(home / "jobs" / job_id, config)
        times = {} if state is JobState.QUEUED else {"started": 10.0}
        times |= {"ended": 62.0} if state.ended else {}
        values = {"state": state, **times, **changes}
        job = Job(job_id, kind, config.name, f"g{job_id}", config.digest, 5.0, **values)
        (added,) = JobStore(home).add([job])
        return added

    return kept


def test_a_job_that_is_not_there_is_said(kind):
    test = opened(kind, job="nosuchjob")
    assert f"This {NOUNS[kind]} was not found." in said(test)
    assert f"All {NOUNS[kind]}s" in links(test)


def test_a_job_of_the_other_kind_is_shown_on_its_own_page(kind, keep):
    other = ({"train", "evaluate"} - {kind}).pop()
    keep(other, "mine")
    test = fine(opened(kind, job="mine"))
    assert f"All {NOUNS[other]}s" in buttons(test)


def test_the_tab_is_named_after_the_job_while_it_is_shown(kind, keep, monkeypatch):
    titles = []
    monkeypatch.setattr(
        "pages.ui.frame.st.set_page_config", lambda *, page_title, **_: titles.append(page_title)
    )
    keep(kind, "mine")
    test = fine(opened(kind, job="mine"))
    page = {"train": "Train", "evaluate": "Evaluate"}[kind]
    assert titles[-1] == f"{page} · {CONFIGS[kind].name} · Candor"
    fine(test.button(key="job.all").click().run())
    assert titles[-1] == f"{page} · Candor"


def test_a_waiting_job_is_moved_to_the_front_or_stopped(kind, keep):
    keep(kind, "first")
    keep(kind, "next")
    test = fine(opened(kind, job="next"))
    test.button(key="job.front").click().run()
    assert open_jobs().get("next").priority > open_jobs().get("first").priority
    assert "Resume queue" in buttons(test)
    test.button(key="job.stop").click().run()
    assert open_jobs().get("next").state is JobState.CANCELLED
    assert not {"To the front", "Stop"} & set(buttons(test))


def test_from_a_job_back_to_the_form_and_the_list(kind, keep):
    keep(kind, "mine")
    test = opened(kind, job="mine")
    test.button(key="job.all").click().run()
    fine(test)
    assert "job" not in test.query_params
    assert CONFIGS[kind].name in " ".join(links(test))


def test_changed_files_of_cifar_are_used_by_one_click(kind, keep, home):
    failure = Failure("CHECKSUM", "not CIFAR-10's published files: test_batch", "or changed_files")
    keep(kind, "hurt", JobState.FAILED, failure=failure)
    (home / "jobs" / "hurt" / WEIGHTS).write_bytes(b"weights of an evaluation")
    test = opened(kind, job="hurt")
    next(one for one in test.button if one.label == "Use the changed files").click().run()
    jobs = open_jobs()
    new = next(job for job in jobs.list() if job.id != "hurt")
    assert jobs.spec(new.id) == replace(CONFIGS[kind], changed_files=True)
    keep(kind, "other", JobState.FAILED, failure=Failure("DATA_ROOT", "no such folder", "-"))
    assert "Use the changed files" not in buttons(opened(kind, job="other"))


@pytest.mark.parametrize(
    ("relation", "before", "after"),
    [("resume", "Continues", "Resumed as"), ("retry", "Repeats", "Repeated as")],
)
def test_jobs_that_follow_each_other_are_linked(kind, keep, relation, before, after):
    keep(kind, "mine", JobState.CANCELLED)
    keep(kind, "again", parent="mine", relation=relation)
    assert f"{after} job again, waiting" in links(opened(kind, job="mine"))
    assert f"{before} job mine, stopped" in links(opened(kind, job="again"))


def test_what_says_nothing_is_said_to_be_silent(kind, keep, monkeypatch):
    keep(kind, "mine")
    monkeypatch.setattr(LocalJobs, "silent", lambda self, job_id: 90.0)
    assert "It has not reported for" in said(fine(opened(kind, job="mine")))


def test_progress_is_drawn_while_it_runs_and_not_before(kind, keep, home, monkeypatch):
    keep(kind, "mine")
    write_progress(home / "jobs" / "mine", Progress(1, 4, 250, 500, 812.4, 2**30, 20.0, 65.0))
    assert not opened(kind, job="mine").get("progress")
    monkeypatch.setattr(LocalJobs, "tick", lambda self: None)  # nothing runs it here
    keep(kind, "runs", JobState.RUNNING)
    write_progress(home / "jobs" / "runs", Progress(1, 4, 250, 500, 812.4, 2**30, 20.0, 65.0))
    (bar,) = opened(kind, job="runs").get("progress")
    assert bar.proto.value == 37


@pytest.mark.parametrize("words", ["false", "true"])
def test_the_log_of_a_job_that_failed_is_open(kind, keep, home, words):
    keep(kind, "bad", JobState.FAILED, failure=Failure("DISK_FULL", "The disk is full", "free it"))
    (home / "jobs" / "bad" / "log.txt").write_text("first\nlast line\n")
    test = opened(kind, job="bad", plain=words)
    assert "The disk is full" in said(test)
    (expander,) = [entry for entry in test.expander if entry.label.startswith("Log")]
    assert "last line" in expander.code[0].value
