"""One split as it lies in a file, not yet judged, and what the name of a key or column says."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from core.codes import NoticeCode
from core.errors import Notice, Refused
from core.predictions import BLANK_DATES, DATE, Dates, Groups, Members, ScoreKind, Votes, Weights
from core.readers.formats.contents import Contents, Entry, is_binary, is_text, is_whole
from core.readers.predictions.result import Question

DEFAULT_SPLIT = "test"  # a lone part is what results are reported on
OF_ROWS = ("groups", "weights", "votes", "dates", "members")  # what each row may have besides


@dataclass(frozen=True)
class SplitArrays:
    """One split before its numbers are judged."""

    split: str  # train, val or test
    # scores, labels: as they lie in the file; labels are None where a second file must bring them
    scores: Entry
    # scores_name, labels_name: keys or columns, for messages
    scores_name: str
    contents: Contents  # where they come from, for row names, printed digits and coarse dtypes
    labels: Entry | None = None
    labels_name: str = ""
    kind: ScoreKind | None = None  # what a key or header says the scores are
    predicted: Entry | None = None  # the stated answers of a top-label file
    ids: Entry | None = None  # names of the rows, text
    class_names: tuple[str, ...] = ()  # names of the columns; empty when there are none
    # Of a single column of scores: the word in its name that may say which class it states
    stated: str = ""
    # What was assumed about columns, keys and rows, and must be borne out by the answers
    guesses: tuple[Question, ...] = ()
    rows: Entry | None = None  # rows of the file, when a split column picked some
    label_rows: Entry | None = None  # rows of the label file, when they come in another order
    groups: Groups | None = None
    weights: Weights | None = None
    votes: Votes | None = None
    dates: Dates | None = None
    members: Members | None = None

    def row(self, index: int) -> str:
        """Return how a message names a row of this part."""
        return self.contents.row(index if self.rows is None else int(self.rows[index]))

    def take(self, split: str, rows: Entry) -> "SplitArrays":
        """Return the rows of one split."""

        def cut(array: Entry | None) -> Entry | None:
            return None if array is None else array[rows]

        of_rows = {key: getattr(self, key) for key in OF_ROWS}
        kept = {k: replace(c, of_row=c.of_row[rows]) for k, c in of_rows.items() if c is not None}
        return replace(
            self,
            split=split,
            scores=self.scores[rows],
            labels=cut(self.labels),
            predicted=cut(self.predicted),
            ids=cut(self.ids),
            rows=rows if self.rows is None else self.rows[rows],
            label_rows=cut(self.label_rows),
            **kept,
        )


@dataclass(frozen=True)
class FileLayout:
    """The parts of a file, the roles of its entries, and what had to be guessed."""

    parts: tuple[SplitArrays, ...]
    roles: dict[str, str]
    notices: tuple[Notice, ...] = ()


def ambiguous(what: str, remedy: str, location: str = "") -> Refused:
    """Return the refusal for want of a choice."""
    return Refused("AMBIGUOUS_KEYS", what, remedy, location)


def listed(names: list[str] | tuple[str, ...]) -> str:
    """Return a short list of names for a sentence."""
    shown = ", ".join(name[:60] for name in names[:6])
    return f"{shown} and {len(names) - 6} more" if len(names) > 6 else shown


def counted(count: int, noun: str) -> str:
    """Return a number with its noun, in the plural unless it is one."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def label_like(entry: Entry, n_rows: set[int]) -> bool:
    """Whether values could be labels of that many rows: whole numbers or text in one column."""
    flat = entry.ndim == 1 or (entry.ndim == 2 and 1 in entry.shape)
    if not flat or entry.size not in n_rows:
        return False
    if entry.dtype.kind == "f":
        return bool(np.all(np.isfinite(entry)) and np.all(entry == np.floor(entry)))
    return True


