"""The session's lasting choices: which run is open, plain words, and what a link restores."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime

import streamlit as st

from core.errors import LibraryError
from core.screens.kit.text import clean
from pages.ui import open_runs, session
from pages.ui.visitor import open_library

RUN, DRAFT = "run", "draft"  # in the link
OF_ONE_RUN = (  # choices that the next run is not opened with
    *("split", "of", "t", "g", "rule", "bins", "counts", "axes", "bin_rows"),
    *("methods", "fit", "share", "seed", "objective", "search"),
    *("set", "score", "heat", "alarms"),
)
OF_BINS = ("split", "of", "rule", "bins")  # another choice of them has other bins


def generation() -> int:
    """Return a number that changes when selections in figures must be forgotten."""
    return int(st.session_state.get("app.generation", 0))


def next_generation() -> None:
    """Forget what was selected in figures."""
    st.session_state["app.generation"] = generation() + 1


def say(text: str) -> None:
    """Tell what was just done over the page that is drawn next, whichever that is."""
    st.session_state["app.said"] = text


def open_run(run: open_runs.Run | None) -> None:
    """Make a run the one that pages show; the link of a draft opens it in this browser alone."""
    st.session_state["app.run"] = None if run is None else run.id
    _link(run, OF_ONE_RUN)
    _forget_choices()
    next_generation()


def _forget_choices() -> None:
    for name in OF_ONE_RUN:
        st.session_state.pop(f"set.{name}", None)


def _link(run: open_runs.Run | None, forgotten: Sequence[str] = ()) -> None:
    """Let the link lead to a run, or to none, without what was chosen of another."""
    _rewrite((RUN, DRAFT, *forgotten), linked(run))


def _rewrite(dropped: Sequence[str], written: Mapping[str, str]) -> None:
    """Drop parameters of the link and write others, as one step of the browser's history."""
    link = st.query_params.to_dict()
    if "plain" in link:  # bound to its switch: the link cannot be written anew as a whole
        st.query_params.update({name: "" for name in dropped if name in link} | {**written})
    else:
        kept = {name: value for name, value in link.items() if name not in dropped}
        st.query_params.from_dict(kept | {**written})


def carried() -> dict[str, str]:
    """Return what a link to another page of the same run carries: the run, and its split.

    The link of this page goes before the session, which it has not changed yet when the way about
    is drawn.
    """
    link, drafts = st.query_params.to_dict(), session.drafts()
    run, split = st.session_state.get("app.run"), link.get("split")
    if link.get(DRAFT) in drafts:
        run = link[DRAFT]
    if link.get(RUN):
        with suppress(LibraryError):  # a run that is gone is refused on this page alone
            run = open_library().get(link[RUN]).id
    named = {DRAFT if run in drafts else RUN: run} if run else {}
    return named | {"split": split} if split else named


def linked(run: open_runs.Run | None) -> dict[str, str]:
    """Return what a link to a run carries."""
    return {} if run is None else {DRAFT if run.draft else RUN: run.id}


def current_run() -> open_runs.Run | None:
    """Return the run in the link, else the one last opened, else None.

    Raises LibraryError RUN_UNKNOWN for a link to a run that is not here, or to a draft of another
    browser.
    """
    last = st.session_state.get("app.run")
    run_id, draft_id = st.query_params.get(RUN, ""), st.query_params.get(DRAFT, "")
    if run_id and not run_id.startswith(session.DRAFT):
        if last not in (None, run_id):
            _forget_choices()  # what the link says of this run stays
        st.session_state["app.run"] = run_id
        return open_runs.find(run_id)
    if draft_id and draft_id not in session.drafts():
        raise LibraryError(
            "RUN_UNKNOWN",
            "This draft is not here",
            "upload the file again; a draft opens in one browser only, and is deleted soon after "
            "its last page is closed",
        )
    last = draft_id or last
    if last is None:
        return None
    run = open_runs.find_or_none(last)
    st.session_state["app.run"] = None if run is None else run.id
    if run is not None:
        _link(run)
    return run


WHEN = ("{:%-d %b %Y}", "{:%-d %b %Y, %H:%M}")


def distinct_names(
    names: Mapping[str, str], created: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return what choices are called, and behind names that several have what tells them apart.

    That is the day or minute in which they were `created`, in UTC, else the id. A list of choices
    tells them by what is printed, so equal names would pick each other. It is drawn as it is: a
    mark that turns the direction of writing would turn that of its neighbours.
    """
    names = {option: clean(name) for option, name in names.items()}
    same: dict[str, list[str]] = {}
    for option, name in names.items():
        same.setdefault(name, []).append(option)
    found = {option: name for name, (option, *others) in same.items() if not others}
    for name, options in same.items():
        dates = [
            datetime.fromisoformat(created[option]).astimezone(UTC)
            for option in options
            if created and option in created
        ]
        behind = ([form.format(date) for date in dates] for form in WHEN)
        suffixes = next((one for one in behind if len({*one}) == len(options)), options)
        if len(options) > 1:
            found |= {o: f"{name} ({one})" for o, one in zip(options, suffixes, strict=True)}
    return {option: found[option] for option in names}


def choice(
    name: str,
    options: Sequence[str],
    default: str,
    elsewhere: Sequence[str] = (),
) -> str:
    """Return one of the options: what the link says, else what was chosen before.

    The widget with the key of `widget_key` is set to it, `pick` as its callback keeps link and
    session in step; a default leaves the link short. On a page that was just entered the session
    speaks where the link is silent; afterwards silence means the default, so that the Back button
    goes back. What other pages can show, of `elsewhere`, stays in the link.
    """
    linked, key = st.query_params.get(name), widget_key(name)
    before = st.session_state.get(f"set.{name}") if key not in st.session_state else None
    value = next(
        (str(candidate) for candidate in (linked, before) if candidate in options), default
    )
    if linked in elsewhere and linked not in options:
        st.session_state[f"set.{name}"] = value
    else:
        remember(name, value, default)
    st.session_state[key] = value
    return value


def pick(name: str, default: str, key: str | None = None) -> None:
    """Take over what a widget was set to, unless another was drawn in its place."""
    key = key or f"widget.{name}"
    if key != widget_key(name):
        return
    value = str(st.session_state[key])
    if name in OF_BINS:
        st.session_state["set.bin_rows"] = ""  # also where another page than that of bins is shown
        if st.query_params.get("bin_rows"):
            _rewrite((name, "bin_rows"), {} if value == default else {name: value})
    remember(name, value, default)
    next_generation()


def widget_key(name: str) -> str:
    """Return the key of the widget of a choice."""
    mounts = st.session_state.get(f"mounts.{name}")
    return f"widget.{name}.{mounts}" if mounts else f"widget.{name}"


def mount_anew(name: str) -> None:
    """Let another widget stand for a choice that is made otherwise than by it.

    A browser that is busy sends what the widget showed once more, as if chosen; `pick` passes over
    what comes of one that is gone.
    """
    st.session_state[f"mounts.{name}"] = st.session_state.get(f"mounts.{name}", 0) + 1


def remember(name: str, value: str, default: str) -> None:
    """Keep a choice for the session, and in the link where it is not the default."""
    st.session_state[f"set.{name}"] = value
    if value != default:
        st.query_params[name] = value
    elif st.query_params.get(name):  # one that is empty may stay
        st.query_params.pop(name)


def plain() -> bool:
    """Return whether pages speak in plain words."""
    return bool(st.session_state.get("plain", False))
