"""EvaluationConfig: everything that decides what a model says of some images; no torch."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Final

from core import codec, fields
from core.arrays import digest
from core.checkpoints.guess import shipped
from core.datasets.catalogue import DATASETS, checked_data
from core.datasets.shifts import OutsideSet
from core.datasets.splits import SPLIT_NAMES
from core.defaults import SEED_MAX
from core.errors import UsageError
from core.fields import Field, JsonObject, is_path
from core.inference.preprocessing import Preprocessing
from core.models.catalogue import ONNX, OURS, PUBLIC, checked_model
from core.readers.weights.named_tensors import LEAST_TEMPERATURE, MOST_TEMPERATURE
from core.training.config import DEVICES, MAX_BATCH, MAX_NAME, ChangedFiles
from core.training.estimate import SHAPES
from core.training.folder import JobFolder

MAX_SETS, MAX_OUTPUTS = 200, 100_000
CIFAR: Final = (32, 32)
LAYOUTS: Final = {"nchw": "Channels first (NCHW)", "nhwc": "Channels last (NHWC)"}
OUTPUTS: Final = {"logits": "Logits", "probabilities": "Probabilities"}
OF_ONNX: Final = ("layout", "outputs")  # settings of ONNX models alone
SMALL: Final = 64  # sides up to which images of the data are shown as they are


@dataclass(frozen=True)
class WeightsSource:
    """Which weights: what the file was called, the digest of its bytes, and the part of it."""

    file: Annotated[str, Field(default="")]
    digest: str
    group: str = ""  # key of the state dict inside the file; empty for a file that is one
    run: str = ""  # id of the run whose training made them, or empty


@dataclass(frozen=True, kw_only=True)
class EvaluationConfig:
    """Everything that decides an evaluation.

    Raises UsageError SETTING: a value out of range.
    """

    kind: ClassVar = "evaluate"
    devices: ClassVar = 1

    model: Annotated[str, Field("Network")]
    n_outputs: Annotated[
        int, Field("Classes", "Outputs of its last layer.", low=1, high=MAX_OUTPUTS)
    ]
    channels: Annotated[
        int, Field("Channels", "Of the images it takes: 1 for grey, 3 for colours.", low=1, high=4)
    ]
    weights: WeightsSource
    preprocessing: Preprocessing
    data: Annotated[str, Field("Data")]
    name: Annotated[str, Field("Name", "Empty for network and data.", length=MAX_NAME)] = ""
    data_root: Annotated[
        str | None,
        Field(
            "Data folder",
            "On the evaluating machine. Built-in data need none.",
            allows=is_path,
            remedy="give the path of a folder, or null",
        ),
    ] = None
    split_seed: Annotated[
        int, Field("Seed of the split", "For the validation part.", low=0, high=SEED_MAX)
    ] = 0
    splits: Annotated[
        tuple[str, ...],
        Field(
            "Parts",
            "A temperature is fitted on the validation part; headline numbers come from the test "
            "part.",
            allows=lambda splits: len(splits) > 0 and set(splits) <= set(SPLIT_NAMES),
            remedy=f"give some of {', '.join(SPLIT_NAMES)}",
        ),
    ] = ("val", "test")
    sets: Annotated[tuple[OutsideSet, ...], Field("Additional sets")] = ()
    limit: Annotated[
        int | None, Field("Images of each", "Evenly spaced; empty for all.", low=1)
    ] = None
    batch_size: Annotated[
        int, Field("Batch size", "Images per step; fewer need less memory.", low=1, high=MAX_BATCH)
    ] = 64
    device: Annotated[str, Field("Device", choices=DEVICES)] = "auto"
    temperature: Annotated[
        float,
        Field(
            "Temperature", "Logits are divided by it.", low=LEAST_TEMPERATURE, high=MOST_TEMPERATURE
        ),
    ] = 1.0
    layout: Annotated[
        str, Field("Layout", "Of the images an ONNX model takes.", choices=LAYOUTS)
    ] = "nchw"
    outputs: Annotated[
        str, Field("Outputs", "What an ONNX model gives: probabilities sum to 1.", choices=OUTPUTS)
    ] = "logits"
    keep_implausible: Annotated[
        bool, Field("Keep in any case", "Even a run that guesses with high confidence is kept.")
    ] = False
    changed_files: ChangedFiles = False

    def __post_init__(self) -> None:
        """Refuse settings out of range, naming the value."""
        checked_model(self.model)
        checked_data(self.data)
        if not self.name:
            network = self.weights.file if self.model == ONNX else self.model
            name = f"{network} on {DATASETS[self.data].label}"
            object.__setattr__(self, "name", name)
        fields.check(self)
        names = [outside_set.name for outside_set in self.sets]
        twice = sorted({name for name in names if names.count(name) > 1})
        moments = len(self.preprocessing.mean)
        checks = (
            (
                self.model == ONNX or (self.layout, self.outputs) == ("nchw", "logits"),
                f"layout is {self.layout} and outputs are {self.outputs} for {self.model}",
                "leave them out: only ONNX models have them",
            ),
            (
                self.model != ONNX or self.device != "cuda",
                "an ONNX model runs on the CPU",
                "set device to auto or cpu",
            ),
            (
                self.data_root is not None or not DATASETS[self.data].needs_root,
                f"{DATASETS[self.data].label} needs a folder",
                "name it with data_root",
            ),
            (len(set(self.splits)) == len(self.splits), "a split is listed twice", "list it once"),
            (not twice, f"the set {twice[:1]} is listed twice", "list each set once"),
            (len(names) <= MAX_SETS, f"{len(names)} sets", f"list at most {MAX_SETS}"),
            (
                moments in (0, self.channels),
                f"mean has {moments} numbers for {self.channels} channels",
                "give one for each channel, or none for those of the data",
            ),
        )
        for ok, what, remedy in checks:
            if not ok:
                raise UsageError("SETTING", what, remedy)

    def to_json(self) -> JsonObject:
        """Return plain JSON; `from_json` gives an equal config back."""
        return codec.to_json(self)

    @property
    def digest(self) -> str:
        """Digest of all that decides the numbers; a name, a folder or a device do not."""
        loose = {"name", "batch_size", "device", "keep_implausible", "data_root", "changed_files"}
        if self.temperature == 1:  # as before there was one
            loose.add("temperature")
        if self.model != ONNX:  # the same
            loose.update(OF_ONNX)
        decides = {key: v for key, v in self.to_json().items() if key not in loose}
        return digest(repr(sorted(decides.items())))


def first_size(
    model: str,
    own: tuple[int, int] | None,
    data: str,
    *,
    stated: int | None = None,
    trained_here: bool = False,
) -> tuple[int, int] | None:
    """Return the height and width in which a network is first shown images; None for its own.

    Parameters
    ----------
    model : str
        As in `core.models.catalogue`.
    own : (int, int) or None
        What its library shows it, where that is known.
    stated : int, optional
        The side that the file of weights says.
    trained_here : bool
        Candor trained it, and showed it what its library does.

    Notes
    -----
    Networks that take any size mostly were trained on images as the data have them; those with a
    stem for small images are shown a folder's pictures at CIFAR's size.
    """
    native = native_size(data)
    if model == ONNX:
        return own or ((stated, stated) if stated else native)
    if trained_here or not shipped().takes_any(model):
        return native if model in OURS else own
    if stated is not None:
        return stated, stated
    if model in OURS:
        of_code = PUBLIC[model].size if model in PUBLIC else None
        small_stem = model in PUBLIC or model.endswith("_cifar")
        return of_code or (CIFAR if data == "folder" and small_stem else native)
    return native if max(native) <= SMALL else own


def native_size(data: str) -> tuple[int, int]:
    """Return the height and width of a data set's images; of folders, what is usual.

    UsageError SETTING for an unknown name.
    """
    side = SHAPES[checked_data(data)][1]
    return side, side


def from_json(data: object) -> EvaluationConfig:
    """Return the config in plain JSON; what is left out has its default.

    Raises UsageError SETTING: an unknown or missing key, or a value of the wrong type or out of
    range.
    """
    return codec.read(EvaluationConfig, data)


WEIGHTS: Final = "weights.safetensors"
PICTURES: Final = "pictures"  # that were dropped: a folder for each setting that names one


def config_of(folder: JobFolder) -> EvaluationConfig:
    """Return the config of an evaluation; UsageError SETTING or JOB."""
    return from_json(folder.spec())
