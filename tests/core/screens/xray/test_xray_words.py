"""Words of the chest films: names of findings, and labels of columns."""

import numpy as np
import pytest

from core.predictions import Groups, Predictions, ScoreKind, Task, Weights
from core.screens.xray import finding, findings, saliency
from core.screens.xray.words import PLAIN, TECHNICAL, ClinicSource
from core.studies.posthoc import PosthocRows


@pytest.mark.parametrize(
    ("words", "name", "label", "inside"),
    [
        (TECHNICAL, "Pleural_Thickening", "Pleural Thickening", "pleural thickening"),
        (PLAIN, "Pleural_Thickening", "a thickened lung lining (Pleural Thickening)", None),
        (PLAIN, "Pneumonia", "Pneumonia", "pneumonia"),
        (TECHNICAL, "lung_cat", "lung cat", "“lung cat”"),
        (PLAIN, "lung_cat", "lung cat", "“lung cat”"),
    ],
)
def test_each_edition_has_its_names_of_findings(words, name, label, inside):
    assert words.label(name) == label
    assert words.title(name) == label[0].upper() + label[1:]
    assert words.inside(name) == (inside or "a thickened lung lining")


@pytest.mark.parametrize(
    "columns",
    [finding.BAND_COLUMNS, findings.BIN_COLUMNS, saliency.POINT_COLUMNS, saliency.STAGE_COLUMNS],
)
def test_no_two_columns_share_a_label(columns):
    labels = [column.label for column in columns]
    assert len(set(labels)) == len(labels)


def test_a_source_counts_the_rows_that_are_shown_and_their_groups():
    """Six films of four patients, of which a finding is known in four of three."""
    rows = Predictions(
        Task.MULTILABEL, ScoreKind.PROBABILITIES, np.full((6, 2), 0.5),
        np.array([[1, 0], [0, 1], [-1, 0], [1, 1], [-1, 0], [0, 0]]), ("Effusion", "Mass"),
        groups=Groups.of("patient", ["a", "a", "b", "c", "c", "d"]),
        weights=Weights("weight", np.array([1.0, 2.0, 1.0, 1.0, 0.5, 0.5])),
    )  # fmt: skip
    named = {"run": "St. Mary", "split": "test", "digest": "d", "synthetic": False}
    of_all = ClinicSource.of(rows, **named)
    assert (of_all.n, of_all.groups, of_all.weights) == (6, "4 patients", "weight")
    assert (of_all.rest, of_all.recalibrated) == ("", False)
    one = ClinicSource.of(rows, **named, label=0)  # rows 0, 1, 3 and 5, of a, c and d
    assert (one.n, one.groups, one.findings) == (4, "3 patients", ("Effusion", "Mass"))
    numbers = np.array([0, 1]), np.array([2, 3, 4, 5])
    cut = PosthocRows(
        fit_from=rows, test_from=rows, fit_name="test", test_name="test", cut=(1 / 3, 7),
        numbers=numbers,
    )  # fmt: skip
    rest = ClinicSource.of(rows, **named, parts=cut)
    assert (rest.n, rest.groups, rest.recalibrated) == (4, "3 patients", True)  # b, c and d
    assert rest.rest == "the films not fitted on (4, seed 7)"
    known = ClinicSource.of(rows, **named, parts=cut, label=0)  # rows 3 and 5, of c and d
    assert (known.n, known.groups) == (2, "2 patients")
