"""Image folders: parts, classes and pixels as laid out; what is remembered; what is refused."""

import errno
import os
import shutil
import signal
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path
from threading import Thread

import numpy as np
import pytest
import torch
from PIL import Image

from core.datasets import assemble, stream
from core.datasets.base import ResidentSplit, SplitDataset
from core.datasets.load import load
from core.datasets.stream import StreamedSplit, keep_resized
from core.errors import Refused
from core.progress import on_progress
from tests.core.datasets.written import all_images, by_name, random_pixels, write_png

SHARED = Path(os.environ.get("CANDOR_SHARED", Path(__file__).parents[3].parent / "shared"))
CIFAR = SHARED / "data" / "cifar10_jpeg" / "cifar10_jpeg.tar.xz"
ROOT = Path(__file__).parents[3]
CLASSES = ("ant", "bee", "cow")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CANDOR_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def write(root: Path, *, height: int = 8, width: int = 6, **parts: int) -> dict[str, np.ndarray]:
    """Write so many pictures a class in each part (`_` for none); return pixels by name."""
    names = [
        f"{part}/{name}/{row:02}.png".removeprefix("_/")
        for part, n in parts.items()
        for name in CLASSES
        for row in range(n)
    ]
    pixels = random_pixels(len(names), height=height, width=width)
    for name, picture in zip(names, pixels, strict=True):
        write_png(root / name, picture)
    return dict(zip(names, pixels, strict=True))


def opened(
    root: Path, *, seed: int = 0, size: tuple[int, int] | None = None, kept: bool = False
) -> SplitDataset:
    return load("folder", root=root, split_seed=seed, size=size, kept=kept)


def assert_holds(data: SplitDataset, pixels: dict[str, np.ndarray]) -> None:
    """Every file is in one part, with its own pixels and the class of its folder."""
    found = by_name(data)
    assert found.keys() == pixels.keys()
    for name, (image, target) in found.items():
        np.testing.assert_array_equal(image, pixels[name])
        assert data.class_names[target] == name.split("/")[-2]


# Layouts ----------------------------------------------------------------------------------------


def test_train_and_test_leave_a_tenth_of_train_as_validation_part(tmp_path: Path) -> None:
    pixels = write(tmp_path, train=20, test=3)
    data = opened(tmp_path)
    assert_holds(data, pixels)
    assert data.split.n == {"train": 54, "val": 6, "test": 9}
    assert all(name.startswith("test/") for name in data.test.row_ids)
    assert data.class_names == CLASSES
    assert (data.channels, data.size, data.flip, data.notices) == (3, (8, 6), True, ())
    assert isinstance(data.train, ResidentSplit)
    assert opened(tmp_path, seed=1).val.row_ids != data.val.row_ids
    assert opened(tmp_path, seed=0).val.row_ids == data.val.row_ids


def test_three_parts_stay_as_they_are(tmp_path: Path) -> None:
    pixels = write(tmp_path, train=4, val=2, test=3)
    data = opened(tmp_path)
    assert_holds(data, pixels)
    for part, held in (("train", data.train), ("val", data.val), ("test", data.test)):
        assert {name.split("/")[0] for name in held.row_ids} == {part}


def test_val_without_test_is_the_test_part_and_says_so(tmp_path: Path) -> None:
    pixels = write(tmp_path, train=10, val=2)
    data = opened(tmp_path)
    assert_holds(data, pixels)
    assert {name.split("/")[0] for name in data.test.row_ids} == {"val"}
    assert data.split.n == {"train": 27, "val": 3, "test": 6}
    assert [notice.code for notice in data.notices] == ["VAL_AS_TEST"]


@pytest.mark.parametrize("part", ["test", "val"])
def test_a_lone_part_without_pictures_is_refused(tmp_path: Path, part: str) -> None:
    for name in CLASSES:
        (tmp_path / part / name).mkdir(parents=True)
    with pytest.raises(Refused, match=f"EMPTY: {part} holds no pictures"):
        opened(tmp_path)


