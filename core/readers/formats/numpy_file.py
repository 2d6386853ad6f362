"""NumPy arrays as .npy and as pickles, by a header parser and an unpickler of our own.

The unpickler can call nothing but guarded functions; sizes are checked before anything is made.
"""

import ast
import io
import math
import pickle
import re
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, NoReturn

import numpy as np

from core import defaults
from core.errors import Refused
from core.readers.formats.contents import (
    COPY_AGAIN,
    Contents,
    Entry,
    FileBytes,
    check_dtype,
    cut_off,
    is_text,
    native,
    text_array,
)
from core.readers.formats.tree import contents_of

REMEDY = "save plain NumPy arrays, best with np.savez"
OUTPUTS = ("predictions", "label_ids", "metrics")


class SealedValue:
    """What a pickle may hold but not change.

    Without `__setstate__`, BUILD would set any slot, after every check was made.
    """

    __slots__ = ()

    def __setstate__(self, state: object) -> NoReturn:
        """Refuse BUILD."""
        # BUILD would otherwise set attributes behind the checks of the constructor.
        raise Refused("PICKLE_SHAPE", "State given to an object that takes none", REMEDY)


class AllowedCall(SealedValue):
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
    # Text only: Python salts the hash of text, so that collisions cannot be prepared.
    for key, value in items:
        if not isinstance(key, str):  # its hash is not salted, and may take for ever
            raise Refused("PICKLE_SHAPE", "A mapping whose keys are not text", REMEDY)
        out[key] = value
    return out


def default_mapping(*_factory: object) -> OrderedMapping:
    """Make an empty mapping; what would fill it is forgotten."""
    return OrderedMapping()


MAX_NUMBERS: Final = 10_000  # numbers among the keys of a pickle
MAX_OTHERS: Final = 1_000  # anything else but text, as the classes of callbacks
SALTED, NUMBER, OTHER, TUPLE, NESTED = range(5)  # NESTED is a tuple with a tuple inside, and alike

# What an operation takes from the stack, and the kind that it leaves there.
EFFECTS: Final = {
    **dict.fromkeys(b"SUTVXBC\x8c\x8d\x8e", (0, SALTED)),
    **dict.fromkeys(b"FGJKMN\x88\x89", (0, NUMBER)),
    **dict.fromkeys(b"]})c\x8f\x96", (0, OTHER)),
    **dict.fromkeys(b"ab", (1, None)),
    **dict.fromkeys(b"Q", (1, OTHER)),
    0x93: (2, OTHER),
}
TUPLES: Final = {0x85: 1, 0x86: 2, 0x87: 3}
REDUCE, NEW_OBJECT = ord("R"), 0x81
MARK, POP, DUPLICATE, SET_ITEM = ord("("), ord("0"), ord("2"), ord("s")
SHORT: Final = {0x8A: 10, ord("I"): 21, ord("L"): 22}  # bytes of a whole number of 64 bits
LONG4: Final = 0x8B
PAIRS: Final = b"ud"  # operations on a mark that set keys and values,
ITEMS: Final = b"\x90\x91"  # those that set keys alone,
ON_MARK: Final = b"ud\x90\x91tle1"
LEFT: Final = {ord("d"): OTHER, ord("l"): OTHER, 0x91: OTHER}


