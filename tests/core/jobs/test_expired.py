"""Audits in the background that are too old are removed for good, with the name of their file."""

import sqlite3
from contextlib import closing

import pytest

from core.access import RETAINER, UserRole, Visitor, user_id
from core.errors import LibraryError
from core.jobs.audit import AuditSpec
from core.jobs.local import LocalJobs
from core.library import trail
from tests.core.jobs.conftest import config
from tests.core.library.test_expire import ANNA, BOSS, CANARY, holding

BERT = Visitor(user_id("https://login.example", "bert"), UserRole.AUDITOR)
CARL = Visitor(user_id("https://login.example", "carl"), UserRole.VIEWER)


@pytest.fixture
def of(jobs):
    """Open the jobs for a visitor; none of them starts."""
    jobs.pause()
    return lambda visitor: LocalJobs(jobs.home, visitor)


@pytest.fixture
def audit(of):
    """An audit that has ended, and a process that has the table open."""
    (job,) = of(ANNA).submit([AuditSpec(path=f"/data/{CANARY}.csv")])
    with closing(sqlite3.connect(of(ANNA).home / "jobs.sqlite")) as reader:
        reader.execute("SELECT row FROM jobs").fetchall()
        of(ANNA).cancel(job.id)
        yield job


def test_no_byte_of_an_old_audit_is_left(of, audit):
    (training,) = of(ANNA).submit([config("work")])
    of(ANNA).cancel(training.id)
    home = of(ANNA).home
    (home / "jobs.sqlite.damaged-1").write_text(CANARY)
    assert len(holding(home)) > 3  # the folder, the table, its log, and the torn one
    assert of(RETAINER).expire(1) == 0
    assert of(RETAINER).expire(0) == 1
    assert not holding(home)
    assert [job.id for job in of(ANNA).list()] == [training.id]
    assert of(ANNA).rebuild() == 1
    entry = trail.entries(home, BOSS)[0]
    assert (entry.user, entry.act, entry.subject) == ("retention", "purge", audit.id)


def test_one_that_waits_and_one_of_somebody_else_stay(of, audit):
    (waiting,) = of(BERT).submit([AuditSpec(path="/data/waiting.csv")])
    assert of(BERT).expire(0) == 0
    assert of(BOSS).expire(0) == 1
    assert [job.id for job in of(BOSS).list()] == [waiting.id]
    with pytest.raises(LibraryError, match="viewer"):
        of(CARL).expire(0)
