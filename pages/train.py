"""Train: configure, queue, watch, stop and resume."""

from functools import partial

import streamlit as st

from pages.ui import frame, site, state, widgets
from pages.ui.jobs import machine
from pages.ui.jobs import watch as job_watch
from pages.ui.jobs.watch import JobPage, follow, rows, stop
from pages.ui.train import form, watch
from pages.ui.visitor import open_jobs

PAGE = JobPage(site.TRAIN, "training")

frame.begin("pages/train.py")
with frame.caught():
    jobs = open_jobs()
    jobs.tick()
    listed = jobs.list()
    job_id = PAGE.linked()
    if not job_id:
        form.begin()
        widgets.eyebrow("Train")
        form.title()
        with st.container():  # keeps what follows in its place, whatever is in it
            if not listed or state.plain():
                form.one_click(jobs)
            job_watch.refused()
        place = st.container()
        if not state.plain():
            left, place = st.columns([5, 3], gap="large")
            with left:
                widgets.title("Your own training")
                form.draw(jobs)
                with st.container():
                    configs = form.configs()
                    form.earlier(jobs, configs, listed)
                    machine.time(configs, listed)
                form.buttons(jobs, configs, listed)
        with place:
            with st.container():
                job_watch.head(jobs, listed)
            rows(listed)
    elif watched := PAGE.find(jobs, job_id, listed):
        PAGE.head(watched, "", watch.sentence(watched))
        # Outside what redraws itself, so that focus stays.
        with st.container(horizontal=True, vertical_alignment="bottom", key="job.actions"):
            stop(watched)
            watch.actions(watched)
            PAGE.back()
            other = watch.choose_other(watched)
        follow(partial(watch.body, beside=other), watched)
