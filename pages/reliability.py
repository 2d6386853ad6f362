"""Reliability: the audit of one run, in full or in plain words."""

import streamlit as st

from core.screens.reliability.plain import plain_view
from core.screens.reliability.view import Subject, reliability_view
from pages.ui import cache, controls, drafts, frame, opening, state, widgets
from pages.ui.reliability import choices, details, figures, plain

frame.begin("pages/reliability.py")
with frame.caught():
    run = opening.open_run("Open a run to see whether its confidence can be trusted.")
    split = controls.split_of(run)
    audit = cache.audit(run, split)
    top = st.container()
    with st.container(horizontal=True, vertical_alignment="top", key="controls"):
        controls.splits(run)
        target = choices.target(run, audit)
        rule, n_bins = choices.bins()
        log_counts = choices.log_counts()
    target_audit = cache.diagram(run, split, target, n_bins=n_bins, rule=rule)
    if state.plain():
        ranked = cache.prepared(run, split, target).resamples.ranked
        words = plain_view(audit, target_audit, ranked, name=run.name, split=split)
        with top:
            widgets.eyebrow(words.eyebrow, controls.chip(run))
            widgets.sentence(words.sentence)
            drafts.bar(run)
            widgets.strip(words.numbers)
        plain.draw(words)
    else:
        view = reliability_view(
            audit,
            Subject(run.name, split, run.file_digest, run.class_names, run.notices),
            chosen=target_audit,
            classes=cache.classes(run, split),
            curve=figures.risk_curve(run, split, audit),
            log_counts=log_counts,
        )
        with top:
            widgets.eyebrow(view.eyebrow, controls.chip(run))
            widgets.sentence(view.sentence)
            drafts.bar(run)
            if audit.labels:
                widgets.second(f"All together: {audit.main.verdict.text}")
            widgets.strip(view.numbers)
            frame.notices(view.notices)
        bin_index = figures.draw(view.figures)
        figures.rows(run, split, target_audit, bin_index)
        widgets.key(view.key)
        widgets.caption(view.caption)
        details.meanings(view.numbers)
        details.parts(view.parts)
        details.metrics(run, split, target_audit)
