"""This machine as forms ask for it: devices, networks, and how long trainings take on it."""

from collections.abc import Sequence
from functools import partial
from typing import Final

import streamlit as st

from core.jobs.devices import CPU, Device
from core.jobs.devices import devices as find_devices
from core.jobs.records import Job
from core.models import names
from core.models.catalogue import MODELS
from core.screens.kit.numbers import about, count
from core.screens.train import words
from core.training.config import TrainConfig
from core.training.estimate import Speed, basis, measure, seconds
from pages.ui import widgets
from pages.ui.caching import Results, results
from pages.ui.task import BackgroundTask, in_process

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
    rate = f"{count(round(speed.trained))} {rows} a second on this machine's {device}"
    if first is None:
        return f"{rate}; the number of {rows} is known only once they are read."
    if len({(basis(config).digest, duration) for config, duration in each}) > 1:
        return f"**The first of {len(configs)}: {about(first)}**, {rate}."
    per_training = " each" if len(configs) > 1 else ""
    return f"**{about(first).capitalize()}{per_training}**, {rate}."
