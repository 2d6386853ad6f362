"""Opening a run: the header that the tabs of Audit share, the sample shown until one is chosen."""

from collections.abc import Mapping, Sequence

import streamlit as st

from core.errors import LibraryError
from core.library.manifest import summarise
from core.predictions import Task
from core.screens.kit.words import with_row_noun
from core.screens.runs import NO_VERDICT, PLAIN, TECHNICAL, verdict
from pages.ui import cache, controls, frame, html_macros, session, site, state
from pages.ui.escape import esc
from pages.ui.visitor import open_library

QUICK_CELLS = 400_000  # scores; fewer are audited for the header where nothing is kept
LISTED = 200  # runs in the picker; the Runs page lists and searches all
OFFERED = ("digits-fair", "digits-overconfident", "digits-traits")


def samples() -> None:
    """Offer a few sample runs, one button each; the list below has all of them."""
    rows = {row.id: row for row in cache.rows(kind="sample", sort="name", descending=False)}
    with st.container(horizontal=True, key="samples"):
        for row in (rows[name] for name in OFFERED if name in rows):
            if st.button(esc(row.name), icon=":material/play_arrow:", key=f"sample.{row.id}"):
                open_in_reliability(row.id)


def open_run(sample: str = site.SAMPLE) -> cache.Run:
    """Return the run that a page speaks of: the one that is chosen, else a sample, named as one.

    A run that is gone is refused, and others are offered in its place.
    """
    try:
        chosen = state.current_run()
        run = chosen or cache.find(sample)
    except LibraryError as gone:
        frame.refusal(gone)
        state.open_run(None)
        # Offer other runs in place of one that is gone
        html_macros.draw("headline", "Open another run.")
        samples()
        your_own()
        st.stop()
    frame.title(run.name)
    frame.set_row_noun(run.data)
    if chosen is None:
        your_own()
    return run


def header(
    run: cache.Run,
    splits: Sequence[str] = (),
    *,
    judged: bool = True,
    against: str = "",
    lacks: str = "",
) -> str:
    """Draw what every tab of Audit begins with, and return the split that it speaks of.

    It is the run, its split (of `splits`, by default all), its verdict where the tab does not say
    it itself, `against` what where that is not plain, and the way to Compare. A split of the link
    that is not among `splits` stays there; `lacks` says what it does not hold.
    """
    splits = splits or run.splits
    default = run.split if run.split in splits else splits[0]
    with st.container(horizontal=True, vertical_alignment="center", key="bare.run"):
        names = {draft.id: f"{draft.name} (draft)" for draft in session.drafts().values()}
        listed = cache.openable(LISTED)
        names |= {row.id: row.name for row in listed}
        names.setdefault(run.id, run.name)
        names = state.distinct_names(names, {row.id: row.created for row in listed})
        st.session_state["app.picked"] = run.id
        st.selectbox(
            "Run",
            list(names),
            key="app.picked",
            format_func=lambda run_id: names.get(run_id, run_id),
            on_change=_open_picked,
            args=(names,),
            width=300,
        )
        if len(splits) > 1:
            words = controls.SPLIT_NAMES
            split = controls.segments(
                "Split", "split", splits, default, words, elsewhere=run.splits
            )
        else:
            split = splits[0]
        with st.container(key="verdict", width="content"):
            place = st.empty()
        history = None if run.draft else open_library().get(run.id).history
        if history is not None and history.bins is not None:
            st.page_link(
                site.GAMMA.script,
                label=site.GAMMA.title,
                icon=site.GAMMA.icon,
                query_params=state.linked(run),
            )
        st.page_link(
            site.COMPARE.script,
            label="Compare with …",
            icon=site.COMPARE.icon,
            query_params=state.linked(run),
        )
    text, tone = _verdict(run, split) if judged else (NO_VERDICT, "quiet")
    if against and text != NO_VERDICT:
        text = f"{text} {against}"
    if text != NO_VERDICT or controls.chip(run):
        with place:
            html_macros.draw("verdict", text, tone, controls.chip(run))
    linked = st.query_params.get("split", "")
    if linked in run.splits and linked not in splits:
        missing = with_row_noun(lacks)
        why = f"“{linked}” holds no {missing}; these are those of “{split}”."
        html_macros.draw("second", why)
    return split


def _verdict(run: cache.Run, split: str) -> tuple[str, str]:
    """Return the verdict in a few words, and its tone."""
    from pages.ui import audits  # late: the page of runs needs none of what it imports

    words = PLAIN if state.plain() else TECHNICAL
    kept = None if run.draft else open_library().get(run.id).metrics.get(split)
    quick = run.n(split) * len(run.class_names) <= QUICK_CELLS or audits.large(run, split)
    several = run.task is Task.MULTILABEL  # whose labels are not in what is kept
    audit = audits.known(run, split) if quick and (several or not kept) else None
    metrics = kept or (summarise(audit) if audit else None)
    return verdict(metrics, run.task, words, alone=True, labels=audit.labels if audit else ())


def _open_picked(names: Mapping[str, str]) -> None:
    """Open what was picked; a run that was deleted meanwhile is said, not raised."""
    picked = st.session_state["app.picked"]
    if picked not in names:  # a busy browser still sends the name of a draft that is a run by now
        return
    try:
        state.open_run(cache.find(picked))
    except LibraryError as gone:
        state.open_run(None)
        state.say(f"{gone.what}. It was deleted.")


def your_own() -> None:
    """Link to where runs of one's own are opened, over a sample that nobody chose."""
    with st.container(key="own", width="content"):
        st.page_link(site.HOME.script, label="Open your own run", icon=site.HOME.icon)


def open_in_reliability(run_id: str) -> None:
    """Open a run or a draft on the reliability page."""
    run = cache.find(run_id)
    state.open_run(run)
    st.switch_page(site.RELIABILITY.script, query_params=state.linked(run))
