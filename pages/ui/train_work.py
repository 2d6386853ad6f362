"""What the Train page has done elsewhere: measuring a speed, listing networks; in processes."""

from dataclasses import dataclass

import streamlit as st

from core.errors import AuditError
from core.models import names
from core.training.config import TrainConfig
from core.training.estimate import basis, measure
from pages.ui import cache_train
from pages.ui.work import BackgroundWork

AT_WORK = "train.work"
FAILED = "train.failed"  # what went wrong, by what was asked


@dataclass(frozen=True)
class TrainingQuery:
    """What a process computes: a speed, or without a config the names of networks."""

    config: TrainConfig | None = None

    @property
    def key(self) -> str:
        """Equal for what has the same answer."""
        return basis(self.config).digest if self.config else "networks"


def list_networks() -> None:
    """Ask timm and torchvision for their networks, unless that is under way or failed."""
    _start(TrainingQuery())


def list_again() -> None:
    """Ask for the networks once more after that failed."""
    _failed().pop(TrainingQuery().key, None)
    list_networks()


def stop_measuring(config: TrainConfig) -> None:
    """End what measures the speed of a config."""
    measurement = running().pop(TrainingQuery(config).key, None)
    if measurement is not None:
        measurement[1].stop()


def measure_speed(config: TrainConfig) -> None:
    """Measure how fast a config trains here."""
    _failed().pop(TrainingQuery(config).key, None)
    _start(TrainingQuery(config))


def running() -> dict[str, tuple[TrainingQuery, BackgroundWork]]:
    """Return what this session has under way."""
    by_key: dict[str, tuple[TrainingQuery, BackgroundWork]] = st.session_state.setdefault(
        AT_WORK, {}
    )
    return by_key


def measuring(config: TrainConfig) -> bool:
    """Whether the speed of a config is being measured."""
    return TrainingQuery(config).key in running()


def failure(config: TrainConfig | None = None) -> AuditError | None:
    """Return why there was no answer."""
    return _failed().get(TrainingQuery(config).key)


def any_done() -> bool:
    """Whether an answer waits to be taken in."""
    return any(work.done for _, work in running().values())


def take_in() -> None:
    """Keep the answers that have come."""
    for key, (query, work) in list(running().items()):
        if not work.done:
            continue
        del running()[key]
        try:
            answer = work.result()
        except AuditError as error:
            _failed()[key] = error
            continue
        if query.config is not None:
            cache_train.speeds().put(query.config, answer)


def _failed() -> dict[str, AuditError]:
    failures: dict[str, AuditError] = st.session_state.setdefault(FAILED, {})
    return failures


def _start(query: TrainingQuery) -> None:
    if query.key in running() or query.key in _failed():
        return
    function, arguments = (measure, (query.config,)) if query.config else (names.listed, ())
    running()[query.key] = (query, BackgroundWork.start(function, *arguments))
