"""Zip archives: the directory is judged before a byte is inflated, and inflation is counted."""

import re
import stat
import struct
import zipfile
import zlib

from core import defaults
from core.errors import Refused
from core.readers.formats.contents import COPY_AGAIN, FileBytes, cut_off

LOCAL_HEADER = 30  # bytes of a local file header without its name
END_RECORD = 22  # bytes of the record that ends an archive, without its comment
END_MARK, MAX_END = b"PK\5\6", 22 + 0xFFFF  # how that record begins, and the longest
RATIO_FLOOR = 16 * 2**20  # below this size a high ratio is harmless: zeros compress 1000 times
BLOCK = 2**20
UNREADABLE = (
    zipfile.BadZipFile, zipfile.LargeZipFile, NotImplementedError, OSError, ValueError,
    OverflowError, EOFError, IndexError, struct.error, zlib.error, RuntimeError,
)  # fmt: skip


class Archive:
    """A zip whose directory passed every check; members are read by name.

    Parameters
    ----------
    source : FileBytes
        The archive.
    most : int
        Members it may have.

    Raises
    ------
    Refused
        An ARCHIVE_ code, TRAILING when bytes follow its end, or FORMAT_UNKNOWN when it is damaged,
        encrypted or packed otherwise.
    """

    def __init__(self, source: FileBytes, most: int = defaults.MAX_MEMBERS) -> None:
        try:
            source.file.seek(0)
            self._zip = zipfile.ZipFile(source.file)
        except UNREADABLE as error:
            tail = bytes(source.data[-MAX_END:])
            if not 0 <= tail.rfind(END_MARK) <= len(tail) - END_RECORD:
                raise Refused("FORMAT_UNKNOWN", cut_off(source.size), COPY_AGAIN) from error
            raise _damaged("the directory cannot be read") from error
        # What follows the last record, which ends with its comment and the comment's length.
        comment = len(self._zip.comment)
        last = bytes(source.data[max(0, source.size - END_RECORD - comment) :])
        if not (last.startswith(END_MARK) and last[20:22] == comment.to_bytes(2, "little")):
            what = "Bytes follow the end of the zip archive"
            raise Refused("TRAILING", what, "pack the file again")
        members = self._zip.infolist()
        _check_directory(members, self._zip.start_dir, most)
        self._members = {m.filename: m for m in members if not m.is_dir()}
        self._source = source

    @property
    def names(self) -> list[str]:
        """Names of the files inside, in the order of the directory."""
        return list(self._members)

    def size(self, name: str) -> int:
        """Return how many bytes a member claims to hold."""
        return self._members[name].file_size

    def is_stored(self, name: str) -> bool:
        """Whether a member lies in the archive uncompressed."""
        return self._members[name].compress_type == zipfile.ZIP_STORED

    def read(self, name: str) -> memoryview:
        """Return the bytes of a member: where it lies if stored, else inflated."""
        try:
            return self._stored(name) if self.is_stored(name) else self._inflated(name)
        except UNREADABLE as error:
            what = "The member does not hold what it claims (length or checksum is wrong)"
            raise Refused("ARCHIVE_SIZE", what, "save or pack the file again", name) from error

    def _stored(self, name: str) -> memoryview:
        """Return a member in the archive's own bytes; a BadZipFile where its checksum is wrong."""
        member, data = self._members[name], self._source.data
        self._zip.open(member).close()  # which holds its local header against the directory
        lengths = struct.unpack_from("<HH", data, member.header_offset + LOCAL_HEADER - 4)
        start = member.header_offset + LOCAL_HEADER + sum(lengths)
        view = data[start : start + member.file_size]
        checksum = 0
        for at in range(0, len(view), BLOCK):
            checksum = zlib.crc32(view[at : at + BLOCK], checksum)
        if not len(view) == member.file_size == member.compress_size or checksum != member.CRC:
            raise zipfile.BadZipFile(name)
        return view

    def _inflated(self, name: str) -> memoryview:
        """Inflate a member, stopping as soon as it is longer than it claims."""
        claimed, out = self._members[name].file_size, bytearray()
        with self._zip.open(self._members[name]) as member:
            while block := member.read(BLOCK):
                out += block
                if len(out) > claimed:
                    break
        if len(out) != claimed:
            what = f"It claims {claimed} bytes and holds {len(out)}"
            raise Refused("ARCHIVE_SIZE", what, "pack it again", name)
        return memoryview(out).toreadonly()


