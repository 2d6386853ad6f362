from dataclasses import replace

import numpy as np
import pytest

from core.configs import BinRule
from core.metrics.records import BinTable
from core.screens.kit.diagram import diagram, gap_view, has_log_odds
from core.screens.kit.marks import dominated, filled, tone
from core.screens.kit.theme import DARK, LIGHT

TONES = {"over", "under", "sound", "few"}


def bins_of(count, confidence, accuracy, half=0.04, band=0.03):
    n = np.array(count, dtype=np.int64)
    conf, acc = np.array(confidence, dtype=float), np.array(accuracy, dtype=float)
    conf[n == 0] = acc[n == 0] = np.nan
    edges = np.arange(n.size + 1) / max(1, n.size)
    return BinTable(
        low=edges[:-1],
        high=edges[1:],
        count=n,
        confidence=conf,
        accuracy=acc,
        ci_low=acc - half,
        ci_high=acc + half,
        band_low=conf - band,
        band_high=conf + band,
    )


FOUR = bins_of([0, 10, 40, 160], [0, 0.4, 0.6, 0.9], [0, 0.5, 0.61, 0.8])


def dots(figure):
    return [trace for trace in figure.data if trace.name in TONES]


def by_bin(figure, value):
    found = {}
    for trace in dots(figure):
        found.update(zip(trace.customdata, getattr(trace, value), strict=True))
    return found


@pytest.mark.parametrize("rule", BinRule)
@pytest.mark.parametrize("target", [None, 1])
def test_drawn_points_and_bars_give_the_printed_error(audited, target, rule):
    found = audited(target, rule, n_bins=12)
    figure = diagram(found.bins, LIGHT, target=target)
    says, right = by_bin(figure, "x"), by_bin(figure, "y")
    bars = next(trace for trace in figure.data if trace.name == "images")
    count = dict(zip(bars.customdata, bars.y, strict=True))
    assert set(says) == set(count) == set(filled(found.bins))
    total = sum(count.values())
    error = sum(count[i] / total * abs(says[i] - right[i]) for i in count)
    assert total == 4000
    assert error == pytest.approx(next(iter(found.metrics.values())).value, abs=1e-12)
    gaps = by_bin(gap_view(found.bins, LIGHT, target=target), "y")
    drawn = sum(count[i] / total * abs(gap) / 100 for i, gap in gaps.items())
    assert drawn == pytest.approx(error, abs=1e-12)


def test_diagram_is_square_from_zero_to_one_above_its_histogram():
    layout = diagram(FOUR, LIGHT).layout
    assert layout.xaxis.range == layout.yaxis.range == (0, 1)
    assert (layout.yaxis.scaleanchor, layout.yaxis.scaleratio) == ("x", 1)
    assert layout.xaxis.anchor == "y2"
    assert layout.yaxis2.domain[1] < layout.yaxis.domain[0]
    assert layout.xaxis.title.text == "Model says (confidence)"
    assert layout.yaxis.title.text == "Actually right (share)"


def test_a_positive_class_has_its_own_axis_words():
    layout = diagram(FOUR, LIGHT, target=1).layout
    assert layout.xaxis.title.text == "Model says (probability)"
    assert layout.yaxis.title.text == "Actually present (share)"


def test_hover_names_bin_n_and_interval():
    texts = by_bin(diagram(FOUR, LIGHT), "hovertext")
    assert texts[2] == (
        "<b>Bin 0.50 to 0.75</b>: 40 images,<br>says 60.0\u202f%, right 61.0\u202f% (57.0 to 65.0)"
    )
    assert by_bin(gap_view(FOUR, LIGHT), "hovertext") == texts
    assert "present in 61.0\u202f%" in by_bin(diagram(FOUR, LIGHT, target=1), "hovertext")[2]


def test_tone_needs_the_band_and_sound_needs_a_narrow_interval():
    assert [tone(FOUR, i) for i in filled(FOUR)] == ["under", "sound", "over"]
    wide = bins_of([10], [0.5], [0.51], half=0.06)
    assert tone(wide, 0) == "few"
    unbanded = bins_of([10], [0.5], [0.51], band=np.nan)
    assert tone(unbanded, 0) == "few"


def test_dot_size_grows_with_the_root_of_the_count():
    sizes = {
        i: s
        for trace in dots(diagram(FOUR, LIGHT))
        for i, s in zip(trace.customdata, trace.marker.size, strict=True)
    }
    assert sizes == {1: pytest.approx(7 + 19 / 4), 2: pytest.approx(7 + 19 / 2), 3: 26}


