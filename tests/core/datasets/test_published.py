"""CIFAR and SVHN: small files in the published layouts, read and fetched by torchvision itself.

torchvision compares files with published MD5 sums. Tests put the sums of their own small files in
their place, so that the comparison itself runs.
"""

import hashlib
import json
import pickle
import shutil
import struct
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from pathlib import Path
from threading import Thread

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image
from scipy.io import savemat
from torchvision.datasets import CIFAR10, CIFAR100, SVHN

from core.datasets.load import load
from core.datasets.published import PUBLISHED
from core.errors import Refused
from core.inference.config import EvaluationConfig, Preprocessing, WeightsSource
from core.inference.job import open_data
from core.progress import Stage
from core.training.config import from_json as train_config
from core.training.job import load_images
from tests.core.datasets.written import by_name, random_pixels

NAMES = [f"class_{k}" for k in range(10)]
PIXELS = random_pixels(60, height=32, width=32)
LABELS = np.arange(60) // 3 % 10  # no two batches of ten have the same


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CANDOR_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("no_proxy", "*")
    for name in PUBLISHED:
        monkeypatch.setitem(PUBLISHED, name, ([50, 10], (10, NAMES[0], NAMES[-1])))
    return tmp_path / "home"


def md5(path: Path) -> str:
    return hashlib.md5(path.read_bytes()).hexdigest()


# Pickles as Python 2 and NumPy 1 wrote them, opcode by opcode: those of today look different.


def text(value: str) -> bytes:
    return b"U" + bytes([len(value)]) + value.encode()


def number(value: int) -> bytes:
    return b"J" + struct.pack("<i", value)


def items(values: list[bytes]) -> bytes:
    return b"](" + b"".join(values) + b"e"


def array(values: np.ndarray) -> bytes:
    empty = (
        b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85" + text("b") + b"\x87R"
    )
    dtype = b"cnumpy\ndtype\n" + text("u1") + b"K\x00K\x01\x87R"
    dtype += b"(K\x03" + text("|") + b"NNN" + number(-1) + number(-1) + b"K\x00tb"
    shape = number(values.shape[0]) + number(values.shape[1]) + b"\x86"
    body = b"T" + struct.pack("<i", values.size) + values.tobytes()
    return empty + b"(K\x01" + shape + dtype + b"\x89" + body + b"tb"


def old_pickle(**entries: bytes) -> bytes:
    return b"\x80\x02}(" + b"".join(text(k) + value for k, value in entries.items()) + b"u."


def batch(chosen: slice, key: str = "labels") -> bytes:
    pixels, labels = PIXELS[chosen].reshape(-1, 3 * 32 * 32), LABELS[chosen]
    coarse = {"coarse_labels": items([number(0)] * len(labels))} if key != "labels" else {}
    fine = {key: items([number(int(label)) for label in labels])}
    return old_pickle(batch_label=text("one of"), **coarse, **fine, data=array(pixels))


def test_the_old_pickles_are_what_python_reads() -> None:
    found = pickle.loads(batch(slice(0, 3)), encoding="latin1")
    np.testing.assert_array_equal(found["data"].reshape(-1, 3, 32, 32), PIXELS[:3])
    assert found["labels"] == [0, 0, 0]


