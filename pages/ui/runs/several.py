"""Several files dropped at once: each becomes a draft; what one leaves open costs no other."""

from collections.abc import Sequence
from concurrent.futures import wait as wait_for
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

import streamlit as st

from core.codes import RefusalCode
from core.configs import AuditConfig
from core.errors import AuditError, UsageError, sentence
from core.library.index import RunRow
from core.library.manifest import Manifest, summarise
from core.library.store import keep_result
from core.metrics import suite
from core.metrics.comparison import MOST_RUNS
from core.metrics.records import Audit
from core.predictions import Predictions
from core.readers.predictions.names import CONFIDENCE, KINDS, PREDICTED, words_of
from core.readers.predictions.result import NeedsChoice, ReadResult
from core.screens.runs import draft_line
from pages.ui import open_runs, selected_runs, session, site, state, widgets
from pages.ui.intake import Intake, SealedFile, remove
from pages.ui.markup import esc
from pages.ui.runs import table, upload
from pages.ui.runs.upload import Import, ImportReading, Upload, waiting
from pages.ui.task import BackgroundTask, in_turn
from pages.ui.visitor import open_library

INTAKE: Final = Intake[ImportReading]("several", several=True, together=True)
PROCESS_CELLS: Final = 2_000_000  # scores; a thread audits fewer in a second or two
LAST_WAIT_S: Final = 10.0
AUDITS, KEPT = "drafts.audits", "drafts.kept"  # in the session, by the id of the draft
KEEPING: Final = "drafts.keeping"  # in the session: the task of keeping all
# Words of the name of a file.
OF_SCORES: Final = {"score", "scores", "output", "outputs", *CONFIDENCE, *KINDS, *PREDICTED}
OF_LABELS: Final = {"label", "truth", "groundtruth", "target", "y", "gt"}


# Read ---------------------------------------------------------------------------------------------


def take(*files: SealedFile) -> None:
    """Read one file, or each of several by itself."""
    if len(files) == 1:
        upload.read(Import(upload=Upload(files[0])))  # draws the page anew
    if len(files) > MOST_RUNS:
        remove(file.path for file in files)
        what = f"{len(files)} files were dropped at once"
        upload.INTAKE.refuse(UsageError("FILE", what, f"drop at most {MOST_RUNS}"))
        return
    plans = [Import(upload=Upload(file), listed=True) for file in files]
    INTAKE.start(*map(upload.reading_of, plans))


def reading() -> bool:
    """Draw how far files are read, if any are; settle them once all are."""
    each: list[Import] = st.session_state.pop(upload.EACH, [])
    INTAKE.start(*map(upload.reading_of, each))
    readings = INTAKE.readings
    if readings and all(item.done for item in readings):
        # Read again what is to be read otherwise, or settle what was read
        again = {item: plan for item in readings if (plan := upload.anew(item)) is not None}
        if not again and not any(item.plan.upload.labels for item in readings):
            again = _paired(readings)
        if again:
            # Files that are labels of others by now are dropped
            used = {plan.upload.labels for plan in again.values()}
            old = [item for item in readings if item.plan.upload.scores not in used]
            new = {item: upload.reading_of(plan) for item, plan in again.items()}
            for item, other in new.items():
                if other.plan.upload.labels and isinstance(item.outcome, ReadResult):
                    other.alone = tuple(readings)
            readings.clear()
            INTAKE.start(*new.values())
            readings[:] = [new.get(item, item) for item in old]
            st.rerun()
        # Files that do not belong together stand by themselves
        settled: list[ImportReading] = []
        for item in readings:
            apart = item.alone and isinstance(item.outcome, AuditError)
            settled += item.alone if apart else (item,)
        readings.clear()
        if len(settled) == 1:  # it is opened, or asked about, at once
            settled[0].plan = replace(settled[0].plan, listed=False)
            upload.INTAKE.readings[:] = settled
            st.rerun()
        for item in settled:
            outcome = item.outcome
            if isinstance(outcome, ReadResult) and not upload.asks(item):
                upload.add_draft(item, outcome)
            else:
                waiting().append(item)
        st.rerun()
    if readings:
        INTAKE.progress(_cancel)
    return bool(readings)


def _cancel() -> None:
    files = [path for item in INTAKE.readings for path in item.files]
    INTAKE.stop()
    INTAKE.readings.clear()
    remove(set(files) - upload.kept_files())


# Labels in files of their own ---------------------------------------------------------------------


