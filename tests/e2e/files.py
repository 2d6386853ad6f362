"""Small files of every layout for the browser tests, made on the spot."""

import json
import pickle
from pathlib import Path

import numpy as np
import pandas as pd

N, K = 400, 4
NAMES = ("cat", "dog", "owl", "emu")


def classes(seed: int = 0, sharpness: float = 3.0) -> tuple[np.ndarray, np.ndarray]:
    """Return over-confident logits and labels: labels follow the softmax of softer logits."""
    rng = np.random.default_rng(seed)
    soft = rng.normal(size=(N, K))
    p = np.exp(soft) / np.exp(soft).sum(axis=1, keepdims=True)
    labels = np.array([rng.choice(K, p=row) for row in p])
    return (sharpness * soft).astype(np.float32), labels


def softmax(z: np.ndarray) -> np.ndarray:
    p = np.exp(z - z.max(axis=1, keepdims=True))
    return p / p.sum(axis=1, keepdims=True)


def npz_logits(folder: Path) -> Path:
    logits, labels = classes()
    np.savez(path := folder / "logits.npz", logits=logits, labels=labels)
    return path


def csv_probabilities(folder: Path) -> Path:
    logits, labels = classes(1)
    table = pd.DataFrame(softmax(logits.astype(float)), columns=[f"prob_{n}" for n in NAMES])
    table["label"] = [NAMES[k] for k in labels]
    table.to_csv(path := folder / "probs.csv", index=False)
    return path


def pickled_pairs(folder: Path) -> Path:
    val, test = classes(2), classes(3)
    path = folder / "pairs.pkl"
    path.write_bytes(pickle.dumps(((val[0], val[1][:, None]), (test[0], test[1][:, None])), 2))
    return path


def parquet_top_label(folder: Path) -> Path:
    logits, labels = classes(4)
    p = softmax(logits.astype(float))
    table = pd.DataFrame(
        {"true_label": labels, "pred_label": p.argmax(axis=1), "confidence": p.max(axis=1)}
    )
    table.to_parquet(path := folder / "top.parquet")
    return path


def npz_multilabel(folder: Path) -> Path:
    rng = np.random.default_rng(5)
    p = rng.beta(1, 4, size=(N, 3))
    labels = (rng.random((N, 3)) < p**1.5).astype(np.int64)
    np.savez(path := folder / "findings.npz", probs=p, labels=labels)
    return path


def json_binary(folder: Path) -> Path:
    rng = np.random.default_rng(6)
    p = rng.random(N)
    labels = (rng.random(N) < p).astype(int)
    path = folder / "binary.json"
    path.write_text(json.dumps({"scores": p.tolist(), "labels": labels.tolist()}))
    return path


def two_files(folder: Path) -> tuple[Path, Path]:
    """Scores by image name, and labels by image name in another order."""
    logits, labels = classes(7)
    ids = [f"img_{i:04d}.png" for i in range(N)]
    scores = pd.DataFrame(logits, columns=[f"logit_{n}" for n in NAMES])
    scores.insert(0, "image", ids)
    scores.to_csv(first := folder / "scores.csv", index=False)
    order = np.random.default_rng(8).permutation(N)
    truth = pd.DataFrame({"image": [ids[i] for i in order], "label": labels[order]})
    truth.to_csv(second := folder / "labels.csv", index=False)
    return first, second


def nan_logit(folder: Path) -> Path:
    logits, labels = classes()
    logits[5, 1] = np.nan
    np.savez(path := folder / "nan.npz", logits=logits, labels=labels)
    return path


def ambiguous(folder: Path) -> Path:
    logits, labels = classes()
    np.savez(path := folder / "two.npz", logits=logits, raw_logits=2 * logits, labels=labels)
    return path


HOSTILE = "<img src=x onerror=alert(1)> **b** ![x](http://127.0.0.1:9/y) :red[r] $a$"


def hostile_names(folder: Path) -> Path:
    logits, labels = classes(9)
    names = np.array([HOSTILE, "dog", "=HYPERLINK(1)", "[c](javascript:1)"])
    table = pd.DataFrame(logits, columns=[f"logit_{k}" for k in range(K)])
    table["label"] = names[labels]
    table.to_csv(path := folder / "hostile.csv", index=False)
    return path
