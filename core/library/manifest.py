"""The manifest of a run and its strict JSON; imports the standard library and our records only."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TypedDict

from core.errors import LibraryError, Notice
from core.fields import is_text
from core.library.strict_json import (
    JsonObject,
    bad,
    count_of,
    moment_of,
    number_of,
    object_of,
    one_of,
    optional_object,
    same_keys,
    text_of,
    texts_of,
    typed,
)
from core.metrics.records import Audit
from core.metrics.verdict_codes import VerdictCode
from core.predictions import ScoreKind, Task

SCHEMA_VERSION = 4
SINCE_4 = ("groups", "weights")  # of a split
SINCE_2 = ("config", "environment", "history")
SHIFTED = ("corrupted-", "cifar10c-")  # beginnings of the names of splits of corrupted images
ROLES = ("train", "val", "test", "shifted", "ood")
HISTORY_KIND = "history"  # a run that is a gamma history alone
HISTORY, BINS, VALIDATION = "history.parquet", "bins.parquet", "validation.safetensors"
RUN_ID = re.compile(r"[a-z0-9](-?[a-z0-9]){0,39}", re.ASCII)
SPLIT_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,59}", re.ASCII)
MAX_NAME, MAX_TAG, MAX_TAGS = 300, 60, 30


class ValueRange(TypedDict):
    """A value and its interval; fractions."""

    value: float | None
    low: float | None
    high: float | None


class SignedGap(TypedDict):
    """Mean confidence minus accuracy and its interval; fractions."""

    gap: float | None
    low: float | None
    high: float | None


class Summary(TypedDict):
    """The headline numbers of one split, as the list of runs shows them."""

    accuracy: float | None
    ece: ValueRange
    floor_q95: float | None
    gap: SignedGap
    verdict: str


@dataclass(frozen=True)
class SplitEntry:
    """One split of a run.

    Parameters
    ----------
    n : int
        Rows, at least 1.
    file : str
        Path inside the run's folder.
    digest : str
        `Predictions.digest` of the split.
    row_ids : str
        Digest of the row ids, empty when the split has none.
    renormalise : bool
        Rows of probabilities are divided by their sum, as a notice says.
    role : str
        One of ROLES: ``shifted`` for labelled images that were corrupted, ``ood`` for inputs that
        belong to none of the classes and have no labels.
    groups, weights : str
        Columns that say which rows belong together, and how many each stands for; empty where
        none was chosen.
    """

    n: int
    file: str
    digest: str
    row_ids: str
    renormalise: bool
    role: str
    groups: str = ""
    weights: str = ""


@dataclass(frozen=True)
class RunSource:
    """Where a run came from: file name, digest of its bytes, and how it was read."""

    file: str
    digest: str
    recipe: JsonObject | None = None


@dataclass(frozen=True)
class HistoryEntry:
    """What is kept of a run's training, by epoch.

    Parameters
    ----------
    file, bins, validation : str or None
        HISTORY, BINS and VALIDATION inside the run's folder: metrics, bins with their gammas, and
        logits of the validation part; None for what there is not.
    epochs : int
        How many, at least 1.
    last : mapping of str to float or None
        Metrics of the last epoch.
    """

    file: str | None
    bins: str | None
    validation: str | None
    epochs: int
    last: Mapping[str, float | None]

    @property
    def files(self) -> list[str]:
        """Names of the files there are."""
        return [name for name in (self.file, self.bins, self.validation) if name is not None]


@dataclass(frozen=True)
class Manifest:
    """Everything about a run that is not an array; see `RunSource`, `SplitEntry`, `Summary`.

    `created` is UTC in ISO 8601; `metrics` maps a split to its headline numbers. Runs of kind
    ``history`` are gamma histories without predictions: no splits, task and scores empty, no
    classes. `config` and `environment` are those of a training.
    """

    schema_version: int
    id: str
    name: str
    kind: str
    owner: str
    created: str
    description: str
    task: str
    scores: str
    n_classes: int
    class_names: tuple[str, ...]
    splits: Mapping[str, SplitEntry]
    source: RunSource
    notices: tuple[Notice, ...]
    tags: tuple[str, ...]
    metrics: Mapping[str, Summary]
    code_version: str
    config: JsonObject | None = None
    environment: JsonObject | None = None
    history: HistoryEntry | None = None

    @property
    def labelled(self) -> tuple[str, ...]:
        """The splits that can be audited: all but those of role ``ood``."""
        return tuple(name for name, entry in self.splits.items() if entry.role != "ood")

    @property
    def headline(self) -> str:
        """The split that a list shows: the test part, else the first one with numbers, else ""."""
        if "test" in self.labelled:
            return "test"
        return next(iter(self.metrics or self.labelled), "")

    @property
    def files(self) -> list[str]:
        """Paths of all arrays and tables inside the run's folder."""
        tables = self.history.files if self.history else []
        return [*(entry.file for entry in self.splits.values()), *tables]

    def to_json(self) -> JsonObject:
        """Return plain JSON; `from_json` gives an equal manifest back."""
        return json.loads(json.dumps(asdict(self), allow_nan=False))  # type: ignore[no-any-return]