def _paired(readings: Sequence[ImportReading]) -> dict[ImportReading, Import]:
    """Return how files are read with the labels that were dropped with them.

    A file is one of labels only if it holds no scores of its own: then it goes to the files that
    lack labels, or, among several such files, to those whose names have the same other words.
    """
    lacking, with_labels, labels = [], [], []
    for item in readings:
        outcome, seen = item.outcome, item.inspection
        if isinstance(outcome, NeedsChoice) and outcome.code == RefusalCode.AMBIGUOUS_KEYS:
            lacking.append(item)  # scores or labels, or more than its labels is open
            if seen and seen.labels_keys:
                with_labels.append(item)
                # labels as 0 and 1 for each class could be scores
                if not seen.scores_keys or rank(item) == 2:
                    labels.append(item)
    if len(readings) == 2 and not labels:
        labels = sorted(with_labels, key=rank)[-1:]
    scores = [item for item in lacking if item not in labels]
    if len(readings) == 2 and not scores:  # a file that has labels, too
        scores = [item for item in readings if isinstance(item.outcome, ReadResult)]
    out = {}
    for item in scores:
        mine = labels if len(labels) == 1 else [one for one in labels if _stem(one) == _stem(item)]
        if len(mine) == 1:
            plan = item.plan
            file = replace(plan.upload, labels=mine[0].plan.upload.scores)
            out[item] = Import(upload=file, listed=plan.listed)
    return out


def rank(item: ImportReading) -> int:
    """Return 0 for a file named for scores, 2 for one named for labels, 1 for any other."""
    words = words_of(Path(item.name).stem)
    if any(word in OF_SCORES for word in words):
        return 0
    if any(word.startswith("multi") for word in words):  # what a multi-label file may be called
        return 1
    named = any(word in OF_LABELS or word.endswith(("labels", "targets")) for word in words)
    return 2 if named else 1


def _stem(item: ImportReading) -> list[str]:
    """Return the words of a file's name that say neither scores nor labels."""
    words = words_of(Path(item.name).stem)
    return [word for word in words if word not in OF_SCORES | OF_LABELS | {"labels", "targets"}]


# The list -----------------------------------------------------------------------------------------


def draw() -> None:
    """List the drafts of this browser, and what was not settled of files dropped together."""
    if st.session_state.pop("app.answered", False):
        # Read what waits anew where an answer to another file holds for it too
        again = {item: plan for item in waiting() if (plan := upload.anew(item)) is not None}
        if again:
            waiting()[:] = [item for item in waiting() if item not in again]
            INTAKE.start(*map(upload.reading_of, again.values()))
            st.rerun()
    _kept()
    drafts = list(session.drafts().values())
    if not drafts and not waiting():
        return
    with st.container(border=True, key="drafts"):
        title = f"{len(drafts)} draft{'' if len(drafts) == 1 else 's'}"
        open_ = f", {len(waiting())} not read yet" if waiting() else ""
        widgets.title(title + open_, "only in this browser, until its last page is closed")
        audits = _audited(drafts)
        for draft in drafts:
            # Draw one draft: its name, what its audit says, and what can be done with it
            audit = audits.get(draft.id)
            split = draft.result.splits[draft.result.chosen_split]
            line = RunRow(
                id=draft.id,
                name=draft.name,
                kind="draft",
                owner="",
                created="",
                task=split.task,
                n=split.n,
                n_classes=len(split.class_names),
                split=draft.result.chosen_split,
                splits=tuple(draft.result.splits),
                tags=(),
                metrics=None if audit is None else summarise(audit),
            )
            name = f"*{esc(draft.name.strip())}*"  # heard, not seen: the name stands beside it
            keeping: BackgroundTask[int] | None = st.session_state.get(KEEPING)
            with _row(draft.id):
                st.markdown(f"**{esc(draft.name)}**  \n{esc(draft_line(line, table.words()))}")
                if st.button(f"Open {name}", key=f"draft.open.{draft.id}", type="tertiary"):
                    selected_runs.open_in_reliability(draft.id)
                st.button(
                    f"Discard {name}",
                    key=f"draft.discard.{draft.id}",
                    type="tertiary",
                    on_click=upload.forget_draft,
                    args=(draft.id,),
                    disabled=keeping is not None and keeping.running,
                )
        for item in list(waiting()):
            _open_question(item)
        # What can be done with all of them
        task: BackgroundTask[int] | None = st.session_state.get(KEEPING)
        if task is not None:
            task.draw()  # once it is stopped, what is being written ends first
            return
        with st.container(horizontal=True, key="drafts.actions"):
            if len(drafts) > 1:
                st.button(
                    "Keep all and compare", type="primary", key="drafts.keep", on_click=_keep_all
                )
            if len(drafts) + len(waiting()) > 1:
                st.button("Discard all", key="drafts.discard", on_click=_discard_all)


