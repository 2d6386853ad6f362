"""One way for all files to come in: sealed, watched, cancelled, refused, kept, by session."""

import gc
import io
import time
import tracemalloc
import weakref
from concurrent.futures import Future
from html import unescape
from threading import Event
from types import SimpleNamespace

import numpy as np
import pytest
import streamlit as st
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.testing.v1 import AppTest

from core.errors import LostWorker, Refused
from core.library import open_library, store
from core.readers.sandbox import read as sandbox
from pages.ui import intake, session
from pages.ui.runs import several
from tests.pages.seen import PATIENCE_S, fine, opened, said, until

HISTORY = "\n".join(
    ["epoch,bin,lower,upper,count,confidence,accuracy,gamma"]
    + [
        f"{epoch},{k},{k / 2},{(k + 1) / 2},50,{0.4 + 0.4 * k},{0.3 + 0.4 * k},{1.5 + k}"
        for epoch in (1, 2)
        for k in (0, 1)
    ]
).encode()


@pytest.fixture(autouse=True)
def _at_once(paused, monkeypatch):
    monkeypatch.setattr(intake, "FIRST_WAIT_S", 0.0)


@pytest.fixture
def endless(monkeypatch):
    """Let files be read until that is cancelled; return what is read."""
    begun = []

    def read(path, *, name, cancel: Event, **_):
        begun.append((path, name, cancel))
        cancel.wait()
        raise Refused("CANCELLED", "Reading was cancelled", "read it again")

    for reader in ("read", "read_bin_history", "read_weights", "read_film", "read_boxes"):
        monkeypatch.setattr(sandbox, reader, read)
    yield begun
    for _, _, cancel in begun:
        cancel.set()


@pytest.fixture
def room(monkeypatch, tmp_path):
    """Return what the session of this test has outside its state."""
    (tmp_path / "room").mkdir()
    browser = session.BrowserRoom("secret", "local", tmp_path / "room", n_sessions=1)
    monkeypatch.setitem(session._ROOMS, browser.secret, browser)
    room = session.SessionResources(browser, set())
    monkeypatch.setattr(session, "room", lambda: room)
    return room


def drop(test: AppTest, name: str, data: bytes, label: str = "") -> AppTest:
    (uploader,) = [zone for zone in test.file_uploader if label in zone.label]
    file = (name, data, "text/csv")
    return uploader.set_value([file] if uploader.multiple_files else file).run()


def button(test: AppTest, label: str):
    return next((one for one in test.button if one.label == label), None)


def two_arrays() -> bytes:
    """Either of which may be the scores."""
    rng, out = np.random.default_rng(0), io.BytesIO()
    np.savez(out, a=rng.normal(size=(40, 10)), b=rng.normal(size=(40, 10)))
    return out.getvalue()


def names() -> list[str]:
    return [row.name for row in open_library().rows()]


def error(test: AppTest) -> str:
    (only,) = test.error
    return unescape(only.value)


def test_a_file_that_is_read_is_kept_and_its_bytes_go(room):
    test = drop(opened("gamma"), "mine.csv", HISTORY)
    until(test, lambda: "mine" in names())
    until(fine(test), lambda: not test.session_state["gamma.reading"])
    assert test.query_params["run"]
    assert list(room.folder.iterdir()) == []
    assert room.works == set()


def test_what_is_read_shows_its_name_and_can_be_cancelled(endless):
    test = fine(drop(opened("gamma"), "mine.csv", HISTORY))
    until(test, lambda: endless)
    assert "Reading **mine.csv**" in said(test)
    ((path, name, cancel),) = endless
    assert (name, path.read_bytes(), path.stat().st_mode & 0o777) == ("mine.csv", HISTORY, 0o600)
    fine(button(test, "Cancel").click().run())
    assert cancel.is_set()
    assert "Reading" not in said(test)
    until(test, lambda: not path.exists())
    assert not fine(test).error
    assert "mine" not in names()


@pytest.mark.parametrize(
    ("page", "label", "name"),
    [
        ("library", "", "mine.csv"),
        ("ood", "", "mine.csv"),
        ("evaluate", "", "mine.csv"),
        ("xray", "Weights of", "mine.csv"),
        ("xray", "Films:", "Film"),
        ("xray", "Boxes of", "List of boxes"),
    ],
)
def test_every_place_shows_what_it_reads_and_can_be_cancelled(endless, page, label, name):
    query = {"run": "digits-adafocal"} if page == "ood" else {}
    test = fine(drop(opened(page, **query), "mine.csv", HISTORY, label))
    until(test, lambda: endless)
    assert f"Reading **{name}**" in said(test)
    ((path, _, cancel),) = endless
    assert path.exists()
    fine(button(test, "Cancel").click().run())
    assert cancel.is_set()
    assert "Reading **" not in said(test)
    until(test, lambda: not path.exists())
    assert any(label in zone.label for zone in test.file_uploader)


