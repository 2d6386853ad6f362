"""The manifest of a run and its strict JSON; imports the standard library and our records only."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Annotated, Final, TypedDict

from core import codec
from core.errors import LibraryError, Notice, UsageError
from core.fields import Field, JsonObject, is_text
from core.metrics.records import Audit, VerdictCode
from core.predictions import ScoreKind, Task

SCHEMA_VERSION = 7
BEFORE_6 = {"over_confident": "overestimates", "under_confident": "underestimates"}  # of events
OF_EVENTS = (Task.BINARY, Task.MULTILABEL)
SINCE_7 = ("dates", "members")  # of a split
SINCE_5 = ("votes",)  # of a split
SINCE_4 = ("groups", "weights")  # of a split
SINCE_2 = ("config", "environment", "history")
SHIFTED = ("corrupted-", "cifar10c-")  # beginnings of the names of splits of corrupted images
ROLES = ("train", "val", "test", "shifted", "ood")
DIGITS = "sklearn.datasets.load_digits"  # what samples without a config were made on
HISTORY_KIND: Final = "history"  # a run that is a gamma history alone
HISTORY, BINS, VALIDATION = "history.parquet", "bins.parquet", "validation.safetensors"
VOCABULARY = "vocabulary.txt"  # a word a line
RUN_ID = re.compile(r"[a-z0-9](-?[a-z0-9]){0,39}", re.ASCII)
SPLIT_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,59}", re.ASCII)
MAX_NAME, MAX_TAG, MAX_TAGS = 300, 60, 30


Text = Annotated[str, Field(allows=is_text, remedy="give ordinary text")]
Count = Annotated[int, Field(low=1, high=2**63 - 1)]  # what SQLite can hold


def _is_moment(text: str) -> bool:
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


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
    verdict: Annotated[str, Field(allows=frozenset(VerdictCode).__contains__)]


@dataclass(frozen=True)
class SplitEntry:
    """One split of a run."""

    n: Count  # rows, at least 1
    file: Text  # path inside the run's folder
    # `Predictions.digest` of the split, or `Predictions.first_digest` of one of schema 5 or less
    digest: Text
    row_ids: Text  # digest of the row ids, empty when the split has none
    renormalise: bool  # rows of probabilities are divided by their sum, as a notice says
    # One of ROLES: ``shifted`` for labelled images that were corrupted, ``ood`` for inputs that
    # belong to none of the classes and have no labels
    role: Annotated[str, Field(allows=ROLES.__contains__)]
    # groups, weights: columns that say which rows belong together, and how many each stands for;
    # empty where none was chosen
    groups: Text = ""
    weights: Text = ""
    votes: Text = ""  # where the votes of people come from; empty where there are none
    # dates, members: the column of dates, and the array of an ensemble's members; empty where there
    # are none
    dates: Text = ""
    members: Text = ""


@dataclass(frozen=True)
class RunSource:
    """Where a run came from: file name, digest of its bytes, and how it was read."""

    file: Text
    digest: Text
    recipe: JsonObject | None = None


@dataclass(frozen=True)
class HistoryEntry:
    """What is kept of a run's training, by epoch."""

    # file, bins, validation: HISTORY, BINS and VALIDATION inside the run's folder: metrics, bins
    # with their gammas, and logits of the validation part; None for what there is not
    file: str | None
    bins: str | None
    validation: str | None
    epochs: Count  # how many, at least 1
    last: Mapping[str, float | None]  # metrics of the last epoch

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
    id: Text
    name: str
    kind: Text
    owner: Text
    created: Annotated[str, Field(allows=_is_moment, remedy="give a date with time and zone")]
    description: Text
    task: str
    scores: str
    n_classes: int
    class_names: tuple[str, ...]
    splits: Mapping[str, SplitEntry]
    source: RunSource
    notices: tuple[Notice, ...]
    tags: tuple[str, ...]
    metrics: Mapping[str, Summary]
    code_version: Text
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
    def held_since(self) -> str:
        """When its scores came into the library: of a correction of an upload, when that did."""
        origin = (self.source.recipe or {}).get("calibrated")
        since = origin.get("since") if isinstance(origin, dict) else None
        return since if isinstance(since, str) and _is_moment(since) else self.created

    @property
    def data(self) -> str:
        """The data set it was made on, as configs name it; empty where nothing says so."""
        own = "digits" if self.source.file == DIGITS else ""  # samples that hold no config
        return str((self.config or {}).get("data", own))

    @property
    def vocabulary(self) -> str:
        """Digest of what VOCABULARY holds, of a training on texts; else ""."""
        stated = (self.source.recipe or {}).get("vocabulary")
        return str(stated.get("digest", "")) if isinstance(stated, dict) else ""

    @property
    def tables(self) -> list[str]:
        """Names of the files beside the manifest: of the history, and the vocabulary."""
        history = self.history.files if self.history else []
        return [*history, VOCABULARY] if self.vocabulary else history

    @property
    def files(self) -> list[str]:
        """Paths of all arrays and tables inside the run's folder."""
        return [*(entry.file for entry in self.splits.values()), *self.tables]

    def to_json(self) -> JsonObject:
        """Return plain JSON; `from_json` gives an equal manifest back."""
        return json.loads(json.dumps(asdict(self), allow_nan=False))  # type: ignore[no-any-return]


