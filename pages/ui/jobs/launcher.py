"""Where a job runs: this machine, or a cluster where there is one, and what it asks for there."""

import streamlit as st

from core.errors import UsageError
from core.fields import declared
from core.jobs.local import LocalJobs
from core.jobs.records import LOCAL, SLURM, SlurmRequest, defaults
from core.jobs.slurm import commands
from core.library import home
from core.screens.train.words import LAUNCHERS
from pages.ui import frame, widgets
from pages.ui.form import NARROW, SESSION, Form

FORM = Form("cluster", declared(SlurmRequest))
CHOICE = FORM.key("launcher")


@st.cache_data(ttl=60, max_entries=1, show_spinner=False)
def at_hand() -> bool:
    """Whether this machine can submit to a cluster."""
    return not commands.missing()


def in_cluster() -> bool:
    """Whether the cluster is chosen."""
    return at_hand() and st.session_state.get(CHOICE) == SLURM


def choose() -> None:
    """Draw the choice, where there is one."""
    if at_hand():
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
