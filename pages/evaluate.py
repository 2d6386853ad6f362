"""Evaluate: show a model of a file or of a training images, and keep what it says as a run."""

from pages.ui import evaluate, frame

frame.begin("pages/evaluate.py")
with frame.caught():
    evaluate.draw()
