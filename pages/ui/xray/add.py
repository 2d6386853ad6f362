"""Where models come from: the choice of up to three, files of weights, jobs, and the open run."""

from collections.abc import Mapping
from functools import partial

import streamlit as st

from core.datasets.catalogue import data_entry
from core.errors import AuditError
from core.inference.preprocessing import MOMENTS
from core.jobs.local import LocalJobs
from core.jobs.records import Job
from core.predictions import Task
from core.screens.train.words import TRAIN
from pages.ui import state, weights_source, widgets
from pages.ui.escape import esc
from pages.ui.visitor import open_jobs
from pages.ui.xray import models as xray_models
from pages.ui.xray.film_cache import Model

FOLLOWED = "xray.followed"  # the run whose model was shown last
MAX_WEIGHTS_MB = 1024
LISTED = 50
WIDTHS = (240, 300, 335)  # of the choice of models: all that are chosen are in sight
CHANGED = (
    "Changing a setting removes this model’s test set: its scores were made with the earlier "
    "settings."
)


def models(offered: Mapping[str, Model]) -> list[str]:
    """Draw the choice of up to three models."""
    chosen = xray_models.chosen(offered)
    st.session_state["widget.xray_models"] = chosen
    st.multiselect(
        "Models, side by side",
        list(offered),
        key="widget.xray_models",
        format_func=lambda model_id: offered[model_id].name,
        max_selections=xray_models.MOST,
        on_change=_choose,
        args=(offered,),
        width=WIDTHS[min(len(chosen), len(WIDTHS)) - 1],
    )
    return chosen


def _choose(offered: Mapping[str, Model]) -> None:
    xray_models.choose(list(st.session_state["widget.xray_models"]), offered)


def add_model() -> None:
    """Draw where a model may come from: a file of weights, or a job on films."""
    if weights_source.opening(xray_models.SLOT) is not None:
        widgets.caption("Reading the weights.")
        return
    weights_source.intake(xray_models.SLOT).zone(
        "Weights of CheXNet or of another network for films: PT, PTH, PTH.TAR, CKPT, safetensors",
        partial(weights_source.take, slot=xray_models.SLOT),
        max_upload_size=MAX_WEIGHTS_MB,
    )
    widgets.caption(
        "Nothing in the file is run. Fourteen outputs are read as NIH’s findings, eighteen of a "
        "DenseNet as TorchXRayVision’s, in their published order."
    )
    _jobs(open_jobs())
    offered = xray_models.offered()
    for model_id in xray_models.own():
        _settings(offered[model_id])


def _jobs(jobs: LocalJobs) -> None:
    """Offer finished jobs on data with many labels, whose weights are still there."""
    eligible = {job.id: job for job in jobs.list()[:LISTED] if _of_films(jobs, job)}
    if not eligible:
        return
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


def follow_run() -> None:
    """Show films to the model of the open run from now on, where it has one; once a run.

    A link that opens a session with models of its own keeps them.
    """
    run_id = st.query_params.get("run", "")
    linked = FOLLOWED not in st.session_state and "models" in st.query_params
    new = run_id not in {"", st.session_state.get(FOLLOWED)}
    st.session_state[FOLLOWED] = run_id
    if not new or linked or weights_source.opening(xray_models.SLOT) is not None:
        return
    if xray_models.of_job(run_id) is not None or _has_weights(run_id):
        _take(run_id)


def _take(job_id: str) -> None:
    """Show films to the model of a job, reading it where it is not here yet."""
    here = xray_models.of_job(job_id)
    if here is None:
        weights_source.take_job(job_id, xray_models.SLOT)
    else:
        xray_models.choose([here], xray_models.offered())


def _has_weights(run_id: str) -> bool:
    """Whether the job that made a run looks at films, and keeps its weights."""
    jobs = open_jobs()
    try:
        return _of_films(jobs, jobs.get(run_id))
    except AuditError:
        return False


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
            preprocessing.crops == xray_models.TEN,
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
        changed = xray_models.prepared(model.film_model, int(side), ten=ten, moments=moments)
        if changed != preprocessing:
            xray_models.change(model.id, changed)
            st.rerun()
        st.button(
            "Remove this model",
            key=f"{model.id}.remove",
            type="tertiary",
            on_click=xray_models.remove,
            args=(model.id,),
        )
