"""Several models on one film, on the page Chest X-ray with a real warm process."""

import re
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from core.xray import phantom
from tests.pages import seen
from tests.pages.seen import fine, said, until
from tests.pages.test_xray_page import (  # noqa: F401  fixtures
    button,
    drop,
    film,
    labels,
    weights,
    with_model,
    xray,
)


def table(test: AppTest, label: str) -> list[list[str]]:
    """The rows of a table of scores as text; words under a number behind a bar."""
    rows = re.findall(r"<tr.*?</tr>", seen.table(test, label))
    told = [re.findall(r"<t[hd].*?</t[hd]>", row) for row in rows]
    return [[re.sub("<small>", "|", cell) for cell in row] for row in told]


def texts(row: list[str]) -> list[str]:
    return [re.sub("<[^>]*>", "", cell) for cell in row]


@pytest.mark.slow
def test_three_models_are_compared_and_the_one_picked_is_checked(xray):  # noqa: F811
    test = xray(film="s4", models="phantom-ce,phantom-focal-3,phantom-fcl")
    names = ["Cross-entropy", "Focal γ = 3", "FCL"]
    until(test, lambda: "FCL</span></th>" in said(test))
    fine(test)
    text = said(test)
    assert "For cardiomegaly this film scores" in text
    assert text.count("compare where the heat lies, not how strong") == 1
    head, *models = map(texts, table(test, "Cardiomegaly, model by model"))
    assert head[-2:] == ["Strongest place", "Heat in the box"]
    assert [row[0][1:] for row in models] == names  # behind their badges
    assert all(row[2].endswith(("|reached", "|silent")) for row in models)
    badges = [
        re.findall("c-run-[0-9]", "".join(row)) for row in table(test, "The findings of this film")
    ]
    assert len(badges[0]) == 3  # of the columns, as of the rows above
    assert badges[0] == [
        re.findall("c-run-[0-9]", row[0])[0]
        for row in table(test, "Cardiomegaly, model by model")[1:]
    ]
    head, *findings = map(texts, table(test, "The findings of this film"))
    assert [one[1:] for one in head[1:4]] == names
    assert len(findings) == len(phantom.FINDINGS)
    heart = next(row for row in findings if row[0] == "Cardiomegaly")
    assert [one.split("|")[0] for one in heart[1:4]] == [row[1] for row in models]
    check_one_of_three(test)


def check_one_of_three(test: AppTest) -> None:
    assert "Cross-entropy: does this map depend" in said(test)
    test.segmented_control(key="widget.closer").set_value("phantom-fcl")
    fine(test.run())
    assert test.query_params["closer"] == "phantom-fcl"
    assert "FCL: does this map depend" in said(test)
    assert "Cross-entropy: does this map depend" not in said(test)
    button(test, "Sanity check of this map").click()
    until(test.run(), lambda: "all weights drawn anew" in said(test))
    (asked,) = [one for one in test.session_state["evaluate.asked"] if one.startswith("sanity")]
    assert "phantom-fcl/weights" in asked


@pytest.mark.slow
def test_a_silent_model_has_no_heat_and_nothing_to_check(xray):  # noqa: F811
    """The large heart of the film is no nodule, and the threshold is set beyond one model."""
    test = xray(film="s4", models="phantom-ce,phantom-fcl", finding="nodule")
    until(test, lambda: "FCL</span></th>" in said(test))
    rows = [texts(row) for row in table(test, "Nodule, model by model")[1:]]
    scores = [int(row[1]) for row in rows]
    assert len(rows[0]) == 6  # no box of a nodule is known
    (box,) = [one for one in test.number_input if "Hide heat" in one.label]
    box.set_value(sum(scores) / 2)
    fine(test.run())
    silent, loud = np.argsort(scores)
    rows = [texts(row) for row in table(test, "Nodule, model by model")[1:]]
    assert rows[silent][2].endswith("|silent")
    assert rows[loud][2].endswith("|reached")
    assert said(test).count("Heat is hidden") == 1
    test.query_params["closer"] = ["phantom-ce", "phantom-fcl"][silent]
    fine(test.run())
    assert "is shown, so there is none to check" in said(test)
    assert "Sanity check of this map" not in labels(test)
    test.session_state["plain"] = True
    assert "For a small spot this film scores" in said(fine(test.run()))


@pytest.mark.slow
def test_a_model_is_removed_brought_back_and_forgotten(xray, weights):  # noqa: F811
    test = with_model(drop(xray(), ("a.png", film())), weights)
    ((own, model),) = test.session_state["xray.models"].items()
    button(test, "Remove this model").click()
    fine(test.run())
    assert not test.session_state["xray.models"]
    assert test.session_state["xray.chosen"] == ["phantom-ce"]
    assert "was removed from this session" in said(test)
    button(test, "Undo").click()
    until(test.run(), lambda: "The findings of this film" in said(test))
    assert test.session_state["xray.models"] == {own: model}
    assert test.session_state["xray.chosen"] == [own]
    button(test, "Remove this model").click()
    test.run()
    button(test, "Forget it now").click()
    fine(test.run())
    assert not Path(model.film_model.weights).exists()
    assert "Undo" not in labels(test)
