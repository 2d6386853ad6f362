"""Images of one split, made ready and given to a model, batch by batch; torch.

How a network wants them made ready, as its library says, stands last.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import islice
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional

from core.checkpoints.guess import COLOURS, shipped
from core.datasets.base import DatasetSplit
from core.datasets.catalogue import MIDDLE, data_entry
from core.datasets.pictures import SUFFIXES, common_size
from core.errors import Refused
from core.inference.config import (
    CIFAR,
    INTERPOLATIONS,
    MOMENTS,
    SMALL,
    Preprocessing,
    shown_by_code,
)
from core.models.build import exact, input_size
from core.models.catalogue import ONNX, OURS, PUBLIC

LUMA = (0.299, 0.587, 0.114)  # of red, green and blue; ITU-R BT.601


class BatchPreprocessor:
    """Scales, crops, and normalises batches of images.

    `channels`: of the network; grey images are repeated, colours become their luma; `mean`, `std`:
    those of the data, taken where `preprocessing` names none.
    """

    def __init__(
        self,
        preprocessing: Preprocessing,
        channels: int,
        mean: Sequence[float],
        std: Sequence[float],
        device: torch.device,
    ) -> None:
        self.preprocessing = preprocessing
        self.channels = channels
        self._mean = _column(_fitted(preprocessing.mean or mean, channels), device)
        self._std = _column(_fitted(preprocessing.std or std, channels), device)

    def __call__(self, images: Tensor) -> list[Tensor]:
        """Return for each crop (n, channels, height, width) float32, channels last in memory."""
        inputs = images.float() / 255.0
        # Colours to luma first, then as many copies as the network has channels: grey either way.
        if inputs.shape[1] != self.channels:
            if inputs.shape[1] == 3:
                weights = inputs.new_tensor(LUMA).view(1, 3, 1, 1)
                inputs = (inputs * weights).sum(1, keepdim=True)
            inputs = inputs[:, :1].expand(-1, self.channels, -1, -1)
        # To the size that crops are cut from, in 0..1.
        scaled = self.preprocessing.scaled
        # The largest part of the network's proportions, so that a resize does not distort.
        if self.preprocessing.cover:
            inputs = _centre(inputs, _proportioned(inputs.shape[-2:], scaled))
        if tuple(inputs.shape[-2:]) != scaled:
            mode = self.preprocessing.interpolation
            inputs = functional.interpolate(
                inputs, scaled, mode=mode, align_corners=False, antialias=True
            ).clamp(0.0, 1.0)  # bicubic overshoots
        # Normalised last: what bicubic overshoots is cut at black and
        # white, which only plain pixels have.
        inputs = (inputs - self._mean) / self._std
        height, width = self.preprocessing.size
        # Ten-crop: four corners and the middle, each also mirrored;
        # the middle stays fifth (`films._middle`).
        crops = [_centre(inputs, (height, width))]
        if self.preprocessing.crops > 1:
            corners = [
                inputs[..., :height, :width],
                inputs[..., :height, -width:],
                inputs[..., -height:, :width],
                inputs[..., -height:, -width:],
            ]
            crops = [*corners, *crops]
        if self.preprocessing.crops == 10:
            crops += [crop.flip(-1) for crop in crops]
        return [crop.contiguous(memory_format=torch.channels_last) for crop in crops]


def frame(preprocessing: Preprocessing, size: tuple[int, int]) -> tuple[float, float, float, float]:
    """Return what part of an image the middle crop shows.

    `size`: height and width of the image.

    Returns
    -------
    left, top, right, bottom : float
        Shares of the image's sides.
    """
    edges = []
    region = _proportioned(size, preprocessing.scaled) if preprocessing.cover else size
    for side, region_side, scaled, crop_side in zip(
        size, region, preprocessing.scaled, preprocessing.size, strict=True
    ):
        before = round((side - region_side) / 2)
        start = round((scaled - crop_side) / 2)
        edges.append(
            [(before + region_side * place / scaled) / side for place in (start, start + crop_side)]
        )
    (top, bottom), (left, right) = edges
    return left, top, right, bottom


def _fitted(values: Sequence[float], channels: int) -> list[float]:
    """Return moments for the network's channels; those of other channels become their mean."""
    if len(values) == channels:
        return list(values)
    return [sum(values) / len(values)] * channels


def _column(values: Sequence[float], device: torch.device) -> Tensor:
    return torch.tensor(values, dtype=torch.float32, device=device).view(1, -1, 1, 1)


def _proportioned(size: Sequence[int], proportions: tuple[int, int]) -> tuple[int, int]:
    """Return the largest height and width within `size` of the proportions that are wanted."""
    height, width = size
    factor = min(height / proportions[0], width / proportions[1])
    return round(proportions[0] * factor), round(proportions[1] * factor)


