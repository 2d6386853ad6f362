"""Picture files: their pixels, or a refusal that names one, and those of a folder; torch."""

import os
import struct
import zlib
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import torch
from PIL import ExifTags, Image, UnidentifiedImageError

from core.codes import NoticeCode
from core.disk import utf8_name
from core.errors import Notice, Refused
from core.progress import advance, stage

Pixels = npt.NDArray[np.uint8]
Size = tuple[int, int]
FORMATS: Final = {
    "JPEG": (".jpg", ".jpeg"),
    "PNG": (".png",),
    "BMP": (".bmp",),
    "PPM": (".ppm", ".pgm"),
    "WEBP": (".webp",),
}
SUFFIXES: Final = frozenset(suffix for group in FORMATS.values() for suffix in group)
# By EXIF's number for how a camera was held; Exif 2.32, tag 0x0112.
TURNS: Final[dict[object, Image.Transpose]] = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
MAX_PIXELS: Final = 50_000_000  # a few kilobytes can claim more and fill the memory
CHUNK: Final = 256  # pictures a thread decodes at a time
# libjpeg can leave out of a JPEG what a half, quarter or eighth of its size does not show. It does
# where that is still so many times the size it is scaled to: docs/measurements.md has the pixels.
REDUCED: Final = 3
# What Pillow's decoders throw at damaged files; seen in 30,000 altered ones or in their source.
_DAMAGE: Final = (OSError, SyntaxError, ValueError, EOFError, IndexError, struct.error, zlib.error)
_HUGE: Final = (Image.DecompressionBombError, Image.DecompressionBombWarning)


@dataclass(frozen=True)
class Scaling:
    """How a picture becomes one of another size."""

    # Keep proportions: scale until it covers the size, and cut off what lies beyond it on both
    # sides alike. False stretches it
    cover: bool = False
    bicubic: bool = False  # bicubic over the area of the new pixel; False is bilinear

    def apply(self, picture: Image.Image, size: Size) -> Image.Image:
        """Return a picture, which may not be decoded yet, at a height and width; RGB or grey."""
        height, width = size
        drafted = picture.draft(None, (REDUCED * width, REDUCED * height))
        across, down = drafted[1][2:] if drafted else picture.size
        left, top = 0.0, 0.0
        if self.cover and across / down != width / height:
            wide, high = min(across, width / height * down), min(down, across / (width / height))
            left, top = (across - wide) * 0.5, (down - high) * 0.5
            across, down = left + wide, top + high
        method = Image.Resampling.BICUBIC if self.bicubic else Image.Resampling.BILINEAR
        plain = _without_palette(picture)
        return plain.resize((width, height), method, (left, top, across, down))


STRETCHED: Final = Scaling()


def common_size(files: Iterable[Path]) -> Size | None:
    """Return the height and width that pictures all have, upright; None without one.

    Only their heads are read, unless that does not say whether one lies on its side.
    """
    common = None
    try:
        for file in files:
            advance(1)
            with Image.open(file, formats=list(FORMATS)) as picture:
                size = picture.height, picture.width
                if size[0] != size[1] and picture.getexif().get(ExifTags.Base.Orientation, 1) > 4:
                    size = size[::-1]
            if size != (common := common or size):
                return None
    except (*_DAMAGE, *_HUGE):
        return None
    return common


def decode(root: Path, name: str, size: Size | None = None, scaling: Scaling = STRETCHED) -> Pixels:
    """Return the pixels of a picture.

    Parameters
    ----------
    root : Path
        Folder of the data set.
    name : str
        The file's path below it.
    size : (int, int), optional
        Height and width to scale to; None keeps the picture's own.

    Returns
    -------
    (3, H, W) uint8
        Red, green, blue, upright where a camera noted how it was held; three equal channels of a
        grey picture. Transparency is dropped.

    Raises
    ------
    Refused
        FORMAT_UNKNOWN, IMAGE_TRUNCATED, IMAGE_PIXELS, IMAGE_FRAMES, DTYPE: see docs/reading.md.
    """
    try:
        with Image.open(f"{root}/{name}", formats=tuple(FORMATS)) as source:
            # Refuse by the header what should not be decoded
            if source.width * source.height > MAX_PIXELS:
                raise _too_large(name)
            if source.mode.startswith(("I", "F")):
                what = f"The picture {name} has more than 8 bits a channel"
                remedy = "save all pictures with 8 bits, and choose yourself which greys they keep"
                raise Refused("DTYPE", what, remedy, location=name)
            # A photograph with a second one beside it (MPO) is still one picture.
            if source.format != "MPO" and getattr(source, "n_frames", 1) > 1:
                what = f"The picture {name} has several frames"
                raise Refused("IMAGE_FRAMES", what, "save the frame that is meant", location=name)
            orientation = source.getexif().get(ExifTags.Base.Orientation, 1)
            turn = TURNS.get(orientation)
            if size is None:
                picture = _without_palette(source)
            else:
                sideways = turn is not None and orientation > 4  # its height is stored as its width
                picture = scaling.apply(source, size[::-1] if sideways else size)
            upright = picture if turn is None else picture.transpose(turn)
            return np.asarray(upright.convert("RGB")).transpose(2, 0, 1)
    except _HUGE as error:
        raise _too_large(name) from error
    except UnidentifiedImageError as error:
        what = f"The file {name} is not a readable picture"
        remedy = f"save it as {', '.join(FORMATS)}, or take it out of the folder"
        raise Refused("FORMAT_UNKNOWN", what, remedy, location=name) from error
    except _DAMAGE as error:
        what = f"The picture {name} is cut short, damaged or cannot be opened"
        remedy = "copy it again, or take it out of the folder"
        raise Refused("IMAGE_TRUNCATED", what, remedy, location=name) from error


