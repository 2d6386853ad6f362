"""Scores of other inputs from a file: dropped, read in a sealed process, kept if wanted."""

from dataclasses import replace
from pathlib import Path
from secrets import token_hex
from threading import Event

import streamlit as st

from core.codes import NoticeCode, RefusalCode
from core.errors import AuditError, LostWorker, Notice, Refused
from core.library import open_library
from core.library.importing import keep_result
from core.predictions import ScoreKind
from core.readers.predictions.options import ReadOptions
from core.readers.predictions.result import NeedsChoice, ReadResult
from core.readers.sandbox import read as sandbox
from pages.ui import cache, frame, readings, session, state, widgets
from pages.ui.escape import esc
from pages.ui.ood import sets as ood_sets
from pages.ui.ood.cache import dropped
from pages.ui.runs.upload import KIND_WORDS, READ

DROPS, REFUSED, WAITING = "ood.drops", "ood.refused", "ood.waiting"
BESIDE = "ood.beside"  # id of the run that the last file was dropped beside
AUTO = "(by its name)"
UNUSABLE = {  # of a column of the file
    RefusalCode.AMBIGUOUS_KEYS,
    RefusalCode.GROUPS,
    RefusalCode.WEIGHTS,
    RefusalCode.LENGTH_MISMATCH,
}


def door(run: cache.Run) -> None:
    """Draw the drop zone behind a button that closes once a file was taken."""
    with st.popover("Add scores from a file", key=f"ood.add.{_drops()}"):
        zone(run)


def _drops() -> int:
    return int(st.session_state.get(DROPS, 0))


def refusal() -> None:
    """Say why the last file was refused, and draw what is to be chosen for it."""
    refused: AuditError | None = st.session_state.get(REFUSED)
    if refused is None:
        return
    if refused.code == RefusalCode.UNDECIDED:
        readings.question(refused)
    else:
        frame.refusal(_for_page(refused))
    if isinstance(refused, NeedsChoice) and WAITING in st.session_state:
        _choose(refused)


def zone(run: cache.Run) -> None:
    """Draw the drop zone."""
    uploaded = st.file_uploader(
        "Scores of inputs that the model never saw",
        key=f"ood.drop.{_drops()}",
        label_visibility="collapsed",
    )
    widgets.caption(
        f"{READ}. Scores of the same model on other inputs; labels are neither needed nor looked "
        "at. OpenOOD's npz of pred, conf and label is read as stated confidences."
    )
    if uploaded is not None:
        st.session_state[DROPS] = _drops() + 1  # its bytes leave the memory
        try:
            path = session.store(uploaded.getbuffer())
        except OSError as error:
            what = f"the file could not be stored ({error.strerror})"
            st.session_state[REFUSED] = LostWorker("LOST_WORKER", what, "free disk space")
            st.rerun()
        kind = cache.predictions(run, run.split).kind
        st.session_state[BESIDE] = run.id
        read(path, uploaded.name, kind)
        st.rerun()


def read(path: Path, name: str, kind: ScoreKind) -> None:
    """Read a file as scores without labels; where it can be read in two ways, as the run's.

    Parameters
    ----------
    path : Path
        Where its bytes lie; removed, unless the user has to choose.
    name : str
        What the user calls it.
    kind : ScoreKind
        Of the open run's scores.
    """
    options = ReadOptions(unlabelled=True)
    try:
        _take(path, name, options)
    except NeedsChoice as refused:
        if refused.inspection.candidates:
            _wait(path, name, refused)
        else:
            _try(path, name, replace(options, scores=kind))
    except AuditError as refused:
        _refuse(path, refused)


def _try(path: Path, name: str, options: ReadOptions) -> None:
    """Read it in a chosen way; keep the bytes while there is something to choose."""
    try:
        _take(path, name, options)
    except NeedsChoice as refused:
        _wait(path, name, refused)
    except AuditError as refused:
        _refuse(path, refused)


def _wait(path: Path, name: str, refused: NeedsChoice) -> None:
    """Keep the bytes of a file until the user has chosen how it is to be read."""
    st.session_state[REFUSED] = refused
    st.session_state[WAITING] = (path, name)


def _take(path: Path, name: str, options: ReadOptions) -> None:
    """Read the file and make it a draft of this session."""
    cancel = Event()
    works = session.room().works
    works.add(cancel)
    try:
        with st.spinner("Reading the scores"):
            result = _read_as_the_run(path, name, options, cancel)
    except OSError as error:  # the temporary folder: full, gone or not ours
        what = f"the file could not be stored or read ({error.strerror})"
        raise LostWorker("LOST_WORKER", what, "free disk space and try again") from error
    finally:
        works.discard(cancel)
    path.unlink(missing_ok=True)
    _forget()
    draft = session.Draft(f"draft-{token_hex(4)}", Path(name).stem or name, name, result)
    dropped()[draft.id] = draft
    reference = f"{draft.id}.{result.chosen_split}"
    sets_by_run, run_id = ood_sets.kept_sets(), str(st.session_state[BESIDE])
    sets_by_run[run_id] = (reference, *sets_by_run.get(run_id, ()))
    st.session_state["set.set"] = reference


