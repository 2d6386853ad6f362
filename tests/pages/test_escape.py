"""User strings come out as text in Markdown and in HTML."""

import html
import re
from dataclasses import replace

import pytest

from core.library import Library
from pages.ui.markup import esc
from tests.core.library.builders import SOURCE, headline, keep_history, small, small_bins
from tests.pages.seen import opened

HOSTILE = "**b** ![x](http://x/y) [c](javascript:1) <script> $a$ :red[r] :material/home: `q` ~~s~~"


def test_no_mark_of_any_markup_survives():
    coded = esc(HOSTILE)
    assert not re.search(r"[*!\[\]()<>$`~:/_]", re.sub(r"&#\d+;", "", coded))


def test_the_reader_sees_the_same_characters():
    assert html.unescape(esc(HOSTILE)).replace("\u2060", "") == HOSTILE


@pytest.mark.parametrize("text", [":red[x]", ":smile:", ":material/home:"])
def test_directives_and_shortcodes_do_not_form_again_after_decoding(text):
    assert not re.search(r":\w", html.unescape(esc(text)))


@pytest.mark.parametrize("text", ["a -- b", "a -> b", "a <= b", "a <-> b", "a --- b"])
def test_typographic_runs_do_not_form_again_after_decoding(text):
    assert not re.search(r"[-<=>]{2}", html.unescape(esc(text)))


@pytest.mark.parametrize("text", ["a\nb", "a\x00b", "a\u202eb", "a\u2067b", "a\r\n\x1bb"])
def test_control_and_direction_characters_become_one_space(text):
    assert esc(text) == "a b"


def test_ordinary_words_in_any_script_stay_readable():
    assert esc("Größe 肺 42") == "Größe 肺 42"


def test_no_list_of_choices_turns_the_direction_of_writing(home):
    library = Library(home, home / "none")
    keep_history(library, "a\u202eb", small_bins())
    named = replace(small(), class_names=("c\u202ed", "e", "f"))
    run = library.keep("g\u2066h", {"test": named}, source=SOURCE, summary={"test": headline()}).id
    for page, query in (("gamma", {}), ("reliability", {"run": run}), ("compare", {"runs": run})):
        test = opened(page, **query)
        boxes = [*test.selectbox, *test.multiselect]
        assert boxes
        assert not {"\u202e", "\u2066"} & set("".join("".join(box.options) for box in boxes)), page