@pytest.fixture
def cifar(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Five batches of ten training images, and ten test images."""
    root = tmp_path / "cifar"
    folder = root / "cifar-10-batches-py"
    folder.mkdir(parents=True)
    for place in range(6):
        name = f"data_batch_{place + 1}" if place < 5 else "test_batch"
        (folder / name).write_bytes(batch(slice(10 * place, 10 * place + 10)))
    (folder / "batches.meta").write_bytes(old_pickle(label_names=items([*map(text, NAMES)])))
    sums = [[path.name, md5(path)] for path in sorted(folder.iterdir())]
    monkeypatch.setattr(CIFAR10, "train_list", [s for s in sums if s[0].startswith("data")])
    monkeypatch.setattr(CIFAR10, "test_list", [s for s in sums if s[0] == "test_batch"])
    monkeypatch.setattr(CIFAR10, "meta", {**CIFAR10.meta, "md5": sums[0][1]})
    return root


def test_cifar_has_its_pixels_and_labels_and_the_papers_split(cifar: Path) -> None:
    data = load("cifar10", root=cifar, split_seed=0, download=False)
    assert data.split.n == {"train": 45, "val": 5, "test": 10}
    assert data.test.row_ids == tuple(str(row) for row in range(50, 60))
    assert data.class_names == tuple(NAMES)
    assert (data.channels, data.size, data.flip, data.pad) == (3, (32, 32), True, 4)
    found = by_name(data)
    assert len(found) == 60
    for row in range(60):
        np.testing.assert_array_equal(found[str(row)][0], PIXELS[row])
        assert found[str(row)][1] == LABELS[row]


def test_cifar_100_has_its_fine_labels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "cifar-100-python"
    folder.mkdir()
    (folder / "train").write_bytes(batch(slice(0, 50), "fine_labels"))
    (folder / "test").write_bytes(batch(slice(50, 60), "fine_labels"))
    names = old_pickle(
        fine_label_names=items([*map(text, NAMES)]), coarse_label_names=items([text("all")])
    )
    (folder / "meta").write_bytes(names)
    monkeypatch.setattr(CIFAR100, "train_list", [["train", md5(folder / "train")]])
    monkeypatch.setattr(CIFAR100, "test_list", [["test", md5(folder / "test")]])
    monkeypatch.setattr(CIFAR100, "meta", {**CIFAR100.meta, "md5": md5(folder / "meta")})
    data = load("cifar100", root=tmp_path, split_seed=0, download=False)
    assert data.split.n == {"train": 45, "val": 5, "test": 10}
    assert data.class_names == tuple(NAMES)
    assert {name: target for name, (_, target) in by_name(data).items()} == {
        str(row): label for row, label in enumerate(LABELS)
    }


def test_svhn_is_turned_upright_and_ten_means_zero(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sums = {}
    for part, chosen in (("train", slice(0, 50)), ("test", slice(50, 60))):
        path = tmp_path / f"{part}_32x32.mat"
        ones = np.where(LABELS[chosen] == 0, 10, LABELS[chosen]).astype(np.uint8)[:, None]
        savemat(path, {"X": PIXELS[chosen].transpose(2, 3, 1, 0), "y": ones}, do_compression=True)
        sums[part] = [f"http://127.0.0.1:9/{path.name}", path.name, md5(path)]
    monkeypatch.setattr(SVHN, "split_list", sums)
    data = load("svhn", root=tmp_path, split_seed=0, download=False)
    assert data.split.n == {"train": 45, "val": 5, "test": 10}
    assert (data.flip, data.pad, data.class_names) == (False, 4, tuple("0123456789"))
    for name, (image, target) in by_name(data).items():
        np.testing.assert_array_equal(image, PIXELS[int(name)])
        assert target == LABELS[int(name)]


@pytest.fixture
def served(tmp_path: Path) -> Iterator[str]:
    """Address of a server on this machine that hands out the files in `tmp_path`."""
    handler = partial(SimpleHTTPRequestHandler, directory=str(tmp_path))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_it_is_fetched_into_the_run_store_once(
    cifar: Path, home: Path, served: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = cifar.parent / "cifar-10-python.tar.gz"
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(cifar / "cifar-10-batches-py", "cifar-10-batches-py")
    monkeypatch.setattr(CIFAR10, "url", f"{served}/{archive.name}")
    monkeypatch.setattr(CIFAR10, "tgz_md5", md5(archive))
    named = load("cifar10", root=cifar, split_seed=0)
    fetched = load("cifar10", root=None, split_seed=0)
    assert (home / "data" / "cifar-10-batches-py" / "test_batch").exists()
    archive.unlink()
    again = load("cifar10", root=None, split_seed=0)
    assert named.digest == fetched.digest == again.digest


def test_a_page_in_place_of_the_archive_is_refused(
    cifar: Path, home: Path, served: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (cifar.parent / "login.html").write_text("<html>log in to the network</html>")
    monkeypatch.setattr(CIFAR10, "url", f"{served}/login.html")
    with pytest.raises(Refused) as excinfo:
        load("cifar10", root=None, split_seed=0)
    assert excinfo.value.code == "DOWNLOAD"


@pytest.mark.parametrize("name", ["cifar10", "cifar100", "svhn"])
def test_what_cannot_be_fetched_is_refused_with_what_to_do(
    name: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nowhere = "http://127.0.0.1:9/"  # the port of the discard service, where nothing answers
    for kind in (CIFAR10, CIFAR100):
        monkeypatch.setattr(kind, "url", nowhere)
    monkeypatch.setattr(SVHN, "split_list", {"train": [nowhere, "train_32x32.mat", "0"]})
    with pytest.raises(Refused) as excinfo:
        load(name, root=None, split_seed=0)
    assert excinfo.value.code == "DOWNLOAD"
    assert str(home / "data") in excinfo.value.what
    assert "refused" in excinfo.value.what
    assert "data_root" in excinfo.value.remedy


def test_a_changed_file_is_not_opened(cifar: Path) -> None:
    """A pickle that would leave a mark if it were run."""

    class Mark:
        def __reduce__(self) -> tuple[object, tuple[str, str]]:
            return open, (str(cifar / "pwned"), "w")

    (cifar / "cifar-10-batches-py" / "data_batch_3").write_bytes(pickle.dumps(Mark()))
    with pytest.raises(Refused) as excinfo:
        load("cifar10", root=cifar, split_seed=0, download=False)
    assert excinfo.value.code == "CHECKSUM"
    assert "not CIFAR-10's published files: data_batch_3" in excinfo.value.what
    assert "changed_files" in excinfo.value.remedy
    with pytest.raises(Refused, match=r"asks for .*\.open") as excinfo:
        load("cifar10", root=cifar, split_seed=0, download=False, changed_files=True)
    assert (excinfo.value.code, excinfo.value.file) == ("PICKLE_GLOBAL", "data_batch_3")
    assert not (cifar / "pwned").exists()
    (cifar / "cifar-10-batches-py" / "data_batch_2").unlink()
    for by_choice in (False, True):
        with pytest.raises(Refused, match="data_batch_2 is missing"):
            load("cifar10", root=cifar, split_seed=0, download=False, changed_files=by_choice)


def test_changed_files_where_cifar_is_fetched_to_are_named_and_read(
    cifar: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(CIFAR10, "url", "http://127.0.0.1:9/")
    (cifar / "cifar-10-batches-py" / "data_batch_2").write_bytes(batch(slice(0, 10)))
    home.mkdir(exist_ok=True)
    cifar.rename(home / "data")
    with pytest.raises(Refused, match="not CIFAR-10's published files: data_batch_2") as excinfo:
        load("cifar10", root=None, split_seed=0)
    assert excinfo.value.code == "CHECKSUM"
    data = load("cifar10", root=None, split_seed=0, changed_files=True)
    assert [notice.code for notice in data.notices] == ["CHANGED_FILES"]
    (home / "data" / "cifar-10-batches-py" / "data_batch_3").unlink()
    for by_choice in (False, True):  # half unpacked, it is fetched again
        with pytest.raises(Refused, match="could not be fetched"):
            load("cifar10", root=None, split_seed=0, changed_files=by_choice)


def test_batches_that_were_saved_anew_with_keys_of_bytes_are_read(cifar: Path) -> None:
    published = load("cifar10", root=cifar, split_seed=0, download=False)
    for path in (cifar / "cifar-10-batches-py").iterdir():
        path.write_bytes(pickle.dumps(pickle.loads(path.read_bytes(), encoding="bytes")))
    data = load("cifar10", root=cifar, split_seed=0, download=False, changed_files=True)
    assert (data.digest, data.class_names) == (published.digest, published.class_names)


def test_parquet_files_without_names_of_classes_say_so(tmp_path: Path) -> None:
    parquet(tmp_path)
    for path in tmp_path.glob("*/*.parquet"):
        pq.write_table(pq.read_table(path).replace_schema_metadata({}), path)
    with pytest.raises(Refused, match="does not name its classes") as excinfo:
        load("cifar10", root=tmp_path, split_seed=0, download=False)
    assert excinfo.value.what.startswith("train-00000-of-00001.parquet")


def test_changed_files_are_read_by_choice_and_named(cifar: Path) -> None:
    published = load("cifar10", root=cifar, split_seed=0, download=False, changed_files=True)
    folder = cifar / "cifar-10-batches-py"
    other = (folder / "data_batch_2").read_bytes().replace(b"one of", b"another")
    other = other.replace(b"U\x06another", b"U\x07another")
    for root, name in ((cifar, "data_batch_2"), (folder, "test_batch")):
        (folder / name).write_bytes(other)
        data = load("cifar10", root=root, split_seed=0, download=False, changed_files=True)
        assert [notice.code for notice in data.notices] == ["CHANGED_FILES"]
        assert data.notices[0].text.endswith(
            "data_batch_2" if root == cifar else "data_batch_2, test_batch"
        )
        if root == cifar:  # nothing but what a batch is called has changed
            assert (data.digest, data.class_names) == (published.digest, published.class_names)
        else:
            assert data.test.targets.tolist() == LABELS[10:20].tolist()
    assert not published.notices


def test_trainings_and_evaluations_read_them_where_their_config_says_so(cifar: Path) -> None:
    (cifar / "cifar-10-batches-py" / "data_batch_2").write_bytes(batch(slice(0, 10)))
    common = {"data": "cifar10", "data_root": str(cifar)}
    training = train_config({**common, "model": "small_cnn", "loss": {"name": "ce"}})
    weights, shown = WeightsSource("net.pt", "0f"), Preprocessing((32, 32))
    evaluation = EvaluationConfig(
        **common, model="small_cnn", n_outputs=10, channels=3, weights=weights, preprocessing=shown
    )
    for read, config in ((load_images, training), (open_data, evaluation)):
        with pytest.raises(Refused, match="data_batch_2"):
            read(config)
        data = read(replace(config, changed_files=True))
        assert [notice.code for notice in data.notices] == ["CHANGED_FILES"]


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (old_pickle(data=array(PIXELS[:10].reshape(10, -1))), "holds no data and labels"),
        (batch(slice(0, 9)).replace(number(0), number(100), 1), "no image of 32 x 32 pixels for"),
        (old_pickle(labels=items([number(0)]), data=array(PIXELS[0, :2].reshape(1, -1))), "no im"),
        (batch(slice(0, 9)), "has 49 and 10 images"),
    ],
)
def test_a_changed_file_must_be_a_batch(content: bytes, what: str, cifar: Path) -> None:
    (cifar / "cifar-10-batches-py" / "data_batch_1").write_bytes(content)
    with pytest.raises(Refused, match=what) as excinfo:
        load("cifar10", root=cifar, split_seed=0, download=False, changed_files=True)
    assert excinfo.value.code == "DATA_ROOT"


def binary(root: Path) -> None:
    """The same images in rows of a label and 3,072 bytes."""
    rows = np.column_stack([LABELS.astype(np.uint8), PIXELS.reshape(60, -1)])
    for place in range(6):
        name = f"data_batch_{place + 1}.bin" if place < 5 else "test_batch.bin"
        (root / name).write_bytes(rows[10 * place : 10 * place + 10].tobytes())
    (root / "batches.meta.txt").write_text("\n".join(NAMES) + "\n\n")


def parquet(root: Path) -> None:
    """As Hugging Face has it: PNGs and a label, and the names of the classes in the schema."""
    (root / "plain_text").mkdir()
    for part, chosen in (("train", range(50)), ("test", range(50, 60))):
        cells = []
        for row in chosen:
            file = BytesIO()
            Image.fromarray(PIXELS[row].transpose(1, 2, 0)).save(file, "PNG")
            cells.append({"bytes": file.getvalue(), "path": None})
        table = pa.table({"img": cells, "label": LABELS[list(chosen)]})
        features = {"info": {"features": {"label": {"names": NAMES}}}}
        table = table.replace_schema_metadata({"huggingface": json.dumps(features)})
        pq.write_table(table, root / "plain_text" / f"{part}-00000-of-00001.parquet")


@pytest.mark.parametrize("form", [binary, parquet, "inside", "renamed"])
def test_other_forms_hold_the_same_images(
    form: Callable[[Path], None] | str, cifar: Path, tmp_path: Path
) -> None:
    root = tmp_path / "form"
    root.mkdir()
    if isinstance(form, str):
        root = cifar / "cifar-10-batches-py"
        if form == "renamed":
            root = Path(shutil.copytree(root, tmp_path / "mine"))
    else:
        form(root)
    data = load("cifar10", root=root, split_seed=0, download=False)
    usual = load("cifar10", root=cifar, split_seed=0, download=False)
    assert list(data.class_names) == NAMES
    assert data.split.digest == usual.split.digest
    found, expected = by_name(data), by_name(usual)
    assert found.keys() == expected.keys()
    for row, (pixels, label) in expected.items():
        np.testing.assert_array_equal(found[row][0], pixels)
        assert found[row][1] == label


@pytest.mark.parametrize(
    ("file", "content", "what"),
    [
        ("data_batch_2.bin", b"x" * 3074, "3074 bytes, which are not rows of 3073"),
        ("test_batch.bin", b"\xff" * 3073, "labels beyond its 10 classes"),
    ],
)
def test_a_binary_form_that_is_none_is_refused(
    file: str, content: bytes, what: str, tmp_path: Path
) -> None:
    binary(tmp_path)
    (tmp_path / file).write_bytes(content)
    with pytest.raises(Refused, match=what):
        load("cifar10", root=tmp_path, split_seed=0, download=False)


@pytest.mark.parametrize("form", [binary, parquet])
@pytest.mark.parametrize(
    "published",
    [
        ([50, 11], (10, NAMES[0], NAMES[-1])),
        ([50, 10], (100, NAMES[0], NAMES[-1])),
        ([50, 10], (10, "airplane", "truck")),
    ],
)
def test_other_images_of_32_pixels_are_no_cifar(
    form: Callable[[Path], None], published: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    form(tmp_path)
    monkeypatch.setitem(PUBLISHED, "cifar10", published)
    found = "has 50 and 10 images of 10 classes, class_0 to class_9, which are not CIFAR-10"
    with pytest.raises(Refused, match=found):
        load("cifar10", root=tmp_path, split_seed=0, download=False)


@pytest.mark.parametrize("suffix", ["png", "jpg"])
def test_pictures_by_class_are_cifar_and_jpegs_are_called_so(suffix: str, tmp_path: Path) -> None:
    for row, label in enumerate(LABELS):
        folder = tmp_path / ("train" if row < 50 else "test") / NAMES[label]
        folder.mkdir(parents=True, exist_ok=True)
        picture = Image.fromarray(PIXELS[row].transpose(1, 2, 0))
        picture.save(folder / f"{row}.{suffix}", quality=95)
    for k in range(10):  # the ten test images have four classes
        (tmp_path / "test" / NAMES[k]).mkdir(exist_ok=True)
    data = load("cifar10", root=tmp_path, split_seed=0, download=False)
    assert (data.name, data.split.n) == ("cifar10", {"train": 45, "val": 5, "test": 10})
    assert (data.class_names, data.flip, data.pad) == (tuple(NAMES), True, 4)
    codes = {notice.code for notice in data.notices}
    assert codes == ({"REENCODED"} if suffix == "jpg" else set())
    found = by_name(data)
    assert len(found) == 60
    for name, (pixels, label) in found.items():
        row = int(Path(name).stem)
        assert label == LABELS[row]
        if suffix == "png":
            np.testing.assert_array_equal(pixels, PIXELS[row])
    (tmp_path / "test" / NAMES[0] / "more.png").write_bytes(
        next(tmp_path.glob(f"train/*/*.{suffix}")).read_bytes()
    )
    with pytest.raises(Refused, match="50 and 11 images of 10 classes"):
        load("cifar10", root=tmp_path, split_seed=0, download=False)


@pytest.mark.parametrize("side", [32, 31])
def test_pictures_by_class_are_looked_at_in_all_parts(side: int, tmp_path: Path) -> None:
    for row, label in enumerate(LABELS):
        for part in ("train", "test"):
            (tmp_path / part / NAMES[label]).mkdir(parents=True, exist_ok=True)
        part, suffix = ("train", "jpg") if row < 50 else ("test", "bmp")
        picture = Image.fromarray(PIXELS[row, :, :side].transpose(1, 2, 0))
        picture.save(tmp_path / part / NAMES[label] / f"{row}.{suffix}")
    if side == 32:
        data = load("cifar10", root=tmp_path, split_seed=0, download=False)
        assert "REENCODED" in {notice.code for notice in data.notices}
    else:
        with pytest.raises(Refused, match="has 32 x 31 pixels, not 32 x 32"):
            load("cifar10", root=tmp_path, split_seed=0, download=False, size=(32, 32))


def test_pictures_that_are_not_needed_have_only_their_heads_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for row, label in enumerate(LABELS):
        folder = tmp_path / ("train" if row < 50 else "test") / NAMES[label]
        folder.mkdir(parents=True, exist_ok=True)
        Image.fromarray(PIXELS[row].transpose(1, 2, 0)).save(folder / f"{row}.png")
    for name in NAMES:
        (tmp_path / "test" / name).mkdir(exist_ok=True)
    opened: list[Path] = []
    real = Image.open

    def counted(file: Path, **options: object) -> Image.Image:
        opened.append(file)
        return real(file, **options)

    monkeypatch.setattr(Image, "open", counted)
    shares: list[float] = []
    monkeypatch.setattr(Stage, "listener", lambda share, _words: shares.append(share))
    data = load("cifar10", root=tmp_path, split_seed=0, download=False, sparing=True)
    assert data.size == (32, 32)
    assert len(opened) == 61  # the first is decoded too
    assert shares[-1] == pytest.approx(1.0)


@pytest.mark.parametrize("sparing", [False, True])
def test_the_first_picture_of_another_size_is_named(sparing: bool, tmp_path: Path) -> None:
    for row, label in enumerate(LABELS):
        for part in ("train", "test"):
            (tmp_path / part / NAMES[label]).mkdir(parents=True, exist_ok=True)
        pixels = PIXELS[row, :, :31] if row == 9 else PIXELS[row]
        Image.fromarray(pixels.transpose(1, 2, 0)).save(
            tmp_path / ("train" if row < 50 else "test") / NAMES[label] / f"{row}.png"
        )
    odd = f"train/{NAMES[LABELS[9]]}/9.png has 32 x 31 pixels, not 32 x 32"
    with pytest.raises(Refused, match=odd):
        load("cifar10", root=tmp_path, split_seed=0, download=False, sparing=sparing)


@pytest.mark.parametrize("label", [None, 0.5])
def test_a_label_that_is_no_whole_number_is_refused(label: object, tmp_path: Path) -> None:
    parquet(tmp_path)
    file = next((tmp_path / "plain_text").glob("test-*"))
    table = pq.read_table(file)
    cells = pa.array([label, *([0] * 9)], pa.float64() if label else pa.int64())
    pq.write_table(table.set_column(1, "label", cells), file)
    with pytest.raises(Refused, match="holds no images with labels"):
        load("cifar10", root=tmp_path, split_seed=0, download=False)


def test_the_binary_form_of_cifar_100_has_its_fine_labels(tmp_path: Path) -> None:
    rows = np.column_stack([LABELS // 5, LABELS, PIXELS.reshape(60, -1)]).astype(np.uint8)
    (tmp_path / "train.bin").write_bytes(rows[:50].tobytes())
    (tmp_path / "test.bin").write_bytes(rows[50:].tobytes())
    (tmp_path / "fine_label_names.txt").write_text("\n".join(NAMES))
    data = load("cifar100", root=tmp_path, split_seed=0, download=False)
    assert data.test.targets.tolist() == LABELS[50:].tolist()


def test_a_named_folder_that_is_missing_is_not_filled(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="There is no folder") as excinfo:
        load("cifar10", root=tmp_path / "typo", split_seed=0)
    assert excinfo.value.code == "DATA_ROOT"
    assert not (tmp_path / "typo").exists()