def _centre(images: Tensor, size: tuple[int, int]) -> Tensor:
    """Return the middle of images, rounded as torchvision's CenterCrop does."""
    sides = zip(images.shape[-2:], size, strict=True)
    top, left = (round((have - want) / 2) for have, want in sides)
    return images[..., top : top + size[0], left : left + size[1]]


ProgressCallback = Callable[[int], None]  # images done
NOT_WATCHED: Final[AbstractContextManager[object]] = nullcontext()
CLASSIFIER: Final = "use a classifier: one row of logits for each image"


@torch.inference_mode()
def scores(  # noqa: PLR0913  each is a separate part of an evaluation
    model: nn.Module,
    split: DatasetSplit,
    prepare: BatchPreprocessor,
    *,
    device: torch.device,
    batch_size: int,
    rows: Tensor | None = None,
    many: bool = False,
    on_progress: ProgressCallback = lambda _: None,
    watch: AbstractContextManager[object] = NOT_WATCHED,
) -> npt.NDArray[np.float32]:
    """Return the scores of the images of a part, in order.

    Parameters
    ----------
    model : nn.Module
        In evaluation mode, on the device; returns logits (n, K).
    batch_size : int
        Images at once; each is several inputs where several crops are looked at.
    rows : (n,) int64 tensor, optional
        Which images; None is all.
    many : bool
        Outputs are labels of their own: probabilities are sigmoids.
    on_progress : callable
        Called with the number of images done after each batch.
    watch : context manager
        Entered for each batch; who waits for it to be left knows a model that hangs.

    Returns
    -------
    (N, K) float32
        Logits, or probabilities where those of several crops are averaged.

    Raises
    ------
    Refused
        MEMORY: a batch does not fit. NONFINITE: the model gives NaN or infinity. MODEL_OUTPUT: it
        gives no row of scores for each image.
    """
    rows = torch.arange(len(split)) if rows is None else rows
    batches = torch.split(rows, batch_size)
    outputs: list[npt.NDArray[np.float32]] = []
    # float32 throughout, no TF32: the audit reads confidences off these numbers.
    with _in_memory(batch_size), exact():
        for batch, images in zip(batches, split.images(batches, device), strict=True):
            with watch:
                out = (
                    prepared_scores(model, prepare(images), prepare.preprocessing, many=many)
                    .cpu()
                    .numpy()
                )
            if out.ndim != 2 or len(out) != len(batch):
                what = f"The model gives an array of shape {out.shape} for {len(batch)} images"
                raise Refused("MODEL_OUTPUT", what, CLASSIFIER)
            # The first bad number names its image; leaving such images out would bias every score.
            bad = np.argwhere(~np.isfinite(out))
            if bad.size:
                row, column = bad[0]
                what = f"The model gives {out[row, column]} for image {int(batch[row])}"
                remedy = "check mean, std and the weights; nothing was left out"
                raise Refused("NONFINITE", f"{what}, class {column}", remedy)
            outputs.append(out)
            on_progress(sum(map(len, outputs)))
    return np.concatenate(outputs)


def spread(n_images: int, limit: int | None) -> Tensor:
    """Return so many row numbers of `n_images` at even distances; all without a limit.

    Folders hold one class after another, so the first images would be of the first classes.
    """
    n = min(n_images, limit or n_images)
    return torch.arange(n) * n_images // n


def prepared_scores(
    model: nn.Module, crops: Sequence[Tensor], preprocessing: Preprocessing, *, many: bool
) -> Tensor:
    """Return the mean over the crops of the same images, (n, K) float32.

    Parameters
    ----------
    crops : sequence of (n, C, H, W) float32 tensors
        From `BatchPreprocessor`.
    preprocessing : Preprocessing
        Says whether logits or probabilities are averaged.
    many : bool
        Probabilities are sigmoids, not a softmax.
    """
    total: Tensor | None = None
    for crop in crops:
        out = _outputs(model, crop)
        # The released CheXNet code averages sigmoids over ten crops, not logits; in
        # float64, since a mean of rounded ones would tie.
        if preprocessing.gives_probabilities:
            out = out.double().sigmoid() if many else out.double().softmax(1)
        total = out if total is None else total + out
    assert total is not None
    return (total / len(crops)).float()


def _outputs(model: nn.Module, images: Tensor) -> Tensor:
    """Return logits (n, K) float32, or say that the network does not take such images."""
    try:
        logits = model(images)
    except torch.OutOfMemoryError:
        raise
    except (AssertionError, RuntimeError, ValueError) as error:
        if "allocate memory" in str(error):
            raise
        height, width = images.shape[-2:]
        what = f"The network does not take images of {height} x {width} ({str(error)[:200]})"
        raise Refused("MODEL_INPUT", what, "give the size that it was made for") from error
    if not isinstance(logits, Tensor):
        what = f"The model gives a {type(logits).__name__}"
        raise Refused("MODEL_OUTPUT", what, CLASSIFIER)
    return logits.float()