SPLITS = {
    **dict.fromkeys(("val", "valid", "validation", "dev", "cal", "calib", "calibration"), "val"),
    **dict.fromkeys(("test", "testing", "tst", "holdout", "heldout"), "test"),
    **dict.fromkeys(("train", "training", "trn"), "train"),
}
KINDS = {
    **dict.fromkeys(("logit", "logits"), ScoreKind.LOGITS),
    **dict.fromkeys(("prob", "probs", "proba", "probas"), ScoreKind.PROBABILITIES),
    **dict.fromkeys(("probability", "probabilities", "softmax", "smx"), ScoreKind.PROBABILITIES),
    "phat": ScoreKind.PROBABILITIES,
    **dict.fromkeys(("sigmoid", "sigmoids"), ScoreKind.SIGMOID),
}
PREDICTED = {
    "pred", "preds", "predict", "predicted", "scored", "prediction", "predictions", "yhat",
    "answer", "pgr",
}  # fmt: skip
LABELS = {
    "label", "labels", "target", "targets", "y", "truth", "true", "gt", "groundtruth", "onehot",
    "gold", "golds", "reference", "references", "actual", "actuals", "outcome", "outcomes",
    "observed", "obs", "diagnosis", "dx", "finding", "findings",
}  # fmt: skip
# Whether the answer was right; such a name may hold nothing else, as in is_correct or hit_1.
CORRECT = {
    "correct", "correctness", "iscorrect", "right", "hit", "hits", "acc", "accuracy", "accuracies",
    "richtig",
}  # fmt: skip
WRONG = {"incorrect", "wrong", "iswrong", "error", "misclassified"}
CORRECT_BESIDE = {"is", "was", "top", "1", "answer", "pred", "prediction", "feedback"}
TRUE_ANSWER = {"gold", "reference", "expected", "groundtruth", "actual"}  # before answer, output
# What a table or a file of arrays holds beside scores: none of it is a class.
ASIDE = {
    "loss", "losses", "time", "times", "ms", "seconds", "latency", "duration", "margin", "margins",
    "feature", "features", "feat", "feats", "embedding", "embeddings", "emb", "pixel", "pixels",
    "hidden", "latent", "entropy", "variance", "var", "std", "sd", "stderr", "uncertainty", "x",
    "epoch", "step", "age", "sex", "gender", "year", "weight", "weights", "timestamp", "rank",
    "tokens", "length", "dice", "iou", "jaccard",
}  # fmt: skip
QUALITY = re.compile(r"label_(quality_)?scores?|label_quality")  # as Cleanlab judges a label
ISSUE = re.compile(r"is_\w+_issue")
BOUNDS = {"lower", "upper", "ci"}
SPREAD = {"std", "sd", "var", "variance", "stderr", *BOUNDS}  # beside a mean
MARGINS = {"decision"}  # a classifier's decision function: ordered, but on no scale of its own
SCORES = {"score", "scores", "output", "outputs", "z", "p", "yhat", *MARGINS, *PREDICTED}
CONFIDENCE = {"confidence", "confidences", "conf", "confs", "msp"}
IDS = {
    "id", "ids", "image", "images", "filename", "filenames", "file", "path", "paths", "uid", "key",
    "case", "study", "patient", "sample", "name", "index", "img", "row",
}  # fmt: skip
POSITIVE = {
    "true", "yes", "y", "t", "pos", "positive", "1", "abnormal", "disease", "diseased", "malignant",
    "present", "sick", "case", "event", "positiv", "ja", "oui", "si", "sí", "krank", "malade",
}  # fmt: skip
NEGATIVE = {
    "false", "no", "n", "f", "neg", "negative", "0", "normal", "healthy", "benign", "absent",
    "well", "control", "none", "negativ", "nein", "non", "gesund", "sain",
}  # fmt: skip
RIGHTLY = POSITIVE | {"correct", "right", "richtig", "juste"}
WRONGLY = NEGATIVE | {"incorrect", "wrong", "falsch", "faux"}
CLASS_WORDS = {"class", "classes", "category", "categories"}
CLASS_NAMES = {
    "class_names", "classes", "classes_", "target_names", "classnames", "label_names",
    "pathologies", "categories", "names",
}  # fmt: skip
ROW_FOR_EACH = {"class", "category", "model", "method", "seed", "run", "annotator"}
SPLIT_COLUMNS = {"split", "fold", "set", "subset", "partition", "phase"}
INDEX_NAMES = {"", "unnamed: 0", "index", "level_0", "__index_level_0__"}  # of pandas
METRICS = {
    "loss", "acc", "accuracy", "fscore", "auc", "auroc", "auprc", "precision", "recall", "support",
    "metric", "value", "map", "bleu", "rouge", "perplexity", "ece", "brier", "nll", "mae", "mse",
    "rmse", "specificity", "sensitivity", "lr", "top",
}  # fmt: skip
# Where groups, weights and votes came from, in an exported run.
GROUP_NAME, WEIGHT_NAME, VOTES_NAME = "group_name", "weight_name", "votes_name"
DATE_NAME, MEMBERS_NAME = "date_name", "members_name"  # and dates, and members
BIRTH = {"birth", "birthdate", "birthday", "born", "dob"}
HEAD = 200  # cells that show what a column of text holds
SETS = "sets/"  # what an exported run holds beside its train, val and test parts
JOINED = {
    "ytest": ("y", "test"), "yval": ("y", "val"), "ytrain": ("y", "train"), "ytrue": ("y", "true"),
    "xtest": ("x", "test"), "xval": ("x", "val"), "xtrain": ("x", "train"),
    "ypred": ("y", "pred"), "yprob": ("y", "prob"), "yscore": ("y", "score"),
}  # fmt: skip


