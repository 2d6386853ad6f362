"""The import offers columns for rows that belong together, and keeps the choice."""

import gzip
from concurrent.futures import wait as wait_for
from functools import partial

import numpy as np
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from core.library.recipes import load_recipe
from pages.ui import session
from tests.pages.seen import fine, opened, said, until

pytestmark = pytest.mark.usefixtures("unsealed")
N = 60


@pytest.fixture
def page(home, monkeypatch):
    monkeypatch.setattr(session, "_ROOMS", {})
    st.cache_resource.clear()
    yield partial(opened, "library")
    st.cache_resource.clear()  # as the end of the session: its drafts go


def table(**columns) -> bytes:
    rng = np.random.default_rng(4)
    labels = rng.integers(0, 2, N)
    p = np.clip(0.3 + 0.4 * labels + rng.normal(0, 0.2, N), 0.01, 0.99).round(4)
    columns = {**columns, "probability": p, "label": labels}
    lines = [",".join(map(str, row)) for row in zip(*columns.values(), strict=True)]
    return "\n".join([",".join(columns), *lines]).encode()


def films(**columns) -> bytes:
    image = [f"{k // 3:05d}_{k % 3}.png" for k in range(N)]
    return table(image=image, patient=[f"p{k // 3}" for k in range(N)], **columns)


def drop(test: AppTest, data: bytes) -> AppTest:
    (uploader,) = test.file_uploader
    uploader.set_value([("films.csv", data, "text/csv")])
    return until(fine(test.run()), lambda: "Read as" in said(test))


def select(test: AppTest, label: str):
    return next((box for box in test.selectbox if box.label == label), None)


def press(test: AppTest, label: str) -> AppTest:
    (button,) = [one for one in test.button if one.label == label]
    return fine(button.click().run())


def test_nothing_is_preselected_and_help_says_what_a_choice_does(page):
    test = drop(page(), films(weight=np.arange(N) % 3))
    group, weight = (
        select(test, label) for label in ("Rows that belong together", "Rows count as")
    )
    assert group.options == [
        "None", "patient", "From the names of the rows, before their last number",
    ]  # fmt: skip
    assert (group.value, weight.options, weight.value) == ("", ["One each", "weight"], "")
    assert "Films of one patient are not independent" in group.help
    assert (
        "20 patients; group their images below, or intervals are too narrow where they are"
        in said(test)
    )
    assert "--group" not in said(test)


def test_groups_are_asked_beside_another_question_and_not_again(page):
    rng = np.random.default_rng(4)
    p = rng.random(N)
    labels = np.where(rng.random(N) < p, "b", "a")
    rows = [f"p{k // 3},{100 * p[k]:.0f},{labels[k]}" for k in range(N)]
    test = page()
    test.file_uploader[0].set_value(
        [("x.csv", "\n".join(["patient,score,label", *rows]).encode(), "text/csv")]
    )
    test = until(fine(test.run()), lambda: "more than one way" in said(test))
    assert "Each reading below answers these together" in said(test)
    assert "2. Values in score run from" in said(test)
    fine(select(test, "Rows that belong together").set_value("patient").run())
    picked = [button for button in test.button if button.label == "Read it this way"][1]
    test = until(fine(picked.click().run()), lambda: "groups by patient" in said(test))
    rows = draft().result.splits["test"]
    assert (rows.groups.name, rows.class_names) == ("patient", ("a", "b"))


def test_another_epoch_can_be_chosen_where_one_was(page):
    rows = [f"{k},{e},{(k + e) / (N + 4):.4f},{k % 2}" for e in (1, 2, 3) for k in range(N)]
    test = page()
    data = "\n".join(["id,epoch,prob,label", *rows]).encode()
    test.file_uploader[0].set_value([("x.csv", data, "text/csv")])
    test = until(fine(test.run()), lambda: "Epoch 3 (the last)" in said(test))
    picked = next(button for button in test.button if button.label == "Read it this way")
    until(fine(picked.click().run()), lambda: "1 draft" in said(test))
    press(test.switch_page("pages/reliability.py").run(), "Read it another way")
    test.switch_page("pages/library.py").run()
    box = select(test, "Epoch or setting")
    assert (box.options, box.value) == (["3", "2", "1"], "3")
    fine(box.set_value("1").run())
    first = round(1 / (N + 4), 4)
    until(press(test, "Read it this way"), lambda: draft().result.splits["test"].scores[0] == first)


def test_a_file_without_such_columns_shows_no_choice(page):
    test = drop(page(), table())
    assert select(test, "Rows that belong together") is None
    assert select(test, "Rows count as") is None