@pytest.mark.parametrize(
    ("page", "remedy"),
    [
        ("library", "Choose below how it is to be read, or add a label file."),
        ("ood", "Choose below how it is to be read."),
    ],
)
def test_a_page_names_its_own_controls_and_not_options(page, remedy):
    query = {"run": "digits-adafocal"} if page == "ood" else {}
    test = drop(opened(page, **query), "mine.npz", two_arrays())
    until(test, lambda: test.error)
    assert remedy in error(test)
    assert "--" not in error(test)


def test_a_file_that_leaves_a_choice_waits_with_its_bytes_until_it_is_discarded():
    test = drop(opened("ood", run="digits-adafocal"), "mine.npz", two_arrays())
    until(test, lambda: test.error)
    (path,) = test.session_state["ood.reading"][0].files
    assert path.exists()
    fine(button(test, "Discard").click().run())
    assert not path.exists()


def test_of_two_files_the_one_that_was_refused_is_named():
    test = opened("library")
    (zone,) = test.file_uploader
    zone.set_value([("*mine*.npz", two_arrays(), ""), ("its_labels.csv", b"", "")]).run()
    until(test, lambda: "its_labels.csv" in said(test))
    assert "`EMPTY_FILE`" in said(test)


@pytest.mark.parametrize(
    ("scores", "labels"),
    [
        ("my_scores.npz", "truth.csv"),
        ("energy_scores.npy", "patients.csv"),
        ("multilabel_scores.npz", "labels.csv"),
        ("multi_label_scores.npz", "findings.csv"),
        ("multilabel.npz", "labels.csv"),
        ("y_pred.npy", "y_true.npy"),
        ("yprob.npy", "ytest.npy"),
        ("model.npz", "testLabels.npy"),
        ("model.npz", "cifar10labels.txt"),
        ("data.npz", "targets-2.csv"),
    ],
)
def test_of_two_files_either_of_which_may_be_labels_names_tell(scores, labels):
    """As of scores for each label and a table of 0 and 1."""
    for names in ((scores, labels), (labels, scores)):
        files = [SimpleNamespace(name=name) for name in names]
        assert max(files, key=several.rank).name == labels


def test_a_file_in_the_title_is_not_named_again():
    test = drop(opened("library"), "mine.npz", two_arrays())
    until(test, lambda: test.error)
    assert "mine.npz" in said(test)
    assert "mine.npz" not in error(test)


def test_the_next_file_takes_the_place_of_the_one_before(endless):
    test = drop(opened("gamma"), "first.csv", HISTORY)
    drop(test, "second.csv", HISTORY)
    until(test, lambda: len(endless) == 2)
    (first, _, cancelled), (second, _, going) = endless
    assert cancelled.is_set()
    assert not going.is_set()
    until(test, lambda: not first.exists())
    assert second.exists()
    assert "Reading **second.csv**" in said(test)
    button(test, "Cancel").click().run()


def test_a_refusal_names_file_place_reason_and_remedy_until_it_is_closed():
    test = drop(opened("gamma"), "wrong.csv", b"epoch,bin\n1,2\n")
    until(test, lambda: test.error)
    text = error(test)
    assert text.count("wrong.csv") == 1
    for words in ("**wrong.csv: No column lower", "Give columns epoch", "HISTORY_COLUMNS"):
        assert words in text
    assert not button(test, "Close").click().run().error
    drop(test, "wrong.csv", b"epoch,bin\n1,2\n")
    until(test, lambda: test.error)
    drop(test, "mine.csv", HISTORY)
    until(test, lambda: "mine" in names())
    assert not test.error


def test_two_sessions_read_beside_one_another(endless):
    mine, other = opened("gamma"), opened("gamma")
    drop(mine, "mine.csv", HISTORY)
    drop(other, "other.csv", HISTORY)
    until(mine, lambda: len(endless) == 2)
    assert "other.csv" not in said(mine)
    cancels = {name: cancel for _, name, cancel in endless}
    button(mine, "Cancel").click().run()
    assert cancels["mine.csv"].is_set()
    assert not cancels["other.csv"].is_set()
    assert "Reading **other.csv**" in said(other.run())
    button(other, "Cancel").click().run()


def test_a_full_disk_is_said_and_leaves_nothing(monkeypatch):
    def full(data):
        raise OSError(28, "No space left on device")

    test = opened("gamma")
    monkeypatch.setattr(session, "store", full)
    drop(test, "mine.csv", HISTORY)
    assert "No space left on device" in error(test)
    assert "LOST_WORKER" in error(test)
    assert not test.session_state["gamma.reading"]