def decode_all(root: Path, names: Sequence[str], size: Size) -> Pixels | None:
    """Return the pixels of many pictures, decoded in threads; None where sizes differ.

    Parameters
    ----------
    names : sequence of N str
        Paths below `root`.
    size : (int, int)
        Height and width that all should have.

    Returns
    -------
    (N, 3, H, W) uint8, or None

    Raises
    ------
    Refused
        As `decode`, for the first such picture.
    """
    pixels = np.empty((len(names), 3, *size), np.uint8)

    def fill(start: int) -> bool:
        for row in range(start, min(start + CHUNK, len(names))):
            picture = decode(root, names[row])
            if picture.shape[1:] != size:
                return False
            pixels[row] = picture
        return True

    starts = range(0, len(names), CHUNK)
    with threads() as pool, stage("Reading pictures", 0.0, 1.0, len(starts)):
        # In the order of names, so that the refusal of several damaged pictures names the first.
        for same in pool.map(fill, starts):
            if not same:
                return None
            advance(1)
    return pixels


@contextmanager
def threads() -> Iterator[ThreadPoolExecutor]:
    """Yield as many threads as torch may use; leaving early drops what has not begun.

    Pillow decodes without Python's lock, and threads leave no process behind when the trainer is
    killed.
    """
    pool = ThreadPoolExecutor(torch.get_num_threads(), thread_name_prefix="pictures")
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


def _without_palette(picture: Image.Image) -> Image.Image:
    """Return a picture as RGB, or grey as it is: one channel is scaled sooner than three."""
    if picture.mode == "P":  # its transparency is no colour
        picture = picture.convert("RGBA")
    return picture if picture.mode in {"RGB", "L"} else picture.convert("RGB")


def _too_large(name: str) -> Refused:
    return Refused(
        "IMAGE_PIXELS",
        f"The picture {name} claims more than {MAX_PIXELS:,} pixels",
        "save it smaller, or take it out of the folder",
        location=name,
    )


# Picture files of folders.
ROOT_REMEDY: Final = "name the folder with data_root"


@dataclass(frozen=True)
class PictureFile:
    """A picture on disk."""

    name: str  # path below the data set's folder, parts divided by `/`
    # size_bytes, changed_ns: length of the file, and when it was last written
    size_bytes: int
    changed_ns: int


def existing_root(root: Path | None, layout: str) -> Path:
    """Return the data set's folder.

    `layout`: what should lie in it, for the message.

    Raises Refused DATA_ROOT: none was named, or it is not there.
    """
    if root is None:
        raise Refused("DATA_ROOT", "No folder was named", f"{ROOT_REMEDY}; it holds {layout}")
    if not root.expanduser().is_dir():
        raise Refused(
            "DATA_ROOT", f"There is no folder {root}", f"{ROOT_REMEDY}; it holds {layout}"
        )
    return root.expanduser()


def text_below(root: Path, name: str, layout: str) -> str:
    """Return the text of a file that belongs to a data set.

    Raises Refused DATA_ROOT: it is not there or cannot be read.
    """
    try:
        return (root / name).read_text("utf-8-sig", errors="replace")
    except OSError as error:
        raise Refused(
            "DATA_ROOT", f"{root} has no file {name}", f"{ROOT_REMEDY}; it holds {layout}"
        ) from error


def subfolders(folder: Path) -> list[str]:
    """Return the names of the folders directly inside one, sorted; hidden ones left out."""
    with os.scandir(folder) as entries:
        return sorted(e.name for e in entries if e.is_dir() and not e.name.startswith("."))


def pictures_below(root: Path, folder: str) -> tuple[list[PictureFile], int]:
    """Return the pictures in a folder and the folders inside it.

    `folder`: path below it.

    Raises Refused DATA_ROOT: a name that is not UTF-8.

    Returns
    -------
    pictures : list of PictureFile
        Sorted by name. Files are told by their suffix; links to folders are not followed.
    skipped : int
        Number of other files, hidden ones not counted.
    """
    pictures, skipped = [], 0
    with os.scandir(root / folder) as entries:
        for entry in entries:
            name = f"{folder}/{entry.name}" if folder else entry.name
            if entry.name.startswith("."):
                continue
            # A link could lead out of the folder, or back into it for ever.
            if entry.is_dir(follow_symlinks=False):
                inside, others = pictures_below(root, name)
                pictures += inside
                skipped += others
            elif entry.name.lower().endswith(tuple(SUFFIXES)):
                if not entry.is_file():  # a broken link, or nothing to read from
                    skipped += 1
                    continue
                about = entry.stat()
                pictures.append(PictureFile(utf8_name(name), about.st_size, about.st_mtime_ns))
            else:
                skipped += 1
    return sorted(pictures, key=lambda file: file.name), skipped


def skipped_notice(skipped: int) -> tuple[Notice, ...]:
    """Say that files were left out, if any were."""
    if not skipped:
        return ()
    text = f"{skipped:,} files that are not pictures were left out."
    return (Notice(NoticeCode.FILES_SKIPPED, text),)


def names_of(pictures: Sequence[PictureFile]) -> tuple[str, ...]:
    """Return the paths of pictures below the data set's folder."""
    return tuple(picture.name for picture in pictures)
