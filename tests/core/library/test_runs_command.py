"""`python -m core runs ...` does to a library what the pages do."""

import json
from pathlib import Path

import numpy as np
import pytest

from core.__main__ import main
from tests.core.library.test_history import CONFIG, ENVIRONMENT, keep_trained


@pytest.fixture
def run(home, monkeypatch, capsys):
    """Run a command on the library under test; return its exit code and what it printed."""
    monkeypatch.setenv("CANDOR_HOME", str(home))

    def run(*words: str) -> tuple[int, str, str]:
        code = main(["runs", *words])
        return code, *capsys.readouterr()

    return run


def test_list_shows_own_runs_and_samples(run, keep):
    run_id = keep("mine <i>")
    code, out, _ = run("list")
    assert code == 0
    assert out.splitlines()[0].split()[:2] == [run_id, "upload"]
    assert "digits-overconfident" in out
    code, out, _ = run("list", "--json", "-")
    rows = json.loads(out)
    assert rows[0]["name"] == "mine <i>"
    assert rows[0]["metrics"]["ece"] == {"value": 0.05, "low": 0.04, "high": 0.07}


def test_show_prints_the_manifest_and_where_the_arrays_lie(run, keep, library):
    run_id = keep("a")
    code, out, _ = run("show", run_id, "--files", "--json", "-")
    shown = json.loads(out)
    assert code == 0
    assert shown.pop("files") == library.files(run_id)
    assert shown == library.get(run_id).to_json()


def test_show_of_a_training_holds_config_environment_and_where_its_history_lies(run, library):
    kept = keep_trained(library)
    shown = json.loads(run("show", kept.id, "--files", "--json", "-")[1])
    assert shown["kind"] == "train"
    assert (shown["config"], shown["environment"]) == (CONFIG, ENVIRONMENT)
    assert shown["history"]["last"] == {"val_loss": 0.5 / 3, "val_ece": 2.0}
    for key in ("file", "bins", "validation"):
        path = Path(shown["files"][shown["history"][key]])
        assert path.is_absolute()
        assert path.is_file()


def test_rename_tag_delete_restore_and_rebuild(run, keep, library):
    run_id = keep("old")
    assert run("rename", run_id, "new")[0] == 0
    assert run("tag", run_id, "x", "y z")[0] == 0
    assert (library.get(run_id).name, library.get(run_id).tags) == ("new", ("x", "y z"))
    assert run_id in run("delete", run_id)[1]
    assert library.rows() == []
    assert run("restore", run_id)[0] == 0
    assert [row.id for row in library.rows()] == [run_id]
    assert run("rebuild-index")[0] == 0


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("{", "MANIFEST"),
        ('{"schema_version": 99}', "SCHEMA_VERSION"),
        ('{"schema_version": 3}', "MANIFEST"),
        (None, "DAMAGED"),
    ],
)
def test_a_damaged_run_stays_in_the_list(text, code, run, keep, library, home):
    keep("good")
    run_id = keep("bad")
    path = home / "runs" / run_id / "manifest.json"
    path.write_text(text) if text else path.unlink()
    (line,) = [line for line in run("list")[1].splitlines() if line.startswith(run_id)]
    assert line.split()[1] == "damaged"
    rows = json.loads(run("list", "--json", "-")[1])
    (bad,) = [row for row in rows if row["damaged"]]
    assert (bad["id"], bad["name"], bad["metrics"]) == (run_id, None, None)
    assert {frozenset(row) for row in rows} == {frozenset(bad)}
    assert "1 damaged" in run("rebuild-index")[1]
    assert run("show", run_id)[2].startswith(f"{code}: ")
    assert run("delete", run_id)[0] == 0
    assert run_id not in run("list")[1]
    assert "damaged" not in run("rebuild-index")[1]
    assert run("restore", run_id)[:2] == (0, "restored\n")
    assert f"{run_id}  damaged" in run("list")[1]


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("show", "nothing"), "RUN_UNKNOWN"),
        (("delete", "../runs"), "RUN_UNKNOWN"),
        (("restore", "nothing"), "RUN_UNKNOWN"),
        (("delete", "digits-fair"), "SAMPLE"),
        (("rename", "digits-fair", "x"), "SAMPLE"),
    ],
)
def test_refusals_end_with_code_2_and_one_line(words, code, run, keep):
    keep("a")
    exit_code, out, error = run(*words)
    assert (exit_code, out) == (2, "")
    assert error.startswith(f"{code}: ")
    assert error.count("\n") == 1


