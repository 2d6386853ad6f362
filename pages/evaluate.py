"""Evaluate: show a model of a file or of a training images, and keep what it says as a run."""

from pages.ui import frame
from pages.ui.evaluate import page as evaluate

frame.begin("pages/evaluate.py")
with frame.caught():
    evaluate.PAGE.draw()