def summarise(audit: Audit) -> Summary:
    """Return the headline numbers of an audit; values that it lacks are None.

    Of two classes ECE, floor, gap and verdict are of what opens the audit, `Audit.headline`.
    """
    accuracy = audit.main.metrics.get("accuracy")
    ece, floor = audit.headline.metrics.get("ece"), audit.headline.noise_floor.get("ece")
    direction = audit.headline.direction
    return Summary(
        accuracy=accuracy.value if accuracy else None,
        ece=ValueRange(
            value=ece.value if ece else None,
            low=ece.low if ece else None,
            high=ece.high if ece else None,
        ),
        floor_q95=floor.q95 if floor else None,
        gap=SignedGap(gap=direction.gap, low=direction.low, high=direction.high),
        verdict=audit.headline.verdict.code,
    )


def checked_name(name: str) -> str:
    """Return the name as given, or refuse one that cannot be shown or stored."""
    if not name.strip() or len(name) > MAX_NAME or not is_text(name):
        raise LibraryError(
            "NAME",
            f"The name has {len(name)} characters",
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

    Raises LibraryError SCHEMA_VERSION for a newer program's manifest; MANIFEST for anything else
    that is not one.
    """
    version = data.get("schema_version") if isinstance(data, dict) else None
    if not isinstance(data, dict) or not isinstance(version, int):
        raise bad("no schema_version")
    if version not in range(1, SCHEMA_VERSION + 1):
        raise LibraryError(
            "SCHEMA_VERSION",
            f"The run has schema {version}, this program reads {SCHEMA_VERSION}",
            "open it with the version of Candor that wrote it",
        )
    try:
        # What came with later schemas is added first
        since = dict.fromkeys(SINCE_2) if version == 1 else {}
        splits = data.get("splits")
        if isinstance(splits, dict):
            splits = {
                split: _split_since(split, version) | entry if isinstance(entry, dict) else entry
                for split, entry in splits.items()
            }
        metrics = data.get("metrics")
        if version < 6 and data.get("task") in OF_EVENTS and isinstance(metrics, dict):
            data = data | {"metrics": {split: _as_event(entry) for split, entry in metrics.items()}}
        manifest = codec.read(
            Manifest,
            (since | data | ({} if splits is None else {"splits": splits})),
            "manifest",
            stored=True,
        )
    except UsageError as error:
        raise bad(error.what) from error
    checked_id(manifest.id)
    checked_name(manifest.name)
    _check_scores(manifest)
    # No paths but those that this program writes to
    for split, entry in manifest.splits.items():
        if entry.file != split_file(split):
            raise bad(f"split {split} lies in another place")
    odd = manifest.metrics.keys() - manifest.splits.keys()
    if odd:
        raise bad(f"metrics name {min(odd)[:60]!r}, which is not a split")
    if manifest.history is not None:
        for key, place in {"file": HISTORY, "bins": BINS, "validation": VALIDATION}.items():
            if getattr(manifest.history, key) not in (None, place):
                raise bad(f"{key} lies in another place")
    if not all(is_text(notice.code + notice.text) for notice in manifest.notices):
        raise bad("a notice is not valid text")
    return replace(manifest, schema_version=SCHEMA_VERSION, tags=checked_tags(manifest.tags))


def _as_event(summary: object) -> object:
    """Return a summary whose verdict on an event is in words of an event."""
    if not isinstance(summary, dict) or not isinstance(summary.get("verdict"), str):
        return summary
    return summary | {"verdict": BEFORE_6.get(summary["verdict"], summary["verdict"])}


def _split_since(split: str, version: int) -> JsonObject:
    role = {"role": role_of(split, labelled=True)} if version < 3 else {}
    since = {4: SINCE_4, 5: SINCE_5, 7: SINCE_7}
    columns = {key: "" for schema, keys in since.items() if version < schema for key in keys}
    return role | columns


def role_of(split: str, *, labelled: bool) -> str:
    """Return what a split is for, which its name says; see `SplitEntry`."""
    if not labelled:
        return "ood"
    if split.startswith(SHIFTED):
        return "shifted"
    return split if split in ("train", "val") else "test"


def _check_scores(manifest: Manifest) -> None:
    """Refuse scores that are not described, or described without splits: of a gamma history."""
    described = (manifest.task, manifest.scores, manifest.n_classes)
    if manifest.splits:
        if manifest.task not in [*Task] or manifest.scores not in [*ScoreKind]:
            raise bad(f"task is {manifest.task[:60]!r}, scores are {manifest.scores[:60]!r}")
        if not 1 <= manifest.n_classes < 2**63:
            raise bad(f"n_classes is {manifest.n_classes!r:.60}")
        return
    history = manifest.history
    if manifest.kind != HISTORY_KIND or history is None or history.bins is None:
        raise bad("splits is empty")
    if described != ("", "", 0):
        raise bad("task, scores or n_classes are given without splits")


def bad(what: str) -> LibraryError:
    """Return the refusal of a manifest."""
    return LibraryError("MANIFEST", f"The manifest is not one: {what}", "restore it from a backup")
