"""A zip of pictures: which members are pictures, and the names under which they are unpacked.

Nothing is decoded here; what a picture holds is judged where it is looked at.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from core.errors import Refused
from core.readers.formats.archive import Archive
from core.readers.formats.contents import FileBytes

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

        Raises
        ------
        Refused
            FORMAT_UNKNOWN: its bytes are no picture's. ARCHIVE_SIZE: it is not as long as it says.
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

    Raises
    ------
    Refused
        EMPTY: it holds none. The ARCHIVE_ codes, TRAILING and FORMAT_UNKNOWN as of `Archive`.
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
    around = {part[0] for part in parts}
    if len(around) == 1 and not around & {"val", "test"} and all(len(part) > 2 for part in parts):
        # One folder around all folders, which names no part, is left out.
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
