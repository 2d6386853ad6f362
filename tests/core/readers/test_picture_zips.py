"""A zip of pictures is unpacked by the sealed process, below one folder, or refused."""

import io
import stat
import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from core.errors import AuditError, Refused
from core.readers.formats import archive
from core.readers.formats.contents import FileBytes
from core.readers.sandbox.read import read_pictures


def picture(seed: int = 0, form: str = "PNG") -> bytes:
    pixels = np.random.default_rng(seed).integers(0, 255, (8, 8, 3), np.uint8)
    Image.fromarray(pixels).save(out := io.BytesIO(), form)
    return out.getvalue()


def packed(folder: Path, members: dict[str, bytes], *, mode: int = stat.S_IFREG | 0o644) -> Path:
    path = folder / "set.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in members.items():
            info = zipfile.ZipInfo(name)
            info.external_attr, info.compress_type = mode << 16, zipfile.ZIP_DEFLATED
            file.writestr(info, data)
    return path


def unpacked(path: Path) -> tuple[archive.PictureFiles, dict[str, bytes]]:
    into = path.parent / "into"
    files = read_pictures(path, into=into, name="set.zip")
    found = {str(p.relative_to(into)): p.read_bytes() for p in into.rglob("*") if p.is_file()}
    return files, found


def test_class_folders_come_out_byte_for_byte_without_the_folder_around_them(tmp_path):
    made = {f"{k}/{n}.png": picture(10 * k + n) for k in range(2) for n in range(3)}
    extra = {"set/readme.txt": b"x", "__MACOSX/set/0/._0.png": b"x", "set/0/.hidden.png": b"x"}
    path = packed(tmp_path, {f"set/{name}": data for name, data in made.items()} | extra)
    files, found = unpacked(path)
    assert found == made
    assert files.files == {name: len(data) for name, data in made.items()}
    assert (files.n_classes, files.skipped) == (2, 3)


def test_a_lone_test_folder_stays_a_part_of_which_every_picture_is_evaluated(tmp_path):
    from core.datasets.load import load

    made = {f"test/{k}/{n}.png": picture(ord(k) + n) for k in "ab" for n in range(3)}
    _, found = unpacked(packed(tmp_path, made))
    assert found == made
    data = load("folder", root=tmp_path / "into", split_seed=0, size=(8, 8))
    assert (len(data.train), len(data.val), len(data.test)) == (0, 0, 6)
    assert data.class_names == ("a", "b")


def test_one_folder_of_pictures_stays_a_folder(tmp_path):
    _, found = unpacked(packed(tmp_path, {"cats/a.jpg": picture(form="JPEG")}))
    assert list(found) == ["cats/a.jpg"]


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("../a.png", "ARCHIVE_PATH"),
        ("/etc/a.png", "ARCHIVE_PATH"),
        ("c:\\a.png", "ARCHIVE_PATH"),
        ("a\n.png", "ARCHIVE_PATH"),
        ("x" * 250 + ".png", "ARCHIVE_PATH"),
        ("/".join("abcdefghij") + ".png", "ARCHIVE_PATH"),
        ("a.txt", "EMPTY"),
    ],
)
def test_a_name_that_leaves_the_folder_or_is_no_pictures_is_refused(tmp_path, name, code):
    with pytest.raises(Refused) as refused:
        unpacked(packed(tmp_path, {name: picture()}))
    assert refused.value.code == code
    assert "prediction" not in refused.value.remedy
    assert not (tmp_path / "into").exists()


def test_links_bombs_and_what_is_no_picture_are_refused(tmp_path):
    with pytest.raises(Refused) as link:
        unpacked(packed(tmp_path, {"a/b.png": b"/etc/passwd"}, mode=stat.S_IFLNK | 0o777))
    assert link.value.code == "ARCHIVE_LINK"
    with pytest.raises(Refused) as bomb:
        unpacked(packed(tmp_path, {"a/b.bmp": b"BM" + bytes(40 * 2**20)}))
    assert bomb.value.code == "ARCHIVE_RATIO"
    with pytest.raises(Refused) as text:
        unpacked(packed(tmp_path, {"a/b.png": picture(), "a/c.png": b"#!/bin/sh"}))
    assert text.value.code == "FORMAT_UNKNOWN"
    with pytest.raises(Refused) as both:
        unpacked(packed(tmp_path, {"a.png": picture(), "a.png/b.png": picture(1)}))
    assert both.value.code == "ARCHIVE_PATH"
    (tmp_path / "set.zip").write_bytes(b"no zip")
    with pytest.raises(AuditError):
        unpacked(tmp_path / "set.zip")
    assert not (tmp_path / "into").exists()


def test_too_many_or_too_large_is_refused_by_the_directory(tmp_path, monkeypatch):
    path = packed(tmp_path, {f"{k}.png": picture(k) for k in range(3)})
    with path.open("rb") as file:
        source = FileBytes.of_file("set.zip", file)
        for limit, code in (("MOST", "ARCHIVE_COUNT"), ("MOST_BYTES", "ARCHIVE_SIZE")):
            with monkeypatch.context() as patch:
                patch.setattr(archive, limit, 2)
                with pytest.raises(Refused) as refused:
                    archive.read_pictures(source)
            assert refused.value.code == code
