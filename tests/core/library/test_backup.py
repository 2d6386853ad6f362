"""A home as one file and back: whole, checked, while others write, and over nothing."""

import errno
import fcntl
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
from contextlib import nullcontext
from pathlib import Path

import pytest

from core.__main__ import main
from core.errors import AuditError, LibraryError, UsageError
from core.jobs.local import LocalJobs
from core.library import SAMPLES, Library
from core.library import backup as library_backup
from core.library.backup import backup, restore
from tests.no_files import no_file_left

ROOT = Path(__file__).parents[3]
STORED = ROOT / "tests/stored/dde34cf/home"


def files(home):
    """Return what a home holds, but for tables."""
    return {
        path.relative_to(home).as_posix(): path.read_bytes()
        for path in home.rglob("*")
        if path.is_file() and path.suffix != ".sqlite"
    }


def runs(library):
    rows = [row for row in library.rows() if row.kind != "sample"]
    return {row.id: {split: library.load(row.id, split).digest for split in row.splits}
            for row in rows}  # fmt: skip


def refused(act, *arguments):
    with pytest.raises(AuditError) as caught:
        act(*arguments)
    return caught.value.code


@pytest.fixture
def old(tmp_path):
    """Return a copy of a home that an earlier version wrote."""
    shutil.copytree(STORED, tmp_path / "old")
    return tmp_path / "old"


@pytest.fixture
def new(tmp_path):
    return tmp_path / "new" / "home"


@pytest.fixture
def archive(old, tmp_path):
    backup(old, tmp_path / "kept.tar")
    return tmp_path / "kept.tar"


def test_an_older_home_is_backed_up_restored_and_opened(old, new, tmp_path, monkeypatch, capsys):
    for home, verb in ((old, "backup"), (new, "restore")):
        monkeypatch.setenv("CANDOR_HOME", str(home))
        assert main([verb, str(tmp_path / "kept.tar")]) == 0
    written, restored = capsys.readouterr().out.splitlines()
    n_files = len(files(old)) + 2  # and two tables
    assert written.startswith(f"kept.tar: {n_files} files, ")
    assert restored.startswith(f"restored {n_files} files, ")
    assert files(new) == files(old)
    assert runs(Library(new, SAMPLES)) == runs(Library(old, SAMPLES))
    assert len(runs(Library(new, SAMPLES))) == 9
    assert Library(new, SAMPLES).trash() == Library(old, SAMPLES).trash()
    assert LocalJobs(new).list() == LocalJobs(old).list()
    assert len(LocalJobs(new).list()) == 4


def test_pictures_deep_in_a_job_come_back_with_a_backup(old, new, tmp_path):
    deep = "/".join(["jobs", "a" * 12, "pictures", "z" * 200, *("f" * 200 for _ in range(8))])
    (old / deep).parent.mkdir(parents=True)
    (old / deep).write_text("pixels")
    assert backup(old, tmp_path / "kept.tar").left_out == {}
    restore(tmp_path / "kept.tar", new)
    assert (new / deep).read_text() == "pixels"


def test_what_cannot_be_restored_is_left_out_and_named(old, new, tmp_path):
    """A pipe would be waited for; a backslash is a folder on other systems."""
    os.mkfifo(old / "pipe")
    (old / "a\\b").write_text("")
    written = backup(old, tmp_path / "kept.tar")
    assert written.left_out == {
        "pipe": "is no file; nothing can be read from it",
        "a\\b": "leads out of the home, and could not be restored; rename it",
    }
    restore(tmp_path / "kept.tar", new)
    assert files(new) == files(STORED)


def test_a_folder_that_cannot_be_listed_is_not_left_out_in_silence(old, tmp_path, monkeypatch):
    scandir = os.scandir

    def starved(path):
        with no_file_left() if path == str(old / "runs") else nullcontext():
            return scandir(path)

    monkeypatch.setattr(os, "scandir", starved)
    with pytest.raises(LibraryError, match=r"^LIBRARY_WRITE: runs cannot be read \(Too many open"):
        backup(old, tmp_path / "kept.tar")
    assert not (tmp_path / "kept.tar").exists()


def test_a_folder_that_goes_meanwhile_ends_no_backup(old, new, tmp_path, monkeypatch):
    scandir, gone = os.scandir, old / "gone"
    gone.mkdir()

    def late(path):
        if path == str(gone):
            gone.rmdir()
        return scandir(path)

    monkeypatch.setattr(os, "scandir", late)
    backup(old, tmp_path / "kept.tar")
    restore(tmp_path / "kept.tar", new)
    assert files(new) == files(STORED)


