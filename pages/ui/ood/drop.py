"""Scores of other inputs from a file: dropped, read in a sealed process, kept if wanted."""

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from secrets import token_hex
from threading import Event
from typing import Final

import streamlit as st

from core.codes import NoticeCode, RefusalCode
from core.errors import Notice, Refused
from core.library.importing import keep_result
from core.predictions import Predictions, ScoreKind
from core.readers.predictions.options import ReadOptions
from core.readers.predictions.result import NeedsChoice, ReadResult
from core.readers.sandbox import read as sandbox
from core.screens.kit.words import of_texts, with_row_noun
from pages.ui import cache, frame, html_macros, reading_choice, session, site, state, widgets
from pages.ui.escape import esc
from pages.ui.intake import FileReading, Intake, SealedFile
from pages.ui.ood import sources
from pages.ui.ood.sources import dropped
from pages.ui.visitor import open_library

AUTO = "(by its name)"
CHOOSE = "choose below how it is to be read"
UNUSABLE = {  # of a column of the file
    RefusalCode.AMBIGUOUS_KEYS,
    RefusalCode.GROUPS,
    RefusalCode.WEIGHTS,
    RefusalCode.LENGTH_MISMATCH,
}
UNLABELLED: Final = ReadOptions(unlabelled=True)


@dataclass(kw_only=True, eq=False)
class ScoresReading(FileReading[ReadResult]):
    """Scores that are being read beside a run; done and not settled, they leave a choice open."""

    file: SealedFile
    run: cache.Run


INTAKE: Final = Intake[ScoresReading]("ood")


def needed() -> None:
    """Say what is needed beside the run's own rows, with the way to have it computed."""
    if of_texts():
        widgets.second(
            "Upload the model's scores on other texts, or train again with some classes left out: "
            "their texts become such a set."
        )
        st.page_link(site.TRAIN.script, label="Train with classes left out", icon=site.TRAIN.icon)
        return
    widgets.second(
        "Upload the model's scores on other images, or evaluate the model on street numbers, "
        "corrupted images or a folder of your own."
    )
    st.page_link(site.EVALUATE.script, label="Evaluate on other images", icon=site.EVALUATE.icon)


def door(run: cache.Run) -> None:
    """Draw the drop zone behind a button that closes once a file was taken."""
    with st.popover("Upload scores", key=f"ood.add.{INTAKE.drops}"):
        zone(run)


def zone(run: cache.Run) -> None:
    """Draw the drop zone."""
    INTAKE.zone(
        with_row_noun("Scores on other images"),
        partial(_start, run),
        label_visibility="collapsed",
    )
    widgets.caption(
        f"{reading_choice.READ}. Scores of the same model on other inputs; labels are not read. "
        "OpenOOD's npz of pred, conf and label is read as stated confidences."
    )


def settle() -> None:
    """Make scores that were read a draft; a file that leaves a choice open waits for it."""
    if _question() is None:
        INTAKE.settle(_add)


def outcome() -> None:
    """Say what is being read, why the last file was refused, or what is to be chosen for it."""
    question = _question()
    if question is None:
        INTAKE.progress()
        INTAKE.refused()
    elif INTAKE.reading is not None:
        if question.code == RefusalCode.UNDECIDED:
            reading_choice.question(question)
        else:
            frame.refusal(question, INTAKE.reading.name, instead=CHOOSE)
        reading, inspection = INTAKE.reading, question.inspection
        if inspection.candidates:
            picked = reading_choice.pick(inspection, f"ood.pick.{INTAKE.drops}")
            if picked is not None:
                _start(reading.run, reading.file, picked)
                st.rerun()
        kinds = [str(known.kind) for known in inspection.readings if known.possible]
        with st.form("ood.choose"):
            kind = st.radio(
                "The scores are",
                kinds,
                index=None,
                format_func=lambda option: reading_choice.KIND_WORDS[ScoreKind(option)],
                key="ood.kind",
                horizontal=True,
            )
            key = st.selectbox("Scores are in", [AUTO, *inspection.scores_keys], key="ood.key")
            again = st.form_submit_button("Read it this way", type="primary")
        st.button("Discard", key="ood.discard", on_click=INTAKE.stop)
        if again:
            options = ReadOptions(
                scores=ScoreKind(kind) if kind else None,
                scores_key=None if key == AUTO else key,
                unlabelled=True,
            )
            _start(reading.run, reading.file, options)
            st.rerun()


