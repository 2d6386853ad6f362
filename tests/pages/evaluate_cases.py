"""Small networks on digits, as files and as jobs, for the tests of the Evaluate page."""

import os
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import save_file

from core.inference.config import WEIGHTS, EvaluationConfig, Preprocessing, WeightsSource
from core.jobs.records import Job, JobState
from core.jobs.store import JobStore
from core.library import Library, RunSource
from core.models.build import build
from core.predictions import Predictions, ScoreKind, Task
from core.training.folder import JobFolder
from tests.core.library.builders import headline

CONFIG = EvaluationConfig(
    model="small_cnn",
    n_outputs=10,
    channels=1,
    weights=WeightsSource("digits.pt", "d" * 32, "state_dict"),
    preprocessing=Preprocessing((8, 8)),
    data="digits",
    name="small_cnn on Digits",
    batch_size=64,
    device="cpu",
)


def network(n_outputs: int = 10):
    torch.manual_seed(0)
    return build("small_cnn", n_outputs=n_outputs, channels=1, size=(8, 8))


def checkpoint(folder: Path, n_outputs: int = 10, arch: str = "small_cnn") -> Path:
    """Write a checkpoint as training scripts do: state dicts with averages and settings beside."""
    states = {f"module.{name}": one for name, one in network(n_outputs).state_dict().items()}
    path = folder / "digits.pt"
    found = {"state_dict": states, "state_dict_ema": states, "epoch": 3, "arch": arch}
    torch.save(found, path)
    return path


class Harmful:
    """What runs a command when it is unpickled."""

    def __reduce__(self):
        return os.system, ("echo harm",)


def harmful(folder: Path) -> Path:
    path = folder / "harm.pt"
    torch.save({"state_dict": network().state_dict(), "hook": Harmful()}, path)
    return path


def keep_job(home: Path, job_id: str, state: JobState, config=CONFIG, **changes) -> Job:
    """Put an evaluation of some state into the table."""
    folder = JobFolder.make(home / "jobs" / job_id, config)
    weights = {name: one.contiguous() for name, one in network().state_dict().items()}
    save_file(weights, folder.path / WEIGHTS)
    times = {} if state is JobState.QUEUED else {"started": 10.0}
    times |= {"ended": 62.0} if state.ended else {}
    values = {"state": state, **times, **changes}
    job = Job(job_id, "evaluate", config.name, f"g{job_id}", config.digest, 5.0, **values)
    (added,) = JobStore(home).add([job])
    return added


def keep_run(library: Library, run_id: str, config=CONFIG):
    """Put a run into the library as an evaluation leaves it; nine in ten answers are right."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 10, 300)
    logits = rng.normal(size=(300, 10))
    logits[np.arange(270), labels[:270]] += 8.0
    part = Predictions(Task.MULTICLASS, ScoreKind.LOGITS, logits, labels)
    strange = Predictions(
        Task.MULTICLASS, ScoreKind.LOGITS, logits[::-1], np.full(300, -1), labelled=False
    )
    return library.keep(
        config.name,
        {"test": part, "corrupted-fog-3": part, "svhn": strange},
        source=RunSource(config.weights.file, config.weights.digest),
        summary={"test": headline()},
        config=config.to_json(),
        kind="evaluate",
        environment={},
        run_id=run_id,
    )
