"""The summary of a file of many labels: the same verdicts as its table, the worst first."""

import re
from dataclasses import replace

from core.metrics.records import Gap, VerdictCode
from core.screens.kit.labels import label_verdicts
from core.screens.reliability.classes import labels_view


def test_labels_are_counted_by_verdict_and_listed_the_worst_first(make_audit, make_target):
    codes = (
        VerdictCode.SOUND,
        VerdictCode.OVER_CONFIDENT,
        VerdictCode.COULD_BE_CHANCE,
        VerdictCode.MIXED,
        VerdictCode.OVER_CONFIDENT,
    )
    p_values = (0.5, 0.0001, 0.3, 0.0001, 0.04)  # the last does not survive looking at five
    labels = tuple(
        replace(target, name=f"label {i}", verdict=replace(target.verdict, p_value=p))
        for i, (target, p) in enumerate(
            zip((make_target(code, target=0) for code in codes), p_values, strict=True)
        )
    )
    worse = labels[3].metrics["ece"]
    worse = replace(labels[3], metrics={"ece": replace(worse, value=0.3)})
    audit = make_audit(labels[0], task="multilabel")
    audit = replace(audit, labels=(*labels[:3], worse, labels[4]))
    view = labels_view(audit, plain=False)
    assert view.sentence.text == (
        "Of 5 labels, 1 is over-confident, 1 is off at some scores, 1 "
        "is well calibrated and 2 could be chance."
    )
    assert view.order == (3, 1, 0, 2, 4)
    assert [row[0] for row in view.table.rows] == [f"label {i}" for i in view.order]
    assert [row[-1] for row in view.table.rows][:2] == ["mixed", "over-confident"]
    assert view.shown == view.table
    drawn = view.figure.figure("light")
    assert list(drawn.layout.yaxis.ticktext) == [f"label {i}" for i in view.order]
    filled = [trace for trace in drawn.data if trace.name == "over"]
    assert [list(trace.customdata) for trace in filled] == [[1]]  # the one off in one direction
    plain = labels_view(audit, plain=True)
    assert not re.search("ECE|Holm", f"{plain.figure.alt} {plain.figure.caption}")
    assert "1 is expected too often," in plain.sentence.text
    assert (view.sentence.second, plain.sentence.second) == ("Corrected for 5 labels (Holm).", "")
    assert [row[0] for row in plain.shown.rows] == [row[0] for row in view.table.rows]
    assert [row[1] for row in plain.shown.rows][1] == "is expected too often"
    assert plain.shown.rows[0][-1] == "30.0"
    heads = " ".join(column.label for column in plain.shown.columns)
    assert not re.search("ECE|AUROC|Holm|noise|gap|label", heads)


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
