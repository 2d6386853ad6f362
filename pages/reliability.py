"""Reliability: the audit of one run."""

from pages.ui import frame, state
from pages.ui.reliability import body as audit
from pages.ui.runs import table as library

frame.begin("pages/reliability.py")
with frame.caught():
    run = library.open_run("Open a run to see whether its confidence can be trusted.")
    split = audit.split_of(run)
    if state.plain():
        audit.draw_plain(run, split)
    else:
        audit.draw(run, split)
