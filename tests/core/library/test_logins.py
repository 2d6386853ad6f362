"""Logins: kept by a key that only the browser has, gone at their end, and no disk's affair."""

import os
import time

import pytest

from core.disk import PART
from core.library import logins
from core.library.backup import backup, restore
from core.library.logins import Login

HOUR_S = 3600.0
ANNA = Login("u-" + "a" * 32, "AUDITOR", ("g-" + "b" * 32,), time.time())


def test_a_login_is_read_by_its_key_until_it_ends(tmp_path):
    key, other = (logins.begin(tmp_path, ANNA, HOUR_S) for _ in range(2))
    assert logins.read(tmp_path, key) == ANNA
    assert len({key, other, ""}) == 3
    logins.end(tmp_path, key)
    logins.end(tmp_path, "unknown")
    assert logins.read(tmp_path, key) is None
    assert logins.read(tmp_path, other) == ANNA
    assert logins.read(tmp_path, "../logins") is None


def test_nobody_logs_in_with_what_the_folder_or_a_backup_holds(tmp_path):
    home = tmp_path / "home"
    key = logins.begin(home, ANNA, HOUR_S)
    (path,) = (home / logins.FOLDER).iterdir()
    assert (home / logins.FOLDER).stat().st_mode & 0o077 == 0
    assert key not in path.name + path.read_text()
    assert logins.read(home, path.stem) is None
    (home / "runs").mkdir()
    (home / "runs" / "note").write_text("kept")
    backup(home, tmp_path / "home.tar")
    restore(tmp_path / "home.tar", tmp_path / "again")
    assert logins.read(tmp_path / "again", key) is None


def test_logins_that_are_too_old_go_when_somebody_logs_in(tmp_path):
    key = logins.begin(tmp_path, ANNA, HOUR_S)
    (path,) = (tmp_path / logins.FOLDER).iterdir()
    then = time.time() - HOUR_S - 1
    os.utime(path, (then, then))
    logins.begin(tmp_path, ANNA, HOUR_S)
    assert logins.read(tmp_path, key) is None


@pytest.mark.parametrize("text", ["", "{", "[]", '{"user": "u"}', '{"role": 1}', "\xff"])
def test_what_is_no_login_lets_nobody_in(tmp_path, text):
    key = logins.begin(tmp_path, ANNA, HOUR_S)
    (path,) = (tmp_path / logins.FOLDER).iterdir()
    path.write_bytes(text.encode("latin-1"))
    assert logins.read(tmp_path, key) is None


def test_a_full_disk_keeps_nobody_out_and_a_read_only_one_nobody_in(tmp_path, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(logins, "replace_text", full)
        key = logins.begin(tmp_path, ANNA, HOUR_S)
    assert not [p for p in tmp_path.rglob("*") if p.is_file() and not p.name.endswith(PART)]
    assert logins.read(tmp_path, key) == ANNA
    logins.end(tmp_path, key)
    assert logins.read(tmp_path, key) is None
    written = logins.begin(tmp_path, ANNA, HOUR_S)
    with monkeypatch.context() as patched:
        patched.setattr("pathlib.Path.unlink", full)
        logins.end(tmp_path, written)
    assert logins.read(tmp_path, written) is None
