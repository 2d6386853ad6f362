"""Which format bytes are, by their content; a suffix is only a claim that must agree."""

import codecs
import re
import struct
from collections.abc import Collection
from enum import StrEnum
from typing import Self

from core.errors import Refused
from core.readers.formats.contents import FileBytes

ONNX = "an ONNX model"
MODELS = {
    re.compile(rb"\x08[\x03-\x20][\x12\x3a\x42]"): ONNX,  # from version 3, of 2017
    re.compile(rb"\x08\x01\x12"): "a TensorFlow SavedModel",
    re.compile(rb"GGUF"): "a GGUF file of weights",
    re.compile(rb".{4}TFL3", re.DOTALL): "a TensorFlow Lite model",
    re.compile(rb"\x89HDF"): "an HDF5 file, as Keras writes weights",
}
RUN_IT = (
    "of a model, run it and save its outputs (logits or probabilities) with the labels as .npz; "
    "save arrays as .npz too"
)
EXPORT = (
    "export the weights from PyTorch: torch.save(model.state_dict(), 'weights.pt'); or run the "
    "model with assets/predict_to_file.py and upload the predictions"
)
AS_ONNX = (
    "export it as ONNX with torch.onnx.export(..., external_data=False), or run it with "
    "assets/predict_to_file.py and upload the predictions"
)
KERAS = "a Keras model"
EXPORTED = "a program of torch.export, whose loading may run code from the file"


def model_of(head: bytes) -> str:
    """Return what kind of model begins like this; empty if none does."""
    return next((kind for start, kind in MODELS.items() if start.match(head)), "")


def model_refusal(model: str) -> Refused:
    """Return the refusal of a model where predictions are read; Evaluate runs what it can."""
    if model not in (ONNX, EXPORTED):
        return Refused("FORMAT_UNKNOWN", f"This is {model}, which Candor does not read", RUN_IT)
    first = "" if model == ONNX else "export it as ONNX with torch.onnx.export(...), "
    remedy = f"{first}open it under Evaluate, which runs the model; or save its outputs (logits or"
    remedy += " probabilities) with the labels as .npz"
    return Refused("STATE_DICT", f"This is {model}, not predictions", remedy)


def packed_model(names: Collection[str]) -> str:
    """Return what kind of model an archive with these members is; empty if none."""
    if any(name.rpartition("/")[2] == "archive_format" for name in names):
        return EXPORTED
    keras = "model.weights.h5" in names or {"config.json", "metadata.json"} <= set(names)
    return KERAS if keras else ""


FILMS = (
    "open a film on the Chest X-ray page; here give a file of predictions: the logits or "
    "probabilities of a model, with the labels"
)
SAVE_AS = "save predictions as .npz, .csv, .parquet or .safetensors"


TEXT_SUFFIXES = ("csv", "tsv", "txt")
PICKLE_SUFFIXES = ("pt", "pth", "ckpt", "bin", "pkl", "p", "pickle")


class FileFormat(StrEnum):
    """Formats that are read, a row each, in the order in which first bytes are compared.

    Attributes
    ----------
    reader : str
        The function that reads it, with its module below `core.readers`, which `formats.parse`
        imports: the parent of the sealed child, which has this table too, reads nothing.
    suffixes : tuple of str
        That may stand for it. With any other suffix in the table a file is refused.
    starts : tuple of bytes
        What it begins with; none where `_form` tells it otherwise.
    packed : bool
        Whether its bytes may become many more in memory. The child then gets more.
    """

    NPY = "npy", "formats.numpy_file.read_npy", ("npy", "dat"), (b"\x93NUMPY",)
    ZIP = (
        "zip", "formats.parse.read_zip",
        ("npz", "zip", "xlsx", "xlsm", *PICKLE_SUFFIXES, "dat"), (b"PK",), True,
    )  # fmt: skip
    PARQUET = "parquet", "formats.table_file.read_parquet", ("parquet",), (b"PAR1",), True
    ARROW = (
        "arrow", "formats.table_file.read_arrow", ("arrow", "feather", "ftr", "ipc"),
        (b"ARROW1", b"\xff\xff\xff\xff"), True,  # a file or a stream
    )  # fmt: skip
    SAFETENSORS = "safetensors", "weights.named_tensors.read_safetensors", ("safetensors",)
    PICKLE = "pickle", "formats.torch_file.read_pickle_or_legacy", (*PICKLE_SUFFIXES, "dat")
    JSON = "json", "formats.json_file.read_json", ("json", "jsonl", "ndjson")
    CSV = "csv", "formats.table_file.read_csv", (*TEXT_SUFFIXES, "dat")

    reader: str
    suffixes: tuple[str, ...]
    starts: tuple[bytes, ...]
    packed: bool

    def __new__(
        cls,
        value: str,
        reader: str,
        suffixes: tuple[str, ...],
        starts: tuple[bytes, ...] = (),
        packed: bool = False,
    ) -> Self:
        """Return a member, which is the string that errors and files hold."""
        form = str.__new__(cls, value)
        form._value_, form.reader, form.suffixes = value, reader, suffixes
        form.starts, form.packed = starts, packed
        return form