def test_a_backup_and_what_is_restored_are_private(archive, new):
    restore(archive, new)
    modes = {path.stat().st_mode & 0o777 for path in new.rglob("*")}
    assert (archive.stat().st_mode & 0o777, modes) == (0o600, {0o600, 0o700})


def test_caches_unfinished_folders_and_links_are_left_out(old, new, tmp_path, monkeypatch, capsys):
    for name in ("cache/a.npy", "runs/.half.part/manifest.json", "runs/.b.part"):
        (old / name).parent.mkdir(exist_ok=True)
        (old / name).write_text("")
    (old / "data").symlink_to(tmp_path)
    monkeypatch.setenv("CANDOR_HOME", str(old))
    assert main(["backup", str(tmp_path / "kept.tar")]) == 0
    assert "left out: data is a link" in capsys.readouterr().out
    restore(tmp_path / "kept.tar", new)
    assert files(new) == files(STORED)
    assert not (new / "data").exists()
    assert not list(old.glob(".backup*"))


BUSY = """
import sys
from pathlib import Path
from core.library import Library
from tests.core.library.builders import SOURCE, headline, small
library = Library(Path(sys.argv[1]), Path("none"))
for seed in range(10_000):
    kept = library.keep(
        f"run {seed}", {"test": small(seed)}, source=SOURCE, summary={"test": headline(0.05)}
    )
    print(kept.id, flush=True)
    library.rename(kept.id, f"again {seed}")
    if seed % 3:
        library.delete(kept.id)
    if seed % 3 == 1:
        library.restore(kept.id)
"""


@pytest.mark.nightly
def test_each_backup_made_while_another_process_writes_is_whole(home, tmp_path):
    child = subprocess.Popen(
        [sys.executable, "-c", BUSY, str(home)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    try:
        acknowledged = []
        for number in range(4):
            acknowledged += [child.stdout.readline().strip() for _ in range(5)]
            backup(home, tmp_path / f"{number}.tar")
            restore(tmp_path / f"{number}.tar", tmp_path / f"{number}")
            library = Library(tmp_path / f"{number}", tmp_path / "none")
            assert library.damaged() == []
            there = [*runs(library), *(run.id for run in library.trash())]
            assert len(there) == len(set(there))
            assert set(acknowledged) <= set(there)
    finally:
        child.kill()
        child.communicate()


def test_a_second_backup_at_once_is_refused_and_leaves_the_first_alone(old, tmp_path, monkeypatch):
    """Its first act would be to remove the snapshot that the first one is still reading."""
    codes = []
    write = library_backup._write_archive

    def meanwhile(file, snapshot, sizes):
        codes.append(refused(backup, old, tmp_path / "second.tar"))
        assert snapshot.is_dir()
        return write(file, snapshot, sizes)

    monkeypatch.setattr(library_backup, "_write_archive", meanwhile)
    backup(old, tmp_path / "first.tar")
    assert codes == ["RUNNING"]
    monkeypatch.undo()
    restore(tmp_path / "first.tar", tmp_path / "copy")
    assert files(tmp_path / "copy") == files(STORED)
    backup(old, tmp_path / "second.tar")  # once the first has ended
    assert not list(old.glob(".*"))
    (old / library_backup.LOCK).touch()  # what a killed one left holds nobody up
    backup(old, tmp_path / "third.tar")
    assert not list(old.glob(".*"))


def test_a_lock_that_was_removed_meanwhile_is_nobodys(tmp_path):
    """Whoever opened the file before it was removed would else hold a lock beside the next."""
    path = tmp_path / "lock"
    with path.open("ab") as file:
        path.unlink()
        assert not library_backup._locked_alone(file, path)
        path.touch()
        assert not library_backup._locked_alone(file, path)
    with path.open("ab") as file:
        assert library_backup._locked_alone(file, path)


@pytest.mark.parametrize("code", ["EPERM", "EOPNOTSUPP", "EMLINK"])
def test_a_file_system_without_hard_links_is_backed_up_by_copies(code, old, tmp_path, monkeypatch):
    def fails_with(number):
        def hardlink_to(self, target):
            raise OSError(number, "no link")

        monkeypatch.setattr(Path, "hardlink_to", hardlink_to)

    fails_with(getattr(errno, code))
    backup(old, tmp_path / "kept.tar")
    restore(tmp_path / "kept.tar", tmp_path / "copy")
    assert files(tmp_path / "copy") == files(STORED)
    fails_with(errno.EIO)
    assert refused(backup, old, tmp_path / "more.tar") == "LIBRARY_WRITE"
    assert not list(old.glob(".*"))


def test_nothing_is_overwritten(old, archive, new):
    assert refused(backup, old, archive) == "OUTPUT"
    (new / "runs").mkdir(parents=True)
    assert refused(restore, archive, new) == "OUTPUT"
    assert [path.name for path in new.rglob("*")] == ["runs"]
    (new / ".restore.dead.part").mkdir()  # what a killed one left, as it moved in
    with pytest.raises(UsageError, match="holds half of a backup"):
        restore(archive, new)
    (new / "runs").rmdir()
    restore(archive, new)
    assert files(new) == files(STORED)


def test_a_second_restore_at_once_is_refused_and_the_first_is_whole(archive, new, monkeypatch):
    """They would move each other's files away, and the last one would end well with the rest."""
    codes = []
    move = library_backup._move_in

    def meanwhile(part, home):
        monkeypatch.undo()
        codes.append(refused(restore, archive, home))
        move(part, home)

    monkeypatch.setattr(library_backup, "_move_in", meanwhile)
    restore(archive, new)
    assert codes == ["RUNNING"]
    assert files(new) == files(STORED)
    assert refused(restore, archive, new) == "OUTPUT"
    assert not list(new.glob(".*"))


def test_a_server_that_begins_to_use_a_home_meanwhile_loses_nothing(archive, new, monkeypatch):
    extract = library_backup._extract

    def meanwhile(*given):
        (new / "jobs.sqlite").write_bytes(b"a server's")
        extract(*given)

    monkeypatch.setattr(library_backup, "_extract", meanwhile)
    assert refused(restore, archive, new) == "OUTPUT"
    assert [(path.name, path.read_bytes()) for path in new.iterdir()] == [
        ("jobs.sqlite", b"a server's")
    ]


def test_there_is_no_backup_of_nothing(tmp_path):
    assert refused(backup, tmp_path / "none", tmp_path / "kept.tar") == "FILE"


def test_a_table_that_is_none_is_named_and_no_file_is_left(old, tmp_path):
    (old / "jobs.sqlite").write_bytes(b"no table" * 1000)
    with pytest.raises(LibraryError, match=r"jobs\.sqlite") as caught:
        backup(old, tmp_path / "kept.tar")
    assert caught.value.code == "DAMAGED"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["old"]
    assert not list(old.glob(".*"))


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 0.98])
def test_a_backup_that_was_cut_short_restores_nothing(share, archive, new):
    data = archive.read_bytes()
    archive.write_bytes(data[: int(share * len(data))])
    assert refused(restore, archive, new) == "BACKUP"
    assert not new.exists()


