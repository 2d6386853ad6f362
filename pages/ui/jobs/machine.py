"""Where a job runs: this machine, its devices and networks and how long they take, or a cluster."""

from collections.abc import Sequence
from functools import partial
from typing import Final

import streamlit as st

from core.errors import UsageError
from core.fields import declared
from core.jobs.devices import CPU, Device
from core.jobs.devices import devices as find_devices
from core.jobs.local import LocalJobs
from core.jobs.records import LOCAL, SLURM, Job, SlurmRequest, defaults
from core.jobs.slurm import controller
from core.library import home
from core.models import names
from core.models.catalogue import MODELS
from core.screens.kit.numbers import about, count
from core.screens.train import words
from core.screens.train.words import LAUNCHERS
from core.training.config import TrainConfig
from core.training.estimate import Speed, basis, measure, seconds
from pages.ui import frame, widgets
from pages.ui.caching import Results, results
from pages.ui.form import NARROW, SESSION, Form
from pages.ui.task import BackgroundTask, in_process

FORM = Form("cluster", declared(SlurmRequest))
CHOICE = FORM.key("launcher")


@st.cache_data(ttl=60, max_entries=1, show_spinner=False)
def has_cluster() -> bool:
    """Whether this machine can submit to a cluster."""
    return not controller.missing()


def in_cluster() -> bool:
    """Whether the cluster is chosen."""
    return has_cluster() and st.session_state.get(CHOICE) == SLURM


def choose() -> None:
    """Draw the choice, where there is one."""
    if has_cluster():
        st.selectbox(
            "Runs on",
            [LOCAL, SLURM],
            key=CHOICE,
            persist_state=SESSION,
            format_func=LAUNCHERS.__getitem__,
            width=170,
        )


def ask(jobs: LocalJobs) -> None:
    """Draw what to ask the cluster for, where it is chosen, and what it cannot promise."""
    if not in_cluster():
        return
    if FORM.key("nodes") not in st.session_state:
        # A settings file that is refused is said, and left aside
        start = SlurmRequest()
        try:
            start = defaults(home())
        except UsageError as error:
            frame.refusal(error)
        for name, what in FORM.of(vars(start)).items():
            FORM.put(name, what)
    widgets.title("Cluster", "for each training")
    with st.container(horizontal=True, vertical_alignment="top", key="cluster.request"):
        for name in FORM.widgets:
            FORM.draw(name, width=NARROW)
    with st.expander("What the cluster does not guarantee", key="cluster.cannot"):
        st.markdown("\n".join(f"- {sentence}" for sentence in jobs.cannot(SLURM).values()))


def request() -> SlurmRequest | None:
    """Return what is asked of the cluster; None for this machine; UsageError SETTING."""
    return SlurmRequest(**FORM.settings(SlurmRequest)) if in_cluster() else None


# Devices, networks and time.
NETWORKS: Final = BackgroundTask(
    "networks",
    "",
    "Asking timm and torchvision for their names.",
    partial(in_process, names.listed),
)


@st.cache_data(ttl=10, max_entries=1, show_spinner=False)
def devices() -> tuple[Device, ...]:
    """Return the devices; the driver is asked at most every ten seconds."""
    return find_devices()


def speeds() -> Results[str, Speed]:
    """Return where measured speeds are kept, by the digest of what they depend on (`basis`)."""
    return results("speeds", draft=False)


def networks() -> tuple[str, ...] | None:
    """Return the networks of timm and torchvision; None while they are asked, which is drawn."""
    return names.known() or NETWORKS.wait()


LARGE: Final = 1.0  # million weights


def time(configs: Sequence[TrainConfig], listed: Sequence[Job]) -> None:
    """Say on which devices it can run and how long it takes, once that was measured."""
    if not configs:
        return
    busy = {slot: job.name for job in listed if not job.state.ended for slot in job.slots}
    at_hand = devices()
    there = "; ".join(words.device_words(device, busy.get(device.slot, "")) for device in at_hand)
    config = configs[0]
    start = partial(in_process, measure, config)
    digest, known = basis(config).digest, speeds()
    measuring = BackgroundTask("train.speed", digest, "Timing a few steps.", start)
    speed = known.get(digest)
    if speed is None:
        speed = measuring.draw()
        if speed is not None:
            known.put(digest, speed)
    slow = config.model in MODELS and MODELS[config.model].millions > LARGE
    if speed is None and slow and all(device.slot == CPU for device in at_hand):
        widgets.caption("A network of this size is slow on a CPU: estimate the time first.")
    with st.container(horizontal=True, vertical_alignment="center", key="train.time"):
        if speed is not None:
            st.markdown(f":material/timer: {_estimate(speed, configs)}")
        elif measuring.work is None:
            st.button(
                "Estimate time",
                key="train.measure",
                type="tertiary",
                icon=":material/timer:",
                on_click=measuring.begin,
                help="Times a few training steps on random inputs; takes seconds.",
            )
        widgets.caption(f"Devices here: {there}.")


def _estimate(speed: Speed, configs: Sequence[TrainConfig]) -> str:
    each = [(config, seconds(speed, config)) for config in configs]
    first = each[0][1]
    device = "CPU" if speed.device == "cpu" else "GPU"
    rows = "texts" if configs[0].of_texts else "images"
    rate = f"{count(round(speed.trained))} {rows} a second on this machine’s {device}"
    if first is None:
        return f"{rate}; the number of {rows} is known only once they are read."
    if len({(basis(config).digest, duration) for config, duration in each}) > 1:
        return f"**The first of {len(configs)}: {about(first)}**, {rate}."
    per_training = " each" if len(configs) > 1 else ""
    return f"**{about(first).capitalize()}{per_training}**, {rate}."
