import json
from itertools import combinations

import numpy as np
import plotly.graph_objects as go
import plotly.io as pio
import pytest

from core.screens.kit.theme import DARK, LIGHT, THEMES, layout

# Machado, Oliveira & Fernandes 2009, severity 1, applied to linear RGB
SIMULATION = {
    "protan": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deutan": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
}


def linear(colour):
    srgb = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)


def contrast(one, other):
    high, low = sorted(
        (float(linear(c) @ [0.2126, 0.7152, 0.0722]) for c in (one, other)), reverse=True
    )
    return (high + 0.05) / (low + 0.05)


def lab(rgb):
    xyz = (
        np.array(
            [
                [0.4124564, 0.3575761, 0.1804375],
                [0.2126729, 0.7151522, 0.0721750],
                [0.0193339, 0.1191920, 0.9503041],
            ]
        )
        @ rgb
    ) / [0.95047, 1.0, 1.08883]
    f = np.where(xyz > (6 / 29) ** 3, np.cbrt(xyz), xyz / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def ciede2000(one, other):
    """Colour difference after Sharma, Wu & Dalal 2005; angles in degrees."""
    (l1, a1, b1), (l2, a2, b2) = one, other
    mean_c = (np.hypot(a1, b1) + np.hypot(a2, b2)) / 2
    g = 0.5 * (1 - np.sqrt(mean_c**7 / (mean_c**7 + 25.0**7)))
    a1, a2 = (1 + g) * a1, (1 + g) * a2
    c1, c2 = np.hypot(a1, b1), np.hypot(a2, b2)
    h1, h2 = (np.degrees(np.arctan2(b, a)) % 360 for a, b in ((a1, b1), (a2, b2)))
    turn = (h2 - h1 + 180) % 360 - 180 if c1 * c2 else 0.0
    big_h = 2 * np.sqrt(c1 * c2) * np.sin(np.radians(turn / 2))
    mean_l, mean_c = (l1 + l2) / 2, (c1 + c2) / 2
    mean_h = h1 + h2
    if c1 * c2:
        mean_h = (h1 + h2) / 2 + (0 if abs(h1 - h2) <= 180 else 180 if h1 + h2 < 360 else -180)
    t = (
        1
        - 0.17 * np.cos(np.radians(mean_h - 30))
        + 0.24 * np.cos(np.radians(2 * mean_h))
        + 0.32 * np.cos(np.radians(3 * mean_h + 6))
        - 0.20 * np.cos(np.radians(4 * mean_h - 63))
    )
    s_l = 1 + 0.015 * (mean_l - 50) ** 2 / np.sqrt(20 + (mean_l - 50) ** 2)
    s_c, s_h = 1 + 0.045 * mean_c, 1 + 0.015 * mean_c * t
    theta = 30 * np.exp(-(((mean_h - 275) / 25) ** 2))
    r_t = -2 * np.sqrt(mean_c**7 / (mean_c**7 + 25.0**7)) * np.sin(np.radians(2 * theta))
    parts = np.array([(l2 - l1) / s_l, (c2 - c1) / s_c, big_h / s_h])
    return float(np.sqrt((parts**2).sum() + r_t * parts[1] * parts[2]))


def seen(colour, deficiency):
    return lab(np.clip(np.array(SIMULATION[deficiency]) @ linear(colour), 0, 1))


def test_colour_difference_agrees_with_published_pairs():
    # Sharma, Wu & Dalal 2005, table 1, pairs 1, 7, 17 and 25
    pairs = [
        ((50.0, 2.6772, -79.7751), (50.0, 0.0, -82.7485), 2.0425),
        ((50.0, 0.0, 0.0), (50.0, -1.0, 2.0), 2.3669),
        ((50.0, 2.5, 0.0), (73.0, 25.0, -18.0), 27.1492),
        ((60.2574, -34.0099, 36.2677), (60.4626, -34.1751, 39.4387), 1.2644),
    ]
    for one, other, expected in pairs:
        assert ciede2000(one, other) == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("deficiency", SIMULATION)
@pytest.mark.parametrize("theme", THEMES.values(), ids=THEMES)
def test_meanings_stay_apart_for_red_green_deficiency(theme, deficiency):
    for one, other in combinations((theme.over, theme.under, theme.sound), 2):
        assert ciede2000(seen(one, deficiency), seen(other, deficiency)) >= 15


@pytest.mark.parametrize("deficiency", SIMULATION)
@pytest.mark.parametrize(("theme", "least"), [(LIGHT, 13.5), (DARK, 9.5)], ids=["light", "dark"])
def test_run_colours_stay_apart_for_red_green_deficiency(theme, least, deficiency):
    for one, other in combinations(theme.runs, 2):
        assert ciede2000(seen(one, deficiency), seen(other, deficiency)) >= least


@pytest.mark.parametrize("theme", THEMES.values(), ids=THEMES)
def test_marks_reach_three_to_one_and_words_four_and_a_half(theme):
    marks = (theme.over, theme.under, theme.sound, theme.quiet, theme.bars, theme.accent)
    for colour in (*marks, *theme.runs):
        assert contrast(colour, theme.paper) >= 3.0, colour
    for tone in ("over", "under", "sound", "few", "ink", "quiet"):
        for ground in (theme.paper, theme.wash):
            assert contrast(theme.word(tone), ground) >= 4.5, (tone, ground)


def test_no_run_wears_a_colour_that_has_a_meaning():
    for theme in THEMES.values():
        assert not {theme.over, theme.under, theme.sound} & set(theme.runs)


def test_a_figure_carries_no_default_template(monkeypatch):
    monkeypatch.setattr(pio.templates, "default", "ggplot2")
    figure = go.Figure(go.Scatter(y=[1, 2]), layout(LIGHT, 200))
    template = figure.layout.template.to_plotly_json()
    assert sorted(template["data"]) == ["scatter"]
    assert len(json.dumps(template)) < 100
