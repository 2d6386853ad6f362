"""Reliability: the audit of one run, in full or in plain words."""

import streamlit as st

from core import defaults
from core.configs import BinRule
from core.screens.reliability.plain import plain_view
from core.screens.reliability.view import Subject, parts_table, unbinned_cards
from pages.ui import audits, drafts, frame, reliability, selected_runs, site, state, widgets

frame.begin("pages/reliability.py")
with frame.caught():
    if st.query_params.get("votes") == "people":  # where this stood before it had a tab
        st.switch_page(site.HUMAN.script, query_params=state.carried())
    run = selected_runs.open_run()
    split = selected_runs.header(run, judged=False)  # the sentence says it
    top = st.container()
    settings = st.container(horizontal=True, vertical_alignment="center", key="bare.choices")
    audit = audits.audit(run, split) or reliability.end(top, run)
    with settings:
        target = reliability.target(run, audit)
    if audit.labels and target is None:
        with top:
            view = reliability.labels(run, audit)
            drafts.bar(run)
        reliability.label_table(run, split, view)
        st.stop()
    ready = audits.prepared(run, split, target) or reliability.end(top, run)
    with top:
        head = st.container()
        drafts.bar(run)
        numbers = st.container()
    if state.plain():
        bins = audits.diagram(ready, n_bins=defaults.N_BINS, rule=BinRule.EQUAL_WIDTH)
        words = plain_view(audit, bins, ready.ranked, split=split)
        with head:
            widgets.eyebrow(words.eyebrow)
            widgets.sentence(words.sentence)
        with numbers:
            widgets.strip(words.numbers)
        reliability.plain(words)
    else:
        classes, curve = audits.classes(run, split), reliability.risk_curve(run, split, audit)
        subject = Subject(run.name, split, run.file_digest, run.class_names, run.notices)
        at = reliability.places(head, numbers, settings)
        by_class = parts_table(audit, classes)
        reliability.binned_parts(run, split, audit, ready, subject, by_class, at)
        reliability.unbinned(at, unbinned_cards(audit, subject, classes, curve))