def test_exported_run_is_read_back_with_the_same_scores_labels_and_ids(
    run, keep, library, tmp_path
):
    run_id = keep("a", seed=4)
    assert run("export", run_id, "--out", str(tmp_path / "a.npz"))[0] == 0
    code, out, error = run("import", str(tmp_path / "a.npz"), "--name", "again")
    assert code == 0, error
    (again,) = library.rows(search="again")
    assert again.id in out
    old, new = library.load(run_id, "test"), library.load(again.id, "test")
    assert new.scores.tobytes() == old.scores.tobytes()
    assert new.labels.tolist() == old.labels.tolist()
    assert (new.kind, new.row_ids, new.class_names) == (old.kind, old.row_ids, old.class_names)


def test_scores_of_two_models_become_two_runs(run, library, tmp_path):
    p = np.random.default_rng(2).random((40, 2)).round(3)
    y = (p.mean(axis=1) > 0.5).astype(int)
    rows = [f"{a},{b},{label}" for (a, b), label in zip(p, y, strict=True)]
    file = tmp_path / "pair.csv"
    file.write_text("\n".join(["prob_old,prob_new,label", *rows]))
    code, _, error = run("import", str(file))
    assert (code, library.rows(kind="upload")) == (2, [])
    assert "UNDECIDED" in error
    code, out, error = run("import", str(file), "--each-model", "--tag", "t")
    assert (code, error) == (0, "")
    assert [line.split("  ")[1] for line in out.splitlines()] == [
        "pair.csv prob_old",
        "pair.csv prob_new",
    ]
    kept = {row.name: library.load(row.id, "test").scores for row in library.rows(search="pair")}
    np.testing.assert_allclose(kept["pair prob_old"], p[:, 0])
    np.testing.assert_allclose(kept["pair prob_new"], p[:, 1])


HISTORY = """epoch,bin,lower,upper,count,confidence,accuracy,gamma
0,0,0.25,0.5,30,0.4,0.5,0.9
0,1,0.5,0.875,0,,,1.0
"""


def test_a_history_is_recognised_kept_and_listed(run, library, tmp_path):
    (tmp_path / "theirs.csv").write_text(HISTORY)
    code, out, error = run("import", str(tmp_path / "theirs.csv"))
    assert code == 0, error
    (row,) = library.rows()
    assert (row.id, row.kind, row.name) == (out.strip(), "history", "theirs")
    bins = library.bins(row.id)
    assert bins.count.tolist() == [30, 0]
    np.testing.assert_allclose(bins.gap, [-0.1, 0.0])
    assert library.get(row.id).source.file == "theirs.csv"
    assert f"{row.id}  history" in run("list")[1]
    shown = json.loads(run("show", row.id, "--files", "--json", "-")[1])
    assert (shown["kind"], shown["splits"], list(shown["files"])) == (
        "history", {}, ["bins.parquet"],
    )  # fmt: skip


def test_a_history_that_contradicts_itself_is_not_kept(run, library, tmp_path):
    (tmp_path / "bad.csv").write_text(HISTORY.replace("0,1,0.5", "0,1,0.125"))
    code, out, error = run("import", str(tmp_path / "bad.csv"))
    assert (code, out) == (2, "")
    assert error.startswith(
        "HISTORY_BINS: bad.csv: lower is below that of the bin before (epoch 0, bin 1)"
    )
    assert library.rows(kind="history") == []


def test_a_history_cannot_be_audited(tmp_path, capsys):
    (tmp_path / "h.csv").write_text(HISTORY)
    assert main(["audit", str(tmp_path / "h.csv")]) == 2
    assert capsys.readouterr().err.startswith("BIN_HISTORY: h.csv: A history of bins")
