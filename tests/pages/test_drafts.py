"""Drafts outlive the session that read them, for the browser that holds the secret."""

import pytest

from core.readers.predictions.result import ReadResult
from pages.ui import session


class Context:
    """What Streamlit knows of a browser."""

    def __init__(self, cookies):
        self.cookies = cookies


@pytest.fixture
def enter(monkeypatch, tmp_path):
    """Return a function that begins a session of a browser with these cookies."""
    monkeypatch.setattr(session, "_ROOMS", {})
    monkeypatch.setenv("TMPDIR", str(tmp_path))

    def entered(**cookies: str) -> session.SessionResources:
        monkeypatch.setattr(session.st, "context", Context(cookies))
        return session.room.__wrapped__()

    return entered


def drafted(resources):
    draft = session.Draft("draft-1", "a", "a.npz", ReadResult.__new__(ReadResult))
    resources.browser.drafts[draft.id] = draft
    return resources


def test_who_holds_the_secret_finds_the_drafts_and_nobody_else(enter):
    first = drafted(enter())
    name, secret = session._cookie(), first.browser.secret
    assert len(secret) >= 43  # 32 random bytes
    assert enter(**{name: secret}).browser is first.browser
    for other in ("", "draft-1", secret[:-1]):
        theirs = enter(**{name: other}).browser
        assert not theirs.drafts
        assert theirs.secret != other  # nobody chooses a secret


def test_a_draft_waits_for_its_browser_and_then_goes_with_its_bytes(enter, monkeypatch):
    waiting = []

    class Waits:
        def __init__(self, seconds, function, given):
            waiting.append((function, given))

        def start(self):
            """Nothing; the test ends the wait."""

    monkeypatch.setattr(session, "Timer", Waits)
    first = drafted(enter())
    cookie = {session._cookie(): first.browser.secret}
    first.close()
    again = enter(**cookie)
    assert again.browser.drafts
    (function, given) = waiting.pop()
    function(*given)
    assert again.folder.is_dir()  # it came back
    again.close()
    (function, given) = waiting.pop()
    function(*given)
    assert not again.folder.exists()
    assert not enter(**cookie).browser.drafts


def test_without_drafts_nothing_waits(enter):
    empty = enter()
    empty.close()
    assert not empty.folder.exists()
    assert not session._ROOMS
