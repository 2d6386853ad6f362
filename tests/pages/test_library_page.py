"""The list of runs: page by page where there are many."""

import numpy as np
import pytest

from core.library import SAMPLES, Library, open_library
from core.library.manifest import RunSource
from core.predictions import Predictions, ScoreKind, Task
from core.readers.sandbox import read as sandbox
from pages.ui.runs import table
from tests.core.library.builders import small
from tests.pages.seen import fine, html, opened


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


@pytest.fixture
def served(tmp_path, monkeypatch):
    """A folder that pages may read, with scores and their labels in it."""
    folder = tmp_path / "served"
    folder.mkdir()
    monkeypatch.setenv("CANDOR_IMPORT", str(folder))
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(60, 3)).astype(np.float32) * 3
    np.save(folder / "logits.npy", logits)
    np.save(folder / "labels.npy", (logits + rng.gumbel(size=logits.shape)).argmax(axis=1))
    return folder


def read_paths(test, scores, labels=""):
    test.text_input(key="import.path").set_value(str(scores))
    test.text_input(key="import.path.1").set_value(str(labels))
    return test.button(key="import.read").click().run()


def test_a_file_of_the_server_is_read_as_a_copy_and_stays(home, served, monkeypatch):
    asked, read = [], sandbox.read

    def noted(*paths, **options):
        asked.append(options["in_place"])
        return read(*paths, **options)

    monkeypatch.setattr(sandbox, "read", noted)
    test = fine(read_paths(opened(), served / "logits.npy", served / "labels.npy"))
    assert "logits.npy <small>60 rows, 3 columns of logits" in html(test)
    assert (served / "logits.npy").exists()
    assert (served / "labels.npy").exists()
    assert asked
    assert not any(asked)  # others may shorten it while it is mapped


def test_a_folder_of_shards_is_read_as_one_file(home, served):
    whole = {name: np.load(served / f"{name}.npy") for name in ("logits", "labels")}
    (served / "shards").mkdir()
    for name, array in whole.items():
        for i in range(3):
            np.save(served / "shards" / f"{name}-{i}.npy", array[20 * i : 20 * i + 20])
    test = fine(read_paths(opened(), served / "shards"))
    assert "shards <small>60 rows, 3 columns of logits" in html(test)
    assert len(list((served / "shards").iterdir())) == 6


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("../secret.npy", "FOLDER"),
        ("link.npy", "FOLDER"),
        ("none.npy", "FILE"),
        (".", "FOLDER"),  # a shard in it leads out
        ("empty", "EMPTY"),
        ("a" * 300, "FILE"),
    ],
)
def test_other_paths_are_refused_in_words(home, served, name, code):
    np.save(served.parent / "secret.npy", np.zeros((9, 3)))
    (served / "link.npy").symlink_to(served.parent / "secret.npy")
    (served / "empty").mkdir()
    test = read_paths(opened(), served / name)
    assert code in test.error[0].value


def test_without_folders_there_is_no_way_by_path(home, monkeypatch):
    monkeypatch.delenv("CANDOR_IMPORT", raising=False)
    assert not [field for field in opened().text_input if field.key == "import.path"]


def test_tags_of_several_runs_are_added_and_those_of_one_are_set(home, monkeypatch):
    library, ids = Library(home, SAMPLES), []
    for k, tags in enumerate((("old",), ("older", "new"))):
        rows = Predictions(
            Task.BINARY, ScoreKind.PROBABILITIES, np.full(40, 0.5), np.arange(40) % 2
        )
        source = RunSource(f"{k}.npz", f"{k}" * 32)
        kept = library.keep(f"run {k}", {"test": rows}, source=source, summary={}, tags=tags)
        ids.append(kept.id)
    ticked = list(ids)
    monkeypatch.setattr(table, "draw", lambda rows: [row for row in rows if row.id in ticked])

    def tag(button, text):
        test = opened()
        next(f for f in test.text_input if f.label.startswith("Tags, sep")).set_value(text)
        next(b for b in test.button if b.label == button).click().run()

    tag("Add tags", "new, knee")
    assert [set(library.get(run).tags) for run in ids] == [
        {"old", "new", "knee"},
        {"older", "new", "knee"},
    ]
    del ticked[1:]
    tag("Set tags", "knee")
    assert library.get(ids[0]).tags == ("knee",)
