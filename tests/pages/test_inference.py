"""The warm process is started when somebody enters the site, and not by the first film."""

from threading import Event
from types import SimpleNamespace

import pytest

from pages.ui import inference
from tests.pages.seen import fine, opened

PATIENCE_S = 600


class Process:
    """A process that notes what it is asked."""

    def __init__(self, *, warm: bool = False) -> None:
        self.warm = warm
        self.asked: list[str] = []
        self.answered = Event()

    def call(self, question, _parts, *, timeout_s):
        self.asked.append(question)
        self.answered.set()


@pytest.fixture
def begun(monkeypatch):
    """Return a function that has a process stand in for the warm one."""

    def stand_in(process: Process) -> Process:
        monkeypatch.setattr(inference, "shared", lambda: process)
        monkeypatch.setattr(inference, "AFTER_S", 0.0)
        monkeypatch.setattr(inference, "streamlit_internals", SimpleNamespace(serves=lambda: True))
        return process

    return stand_in


def test_the_first_page_of_a_visitor_starts_it_once(home, begun):
    process = begun(Process())
    test = fine(opened())
    assert process.answered.wait(PATIENCE_S)
    fine(test.run())
    assert process.asked == ["ready"]


def test_one_that_is_warm_is_left_alone(begun):
    process = begun(Process(warm=True))
    inference._warm()
    assert process.asked == []