def refuse_bin_history(names: Iterable[str]) -> None:
    """Refuse a table of bins and gammas by epoch: its confidences are no predictions.

    Raises Refused BIN_HISTORY.
    """
    if {"epoch", "bin", "gamma"} <= {name.strip().casefold() for name in names}:
        what = "A history of bins (columns epoch, bin, gamma), not predictions"
        raise Refused("BIN_HISTORY", what, "keep it with python -m core runs import FILE")


def without_unread(contents: Contents, unread: Mapping[str, Refused]) -> Contents:
    """Return a table that says which columns could not be read.

    Raises Refused: why one could not, if it is called scores, if another would be read in its
    place, or if there is no other.
    """
    roles = {name_entry(n, e).role for n, e in contents.entries.items()} if unread else set()
    for name, refusal in unread.items():
        plain = set(words_of(name)) <= PLAIN
        instead = roles & STAND_IN.get(name_entry(name, np.zeros(1)).role, set()) if plain else ()
        if not roles or instead or name_entry(name, np.empty((1, 2))).role is Role.SCORES:
            raise refusal
    text = f"not a number, a text or a list of numbers in every row: {', '.join(unread)}"
    notices = (Notice(NoticeCode.KEYS_GUESSED, text),) if unread else ()
    return replace(contents, unread=unread, notices=(*contents.notices, *notices))


class Role(StrEnum):
    """What an entry is for."""

    SCORES = "scores"
    LABELS = "labels"
    CORRECT = "whether it was right"
    PREDICTED = "predicted class"
    CONFIDENCE = "confidence"
    IDS = "row names"
    CLASS_NAMES = "class names"
    GROUP = "rows that belong together"
    WEIGHT = "what rows count as"
    VOTES = "what people said"
    DATE = "when"
    MEMBERS = "members of an ensemble"
    SPLIT = "split"
    INDEX = "row number"
    ASIDE = "no score"
    UNUSED = "not used"


PLAIN = {*LABELS, *CORRECT, *PREDICTED, *CONFIDENCE, *SPLITS, "is", "was", "class"}
STAND_IN = {  # what would be read in place of a column
    Role.LABELS: {Role.LABELS},
    Role.CORRECT: {Role.CORRECT, Role.LABELS},
    Role.PREDICTED: {Role.PREDICTED, Role.CONFIDENCE},
    Role.CONFIDENCE: {Role.CONFIDENCE, Role.SCORES},
}


@dataclass(frozen=True)
class NamedEntry:
    """One entry with what its name says."""

    name: str
    role: Role
    kind: ScoreKind | None = None
    split: str | None = None


def words_of(name: str) -> list[str]:
    """Return the words of a name in lower case: camelCase, snake_case and digits are cut."""
    parts = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name[:300])
    out: list[str] = []
    for word in (w.lower() for w in parts):
        out.extend(JOINED.get(word, (word,)))
    return out


def name_entry(name: str, entry: Entry) -> NamedEntry:
    """Return the role that a name and the shape of its values suggest."""
    if name.startswith(SETS):
        return NamedEntry(name, Role.UNUSED)
    words = words_of(name)
    split = next((SPLITS[w] for w in words if w in SPLITS), None)
    rest = {w for w in words if w not in SPLITS}
    role, kind = _text_role(name, rest, entry) if is_text(entry) else _number_role(rest, entry)
    return NamedEntry(name, role, kind, split)


def kind_of(words: set[str]) -> ScoreKind | None:
    """Return the kind of scores that words name; a log of probabilities serves as logits."""
    kinds = {KINDS[w] for w in words if w in KINDS}
    if "log" in words and kinds == {ScoreKind.PROBABILITIES}:
        return ScoreKind.LOGITS
    return kinds.pop() if len(kinds) == 1 else None


def says_correct(words: set[str], entry: Entry) -> bool:
    """Whether a name and values of two kinds say of each row whether its answer was right."""
    named = words & (CORRECT | WRONG) and words <= CORRECT | WRONG | CORRECT_BESIDE
    return bool(named) and entry.ndim == 1 and truths(entry) is not None


def correctness(name: str, entry: Entry) -> npt.NDArray[np.bool_] | None:
    """Return whether each answer was right; a column of errors says the opposite."""
    values = truths(entry)
    return values if values is None or not set(words_of(name)) & WRONG else ~values


