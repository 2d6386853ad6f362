"""JPEG codestreams written by hand, as a second implementation: lossless, and 12 bits.

ITU-T T.81: marker segments B.2, Huffman coding F.1.2.1 and H.1.2, predictors H.1.2.1.
"""

import struct

import numpy as np
from pydicom.dataset import Dataset
from pydicom.encaps import encapsulate

from tests.film_files import written

CODE_BITS = 5  # every category has a code of its own number in five bits


def segment(marker: int, body: bytes) -> bytes:
    return struct.pack(">BBH", 0xFF, marker, len(body) + 2) + body


def frame_header(marker: int, depth: int, shape: tuple[int, ...]) -> bytes:
    samples = shape[2] if len(shape) == 3 else 1
    parts = b"".join(bytes((1 + n, 0x11, 0)) for n in range(samples))
    return segment(marker, struct.pack(">BHHB", depth, *shape[:2], samples) + parts)


def flat_table(kind: int, symbols: bytes) -> bytes:
    """A Huffman table whose codes all have five bits and count up."""
    lengths = bytes(len(symbols) if n == CODE_BITS else 0 for n in range(1, 17))
    return segment(0xC4, bytes((kind,)) + lengths + symbols)


def bits_of(code: int, length: int) -> str:
    return format(code, f"0{length}b") if length else ""


def difference(value: int) -> str:
    """A difference: its category's code, then its low bits."""
    category = abs(value).bit_length()
    low = value if value > 0 else value + (1 << category) - 1
    return bits_of(category, CODE_BITS) + bits_of(low, 0 if category == 16 else category)


def packed(bits: str) -> bytes:
    """Bits as bytes, filled with ones; a zero byte is stuffed behind 0xFF."""
    bits += "1" * (-len(bits) % 8)
    return int("1" + bits, 2).to_bytes(len(bits) // 8 + 1, "big")[1:].replace(b"\xff", b"\xff\0")


def predicted(selection: int, a: int, b: int, c: int) -> int:
    """What a sample should be by those to its left (a), above (b) and between (c)."""
    choices = (a, b, c, a + b - c, a + ((b - c) >> 1), b + ((a - c) >> 1), (a + b) // 2)
    return choices[selection - 1]


def lossless(
    samples: np.ndarray, depth: int, selection: int = 1, restart: int = 0, shift: int = 0
) -> bytes:
    """A lossless JPEG (process 14) of (H, W) samples, or of (H, W, 3) with one predictor for all.

    `restart` is the number of rows between restarts, `shift` the point transform.
    """
    held = samples.reshape(*samples.shape[:2], -1).astype(np.int64) >> shift
    height, width, count = held.shape
    scans, bits = [], ""
    for y in range(height):
        first = y == 0 or (restart and y % restart == 0)
        if first and y:
            scans.append(packed(bits) + bytes((0xFF, 0xD0 + (len(scans) % 8))))
            bits = ""
        for x in range(width):
            for n in range(count):
                if first:
                    guess = int(held[y, x - 1, n]) if x else 1 << (depth - shift - 1)
                elif x == 0:
                    guess = int(held[y - 1, 0, n])
                else:
                    near = (held[y, x - 1, n], held[y - 1, x, n], held[y - 1, x - 1, n])
                    guess = predicted(selection, *map(int, near))
                step = (int(held[y, x, n]) - guess) % 2**16  # modulo 2^16, -32,767 to 32,768
                bits += difference(step - 2**16 if step > 2**15 else step)
    parts = b"".join(bytes((1 + n, 0)) for n in range(count))
    scan = bytes((count,)) + parts + bytes((selection, 0, shift))
    interval = segment(0xDD, struct.pack(">H", restart * width)) if restart else b""
    return b"".join(
        [b"\xff\xd8", frame_header(0xC3, depth, samples.shape), flat_table(0, bytes(range(17))),
         interval, segment(0xDA, scan), *scans, packed(bits), b"\xff\xd9"]
    )  # fmt: skip


def flat_blocks(means: np.ndarray) -> bytes:
    """An extended JPEG of 12 bits: blocks of 8 x 8, each of one value.

    With a divisor of 8 the mean's coefficient is the value less 2,048 (A.3.3), so nothing is lost.
    """
    bits, before = "", 0
    for mean in means.ravel().tolist():
        bits += difference(mean - 2048 - before) + bits_of(0, CODE_BITS)  # the block ends there
        before = mean - 2048
    shape = (8 * means.shape[0], 8 * means.shape[1])
    return b"".join(
        [b"\xff\xd8", segment(0xDB, bytes((0, *[8] * 64))), frame_header(0xC1, 12, shape),
         flat_table(0, bytes(range(16))), flat_table(0x10, b"\0"),
         segment(0xDA, bytes((1, 1, 0, 0, 63, 0))), packed(bits), b"\xff\xd9"]
    )  # fmt: skip


def holding(made: Dataset, stream: bytes, syntax: str, pieces: int = 1) -> bytes:
    """The bytes of a DICOM file whose frame is a codestream, in one item or several."""
    made.PixelData = encapsulate([stream], fragments_per_frame=pieces)
    made["PixelData"].is_undefined_length = True
    return written(made, syntax)
