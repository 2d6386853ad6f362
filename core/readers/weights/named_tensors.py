"""What a file of weights holds: groups of named tensors, and hints at the network; no torch."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from core import defaults
from core.errors import Notice

DTYPES: Final = frozenset(
    {"F64", "F32", "F16", "BF16", "I64", "I32", "I16", "I8", "U64", "U32", "U16", "U8", "BOOL"}
)  # as safetensors names them
FORMATS: Final = frozenset({"torch", "torch-legacy", "safetensors"})
Hint = str | int | float | bool


@dataclass(frozen=True)
class TensorInfo:
    """One tensor without its numbers; `dtype` as safetensors names it, such as F32."""

    name: str
    shape: tuple[int, ...]
    dtype: str


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
    """

    key: str
    ema: bool
    tensors: tuple[TensorInfo, ...]
    file: str


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
        ``torch``, ``torch-legacy`` or ``safetensors``.
    groups : tuple of WeightGroup
        The best first: averages before the last state, then those of more tensors.
    hints : mapping of str to plain value
        What was saved beside the weights, such as ``arch`` or ``args.model``.
    notices : tuple of Notice
        What was accepted, but must be said.
    """

    name: str
    digest: str
    format: str
    groups: tuple[WeightGroup, ...]
    hints: Mapping[str, Hint]
    notices: tuple[Notice, ...] = ()

    def group(self, key: str) -> WeightGroup:
        """Return the group of a key; KeyError when there is none."""
        return {group.key: group for group in self.groups}[key]

    def to_json(self) -> dict[str, Any]:
        """Return all of it as plain JSON."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "WeightsFile":
        """Return what `to_json` gave; ValueError for anything that it cannot have given."""
        _check_keys(data, "name digest format groups hints notices")
        _check(data["format"] in FORMATS, "format")
        hints = {_text(key): _plain(value) for key, value in data["hints"].items()}
        groups = tuple(_group(entry) for entry in data["groups"])
        _check(0 < len({group.key for group in groups}) == len(groups), "groups")
        notices = tuple(
            Notice(_text(notice["code"]), _text(notice["text"])) for notice in data["notices"]
        )
        name, digest = _text(data["name"]), _text(data["digest"])
        return cls(
            name=name,
            digest=digest,
            format=data["format"],
            groups=groups,
            hints=hints,
            notices=notices,
        )


def _group(data: Mapping[str, Any]) -> WeightGroup:
    _check_keys(data, "key ema tensors file")
    _check(type(data["ema"]) is bool, "ema")
    file = _text(data["file"])
    _check(file not in ("", ".", "..") and "/" not in file and "\\" not in file, "file")
    tensors = tuple(_tensor(tensor) for tensor in data["tensors"])
    _check(0 < len({tensor.name for tensor in tensors}) == len(tensors), "tensors")
    return WeightGroup(_text(data["key"]), data["ema"], tensors, file)


def _tensor(data: Mapping[str, Any]) -> TensorInfo:
    _check_keys(data, "name shape dtype")
    _check(data["dtype"] in DTYPES, "dtype")
    _check(all(type(n) is int and n >= 0 for n in data["shape"]), "shape")
    _check(math.prod(max(n, 1) for n in data["shape"]) <= defaults.MAX_BYTES, "shape")
    return TensorInfo(_text(data["name"]), tuple(data["shape"]), data["dtype"])


def _check_keys(data: object, keys: str) -> None:
    _check(isinstance(data, Mapping) and set(data) == set(keys.split()), keys)


def _text(value: object) -> str:
    _check(isinstance(value, str), "text")
    return str(value)


def _plain(value: object) -> Hint:
    _check(isinstance(value, str | int | float | bool), "hint")
    return value  # type: ignore[return-value]


def _check(right: bool, what: str) -> None:
    if not right:
        raise ValueError(what)
