"""Parts and files beside the open run: what is offered, dropped, chosen, and computed of them."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from secrets import token_hex
from threading import Event
from typing import Final

import streamlit as st

from core.codes import NoticeCode, RefusalCode
from core.errors import LibraryError, Notice, Refused
from core.library.manifest import role_of
from core.library.store import keep_result
from core.metrics.records import Score
from core.predictions import Predictions, ScoreKind, Task
from core.readers.predictions.result import NeedsChoice, ReadOptions, ReadResult
from core.readers.sandbox import read as sandbox
from core.screens.kit.words import of_texts, with_row_noun
from core.screens.ood.words import SetName, set_name
from core.studies import ood as study
from core.studies.ood import ConfidentRows, OodPair, ScoreSeparation, ShiftEffect
from core.studies.posthoc import fitted_temperature
from pages.ui import frame, intake, markup, open_runs, session, site, state, widgets
from pages.ui.caching import cached
from pages.ui.intake import FileReading, Intake, SealedFile
from pages.ui.markup import esc
from pages.ui.visitor import open_library

_SPINNER = "Comparing the two sets"
DROPPED = "ood.dropped"
MOST = 6  # whose curves can still be told apart
LISTED = 60  # other runs that are looked at


@dataclass(frozen=True)
class SplitSource:
    """One part of a run, a draft, or a file that was dropped on this page."""

    owner: open_runs.Run
    split: str

    @property
    def draft(self) -> bool:
        """Whether it belongs to this session only."""
        return self.owner.draft

    @property
    def rows(self) -> Predictions:
        """Its arrays."""
        draft = dropped().get(self.owner.id)
        if draft is not None:
            return draft.result.splits[self.split]
        return open_runs.predictions(self.owner, self.split)


def dropped() -> dict[str, session.Draft]:
    """Return the files that were dropped on this page, by id."""
    drafts: dict[str, session.Draft] = st.session_state.setdefault(DROPPED, {})
    return drafts


def owner_of(draft: session.Draft) -> open_runs.Run:
    """Return what the page needs to know of a dropped file."""
    return replace(open_runs.run_of(draft), splits=(), split="", outside=tuple(draft.result.splits))


Offer = dict[str, SplitSource]


@dataclass(frozen=True)
class Sets:
    """The sets beside the run: what is offered, what each is called, and those that are shown."""

    offers: Offer
    names: dict[str, SetName]
    shown: list[str]


def offered(run: open_runs.Run) -> Offer:
    """Return what can be told from the run's in-distribution rows, by the reference in the link.

    Own parts are called by their name, others by run and part. Shifted parts follow the others.
    """
    offers = {split: SplitSource(run, split) for split in run.outside}
    for draft in dropped().values():
        owner = owner_of(draft)
        offers |= {f"{owner.id}.{split}": SplitSource(owner, split) for split in owner.outside}
    offers |= {split: SplitSource(run, split) for split in shifted(run)}
    # Other runs with as many classes, newest first, then other drafts
    classes = len(run.class_names)
    ids = [
        row.id
        for row in open_runs.rows()
        if row.task in (Task.MULTICLASS, Task.BINARY, Task.TOP_LABEL) and row.id != run.id
        if row.n_classes == classes or row.task == Task.TOP_LABEL
    ]
    ids += [draft_id for draft_id in session.drafts() if draft_id != run.id]
    for run_id in ids[:LISTED]:
        with suppress(LibraryError):  # deleted meanwhile, or damaged: the list of runs says so
            owner = open_runs.look_up(run_id)
            alike = owner.class_names == run.class_names and owner.split
            parts = owner.outside or ((owner.split,) if alike else ())
            offers |= {f"{owner.id}.{split}": SplitSource(owner, split) for split in parts}
    return offers


def foreign(part: SplitSource, run: open_runs.Run) -> bool:
    """Whether a set belongs to another run, which may be of another model."""
    return part.owner != run and part.owner.id not in dropped()


def intact(run: open_runs.Run) -> list[str]:
    """Return the labelled parts that in-distribution rows can be of."""
    return [split for split in run.splits if split not in shifted(run)] or [run.split]


def shifted(run: open_runs.Run) -> list[str]:
    """Return the run's own parts that hold corrupted images."""
    return [split for split in run.splits if role_of(split, labelled=True) == "shifted"]


def names(offers: Offer, run: open_runs.Run) -> dict[str, SetName]:
    """Return what every offered set is called."""
    return {
        reference: set_name(part.split, "" if part.owner == run else part.owner.name)
        for reference, part in offers.items()
    }


def default(offers: Offer, run: open_runs.Run) -> list[str]:
    """Return what stands beside a run when nobody says: a heavy shift, and what it never saw.

    Other runs' sets have to be picked: nothing says that they are of the same model.
    """
    own = [
        reference
        for reference, part in offers.items()
        if part.split in part.owner.outside and part.owner == run
    ]
    shift = study.shown_shift(split for split in run.splits if split in offers)
    return [*filter(None, [shift]), *own][:MOST]


