"""The models that look at a film: Candor’s own, those of the session, and how to add one."""

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import streamlit as st

from core import codec
from core.datasets.catalogue import data_entry
from core.errors import AuditError, UsageError
from core.inference.config import MOMENTS, Preprocessing, with_moments
from core.inference.film_model import (
    MODELS,
    SCALED,
    WEIGHTS,
    FilmModel,
    film_model,
    output_names,
    shown_to,
)
from core.jobs.local import LocalJobs
from core.jobs.records import Job
from core.library import SAMPLES
from core.predictions import Task
from core.screens.train.words import TRAIN
from pages.ui import state, weights_source, widgets
from pages.ui.markup import esc
from pages.ui.visitor import open_jobs, open_library
from pages.ui.weights_source import OpenedWeights

SLOT: Final = "xray.model"
OWN, NEXT = "xray.models", "xray.next_model"
CHOSEN: Final = "xray.chosen"
COUNTED: Final = "xray.counted"  # run by model
REMOVED: Final = "xray.removed_model"
BY_JOB: Final = "xray.by_job"  # ids of models
MOST: Final = 3  # beside one another
TEN: Final = 10


@dataclass(frozen=True, kw_only=True)
class Model:
    """A model that films can be shown to.

    The id of one that comes with Candor stands in the link, that of another is of this session
    alone. `findings` names its outputs; `synthetic` says whether it was trained on synthetic films,
    None where nothing is known of that. `run` has its scores on labelled films, where there is one.
    """

    id: str
    name: str
    film_model: FilmModel
    findings: tuple[str, ...]
    synthetic: bool | None
    run: str = ""

    @property
    def payload(self) -> dict[str, Any]:
        """The reference by which the inference process loads it, plain JSON."""
        return codec.to_json(self.film_model)


def samples() -> tuple[Model, ...]:
    """Return the small models that come with Candor, trained on synthetic films."""
    library = open_library()
    model_ids = [model_id for model_id in MODELS if (SAMPLES / model_id / WEIGHTS).is_file()]
    manifests = [library.get(model_id) for model_id in model_ids]
    return tuple(
        Model(
            id=manifest.id,
            name=MODELS[manifest.id],
            film_model=film_model(manifest),
            findings=manifest.class_names,
            synthetic=True,
            run=manifest.id,
        )
        for manifest in manifests
    )


@dataclass(frozen=True)
class Removal:
    """What was removed from the session last: what it is called, its file, and the way back."""

    name: str
    file: Path
    undo: Callable[[], None]


def set_aside(key: str, removal: Removal) -> None:
    """Keep what was removed until something else of the session's `key` is; forget that before."""
    forget(key)
    st.session_state[key] = removal


def undo(key: str) -> None:
    """Bring back what was removed."""
    removal: Removal | None = st.session_state.pop(key, None)
    if removal is not None:
        removal.undo()


def forget(key: str) -> None:
    """Delete the file of what was removed."""
    removal: Removal | None = st.session_state.pop(key, None)
    if removal is not None:
        removal.file.unlink(missing_ok=True)


def offered() -> dict[str, Model]:
    """Return all models by id, those of this session first; no two have the same name."""
    models = own() | {model.id: model for model in samples()}
    names = state.distinct_names({model.id: model.name for model in models.values()})
    return {model.id: replace(model, name=names[model.id]) for model in models.values()}


def own() -> dict[str, Model]:
    """Return the models of this session by id."""
    by_id: dict[str, Model] = st.session_state.setdefault(OWN, {})
    return by_id


def chosen(models: Mapping[str, Model]) -> list[str]:
    """Return the models that the link names, with those of this session that were picked."""
    ids: list[str] = st.session_state.get(CHOSEN, [])
    named = dict.fromkeys(st.query_params.get("models", "").split(","))
    linked = [model_id for model_id in named if model_id in models]
    if linked and linked != [model_id for model_id in ids if model_id not in own()]:
        ids = linked
    ids = [model_id for model_id in ids if model_id in models][:MOST] or list(models)[:1]
    choose(ids, models)
    return ids


def choose(ids: list[str], models: Mapping[str, Model]) -> None:
    """Show films to these models from now on; those of this session stay out of the link."""
    st.session_state[CHOSEN] = ids
    linked = [model_id for model_id in ids if model_id not in own()]
    if linked and ids != list(models)[:1]:
        st.query_params["models"] = ",".join(linked)
    else:
        st.query_params.pop("models", None)