class Keys:
    """The kinds on the stack and in the memo of a pickle, and how many keys it sets."""

    def __init__(self) -> None:
        self._stack = bytearray()
        self._marks: list[int] = []
        self._memo = bytearray()
        self._numbers = 0
        self._others = 0

    def step(self, code: int, size: int) -> None:
        """Follow one operation that is none of the memo; `size` is that of its operand.

        Raises Refused PICKLE_LIMIT: too many keys. PICKLE_SHAPE: nothing on the stack to take.
        """
        # A pickle is a program for a stack: its operations are followed
        # here by kind alone, without making anything.
        effect = EFFECTS.get(code)
        if effect is not None:
            self._take(effect[0])
            if effect[1] is not None:
                self._stack.append(effect[1])
        elif code in TUPLES:
            self._stack.append(_tuple(self._take(TUPLES[code])))
        elif code == MARK:
            self._marks.append(len(self._stack))
        elif code in ON_MARK:
            if not self._marks:
                raise _short()
            at = self._marks.pop()
            items = self._stack[at:]
            del self._stack[at:]
            # Keys and values take turns; only keys are hashed.
            if code in PAIRS:
                self._count(items[::2])
            elif code in ITEMS:
                self._count(items)
            if code == ord("t"):
                self._stack.append(_tuple(items))
            elif code in LEFT:
                self._stack.append(LEFT[code])
        else:
            self._rarely(code, size)

    def put(self, index: int) -> None:
        """Remember the kind on top of the stack."""
        if index >= len(self._memo):
            self._memo.extend(bytes([OTHER]) * (index + 1 - len(self._memo)))
        self._memo[index] = self._top()

    def get(self, index: int) -> None:
        """Put a remembered kind on the stack."""
        self._stack.append(self._memo[index] if index < len(self._memo) else OTHER)

    def _rarely(self, code: int, size: int) -> None:
        if code in (REDUCE, NEW_OBJECT):
            # A call may hand its arguments back: nested ones stay nested.
            _, arguments = self._take(2)
            self._stack.append(NESTED if arguments == NESTED else OTHER)
        elif code == SET_ITEM:
            self._count(self._take(2)[:1])
        elif code in SHORT:
            self._stack.append(NUMBER if size <= SHORT[code] else OTHER)
        elif code == LONG4:
            self._stack.append(NESTED)
        elif code == DUPLICATE:
            self._stack.append(self._top())
        elif code == POP and self._marks and self._marks[-1] == len(self._stack):
            self._marks.pop()
        elif code == POP:
            self._take(1)

    def _take(self, count: int) -> bytearray:
        """Take kinds from the stack, none from below the last mark."""
        at = len(self._stack) - count
        if at < (self._marks[-1] if self._marks else 0):
            raise _short()
        taken = self._stack[at:]
        del self._stack[at:]
        return taken

    def _top(self) -> int:
        if not self._stack:
            raise _short()
        return self._stack[-1]

    def _count(self, keys: bytearray) -> None:
        self._numbers += keys.count(NUMBER)
        self._others += keys.count(OTHER) + keys.count(TUPLE)
        # The hash of a number is known: keys can be chosen that all collide, and
        # the time grows with the square of their number.
        many = self._numbers > MAX_NUMBERS or self._others > MAX_OTHERS
        # Python keeps no hash of a tuple: tuples whose parts are
        # shared tuples take exponential time.
        if many or keys.count(NESTED):
            what = (
                f"The file has more than {MAX_NUMBERS} numbers or {MAX_OTHERS} other keys"
                if many
                else "A key is a tuple of tuples, or a number of any length"
            )
            raise Refused("PICKLE_LIMIT", what, "give every key as text")


def _tuple(kinds: bytearray) -> int:
    return NESTED if kinds.count(TUPLE) or kinds.count(NESTED) else TUPLE


def _short() -> Refused:
    what = "The pickle takes more from its stack than it put there"
    return Refused("PICKLE_SHAPE", what, "save plain NumPy arrays, best as .npz")


MAX_OPCODES = 8_000_000
MAX_LINE = 10_000
MAX_MEMO_GAP = 1_000  # memo slots that may be skipped: a list as long as the index is allocated

# Bytes that follow an opcode: a fixed number, or the width of a little-endian length before data.
FIXED = {
    **dict.fromkeys(b"(.012NQRabdelostu})]\x81\x85\x86\x87\x88\x89\x8f\x90\x91\x93\x94", 0),
    **dict.fromkeys(b"Khq\x80", 1),
    **dict.fromkeys(b"M", 2),
    **dict.fromkeys(b"Jjr", 4),
    **dict.fromkeys(b"G\x95", 8),
}
COUNTED = {
    **dict.fromkeys(b"UC\x8a\x8c", 1),
    **dict.fromkeys(b"TXB\x8b", 4),
    **dict.fromkeys(b"\x8d\x8e\x96", 8),
}
LINES = {**dict.fromkeys(b"FILSVgp", 1), ord("c"): 2}
FORBIDDEN = {
    0x82: "EXT1", 0x83: "EXT2", 0x84: "EXT4", ord("i"): "INST", ord("o"): "OBJ", ord("P"): "PERSID",
    0x92: "NEWOBJ_EX", 0x97: "NEXT_BUFFER", 0x98: "READONLY_BUFFER",
}  # fmt: skip
PERSISTENT_ID = ord("Q")
STOP = ord(".")
MEMOIZE, GETS = 0x94, b"hjg"
MEMO = frozenset(b"pqrhjg\x94")
WIDTHS = {1: "<B", 4: "<I", 8: "<Q"}


