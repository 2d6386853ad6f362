"""Zip archives: the directory is judged before a byte is inflated, and inflation is counted.

Of a zip of pictures, which members are pictures, and the names under which they are unpacked;
nothing is decoded here, and what a picture holds is judged where it is looked at.
"""

import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

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

    `most`: members it may have.

    Raises Refused: an ARCHIVE_ code, TRAILING when bytes follow its end, or FORMAT_UNKNOWN when it
    is damaged, encrypted or packed otherwise.
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
        # zipfile takes the last end record it finds; bytes behind it belong to no archive.
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
    # Of two members with one name programs disagree on which counts.
    seen: set[str] = set()
    for member in members:
        name = member.filename
        if name in seen:
            what = "Two members have the same name, so it is not said which one counts"
            raise Refused("ARCHIVE_DUPLICATE", what, "write the archive again", name)
        seen.add(name)
    for member in members:
        name = member.filename
        # Zip slip: absolute paths, drives, backslashes and `..`;
        # and a name that zipfile cut at a NUL.
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
    # Sizes as the directory claims; `_inflated` holds each member to its claim.
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

    Raises Refused FORMAT_UNKNOWN: damaged or cut short. ARCHIVE_SIZE or ARCHIVE_RATIO: far larger
    than its bytes explain.
    """
    if bytes(source.data[:2]) != GZIP_MAGIC:
        return source
    out, packed = bytearray(), bytes(source.data)
    while packed:  # of one member after another
        stream = zlib.decompressobj(GZIP)
        # Block by block, checked after each: a gzip file has no size that could be checked before.
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


MOST: Final = 100_000  # members
MOST_BYTES: Final = 4 * 2**30  # of all pictures, unpacked
DEEPEST: Final = 8  # folders
LONGEST: Final = 200  # bytes of a name of a file or folder
SUFFIXES: Final = (".jpg", ".jpeg", ".png", ".bmp", ".ppm", ".pgm", ".webp")
BEGINNINGS: Final = (b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n", b"BM", b"P5", b"P6", b"RIFF")
REMEDIES: Final[Mapping[str, str]] = {
    "EMPTY": "pack the pictures, a folder for each class",
    "ARCHIVE_COUNT": f"pack at most {MOST:,} pictures",
    "ARCHIVE_SIZE": "pack fewer or smaller pictures",
    "ARCHIVE_RATIO": "pack pictures as JPEG or PNG",
    "ARCHIVE_PATH": "give folders and files plain names and pack them again",
    "ARCHIVE_LINK": "pack the picture itself",
}


@dataclass(frozen=True)
class PackedPictures:
    """Pictures of a zip that may be unpacked."""

    archive: Archive
    # by the paths that they are unpacked to, without a folder around all
    members: Mapping[str, str]
    skipped: int  # other files

    def contents(self) -> Iterator[tuple[str, memoryview]]:
        """Yield the path and the bytes of each picture.

        Raises Refused FORMAT_UNKNOWN: its bytes are no picture's. ARCHIVE_SIZE: it is not as long
        as it says.
        """
        for path, member in self.members.items():
            data = self.archive.read(member)
            if not bytes(data[:8]).startswith(BEGINNINGS):
                what = f"{path} is called a picture and holds something else"
                raise Refused("FORMAT_UNKNOWN", what, "take it out, or save it as JPEG or PNG")
            yield path, data


@dataclass(frozen=True)
class PictureFiles:
    """Pictures that were unpacked: their lengths in bytes by path, and how many files were not."""

    files: Mapping[str, int]
    skipped: int

    @property
    def n_classes(self) -> int:
        """How many folders hold them, at the lowest level."""
        return len({path.split("/")[-2] for path in self.files if "/" in path})


def read_pictures(source: FileBytes) -> PackedPictures:
    """Return the pictures of a zip, judged by its directory before a byte is inflated.

    Raises Refused EMPTY: it holds none. The ARCHIVE_ codes, TRAILING and FORMAT_UNKNOWN as of
    `Archive`.
    """
    try:
        archive = Archive(source, MOST)
    except Refused as refusal:
        raise refusal.with_remedy(REMEDIES.get(refusal.code, refusal.remedy)) from None
    # Called as pictures are; what a Mac adds and hidden files are not.
    pieces = {n: n.split("/") for n in archive.names if n.lower().endswith(SUFFIXES)}
    hidden = {n for n, ps in pieces.items() if any(p[:1] == "." or p == "__MACOSX" for p in ps)}
    members = {name: name for name in pieces if name not in hidden}
    parts = [path.split("/") for path in members]
    # One folder around all is what most programs add when they pack a folder; left out unless it
    # names a part.
    around = {part[0] for part in parts}
    if len(around) == 1 and not around & {"val", "test"} and all(len(part) > 2 for part in parts):
        members = {path.partition("/")[2]: member for path, member in members.items()}
    if not members:
        raise Refused("EMPTY", "The archive holds no pictures", REMEDIES["EMPTY"])
    # A path must be one to unpack to, and none of its folders another picture.
    for path in members:
        folders = path.split("/")[:-1]
        above = ("/".join(folders[: n + 1]) for n in range(len(folders)))
        if not plain_path(path) or any(folder in members for folder in above):
            what = "The name of a member cannot be that of a file"
            raise Refused("ARCHIVE_PATH", what, REMEDIES["ARCHIVE_PATH"], path[:LONGEST])
    size = sum(archive.size(member) for member in members.values())
    if size > MOST_BYTES:
        what = f"Unpacked the pictures have {size:,} bytes; at most {MOST_BYTES:,} are read"
        raise Refused("ARCHIVE_SIZE", what, REMEDIES["ARCHIVE_SIZE"])
    return PackedPictures(archive, members, len(archive.names) - len(members))


def plain_path(path: str) -> bool:
    """Whether a path stays below a folder, whatever it is, and can be written and shown."""
    parts = path.split("/")
    return len(parts) <= DEEPEST and all(
        0 < len(part.encode("utf-8", "surrogatepass")) <= LONGEST
        and part.isprintable()
        and not part.startswith(".")
        and "\\" not in part
        for part in parts
    )
