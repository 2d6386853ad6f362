"""The cached part of the page Out of distribution; keys and scopes as in `cache`."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import streamlit as st

from core.errors import Notice, Refused
from core.library.manifest import role_of
from core.metrics.records import Score
from core.predictions import Predictions, Task
from core.studies import ood as study
from core.studies.ood import ConfidentRows, OodPair, ScoreSeparation, ShiftEffect
from core.studies.posthoc import fitted_temperature
from pages.ui import cache, session
from pages.ui.caching import cached

_SPINNER = "Comparing the two sets"
DROPPED = "ood.dropped"


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
    parts = draft.result.splits
    first = next(iter(parts.values()))
    return cache.Run(
        id=draft.id,
        name=draft.name,
        kind="draft",
        splits=(),
        split="",
        digests=tuple(part.digest for part in parts.values()),
        lengths=tuple(part.n for part in parts.values()),
        task=first.task,
        file_digest=draft.result.digest,
        class_names=first.class_names,
        notices=draft.result.notices,
        outside=tuple(parts),
    )


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


def _part_key(part: SplitSource) -> tuple[str, ...]:
    return part.owner.id, part.owner.name, part.split, part.owner.digest(part.split)


def _question_key(question: OodQuestion) -> tuple[object, ...]:
    return (
        *_part_key(question.inside),
        *_part_key(question.outside),
        question.score,
        question.temperature,
    )


# A run of a hundred parts would take longer to hash than most of these to compute.
KEYS: dict[str | type, Callable[[Any], object]] = {
    SplitSource: _part_key,
    OodQuestion: _question_key,
}


# Few are kept: each holds every score of both parts, sorted.
@cached(library=12, draft=8, spinner=_SPINNER, keys=KEYS)
def judged(question: OodQuestion, *, full: bool) -> ScoreSeparation:
    """Return how far the score tells the two parts apart; `full` has every number."""
    return _judged(question, full=full)


def _judged(question: OodQuestion, *, full: bool) -> ScoreSeparation:
    pair = question.pair
    return study.judge(pair.inside, pair.outside, question.score, pair.temperature, full=full)


@cached(library=1024, draft=256, spinner=_SPINNER, keys=KEYS)
def auroc(question: OodQuestion) -> Score:
    """Return how far the score tells the two parts apart, as one number."""
    return _judged(question, full=False).numbers["auroc"]


@cached(library=256, draft=64, spinner=_SPINNER, keys=KEYS)
def checked(
    inside: SplitSource, outside: SplitSource, name: str
) -> tuple[tuple[Notice, ...], Refused | None]:
    """Return what must be said of two parts, and why they cannot be told apart, if so."""
    try:
        shifted = role_of(outside.split, labelled=True) == "shifted"
        owner = inside.owner
        parts = {
            split: SplitSource(owner, split).rows
            for split in owner.splits
            if split not in (inside.split, outside.split)
            and split not in owner.outside
            and role_of(split, labelled=True) != "shifted"
        }
        return study.check(inside.rows, outside.rows, name, shifted=shifted, parts=parts), None
    except Refused as refusal:
        return (), refusal.with_traceback(None)  # which would keep the arrays


@cached(library=2048, draft=512, keys=KEYS)
def shift(question: OodQuestion) -> ShiftEffect:
    """Return what a shift does to answers and alarm."""
    pair = question.pair
    return study.shift(pair.inside, pair.outside, question.score, pair.temperature)


@cached(library=64, draft=32, keys=KEYS)
def certain(question: OodQuestion, most: int) -> ConfidentRows:
    """Return the rows of the set that look most like in-distribution ones."""
    return study.most_certain(
        question.outside.rows, question.score, question.temperature, most=most
    )


@cached(library=64, draft=32, spinner=_SPINNER, keys=KEYS)
def difference(question: OodQuestion, other: OodQuestion) -> tuple[Score | None, str]:
    """Return one run's AUROC minus another's on the same rows, or why there is none."""
    names = question.inside.owner.name, other.inside.owner.name
    why = study.why_unpaired(question.pair, other.pair, names)
    return (None, why) if why else (study.difference(question.pair, other.pair, question.score), "")


def temperature(run: cache.Run) -> tuple[float | None, str]:
    """Return the temperature fitted on the run's validation part, or why there is none."""
    if run.split == "val":
        return None, "the validation part is the one that is shown"
    if "val" not in run.splits:
        return None, "the run has no validation part with labels"
    return _fitted(run)


@cached(library=64, draft=16, spinner=_SPINNER, keys=cache.KEYS)
def _fitted(run: cache.Run) -> tuple[float | None, str]:
    rows = cache.predictions(run, "val")
    if rows.task is Task.MULTILABEL:
        return None, "many labels have no temperature in common"
    try:
        return fitted_temperature(rows), ""
    except Refused as refusal:
        return None, refusal.what