@dataclass
class _Memo:
    """How many memo slots are filled; an index far beyond that is an attack on memory."""

    keys: Keys
    filled: int = 0

    def put(self, index: int) -> None:
        """Check an index, and remember there what kind of value is on the stack."""
        if index > self.filled + MAX_MEMO_GAP:
            what = f"Memo index {index} far beyond its entries"
            raise Refused("PICKLE_LIMIT", what, "save as .npz")
        self.filled += 1
        self.keys.put(index)


def scan(data: memoryview, start: int = 0, *, persistent: bool = False) -> int:
    """Return where the pickle that begins at `start` ends, after its STOP.

    `persistent` says that references to storages (BINPERSID) may occur, as in torch files.

    Raises Refused PICKLE_LIMIT: a length beyond the file, too many operations, sparse memo
    indexes, too many keys that are no text. PICKLE_SHAPE: an operation that arrays never need, or
    bytes that are no pickle.
    """
    at, size, keys = start, data.nbytes, Keys()
    memo = _Memo(keys)
    # The whole pickle is walked before the unpickler sees a byte of it.
    for _ in range(MAX_OPCODES):
        if at >= size:
            raise Refused("PICKLE_SHAPE", cut_off(size), COPY_AGAIN)
        code = data[at]
        at += 1
        if code == STOP:
            return at
        # Torch files refer to storages; nothing else does.
        if code in FORBIDDEN or (code == PERSISTENT_ID and not persistent):
            name = FORBIDDEN.get(code, "BINPERSID")
            raise _broken(f"Operation {name}, which arrays never need")
        # A length beyond the file would make the unpickler ask for that much memory.
        after = _skip(data, at, code)
        if after > size:
            raise Refused("PICKLE_LIMIT", cut_off(size), COPY_AGAIN)
        # The unpickler's memo is an array as long as its largest index: one far index is gigabytes.
        if code in MEMO:
            if code == MEMOIZE:
                memo.put(memo.filled)
            else:
                index = _index(data, at, code)
                if code in GETS:
                    memo.keys.get(index)
                else:
                    memo.put(index)
        else:
            keys.step(code, after - at)
        at = after
    raise Refused("PICKLE_LIMIT", f"More than {MAX_OPCODES} operations", "save arrays, as .npz")


def _broken(what: str) -> Refused:
    return Refused("PICKLE_SHAPE", what, "save plain NumPy arrays, best as .npz")


def _skip(data: memoryview, at: int, code: int) -> int:
    fixed = FIXED.get(code)
    if fixed is not None:
        return at + fixed
    width = COUNTED.get(code)
    if width is not None:
        if at + width > data.nbytes:
            return at + width
        return at + width + int(struct.unpack_from(WIDTHS[width], data, at)[0])
    for _ in range(LINES.get(code, 0)):
        at = _after_line(data, at)
    if code not in LINES:
        raise _broken(f"Byte {code} is not an operation of a pickle")
    return at


def _after_line(data: memoryview, at: int) -> int:
    end = bytes(data[at : at + MAX_LINE]).find(b"\n")
    if end < 0:
        raise Refused("PICKLE_LIMIT", f"A line of more than {MAX_LINE} bytes", "save as .npz")
    return at + end + 1


def _index(data: memoryview, at: int, code: int) -> int:
    """Return the memo index after an operation: one byte, four, or a line of digits."""
    if code in b"qh":
        return data[at]
    if code in b"rj":
        return int(struct.unpack_from("<I", data, at)[0])
    line = bytes(data[at : _after_line(data, at) - 1]).strip()
    if not line.isdigit() or len(line) > 9:
        raise _broken("A memo index that is not a number")
    return int(line)


BROKEN = (
    pickle.UnpicklingError, EOFError, ValueError, TypeError, AttributeError, IndexError, KeyError,
    OverflowError, RecursionError, UnicodeError,
)  # fmt: skip
MAX_DIMENSIONS = 8
TYPES = ("int", "long", "float", "str", "bool", "list", "dict", "tuple", "set")