def test_a_disk_that_is_full_when_it_is_kept_is_said(monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(store, "keep_bin_history", full)
    test = drop(opened("gamma"), "mine.csv", HISTORY)
    until(test, lambda: test.error)
    assert "No space left on device" in error(test)
    assert "mine" not in names()


def test_the_end_of_a_session_stops_what_it_reads(endless, room):
    test = drop(opened("gamma"), "mine.csv", HISTORY)
    until(test, lambda: endless)
    room.close()
    ((path, _, cancel),) = endless
    assert cancel.is_set()
    assert not path.exists()


def test_the_bytes_of_an_upload_leave_the_memory_once_they_are_stored(monkeypatch, endless):
    """Streamlit alone keeps them until the session ends, and after that for two minutes."""
    held, dropped = [], []
    add, remove = MemoryUploadedFileManager.add_file, MemoryUploadedFileManager.remove_file

    def added(self, session_id, file):
        held.append(self)
        add(self, session_id, file)

    def removed(self, session_id, file_id):
        dropped.extend(file.data for file in self.get_files(session_id, [file_id]))
        remove(self, session_id, file_id)

    monkeypatch.setattr(MemoryUploadedFileManager, "add_file", added)
    monkeypatch.setattr(MemoryUploadedFileManager, "remove_file", removed)
    until(fine(drop(opened("gamma"), "mine.csv", HISTORY)), lambda: endless)
    assert dropped == [HISTORY]
    assert not [files for store in held for files in store.file_storage.values() if files]


@pytest.mark.parametrize(("page", "label"), [("gamma", ""), ("library", "")])
def test_an_upload_is_not_copied_in_memory(endless, page, label):
    """Streamlit alone gives a script a deep copy of what a widget holds, a list of files too."""
    data = bytes(2**25)
    test = opened(page)
    tracemalloc.start()
    try:
        drop(test, "mine.csv", data, label)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    until(test, lambda: endless)
    assert most < len(data) / 2


def test_of_files_that_do_not_all_fit_the_disk_none_is_left(monkeypatch, room):
    store = session.store

    def nearly_full(data):
        if list(room.folder.iterdir()):
            raise OSError(28, "No space left on device")
        return store(data)

    test = opened("library")
    monkeypatch.setattr(session, "store", nearly_full)
    (uploader,) = test.file_uploader
    uploader.set_value([(name, HISTORY, "text/csv") for name in ("a.csv", "b.csv")]).run()
    assert "No space left on device" in error(test)
    assert list(room.folder.iterdir()) == []


def test_a_disk_that_is_full_while_a_file_is_read_is_a_refusal():
    reading = intake.FileReading(name="mine.csv", read=len)
    reading.future = Future()
    reading.future.set_exception(OSError(28, "No space left on device"))
    with pytest.raises(LostWorker, match="No space left"):
        reading.result()


@pytest.mark.parametrize(("several", "left"), [(False, ["b"]), (True, ["a", "b"])])
def test_where_one_file_is_read_one_refusal_stands(monkeypatch, several, left):
    monkeypatch.setattr(st, "session_state", {})
    place = intake.Intake("place", several)
    for name in ("a", "b"):
        place.refuse(Refused("FORMAT_UNKNOWN", "no table", "give a table"), name)
    assert [refusal.name for refusal in place.refusals] == left


def reading_of(path, read=lambda path, *, name, cancel: path.read_bytes()):
    path.write_bytes(HISTORY)
    return intake.FileReading.of(read, intake.SealedFile(path, path.name))


def test_what_is_read_once_is_gone_though_nobody_looks(monkeypatch, room):
    monkeypatch.setattr(st, "session_state", {})
    path = room.folder / "a.csv"
    gone = Event()
    intake.Intake("place").start(reading := reading_of(path))
    reading.future.add_done_callback(lambda _: gone.set())  # after the one that removes them
    assert reading.result() == HISTORY
    assert gone.wait(60)
    assert not path.exists()


def test_the_next_reading_leaves_no_refusal_of_the_last_file(monkeypatch, room):
    monkeypatch.setattr(st, "session_state", {})
    place = intake.Intake("place")
    place.refuse(Refused("FORMAT_UNKNOWN", "no table", "give a table"), "b.csv")
    place.start(reading_of(room.folder / "a.csv"))
    assert place.refusals == []


@pytest.mark.parametrize(("several", "left"), [(False, 0), (True, 1)])
def test_of_several_files_those_that_were_read_outlast_cancel(monkeypatch, room, several, left):
    monkeypatch.setattr(st, "session_state", {})
    place = intake.Intake("place", several)
    place.start(reading := reading_of(room.folder / "a.csv"))
    assert reading.result()
    place.stop()
    assert len(place.readings) == left


def test_a_reading_that_is_let_go_of_is_gone_with_its_result(room):
    """Without the collector: where a session ends and nobody comes, none may run for long."""
    reading = intake.FileReading(name="a.npz", read=lambda **_: Event(), once=True)
    gc.disable()
    try:
        reading.start()
        seen = weakref.ref(reading.result())
        del reading
        end = time.monotonic() + PATIENCE_S
        while seen() is not None:  # its thread lets go of it a moment later
            assert time.monotonic() < end
            time.sleep(0.01)
    finally:
        gc.enable()
