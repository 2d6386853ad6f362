"""An ONNX model as a network that gives logits, and whether it is one; torch."""

import json
import math
import subprocess
import weakref
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor, nn

from core.checkpoints.names import Match
from core.errors import LostWorker, Refused
from core.inference.onnx_session import MAX_TEXT, Floats
from core.models.catalogue import ONNX
from core.readers.formats.parse import HARMFUL
from core.readers.sandbox.child_process import ROOT, environment
from core.readers.sandbox.limits import command, may_become_nobody

CHILD: Final = "core.inference.onnx_session"
BASE_BYTES: Final = 8 * 2**30  # of address space, beside four times the model
MAX_NUMBERS: Final = 2**28  # that one batch may give
NEAR: Final = 1e-3  # to which probabilities of a row sum to 1
LEAST: Final = float(np.finfo(np.float32).tiny)
MOST: Final = 1 - 2.0**-24  # the largest float32 below 1
AS_PROBABILITIES: Final = "choose probabilities as outputs (--outputs probabilities)"


class OnnxSession:
    """A model in a confined process of its own, which goes with this object.

    `weights`: a safetensors file that holds the bytes of an ONNX model, as `read_weights` leaves
    them.

    Raises
    ------
    ValueError
        The model cannot be run; the message says why.
    Refused
        MODEL_OUTPUT: it gives another number of rows than it is shown images.
    LostWorker
        The process died.
    """

    def __init__(self, weights: Path, threads: int) -> None:
        nobody = may_become_nobody()
        memory_bytes = BASE_BYTES + 4 * weights.stat().st_size
        arguments = (str(weights.absolute()), str(threads), str(memory_bytes), str(int(nobody)))
        self._command = command(CHILD, *arguments, nobody=nobody)
        self._start()

    def _start(self) -> None:
        self._process = subprocess.Popen(
            self._command,
            cwd=ROOT,
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        weakref.finalize(self, _end, self._process)
        reply = self._answer()[0]
        n_outputs = reply.get("n_outputs")
        self.n_outputs = n_outputs if isinstance(n_outputs, int) else None
        self.takes_bytes = reply.get("bytes") is True

    def run(self, images: Floats) -> Floats:
        """Return what the model gives for a batch; errors as of the class."""
        if self._process.poll() is not None:
            self._start()
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(images.shape).encode() + b"\n")
            self._process.stdin.write(np.ascontiguousarray(images, np.float32).data)
            self._process.stdin.flush()
        except OSError:
            pass  # it has ended: said below
        return self._answer()[1]

    def _answer(self) -> tuple[dict[str, Any], Floats]:  # Any: plain JSON values
        assert self._process.stdout is not None
        line = self._process.stdout.readline(10_000)
        try:
            reply = json.loads(line)
            error, shape = reply.get("error"), [max(int(n), 0) for n in reply.get("shape", [0])]
            whole = self._process.stdout.read(4 * min(math.prod(shape), MAX_NUMBERS))
            outputs = np.frombuffer(whole, np.float32).reshape(shape)
        except (ValueError, TypeError, AttributeError, OverflowError, RecursionError):
            _end(self._process)
            what = f"The process that runs the model ended with {self._process.returncode}"
            remedy = "use a smaller batch size; the model may need more memory than it is given"
            raise LostWorker("LOST_WORKER", what, remedy) from None
        if error is not None:
            text = HARMFUL.sub("?", str(error))[:MAX_TEXT]
            if reply.get("rows") is True:
                raise Refused("MODEL_OUTPUT", text, "export a network that gives one row an image")
            raise ValueError(text)
        return reply, outputs


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            try:
                pipe.close()
            except OSError:  # what was not sent
                continue


