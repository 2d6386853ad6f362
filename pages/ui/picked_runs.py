"""Which runs are compared: kept in the session, and in the link where they have one."""

from collections.abc import Callable, Container, Sequence

import streamlit as st

from core.errors import UsageError
from core.metrics.comparison import MOST_RUNS
from pages.ui import cache, frame, selected_run, session, state

TAG = "tag:"  # begins a choice that stands for all runs with a tag; no run's id has a colon
LISTED = 200  # offered by the picker; the Runs page lists and searches all
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


def chosen() -> list[cache.Run]:
    """Return the runs that the link names, with the drafts of this session beside them.

    A run that was opened since then stands alone. Where nothing was picked or opened yet, these
    are samples, and the page says so.

    Raises
    ------
    LibraryError
        RUN_UNKNOWN for a linked run that is not here.
    UsageError
        SETTING for more than can be compared.
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
    runs = [cache.find(i) for i in run_ids if i in linked or cache.find_or_none(i)]
    if not runs and not cleared and all(map(cache.find_or_none, SAMPLES)):
        selected_run.your_own()
        return [cache.find(i) for i in SAMPLES]
    choose([run.id for run in runs])
    frame.set_row_noun(*(run.data for run in runs))
    return runs


def picker(
    runs: Sequence[cache.Run],
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
    listed = cache.openable(LISTED)
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
