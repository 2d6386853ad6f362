"""Golden values of the losses, and rows that their tests share; no torch."""

import json
from pathlib import Path

import numpy as np

from core.predictions import Task

HERE = Path(__file__).parent
GOLDEN = {entry["id"]: entry for entry in json.loads((HERE / "golden_losses.json").read_text())}
METRIC_INPUTS = HERE.parent / "metrics" / "golden_inputs.npz"
N_VALIDATION = 600  # rows of each golden validation set

# Every loss, with settings that show all of it; `trained` gives uneven gammas to those with bins.
SETTINGS = {
    "ce": {},
    "ls": {"smoothing": 0.1},
    "brier": {},
    "mmce": {"lambda": 2.0},
    "mmce_weighted": {"lambda": 2.0},
    "focal": {"gamma": 2.5},
    "flsd_53": {},
    "fla_53": {},
    "fla_532": {},
    "fls_532": {},
    "fls_531": {},
    "inverse_focal": {"gamma": 1.5},
    "calfocal_1": {"lambda": 10.0, "n_bins": 5},
    "calfocal_2": {"lambda": 10.0, "n_bins": 5},
    "adafocal": {"n_bins": 5},
    "dual_focal": {"gamma": 2.5},
    "fcl": {"gamma": 2.5, "lambda": 0.75},
    "fcl_l1": {"gamma": 2.5, "lambda": 0.75},
}
SINGLE_ANSWER = {"mmce", "mmce_weighted", "dual_focal"}
ANY_TASK = [
    (name, task)
    for name in SETTINGS
    for task in (Task.MULTICLASS, Task.MULTILABEL)
    if task is Task.MULTICLASS or name not in SINGLE_ANSWER
]
EDGES = np.array([0.1, 0.25, 0.4, 0.6, 0.8, 0.95])
GAMMA = np.array([3.0, -1.5, 0.4, -0.2, 6.0])
ACCURACY = np.array([0.2, 0.3, np.nan, 0.6, 0.85])


def golden_rows(name):
    """Logits and labels of a golden input."""
    if name == "loss_edges":
        with np.load(HERE / "golden_inputs.npz") as file:
            return file["edges_logits"], file["edges_labels"]
    with np.load(METRIC_INPUTS) as file:
        return file[f"{name}_logits"], file[f"{name}_labels"]


def golden_validation(name, step):
    """Confidences, float32, and hits of one golden validation set."""
    with np.load(HERE / "golden_inputs.npz") as file:
        confidence = file[f"val_{name}_s{step}_conf"]
        packed = file[f"val_{name}_s{step}_correct"]
    return confidence, np.unpackbits(packed, count=N_VALIDATION).astype(bool)


def drawn(task, n_rows=7, n_columns=4, seed=0):
    """Spread-out logits and targets."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(n_rows, n_columns)) * 2.0
    if task is Task.MULTILABEL:
        return logits, rng.integers(0, 2, logits.shape)
    return logits, rng.integers(0, n_columns, n_rows)


def trained(torch, loss):
    """The loss with bins as after some updates, where it has any."""
    if hasattr(loss, "edges") and hasattr(loss, "gamma"):
        for name, values in (("edges", EDGES), ("gamma", GAMMA), ("accuracy", ACCURACY)):
            loss.get_buffer(name).copy_(torch.from_numpy(values))
    return loss
