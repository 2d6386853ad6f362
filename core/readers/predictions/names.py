"""What the names of keys, columns and classes say, and which of them mean the same.

And several sets of scores in one file: logits beside probabilities, or columns of several models.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from unicodedata import normalize

import numpy as np
import numpy.typing as npt

from core.arrays import Float, log_sigmoid, log_softmax, row_chunks
from core.codes import NoticeCode
from core.errors import Notice, Refused
from core.predictions import BLANK_DATES, DATE, ScoreKind
from core.readers.formats.contents import Contents, Entry, is_binary, is_text, is_whole
from core.readers.predictions.result import ReadChoice, join_names, undecided


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
WITH_CORRECT = {"is", "was", "top", "1", "answer", "pred", "prediction", "feedback"}
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
    named = words & (CORRECT | WRONG) and words <= CORRECT | WRONG | WITH_CORRECT
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
    answers = words & CORRECT and words <= CORRECT | WITH_CORRECT  # "correct": "B" is the truth
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


CHANCE = ("prob", "proba", "probability", "p", "pr", "risk", "score")  # before what it is of
GENERIC = {"pos", "positive", "true", "yes", "event", "case", "target", "outcome", "label", "hit"}
MODELS = {  # what a column of scores is named for where it is not its event
    "ai", "algorithm", "base", "baseline", "best", "binary", "calibrated", "clf", "cnn", "ens",
    "ensemble", "final", "gbm", "hat", "lgbm", "lr", "max", "mean", "median", "min", "ml", "mlp",
    "new", "nn", "old", "platt", "raw", "reader", "recalibrated", "rf", "scaled", "svm", "total",
    "uncalibrated", "vit", "xgb",
}  # fmt: skip
MODEL_PARTS = ("bert", "boost", "classifier", "forest", "former", "model", "net", "regression")
NUMBER = re.compile(r"[+-]?\d{1,17}")
DENIAL = re.compile(r"(?i)(?:no|non|not|without|kein|keine|sans)[\W_]+(.+)")
CLOSING = ")]% "
SCORE_WORDS = {*KINDS, *SCORES}
ENDS = {*KINDS, *SCORES, *PREDICTED, *LABELS, "p", "pr", "class", "of", "is", "mean"} - {"z"}


def folded(name: str) -> str:
    """Return a name without case, spaces and separators; a number keeps its sign."""
    text = normalize("NFKC", name).strip().casefold()
    number = re.sub(r"\.0+$", "", text)
    if NUMBER.fullmatch(number):
        return str(int(number))
    return re.sub(r"[^\w<>=+]|_", "", text) or text


def paired(names: Sequence[str], others: Sequence[str]) -> list[int] | None:
    """Return for each name the place of its partner; None where names do not pair one to one."""
    at = {folded(other): place for place, other in enumerate(others)}
    keys = [folded(name) for name in names]
    if len(at) < len(others) or len(set(keys)) < len(names) or set(at) != set(keys):
        return None
    return [at[name] for name in keys]


def paired_columns(names: Sequence[str], others: Sequence[str]) -> list[int] | None:
    """Pair columns by their names, with and without the words that say what they hold."""
    for first in (names, [bare_name(name) for name in names]):
        for second in (others, [bare_name(name) for name in others]):
            places = paired(first, second)
            if places is not None:
                return places
    return None


def bare_name(name: str) -> str:
    """Return a column's name without leading and trailing words that say scores or labels."""
    cut = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[^\W\d_])(?=\d)", "_", name)
    words = re.findall(r"[^\W_]+", cut)
    while words and words[0].casefold() in ENDS:
        words = words[1:]
    while words and words[-1].casefold() in ENDS:
        words = words[:-1]
    return " ".join(words)


def stated_word(name: str) -> str:
    """Return the word in a single column's name that may say which class it states.

    A number counts only beside a word for probabilities: pred_0 is the first output, not class 0.
    """
    word = bare_name(name)
    says_probability = set(words_of(name)) & {*KINDS, "p", "pr"}
    return "" if word.isdigit() and not says_probability else word


