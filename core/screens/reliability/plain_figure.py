"""What it says against what came true, in times out of 100: groups to a plotly figure."""

from dataclasses import dataclass

import plotly.graph_objects as go

from core.screens.kit.numbers import count, in_hundred
from core.screens.kit.theme import Theme, Tone, axis, faded, layout
from core.screens.kit.units import spoken

NARROW = 0.10  # an interval at most this wide that holds what was said fits, as far as it shows


@dataclass(frozen=True)
class Group:
    """Answers of similar certainty; fractions, `low` and `high` the Wilson interval of `right`.

    `name` and `range` are our own words; without answers (n = 0) the shares are NaN. `least` and
    `most` are the wider interval that what was said must leave to be called wrong.
    """

    name: str
    range: str
    n: int
    says: float
    right: float
    low: float
    high: float
    least: float
    most: float

    @property
    def tone(self) -> Tone:
        """Over or under where what was said is beyond chance, sound where that is known well."""
        if self.n and self.says > self.most:
            return "over"
        if self.n and self.says < self.least:
            return "under"
        fits = self.n and self.low <= self.says <= self.high
        return "sound" if fits and self.high - self.low <= NARROW else "few"


def dumbbells(groups: tuple[Group, ...], theme: Theme, *, came_true: str = "right") -> go.Figure:
    """Draw one dumbbell a group, the surest at the top: a bar for what it says, a dot for truth.

    Parameters
    ----------
    groups : tuple of Group
        From the least to the most certain; empty ones stay as a name without marks.
    theme : Theme
        Light or dark.
    came_true : str
        The word beside the dot: "right", or "present" for one class or label.
    """
    settings = layout(theme, 92 * len(groups) + 80)
    settings["margin"] = {"l": 182, "r": 40, "t": 20, "b": 50}
    settings["xaxis"] = axis(theme, "times in 100", range=_reach(groups), dtick=10)
    settings["yaxis"] = axis(
        theme,
        range=[-0.6, len(groups) - 0.4],
        tickvals=list(range(len(groups))),
        ticktext=[_label(group, theme) for group in groups],
        tickfont={"size": 13, "color": theme.ink},
        showgrid=False,
    )
    figure = go.Figure(layout=settings)
    for y, group in enumerate(groups):
        if group.n:
            figure.add_traces(_dumbbell(group, y, theme, came_true))
    return figure


def _reach(groups: tuple[Group, ...]) -> list[float]:
    """Tens around everything drawn, the upper end at 100 with room for the last label."""
    ends = [100.0 * v for g in groups if g.n for v in (g.says, g.low)]
    least = 10.0 * int(min([*ends, 90.0]) // 10.0)
    return [least - 6.0, 104.0]  # beyond the last tick there is room for a label


def _label(group: Group, theme: Theme) -> str:
    noun = spoken("picture" if group.n == 1 else "pictures")
    return (
        f"<b>{group.name} ({group.range})</b><br>"
        f"<span style='color:{theme.quiet}'>{count(group.n)} {noun}</span>"
    )


def _dumbbell(group: Group, y: int, theme: Theme, came_true: str) -> list[go.Scatter]:
    says, right = 100.0 * group.says, 100.0 * group.right
    colour, ring = theme.mark(group.tone), group.tone in {"few", "sound"}
    chance = ": could be chance" if group.tone == "few" else ""
    return [
        go.Scatter(
            x=[right, says],
            y=[y, y],
            mode="lines",
            line={"color": faded(colour, 0.35), "width": 8},
            hoverinfo="skip",
        ),
        go.Scatter(
            x=[100.0 * group.low, 100.0 * group.high],
            y=[y, y],
            mode="lines",
            line={"color": colour, "width": 1.8},
            hoverinfo="skip",
        ),
        go.Scatter(
            x=[says, says],
            y=[y - 0.13, y + 0.13],
            name="says",
            mode="lines+text",
            line={"color": theme.ink, "width": 3},
            text=["", f"says {in_hundred(group.says)}"],
            textposition="top center",
            textfont={"size": 13, "color": theme.ink},
            hoverinfo="skip",
            cliponaxis=False,
        ),
        go.Scatter(
            x=[right],
            y=[y],
            name=group.tone,
            mode="markers+text",
            marker={
                "size": 17,
                "color": theme.paper if ring else colour,
                "line": {"color": colour, "width": 2},
            },
            text=[f"{came_true} {in_hundred(group.right)}{chance}"],
            textposition="bottom center",
            textfont={"size": 13, "color": theme.word(group.tone)},
            customdata=[y],
            hovertext=[_hover(group, came_true)],
            hovertemplate="%{hovertext}<extra></extra>",
            cliponaxis=False,
        ),
    ]


def _hover(group: Group, came_true: str) -> str:
    low, high = in_hundred(group.low), in_hundred(group.high)
    return (
        f"<b>{group.name}</b>: says {in_hundred(group.says)} in 100,<br>"
        f"{came_true} {in_hundred(group.right)} ({low} to {high})"
    )