def take_in() -> None:
    """Make the weights that were read a model of this session; or remember why not."""
    weights_source.open_weights(SLOT)
    opened = weights_source.take_out(SLOT)
    if opened is None:
        return
    try:
        model = _model(opened)
    except UsageError as error:
        weights_source.intake(SLOT).refuse(error, opened.file.name)
        return
    own()[model.id] = model
    if opened.job:
        _by_job()[opened.job] = model.id
    choose([model.id], offered())


def of_job(job_id: str) -> str | None:
    """Return the model that came with Candor or was read from a job, or None."""
    model_id = _by_job().get(job_id, job_id)
    return model_id if model_id in offered() else None


def _by_job() -> dict[str, str]:
    ids: dict[str, str] = st.session_state.setdefault(BY_JOB, {})
    return ids


def remove(model_id: str) -> None:
    """Take a model out of the session; it can be brought back until another is removed.

    Then films are shown to it again, unless others were picked since.
    """
    if model_id not in own():
        return
    name, before = offered()[model_id].name, list(st.session_state.get(CHOSEN, []))
    model = own().pop(model_id)
    after = chosen(offered())

    def bring_back() -> None:
        own()[model_id] = model
        models = offered()
        if st.session_state.get(CHOSEN) == after:
            choose([picked for picked in before if picked in models], models)

    set_aside(REMOVED, Removal(name, Path(model.film_model.weights), bring_back))


def change(model_id: str, preprocessing: Preprocessing) -> None:
    """Show films to a model in another way from now on.

    What its scores were counted on was scored in the earlier way, so it is dropped.
    """
    model = own()[model_id]
    changed = replace(model.film_model, preprocessing=preprocessing)
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
    # The network that the weights are of: what a job says, else the likeliest that fits
    fitting = [
        candidate for candidate in opened.looks_like[opened.file.groups[0].key] if candidate.fits
    ]
    if opened.spec is not None:
        fitting = [
            candidate for candidate in fitting if candidate.model == opened.spec.model
        ] or fitting
    if not fitting:
        raise UsageError(
            "STATE_DICT",
            "No known network has tensors of these names and shapes",
            "open the file on the Evaluate page, which says what is missing or unexpected",
        )
    network = fitting[0]
    spec = opened.spec
    data = spec.data if spec is not None else ""
    preprocessing = shown_to(spec, network.channels, network.size, network.model)
    network_model = FilmModel(
        model=network.model,
        n_outputs=network.n_outputs,
        channels=network.channels,
        preprocessing=preprocessing,
        weights=str(opened.path(group)),
    )
    number = st.session_state[NEXT] = st.session_state.get(NEXT, 0) + 1
    return Model(
        id=f"own-{number}-{secrets.token_hex(2)}",
        name=opened.file.name,
        film_model=network_model,
        findings=output_names(network.n_outputs, data, network.model),
        synthetic=data == "phantom" if data else None,
        run=opened.run,
    )


def prepared(model: FilmModel, side: int, *, ten: bool, moments: str | None) -> Preprocessing:
    """Return how films are made ready, as the few settings of a model say.

    The network is shown `side` pixels a side; of `ten` crops the probabilities are averaged.
    `moments` is a key of MOMENTS, or None for what there is.
    """
    preprocessing = replace(model.preprocessing, size=(side, side))
    if ten != (preprocessing.crops == TEN):
        preprocessing = (
            replace(preprocessing, crops=TEN, average="probabilities")
            if ten
            else replace(preprocessing, crops=1)
        )
    if ten and preprocessing.crop == 1.0:
        preprocessing = replace(preprocessing, crop=SCALED)
    return (
        preprocessing if moments is None else with_moments(preprocessing, moments, model.channels)
    )


FOLLOWED = "xray.followed"  # the run whose model was shown last
MAX_WEIGHTS_MB = 1024
LISTED = 50
WIDTHS = (240, 300, 335)  # of the choice of models: all that are ids are in sight
CHANGED = (
    "Changing a setting removes this model’s test set: its scores were made with the earlier "
    "settings."
)


def choice_of_models(available: Mapping[str, Model]) -> list[str]:
    """Draw the choice of up to three models."""
    ids = chosen(available)
    st.session_state["widget.xray_models"] = ids
    st.multiselect(
        "Models",
        list(available),
        key="widget.xray_models",
        format_func=lambda model_id: available[model_id].name,
        max_selections=MOST,
        on_change=_choose,
        args=(available,),
        width=WIDTHS[min(len(ids), len(WIDTHS)) - 1],
    )
    return ids


