"""Which run is open, with the header of its tabs, and which are compared; in session and link."""

from collections.abc import Callable, Container, Mapping, Sequence

import streamlit as st

from core.errors import LibraryError, UsageError
from core.library.manifest import summarise
from core.metrics.comparison import MOST_RUNS
from core.predictions import Task
from core.screens.kit.words import with_row_noun
from core.screens.runs import NO_VERDICT, PLAIN, TECHNICAL, verdict
from pages.ui import frame, markup, open_runs, session, site, state, widgets
from pages.ui.markup import esc
from pages.ui.visitor import open_library

QUICK_CELLS = 400_000  # scores; fewer are audited for the header where nothing is kept
LISTED = 200  # runs in a picker; the Runs page lists and searches all
OFFERED = ("digits-fair", "digits-overconfident", "digits-traits")


def samples() -> None:
    """Offer a few sample runs, one button each; the list below has all of them."""
    rows = {row.id: row for row in open_runs.rows(kind="sample", sort="name", descending=False)}
    with st.container(horizontal=True, key="samples"):
        for row in (rows[name] for name in OFFERED if name in rows):
            if st.button(esc(row.name), icon=":material/play_arrow:", key=f"sample.{row.id}"):
                open_in_reliability(row.id)


def open_run(sample: str = site.SAMPLE) -> open_runs.Run:
    """Return the run that a page speaks of: the one that is chosen, else a sample, named as one.

    A run that is gone is refused, and others are offered in its place.
    """
    try:
        chosen = state.current_run()
        run = chosen or open_runs.find(sample)
    except LibraryError as gone:
        frame.refusal(gone)
        state.open_run(None)
        # Offer other runs in place of one that is gone
        markup.draw("headline", "Open another run.")
        samples()
        your_own()
        st.stop()
    frame.title(run.name)
    frame.set_row_noun(run.data)
    if chosen is None:
        your_own()
    return run


