"""The list of runs: page by page where there are many."""

import pytest

from core.library import open_library
from core.library.manifest import RunSource
from pages.ui.runs import table
from tests.core.library.builders import small
from tests.pages.seen import opened


@pytest.fixture
def page(home, monkeypatch):
    monkeypatch.setattr(table, "LISTED", 20)
    library = open_library()
    for n in range(25 - len(library.rows())):
        source = RunSource("a.npz", "0" * 32)
        library.keep(f"own {n:02}", {"test": small()}, source=source, summary={})
    return opened()


def names(page):
    return list(page.dataframe[0].value["Run"])


def test_many_runs_are_listed_page_by_page_and_none_twice(page):
    first = names(page)
    (place,) = page.get("pagination")
    assert len(first) == 20
    second = place.set_value(2).run()
    assert len(names(second)) == 5
    assert len({*first, *names(second)}) == 25


def test_a_search_starts_at_the_first_page_again(page):
    (place,) = page.get("pagination")
    page = place.set_value(2).run()
    page.text_input(key="library.search").set_value("own").run()
    assert names(page)
    assert all(name.startswith("own") for name in names(page))
