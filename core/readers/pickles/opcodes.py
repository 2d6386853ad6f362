"""A scan over the opcodes of a pickle before anything runs it: lengths, counts and operations."""

import struct
from dataclasses import dataclass

from core.errors import Refused
from core.readers.formats.contents import COPY_AGAIN, cut_off
from core.readers.pickles.pickle_keys import Keys

MAX_OPCODES = 8_000_000
MAX_LINE = 10_000
MAX_MEMO_GAP = 1_000  # memo slots that may be skipped: a list as long as the index is allocated

# Bytes that follow an opcode: a fixed number, or the width of a little-endian length before data.
FIXED = {
    **dict.fromkeys(b"(.012NQRabdelostu})]\x85\x86\x87\x88\x89\x8f\x90\x91\x93\x94", 0),
    ord("K"): 1,
    ord("M"): 2,
    ord("J"): 4,
    ord("G"): 8,
    ord("h"): 1,
    ord("j"): 4,
    ord("q"): 1,
    ord("r"): 4,
    0x80: 1,
    0x95: 8,
    0x81: 0,
}
COUNTED = {
    ord("U"): 1,
    ord("T"): 4,
    ord("X"): 4,
    ord("B"): 4,
    ord("C"): 1,
    0x8C: 1,
    0x8D: 8,
    0x8E: 8,
    0x96: 8,
    0x8A: 1,
    0x8B: 4,
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
            raise Refused(
                "PICKLE_LIMIT", f"Memo index {index} far beyond its entries", "save as .npz"
            )
        self.filled += 1
        self.keys.put(index)


def scan(data: memoryview, start: int = 0, *, persistent: bool = False) -> int:
    """Return where the pickle that begins at `start` ends, after its STOP.

    Parameters
    ----------
    data : memoryview
        Bytes that hold at least one pickle.
    start : int
        Where it begins.
    persistent : bool
        Whether references to storages (BINPERSID) may occur, as in torch files.

    Raises
    ------
    Refused
        PICKLE_LIMIT: a length beyond the file, too many operations, sparse memo indexes, too many
        keys that are no text.
        PICKLE_SHAPE: an operation that arrays never need, or bytes that are no pickle.
    """
    at, size, keys = start, data.nbytes, Keys()
    memo = _Memo(keys)
    for _ in range(MAX_OPCODES):
        if at >= size:
            raise Refused("PICKLE_SHAPE", cut_off(size), COPY_AGAIN)
        code = data[at]
        at += 1
        if code == STOP:
            return at
        if _forbidden(code, persistent=persistent):
            name = FORBIDDEN.get(code, "BINPERSID")
            raise _broken(f"Operation {name}, which arrays never need")
        after = _skip(data, at, code)
        if after > size:
            raise Refused("PICKLE_LIMIT", cut_off(size), COPY_AGAIN)
        if code in MEMO:
            _note_memo(data, at, code, memo)
        else:
            keys.step(code, after - at)
        at = after
    raise Refused("PICKLE_LIMIT", f"More than {MAX_OPCODES} operations", "save arrays, as .npz")


def _forbidden(code: int, *, persistent: bool) -> bool:
    """Torch files refer to storages; nothing else does."""
    return code in FORBIDDEN or (code == PERSISTENT_ID and not persistent)


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


def _note_memo(data: memoryview, at: int, code: int, memo: _Memo) -> None:
    if code == MEMOIZE:
        memo.put(memo.filled)
        return
    index = _index(data, at, code)
    if code in GETS:
        memo.keys.get(index)
    else:
        memo.put(index)


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