def summarise(audit: Audit) -> Summary:
    """Return the headline numbers of an audit; values that it lacks are None."""
    metrics = audit.main.metrics
    ece, accuracy = metrics.get("ece"), metrics.get("accuracy")
    floor = audit.main.noise_floor.get("ece")
    direction = audit.main.direction
    return Summary(
        accuracy=accuracy.value if accuracy else None,
        ece=ValueRange(
            value=ece.value if ece else None,
            low=ece.low if ece else None,
            high=ece.high if ece else None,
        ),
        floor_q95=floor.q95 if floor else None,
        gap=SignedGap(gap=direction.gap, low=direction.low, high=direction.high),
        verdict=audit.main.verdict.code,
    )


def checked_name(name: str) -> str:
    """Return the name as given, or refuse one that cannot be shown or stored."""
    if not name.strip() or len(name) > MAX_NAME or not is_text(name):
        raise LibraryError(
            "NAME",
            f"the name has {len(name)} characters",
            f"give 1 to {MAX_NAME} characters of ordinary text",
        )
    return name


def checked_tags(tags: Sequence[str]) -> tuple[str, ...]:
    """Return the tags stripped, in order, each once; refuse empty or overlong ones."""
    out = tuple(dict.fromkeys(tag.strip() for tag in tags))
    if len(out) > MAX_TAGS or any(not 0 < len(t) <= MAX_TAG or not is_text(t) for t in out):
        raise LibraryError(
            "TAGS",
            f"{len(out)} tags, the longest of {max(map(len, out))} characters",
            f"give at most {MAX_TAGS} tags of 1 to {MAX_TAG} characters",
        )
    return out


def checked_id(run_id: str) -> str:
    """Return the id, or refuse what no run can be called; nothing else may touch a path."""
    if not RUN_ID.fullmatch(run_id):
        raise LibraryError(
            "RUN_UNKNOWN", f"{run_id[:60]!r} is not the id of a run", "pick a run from the list"
        )
    return run_id


def split_file(split: str) -> str:
    """Return where a split lies inside the run's folder, or refuse its name."""
    if not SPLIT_NAME.fullmatch(split):
        raise LibraryError(
            "SPLIT_NAME",
            f"{split[:60]!r} cannot name a split",
            "use letters, digits, - and _, at most 60",
        )
    return f"predictions/{split}.safetensors"


def from_json(data: object) -> Manifest:
    """Return the manifest that `to_json` wrote.

    Raises
    ------
    LibraryError
        SCHEMA_VERSION for a newer program's manifest; MANIFEST for anything else that is not one.
    """
    version = data.get("schema_version") if isinstance(data, dict) else None
    if not isinstance(data, dict) or not isinstance(version, int):
        raise bad("no schema_version")
    if version not in range(1, SCHEMA_VERSION + 1):
        raise LibraryError(
            "SCHEMA_VERSION",
            f"the run has schema {version}, this program reads {SCHEMA_VERSION}",
            "open it with the version of Candor that wrote it",
        )
    if version == 1:
        data = dict.fromkeys(SINCE_2) | data
    same_keys(Manifest, data, "manifest")
    splits = {
        split: _split(split, entry, version) for split, entry in object_of(data, "splits").items()
    }
    history = None if data["history"] is None else _history(object_of(data, "history"))
    return Manifest(
        **_texts(data) | _scores(data, splits, history),
        schema_version=SCHEMA_VERSION,
        id=checked_id(text_of(data, "id")),
        name=checked_name(text_of(data, "name")),
        class_names=texts_of(data, "class_names"),
        splits=splits,
        source=_source(object_of(data, "source")),
        notices=tuple(_notice(item) for item in typed(data, "notices", list)),
        tags=checked_tags(texts_of(data, "tags")),
        metrics={
            split: _summary(split, splits, summary)
            for split, summary in object_of(data, "metrics").items()
        },
        config=optional_object(data, "config"),
        environment=optional_object(data, "environment"),
        history=history,
    )


