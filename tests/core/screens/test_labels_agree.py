"""A label of a file is judged alike on Reliability and on Chest X-ray: direction and numbers."""

import numpy as np
import pytest

from core.configs import AuditConfig
from core.library import SAMPLES, Library
from core.metrics import suite
from core.metrics.verdict_codes import VerdictCode
from core.predictions import Predictions, ScoreKind, Task
from core.screens.kit.labels import (
    PLAIN_VERBS,
    furthest_first,
    label_verdicts,
    labels_sentence,
)
from core.screens.kit.sentences import verdict_sentence
from core.screens.reliability.classes import label_table
from core.screens.reliability.labels import labels_view
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


@pytest.mark.parametrize("rows", [sample, made])
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
        opened = finding_view(source, rows.class_names[k], one).sentence
        assert opened.text == verdict_sentence(target).text
        cell = by_name[rows.class_names[k]].cell("verdict").value
        assert cell == line[-1]


def test_the_sample_has_findings_of_both_directions(tmp_path):
    verdicts = label_verdicts(suite.audit(sample(tmp_path), AuditConfig()).labels)
    codes = {verdict.audit.name: verdict.code for verdict in verdicts}
    assert codes == {
        "Nodule": VerdictCode.OVER_CONFIDENT,
        "Consolidation": VerdictCode.UNDER_CONFIDENT,
        "Effusion": VerdictCode.COULD_BE_CHANCE,
        "Cardiomegaly": VerdictCode.COULD_BE_CHANCE,
    }
    sentence = labels_sentence(verdicts, "findings")
    assert sentence.text == (
        "Of 4 findings, 1 is over-confident, 1 is under-confident and 2 could be chance."
    )
    assert {part.tone for part in sentence.parts} == {"ink", "over", "under"}
    assert sentence.second == "Corrected for 4 findings (Holm)."
    assert "1 is expected too often" in labels_sentence(verdicts, "findings", PLAIN_VERBS).text
    assert [verdict.audit.name for verdict in furthest_first(verdicts)][:2] == [
        "Nodule",
        "Consolidation",
    ]
    (alone,) = label_verdicts([verdicts[0].audit])
    assert labels_sentence([alone]).text == "The only one of the labels is over-confident."
