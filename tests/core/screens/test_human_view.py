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
    PLAIN,
    TECHNICAL,
    agreement_words,
    fits_words,
    human_sentence,
    human_view,
    tones_of,
)
from core.studies.human import HumanFits, human_study

JARGON = ("TVD", "ECE", "NLL", "entropy", "temperature", "confidence", "logit", "nats", "T =")


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
    asked = replace(fullest, agreement=0.62, low=0.598, high=0.641, confidence=0.9)
    assert agreement_words(asked) == (
        "Of 100 people asked, 62 (60 to 64) would agree with an answer that the model is 90 in "
        "100 sure of."
    )
    view = view_of(predictions)
    assert view.sentence.text == agreement_words(human_audit(predictions).fullest)
    assert view.sentence.parts[1].tone == "over"
    assert view.sentence.second.startswith("More sure than people by ")
    assert view.sentence.second.endswith("points, on 400 images of 25 votes each.")


@pytest.mark.parametrize(
    ("by", "start"), [(1.0, "About as sure as people;"), (0.4, "Less sure than")]
)
def test_a_gap_that_could_be_chance_is_called_so(by, start):
    view = view_of(run(by))
    assert view.sentence.second.startswith(start)
    assert ("could be chance" in view.sentence.second) == (by == 1.0)


def test_rows_with_tied_votes_are_counted_with_what_becomes_of_them():
    votes = np.tile([[3.0, 1.0, 0.0]], (40, 1))
    votes[:4] = [2.0, 2.0, 0.0]
    view = view_of(run(n=40, votes=Votes.of("v.csv", votes), labels=np.zeros(40, np.int64)))
    tied = "4 with a tie for the most votes, shared among the tied classes"
    assert tied in view.caption


def test_a_lone_row_and_a_lone_vote_are_named_in_the_singular():
    audit = human_audit(run(n=40, people=1), AuditConfig(n_resamples=50))
    assert human_sentence(audit, plain=False).second.endswith(", on 40 images of 1 vote each.")
    lone = human_sentence(replace(audit, n=1, mean=1.2, most=2.0), plain=True).second
    assert lone.endswith(", on 1 picture of about 1 person each.")
    view = view_of(run(n=40, people=1))
    assert ", 1 vote each, " in view.caption
    assert (view.figure, view.fits_words, view.fits) == (None, "", ())  # nobody disagrees


def test_every_number_has_an_interval_and_a_floor():
    view = view_of(run())
    assert [tile.label for tile in view.numbers] == [
        "TVD", "ECE against votes", "Entropy gap", "Ranked alike", "Soft NLL",
    ]  # fmt: skip
    assert all(" to " in tile.interval and tile.help for tile in view.numbers)
    notes = [tile.note for tile in view.numbers]
    assert all(note.startswith(("floor ", "at best ", "at least ")) for note in notes)
    assert "a model that knew the true shares" in notes[-1]
    shares = run()
    shares = replace(shares, votes=Votes.of("v.csv", shares.votes.of_row / 25))
    notes = [tile.note for tile in view_of(shares).numbers]
    assert notes[0] == "no floor: shares do not tell how many people were asked"
    plain = [tile.note for tile in view_of(shares, plain=True).numbers]
    assert not any("floor" in note for note in plain)
    assert plain[0] == (
        "cannot be set against a model that knew what people think: "
        "shares do not tell how many people were asked"
    )


def test_what_each_fit_does_to_both_errors_is_said():
    words = view_of(run()).fits_words
    labels, votes, judged = words.split(". ")[0], words.split("Fitted on votes")[1], words[-60:]
    assert labels.startswith("Fitted on majority labels (T = ")
    assert "the error against people rises by" in labels
    assert "that against the majority changes by −" in labels
    assert labels.endswith(", which could be chance")
    assert "the error against people falls by" in votes
    assert judged.endswith("Judged on 200 images, fitted on 200 others.")
    refused = HumanFits(
        fit_rows=0, test_rows=0, fit_name="", test_name="test", refusal="12 rows are too few"
    )
    assert fits_words(refused, PLAIN) == "No temperature was fitted: 12 rows are too few."
    table = view_of(run()).fits
    assert [row.name for row in table][:2] == ["As read", "Temperature scaling"]
    assert table[1].notes[0] == "on majority labels"


def test_a_change_is_said_between_its_ends_whichever_way_it_goes():
    for by in (2.5, 0.4):
        words = view_of(run(by)).fits_words
        changes = re.findall(r"(?:falls|rises) by (\S+) points \((\S+) to (\S+)\)", words)
        assert changes
        for value, low, high in changes:
            assert 0.0 < float(low) <= float(value) <= float(high)
    assert "falls by" in words


def test_plain_words_have_no_jargon():
    view = view_of(run(), plain=True)
    texts = [view.sentence.text, view.sentence.second, view.fits_words]
    texts += [view.fits_title, view.far_title, view.figure.title, view.figure.explanation]
    texts += [text for tile in view.numbers for text in (tile.label, tile.note, tile.help)]
    texts += [column.label for column in view.far_rows.columns]
    for text in texts:
        assert not any(word in text for word in JARGON), text


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
    assert [swatch.text for swatch in view.key] == [
        "a model that knew the true shares", "more sure than it", "less sure", "within chance",
    ]  # fmt: skip


def test_where_nobody_counted_votes_groups_are_held_against_zero():
    predictions = run()
    votes = Votes.of("v.csv", predictions.votes.of_row / 25.0)
    view = view_of(replace(predictions, votes=votes))
    assert "Intervals that exclude 0: " in view.figure.alt
    assert [swatch.text for swatch in view.key] == [
        "more sure than people", "less sure", "within chance",
    ]  # fmt: skip
