"""A label of a file is judged alike on Reliability and on Chest X-ray: direction and numbers."""

from dataclasses import replace

import numpy as np
import pytest

from core.configs import AuditConfig
from core.library import SAMPLES, Library
from core.metrics import suite
from core.metrics.ranked import SortedOutcomes
from core.metrics.records import VerdictCode
from core.predictions import Predictions, ScoreKind, Task
from core.screens.kit.labels import (
    PLAIN_VERBS,
    furthest_first,
    holm_adjusted,
    label_verdicts,
    labels_sentence,
)
from core.screens.reliability.classes import label_table, labels_view
from core.screens.reliability.plain import plain_view
from core.screens.reliability.view import Subject, reliability_view
from core.screens.xray.finding import finding_view
from core.screens.xray.findings import findings_view
from core.screens.xray.words import ClinicSource
from core.studies import clinic


def sample(home):
    return Library(home, SAMPLES).load("phantom-hospital", "test")


def made(_home):
    """A rare finding that is off, one that is too extreme, one that is calibrated."""
    rng = np.random.default_rng(3)
    true = rng.normal([-3.4, -1.0, -1.0], 1.0, (3000, 3))
    labels = (rng.random((3000, 3)) < 1 / (1 + np.exp(-true))).astype(np.int64)
    logits = true * [1.0, 2.0, 1.0] + [1.0, 0.9, 0.0]
    names = ("Hernia", "Effusion", "Mass")
    return Predictions(Task.MULTILABEL, ScoreKind.LOGITS, logits, labels, class_names=names)


def off_alone(_home):
    """A label that is off among all, one that is off only when looked at alone, and a sound one."""
    rng = np.random.default_rng(16)
    true = rng.normal(-1.0, 1.0, (1200, 3))
    labels = (rng.random((1200, 3)) < 1 / (1 + np.exp(-true))).astype(np.int64)
    names = ("Mass", "Effusion", "Edema")
    logits = true * np.array([1.0, 1.2, 1.0]) + np.array([0.35, 0.0, 0.0])
    return Predictions(Task.MULTILABEL, ScoreKind.LOGITS, logits, labels, class_names=names)


@pytest.mark.parametrize("rows", [pytest.param(sample, marks=pytest.mark.nightly), made, off_alone])
def test_every_page_says_the_same_of_a_label(rows, tmp_path):
    rows = rows(tmp_path)
    audit = suite.audit(rows, AuditConfig())
    source = ClinicSource(
        run="r", split="test", digest="d" * 8, findings=rows.class_names, n=rows.n, synthetic=True
    )
    findings = clinic.findings(rows)
    view = findings_view(source, findings, ())
    by_name = {row.name: row for row in view.table.rows}
    opening = labels_view(audit, plain=False).sentence.text
    assert opening.replace(" labels", " findings") == view.sentence.text
    config = AuditConfig()
    for k, (label, line) in enumerate(
        zip(audit.labels, label_table(audit.labels).rows, strict=True)
    ):
        prepared = suite.prepare(rows, k, n_resamples=config.n_resamples, seed=config.seed)
        target = suite.diagram(prepared, n_bins=config.n_bins, level=config.level)
        one = clinic.one_finding(clinic.binary_rows(rows, k))
        for other in (target, findings.audit.labels[k], one.audit):
            assert other.verdict.code == label.verdict.code
            assert other.direction == label.direction
        one = replace(one, audit=holm_adjusted(one.audit, findings.audit.labels, k))
        opened = finding_view(source, rows.class_names[k], one).sentence
        subject = Subject("r", "test", "d" * 8, rows.class_names)
        on_reliability = reliability_view(audit, subject, chosen=target).sentence
        assert opened.text.replace(" findings", " labels") == on_reliability.text
        cell = by_name[rows.class_names[k]].cell("verdict").value
        assert cell == line[-1]


def test_a_label_that_is_off_only_when_looked_at_alone_could_be_chance_on_every_page(tmp_path):
    rows = off_alone(tmp_path)
    audit, findings = suite.audit(rows, AuditConfig()), clinic.findings(rows)
    p_values = [label.verdict.p_value for label in audit.labels]
    mass, effusion, edema = p_values
    assert max(2 * effusion, 3 * mass) > 0.05 >= effusion > mass  # Holm: the second times 2
    assert 3 * mass <= 0.05 < edema
    assert audit.labels[1].verdict.code == VerdictCode.TOO_EXTREME  # alone
    assert label_table(audit.labels).rows[1][-1] == "could be chance"  # on the board

    subject = Subject("r", "test", "d" * 8, rows.class_names)
    full = reliability_view(audit, subject, chosen=audit.labels[1]).sentence
    assert full.text == "Could be chance among 3 labels."
    assert {part.tone for part in full.parts} == {"ink"}
    assert "Taken alone, it is too extreme for “Effusion”: " in full.second
    assert f"p = {effusion:.3f}, corrected for 3 labels (Holm) p = {2 * effusion:.3f}." in (
        full.second
    )
    ranked = SortedOutcomes.of(rows.outcomes(1))
    plain = plain_view(audit, audit.labels[1], ranked, split="test")
    assert "“Effusion”" in plain.sentence.text
    assert "Taken alone it looks off; among 3 that could be chance." in plain.sentence.text
    assert {part.tone for part in plain.sentence.parts} == {"ink"}
    assert "More pictures with known answers" in plain.helps.text

    source = ClinicSource(
        run="r", split="test", digest="d" * 8, findings=rows.class_names, n=rows.n, synthetic=True
    )
    one = clinic.one_finding(clinic.binary_rows(rows, 1))
    one = replace(one, audit=holm_adjusted(one.audit, findings.audit.labels, 1))
    view = finding_view(source, "Effusion", one)
    assert view.sentence.text == "Could be chance among 3 findings."
    assert "Taken alone, it is too extreme for “Effusion”: " in view.sentence.second
    assert "corrected for 3 findings (Holm)" in view.sentence.second
    assert view.badge is None

    first = reliability_view(audit, subject, chosen=audit.labels[0]).sentence
    assert first.text.startswith("Overestimates “Mass” by ")
    assert "alone" not in first.second


def test_the_sample_has_findings_of_both_directions(tmp_path):
    verdicts = label_verdicts(suite.audit(sample(tmp_path), AuditConfig()).labels)
    codes = {verdict.audit.name: verdict.code for verdict in verdicts}
    assert codes == {
        "Nodule": VerdictCode.OVERESTIMATES,
        "Consolidation": VerdictCode.UNDERESTIMATES,
        "Effusion": VerdictCode.COULD_BE_CHANCE,
        "Cardiomegaly": VerdictCode.COULD_BE_CHANCE,
    }
    sentence = labels_sentence(verdicts, "findings")
    assert sentence.text == (
        "Of 4 findings, 1 is overestimated, 1 is underestimated and 2 could be chance."
    )
    assert {part.tone for part in sentence.parts} == {"ink", "over", "under"}
    assert sentence.second == "Corrected for 4 findings (Holm)."
    assert "1 is expected too often" in labels_sentence(verdicts, "findings", PLAIN_VERBS).text
    assert [verdict.audit.name for verdict in furthest_first(verdicts)][:2] == [
        "Nodule",
        "Consolidation",
    ]
    (alone,) = label_verdicts([verdicts[0].audit])
    assert labels_sentence([alone]).text == "The only label is overestimated."
