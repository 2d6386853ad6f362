"""A file packed with gzip, unpacked within limits; used for tables beside the predictions."""

import zlib

from core import defaults
from core.errors import Refused
from core.readers.formats.archive import RATIO_FLOOR
from core.readers.formats.contents import FileBytes

MAGIC = b"\x1f\x8b"
GZIP = 31  # the window of zlib, and a header of gzip
BLOCK = 2**20


def unpacked(source: FileBytes) -> FileBytes:
    """Return what a gzip file holds; any other file as it is.

    Raises
    ------
    Refused
        FORMAT_UNKNOWN: damaged or cut short. ARCHIVE_SIZE or ARCHIVE_RATIO: far larger than its
        bytes explain.
    """
    if bytes(source.data[:2]) != MAGIC:
        return source
    out = bytearray()
    rest = bytes(source.data)
    try:
        while rest:
            rest = _member(rest, out, source.size)
    except zlib.error as error:
        raise _damaged() from error
    return FileBytes.of_bytes(source.name.removesuffix(".gz"), bytes(out))


def _member(packed: bytes, out: bytearray, size: int) -> bytes:
    """Append what one member holds, and return what follows it."""
    stream = zlib.decompressobj(GZIP)
    while not stream.eof:
        block = stream.decompress(packed, BLOCK)
        out += block
        if len(out) > defaults.MAX_BYTES:
            what = f"More than {defaults.MAX_BYTES} bytes when unpacked"
            raise Refused("ARCHIVE_SIZE", what, "give a smaller table")
        if len(out) > max(RATIO_FLOOR, defaults.MAX_RATIO * size):
            what = f"{size} bytes become more than {defaults.MAX_RATIO} times as many"
            raise Refused("ARCHIVE_RATIO", what, "pack it again, or give the table unpacked")
        packed = stream.unconsumed_tail
        if not block and not packed and not stream.eof:
            raise _damaged()
    return stream.unused_data.lstrip(b"\0")


def _damaged() -> Refused:
    return Refused("FORMAT_UNKNOWN", "A gzip file that is damaged or cut short", "pack it again")
