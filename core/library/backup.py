"""A home as one file, and back: what a moment holds, with a digest of every file.

A backup is a tar of `home/...` and, last, `backup.json` with the size and SHA-256 of each file: a
backup that was cut short has no list, and one that changed disagrees with it. It may be made while
the app runs. For a moment all tables are locked; meanwhile they are copied by SQLite and every
other file is linked, which copies nothing. What is replaced in one step later keeps its link, and
of what grows only what was there by then is read. Where a file system has no hard links files are
copied instead, while the tables are locked. One backup of a home is made at a time. Standard
library and our files only.
"""

import errno
import hashlib
import json
import os
import secrets
import shutil
import sqlite3
import stat
import tarfile
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import IO, Final

from core import codec, defaults
from core.disk import PART, JsonError, make_private, parse_json, sync, writing
from core.errors import LibraryError, Refused, UsageError
from core.library import logins

FORMAT: Final = 1
LIST: Final = "backup.json"
ROOT: Final = "home"  # folder of the archive
TABLE: Final = ".sqlite"
BESIDE_TABLES: Final = ("-wal", "-shm", "-journal")
LEFT_OUT: Final = ("cache", logins.FOLDER)  # computed again when needed; good for this server alone
UNFINISHED: Final = ".candor-backup."  # how a backup that is being written begins
LOCK: Final = f".backup.lock{PART}"
NO_LINKS: Final = {errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EXDEV}
BUSY_S: Final = 30.0
MAX_LIST_BYTES: Final = 2**30
MAX_PATH: Final = 2_500  # bytes of a name below the home: a job's pictures lie in up to 8 folders
MAX_NAME: Final = 255  # between two of its slashes
CHUNK: Final = 2**20


@dataclass(frozen=True)
class StoredFile:
    """Size in bytes and SHA-256 of a file."""

    size: int
    sha256: str


@dataclass(frozen=True)
class BackupList:
    """What a backup says of itself."""

    format: int
    version: str  # of the program that wrote it
    created: str  # UTC, ISO 8601
    files: dict[str, StoredFile]  # by path below the home, with `/`

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.size for file in self.files.values())


@dataclass(frozen=True)
class BackedUp:
    """A backup that was written, and what it leaves out: why, by path below the home."""

    contents: BackupList
    left_out: dict[str, str]