@pytest.mark.parametrize("n_bytes", [1, 512, 1024, 4096, 9728])
def test_a_backup_that_lacks_its_end_or_has_more_is_refused(n_bytes, archive, new):
    data = archive.read_bytes()
    for other in (data[:-n_bytes], data + bytes(n_bytes)):
        archive.write_bytes(other)
        assert refused(restore, archive, new) == "BACKUP"
        assert not new.exists()
    archive.write_bytes(data)
    restore(archive, new)


@pytest.mark.parametrize("place", [0, -1])
def test_a_member_with_holes_is_refused_before_anything_is_read(place, archive, new, monkeypatch):
    """A few bytes that would be a million million on the disk, or in memory."""

    def hollow(members):
        member, data = members[place]
        holes = {"GNU.sparse.map": f"0,{len(data)}", "GNU.sparse.size": str(10**12)}
        member.pax_headers = holes
        return members

    rewritten(archive, hollow)
    monkeypatch.setattr("core.library.backup._contents", None)
    assert refused(restore, archive, new) == "BACKUP"


def test_files_of_other_sizes_than_listed_are_refused_before_any_is_written(
    archive, new, monkeypatch
):
    def larger(members):
        (first, data), *others = members
        return [(first, data + bytes(10**6)), *others]

    rewritten(archive, larger)
    monkeypatch.setattr("core.library.backup._extract", None)
    assert refused(restore, archive, new) == "BACKUP"


def test_what_a_killed_backup_left_goes_with_the_next_and_one_at_work_stays(old, tmp_path):
    script = (
        "import os, signal, sys; from pathlib import Path; from core.library import backup as b\n"
        "b._write_archive = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
        "b.backup(Path(sys.argv[1]), Path(sys.argv[2]))"
    )
    killed = subprocess.run([sys.executable, "-c", script, old, tmp_path / "a.tar"], cwd=ROOT)
    assert killed.returncode == -signal.SIGKILL
    (left,) = tmp_path.glob(".*.part")
    at_work = left.with_name(left.name.replace(".part", "b.part"))
    with at_work.open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        backup(old, tmp_path / "b.tar")
    assert list(tmp_path.glob(".*.part")) == [at_work]