def test_classes_alone_are_cut_by_the_seed_within_each(tmp_path: Path) -> None:
    pixels = write(tmp_path, _=20)
    data = opened(tmp_path)
    assert_holds(data, pixels)
    for part, n in ((data.train, 16), (data.val, 2), (data.test, 2)):
        assert np.bincount(part.targets.numpy()).tolist() == [n, n, n]


def test_other_files_are_left_out_and_counted_and_hidden_ones_are_not(tmp_path: Path) -> None:
    pixels = write(tmp_path, train=10, test=2)
    (tmp_path / "train" / "ant" / "notes.txt").write_text("x")
    (tmp_path / "train" / "ant" / ".DS_Store").write_text("x")
    (tmp_path / "train" / ".cache").mkdir()
    shutil.copy(tmp_path / "train/ant/00.png", tmp_path / "train" / "loose.png")
    data = opened(tmp_path)
    assert_holds(data, pixels)
    assert [notice.text for notice in data.notices] == [
        "2 files that are not pictures were left out."
    ]


def test_folders_inside_a_class_belong_to_it_and_suffixes_have_any_case(tmp_path: Path) -> None:
    write(tmp_path, train=10, test=2)
    (tmp_path / "test/bee/more").mkdir()
    (tmp_path / "test/bee/00.png").rename(tmp_path / "test/bee/more/00.PNG")
    data = opened(tmp_path)
    assert "test/bee/more/00.PNG" in data.test.row_ids
    assert by_name(data)["test/bee/more/00.PNG"][1] == 1


def test_rows_are_sorted_by_name_in_whatever_order_files_were_written(tmp_path: Path) -> None:
    write(tmp_path, train=10, test=2)
    for row in np.random.default_rng(0).permutation(30):
        write_png(tmp_path / f"test/ant/{row + 10}.png", random_pixels(1)[0])
    data = opened(tmp_path)
    assert list(data.test.row_ids) == sorted(data.test.row_ids)
    assert len(data.test) == 36


# Streamed ---------------------------------------------------------------------------------------


def test_large_pictures_are_streamed_with_imagenets_moments(tmp_path: Path) -> None:
    pixels = write(tmp_path, height=66, width=40, train=10, test=2)
    data = opened(tmp_path)
    assert isinstance(data.train, StreamedSplit)
    assert_holds(data, pixels)
    assert (data.size, data.pad) == ((66, 40), 5)
    assert data.mean == (0.485, 0.456, 0.406)
    assert data.std == (0.229, 0.224, 0.225)
    assert [notice.code for notice in data.notices] == ["IMAGENET_MOMENTS"]
    small = opened(tmp_path, size=(24, 32))
    assert (small.size, small.pad) == ((24, 32), 3)
    assert all_images(small.val).shape == (3, 3, 24, 32)


def test_streamed_and_in_memory_are_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, train=10, test=2)
    resident = by_name(opened(tmp_path))
    monkeypatch.setattr(assemble, "MAX_SIDE", 7)
    data = opened(tmp_path)
    assert isinstance(data.train, StreamedSplit)
    streamed = by_name(data)
    assert list(streamed) == list(resident)
    for name, (image, target) in streamed.items():
        np.testing.assert_array_equal(image, resident[name][0])
        assert target == resident[name][1]


@pytest.mark.parametrize("bytes_allowed", [36 * 3 * 8 * 6, 36 * 3 * 8 * 6 - 1])
def test_small_pictures_are_streamed_where_they_are_too_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bytes_allowed: int
) -> None:
    write(tmp_path, train=10, test=2)
    monkeypatch.setattr(assemble, "MAX_BYTES", bytes_allowed)
    assert isinstance(opened(tmp_path).train, StreamedSplit) == (bytes_allowed < 36 * 3 * 8 * 6)


def test_small_pictures_of_two_sizes_are_streamed_at_the_size_of_the_first(tmp_path: Path) -> None:
    write(tmp_path, train=10, test=2)
    write_png(tmp_path / "test/cow/01.png", random_pixels(1, height=16, width=16)[0])
    data = opened(tmp_path)
    assert isinstance(data.train, StreamedSplit)
    assert all_images(data.test).shape == (6, 3, 8, 6)


