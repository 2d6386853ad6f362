"""Compare: several runs side by side, with paired intervals of their differences."""

from pages.ui import compare, frame

frame.begin("pages/compare.py")
with frame.caught():
    compare.draw()
