"""The table of readers: what each kind may take, and that no kind is forgotten."""

import subprocess
import sys
from pathlib import Path

import pytest

from core.readers.sandbox import child_process, readers
from core.readers.sandbox.readers import READERS

GIB = 2**30


def test_each_reader_is_listed_under_its_own_name():
    made = {item for item in vars(readers).values() if isinstance(item, readers.Reader)}
    assert set(READERS.values()) == made
    assert {name: reader.name for name, reader in READERS.items()} == {n: n for n in READERS}


@pytest.mark.parametrize(
    ("name", "plain", "packed"),
    [
        ("predictions", GIB + 60, 2 * GIB + 160),
        ("history", GIB + 60, 2 * GIB + 160),
        ("columns", GIB + 60, 2 * GIB + 160),
        ("boxes", GIB + 60, 2 * GIB + 160),
        ("weights", GIB + 60, GIB + 60),
        ("film", 3 * GIB + 60, 3 * GIB + 60),
    ],
)
def test_memory_follows_the_files(name: str, plain: int, packed: int, tmp_path: Path) -> None:
    unpacked, grows = (b"a,", b"PATIENT,", b"ARTICLE,"), (b"PK", b"\x1f\x8b", b"PAR1", b"ARROW1")
    for head in (*unpacked, *grows, b"\xff" * 4):
        memory_bytes = plain if head in unpacked else packed
        (tmp_path / "file").write_bytes(head.ljust(20, b"\0"))
        with (tmp_path / "file").open("rb", buffering=0) as file:
            item = child_process.OpenFile(file, "file")
            assert child_process.memory_for(READERS[name], {"file": item}) == memory_bytes
            both = child_process.memory_for(READERS[name], {"file": item, "labels": item})
            assert both == 2 * memory_bytes - READERS[name].base_bytes


def test_many_shards_are_unpacked_one_at_a_time(tmp_path: Path) -> None:
    (tmp_path / "shard").write_bytes(b"PAR1" + bytes(16))
    with (tmp_path / "shard").open("rb", buffering=0) as file:
        item = child_process.OpenFile(file, "shard")
        shards = {f"shard {i}": item for i in range(9)}
        assert child_process.memory_for(READERS["predictions"], shards) == 2 * GIB + 9 * 160


def test_a_film_may_take_less_time_than_a_table():
    times = {name: reader.timeout_s for name, reader in READERS.items()}
    assert times.pop("film") == 60.0
    assert set(times.values()) == {300.0}


@pytest.mark.parametrize("name", list(READERS))
def test_only_films_bring_the_packages_of_films(name: str) -> None:
    code = (
        "import sys; from core.readers.sandbox import child; child.import_early(sys.argv[1]);"
        "print([m for m in ('pydicom', 'PIL', 'imagecodecs') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, name],
        cwd=child_process.ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.strip() == str(["pydicom", "PIL", "imagecodecs"] if name == "film" else [])
