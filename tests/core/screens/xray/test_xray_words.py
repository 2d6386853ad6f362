"""Words of the chest films: names of findings, and labels of columns."""

import pytest

from core.screens.xray import finding, findings, saliency
from core.screens.xray.words import PLAIN, TECHNICAL


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
