"""What every test of a page needs: a library of its own, and a server that serves nobody."""

import pytest


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("CANDOR_HOME", str(tmp_path / "home"))
    monkeypatch.setattr("sys.argv", ["app.py", "--i-know"])  # AppTest serves on no address
    return tmp_path / "home"
