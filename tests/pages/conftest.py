"""What every test of a page needs: a library of its own, and a server that serves nobody."""

import pytest
import streamlit as st

from core.jobs.local import open_jobs


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("CANDOR_HOME", str(tmp_path / "home"))
    monkeypatch.setattr("sys.argv", ["app.py", "--i-know"])  # AppTest serves on no address
    return tmp_path / "home"


@pytest.fixture
def paused(home, monkeypatch):
    """Let the page's jobs wait in the queue, and let nothing of another test be remembered."""
    monkeypatch.setenv("CANDOR_DEVICES", "cpu")
    st.cache_resource.clear()
    st.cache_data.clear()
    open_jobs().pause()
