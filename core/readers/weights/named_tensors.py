"""What a file of weights holds: groups of named tensors, and hints at the network; no torch."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Annotated, Final

from core import defaults
from core.errors import Notice
from core.fields import Field

DTYPES: Final = frozenset(
    {"F64", "F32", "F16", "BF16", "I64", "I32", "I16", "I8", "U64", "U32", "U16", "U8", "BOOL"}
)  # as safetensors names them
FORMATS: Final = frozenset({"torch", "torch-legacy", "safetensors", "onnx"})
# Of a wrapper that divides logits, as ModelWithTemperature of Guo et al. 2017.
TEMPERATURE: Final = re.compile(r"(^|\.)(temperature|temp)$")
LEAST_TEMPERATURE, MOST_TEMPERATURE = 0.01, 100
DISTINCT: Final = "give at least one, each under a name of its own"
Hint = str | int | float | bool


def _fits(shape: tuple[int, ...]) -> bool:
    return min(shape, default=0) >= 0 and math.prod(max(n, 1) for n in shape) <= defaults.MAX_BYTES


def _is_plain_name(file: str) -> bool:
    return file not in ("", ".", "..") and "/" not in file and "\\" not in file


def _have_own(name: str) -> Callable[[Sequence[object]], bool]:
    """Return whether there are some items, each with a value of its own."""
    return lambda items: 0 < len(set(map(attrgetter(name), items))) == len(items)


@dataclass(frozen=True)
class TensorInfo:
    """One tensor without its numbers; `dtype` as safetensors names it, such as F32."""

    name: str
    shape: Annotated[tuple[int, ...], Field(allows=_fits, remedy="give sides of a tensor")]
    dtype: Annotated[str, Field(allows=DTYPES.__contains__)]


@dataclass(frozen=True)
class WeightGroup:
    """Tensors that were saved together: one state of one network.

    Attributes
    ----------
    key : str
        Where they lie in the file, such as ``state_dict`` or ``state.net``; empty at its root.
    ema : bool
        Whether they are averages over the training's last steps.
    tensors : tuple of TensorInfo
        In the order of the file.
    file : str
        Name of the safetensors file that holds them.
    temperature : float or None
        What a tensor of one number says that logits are divided by.
    """

    key: str
    ema: bool
    tensors: Annotated[tuple[TensorInfo, ...], Field(allows=_have_own("name"), remedy=DISTINCT)]
    file: Annotated[str, Field(allows=_is_plain_name, remedy="give the name of a file")]
    temperature: Annotated[float | None, Field(low=LEAST_TEMPERATURE, high=MOST_TEMPERATURE)] = None


@dataclass(frozen=True, kw_only=True)
class WeightsFile:
    """What a file of weights holds.

    Attributes
    ----------
    name : str
        As the user knows it.
    digest : str
        Of its bytes.
    format : str
        ``torch``, ``torch-legacy``, ``safetensors`` or ``onnx``, whose one tensor is the file.
    groups : tuple of WeightGroup
        The best first: averages before the last state, then those of more tensors.
    hints : mapping of str to plain value
        What was saved beside the weights, such as ``arch`` or ``args.model``.
    notices : tuple of Notice
        What was accepted, but must be said.
    """

    name: str
    digest: str
    format: Annotated[str, Field(allows=FORMATS.__contains__)]
    groups: Annotated[tuple[WeightGroup, ...], Field(allows=_have_own("key"), remedy=DISTINCT)]
    hints: Mapping[str, Hint]
    notices: tuple[Notice, ...] = ()

    def group(self, key: str) -> WeightGroup:
        """Return the group of a key; KeyError when there is none."""
        return {group.key: group for group in self.groups}[key]
