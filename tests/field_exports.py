"""Files of scores in the forms that tools of the field write, with the numbers they stand for.

Each export is made from seeded arrays that behave like a real model: over-confident, right for 70
to 90 of 100 rows, classes of unequal frequency. The truth is computed from those arrays, with the
digits that the tool prints, and never by Candor. `Export.form` says what the file looks like and
`Export.tool` what writes it; how a reader comes to its numbers is not stated here.
"""

import csv
import hashlib
import io
import json
import pickle
import sys
import types
import zipfile
from collections import namedtuple
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd

Writer = Callable[[Path], list[Path]]


@dataclass(frozen=True)
class Truth:
    """The numbers that a correct reading of the files comes to.

    Attributes
    ----------
    task : str
        "multiclass", "binary", "multilabel" or "top_label".
    n : int
        Rows that have both a score and a label.
    accuracy : float or None
        Share of rows whose answer is the label; None with many labels.
    nll : float or None
        Mean of -ln p(label), of the numbers as written, neither clipped nor renormalised; None
        where the scores of all classes are not known, or are no probabilities.
    split : str or None
        The part the numbers belong to, where the file holds several.
    auroc_each : tuple of float or None
        With many labels: the AUROC of each, in the order of `names`.
    names : tuple of str
        With many labels: their names in the order of the scores; empty where the file has none.
    """

    task: str
    n: int
    accuracy: float | None
    nll: float | None = None
    split: str | None = None
    auroc_each: tuple[float, ...] | None = None
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class Export:
    """What a tool exports, and what it stands for.

    Attributes
    ----------
    name : str
        A slug, different for each export.
    tool : str
        What writes files of this form.
    form : str
        What the files look like, in a sentence or two.
    build : callable
        Makes the numbers, at first use: what writes them, and the truths.
    """

    name: str
    tool: str
    form: str
    build: Callable[[], tuple]

    @cached_property
    def _built(self) -> tuple:
        return self.build()

    @property
    def write(self) -> Writer:
        """What writes the files into a folder and gives their paths, with the same content always.

        The scores come first, then the file of labels if there is any.
        """
        return self._built[0]

    @property
    def truths(self) -> tuple[Truth, ...]:
        """The numbers of the part or the model that comes first, then others that are as right.

        Where it is clear what they are of: another part or model in the same file, or another
        accepted reading of the same columns.
        """
        return self._built[1:]


_registered: list[Export] = []


def _form(tool: str) -> Callable:
    """Register what builds (writer, truth, other truths), under the function's name."""

    def register(build: Callable) -> Callable:
        form = " ".join(build.__doc__.split())
        name = build.__name__.strip("_").replace("_", "-")
        _registered.append(Export(name, tool, form, build))
        return build

    return register


# Models -----------------------------------------------------------------------------------------


def _softmax(logits: np.ndarray) -> np.ndarray:
    return np.exp(_log_softmax(logits))


def _log_softmax(logits: np.ndarray) -> np.ndarray:
    shifted = np.asarray(logits, float) - np.max(logits, axis=-1, keepdims=True).astype(float)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))


def _sigmoid(logits: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-np.asarray(logits, float)))


def _multiclass(
    seed: int, n: int, prior: Sequence[float], sure: float = 1.4
) -> tuple[np.ndarray, np.ndarray]:
    """Logits and labels: labels follow softmax(z), the logits are z times `sure`."""
    rng = np.random.default_rng(seed)
    noise = rng.standard_normal((n, len(prior)))
    for spread in np.arange(1, 12, 0.1):
        z = spread * noise + np.log(prior)
        if _softmax(z).max(axis=1).mean() > 0.82:
            break
    labels = np.argmax(z + rng.gumbel(size=z.shape), axis=1)
    return sure * z, labels


def _binary(
    seed: int, n: int, prior: float, sure: float = 1.5, level: float = 0.83
) -> tuple[np.ndarray, np.ndarray]:
    """Log-odds of class 1 and labels 0/1."""
    rng = np.random.default_rng(seed)
    noise = rng.standard_normal(n)
    for spread in np.arange(0.5, 12, 0.1):
        z = spread * (noise + np.log(prior / (1 - prior)) / 2)
        if np.maximum(_sigmoid(z), _sigmoid(-z)).mean() > level:
            break
    return sure * z, (rng.random(n) < _sigmoid(z)).astype(int)


