"""What stands in the form of the Evaluate page: filled from what was opened, read into a config."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import streamlit as st

from core import codec
from core.checkpoints.guess import NetworkCandidate, shipped, stated_side
from core.datasets.catalogue import DATASETS
from core.datasets.shifts import OutsideSet
from core.datasets.splits import SPLIT_NAMES
from core.errors import UsageError
from core.fields import Field, fields_of
from core.inference.config import (
    MAX_OUTPUTS,
    MAX_SIDE,
    MOMENTS,
    PICTURES,
    EvaluationConfig,
    Preprocessing,
    first_size,
    native_size,
    with_moments,
)
from core.models.catalogue import ONNX
from core.readers.formats.archive import PictureFiles
from core.readers.weights.named_tensors import WeightGroup
from core.training.config import MAX_NAME, TrainConfig
from core.training.estimate import SHAPES
from core.training.submission import NO_FOLDER, check_folder, folder_remedy
from pages.ui import session
from pages.ui.form import Form
from pages.ui.weights_source import OpenedWeights

OFFERED: Final = 4  # networks that weights look like
SEPARATE: Final = (  # of what has no widget
    *("model", "weights", "preprocessing", "splits", "sets", "keep_implausible"),
)
OTHER: Final = "other"  # network, than those it looks like
OF_DATA, OWN = "data", "own"  # mean and standard deviation
SET_ROOT: Final = fields_of(OutsideSet)["root"]
ROOTS: Final = {  # label and help
    "svhn_root": (
        "Folder of SVHN, or test_32x32.mat",
        "Leave empty for the data folder; downloaded if missing.",
    ),
    "cifar10c_root": ("Folder of CIFAR-10-C", "With gaussian_noise.npy and so on, and labels.npy."),
    "folder_root": ("Folder of pictures", "Pictures of none of the classes; subfolders count."),
}
FORM: Final = Form(
    "evaluate",
    {name: field for name, field in fields_of(EvaluationConfig).items() if name not in SEPARATE}
    | {"shift_seed": fields_of(OutsideSet)["seed"]}
    | {
        name: replace(SET_ROOT, label=label, help=help_text)
        for name, (label, help_text) in ROOTS.items()
    },
)
SIDE: Final = Field(low=8, high=MAX_SIDE, kind=int)
SHOWN: Final = Form(
    "evaluate",
    {name: field for name, field in fields_of(Preprocessing).items() if name != "size"}
    | {"height": replace(SIDE, label="Height"), "width": replace(SIDE, label="Width")},
)
key, value, put = FORM.key, FORM.value, FORM.put
# Offered first: a noise, a blur, a weather and two of the camera's own.
SOME: Final = ("gaussian_noise", "defocus_blur", "fog", "contrast", "jpeg_compression")
SOME_SEVERITIES: Final = (1, 3, 5)
DEFAULTS: Final = FORM.initial() | {
    "splits": list(fields_of(EvaluationConfig)["splits"].default),
    "kinds": [],
    "corruptions": list(SOME),
    "severities": list(SOME_SEVERITIES),
    "network": None,
}
FOR: Final = "evaluate.for"  # which weights the form was filled for
SHOWN_FOR: Final = "evaluate.shown_for"  # which network and data the preprocessing was filled for
EDITED: Final = "evaluate.edited"  # by hand, so it stays
CHANGED: Final = "evaluate.size"  # by a click, of a network and data


@dataclass(frozen=True)
class Pictures:
    """Pictures of a zip that was dropped, and where they lie until the session ends."""

    name: str
    files: PictureFiles
    folder: Path


def pictures(setting: str) -> Pictures | None:
    """Return the pictures that were dropped in place of a folder of the server."""
    dropped: Pictures | None = st.session_state.get(f"evaluate.{setting}.pictures")
    return dropped


def pictures_home() -> Path:
    """Return where pictures that were dropped lie."""
    return session.room().folder / PICTURES


def begin(opened: OpenedWeights) -> None:
    """Fill the form when other weights were opened."""
    token = opened.folder.name
    if st.session_state.get(FOR) == token:
        return
    st.session_state[FOR] = token
    st.session_state[EDITED] = False
    st.session_state[SHOWN_FOR], st.session_state[CHANGED] = None, {}
    for name, what in DEFAULTS.items():
        put(name, what)
    put("group", opened.file.groups[0].key)
    if opened.file.format == ONNX:
        put("layout", opened.file.hints.get("layout", "nchw"))
        put("outputs", opened.file.hints.get("gives", "logits"))
    if isinstance(opened.spec, EvaluationConfig):
        # Fill in an evaluation as it was, but for pictures that were dropped and are gone
        again = opened.spec
        _pick(opened, again.model)
        for name, what in FORM.of(again.to_json()).items():
            put(name, what)
        if again.data_root and PICTURES in Path(again.data_root).parts:
            put("data_root", "")
        put("splits", list(again.splits))
        put("kinds", list(dict.fromkeys(outside_set.kind for outside_set in again.sets)))
        for outside_set in again.sets:
            gone = PICTURES in Path(outside_set.root or "").parts
            if outside_set.root is not None and outside_set.kind != "corrupted" and not gone:
                put(f"{outside_set.kind}_root", outside_set.root)
        shifted = [outside_set for outside_set in again.sets if outside_set.corruption]
        if shifted:
            put("corruptions", list(dict.fromkeys(shift.corruption for shift in shifted)))
            put("severities", sorted({shift.severity for shift in shifted}))
            put("shift_seed", shifted[0].seed)
        fill_shown(again.preprocessing)
        st.session_state[EDITED] = True
    elif opened.spec is not None:
        # Fill in what a training says of its own weights, with shifted images beside the data
        config = opened.spec
        candidates = opened.looks_like[opened.file.groups[0].key]
        own = next((candidate for candidate in candidates if candidate.model == config.model), None)
        channels, _, n_outputs = SHAPES[config.data]
        _pick(opened, config.model)
        put("n_outputs", own.n_outputs if own else n_outputs)
        put("channels", own.channels if own else channels)
        put("data", config.data)
        put("data_root", config.data_root or "")
        put("split_seed", config.split_seed)
        put("kinds", ["corrupted"])
        put("name", f"{config.name}, shifted"[:MAX_NAME])
    else:
        take_group(opened)


def take_group(opened: OpenedWeights) -> None:
    """Set the network, its outputs and its data to what a group looks like."""
    group = opened.file.group(str(value("group")))
    candidates = opened.looks_like[group.key]
    if not candidates:
        put("pick", OTHER)
        put("n_outputs", last_outputs(group))
        put("channels", 3)
    else:
        put("pick", candidates[0].model)
        take_candidate(candidates[0])
    if value("data") is None or opened.spec is None:
        put("data", likely_data(int(value("n_outputs")), int(value("channels"))))


def take_candidate(candidate: NetworkCandidate) -> None:
    """Set outputs and channels to those of a network."""
    put("n_outputs", candidate.n_outputs)
    put("channels", candidate.channels)


def _pick(opened: OpenedWeights, chosen: str) -> None:
    """Pick a network by its name, from those it looks like where it is one of them."""
    looks_like = opened.looks_like[opened.file.groups[0].key]
    alike = any(candidate.model == chosen for candidate in looks_like[:OFFERED])
    put("pick", chosen if alike else OTHER)
    put("network", None if alike else chosen)


def fill_shown(preprocessing: Preprocessing) -> None:
    """Set the widgets of what is done to an image."""
    put("height", preprocessing.size[0])
    put("width", preprocessing.size[1])
    for name, what in SHOWN.of(codec.to_json(preprocessing)).items():
        put(name, what)
    now = preprocessing.mean, preprocessing.std
    named = (name for name, moments in MOMENTS.items() if moments == now)
    put("moments", next(named, OWN if preprocessing.mean else OF_DATA))


def last_outputs(group: WeightGroup) -> int:
    """Return the size of the last tensor with one axis: of most networks the last bias."""
    shapes = [tensor.shape for tensor in group.tensors]
    flat = [shape[0] for shape in shapes if len(shape) == 1 and shape[0]]
    return min(flat[-1], MAX_OUTPUTS) if flat else 10


def likely_data(n_outputs: int, channels: int) -> str:
    """Return data with as many classes and channels, a folder where there are none."""
    shapes = {name: (shape[0], shape[2]) for name, shape in SHAPES.items() if name != "folder"}
    return next((name for name, pair in shapes.items() if pair == (channels, n_outputs)), "folder")


def model() -> str | None:
    """Return the network that is picked; None before one is."""
    picked = value("pick")
    name = value("network") if picked == OTHER else picked
    return str(name) if name else None


def size(opened: OpenedWeights) -> tuple[int, int] | None:
    """Return the size of images that a network is first shown; None for its own."""
    chosen = model()
    if chosen is None:
        return None
    changed: dict[tuple[str, str], tuple[int, int]] = st.session_state[CHANGED]
    own = _candidate_size(opened) if chosen == ONNX else shipped().size(chosen)
    return changed.get((chosen, str(value("data")))) or first_size(
        chosen,
        own,
        _shown_for(opened),
        stated=stated_side(opened.file),
        trained_here=isinstance(opened.spec, TrainConfig),
    )


def _candidate_size(opened: OpenedWeights) -> tuple[int, int] | None:
    return opened.looks_like[str(value("group"))][0].size


def other_size() -> tuple[int, int] | None:
    """Return its own size where a network is shown images as the data have them, or these."""
    chosen = model()
    if chosen is None or ":" not in chosen or not shipped().takes_any(chosen):
        return None
    sizes = (shipped().size(chosen), native_size(str(value("data"))))
    shown = (value("height"), value("width"))
    return next((other for other in sizes if other and other != shown), None)


def change_size(size_: tuple[int, int]) -> None:
    """Show images in a size, with the settings that go with it."""
    st.session_state[CHANGED] = {(str(model()), str(value("data"))): size_}
    st.session_state[EDITED] = False


def question(opened: OpenedWeights) -> dict[str, Any] | None:  # Any: plain JSON values
    """Return what the warm process is asked of weights and network; None before one is picked."""
    chosen = model()
    if chosen is None:
        return None
    image_size = size(opened)
    group = opened.file.group(str(value("group")))
    trained_here = isinstance(opened.spec, TrainConfig)
    # The folder whose pictures may say in which size a network is shown them
    dropped = pictures("data_root")
    root = str(dropped.folder) if dropped else (value("data_root") or "").strip()
    stated = stated_side(opened.file) or (chosen == ONNX and _candidate_size(opened))
    size_is_given = trained_here or stated or st.session_state[CHANGED]
    folder = root if value("data") == "folder" and root and not size_is_given else None
    if folder is not None and dropped is None:
        try:
            check_folder(folder)
        except UsageError:
            folder = None  # said at the button
    return {
        "tensors": [[tensor.name, list(tensor.shape), tensor.dtype] for tensor in group.tensors],
        "model": chosen,
        "n_outputs": value("n_outputs"),
        "channels": value("channels"),
        "size": None if image_size is None else list(image_size),
        "folder": folder,
        "data": _shown_for(opened),
        "file": opened.file.name,
        "trained_here": trained_here,
        **({"weights": str(opened.path(group))} if chosen == ONNX else {}),
        "bytes": chosen == ONNX and opened.file.hints.get("input_type") == "uint8",
    }


def _shown_for(opened: OpenedWeights) -> str:
    """Return the data that a network was trained on where Candor did, else those to be shown it."""
    return opened.spec.data if isinstance(opened.spec, TrainConfig) else str(value("data"))


def sets() -> tuple[OutsideSet, ...]:
    """Return the sets that are picked beside the data; UsageError FOLDER or SETTING."""
    outside_sets: list[OutsideSet] = []
    for kind in value("kinds") or []:
        dropped = pictures(f"{kind}_root")
        root = str(dropped.folder) if dropped else (value(f"{kind}_root") or "").strip() or None
        if root is None and kind in {"cifar10c", "folder"}:
            content = "the .npy files of CIFAR-10-C" if kind == "cifar10c" else "images"
            raise UsageError("FOLDER", NO_FOLDER, f"enter a folder with {content}")
        if dropped is None:
            check_folder(root)
        if kind in {"corrupted", "cifar10c"}:
            # Frost has a name in each kind of set
            procedural, official = "frost_procedural", "frost"
            twin = {official: procedural} if kind == "corrupted" else {procedural: official}
            names = dict.fromkeys(twin.get(name, name) for name in value("corruptions") or [])
            seed = value("shift_seed") * (kind == "corrupted")
            outside_sets += [
                OutsideSet(kind=kind, root=root, corruption=name, severity=severity, seed=seed)
                for name in names
                for severity in value("severities") or []
            ]
        else:
            outside_sets.append(OutsideSet(kind, root))
    return tuple(outside_sets)


def preprocessing() -> Preprocessing:
    """Return what is done to an image; UsageError SETTING."""
    chosen = value("moments")
    mean, std = (), ()
    if chosen == OWN:
        mean, std = (tuple(SHOWN.setting(name)) for name in ("mean", "std"))
    names = fields_of(Preprocessing).keys() - {"size", "mean", "std"}
    rest = {name: SHOWN.setting(name) for name in names}
    settings = Preprocessing((int(value("height")), int(value("width"))), mean, std, **rest)
    return with_moments(settings, chosen, int(value("channels"))) if chosen in MOMENTS else settings


def config(opened: OpenedWeights) -> EvaluationConfig:
    """Return the evaluation that stands in the form; UsageError SETTING or FOLDER."""
    chosen = model()
    if chosen is None:
        raise UsageError("SETTING", "No network is chosen", "search timm or torchvision")
    settings = FORM.settings(EvaluationConfig)
    dropped = pictures("data_root") if settings["data"] == "folder" else None
    if dropped is not None:
        settings["data_root"] = str(dropped.folder)
    data, root = DATASETS[settings["data"]], settings["data_root"]
    if data.needs_root and root is None:
        raise UsageError("FOLDER", NO_FOLDER, folder_remedy(settings["data"], data.label))
    if dropped is None:
        check_folder(root)
    return EvaluationConfig(
        **settings,
        model=chosen,
        weights=opened.weights(opened.file.group(str(value("group")))),
        preprocessing=preprocessing(),
        splits=tuple(part for part in SPLIT_NAMES if part in (value("splits") or [])),
        sets=sets(),
    )
