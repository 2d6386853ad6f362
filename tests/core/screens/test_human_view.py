"""What is said of a model beside people: out of 100, chance named, names cut."""

import re
from dataclasses import replace

import numpy as np
import pytest

from core.configs import AuditConfig
from core.metrics.human import human_audit
from core.predictions import Predictions, ScoreKind, Task, Votes
from core.screens.kit.theme import LIGHT
from core.screens.reliability.human import (
    TECHNICAL,
    agreement_words,
    human_view,
    tones_of,
)
from core.studies.human import human_study


def run(by=2.5, n=400, people=25, k=3, **changes):
    rng = np.random.default_rng(6)
    true = 1.3 * rng.normal(size=(n, k))
    p = np.exp(true) / np.exp(true).sum(axis=1, keepdims=True)
    votes = np.array([rng.multinomial(people, row) for row in p]).astype(float)
    given = {"scores": by * true, "labels": votes.argmax(axis=1)}
    given["votes"] = Votes.of("v.csv", votes)
    return Predictions(Task.MULTICLASS, ScoreKind.LOGITS, **given | changes)


def view_of(predictions, *, plain=False, name="a run"):
    study = human_study({"test": predictions}, "test")
    return human_view(study, predictions, split="test", plain=plain)


def test_the_first_sentence_is_the_fullest_bin():
    predictions = run()
    audit = human_audit(predictions, AuditConfig(n_resamples=100))
    fullest = audit.fullest
    assert fullest.count == max(vote_bin.count for vote_bin in audit.bins)
    view = view_of(predictions)
    assert view.sentence.text == agreement_words(human_audit(predictions).fullest)


@pytest.mark.parametrize(
    ("by", "start"), [(1.0, "About as sure as people;"), (0.4, "Less sure than")]
)
def test_a_gap_that_could_be_chance_is_called_so(by, start):
    view = view_of(run(by))
    assert view.sentence.second.startswith(start)
    assert ("could be chance" in view.sentence.second) == (by == 1.0)


def test_a_change_is_said_between_its_ends_whichever_way_it_goes():
    for by in (2.5, 0.4):
        words = view_of(run(by)).fits_words
        changes = re.findall(r"(?:falls|rises) by (\S+) points \((\S+) to (\S+)\)", words)
        assert changes
        for value, low, high in changes:
            assert 0.0 < float(low) <= float(value) <= float(high)
    assert "falls by" in words


def test_names_are_cut_and_shown_letter_by_letter():
    odd = "<b>x</b>" + "y" * 200
    predictions = run(
        row_ids=tuple(f"{odd}{k}" for k in range(400)), class_names=("<i>a</i>" * 9, "b", "c")
    )
    view = view_of(predictions)
    assert max(len(str(row[0])) for row in view.far_rows.rows) == 60
    assert max(len(str(row[1])) for row in view.far_rows.rows) <= 30
    assert len(view.far_rows.rows) == 200
    figure = view.figure.figure("light")
    assert "<i>" not in figure.to_json()


def test_the_figure_draws_every_group_and_says_so():
    card = view_of(run()).figure
    figure = card.draw(LIGHT)
    known = next(trace for trace in figure.data if trace.name == "known")
    marks = [trace for trace in figure.data if trace.name != "known"]
    assert sum(len(trace.x) for trace in marks) == len(card.table.rows) == len(known.x)
    assert card.alt.startswith(f"Gap in {len(card.table.rows)} groups of images")
    assert TECHNICAL.axis in figure.layout.xaxis.title.text


def test_a_group_is_held_against_a_model_that_knew_the_people():
    """Few votes make a model of exactly their shares look unsure where they agree by luck."""
    predictions = run(by=1.0, n=1_200, people=3)
    view = view_of(predictions)
    groups = human_audit(predictions).disagreement
    assert groups.high[0] < 0.0 < groups.low[-1]  # 0 would call it off at both ends
    beyond = int(np.sum((groups.low > groups.known) | (groups.high < groups.known)))
    assert beyond < len(groups.gap)
    assert view.figure.alt.endswith(
        f" A model that knew the true shares: {100 * groups.known[0]:+.1f} and "
        f"{100 * groups.known[-1]:+.1f}. Intervals that exclude its value: {beyond} of "
        f"{len(groups.gap)}.".replace("-", "−")
    )
    exact = replace(groups, gap=groups.known, low=groups.known - 0.01, high=groups.known + 0.01)
    assert set(tones_of(exact)) == {"few"}
    assert set(tones_of(replace(exact, low=groups.known + 0.001))) == {"over"}
    assert set(tones_of(replace(exact, high=groups.known - 0.001))) == {"under"}