# Digest -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("height", [8, 66])
def test_digest_is_the_same_again_and_sees_a_picture_or_a_label(
    tmp_path: Path, height: int
) -> None:
    write(tmp_path, height=height, train=10, test=2)
    digests = {opened(tmp_path).digest, opened(tmp_path, seed=1).digest}
    assert len(digests) == 1
    (tmp_path / "test/ant/00.png").rename(tmp_path / "test/bee/99.png")
    digests.add(opened(tmp_path).digest)
    picture = random_pixels(1, height=height)[0]
    if height > 64:  # streamed: told by the file's length, which any other photograph has
        picture[:, :33] = 0
    picture[0, 0, 0] ^= 1
    write_png(tmp_path / "train/ant/00.png", picture)
    digests.add(opened(tmp_path).digest)
    assert len(digests) == 3


# Remembered -------------------------------------------------------------------------------------


def kept(home: Path) -> list[Path]:
    return sorted((home / "cache").iterdir())


def test_pictures_are_decoded_once_and_again_when_a_file_changes(
    tmp_path: Path, home: Path
) -> None:
    root = tmp_path / "data"
    pixels = write(root, train=10, test=2)
    file = root / "test/ant/00.png"
    data = opened(root)
    (first,) = kept(home)
    about = file.stat()
    file.write_bytes(bytes(about.st_size))  # no picture any more, but nothing else tells
    os.utime(file, ns=(about.st_atime_ns, about.st_mtime_ns))
    again = opened(root)
    assert_holds(again, pixels)
    assert again.digest == data.digest
    write_png(file, pixels["test/bee/00.png"])
    changed = opened(root)
    assert_holds(changed, pixels | {"test/ant/00.png": pixels["test/bee/00.png"]})
    (second,) = kept(home)
    assert second != first


def test_what_is_remembered_of_two_folders_does_not_mix(tmp_path: Path, home: Path) -> None:
    write(tmp_path / "one", train=10, test=2)
    shutil.copytree(tmp_path / "one", tmp_path / "two")  # with the same times
    write_png(tmp_path / "two/test/ant/00.png", random_pixels(2)[1])
    one, two = opened(tmp_path / "one"), opened(tmp_path / "two")
    assert len(kept(home)) == 2
    assert one.digest != two.digest
    assert opened(tmp_path / "one").digest == one.digest


@pytest.mark.parametrize("damage", ["cut", "objects", "other"])
def test_a_damaged_memory_is_made_anew(tmp_path: Path, home: Path, damage: str) -> None:
    root = tmp_path / "data"
    pixels = write(root, train=10, test=2)
    opened(root)
    (path,) = kept(home)
    whole = path.read_bytes()
    if damage == "cut":
        path.write_bytes(whole[:-100])
    elif damage == "objects":
        np.save(path, np.array([{}], dtype=object))
    else:
        np.save(path, np.zeros((36, 3, 6, 8), np.uint8))
    assert_holds(opened(root), pixels)
    assert kept(home) == [path]
    assert path.read_bytes() == whole


# Kept resized -----------------------------------------------------------------------------------


def spoil(file: Path) -> None:
    """Make a picture unreadable, and leave its length and time as they were."""
    about = file.stat()
    file.write_bytes(bytes(about.st_size))
    os.utime(file, ns=(about.st_atime_ns, about.st_mtime_ns))


def prepared(
    root: Path,
    *,
    size: tuple[int, int] | None = None,
    seed: int = 0,
    stops: Callable[[], bool] = lambda: False,
) -> SplitDataset:
    """Open a folder as a training does, and keep all its pictures."""
    data = opened(root, size=size, seed=seed, kept=True)
    every = [(part, torch.arange(len(part))) for part in (data.train, data.val, data.test)]
    assert keep_resized(every, stops) != stops()
    return data


PREPARE = """import os, signal, sys
from pathlib import Path
import torch
from core.datasets import stream
from core.datasets.load import load
data = load("folder", root=Path(sys.argv[1]), split_seed=0, kept=True)
every = [(part, torch.arange(len(part))) for part in (data.train, data.val, data.test)]
"""


@pytest.fixture
def streamed(tmp_path: Path) -> tuple[Path, dict[str, np.ndarray]]:
    """A folder of 36 pictures of 66 x 40, and their pixels."""
    return tmp_path / "data", write(tmp_path / "data", height=66, width=40, train=10, test=2)


