"""Images of one split, made ready and given to a model, batch by batch; torch."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Final

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional

from core.datasets.base import DatasetSplit
from core.errors import Refused
from core.inference.preprocessing import Preprocessing

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
        if inputs.shape[1] != self.channels:
            if inputs.shape[1] == 3:
                weights = inputs.new_tensor(LUMA).view(1, 3, 1, 1)
                inputs = (inputs * weights).sum(1, keepdim=True)
            inputs = inputs[:, :1].expand(-1, self.channels, -1, -1)
        # To the size that crops are cut from, in 0..1.
        scaled = self.preprocessing.scaled
        if self.preprocessing.cover:
            inputs = _centre(inputs, _proportioned(inputs.shape[-2:], scaled))
        if tuple(inputs.shape[-2:]) != scaled:
            mode = self.preprocessing.interpolation
            inputs = functional.interpolate(
                inputs, scaled, mode=mode, align_corners=False, antialias=True
            ).clamp(0.0, 1.0)  # bicubic overshoots
        inputs = (inputs - self._mean) / self._std
        height, width = self.preprocessing.size
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

    Parameters
    ----------
    size : (int, int)
        Height and width of the image.

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
    with _in_memory(batch_size), _exact():
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


@contextmanager
def _exact() -> Iterator[None]:
    """Keep TF32, with its 10 bits, out of an evaluation: confidence is read off it."""
    cudnn, matmul = torch.backends.cudnn, torch.backends.cuda.matmul
    before = cudnn.allow_tf32, matmul.allow_tf32
    cudnn.allow_tf32 = matmul.allow_tf32 = False
    try:
        yield
    finally:
        cudnn.allow_tf32, matmul.allow_tf32 = before
