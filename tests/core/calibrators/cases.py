"""Rows that the tests of calibrators share, and the golden values."""

import json
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
GOLDEN = {entry["id"]: entry for entry in json.loads((HERE / "golden_posthoc.json").read_text())}
METRIC_INPUTS = HERE.parent / "metrics" / "golden_inputs.npz"


def golden_input(name):
    """Logits and labels, or probabilities and outcomes, of a golden file."""
    with np.load(METRIC_INPUTS if name != "noisy512x10" else HERE / "golden_inputs.npz") as file:
        keys = ("p", "y") if name == "bin400" else ("logits", "labels")
        return tuple(file[f"{name}_{key}"] for key in keys)


def drawn(n_rows, n_classes, *, scale=3.0, sharpness=1.0, seed=0):
    """Logits of a spread, and labels drawn from softmax(sharpness * logits / scale)."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(n_rows, n_classes)) * scale
    noise = rng.gumbel(size=logits.shape)
    return logits, (logits / scale * sharpness + noise).argmax(axis=1)


def hard_runs():
    """Twenty runs: K = 2, 3, 10, 100; spread-out, tied, saturated; sharp and blunt labels."""
    runs = []
    for seed in range(20):
        n_classes = (2, 3, 10, 100)[seed % 4]
        scale = (0.5, 3.0, 30.0, 1e3, 1e4)[seed // 4]
        sharpness = (0.3, 1.0, 3.0)[seed % 3]
        logits, labels = drawn(60, n_classes, scale=scale, sharpness=sharpness, seed=seed)
        if seed % 2:
            logits = np.round(logits / scale) * scale  # many equal logits, many equal rows
        runs.append((logits, labels))
    return runs