def header(
    run: open_runs.Run,
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
        listed = open_runs.openable(LISTED)
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
            words = widgets.SPLIT_NAMES
            split = widgets.segments("Split", "split", splits, default, words, elsewhere=run.splits)
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
    if text != NO_VERDICT or widgets.chip(run):
        with place:
            markup.draw("verdict", text, tone, widgets.chip(run))
    linked = st.query_params.get("split", "")
    if linked in run.splits and linked not in splits:
        missing = with_row_noun(lacks)
        why = f"“{linked}” holds no {missing}; these are those of “{split}”."
        markup.draw("second", why)
    return split


def _verdict(run: open_runs.Run, split: str) -> tuple[str, str]:
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
        state.open_run(open_runs.find(picked))
    except LibraryError as gone:
        state.open_run(None)
        state.say(f"{gone.what}. It was deleted.")


def your_own() -> None:
    """Link to where runs of one's own are opened, over a sample that nobody chose."""
    with st.container(key="own", width="content"):
        st.page_link(site.HOME.script, label="Open your own run", icon=site.HOME.icon)


def open_in_reliability(run_id: str) -> None:
    """Open a run or a draft on the reliability page."""
    run = open_runs.find(run_id)
    state.open_run(run)
    st.switch_page(site.RELIABILITY.script, query_params=state.linked(run))


# Runs that are compared.
TAG = "tag:"  # begins a choice that stands for all runs with a tag; no run's id has a colon
CHOSEN_WITH = "app.compared_with"  # the run that was open when runs were chosen
SAMPLES = ("cifar10-adafocal", "cifar10-ce", "cifar10-focal-3")  # compared until runs are picked


def choose(ids: Sequence[str]) -> None:
    """Compare these runs from now on, or until another one is opened."""
    keep("set.runs", "runs", tuple(ids))
    st.session_state[CHOSEN_WITH] = _open()


def _open() -> str | None:
    """Return the run that the link names, else the one last opened."""
    named: str | None = st.query_params.get(state.RUN) or st.query_params.get(state.DRAFT)
    return named or st.session_state.get("app.run")


def keep(setting: str, parameter: str, ids: Sequence[str]) -> None:
    """Keep runs as a setting of the session and in the link, out of which drafts stay."""
    st.session_state[setting] = ids
    linked = [run_id for run_id in ids if run_id not in session.drafts()]
    if linked:
        st.query_params[parameter] = ",".join(linked)
    else:
        st.query_params.pop(parameter, None)


def others(setting: str, offered: Container[str], most: int) -> list[str]:
    """Return the runs on offer that stand beside the open one, and keep them as the setting.

    They are those that the link names, with the drafts of this session, else those kept before.
    """
    kept = [run_id for run_id in st.session_state.get(setting, ()) if run_id in offered]
    linked = [
        run_id for run_id in st.query_params.get("beside", "").split(",") if run_id in offered
    ]
    same = linked == [run_id for run_id in kept if run_id not in session.drafts()]
    ids = (kept if same or not linked else linked)[:most]
    keep(setting, "beside", ids)
    return ids


def chosen() -> list[open_runs.Run]:
    """Return the runs that the link names, with the drafts of this session beside them.

    A run that was opened since then stands alone. Where nothing was picked or opened yet, these
    are samples, and the page says so.

    Raises LibraryError RUN_UNKNOWN for a linked run that is not here. UsageError SETTING for more
    than can be compared.
    """
    run_ids: tuple[str, ...] = st.session_state.get("set.runs", ())
    names = st.query_params.get("runs", "").split(",")
    linked = tuple(dict.fromkeys(i for i in names if i and not i.startswith("draft-")))
    if linked and linked != tuple(i for i in run_ids if not i.startswith("draft-")):
        run_ids = linked
    run, cleared = _open(), "set.runs" in st.session_state and not run_ids
    since = run != st.session_state.get(CHOSEN_WITH)
    if run and not linked and run not in run_ids and since:
        run_ids, cleared = (run,), False
    if len(run_ids) > MOST_RUNS:
        raise UsageError(
            "SETTING", f"{len(run_ids)} runs are too many", f"compare at most {MOST_RUNS}"
        )
    runs = [open_runs.find(i) for i in run_ids if i in linked or open_runs.find_or_none(i)]
    if not runs and not cleared and all(map(open_runs.find_or_none, SAMPLES)):
        your_own()
        return [open_runs.find(i) for i in SAMPLES]
    choose([run.id for run in runs])
    frame.set_row_noun(*(run.data for run in runs))
    return runs


def picker(
    runs: Sequence[open_runs.Run],
    setting: str = "runs",
    most: int = MOST_RUNS,
    choose: Callable[[Sequence[str]], None] = choose,
    *,
    label: str = "Runs",
    without: str = "",
) -> None:
    """Draw the choice of runs, those that are shown being chosen; a tag brings all of its runs.

    The run `without` is not offered.
    """
    key = f"widget.{setting}"
    listed = open_runs.openable(LISTED)
    names = {draft.id: f"{draft.name} (draft)" for draft in session.drafts().values()}
    names |= {row.id: row.name for row in listed}
    names |= {run.id: run.name for run in runs if run.id not in names}
    names.pop(without, None)
    # The runs of each tag, by the choice that stands for it, in the order of tags
    tags = sorted({tag for row in listed for tag in row.tags}, key=str.casefold)
    tagged = {f"{TAG}{tag}": [row.id for row in listed if tag in row.tags] for tag in tags}
    names |= {
        choice: f"Tag: {choice.removeprefix(TAG)} ({len(ids)} run{'s' * (len(ids) != 1)})"
        for choice, ids in tagged.items()
    }
    names = state.distinct_names(names, {row.id: row.created for row in listed})
    st.session_state[key] = [run.id for run in runs]

    def pick() -> None:
        """Take the runs that are chosen, those of a tag in its place and none twice."""
        ids = (i for option in st.session_state[key] for i in tagged.get(option, [option]))
        choose(list(dict.fromkeys(ids))[:most])

    st.multiselect(
        label,
        list(names),
        key=key,
        format_func=lambda run_id: names.get(run_id, run_id),
        max_selections=most,
        placeholder="Choose runs or a tag",
        on_change=pick,
    )
