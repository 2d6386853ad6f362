"""The palette, the fonts and the base layout of every figure; standard library only."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

Side = Literal["light", "dark"]
Tone = Literal["over", "under", "sound", "few", "ink", "quiet"]

FONT = '"Source Sans", "Source Sans Pro", "Segoe UI", Helvetica, Arial, sans-serif'
FONT_SIZE = 13


@dataclass(frozen=True)
class Theme:
    """The colours of one side; `*_text` are the variants strong enough for words."""

    name: Side
    ink: str
    paper: str
    wash: str
    quiet: str
    line: str
    over: str
    over_text: str
    under: str
    under_text: str
    sound: str
    sound_text: str
    accent: str
    alarm: str
    band: str
    bars: str
    middle: str
    runs: tuple[str, ...]

    def mark(self, tone: Tone) -> str:
        """Return the colour of a mark of that tone."""
        marks = {"over": self.over, "under": self.under, "sound": self.sound, "ink": self.ink}
        return marks.get(tone, self.quiet)

    def word(self, tone: Tone) -> str:
        """Return the colour of words of that tone, at least 4.5:1 on paper."""
        words = {
            "over": self.over_text,
            "under": self.under_text,
            "sound": self.sound_text,
            "ink": self.ink,
        }
        return words.get(tone, self.quiet)


LIGHT = Theme(
    name="light",
    ink="#1B1F24",
    paper="#FFFFFF",
    wash="#F5F6F8",
    quiet="#667080",
    line="#E5E7EB",
    over="#D55E00",
    over_text="#A84A00",
    under="#0072B2",
    under_text="#005F96",
    sound="#009E73",
    sound_text="#00704F",
    accent="#3B4CC0",
    alarm="#B3261E",
    band="#E2E5E9",
    bars="#868F9C",
    middle="#F3F4F6",
    runs=("#4B2E83", "#A98A00", "#D0679F", "#0F5F66", "#1B1F24", "#9A5B3C"),
)

DARK = Theme(
    name="dark",
    ink="#E8EAED",
    paper="#0F1318",
    wash="#171C23",
    quiet="#9AA3AE",
    line="#2A3038",
    over="#FF8A3D",
    over_text="#FF8A3D",
    under="#4FB3E8",
    under_text="#4FB3E8",
    sound="#35C79A",
    sound_text="#35C79A",
    accent="#8C9BF5",
    alarm="#F2766B",
    band="#2B323B",
    bars="#657180",
    middle="#1A2027",
    runs=("#9C84E0", "#E3C65B", "#F2A3CC", "#3F9DA4", "#FFFFFF", "#B27B54"),
)

THEMES: dict[Side, Theme] = {"light": LIGHT, "dark": DARK}

# What our figures use of Streamlit's own template, of which 4 kB would go with every figure.
TEMPLATE: dict[str, Any] = {"data": {"scatter": [{"marker": {"line": {"width": 0}}}]}}


def layout(theme: Theme, height: int) -> dict[str, Any]:  # Any: plotly's nested settings
    """Return the layout every figure starts from: transparent, our font, a height in CSS pixels."""
    return {
        "template": TEMPLATE,  # without one it would be the default of whoever imports Plotly
        "height": height,
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"family": FONT, "size": FONT_SIZE, "color": theme.ink},
        "showlegend": False,
        "dragmode": False,
        "hovermode": "closest",
        "margin": {"l": 58, "r": 26, "t": 14, "b": 46},
        "hoverlabel": {
            "bgcolor": theme.paper,
            "bordercolor": theme.line,
            "align": "left",
            "font": {"family": FONT, "size": FONT_SIZE, "color": theme.ink},
        },
    }


def axis(theme: Theme, title: str = "", **settings: object) -> dict[str, Any]:
    """Return one axis in the house style; `settings` are plotly's own and win."""
    base: dict[str, Any] = {
        "title": {"text": title, "font": {"size": FONT_SIZE, "color": theme.ink}},
        "gridcolor": theme.line,
        "linecolor": theme.line,
        "tickfont": {"size": 12, "color": theme.quiet},
        "zeroline": False,
        "ticks": "",
        "fixedrange": True,
    }
    return base | settings


def name_axis(theme: Theme, names: Sequence[str]) -> dict[str, Any]:
    """Return an upright axis of rows with a name each, the first at the top."""
    return axis(
        theme,
        range=[len(names) - 0.5, -0.5],
        tickvals=list(range(len(names))),
        ticktext=list(names),
        tickfont={"size": 12.5, "color": theme.ink},
        showgrid=False,
    )


def faded(colour: str, alpha: float) -> str:
    """Return a #RRGGBB colour at that opacity, as plotly takes it."""
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{alpha})"