class StoredType:
    """A dtype as a pickle spells it: a code, then a byte order."""

    __slots__ = ("code", "order")

    def __init__(self, code: object, *flags: object) -> None:
        odd = any(flag not in (0, 1) for flag in flags)  # compared: a hash may take for ever
        if not isinstance(code, str) or len(code) > 12 or odd:
            raise Refused("DTYPE", f"Dtype {str(code)[:40]!r}", REMEDY)
        self.code = code
        self.order = "="

    def __setstate__(self, state: tuple[object, ...]) -> None:
        """Take the byte order; fields and sub-arrays are refused."""
        if not isinstance(state, tuple) or len(state) < 5 or state[1] not in ("<", ">", "=", "|"):
            raise Refused("DTYPE", "A dtype in an unknown form", REMEDY)
        if any(part is not None for part in state[2:5]):
            raise Refused("DTYPE", "A structured array", REMEDY)
        self.order = str(state[1])

    @property
    def holds_objects(self) -> bool:
        """Whether the array would hold objects of Python."""
        return self.code[:1] == "O"

    def resolve(self) -> np.dtype[np.generic]:
        """Return the dtype, checked to hold plain numbers or text."""
        dtype = np.dtype(self.code)
        check_dtype(dtype, "pickle")
        return dtype.newbyteorder(">" if self.order == ">" else "<")


class StoredArray:
    """An array whose numbers arrive by BUILD, after the object was made."""

    __slots__ = ("array",)

    def __init__(self, kind: object, shape: object, code: object) -> None:
        if kind is not NDARRAY or shape not in ((0,), [0]) or code not in (b"b", "b", b""):
            raise Refused("PICKLE_SHAPE", "An array in an unknown form", REMEDY)
        self.array: Entry | None = None

    def __setstate__(self, state: object) -> None:
        """Take (version, shape, dtype, order, bytes) and check that the sizes agree."""
        if not isinstance(state, tuple) or len(state) != 5:
            raise Refused("PICKLE_SHAPE", "An array in an unknown form", REMEDY)
        _, shape, dtype, fortran, raw = state
        self.array = build_array(raw, dtype, shape, "F" if fortran else "C")


class NumpyArrayType:
    """Stands for numpy.ndarray, which a pickle may name but not call."""

    __slots__ = ()


NDARRAY = NumpyArrayType()


def build_array(raw: object, dtype: object, shape: object, order: object) -> Entry:
    """Return an array of exactly the bytes stored; the shape cannot ask for more."""
    if not isinstance(dtype, StoredType) or not isinstance(shape, tuple) or order not in ("C", "F"):
        raise Refused("PICKLE_SHAPE", "An array in an unknown form", REMEDY)
    if dtype.holds_objects:
        # Objects lie row by row in any order of memory; all have to be text.
        texts = [cell for cell in raw if type(cell) is str] if isinstance(raw, list) else []
        if not isinstance(raw, list) or len(texts) < len(raw):
            check_dtype(np.dtype(object), "pickle")
        _check_shape(shape)
        if math.prod(shape) != len(texts):
            what = f"Shape {shape} for {len(texts)} texts"
            raise Refused("PICKLE_SHAPE", what, REMEDY)
        return text_array(texts).reshape(shape)
    resolved = dtype.resolve()
    if isinstance(raw, str):  # as Python 2 wrote bytes
        raw = raw.encode("latin-1")
    if not isinstance(raw, bytes | bytearray):
        raise Refused("PICKLE_SHAPE", "An array in an unknown form", REMEDY)
    _check_shape(shape)
    expected = math.prod(shape) * resolved.itemsize
    if expected != len(raw) or expected > defaults.MAX_BYTES:
        what = f"Shape {shape} needs {expected} bytes, {len(raw)} are stored"
        raise Refused("PICKLE_SHAPE", what, REMEDY)
    return native(np.frombuffer(raw, resolved).reshape(shape, order=order))


def _check_shape(shape: tuple[object, ...]) -> None:
    if len(shape) > MAX_DIMENSIONS or any(type(n) is not int or n < 0 for n in shape):
        raise Refused("PICKLE_SHAPE", f"Array shape {str(shape)[:60]}", REMEDY)


def _encode(text: object, encoding: object) -> bytes:
    """Protocol 2 stores bytes as text in Latin-1."""
    if not isinstance(text, str) or encoding != "latin1":
        raise Refused("PICKLE_SHAPE", "Bytes in an unknown form", REMEDY)
    return text.encode("latin-1")