def spoil_all(root: Path) -> None:
    """Make all pictures unreadable but the one whose size is looked at."""
    for file in root.rglob("*.png"):
        if file != root / "train/ant/00.png":
            spoil(file)


def test_streamed_pictures_are_decoded_once_before_they_are_read(
    streamed, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, _ = streamed
    direct = by_name(opened(root, size=(24, 32)))
    assert not home.exists()
    prepared(root, size=(24, 32))
    (path,) = kept(home)
    assert path.stat().st_mode & 0o077 == 0
    spoil_all(root)
    # Whatever the split, and for an evaluation, which makes no copies of its own
    for data in (prepared(root, size=(24, 32), seed=3), opened(root, size=(24, 32))):
        again = by_name(data)
        assert sorted(again) == sorted(direct)
        assert all(np.array_equal(again[name][0], direct[name][0]) for name in direct)
    others = [opened(root, size=(24, 40), kept=True), opened(root)]
    monkeypatch.setattr(stream, "REDUCED", 2)  # pictures would be decoded in another way
    others.append(opened(root, size=(24, 32)))
    for other in others:
        with pytest.raises(Refused, match="not a readable picture"):
            all_images(other.train)


def test_only_rows_that_epochs_read_are_kept(streamed) -> None:
    root, _ = streamed
    data = opened(root, kept=True)
    chosen = torch.tensor([20, 3, 11])
    assert keep_resized([(data.train, chosen)])
    assert isinstance(data.train, StreamedSplit)
    assert data.train.kept is not None
    there = np.flatnonzero(data.train.kept.there())
    np.testing.assert_array_equal(there, np.sort(data.split.rows["train"][chosen]))
    spoil_all(root)
    assert data.train.keep(chosen) == 3  # another process was first: nothing is decoded again


def test_a_changed_picture_is_decoded_again_and_the_old_copies_go(streamed, home: Path) -> None:
    root, pixels = streamed
    prepared(root)
    prepared(root, size=(24, 32))
    assert len(kept(home)) == 2
    first = kept(home)[0]
    write_png(root / "test/ant/00.png", pixels["test/bee/00.png"])
    changed = by_name(prepared(root))
    np.testing.assert_array_equal(changed["test/ant/00.png"][0], pixels["test/bee/00.png"])
    (second,) = kept(home)
    assert second != first


def test_a_broken_picture_is_named_before_the_first_epoch(streamed) -> None:
    root, _ = streamed
    spoil(root / "test/bee/01.png")
    with pytest.raises(Refused, match=r"test/bee/01\.png"):
        prepared(root)


@pytest.mark.parametrize("damage", ["cut", "empty", "long"])
def test_a_damaged_file_of_copies_is_made_again(streamed, home: Path, damage: str) -> None:
    root, pixels = streamed
    prepared(root)
    (path,) = kept(home)
    whole = path.read_bytes()
    assert len(whole) == 4096 + 36 * 8192  # pages of their own for the marks and for each picture
    assert whole[:36] == b"\1" * 36
    path.write_bytes(
        {"cut": whole[: 4096 + 20 * 8192 + 7], "empty": b"", "long": whole + b"x"}[damage]
    )
    assert_holds(opened(root), pixels)  # an evaluation reads what there is
    assert_holds(prepared(root), pixels)
    assert path.read_bytes() == whole


def test_making_stops_when_it_should_and_goes_on_later(streamed) -> None:
    root, pixels = streamed
    data = prepared(root, stops=lambda: True)
    assert_holds(data, pixels)
    assert_holds(prepared(root), pixels)


def test_making_goes_on_after_a_kill(streamed, home: Path, monkeypatch) -> None:
    """The process is killed while it writes its third group of pictures."""
    root, pixels = streamed
    script = (
        f"{PREPARE}stream.GROUP, marks, mark = 3, [], stream.ResizedPictures.mark\n"
        "def killed(kept, places):\n"
        "    marks.append(1)\n"
        "    if len(marks) > 2:\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "    mark(kept, places)\n"
        "stream.ResizedPictures.mark = killed\n"
        "torch.set_num_threads(1)\n"
        "stream.keep_resized(every)\n"
    )
    done = subprocess.run([sys.executable, "-c", script, root], cwd=ROOT, check=False)
    assert done.returncode == -signal.SIGKILL
    (path,) = kept(home)
    there = np.frombuffer(path.read_bytes()[:36], np.uint8) == 1
    assert there.sum() == 6
    for place, name in enumerate(pixels):
        if there[place] and place:  # the first is always looked at
            spoil(root / name)
    assert_holds(prepared(root), pixels)


def test_progress_of_preparing_is_reported(streamed, monkeypatch) -> None:
    root, _ = streamed
    monkeypatch.setattr(stream, "GROUP", 6)
    reports: list[tuple[float, str]] = []
    on_progress(lambda share, words: reports.append((share, words)))
    try:
        prepared(root)
        assert [words for _, words in reports] == ["Preparing 36 pictures"] * len(reports)
        shares = [share for share, _ in reports]
        assert shares == sorted(shares)
        assert (shares[0], shares[-1], len(shares)) == (0.0, 1.0, 8)  # of 27, 3 and 6 rows
        reports.clear()
        prepared(root)
        assert reports == []
    finally:
        on_progress(None)


def test_copies_are_left_out_where_the_disk_has_no_room(
    streamed, home: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    root, pixels = streamed
    monkeypatch.setattr(stream, "LEFT_FREE", 0.0)
    assert_holds(prepared(root), pixels)
    (path,) = kept(home)
    assert not any(path.read_bytes())
    assert "are decoded in each epoch: their copies need 0.0 GiB, and " in caplog.text


def test_copies_that_are_there_need_no_more_room(
    streamed, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, pixels = streamed
    prepared(root)
    monkeypatch.setattr(stream, "LEFT_FREE", 0.0)
    spoil_all(root)
    assert_holds(prepared(root), pixels)


def test_a_disk_that_fills_up_keeps_no_more_and_loses_nothing(streamed, home: Path) -> None:
    """Files may not be longer than the marks and 11 pictures."""
    root, pixels = streamed
    opened(root, kept=True)
    (path,) = kept(home)
    script = (
        f"{PREPARE}import resource\n"
        "torch.set_num_threads(1)\n"
        "class InOrder:\n"
        "    def shuffle(self, groups):\n"
        "        groups.sort(key=lambda group: group[0].places[group[1]].item())\n"
        "stream.GROUP, stream.SystemRandom = 1, InOrder\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "length = 4096 + 11 * 8192\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (length, length))\n"
        "stream.keep_resized(every)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, root], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert "Pictures that are not kept yet are decoded in each epoch" in done.stderr
    there = path.read_bytes()[:36]
    assert list(there) == [1] * 11 + [0] * 25
    assert_holds(opened(root), pixels)
    assert_holds(prepared(root), pixels)
    assert path.read_bytes()[:36] == b"\1" * 36


def test_pages_that_the_disk_loses_are_marked_by_no_thread(streamed, monkeypatch) -> None:
    """Of one loss Linux tells the first thread alone that asks, whose pictures it may not be."""
    root, _ = streamed
    losses, flush = iter([OSError(errno.EDQUOT, "quota")]), os.fsync

    def fsync(file: int) -> None:
        for loss in losses:
            raise loss
        flush(file)

    data = opened(root, kept=True)
    assert isinstance(data.train, StreamedSplit)
    kept = data.train.kept
    assert kept is not None
    monkeypatch.setattr(os, "fsync", fsync)
    for place in (0, 1):
        with pytest.raises(OSError, match="quota" if not place else "Input/output"):
            kept.mark([place])
    assert not kept.there().any()


def test_copies_on_a_disk_that_fails_are_not_there(streamed, monkeypatch) -> None:
    root, pixels = streamed

    def fails(*_: object) -> bytes:
        raise OSError(errno.ESTALE, "stale")

    data = prepared(root)
    monkeypatch.setattr(os, "pread", fails)
    assert_holds(prepared(root), pixels)
    assert_holds(data, pixels)


def test_new_copies_that_are_opened_twice_at_once_are_emptied_once(
    streamed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once the first one has seen that the file is new, the second one opens and fills it."""
    root, _ = streamed
    stat, others = os.fstat, []

    def fill() -> None:
        data = opened(root, kept=True)
        assert isinstance(data.train, StreamedSplit)
        data.train.keep(torch.arange(len(data.train)))

    def fstat(file: int) -> os.stat_result:
        seen = stat(file)
        if not others and seen.st_size == 0:
            others.append(Thread(target=fill))
            others[0].start()
            others[0].join(1.0)  # it waits for this one
        return seen

    monkeypatch.setattr(os, "fstat", fstat)
    data = opened(root, kept=True)
    others[0].join()
    assert isinstance(data.train, StreamedSplit)
    assert data.train.kept is not None
    assert data.train.kept.there().sum() == len(data.train)


def test_a_run_store_that_cannot_be_written_only_forgets(tmp_path: Path, home: Path) -> None:
    pixels = write(tmp_path / "data", train=10, test=2)
    home.write_text("a file in the way")
    assert_holds(opened(tmp_path / "data"), pixels)


# Refused ----------------------------------------------------------------------------------------


def refusal(root: Path | None) -> Refused:
    with pytest.raises(Refused) as excinfo:
        load("folder", root=root, split_seed=0)
    return excinfo.value


def test_a_missing_folder_is_named_with_the_layout_expected(tmp_path: Path) -> None:
    for root, what in ((None, "No folder was named"), (tmp_path / "x", f"{tmp_path / 'x'}")):
        error = refusal(root)
        assert error.code == "DATA_ROOT"
        assert what in error.what
        assert "data_root" in error.remedy
        assert "train/CLASS/*.jpg" in error.remedy


def test_folders_that_make_no_classification_are_refused(tmp_path: Path) -> None:
    write(tmp_path, train=10)  # train alone would be the only class
    error = refusal(tmp_path)
    assert error.code == "CLASSES"
    assert "train/CLASS/*.jpg" in error.remedy
    write(tmp_path, test=2)
    (tmp_path / "test/dog").mkdir()
    error = refusal(tmp_path)
    assert (error.code, "'dog'" in error.what) == ("CLASSES", True)
    (tmp_path / "test/dog").rmdir()
    shutil.rmtree(tmp_path / "train/bee")
    (tmp_path / "train/bee").mkdir()
    error = refusal(tmp_path)
    assert (error.code, "'bee'" in error.what) == ("EMPTY", True)
    shutil.rmtree(tmp_path / "test")
    (tmp_path / "test").mkdir()
    write(tmp_path, train=10)
    assert "test part would have no rows" in refusal(tmp_path).what


@pytest.mark.parametrize("name", ["train/ant/00.png", "test/cow/01.png"])
def test_a_broken_picture_is_named(tmp_path: Path, name: str) -> None:
    write(tmp_path, train=10, test=2)
    (tmp_path / name).write_bytes(b"\x89PNG\r\n\x1a\n")
    error = refusal(tmp_path)
    assert error.location == name
    assert name in error.what


# The real thing ---------------------------------------------------------------------------------


@pytest.mark.slow
def test_real_cifar_pictures_are_read_as_pillow_reads_them(tmp_path: Path) -> None:
    if not CIFAR.exists():
        pytest.skip("needs the CIFAR-10 pictures of the shared folder (CANDOR_SHARED)")
    with tarfile.open(CIFAR) as tar:
        for member in tar:
            if member.isfile() and Path(member.name).stem in {f"{row:04}" for row in range(20)}:
                tar.extract(member, tmp_path / "data", filter="data")
    data = opened(tmp_path / "data")
    assert data.split.n == {"train": 180, "val": 20, "test": 200}
    assert (len(data.class_names), data.class_names[0]) == (10, "airplane")
    assert (data.size, data.pad, data.flip) == ((32, 32), 4, True)
    for name, (image, target) in by_name(data).items():
        with Image.open(tmp_path / "data" / name) as source:
            np.testing.assert_array_equal(image, np.asarray(source).transpose(2, 0, 1))
        assert data.class_names[target] == name.split("/")[1]
