"""Theory: what gamma does to stated certainty, and where print and numbers differ."""

from pages.ui import frame
from pages.ui.theory import body as theory

frame.begin("pages/theory.py")
with frame.caught():
    theory.draw()