def event_name(column: str) -> str:
    """Return the event that a column of probabilities is named for, as good of prob_good.

    Empty where the name may say anything else: a class number, a model, a part of the data.
    """
    cut = re.fullmatch(r"([A-Za-z]+)(?:[_\-. :=]+(.+)|\((.+)\))", column.strip())
    if cut is None or cut[1].casefold() not in CHANCE:
        return ""
    name = (cut[2] or cut[3]).strip()
    words = set(words_of(name))
    other = ASIDE | ENDS | GENERIC | MODELS | SPLITS.keys()
    plain = name.replace("_", "").replace(" ", "").replace("-", "").isalpha() and len(name) > 1
    models = any(part in word for word in words for part in MODEL_PARTS)
    return name.replace("_", " ") if plain and words and not words & other and not models else ""


def class_at(word: str, classes: Sequence[str]) -> int | None:
    """Return which of the classes a word names: by its letters, else by its meaning for two."""
    places = [k for k, name in enumerate(classes) if folded(name) == folded(word)]
    if len(places) == 1:
        return places[0]
    meant, meaning = meanings(classes), polarity(word)
    return None if meant is None or meaning is None or not word else meant.index(meaning)


def meanings(names: Sequence[str]) -> list[int] | None:
    """Return which of two names affirms (1) and which denies (0); None where that is not said.

    One side is enough: beside normal, whatever else there is affirms; beside no tumour, tumour.
    """
    if len(names) != 2:
        return None
    polarities = [polarity(name) for name in names]
    denials = [DENIAL.fullmatch(name.strip()) for name in names]
    denied = [folded(denial[1]) if denial else "" for denial in denials]  # tumour, of no tumour
    shared = common_prefix(list(names))
    rests = [name[len(shared) :] for name in names]  # of BAD0 and BAD1, tested_negative; no T1, TN
    cut = shared[-1:].isalpha() and rests[0].isdigit() and rests[1].isdigit()
    if (cut or not shared[-1:].isalnum()) and shared and not any(denied):
        meant = [polarity(rest) for rest in rests]
        polarities = meant if sorted(map(str, meant)) == ["0", "1"] else polarities
    for k in (0, 1):
        if denied[k] and denied[k] == folded(names[1 - k]):
            return [0, 1] if k == 0 else [1, 0]
    if sorted(map(str, polarities)) == ["0", "1"]:
        return [int(str(meaning)) for meaning in polarities]
    for k in (0, 1):  # a single letter says too little by itself
        meaning = polarities[k]
        if meaning is not None and polarities[1 - k] is None and len(names[k].strip()) > 1:
            return [meaning, 1 - meaning] if k == 0 else [1 - meaning, meaning]
    return None


def by_meaning(names: Sequence[str], others: Sequence[str]) -> list[int] | None:
    """Return for each of two names its partner, where each pair affirms and denies."""
    first, second = meanings(names), meanings(others)
    if first is None or second is None:
        return None
    return [second.index(meaning) for meaning in first]


