"""Tables of the chest films: no two columns share a label, which the page would draw as one."""

import pytest

from core.screens.xray import findings, plain, saliency


@pytest.mark.parametrize(
    "columns", [plain.COLUMNS, findings.BIN_COLUMNS, saliency.POINT_COLUMNS, saliency.STAGE_COLUMNS]
)
def test_labels_are_unique(columns):
    labels = [column.label for column in columns]
    assert len(set(labels)) == len(labels)