def _read_as_the_run(path: Path, name: str, options: ReadOptions, cancel: Event) -> ReadResult:
    """Read a file with the columns that are called as the run's groups and weights are.

    Where it has none, or none that will do, its rows count as one each, and a notice says so.
    """
    run = cache.look_up(str(st.session_state[BESIDE]))
    rows = cache.predictions(run, run.split)
    result = sandbox.read(path, name=name, options=options, cancel=cancel)
    for option, kind in (("group", "groups"), ("weight", "weights")):
        column, own = (getattr(part, kind) for part in (rows, result.splits[result.chosen_split]))
        if column is None or (own is not None and own.name == column.name):
            continue
        more = replace(options, **{option: column.name})
        try:
            result = sandbox.read(path, name=name, options=more, cancel=cancel)
            options = more
        except Refused as refused:
            if refused.code not in UNUSABLE:
                raise
            none = refused.code == RefusalCode.AMBIGUOUS_KEYS
            why = f"{name} has no {column.name} of its own" if none else f"{name}: {refused.what}"
            alone = Notice(NoticeCode.KEYS_GUESSED, f"{why}: each of its rows counts as one")
            result = replace(result, notices=(*result.notices, alone))
    return result


def _refuse(path: Path, refused: AuditError) -> None:
    path.unlink(missing_ok=True)
    _forget()
    st.session_state[REFUSED] = refused


def _forget() -> None:
    waiting = st.session_state.pop(WAITING, None)
    if waiting is not None:
        waiting[0].unlink(missing_ok=True)
    st.session_state[REFUSED] = None


def _for_page(refused: AuditError) -> AuditError:
    """Return the refusal with a remedy for this page where its own names a command's option."""
    if "--" not in refused.remedy or not isinstance(refused, NeedsChoice):
        return refused
    return refused.with_remedy("choose below how it is to be read")


def _choose(refused: NeedsChoice) -> None:
    """Draw the choices that a file leaves open."""
    path, name = st.session_state[WAITING]
    inspection = refused.inspection
    picked = readings.pick(inspection, f"ood.pick.{_drops()}") if inspection.candidates else None
    if picked is not None:
        _try(path, name, picked)
        st.rerun()
    kinds = [str(reading.kind) for reading in inspection.readings if reading.possible]
    with st.form("ood.choose"):
        kind = st.radio(
            "The scores are",
            kinds,
            index=None,
            format_func=lambda option: KIND_WORDS[ScoreKind(option)],
            key="ood.kind",
            horizontal=True,
        )
        key = st.selectbox("Scores are in", [AUTO, *inspection.scores_keys], key="ood.key")
        again = st.form_submit_button("Read it this way", type="primary")
    if st.button("Discard", key="ood.discard"):
        path.unlink(missing_ok=True)
        _forget()
        st.rerun()
    if again:
        options = ReadOptions(
            scores=ScoreKind(kind) if kind else None,
            scores_key=None if key == AUTO else key,
            unlabelled=True,
        )
        _try(path, name, options)
        st.rerun()


def bar(draft: session.Draft) -> None:
    """Say that a set is a draft and what was guessed, with the means to keep or to discard it."""
    with st.container(horizontal=True, vertical_alignment="center", key=f"ood.bar.{draft.id}"):
        st.markdown(f"Only you see **{esc(draft.name)}**; it goes when you close the page.")
        with st.popover("Keep in the library", key=f"ood.keep.{draft.id}"):
            _form(draft)
        st.button("Discard", key=f"ood.discard.{draft.id}", on_click=_discard, args=(draft.id,))
    for notice in draft.result.notices:
        if notice.code == NoticeCode.KEYS_GUESSED:
            st.markdown(f":material/info: {esc(notice.text)} `{notice.code}`")


def _discard(draft_id: str) -> None:
    dropped().pop(draft_id, None)


def _form(draft: session.Draft) -> None:
    with st.form(f"ood.form.{draft.id}", border=False):
        name = st.text_input("Name", draft.name, max_chars=300)
        if st.form_submit_button("Keep", type="primary"):
            with frame.caught():
                _keep(draft, name, draft.result)


def _keep(draft: session.Draft, name: str, result: ReadResult) -> None:
    manifest = keep_result(open_library(), name, draft.file_name, result)
    dropped().pop(draft.id)
    old, new = f"{draft.id}.", f"{manifest.id}."
    sets_by_run = ood_sets.kept_sets()
    for run_id, sets in sets_by_run.items():
        sets_by_run[run_id] = tuple(reference.replace(old, new) for reference in sets)
    st.session_state["set.set"] = f"{new}{result.chosen_split}"
    state.say(f"Kept {name}.")
    st.rerun()
