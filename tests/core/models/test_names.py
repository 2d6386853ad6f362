"""The names of networks by library: asked once, kept by version, read without torch."""

import subprocess
import sys
from pathlib import Path

import pytest

from core.models import names
from core.models.catalogue import checked_model

ROOT = Path(__file__).parents[3]


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("CANDOR_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def test_before_the_first_listing_nothing_is_known(home):
    assert names.known() is None


@pytest.mark.slow
def test_what_was_listed_is_known_afterwards_and_fits_a_config(home):
    found = names.listed()
    assert names.known() == found
    assert {"timm:resnet18", "torchvision:resnet18"} <= set(found)
    assert "torchvision:fcn_resnet50" not in found  # segments, and classifies nothing
    assert [checked_model(name) for name in found] == list(found)


@pytest.mark.parametrize("text", ["", "{}", "[1]", "[NaN]"])
def test_a_damaged_list_is_asked_for_again(home, text):
    (home / "cache").mkdir(parents=True)
    names._path().write_text(text)
    assert names.known() is None


def test_a_folder_that_cannot_be_written_loses_nothing(home):
    home.write_text("a file where the folder should be")
    names._keep(("timm:resnet18",))
    assert names.known() is None


def test_reading_the_names_imports_no_torch(home):
    code = "import sys, core.models.names as n; n.known(); sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0
