"""Many labels of which some are unknown: each finding's numbers are those of its own rows alone."""

from dataclasses import replace

import numpy as np
import pytest

from core.calibrators.temperature import Temperature
from core.configs import AuditConfig
from core.errors import Refused
from core.metrics import paired
from core.metrics.comparison import compared
from core.metrics.suite import audit
from core.metrics.units import resampled_counts
from core.predictions import Groups, Predictions, ScoreKind, Task, Weights
from core.reports.study_json import audit_json
from core.screens.kit.labels import label_verdicts, labels_sentence, with_unknown
from core.screens.reliability.view import bin_rows
from core.studies import clinic, posthoc

N, L, RNG = 400, 3, np.random.default_rng(5)
SCORES = RNG.random((N, L)).round(3)
TRUTH = (RNG.random((N, L)) < SCORES**1.5).astype(np.int64)
KNOWN = RNG.random((N, L)) < (0.9, 0.5, 1.0)
GROUPS = Groups.of("patient", [str(k // 3) for k in range(N)])
WEIGHTS = Weights.of("w", RNG.integers(0, 4, N).astype(np.float64))
CONFIG = AuditConfig(n_resamples=100)


def file(**more: object) -> Predictions:
    """Three findings: the first lacks a tenth of its labels, the second half, the third none."""
    labels = np.where(KNOWN, TRUTH, -1)
    names = ("edema", "mass", "nodule")
    rows = Predictions(Task.MULTILABEL, ScoreKind.SIGMOID, SCORES, labels, names)
    return replace(rows, **more)


def alone(k: int, whole: Predictions) -> Predictions:
    """One finding as a file of the rows in which it is known."""
    rows = np.flatnonzero(KNOWN[:, k])
    return Predictions(
        Task.BINARY,
        ScoreKind.SIGMOID,
        SCORES[rows, k],
        TRUTH[rows, k],
        ("no", "yes"),
        groups=None if whole.groups is None else whole.groups.take(rows),
        weights=None if whole.weights is None else whole.weights.take(rows),
    )


@pytest.mark.parametrize("more", [{}, {"groups": GROUPS}, {"weights": WEIGHTS}])
def test_each_finding_is_audited_on_its_labelled_rows_alone(more):
    whole = file(**more)
    got = audit(whole, CONFIG)
    for k in range(L):
        own = audit(alone(k, whole), CONFIG).main
        for metric, score in got.labels[k].metrics.items():
            assert score.value == own.metrics[metric].value, metric
            assert (score.low, score.n) == (own.metrics[metric].low, own.metrics[metric].n), metric
        assert got.labels[k].verdict.code == own.verdict.code
        assert got.labels[k].bins.count.sum() == own.bins.count.sum()
    eces = [label.metrics["ece"].value for label in got.labels]
    assert got.main.metrics["ece"].value == pytest.approx(np.mean(eces))
    assert got.unknown == np.count_nonzero(~KNOWN)


def test_scores_of_rows_without_a_label_change_nothing():
    """What stands in the masked cells must not matter, in any number."""
    other = np.where(KNOWN, SCORES, 0.999)
    first, second = (compared(file(scores=scores)) for scores in (SCORES, other))
    for metric, score in first.audit.main.metrics.items():
        assert score == second.audit.main.metrics[metric], metric
    for metric, draws in first.draws.items():
        np.testing.assert_array_equal(draws.draws, second.draws[metric].draws)
    fits = [posthoc.fit("beta", file(scores=scores)).calibrator for scores in (SCORES, other)]
    one, two = (fit.predict_proba(posthoc.logits_of(file())) for fit in fits)
    np.testing.assert_array_equal(one, two)
    tables = [clinic.findings(file(scores=scores)) for scores in (SCORES, other)]
    assert [(t.events, t.labelled, t.shares, t.rarer) for t in tables[:1]] == [
        (t.events, t.labelled, t.shares, t.rarer) for t in tables[1:]
    ]


def test_differences_are_drawn_on_labelled_rows_by_hand():
    """Accuracy on a resample: by finding, right over labelled among the rows drawn; then a mean."""
    whole = file()
    draws = paired.draws(whole, {}, ("accuracy",), n_resamples=50)["accuracy"]
    right = (SCORES > 0.5) == (TRUTH == 1)
    assert draws.value == pytest.approx(
        np.mean([right[KNOWN[:, k], k].mean() for k in range(L)]), abs=1e-12
    )
    counts = np.concatenate(list(resampled_counts(N, 50, 0, dtype=np.uint8))).astype(float)
    by_label = [
        (counts * KNOWN[:, k]) @ right[:, k] / (counts * KNOWN[:, k]).sum(axis=1) for k in range(L)
    ]
    np.testing.assert_allclose(draws.draws, np.mean(by_label, axis=0), atol=1e-12)
    assert draws.units.count == KNOWN.sum(axis=0).min()


def test_a_resample_without_a_labelled_row_of_a_finding_counts_each_once():
    labels = np.where(KNOWN, TRUTH, -1)
    labels[2:, 1] = -1
    labels[:2, 1] = [1, 0]
    scores = SCORES.copy()
    scores[:2, 1] = [0.9, 0.8]  # one of the two is right
    whole = replace(file(), scores=scores, labels=labels)
    drawn = paired.draws(whole, {}, ("accuracy",), n_resamples=50)["accuracy"].draws
    counts = np.concatenate(list(resampled_counts(N, 50, 0, dtype=np.uint8))).astype(float)
    missed = ~counts[:, :2].any(axis=1)
    assert missed.any()
    others = [0, 2]
    right = (scores > 0.5) == (labels == 1)
    known = labels >= 0
    shares = [
        (counts * known[:, k]) @ right[:, k] / (counts * known[:, k]).sum(axis=1) for k in others
    ]
    expected = (np.sum(shares, axis=0) + 0.5) / L
    np.testing.assert_allclose(drawn[missed], expected[missed], atol=1e-12)


def test_calibrators_are_fitted_on_labelled_rows_alone():
    whole = file(groups=GROUPS, weights=WEIGHTS)
    fitted = posthoc.fit("ts", whole).calibrator
    for k in range(L):
        own = alone(k, whole)
        logits = posthoc.logits_of(own)
        groups, weights = own.sampling
        expected = Temperature().fit(logits, own.labels, weights, groups).temperature_
        assert fitted.members_[k].temperature_ == pytest.approx(expected, rel=1e-6)
    after = posthoc.calibrated(fitted, whole)
    np.testing.assert_array_equal(after.labels, whole.labels)
    turned = (posthoc.calibrated(fitted, whole).scores > 0.5) != (SCORES > 0.5)
    assert posthoc.judge(whole, fitted).changed == np.count_nonzero(turned & KNOWN)


def test_findings_count_events_among_labelled_rows():
    findings = clinic.findings(file())
    assert findings.labelled == tuple(KNOWN.sum(axis=0))
    assert findings.events == tuple((KNOWN & (TRUTH == 1)).sum(axis=0))
    assert findings.shares == pytest.approx(
        (KNOWN & (TRUTH == 1)).sum(axis=0) / KNOWN.sum(axis=0), abs=1e-12
    )
    one = clinic.one_finding(clinic.binary_rows(file(), 1))
    np.testing.assert_array_equal(one.p, SCORES[KNOWN[:, 1], 1])


def test_rows_of_a_bin_are_rows_of_the_file():
    whole = file(row_ids=tuple(f"v{k}" for k in range(N)))
    target = audit(whole, CONFIG).labels[1]
    shown = bin_rows(whole, 1, target.bins, 0, whole.outcomes(1))
    assert shown.rows
    for row, (name, true, _, says) in zip(shown.rows, shown.table.rows, strict=True):
        assert KNOWN[row, 1]
        assert (name, says) == (f"v{row}", SCORES[row, 1])
        assert true == ("absent", "present")[TRUTH[row, 1]]


def test_a_large_group_is_measured_by_the_rows_in_which_a_label_is_known():
    """201 patients of ten films, one of 60: 3 % of the rows, also of the tenth that is known."""
    rng = np.random.default_rng(0)
    patient = np.r_[np.zeros(60, int), 1 + np.repeat(np.arange(200), 10)]
    scores = rng.beta(1, 2, (patient.size, L))
    labels = (rng.random(scores.shape) < scores).astype(np.int64)
    labels[rng.random(scores.shape) < 0.9] = -1
    rows = Predictions(Task.MULTILABEL, ScoreKind.SIGMOID, scores, labels, ("a", "b", "c"))
    found = audit(replace(rows, groups=Groups("patient", patient)), CONFIG)
    words = {target.groups.count_as for target in (found.main, *found.labels)}
    assert words == {"count as about"}
    assert "may count" not in next(note.text for note in found.notices if note.code == "GROUPED")
    listed = audit_json("f", "d", {}, "all", (), found)["groups"]
    assert (listed["n"], listed["largest"]) == (201, 60)


def test_the_headline_counts_unknown_labels():
    found = audit(file(), CONFIG)
    sentence = with_unknown(labels_sentence(label_verdicts(found.labels)), found)
    unknown = np.count_nonzero(~KNOWN)
    assert f"{unknown} of 1,200 labels are unknown and count in no number." in sentence.second
    whole = audit(file(labels=TRUTH), CONFIG)
    known = labels_sentence(label_verdicts(whole.labels))
    assert with_unknown(known, whole) == known


def test_a_probability_of_0_without_a_label_is_not_counted():
    def codes(scores: np.ndarray) -> set[str]:
        return {notice.code for notice in audit(file(scores=scores), CONFIG).notices}

    within = np.clip(SCORES, 0.001, 0.999)
    assert "ZERO_PROBABILITY" not in codes(np.where(KNOWN, within, 0.0))
    assert "ZERO_PROBABILITY" in codes(np.where(KNOWN, 0.0, within))


def test_a_finding_without_any_label_is_refused():
    labels = np.where(KNOWN, TRUTH, -1)
    labels[:, 1] = -1
    with pytest.raises(Refused, match="No row of this part has a label of mass"):
        audit(file(labels=labels), CONFIG)


def test_a_finding_known_in_rows_of_weight_0_alone_is_refused():
    weights = Weights.of("w", np.where(KNOWN[:, 1], 0.0, 1.0))
    with pytest.raises(Refused, match="No row with a weight of this part has a label of mass"):
        audit(file(weights=weights), CONFIG)


def test_runs_are_compared_where_the_same_labels_are_known():
    masked, whole = compared(file()), compared(file(labels=TRUTH))
    assert masked.rows.labels != whole.rows.labels
