"""Runs: the first screen. Drop a file, open a sample, or pick a run."""

import streamlit as st

from pages.ui import frame, markup, open_runs, selected_runs, tour, widgets
from pages.ui.jobs.watch import refused
from pages.ui.runs import audit_jobs, several, table, upload
from pages.ui.visitor import open_jobs, open_library

frame.begin("pages/library.py")
with frame.caught():
    jobs = open_jobs()
    jobs.tick()
    listed = jobs.list()
    job_id = audit_jobs.PAGE.linked()
    if not job_id:
        markup.draw("headline", table.words().headline)
        upload.INTAKE.refused()
        refused()
        reading = upload.INTAKE.reading
        if several.reading():
            pass  # which is drawn
        elif reading is None:
            left, right = st.columns(2, gap="medium")
            with left:
                upload.drop_zone(several.take)
                upload.by_path()
            with right:
                with st.container(horizontal=True, vertical_alignment="center", key="tour_offer"):
                    widgets.title("No file yet?")
                    tour.offer()
                selected_runs.samples()
            several.draw()
        elif not reading.done:
            upload.INTAKE.progress()
        else:
            upload.finished(reading)
        audit_jobs.rows(listed)
        library = open_library()
        with st.container(horizontal=True, vertical_alignment="bottom", key="toolbar"):
            search, kind = table.search(), table.kind()
            actions = st.container(horizontal=True, width="content", key="actions")
        said = st.container()
        ticked = table.draw(open_runs.rows(search=search, kind=kind))
        with actions:
            row = table.actions(library, ticked)
        table.open_run(row)
        with said:
            table.message()
        table.damaged(library)
        table.trash(library)
        table.audit_trail(library)
    elif watched := audit_jobs.PAGE.find(jobs, job_id, listed):
        audit_jobs.draw(watched)
