"""One palette: the app's settings, its stylesheet and the figures name the same colours."""

import re
import tomllib
from pathlib import Path

import pytest

from core.screens.kit.theme import THEMES

ROOT = Path(__file__).parents[2]
CONFIG = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text())
STYLE = (ROOT / "assets" / "style.css").read_text()
TOKENS = dict(re.findall(r"--([\w-]+): light-dark\((#\w+, #\w+)\)", STYLE))
IN_CONFIG = {
    "primaryColor": "accent",
    "backgroundColor": "paper",
    "secondaryBackgroundColor": "wash",
    "textColor": "ink",
    "borderColor": "line",
    "redColor": "alarm",
    "orangeColor": "over",
    "blueColor": "under",
    "greenColor": "sound",
    "grayColor": "quiet",
    "orangeTextColor": "over_text",
    "blueTextColor": "under_text",
    "greenTextColor": "sound_text",
}
IN_STYLE = {
    "over": "over_text",
    "under": "under_text",
    "sound": "sound_text",
    "quiet": "quiet",
    "line": "line",
    "ink": "ink",
    "mark-over": "over",
    "mark-under": "under",
    "mark-sound": "sound",
    "accent": "accent",
    "wash": "wash",
}


@pytest.mark.parametrize("side", ["light", "dark"])
@pytest.mark.parametrize("setting", IN_CONFIG)
def test_the_app_wears_the_colours_of_the_figures(side, setting):
    expected = getattr(THEMES[side], IN_CONFIG[setting])
    assert CONFIG["theme"][side][setting].lower() == expected.lower()


@pytest.mark.parametrize("token", IN_STYLE)
def test_the_stylesheet_wears_the_colours_of_the_figures(token):
    light, dark = TOKENS[token].split(", ")
    field = IN_STYLE[token]
    assert (light, dark) == (getattr(THEMES["light"], field), getattr(THEMES["dark"], field))
