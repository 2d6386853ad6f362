"""EvaluationConfig: everything that decides what a model says of some images; no torch."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Final

from core.arrays import digest
from core.datasets.catalogue import DATASETS, checked_data
from core.datasets.shifts import OutsideSet
from core.datasets.splits import SPLIT_NAMES
from core.defaults import SEED_MAX
from core.errors import UsageError
from core.inference import preprocessing
from core.inference.preprocessing import Preprocessing
from core.library.strict_json import is_text
from core.models.catalogue import checked_model
from core.training.estimate import SHAPES

DEVICES: Final = ("auto", "cpu", "cuda")
MAX_BATCH, MAX_NAME, MAX_SETS, MAX_OUTPUTS = 65_536, 300, 200, 100_000
JsonObject = dict[str, Any]  # Any: plain JSON values


@dataclass(frozen=True)
class WeightsSource:
    """Which weights: what the file was called, the digest of its bytes, and the part of it.

    Parameters
    ----------
    file : str
    digest : str
    group : str
        Key of the state dict inside the file; empty for a file that is one.
    run : str
        Id of the run whose training made them, or empty.
    """

    file: str
    digest: str
    group: str = ""
    run: str = ""


@dataclass(frozen=True, kw_only=True)
class EvaluationConfig:
    """Everything that decides an evaluation.

    Parameters
    ----------
    model : str
        See `core.models.catalogue`.
    n_outputs, channels : int
        Columns of logits, and channels of the images that the network takes.
    weights : WeightsSource
    preprocessing : Preprocessing
    data : str
        See `core.datasets.catalogue`.
    name : str
        What the run is called; model and data when empty.
    data_root : str or None
        Folder of the data; None is the data folder of the library.
    split_seed : int
        Of the validation part.
    splits : tuple of str
        Parts of the data to evaluate; at least one.
    sets : tuple of OutsideSet
        What else the model is shown.
    limit : int or None
        Look at no more than so many images of each, at even distances; None looks at all.
    batch_size : int
        Images at once; results do not depend on it beyond their last bits.
    device : str
        ``auto``, ``cpu`` or ``cuda``.

    Raises
    ------
    UsageError
        SETTING: a value out of range.
    """

    kind: ClassVar = "evaluate"
    devices: ClassVar = 1

    model: str
    n_outputs: int
    channels: int
    weights: WeightsSource
    preprocessing: Preprocessing
    data: str
    name: str = ""
    data_root: str | None = None
    split_seed: int = 0
    splits: tuple[str, ...] = ("val", "test")
    sets: tuple[OutsideSet, ...] = ()
    limit: int | None = None
    batch_size: int = 64
    device: str = "auto"

    def __post_init__(self) -> None:
        """Refuse settings out of range, naming the value found."""
        checked_model(self.model)
        checked_data(self.data)
        if not self.name:
            name = f"{self.model} on {DATASETS[self.data].label}"
            object.__setattr__(self, "name", name)
        for ok, what, remedy in (*self._words(), *self._numbers()):
            if not ok:
                raise UsageError("SETTING", what, remedy)

    def _words(self) -> tuple[tuple[bool, str, str], ...]:
        names = [outside_set.name for outside_set in self.sets]
        twice = sorted({name for name in names if names.count(name) > 1})
        return (
            (
                self.name.strip() != "" and len(self.name) <= MAX_NAME and is_text(self.name),
                f"name has {len(self.name)} characters",
                f"give 1 to {MAX_NAME} characters of ordinary text",
            ),
            (
                self.data_root is None or (is_text(self.data_root) and "\0" not in self.data_root),
                f"data_root is {self.data_root!r:.60}",
                "give the path of a folder, or null",
            ),
            (
                self.data_root is not None or not DATASETS[self.data].needs_root,
                f"{DATASETS[self.data].label} is read from a folder",
                "name it with data_root",
            ),
            (
                len(self.splits) > 0 and set(self.splits) <= set(SPLIT_NAMES),
                f"splits are {list(self.splits)!r:.80}",
                f"give some of {', '.join(SPLIT_NAMES)}",
            ),
            (len(set(self.splits)) == len(self.splits), "a split is asked for twice", "ask once"),
            (not twice, f"the set {twice[:1]} is asked for twice", "ask for each set once"),
            (len(names) <= MAX_SETS, f"{len(names)} sets", f"ask for at most {MAX_SETS}"),
            (
                self.device in DEVICES,
                f"device is {self.device!r:.60}",
                f"use {', '.join(DEVICES)}",
            ),
        )

    def _numbers(self) -> tuple[tuple[bool, str, str], ...]:
        moments = len(self.preprocessing.mean)
        return (
            _between("n_outputs", self.n_outputs, 1, MAX_OUTPUTS),
            _between("channels", self.channels, 1, 4),
            _between("batch_size", self.batch_size, 1, MAX_BATCH),
            _between("split_seed", self.split_seed, 0, SEED_MAX),
            (
                self.limit is None or self.limit >= 1,
                f"limit is {self.limit}",
                "give a whole number from 1, or null",
            ),
            (
                moments in (0, self.channels),
                f"mean has {moments} numbers for {self.channels} channels",
                "give one for each channel, or none for those of the data",
            ),
        )

    def to_json(self) -> JsonObject:
        """Return plain JSON; `from_json` gives an equal config back."""
        data = asdict(self)
        return data | {
            "preprocessing": self.preprocessing.to_json(),
            "splits": list(self.splits),
            "sets": [outside_set.to_json() for outside_set in self.sets],
        }

    @property
    def digest(self) -> str:
        """Digest of all that decides the numbers; a name, a folder, a batch or a device do not."""
        loose = {"name", "data_root", "batch_size", "device"}
        decides = {key: v for key, v in self.to_json().items() if key not in loose}
        return digest(repr(sorted(decides.items())))


def native_size(data: str) -> tuple[int, int]:
    """Return the height and width of a data set's images; of folders, what is usual.

    UsageError SETTING for an unknown name.
    """
    side = SHAPES[checked_data(data)][1]
    return side, side


_KINDS: Final[dict[str, tuple[type, ...]]] = {
    "model": (str,),
    "n_outputs": (int,),
    "channels": (int,),
    "weights": (dict,),
    "preprocessing": (dict,),
    "data": (str,),
    "name": (str,),
    "data_root": (str, type(None)),
    "split_seed": (int,),
    "splits": (list,),
    "sets": (list,),
    "limit": (int, type(None)),
    "batch_size": (int,),
    "device": (str,),
}
_NEEDED: Final = ("model", "n_outputs", "channels", "weights", "preprocessing", "data")


def from_json(data: object) -> EvaluationConfig:
    """Return the config in plain JSON; what is left out has its default.

    Raises
    ------
    UsageError
        SETTING: an unknown or missing key, or a value of the wrong type or out of range.
    """
    if not isinstance(data, Mapping):
        raise UsageError("SETTING", "the config is no object", "give a JSON object")
    _check_kinds(data, _KINDS, _NEEDED)
    weights = data["weights"]
    _check_kinds(weights, dict.fromkeys(("file", "digest", "group", "run"), (str,)), ("digest",))
    if not all(isinstance(split, str) for split in data.get("splits", ())):
        raise UsageError("SETTING", "splits hold other than names", f"use {', '.join(SPLIT_NAMES)}")
    changed: JsonObject = {
        "weights": WeightsSource(**{"file": "", **weights}),
        "preprocessing": preprocessing.from_json(data["preprocessing"]),
        "sets": tuple(OutsideSet.from_json(entry) for entry in data.get("sets", ())),
    }
    if "splits" in data:
        changed["splits"] = tuple(data["splits"])
    return EvaluationConfig(**{**data, **changed})


def _check_kinds(
    data: Mapping[str, object], kinds: Mapping[str, tuple[type, ...]], needed: tuple[str, ...]
) -> None:
    for key, value in data.items():
        allowed = kinds.get(key)
        if allowed is None:
            what = f"the config has unknown key {key!r:.60}"
            raise UsageError("SETTING", what, f"use {', '.join(kinds)}")
        if not isinstance(value, allowed) or isinstance(value, bool):
            raise UsageError("SETTING", f"{key} is {value!r:.60}", "see docs/evaluation.md")
    missing = [key for key in needed if key not in data]
    if missing:
        raise UsageError("SETTING", f"{', '.join(missing)} is missing", "see docs/evaluation.md")


def _between(key: str, value: int, low: int, high: int) -> tuple[bool, str, str]:
    return low <= value <= high, f"{key} is {value}", f"give {low} to {high}"
