"""The command behind the tables of 20 Newsgroups: what it trains, measures and writes."""

import numpy as np
import pytest

from core.predictions import Predictions, ScoreKind, Task
from tests.benchmarks.newsgroups import __main__ as command
from tests.benchmarks.newsgroups import figures, page


def test_what_the_papers_print_stands_with_its_paper_and_its_doubt():
    assert page.papers("adafocal", "ece_em", "none") == "2.62 G"
    assert page.papers("adafocal", "error", "none") == "28.53 G"
    assert sorted(page.papers("ce", "ece_em", "none").split(", ")) == ["17.91 M", "18.57 G"]
    assert sorted(page.temperatures("ce", "ece_em").split(", ")) == ["3.30 M", "3.78 G"]
    assert page.papers("ce", "ece_ew", "ts") == "2.39 M"
    assert "15.48 F?" in page.papers("brier", "ece_ew", "none").split(", ")
    assert all(page.papers(loss, "error", "none") for loss in figures.LOSSES)


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


def test_the_tables_in_the_docs_are_those_of_the_figures_beside_them():
    path = command.DOCS / command.FIGURES
    text = (command.DOCS / "measurements.md").read_text("utf-8")
    begin, end = command.MARKERS
    between = text.partition(begin)[2].partition(end)[0].strip()
    lines = page.lines(figures.read(path), figures.settings(path))
    assert between == "\n".join(lines).strip()