class _Hashed:
    """A file that is read to a size and hashed as it is."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.digest = hashlib.sha256()

    def read(self, size: int) -> bytes:
        data = self._file.read(size)
        self.digest.update(data)
        return data


# Backup -----------------------------------------------------------------------------------------


def backup(home: Path, out: Path) -> BackedUp:
    """Write a home to a file that does not exist yet; other processes may go on meanwhile.

    `out`: appears whole or not at all, readable by this user alone.

    Raises
    ------
    UsageError
        FILE: there is no home. OUTPUT: the file exists, or cannot be written.
    LibraryError
        DAMAGED: a table is no SQLite database. LIBRARY_WRITE: the home cannot be written, or a
        folder of it not be read.
        RUNNING: another backup of it is being made.
    """
    if not home.is_dir():
        raise UsageError("FILE", f"There is no folder {home.name}", "set CANDOR_HOME to the home")
    if out.exists():
        raise UsageError("OUTPUT", f"{out.name} exists", "name a file that does not exist yet")
    with _alone(home), _snapshot(home) as (snapshot, sizes, left_out):
        part = out.with_name(f"{UNFINISHED}{secrets.token_hex(4)}{PART}")
        try:
            # What backups left that were killed: nobody has locked it
            for left in out.parent.glob(f"{UNFINISHED}*{PART}"):
                with suppress(OSError), left.open("rb") as rest:
                    if _locked_alone(rest, left):
                        left.unlink()
            with part.open("xb") as file:
                part.chmod(0o600)
                _locked_alone(file, part)  # until it is whole, so that nobody takes it for a rest
                contents = _write_archive(file, snapshot, sizes)
                file.flush()
                os.fsync(file.fileno())
            part.rename(out)
            sync(out.parent)
        except OSError as error:
            what = f"{out.name} cannot be written ({error.strerror or error})"
            raise UsageError("OUTPUT", what, "free some space, or name another file") from error
        finally:
            part.unlink(missing_ok=True)
    return BackedUp(contents, left_out)


@contextmanager
def _alone(home: Path) -> Iterator[None]:
    """Keep a second one out, whose first act would be to remove what this one has copied so far."""
    path = home / LOCK
    with ExitStack() as opened:
        with writing():
            file = opened.enter_context(path.open("ab"))
        if not _locked_alone(file, path):
            what = f"{home.name} is being backed up or restored already"
            raise LibraryError("RUNNING", what, "wait until it has ended")
        try:
            yield
        finally:
            path.unlink(missing_ok=True)


def _locked_alone(file: IO[bytes], path: Path) -> bool:
    """Whether the lock is ours, until the file is closed or the process ends."""
    try:
        import fcntl  # not on Windows, where nothing locks
    except ImportError:
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except (BlockingIOError, FileNotFoundError):  # whoever had it has just removed it
        return False


@contextmanager
def _snapshot(home: Path) -> Iterator[tuple[Path, dict[str, int], dict[str, str]]]:
    """Yield a folder of links to what a home holds at one moment, sizes, and what is left out."""
    folder = home / f".backup.{secrets.token_hex(4)}{PART}"
    try:
        with writing():
            for left in home.glob(f".backup.*{PART}"):
                shutil.rmtree(left, ignore_errors=True)
            folder.mkdir(mode=0o700)
            taken = _take(home, folder)
        yield folder, *taken
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _take(home: Path, folder: Path) -> tuple[dict[str, int], dict[str, str]]:
    """Link every file and copy every table while nobody may change a table."""
    sizes: dict[str, int] = {}
    left_out: dict[str, str] = {}
    with ExitStack() as locks:
        for table in sorted(home.glob(f"*{TABLE}")):
            locks.enter_context(_locked(table))
        for path in _files(home):
            name = path.relative_to(home).as_posix()
            target = folder / name
            with suppress(FileNotFoundError):  # a training removes its older checkpoints
                if reason := _left_out(name, path.lstat().st_mode):
                    left_out[name] = reason
                    continue
                target.parent.mkdir(parents=True, exist_ok=True)
                if path.suffix == TABLE:
                    with (
                        _database(path),
                        closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as source,
                        closing(sqlite3.connect(target)) as copy,
                    ):
                        source.backup(copy)
                else:
                    _link_or_copy(path, target)
                sizes[name] = target.stat().st_size
    return sizes, left_out


def _left_out(name: str, mode: int) -> str:
    """Return why a backup does not hold a path of this mode; empty where it does."""
    if stat.S_ISLNK(mode):
        return "is a link; back up what it leads to by itself"
    if not stat.S_ISREG(mode):
        return "is no file; nothing can be read from it"
    fault = _fault(name)
    return f"{fault}, and could not be restored; rename it" if fault else ""


def _link_or_copy(path: Path, target: Path) -> None:
    """Link a file, or copy it where the file system or its limits allow no link."""
    try:
        target.hardlink_to(path)
    except OSError as error:
        if error.errno not in NO_LINKS:
            raise
        shutil.copy2(path, target)


def _files(home: Path) -> list[Path]:
    """Return what is kept, sorted: checkpoints of a job come before the events they go on from."""
    paths: list[Path] = []
    for folder, folders, names in os.walk(home, onerror=_refuse_unlisted):
        here = Path(folder)
        folders[:] = [name for name in folders if not _unfinished(name)]
        if here == home:
            folders[:] = [name for name in folders if name not in LEFT_OUT]
        linked = [name for name in folders if (here / name).is_symlink()]
        paths.extend(here / name for name in (*names, *linked) if not _unfinished(name))
    return sorted(path for path in paths if not path.name.endswith(BESIDE_TABLES))


def _refuse_unlisted(error: OSError) -> None:
    """Refuse a folder that cannot be listed, but for one that was removed meanwhile."""
    if not isinstance(error, FileNotFoundError):
        what = f"{Path(error.filename).name} cannot be read ({error.strerror}); no backup was made"
        remedy = "give yourself the right to read it, or try again"
        raise LibraryError("LIBRARY_WRITE", what, remedy) from error


def _unfinished(name: str) -> bool:
    return name.startswith(".") and name.endswith(PART)


@contextmanager
def _locked(table: Path) -> Iterator[None]:
    """Keep other processes from changing a table."""
    with _database(table), closing(sqlite3.connect(table, timeout=BUSY_S)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        finally:
            connection.rollback()


@contextmanager
def _database(table: Path) -> Iterator[None]:
    """Say which table it is that SQLite cannot read or lock."""
    try:
        yield
    except sqlite3.OperationalError as error:
        what = f"{table.name} cannot be locked ({error}); no backup was made"
        raise LibraryError("LIBRARY_WRITE", what, "free some space, or try again") from error
    except sqlite3.DatabaseError as error:
        remedy = "run python -m core runs list, which makes a list of runs anew, and try again"
        raise LibraryError("DAMAGED", f"{table.name} is damaged ({error})", remedy) from error


def _write_archive(file: IO[bytes], snapshot: Path, sizes: dict[str, int]) -> BackupList:
    files: dict[str, StoredFile] = {}
    with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, size in sizes.items():
            member = tarfile.TarInfo(f"{ROOT}/{name}")
            member.size, member.mode = size, 0o600
            with (snapshot / name).open("rb") as source:
                member.mtime = os.fstat(source.fileno()).st_mtime
                hashed = _Hashed(source)
                archive.addfile(member, hashed)  # type: ignore[arg-type]  # reads are all it does
            files[name] = StoredFile(size, hashed.digest.hexdigest())
        now = datetime.now(UTC).isoformat(timespec="seconds")
        contents = BackupList(FORMAT, defaults.VERSION, now, files)
        text = json.dumps(codec.to_json(contents), indent=1).encode()
        last = tarfile.TarInfo(LIST)
        last.size, last.mode = len(text), 0o600
        archive.addfile(last, BytesIO(text))
    return contents


# Restore ----------------------------------------------------------------------------------------


def restore(file: Path, home: Path) -> BackupList:
    """Fill a home that holds nothing from a backup; all of it is checked before any of it is there.

    `home`: missing, or an empty folder.

    Raises
    ------
    UsageError
        OUTPUT: the home holds something.
    Refused
        BACKUP: the file is no backup, is cut short, or differs from its own list.
    LibraryError
        LIBRARY_WRITE: the home cannot be written. RUNNING: it is being restored already.
    """
    part = home / f".restore.{secrets.token_hex(4)}{PART}"
    _refuse_used(home)
    existed = home.exists()
    try:
        with _archive(file) as archive:
            members = _members(archive)
            contents = _contents(archive, members, file)
            with writing():
                make_private(home, exist_ok=True)
            with _alone(home), writing():
                _refuse_used(home)  # by whoever was alone with it before
                for left in home.glob(f".restore.*{PART}"):
                    shutil.rmtree(left)
                part.mkdir(mode=0o700)
                for name, stored in contents.files.items():
                    _extract(archive, members[f"{ROOT}/{name}"], part / name, stored)
                _move_in(part, home)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        if not existed:
            with suppress(OSError):
                home.rmdir()
        raise
    return contents


def _refuse_used(home: Path) -> None:
    if home.exists() and not (home.is_dir() and all(_unfinished(p.name) for p in home.iterdir())):
        what = f"{home.name} is not empty, and nothing in it is overwritten"
        if home.is_dir() and any(home.glob(f".restore.*{PART}")):
            what = f"{home.name} holds half of a backup: a restore into it was killed"
        raise UsageError("OUTPUT", what, "set CANDOR_HOME to a folder that is empty or missing")


@contextmanager
def _archive(file: Path) -> Iterator[tarfile.TarFile]:
    try:
        with tarfile.open(file, "r:") as archive:
            yield archive
    except (
        tarfile.TarError,
        EOFError,
        ValueError,
        OverflowError,  # numbers that are none
        RecursionError,  # headers that are of the next header, and so on
    ) as error:
        raise _no_backup(f"{file.name} is not a complete backup") from error


def _members(archive: tarfile.TarFile) -> dict[str, tarfile.TarInfo]:
    """Return the files of an archive by name, of which each comes once."""
    members: dict[str, tarfile.TarInfo] = {}
    try:
        headers = archive.getmembers()
    except OSError as error:  # a length that leads beyond what a file may have
        raise tarfile.ReadError(str(error)) from error
    for member in headers:
        # One with holes takes a few bytes here, and any number of them when it is read.
        if not member.isreg() or member.issparse() or member.name in members:
            raise _no_backup(f"A backup holds files, each once, and not {member.name[:60]!r}")
        members[member.name] = member
    return members


def _contents(
    archive: tarfile.TarFile, members: dict[str, tarfile.TarInfo], file: Path
) -> BackupList:
    """Return the list of a backup, which ends right after it and names exactly the files in it."""
    name, last = file.name, members.get(LIST)
    if last is None or list(members)[-1] != LIST:
        raise _no_backup(f"{name} is cut short or not a backup: it does not end with {LIST}")
    end = last.offset_data + -(-last.size // tarfile.BLOCKSIZE) * tarfile.BLOCKSIZE
    length = -(-(end + 2 * tarfile.BLOCKSIZE) // tarfile.RECORDSIZE) * tarfile.RECORDSIZE
    size = file.stat().st_size
    if size != length:
        raise _no_backup(f"{name} has {size:,} bytes, and a whole backup {length:,}")
    if last.size > MAX_LIST_BYTES:
        raise _no_backup(f"{name} is cut short or not a backup: it has no {LIST}")
    source = archive.extractfile(last)
    assert source is not None  # a regular file
    try:
        contents = codec.read(BackupList, parse_json(source.read()), "backup", stored=True)
    except (JsonError, UsageError) as error:
        raise _no_backup(f"{LIST} of {name} cannot be read") from error
    if contents.format != FORMAT:
        what = f"{name} has format {contents.format}, and this Candor reads {FORMAT}"
        raise Refused("BACKUP", what, "restore it with the Candor that wrote it, or a newer one")
    if {f"{ROOT}/{path}" for path in contents.files} | {LIST} != members.keys():
        raise _no_backup(f"{name} does not hold the files that it lists")
    if any(members[f"{ROOT}/{path}"].size != file.size for path, file in contents.files.items()):
        raise _no_backup(f"{name} holds files of other sizes than it lists")
    for path in contents.files:
        if fault := _fault(path):
            raise _no_backup(f"{name} lists {path[:60]!r}, which {fault}")
    folders = {str(folder) for path in contents.files for folder in PurePosixPath(path).parents}
    both = next((path for path in contents.files if path in folders), None)
    if both is not None:
        raise _no_backup(f"{name} lists {both[:60]!r} as a file and as a folder")
    return contents


def _fault(path: str) -> str:
    """Return what keeps a path from being restored; empty where it can be."""
    steps = path.split("/")
    if {"", ".", ".."} & set(steps) or {"\\", "\0"} & set(path) or PureWindowsPath(path).drive:
        return "leads out of the home"
    if len(os.fsencode(path)) > MAX_PATH or max(len(os.fsencode(s)) for s in steps) > MAX_NAME:
        return "has a longer name than Candor gives"
    return ""


def _extract(
    archive: tarfile.TarFile, member: tarfile.TarInfo, path: Path, stored: StoredFile
) -> None:
    source = archive.extractfile(member)
    assert source is not None  # a regular file
    make_private(path.parent, exist_ok=True)
    digest = hashlib.sha256()
    with path.open("xb") as file:
        path.chmod(0o600)
        while data := source.read(CHUNK):
            digest.update(data)
            file.write(data)
        file.flush()
        os.fsync(file.fileno())
        size = file.tell()
    if StoredFile(size, digest.hexdigest()) != stored:
        raise _no_backup(f"{path.name} differs from what was backed up")
    os.utime(path, (member.mtime, member.mtime))


def _move_in(part: Path, home: Path) -> None:
    """Move what is whole to its place, the runs last: a home without them shows none of them."""
    _refuse_used(home)  # by a server that was started meanwhile
    for path in sorted(part.iterdir(), key=lambda path: path.name == "runs"):
        path.rename(home / path.name)
    part.rmdir()
    sync(home)


def _no_backup(what: str) -> Refused:
    return Refused("BACKUP", what, "name a file that python -m core backup wrote")
