"""Drafts outlive the session that read them, for the browser that holds the secret."""

import pytest

from core.errors import LibraryError
from core.readers.predictions.result import ReadResult
from pages.ui import session


@pytest.fixture(autouse=True)
def _alone(monkeypatch):
    """Let no other browser be there."""
    monkeypatch.setattr(session, "_ROOMS", {})


def drafted(resources):
    draft = session.Draft("draft-1", "a", "a.npz", ReadResult.__new__(ReadResult))
    resources.browser.drafts[draft.id] = draft
    return resources


def test_who_holds_the_secret_finds_the_drafts_and_nobody_else():
    first = drafted(session.entered(""))
    secret = first.browser.secret
    assert len(secret) >= 43  # 32 random bytes
    assert session.entered(secret).browser is first.browser
    for other in ("", "draft-1", secret[:-1]):
        theirs = session.entered(other).browser
        assert not theirs.drafts
        assert theirs.secret != other  # nobody chooses a secret


def test_a_session_sees_the_drafts_of_its_own_browser_alone(monkeypatch):
    mine, theirs = drafted(session.entered("")), session.entered("")
    monkeypatch.setattr(session, "room", lambda: theirs)
    assert not session.drafts()
    monkeypatch.setattr(session, "room", lambda: mine)
    assert list(session.drafts()) == ["draft-1"]


@pytest.fixture
def waiting(monkeypatch):
    """Return what timers do at their end, which the test chooses."""
    waiting = []

    class Waits:
        def __init__(self, seconds, function, given):
            waiting.append((function, given))

        def start(self):
            """Nothing; the test ends the wait."""

    monkeypatch.setattr(session, "Timer", Waits)
    return waiting


def test_a_draft_waits_for_its_browser_and_then_goes_with_its_bytes(waiting):
    first = drafted(session.entered(""))
    first.close()
    again = session.entered(first.browser.secret)
    assert again.browser.drafts
    (function, given) = waiting.pop()
    function(*given)
    assert again.folder.is_dir()  # it came back
    again.close()
    (function, given) = waiting.pop()
    function(*given)
    assert not again.folder.exists()
    assert not session.entered(first.browser.secret).browser.drafts


def test_a_tab_that_leaves_last_is_waited_for_though_another_left_before(waiting):
    first = drafted(session.entered(""))
    second = session.entered(first.browser.secret)
    first.close()
    second.close()
    (function, given) = waiting.pop(0)  # of the first tab, just before the second is back
    function(*given)
    assert session.entered(first.browser.secret).browser.drafts


def test_a_browser_that_came_and_went_is_waited_for_from_then_on(waiting):
    first = drafted(session.entered(""))
    first.close()
    again = session.entered(first.browser.secret)
    again.close()
    (function, given) = waiting.pop(0)
    function(*given)
    assert again.folder.is_dir()
    (function, given) = waiting.pop(0)
    function(*given)
    assert not again.folder.exists()


def test_without_drafts_nothing_waits():
    empty = session.entered("")
    empty.close()
    assert not empty.folder.exists()
    assert not session._ROOMS


def test_of_two_tabs_that_keep_a_draft_one_does(monkeypatch):
    first = drafted(session.entered(""))
    second = session.entered(first.browser.secret)

    def claims(tab):
        monkeypatch.setattr(session, "room", lambda: tab)
        return session.claim("draft-1").name

    assert claims(first) == claims(first) == "a"  # it may try again
    with pytest.raises(LibraryError, match="Another tab is keeping “a”"):
        claims(second)
    session.disclaim("draft-1")  # by a tab that does not keep it: nothing
    with pytest.raises(LibraryError, match="RUNNING"):
        claims(second)
    first.close()
    assert claims(second) == "a"
    session.discard("draft-1")
    with pytest.raises(LibraryError, match="not here any more"):
        claims(second)
    assert not first.browser.keepers
