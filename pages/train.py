"""Train: configure, queue, watch, stop and resume."""

from pages.ui import frame
from pages.ui.train import page as train

frame.begin("pages/train.py")
with frame.caught():
    train.PAGE.draw()
