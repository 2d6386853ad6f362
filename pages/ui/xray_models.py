"""Which models look at a film: the small ones that come with Candor, and those of this session."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import streamlit as st

from core.checkpoints.guess import NetworkCandidate
from core.errors import UsageError
from core.inference.film_model import SCALED, FilmModel, output_names, shown_to, with_moments
from core.inference.preprocessing import Preprocessing
from pages.ui import cache_xray, evaluate_source, state
from pages.ui.cache_xray import Model
from pages.ui.evaluate_source import OpenedWeights

SLOT: Final = "xray.model"
OWN, NEXT = "xray.models", "xray.next_model"
CHOSEN: Final = "xray.chosen"
COUNTED: Final = "xray.counted"  # run by model
REMOVED: Final = "xray.removed_model"
BY_JOB: Final = "xray.by_job"  # ids of models
MOST: Final = 3  # beside one another
TEN: Final = 10


@dataclass(frozen=True)
class RemovedModel:
    """A model that was removed, as it was called, and those shown before and after."""

    model: Model
    name: str
    shown: list[str]
    left: list[str]


def offered() -> dict[str, Model]:
    """Return all models by id, those of this session first; no two have the same name."""
    found = own() | {one.id: one for one in cache_xray.samples()}
    names = state.apart({one.id: one.name for one in found.values()})
    return {one.id: replace(one, name=names[one.id]) for one in found.values()}


def own() -> dict[str, Model]:
    """Return the models of this session by id."""
    found: dict[str, Model] = st.session_state.setdefault(OWN, {})
    return found


def chosen(models: Mapping[str, Model]) -> list[str]:
    """Return the models that the link names, with those of this session that were picked."""
    kept: list[str] = st.session_state.get(CHOSEN, [])
    named = dict.fromkeys(st.query_params.get("models", "").split(","))
    linked = [one for one in named if one in models]
    if linked and linked != [one for one in kept if one not in own()]:
        kept = linked
    kept = [one for one in kept if one in models][:MOST] or list(models)[:1]
    choose(kept, models)
    return kept


def choose(ids: list[str], models: Mapping[str, Model]) -> None:
    """Show films to these models from now on; those of this session stay out of the link."""
    st.session_state[CHOSEN] = ids
    linked = [one for one in ids if one not in own()]
    if linked and ids != list(models)[:1]:
        st.query_params["models"] = ",".join(linked)
    else:
        st.query_params.pop("models", None)


def take_in() -> None:
    """Make the weights that were read a model of this session; or remember why not."""
    evaluate_source.settle(SLOT)
    opened = evaluate_source.take_out(SLOT)
    if opened is None:
        return
    try:
        model = _model(opened)
    except UsageError as error:
        evaluate_source.refuse(error, SLOT)
        return
    own()[model.id] = model
    if opened.job:
        _by_job()[opened.job] = model.id
    choose([model.id], offered())


def of_job(job_id: str) -> str | None:
    """Return the model that came with Candor or was read from a job, or None."""
    found = _by_job().get(job_id, job_id)
    return found if found in offered() else None


def _by_job() -> dict[str, str]:
    found: dict[str, str] = st.session_state.setdefault(BY_JOB, {})
    return found


def remove(model_id: str) -> None:
    """Take a model out of the session; it can be brought back until another is removed."""
    if model_id not in own():
        return
    forget_removed()
    name, shown = offered()[model_id].name, list(st.session_state.get(CHOSEN, []))
    model = own().pop(model_id)
    st.session_state[REMOVED] = RemovedModel(model, name, shown, chosen(offered()))


def removed() -> RemovedModel | None:
    """Return the model that was removed last."""
    held: RemovedModel | None = st.session_state.get(REMOVED)
    return held


def bring_back() -> None:
    """Undo the last removal; films are shown to it again, unless others were picked since."""
    held = removed()
    if held is None:
        return
    own()[held.model.id] = held.model
    st.session_state[REMOVED] = None
    models = offered()
    if st.session_state.get(CHOSEN) == held.left:
        choose([one for one in held.shown if one in models], models)


def forget_removed() -> None:
    """Remove the weights of the model that was removed last."""
    held = removed()
    if held is not None:
        Path(held.model.film_model.weights).unlink(missing_ok=True)
    st.session_state[REMOVED] = None


def change(model_id: str, how: Preprocessing) -> None:
    """Show films to a model in another way from now on.

    What its scores were counted on was scored in the earlier way, so it is dropped.
    """
    model = own()[model_id]
    changed = replace(model.film_model, preprocessing=how)
    own()[model_id] = replace(model, film_model=changed, run="")
    count_on(model_id, "")


def counted_on(model_id: str) -> str:
    """Return the run that the scores of a model are counted on, as picked; empty where none is."""
    picked: Mapping[str, str] = st.session_state.get(COUNTED, {})
    return picked.get(model_id, "")


def count_on(model_id: str, run_id: str) -> None:
    """Count the scores of a model on a run from now on; on none where it is empty."""
    picked: dict[str, str] = st.session_state.setdefault(COUNTED, {})
    picked[model_id] = run_id


def _model(opened: OpenedWeights) -> Model:
    """Return what was opened as a model; Refused or UsageError where no film can be shown to it."""
    group = opened.file.groups[0]
    network = _network(opened)
    spec = opened.spec
    data = spec.data if spec is not None else ""
    how = shown_to(spec, network.channels, network.size)
    found = FilmModel(
        network.model, network.n_outputs, network.channels, how, str(opened.path(group))
    )
    number = st.session_state[NEXT] = st.session_state.get(NEXT, 0) + 1
    return Model(
        f"own-{number}-{secrets.token_hex(2)}",
        opened.file.name,
        found,
        output_names(network.n_outputs, data),
        data == "phantom" if data else None,
        opened.run,
    )


def _network(opened: OpenedWeights) -> NetworkCandidate:
    """Return the network that the weights are of: what a job says, else the likeliest that fits."""
    fitting = [one for one in opened.looks_like[opened.file.groups[0].key] if one.fits]
    if opened.spec is not None:
        fitting = [one for one in fitting if one.model == opened.spec.model] or fitting
    if not fitting:
        raise UsageError(
            "STATE_DICT",
            "no known network has tensors of these names and shapes",
            "open the file on the page Evaluate, which says what is missing or unexpected",
        )
    return fitting[0]


def prepared(model: FilmModel, side: int, *, ten: bool, moments: str | None) -> Preprocessing:
    """Return how films are made ready, as the few settings of a model say.

    Parameters
    ----------
    model : FilmModel
    side : int
        Of what the network is shown, in pixels.
    ten : bool
        Ten crops, and the mean of their probabilities.
    moments : str or None
        A key of MOMENTS; None keeps what there is.
    """
    how = replace(model.preprocessing, size=(side, side))
    if ten != (how.crops == TEN):
        how = replace(how, crops=TEN, average="probabilities") if ten else replace(how, crops=1)
    if ten and how.crop == 1.0:
        how = replace(how, crop=SCALED)
    return how if moments is None else with_moments(how, moments, model.channels)