def _choose(available: Mapping[str, Model]) -> None:
    choose(list(st.session_state["widget.xray_models"]), available)


def add_model() -> None:
    """Draw where a model may come from: a file of weights, or a job on films."""
    if weights_source.opening(SLOT) is not None:
        widgets.caption("Reading the weights.")
        return
    weights_source.intake(SLOT).zone(
        "Weights of CheXNet or of another network for films: PT, PTH, PTH.TAR, CKPT, safetensors",
        partial(weights_source.take, slot=SLOT),
        max_upload_size=MAX_WEIGHTS_MB,
    )
    widgets.caption(
        "Nothing in the file is run. Fourteen outputs are read as NIH’s findings, eighteen of a "
        "DenseNet as TorchXRayVision’s, in their published order."
    )
    # finished jobs on data with many labels, whose weights are still there
    jobs = open_jobs()
    eligible = {job.id: job for job in jobs.list()[:LISTED] if _of_films(jobs, job)}
    if eligible:
        names = state.distinct_names({job.id: job.name for job in eligible.values()})
        st.selectbox(
            "Or a model that was trained or evaluated here",
            list(eligible),
            index=None,
            format_func=lambda job_id: names.get(job_id, job_id),
            placeholder="Pick one",
            key="xray.job",
            on_change=_take_job,
        )
    available = offered()
    for model_id in own():
        _settings(available[model_id])


def follow_run() -> None:
    """Show films to the model of the open run from now on, where it has one; once a run.

    A link that opens a session with models of its own keeps them.
    """
    run_id = st.query_params.get("run", "")
    linked = FOLLOWED not in st.session_state and "models" in st.query_params
    new = run_id not in {"", st.session_state.get(FOLLOWED)}
    st.session_state[FOLLOWED] = run_id
    if not new or linked or weights_source.opening(SLOT) is not None:
        return
    if of_job(run_id) is None:
        jobs = open_jobs()
        try:  # whether the job that made the run looks at films, and keeps its weights
            if not _of_films(jobs, jobs.get(run_id)):
                return
        except AuditError:
            return
    _take(run_id)


def _take(job_id: str) -> None:
    """Show films to the model of a job, reading it where it is not here yet."""
    here = of_job(job_id)
    if here is None:
        weights_source.take_job(job_id, SLOT)
    else:
        choose([here], offered())


def _of_films(jobs: LocalJobs, job: Job) -> bool:
    try:
        spec = jobs.network(job.id)
        if job.kind == TRAIN and not job.run:
            return False
        weights_source.weights_of(jobs, job)
        return data_entry(spec.data).task is Task.MULTILABEL
    except AuditError:
        return False


def _take_job() -> None:
    job_id = st.session_state.get("xray.job")
    if job_id:
        _take(job_id)
        st.session_state["xray.job"] = None


def _settings(model: Model) -> None:
    """Draw the few settings of a model of this session, and the way to remove it."""
    preprocessing = model.film_model.preprocessing
    with st.expander(esc(model.name), key=f"xray.settings.{model.id}"):
        side = st.number_input(
            "Input size, pixels",
            32,
            1024,
            preprocessing.size[0],
            32,
            key=f"{model.id}.side",
        )
        ten = st.toggle(
            "Ten crops, as in the paper",
            preprocessing.crops == TEN,
            key=f"{model.id}.ten",
            help="Four corners and the middle, each also mirrored; their probabilities are "
            "averaged. The heatmap is of the middle one.",
        )
        current_moments = next(
            (
                n
                for n, mean_std in MOMENTS.items()
                if mean_std == (preprocessing.mean, preprocessing.std)
            ),
            None,
        )
        moments = st.selectbox(
            "Mean and standard deviation",
            list(MOMENTS),
            index=None if current_moments is None else list(MOMENTS).index(current_moments),
            placeholder="The model’s own",
            key=f"{model.id}.moments",
        )
        widgets.caption(CHANGED)
        changed = prepared(model.film_model, int(side), ten=ten, moments=moments)
        if changed != preprocessing:
            change(model.id, changed)
            st.rerun()
        st.button(
            "Remove this model",
            key=f"{model.id}.remove",
            type="tertiary",
            on_click=remove,
            args=(model.id,),
        )