class OnnxNetwork(nn.Module):
    """A model in a confined process, called as networks of torch are.

    Its probabilities become logits: logarithms, or log-odds where each label has its own, of which
    a softmax or a sigmoid makes the same probabilities again.

    `layout`: ``nchw`` or ``nhwc``; `outputs`: ``logits`` or ``probabilities``; `many`: each output
    is a label of its own; `in_bytes`: pixels come as 0 to 255, which a model of uint8 needs: others
    would be cut to 0 and 1.

    Raises Refused MODEL_INPUT: the model takes bytes, and pixels come as something else.
    FORMAT_UNKNOWN.
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
        in_bytes: bool = True,
    ) -> None:
        super().__init__()
        self._session = opened(weights)
        _refuse_others(self._session, in_bytes=in_bytes)
        self._n_outputs, self._layout, self._outputs = n_outputs, layout, outputs
        self._many, self._temperature = many, temperature

    def forward(self, images: Tensor) -> Tensor:
        """Return logits (n, K) float32 of images (n, C, H, W).

        Raises Refused CLASSES, or MODEL_OUTPUT: other numbers than were named.
        """
        shown = images.permute(0, 2, 3, 1) if self._layout == "nhwc" else images
        out = self._session.run(shown.cpu().numpy())
        if out.ndim != 2 or out.shape != (len(images), self._n_outputs):
            what = f"The model gives an array of shape {out.shape} for {len(images)} images"
            raise Refused("MODEL_OUTPUT", what, f"{self._n_outputs} numbers an image are expected")
        # What the user said is checked against the values: a softmax of probabilities would look
        # far too modest, probabilities taken for logits would pass unseen.
        bounded = bool(((out >= -NEAR) & (out <= 1 + NEAR)).all())
        if self._outputs == "logits":
            if not self._many and bounded and bool((abs(out.sum(1) - 1) < NEAR).all()):
                what = "The model gives probabilities: every row sums to 1"
                raise Refused("MODEL_OUTPUT", what, AS_PROBABILITIES)
            return torch.from_numpy(out / self._temperature)
        if not bounded or (not self._many and bool((abs(out.sum(1) - 1) > 10 * NEAR).any())):
            what = "The model's outputs are no probabilities"
            raise Refused("MODEL_OUTPUT", what, "choose logits as outputs (--outputs logits)")
        # Probabilities back to logits, of which a softmax or sigmoid makes the same ones; clipped
        # where a logarithm would be infinite.
        if self._many:
            within = out.astype(np.float64).clip(LEAST, MOST)
            logits = (np.log(within) - np.log1p(-within)).astype(np.float32)
        else:
            logits = np.log(out.clip(LEAST))
        return torch.from_numpy(logits / np.float32(self._temperature))


def opened(weights: Path) -> OnnxSession:
    """Return a model that runs; FORMAT_UNKNOWN where onnxruntime does not take it."""
    try:
        return OnnxSession(weights, torch.get_num_threads())
    except ValueError as error:
        what = f"ONNX Runtime does not run this model ({error})"
        raise Refused("FORMAT_UNKNOWN", what, "export it again with standard operators") from error


def _refuse_others(session: OnnxSession, *, in_bytes: bool) -> None:
    """Refuse pixels that are no bytes for a model of uint8."""
    if session.takes_bytes and not in_bytes:
        what = "The model takes bytes (uint8), and the mean and standard deviation that were chosen"
        remedy = "choose pixels from 0 to 255 (--moments bytes)"
        raise Refused("MODEL_INPUT", f"{what} give it other pixels", remedy)


def onnx_match(weights: Path, n_outputs: int, *, in_bytes: bool = True) -> Match:
    """Return whether a model runs and gives so many outputs; MODEL_INPUT as of `OnnxNetwork`."""
    session = opened(weights)
    _refuse_others(session, in_bytes=in_bytes)
    given = session.n_outputs
    fits = given in (None, n_outputs)
    differs = () if fits else (f"{given} outputs in the file",)
    return Match(ONNX, n_outputs, int(fits), 1, "", (), (), (), differs, given)
