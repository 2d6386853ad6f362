import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import plotly.graph_objects as go
import pytest
from jinja2 import UndefinedError
from markupsafe import Markup

from core.configs import AuditConfig
from core.errors import Notice
from core.metrics.suite import audit
from core.predictions import Predictions, ScoreKind, Task
from core.readers.predictions.result import Inspection, ReadOptions, ReadResult
from core.reports.document import Chapter, Document, Edition, Section
from core.reports.drawing import drawn
from core.reports.html import PageView, audit_html, document_html, preview_html, sheet_html
from core.screens.kit import theme
from core.screens.kit.curves import SYMBOLS
from core.screens.kit.records import FigureCard, Sentence, Table
from core.screens.kit.text import templates

EVIL = '</script><script>alert(1)</script><img src=x onerror="alert(2)">'

QUICK = AuditConfig(n_resamples=40)


class Reader(HTMLParser):
    """Tags with their attributes, and text outside scripts and styles."""

    def __init__(self):
        super().__init__()
        self.tags, self.text, self._open = [], [], ""

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self._open = tag

    def handle_endtag(self, tag):
        self._open = ""

    def handle_data(self, data):
        if self._open not in {"script", "style"}:
            self.text.append(data)


@pytest.fixture(scope="module")
def report():
    rng = np.random.default_rng(4)
    p = rng.dirichlet([0.3, 0.3, 0.3], 500)
    names = (EVIL, "=cmd()", "c\u202eat")
    made = Predictions(
        Task.MULTICLASS, ScoreKind.PROBABILITIES, p, rng.integers(0, 3, 500), class_names=names
    )
    seen = Inspection("", None, "", (), (), (), (), "")
    said = (Notice("SCORES_GUESSED", f"taken for probabilities {EVIL}"),)
    result = ReadResult(
        splits={"test": made},
        notices=said,
        digest="fe3cdd9e",
        inspection=seen,
        recipe=ReadOptions(),
    )
    html = audit_html(f"{EVIL}.npz", result, "test", audit(made, QUICK))
    reader = Reader()
    reader.feed(html)
    return html, reader


def test_user_strings_make_no_element(report):
    html, reader = report
    assert [tag for tag, _ in reader.tags if tag in {"img", "iframe", "object", "link"}] == []
    assert not any(tag == "script" for tag, _ in reader.tags)
    assert not any(name.startswith("on") for _, attrs in reader.tags for name in attrs)
    assert "<script>alert(1)" not in html
    assert "alert(1)" in "".join(reader.text)  # shown as letters
    assert "\u202e" not in "".join(reader.text)


def test_nothing_is_fetched(report):
    html, reader = report
    for tag, attrs in reader.tags:
        assert not {"src", "href", "srcset", "action"} & set(attrs), tag
    policy = next(a["content"] for t, a in reader.tags if "http-equiv" in a)
    assert policy.startswith("default-src 'none'")
    assert "@import" not in html
    assert "url(" not in html


def test_every_figure_has_alt_text_and_a_table(report):
    _, reader = report
    figures = [attrs for tag, attrs in reader.tags if "data-figure" in attrs]
    keys = {attrs["data-figure"] for attrs in figures}
    assert keys == {"reliability", "gap", "classes", "risk", "plain"}
    drawings = [attrs for tag, attrs in reader.tags if tag == "svg"]
    assert len(drawings) == len(figures)
    assert all(re.search(r"\d", attrs["aria-label"]) for attrs in drawings)
    assert all(attrs["role"] == "img" for attrs in drawings)
    tables = sum(tag == "table" for tag, _ in reader.tags)
    assert tables >= len(figures) + 3


def test_report_says_verdict_notices_settings_and_plain_words(report):
    text = "".join(report[1].text)
    for words in (
        "Over-confident by",
        "SCORES_GUESSED",
        "BELOW_CHANCE" if "BELOW_CHANCE" in text else "Accuracy",
        "In plain words",
        "What this does not say",
        "fe3cdd9e",
        "Not possible with this file",
        "500",
    ):
        assert words in text


def test_bars_and_whiskers_end_where_their_axes_do():
    """As a browser cuts them: the line of a bin of few rows would cross the words above."""
    layout = theme.layout(theme.LIGHT, 200) | {
        "margin": {"l": 50, "t": 20, "r": 10, "b": 30},
        "xaxis": theme.axis(theme.LIGHT, "x", range=[0, 2]),
        "yaxis": theme.axis(theme.LIGHT, "y", range=[-50, 50]),
    }
    error = {"array": [80, 10], "arrayminus": [10, 10], "color": "#123456", "thickness": 1}
    bar = go.Bar(x=[0.5, 1.5], y=[20, 90], width=0.6, marker={"color": "#abcdef"}, error_y=error)
    marks = drawn(go.Figure(bar, layout=layout), 300).marks
    first, second = (mark for mark in marks if mark.attributes.get("stroke") == "#123456")
    place = re.compile(r"[\d.]+ ([\d.]+)")
    assert [float(y) for y in place.findall(first.attributes["d"])] == [80.0, 20.0]  # +10, the top
    assert [float(y) for y in place.findall(second.attributes["d"])] == [20.0, 20.0]
    bars = [mark.attributes for mark in marks if mark.attributes.get("fill") == "#abcdef"]
    assert [(b["y"], b["height"]) for b in bars] == [("65", "30"), ("20", "75")]


