"""The command behind the tables of 20 Newsgroups: what it trains, measures and writes."""

import json

import numpy as np
import pytest

from core.jobs.local import open_jobs
from core.predictions import Predictions, ScoreKind, Task
from tests.benchmarks.newsgroups import __main__ as command
from tests.benchmarks.newsgroups import figures, page
from tests.benchmarks.newsgroups.vectors import vectors_file


def test_what_the_papers_print_stands_with_its_paper_and_its_doubt():
    assert page.papers("adafocal", "ece_em", "none") == "2.62 G"
    assert page.papers("adafocal", "error", "none") == "28.53 G"
    assert sorted(page.papers("ce", "ece_em", "none").split(", ")) == ["17.91 M", "18.57 G"]
    assert sorted(page.temperatures("ce", "ece_em").split(", ")) == ["3.30 M", "3.78 G"]
    assert page.papers("ce", "ece_ew", "ts") == "2.39 M"
    assert "15.48 F?" in page.papers("brier", "ece_ew", "none").split(", ")
    assert all(page.papers(loss, "error", "none") for loss in figures.LOSSES)


def asked(tmp_path, **changes):
    given = {"root": tmp_path / "groups", "vectors": tmp_path / "glove.txt", "epochs": 3}
    return figures.config("text_cnn", "fcl", 1, **(given | changes))


def test_a_training_is_the_same_wherever_its_files_lie(tmp_path):
    one = asked(tmp_path)
    assert (one.epochs, one.seed, one.keep, one.optimizer.name) == (3, 1, "val_error", "adam")
    assert one.loss == {"name": "fcl", "gamma": 5.0, "lambda": 4.5, "two_sided": False}
    elsewhere = asked(tmp_path, root=tmp_path / "b", vectors=tmp_path / "b" / "glove.txt")
    assert figures.identity(one) == figures.identity(elsewhere)
    assert one.digest != elsewhere.digest
    every = {
        figures.identity(
            figures.config(network, loss, seed, root=tmp_path, vectors=tmp_path / "g", epochs=2)
        )
        for network in figures.NETWORKS
        for loss in figures.LOSSES
        for seed in figures.SEEDS
    }
    assert len(every) == 36


def test_scores_of_logits_three_times_as_large_have_three_times_the_temperature():
    rng = np.random.default_rng(0)
    logits = rng.normal(0, 2, (4000, 5))
    p = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    labels = np.array([rng.choice(5, p=row) for row in p])

    def rows(scale):
        return Predictions(Task.MULTICLASS, ScoreKind.LOGITS, scale * logits, labels)

    one, three = figures.scores(rows(1), rows(1)), figures.scores(rows(3), rows(3))
    assert one["error"] == three["error"] == pytest.approx((logits.argmax(1) != labels).mean())
    assert one["t_nll"] == pytest.approx(1, abs=0.05)  # labels are drawn from what they say
    assert three["t_nll"] == pytest.approx(3 * one["t_nll"], rel=1e-5)
    assert three["nll_after"] == pytest.approx(one["nll_after"], rel=1e-6)
    assert three["ece"] > 0.1 > three["ece_after"]
    assert three["ada_ece"] > 0.1 > three["ada_ece_after"]
    assert three["t_ece"] == pytest.approx(3, abs=0.4)
    assert three["t_ece"] * 10 == pytest.approx(round(three["t_ece"] * 10))  # on the papers' grid


def test_vectors_of_the_package_become_a_text_file(tmp_path):
    numbers = [round(0.01 * k, 2) for k in range(100)]
    entries = {"the": [*numbers, 3.2, 0], '"': [*numbers, 3.2, 1], "it's": [*numbers, 3.2, 2]}
    package = tmp_path / "package.json"
    text = json.dumps({"words": ["the"], "vectors": entries, "unkVector": [0, 0]})
    package.write_text(text.replace(" ", ""))
    lines = vectors_file(package, tmp_path).read_text().splitlines()
    assert [line.split()[0] for line in lines] == ["the", "it's"]
    assert [float(cell) for cell in lines[0].split()[1:]] == numbers
    text_file = tmp_path / "own.txt"
    assert vectors_file(text_file, tmp_path) == text_file


@pytest.mark.nightly
def test_the_command_trains_what_is_missing_and_writes_the_tables(tmp_path, monkeypatch, capsys):
    rng = np.random.default_rng(0)
    for group in ("alt.one", "sci.two"):
        folder = tmp_path / "groups" / group
        folder.mkdir(parents=True)
        for k in range(150):
            words = " ".join(f"{group[:3]}{rng.integers(9)}" for _ in range(8))
            (folder / str(k)).write_text(f"From: a@b.org\n\n{words} shared\n")
    cells = " ".join(["0.1"] * 100)
    (tmp_path / "glove.txt").write_text(f"shared {cells}\n")
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "measurements.md").write_text("\n".join(["Before", *command.MARKERS, "After"]))
    monkeypatch.setenv("CANDOR_HOME", str(tmp_path / "before"))
    monkeypatch.setattr(command, "SEEDS", (0,))
    monkeypatch.setattr(command, "LOSSES", {"ce": {}})
    monkeypatch.setattr(command, "EPOCHS", {"text_mean": 2})
    given = [str(tmp_path / "groups"), str(tmp_path / "glove.txt"), "--networks", "text_mean"]
    given += ["--work", str(tmp_path / "work"), "--docs", str(docs)]
    monkeypatch.setattr("sys.argv", ["newsgroups", *given])

    command.main()
    (run,) = figures.read(docs / command.FIGURES)
    assert (run.network, run.loss, run.seed) == ("text_mean", "ce", 0)
    assert 1 <= run.epoch <= 2
    assert 0 <= run.error <= 1
    written = (docs / "measurements.md").read_text()
    assert f"| cross-entropy | {100 * run.error:.2f} |" in written
    assert "2 epochs, rate 0.005, 400 words" in written
    assert written.startswith("Before")
    assert written.endswith("After")

    command.main()
    assert len(open_jobs().list()) == 1
    (docs / command.FIGURES).unlink()
    command.main()  # the run is still in its library
    assert figures.read(docs / command.FIGURES) == [run]
    assert len(open_jobs().list()) == 1


def test_the_tables_in_the_docs_are_those_of_the_figures_beside_them():
    path = command.DOCS / command.FIGURES
    text = (command.DOCS / "measurements.md").read_text("utf-8")
    begin, end = command.MARKERS
    between = text.partition(begin)[2].partition(end)[0].strip()
    lines = page.lines(figures.read(path), figures.settings(path))
    assert between == "\n".join(lines).strip()