def _texts(data: JsonObject) -> JsonObject:
    keys = ("kind", "owner", "description", "code_version")
    return {key: text_of(data, key) for key in keys} | {"created": moment_of(data, "created")}


def role_of(split: str, *, labelled: bool) -> str:
    """Return what a split is for, which its name says; see `SplitEntry`."""
    if not labelled:
        return "ood"
    if split.startswith(SHIFTED):
        return "shifted"
    return split if split in ("train", "val") else "test"


def _split(split: str, entry: object, version: int) -> SplitEntry:
    if not isinstance(entry, dict):
        raise bad(f"split {split[:60]!r} is not an object")
    if version < 3:
        entry = {"role": role_of(split, labelled=True)} | entry
    if version < 4:
        entry = dict.fromkeys(SINCE_4, "") | entry
    same_keys(SplitEntry, entry, "split")
    if entry["file"] != split_file(split):
        raise bad(f"split {split} lies in another place")
    return SplitEntry(
        n=count_of(entry, "n"),
        file=entry["file"],
        digest=text_of(entry, "digest"),
        row_ids=text_of(entry, "row_ids"),
        renormalise=typed(entry, "renormalise", bool),
        role=one_of(ROLES, entry, "role"),
        groups=text_of(entry, "groups"),
        weights=text_of(entry, "weights"),
    )


def _scores(
    data: JsonObject, splits: Mapping[str, SplitEntry], history: HistoryEntry | None
) -> JsonObject:
    """Return what describes the scores; a gamma history has none."""
    if splits:
        task, kind = one_of([*Task], data, "task"), one_of([*ScoreKind], data, "scores")
        return {"task": task, "scores": kind, "n_classes": count_of(data, "n_classes")}
    if data["kind"] != HISTORY_KIND or history is None or history.bins is None:
        raise bad("splits is empty")
    nothing = {"task": "", "scores": "", "n_classes": 0}
    if {key: data[key] for key in nothing} != nothing:
        raise bad("task, scores or n_classes are given without splits")
    return nothing


def _history(data: JsonObject) -> HistoryEntry:
    same_keys(HistoryEntry, data, "history")
    places = {"file": HISTORY, "bins": BINS, "validation": VALIDATION}
    for key, place in places.items():
        if data[key] not in (None, place):
            raise bad(f"{key} lies in another place")
    last = object_of(data, "last")
    return HistoryEntry(
        **{key: data[key] for key in places},
        epochs=count_of(data, "epochs"),
        last={metric: number_of(last, metric) for metric in last},
    )


def _source(data: JsonObject) -> RunSource:
    same_keys(RunSource, data, "source")
    return RunSource(
        text_of(data, "file"), text_of(data, "digest"), optional_object(data, "recipe")
    )


def _notice(data: object) -> Notice:
    if not isinstance(data, dict):
        raise bad("a notice is not an object")
    same_keys(Notice, data, "notice")
    return Notice(text_of(data, "code"), text_of(data, "text"))


def _summary(split: str, splits: Mapping[str, SplitEntry], data: object) -> Summary:
    if split not in splits or not isinstance(data, dict):
        raise bad(f"metrics name {split[:60]!r}, which is no split")
    same_keys(Summary, data, "metrics")
    ece, gap = object_of(data, "ece"), object_of(data, "gap")
    same_keys(ValueRange, ece, "ece")
    same_keys(SignedGap, gap, "gap")
    return Summary(
        accuracy=number_of(data, "accuracy"),
        ece=ValueRange(
            value=number_of(ece, "value"), low=number_of(ece, "low"), high=number_of(ece, "high")
        ),
        floor_q95=number_of(data, "floor_q95"),
        gap=SignedGap(
            gap=number_of(gap, "gap"), low=number_of(gap, "low"), high=number_of(gap, "high")
        ),
        verdict=one_of(tuple(VerdictCode), data, "verdict"),
    )