def test_band_runs_parallel_to_the_diagonal_and_skips_small_bins():
    band = diagram(FOUR, LIGHT).data[0]
    assert list(band.x[:4]) == [0.5, 0.75, 0.75, 0.5]  # bin 1 holds 10 images: not drawn
    np.testing.assert_allclose(band.y[:4], [0.47, 0.72, 0.78, 0.53])
    assert sum(x is None for x in band.x) == 2


def test_marks_of_means_are_named_in_words():
    figure = diagram(FOUR, LIGHT)
    # (10*0.4 + 40*0.6 + 160*0.9) / 210 = 0.8190; (5 + 24.4 + 128) / 210 = 0.7495
    text = next(trace for trace in figure.data if trace.name == "means").text[0]
    assert text == ("right <b>75.0\u202f%</b> (dotted), says <b>81.9\u202f%</b> (solid)")
    at = {shape.line.dash: shape.x0 for shape in figure.layout.shapes}
    assert at == {
        "dot": pytest.approx(0.74952, abs=1e-5),
        "solid": pytest.approx(0.81905, abs=1e-5),
    }


def test_log_counts_name_their_axis():
    axis = diagram(FOUR, LIGHT, log_counts=True).layout.yaxis2
    assert (axis.type, axis.title.text) == ("log", "Images (log)")
    assert axis.ticktext == ("1", "10", "100")


def test_gap_view_hatches_over_confidence_and_widens_only_when_it_must():
    figure = gap_view(FOUR, LIGHT)
    patterns = {trace.name: trace.marker.pattern.shape for trace in dots(figure)}
    assert patterns["over"] == "/"
    over = next(trace for trace in dots(figure) if trace.name == "over")
    # without a ground of its own the hatch is drawn on nothing by older plotly.js
    assert over.marker.pattern.bgcolor == over.marker.color == LIGHT.over
    assert patterns["under"] is None
    assert figure.layout.yaxis.range == (-50, 50)
    assert gap_view(bins_of([5], [0.99], [0.1]), LIGHT).layout.yaxis.range == (-100, 100)
    assert "says more" in figure.layout.annotations[0].text


def test_bars_of_the_gap_view_are_three_fifths_of_their_bin():
    widths = {t.name: t.width[0] for t in dots(gap_view(FOUR, LIGHT))}
    assert widths == dict.fromkeys(("over", "under", "sound"), pytest.approx(0.15))


def test_both_themes_draw_the_same_numbers_in_their_own_colours():
    light, dark = diagram(FOUR, LIGHT), diagram(FOUR, DARK)
    assert by_bin(light, "y") == by_bin(dark, "y")
    colours = [next(t for t in f.data if t.name == "over").marker.color for f in (light, dark)]
    assert colours == [LIGHT.over, DARK.over]
    assert light.layout.paper_bgcolor == "rgba(0,0,0,0)"


@pytest.mark.parametrize(("n", "says", "right"), [(1, 1.0, 1.0), (1, 1.0, 0.0), (3, 0.0, 0.0)])
def test_tiny_and_extreme_bins_are_drawn(n, says, right):
    table = bins_of([0, n], [0, says], [0, right])
    assert by_bin(diagram(table, LIGHT), "x") == {1: says}
    assert by_bin(gap_view(table, DARK), "y") == {1: pytest.approx(100 * (says - right))}


def test_no_bins_draw_an_empty_frame():
    none = bins_of([], [], [])
    assert not dots(diagram(none, LIGHT))
    assert not dots(gap_view(none, LIGHT))


def uneven():
    one = [np.array([v]) for v in (0.75, 1.0, 100, 0.8, 0.6, 0.45, 0.75, 0.68, 0.85)]
    return BinTable(*one)


def test_whiskers_and_band_keep_their_ends_apart():
    (over,) = dots(diagram(uneven(), LIGHT))
    assert over.error_y.array[0] == pytest.approx(0.15)
    assert over.error_y.arrayminus[0] == pytest.approx(0.15)
    lopsided = replace(uneven(), ci_low=np.array([0.5]))
    (over,) = dots(diagram(lopsided, LIGHT))
    assert (over.error_y.array[0], over.error_y.arrayminus[0]) == pytest.approx((0.15, 0.1))
    assert over.cliponaxis is False  # the top bin may stand on the frame


def test_gap_view_turns_interval_and_band_over():
    lopsided = replace(uneven(), ci_low=np.array([0.5]))
    figure = gap_view(lopsided, LIGHT)
    (bar,) = dots(figure)
    # right 50 to 75: the gap runs from 80 - 75 = 5 to 80 - 50 = 30 around 20
    assert (bar.error_y.array[0], bar.error_y.arrayminus[0]) == pytest.approx((10, 15))
    band = figure.data[0]
    # band 68 to 85: from 80 - 85 = -5 to 80 - 68 = 12
    assert (band.base[0], band.y[0]) == pytest.approx((-5, 17))


