"""Odd and evil prediction files, made here: numbers with known answers in many wrappings."""

import io
import json
import pickle
import struct
import zipfile
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq

N, K = 60, 4
NAMES = ("cat", "dog", "owl", "rat")
_rng = np.random.default_rng(3)
LOGITS = _rng.normal(size=(N, K)) * 2
LABELS = LOGITS.argmax(axis=1)
LABELS[: 2 * K] = np.arange(2 * K) % K  # every class occurs, and some answers are wrong
PROBABILITIES = np.exp(LOGITS) / np.exp(LOGITS).sum(axis=1, keepdims=True)
SIGMOID = 1 / (1 + np.exp(-LOGITS))
FINDINGS = (_rng.random((N, K)) < SIGMOID).astype(np.int64)  # 0/1 for each column
IDS = [f"img_{i}.png" for i in range(N)]
SHUFFLED = _rng.permutation(N)


def npz(**arrays: np.ndarray) -> bytes:
    out = io.BytesIO()
    np.savez(out, **arrays)
    return out.getvalue()


def npy(array: np.ndarray) -> bytes:
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def npy_header(text: str, data: bytes = b"") -> bytes:
    """An .npy file with a header of our own making."""
    body = text.encode("latin-1")
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(body)) + body + data


def table(header: Sequence[str], rows: Sequence[Sequence[object]], sep: str = ",") -> bytes:
    lines = [sep.join(header)] if header else []
    return ("\n".join(lines + [sep.join(map(str, row)) for row in rows]) + "\n").encode()


def parquet(columns: Mapping[str, object]) -> bytes:
    out = io.BytesIO()
    pq.write_table(pa.table(columns), out)
    return out.getvalue()


def feather(columns: Mapping[str, object]) -> bytes:
    out = io.BytesIO()
    pyarrow.feather.write_feather(pa.table(columns), out, compression="uncompressed")
    return out.getvalue()


def workbook(rows: Sequence[Sequence[object]]) -> bytes:
    """A workbook of one sheet, with its texts in the cells."""
    space = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    body = "".join(f"<row>{''.join(_cell(v) for v in row)}</row>" for row in rows)
    members = {
        "xl/workbook.xml": f'<a xmlns:r="{space}"><sheet name="s" r:id="i"/></a>',
        "xl/_rels/workbook.xml.rels": '<a><b Id="i" Target="worksheets/s.xml"/></a>',
        "xl/worksheets/s.xml": f"<a>{body}</a>",
    }
    return archive({name: text.encode() for name, text in members.items()})


def _cell(value: object) -> str:
    if isinstance(value, str):
        return f'<c t="inlineStr"><is><t>{value}</t></is></c>'
    return f"<c><v>{value}</v></c>"


def archive(members: Mapping[str, bytes], method: int = zipfile.ZIP_STORED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as packed:
        for name, data in members.items():
            packed.writestr(name, data)
    return out.getvalue()


def remarked(data: bytes, remark: bytes) -> bytes:
    """An archive whose end carries a comment."""
    return data[:-2] + struct.pack("<H", len(remark)) + remark


def safetensors(header: Mapping[str, object], data: bytes = b"") -> bytes:
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


HEADER = (*(f"c{i}" for i in range(K)), "label")
ROWS = [[*(f"{v:.6f}" for v in LOGITS[i]), LABELS[i]] for i in range(N)]
ROUNDED = [[*(f"{v:.3f}" for v in PROBABILITIES[i]), LABELS[i]] for i in range(N)]
CSV = table(HEADER, ROWS)


def with_row(*cells: object) -> bytes:
    """The plain table with a row of one's own as row 3, on line 5."""
    return table(HEADER, [*ROWS[:3], cells, *ROWS[3:]])


class Evil:
    """Pickles as a call that would create ./pwned."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return exec, ("open('pwned', 'w').close()",)


class ByPrefix:
    """Pickles as a call of a function inside numpy: a list by prefix would let it pass."""

    def __reduce__(self) -> tuple[object, tuple[str, dict[str, object]]]:
        from numpy.testing._private.utils import runstring

        return runstring, ("open('pwned', 'w').close()", {})


def pickled(value: object, protocol: int = 4) -> bytes:
    return pickle.dumps(value, protocol)


ONNX = b"\x08\x08\x12\x07pytorch\x1a\x052.1.0:\xa0\x01\n"  # as torch.onnx begins a model
KERAS = archive({"metadata.json": b"{}", "config.json": b"{}", "model.weights.h5": b"\x89HDF"})
