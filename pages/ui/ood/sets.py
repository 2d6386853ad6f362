"""Which sets stand beside the open run: what is offered, and what was chosen."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import streamlit as st

from core.errors import LibraryError
from core.library.manifest import role_of
from core.predictions import Task
from core.screens.kit import units
from core.screens.ood.words import SetName, set_name
from core.studies.ood import shown_shift
from pages.ui import cache, session, state
from pages.ui.ood.cache import SplitSource, dropped, owner_of

MOST = 6  # whose curves can still be told apart
LISTED = 60  # other runs that are looked at
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
    for owner in _others(run):
        parts = owner.outside or _alike(run, owner)
        offers |= {f"{owner.id}.{split}": SplitSource(owner, split) for split in parts}
    return offers


def foreign(part: SplitSource, run: cache.Run) -> bool:
    """Whether a set belongs to another run, which may be of another model."""
    return part.owner != run and part.owner.id not in dropped()


def shifted(run: cache.Run) -> list[str]:
    """Return the run's own parts that hold corrupted images."""
    return [split for split in run.splits if role_of(split, labelled=True) == "shifted"]


def _alike(run: cache.Run, owner: cache.Run) -> tuple[str, ...]:
    """Return the labelled part of another run with the same classes."""
    return (owner.split,) if owner.class_names == run.class_names and owner.split else ()


def _others(run: cache.Run) -> list[cache.Run]:
    """Return other runs with as many classes, newest first."""
    classes = len(run.class_names)
    ids = [
        row.id
        for row in cache.rows()
        if row.task in (Task.MULTICLASS, Task.BINARY, Task.TOP_LABEL) and row.id != run.id
        if row.n_classes == classes or row.task == Task.TOP_LABEL
    ]
    ids += [draft_id for draft_id in session.drafts() if draft_id != run.id]
    others = []
    for run_id in ids[:LISTED]:
        try:
            others.append(cache.look_up(run_id))
        except LibraryError:  # deleted meanwhile, or damaged: the list of runs says so
            continue
    return others


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
    shift = shown_shift(split for split in run.splits if split in offers)
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
        "Compare with",
        list(offers),
        key="widget.sets",
        format_func=lambda reference: labels.get(reference, reference),
        max_selections=MOST,
        placeholder="Pick sets",
        on_change=lambda: keep(st.session_state["widget.sets"], offers, run),
        help=units.spoken(
            "Out-of-distribution inputs or corrupted test images, scored by the same model."
        ),
    )
    return references