@contextmanager
def _in_memory(batch_size: int) -> Iterator[None]:
    """Say what to do where a batch does not fit."""
    try:
        yield
    except (MemoryError, torch.OutOfMemoryError) as error:
        raise out_of_memory(batch_size) from error
    except RuntimeError as error:
        if "can't allocate memory" not in str(error):
            raise
        raise out_of_memory(batch_size) from error


def out_of_memory(batch_size: int) -> Refused:
    """Return the refusal of a batch that is too large."""
    half = f"to {batch_size // 2}" if batch_size > 1 else "or use a smaller input or model"
    what = f"A batch of {batch_size} images does not fit into the memory"
    return Refused("MEMORY", what, f"halve the batch size {half}")


# How a network wants its images, as its library says.
def settings_of(
    model: str,
    size: tuple[int, int] | None,
    channels: int = COLOURS,
    *,
    data: str = "folder",
    file: str = "",
    trained_here: bool = False,
) -> Preprocessing:
    """Return the preprocessing that a network was most likely trained with.

    Parameters
    ----------
    size : (int, int), optional
        Height and width of its images where they are known. A network that is shown far smaller
        images than its library shows it was trained on the data alone: they are shown whole, with
        the moments of the data.
    channels : int, optional
        Of the network; moments of networks of public code are given for as many.
    data : str, optional
        That it is evaluated on; that it was trained on where Candor trained it.
    file : str, optional
        What its weights are called: torchvision's own names tell which of its recipes they are of.
        Others are taken to be of its first, which scales to 256 pixels for most networks, as the
        papers do; a later one scales to 232.
    trained_here : bool
        Candor trained it, by the data's moments, on whole images or ImageNet's middles.

    Raises
    ------
    UsageError
        SETTING: an unknown network.
    """
    if model == ONNX:  # nothing tells: as most networks for pictures, or for small ones
        shown = size or CIFAR
        named = MOMENTS["imagenet"] if channels == COLOURS and max(shown) > SMALL else ((), ())
        return Preprocessing(shown, *named)
    entry = PUBLIC.get(model)
    if trained_here or model in OURS:
        shown = (entry and entry.size) or input_size(model, size or CIFAR)
        if entry is not None and entry.mean:
            return shown_by_code(entry, shown, channels)
        cropped = data_entry(data).cropped
        return Preprocessing(shown, crop=MIDDLE if cropped else 1.0, cover=cropped)
    own = input_size(model, CIFAR)  # refuses unknown names
    # Shown far smaller images than the library's own, so trained from scratch on the data: its
    # ImageNet moments and crop mean nothing here.
    if size is not None and max(size) <= SMALL < min(own):
        return Preprocessing(size)
    library, _, name = model.partition(":")
    values = _timm(name, own) if library == "timm" else _torchvision(name, file)
    if size is None or (size == own and shipped().takes_any(model)):  # nobody chose another
        size = values["size"]
    return Preprocessing(**{**values, "size": size})


def settings_for_folder(model: str, folder: Path, channels: int = COLOURS) -> Preprocessing | None:
    """Return the preprocessing where a folder holds small pictures of one size, and that tells.

    None where pictures differ or are large, or the network takes its own size only.
    """
    named = (path for path in folder.rglob("*") if path.suffix.lower() in SUFFIXES)
    size = common_size(islice(named, 20))
    if size is None or max(size) > SMALL or not shipped().takes_any(model):
        return None
    return settings_of(model, size, channels)


def _timm(name: str, size: tuple[int, int]) -> dict[str, Any]:
    import timm

    settings = timm.get_pretrained_cfg(name)
    assert settings is not None
    square = settings.crop_mode in (None, "center", "border")
    return {
        "size": size,
        "mean": tuple(settings.mean),
        "std": tuple(settings.std),
        "crop": size[0] / math.floor(size[0] / settings.crop_pct),  # as timm rounds
        "cover": square,
        "interpolation": _interpolation(settings.interpolation),
    }


def _torchvision(name: str, file: str) -> dict[str, Any]:
    from torchvision import models  # type: ignore[import-untyped]

    released = list(models.get_model_weights(name))
    named = (weights for weights in released if Path(weights.url).stem == Path(file).stem)
    transforms = next(named, released[0]).transforms()
    (scaled,), (side,) = transforms.resize_size, transforms.crop_size
    return {
        "size": (side, side),
        "mean": tuple(transforms.mean),
        "std": tuple(transforms.std),
        "crop": min(1.0, side / scaled),
        "cover": True,
        "interpolation": _interpolation(transforms.interpolation.value),
    }


def _interpolation(name: str) -> str:
    return name if name in INTERPOLATIONS else "bilinear"
