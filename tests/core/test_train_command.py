"""`python -m core train` and `jobs`: a training from its config to a run, and refusals."""

import json
import os
import shutil
import signal
import time
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from core.__main__ import main
from core.library import open_library
from core.training.config import from_json
from core.training.distributions import DOT, LEARNED, NORMS, RELIABILITY, VALIDATION
from core.training.folder import JobFolder

TINY = {
    "data": "digits",
    "model": "small_cnn",
    "loss": {"name": "adafocal", "n_bins": 5},
    "name": "tiny",
    "n_train": 64,
    "epochs": 3,
    "batch_size": 32,
    "device": "cpu",
}
PATIENCE_S = 600
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def home(tmp_path: Path, monkeypatch) -> Path:
    monkeypatch.setenv("CANDOR_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    return tmp_path / "home"


@pytest.fixture
def run(home, capfd) -> Run:
    """Run a command; return its exit code and what was printed."""

    def run(*words: object) -> tuple[int, str, str]:
        code = main([str(word) for word in words])
        return code, *capfd.readouterr()

    return run


@pytest.fixture
def config(tmp_path: Path) -> Callable[..., Path]:
    """Write a config with some changes and return its path."""

    def config(**changed: object) -> Path:
        path = tmp_path / "config.json"
        path.write_text(json.dumps(TINY | changed))
        return path

    return config


@pytest.fixture
def waiting(run, config) -> Callable[..., str]:
    """Queue a job that waits for a word, and return its id."""

    def waiting(**changed: object) -> str:
        run("jobs", "pause")
        return run("train", config(**changed))[1].strip()

    return waiting


# Trained ----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_training_says_how_it_went_and_its_run_is_in_the_library(run, config, home):
    code, out, err = run("train", config(), "--wait", "--json", "-")
    assert code == 0
    done = json.loads(out)
    assert set(done) == {
        "job", "run", "state", "seconds", "device", "images_per_second", "notices",
    }  # fmt: skip
    assert (done["state"], done["device"], done["notices"]) == ("succeeded", "cpu", [])
    assert 0 < done["seconds"] < 600
    assert done["images_per_second"] > 0
    assert err.splitlines()[0] == f"job {done['job']}"
    assert [line.split(":")[0] for line in err.splitlines() if line.startswith("epoch ")] == [
        f"epoch {n} of 3" for n in (1, 2, 3)
    ]

    (row,) = (r for r in json.loads(run("runs", "list", "--json", "-")[1]) if r["kind"] == "train")
    assert (row["id"], row["name"]) == (done["run"], "tiny")

    shown = json.loads(run("runs", "show", done["run"], "--files", "--json", "-")[1])
    assert shown["config"] == from_json(TINY).to_json()
    assert shown["environment"]["device"] == "cpu"
    assert {name: split["n"] for name, split in shown["splits"].items()} == {
        "val": 300, "test": 500,
    }  # fmt: skip
    assert shown["history"]["epochs"] == 3
    assert shown["history"]["last"]["lr"] == pytest.approx(0.05 * 0.1**2)
    for key in ("file", "bins", "validation"):
        path = Path(shown["files"][shown["history"][key]])
        assert path.is_relative_to(home / "runs" / done["run"])
        assert path.is_file()

    library = open_library()
    logits, val = library.validation_logits(done["run"]), library.load(done["run"], "val")
    assert np.array_equal(logits[-1], val.scores)
    answered = logits.argmax(axis=2) != val.labels
    history = library.history(done["run"])
    told = [v for m, v in zip(history.metric, history.value, strict=True) if m == "val_error"]
    assert told == answered.mean(axis=1).tolist()
    assert library.bins(done["run"]).gamma.reshape(3, 5).shape == (3, 5)

    code, _, err = run("jobs", "resume", done["job"])
    assert code == 3
    assert err == f"JOB: Job {done['job']} has ended, its run is {done['run']}; start another\n"
    assert len(library.rows(kind="train")) == 1


@pytest.mark.parametrize(("clip_norm", "said"), [(None, True), (2.0, False)])
def test_settings_that_are_known_to_learn_badly_are_said_and_taken(run, config, clip_norm, said):
    run("jobs", "pause")
    loss = {"name": "fcl", "gamma": 4.0, "lambda": 1.5}
    code, out, err = run("train", config(loss=loss, clip_norm=clip_norm))
    assert code == 0
    assert out.strip()
    assert err.startswith("OVERSHOOT: FCL with λ = 1.5 can overshoot") == said


def test_a_sweep_is_one_submission_of_every_value_and_seed(run, config, home):
    run("jobs", "pause")
    focal = config(loss={"name": "focal"})
    code, out, _ = run(
        "train", focal, "--sweep", "loss.gamma=1,2", "--sweep", "optimizer.lr=0.1",
        "--seeds", "0,3", "--json", "-",
    )  # fmt: skip
    assert code == 0
    shown = [json.loads(run("jobs", "show", job["job"])[1]) for job in json.loads(out)]
    assert {job["state"] for job in shown} == {"queued"}
    assert len({job["group"] for job in shown}) == 1
    configs = [job["config"] for job in shown]
    assert [(c["loss"]["gamma"], c["optimizer"]["lr"], c["seed"]) for c in configs] == [
        (1.0, 0.1, 0), (1.0, 0.1, 3), (2.0, 0.1, 0), (2.0, 0.1, 3),
    ]  # fmt: skip
    assert configs[1]["name"] == "tiny, gamma = 1, lr = 0.1, seed 3"
    assert {c["epochs"] for c in configs} == {3}
    # without JSON a line for each job
    lines = run("train", focal, "--seeds", "5,6")[1].splitlines()
    assert [line.split("  ")[1:] for line in lines] == [
        ["queued", "tiny, seed 5"],
        ["queued", "tiny, seed 6"],
    ]


@pytest.mark.parametrize(
    ("words", "refusal"),
    [
        (("--sweep", "gamma=1,2"), "SETTING: 'gamma' cannot be swept; use loss.lambda, "),
        (("--sweep", "loss.n_bins=5,5.5"), "SETTING: Values of loss.n_bins are '5,5.5'; "),
        (("--sweep", "loss.n_bins=0"), "SETTING: loss.n_bins is 0; "),
        (("--seeds", "0,x"), "SEEDS: Seeds are '0,x'; "),
    ],
)
def test_what_cannot_be_swept_queues_nothing(run, config, words, refusal):
    code, _, err = run("train", config(), *words)
    assert code == 3
    assert err.startswith(refusal)
    assert json.loads(run("jobs", "list", "--json", "-")[1]) == []


@pytest.mark.nightly
@pytest.mark.slow
def test_a_sweep_that_is_waited_for_ends_with_what_became_of_each(run, config):
    changed = {"n_train": 997, "epochs": 1, "batch_size": 64, "loss": {"name": "focal"}}
    swept = ("--sweep", "loss.gamma=1,2", "--wait", "--json", "-")
    code, out, err = run("train", config(**changed), *swept)
    assert code == 0
    done = json.loads(out)
    assert [job["state"] for job in done] == ["succeeded"] * 2
    runs = [row["id"] for row in json.loads(run("runs", "list", "--json", "-")[1])]
    assert {job["run"] for job in done} <= set(runs)
    link = f"/compare?runs={done[0]['run']},{done[1]['run']}&way=sweep"
    assert err.splitlines()[-1].endswith(link)
    code, out, err = run("train", config(**changed | {"n_train": 998}), *swept)
    assert code == 3
    assert [job["state"] for job in json.loads(out)] == ["failed"] * 2
    assert err.count("SETTING: n_train is 998, the training part has 997 images; ") == 2


def test_of_a_job_whose_folder_is_gone_the_table_is_shown(run, waiting, home):
    job = waiting()
    run("jobs", "cancel", job)
    shutil.rmtree(home / "jobs" / job)
    code, out, err = run("jobs", "show", job)
    shown = json.loads(out)
    assert (code, shown["id"], shown["state"], shown["config"]) == (0, job, "cancelled", None)
    assert err == f"The folder of job {job} is gone: this is what the table says\n"
    code, _, err = run("jobs", "retry", job)
    assert code == 3
    assert err.startswith(f"JOB: The folder of job {job} is gone; ")


@pytest.mark.nightly
@pytest.mark.slow
def test_what_only_the_training_process_can_refuse_is_said_in_one_line_too(run, config, home):
    code, out, err = run("train", config(n_train=998), "--wait", "--json", "-")
    assert code == 3
    started, *_, said = err.splitlines()
    assert started.startswith("job ")
    assert said.startswith("SETTING: n_train is 998, the training part has 997 images; ")
    assert json.loads(out)["error"]["what"] == "n_train is 998, the training part has 997 images"
    ended = json.loads(run("jobs", "show", started.removeprefix("job "))[1])
    assert (ended["state"], ended["exit_code"]) == ("failed", 3)
    assert ended["failure"]["what"] == "n_train is 998, the training part has 997 images"
    assert open_library().rows(kind="train") == []


def trainer(folder: Path) -> int:
    """The process that trains in a folder."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if os.fsencode(folder) in words:
            return int(path.parent.name)
    raise AssertionError("no process trains there")


def wait_for(found: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not found():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.soak  # the suite kills one in tests/core/jobs/test_kill_rounds.py
def test_after_kill_9_a_training_is_resumed_and_each_epoch_is_there_once(run, config, home):
    n_epochs = 60
    job = run("train", config(epochs=n_epochs))[1].strip()
    folder = home / "jobs" / job
    wait_for(lambda: list(folder.glob("checkpoint/epoch-*3.pt")))
    os.kill(trainer(folder), signal.SIGKILL)
    wait_for(lambda: shown(run, job)["state"] not in {"starting", "running"})
    ended = shown(run, job)
    assert (ended["state"], ended["exit_code"], ended["resumable"]) == ("failed", -9, True)
    assert ended["failure"]["code"] in {"SIGNAL", "HOST_MEMORY"}
    trained = len(JobFolder(folder).events())
    assert 3 <= trained < n_epochs
    assert JobFolder(folder).result() is None

    code, out, err = run("jobs", "resume", job, "--wait", "--json", "-")
    assert code == 0
    first = next(line for line in err.splitlines() if line.startswith("epoch "))
    assert int(first.split()[1]) in {trained, trained + 1}  # killed before or after its checkpoint
    done = json.loads(out)
    assert done["state"] == "succeeded"
    assert done["job"] != job
    went_on = shown(run, done["job"])
    assert (went_on["parent"], went_on["relation"]) == (job, "resume")
    assert shown(run, job)["state"] == "failed"  # as it was: an end never changes
    assert [row.id for row in open_library().rows(kind="train")] == [done["run"]]
    history = open_library().history(done["run"])
    at: dict[str, list[int]] = defaultdict(list)
    for epoch, metric in zip(history.epoch.tolist(), history.metric, strict=True):
        at[metric.split(DOT)[0] if DOT in metric else metric].append(epoch)
    assert {RELIABILITY, NORMS, "val_ece"} <= set(at)
    assert set(at.pop(LEARNED)) == {n_epochs - 1}  # of all epochs, so at the last
    several = {RELIABILITY, NORMS, VALIDATION}
    for name, epochs in at.items():
        # of a distribution, the bins that are empty in an epoch are left out of it
        in_order = sorted(set(epochs)) if name in several else epochs
        assert in_order == list(range(n_epochs)), name
    pairs = list(zip(history.epoch.tolist(), history.metric, strict=True))
    assert len(pairs) == len(set(pairs))
    shares = np.array([metric.startswith(NORMS + DOT) for metric in history.metric])
    whole = np.bincount(history.epoch[shares], history.value[shares])
    assert whole == pytest.approx(np.ones(n_epochs))
    bins = open_library().bins(done["run"])
    assert bins.epoch.tolist() == np.repeat(np.arange(n_epochs), 5).tolist()
    assert len(open_library().validation_logits(done["run"])) == n_epochs


@pytest.mark.nightly
def test_waiting_for_a_training_that_is_killed_ends_as_a_lost_worker(config, home, capfd):
    with ThreadPoolExecutor(1) as pool:
        going = pool.submit(main, ["train", str(config(epochs=500)), "--wait"])
        wait_for(lambda: list(home.glob("jobs/*/checkpoint/*.pt")))
        (folder,) = {path.parents[1] for path in home.glob("jobs/*/checkpoint/*.pt")}
        os.kill(trainer(folder), signal.SIGKILL)
        assert going.result() == 4
    said = capfd.readouterr().err.splitlines()
    assert said[0] == f"job {folder.name}"
    assert said[-1].startswith(("SIGNAL: It was killed", "HOST_MEMORY: "))


def shown(run: Run, job: str) -> dict:
    """What `jobs show` says of a job."""
    return json.loads(run("jobs", "show", job)[1])


# Without waiting --------------------------------------------------------------------------------


def test_a_job_is_queued_listed_cancelled_and_retried(run, waiting, home):
    job = waiting()
    assert JobFolder(home / "jobs" / job).config() == from_json(TINY)
    code, out, err = run("jobs")
    assert (code, err) == (0, "")
    paused, line = out.splitlines()
    assert paused == "the queue is paused; python -m core jobs unpause resumes it"
    assert line.split() == [job, "queued", "cpu", "tiny"]
    assert json.loads(run("jobs", "cancel", job, "--json", "-")[1]) == {
        "job": job, "state": "cancelled",
    }  # fmt: skip
    again = run("jobs", "retry", job)[1].strip()
    listed = json.loads(run("jobs", "list", "--json", "-")[1])
    assert [(one["id"], one["state"], one["parent"]) for one in listed] == [
        (again, "queued", job), (job, "cancelled", ""),
    ]  # fmt: skip
    assert run("jobs", "logs", job) == (0, "", "")


def test_a_lost_table_is_restored(run, waiting, home):
    job = waiting()
    for path in home.glob("jobs.sqlite*"):
        path.unlink()
    assert run("jobs", "rebuild")[1] == "1 jobs restored\n"
    assert shown(run, job)["state"] == "queued"


def test_a_time_limit_that_is_none_is_refused(run, config, home):
    code, what = refused(run, home, "train", config(), "--time-limit", "0")
    assert (code, what) == ("SETTING", "The time limit is 0 s")


# Refused before anything is trained -------------------------------------------------------------


def refused(run: Run, home: Path, *words: object) -> tuple[str, str]:
    """What a refused command said, in one line; the same as JSON, and no job was made."""
    before = sorted(home.rglob("*"))
    code, out, err = run(*words)
    assert (code, out) == (3, "")
    assert err.count("\n") == 1
    code, out, again = run(*words, "--json", "-")
    assert (code, again) == (3, err)
    error = json.loads(out)["error"]
    assert err == f"{error['code']}: {error['what']}; {error['remedy']}\n"
    assert sorted(home.rglob("*")) == before
    return error["code"], error["what"]


@pytest.mark.parametrize(
    ("changed", "what"),
    [
        ({"epoch": 2}, "Config has unknown key 'epoch'"),
        ({"optimizer": {"rate": 1}}, "optimizer has unknown key 'rate'"),
        ({"loss": {"name": "adafocal", "bins": 5}}, "loss has unknown key 'bins'"),
        ({"epochs": "3"}, "epochs is '3'"),
        ({"model": "small\u202e\x1bcnn"}, "Model 'small\\u202e\\x1bcnn' is unknown"),
        ({"epoch\n": 2}, "Config has unknown key 'epoch\\n'"),
    ],
)
def test_a_wrong_config_is_refused_before_a_job_is_made(changed, what, run, config, home):
    assert refused(run, home, "train", config(**changed)) == ("SETTING", what)


@pytest.mark.parametrize(
    "content", [b"", b"{", b'{"epochs": NaN}', b"\xff\xfe", b"[" * 100_000, b"9" * 5000]
)
def test_a_file_that_is_not_json_is_refused(content, run, home, tmp_path):
    path = tmp_path / "config.json"
    path.write_bytes(content)
    assert refused(run, home, "train", path) == ("SETTING", "config.json is not JSON")


@pytest.mark.parametrize(
    ("content", "key"),
    [
        (b'{"data": "digits", "seed": 1, "seed": 2}', "seed"),
        (b'{"data": "digits", "loss": {"name": "ce", "name": "focal"}}', "name"),
        (b'{"data": "digits", "data": "digits"}', "data"),
    ],
)
def test_a_key_that_is_given_twice_is_refused(content, key, run, home, tmp_path):
    path = tmp_path / "config.json"
    path.write_bytes(content)
    what = f"config.json gives the key {key!r} twice"
    assert refused(run, home, "train", path) == ("SETTING", what)


@pytest.mark.parametrize("content", ["[]", "null", '"digits"', "3"])
def test_json_that_is_no_object_is_refused(content, run, home, tmp_path):
    path = tmp_path / "config.json"
    path.write_text(content)
    code, what = refused(run, home, "train", path)
    assert code == "SETTING"
    assert what.startswith("The config is a ")


def test_a_file_that_is_not_there_is_refused(run, home, tmp_path):
    assert refused(run, home, "train", tmp_path / "no.json") == ("FILE", "There is no file no.json")
    assert refused(run, home, "train", tmp_path)[0] == "FILE"


@pytest.mark.parametrize("act", ["show", "logs", "cancel", "retry", "resume"])
@pytest.mark.parametrize("name", ["zzzzzzzzzzzz", "../jobs/x", "", "x" * 200, "/"])
def test_an_unknown_job_is_refused(act, name, run, waiting):
    waiting()
    code, out, err = run("jobs", act, name)
    assert (code, out) == (2, "")
    assert err == f"JOB_UNKNOWN: There is no job {name[:60]!r}; see python -m core jobs list\n"


@pytest.mark.parametrize("act", ["retry", "resume"])
def test_a_job_that_waits_is_not_started_again(act, run, waiting):
    job = waiting()
    code, _, err = run("jobs", act, job)
    assert (code, err) == (3, f"JOB: Job {job} is queued; wait, or cancel it first\n")


def test_a_job_without_a_checkpoint_is_not_resumed(run, waiting):
    job = waiting()
    run("jobs", "cancel", job)
    code, _, err = run("jobs", "resume", job)
    assert (code, err) == (3, f"JOB: Job {job} left no checkpoint; retry it from the start\n")


def test_a_job_that_lost_its_config_is_not_retried(run, waiting, home):
    job = waiting()
    run("jobs", "cancel", job)
    (home / "jobs" / job / "spec.json").write_text("{")
    assert run("jobs", "retry", job)[0] == 3


@pytest.mark.parametrize(
    "words", [("jobs", "show"), ("jobs", "resume"), ("train",), ("jobs", "stop")]
)
def test_a_command_without_its_words_is_wrong_usage(words, run):
    code, out, err = run(*words)
    assert (code, out) == (3, "")
    assert err.startswith("USAGE: ")
