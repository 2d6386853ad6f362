"""What an earlier Candor stored opens: library, draft, queue, calibrators and links."""

import hashlib
import json
import shutil
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
import streamlit as st

from core.__main__ import main
from core.calibrators.stored import from_json, to_json
from core.histories import COLUMNS, LATER
from core.jobs.local import LocalJobs
from core.library import SAMPLES, Library
from core.readers.predictions.result import ReadOptions
from core.readers.sandbox.read import read
from core.reports import build, certificate
from pages.ui import session
from tests.pages.seen import fine, opened, said, until

STORED = Path(__file__).parent / "dde34cf"
CERTIFIED = Path(__file__).parent / "28e20864"  # a report of a table, by that commit
EXPECTED = json.loads((STORED / "expected.json").read_text())
RUNS, JOBS = EXPECTED["runs"], EXPECTED["jobs"]
TRAINED, FAILED, WAITING, EVALUATED = (
    next(job_id for job_id, job in JOBS.items() if job["name"] == name)
    for name in (
        "Digits, two epochs",
        "Pictures that are not there",
        "Digits that wait",
        "Digits looked at again",
    )
)
(TRASHED,) = EXPECTED["trash"]
DRAFT = json.loads((STORED / "draft" / "draft.json").read_text())
LINKS = json.loads((STORED / "links.json").read_text())
CALIBRATORS = json.loads((STORED / "calibrators" / "expected.json").read_text())
SPLITS = [(run_id, split) for run_id, run in RUNS.items() for split in run["splits"]]


def name_of(value):
    return RUNS[value]["row"]["name"] if value in RUNS else None


@pytest.fixture
def home(tmp_path, monkeypatch):
    """Return a copy of the stored home, in which the deleted run was deleted just now."""
    home = tmp_path / "home"
    shutil.copytree(STORED / "home", home)
    (deleted,) = (home / "trash").iterdir()
    deleted.rename(deleted.with_name(f"{TRASHED['id']}@{datetime.now(UTC):%Y%m%dT%H%M%SZ}"))
    monkeypatch.setenv("CANDOR_HOME", str(home))
    monkeypatch.setenv("CANDOR_DEVICES", "cpu")
    monkeypatch.setattr("sys.argv", ["app.py", "--i-know"])
    st.cache_resource.clear()
    st.cache_data.clear()
    return home


@pytest.fixture
def library(home) -> Library:
    return Library(home, SAMPLES)


@pytest.fixture
def jobs(home) -> LocalJobs:
    return LocalJobs(home)


@pytest.fixture
def run(home, capsys):
    """Run a command that must succeed, and return what it printed."""

    def run(*words: object) -> str:
        assert main([str(word) for word in words]) == 0, capsys.readouterr().err
        return capsys.readouterr().out

    return run


def checksum(*arrays: np.ndarray) -> str:
    """Return a digest of arrays to the bit, and of texts."""
    digest = hashlib.sha256()
    for array in map(np.ascontiguousarray, arrays):
        if array.dtype.kind in "OU":
            digest.update("\n".join(map(str, array.tolist())).encode())
        else:
            digest.update(f"{array.dtype.str}{array.shape}".encode())
            digest.update(array.tobytes())
    return digest.hexdigest()


# Library ----------------------------------------------------------------------------------------


def test_the_library_lists_every_run_as_it_did(run, library):
    listed = json.loads(run("runs", "list", "--json", "-"))
    own = [row for row in listed if row["kind"] != "sample"]
    assert [row.pop("damaged") for row in own] == [None] * len(RUNS)
    assert own == [run["row"] for run in RUNS.values()]
    assert library.damaged() == []


def test_every_run_keeps_its_manifest_in_the_form_of_today(run, library):
    for run_id in RUNS:
        stored = json.loads((STORED / "home" / "runs" / run_id / "manifest.json").read_text())
        shown = json.loads(run("runs", "show", run_id, "--json", "-"))
        assert (stored.pop("schema_version"), shown.pop("schema_version")) == (3, 7)
        for split in shown["splits"].values():
            later = ("groups", "weights", "votes", "dates", "members")
            assert {split.pop(key) for key in later} == {""}
        assert shown == stored