def aligned(answers: Sequence[str], labels: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return two columns of words so that those which mean the same are the same."""
    first, second = [folded(word) for word in answers], [folded(word) for word in labels]
    mine, theirs = sorted(set(first)), sorted(set(second))
    if all(word.isdigit() for word in theirs):  # LABEL_2 of transformers is class 2
        numbers = [re.sub(r"^(label|class)(?=\d+$)", "", word) for word in first]
        first = numbers if set(numbers) <= set(theirs) else first  # no LABEL_0 beside 1, 2, 3
        mine = sorted(set(first))
    places = None if set(mine) & set(theirs) else by_meaning(mine, theirs)
    if places is not None:
        partner = {word: theirs[place] for word, place in zip(mine, places, strict=True)}
        first = [partner[word] for word in first]
    return first, second


def by_initial(letters: Sequence[str], names: Sequence[str]) -> list[int] | None:
    """Return for each single letter the one name that begins with it; None where one is unsure."""
    if not all(len(letter.strip()) == 1 and letter.strip().isalpha() for letter in letters):
        return None
    starts = [folded(name)[:1] for name in names]
    keys = [folded(letter) for letter in letters]
    if any(starts.count(key) != 1 for key in keys):
        return None
    return [starts.index(key) for key in keys]


def counts_up(names: Sequence[str]) -> bool:
    """Whether names only count columns, from 0 or 1, perhaps after one shared beginning."""
    ends = [re.fullmatch(r"(.*?)(\d{1,9})", name.strip()) for name in names]
    parts = [end.groups() for end in ends if end]
    numbers = [int(number) for _, number in parts]
    one_start = len({start for start, _ in parts}) == 1
    ups = (list(range(len(names))), list(range(1, len(names) + 1)))
    return len(parts) == len(names) and one_start and numbers in ups


def class_names(columns: list[str]) -> tuple[str, ...]:
    """Return what is left of column names without what they share up to a separator.

    That is a common beginning; or a word at the end of each that says scores, as in A_prob.
    """
    bare = [_without_end(name) for name in columns]
    if len(columns) > 1 and all(
        len(cut) < len(name) for cut, name in zip(bare, columns, strict=True)
    ):
        columns = bare
    shared = common_prefix(columns)
    prefix = re.match(r".*[_\-. :=(\[]", shared)
    cut = len(prefix.group()) if prefix and len(columns) > 1 else 0
    names = [name[cut:] for name in columns]
    ends = {name[len(name.rstrip(CLOSING)) :] for name in names}
    if len(columns) > 1 and len(ends) == 1:  # prob(cat), prob(dog)
        names = [name.rstrip(CLOSING) for name in names]
    return tuple(names) if all(names) else tuple(columns)


def common_prefix(names: list[str]) -> str:
    """Return how all names begin."""
    if not names:
        return ""
    first, last = min(names), max(names)  # in sorted order these two differ earliest
    shorter = min(len(first), len(last))
    return first[: next((i for i in range(shorter) if first[i] != last[i]), shorter)]


def without_score_word(name: str) -> str:
    """Return a name without a word for scores at its beginning or end, as cat of prob_cat."""
    cut = re.fullmatch(r"([A-Za-z]+)[_\-. ](.+)", name)
    return cut[2] if cut and cut[1].lower() in SCORE_WORDS else _without_end(name)


def _without_end(name: str) -> str:
    cut = re.fullmatch(r"(.+)[_\-. ]([A-Za-z]+)", name)
    return cut[1] if cut and cut[2].lower() in SCORE_WORDS else name


def with_shared_start(columns: Sequence[str], names: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield names with more and more of what all columns begin with, as Iris of Iris-setosa."""
    ends = [column.rfind(name) for column, name in zip(columns, names, strict=True)]
    if len(set(ends)) > 1 or min(ends, default=-1) < 1:
        return
    for place in range(ends[0] - 1, -1, -1):
        if place == 0 or columns[0][place - 1] in "_-. :=([":
            whole = zip(columns, names, strict=True)
            yield tuple(c[place : ends[0]] + name for c, name in whole)


def without_shared_end(names: Sequence[str]) -> tuple[str, ...]:
    """Return names without the word that all end in, as cat and dog of cat_a and dog_a."""
    ends = {name[max(name.rfind(mark) for mark in "_-. ") :] for name in names}
    end = ends.pop() if len(ends) == 1 else ""
    cut = tuple(name[: len(name) - len(end)] for name in names)
    return cut if end[:1] in tuple("_-. ") and all(cut) else tuple(names)


AGREE = 2e-3  # how far probabilities that were printed to few digits lie from those of the logits


def logits_of_two(
    named: Mapping[str, ScoreKind], matrices: Mapping[str, Entry], keys: Mapping[str, str]
) -> str:
    """Return the name of the logits, where probabilities beside them say the same.

    `keys` say what picks each of the two with --scores-key.

    Raises Question UNDECIDED: they differ.
    """
    logits = next(name for name, kind in named.items() if kind is ScoreKind.LOGITS)
    other = next(name for name in named if name != logits)
    if agree(matrices[logits], matrices[other]):
        return logits
    raise undecided(
        f"{logits} and {other} are not two forms of the same scores",
        *(ReadChoice(f"scores in {name}", {"scores_key": keys[name]}) for name in (logits, other)),
    )


def agree(logits: Entry, probabilities: Entry) -> bool:
    """Whether probabilities are the softmax, or the sigmoid, of logits."""
    if logits.shape != probabilities.shape:
        return False
    if logits.ndim == 1:
        return bool(
            np.abs(np.exp(log_sigmoid(_wide(logits))) - _wide(probabilities)).max() <= AGREE
        )
    return any(
        all(
            np.abs(np.exp(transform(_wide(logits[rows]))) - _wide(probabilities[rows])).max()
            <= AGREE
            for rows in row_chunks(*logits.shape)
        )
        for transform in (log_softmax, log_sigmoid)
    )


def same_softmax(first: Entry, second: Entry) -> bool:
    """Whether two sets of logits differ by a constant in each row only, as log-softmax does."""
    return first.shape == second.shape and all(
        np.abs(
            np.exp(log_softmax(_wide(first[rows]))) - np.exp(log_softmax(_wide(second[rows])))
        ).max()
        <= AGREE
        for rows in row_chunks(*first.shape)
    )


def _wide(block: Entry) -> Float:
    return np.asarray(block.astype(np.float64))


def is_summary(single: npt.NDArray[np.generic], matrix: Entry) -> bool:
    """Whether one column repeats what a matrix says: its largest value, or one of its columns."""
    if single.ndim != 1 or matrix.ndim != 2 or len(single) != len(matrix):
        return False
    wide, column = _wide(matrix), _wide(single)
    sides = (wide.max(axis=1), *wide.T[:2])
    return any(bool(np.abs(side - column).max() <= AGREE) for side in sides)


def model_groups(names: Sequence[str]) -> Iterator[dict[str, list[str]]]:
    """Yield columns by model, as far as names can be made of a model and a class.

    One word of each name, at the same place, divides the columns into groups of two and more
    that have all other words in common.
    """
    for word in dict.fromkeys(re.split(r"[_\-. :]", name)[0] for name in names):
        marked = [n for n in names if re.match(rf"{re.escape(word)}[_\-. :].", n)]
        plain = [n for n in names if n not in marked]
        if len(plain) > 1 and sorted(plain) == sorted(n[len(word) + 1 :] for n in marked):
            yield {" and ".join(plain): plain, word: marked}  # no, yes, cal_no, cal_yes
    by_mark = [re.findall(r"[^_\-. :]+", name) for name in names]
    by_digit = [re.findall(r"[^\W\d_]+|\d+", name) for name in names]
    for place, cut in ((0, by_mark), (-1, by_mark), (1, by_mark), (0, by_digit)):
        if any(len(words) < (3 if place == 1 else 2) for words in cut):
            continue
        groups: dict[str, list[str]] = {}
        rests: dict[str, list[str]] = {}
        for name, words in zip(names, cut, strict=True):
            rest = [*words[:place], *words[place + 1 :]] if place >= 0 else words[:-1]
            groups.setdefault(words[place], []).append(name)
            rests.setdefault(words[place], []).append(" ".join(rest))
        alike = {tuple(sorted(rest)) for rest in rests.values()}
        sizes = {len(group) for group in groups.values()}
        distinct = all(len(set(rest)) == len(rest) for rest in rests.values())
        if len(groups) > 1 and len(alike) == 1 and min(sizes) > 1 and distinct:
            yield groups


def key_of(group: Sequence[str], names: Sequence[str]) -> str:
    """Return what picks a group of columns: their beginning where it is theirs alone, or a list."""
    first, last = min(group), max(group)
    shared = next((i for i in range(len(first)) if first[i] != last[i : i + 1]), len(first))
    prefix = first[:shared]
    if prefix and len(group) > 1 and [n for n in names if n.startswith(prefix)] == list(group):
        return prefix
    return join_names(group)