DICOM = b"DICM"  # after 128 bytes that anybody may use
PICTURES = {
    b"\x89PNG\r\n\x1a\n": "a PNG picture", b"\xff\xd8\xff": "a JPEG picture",
    b"GIF8": "a GIF picture", b"BM": "a BMP picture", b"II*\0": "a TIFF picture",
    b"MM\0*": "a TIFF picture",
}  # fmt: skip
PICTURE_SUFFIXES = {"png", "jpg", "jpeg", "gif", "bmp", "tif", "tiff", "webp", "dcm", "dicom", ""}
R_CSV = "in R: write.csv(frame, 'x.csv', row.names = FALSE)"
STATA = "in Stata: export delimited using x.csv"
# Files that no first bytes, or those of gzip and pickle alone, tell.
BY_SUFFIX = {
    **dict.fromkeys(("rds", "rda", "rdata"), ("an R file", R_CSV)),
    "dta": ("a Stata file", STATA),
    "joblib": (
        "a joblib file",
        "in Python: from joblib import load; np.savez('x.npz', **load('x.joblib'))",
    ),
    "sav": ("an SPSS file", "save it as CSV from SPSS"),
}
OTHERS = {
    b"\x1f\x8b": ("a gzip file", "unpack it first"),
    b"BZh": ("a bzip2 file", "unpack it first"),
    b"\xfd7zXZ": ("an xz file", "unpack it first"),
    b"7z\xbc\xaf": ("a 7-Zip archive", "unpack it first"),
    b"\x28\xb5\x2f\xfd": ("a Zstandard file", "unpack it first"),
    b"Rar!": ("a RAR archive", "unpack it first"),
    b"\x89HDF": ("an HDF5 file", SAVE_AS),
    b"MATLAB": ("a MATLAB file", "in MATLAB: writematrix([scores labels], 'x.csv')"),
    b"<stata_dta>": ("a Stata file", STATA),
    b"RDX": ("an R file", R_CSV),
    b"RDA": ("an R file", R_CSV),
    b"%PDF": ("a PDF document", SAVE_AS),
    b"\x7fELF": ("a program", SAVE_AS),
    b"MZ\x90": ("a program", SAVE_AS),
    b"SQLite": ("an SQLite database", SAVE_AS),
    b"FEA1": ("a Feather file of version 1", "save it again: frame.to_feather('x.feather')"),
    b"\xd0\xcf\x11\xe0": ("an old Office document", "save the sheet as CSV"),
}
PICKLE_STARTS = re.compile(
    rb"\x80[\x02-\x05]|\((?:dp|lp|[\(ct])|c(?:numpy|__|copy|_co|collections\n)|[\(\]\}]"
)


def sniff(source: FileBytes) -> FileFormat:
    """Return the format of a file, judged by its bytes.

    Raises Refused EMPTY_FILE, PHI, IMAGE, FORMAT_MISMATCH or FORMAT_UNKNOWN.
    """
    if source.size == 0:
        raise Refused("EMPTY_FILE", "The file is empty (0 bytes)", "save or download it again")
    head = bytes(source.data[:512])
    if is_dicom(head):
        what = "This is a DICOM file, which may name a patient, and not a file of scores"
        raise Refused("PHI", what, FILMS)
    _refuse_others(head, source.suffix)
    form = _form(source, head)
    claimed = [other for other in FileFormat if source.suffix in other.suffixes]
    if form is None:
        what = "The content is in none of the formats that Candor reads"
        if claimed:
            what = f"The content is not what the suffix .{source.suffix} says"
            raise Refused("FORMAT_MISMATCH", what, SAVE_AS)
        raise Refused("FORMAT_UNKNOWN", what, SAVE_AS)
    if claimed and form not in claimed:
        what = f"The suffix .{source.suffix} says otherwise: the content is {form}"
        raise Refused("FORMAT_MISMATCH", what, "give the file its right suffix")
    return form


