"""Files to download: each is named for the runs that it is of, and nobody is given another's."""

import pytest
import streamlit as st
from streamlit.runtime.media_file_storage import MediaFileKind
from streamlit.runtime.memory_media_file_storage import MemoryMediaFileStorage

from core.library import SAMPLES, Library
from core.library import home as library_home
from pages.ui import streamlit_internals, visitor
from tests.core.library.builders import keep_history, small_bins
from tests.pages.seen import fine, opened

CSV = "text/csv"
LARGE = 3 * 2**20  # bytes; Streamlit samples what is larger than 1 MiB


@pytest.fixture
def offered(monkeypatch):
    """Return what is offered: how it is made and its name, by key."""
    found = {}

    def download_button(label, data, file_name, mime, *, key, **look):
        found[key] = data, file_name

    monkeypatch.setattr(st, "download_button", download_button)
    return found


@pytest.mark.usefixtures("home")
def test_two_histories_of_equal_length_are_downloaded_each_as_itself(offered):
    library, files = Library(library_home(), SAMPLES), {}
    for seed in (1, 2):
        run = keep_history(library, f"history {seed}", small_bins(seed=seed))
        fine(opened("gamma", run=run))
        make, name = offered["gamma.whole"]
        assert name == f"candor_gammas_{run}.csv"
        files[name] = make().encode()
    storage = MemoryMediaFileStorage("/media")
    ids = {
        name: storage.load_and_get_id(data, CSV, MediaFileKind.DOWNLOADABLE, name)
        for name, data in files.items()
    }
    assert len(set(ids.values())) == 2
    for name, data in files.items():
        assert storage.get_file(f"{ids[name]}.csv").content == data


@pytest.mark.parametrize("place", [100_000, LARGE // 4, LARGE - 100_000])
def test_files_that_differ_in_one_byte_anywhere_are_two(place):
    first = bytes(LARGE)
    second = first[:place] + b"1" + first[place + 1 :]
    storage = MemoryMediaFileStorage("/media")
    ids = [
        storage.load_and_get_id(data, CSV, MediaFileKind.DOWNLOADABLE, "candor_gammas.csv")
        for data in (first, second)
    ]
    assert storage.get_file(f"{ids[0]}.csv").content == first
    assert storage.get_file(f"{ids[1]}.csv").content == second
    assert streamlit_internals.file_id(first, CSV) != streamlit_internals.file_id(
        first, CSV, "other.csv"
    )


def test_a_file_of_many_runs_counts_them(monkeypatch):
    state = {}
    monkeypatch.setattr(st, "session_state", state)
    assert visitor.file_name("candor_ood.csv") == "candor_ood.csv"
    state[visitor.RUNS] = {"b2", "a1"}
    state[visitor.MADE_OF_DRAFTS] = {"draft-1"}
    assert visitor.file_name("candor_ood.csv") == "candor_ood_a1_b2_draft-1.csv"
    state[visitor.RUNS] = {"a1", "b2", "c3"}
    four = visitor.file_name("candor_ood.csv")
    assert four.startswith("candor_ood_4-runs-")
    state[visitor.RUNS] = {"a1", "b2", "c4"}
    assert visitor.file_name("candor_ood.csv") != four
