"""An ONNX model as a network that gives logits, and whether it is one; torch."""

import json
import math
import os
import subprocess
import sys
import weakref
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from core.checkpoints.match import Match
from core.errors import LostWorker, Refused
from core.models.catalogue import ONNX
from core.readers.formats.contents import FileBytes
from core.readers.formats.safetensors_file import open_safetensors
from core.readers.sandbox.child_process import ROOT, environment
from core.readers.sandbox.limits import (
    drop_privileges,
    leave_network,
    limit_resources,
    may_become_nobody,
)
from core.readers.weights.onnx_file import MODEL

BASE_BYTES: Final = 8 * 2**30  # of address space, beside four times the model
CPU_S: Final = 10**7  # who waits for a batch ends what hangs
MAX_TEXT: Final = 200
MAX_NUMBERS: Final = 2**28  # that one batch may give
TYPES: Final = {
    "tensor(float)": np.float32,
    "tensor(float16)": np.float16,
    "tensor(double)": np.float64,
    "tensor(uint8)": np.uint8,
}
Floats = npt.NDArray[np.float32]


class OnnxSession:
    """A model in a confined process of its own, which goes with this object.

    Parameters
    ----------
    weights : Path
        A safetensors file that holds the bytes of an ONNX model, as `read_weights` leaves them.
    threads : int

    Raises
    ------
    ValueError
        The model cannot be run; the message says why.
    LostWorker
        The process died.
    """

    def __init__(self, weights: Path, threads: int) -> None:
        self._arguments = [
            *(str(weights.absolute()), str(threads)),
            str(BASE_BYTES + 4 * weights.stat().st_size),
            str(int(may_become_nobody())),
        ]
        self._start()

    def _start(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__, *self._arguments],
            cwd=ROOT,
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        weakref.finalize(self, _end, self._process)
        n_outputs = self._answer()[0].get("n_outputs")
        self.n_outputs = n_outputs if isinstance(n_outputs, int) else None

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
        except (ValueError, TypeError, AttributeError):
            _end(self._process)
            what = f"The process that runs the model ended with {self._process.returncode}"
            remedy = "use a smaller batch size; the model may need more memory than it is given"
            raise LostWorker("LOST_WORKER", what, remedy) from None
        if error is not None:
            raise ValueError(str(error)[:MAX_TEXT])
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


def main() -> int:
    """Run a model until there are no more batches."""
    path, (threads, memory_bytes, nobody) = sys.argv[1], map(int, sys.argv[2:])
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what libraries print
    import onnxruntime  # type: ignore[import-untyped, import-not-found, unused-ignore]

    with Path(path).open("rb", buffering=0) as file:
        model = open_safetensors(FileBytes.of_file(MODEL, file))[1](MODEL).tobytes()
    os.chdir("/")
    leave_network(nobody=bool(nobody))
    limit_resources(memory_bytes, CPU_S)
    drop_privileges(nobody=bool(nobody))
    try:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.log_severity_level = threads, 4
        options.enable_cpu_mem_arena = False
        session = onnxruntime.InferenceSession(model, options, ["CPUExecutionProvider"])
        (taken,), (given,) = session.get_inputs(), session.get_outputs()
        n_outputs = given.shape[-1] if len(given.shape) == 2 else None
        reply = {"n_outputs": n_outputs if isinstance(n_outputs, int) else None}
        fixed = taken.shape[0] if isinstance(taken.shape[0], int) else None
    except Exception as error:  # noqa: BLE001  whatever the runtime raises is said
        _say(answers, {"error": str(error)})
        return 0
    del model
    _say(answers, reply)
    while line := sys.stdin.buffer.readline():
        shape = json.loads(line)
        whole = sys.stdin.buffer.read(4 * math.prod(shape))
        images = np.frombuffer(whole, np.float32).reshape(shape)
        try:
            outputs = _run(session, taken, images, fixed)
        except Exception as error:  # noqa: BLE001  as above
            _say(answers, {"error": str(error)})
        else:
            _say(answers, {"shape": outputs.shape}, outputs)
    return 0


def _run(session: Any, taken: Any, images: Floats, fixed: int | None) -> Floats:  # noqa: ANN401
    """Return the outputs of a batch, in steps of `fixed` images where the model takes so many."""
    dtype = TYPES[taken.type]
    if dtype is np.uint8:
        images = np.rint(images).clip(0, 255)
    step = fixed or len(images)
    parts = []
    for start in range(0, len(images), step):
        part = images[start : start + step]
        n = len(part)
        if n < step:
            part = np.concatenate([part, np.repeat(part[-1:], step - n, 0)])
        parts.append(session.run(None, {taken.name: part.astype(dtype)})[0][:n])
    return np.ascontiguousarray(np.concatenate(parts), np.float32)


def _say(answers: Any, reply: dict[str, Any], outputs: Floats | None = None) -> None:  # noqa: ANN401
    if "error" in reply:
        reply["error"] = " ".join(reply["error"].split())[:MAX_TEXT]
    answers.write(json.dumps(reply).encode() + b"\n")
    if outputs is not None:
        answers.write(outputs.data)
    answers.flush()


if __name__ == "__main__":
    sys.exit(main())


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