def _question() -> NeedsChoice | None:
    """Return what the last file leaves open."""
    reading = INTAKE.reading
    error = reading.future.exception() if reading is not None and reading.done else None
    return error if isinstance(error, NeedsChoice) else None


def _start(run: cache.Run, file: SealedFile, options: ReadOptions = UNLABELLED) -> None:
    """Read a file as scores without labels, with the groups and weights of the run's rows."""
    rows = cache.predictions(run, run.split)
    read = partial(_read, file, rows, options)
    INTAKE.start(ScoresReading(name=file.name, read=read, files=(file.path,), file=file, run=run))


def _read(
    file: SealedFile, rows: Predictions, options: ReadOptions, *, cancel: Event
) -> ReadResult:
    """Read it; where it can be read in several ways and none is chosen, as the run's scores."""
    try:
        return _read_as_the_run(file, rows, options, cancel)
    except NeedsChoice as question:
        if question.inspection.candidates or options != UNLABELLED:
            raise
        return _read_as_the_run(file, rows, replace(options, scores=rows.kind), cancel)


def _read_as_the_run(
    file: SealedFile, rows: Predictions, options: ReadOptions, cancel: Event
) -> ReadResult:
    """Read a file with the columns that are called as the run's groups and weights are.

    Where it has none, or none that will do, its rows count as one each, and a notice says so.
    """
    path, name = file
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


def _add(reading: ScoresReading) -> None:
    """Make what was read a draft of this session, and show it beside its run."""
    name, result = reading.name, reading.result()
    draft = session.Draft(f"draft-{token_hex(4)}", Path(name).stem or name, name, result)
    dropped()[draft.id] = draft
    reference = f"{draft.id}.{result.chosen_split}"
    sets_by_run = sources.kept_sets()
    sets_by_run[reading.run.id] = (reference, *sets_by_run.get(reading.run.id, ()))
    st.session_state["set.set"] = reference


def bar(draft: session.Draft) -> None:
    """Say that a set is a draft and what was guessed, with the means to keep or to discard it."""
    with st.container(horizontal=True, vertical_alignment="center", key=f"ood.bar.{draft.id}"):
        st.markdown(f"Only you see **{esc(draft.name)}**. It is deleted when you close the page.")
        with (
            st.popover("Keep in the library", key=f"ood.keep.{draft.id}"),
            st.form(f"ood.form.{draft.id}", border=False),
        ):
            name = st.text_input("Name", draft.name, max_chars=300)
            if st.form_submit_button("Keep", type="primary"):
                with frame.caught():
                    manifest = keep_result(open_library(), name, draft.file_name, draft.result)
                    dropped().pop(draft.id)
                    old, new = f"{draft.id}.", f"{manifest.id}."
                    sets_by_run = sources.kept_sets()
                    for run_id, sets in sets_by_run.items():
                        sets_by_run[run_id] = tuple(each.replace(old, new) for each in sets)
                    st.session_state["set.set"] = f"{new}{draft.result.chosen_split}"
                    state.say(f"Kept {name}.")
                    st.rerun()
        st.button("Discard", key=f"ood.discard.{draft.id}", on_click=_discard, args=(draft.id,))
    guessed = [one for one in draft.result.notices if one.code == NoticeCode.KEYS_GUESSED]
    if guessed:
        html_macros.draw("notices", guessed)


def _discard(draft_id: str) -> None:
    dropped().pop(draft_id, None)
