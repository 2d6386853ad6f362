"""The manifest of a run and its strict JSON; imports the standard library and our records only."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypedDict, TypeVar

from core.errors import LibraryError, Notice
from core.metrics.records import Audit
from core.predictions import ScoreKind, Task

SCHEMA_VERSION = 1
RUN_ID = re.compile(r"[a-z0-9](-?[a-z0-9]){0,39}", re.ASCII)
SPLIT_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,59}", re.ASCII)
MAX_NAME, MAX_TAG, MAX_TAGS = 300, 60, 30
JsonObject = dict[str, Any]  # Any: JSON as it came, checked field by field below
T = TypeVar("T")


class Range(TypedDict):
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
    ece: Range
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
    """

    n: int
    file: str
    digest: str
    row_ids: str
    renormalise: bool


@dataclass(frozen=True)
class Source:
    """Where a run came from: file name, digest of its bytes, and how it was read."""

    file: str
    digest: str
    recipe: JsonObject | None = None


@dataclass(frozen=True)
class Manifest:
    """Everything about a run that is not an array; see `Source`, `SplitEntry`, `Summary`.

    `created` is UTC in ISO 8601; `metrics` maps a split to its headline numbers.
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
    source: Source
    notices: tuple[Notice, ...]
    tags: tuple[str, ...]
    metrics: Mapping[str, Summary]
    code_version: str

    @property
    def headline(self) -> str:
        """The split that a list shows: the test part, else the first one with numbers."""
        if "test" in self.splits:
            return "test"
        return next(iter(self.metrics or self.splits))

    def to_json(self) -> JsonObject:
        """Return plain JSON; `from_json` gives an equal manifest back."""
        return json.loads(json.dumps(asdict(self), allow_nan=False))  # type: ignore[no-any-return]


def summarise(audit: Audit) -> Summary:
    """Return the headline numbers of an audit; values that it lacks are None."""
    found = audit.main.metrics
    ece, accuracy = found.get("ece"), found.get("accuracy")
    floor = audit.main.noise_floor.get("ece")
    direction = audit.main.direction
    return Summary(
        accuracy=accuracy.value if accuracy else None,
        ece=Range(
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
    if not name.strip() or len(name) > MAX_NAME or not _is_text(name):
        raise LibraryError(
            "NAME",
            f"the name has {len(name)} characters",
            f"give 1 to {MAX_NAME} characters of ordinary text",
        )
    return name


def checked_tags(tags: Sequence[str]) -> tuple[str, ...]:
    """Return the tags stripped, in order, each once; refuse empty or overlong ones."""
    out = tuple(dict.fromkeys(tag.strip() for tag in tags))
    if len(out) > MAX_TAGS or any(not 0 < len(t) <= MAX_TAG or not _is_text(t) for t in out):
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
    if not isinstance(data, dict) or not isinstance(data.get("schema_version"), int):
        raise _bad("no schema_version")
    if data["schema_version"] != SCHEMA_VERSION:
        raise LibraryError(
            "SCHEMA_VERSION",
            f"the run has schema {data['schema_version']}, this program reads {SCHEMA_VERSION}",
            "open it with the version of Candor that wrote it",
        )
    _same_keys(Manifest, data, "manifest")
    splits = {split: _split(split, entry) for split, entry in _object(data, "splits").items()}
    if not splits:
        raise _bad("splits is empty")
    return Manifest(
        **{key: _text(data, key) for key in _TEXTS},
        schema_version=SCHEMA_VERSION,
        id=checked_id(_text(data, "id")),
        name=checked_name(_text(data, "name")),
        task=_one_of(Task, data, "task"),
        scores=_one_of(ScoreKind, data, "scores"),
        n_classes=_count(data, "n_classes"),
        class_names=_texts(data, "class_names"),
        splits=splits,
        source=_source(_object(data, "source")),
        notices=tuple(_notice(item) for item in _typed(data, "notices", list)),
        tags=checked_tags(_texts(data, "tags")),
        metrics={
            split: _summary(split, splits, found)
            for split, found in _object(data, "metrics").items()
        },
    )


_TEXTS = ("kind", "owner", "created", "description", "code_version")


def _is_text(value: str) -> bool:
    """Whether UTF-8 can hold it: file names may carry lone surrogates, which SQLite refuses."""
    return not any("\ud800" <= character <= "\udfff" for character in value)


def _bad(what: str) -> LibraryError:
    return LibraryError("MANIFEST", f"the manifest is not one: {what}", "restore it from a backup")


def _same_keys(record: type, data: JsonObject, where: str) -> None:
    keys = record.__annotations__.keys()
    odd = sorted(keys ^ data.keys())
    if odd:
        raise _bad(f"{where} has unknown or missing keys {', '.join(odd)[:200]}")


def _typed(data: JsonObject, key: str, kind: type[T]) -> T:
    value = data[key]
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise _bad(f"{key} is a {type(value).__name__}, expected {kind.__name__}")
    return value


def _text(data: JsonObject, key: str) -> str:
    value = _typed(data, key, str)
    if not _is_text(value):
        raise _bad(f"{key} is not valid text")
    return value


def _object(data: JsonObject, key: str) -> JsonObject:
    return _typed(data, key, dict)


def _texts(data: JsonObject, key: str) -> tuple[str, ...]:
    values = _typed(data, key, list)
    if not all(isinstance(value, str) for value in values):
        raise _bad(f"{key} holds something other than text")
    return tuple(values)


def _count(data: JsonObject, key: str) -> int:
    value = _typed(data, key, int)
    if value < 1:
        raise _bad(f"{key} is {value}")
    return value


def _one_of(options: type[Task] | type[ScoreKind], data: JsonObject, key: str) -> str:
    value = _text(data, key)
    if value not in set(options):
        raise _bad(f"{key} is {value[:60]!r}")
    return value


def _number(data: JsonObject, key: str) -> float | None:
    value = data[key]
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _bad(f"{key} is a {type(value).__name__}, expected a number")
    return float(value)


def _split(split: str, entry: object) -> SplitEntry:
    if not isinstance(entry, dict):
        raise _bad(f"split {split[:60]!r} is not an object")
    _same_keys(SplitEntry, entry, "split")
    if entry["file"] != split_file(split):
        raise _bad(f"split {split} lies in another place")
    return SplitEntry(
        n=_count(entry, "n"),
        file=entry["file"],
        digest=_text(entry, "digest"),
        row_ids=_text(entry, "row_ids"),
        renormalise=_typed(entry, "renormalise", bool),
    )


def _source(data: JsonObject) -> Source:
    _same_keys(Source, data, "source")
    recipe = None if data["recipe"] is None else _object(data, "recipe")
    return Source(_text(data, "file"), _text(data, "digest"), recipe)


def _notice(data: object) -> Notice:
    if not isinstance(data, dict):
        raise _bad("a notice is not an object")
    _same_keys(Notice, data, "notice")
    return Notice(_text(data, "code"), _text(data, "text"))


def _summary(split: str, splits: Mapping[str, SplitEntry], data: object) -> Summary:
    if split not in splits or not isinstance(data, dict):
        raise _bad(f"metrics name {split[:60]!r}, which is no split")
    _same_keys(Summary, data, "metrics")
    ece, gap = _object(data, "ece"), _object(data, "gap")
    _same_keys(Range, ece, "ece")
    _same_keys(SignedGap, gap, "gap")
    return Summary(
        accuracy=_number(data, "accuracy"),
        ece=Range(value=_number(ece, "value"), low=_number(ece, "low"), high=_number(ece, "high")),
        floor_q95=_number(data, "floor_q95"),
        gap=SignedGap(gap=_number(gap, "gap"), low=_number(gap, "low"), high=_number(gap, "high")),
        verdict=_text(data, "verdict"),
    )
