"""Tables of the chest films: no two columns share a label, which the page would draw as one."""

import pytest

from core.screens.xray import bands, findings, saliency


@pytest.mark.parametrize(
    "columns", [bands.COLUMNS, findings.BIN_COLUMNS, saliency.POINT_COLUMNS, saliency.STAGE_COLUMNS]
)
def test_labels_are_unique(columns):
    labels = [column.label for column in columns]
    assert len(set(labels)) == len(labels)