def chosen(offers: Offer, run: open_runs.Run) -> list[str]:
    """Return the sets that the link names, with the dropped files of this session beside them."""
    remembered: tuple[str, ...] | None = kept_sets().get(run.id)
    linked = [
        reference for reference in st.query_params.get("sets", "").split(",") if reference in offers
    ]
    if linked and linked != [
        reference for reference in remembered or () if not _private(offers, reference)
    ]:
        remembered = tuple(linked)
    references = [reference for reference in remembered or () if reference in offers][:MOST]
    references = references or default(offers, run)
    keep(references, offers, run)
    return references


def kept_sets() -> dict[str, tuple[str, ...]]:
    """Return what was chosen beside each run in this session."""
    sets_by_run: dict[str, tuple[str, ...]] = st.session_state.setdefault("app.ood_sets", {})
    return sets_by_run


def keep(references: Sequence[str], offers: Offer, run: open_runs.Run) -> None:
    """Choose these sets from now on; those of this session alone stay out of the link."""
    kept_sets()[run.id] = tuple(references)
    linked = [reference for reference in references if not _private(offers, reference)]
    if linked and list(references) != default(offers, run):
        st.query_params["sets"] = ",".join(linked)
    else:
        st.query_params.pop("sets", None)


def _private(offers: Offer, reference: str) -> bool:
    return reference in offers and offers[reference].draft


def picker(offers: Offer, names: Mapping[str, SetName], run: open_runs.Run) -> list[str]:
    """Draw the choice of sets."""
    references = chosen(offers, run)
    st.session_state["widget.sets"] = references
    labels = state.distinct_names({reference: names[reference].label for reference in offers})
    st.multiselect(
        "Sets",
        list(offers),
        key="widget.sets",
        format_func=lambda reference: labels.get(reference, reference),
        max_selections=MOST,
        placeholder="Pick sets",
        on_change=lambda: keep(st.session_state["widget.sets"], offers, run),
        help=with_row_noun(
            "Out-of-distribution inputs or corrupted test images, scored by the same model."
        ),
    )
    return references


@dataclass(frozen=True)
class OodQuestion:
    """A score at a temperature, asked of two parts."""

    inside: SplitSource
    outside: SplitSource
    score: str
    temperature: float = 1.0

    @property
    def draft(self) -> bool:
        """Whether a part of it belongs to this session only."""
        return self.inside.draft or self.outside.draft

    @property
    def pair(self) -> OodPair:
        """Both parts with the temperature."""
        return OodPair(self.inside.rows, self.outside.rows, self.temperature)


# Few are kept: each holds every score of both parts, sorted.
@cached(12, drafts=8, spinner=_SPINNER)
def judged(question: OodQuestion, *, full: bool) -> ScoreSeparation:
    """Return how far the score tells the two parts apart; `full` has every number."""
    return _judged(question, full=full)


def _judged(question: OodQuestion, *, full: bool) -> ScoreSeparation:
    pair = question.pair
    return study.judge(pair.inside, pair.outside, question.score, pair.temperature, full=full)


@cached(1024, spinner=_SPINNER)
def auroc(question: OodQuestion) -> Score:
    """Return how far the score tells the two parts apart, as one number."""
    return _judged(question, full=False).numbers["auroc"]


@cached(256, spinner=_SPINNER)
def checked(
    inside: SplitSource, outside: SplitSource, name: str
) -> tuple[tuple[Notice, ...], Refused | None]:
    """Return what must be said of two parts, and why they cannot be told apart, if so."""
    try:
        owner = inside.owner
        shifted = study.is_shifted(outside.split) or (
            outside.owner.id != owner.id and study.is_shifted(outside.owner.name)
        )
        parts = {
            split: SplitSource(owner, split).rows
            for split in owner.splits
            if split not in (inside.split, outside.split)
            and split not in owner.outside
            and not study.is_shifted(split)
        }
        return study.check(inside.rows, outside.rows, name, shifted=shifted, parts=parts), None
    except Refused as refusal:
        return (), refusal.with_traceback(None)  # which would keep the arrays


@cached(2048)
def shift(question: OodQuestion) -> ShiftEffect:
    """Return what a shift does to answers and alarm."""
    pair = question.pair
    return study.shift(pair.inside, pair.outside, question.score, pair.temperature)


@cached(64, drafts=32)
def certain(question: OodQuestion, most: int) -> ConfidentRows:
    """Return the rows of the set that look most like in-distribution ones."""
    return study.most_certain(
        question.outside.rows, question.score, question.temperature, most=most
    )


