"""Reliability: the audit of one run."""

from pages.ui import audit, frame, library, state

frame.begin("pages/reliability.py")
with frame.caught():
    run = library.open_run("Open a run to see whether its confidence can be trusted.")
    split = audit.split_of(run)
    if state.plain():
        audit.draw_plain(run, split)
    else:
        audit.draw(run, split)
