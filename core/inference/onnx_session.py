"""The confined process that runs one ONNX model: `main` is run by `core.readers.sandbox.limits`.

Without torch, which would take 3 GB of the address space that the model is given. It has the limits
of the process that reads files. It reads a line of JSON with the shape of a batch and the batch
itself, and answers with a line and the outputs, or with what the model cannot do. It opens no file
once it has the model's bytes, and ends with its input.
"""

import json
import math
import os
import sys
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from core.readers.formats.contents import FileBytes
from core.readers.sandbox.limits import drop_privileges, limit_resources, open_no_more
from core.readers.weights.named_tensors import MODEL, open_safetensors

CPU_S: Final = 10**7  # who waits for a batch ends what hangs
MAX_TEXT: Final = 200
TYPES: Final = {
    "tensor(float)": np.float32,
    "tensor(float16)": np.float16,
    "tensor(double)": np.float64,
    "tensor(uint8)": np.uint8,
}
Floats = npt.NDArray[np.float32]


class RowsError(ValueError):
    """The outputs are not one row for each image."""


def main() -> int:
    """Run a model until there are no more batches."""
    path, (threads, memory_bytes, nobody) = sys.argv[1], map(int, sys.argv[2:])
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what libraries print
    import onnxruntime  # type: ignore[import-untyped, import-not-found, unused-ignore]

    # The model is read before the doors are closed: afterwards this process can open nothing.
    with Path(path).open("rb", buffering=0) as file:
        model = open_safetensors(FileBytes.of_file(MODEL, file))[1](MODEL).tobytes()
    os.chdir("/")
    # From here on it can only compute: bounded memory and time, no rights, no further file.
    limit_resources(memory_bytes, CPU_S)
    drop_privileges(nobody=bool(nobody))
    open_no_more()
    try:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.log_severity_level = threads, 4
        options.enable_cpu_mem_arena = False
        # Else bytes of its own format, which nobody has looked at, could hide in an ONNX model.
        options.add_session_config_entry("session.load_model_format", "ONNX")
        session = onnxruntime.InferenceSession(model, options, ["CPUExecutionProvider"])
        (taken,), (given,) = session.get_inputs(), session.get_outputs()
        n_outputs = given.shape[-1] if len(given.shape) == 2 else None
        reply = {"n_outputs": n_outputs if isinstance(n_outputs, int) else None}
        reply["bytes"] = TYPES.get(taken.type) is np.uint8
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
            _say(answers, {"error": str(error), "rows": isinstance(error, RowsError)})
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
        # Filled up with the last image, whose extra rows are dropped.
        if n < step:
            part = np.concatenate([part, np.repeat(part[-1:], step - n, 0)])
        given = session.run(None, {taken.name: part.astype(dtype)})[0]
        if len(given) != len(part):  # which image a row is of nobody could say
            raise RowsError(f"The model gives {len(given)} rows for {len(part)} images")
        parts.append(given[:n])
    return np.ascontiguousarray(np.concatenate(parts), np.float32)


def _say(answers: Any, reply: dict[str, Any], outputs: Floats | None = None) -> None:  # noqa: ANN401
    if "error" in reply:
        reply["error"] = " ".join(reply["error"].split())[:MAX_TEXT]
    answers.write(json.dumps(reply).encode() + b"\n")
    if outputs is not None:
        answers.write(outputs.data)
    answers.flush()