@cached(64, drafts=32, spinner=_SPINNER)
def difference(question: OodQuestion, other: OodQuestion) -> tuple[Score | None, str]:
    """Return one run's AUROC minus another's on the same rows, or why there is none."""
    names = question.inside.owner.name, other.inside.owner.name
    why = study.why_unpaired(question.pair, other.pair, names)
    return (None, why) if why else (study.difference(question.pair, other.pair, question.score), "")


def temperature(inside: SplitSource) -> tuple[float | None, str]:
    """Return the temperature fitted on the run's validation part, or why there is none."""
    run = inside.owner
    if inside.split == "val":
        return None, "the validation part is the one that is shown"
    if "val" not in run.splits:
        return None, "the run has no validation part with labels"
    return _fitted(run)


@cached(64, spinner=_SPINNER)
def _fitted(run: open_runs.Run) -> tuple[float | None, str]:
    rows = open_runs.predictions(run, "val")
    if rows.task is Task.MULTILABEL:
        return None, "many labels have no temperature in common"
    try:
        return fitted_temperature(rows), ""
    except Refused as refusal:
        return None, refusal.what


# Files of scores.
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
    run: open_runs.Run


INTAKE: Final = Intake[ScoresReading]("ood")


def say_what_is_needed() -> None:
    """Say what is needed beside the run's own rows, with the way to have it computed."""
    if of_texts():
        widgets.second(
            "Upload the model’s scores on other texts, or train again with some classes left out: "
            "their texts become such a set."
        )
        st.page_link(site.TRAIN.script, label="Train with classes left out", icon=site.TRAIN.icon)
        return
    images, corrupted, other = "images", "corrupted images", "Evaluate on other images"
    if state.plain():
        images, corrupted, other = "pictures", "damaged pictures", "Try other pictures"
    widgets.second(
        f"Upload the model’s scores on other {images}, or evaluate the model on street numbers, "
        f"{corrupted} or a folder of your own."
    )
    st.page_link(site.EVALUATE.script, label=other, icon=site.EVALUATE.icon)


def upload_popover(run: open_runs.Run) -> None:
    """Draw the drop zone behind a button that closes once a file was taken."""
    with st.popover("Upload scores", key=f"ood.add.{INTAKE.drops}"):
        drop_zone(run)


def drop_zone(run: open_runs.Run) -> None:
    """Draw the drop zone."""
    INTAKE.zone(
        with_row_noun("Scores on other pictures" if state.plain() else "Scores on other images"),
        partial(_start, run),
        label_visibility="collapsed",
    )
    widgets.caption(
        f"{intake.READ}. Scores of the same model on other inputs; labels are not read. "
        "OpenOOD's npz of pred, conf and label is read as stated confidences."
    )


def settle_scores() -> None:
    """Make scores that were read a draft; a file that leaves a choice open waits for it."""
    if _question() is None:
        INTAKE.keep_readings(_add)


def upload_outcome() -> None:
    """Say what is being read, why the last file was refused, or what is to be chosen for it."""
    question = _question()
    if question is None:
        INTAKE.progress()
        INTAKE.refused()
    elif INTAKE.reading is not None:
        if question.code == RefusalCode.UNDECIDED:
            intake.reading_question(question)
        else:
            frame.refusal(question, INTAKE.reading.name, instead=CHOOSE)
        reading, inspection = INTAKE.reading, question.inspection
        if inspection.candidates:
            picked = intake.pick_reading(inspection, f"ood.pick.{INTAKE.drops}")
            if picked is not None:
                _start(reading.run, reading.file, picked)
                st.rerun()
        kinds = [str(known.kind) for known in inspection.readings if known.possible]
        with st.form("ood.choose"):
            kind = st.radio(
                "The scores are",
                kinds,
                index=None,
                format_func=lambda option: intake.KIND_WORDS[ScoreKind(option)],
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


def _start(run: open_runs.Run, file: SealedFile, options: ReadOptions = UNLABELLED) -> None:
    """Read a file as scores without labels, with the groups and weights of the run's rows."""
    rows = open_runs.predictions(run, run.split)
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
    sets_by_run = kept_sets()
    sets_by_run[reading.run.id] = (reference, *sets_by_run.get(reading.run.id, ()))
    st.session_state["set.set"] = reference


def draft_bar(draft: session.Draft) -> None:
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
                    sets_by_run = kept_sets()
                    for run_id, sets in sets_by_run.items():
                        sets_by_run[run_id] = tuple(each.replace(old, new) for each in sets)
                    st.session_state["set.set"] = f"{new}{draft.result.chosen_split}"
                    state.say(f"Kept {name}.")
                    st.rerun()
        st.button("Discard", key=f"ood.discard.{draft.id}", on_click=_discard, args=(draft.id,))
    guessed = [one for one in draft.result.notices if one.code == NoticeCode.KEYS_GUESSED]
    if guessed:
        markup.draw("notices", guessed)


def _discard(draft_id: str) -> None:
    dropped().pop(draft_id, None)