def _damaged(what: str, location: str = "") -> Refused:
    remedy = "save or pack the file again"
    return Refused("FORMAT_UNKNOWN", f"Zip archive: {what}", remedy, location)


def _check_directory(members: list[zipfile.ZipInfo], start: int, most: int) -> None:
    """Refuse names, members, sizes and places that no plain archive has; it begins at `start`."""
    if not members:
        raise Refused("EMPTY", "The archive holds no files", "pack the prediction file again")
    if len(members) > most:
        what = f"The archive has {len(members)} members; at most {most} are read"
        raise Refused("ARCHIVE_COUNT", what, "pack only the prediction file")
    seen: set[str] = set()
    for member in members:
        name = member.filename
        if name in seen:
            what = "Two members have the same name, so it is not said which one counts"
            raise Refused("ARCHIVE_DUPLICATE", what, "write the archive again", name)
        seen.add(name)
    for member in members:
        name = member.filename
        escapes = name.startswith("/") or "\\" in name or re.match(r"[A-Za-z]:", name)
        if escapes or ".." in name.split("/") or member.orig_filename != name:
            what = "The member's name leaves the archive"
            raise Refused("ARCHIVE_PATH", what, "pack the file under a plain name", name)
        if stat.S_ISLNK(member.external_attr >> 16):
            raise Refused("ARCHIVE_LINK", "The member is a link", "pack the file itself", name)
        if member.flag_bits & 0x1:
            raise _damaged("the member is encrypted", name)
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise _damaged(f"compression method {member.compress_type} is not read", name)
    inflated = sum(m.file_size for m in members)
    stored = sum(m.compress_size for m in members)
    if inflated > RATIO_FLOOR and inflated > defaults.MAX_RATIO * max(1, stored):
        what = (
            f"{stored} bytes would become {inflated}, more than {defaults.MAX_RATIO} times as many"
        )
        raise Refused("ARCHIVE_RATIO", what, "save it uncompressed")
    if inflated > defaults.MAX_BYTES:
        what = f"Unpacked it has {inflated} bytes; at most {defaults.MAX_BYTES} are read"
        raise Refused("ARCHIVE_SIZE", what, "save fewer rows or a smaller dtype")
    # Entries that share stored bytes; zipfile checks this only from 3.11.8 on.
    ordered = sorted(members, key=lambda m: m.header_offset)
    ends = [m.header_offset for m in ordered[1:]] + [start]
    for member, limit in zip(ordered, ends, strict=True):
        least = LOCAL_HEADER + len(member.filename)
        if member.header_offset < 0 or member.header_offset + least + member.compress_size > limit:
            what = "Two entries share the same stored bytes"
            raise Refused("ARCHIVE_OVERLAP", what, "write the archive again", member.filename)


GZIP_MAGIC = b"\x1f\x8b"
GZIP = 31  # the window of zlib, and a header of gzip


def _damaged_gzip() -> Refused:
    what = "A gzip file that is damaged or cut short"
    return Refused("FORMAT_UNKNOWN", what, "pack it again")


def unpacked(source: FileBytes) -> FileBytes:
    """Return what a gzip file holds; any other file as it is.

    Raises
    ------
    Refused
        FORMAT_UNKNOWN: damaged or cut short. ARCHIVE_SIZE or ARCHIVE_RATIO: far larger than its
        bytes explain.
    """
    if bytes(source.data[:2]) != GZIP_MAGIC:
        return source
    out, packed = bytearray(), bytes(source.data)
    while packed:  # of one member after another
        stream = zlib.decompressobj(GZIP)
        while not stream.eof:
            try:
                block = stream.decompress(packed, BLOCK)
            except zlib.error as error:
                raise _damaged_gzip() from error
            out += block
            if len(out) > defaults.MAX_BYTES:
                what = f"More than {defaults.MAX_BYTES} bytes when unpacked"
                raise Refused("ARCHIVE_SIZE", what, "give a smaller table")
            if len(out) > max(RATIO_FLOOR, defaults.MAX_RATIO * source.size):
                what = f"{source.size} bytes become more than {defaults.MAX_RATIO} times as many"
                raise Refused("ARCHIVE_RATIO", what, "pack it again, or give the table unpacked")
            packed = stream.unconsumed_tail
            if not block and not packed and not stream.eof:
                raise _damaged_gzip()
        packed = stream.unused_data.lstrip(b"\0")
    return FileBytes.of_bytes(source.name.removesuffix(".gz"), bytes(out))
