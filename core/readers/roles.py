"""What the name of a key or column says about it: scores, labels, ids, and which split."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from core.errors import Refused
from core.predictions import ScoreKind
from core.readers.contents import Entry, is_text, is_whole

SPLITS = {
    **dict.fromkeys(("val", "valid", "validation", "dev", "cal", "calib", "calibration"), "val"),
    **dict.fromkeys(("test", "testing", "tst"), "test"),
    **dict.fromkeys(("train", "training", "trn"), "train"),
}
KINDS = {
    **dict.fromkeys(("logit", "logits"), ScoreKind.LOGITS),
    **dict.fromkeys(("prob", "probs", "proba", "probas"), ScoreKind.PROBABILITIES),
    **dict.fromkeys(("probability", "probabilities", "softmax", "smx"), ScoreKind.PROBABILITIES),
    **dict.fromkeys(("sigmoid", "sigmoids"), ScoreKind.SIGMOID),
}
LABELS = {
    "label",
    "labels",
    "target",
    "targets",
    "y",
    "truth",
    "true",
    "gt",
    "groundtruth",
    "onehot",
}
PREDICTED = {"pred", "preds", "predicted", "prediction", "predictions", "yhat", "answer"}
SCORES = {"score", "scores", "output", "outputs", "z", "yhat", *PREDICTED}
CONFIDENCE = {"confidence", "confidences", "conf", "confs", "msp"}
IDS = {
    "id", "ids", "image", "images", "filename", "filenames", "file", "path", "paths", "uid", "key",
    "case", "study", "patient", "sample", "name", "index", "img", "row",
}  # fmt: skip
CLASS_WORDS = {"class", "classes", "category", "categories"}
CLASS_NAMES = {"class_names", "classes", "classnames", "label_names", "categories", "names"}
SPLIT_COLUMNS = {"split", "fold", "set", "subset", "partition", "phase"}
SETS = "sets/"  # what an exported run holds beside its train, val and test parts
JOINED = {
    "ytest": ("y", "test"), "yval": ("y", "val"), "ytrain": ("y", "train"), "ytrue": ("y", "true"),
    "ypred": ("y", "pred"), "yprob": ("y", "prob"), "yscore": ("y", "score"),
}  # fmt: skip


def refuse_bin_history(names: Iterable[str]) -> None:
    """Refuse a table of bins and gammas by epoch: its confidences are no predictions.

    Raises
    ------
    Refused
        BIN_HISTORY.
    """
    if {"epoch", "bin", "gamma"} <= {name.strip().casefold() for name in names}:
        what = "a history of bins (columns epoch, bin, gamma), not predictions"
        raise Refused("BIN_HISTORY", what, "keep it with python -m core runs import FILE")


class Role(StrEnum):
    """What an entry is for."""

    SCORES = "scores"
    LABELS = "labels"
    PREDICTED = "predicted class"
    CONFIDENCE = "confidence"
    IDS = "row names"
    CLASS_NAMES = "class names"
    SPLIT = "split"
    INDEX = "row number"
    UNUSED = "not used"


@dataclass(frozen=True)
class Named:
    """One entry with what its name says."""

    name: str
    role: Role
    kind: ScoreKind | None = None
    split: str | None = None


def words_of(name: str) -> list[str]:
    """Return the words of a name in lower case: camelCase, snake_case and digits are cut."""
    found = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name[:300])
    out: list[str] = []
    for word in (w.lower() for w in found):
        out.extend(JOINED.get(word, (word,)))
    return out


def name_entry(name: str, entry: Entry) -> Named:
    """Return the role that a name and the shape of its values suggest."""
    if name.startswith(SETS):
        return Named(name, Role.UNUSED)
    words = words_of(name)
    split = next((SPLITS[w] for w in words if w in SPLITS), None)
    rest = {w for w in words if w not in SPLITS}
    role, kind = _text_role(name, rest) if is_text(entry) else _number_role(rest, entry)
    return Named(name, role, kind, split)


def kind_of(words: set[str]) -> ScoreKind | None:
    """Return the kind of scores that words name; a log of probabilities serves as logits."""
    kinds = {KINDS[w] for w in words if w in KINDS}
    if "log" in words and kinds == {ScoreKind.PROBABILITIES}:
        return ScoreKind.LOGITS
    return kinds.pop() if len(kinds) == 1 else None


def _text_role(name: str, words: set[str]) -> tuple[Role, ScoreKind | None]:
    if name.lower() in SPLIT_COLUMNS:
        return Role.SPLIT, None
    if name.lower() in CLASS_NAMES:
        return Role.CLASS_NAMES, None
    for role, vocabulary in ((Role.PREDICTED, PREDICTED), (Role.LABELS, LABELS | CLASS_WORDS)):
        if words & vocabulary:
            return role, None
    return (Role.IDS if words & IDS else Role.UNUSED), None


def _number_role(words: set[str], entry: Entry) -> tuple[Role, ScoreKind | None]:
    flat = entry.ndim == 1
    whole = entry.dtype.kind in "biu"
    numbered = any(w.isdigit() for w in words)
    kind = kind_of(words)
    if words & CONFIDENCE and flat:
        return Role.CONFIDENCE, None
    if kind is not None:
        return Role.SCORES, kind
    if words & PREDICTED:
        answer = flat and (whole or bool(words & (LABELS - {"y"} | CLASS_WORDS)))
        return (Role.PREDICTED if answer else Role.SCORES), None
    if words & SCORES and (not flat or not whole):
        return Role.SCORES, None
    if words & LABELS or (words & CLASS_WORDS and flat and whole and not numbered):
        return Role.LABELS, None
    if words & IDS and flat and not numbered and is_whole(entry):
        return Role.IDS, None
    return Role.UNUSED, None
