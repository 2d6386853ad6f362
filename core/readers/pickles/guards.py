"""Stand-ins for what pickles ask for by name: guarded functions, mappings, forgotten objects."""

from collections.abc import Callable
from typing import NoReturn

from core.errors import Refused

REMEDY = "save plain NumPy arrays, best with np.savez"
OUTPUTS = ("predictions", "label_ids", "metrics")


class SealedValue:
    """What a pickle may hold but not change.

    Without `__setstate__`, BUILD would set any slot, after every check was made.
    """

    __slots__ = ()

    def __setstate__(self, state: object) -> NoReturn:
        """Refuse BUILD."""
        raise Refused("PICKLE_SHAPE", "State given to an object that takes none", REMEDY)


class Guard(SealedValue):
    """A function a pickle may call by name."""

    __slots__ = ("_call",)

    def __init__(self, call: Callable[..., object]) -> None:
        self._call = call

    def __call__(self, *args: object) -> object:
        """Call the guarded function; wrong arguments are a refusal."""
        return self._call(*args)


class InertObject:
    """Stands for an object whose content is of no interest; all it is given is forgotten."""

    __slots__ = ()

    def __new__(cls, *_args: object) -> "InertObject":
        """Make the object."""
        return super().__new__(cls)

    def __setstate__(self, state: object) -> None:
        """Take a state."""

    def __setitem__(self, key: object, value: object) -> None:
        """Take an item, as a mapping does."""

    def extend(self, values: object) -> None:
        """Take values, as a list does."""

    append = extend


class Outputs:
    """Stands for what a Trainer of transformers returns: predictions, label ids and metrics."""

    __slots__ = ("values",)

    values: dict[str, object]

    def __new__(cls, *parts: object) -> "Outputs":
        """Make one of its parts, which come in this order; more than these are forgotten."""
        outputs = super().__new__(cls)
        outputs.values = {}
        outputs.__setstate__(dict(zip(OUTPUTS, parts, strict=False)))
        return outputs

    def __setstate__(self, state: object) -> None:
        """Take parts by name; several arrays of predictions are numbered, as none is the first."""
        known = state if isinstance(state, dict) else {}
        for name in OUTPUTS:
            part = known.get(name, self.values.get(name))
            if isinstance(part, tuple):
                part = {str(i): item for i, item in enumerate(part)}
            if part is not None:
                self.values[name] = part


class OrderedMapping(dict[str, object]):
    """Stands for OrderedDict; attributes set by a pickle are forgotten."""

    __slots__ = ()

    def __setstate__(self, state: object) -> None:
        """Forget attributes such as `_metadata`."""


def mapping(*pairs: object) -> OrderedMapping:
    """Make a mapping; Python 2 wrote its items as one list of pairs."""
    out = OrderedMapping()
    items = pairs[0] if pairs else []
    if not isinstance(items, list) or any(not isinstance(i, list | tuple) for i in items):
        raise Refused("PICKLE_SHAPE", "A mapping made from an unknown form", REMEDY)
    for key, value in items:
        if not isinstance(key, str):  # its hash is not salted, and may take for ever
            raise Refused("PICKLE_SHAPE", "A mapping whose keys are not text", REMEDY)
        out[key] = value
    return out


def default_mapping(*_factory: object) -> OrderedMapping:
    """Make an empty mapping; what would fill it is forgotten."""
    return OrderedMapping()
