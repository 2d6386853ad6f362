"""Gamma dynamics: what a loss with gammas by bin learned, epoch by epoch."""

from pages.ui import frame
from pages.ui.gamma import page as gamma

frame.begin("pages/gamma.py")
with frame.caught():
    gamma.draw()
