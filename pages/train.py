"""Train: configure, queue, watch, stop and resume."""

from pages.ui import frame, train

frame.begin("pages/train.py")
with frame.caught():
    train.draw()
