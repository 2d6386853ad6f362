"""What is trained, and the figures of one run by the papers' definitions."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from core.calibrators.temperature import Temperature
from core.configs import AuditConfig
from core.library import Library
from core.metrics.suite import audit
from core.predictions import Predictions
from core.training.config import TrainConfig, from_json

SEEDS: Final = (0, 1, 2)
# As the papers have them for texts: Mukhoti et al. 2020, appendix D, for MMCE's weight, with the
# normalisation of Kumar's released code; Ghosh et al. 2022; focal calibration loss 2024, table 5.
LOSSES: Final[Mapping[str, Mapping[str, Any]]] = {
    "ce": {"name": "ce"},
    "brier": {"name": "brier"},
    "mmce": {"name": "mmce_weighted", "lambda": 8.0, "normalisation": "released"},
    "flsd_53": {"name": "flsd_53"},
    "fcl": {"name": "fcl", "gamma": 5.0, "lambda": 4.5},
    "adafocal": {"name": "adafocal"},
}
NETWORKS: Final = ("text_mean", "text_cnn")


@dataclass(frozen=True, kw_only=True)
class RunFigures:
    """One training.

    Attributes
    ----------
    network, loss : str
        Of NETWORKS and LOSSES.
    seed : int
    digest : str
        Of the config, whatever the paths of its files.
    epoch : int
        The one that was kept, counted from 1.
    seconds : float
        Of all epochs, without reading the data.
    error, nll, ece, ada_ece : float
        Of the test part; ECE of 15 bins of equal width and of equal mass.
    t_ece, ece_after, t_ada_ece, ada_ece_after : float
        Temperature of least error on the validation part, on the grid 0.1 to 10, and the test
        part's error with it; by equal width and by equal mass.
    t_nll, nll_after, ece_after_nll : float
        Temperature of least NLL on the validation part, and the test part's NLL and ECE with it.
    """

    network: str
    loss: str
    seed: int
    digest: str
    epoch: int
    seconds: float
    error: float
    nll: float
    ece: float
    ada_ece: float
    t_ece: float
    ece_after: float
    t_ada_ece: float
    ada_ece_after: float
    t_nll: float
    nll_after: float
    ece_after_nll: float


def config(
    network: str, loss: str, seed: int, *, root: Path, vectors: Path, epochs: int
) -> TrainConfig:
    """Return what one training is asked for: the papers' recipe, on vectors of GloVe.

    The convolutions keep the vectors, as Kumar's script does; the bag of words trains them, as
    its linear layer has little else to learn with, at five times the rate: so fifteen epochs are
    enough for it. Convolutions step in bfloat16, where a core
    takes 1.6 times as many texts a second; they are evaluated in float32.
    """
    convolutions = network == "text_cnn"
    return from_json(
        {
            "preset": "newsgroups",
            "data": "20newsgroups",
            "data_root": str(root.absolute()),
            "model": network,
            "loss": dict(LOSSES[loss]),
            "seed": seed,
            "epochs": epochs,
            "device": "cpu",
            "optimizer": {} if convolutions else {"lr": 0.005},
            "precision": "bf16" if convolutions else "32",
            "name": f"{loss}, {network}, seed {seed}",
            "text": {
                "strip": "headers",
                "embeddings": str(vectors.absolute()),
                "fixed": convolutions,
            },
        }
    )


def identity(asked: TrainConfig) -> str:
    """Return the digest of a config, which paths of files do not change."""
    named = Path(asked.text.embeddings or "").name
    return replace(asked, text=replace(asked.text, embeddings=named)).digest


def measured(library: Library, run_id: str, asked: TrainConfig, loss: str) -> RunFigures:
    """Return the figures of a run of the library."""
    val, test = (library.load(run_id, split) for split in ("val", "test"))
    history = library.history(run_id)
    errors, seconds = (
        history.value[np.array(history.metric) == name] for name in ("val_error", "seconds")
    )
    return RunFigures(
        network=asked.model,
        loss=loss,
        seed=asked.seed,
        digest=identity(asked),
        epoch=int(errors.argmin()) + 1,
        seconds=float(seconds.sum()),
        **scores(val, test),
    )


def scores(val: Predictions, test: Predictions) -> dict[str, float]:
    """Return errors of the test part before and after temperatures of the validation part."""
    before = _audited(test)
    by_ece, by_mass, by_nll = (
        Temperature(objective, search).fit(val.scores, val.labels).temperature_
        for objective, search in (("ece", "mukhoti"), ("ada_ece", "mukhoti"), ("nll", "exact"))
    )
    cooled = {t: _audited(_divided(test, t)) for t in {by_ece, by_mass, by_nll}}
    return {
        "error": 1.0 - before["accuracy"],
        "nll": before["nll"],
        "ece": before["ece"],
        "ada_ece": before["ada_ece"],
        "t_ece": float(by_ece),
        "ece_after": cooled[by_ece]["ece"],
        "t_ada_ece": float(by_mass),
        "ada_ece_after": cooled[by_mass]["ada_ece"],
        "t_nll": float(by_nll),
        "nll_after": cooled[by_nll]["nll"],
        "ece_after_nll": cooled[by_nll]["ece"],
    }


def _audited(rows: Predictions) -> dict[str, float]:
    asked = AuditConfig(metrics=("accuracy", "nll", "ece", "ada_ece"), n_resamples=10)
    found = audit(rows, asked).main.metrics
    return {key: float(found[key].value) for key in asked.metrics}


def _divided(rows: Predictions, temperature: float) -> Predictions:
    cooled = np.asarray(rows.scores, np.float64) / temperature
    return Predictions(rows.task, rows.kind, cooled, rows.labels)


def read(path: Path) -> list[RunFigures]:
    """Return the runs of a file of figures; none where there is no file."""
    if not path.exists():
        return []
    return [RunFigures(**run) for run in json.loads(path.read_text("utf-8"))["runs"]]


def settings(path: Path) -> dict[str, Any]:
    """Return what each network of a file of figures was trained with."""
    if not path.exists():
        return {}
    found: dict[str, Any] = json.loads(path.read_text("utf-8"))["settings"]
    return found


def write(path: Path, runs: Sequence[RunFigures], asked: Mapping[str, Any]) -> None:
    """Write the runs with what each network was trained with."""
    order = {loss: k for k, loss in enumerate(LOSSES)}
    ordered = sorted(runs, key=lambda run: (run.network, order[run.loss], run.seed))
    content = {"settings": asked, "runs": [asdict(run) for run in ordered]}
    path.write_text(json.dumps(content, indent=1) + "\n", "utf-8")
