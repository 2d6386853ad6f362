"""What every test of a page needs: a library of its own, and a server that serves nobody."""

from functools import cache

import pytest
import streamlit as st
from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import AppTest

from core.jobs.local import open_jobs
from core.library import SAMPLES, Library
from pages.ui import intake
from tests.pages.seen import PATIENCE_S

# Every AppTest makes a runtime of its own, which would read the metadata of every installed
# package anew for components: half a second, of which nothing differs between tests.
manifest_scanner.scan_component_manifests = cache(manifest_scanner.scan_component_manifests)


@pytest.fixture(autouse=True)
def _patient(monkeypatch):
    """Let a dropped file be read before the page is drawn again, however long that takes."""
    monkeypatch.setattr(intake, "FIRST_WAIT_S", PATIENCE_S)


@pytest.fixture(autouse=True)
def _sound(monkeypatch):
    """Let a test fail wherever a page that it draws raises an exception."""
    run = AppTest._run

    def checked(test, *given, **named):
        drawn = run(test, *given, **named)
        assert not drawn.exception, [one.value for one in drawn.exception]
        return drawn

    monkeypatch.setattr(AppTest, "_run", checked)


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("CANDOR_HOME", str(tmp_path / "home"))
    monkeypatch.setattr("sys.argv", ["app.py", "--i-know"])  # AppTest serves on no address
    return tmp_path / "home"


@pytest.fixture
def library(home):
    return Library(home, SAMPLES)


@pytest.fixture
def paused(home, monkeypatch):
    """Let the page's jobs wait in the queue, and let nothing of another test be remembered."""
    monkeypatch.setenv("CANDOR_DEVICES", "cpu")
    st.cache_resource.clear()
    st.cache_data.clear()
    open_jobs().pause()