@pytest.mark.parametrize(("run_id", "split"), SPLITS, ids=name_of)
def test_predictions_load_to_the_bit(library, run_id, split):
    predictions = library.load(run_id, split)
    arrays = [predictions.scores, predictions.labels]
    if predictions.predicted is not None:
        arrays.append(predictions.predicted)
    texts = (np.array(predictions.row_ids or ("",)), np.array(predictions.class_names))
    expected = RUNS[run_id]["splits"][split]
    assert checksum(*arrays, *texts) == expected["checksum"]
    assert predictions.digest_as(expected["digest"]) == expected["digest"]


def test_histories_load_to_the_bit(library):
    kept = {run_id: run["tables"] for run_id, run in RUNS.items() if run["tables"]}
    assert {RUNS[run_id]["row"]["kind"] for run_id in kept} == {"train", "history"}
    for run_id, tables in kept.items():
        bins = library.bins(run_id)
        kept_columns = [getattr(bins, name) for name in COLUMNS if name not in LATER]
        assert checksum(*kept_columns) == tables["bins"]
        assert (bins.update == bins.epoch).all()
        if "history" in tables:
            history = library.history(run_id)
            metrics = (history.epoch, np.array(history.metric), history.value)
            assert checksum(*metrics) == tables["history"]
            assert history.last() == tables["last"]
            assert checksum(library.validation_logits(run_id)) == tables["validation"]


def values(audit: dict, at: str = "") -> dict[str, float | None]:
    """Return every point value of an audit by its name, those of labels behind the label's."""
    numbers = {f"{at}{name}": score["value"] for name, score in audit["metrics"].items()}
    numbers[f"{at}gap"] = audit.get("event_audit", audit)["direction"]["gap"]
    for label in audit.get("labels", ()):
        numbers |= values(label, f"{at}{label['name']}: ")
    return numbers


@pytest.mark.slow
@pytest.mark.parametrize(("run_id", "split"), SPLITS, ids=name_of)
def test_an_audit_gives_the_numbers_that_it_gave(run, tmp_path, run_id, split):
    """Intervals, noise floors and verdicts follow other rules since, and are left out."""
    file = tmp_path / "run.npz"
    run("runs", "export", run_id, "--out", file)
    audit = json.loads(run("audit", file, "--split", split, "--resamples", 10, "--json", "-"))
    now, then = values(audit), RUNS[run_id]["splits"][split]["values"]
    assert then.keys() <= now.keys()
    for name, value in then.items():
        assert now[name] == (None if value is None else pytest.approx(value, rel=0, abs=1e-12)), (
            name
        )


def test_a_deleted_run_comes_back(run, library):
    assert [(run.id, run.name) for run in library.trash()] == [(TRASHED["id"], TRASHED["name"])]
    run("runs", "restore", TRASHED["id"])
    assert library.get(TRASHED["id"]).name == TRASHED["name"]
    assert library.load(TRASHED["id"], "test").n == 60
    assert library.trash() == []


def test_runs_are_renamed_tagged_deleted_and_indexed_anew(run, library):
    run_id = next(iter(RUNS))
    run("runs", "rename", run_id, "another name")
    run("runs", "tag", run_id, "seen")
    run("runs", "rebuild-index")
    (row,) = [row for row in library.rows() if row.id == run_id]
    assert (row.name, row.tags) == ("another name", ("seen",))
    run("runs", "delete", run_id)
    run("runs", "restore", run_id)
    assert library.get(run_id).name == "another name"


