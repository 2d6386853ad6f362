"""The parts that stand beside the open run: what is offered, chosen, and computed of them."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import streamlit as st

from core.errors import LibraryError, Notice, Refused
from core.library.manifest import role_of
from core.metrics.records import Score
from core.predictions import Predictions, Task
from core.screens.kit.words import with_row_noun
from core.screens.ood.words import SetName, set_name
from core.studies import ood as study
from core.studies.ood import ConfidentRows, OodPair, ScoreSeparation, ShiftEffect
from core.studies.posthoc import fitted_temperature
from pages.ui import cache, session, state
from pages.ui.caching import cached

_SPINNER = "Comparing the two sets"
DROPPED = "ood.dropped"
MOST = 6  # whose curves can still be told apart
LISTED = 60  # other runs that are looked at


@dataclass(frozen=True)
class SplitSource:
    """One part of a run, a draft, or a file that was dropped on this page."""

    owner: cache.Run
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
        return cache.predictions(self.owner, self.split)


def dropped() -> dict[str, session.Draft]:
    """Return the files that were dropped on this page, by id."""
    drafts: dict[str, session.Draft] = st.session_state.setdefault(DROPPED, {})
    return drafts


def owner_of(draft: session.Draft) -> cache.Run:
    """Return what the page needs to know of a dropped file."""
    return replace(cache.run_of(draft), splits=(), split="", outside=tuple(draft.result.splits))


Offer = dict[str, SplitSource]


@dataclass(frozen=True)
class Sets:
    """The sets beside the run: what is offered, what each is called, and those that are shown."""

    offers: Offer
    names: dict[str, SetName]
    shown: list[str]


def offered(run: cache.Run) -> Offer:
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
        for row in cache.rows()
        if row.task in (Task.MULTICLASS, Task.BINARY, Task.TOP_LABEL) and row.id != run.id
        if row.n_classes == classes or row.task == Task.TOP_LABEL
    ]
    ids += [draft_id for draft_id in session.drafts() if draft_id != run.id]
    for run_id in ids[:LISTED]:
        with suppress(LibraryError):  # deleted meanwhile, or damaged: the list of runs says so
            owner = cache.look_up(run_id)
            alike = owner.class_names == run.class_names and owner.split
            parts = owner.outside or ((owner.split,) if alike else ())
            offers |= {f"{owner.id}.{split}": SplitSource(owner, split) for split in parts}
    return offers


def foreign(part: SplitSource, run: cache.Run) -> bool:
    """Whether a set belongs to another run, which may be of another model."""
    return part.owner != run and part.owner.id not in dropped()


def intact(run: cache.Run) -> list[str]:
    """Return the labelled parts that in-distribution rows can be of."""
    return [split for split in run.splits if split not in shifted(run)] or [run.split]


def shifted(run: cache.Run) -> list[str]:
    """Return the run's own parts that hold corrupted images."""
    return [split for split in run.splits if role_of(split, labelled=True) == "shifted"]


def names(offers: Offer, run: cache.Run) -> dict[str, SetName]:
    """Return what every offered set is called."""
    return {
        reference: set_name(part.split, "" if part.owner == run else part.owner.name)
        for reference, part in offers.items()
    }


def default(offers: Offer, run: cache.Run) -> list[str]:
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


def chosen(offers: Offer, run: cache.Run) -> list[str]:
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


def keep(references: Sequence[str], offers: Offer, run: cache.Run) -> None:
    """Choose these sets from now on; those of this session alone stay out of the link."""
    kept_sets()[run.id] = tuple(references)
    linked = [reference for reference in references if not _private(offers, reference)]
    if linked and list(references) != default(offers, run):
        st.query_params["sets"] = ",".join(linked)
    else:
        st.query_params.pop("sets", None)


def _private(offers: Offer, reference: str) -> bool:
    return reference in offers and offers[reference].draft


def picker(offers: Offer, names: Mapping[str, SetName], run: cache.Run) -> list[str]:
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
def _fitted(run: cache.Run) -> tuple[float | None, str]:
    rows = cache.predictions(run, "val")
    if rows.task is Task.MULTILABEL:
        return None, "many labels have no temperature in common"
    try:
        return fitted_temperature(rows), ""
    except Refused as refusal:
        return None, refusal.what
