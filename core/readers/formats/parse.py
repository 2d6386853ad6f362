"""Bytes of one file as its contents: the format picks the reader, archives are opened once."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from core import defaults
from core.codes import NoticeCode
from core.errors import Notice, Refused
from core.readers.formats.archive import Archive
from core.readers.formats.arrow import parquet_batches, read_arrow, read_parquet
from core.readers.formats.contents import Contents, Entry, FileBytes, is_text, text_array
from core.readers.formats.csv_file import read_csv
from core.readers.formats.foreign import RUN_IT, packed_model
from core.readers.formats.json_file import contents_of_json, parsed, read_json
from core.readers.formats.numpy_file import array_of, read_npy
from core.readers.formats.safetensors_file import read_safetensors
from core.readers.formats.sheets import WORKBOOK, read_workbook
from core.readers.formats.sniff import FileFormat, sniff
from core.readers.pickles.pickled import load, read_pickle
from core.readers.pickles.torch_file import (
    PARAMETERS,
    is_legacy,
    is_torch,
    open_legacy,
    open_torch,
    read_legacy,
    read_torch,
    weights_refusal,
)
from core.readers.predictions.parts import listed

MAX_NAME = 1_000
MAX_SAMPLES = 100_000  # of a log of Inspect, each a member
# Controls but tabs and line ends, and marks that turn the direction of what follows.
HARMFUL = re.compile(r"[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def read_contents(source: FileBytes) -> Contents:
    """Return what a file holds.

    Raises
    ------
    Refused
        Any code of a format; nothing else leaves a reader.
    """
    return _judged(READERS[sniff(source)](source))


def read_batches(source: FileBytes) -> Iterator[Contents]:
    """Yield what a Parquet file holds, some rows at a time; raises as `read_contents` does."""
    try:
        for contents in parquet_batches(source):
            yield _judged(contents)
    except Refused:
        read_contents(source)  # refuses it, too, and knows the number of the row
        raise


def _judged(contents: Contents) -> Contents:
    """Return contents whose text and names can be shown, and which are no weights."""
    contents = _harmless(contents)
    names = list(contents.entries)
    _check_names(names)
    if any("." in n and n.rpartition(".")[2] in PARAMETERS for n in names):
        raise weights_refusal(names)
    return contents


def _check_names(names: list[str]) -> None:
    """Names are shown and hashed later: they must be writable and of a sane length."""
    remedy = f"use names of at most {MAX_NAME} letters"
    for name in names:
        if len(name) > MAX_NAME:
            raise Refused("CSV_HEADER", f"A name of {len(name)} letters", remedy)
        if HARMFUL.search(name) or any("\ud800" <= letter <= "\udfff" for letter in name):
            what = f"The name {ascii(name)[:60]} holds characters that control a screen"
            raise Refused("CSV_HEADER", what, remedy)


def _harmless(contents: Contents) -> Contents:
    """Return the contents with a question mark for each character that controls a screen."""
    entries, changed = _cleaned(contents.entries)
    if not changed:
        return contents
    text = f"control characters became question marks in {listed(changed)}"
    notices = (*contents.notices, Notice(NoticeCode.DIALECT, text))
    batches = None if contents.batches is None else _cleaned(contents.batches)[0]
    return replace(contents, entries=entries, notices=notices, batches=batches)


def _cleaned(entries: Mapping[str, Entry]) -> tuple[dict[str, Entry], list[str]]:
    """Return entries with question marks, and the names of those that have some now."""
    out, changed = dict(entries), []
    for name, entry in entries.items():
        if is_text(entry) and any(HARMFUL.search(cell) for cell in _unprintable(entry)):
            cells = [HARMFUL.sub("?", cell) for cell in entry.reshape(-1).tolist()]
            out[name] = text_array(cells).reshape(entry.shape)
            changed.append(name)
    return out, changed


def _unprintable(entry: Entry) -> Iterator[str]:
    """Cells that could hold such a character: a cheap test, as most tables hold none."""
    return (cell for cell in entry.reshape(-1).tolist() if not cell.isprintable())


def _read_pickle(source: FileBytes) -> Contents:
    return read_legacy(source) if is_legacy(source) else read_pickle(source)


def tree_of(source: FileBytes) -> object:
    """Return the lists and plain values of a torch file or pickle; tensors are not read."""
    if sniff(source) is FileFormat.ZIP:
        return open_torch(Archive(source)).tree
    return open_legacy(source).tree if is_legacy(source) else load(source.data)[0]


def _read_zip(source: FileBytes) -> Contents:
    archive = Archive(source, MAX_SAMPLES if source.suffix == "eval" else defaults.MAX_MEMBERS)
    contents = _archived(archive, source.records)
    return contents if contents is not None else _read_member(archive)


def _archived(archive: Archive, records: str | None = None) -> Contents | None:
    """Return the contents of an archive that is itself a format, else None."""
    names = archive.names
    if is_torch(names):
        return read_torch(archive, records)
    if WORKBOOK in names:
        return read_workbook(archive, records)
    if "[Content_Types].xml" in names:
        what = "This is an Office document, which Candor does not read"
        raise Refused("FORMAT_UNKNOWN", what, "save the table as CSV or .xlsx")
    samples = [n for n in names if n.startswith("samples/") and n.endswith(".json")]
    if samples and "header.json" in names:  # an .eval of Inspect
        members = (FileBytes.of_bytes(n, bytes(archive.read(n))) for n in samples)
        return contents_of_json({"eval": {}, "samples": [parsed(m)[0] for m in members]}, records)
    model = packed_model(names)
    if model:
        raise Refused("FORMAT_UNKNOWN", f"This is {model}, which Candor does not read", RUN_IT)
    if names and all(name.endswith(".npy") for name in names):
        arrays = {n: array_of(archive.read(n), n, text=True) for n in names}
        return Contents("npz", {n.removesuffix(".npy"): array for n, array in arrays.items()})
    foreign = [name for name in names if not name.endswith(".npy")]
    if len(foreign) < len(names):
        what = "A member beside the arrays is not an array"
        raise Refused("FORMAT_UNKNOWN", what, "save the arrays alone, with np.savez", foreign[0])
    return None


def _read_member(archive: Archive) -> Contents:
    """Return the contents of the one file that an archive packs."""
    names = [
        n for n in archive.names if not n.startswith("__MACOSX/") and not n.endswith(".DS_Store")
    ]
    if len(names) != 1:
        what = f"The archive holds {len(names)} files, expected one"
        shown = ", ".join(names[:4])
        raise Refused("AMBIGUOUS_KEYS", what, "give one file, and labels with --labels", shown)
    name = names[0]
    inner = FileBytes.of_bytes(name.rpartition("/")[2], bytes(archive.read(name)))
    if bytes(inner.data[:2]) == b"PK":
        contents = _archived(Archive(inner))
        if contents is None:
            what = "An archive inside an archive"
            raise Refused("ARCHIVE_NESTED", what, "pack the prediction file only once", name)
        return contents
    return read_contents(inner)


READERS: Mapping[FileFormat, Callable[[FileBytes], Contents]] = {
    FileFormat.NPY: read_npy,
    FileFormat.ZIP: _read_zip,
    FileFormat.PARQUET: read_parquet,
    FileFormat.ARROW: read_arrow,
    FileFormat.SAFETENSORS: read_safetensors,
    FileFormat.PICKLE: _read_pickle,
    FileFormat.JSON: read_json,
    FileFormat.CSV: read_csv,
}