# Draft ------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_draft_is_read_as_it_was_and_kept(home, library, monkeypatch):
    monkeypatch.setattr(session, "_ROOMS", {})
    test = opened()
    (uploader,) = test.file_uploader
    data = (STORED / "draft" / DRAFT["file_name"]).read_bytes()
    uploader.set_value([(DRAFT["file_name"], data, "application/octet-stream")])
    until(fine(test.run()), lambda: "as chosen before" in said(test))
    (browser,) = [room for room in session._ROOMS.values() if room.drafts]
    (draft,) = browser.drafts.values()
    assert (draft.name, draft.file_name) == (DRAFT["name"], DRAFT["file_name"])
    result = draft.result
    assert result.digest == DRAFT["digest"]
    assert {
        name: {
            "digest": split.digest_as(DRAFT["splits"][name]["digest"]),
            "n": split.n,
            "task": str(split.task),
            "kind": str(split.kind),
            "class_names": list(split.class_names),
        }
        for name, split in result.splits.items()
    } == DRAFT["splits"]
    made = {key: value for key, value in DRAFT["recipe"].items() if value is not None}
    assert result.recipe.to_json().items() >= made.items()
    (keep,) = [button for button in test.button if button.label == "Keep"]
    fine(keep.click().run())
    (kept,) = [row for row in library.rows() if row.name == DRAFT["name"]]
    assert library.load(kept.id, "test").first_digest == DRAFT["splits"]["test"]["digest"]


# Queue ------------------------------------------------------------------------------------------


def test_the_queue_lists_jobs_with_state_log_and_run(run, jobs):
    listed = json.loads(run("jobs", "list", "--json", "-"))
    assert {row["id"]: (row["name"], row["state"], row["run"]) for row in listed} == {
        job_id: (job["name"], job["state"], job["run"]) for job_id, job in JOBS.items()
    }
    assert {row["state"] for row in listed} == {"succeeded", "failed", "queued"}
    assert jobs.paused
    for job_id, job in JOBS.items():
        assert run("jobs", "logs", job_id).splitlines() == job["log"]


@pytest.mark.parametrize("job_id", JOBS, ids=lambda job_id: JOBS[job_id]["name"])
def test_a_job_shows_what_it_was_to_do_and_how_it_ended(run, job_id):
    shown = json.loads(run("jobs", "show", job_id, "--json", "-"))
    then = JOBS[job_id]["shown"]
    assert shown.items() >= {key: then[key] for key in then.keys() - {"config"}}.items()
    config = shown["config"]
    later: dict[str, dict[str, object]] = {  # what came later
        "schedule": {"patience": 5, "warmup": 0.0},
        "optimizer": {"vectors_lr": None},
    }
    for section in later.keys() & config.keys():
        for key, default in later[section].items():
            assert config[section].pop(key) == default
    assert config.items() >= then["config"].items()


def test_the_table_of_jobs_is_made_anew_from_the_folders(run, jobs, home):
    (home / "jobs.sqlite").unlink()
    run("jobs", "rebuild")
    assert {job.id: str(job.state) for job in jobs.list()} == {
        job_id: job["state"] for job_id, job in JOBS.items()
    }


def test_a_waiting_job_is_cancelled(run, jobs):
    run("jobs", "cancel", WAITING)
    assert jobs.get(WAITING).state == "cancelled"


@pytest.mark.parametrize("job_id", [TRAINED, FAILED, EVALUATED], ids=lambda i: JOBS[i]["name"])
def test_an_ended_job_is_queued_again_with_its_config(run, jobs, job_id):
    again = run("jobs", "retry", job_id).strip()
    new = jobs.get(again)
    assert (new.state, new.parent, new.digest) == ("queued", job_id, jobs.get(job_id).digest)
    assert jobs.spec(again) == jobs.spec(job_id)
    assert jobs.spec(again).digest == new.digest


# Reports ----------------------------------------------------------------------------------------


def test_rows_are_held_against_a_certificate_of_an_earlier_version(tmp_path):
    report, rows = (CERTIFIED / name for name in ("report.json", "scores.csv"))
    (stated,) = certificate.opened(report).runs
    options = ReadOptions.from_json(stated.reading)
    result = read(rows, options=options)
    assert stated.differences(build.run_of_file(rows.name, result, stated.split)) == []
    other = tmp_path / rows.name
    other.write_text(rows.read_text().replace("p0", "p1"))
    lines = stated.differences(build.run_of_file(rows.name, read(other, options=options), "test"))
    assert [line.split(" differs")[0] for line in lines] == [
        "scores.csv: the file",
        "scores.csv: the rows of test",
    ]