def is_dicom(head: bytes) -> bool:
    """Whether a file begins as DICOM does: by its mark, or without one by its first tag."""
    if head[128:132] == DICOM:
        return True
    # Without its mark a DICOM file begins with group 2 or 8, in either byte order.
    for order in ("<", ">"):
        group, element, length = struct.unpack(f"{order}HHI", head[:8].ljust(8, b"\0"))
        explicit = re.match(rb"[A-Z]{2}", head[4:6]) is not None
        if group in (2, 8) and element < 256 and (explicit or 0 < length < 256):
            return True
    return False


def _refuse_others(head: bytes, suffix: str) -> None:
    """Refuse pictures, models, web pages and files of other programs, and say what to do."""
    picture = next((name for magic, name in PICTURES.items() if head.startswith(magic)), None)
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        picture = "a WebP picture"
    if picture == "a BMP picture" and head[6:10] != b"\0\0\0\0":
        picture = None  # text may begin with BM too
    if picture is not None and suffix not in PICTURE_SUFFIXES:
        what = f"The suffix .{suffix} says otherwise: the content is {picture}"
        raise Refused("FORMAT_MISMATCH", what, FILMS)
    if picture is not None:
        raise Refused("IMAGE", f"This is {picture}, not a file of scores", FILMS)
    if suffix in BY_SUFFIX and not head.isascii():
        name, remedy = BY_SUFFIX[suffix]
        raise Refused("FORMAT_UNKNOWN", f"This is {name}, which Candor does not read", remedy)
    if head.startswith(b"version https://git-lfs"):
        what = "This is a Git LFS pointer: the content was never downloaded"
        raise Refused("FORMAT_MISMATCH", what, "run git lfs pull and give the file itself")
    start = head.lstrip().lower()
    if start.startswith((b"<!doctype", b"<html", b"<?xml", b"<head")):
        what = "This is a web page, not a table: the download may have asked for a login"
        raise Refused("FORMAT_MISMATCH", what, "download the file itself")
    model = model_of(head)
    if model:
        raise model_refusal(model)
    for magic, (name, remedy) in OTHERS.items():
        if head.startswith(magic):
            raise Refused("FORMAT_UNKNOWN", f"This is {name}, which Candor does not read", remedy)


def _form(source: FileBytes, head: bytes) -> FileFormat | None:
    for form in FileFormat:
        if head.startswith(form.starts):
            return form
    # Safetensors: a length of eight bytes and an object; no text holds NUL bytes there.
    if source.suffix == "safetensors" or (0 in head[:8] and head[8:10] in (b'{"', b"{ ", b"{}")):
        return FileFormat.SAFETENSORS
    if source.suffix in PICKLE_SUFFIXES:
        return FileFormat.PICKLE if PICKLE_STARTS.match(head) else _textual(head, source.suffix)
    if re.match(rb"\x80[\x02-\x05]", head):
        return FileFormat.PICKLE
    wide = head[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    text = head.decode("utf-16", "ignore").encode("utf-8", "ignore") if wide else head
    if re.match(rb"(\xef\xbb\xbf)?\s*[\[{]", text):
        return FileFormat.JSON
    if source.suffix == "dat" and re.match(rb"\((dp|lp|c|\()|cnumpy", head):
        return FileFormat.PICKLE
    return _textual(head, source.suffix)


def _textual(head: bytes, suffix: str) -> FileFormat | None:
    """Text has few control characters; UTF-16 is known by its mark."""
    if head[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        return FileFormat.CSV
    if suffix in TEXT_SUFFIXES and 0 in head:
        return FileFormat.CSV  # to be refused there, with what to do about NUL bytes
    control = sum(byte < 9 or 13 < byte < 32 for byte in head)
    return FileFormat.CSV if control == 0 else None
