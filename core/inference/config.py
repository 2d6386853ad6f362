"""EvaluationConfig: everything that decides what a model says of some images; no torch.

How an image becomes what a network takes stands first.
"""

import math
from dataclasses import dataclass, replace
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
from core.models.catalogue import ONNX, OURS, PUBLIC, PublicEntry, checked_model
from core.readers.weights.named_tensors import LEAST_TEMPERATURE, MOST_TEMPERATURE
from core.training.config import DEVICES, MAX_BATCH, MAX_NAME, ChangedFiles
from core.training.estimate import SHAPES
from core.training.folder import JobFolder

INTERPOLATIONS: Final = {"bilinear": "bilinear", "bicubic": "bicubic"}
CROPS: Final = {
    1: "the middle",
    5: "four corners and the middle",
    10: "four corners and the middle, each also mirrored",
}
AVERAGES: Final = {
    "logits": "their logits are averaged",
    "probabilities": "their probabilities are averaged, as in the released CheXNet code",
}
# Mean and standard deviation of each channel, in 0..1, as released with the weights.
MOMENTS: Final[dict[str, tuple[tuple[float, ...], tuple[float, ...]]]] = {
    "imagenet": ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),  # torchvision's models
    "half": ((0.5, 0.5, 0.5), (0.5, 0.5, 0.5)),  # many of timm's
    "unit": ((0.0,) * 3, (1.0,) * 3),  # pixels from 0 to 1
    "bytes": ((0.0,) * 3, (1 / 255,) * 3),  # pixels from 0 to 255
    "cifar10": ((0.4914, 0.4822, 0.4465), (0.2023, 0.1994, 0.2010)),  # Mukhoti et al. 2020
    "cifar100": ((0.5071, 0.4867, 0.4408), (0.2675, 0.2565, 0.2761)),  # Mukhoti et al. 2020
}
MAX_SIDE: Final = 2_048
_MOMENT: Final = Field(
    "Mean",
    "Of each channel, in 0 to 1.",
    allows=lambda numbers: all(map(math.isfinite, numbers)),
    remedy="give one for each channel, such as 0.49, 0.48, 0.45",
)


@dataclass(frozen=True)
class Preprocessing:
    """What is done to an image of 0..255 before the network sees it.

    Raises UsageError SETTING: a value out of range.
    """

    # (int, int), height and width that the network takes
    size: Annotated[tuple[int, int], Field(remedy="give [height, width]")]
    # mean, std: of each channel of the network, of pixels divided by 255; `std` above 0. Empty:
    # those of the training part of the data.
    mean: Annotated[tuple[float, ...], _MOMENT] = ()
    std: Annotated[tuple[float, ...], replace(_MOMENT, label="Standard deviation")] = ()
    # Share, in (0, 1], of the scaled image's sides that `size` is: 224 of 256 is 0.875
    crop: Annotated[
        float,
        Field(
            "Share kept",
            "Of the sides of the scaled image: 224 of 256 is 0.875.",
            low=0.1,
            high=1,
            step=0.005,
        ),
    ] = 1.0
    # Keep proportions: the image is scaled until it covers, and what lies beyond is cut off. False
    # stretches it.
    cover: Annotated[
        bool,
        Field(
            "Keep proportions",
            "Scale until the image fills the frame and crop the rest; otherwise stretch it.",
        ),
    ] = False
    # ``bilinear`` or ``bicubic``, both over the area of the new pixel
    interpolation: Annotated[str, Field("Scaled by", choices=INTERPOLATIONS)] = "bilinear"
    # How many parts of an image are looked at: see CROPS
    crops: Annotated[
        int,
        Field(
            "Crops per image",
            choices={n: f"{n}: {places}" for n, places in CROPS.items()},
            remedy="give 1, 5 or 10",
        ),
    ] = 1
    # ``logits`` or ``probabilities`` of the crops
    average: Annotated[str, Field("Of these", choices=AVERAGES)] = "logits"

    def __post_init__(self) -> None:
        """Refuse settings out of range, naming the value."""
        fields.check(self)
        checks = (
            (
                all(8 <= side <= MAX_SIDE for side in self.size),
                f"size is {self.size[0]} x {self.size[1]}",
                f"give sides of 8 to {MAX_SIDE} pixels",
            ),
            (
                len(self.mean) == len(self.std) and all(value > 0 for value in self.std),
                f"mean is {list(self.mean)} and std {list(self.std)}",
                "give both for each channel, every std above 0",
            ),
            (
                self.crops == 1 or self.crop < 1,
                f"{self.crops} crops, but the whole image is used",
                "set the share kept below 1, such as 0.875, or use 1 crop",
            ),
        )
        for ok, what, remedy in checks:
            if not ok:
                raise UsageError("SETTING", what, remedy)

    @property
    def gives_probabilities(self) -> bool:
        """Whether probabilities of several crops are averaged; else logits come out."""
        return self.crops > 1 and self.average == "probabilities"

    @property
    def in_bytes(self) -> bool:
        """Whether pixels stay from 0 to 255."""
        near = all(abs(255 * value - 1) < 1e-6 for value in self.std)
        return bool(self.std) and near and not any(self.mean)

    @property
    def scaled(self) -> tuple[int, int]:
        """Height and width that images are scaled to before `size` is cut out."""
        height, width = (math.floor(side / self.crop + 0.5) for side in self.size)
        return height, width


def shown_by_code(entry: PublicEntry, size: tuple[int, int], channels: int) -> Preprocessing:
    """Return what public code shows its network: in `size`, unless the code has its own."""
    mean, std = (
        moments if len(moments) == channels else (sum(moments) / len(moments),) * channels
        for moments in (entry.mean, entry.std)
    )
    return Preprocessing(entry.size or size, mean, std, cover=entry.size is not None)


def with_moments(settings: Preprocessing, named: str, channels: int) -> Preprocessing:
    """Return a preprocessing with moments of MOMENTS, averaged for other channels than three."""
    mean, std = MOMENTS[named]
    if channels != len(mean):
        mean, std = ((sum(moments) / len(moments),) * channels for moments in (mean, std))
    return replace(settings, mean=mean, std=std)


# The config.
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
        # What no single setting can be blamed for: each names the two that do not go together.
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
    # A network with positions counted for one size cannot be shown another.
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
