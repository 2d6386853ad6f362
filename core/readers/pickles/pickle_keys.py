"""What a pickle would use as keys, known before anything runs it: its stack, without its values.

Python salts the hash of text, but not of numbers and tuples: some thousand keys that were made to
collide cost minutes. One tuple of tuples of tuples may take for ever.
"""

from typing import Final

from core.errors import Refused

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

        Raises
        ------
        Refused
            PICKLE_LIMIT: too many keys. PICKLE_SHAPE: nothing on the stack to take.
        """
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
            self._on_mark(code)
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

    def _on_mark(self, code: int) -> None:
        if not self._marks:
            raise _short()
        items = self._stack[(at := self._marks.pop()) :]
        del self._stack[at:]
        if code in PAIRS:
            self._count(items[::2])
        elif code in ITEMS:
            self._count(items)
        if code == ord("t"):
            self._stack.append(_tuple(items))
        elif code in LEFT:
            self._stack.append(LEFT[code])

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
        many = self._numbers > MAX_NUMBERS or self._others > MAX_OTHERS
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
