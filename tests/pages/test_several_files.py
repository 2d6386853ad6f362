"""Several files dropped together: each a draft, labels only where a file holds nothing else."""

import io
from html import unescape
from threading import Event, Timer

import numpy as np
import pytest
import streamlit as st

from core.library import open_library, store
from pages.ui import session
from pages.ui.runs import several
from tests.pages.seen import fine, opened, said, until

pytestmark = pytest.mark.usefixtures("unsealed")
N, K = 120, 3


def made(seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(K), N)
    return p, (p.cumsum(axis=1) > rng.random((N, 1))).argmax(axis=1)


def npz(seed: int) -> bytes:
    p, labels = made(seed)
    np.savez(out := io.BytesIO(), probs=p, labels=labels)
    return out.getvalue()


def npy(array: np.ndarray) -> bytes:
    np.save(out := io.BytesIO(), array)
    return out.getvalue()


def risks(seed: int) -> bytes:
    """Which may be percent or not: the file does not say."""
    rng = np.random.default_rng(seed)
    risk = rng.beta(2, 3, N)
    rows = (f"{100 * r:.1f},{int(o)}" for r, o in zip(risk, rng.random(N) < risk, strict=True))
    return "\n".join(["risk,outcome", *rows]).encode()


def drop(test, **files: bytes):
    """Drop files whose names have two underscores for the dot."""
    named = [(name.replace("__", "."), data, "") for name, data in files.items()]
    test.file_uploader[0].set_value(named).run()
    return until(test, lambda: not test.session_state["several.reading"])


def drafts() -> list[session.Draft]:
    (room,) = session._ROOMS.values()
    return list(room.drafts.values())


def press(test, label: str):
    button = next(one for one in test.button if unescape(one.label).replace("*", "") == label)
    return button.click().run()


@pytest.fixture(autouse=True)
def _alone(paused, monkeypatch):
    monkeypatch.setattr(session, "_ROOMS", {})
    yield
    st.cache_resource.clear()  # as the end of the session: its drafts go


@pytest.mark.nightly
def test_two_complete_runs_are_two_drafts_whatever_they_are_called():
    test = fine(drop(opened(), my_scores__npz=npz(1), old_labels__npz=npz(2)))
    assert [draft.file_name for draft in drafts()] == ["my_scores.npz", "old_labels.npz"]
    for draft, seed in zip(drafts(), (1, 2), strict=True):
        scores, labels = made(seed)
        np.testing.assert_allclose(draft.result.splits["test"].scores, scores)
        np.testing.assert_array_equal(draft.result.splits["test"].labels, labels)
    until(test, lambda: said(test).count("120 rows · accuracy") == 2)
    assert "2 drafts" in said(test)


@pytest.mark.parametrize("swapped", [False, True])
def test_a_file_without_scores_is_the_labels_of_one_without_labels(swapped):
    scores, labels = made(1)
    files = {"a__npy": npy(scores), "b__npy": npy(labels)}
    if swapped:
        files = {"labels__npy": npy(scores), "probs__npy": npy(labels)}  # names that mislead
    fine(drop(opened(), **files))
    (draft,) = drafts()
    np.testing.assert_array_equal(draft.result.splits["test"].labels, labels)
    assert len(draft.files) == 2


@pytest.mark.nightly
def test_labels_go_to_every_file_that_lacks_them():
    p, y = made(1)
    q = p**2 / (p**2).sum(axis=1, keepdims=True)
    fine(drop(opened(), a__npy=npy(p), b__npy=npy(q), truth__npy=npy(y)))
    assert [draft.result.splits["test"].labels.tolist() for draft in drafts()] == [y.tolist()] * 2


@pytest.mark.nightly
def test_of_several_labels_each_goes_to_the_file_of_its_name():
    (p, y), (q, z) = made(1), made(2)
    files = {"a_probs": p, "b_probs": q, "b_labels": z, "a_labels": y}
    fine(drop(opened(), **{f"{name}__npy": npy(array) for name, array in files.items()}))
    both = {draft.name: draft.result.splits["test"].labels for draft in drafts()}
    np.testing.assert_array_equal(both["a_probs"], y)
    np.testing.assert_array_equal(both["b_probs"], z)


def test_a_complete_run_and_notes_beside_it_are_a_draft_and_a_refusal():
    test = drop(opened(), run__npz=npz(1), notes__txt=b"words\nabout the run\n")
    assert [draft.file_name for draft in drafts()] == ["run.npz"]
    assert "1 draft, 1 not read yet" in said(test)


