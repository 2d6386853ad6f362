"""Files changed at random places are read or refused; nothing else ever leaves a reader."""

import json

import numpy as np
import pytest

from core.errors import Refused
from core.readers.formats.contents import FileBytes
from core.readers.predictions.interpret import InterpretedFile, read_source
from core.readers.predictions.options import ReadOptions
from tests import hostile_cases as made

z, y = made.LOGITS[:12], made.LABELS[:12]
MUTATIONS = 150
HEADER = {
    "logits": {"dtype": "F64", "shape": [12, 4], "data_offsets": [0, 384]},
    "labels": {"dtype": "I64", "shape": [12], "data_offsets": [384, 480]},
}
SCORED = [
    {
        "out": [{"label": n, "score": s} for n, s in zip(made.NAMES, row, strict=True)],
        "truth": made.NAMES[k],
    }
    for row, k in zip(made.PROBABILITIES[:12].tolist(), y.tolist(), strict=True)
]
VALID = {
    "file.npz": made.npz(logits=z, labels=y),
    "file.npy": made.npy(z),
    "file.csv": b"\n".join(made.CSV.splitlines()[:13]),
    "file.parquet": made.parquet({**dict(zip(made.NAMES, z.T, strict=True)), "label": y}),
    "file.safetensors": made.safetensors(HEADER, z.tobytes() + y.tobytes()),
    "file.json": json.dumps({"logits": z.tolist(), "labels": y.tolist()}).encode(),
    "two.pkl": made.pickled(((z, y), (z, y)), 2),
    "five.pkl": made.pickled({"logits": z, "labels": y}, 5),
    "lines.jsonl": b"\n".join(
        json.dumps({"logits": row.tolist(), "label": int(label)}).encode()
        for row, label in zip(z, y, strict=True)
    ),
    "split.json": json.dumps(
        {
            "columns": ["logits", "label"],
            "data": [list(r) for r in zip(z.tolist(), y.tolist(), strict=True)],
        }
    ).encode(),
    "lists.csv": made.table(
        ("logits", "label"), [[f'"{row.tolist()}"', label] for row, label in zip(z, y, strict=True)]
    ),
    "batches.pkl": made.pickled([(z[i : i + 3], y[i : i + 3]) for i in range(0, 12, 3)]),
    "lists.parquet": made.parquet({"logits": z.tolist(), "label": y}),
    "names.npz": made.npz(logits=z, labels=y, class_names=np.array(made.NAMES, object)),
    "table.feather": made.feather({**dict(zip(made.NAMES, z.T, strict=True)), "label": y}),
    "nested.json": json.dumps({"run": 1, "results": SCORED}).encode(),
    "samples.jsonl": b"\n".join(
        json.dumps(
            {"doc": {}, "target": int(label), "filtered_resps": [[v - 9, False] for v in row]}
        ).encode()
        for row, label in zip(z.tolist(), y, strict=True)
    ),
    "book.xlsx": made.workbook(
        [[*made.NAMES, "label"], *([*row, int(k)] for row, k in zip(z.tolist(), y, strict=True))]
    ),
    "packed.zip": made.archive({"a.csv": b"\n".join(made.CSV.splitlines()[:13])}),
}


def changed(data: bytes, rng: np.random.Generator) -> bytes:
    """Flip, insert, remove or repeat a few bytes, mostly near the two ends."""
    out = bytearray(data)
    for _ in range(int(rng.integers(1, 4))):
        reach = len(out) if rng.random() < 0.5 else min(len(out), 200)
        at = (
            int(rng.integers(reach))
            if rng.random() < 0.7
            else len(out) - 1 - int(rng.integers(reach))
        )
        how = rng.integers(4)
        if how == 0:
            out[at] = int(rng.integers(256))
        elif how == 1:
            out[at:at] = rng.bytes(int(rng.integers(1, 9)))
        elif how == 2:
            del out[at : at + int(rng.integers(1, 9))]
        else:
            out[at:at] = out[at : at + 16]
        if not out:
            return b""
    return bytes(out)


@pytest.mark.parametrize("name", VALID)
def test_a_changed_file_is_read_or_refused(name: str) -> None:
    rng = np.random.default_rng(20 + len(name))
    labels = FileBytes.of_bytes("y.npy", made.npy(y)) if name == "file.npy" else None
    outcomes = {"read": 0, "refused": 0}
    for _ in range(MUTATIONS):
        data = changed(VALID[name], rng)
        try:
            found = read_source(FileBytes.of_bytes(name, data), labels, ReadOptions())
        except Refused:
            outcomes["refused"] += 1
        else:
            check(found)
            outcomes["read"] += 1
    assert outcomes["refused"] > 0


def check(found: InterpretedFile) -> None:
    """What is read is fit to be audited."""
    for ready in found.splits.values():
        try:
            got = ready.predictions()
        except Refused:
            continue
        assert not np.isnan(got.scores).any()
        assert not np.isposinf(got.scores.astype(np.float64)).any()


def test_the_files_are_valid_before_they_are_changed() -> None:
    for name, data in VALID.items():
        labels = FileBytes.of_bytes("y.npy", made.npy(y)) if name == "file.npy" else None
        assert read_source(FileBytes.of_bytes(name, data), labels, ReadOptions()).splits