def test_an_area_ends_where_its_axis_does():
    layout = theme.layout(theme.LIGHT, 200) | {
        "margin": {"l": 50, "t": 20, "r": 10, "b": 30},
        "xaxis": theme.axis(theme.LIGHT, "x", range=[0, 2]),
        "yaxis": theme.axis(theme.LIGHT, "y", range=[0, 100]),
    }
    area = go.Scatter(x=[0, 2, 2, 0], y=[50, 50, 150, 50], fill="toself", fillcolor="#abcdef")
    area.update(mode="lines", line={"width": 0})
    beyond = go.Scatter(area).update(y=[120, 120, 150, 120], fillcolor="#fedcba")
    marks = drawn(go.Figure([area, beyond], layout=layout), 300).marks
    (inside,) = [mark for mark in marks if mark.attributes.get("fill") == "#abcdef"]
    # the slanted side leaves the plot halfway: at x = 1, which is pixel 170, and y = 100
    corners = re.findall(r"([\d.]+) ([\d.]+)", inside.attributes["d"])
    assert set(corners) == {("50", "95"), ("290", "95"), ("290", "20"), ("170", "20")}
    assert not [mark for mark in marks if mark.attributes.get("fill") == "#fedcba"]


@pytest.mark.parametrize("symbol", SYMBOLS)
def test_every_symbol_of_a_curve_is_drawn_about_its_place(symbol):
    layout = theme.layout(theme.LIGHT, 200) | {
        "margin": {"l": 50, "t": 20, "r": 10, "b": 30},
        "xaxis": theme.axis(theme.LIGHT, "x", range=[0, 2]),
        "yaxis": theme.axis(theme.LIGHT, "y", range=[0, 100]),
    }
    dots = {"symbol": symbol, "size": 10, "color": "#123456"}
    figure = go.Figure(go.Scatter(x=[1], y=[50], mode="markers", marker=dots), layout=layout)
    (mark,) = [m for m in drawn(figure, 300).marks if m.attributes.get("fill") == "#123456"]
    if mark.tag == "circle":
        assert [mark.attributes[key] for key in ("cx", "cy", "r")] == ["170", "95", "5"]
        return
    places = re.findall(r"([\d.]+) ([\d.]+)", mark.attributes["d"])
    corners = np.array(places, np.float64) - (170, 95)
    np.testing.assert_allclose(corners.mean(axis=0), 0, atol=1e-9)
    x, y = corners.T
    area = abs(np.dot(x, np.roll(y, -1)) - np.dot(y, np.roll(x, -1))) / 2
    assert area == pytest.approx(np.pi * 5**2, rel=0.1)


def test_words_of_a_figure_stay_words():
    """Bold, colour and line breaks are ours; what a file wrote comes escaped into a figure."""
    layout = theme.layout(theme.LIGHT, 200) | {
        "xaxis": theme.axis(theme.LIGHT, "a &lt;b&gt; <b>bold</b><br>below"),
        "yaxis": theme.axis(theme.LIGHT, '</svg><script>alert(1)</script>"'),
    }
    card = FigureCard(
        key="k",
        title="t",
        explanation="",
        draw=lambda _: go.Figure(layout=layout),
        alt="1",
        table=Table((), ()),
        caption="",
    )
    html = sheet_html(
        PageView(
            eyebrow="e",
            banners=(),
            sentence=Sentence(()),
            cards=(card,),
            caption="",
        )
    )
    assert "<script" not in html
    assert html.count("</svg>") == 1
    assert '<tspan>a &lt;b&gt; </tspan><tspan font-weight="600">bold</tspan>' in html


def test_templates_escape_every_value_and_know_no_missing_ones():
    environment = templates(Path(__file__).parent)
    escaped = environment.from_string("{{ text }}").render(text="<b>\u202e\"'")
    assert escaped == "&lt;b&gt; &#34;&#39;"
    assert environment.from_string("{{ text }}").render(text=Markup("<b>")) == "<b>"
    with pytest.raises(UndefinedError):
        environment.from_string("{{ nothing }}").render()


def test_the_whole_report_stands_in_its_main_part(report):
    html, _ = report
    assert html.count("<main>") == html.count("</main>") == 1
    assert html.index("<main>") < html.index('class="eyebrow"') < html.index("</main>")
    assert html.index("Settings") < html.index("</main>")


def test_a_long_report_lists_its_sections_and_each_entry_leads_to_one():
    sections = tuple(Section(key=f"k{i}", title=f"<b>Part {i}") for i in range(4))
    chapters = tuple(Chapter(title=f"run {k}", sections=sections) for k in range(2))
    document = Document(
        title="A report",
        edition=Edition.TECHNICAL,
        banners=(),
        chapters=chapters,
        digest="0" * 64,
        version="1",
    )
    html = document_html(document)
    listed = re.findall(r'href="#(section-\d-\d)">(.*?)<', html)
    assert len(listed) == 8
    headed = dict(re.findall(r'<h2 id="(section-\d-\d)">(.*?)<', html))
    assert dict(listed) == headed
    short = replace(document, chapters=chapters[:1])
    assert "Contents" not in document_html(short)


def test_the_preview_of_a_report_runs_its_own_button_and_nothing_else():
    file = '<head><meta http-equiv="Content-Security-Policy" content="default-src"></head><body>x'
    shown = preview_html(file, "abc1")
    assert 'content="script-src &#39;nonce-abc1&#39;; default-src"' in shown
    assert shown.count("<script") == 1
    assert "<script nonce=abc1>" in shown
