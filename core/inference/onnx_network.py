"""An ONNX model as a network that gives logits, and whether it is one; torch."""

from pathlib import Path
from typing import Final

import numpy as np
import torch
from torch import Tensor, nn

from core.checkpoints.match import Match
from core.errors import Refused
from core.inference.onnx_session import Floats, OnnxSession
from core.models.catalogue import ONNX

NEAR: Final = 1e-3  # to which probabilities of a row sum to 1
LEAST: Final = float(np.finfo(np.float32).tiny)
MOST: Final = 1 - 2.0**-24  # the largest float32 below 1
AS_PROBABILITIES: Final = "choose probabilities as outputs (--outputs probabilities)"


class OnnxNetwork(nn.Module):
    """A model in a confined process, called as networks of torch are.

    Its probabilities become logits: logarithms, or log-odds where each label has its own, of which
    a softmax or a sigmoid makes the same probabilities again.

    Parameters
    ----------
    weights : Path
    n_outputs : int
    layout : str
        ``nchw`` or ``nhwc``.
    outputs : str
        ``logits`` or ``probabilities``.
    many : bool
        Each output is a label of its own.
    temperature : float
    """

    def __init__(
        self,
        weights: Path,
        n_outputs: int,
        *,
        layout: str,
        outputs: str,
        many: bool,
        temperature: float = 1,
    ) -> None:
        super().__init__()
        self._session = opened(weights)
        self._n_outputs, self._layout, self._outputs = n_outputs, layout, outputs
        self._many, self._temperature = many, temperature

    def forward(self, images: Tensor) -> Tensor:
        """Return logits (n, K) float32 of images (n, C, H, W).

        Raises
        ------
        Refused
            CLASSES, or MODEL_OUTPUT: other numbers than were named.
        """
        shown = images.permute(0, 2, 3, 1) if self._layout == "nhwc" else images
        out = self._session.run(shown.cpu().numpy())
        if out.ndim != 2 or out.shape != (len(images), self._n_outputs):
            what = f"The model gives an array of shape {out.shape} for {len(images)} images"
            raise Refused("MODEL_OUTPUT", what, f"{self._n_outputs} numbers an image are expected")
        bounded = bool(((out >= -NEAR) & (out <= 1 + NEAR)).all())
        if self._outputs == "logits":
            if not self._many and bounded and bool((abs(out.sum(1) - 1) < NEAR).all()):
                what = "The model gives probabilities: every row sums to 1"
                raise Refused("MODEL_OUTPUT", what, AS_PROBABILITIES)
            return torch.from_numpy(out / self._temperature)
        if not bounded or (not self._many and bool((abs(out.sum(1) - 1) > 10 * NEAR).any())):
            what = "The model's outputs are no probabilities"
            raise Refused("MODEL_OUTPUT", what, "choose logits as outputs (--outputs logits)")
        return torch.from_numpy(self._logits(out) / np.float32(self._temperature))

    def _logits(self, probabilities: Floats) -> Floats:
        if not self._many:
            logs: Floats = np.log(probabilities.clip(LEAST))
            return logs
        within = probabilities.astype(np.float64).clip(LEAST, MOST)
        odds: Floats = (np.log(within) - np.log1p(-within)).astype(np.float32)
        return odds


def opened(weights: Path) -> OnnxSession:
    """Return a model that runs; FORMAT_UNKNOWN where onnxruntime does not take it."""
    try:
        return OnnxSession(weights, torch.get_num_threads())
    except ValueError as error:
        what = f"onnxruntime does not run this model ({error})"
        raise Refused("FORMAT_UNKNOWN", what, "export it again with standard operators") from error


def onnx_match(weights: Path, n_outputs: int) -> Match:
    """Return whether a model runs and gives so many outputs."""
    given = opened(weights).n_outputs
    fits = given in (None, n_outputs)
    differs = () if fits else (f"{given} outputs in the file",)
    return Match(ONNX, n_outputs, int(fits), 1, "", (), (), (), differs, given)
