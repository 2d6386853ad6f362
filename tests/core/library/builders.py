"""Small predictions and headline numbers to put into a library."""

import numpy as np

from core.library import Source, Summary
from core.predictions import Predictions, ScoreKind, Task

SOURCE = Source("scores.npz", "0f" * 16, {"scores": "logits"})


def small(seed: int = 0, n: int = 7) -> Predictions:
    rng = np.random.default_rng(seed)
    scores = rng.standard_normal((n, 3)).astype(np.float32)
    return Predictions(
        Task.MULTICLASS,
        ScoreKind.LOGITS,
        scores,
        rng.integers(0, 3, n),
        class_names=("cat", "dog", "hen"),
        row_ids=tuple(f"image-{i}" for i in range(n)),
    )


def headline(ece: float | None = 0.05) -> Summary:
    return Summary(
        accuracy=0.9,
        ece={"value": ece, "low": 0.04, "high": 0.07},
        floor_q95=0.02,
        gap={"gap": 0.05, "low": 0.03, "high": 0.08},
        verdict="over_confident",
    )