RECONSTRUCT, SCALAR = (
    AllowedCall(StoredArray),
    AllowedCall(lambda dtype, raw: build_array(raw, dtype, (), "C").item()),
)
FROM_BUFFER, DTYPE = AllowedCall(build_array), AllowedCall(StoredType)
GLOBALS: Mapping[tuple[str, str], object] = {
    ("numpy", "ndarray"): NDARRAY,
    ("numpy", "dtype"): DTYPE,
    ("numpy.core.multiarray", "_reconstruct"): RECONSTRUCT,
    ("numpy._core.multiarray", "_reconstruct"): RECONSTRUCT,
    ("numpy.core.multiarray", "scalar"): SCALAR,
    ("numpy._core.multiarray", "scalar"): SCALAR,
    ("numpy.core.numeric", "_frombuffer"): FROM_BUFFER,
    ("numpy._core.numeric", "_frombuffer"): FROM_BUFFER,
    ("_codecs", "encode"): AllowedCall(_encode),
    ("__builtin__", "bytes"): AllowedCall(lambda: b""),
    ("builtins", "bytes"): AllowedCall(lambda: b""),
    ("collections", "OrderedDict"): AllowedCall(mapping),
    ("collections", "defaultdict"): AllowedCall(default_mapping),
    **{
        ("transformers.trainer_utils", name): Outputs
        for name in ("PredictionOutput", "EvalPrediction", "EvalLoopOutput")
    },
    # What a defaultdict makes of a missing key is only a name.
    **{(module, name): InertObject() for module in ("__builtin__", "builtins") for name in TYPES},
}


MODELS = {"sklearn", "xgboost", "lightgbm", "catboost", "keras", "tensorflow", "fastai", "skorch"}
MODEL = "a model, and loading one runs its code"
UNKNOWN = "which is none of the array types allowed"
SAVE_PREDICTIONS = (
    "save what it predicts: np.savez('predictions.npz', probs=model.predict_proba(x), labels=y); "
    "of several folds, the rows that each was not trained on"
)


class _Unpickler(pickle.Unpickler):
    """Knows the names of one fixed table and nothing else; there is no second attempt."""

    def __init__(
        self,
        file: io.BytesIO,
        names: Mapping[tuple[str, str], object],
        storage: Callable[[object], object] | None,
    ) -> None:
        super().__init__(file, encoding="latin1")
        self._names, self._storage = names, storage

    def find_class(self, module: str, name: str) -> object:
        """Return our own stand-in for a known name; refuse every other."""
        stand_in = self._names.get((module, name))
        if stand_in is None:
            model = module.partition(".")[0] in MODELS
            what = f"The pickle asks for {module}.{name}, {MODEL if model else UNKNOWN}"
            remedy = SAVE_PREDICTIONS if model else REMEDY
            raise Refused("PICKLE_GLOBAL", what, remedy, f"{module}.{name}")
        return stand_in

    def persistent_load(self, reference: object) -> object:
        """Hand a storage reference of a torch file to its reader."""
        if self._storage is None:
            raise Refused("PICKLE_SHAPE", "A reference outside the pickle", REMEDY)
        return self._storage(reference)


def load(
    data: memoryview,
    names: Mapping[tuple[str, str], object] = GLOBALS,
    storage: Callable[[object], object] | None = None,
    start: int = 0,
) -> tuple[object, int]:
    """Return the object of the pickle that begins at `start`, and where the pickle ends.

    Raises Refused PICKLE_GLOBAL, PICKLE_LIMIT, PICKLE_SHAPE, OBJECT_DTYPE or DTYPE.
    """
    # Scanned first; then only names of GLOBALS can be looked up, each one of our stand-ins.
    end = scan(data, start, persistent=storage is not None)
    file = io.BytesIO(data[start:end])
    try:
        return _Unpickler(file, names, storage).load(), end
    except BROKEN as error:
        what = "The pickle is damaged or does not hold arrays"
        raise Refused("PICKLE_SHAPE", what, REMEDY) from error


def resolve(node: object) -> object:
    """Return the array or mapping behind a stand-in of ours, and everything else as it is."""
    if isinstance(node, Outputs):
        return node.values
    return node.array if isinstance(node, StoredArray) else node


def read_pickle(source: FileBytes) -> Contents:
    """Return the arrays of a pickle: a mapping, a pair, or a pair of pairs of arrays."""
    tree, end = load(source.data)
    if end < source.size:
        what = f"{source.size - end} bytes follow the pickle"
        raise Refused("TRAILING", what, "save one object in the file")
    return contents_of("pickle", tree, resolve, source.records)


