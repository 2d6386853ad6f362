"""Folders of shards, the arrays they hold, and the command that audits them."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from core.__main__ import main

ROWS = 120


def predictions():
    rng = np.random.default_rng(5)
    logits = 2.0 * rng.normal(size=(ROWS, 4)).astype(np.float32)
    return logits, (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)


def npy_shards(folder: Path) -> Path:
    """Shards of unequal length, so that no mean of means comes out right."""
    folder.mkdir()
    for i, rows in enumerate((slice(7), slice(7, 90), slice(90, ROWS))):
        for name, array in zip(("logits", "labels"), predictions(), strict=True):
            np.save(folder / f"{name}-{i:05d}.npy", array[rows])
    return folder


def parquet_shards(folder: Path) -> Path:
    folder.mkdir()
    logits, labels = predictions()
    for i, rows in enumerate((slice(33), slice(33, ROWS))):
        columns = {f"logit_{k}": logits[rows, k] for k in range(4)}
        table = pa.table(columns | {"label": labels[rows]})
        pq.write_table(table, folder / f"part-{i:05d}.parquet")
    return folder


def command(capfd, *arguments: str):
    code = main(["audit", *arguments, "--json", "-"])
    return code, json.loads(capfd.readouterr().out)
