"""The cached part of the Gamma page; runs never change after they are kept, so ids are keys."""

from dataclasses import dataclass, replace

import streamlit as st

from core.figures.gamma import Grid
from core.library import open_library
from core.library.index import RunRow
from core.losses.replay import replay
from core.predictions import Task
from core.views.gamma import Dynamics
from core.views.gamma_rule import CLOSE, Learned, Rule, amount, learned
from pages.ui import cache

LISTED = 500  # newest runs that are looked through


@dataclass(frozen=True)
class Kept:
    """What a run of the library keeps for this page."""

    id: str
    created: str
    bins: bool
    validation: bool


@st.cache_data(max_entries=4096, show_spinner=False)
def _kept(run_id: str, created: str) -> Kept:
    history = open_library().get(run_id).history
    return Kept(
        run_id,
        created,
        bins=history is not None and history.bins is not None,
        validation=history is not None and history.validation is not None,
    )


def kept() -> dict[str, tuple[RunRow, Kept]]:
    """Return the newest runs that this page can show: with gammas first, then with logits."""
    rows = [(row, _kept(row.id, row.created)) for row in cache.rows(limit=LISTED)]
    found = [pair for pair in rows if pair[1].bins]
    found += [pair for pair in rows if pair[1].validation and not pair[1].bins]
    return {row.id: (row, one) for row, one in found}


@st.cache_resource(max_entries=16, show_spinner="Loading the history")
def _stored(run_id: str, created: str) -> Dynamics:
    del created  # part of the key only
    manifest = open_library().get(run_id)
    grid = Grid.of(open_library().bins(run_id))
    config = (manifest.config or {}).get("loss")
    found = learned(config, grid)
    return Dynamics("", _origin(found), grid, found, manifest.source.digest)


def stored(row: RunRow) -> Dynamics:
    """Return the gammas that a run of the library keeps."""
    return replace(_stored(row.id, row.created), name=row.name)


def _origin(found: Learned) -> str:
    if found.rule is None:
        return "λ not known"
    rate = amount(found.rule.rate).rstrip("0").rstrip(".")
    return f"{type(found.rule).__name__.removesuffix('Rule')}, λ = {rate}"


@st.cache_resource(max_entries=32, show_spinner="Replaying the rule")
def _replayed(run_id: str, created: str, rule: Rule, n_bins: int) -> Dynamics:
    del created
    library = open_library()
    rows = library.load(run_id, "val")
    bins = replay(
        library.validation_logits(run_id),
        rows.labels,
        task=Task(rows.task),
        rule=rule,
        n_bins=n_bins,
    )
    found = Learned(rule, "as the replay was set", CLOSE)
    return Dynamics("", f"replay, {_origin(found)}", Grid.of(bins), found, rows.digest)


def replayed(row: RunRow, rule: Rule, n_bins: int) -> Dynamics:
    """Return what a rule would have asked for on the validation logits that a run keeps."""
    return replace(_replayed(row.id, row.created, rule, n_bins), name=row.name)
