"""Every sentence that claims more than it counted is in the code, and its rate on the page."""

from pathlib import Path

import pytest

from core.metrics import METRICS
from tests.benchmarks.claims.sentences import CLAIMED, Claimed, source

PAGE = (Path(__file__).parents[2] / "docs" / "coverage.md").read_text("utf-8")
SECTIONS = PAGE.split("\n## ")[1:]


@pytest.mark.parametrize("claimed", CLAIMED, ids=lambda one: one.where)
def test_a_listed_sentence_is_still_said(claimed: Claimed) -> None:
    assert claimed.said in source(claimed)


@pytest.mark.parametrize("claimed", CLAIMED, ids=lambda one: one.where)
def test_a_listed_sentence_has_its_row(claimed: Claimed) -> None:
    listed = next(part for part in SECTIONS if part.startswith("Where each sentence is tested"))
    assert f"| `{claimed.said}` | {claimed.page} |" in listed
    if claimed.section:
        held = next(part for part in SECTIONS if part.startswith(claimed.section))
        assert f"\n| {claimed.row} |" in held


# Of which the interval is that of another one, or a share.
SAME = {
    "brier_event": "brier",  # half of it
    "ece_answer": "ece",  # of the answers, as in most designs there
    **{name: f"share: {name}" for name in ("accuracy", "error", "s99_share", "s99_accuracy")},
}


NO_INTERVAL = {"spiegelhalter_z", *(key for key, metric in METRICS.items() if metric.of_print)}


@pytest.mark.parametrize("metric", sorted(METRICS.keys() - NO_INTERVAL))
def test_every_interval_of_a_metric_has_its_row(metric: str) -> None:
    assert f"\n| {SAME.get(metric, metric)} |" in PAGE
