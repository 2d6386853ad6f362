"""Evaluate: run a model on images and keep its predictions as a run."""

import streamlit as st

from core.screens.train.words import EVALUATE
from pages.ui import frame, site, state, weights_source, widgets
from pages.ui.evaluate import form, watch
from pages.ui.jobs.watch import JobPage, follow, rows, stop
from pages.ui.visitor import open_jobs

PAGE = JobPage(site.EVALUATE, "evaluation")

frame.begin("pages/evaluate.py")
with frame.caught():
    jobs = open_jobs()
    jobs.tick()
    listed = jobs.list()
    job_id = PAGE.linked()
    if not job_id:
        weights_source.follow_link()
        weights_source.open_weights()
        opened = weights_source.opened()
        frame.title(opened.file.name if opened else "")
        widgets.eyebrow("Evaluate")
        form.title(explained=opened is None)
        left, right = st.columns([5, 3], gap="large")
        with left:
            form.refused()
            if weights_source.opening() is not None:
                weights_source.intake().progress(weights_source.stop)
            elif opened is None:
                trained = weights_source.trainings(jobs, listed)
                form.training(trained)
                widgets.title("Your own file")
                form.file()
                form.path()
            else:
                fit = form.match(opened)
                if fit is not None and fit.ok:
                    form.images()
                    if not state.plain():
                        form.shown()
                        form.more(opened)
                    watch.buttons(jobs, opened)
        with right:
            live = sum(job.kind == EVALUATE and not job.state.ended for job in listed)
            widgets.title("Evaluations", f"{live} waiting or running" if live else "")
            rows(listed, EVALUATE)
    elif watched := PAGE.find(jobs, job_id, listed):
        PAGE.head(watched, *watch.heading(watched))
        # Outside what redraws itself, so that focus stays.
        with st.container(horizontal=True, vertical_alignment="bottom", key="job.actions"):
            stop(watched)
            watch.actions(watched)
            PAGE.back()
        follow(watch.body, watched)