# Calibrators ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CALIBRATORS["probabilities"])
def test_a_calibrator_gives_the_probabilities_that_it_gave(name):
    stored = json.loads((STORED / "calibrators" / f"{name}.json").read_text())
    calibrator = from_json(stored)
    folder = name.split("/")[0]
    rows = np.array(CALIBRATORS["rows"].get(folder, CALIBRATORS["rows"]["classes"]))
    expected = np.array(CALIBRATORS["probabilities"][name])
    np.testing.assert_allclose(calibrator.predict_proba(rows), expected, rtol=0, atol=1e-12)
    again = from_json(json.loads(json.dumps(to_json(calibrator, stored["fitted_on"]))))
    np.testing.assert_array_equal(again.predict_proba(rows), calibrator.predict_proba(rows))


def test_the_search_of_a_paper_keeps_its_meaning_under_its_own_name():
    searches = {}
    for method in ("ts", "focal_ts"):
        stored = json.loads((STORED / "calibrators/classes_paper" / f"{method}.json").read_text())
        assert stored["settings"]["search"] == "paper"
        searches[method] = from_json(stored).settings()["search"]
    assert searches == {"ts": "mukhoti", "focal_ts": "komisarenko"}


def test_a_calibrator_is_applied_by_the_command(run, tmp_path):
    (run_id,) = [i for i, row in RUNS.items() if row["row"]["name"] == "Tissue, cross-entropy"]
    run("runs", "export", run_id, "--out", tmp_path / "run.npz")
    stored = STORED / "calibrators" / "classes" / "ts.json"
    run("apply", stored, tmp_path / "run.npz", "--out", tmp_path / "calibrated.npz")
    with np.load(tmp_path / "calibrated.npz") as arrays:
        calibrated = arrays["test_probabilities"][:5]
    expected = CALIBRATORS["probabilities"]["classes/ts"]
    np.testing.assert_allclose(calibrated, expected, rtol=0, atol=1e-12)


# Links ------------------------------------------------------------------------------------------


RENAMED = {"paper": "komisarenko"}  # a search, since the grids of both papers are offered
KEYS = {
    "widget.test": "widget.split",
    "set.test": "set.split",  # one header for all of Audit
    # one choice of searches and papers
    "search": "by",
    "widget.search": "widget.by",
    "set.search": "set.by",
}


def words(link) -> str:
    return f"{link['page']}?{'&'.join(link['query'])}"


def found(error: str) -> list[str]:
    """Return what an error found and its code: remedies are said in other words since."""
    lines = error.split("  \n")
    return [lines[0], lines[-1]]


def of_today(choices: dict) -> dict:
    return {
        KEYS.get(name, name): RENAMED.get(value, value) if name.endswith("search") else value
        for name, value in choices.items()
    }


@pytest.mark.slow
@pytest.mark.parametrize("link", LINKS, ids=words)
def test_a_link_opens_the_view_that_it_opened(home, link):
    test = opened(link["page"], **link["query"])
    assert not test.exception
    assert [found(error.value) for error in test.error] == [found(e) for e in link["errors"]]
    query = {name: "".join(test.query_params[name]) for name in test.query_params}
    assert query == of_today(link["query"])
    expected = of_today(link["state"])
    run = RUNS.get(link["query"].get("run"))
    if run and len(run["splits"]) == 1:  # a run with one split has no choice of it since
        expected = {key: expected[key] for key in expected if not key.endswith(".split")}
    epoch = expected.pop("widget.epoch", None)  # its slider is the browser's since
    drawn = str([block.proto.body for block in test.get("html")])
    assert epoch is None or f"after epoch {epoch + 1}" in drawn
    shown = {key: test.session_state[key] for key in expected}
    assert shown == expected
