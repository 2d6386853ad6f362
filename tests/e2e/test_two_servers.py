"""Two servers on one CANDOR_HOME: each shows what the other keeps, and no job starts twice."""

import json
import time

import pytest
from playwright.sync_api import expect

from core.jobs.local import LocalJobs
from core.library import SAMPLES, Library
from core.training.config import from_json
from tests.e2e import files
from tests.e2e.conftest import PATIENCE_S, go, settled, start
from tests.e2e.test_audit import audit, drop

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
TRAINING = {"data": "digits", "model": "small_cnn", "epochs": 1, "device": "cpu"}
N_JOBS = 3


@pytest.fixture
def two(tmp_path):
    servers = [start(tmp_path / "home", tmp_path / f"{n}.txt") for n in range(2)]
    yield servers
    for server in servers:
        server.stop()


def test_runs_kept_by_two_servers_are_in_the_list_of_both_and_jobs_start_once(
    two, visit, tmp_path, monkeypatch
):
    monkeypatch.setenv("CANDOR_DEVICES", "cpu")
    jobs = LocalJobs(two[0].home)
    jobs.pause(paused=True)
    queued = jobs.submit([from_json(TRAINING | {"name": f"n{n}"}) for n in range(N_JOBS)])
    pages = [visit(url=server.url) for server in two]
    file = files.npz_logits(tmp_path)
    for name, page in zip(("first", "second"), pages, strict=True):
        drop(page, file.rename(tmp_path / f"{name}.npz"))
        file = tmp_path / f"{name}.npz"
        audit(page)
    for page in pages:  # both look after the queue every few seconds from now on
        page.get_by_role("button", name="Keep in the library").click()
    jobs.pause(paused=False)
    for page in pages:
        page.get_by_role("button", name="Keep", exact=True).click()
        settled(page)
    until = time.monotonic() + PATIENCE_S
    while not all(job.state.ended for job in jobs.list()) and time.monotonic() < until:
        time.sleep(1)
    listed = Library(two[0].home, SAMPLES)
    own = [row for row in listed.rows() if row.kind != "sample"]
    assert sorted(row.name for row in own) == ["first", "n0", "n1", "n2", "second"]
    assert listed.damaged() == []
    for job in queued:
        assert jobs.get(job.id).state == "succeeded"
        lines = (jobs.folder(job.id).path / "events.jsonl").read_text().splitlines()
        epochs = [event for event in map(json.loads, lines) if event["event"] == "epoch"]
        assert len(epochs) == 1  # a second start would have written a second one
    for page, server in zip(pages, two, strict=True):
        go(page, server.url)
        expect(page.locator("canvas table tbody tr")).not_to_have_count(0)
        for name in ("first", "second"):
            expect(page.locator("canvas table")).to_contain_text(name)
