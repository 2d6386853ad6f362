"""Compare: several runs side by side, with paired intervals of their differences."""

from pages.ui import frame
from pages.ui.compare import body as compare

frame.begin("pages/compare.py")
with frame.caught():
    compare.draw()