def truths(entry: Entry) -> npt.NDArray[np.bool_] | None:
    """Return 0/1, True/False, yes/no as truth values; None where a value is anything else."""
    if not is_text(entry):
        return np.asarray(entry == 1) if entry.ndim == 1 and is_binary(entry) else None
    cells = [str(cell).strip().casefold() for cell in entry.reshape(-1).tolist()]
    if set(cells) <= {"c", "i"}:  # correct and incorrect, as Inspect writes
        return np.array([cell == "c" for cell in cells], dtype=np.bool_)
    if not all(cell in RIGHTLY or cell in WRONGLY for cell in set(cells)):
        return None
    return np.array([cell in RIGHTLY for cell in cells], dtype=np.bool_)


def polarity(word: str) -> int | None:
    """Return 1 for a word that affirms, 0 for one that denies, None for any other."""
    folded = word.strip().casefold()
    return 1 if folded in POSITIVE else 0 if folded in NEGATIVE else None


def _text_role(name: str, words: set[str], entry: Entry) -> tuple[Role, ScoreKind | None]:
    if name.lower() in SPLIT_COLUMNS:
        return Role.SPLIT, None
    if name.lower() in CLASS_NAMES:
        repeated = len(set(entry.reshape(-1).tolist())) <= entry.size / 2 and words != {"names"}
        if not repeated:
            return Role.CLASS_NAMES, None
        words = words | CLASS_WORDS  # the labels of rows
    # Cells that look like days: what `core.predictions.Dates` makes of all is another thing.
    cells = [str(cell).strip() for cell in entry[:HEAD].tolist()] if entry.ndim == 1 else []
    known = [cell for cell in cells if cell.lower() not in BLANK_DATES]
    if known and all(DATE.fullmatch(cell) for cell in known):
        return (Role.ASIDE if words & BIRTH else Role.DATE), None
    inspected = words & {"score"} and {str(c).strip() for c in entry.flat} == {"C", "I"}
    if inspected or says_correct(words, entry):
        return Role.CORRECT, None
    answers = words & CORRECT and words <= CORRECT | CORRECT_BESIDE  # "correct": "B" is the truth
    if answers or (words & {"correct"} and words & PREDICTED):
        return Role.LABELS, None
    if words & TRUE_ANSWER and words & {"answer"} and not words & PREDICTED - {"answer"}:
        return Role.LABELS, None
    for role, vocabulary in ((Role.PREDICTED, PREDICTED), (Role.LABELS, LABELS | CLASS_WORDS)):
        if words & vocabulary:
            return role, None
    return (Role.IDS if words & IDS else Role.UNUSED), None


def _number_role(words: set[str], entry: Entry) -> tuple[Role, ScoreKind | None]:
    flat = entry.ndim == 1 or (entry.ndim == 2 and entry.shape[1] == 1)
    whole = entry.dtype.kind in "biu"
    numbered = any(w.isdigit() for w in words)
    kind = kind_of(words)
    if says_correct(words, entry):
        return Role.CORRECT, None
    if words & SPREAD and not words & LABELS:
        # Probabilities go where no standard deviation of any does: beyond one half.
        beyond = entry.ndim == 1 and entry.dtype.kind == "f" and entry.size > 0
        beyond = beyond and bool(0.5 < entry.max() <= 1.0 and entry.min() >= 0.0)
        if words & BOUNDS or not (kind and beyond):
            return Role.ASIDE, None
    if words & CONFIDENCE and flat:
        return Role.CONFIDENCE, None
    if kind is not None:
        return Role.SCORES, kind
    wordy = any(len(w) > 1 and not w.isdigit() for w in words)  # x is a feature, p(x|risk) is none
    if words & ASIDE - ({"x"} if wordy else set()) and not words & (LABELS | PREDICTED):
        return Role.ASIDE, None
    true_answer = words & TRUE_ANSWER and not words & PREDICTED - {"answer"}
    if words & PREDICTED and not true_answer:
        answer = flat and (whole or is_whole(entry))
        return (Role.PREDICTED if answer else Role.SCORES), None
    # Whole numbers under the name of scores are that where they are more than two, as in percent.
    graded = words & {"score", "scores"} and np.unique(entry[:1_000]).size > 2
    if words & SCORES and (not flat or not whole or graded):
        return Role.SCORES, None
    if words & (LABELS | TRUE_ANSWER) or (words & CLASS_WORDS and flat and whole and not numbered):
        return Role.LABELS, None
    if words & IDS and flat and not numbered and is_whole(entry):
        return Role.IDS, None
    return Role.UNUSED, None