def test_a_bad_file_and_an_open_question_cost_the_others_nothing():
    test = drop(opened(), a__npz=npz(1), broken__npz=b"PK no", risks__csv=risks(1), b__npz=npz(2))
    assert [draft.file_name for draft in drafts()] == ["a.npz", "b.npz"]
    words = said(test)
    assert "2 drafts, 2 not read yet" in words
    assert "`FORMAT_UNKNOWN`" in words
    assert "`UNDECIDED`" in words
    press(test, "Choose risks.csv")
    percent = next(i for i, one in enumerate(test.button) if one.label == "Read it this way")
    test.button[percent].click().run()
    until(test, lambda: len(drafts()) == 3)
    fine(test)  # the list again
    press(test, "Discard broken.npz")
    assert "3 drafts" in said(test)
    assert "not read yet" not in said(test)
    (room,) = session._ROOMS.values()
    assert {path for path in room.folder.iterdir() if path.is_file()} == session_files(room)


def session_files(room) -> set:
    return {path for draft in room.drafts.values() for path in draft.files}


@pytest.mark.nightly
def test_an_answer_holds_for_the_other_files_of_its_form():
    test = drop(opened(), a__csv=risks(1), b__csv=risks(2), c__npz=npz(3))
    press(test, "Choose a.csv")
    next(one for one in test.button if one.label == "Read it this way").click().run()
    until(test, lambda: len(drafts()) == 3)
    assert {draft.name for draft in drafts()} == {"a", "b", "c"}


def test_all_are_kept_and_compared_and_that_is_undone():
    test = fine(drop(opened(), **{f"seed{k}__npz": npz(k) for k in range(3)}))
    until(test, lambda: said(test).count("120 rows · accuracy") == 3)
    press(test, "Keep all and compare")
    until(test, lambda: not drafts())
    until(fine(test), lambda: "runs" in test.query_params)
    own = [row for row in open_library().rows() if row.kind == "upload"]
    assert sorted(row.name for row in own) == [f"seed{k}" for k in range(3)]
    assert set("".join(test.query_params["runs"]).split(",")) == {row.id for row in own}
    (room,) = session._ROOMS.values()
    assert not [path for path in room.folder.iterdir() if path.is_file()]


def test_keeping_all_can_be_stopped(monkeypatch):
    """What was kept by then is a run, once; the run that was being kept counts among them."""
    keep, began, go_on = store.keep_result, Event(), Event()

    def slow(library, name, *rest, **more):
        began.set()
        assert go_on.wait(60)
        return keep(library, name, *rest, **more)

    monkeypatch.setattr(several, "keep_result", slow)
    test = fine(drop(opened(), **{f"seed{k}__npz": npz(k) for k in range(3)}))
    until(test, lambda: said(test).count("120 rows · accuracy") == 3)
    press(test, "Keep all and compare")
    assert began.wait(60)
    Timer(1.0, go_on.set).start()
    press(test, "Stop")
    until(fine(test), lambda: "Kept 1 run." in said(test))
    assert [draft.name for draft in drafts()] == ["seed1", "seed2"]
    assert [row.name for row in open_library().rows() if row.kind == "upload"] == ["seed0"]


@pytest.mark.nightly
def test_two_models_of_one_file_become_two_drafts():
    rng = np.random.default_rng(5)
    p = rng.random((N, 2)).round(3)
    rows = [f"{a},{b},{int(o)}" for (a, b), o in zip(p, rng.random(N) < p[:, 0], strict=True)]
    data = "\n".join(["prob_old,prob_new,label", *rows]).encode()
    test = fine(drop(opened(), pair__csv=data))
    test = until(fine(press(test, "Read both as two runs")), lambda: len(drafts()) == 2)
    assert [draft.name for draft in drafts()] == ["pair prob_old", "pair prob_new"]
    for k, draft in enumerate(drafts()):
        np.testing.assert_allclose(draft.result.splits["test"].scores, p[:, k])
    test = until(fine(test), lambda: any("Keep all" in one.label for one in test.button))
    test = fine(press(test, "Discard pair prob_old"))
    assert all(path.is_file() for path in drafts()[0].files)  # which both were read from
    test = fine(drop(opened(), again__csv=data))  # one of them is no answer for the next file
    assert "more than one way" in said(test)


def test_too_many_files_are_refused_and_leave_nothing(monkeypatch):
    monkeypatch.setattr(several, "MOST_RUNS", 2)
    test = opened()
    named = [(f"{k}.npz", npz(k), "") for k in range(3)]
    test.file_uploader[0].set_value(named).run()
    assert "3 files were dropped at once" in test.error[0].value
    (room,) = session._ROOMS.values()
    assert not list(room.folder.iterdir())


def test_what_is_discarded_or_left_goes_with_its_bytes():
    test = drop(opened(), a__npz=npz(1), b__npz=npz(2), risks__csv=risks(1))
    press(test, "Discard a")
    assert [draft.name for draft in drafts()] == ["b"]
    press(test, "Discard all")
    assert not drafts()
    (room,) = session._ROOMS.values()
    assert not [path for path in room.folder.iterdir() if path.is_file()]