def test_a_choice_is_read_audited_and_kept_for_such_files(page, home):
    test = drop(page(), films())
    select(test, "Rows that belong together").set_value("patient").run()
    form = reading_of(test).inspection.fingerprint
    test = until(press(test, "Read it this way"), lambda: "20 groups by patient" in said(test))
    groups = draft().result.splits["test"].groups
    assert (groups.name, groups.count) == ("patient", 20)
    assert load_recipe(home, form)["group"] == "patient"
    test = drop(page(), films())  # and opens its verdict at once
    assert "as chosen before" in said(test)
    test = press(test.switch_page("pages/reliability.py").run(), "Read it another way")
    test = test.switch_page("pages/library.py").run()
    assert select(test, "Rows that belong together").value == "patient"
    test = press(test, "Forget that choice")
    until(test, lambda: "20 groups by patient" not in said(test) and "Read as" in said(test))
    assert select(test, "Rows that belong together").value == ""


def add(test: AppTest, name: str, data: bytes, of: str = "belongs to") -> AppTest:
    (uploader,) = [one for one in test.file_uploader if of in one.label]
    uploader.set_value((name, data, "application/octet-stream"))
    return until(fine(test.run()), lambda: "Read as" in said(test))


def test_a_table_of_its_own_offers_its_columns(page, home):
    test = drop(page(), films())
    names = [f"{k // 3:05d}_{k % 3}.png" for k in range(N)]
    lines = [f"{name},{k},ward {k // 12}" for k, name in enumerate(names)]
    packed = gzip.compress("\n".join(["image,age,ward", *lines]).encode())
    test = add(test, "wards.csv.gz", packed)
    group = select(test, "Rows that belong together")
    assert (group.options, group.value) == (["None", "ward"], "ward")  # the only one
    form = reading_of(test).plan.form
    test = until(press(test, "Read it this way"), lambda: "5 groups by ward" in said(test))
    assert load_recipe(home, form) is None


def test_tables_of_groups_and_of_weights_are_read_together(page):
    test = drop(page(), films())
    names = [f"{k // 3:05d}_{k % 3}.png" for k in range(N)]
    wards = "\n".join(["image,ward", *(f"{n},ward {k // 12}" for k, n in enumerate(names))])
    counts = "\n".join(["image,line,share", *(f"{n},{k},{k % 3}" for k, n in enumerate(names))])
    test = add(test, "wards.csv", wards.encode())
    test = add(test, "counts.csv", counts.encode(), "counts as")
    assert select(test, "Rows count as").options == ["One each", "share"]
    assert "Rows that belong together: a column of wards.csv" in said(test)
    assert "Rows count as: a column of counts.csv" in said(test)
    select(test, "Rows that belong together").set_value("ward").run()
    select(test, "Rows count as").set_value("share").run()
    test = until(press(test, "Read it this way"), lambda: "5 groups by ward" in said(test))
    rows = draft().result.splits["test"]
    assert (rows.groups.name, rows.weights.name) == ("ward", "share")
    assert rows.weights.of_row.tolist() == [k % 3 for k in range(N)]


@pytest.mark.nightly
def test_a_weight_of_a_table_is_not_kept_for_files_of_this_form(page, home):
    test = drop(page(), films())
    names = [f"{k // 3:05d}_{k % 3}.png" for k in range(N)]
    counts = "\n".join(["image,share", *(f"{n},{k % 3}" for k, n in enumerate(names))])
    test = add(test, "counts.csv", counts.encode(), "counts as")
    select(test, "Rows count as").set_value("share").run()
    select(test, "Rows that belong together").set_value("patient").run()
    form = reading_of(test).plan.form
    test = until(press(test, "Read it this way"), lambda: "20 groups by patient" in said(test))
    kept = load_recipe(home, form)
    assert (kept["group"], kept.get("weight")) == ("patient", None)


@pytest.mark.nightly
def test_scores_and_labels_swapped_keep_their_tables(page):
    test = drop(page(), films())
    names = [f"{k // 3:05d}_{k % 3}.png" for k in range(N)]
    wards = "\n".join(["image,ward", *(f"{n},ward {k // 12}" for k, n in enumerate(names))])
    test = add(test, "wards.csv", wards.encode())
    truth = "\n".join(["image,label", *(f"{n},{k % 2}" for k, n in enumerate(names))])
    test = add(test, "truth.csv", truth.encode(), "Labels by row order")
    (button,) = [one for one in test.button if one.label == "Swap scores and labels"]
    button.click().run()
    reading = reading_of(test)
    wait_for([reading.future])
    upload = reading.plan.upload
    assert (upload.scores.name, upload.labels.name) == ("truth.csv", "films.csv")
    assert {name: file.name for name, file in upload.tables.items()} == {"group": "wards.csv"}
    assert all(path.exists() for path in upload.paths)


