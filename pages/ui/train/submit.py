"""What submits a training: one click, or a config, its time, and its buttons."""

import json
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

import streamlit as st

from core.datasets.catalogue import data_entry
from core.disk import JsonError, parse_json
from core.errors import AuditError, UsageError
from core.jobs.local import LocalJobs
from core.jobs.records import Job
from core.training.config import TrainConfig, from_json
from core.training.submission import FIRST
from pages.ui import cache, frame, server, site, state, widgets
from pages.ui.escape import esc
from pages.ui.jobs import launcher
from pages.ui.jobs import watch as job_watch
from pages.ui.train import form

MAX_CONFIG_BYTES: Final = 64 * 1024
NOT_LOADED: Final = "train.not_loaded"
LOADS: Final = "train.loads"  # files taken in; after each the uploader is a new one
TITLE: Final = '<h1 class="c-sentence">Train a model and watch its calibration as it learns.</h1>'
PLAIN_TITLE: Final = (
    '<h1 class="c-sentence">Let a small program learn from examples, and see how sure it says it '
    "is.</h1>"
)
PLAIN: Final = (
    "What comes out is a run: its answers on images it never learned from, and how sure it said "
    "it was of each. One click shows it on handwritten digits, in about a minute."
)


def title() -> None:
    """Draw the title, and in plain words what comes out."""
    st.html(PLAIN_TITLE if state.plain() else TITLE)
    if state.plain():
        widgets.second(PLAIN)


def one_click(jobs: LocalJobs) -> None:
    """Offer the training of a first visitor."""
    with st.container(horizontal=True, vertical_alignment="center", key="train.one"):
        st.button(
            "Teach it digits" if state.plain() else "Train AdaFocal on digits",
            type="primary",
            icon=":material/play_arrow:",
            key="train.first_one",
            on_click=job_watch.submit,
            args=(jobs, (from_json(FIRST),)),
        )
        st.markdown("About a minute on two cores; nothing is downloaded.")


def configs() -> tuple[TrainConfig, ...]:
    """Return what the form asks for; none, and why, where it is refused."""
    try:
        launcher.request()
        return form.submitted()
    except UsageError as refused:
        frame.refusal(refused)
        return ()


def buttons(jobs: LocalJobs, configs: Sequence[TrainConfig], listed: Sequence[Job]) -> None:
    """Draw the buttons that train, and those that save and load a config."""
    with st.container(horizontal=True, vertical_alignment="bottom", key="train.actions"):
        device, minutes = str(form.value("device")), form.value("minutes")
        request = launcher.request() if configs else None
        st.button(
            f"Train {len(configs)}" if len(configs) > 1 else "Train",
            type="primary" if listed else "secondary",
            disabled=not configs,
            key="train.submit",
            on_click=job_watch.submit,
            args=(jobs, configs),
            kwargs={
                "wants": device if ":" in device and request is None else "auto",
                "priority": form.value("priority") or 0,
                "time_limit": None if minutes is None else 60 * minutes,
                "request": request,
            },
        )
        if configs:
            first = configs[0]
            widgets.download(
                "Save config" if len(configs) == 1 else f"Save the first of {len(configs)} configs",
                lambda: json.dumps(first.to_json(), indent=1, allow_nan=False),
                "candor_train.json",
                "application/json",
                key="train.save",
                explanation="python -m core train takes the file as it is.",
            )
        with st.popover("Load config", key="train.load"):
            not_loaded: AuditError | None = st.session_state.pop(NOT_LOADED, None)
            if not_loaded is not None:  # the popover would hide it elsewhere
                frame.refusal(not_loaded)
            server.drop_zone(
                "A config as `python -m core train` takes it",
                type="json",
                key=f"train.file.{st.session_state.get(LOADS, 0)}",
                on_change=_load,
                max_upload_size=1,
            )


def _load() -> None:
    """Fill the form from a file; one that is refused leaves the form as it was."""
    count = st.session_state.get(LOADS, 0)
    file = st.session_state.get(f"train.file.{count}")
    if file is None:
        return
    st.session_state[LOADS] = count + 1
    data = file.getvalue()
    refused: UsageError | None = None
    server.drop_bytes(file)
    if len(data) > MAX_CONFIG_BYTES:
        what = f"{file.name} has {len(data)} bytes"
        refused = UsageError("SETTING", what, f"a config has at most {MAX_CONFIG_BYTES}")
    else:
        try:
            form.fill(from_json(parse_json(data)))
        except JsonError as error:
            remedy = "give a JSON object, each key once"
            refused = UsageError("SETTING", f"{file.name} {error}", remedy)
        except UsageError as error:
            refused = error
    if refused is not None:
        st.session_state[NOT_LOADED] = refused


def earlier(jobs: LocalJobs, configs: Sequence[TrainConfig], listed: Sequence[Job]) -> None:
    """Link the job of the same config and data whose run is still there, if any."""
    if not configs:
        return
    config = configs[0]
    job: Job | None = None
    for candidate in listed:
        if job is None and candidate.digest == config.digest and candidate.run:
            with suppress(AuditError):  # its run or its folder is gone
                cache.find(candidate.run)
                before = jobs.config(candidate.id)
                # Data that need a folder may be other data in another one
                same = before.data_root == config.data_root
                job = candidate if same or not data_entry(config.data).needs_root else None
    if job is None:
        return
    with st.container(horizontal=True, vertical_alignment="center", key="train.known"):
        st.markdown("Trained before with these settings: open it, or train again.")
        st.page_link(
            site.TRAIN.script,
            label=esc(job.name),
            icon=":material/check_circle:",
            query_params={"job": job.id},
        )