MAGIC = b"\x93NUMPY"
MAX_HEADER = 10_000  # the limit np.load itself sets


def read_npy(source: FileBytes) -> Contents:
    """Return the one array of an .npy file under the key ``array``."""
    return Contents("npy", {"array": array_of(source.data, source.name, text=True)}, named=False)


def array_of(data: memoryview, location: str, *, text: bool = False) -> Entry:
    """Return the array in the bytes of an .npy file, without a copy where none is needed.

    `text` lets an array of objects pass if each is a text: NumPy pickles those, and the pickle is
    read by our own unpickler.

    Raises Refused HEADER_LEN, HEADER_PARSE, HEADER_SHAPE, TRAILING, DTYPE or OBJECT_DTYPE.
    """
    if data.nbytes < 10 or bytes(data[:6]) != MAGIC:
        what = "No .npy header"
        raise Refused("HEADER_PARSE", what, "save the array again with np.save", location)
    major = data[6]
    if major not in (1, 2, 3):
        what = f".npy version {major}"
        raise Refused("HEADER_PARSE", what, "save it again with np.save", location)
    # Version 1 has a header length of two bytes, later ones of four.
    width = 2 if major == 1 else 4
    length = int.from_bytes(data[8 : 8 + width], "little")
    start = 8 + width
    if length > MAX_HEADER or start + length > data.nbytes:
        what = f"The header claims {length} bytes; at most {MAX_HEADER} and the file's own are read"
        raise Refused("HEADER_LEN", what, "save the array again with np.save", location)
    header = bytes(data[start : start + length]).decode("latin-1")
    start += length
    try:  # the header is a Python literal and is never evaluated
        fields = ast.literal_eval(header.strip())
        fortran, sizes = bool(fields["fortran_order"]), fields["shape"]
        dtype = _dtype(fields["descr"], location)
    except (ValueError, SyntaxError, TypeError, KeyError, MemoryError, RecursionError) as error:
        what = "The header is not valid"
        raise Refused("HEADER_PARSE", what, "save it again with np.save", location) from error
    shape = sizes if isinstance(sizes, tuple) else (None,)
    if len(shape) > MAX_DIMENSIONS or any(type(n) is not int or n < 0 for n in shape):
        what = f"Shape {str(sizes)[:80]}: expected at most {MAX_DIMENSIONS} sizes, none negative"
        raise Refused("HEADER_SHAPE", what, "save the array again with np.save", location)
    # An axis of 0 makes the product 0, however large the others are.
    if math.prod(max(n, 1) for n in shape) > defaults.MAX_MAPPED_BYTES:  # also (0, 2**62)
        what = "The shape is larger than any memory"
        raise Refused("HEADER_SHAPE", what, "save the array again with np.save", location)
    if text and dtype == np.dtype(object):
        # Texts lie in a pickle; whatever else lies there is refused alike.
        try:
            node, end = load(data[start:])
        except Refused:
            node, end = None, 0
        array = resolve(node)
        plain = isinstance(array, np.ndarray) and is_text(array) and array.shape == shape
        if not plain or end < data.nbytes - start:
            check_dtype(np.dtype(object), location)
        return array  # type: ignore[return-value]
    check_dtype(dtype, location)
    expected = math.prod(shape) * dtype.itemsize  # Python integers: the product cannot overflow
    present = data.nbytes - start
    what = f"Shape {shape} needs {expected} bytes, the file holds {present}"
    if expected > min(present, defaults.MAX_MAPPED_BYTES):
        remedy = f"the file is cut off or altered: {COPY_AGAIN}"
        raise Refused("HEADER_SHAPE", what, remedy, location)
    if expected < present:
        raise Refused("TRAILING", what, "remove what follows the array: save it again", location)
    flat = np.frombuffer(data, dtype=dtype, count=math.prod(shape), offset=start)
    return native(flat.reshape(shape, order="F" if fortran else "C"))


def _dtype(descr: object, location: str) -> np.dtype[np.generic]:
    if isinstance(descr, list):
        what = "A structured array"
        raise Refused("DTYPE", what, "save scores and labels as two plain arrays", location)
    if not isinstance(descr, str) or not re.fullmatch(
        r"[<>|=]?[a-zA-Z]\d{0,6}(\[\w{1,6}\])?", descr
    ):
        raise ValueError(descr)
    return np.dtype(descr)
