"""Post-hoc: what calibrators would do to one run, fitted on one part and judged on another."""

from pages.ui import frame, opening
from pages.ui.posthoc import body as posthoc

frame.begin("pages/posthoc.py")
with frame.caught():
    posthoc.draw(opening.open_run("Open a run to see what calibrators would do to it."))
