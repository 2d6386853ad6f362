"""Chest X-ray: what a model says of a film, where that comes from, and what it is worth."""

from pages.ui import frame
from pages.ui.xray import page as xray

frame.begin("pages/xray.py")
with frame.caught():
    xray.draw()