@pytest.mark.parametrize(
    ("count", "wanted"),
    [([0, 600, 500, 0], True), ([350, 10, 15, 9, 400], True), ([30, 40, 50], False), ([7], False)],
)
def test_counts_are_logarithmic_when_one_bin_flattens_the_others(count, wanted):
    share = [0.5] * len(count)
    assert dominated(bins_of(count, share, share)) is wanted


def test_axes_in_log_odds_keep_every_number_and_hold_what_lies_at_the_ends():
    bins = bins_of(
        [30, 40, 160, 50], [0.2, 0.9, 0.999, 0.9999], [0.0, 0.91, 0.9985, 1.0], half=0.01
    )

    def share(odds):
        return 1 / (1 + np.exp(-np.asarray(odds, dtype=float)))

    figure = diagram(bins, LIGHT, log_odds=True)
    says, right = by_bin(figure, "x"), by_bin(figure, "y")
    low, high = share(figure.layout.xaxis.range)
    assert figure.layout.yaxis.range == figure.layout.xaxis.range  # a square
    for i in filled(bins):
        assert share(says[i]) == pytest.approx(bins.confidence[i])
        assert share(right[i]) == pytest.approx(np.clip(bins.accuracy[i], low, high))
    (sure,) = [trace for trace in dots(figure) if 1 in trace.customdata]
    at = list(sure.customdata).index(1)
    up, down = sure.error_y.array[at], sure.error_y.arrayminus[at]
    assert share([sure.y[at] + up, sure.y[at] - down]) == pytest.approx([0.92, 0.9])
    bars = next(trace for trace in figure.data if trace.name == "images")
    middle, half = np.array(bars.x), np.array(bars.width) / 2
    assert share(middle - half) == pytest.approx(np.clip(bins.low, low, high))
    assert share(middle + half) == pytest.approx(np.clip(bins.high, low, high))
    ruler = figure.layout.xaxis
    written = dict(zip(map(float, ruler.ticktext), share(ruler.tickvals), strict=True))
    # 0 and 100 are marked, each behind a dotted line that nothing inside (0, 1) lies beyond
    assert (written.pop(0.0), written.pop(100.0)) == pytest.approx((low, high))
    assert list(written.values()) == pytest.approx([tick / 100 for tick in written])
    inside = [bins.confidence, bins.accuracy[1:3]]
    first, last = share([line.y0 for line in figure.layout.shapes if line.y0 == line.y1])
    assert low < first < min(map(np.min, inside))
    assert max(map(np.max, inside)) < last < high
    assert ruler.title.text.endswith("log odds; 0 and 100 set apart")
    plain = diagram(bins, LIGHT)
    assert plain.layout.xaxis.range == (0, 1)
    near = diagram(bins_of([30, 40], [0.5, 0.999988], [0.5, 1.0], half=1e-6), LIGHT, log_odds=True)
    (last,) = [line.y0 for line in near.layout.shapes if line.y0 == line.y1]
    assert by_bin(near, "x")[1] < last < near.layout.xaxis.range[1]


def test_narrow_bins_next_to_one_stand_at_their_own_place_in_log_odds():
    edges = np.array([0.2, 0.9985, 0.999, 0.9993, 0.9999])
    conf = (edges[1:] + edges[:-1]) / 2
    bins = replace(bins_of([40] * 4, conf, conf - 0.0005), low=edges[:-1], high=edges[1:])
    bars = next(t for t in diagram(bins, LIGHT, log_odds=True).data if t.name == "images")
    left = np.array(bars.x) - np.array(bars.width) / 2
    right = np.array(bars.x) + np.array(bars.width) / 2
    assert left[1:] == pytest.approx(np.log(edges[1:-1] / (1 - edges[1:-1])))
    assert right[:-1] == pytest.approx(left[1:])  # none covers another
    tied = replace(bins, low=np.array([0.2, 0.9985, 0.9993, 0.9993]))
    figure = diagram(tied, LIGHT, log_odds=True)
    bars = next(t for t in figure.data if t.name == "images")
    assert bars.width[2] == pytest.approx(0.004 * np.ptp(figure.layout.xaxis.range))
    assert "0" not in figure.layout.xaxis.ticktext  # nothing lies at either end
    assert "apart" not in figure.layout.xaxis.title.text
    assert has_log_odds(bins)
    assert not has_log_odds(bins_of([10, 20], [0.0, 1.0], [0.0, 1.0]))
