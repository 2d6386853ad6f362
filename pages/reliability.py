"""Reliability: the audit of one run."""

from pages.ui import controls, frame, opening, state
from pages.ui.reliability import body as audit

frame.begin("pages/reliability.py")
with frame.caught():
    run = opening.open_run("Open a run to see whether its confidence can be trusted.")
    split = controls.split_of(run)
    if state.plain():
        audit.draw_plain(run, split)
    else:
        audit.draw(run, split)
