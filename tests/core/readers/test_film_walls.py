"""Nothing of a patient leaves the sealed process, and odd films end it neither early nor late."""

import io
import json
import logging
import os
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from imagecodecs import jpeg8_encode, jpegls_encode
from PIL import Image, PngImagePlugin

from core.errors import LostWorker, Refused
from core.readers.films import film_file
from core.readers.films.film import Film
from core.readers.films.film_codestream import jpeg_skeleton, png_skeleton
from core.readers.films.film_file import read_film_file
from core.readers.formats.contents import FileBytes
from core.readers.sandbox import child_process, scratch, wire
from core.readers.sandbox import read as sandbox
from tests.codestreams import flat_blocks, holding, lossless, segment
from tests.core.readers.fuzz import changed
from tests.film_files import CANARIES, dataset, written

SHARED = Path(os.environ.get("CANDOR_SHARED", Path(__file__).parents[3].parent / "shared"))
MANIFEST = SHARED / "hostile" / "manifest.json"
CASES = [
    case
    for case in (json.loads(MANIFEST.read_text())["cases"] if MANIFEST.exists() else [])
    if case["kind"] == "image"
]
absent = pytest.mark.skipif(not CASES, reason="needs the shared folder (CANDOR_SHARED)")
linux = pytest.mark.skipif(sys.platform != "linux", reason="the limits are those of Linux")
DEEP = np.random.default_rng(5).integers(0, 4096, (20, 30), np.uint16)
DICOM = written(dataset(DEEP, 12))
EXTENDED, LOSSLESS, JPEG_LS = (f"1.2.840.10008.1.2.4.{n}" for n in (51, 70, 80))
MUTATIONS = 150


def saved(form: str, **options: object) -> bytes:
    picture = Image.fromarray((DEEP >> 4).astype(np.uint8))
    picture.save(out := io.BytesIO(), form, **options)  # type: ignore[arg-type]
    return out.getvalue()


def named() -> dict[str, bytes]:
    """Films that name a patient in every place that their formats have, whole and broken."""
    exif = Image.Exif()
    exif[0x010E], exif[0x013B], exif[0x0112] = "DOE^JANE", "TEST HOSPITAL", 6
    texts = PngImagePlugin.PngInfo()
    texts.add_text("Patient DOE^JANE", "ID-12345", zip=True)
    stream = lossless(DEEP, 12)
    told = stream[:2] + segment(0xFE, b"DOE^JANE") + segment(0xE1, b"ID-12345") + stream[2:]
    whole = {
        "png": saved("PNG", pnginfo=texts, exif=exif),
        "jpeg": saved("JPEG", comment=b"DOE^JANE ID-12345", exif=exif),
        "dicom": DICOM,
        "bare": written(dataset(DEEP, 12), bare=True),
        "spacing": written(dataset(DEEP, 12, PixelSpacing=["0.1", "0.2"])).replace(
            b"0.2 ", b"DOE "
        ),
        "lossless": holding(dataset(DEEP, 12), told, LOSSLESS),
    }
    broken = {
        "png cut": whole["png"][:-40],
        "png followed": whole["png"] + b"DOE^JANE",
        "jpeg cut": whole["jpeg"][:-40],
        "dicom cut": DICOM[:-40],
        "lossless cut": holding(dataset(DEEP, 12), told[:-40] + b"\xff\xd9", LOSSLESS),
        "dicom followed": DICOM + b"DOE^JANE ID-12345",
        "dicom of rows": DICOM.replace(b"US\2\0\x14\0", b"DS\2\0DO", 1),
        "dicom of a name": written(dataset(DEEP, 12, PhotometricInterpretation="DOE 12345")),
        "dicom of a syntax": DICOM.replace(b"1.2.840.10008.1.2.1\0", b"1.2.12345.12345.12\0"),
        "no film": b"DOE^JANE, ID-12345",
    }
    return whole | broken


NAMED = named()


FAST = ("dicom", "jpeg", "lossless", "dicom of a name", "png followed")