@pytest.mark.nightly
def test_a_table_that_lacks_rows_is_refused_with_a_way_back(page):
    test = drop(page(), films())
    test = add(test, "t.csv", b"image,ward\n00000_0.png,a\n00000_1.png,a\nx,b\n")
    select(test, "Rows that belong together").set_value("ward").run()
    (button,) = [one for one in test.button if one.label == "Read it this way"]
    test = until(button.click().run(), lambda: "are not in the table" in said(test))
    test = press(test, "Read the rows as independent")
    until(test, lambda: "Read as" in said(test))
    assert select(test, "Rows that belong together").value == ""


@pytest.mark.nightly
def test_a_column_that_cannot_be_a_weight_is_offered_and_refused_with_its_row(page):
    test = drop(page(), films())
    names = [f"{k // 3:05d}_{k % 3}.png" for k in range(N)]
    lines = [
        f"{name},{k + 1},{1203 + 37 * k},{-1.5 if k == 7 else 1}" for k, name in enumerate(names)
    ]
    lines[9] += ","  # an empty cell makes a column of text
    lines = [line if k == 9 else f"{line},2" for k, line in enumerate(lines)]
    table = "\n".join(["image,line,survey_weight,w,gap", *lines]).encode()
    test = add(test, "w.csv", table, "counts as")
    assert select(test, "Rows count as").options == ["One each", "survey_weight", "w", "gap"]
    select(test, "Rows count as").set_value("w").run()
    (button,) = [one for one in test.button if one.label == "Read it this way"]
    test = until(button.click().run(), lambda: "row 7" in said(test))
    assert "has no weight in w: '-1.5'" in said(test)
    test = press(test, "Read the rows as independent")
    until(test, lambda: "Read as" in said(test))


def test_a_table_of_which_nothing_can_be_chosen_is_said(page):
    test = drop(page(), films())
    words = "\n".join(["image,city", *(f"{k // 3:05d}_{k % 3}.png,x" for k in range(N))])
    test = add(test, "w.csv", words.encode(), "counts as")
    assert select(test, "Rows count as") is None
    assert "table of weights can be chosen: no column holds numbers" in said(test)


@pytest.mark.nightly
def test_a_table_that_cannot_be_read_costs_neither_the_file_nor_what_was_chosen(page):
    test = drop(page(), films())
    select(test, "Rows that belong together").set_value("patient").run()
    (uploader,) = [one for one in test.file_uploader if "counts as" in one.label]
    uploader.set_value(("broken.csv", b"\x00\x01\x02", "application/octet-stream"))
    test = until(test.run(), lambda: "Read without" in labels_of(test))
    (button,) = [one for one in test.button if one.label.startswith("Read without broken")]
    until(button.click().run(), lambda: "20 groups by patient" in said(test))


def draft():
    """Return the draft that was read last."""
    return [draft for room in session._ROOMS.values() for draft in room.drafts.values()][-1]


def reading_of(test: AppTest):
    (reading,) = test.session_state["app.reading"]
    return reading


def labels_of(test: AppTest) -> str:
    return " ".join(button.label for button in test.button)


def test_words_of_confidence_and_the_column_of_answers_are_asked_for(page):
    rng = np.random.default_rng(4)
    gold = rng.integers(0, 3, N)
    first, second = (np.where(rng.random(N) < p, gold, 2 - gold) for p in (0.8, 0.4))
    columns = {"first_answer": first, "second_answer": second, "gold": gold}
    columns = {k: np.array(list("abc"))[v] for k, v in columns.items()}
    columns["confidence"] = np.where(rng.random(N) < 0.5, "sure", "not sure")
    lines = [",".join(map(str, row)) for row in zip(*columns.values(), strict=True)]
    test = page()
    (uploader,) = test.file_uploader
    data = "\n".join([",".join(columns), *lines]).encode()
    uploader.set_value([("x.csv", data, "text/csv")])
    test = until(fine(test.run()), lambda: "states words" in said(test))
    labels = [one.label for one in test.number_input]
    assert labels == ["“not sure” stands for", "“sure” stands for"]
    for one, number in zip(test.number_input, (0.5, 0.9), strict=True):
        one.set_value(number)
    select(test, "Answers are in").set_value("second_answer")
    test = press(fine(test.run()), "Read it this way")
    test = until(test, lambda: "Read as" in said(test) or draft() is not None)
    kept = draft().result.splits["test"]
    assert set(kept.scores.tolist()) == {0.5, 0.9}
    names = np.array(kept.class_names)
    assert names[kept.predicted].tolist() == columns["second_answer"].tolist()
