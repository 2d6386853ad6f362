"""The summary of a file of many labels: the same verdicts as its table, the worst first."""

from dataclasses import replace

from core.metrics.records import Gap, VerdictCode
from core.screens.kit.labels import label_verdicts


def test_an_interval_ascends_whichever_way_a_label_is_off(make_target):
    over, under = (
        replace(make_target(code, target=0), direction=gap)
        for code, gap in (
            (VerdictCode.OVER_CONFIDENT, Gap(0.1, 0.06, 0.13)),
            (VerdictCode.UNDER_CONFIDENT, Gap(-0.1, -0.13, -0.06)),
        )
    )
    sizes = [verdict.size for verdict in label_verdicts((over, under))]
    assert sizes == ["10.0 points (6.0 to 13.0)"] * 2