def _audited(drafts: Sequence[session.Draft]) -> dict[str, Audit]:
    """Return the audits of drafts that are done, and have the others made."""
    audits: dict[str, Audit] = st.session_state.setdefault(AUDITS, {})
    for gone in audits.keys() - session.drafts().keys():
        del audits[gone]
    ids = [draft.id for draft in drafts if draft.id not in audits]
    if ids:
        results = [session.drafts()[draft_id].result for draft_id in ids]
        splits = [result.splits[result.chosen_split] for result in results]
        config = AuditConfig(metrics=open_runs.HEADLINES)
        calls = [(suite.audit, (split, config)) for split in splits]

        def keep(i: int, audit: Audit) -> None:
            audits[ids[i]] = audit

        start = partial(in_turn, calls, keep, processes=_large(splits))
        task = BackgroundTask("drafts.audit", tuple(ids), "Auditing the drafts.", start)
        if task.wait() is not None:
            task.forget()
            st.rerun()
    return audits


def _open_question(item: ImportReading) -> None:
    """Draw one file that is not read: what it leaves open, or why it was refused."""
    outcome = item.outcome
    question = isinstance(outcome, ReadResult | NeedsChoice)
    what = outcome.named(titled=item.name) if isinstance(outcome, AuditError) else item.offer
    code = f" `{outcome.code}`" if isinstance(outcome, AuditError) else ""
    icon, verb = ("help", "Choose") if question else ("block", "Details")
    key, name = item.plan.upload.scores.path.name, f"*{esc(item.name)}*"
    with _row(key):
        st.markdown(f"**{esc(item.name)}**  \n:material/{icon}: {esc(sentence(what))}{code}")
        st.button(
            f"{verb} {name}",
            key=f"waiting.open.{key}",
            type="tertiary",
            on_click=_ask,
            args=(item,),
        )
        st.button(
            f"Discard {name}",
            key=f"waiting.discard.{key}",
            type="tertiary",
            on_click=_discard,
            args=([item],),
        )


def _row(key: str) -> "st.delta_generator.DeltaGenerator":
    return st.container(horizontal=True, vertical_alignment="center", key=f"draft.row.{key}")


def _ask(item: ImportReading) -> None:
    """Show what one file leaves open, or why it was refused."""
    waiting().remove(item)
    upload.INTAKE.readings[:] = [item]


def _discard(items: Sequence[ImportReading]) -> None:
    for item in items:
        waiting().remove(item)
        item.close(keep=upload.kept_files())


def _discard_all() -> None:
    _discard(list(waiting()))
    for draft_id in list(session.drafts()):
        upload.forget_draft(draft_id)


# Kept together ------------------------------------------------------------------------------------


def _keep_all() -> None:
    """Keep all drafts in the library, one after another."""
    drafts = list(session.drafts().values())
    audits, kept = st.session_state.get(AUDITS, {}), st.session_state.setdefault(KEPT, {})
    calls = [
        (
            partial(keep_result, audited=audits.get(draft.id)),
            (open_library(), draft.name, draft.file_name, draft.result),
        )
        for draft in drafts
    ]
    arrays = [split for draft in drafts for split in draft.result.splits.values()]

    def keep(i: int, run: Manifest) -> None:
        kept[drafts[i].id] = run.id

    start = partial(in_turn, calls, keep, processes=_large(arrays))
    ids = tuple(draft.id for draft in drafts)
    task = st.session_state[KEEPING] = BackgroundTask(
        KEEPING, ids, f"Keeping {len(ids)} runs.", start
    )
    task.begin()


def _kept() -> None:
    """Let the drafts go that are runs by now; compare them once all are, else say why not."""
    task: BackgroundTask[int] | None = st.session_state.get(KEEPING)
    if task is None or task.running:
        return
    # Wait a moment for the run that is being written while all are stopped; it is kept, too
    if task.work and wait_for([task.work.future], timeout=LAST_WAIT_S).not_done:
        return
    error = task.error
    del st.session_state[KEEPING]
    task.forget()
    kept: dict[str, str] = st.session_state.pop(KEPT, {})
    for draft_id in kept:
        upload.forget_draft(draft_id)
    ids = list(kept.values())
    if ids:
        table.keep_undo(f"Kept {len(ids)} run{'' if len(ids) == 1 else 's'}.", ids)
    if error is not None:
        upload.INTAKE.refuse(error)
        st.rerun()
    if len(ids) > 1 and not session.drafts():
        state.open_run(None)
        state.say(f"Kept {len(ids)} runs.")
        selected_runs.choose(ids)
        st.switch_page(site.COMPARE.script, query_params={"runs": ",".join(ids)})


def _large(splits: Sequence[Predictions]) -> bool:
    """Whether a process is to compute, so that the page does not wait."""
    return any(split.scores.size > PROCESS_CELLS for split in splits)