def _findings(seed: int, n: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Logits and 0/1 labels of many findings, each with a frequency of its own."""
    rng = np.random.default_rng(seed)
    z = 1.8 * rng.standard_normal((n, count)) + rng.uniform(-2.6, -0.8, count)
    return 1.3 * z, (rng.random(z.shape) < _sigmoid(z)).astype(int)


def _numbers(seed: int, n: int, low: int, high: int) -> np.ndarray:
    """Different whole numbers in no order, to make ids of."""
    return np.random.default_rng(seed).permutation(np.arange(low, high))[:n]


def _shuffled(seed: int, n: int) -> np.ndarray:
    return np.random.default_rng(seed).permutation(n)


def _printed(values: np.ndarray, form: str = "{:.4f}") -> tuple[np.ndarray, np.ndarray]:
    """Values as text, and what that text says."""
    texts = np.vectorize(form.format, otypes=[object])(values)
    return texts, texts.astype(float)


# Truths -----------------------------------------------------------------------------------------


def _of_probs(probs: np.ndarray, labels: np.ndarray, split: str | None = None) -> Truth:
    probs = np.asarray(probs, float)
    first, second = np.sort(probs, axis=1)[:, :-3:-1].T
    assert (first > second).all(), "a tie has no answer"
    task = "binary" if probs.shape[1] == 2 else "multiclass"
    hit = probs.argmax(axis=1) == labels
    nll = -np.log(probs[np.arange(len(labels)), labels]).mean()
    return Truth(task, len(labels), float(hit.mean()), float(nll), split)


def _of_logits(logits: np.ndarray, labels: np.ndarray, split: str | None = None) -> Truth:
    own = _of_probs(_softmax(logits), labels, split)
    nll = -_log_softmax(logits)[np.arange(len(labels)), labels].mean()
    return replace(own, nll=float(nll))


def _of_positive(p: np.ndarray, labels: np.ndarray) -> Truth:
    p = np.asarray(p, float)
    return _of_probs(np.stack([1 - p, p], axis=1), labels)


def _of_margins(margins: np.ndarray, labels: np.ndarray) -> Truth:
    assert (margins != 0).all(), "a tie has no answer"
    return Truth("binary", len(labels), float(((margins > 0) == labels).mean()))


def _of_answers(answers: np.ndarray, labels: np.ndarray) -> Truth:
    return Truth("top_label", len(labels), float((np.asarray(answers) == labels).mean()))


def _auroc(scores: np.ndarray, labels: np.ndarray) -> float:
    rise = scores[labels == 1][:, None] - scores[labels == 0]
    return float((rise > 0).mean() + (rise == 0).mean() / 2)


def _of_findings(scores: np.ndarray, labels: np.ndarray, names: Sequence[str] = ()) -> Truth:
    """Labels other than 0 and 1 are left out of the finding they stand in."""
    each = tuple(_auroc(np.asarray(s, float), y) for s, y in zip(scores.T, labels.T, strict=True))
    return Truth("multilabel", len(labels), None, auroc_each=each, names=tuple(names))


# Files ------------------------------------------------------------------------------------------


def _raw(name: str, content: bytes) -> Writer:
    def write(folder: Path) -> list[Path]:
        path = folder / name
        path.write_bytes(content)
        return [path]

    return write


def _text(name: str, text: str, encoding: str = "utf-8") -> Writer:
    return _raw(name, text.encode(encoding))


def _npy(name: str, array: object) -> Writer:
    def write(folder: Path) -> list[Path]:
        path = folder / name
        np.save(path, array)
        return [path]

    return write


def _npz(name: str, **arrays: np.ndarray) -> Writer:
    def write(folder: Path) -> list[Path]:
        path = folder / name
        np.savez_compressed(path, **arrays)
        return [path]

    return write


def _torch(name: str, build: Callable) -> Writer:
    """`build` gets the module and gives what is saved."""

    def write(folder: Path) -> list[Path]:
        import torch

        path = folder / name
        torch.save(build(torch), path)
        return [path]

    return write


def _together(*writers: Writer) -> Writer:
    return lambda folder: [path for write in writers for path in write(folder)]


def _table(rows: Iterable[Sequence], sep: str = ",", end: str = "\n", quoted: bool = False) -> str:
    out = io.StringIO()
    quoting = csv.QUOTE_NONNUMERIC if quoted else csv.QUOTE_MINIMAL
    csv.writer(out, delimiter=sep, lineterminator=end, quoting=quoting).writerows(rows)
    return out.getvalue()


def _columns(columns: dict[str, Sequence], sep: str = ",", end: str = "\n") -> str:
    return _table([list(columns), *zip(*columns.values(), strict=True)], sep, end)


def _r_csv(columns: dict[str, Sequence]) -> str:
    """`write.csv`: strings in quotes, row names in front, numbers to 15 digits."""

    def cell(value: object) -> str:
        if isinstance(value, bool | np.bool_):
            return str(value).upper()
        return f'"{value}"' if isinstance(value, str) else f"{value:.15g}"

    head = ",".join(f'"{name}"' for name in ("", *columns))
    rows = zip(*columns.values(), strict=True)
    body = [",".join([f'"{i}"', *map(cell, row)]) for i, row in enumerate(rows, 1)]
    return "\n".join([head, *body]) + "\n"


def _json_lines(rows: Iterable[dict]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


# Hugging Face, PyTorch --------------------------------------------------------------------------


@_form("Hugging Face Trainer")
def _hf_trainer_npz():
    """`np.savez` of `predictions` (float32 logits) and `label_ids`, as `predict` names them."""
    logits, labels = _multiclass(101, 312, (0.5, 0.3, 0.2))
    logits = logits.astype(np.float32)
    return _npz("predictions.npz", predictions=logits, label_ids=labels), _of_logits(logits, labels)


@_form("Hugging Face Trainer")
def _hf_trainer_tuple_pickle():
    """`pickle.dump(tuple(output))`: (predictions, label_ids, metrics), the metrics a dictionary."""
    logits, labels = _multiclass(102, 240, (0.45, 0.25, 0.2, 0.1))
    logits, truth = logits.astype(np.float32), _of_logits(logits.astype(np.float32), labels)
    metrics = {"test_loss": truth.nll, "test_accuracy": truth.accuracy, "test_runtime": 3.8127}
    return _raw("predictions.pkl", pickle.dumps((logits, labels, metrics))), truth


@_form("Hugging Face Trainer")
def _hf_prediction_output_pickle():
    """`pickle.dump(trainer.predict(test))`: a named tuple whose class lives in transformers."""
    logits, labels = _multiclass(103, 200, (0.6, 0.4))
    logits = logits.astype(np.float32)
    home = types.ModuleType("transformers.trainer_utils")
    fields = ["predictions", "label_ids", "metrics"]
    output = namedtuple("PredictionOutput", fields, module=home.__name__)
    vars(home).update(PredictionOutput=output)
    modules = {"transformers": types.ModuleType("transformers"), home.__name__: home}
    with mock.patch.dict(sys.modules, modules):
        content = pickle.dumps(output(logits, labels, {"test_runtime": 2.04}))
    return _raw("test_predictions.pkl", content), _of_logits(logits, labels)


@_form("Hugging Face Trainer")
def _hf_multilabel_npz():
    """Logits of 14 findings and float `label_ids`, from a multi-label problem type."""
    logits, labels = _findings(104, 260, 14)
    logits = logits.astype(np.float32)
    write = _npz("predictions.npz", predictions=logits, label_ids=labels.astype(np.float32))
    return write, _of_findings(logits, labels)


@_form("Hugging Face pipeline")
def _hf_pipeline_jsonl():
    """Each line has the text, the gold `label` as a number and `scores`: a list of LABEL_k and
    score, sorted by score, so that the order differs from row to row."""
    logits, labels = _multiclass(105, 180, (0.2, 0.5, 0.3))
    probs = _softmax(logits)
    rows = [
        {
            "text": f"Report {number}: lungs as before.",
            "label": int(y),
            "scores": [{"label": f"LABEL_{k}", "score": float(p[k])} for k in np.argsort(-p)],
        }
        for number, y, p in zip(_numbers(105, 180, 1000, 9999), labels, probs, strict=True)
    ]
    return _text("predictions.jsonl", _json_lines(rows)), _of_probs(probs, labels)


@_form("Hugging Face datasets")
def _parquet_list_column():
    """Parquet with a list column `probs` (float32) beside `label` and `idx`."""
    logits, labels = _multiclass(106, 220, (0.4, 0.25, 0.2, 0.1, 0.05))
    probs = _softmax(logits).astype(np.float32)

    def write(folder: Path) -> list[Path]:
        import pyarrow as pa
        import pyarrow.parquet as pq

        columns = {"idx": _numbers(106, 220, 0, 5000), "probs": list(probs), "label": labels}
        path = folder / "test-00000-of-00001.parquet"
        pq.write_table(pa.table(columns), path)
        return [path]

    return write, _of_probs(probs, labels)


@_form("PyTorch Lightning predict")
def _lightning_batches_pt():
    """`torch.save(trainer.predict(...))`: a list of one dictionary a batch, the last one short."""
    logits, labels = _multiclass(107, 200, (0.5, 0.2, 0.2, 0.1))
    logits = logits.astype(np.float32)

    def build(torch):
        starts = range(0, 200, 64)
        pairs = [(logits[i : i + 64], labels[i : i + 64]) for i in starts]
        return [{"logits": torch.tensor(x), "y": torch.tensor(y)} for x, y in pairs]

    return _torch("predictions.pt", build), _of_logits(logits, labels)


@_form("fastai")
def _fastai_get_preds_pt():
    """`torch.save(learn.get_preds(with_loss=True))`: probabilities, targets and losses."""
    logits, labels = _multiclass(108, 190, (0.35, 0.3, 0.2, 0.15))
    probs = _softmax(logits).astype(np.float32)
    loss = -np.log(probs[np.arange(190), labels])
    write = _torch("preds.pt", lambda torch: tuple(map(torch.tensor, (probs, labels, loss))))
    return write, _of_probs(probs, labels)


@_form("PyTorch loop")
def _torch_bfloat16_dict():
    """`torch.save` of bfloat16 logits, labels, paths and the epoch in a dictionary."""
    logits, labels = _multiclass(109, 150, (0.4, 0.3, 0.2, 0.1))
    bits = (logits.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    kept = (bits.astype(np.uint32) << 16).view(np.float32)
    paths = [f"test/{i:06d}.png" for i in _numbers(109, 150, 0, 9000)]

    def build(torch):
        scores = torch.tensor(kept).to(torch.bfloat16)
        return {"logits": scores, "labels": torch.tensor(labels), "paths": paths, "epoch": 89}

    return _torch("outputs.pt", build), _of_logits(kept, labels)


@_form("PyTorch loop")
def _tensor_texts_csv():
    """A CSV written without `.item()`: cells such as `tensor(0.9123, device='cuda:0')`."""
    logits, labels = _multiclass(110, 160, (0.5, 0.3, 0.2))
    probs = _softmax(logits)
    columns = {
        "path": [f"/data/test/{i}.jpg" for i in _numbers(110, 160, 100, 4000)],
        "label": [f"tensor({y})" for y in labels],
        "pred": [f"tensor({y}, device='cuda:0')" for y in probs.argmax(axis=1)],
        "confidence": [f"tensor({p:.4f}, device='cuda:0')" for p in probs.max(axis=1)],
    }
    return _text("results.csv", _columns(columns)), _of_answers(probs.argmax(axis=1), labels)


@_form("PyTorch loop")
def _log_softmax_npz():
    """Outputs of a network that ends in `log_softmax`, as `output` and `target`."""
    logits, labels = _multiclass(111, 280, (0.3, 0.25, 0.2, 0.15, 0.1))
    scores = _log_softmax(logits).astype(np.float32)
    return _npz("mnist_test.npz", output=scores, target=labels), _of_logits(scores, labels)


@_form("PyTorch loop")
def _val_and_test_npz():
    """`val_logits`, `val_labels`, `test_logits` and `test_labels` in a single archive."""
    logits, labels = _multiclass(112, 400, (0.4, 0.3, 0.2, 0.1))
    parts = {"val": slice(0, 150), "test": slice(150, 400)}
    arrays = {f"{part}_logits": logits[cut] for part, cut in parts.items()}
    arrays |= {f"{part}_labels": labels[cut] for part, cut in parts.items()}
    val, test = (_of_logits(logits[cut], labels[cut], part) for part, cut in parts.items())
    return _npz("outputs.npz", **arrays), test, val


@_form("PyTorch loop")
def _split_column_csv():
    """All parts in a table: `split` is train, val or test, and on train the model is better."""
    logits, labels = _multiclass(113, 400, (0.5, 0.3, 0.2))
    split = np.random.default_rng(113).choice(["train", "val", "test"], 400, p=[0.5, 0.2, 0.3])
    rows = np.flatnonzero(split == "train")
    logits[rows, labels[rows]] += 4
    texts, probs = _printed(_softmax(logits), "{:.6f}")
    columns = {"id": _numbers(113, 400, 10000, 99999), "split": split, "y": labels}
    columns |= {f"p{k}": texts[:, k] for k in range(3)}
    test, val, train = (
        _of_probs(probs[split == part], labels[split == part], part)
        for part in ("test", "val", "train")
    )
    return _text("all_predictions.csv", _columns(columns)), test, val, train


@_form("PyTorch loop")
def _dict_in_npy():
    """`np.save` of a dictionary with `probs`, `labels` and `filenames`: a pickled object array."""
    logits, labels = _multiclass(114, 170, (0.55, 0.3, 0.15))
    probs = _softmax(logits).astype(np.float32)
    names = [f"case_{i:04d}.nii.gz" for i in _numbers(114, 170, 0, 3000)]
    content = {"probs": probs, "labels": labels, "filenames": names}
    return _npy("results.npy", np.array(content, dtype=object)), _of_probs(probs, labels)


@_form("MC dropout")
def _mc_dropout_npz():
    """Softmax of 10 stochastic passes, (10, N, K), as `mc_probs`; the answer is their mean."""
    logits, labels = _multiclass(115, 140, (0.5, 0.3, 0.2))
    passes = logits + np.random.default_rng(115).normal(0, 0.6, (10, 140, 3))
    probs = _softmax(passes).astype(np.float32)
    truth = _of_probs(probs.astype(float).mean(axis=0), labels)
    return _npz("mc_dropout.npz", mc_probs=probs, labels=labels), truth


@_form("timm")
def _timm_top1_csv():
    """`inference.py` with top-1: `filename,index,prob`; labels in a list with folders, without
    suffix and in another order."""
    logits, labels = _multiclass(116, 230, (0.3, 0.2, 0.15, 0.15, 0.1, 0.1))
    probs, stems = _softmax(logits), [f"ILSVRC_val_{i:08d}" for i in _numbers(116, 230, 1, 50000)]
    order = np.argsort(stems)
    top = probs.argmax(axis=1)
    scores = {
        "filename": [f"{stems[i]}.JPEG" for i in order],
        "index": top[order],
        "prob": [f"{p:.10g}" for p in probs.max(axis=1)[order].astype(np.float32)],
    }
    gold = {"image": [f"val/{stem}" for stem in stems], "class_index": labels}
    write = _together(_text("resnet50-224.csv", _columns(scores)), _text("val.csv", _columns(gold)))
    return write, _of_answers(top, labels)


@_form("timm")
def _timm_topk_columns_csv():
    """Top 5 of 8 classes a row in columns `label_0`..`label_4` and `prob_0`..`prob_4`."""
    names = np.array(["tench", "goldfish", "cock", "hen", "jay", "magpie", "kite", "vulture"])
    logits, labels = _multiclass(117, 210, (0.25, 0.2, 0.15, 0.1, 0.1, 0.1, 0.05, 0.05))
    probs = _softmax(logits)
    top = np.argsort(-probs, axis=1)[:, :5]
    texts, _ = _printed(np.take_along_axis(probs, top, axis=1), "{:.4f}")
    columns = {"filename": [f"{i:06d}.jpg" for i in _numbers(117, 210, 0, 99999)]}
    columns |= {f"label_{k}": names[top[:, k]] for k in range(5)}
    columns |= {f"prob_{k}": texts[:, k] for k in range(5)} | {"target": names[labels]}
    return _text("top5.csv", _columns(columns)), _of_answers(top[:, 0], labels)


@_form("timm")
def _timm_topk_json():
    """Records with lists: the 3 best of 6 indices and their probabilities, beside the target."""
    logits, labels = _multiclass(118, 150, (0.3, 0.25, 0.2, 0.1, 0.1, 0.05))
    probs = _softmax(logits).astype(np.float32)
    top = np.argsort(-probs, axis=1)[:, :3]
    rows = [
        {"filename": f"{i}.png", "index": t.tolist(), "prob": p[t].tolist(), "target": int(y)}
        for i, t, p, y in zip(_numbers(118, 150, 0, 9999), top, probs, labels, strict=True)
    ]
    return _text("top3.json", json.dumps(rows, indent=4)), _of_answers(top[:, 0], labels)


@_form("OpenMMLab MMPretrain")
def _mmpretrain_pickle():
    """`test.py --out`: a list of one dictionary a picture holding torch tensors."""
    logits, labels = _multiclass(119, 130, (0.4, 0.3, 0.2, 0.1))
    probs = _softmax(logits).astype(np.float32)

    def write(folder: Path) -> list[Path]:
        import torch

        rows = [
            {
                "img_path": f"data/val/{i}.jpg",
                "num_classes": 4,
                "pred_score": torch.tensor(p),
                "pred_label": torch.tensor([int(p.argmax())]),
                "gt_label": torch.tensor([int(y)]),
            }
            for i, p, y in zip(_numbers(119, 130, 0, 5000), probs, labels, strict=True)
        ]
        path = folder / "results.pkl"
        path.write_bytes(pickle.dumps(rows))
        return [path]

    return write, _of_probs(probs, labels)


@_form("OpenMMLab MMClassification")
def _mmcls_json():
    """`test.py --out results.json`: `class_scores`, `pred_score`, `pred_label`, `pred_class`;
    the annotation file is a JSON list in the same order."""
    names = ["normal", "bacterial", "viral"]
    logits, labels = _multiclass(120, 160, (0.5, 0.3, 0.2))
    probs = _softmax(logits).astype(np.float32)
    top = probs.argmax(axis=1)
    scores = {
        "class_scores": probs.tolist(),
        "pred_score": probs.max(axis=1).tolist(),
        "pred_label": top.tolist(),
        "pred_class": [names[k] for k in top],
    }
    gold = [
        {"img": f"{i}.jpg", "gt_label": int(y)}
        for i, y in zip(_numbers(120, 160, 0, 9000), labels, strict=True)
    ]
    write = _together(
        _text("results.json", json.dumps(scores)), _text("annotations.json", json.dumps(gold))
    )
    return write, _of_probs(probs, labels)


@_form("OpenOOD")
def _openood_npz():
    """`pred`, `conf` and `label` of the in-distribution set."""
    logits, labels = _multiclass(121, 300, (0.3, 0.25, 0.2, 0.15, 0.1))
    conf = _softmax(logits).max(axis=1).astype(np.float32)
    pred = logits.argmax(axis=1)
    return _npz("cifar10.npz", pred=pred, conf=conf, label=labels), _of_answers(pred, labels)


@_form("hollance reliability-diagrams")
def _true_pred_confidence_csv():
    """`true_label,pred_label,confidence`: the answer, how sure it is, and the gold label."""
    logits, labels = _multiclass(122, 350, (0.3, 0.2, 0.2, 0.15, 0.1, 0.05))
    probs = _softmax(logits).astype(np.float32)
    columns = {
        "true_label": labels,
        "pred_label": probs.argmax(axis=1),
        "confidence": [f"{p:.8g}" for p in probs.max(axis=1)],
    }
    return _text("predictions.csv", _columns(columns)), _of_answers(probs.argmax(axis=1), labels)


# Keras, TensorFlow ------------------------------------------------------------------------------


@_form("Keras")
def _keras_sigmoid_npy():
    """`model.predict` of a sigmoid output, (N, 1) float32, and the labels beside it."""
    z, labels = _binary(201, 240, 0.3)
    p = _sigmoid(z).astype(np.float32)
    write = _together(_npy("y_pred.npy", p[:, None]), _npy("y_test.npy", labels))
    return write, _of_positive(p, labels)


@_form("Keras")
def _keras_softmax_one_hot_npy():
    """`model.predict` of a softmax output and one-hot labels from `to_categorical`."""
    logits, labels = _multiclass(202, 260, (0.4, 0.25, 0.2, 0.15))
    probs = _softmax(logits).astype(np.float32)
    write = _together(_npy("predictions.npy", probs), _npy("y_test.npy", np.eye(4)[labels]))
    return write, _of_probs(probs, labels)


@_form("Keras")
def _keras_generator_csv():
    """Probabilities by `generator.filenames` (class folder, suffix); the labels carry bare ids in
    another order and capitals where the headers have none."""
    names = np.array(["akiec", "bcc", "bkl", "mel", "nv"])
    logits, labels = _multiclass(203, 280, (0.08, 0.12, 0.2, 0.15, 0.45))
    texts, probs = _printed(_softmax(logits), "{:.7f}")
    stems = [f"ISIC_{i:07d}" for i in _numbers(203, 280, 24306, 34320)]
    files = [f"{names[y]}/{stem}.jpg" for y, stem in zip(labels, stems, strict=True)]
    by_folder = np.argsort(files)
    scores = {"filename": [files[i] for i in by_folder]}
    scores |= {name: texts[by_folder, k] for k, name in enumerate(names)}
    order = _shuffled(203, 280)
    gold = {
        "image_id": [stems[i] for i in order],
        "dx": [names[labels[i]].upper() for i in order],
        "age": np.random.default_rng(3).integers(20, 90, 280),
    }
    write = _together(
        _text("test_predictions.csv", _columns(scores)), _text("metadata.csv", _columns(gold))
    )
    return write, _of_probs(probs, labels)


@_form("TensorFlow Estimator")
def _tf_estimator_jsonl():
    """Prediction dictionaries a line: `logits`, `logistic`, `probabilities`, `class_ids`,
    `classes`, each a list, and the label."""
    z, labels = _binary(204, 170, 0.35)
    p = _sigmoid(z).astype(np.float32)
    rows = [
        {
            "logits": [float(np.float32(zi))],
            "logistic": [float(pi)],
            "probabilities": [float(np.float32(1 - pi)), float(pi)],
            "class_ids": [int(pi > 0.5)],
            "classes": [str(int(pi > 0.5))],
            "label": int(y),
        }
        for zi, pi, y in zip(z, p, labels, strict=True)
    ]
    return _text("predictions.jsonl", _json_lines(rows)), _of_positive(p, labels)


# scikit-learn and boosted trees -----------------------------------------------------------------


@_form("scikit-learn")
def _sklearn_proba_frame_csv():
    """`to_csv` of `predict_proba` with `clf.classes_` as headers, the shuffled index of
    `train_test_split` in front, and `y_true` and `y_pred` by name."""
    names = np.array(["Large", "Medium", "Small"])
    logits, labels = _multiclass(301, 190, (0.2, 0.5, 0.3))
    probs = _softmax(logits)
    frame = pd.DataFrame(probs, columns=names, index=_numbers(301, 190, 0, 950))
    frame = frame.assign(y_true=names[labels], y_pred=names[probs.argmax(axis=1)])
    return _text("predictions.csv", frame.to_csv()), _of_probs(probs, labels)


@_form("scikit-learn")
def _sklearn_svm_margins_csv():
    """`decision_function` of a linear SVM with labels -1 and 1: margins, not log-odds."""
    z, labels = _binary(302, 260, 0.4)
    margins = 0.35 * z
    columns = {"y_true": 2 * labels - 1, "y_pred": np.where(margins > 0, 1, -1)}
    columns |= {"decision_function": margins.astype(object)}
    text = pd.DataFrame(columns).to_csv(index=False)
    return _text("svm_scores.csv", text), _of_margins(margins, labels)


@_form("scikit-learn")
def _sklearn_log_proba_npz():
    """`predict_log_proba` of two classes with names as labels and `classes_` beside them."""
    z, labels = _binary(303, 220, 0.45)
    scores = _log_softmax(np.stack([0 * z, z], axis=1))
    names = np.array(["ham", "spam"])
    write = _npz("nb_test.npz", log_proba=scores, y_test=names[labels], classes=names)
    return write, _of_logits(scores, labels)


@_form("scikit-learn")
def _sklearn_cross_val_folds_csv():
    """`cross_val_predict` with `fold`, `site` and `patient_id` columns; every row is out of
    fold, so all of them count."""
    rng = np.random.default_rng(304)
    z, labels = _binary(304, 320, 0.3)
    p = _sigmoid(z)
    frame = pd.DataFrame(
        {
            "patient_id": _numbers(304, 320, 1000, 9999),
            "site": rng.choice([1, 2, 3], 320),
            "fold": rng.permutation(np.arange(320) % 5),
            "age": rng.integers(18, 95, 320),
            "outcome": labels,
            "proba": p,
        }
    )
    return _text("oof.csv", frame.to_csv(index=False)), _of_positive(p, labels)


@_form("scikit-learn")
def _glass_gapped_labels_csv():
    """Headers and labels are the whole numbers 1, 2, 3, 5, 6, 7: there is no class 4."""
    names = np.array([1, 2, 3, 5, 6, 7])
    logits, labels = _multiclass(305, 214, (0.33, 0.35, 0.08, 0.06, 0.05, 0.13))
    probs = _softmax(logits)
    frame = pd.DataFrame(probs, columns=names.astype(str)).assign(Type=names[labels])
    return _text("glass_proba.csv", frame.to_csv(index=False)), _of_probs(probs, labels)


@_form("scikit-learn")
def _wine_offset_labels_npz():
    """`predict_proba` (N, 5) with wine qualities 4 to 8 as labels and no class names."""
    logits, labels = _multiclass(306, 300, (0.05, 0.4, 0.35, 0.15, 0.05))
    probs = _softmax(logits)
    return _npz("wine.npz", y_proba=probs, y_true=labels + 4), _of_probs(probs, labels)


@_form("NumPy savetxt")
def _savetxt_last_column_csv():
    """`np.savetxt` without header, `%.18e`: the probabilities, then the label as a float."""
    logits, labels = _multiclass(307, 180, (0.5, 0.3, 0.2))
    probs = _softmax(logits)
    out = io.StringIO()
    np.savetxt(out, np.column_stack([probs, labels]), delimiter=",")
    return _text("probs_and_labels.csv", out.getvalue()), _of_probs(probs, labels)


@_form("pandas")
def _list_cells_csv():
    """`to_csv` of a frame with arrays in its cells: `[9.1e-01 8.2e-02 ...]` without commas, and
    with a line break inside the quotes."""
    logits, labels = _multiclass(308, 200, (0.3, 0.25, 0.2, 0.1, 0.1, 0.05))
    texts = [np.array2string(p, precision=8, max_line_width=75) for p in _softmax(logits)]
    probs = np.array([text.strip("[]").split() for text in texts], float)
    images = [f"img_{i}.png" for i in _numbers(308, 200, 0, 2000)]
    frame = pd.DataFrame({"image": images, "label": labels, "probs": texts})
    return _text("preds.csv", frame.to_csv()), _of_probs(probs, labels)


@_form("pandas")
def _frame_json_by_column():
    """`to_json` as it comes: a dictionary of columns, each a dictionary of row numbers."""
    z, labels = _binary(309, 160, 0.4)
    p = np.round(_sigmoid(z), 10)
    frame = pd.DataFrame({"target": labels, "prediction": p}, index=_numbers(309, 160, 0, 800))
    return _text("predictions.json", frame.to_json()), _of_positive(p, labels)


@_form("pandas")
def _frame_json_by_id():
    """A dictionary of picture names, each with `probs` and `label`."""
    logits, labels = _multiclass(310, 150, (0.4, 0.35, 0.25))
    probs = _softmax(logits)
    names = [f"scan_{i:05d}.png" for i in _numbers(310, 150, 0, 60000)]
    rows = {
        name: {"probs": p.tolist(), "label": int(y)}
        for name, p, y in zip(names, probs, labels, strict=True)
    }
    return _text("outputs.json", json.dumps(rows)), _of_probs(probs, labels)


@_form("pandas")
def _frame_pickle():
    """`to_pickle` of a frame with probabilities, label and site."""
    z, labels = _binary(311, 180, 0.25)
    p = _sigmoid(z)
    site = np.random.default_rng(311).integers(1, 5, 180)

    def write(folder: Path) -> list[Path]:
        path = folder / "preds.pkl"
        pd.DataFrame({"site": site, "y": labels, "y_prob": p}).to_pickle(path)
        return [path]

    return write, _of_positive(p, labels)


@_form("pandas")
def _bool_label_parquet():
    """Parquet with `score` and a column `is_fraud` of true and false."""
    z, labels = _binary(312, 400, 0.2)
    p = _sigmoid(z)

    def write(folder: Path) -> list[Path]:
        path = folder / "scored.parquet"
        pd.DataFrame(
            {"txn": _numbers(312, 400, 0, 10**6), "score": p, "is_fraud": labels == 1}
        ).to_parquet(path)
        return [path]

    return write, _of_positive(p, labels)


@_form("pandas")
def _long_table_csv():
    """A tidy table: a row for each picture and class, with the true class on each of them."""
    names = ["glioma", "meningioma", "pituitary"]
    logits, labels = _multiclass(313, 130, (0.5, 0.3, 0.2))
    texts, probs = _printed(_softmax(logits), "{:.5f}")
    rows = [
        (f"Tr-{i:04d}", name, text, names[y])
        for i, row, y in zip(_numbers(313, 130, 0, 5000), texts, labels, strict=True)
        for name, text in zip(names, row, strict=True)
    ]
    head = ("image", "class", "probability", "true_class")
    return _text("long.csv", _table([head, *rows])), _of_probs(probs, labels)


@_form("XGBoost")
def _xgboost_margin_npz():
    """`predict(output_margin=True)`: log-odds as `margin`, labels as `y`."""
    z, labels = _binary(320, 250, 0.35)
    margin = z.astype(np.float32)
    truth = _of_logits(np.stack([0 * margin, margin], axis=1), labels)
    return _npz("xgb.npz", margin=margin, y=labels.astype(np.float32)), truth


@_form("LightGBM")
def _lightgbm_cli_tsv():
    """The command line's result: tab-separated probabilities without header; the labels are the
    first column of the test data, before the features."""
    rng = np.random.default_rng(321)
    logits, labels = _multiclass(321, 240, (0.4, 0.3, 0.2, 0.1))
    probs = _softmax(logits)
    features = np.round(rng.normal(size=(240, 5)), 3)
    data = [(int(y), *x.tolist()) for y, x in zip(labels, features, strict=True)]
    write = _together(
        _text("LightGBM_predict_result.tsv", _table(probs.tolist(), "\t")),
        _text("multiclass_test.tsv", _table(data, "\t")),
    )
    return write, _of_probs(probs, labels)


@_form("CatBoost")
def _catboost_calc_tsv():
    """`catboost calc`: `SampleId`, `Label` and a column `Probability:Class=name` for each."""
    names = ["high", "low", "medium"]
    logits, labels = _multiclass(322, 230, (0.2, 0.5, 0.3))
    texts, probs = _printed(_softmax(logits), "{:.9g}")
    columns = {"SampleId": range(230)}
    columns |= {f"Probability:Class={name}": texts[:, k] for k, name in enumerate(names)}
    columns |= {"Label": [names[y] for y in labels]}
    return _text("output.tsv", _columns(columns, "\t")), _of_probs(probs, labels)


@_form("AutoGluon")
def _autogluon_two_parquet():
    """`predict_proba` and the test frame, both parquet, joined by the pandas index only."""
    names = np.array(["Adenosis", "Ductal", "Lobular", "Papillary"])
    logits, labels = _multiclass(323, 210, (0.1, 0.5, 0.25, 0.15))
    probs = _softmax(logits).astype(np.float32)
    index, order = _numbers(323, 210, 0, 4000), _shuffled(323, 210)

    def write(folder: Path) -> list[Path]:
        proba, test = folder / "proba.parquet", folder / "test.parquet"
        pd.DataFrame(probs, columns=names, index=index).to_parquet(proba)
        gold = pd.DataFrame({"radius": np.arange(210) / 7, "class": names[labels]}, index=index)
        gold.iloc[order].to_parquet(test)
        return [proba, test]

    return write, _of_probs(probs, labels)


# Tools with names of their own ------------------------------------------------------------------


@_form("MLflow")
def _mlflow_eval_table_json():
    """`eval_results_table.json`: split orientation, with a list in the cell of probabilities."""
    logits, labels = _multiclass(401, 170, (0.5, 0.3, 0.2))
    probs = _softmax(logits)
    heads = ["image_id", "label", "prediction", "prediction_probabilities", "latency_ms"]
    rows = [
        [f"im-{i}", int(y), int(p.argmax()), p.tolist(), 12.5]
        for i, y, p in zip(_numbers(401, 170, 0, 9000), labels, probs, strict=True)
    ]
    text = json.dumps({"columns": heads, "data": rows})
    return _text("eval_results_table.json", text), _of_probs(probs, labels)


@_form("W&B")
def _wandb_table_json():
    """A logged table: `columns`, `data`, `column_types`; cells with pictures are dictionaries."""
    logits, labels = _multiclass(402, 150, (0.2, 0.2, 0.3, 0.2, 0.1))
    probs = _softmax(logits).astype(np.float32)
    heads = ["id", "image", "guess", "truth", *(f"score_{k}" for k in range(5))]
    rows = []
    for i, y, p in zip(_numbers(402, 150, 0, 9000), labels, probs, strict=True):
        sha = hashlib.sha256(str(i).encode()).hexdigest()
        image = {"_type": "image-file", "sha256": sha, "path": f"media/images/{sha[:20]}.png"}
        rows.append([f"{i}_0", image, int(p.argmax()), int(y), *map(float, p)])
    types_of = {head: {"wb_type": "number"} for head in heads[2:]}
    kinds = {"params": {"type_map": types_of}, "wb_type": "typedDict"}
    table = {"columns": heads, "data": rows, "ncols": 9, "nrows": 150, "column_types": kinds}
    return _text("predictions.table.json", json.dumps(table)), _of_probs(probs, labels)


@_form("lm-eval-harness")
def _lm_eval_samples_jsonl():
    """`--log_samples` of a multiple-choice task: each option's log-likelihood as text within
    `filtered_resps`, the gold index as text in `target`, and `acc`. The truth is of the softmax
    over the options."""
    logits, labels = _multiclass(403, 160, (0.3, 0.3, 0.25, 0.15))
    length = np.random.default_rng(403).uniform(8, 40, (160, 1))
    scores = np.round(_log_softmax(logits) - length, 6)
    rows = []
    for i, (y, s) in enumerate(zip(labels, scores, strict=True)):
        pairs = [[str(v), str(bool(k == s.argmax() and v > -9))] for k, v in enumerate(s)]
        doc = {"id": f"Mercury_{7000 + 13 * i}", "question": "Which is hardest?"}
        doc |= {"choices": {"text": ["talc", "gypsum", "quartz", "topaz"], "label": [*"ABCD"]}}
        doc |= {"answerKey": "ABCD"[y]}
        rows.append({"doc_id": i, "doc": doc, "target": str(y), "resps": [[p] for p in pairs]})
        rows[-1] |= {"filtered_resps": pairs, "doc_hash": hashlib.sha256(bytes([i])).hexdigest()}
        rows[-1] |= {"acc": float(s.argmax() == y)}
    name = "samples_arc_challenge_2024-05-11T09-12-44.jsonl"
    return _text(name, _json_lines(rows)), _of_logits(scores, labels)


@_form("OpenAI-style logprobs")
def _option_logprobs_jsonl():
    """A row each: `options`, their `logprobs` in the same order, `answer` and `gold`; other tokens
    took the rest, so that the probabilities come to less than 1. The truth is of the softmax over
    the options, or else of the probabilities as they are."""
    logits, labels = _multiclass(404, 200, (0.3, 0.3, 0.2, 0.2))
    rest = np.random.default_rng(404).uniform(0.001, 0.06, (200, 1))
    scores = np.round(_log_softmax(logits) - rest, 6)
    rows = [
        {
            "id": f"q{i}",
            "options": [*"ABCD"],
            "logprobs": s.tolist(),
            "answer": "ABCD"[s.argmax()],
            "gold": "ABCD"[y],
        }
        for i, s, y in zip(_numbers(404, 200, 0, 9000), scores, labels, strict=True)
    ]
    write = _text("mmlu_logprobs.jsonl", _json_lines(rows))
    return write, _of_logits(scores, labels), _of_probs(np.exp(scores), labels)


@_form("OpenAI-style logprobs")
def _openai_batch_jsonl():
    """Batch output: the answer's token and its `top_logprobs`, deep inside `response.body`; the
    gold labels in a CSV by `custom_id`, in another order."""
    names = ["negative", "neutral", "positive"]
    logits, labels = _multiclass(405, 140, (0.3, 0.2, 0.5))
    scores = np.round(_log_softmax(logits) - 0.01, 6)
    ids = [f"request-{i}" for i in _numbers(405, 140, 0, 9000)]
    rows = []
    for i, s in zip(ids, scores, strict=True):
        order = np.argsort(-s)
        top = [{"token": names[k], "logprob": float(s[k])} for k in order]
        top.append({"token": " Positive", "logprob": float(s.min() - 3)})
        content = [{**top[0], "top_logprobs": top}]
        message = {"role": "assistant", "content": names[order[0]]}
        choice = {"index": 0, "message": message, "logprobs": {"content": content}}
        body = {"object": "chat.completion", "choices": [choice]}
        rows.append({"custom_id": i, "response": {"status_code": 200, "body": body}, "error": None})
    turn = _shuffled(405, 140)
    gold = {"custom_id": [ids[i] for i in turn], "sentiment": [names[labels[i]] for i in turn]}
    write = _together(
        _text("batch_output.jsonl", _json_lines(rows)), _text("gold.csv", _columns(gold))
    )
    return write, _of_answers(scores.argmax(axis=1), labels)


@_form("Label Studio")
def _label_studio_json():
    """Tasks with `annotations` (the person's choice) and `predictions` (the model's, with
    `score`)."""
    names = ["Normal", "Pneumonia", "Tuberculosis"]
    logits, labels = _multiclass(406, 130, (0.5, 0.35, 0.15))
    probs = _softmax(logits)

    def choice(k: int) -> list[dict]:
        value = {"choices": [names[k]]}
        return [{"from_name": "dx", "to_name": "image", "type": "choices", "value": value}]

    rows = [
        {
            "id": int(i),
            "data": {"image": f"/data/upload/3/{i:x}.png"},
            "annotations": [{"id": 2 * int(i), "result": choice(y), "was_cancelled": False}],
            "predictions": [{"score": float(p.max()), "result": choice(int(p.argmax()))}],
        }
        for i, p, y in zip(_numbers(406, 130, 100, 9000), probs, labels, strict=True)
    ]
    name = "project-3-at-2024-02-01-10-11-f3c1.json"
    return _text(name, json.dumps(rows)), _of_answers(probs.argmax(axis=1), labels)


@_form("cleanlab")
def _cleanlab_issues_csv():
    """`label_quality` is the probability of the given label, not of the predicted one."""
    logits, labels = _multiclass(407, 220, (0.4, 0.3, 0.2, 0.1))
    probs = _softmax(logits)
    frame = pd.DataFrame(
        {
            "is_label_issue": probs[np.arange(220), labels] < 0.1,
            "label_quality": probs[np.arange(220), labels],
            "given_label": labels,
            "predicted_label": probs.argmax(axis=1),
        }
    )
    return _text("label_issues.csv", frame.to_csv()), _of_answers(probs.argmax(axis=1), labels)


@_form("AllenNLP")
def _allennlp_predict_jsonl():
    """`label` is the model's answer; the gold labels are in the data set's own lines, in the same
    order. The classes of `probs` are in the order of the vocabulary."""
    names = ["entailment", "contradiction", "neutral"]
    logits, labels = _multiclass(408, 190, (0.45, 0.3, 0.25))
    logits = np.round(logits, 6)
    probs = _softmax(logits)
    scores = [
        {"logits": s.tolist(), "probs": p.tolist(), "label": names[p.argmax()], "token_ids": [2, 9]}
        for s, p in zip(logits, probs, strict=True)
    ]
    gold = [
        {"gold_label": names[y], "pairID": f"{i}.jpg#0r1", "sentence1": "A man.", "sentence2": "?"}
        for i, y in zip(_numbers(408, 190, 0, 9000), labels, strict=True)
    ]
    write = _together(
        _text("predictions.jsonl", _json_lines(scores)),
        _text("snli_test.jsonl", _json_lines(gold)),
    )
    return write, _of_probs(probs, labels)


@_form("spaCy textcat")
def _spacy_cats_jsonl():
    """Lines with `text` and `cats`, a dictionary of scores; the gold file is the same with 0.0 and
    1.0, its keys in another order."""
    names = ["BUG", "FEATURE", "QUESTION"]
    logits, labels = _multiclass(409, 170, (0.5, 0.2, 0.3))
    probs = _softmax(logits).astype(np.float32)
    texts = [f"Issue {i}" for i in _numbers(409, 170, 0, 9000)]
    scores = [
        {"text": text, "cats": dict(zip(names, map(float, p), strict=True))}
        for text, p in zip(texts, probs, strict=True)
    ]
    gold = [
        {"text": text, "cats": {name: float(name == names[y]) for name in names[::-1]}}
        for text, y in zip(texts, labels, strict=True)
    ]
    write = _together(
        _text("predictions.jsonl", _json_lines(scores)), _text("gold.jsonl", _json_lines(gold))
    )
    return write, _of_probs(probs, labels)


@_form("Spark ML")
def _spark_json():
    """`df.write.json`: vectors as `{"type": 1, "values": [...]}` for both `rawPrediction` and
    `probability`, with `label` and `prediction` as floats."""
    logits, labels = _multiclass(410, 180, (0.5, 0.3, 0.2))
    probs = _softmax(logits)
    rows = [
        {
            "label": float(y),
            "rawPrediction": {"type": 1, "values": s.tolist()},
            "probability": {"type": 1, "values": p.tolist()},
            "prediction": float(p.argmax()),
        }
        for s, p, y in zip(logits, probs, labels, strict=True)
    ]
    return _text("part-00000-5f1c-c000.json", _json_lines(rows)), _of_probs(probs, labels)


@_form("BigQuery ML")
def _bigquery_ml_json():
    """`ML.PREDICT` exported as lines: `predicted_churn`, `predicted_churn_probs` as label and
    prob, the larger first, and the columns of the input."""
    names = ["no", "yes"]
    z, labels = _binary(411, 230, 0.27)
    probs = np.stack([1 - _sigmoid(z), _sigmoid(z)], axis=1)
    rows = [
        {
            "predicted_churn": names[p.argmax()],
            "predicted_churn_probs": [
                {"label": names[k], "prob": str(p[k])} for k in np.argsort(-p)
            ],
            "customer_id": str(i),
            "tenure": str(int(i) % 72),
            "churn": names[y],
        }
        for i, p, y in zip(_numbers(411, 230, 10**6, 10**6 + 9999), probs, labels, strict=True)
    ]
    return _text("bq-results-000000000000.json", _json_lines(rows)), _of_probs(probs, labels)


@_form("Vertex AI batch prediction")
def _vertex_tabular_jsonl():
    """Lines of `instance` (with the target) and `prediction`: `classes` and `scores`."""
    names = ["gold", "bronze", "silver"]
    logits, labels = _multiclass(412, 160, (0.2, 0.5, 0.3))
    probs = _softmax(logits).astype(np.float32)
    rows = [
        {
            "instance": {"age": str(20 + int(i) % 60), "tier": names[y]},
            "prediction": {"classes": names, "scores": p.tolist()},
        }
        for i, p, y in zip(_numbers(412, 160, 0, 9000), probs, labels, strict=True)
    ]
    name = "prediction.results-00000-of-00001.jsonl"
    return _text(name, _json_lines(rows)), _of_probs(probs, labels)


@_form("Vertex AI batch prediction")
def _vertex_image_jsonl():
    """Pictures by their `gs://` address with `displayNames` and `confidences`, the best first;
    the labels in an import file without header."""
    names = ["daisy", "dandelion", "roses", "tulips"]
    logits, labels = _multiclass(413, 150, (0.2, 0.4, 0.15, 0.25))
    probs = _softmax(logits).astype(np.float32)
    uris = [f"gs://flowers/test/{i}.jpg" for i in _numbers(413, 150, 0, 9000)]
    rows = []
    for uri, p in zip(uris, probs, strict=True):
        order = np.argsort(-p)
        prediction = {"ids": [str(7000 + k) for k in order]}
        prediction |= {"displayNames": [names[k] for k in order]}
        prediction |= {"confidences": p[order].tolist()}
        instance = {"content": uri, "mimeType": "image/jpeg"}
        rows.append({"instance": instance, "prediction": prediction})
    gold = [("test", uris[i], names[labels[i]]) for i in _shuffled(413, 150)]
    write = _together(
        _text("predictions_00001.jsonl", _json_lines(rows)), _text("import.csv", _table(gold))
    )
    return write, _of_probs(probs, labels)


@_form("SageMaker")
def _sagemaker_joined_csv():
    """Batch transform joined with its input, no header: label, features, then the score."""
    rng = np.random.default_rng(414)
    z, labels = _binary(414, 280, 0.3)
    texts, p = _printed(_sigmoid(z), "{:.16g}")
    rows = zip(labels, rng.integers(20, 90, 280), rng.integers(0, 2, 280), texts, strict=True)
    return _text("test.csv", _table(rows)), _of_positive(p, labels)


@_form("Azure ML designer")
def _azure_scored_csv():
    """`Scored Probabilities` beside `Scored Labels` is of the positive class (>50K), whatever
    the label scored."""
    z, labels = _binary(415, 300, 0.25)
    texts, p = _printed(_sigmoid(z), "{:.15g}")
    names = np.array(["<=50K", ">50K"])
    columns = {
        "age": np.random.default_rng(415).integers(17, 90, 300),
        "income": names[labels],
        "Scored Labels": names[(p > 0.5).astype(int)],
        "Scored Probabilities": texts,
    }
    return _text("Scored_dataset.csv", _columns(columns, end="\r\n")), _of_positive(p, labels)


@_form("H2O")
def _h2o_predict_csv():
    """`predict`, `No`, `Yes`, where `predict` is cut at the threshold of the best F1; the true
    answer bound on as `readmitted`."""
    z, labels = _binary(416, 260, 0.25)
    p = _sigmoid(z)
    names = np.array(["No", "Yes"])
    answers = (p > 0.3127).astype(int)
    columns = {"predict": names[answers], "No": (1 - p).tolist(), "Yes": p.tolist()}
    columns |= {"readmitted": names[labels]}
    write = _text("h2o_predictions.csv", _columns(columns))
    return write, _of_positive(p, labels), _of_answers(answers, labels)


@_form("DataRobot")
def _datarobot_batch_csv():
    """`<target>_<class>_PREDICTION` for each class, the answer, threshold and positive class, and
    the target passed through."""
    z, labels = _binary(1417, 240, 0.35)
    texts, p = _printed(_sigmoid(z), "{:.10f}")
    rest, _ = _printed(1 - p, "{:.10f}")
    names = np.array(["False", "True"])
    columns = {
        "is_bad_True_PREDICTION": texts,
        "is_bad_False_PREDICTION": rest,
        "is_bad_PREDICTION": names[(p > 0.5).astype(int)],
        "THRESHOLD": [0.5] * 240,
        "POSITIVE_CLASS": ["True"] * 240,
        "DEPLOYMENT_APPROVAL_STATUS": ["APPROVED"] * 240,
        "is_bad": names[labels],
    }
    return _text("batch_predictions.csv", _columns(columns)), _of_positive(p, labels)


@_form("KNIME")
def _knime_scorer_csv():
    """`P (diagnosis=B)`, `Prediction (diagnosis)` and `Prediction (diagnosis) (Confidence)`."""
    z, labels = _binary(418, 200, 0.37)
    names = np.array(["B", "M"])
    texts, p = _printed(_sigmoid(z), "{:.12g}")
    rest, _ = _printed(1 - p, "{:.12g}")
    answers = (p > 0.5).astype(int)
    columns = {
        "row ID": [f"Row{i}" for i in _numbers(418, 200, 0, 900)],
        "diagnosis": names[labels],
        "P (diagnosis=M)": texts,
        "P (diagnosis=B)": rest,
        "Prediction (diagnosis)": names[answers],
        "Prediction (diagnosis) (Confidence)": np.where(answers == 1, texts, rest),
    }
    return _text("knime.csv", _columns(columns)), _of_positive(p, labels)


@_form("RapidMiner")
def _rapidminer_csv():
    """Semicolons and quotes: `prediction(label)` and `confidence(name)` for each class."""
    names = ["Rock", "Mine", "Sand"]
    logits, labels = _multiclass(419, 208, (0.45, 0.35, 0.2))
    probs = np.round(_softmax(logits), 9)
    head = ("id", "label", "prediction(label)", *(f"confidence({name})" for name in names))
    rows = [
        (float(i), names[y], names[p.argmax()], *p.tolist())
        for i, y, p in zip(_numbers(419, 208, 1, 900), labels, probs, strict=True)
    ]
    text = _table([head, *rows], ";", quoted=True)
    return _text("rapidminer.csv", text), _of_probs(probs, labels)


@_form("Orange")
def _orange_predictions_csv():
    """Three header rows (names, types, roles) and two models: the answer and a probability of
    each class for each."""
    names = ["adult", "child", "senior"]
    logits, labels = _multiclass(420, 170, (0.5, 0.2, 0.3))
    noise = np.random.default_rng(420).normal(0, 1.0, logits.shape)
    forest, net = (_printed(_softmax(x), "{:.6g}") for x in (logits, logits + noise))
    heads, kinds, roles = ["group"], [" ".join(names)], ["class"]
    columns = [[names[y] for y in labels]]
    for model, (texts, probs) in {"Random Forest": forest, "Neural Network": net}.items():
        heads += [model, *(f"{model} ({name})" for name in names)]
        kinds += [" ".join(names), *["continuous"] * 3]
        roles += ["meta"] * 4
        columns += [[names[k] for k in probs.argmax(axis=1)], *texts.T]
    text = _table([heads, kinds, roles, *zip(*columns, strict=True)])
    first, second = (_of_probs(probs, labels) for _, probs in (forest, net))
    return _text("predictions.csv", text), first, second


@_form("Weka")
def _weka_predictions_csv():
    """`inst#,actual,predicted,error,prediction`: classes as `2:tested_positive`, `+` at errors,
    and the probability of the predicted class to three digits."""
    z, labels = _binary(421, 230, 0.35)
    names = ["1:tested_negative", "2:tested_positive"]
    p = np.round(_sigmoid(z), 3)
    answers = (p > 0.5).astype(int)
    columns = {
        "inst#": range(1, 231),
        "actual": [names[y] for y in labels],
        "predicted": [names[k] for k in answers],
        "error": ["+" if k != y else "" for k, y in zip(answers, labels, strict=True)],
        "prediction": [f"{max(v, 1 - v):.3f}".rstrip("0").rstrip(".") for v in p],
    }
    text = _columns(columns) + "\n"
    return _text("weka.csv", text), _of_answers(answers, labels), _of_positive(p, labels)


@_form("Weka")
def _weka_distribution_csv():
    """The same with `-distribution`: a header of five names over rows of seven cells, a star
    before the predicted class's probability."""
    names = ["Iris-setosa", "Iris-versicolor", "Iris-virginica"]
    logits, labels = _multiclass(422, 150, (0.25, 0.35, 0.4))
    texts, probs = _printed(_softmax(logits), "{:.3f}")
    rows = [("inst#", "actual", "predicted", "error", "distribution")]
    for i, (text, p, y) in enumerate(zip(texts, probs, labels, strict=True), 1):
        k = p.argmax()
        cells = [f"*{v}" if j == k else v for j, v in enumerate(text)]
        error = "+" if k != y else ""
        rows.append((i, f"{y + 1}:{names[y]}", f"{k + 1}:{names[k]}", error, *cells))
    return _text("weka_distribution.csv", _table(rows)), _of_probs(probs, labels)


@_form("Weka")
def _weka_text_output():
    """What the Explorer prints: columns by spaces, an empty one where the answer was right."""
    z, labels = _binary(423, 160, 0.4)
    texts, p = _printed(_sigmoid(z), "{:.3f}")
    rest, _ = _printed(1 - p, "{:.3f}")
    names = ["1:no", "2:yes"]
    lines = ["=== Predictions on test split ===", ""]
    lines += ["    inst#     actual  predicted error distribution"]
    for i, (v, r, y) in enumerate(zip(texts, rest, labels, strict=True), 1):
        k = int(float(v) > 0.5)
        shown = f"{r},*{v}" if k else f"*{r},{v}"
        lines += [f"{i:9} {names[y]:>10} {names[k]:>10} {'+' if k != y else ' ':>5}   {shown} "]
    return _text("weka.txt", "\n".join(lines) + "\n"), _of_positive(p, labels)


@_form("Orange")
def _orange_one_model_tab():
    """Tabs, and three header rows of which the second holds letters."""
    names = ["a b", "c d", "e f"]
    logits, labels = _multiclass(424, 150, (0.5, 0.2, 0.3))
    texts, probs = _printed(_softmax(logits), "{:.6g}")
    rows = [["age", "kind", "Tree", *(f"Tree ({name})" for name in names), "Fold"]]
    rows += [list("cddcccd"), ["", "class", *["meta"] * 5]]
    for i, (text, p, y) in enumerate(zip(texts, probs, labels, strict=True)):
        rows.append([20 + i % 50, names[y], names[p.argmax()], *text, i % 5 + 1])
    return _text("orange.tab", _table(rows, "\t")), _of_probs(probs, labels)


@_form("DataRobot")
def _datarobot_numbers_csv():
    """A target of 0 and 1: every column that could be labels holds numbers."""
    z, labels = _binary(425, 200, 0.4)
    texts, p = _printed(_sigmoid(z), "{:.6f}")
    rest, _ = _printed(1 - p, "{:.6f}")
    columns = {"readmitted_1_PREDICTION": texts, "readmitted_0_PREDICTION": rest}
    columns |= {"readmitted_PREDICTION": (p > 0.5).astype(int), "THRESHOLD": [0.5] * 200}
    columns |= {"POSITIVE_CLASS": [1] * 200, "readmitted": labels}
    return _text("datarobot.csv", _columns(columns)), _of_positive(p, labels)


@_form("SageMaker")
def _sagemaker_softprob_csv():
    """Batch transform joined with its input, without a header: label, features, probabilities."""
    logits, labels = _multiclass(426, 180, (0.4, 0.35, 0.25))
    texts, probs = _printed(_softmax(logits), "{:.6f}")
    ages = _numbers(426, 180, 18, 900) % 70
    rows = [(y, a, *t) for y, a, t in zip(labels, ages, texts, strict=True)]
    return _text("test.csv.out", _table(rows)), _of_probs(probs, labels)


@_form("SageMaker")
def _sagemaker_lists_csv():
    """The same with the probabilities as a list in one cell."""
    logits, labels = _multiclass(427, 180, (0.4, 0.35, 0.25))
    texts, probs = _printed(_softmax(logits), "{:.6f}")
    ages = _numbers(427, 180, 18, 900) % 70
    cells = [f"[{', '.join(t)}]" for t in texts]
    rows = list(zip(labels, ages, cells, strict=True))
    return _text("list.csv.out", _table(rows)), _of_probs(probs, labels)


@_form("SageMaker Autopilot")
def _sagemaker_autopilot_csv():
    """The answer, its probability, and two lists a row: probabilities and what they are of."""
    names = ["adult", "child", "senior"]
    logits, labels = _multiclass(428, 180, (0.4, 0.35, 0.25))
    texts, probs = _printed(_softmax(logits), "{:.6f}")
    columns = {"group": [names[y] for y in labels]}
    columns |= {"predicted_label": [names[k] for k in probs.argmax(axis=1)]}
    columns |= {"probabilities": [f"[{', '.join(t)}]" for t in texts]}
    columns |= {"labels": [str(names)] * 180}
    return _text("autopilot.csv", _columns(columns)), _of_probs(probs, labels)


@_form("SageMaker BlazingText")
def _blazingtext_jsonl():
    """One answer and its probability, each in a list, joined with the input."""
    logits, labels = _multiclass(429, 150, (0.4, 0.35, 0.25))
    probs = _softmax(logits)
    rows = [
        {
            "source": f"text {i}",
            "gold": f"__label__{y}",
            "SageMakerOutput": {"label": [f"__label__{p.argmax()}"], "prob": [float(p.max())]},
        }
        for i, (p, y) in enumerate(zip(probs, labels, strict=True))
    ]
    return _text("x.jsonl.out", _json_lines(rows)), _of_answers(probs.argmax(axis=1), labels)


@_form("fastText")
def _fasttext_txt():
    """The true label, a tab, and what predict-prob prints: labels and probabilities in turns."""
    names = ["de", "en", "nl"]
    logits, labels = _multiclass(430, 150, (0.4, 0.35, 0.25))
    texts, probs = _printed(_softmax(logits), "{:.5f}")
    lines = []
    for text, p, y in zip(texts, probs, labels, strict=True):
        turns = " ".join(f"__label__{names[k]} {text[k]}" for k in np.argsort(-p))
        lines.append(f"__label__{names[y]}\t{turns}")
    return _text("fasttext.txt", "\n".join(lines) + "\n"), _of_probs(probs, labels)


@_form("LangSmith")
def _langsmith_csv():
    """An experiment: outputs, reference outputs and feedback, each with a dotted name."""
    z, labels = _binary(431, 180, 0.45)
    names = np.array(["ham", "spam"])
    p = _sigmoid(z)
    answers = (p > 0.5).astype(int)
    columns = {"id": [f"{i:032x}" for i in range(180)], "inputs.question": ["q"] * 180}
    columns |= {"outputs.answer": names[answers], "reference_outputs.answer": names[labels]}
    columns |= {"outputs.confidence": np.maximum(p, 1 - p).round(2)}
    columns |= {"feedback.correctness": (answers == labels).astype(float)}
    return _text("experiment.csv", _columns(columns)), _of_answers(answers, labels)


# Statistics packages ----------------------------------------------------------------------------


@_form("R caret")
def _r_caret_saved_predictions_csv():
    """`model$pred`: `pred`, `obs`, a column by class name, `rowIndex`, `mtry`, `Resample`."""
    names = ["Benign", "Malignant"]
    z, labels = _binary(501, 280, 0.35)
    p = np.round(_sigmoid(z), 6)
    columns = {
        "pred": [names[int(v > 0.5)] for v in p],
        "obs": [names[y] for y in labels],
        "Malignant": p,
        "Benign": 1 - p,
        "rowIndex": _numbers(501, 280, 1, 281),
        "mtry": [2] * 280,
        "Resample": [f"Fold{1 + i // 56}" for i in range(280)],
    }
    return _text("caret_pred.csv", _r_csv(columns)), _of_positive(p, labels)


@_form("R pROC")
def _r_proc_csv2():
    """`write.csv2` of `response` and `predictor`: semicolons, decimal commas, quoted names."""
    names = ["Control", "Case"]
    z, labels = _binary(502, 220, 0.45)
    texts, p = _printed(_sigmoid(z), "{:.15g}")
    rows = [
        f'"{i}";"{names[y]}";{text.replace(".", ",")}'
        for i, (y, text) in enumerate(zip(labels, texts, strict=True), 1)
    ]
    text = "\n".join(['"";"response";"predictor"', *rows]) + "\n"
    return _text("roc_data.csv", text), _of_positive(p, labels)


@_form("R randomForest")
def _r_factor_codes_csv():
    """`obs` as `as.integer(factor)`, 1 to 4, beside columns by the names of the levels."""
    names = ["Coma", "Confused", "Drowsy", "Orientated"]
    logits, labels = _multiclass(503, 240, (0.1, 0.2, 0.25, 0.45))
    probs = np.round(_softmax(logits), 5)
    columns = {"obs": labels + 1} | {name: probs[:, k] for k, name in enumerate(names)}
    return _text("rf_probs.csv", _r_csv(columns)), _of_probs(probs, labels)


@_form("R glm")
def _r_glm_link_csv():
    """`predict(fit)` without `type`: log-odds, beside a logical outcome TRUE or FALSE."""
    z, labels = _binary(504, 260, 0.3)
    z = np.array([float(f"{v:.15g}") for v in z])
    columns = {"died": labels == 1, "age": np.random.default_rng(504).integers(40, 95, 260)}
    truth = _of_logits(np.stack([0 * z, z], axis=1), labels)
    return _text("glm.csv", _r_csv(columns | {"pred": z})), truth


@_form("R tidymodels")
def _r_tidymodels_csv():
    """`augment`: `.pred_class`, `.pred_no`, `.pred_yes` and the outcome, by `write_csv`."""
    names = ["no", "yes"]
    z, labels = _binary(505, 210, 0.3)
    p = _sigmoid(z)
    columns = {"stroke": [names[y] for y in labels]}
    columns |= {".pred_class": [names[int(v > 0.5)] for v in p]}
    columns |= {".pred_no": (1 - p).tolist(), ".pred_yes": p.tolist()}
    return _text("augmented.csv", _columns(columns)), _of_positive(p, labels)


@_form("SAS PROC LOGISTIC")
def _sas_score_csv():
    """`score out=`: `F_death` (from), `I_death` (into), `P_1` before `P_0`."""
    z, labels = _binary(506, 300, 0.25)
    texts, p = _printed(_sigmoid(z), "{:.10f}")
    rest, _ = _printed(1 - p, "{:.10f}")
    columns = {
        "SUBJID": [f"{i // 1000:02d}-{i % 1000:03d}" for i in _numbers(506, 300, 1000, 9999)],
        "F_death": labels,
        "I_death": (p > 0.5).astype(int),
        "P_1": texts,
        "P_0": rest,
    }
    return _text("SCORED.csv", _columns(columns, end="\r\n")), _of_positive(p, labels)


@_form("SPSS")
def _spss_logistic_csv():
    """Groups coded 1 and 2; `PRE_1` is the probability of 2, printed as `.87654`; `PGR_1` the
    predicted group, `ZRE_1` a residual."""
    z, labels = _binary(507, 230, 0.4)
    texts, p = _printed(_sigmoid(z), "{:.5f}")
    residual = (labels - p) / np.sqrt(p * (1 - p) + 1e-6)
    columns = {
        "ID": _numbers(507, 230, 1, 999),
        "GROUP": labels + 1,
        "PRE_1": [text.removeprefix("0") for text in texts],
        "PGR_1": (p > 0.5).astype(int) + 1,
        "ZRE_1": [f"{v:.5f}".replace("0.", ".", 1) if abs(v) < 1 else f"{v:.5f}" for v in residual],
    }
    write = _text("spss.csv", _columns(columns, end="\r\n"), "utf-8-sig")
    return write, _of_positive(p, labels)


@_form("Stata")
def _stata_mlogit_csv():
    """`predict p1 p2 p3` after `mlogit` (codes 1 none, 2 mild, 3 severe): `.8765432` without the
    zero, the outcome by its value label, with weight and sex."""
    names = ["none", "mild", "severe"]
    logits, labels = _multiclass(508, 250, (0.5, 0.35, 0.15))
    texts, probs = _printed(_softmax(logits), "{:.7f}")
    rng = np.random.default_rng(508)
    columns = {"pid": _numbers(508, 250, 1, 5000), "severity": [names[y] for y in labels]}
    columns |= {f"p{k + 1}": [t.removeprefix("0") for t in texts[:, k]] for k in range(3)}
    columns |= {"weight": rng.integers(45, 120, 250), "sex": rng.choice(["F", "M"], 250)}
    return _text("stata.csv", _columns(columns)), _of_probs(probs, labels)


# Spreadsheets -----------------------------------------------------------------------------------


@_form("Excel, German locale")
def _excel_german_sep_line():
    """A `sep=;` line, Windows-1252, CRLF, decimal commas; labels gutartig and bösartig."""
    names = ["gutartig", "bösartig"]
    z, labels = _binary(601, 190, 0.35)
    texts, p = _printed(_sigmoid(z), "{:.4f}")
    columns = {
        "Fall-Nr": [f"2023/{i}" for i in _numbers(601, 190, 100, 9999)],
        "Alter": np.random.default_rng(601).integers(18, 95, 190),
        "Wahrscheinlichkeit bösartig": [t.replace(".", ",") for t in texts],
        "Histologie": [names[y] for y in labels],
    }
    text = "sep=;\r\n" + _columns(columns, ";", "\r\n")
    return _text("Auswertung.csv", text, "cp1252"), _of_positive(p, labels)


@_form("Excel, German locale")
def _excel_german_percent():
    """Softmax of three classes as `87,34%`, a byte order mark, empty rows `;;;;` at the end."""
    names = ["Normal", "Pneumonie", "Erguss"]
    logits, labels = _multiclass(602, 160, (0.5, 0.3, 0.2))
    texts, percent = _printed(100 * _softmax(logits), "{:.2f}")
    columns = {"Bild": [f"B{i}" for i in _numbers(602, 160, 1, 900)]}
    columns |= {
        name: [f"{t}%".replace(".", ",") for t in texts[:, k]] for k, name in enumerate(names)
    }
    columns |= {"Befund": [names[y] for y in labels]}
    text = _columns(columns, ";", "\r\n") + ";;;;\r\n" * 3
    return _text("Mappe1.csv", text, "utf-8-sig"), _of_probs(percent / 100, labels)


@_form("Excel, Unicode text")
def _excel_unicode_text():
    """Tabs in UTF-16 with a byte order mark; labels Yes and No, the score in two digits."""
    z, labels = _binary(603, 180, 0.4)
    texts, p = _printed(_sigmoid(z), "{:.3f}")
    columns = {"Case": _numbers(603, 180, 1, 900), "Score": texts}
    columns |= {"Cancer": np.where(labels == 1, "Yes", "No")}
    write = _text("scores.tsv", _columns(columns, "\t", "\r\n"), "utf-16")
    return write, _of_positive(p, labels)


@_form("Excel, German locale")
def _percent_sign_csv():
    """Percent signs behind decimal commas."""
    z, labels = _binary(613, 180, 0.4)
    texts, percent = _printed(100 * _sigmoid(z), "{:.1f}")
    columns = {"Wahrscheinlichkeit": [f"{t} %".replace(".", ",") for t in texts]}
    columns |= {"Befund": labels}
    return _text("x.csv", _columns(columns, ";")), _of_positive(percent / 100, labels)


@_form("spreadsheet")
def _softmax_percent_csv():
    """Softmax in percent with one digit, in columns by class; not every row comes to 100."""
    names = ["cardboard", "glass", "metal", "paper"]
    logits, labels = _multiclass(604, 200, (0.2, 0.3, 0.1, 0.4), sure=1.2)
    texts, percent = _printed(100 * _softmax(logits), "{:.1f}")
    columns = {"photo": [f"{i}.jpeg" for i in _numbers(604, 200, 1, 900)]}
    columns |= {"actual": [names[y] for y in labels]}
    columns |= {f"{name} %": texts[:, k] for k, name in enumerate(names)}
    return _text("waste.csv", _columns(columns)), _of_probs(percent / 100, labels)


@_form("spreadsheet")
def _named_class_only_csv():
    """`P(malignant)` and the diagnosis in words."""
    z, labels = _binary(605, 210, 0.3)
    texts, p = _printed(_sigmoid(z), "{:.3f}")
    columns = {"lesion": [f"L{i}" for i in _numbers(605, 210, 1, 999)], "P(malignant)": texts}
    columns |= {"diagnosis": np.where(labels == 1, "malignant", "benign")}
    return _text("lesions.csv", _columns(columns)), _of_positive(p, labels)


@_form("spreadsheet")
def _negative_class_only_csv():
    """Only `prob_benign`, and a column `malignant` of 0 and 1."""
    z, labels = _binary(606, 230, 0.35)
    texts, rest = _printed(1 - _sigmoid(z), "{:.4f}")
    columns = {"id": _numbers(606, 230, 1, 999), "prob_benign": texts, "malignant": labels}
    return _text("benign.csv", _columns(columns)), _of_positive(1 - rest, labels)


@_form("spreadsheet")
def _normal_probability_csv():
    """`p_neg` alone, beside labels pos and neg."""
    z, labels = _binary(607, 190, 0.3)
    texts, rest = _printed(1 - _sigmoid(z), "{:.4f}")
    columns = {"swab": [f"S-{i}" for i in _numbers(607, 190, 1, 999)]}
    columns |= {"result": np.where(labels == 1, "pos", "neg"), "p_neg": texts}
    return _text("pcr.csv", _columns(columns)), _of_positive(1 - rest, labels)


@_form("spreadsheet")
def _probability_of_answer_csv():
    """`prediction` yes or no, `probability` of that answer (never below 0.5), and `label`."""
    z, labels = _binary(608, 250, 0.35)
    names = np.array(["no", "yes"])
    texts, top = _printed(np.maximum(_sigmoid(z), _sigmoid(-z)), "{:.4f}")
    answers = (z > 0).astype(int)
    columns = {"label": names[labels], "prediction": names[answers], "probability": texts}
    p = np.where(answers == 1, top, 1 - top)
    write = _text("answers.csv", _columns(columns))
    return write, _of_answers(answers, labels), _of_positive(p, labels)


@_form("spreadsheet")
def _correct_column_csv():
    """`confidence` and `correct` (True or False), no label at all."""
    logits, labels = _multiclass(609, 270, (0.4, 0.3, 0.2, 0.1))
    texts, _ = _printed(_softmax(logits).max(axis=1), "{:.4f}")
    answers = logits.argmax(axis=1)
    columns = {"question_id": _numbers(609, 270, 1, 9999), "answer": answers}
    columns |= {"confidence": texts, "correct": answers == labels}
    columns |= {"time_ms": np.random.default_rng(609).integers(400, 9000, 270)}
    return _text("quiz.csv", _columns(columns)), _of_answers(answers, labels)


@_form("spreadsheet")
def _headers_in_other_order_and_case_csv():
    """Class names as headers (`Basal Cell Carcinoma`), in another order than the alphabet's; the
    labels spelt `basal_cell_carcinoma`."""
    names = ["Nevus", "Melanoma", "Basal Cell Carcinoma", "Dermatofibroma", "Actinic Keratosis"]
    logits, labels = _multiclass(610, 290, (0.45, 0.2, 0.15, 0.08, 0.12))
    texts, probs = _printed(_softmax(logits), "{:.5f}")
    columns = {"image": [f"ISIC_{i:07d}" for i in _numbers(610, 290, 0, 90000)]}
    columns |= {name: texts[:, k] for k, name in enumerate(names)}
    columns |= {"diagnosis": [names[y].lower().replace(" ", "_") for y in labels]}
    return _text("skin.csv", _columns(columns)), _of_probs(probs, labels)


@_form("research code")
def _many_extra_columns_csv():
    """Logits among loss, margin, entropy, time_ms, age and an embedding of four numbers."""
    rng = np.random.default_rng(611)
    logits, labels = _multiclass(611, 260, (0.4, 0.35, 0.25))
    logits = np.round(logits, 6)
    probs, order = _softmax(logits), np.sort(_softmax(logits), axis=1)
    frame = pd.DataFrame(
        {
            "uid": _numbers(611, 260, 0, 99999),
            "loss": -np.log(probs[np.arange(260), labels]),
            "margin": order[:, -1] - order[:, -2],
            "entropy": -(probs * np.log(probs)).sum(axis=1),
            "time_ms": np.round(rng.gamma(4, 3, 260), 1),
            "age": rng.integers(1, 99, 260),
        }
    )
    for k in range(4):
        frame[f"emb_{k}"] = rng.normal(size=260)
    for k in range(3):
        frame[f"logit_{k}"] = logits[:, k]
    frame["gt"], frame["pred"] = labels, probs.argmax(axis=1)
    return _text("dump.csv", frame.to_csv(index=False)), _of_logits(logits, labels)


@_form("research code")
def _two_models_csv():
    """`prob_resnet50` and `prob_densenet121` of the same rows beside a common `label`."""
    z, labels = _binary(612, 300, 0.3)
    other = 0.8 * z + np.random.default_rng(612).normal(0, 1.2, 300)
    (texts, p), (others, q) = (_printed(_sigmoid(x), "{:.5f}") for x in (z, other))
    columns = {"image": _numbers(612, 300, 0, 9999), "label": labels}
    columns |= {"prob_resnet50": texts, "prob_densenet121": others}
    write = _text("models.csv", _columns(columns))
    return write, _of_positive(p, labels), _of_positive(q, labels)


@_form("deep ensemble")
def _ensemble_mean_std_csv():
    """`mean_A,std_A,mean_B,std_B,mean_C,std_C` over five members, and `label` by name."""
    logits, labels = _multiclass(613, 220, (0.5, 0.3, 0.2))
    members = _softmax(logits + np.random.default_rng(613).normal(0, 0.7, (5, 220, 3)))
    texts, probs = _printed(members.mean(axis=0), "{:.6f}")
    spreads, _ = _printed(members.std(axis=0), "{:.6f}")
    columns = {"id": _numbers(613, 220, 0, 9999), "label": [*np.array([*"ABC"])[labels]]}
    for k, name in enumerate("ABC"):
        columns |= {f"mean_{name}": texts[:, k], f"std_{name}": spreads[:, k]}
    return _text("ensemble.csv", _columns(columns)), _of_probs(probs, labels)


@_form("deep ensemble")
def _ensemble_mean_std_binary_csv():
    """`y_true,p_mean,p_std`: the ensemble's mean and its spread."""
    z, labels = _binary(614, 240, 0.3)
    members = _sigmoid(z + np.random.default_rng(614).normal(0, 0.8, (5, 240)))
    texts, p = _printed(members.mean(axis=0), "{:.5f}")
    spreads, _ = _printed(members.std(axis=0), "{:.5f}")
    columns = {"y_true": labels, "p_mean": texts, "p_std": spreads}
    return _text("ensemble_binary.csv", _columns(columns)), _of_positive(p, labels)


# Clinic and challenges --------------------------------------------------------------------------

NIH = (
    "Atelectasis", "Cardiomegaly", "Effusion", "Infiltration", "Mass", "Nodule", "Pneumonia",
    "Pneumothorax", "Consolidation", "Edema", "Emphysema", "Fibrosis", "Pleural_Thickening",
    "Hernia",
)  # fmt: skip


@_form("hospital PACS/RIS export")
def _ris_two_files():
    """Scores under two title lines with semicolons; accession numbers lost their leading zeros in
    the report file, which has other rows too, in another order, `FINAL_DX` pos or neg."""
    z, labels = _binary(701, 260, 0.25)
    texts, p = _printed(_sigmoid(z).clip(0.01, 0.99), "{:.2f}")
    numbers = _numbers(701, 300, 1200, 99999)
    scores = {
        "Accession No.": [f"{i:08d}" for i in numbers[:260]],
        "Study date": [f"{1 + i % 28:02d}.03.2023" for i in numbers[:260]],
        "Modality": ["DX"] * 260,
        "AI score": texts,
    }
    dx = np.concatenate([labels, np.random.default_rng(701).integers(0, 2, 40)])
    order = _shuffled(701, 300)
    gold = {
        "ACCESSION_NO": numbers[order],
        "AGE": 20 + numbers[order] % 70,
        "FINAL_DX": np.where(dx[order] == 1, "pos", "neg"),
    }
    title = "Radiology AI results\r\nPrinted 02.04.2023 07:15\r\n\r\n"
    write = _together(
        _text("ai_results.csv", title + _columns(scores, ";", "\r\n")),
        _text("reports.csv", _columns(gold)),
    )
    return write, _of_positive(p, labels)


@_form("hospital PACS/RIS export")
def _vendor_score_percent_csv():
    """A vendor's whole-number score of 0 to 100 with `AI result` Yes from 50; the score is empty
    where the processing failed; the radiologist's Y or N in `Nodule present`."""
    z, labels = _binary(702, 250, 0.3, sure=1.1)
    score = np.round(100 * _sigmoid(z)).clip(1, 99).astype(int)
    score += score == 50
    failed = np.random.default_rng(702).random(250) < 0.04
    columns = {
        "Accession": [f"RX{i}" for i in _numbers(702, 250, 100000, 999999)],
        "Site": np.random.default_rng(7).choice(["North", "South"], 250),
        "AI status": np.where(failed, "FAILED", "OK"),
        "AI score": ["" if f else str(s) for f, s in zip(failed, score, strict=True)],
        "AI result": np.where(failed, "", np.where(score > 50, "Yes", "No")),
        "Nodule present": np.where(labels == 1, "Y", "N"),
    }
    truth = _of_positive(score[~failed] / 100, labels[~failed])
    return _text("vendor_export.csv", _columns(columns, end="\r\n")), truth


@_form("torchxrayvision")
def _xrv_piped_labels():
    """Sigmoid scores of 14 findings; the labels are NIH's own table, `Atelectasis|Effusion` or
    `No Finding` in a cell, with rows that were not scored."""
    logits, labels = _findings(703, 300, 14)
    scores = _sigmoid(logits).astype(np.float32)
    images = [f"{i:08d}_{i % 7:03d}.png" for i in _numbers(703, 300, 1, 30805)]
    frame = pd.DataFrame(scores[:240], columns=NIH)
    frame.insert(0, "Image Index", images[:240])
    order = _shuffled(703, 300)
    cells = ["|".join(np.array(NIH)[row == 1]) or "No Finding" for row in labels]
    gold = {
        "Image Index": [images[i] for i in order],
        "Finding Labels": [cells[i] for i in order],
        "Follow-up #": order % 5,
        "Patient Age": 20 + order % 60,
        "View Position": np.where(order % 3 == 0, "AP", "PA"),
    }
    write = _together(
        _text("xrv_outputs.csv", frame.to_csv(index=False)),
        _text("Data_Entry_2017.csv", _columns(gold)),
    )
    return write, _of_findings(scores[:240], labels[:240], NIH)


@_form("CheXNet reproduction")
def _chexnet_prob_columns():
    """`Image Index` and `prob_<finding>`; the label file has the findings in alphabetical order,
    a `fold` column, more rows, and another order of them."""
    logits, labels = _findings(704, 380, 14)
    scores = _sigmoid(logits - 1)
    images = [f"{i:08d}_000.png" for i in _numbers(704, 380, 1, 30805)]
    frame = pd.DataFrame(scores[:300], columns=[f"prob_{name}" for name in NIH])
    frame.insert(0, "Image Index", images[:300])
    gold = pd.DataFrame(labels, columns=NIH, index=images)[sorted(NIH)]
    gold["fold"] = np.where(np.arange(380) < 300, "test", "train")
    gold = gold.iloc[_shuffled(704, 380)]
    write = _together(
        _text("preds.csv", frame.to_csv(index=False)),
        _text("nih_labels.csv", gold.to_csv(index_label="Image Index")),
    )
    return write, _of_findings(scores[:300], labels[:300], NIH)


@_form("CheXpert baseline")
def _chexpert_uncertain_labels():
    """Five findings; the label file has 1.0, 0.0 and -1.0 (uncertain) under the same headers in
    another order, by study path. Uncertain cells are left out, or taken as 0, or as 1."""
    names = ("Cardiomegaly", "Edema", "Consolidation", "Atelectasis", "Pleural Effusion")
    logits, labels = _findings(705, 260, 5)
    labels[np.random.default_rng(705).random(labels.shape) < 0.07] = -1
    scores = np.round(_sigmoid(logits), 6)
    studies = [f"valid/patient{i}/study1" for i in _numbers(705, 260, 64541, 64941)]
    frame = pd.DataFrame(scores, columns=names)
    frame.insert(0, "Study", studies)
    gold = pd.DataFrame(labels.astype(float), columns=names, index=studies)[sorted(names)]
    write = _together(
        _text("predictions.csv", frame.to_csv(index=False)),
        _text("groundtruth.csv", gold.iloc[_shuffled(705, 260)].to_csv(index_label="Study")),
    )
    readings = (labels, np.maximum(labels, 0), np.abs(labels))
    return write, *(_of_findings(scores, y, names) for y in readings)


@_form("Keras")
def _multilabel_numbered_npz():
    """`y_pred` and `y_true`, (N, 14) each, without any names."""
    logits, labels = _findings(706, 250, 14)
    scores = _sigmoid(logits).astype(np.float32)
    write = _npz("chest_test.npz", y_pred=scores, y_true=labels.astype(np.uint8))
    return write, _of_findings(scores, labels)


@_form("MONAI")
def _monai_csv_saver():
    """`CSVSaver`: no header, the full path, then the probabilities; the labels in a data list, a
    JSON with the paths relative to the data folder."""
    logits, labels = _multiclass(707, 180, (0.4, 0.3, 0.2, 0.1))
    texts, probs = _printed(_softmax(logits), "{:.8f}")
    files = [f"scan/IXI{i:03d}-T1.nii.gz" for i in _numbers(707, 180, 1, 999)]
    scores = [(f"/data/mr/{name}", *row) for name, row in zip(files, texts, strict=True)]
    tasks = [{"image": f"./{files[i]}", "label": int(labels[i])} for i in _shuffled(707, 180)]
    gold = {"name": "MR", "modality": {"0": "T1"}, "numTest": 180, "test": tasks}
    write = _together(
        _text("predictions.csv", _table(scores)), _text("dataset.json", json.dumps(gold, indent=1))
    )
    return write, _of_probs(probs, labels)


@_form("MedMNIST evaluator")
def _medmnist_csv_and_npz():
    """Row number and scores without header, AUC and ACC in the name; the data set's archive has
    pictures and (N, 1) labels of all three parts."""
    logits, labels = _multiclass(708, 156, (0.3, 0.7))
    texts, probs = _printed(_softmax(logits), "{:.7f}")
    truth = _of_probs(probs, labels)
    auc = _auroc(probs[:, 1], labels)
    name = f"breastmnist_test_[AUC]{auc:.3f}_[ACC]{truth.accuracy:.3f}@resnet18.csv"
    rng, arrays = np.random.default_rng(708), {}
    for part, size in {"train": 546, "val": 78, "test": 156}.items():
        arrays[f"{part}_images"] = np.zeros((size, 28, 28), np.uint8)
        arrays[f"{part}_labels"] = rng.integers(0, 2, (size, 1)).astype(np.uint8)
    arrays["test_labels"] = labels[:, None].astype(np.uint8)
    rows = [(i, *row) for i, row in enumerate(texts)]
    return _together(_text(name, _table(rows)), _npz("breastmnist.npz", **arrays)), truth


@_form("ISIC challenge")
def _isic_one_hot_same_header():
    """Submission and ground truth under the same header `image,MEL,NV,...`: probabilities in the
    first, 1.0 and 0.0 in the second, the rows in another order."""
    names = ["MEL", "NV", "BCC", "AKIEC", "BKL", "DF", "VASC"]
    logits, labels = _multiclass(709, 320, (0.12, 0.55, 0.08, 0.05, 0.12, 0.04, 0.04))
    texts, probs = _printed(_softmax(logits), "{:.8f}")
    images = [f"ISIC_{i:07d}" for i in _numbers(709, 320, 34524, 36035)]
    hot = np.eye(7)[labels]
    scores = [(i, *row) for i, row in zip(images, texts, strict=True)]
    gold = sorted((i, *row) for i, row in zip(images, hot.tolist(), strict=True))
    head = ("image", *names)
    write = _together(
        _text("submission.csv", _table([head, *scores])),
        _text("ISIC2018_Task3_Test_GroundTruth.csv", _table([head, *gold])),
    )
    return write, _of_probs(probs, labels)


@_form("Kaggle")
def _kaggle_same_header():
    """Submission and solution both `image_name,target`: a probability here, 0 or 1 there, which
    also has a `Usage` column."""
    z, labels = _binary(710, 350, 0.2)
    p = _sigmoid(z)
    images = [f"ISIC_{i:07d}" for i in _numbers(710, 350, 0, 9999999)]
    order = np.argsort(images)
    scores = {"image_name": [images[i] for i in order], "target": p[order].tolist()}
    gold = {"image_name": images, "target": labels}
    gold |= {"Usage": np.random.default_rng(710).choice(["Public", "Private"], 350)}
    write = _together(
        _text("submission.csv", _columns(scores)), _text("solution.csv", _columns(gold))
    )
    return write, _of_positive(p, labels)


@_form("Kaggle")
def _zipped_out_of_fold_csv():
    """A ZIP with a single CSV: `id`, `Class_1` to `Class_5`, and `target` spelt `Class_3`."""
    logits, labels = _multiclass(711, 280, (0.1, 0.35, 0.25, 0.2, 0.1))
    texts, probs = _printed(_softmax(logits), "{:.6f}")
    columns = {"id": _numbers(711, 280, 1, 60000)}
    columns |= {f"Class_{k + 1}": texts[:, k] for k in range(5)}
    columns |= {"target": [f"Class_{y + 1}" for y in labels]}
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr(zipfile.ZipInfo("oof.csv"), _columns(columns))
    return _raw("oof.csv.zip", out.getvalue()), _of_probs(probs, labels)


#: Every export, in the order of the tools above; see `Export.tool` and `Export.form`.
EXPORTS: tuple[Export, ...] = tuple(_registered)
