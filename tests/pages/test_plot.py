"""A figure is drawn once for all who look at the same, and a draft's figure for its session."""

import json
from base64 import b64decode
from collections.abc import Mapping
from typing import Any

import numpy as np
from streamlit.testing.v1 import AppTest

from pages.ui import visitor


def script() -> None:
    from functools import partial

    import streamlit as st
    from streamlit.runtime.scriptrunner import get_script_run_ctx

    from core.screens.kit.records import FigureCard, Table
    from pages.ui import plot, visitor
    from tests.pages.test_plot import bar

    get_script_run_ctx().session_id = st.query_params["session"]  # AppTest gives all the same one
    visitor.forget()
    if "draft" in st.query_params:
        visitor.note_draft("draft-1")
    heights = tuple(float(height) for height in st.query_params["heights"].split(","))
    card = FigureCard(
        key="bars",
        title="",
        explanation="",
        draw=partial(bar, heights),
        alt=st.query_params["session"],  # not drawn
        table=Table((), ()),
        caption="",
    )
    st.session_state["spec"] = plot.spec(card, "dark" if "dark" in st.query_params else "light")


DRAWN: list[tuple[float, ...]] = []


def bar(heights, theme):
    import plotly.graph_objects as go

    DRAWN.append(heights)
    column = np.array(heights)
    line, marks = (go.Scatter(y=column, mode=mode) for mode in ("lines", "markers"))
    return go.Figure([go.Bar(y=heights, marker_color=theme.ink), line, marks])


def spec(session: str, heights: str, **query: str) -> Mapping[str, Any]:
    test = AppTest.from_function(script)
    for name, value in {"session": session, "heights": heights, **query}.items():
        test.query_params[name] = value
    test.run()
    return json.loads(test.session_state["spec"])


def test_sessions_that_show_the_same_figure_have_it_drawn_once():
    DRAWN.clear()
    first = spec("a", "1,2")
    assert first["data"][0]["y"] == [1, 2]
    assert spec("b", "1,2") == first
    assert len(DRAWN) == 1
    assert spec("a", "1,3")["data"][0]["y"] == [1, 3]
    assert spec("a", "1,2", dark="yes") != first
    assert len(DRAWN) == 3


def test_lines_are_sent_in_single_precision_and_marks_where_they_are():
    bars, line, marks = (trace["y"] for trace in spec("a", "0.1,0.2")["data"])
    assert bars == [0.1, 0.2]
    assert line["dtype"] == "f4"
    np.testing.assert_array_equal(
        np.frombuffer(b64decode(line["bdata"]), "<f4"), np.float32([0.1, 0.2])
    )
    assert marks["dtype"] == "f8"


def test_the_figure_of_a_draft_is_drawn_for_its_session():
    DRAWN.clear()
    assert spec("a", "4,5", draft="yes") == spec("a", "4,5", draft="yes")
    assert len(DRAWN) == 1
    assert spec("b", "4,5", draft="yes")["data"][0]["y"] == [4, 5]
    assert len(DRAWN) == 2
    spec("a", "4,5")
    assert len(DRAWN) == 3
    assert not visitor.shows_draft()


def table_script() -> None:
    from core.screens.kit.records import Column, Table
    from pages.ui import widgets

    columns = [Column(key, "ece", "number") for key in ("ece", "ece_low", "ece_low")]
    widgets.table(Table((Column("run", "run"), *columns), (("a", 1.0, 2.0, 3.0),)), key="t")


def test_columns_of_one_label_are_drawn_each():
    test = AppTest.from_function(table_script).run(timeout=60)
    (frame,) = test.dataframe
    assert list(frame.value.columns) == ["run", "ece", "ece_low", "ece_low (2)"]
