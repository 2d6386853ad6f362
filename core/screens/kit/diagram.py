"""The reliability diagram above its histogram, and the gap view: bins to plotly figures."""

from typing import Any, Final

import numpy as np
import plotly.graph_objects as go

from core.arrays import Float
from core.metrics.records import BinTable
from core.screens.kit.curves import hovers, sheet, whiskers
from core.screens.kit.marks import BAND_MIN, ClaimWords, filled, hover, shares, speech, tone
from core.screens.kit.numbers import MINUS, percent
from core.screens.kit.theme import Theme, Tone, axis, faded
from core.screens.kit.words import with_row_noun

TONES: tuple[Tone, ...] = ("few", "sound", "under", "over")  # drawn last is on top
TICKS = [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
TICK_TEXT = ["0", "20", "40", "60", "80", "100 %"]
SMALLEST, GROWTH = 7.0, 19.0  # dot diameter in px: pure area loses every small bin
SMALL_PX, SMALL_DOTS = 176, 0.6
THINNEST = 0.004  # a bin of tied confidences has no width but is still a bar
Columns = dict[str, Any]  # Any: of a trace by property, as Plotly takes them
DIAGONAL: Final[Columns] = {"x": [0, 1], "y": [0, 1]}


ODDS = (0.0001, 0.001, 0.01, 0.05, 0.2, 0.5, 0.8, 0.95, 0.99, 0.999, 0.9999)  # ticks
CLOSEST = 1e-5  # that an axis in log odds comes to 0 and 1
BREAK = np.log(2) / 2  # most log odds from the end of such an axis to the line where it is broken
TICK_ROOM = 0.09  # of the axis, between its end and the next tick


def diagram(
    bins: BinTable,
    theme: Theme,
    *,
    target: int | None = None,
    log_counts: bool = False,
    log_odds: bool = False,
) -> go.Figure:
    """Draw the reliability diagram with the histogram of the same bins under it.

    Without a target it speaks of the top label, else of the presence of a class or label. Counts
    may be on a logarithmic axis, the diagram on axes in log odds, on which bins next to 0 and 1
    stand apart. customdata of every dot and bar is the index of its bin.
    """
    words = speech(target)
    x = share_axis(theme, words.claim, anchor="y2", constrain="domain", constraintoward="left")
    square = {"scaleanchor": "x", "scaleratio": 1, "constrain": "domain"}
    y = share_axis(theme, words.actual, domain=[0.28, 1.0], constraintoward="bottom", **square)
    # The histogram: counts as they are, or by powers of ten.
    most = max(1, int(bins.count.max(initial=0)))
    counts: dict[str, object] = {"range": [0, 1.08 * most], "nticks": 4, "tickformat": "~s"}
    if log_counts:
        powers = range(int(np.floor(np.log10(most))) + 1)
        names = [f"{10 ** (p % 3)}{'kMG'[p // 3 - 1] if p >= 3 else ''}" for p in powers]
        counts = {"type": "log", "range": [-0.35, float(np.log10(most)) + 0.1]}
        counts |= {"tickvals": [10**p for p in powers], "ticktext": names}
    title = with_row_noun("Images (log)" if log_counts else "Images")
    below = axis(theme, title, **counts) | {"domain": [0.0, 0.2]}
    # In a column of 486 px the square needs no adjusting: 370 px wide and 0.72 of 516 px high.
    figure = sheet(theme, 576, x, y, margin=(58, 58, 14, 46), yaxis2=below)
    # From the back to the front: where chance puts the dots, the diagonal, dots, bars.
    figure.add_trace(_band(bins, theme, slope=0.0 if log_odds else 1.0))
    figure.add_trace(_diagonal(theme))
    figure.add_traces([_dots(bins, t, theme, words) for t in TONES if _bins_of_tone(bins, t)])
    at = filled(bins)
    width = np.maximum(bins.high[at] - bins.low[at], THINNEST)
    figure.add_bar(
        x=(bins.low[at] + bins.high[at]) / 2,
        y=bins.count[at],
        width=width,
        yaxis="y2",
        name=with_row_noun("images"),
        marker={"color": theme.bars, "line": {"color": theme.paper, "width": 1}},
        customdata=at,
        **hovers([hover(bins, i, words) for i in at]),
        selected={"marker": {"opacity": 1}},
        unselected={"marker": {"opacity": 0.5}},
    )
    top = figure.layout.yaxis2.range[1]
    _mark_means(figure, bins, theme, words, 10.0**top if log_counts else top)
    return _in_log_odds(figure, bins, theme) if log_odds else figure


def _in_log_odds(figure: go.Figure, bins: BinTable, theme: Theme) -> go.Figure:
    """Return a diagram with axes in log odds.

    What lies at 0 or 1 stands at an end of them, behind a dotted line where the axis is broken.
    """
    at, inner = filled(bins), _inside(bins)
    if not inner.size:
        return figure
    low = max(CLOSEST, 0.5 * float(inner.min()))
    high = min(1.0 - CLOSEST, 0.5 + 0.5 * float(inner.max()))

    def odds(share: object) -> Float:
        inside = np.clip(np.asarray(share, dtype=np.float64), low, high)
        return np.asarray(np.log(inside) - np.log1p(-inside))

    # Bars go by their edges, dots and lines by their points, whiskers by their ends.
    for trace in figure.data:
        x = np.asarray(trace.x, dtype=np.float64)
        if trace.type == "bar":
            left, right = odds(bins.low[at]), odds(bins.high[at])
            thinnest = THINNEST * float(odds(high) - odds(low))
            trace.update(x=(left + right) / 2, width=np.maximum(right - left, thinnest))
            continue
        if trace.yaxis != "y2":  # else words over the histogram
            y = np.asarray(trace.y, dtype=np.float64)
            if trace.error_y.array is not None:
                trace.error_y.array = odds(y + trace.error_y.array) - odds(y)
                trace.error_y.arrayminus = odds(y) - odds(y - trace.error_y.arrayminus)
            trace.y = odds(y)
        trace.x = odds(x)
    for shape in figure.layout.shapes:
        shape.update(x0=float(odds(shape.x0)), x1=float(odds(shape.x1)))
    # Where bins pile up at 0 or 1, the axis is broken on the way to the nearest other bin.
    ends = odds([low, high])
    dots = np.concatenate([bins.confidence[at], bins.accuracy[at]])
    ticks = {float(odds(share)): share for share in ODDS if low <= share <= high}
    piled = []
    for end, share, inwards in ((ends[0], 0.0, 1.0), (ends[1], 1.0, -1.0)):
        at_ends = np.abs(dots - share) <= CLOSEST
        if at_ends.any():
            free = np.abs(odds(dots[~at_ends]) - end).min(initial=2 * BREAK)
            line_at = end + inwards * free / 2
            room = TICK_ROOM * (ends[1] - ends[0])
            ticks = {place: tick for place, tick in ticks.items() if abs(place - end) > room}
            ticks[float(end)] = share
            line = {"color": theme.quiet, "width": 1, "dash": "dot"}
            figure.add_vline(line_at, line=line)
            figure.add_hline(line_at, line=line)
            piled.append(f"{100 * share:g}")
    # The same ticks on both axes, so that the square stays one.
    for ruler in (figure.layout.xaxis, figure.layout.yaxis):
        ruler.update(
            range=ends.tolist(),
            tickvals=list(ticks),
            ticktext=[f"{100 * share:g}" for share in ticks.values()],
            title={"text": f"{ruler.title.text}, %, log odds"},
        )
    if piled:
        figure.layout.xaxis.title.text += f"; {' and '.join(piled)} set apart"
    return figure


def _inside(bins: BinTable) -> Float:
    """Return the claims and shares of bins that lie inside (0, 1)."""
    at = filled(bins)
    both = np.concatenate([bins.confidence[at], bins.accuracy[at]])
    return np.asarray(both[(both > 0.0) & (both < 1.0)])


def has_log_odds(bins: BinTable) -> bool:
    """Whether anything lies inside (0, 1), so that axes in log odds can show it."""
    return bool(_inside(bins).size)


def small_diagram(
    bins: BinTable, theme: Theme, *, target: int | None = None, height: int = SMALL_PX
) -> go.Figure:
    """Draw the diagram alone, small enough for several in a row; axes from 0 to 100 %."""
    words = speech(target)
    few: dict[str, object] = {"tickvals": [0, 0.5, 1], "constrain": "domain"}
    x = share_axis(theme, "", ticktext=["0", "50", "100 %"], **few)
    y = share_axis(theme, "", ticktext=["0", "50", "100"], scaleanchor="x", **few)
    figure = sheet(theme, height, x, y, margin=(28, 20, 12, 22))
    dots = [_dots(bins, t, theme, words, SMALL_DOTS) for t in TONES]
    return figure.add_traces([_band(bins, theme), _diagonal(theme), *dots])


def small_columns(bins: BinTable, words: ClaimWords) -> dict[str, list[Any]]:
    """Return what depends on the bins in a small diagram: by property, a column a trace."""
    traces = [_outline(bins), DIAGONAL, *(_places(bins, t, words, SMALL_DOTS) for t in TONES)]
    return {name: [trace.get(name) for trace in traces] for name in traces[-1]}


def gap_view(bins: BinTable, theme: Theme, *, target: int | None = None) -> go.Figure:
    """Draw mean confidence minus accuracy of every bin, in points, with the band around zero.

    Bars are 60 % of their bin; over-confident ones are hatched. The axis is fixed at 50 points
    either way, at 100 where a bin is further off. customdata is the index of the bin.
    """
    words = speech(target)
    # One of two fixed scales, so that figures side by side can be compared.
    reach = 50.0 if not filled(bins) or np.nanmax(np.abs(_gaps(bins))) <= 50.0 else 100.0
    ticks = [reach * k / 5 for k in (-4, -2, 0, 2, 4)]
    up = axis(
        theme,
        f"Says minus {'right' if target is None else 'present'}, points",
        range=[-reach, reach],
        tickvals=ticks,
        ticktext=[f"{tick:+.0f}".replace("-", MINUS) if tick else "0" for tick in ticks],
    )
    figure = sheet(theme, 270, share_axis(theme, words.claim), up)
    # Where the gap of a perfectly calibrated model would lie, one block a bin
    at = [i for i in filled(bins) if bins.count[i] >= BAND_MIN and np.isfinite(bins.band_low[i])]
    low = 100.0 * (bins.confidence[at] - bins.band_high[at])
    high = 100.0 * (bins.confidence[at] - bins.band_low[at])
    figure.add_bar(
        x=(bins.low[at] + bins.high[at]) / 2,
        y=high - low,
        base=low,
        width=np.maximum(0.9 * (bins.high[at] - bins.low[at]), THINNEST),
        name="where a perfect model would land",
        marker={"color": theme.band, "line": {"width": 0}},
        hoverinfo="skip",
    )
    for of_tone in TONES:
        at = _bins_of_tone(bins, of_tone)
        if not at:
            continue
        colour, chance = theme.mark(of_tone), of_tone in {"few", "sound"}
        fill = faded(colour, 0.22) if chance else colour
        marker = {"color": fill, "line": {"color": colour, "width": 1.2}, "opacity": 1}
        if of_tone == "over":  # orange bars carry a hatch, so colour is not the only sign
            hatch = {"shape": "/", "size": 6, "solidity": 0.35}
            marker["pattern"] = hatch | {"fgcolor": theme.paper, "bgcolor": colour}
        figure.add_bar(
            x=(bins.low[at] + bins.high[at]) / 2,
            y=_gaps(bins)[at],
            width=np.maximum(0.6 * (bins.high[at] - bins.low[at]), THINNEST),
            name=of_tone,
            marker=marker,
            error_y=whiskers(
                np.maximum(100.0 * (bins.accuracy[at] - bins.ci_low[at]), 0.0),
                np.maximum(100.0 * (bins.ci_high[at] - bins.accuracy[at]), 0.0),
                theme.quiet if chance else theme.ink,
                1.6,
            ),
            customdata=at,
            **hovers([hover(bins, i, words) for i in at]),
            selected={"marker": {"opacity": 1}},
            unselected={"marker": {"opacity": 0.5}},
        )
    figure.add_hline(y=0, line={"color": theme.quiet, "width": 1.2})
    # Which way is which, in words at both ends of the axis.
    signs: tuple[tuple[str, float, Tone], ...] = (
        ("▲ says more", 0.97 * reach, "over"),
        ("▼ says less", -0.97 * reach, "under"),
    )
    figure.update_layout(barmode="overlay")
    for text, y, side in signs:
        figure.add_annotation(
            text=text,
            x=0.02,
            y=y,
            xanchor="left",
            yanchor="top" if y > 0 else "bottom",
            showarrow=False,
            font={"size": 12.5, "color": theme.word(side)},
            bgcolor=faded(theme.paper, 0.8),  # whiskers may run behind the words
        )
    return figure


def _bins_of_tone(bins: BinTable, chosen: Tone) -> list[int]:
    return [i for i in filled(bins) if tone(bins, i) == chosen]


def _gaps(bins: BinTable) -> Float:
    return np.asarray(100.0 * (bins.confidence - bins.accuracy))


def share_axis(theme: Theme, title: str, **settings: object) -> dict[str, Any]:
    """Return an axis from 0 to 100 %; `settings` are plotly's own and win."""
    base: dict[str, object] = {"range": [0, 1], "tickvals": TICKS, "ticktext": TICK_TEXT}
    return axis(theme, title, **(base | settings))


def _outline(bins: BinTable, slope: float = 1.0) -> Columns:
    """One block a bin, its long sides of a slope: by default parallel to the diagonal."""
    x: list[float | None] = []
    y: list[float | None] = []
    for i in filled(bins):
        below = float(bins.band_low[i] - bins.confidence[i])
        above = float(bins.band_high[i] - bins.confidence[i])
        if bins.count[i] < BAND_MIN or not np.isfinite(below + above):
            continue
        low, high = float(bins.low[i]), float(bins.high[i])
        # A closed block; the gap after it keeps the next one apart.
        x += [low, high, high, low, low, None]
        says = float(bins.confidence[i])
        left, right = (says + slope * (end - says) for end in (low, high))
        y += [left + below, right + below, right + above, left + above, left + below, None]
    return {"x": x, "y": y}


def _band(bins: BinTable, theme: Theme, slope: float = 1.0) -> go.Scatter:
    return go.Scatter(
        **_outline(bins, slope),
        name="where a perfect model would land",
        mode="lines",
        fill="toself",
        fillcolor=theme.band,
        line={"width": 0, "color": theme.band},
        hoverinfo="skip",
    )


def _diagonal(theme: Theme) -> go.Scatter:
    return go.Scatter(
        **DIAGONAL,
        name="says what it should",
        mode="lines",
        line={"color": theme.quiet, "width": 1.4, "dash": "dash"},
        hoverinfo="skip",
    )


def _places(bins: BinTable, of_tone: Tone, words: ClaimWords, scale: float = 1.0) -> Columns:
    """Return where the dots of a tone lie, what they say, and how large they and whiskers are."""
    at = _bins_of_tone(bins, of_tone)
    right = bins.accuracy[at]
    return {
        "x": bins.confidence[at],
        "y": right,
        "customdata": at,
        "hovertext": [hover(bins, i, words) for i in at],
        "marker.size": scale * (SMALLEST + GROWTH * np.sqrt(bins.count[at] / bins.count.max())),
        "error_y.array": np.maximum(bins.ci_high[at] - right, 0.0),
        "error_y.arrayminus": np.maximum(right - bins.ci_low[at], 0.0),
    }


def _dots(
    bins: BinTable, of_tone: Tone, theme: Theme, words: ClaimWords, scale: float = 1.0
) -> go.Scatter:
    places = _places(bins, of_tone, words, scale)
    # Hollow where nothing is called off, so that colour is not the only sign.
    ring = of_tone in {"few", "sound"}
    colour = theme.mark(of_tone)
    marker = {
        "size": places["marker.size"],
        "color": theme.paper if ring else colour,
        "line": {"color": colour if ring else theme.paper, "width": 2 if ring else 1},
        "opacity": 1,
    }
    return go.Scatter(
        x=places["x"],
        y=places["y"],
        name=of_tone,
        mode="markers",
        marker=marker,
        error_y=whiskers(places["error_y.array"], places["error_y.arrayminus"], colour, 1.6),
        customdata=places["customdata"],
        **hovers(places["hovertext"]),
        cliponaxis=False,
        selected={"marker": {"opacity": 1}},
        unselected={"marker": {"opacity": 0.5}},
    )


def _mark_means(
    figure: go.Figure, bins: BinTable, theme: Theme, words: ClaimWords, top: float
) -> None:
    says, right = shares(bins)
    if not np.isfinite(says):
        return
    for at, dash in ((right, "dot"), (says, "solid")):
        ends = {"x0": at, "x1": at, "y0": 0, "y1": 0.2}
        line = {"color": theme.ink, "width": 1.6, "dash": dash}
        figure.add_shape(ends, type="line", xref="x", yref="paper", line=line)
    # A text trace, not an annotation: annotations are placed before the square is adjusted.
    on_right = (says + right) / 2 > 0.5
    text = (
        f"{words.right} <b>{percent(right)}</b> (dotted), {words.says} "
        f"<b>{percent(says)}</b> (solid)"
    )
    figure.add_scatter(
        x=[1 if on_right else 0],
        y=[top],
        yaxis="y2",
        name="means",
        mode="text",
        text=[text],
        textposition="top left" if on_right else "top right",
        textfont={"size": 11.5, "color": theme.ink},
        hoverinfo="skip",
        cliponaxis=False,
    )