@pytest.mark.parametrize(
    "name", [n if n in FAST else pytest.param(n, marks=pytest.mark.slow) for n in NAMED]
)
def test_nothing_of_a_patient_leaves_the_process(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Result, notices, refusals, log records, and whatever lies in the folder at the end."""
    left: list[bytes] = []
    modes: set[int] = set()

    def looked_at(folder: Path) -> None:
        modes.add(stat.S_IMODE(folder.stat().st_mode))
        for path in folder.iterdir():
            modes.add(stat.S_IMODE(path.stat().st_mode))
            left.append(path.name.encode() + path.read_bytes())
        remove(folder)

    remove = scratch.remove
    monkeypatch.setattr(scratch, "remove", looked_at)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    caplog.set_level(logging.DEBUG)
    path = tmp_path / "DOE^JANE ID-12345.dcm"
    path.write_bytes(NAMED[name])
    try:
        film = sandbox.read_film(path, name="film 3")
        said = f"{film!r} {film.digest}"
    except Refused as error:
        said = f"refused {error!r} {error.to_json()} {error.__cause__!r} {error.__context__!r}"
    assert said.startswith("refused") == (" " in name)
    said += " ".join(record.getMessage() for record in caplog.records)
    assert left
    for canary in CANARIES:
        assert canary not in said
        assert not any(canary.encode() in found for found in left)
    if os.name == "posix":
        assert modes == {0o700, 0o600}
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_decoders_never_see_what_is_not_pixels() -> None:
    """Texts, comments, EXIF and profiles are cut out; of DICOM only the tags of pixels are read."""
    for cut, data in (
        (png_skeleton(memoryview(NAMED["png"])), NAMED["png"]),
        (jpeg_skeleton(NAMED["jpeg"]), NAMED["jpeg"]),
    ):
        assert b"DOE^JANE" in data
        assert cut.orientation == 6
        assert not any(canary.encode() in cut.data for canary in CANARIES)
    for name in ("dicom", "bare"):
        data = memoryview(NAMED[name])
        tags = film_file._tags(data, marked=name == "dicom")
        assert {tag.keyword for tag in tags} <= {*film_file.KEYWORDS, "SpecificCharacterSet"}


def test_a_file_that_cannot_be_opened_keeps_its_name_to_itself(tmp_path: Path) -> None:
    with pytest.raises(Refused) as caught:
        sandbox.read_film(tmp_path / "DOE^JANE.png", name="film 3")
    assert "film 3" in caught.value.what
    assert "DOE" not in str(caught.value)


@absent
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["file"])
def test_each_hostile_picture_gets_its_verdict(case: dict[str, str]) -> None:
    path = MANIFEST.parent / case["file"]

    def read() -> Film:
        if "bomb" in case["file"]:
            return sandbox.read_film(path, name="film 1")
        return read_film_file(FileBytes.of_bytes("film 1", path.read_bytes()))

    if case["file"] == "phi.dcm":  # refused where scores were expected; this is the DICOM mode
        film = read()
        np.testing.assert_array_equal(film.pixels, 255 - np.arange(256).reshape(16, 16))
        assert not any(word in repr(film) for word in case["never_in_output"])
    elif case["expect"] == "refused":
        with pytest.raises(Refused) as caught:
            read()
        assert caught.value.code in case["reason_or_meaning"]
    else:
        film = read()
        assert case["notice"] in {notice.code for notice in film.notices}
        if "32x16 becomes 16x32" in case["reason_or_meaning"]:
            assert film.pixels.shape == (32, 16)


@absent
@pytest.mark.slow
def test_real_films_agree_with_pillow() -> None:
    paths = sorted((SHARED / "data" / "chestxray14").glob("*/*.*g"))
    assert len(paths) > 600
    for path in paths[::9] + [p for p in paths if p.parent.name == "originals"]:
        film = read_film_file(FileBytes.of_bytes("film 1", path.read_bytes()))
        with Image.open(path) as picture:
            np.testing.assert_array_equal(film.pixels, np.asarray(picture.convert("L")))
        assert film.notices == ()


# Limits ------------------------------------------------------------------------------------------


@linux
@pytest.mark.slow
@pytest.mark.parametrize(
    "form",
    [
        "dicom",
        pytest.param("colour", marks=pytest.mark.nightly),
        *(pytest.param(name, marks=pytest.mark.soak) for name in ("grey 16", "lossless")),
    ],
)
def test_the_largest_film_fits_into_the_memory_that_is_given(form: str, tmp_path: Path) -> None:
    side = 7_000
    rows = np.add.outer(np.arange(side, dtype=np.uint16), np.arange(side, dtype=np.uint16))
    path = tmp_path / "film"
    if form == "dicom":
        path.write_bytes(written(dataset(rows, 16)))
    elif form == "lossless":
        stream = jpeg8_encode(rows, lossless=True, bitspersample=16)
        path.write_bytes(holding(dataset(rows, 16), stream, LOSSLESS))
    elif form == "grey 16":
        Image.fromarray(rows).save(path, "PNG", compress_level=1)
    else:
        colours = np.stack([rows % 251, rows % 241, rows % 239], 2).astype(np.uint8)
        Image.fromarray(colours).convert("RGBA").save(path, "PNG", compress_level=1)
    film = sandbox.read_film(path, name="film 1")
    assert film.pixels.shape == (side, side)


# What arrives ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "pixels",
    [np.zeros((20, 20), np.int64), np.zeros((20, 20, 3), np.uint8), np.zeros((8, 90), np.uint8)],
)
def test_what_the_child_left_is_checked(pixels: np.ndarray, tmp_path: Path) -> None:
    wire.write_film(wire.Exchange(tmp_path), Film(pixels, ()))  # type: ignore[arg-type]
    with pytest.raises(LostWorker):
        wire.load_film(wire.Exchange(tmp_path))


LATE = """
import os, sys
from pathlib import Path
from core.readers.sandbox import child
child.import_early("film")
before = set(sys.modules)
for name in sys.argv[1:]:
    file = {"name": "film", "input": os.open(name, os.O_RDONLY)}
    child.answer({"files": {"file": file}, "options": {}, "reader": "film"}, Path())
print(*sorted(set(sys.modules) - before))
"""


def test_no_module_is_imported_once_privileges_are_dropped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rle, jpeg = dataset(DEEP, 12), dataset((DEEP >> 4).astype(np.uint8))
    rle.file_meta = written_meta(rle)
    rle.compress("1.2.840.10008.1.2.5")
    jpeg.file_meta = written_meta(jpeg)
    jpeg.compress("1.2.840.10008.1.2.5")
    greek = dataset(DEEP, 12, SpecificCharacterSet=["ISO_IR 126", "ISO 2022 IR 87"])
    films = {
        **NAMED,
        "rle": written(rle, "1.2.840.10008.1.2.5"),
        "eight": written(jpeg, "1.2.840.10008.1.2.5"),
        "deflated": written(dataset(DEEP, 12), "1.2.840.10008.1.2.1.99"),
        "greek": written(greek),
        **{name: SEEDS[name] for name in ("lossless", "colours", "twelve", "ls")},
        "window": written(dataset(DEEP, 12, WindowCenter="20", WindowWidth="40")),
        "gif": saved("GIF"), "tiff": saved("TIFF"), "progressive": saved("JPEG", progressive=True),
    }  # fmt: skip
    for index, data in enumerate(films.values()):
        Path(str(index)).write_bytes(data)
    done = subprocess.run(
        [sys.executable, "-c", LATE, *(str(index) for index in range(len(films)))],
        env={**os.environ, "PYTHONPATH": str(child_process.ROOT)},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.split() == []


def written_meta(made: object) -> object:
    import pydicom

    meta = pydicom.dataset.FileMetaDataset()
    meta.TransferSyntaxUID = "1.2.840.10008.1.2.1"
    return meta


# Films changed at random -------------------------------------------------------------------------


COLOURS = np.stack([DEEP >> 4, DEEP % 256, DEEP % 251], 2).astype(np.uint8)
WINDOW = {"WindowCenter": "200", "WindowWidth": "400", "PixelSpacing": ["0.1", "0.1"]}
SEEDS = {
    "png": saved("PNG"),
    "jpeg": saved("JPEG", progressive=True),
    "dicom": written(dataset(DEEP, 12, **WINDOW)),
    "deflated": written(dataset(DEEP, 12, **WINDOW), "1.2.840.10008.1.2.1.99"),
    "lossless": holding(dataset(DEEP, 12, **WINDOW), lossless(DEEP, 12, restart=4), LOSSLESS),
    "colours": holding(dataset(COLOURS), lossless(COLOURS, 8), LOSSLESS),
    "twelve": holding(dataset(DEEP[:16, :16], 12), flat_blocks(DEEP[:2, :2]), EXTENDED),
    "ls": holding(dataset(DEEP, 12), jpegls_encode(DEEP), JPEG_LS),
}


@pytest.mark.parametrize(("name", "data"), list(SEEDS.items()), ids=list(SEEDS))
def test_a_changed_film_is_read_or_refused(name: str, data: bytes) -> None:
    rng = np.random.default_rng(len(name))
    refused = 0
    for _ in range(MUTATIONS):
        try:
            film = read_film_file(FileBytes.of_bytes("film", changed(data, rng)))
        except Refused:
            refused += 1
        else:
            assert film.pixels.dtype == np.uint8
            assert min(film.pixels.shape) >= 16
    assert refused > 0
