"""Whose jobs are whose: what a visitor sees and may do with them, and how many."""

import pytest

from core.access import JOBS, UserRole, Visitor, group_id, user_id
from core.errors import LibraryError
from core.jobs.local import LocalJobs
from core.jobs.records import SlurmRequest
from core.jobs.slurm import controller
from core.library import trail
from tests.core.jobs.conftest import config, ended

ISSUER = "https://login.example"
WARD = group_id(ISSUER, "ward")
ANNA = Visitor(user_id(ISSUER, "anna"), UserRole.AUDITOR, (WARD,))
BERT = Visitor(user_id(ISSUER, "bert"), UserRole.AUDITOR)
CARL = Visitor(user_id(ISSUER, "carl"), UserRole.VIEWER, (WARD,))
BOSS = Visitor(user_id(ISSUER, "boss"), UserRole.ADMIN)
READS = ["get", "folder", "config", "progress", "log", "silent", "resumable", "spec", "evaluation"]
ACTS = [*READS, "cancel", "to_front", "retry", "resume"]


@pytest.fixture
def of(jobs):
    """Open the jobs for a visitor; none of them starts."""
    jobs.pause()
    return lambda visitor: LocalJobs(jobs.home, visitor)


def refusal(act) -> LibraryError:
    with pytest.raises(LibraryError) as caught:
        act()
    return caught.value


@pytest.mark.parametrize("act", ACTS)
def test_a_job_of_somebody_else_is_refused_as_one_that_does_not_exist(of, act):
    (job,) = of(ANNA).submit([config("work")])
    # Only an administrator lets a job go first, whoever's it is.
    expected = "ROLE" if act == "to_front" else "JOB_UNKNOWN"
    foreign = refusal(lambda: getattr(of(BERT), act)(job.id))
    missing = refusal(lambda: getattr(of(BERT), act)("zzzzzzzzzzzz"))
    assert foreign.code == missing.code == expected
    assert foreign.what.replace(job.id, "ID") == missing.what.replace("zzzzzzzzzzzz", "ID")
    assert of(ANNA).get(job.id).owner == ANNA.user


def test_the_list_shows_own_jobs_and_those_of_a_group(of):
    (own,) = of(ANNA).submit([config("work")])
    (group,) = of(Visitor(ANNA.user, ANNA.role, ANNA.groups, WARD)).submit([config("work")])
    assert {job.id for job in of(ANNA).list()} == {own.id, group.id}
    assert {job.id for job in of(CARL).list()} == {group.id}
    assert not of(BERT).list()
    assert {job.id for job in of(BOSS).list()} == {own.id, group.id}
    of(BOSS).rebuild()
    assert {job.id for job in of(CARL).list()} == {group.id}


def test_a_viewer_starts_and_stops_nothing_and_only_an_administrator_holds_the_queue(of):
    (group,) = of(Visitor(ANNA.user, ANNA.role, ANNA.groups, WARD)).submit([config("work")])
    assert refusal(lambda: of(CARL).submit([config("work")])).code == "ROLE"
    assert refusal(lambda: of(CARL).cancel(group.id)).code == "ROLE"
    assert refusal(of(ANNA).pause).code == refusal(of(ANNA).unpause).code == "ROLE"
    of(BOSS).to_front(group.id)
    of(ANNA).cancel(group.id)
    entries = trail.entries(of(BOSS).home, BOSS)
    assert [(entry.act, entry.subject) for entry in entries] == [
        ("stop", group.id),
        ("train", group.id),
    ]


def test_the_quota_counts_jobs_of_an_owner_that_have_not_ended(of, monkeypatch):
    monkeypatch.setenv(JOBS, "2")
    first, _ = of(ANNA).submit([config("work"), config("work")])
    refused = refusal(lambda: of(ANNA).submit([config("work")]))
    assert refused.code == "OVER_QUOTA"
    assert "2 of your jobs wait or run and this adds 1; the quota is 2" in refused.what
    assert len(of(ANNA).list()) == 2
    assert not [*(of(ANNA).home / "jobs").glob("*/")][2:]
    of(BERT).submit([config("work")])
    of(ANNA).cancel(first.id)
    of(ANNA).submit([config("work")])


def test_the_process_of_a_job_acts_for_its_owner(jobs):
    (job,) = LocalJobs(jobs.home, ANNA).submit([config("owner")])
    ended(jobs, job.id)
    assert any(ANNA.user in line for line in jobs.log(job.id))


def test_a_job_over_the_quota_never_reaches_the_cluster(of, monkeypatch, tmp_path):
    asked = tmp_path / "asked"
    for name in controller.COMMANDS:
        (tmp_path / name).write_text(f"#!/bin/sh\necho {name} >> {asked}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv(JOBS, "0")
    request = SlurmRequest()
    refused = refusal(lambda: of(ANNA).submit([config("work", device="auto")], request=request))
    assert refused.code == "OVER_QUOTA"
    assert not asked.exists()
    assert not list((of(ANNA).home / "jobs").glob("*/"))