def test_one_flipped_bit_in_any_file_is_noticed(archive, new):
    data = bytearray(archive.read_bytes())
    with tarfile.open(archive) as tar:
        members = [member for member in tar if member.size]
    for member in members[:: len(members) // 8]:
        data[member.offset_data] ^= 1
        archive.write_bytes(data)
        assert refused(restore, archive, new) == "BACKUP", member.name
        data[member.offset_data] ^= 1
        assert not new.exists()


def rewritten(archive, change):
    """Write a backup again, with other members."""
    with tarfile.open(archive) as tar:
        members = [(member, tar.extractfile(member).read()) for member in tar]
    with tarfile.open(archive, "w") as tar:
        for member, data in change(members):
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))


def one_more(members):
    return [*members, (tarfile.TarInfo("home/more"), b"")]


def one_less(members):
    return members[1:]


def one_twice(members):
    return [members[0], *members]


def a_link(members):
    link = tarfile.TarInfo("home/runs/link")
    link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
    return [*members, (link, b"")]


def placed_at(path):
    def change(members):
        (first, data), *others, (last, text) = members
        contents = json.loads(text)
        contents["files"][path] = contents["files"].pop(first.name.removeprefix("home/"))
        first.name = f"home/{path}"
        return [(first, data), *others, (last, json.dumps(contents).encode())]

    return change


def inside_a_file(members):
    return placed_at(f"{members[1][0].name.removeprefix('home/')}/x")(members)


def headed(**headers):
    """Give a file headers that take precedence over those of its block."""

    def change(members):
        (first, data), *others = members
        first.pax_headers = headers
        return [(first, data), *others]

    return change


def of_format_2(members):
    *others, (last, text) = members
    return [*others, (last, json.dumps(json.loads(text) | {"format": 2}).encode())]


@pytest.mark.parametrize(
    "change",
    [
        one_more,
        one_less,
        one_twice,
        a_link,
        placed_at("../out"),
        placed_at("runs/../../out"),
        placed_at("/tmp/out"),
        placed_at("a\\b"),
        placed_at("C:/out"),
        placed_at("n" * 300),
        placed_at("d/" * 2_000 + "x"),
        placed_at("\u00e9" * 200),
        inside_a_file,
        headed(mtime="nan"),
        headed(mtime="inf"),
        headed(**{"GNU.sparse.map": "0,a", "GNU.sparse.size": "5"}),
        of_format_2,
    ],
)
def test_a_file_that_is_not_what_backup_writes_restores_nothing(change, archive, new):
    rewritten(archive, lambda members: members)
    restore(archive, new.with_name("sound"))  # so it is the change that is refused
    rewritten(archive, change)
    assert refused(restore, archive, new) == "BACKUP"
    assert not new.exists()
    assert [path.name for path in new.parent.iterdir()] == ["sound"]


def header(kind, size):
    member = tarfile.TarInfo("home/x")
    member.type, member.size = kind, size
    return member.tobuf()


@pytest.mark.parametrize(
    "front",
    [header(tarfile.XHDTYPE, 0) * 5_000, header(tarfile.GNUTYPE_LONGNAME, 2**60)],
    ids=["headers of headers", "a name of an exabyte"],
)
def test_headers_that_are_never_written_are_no_backup(front, archive, new):
    archive.write_bytes(front + archive.read_bytes())
    assert refused(restore, archive, new) == "BACKUP"
    assert not new.exists()


FULL_DISK = """
import resource, signal, sys
from pathlib import Path
from core.errors import AuditError
from core.library.backup import backup, restore
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[4]),) * 2)
act = {"backup": backup, "restore": restore}[sys.argv[1]]
try:
    act(Path(sys.argv[2]), Path(sys.argv[3]))
except AuditError as error:
    print(error.code, error.remedy)
"""


@pytest.mark.parametrize(
    ("act", "room", "code"), [("backup", 65_536, "OUTPUT"), ("restore", 16_384, "LIBRARY_WRITE")]
)
def test_a_full_disk_leaves_nothing_behind(act, room, code, old, archive, new, tmp_path):
    out = tmp_path / "more.tar" if act == "backup" else new
    words = [act, str(old if act == "backup" else archive), str(out), str(room)]
    ended = subprocess.run(
        [sys.executable, "-c", FULL_DISK, *words], cwd=ROOT, capture_output=True, text=True
    )
    assert ended.stdout.startswith(f"{code} free some space"), ended.stderr
    assert sorted(p.name for p in tmp_path.iterdir() if p != new.parent) == ["kept.tar", "old"]
    assert not list(new.parent.glob("*"))
    assert not list(old.glob(".*"))
