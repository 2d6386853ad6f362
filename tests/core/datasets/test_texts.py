"""Texts: read within limits, cleaned by a stated rule, split, and turned into numbers of words."""

import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path

import numpy as np
import pytest
import torch

from core.datasets.catalogue import TEXT_DATA
from core.datasets.texts import reading
from core.datasets.texts.corpus import (
    ANY,
    BOTH,
    DESKS,
    LEFT_OUT,
    N,
    read_corpus,
    texts_named,
    tickets,
)
from core.datasets.texts.dataset import load_texts, to_numbers
from core.datasets.texts.words import (
    MAIL,
    WORD,
    TextConfig,
    masked,
    numbers,
    read_vectors,
    shown,
    vocabulary,
    without_headers,
    without_quotes_and_footer,
    words,
)
from core.errors import AuditError

CPU = torch.device("cpu")
ROOT = Path(__file__).parents[3]
SHARED = Path(os.environ.get("CANDOR_SHARED", ROOT.parent / "shared")) / "data" / "text"
MESSAGE = """\
From: jo@example.org (Jo Doe)
Subject: Orbits
Lines: 9

In article <1993Apr1@example.org> sam@example.org writes:
> The moon is far.
JD> It is.
: Is it?

It is closer than the sun.
Note: twice as close as you think.

--
Jo Doe, 12 Long Road, +1 555 123 4567
"""


def refused(code, call):
    with pytest.raises(AuditError) as caught:
        call()
    assert caught.value.code == code
    first = caught.value.what.split()[0]
    assert first[0].isupper() or first[0].isdigit() or "." in first  # a name of a file stays
    assert caught.value.remedy
    return caught.value


def write(root, **texts):
    """Write a folder of classes: write(root, a=["one", "two"])."""
    for name, contents in texts.items():
        folder = root / name
        folder.mkdir(parents=True, exist_ok=True)
        for k, text in enumerate(contents):
            data = text if isinstance(text, bytes) else text.encode()
            (folder / f"{k:03}.txt").write_bytes(data)
    return root


@pytest.fixture
def three(tmp_path):
    """Ten texts of each of three classes; every text has a word of its own."""
    return write(
        tmp_path / "three",
        **{name: [f"{name} words here {name}{k}" for k in range(10)] for name in ("a", "b", "c")},
    )


# Cleaning ---------------------------------------------------------------------------------------


def test_headers_quotes_and_footer_are_stripped_by_the_stated_rule():
    body = without_headers(MESSAGE)
    assert body.startswith("In article")
    kept = "It is closer than the sun.\nNote: twice as close as you think."
    assert without_quotes_and_footer(body) == kept


@pytest.mark.parametrize(
    ("body", "kept"),
    [
        ("Only an address: a@b.example", "Only an address: a@b.example"),  # its one paragraph
        ("Words.\n\nSam\nsam@b.example", "Words."),
        ("Words.\n\nSam of the road", "Words.\n\nSam of the road"),
        ("Words.\n----\n" + "more\n" * 40, "Words.\n----\n" + "\n".join(["more"] * 40)),
        ("Words.\n----\nA table.\n----\nMore.\n-- \nSam", "Words.\n----\nA table.\n----\nMore."),
        ("| quoted\nmine\n> quoted", "mine"),
        ("Jo wrote:\n> x\nmine", "mine"),
        ("They said so.", "They said so."),
        ("> all of it\n> quoted", ""),
    ],
)
def test_what_is_a_quote_or_a_footer(body, kept):
    assert without_quotes_and_footer(body) == kept


def test_a_message_without_an_empty_line_is_kept():
    assert without_headers("no header here") == "no header here"


def test_addresses_and_telephone_numbers_are_masked():
    text = "Ask jo.doe+x@mail.example.org, or uunet!host!jo, or (555) 123-4567. Wow!Great, 1993."
    assert masked(text) == "Ask [address], or [address], or [number]. Wow!Great, 1993."


@pytest.mark.parametrize(
    ("unit", "start", "n_words"),
    [("a", "aaa", 0), ("a.", "a.a", 100_000), ("a!", "[address]", 0), ("x@x ", "[address] [", 0)],
)
def test_long_runs_are_looked_through_once_and_cut(unit, start, n_words):
    """A pattern that begins anew at each character would not come to an end here."""
    text = unit * 100_000
    assert len(words(text)) == n_words
    assert masked(text).startswith(start)
    assert len(masked("word " * 100_000)) == 100_000


# Words ------------------------------------------------------------------------------------------


def test_words_of_lines_are_those_of_the_whole_text():
    marks = (
        "jo@b.org",
        "Jo!uucp!sam",
        "it's",
        "so!",
        "@",
        "!",
        "a.b@",
        "\n",
        "\n\n",
        "\r\n",
        " ",
        ".",
    )
    rng = np.random.default_rng(0)
    for _ in range(300):
        text = "".join(marks[k] for k in rng.integers(0, len(marks), 12))
        assert words(text) == WORD.findall(MAIL.sub(" ", text.lower()))
    assert words("one\njo@b.org two!\nthree") == ["one", "two", "three"]


def test_words_are_lower_case_runs_without_addresses():
    text = "Don't mail JO@example.org, it's über_fast 2x! " + "y" * 41
    assert words(text) == ["don't", "mail", "it's", "über", "fast", "2x"]


def test_vocabulary_is_by_frequency_then_alphabet():
    texts = [["b", "a", "b"], ["c", "a", "d"]]
    assert vocabulary(texts, 3) == ("<padding>", "<unknown>", "a", "b", "c")


def test_last_words_are_those_that_the_vocabulary_has():
    known = ("<padding>", "<unknown>", "a", "b")
    found, ends = numbers([["a", "x", "b", "a", "x"], ["x"], ["b"]], known, 2, "last")
    assert (found.tolist(), ends.tolist()) == ([3, 2, 1, 3], [0, 2, 3, 4])


def test_numbers_cut_long_texts_and_mark_unknown_and_empty_ones():
    found, ends = numbers([["a", "x", "b"], [], ["b"]], ("<padding>", "<unknown>", "a", "b"), 2)
    assert found.tolist() == [2, 1, 1, 3]
    assert ends.tolist() == [0, 2, 3, 4]


# Vectors ----------------------------------------------------------------------------------------

KNOWN = ("<padding>", "<unknown>", "moon", "sun", "star")


def test_vectors_of_known_words_are_read_and_the_first_line_of_a_word_counts(tmp_path):
    path = tmp_path / "glove.txt"
    path.write_text("2 2\nmoon 1 2\nearth 5 x\nsun 3 -4e-1\nmoon 9 9\n")
    vectors, n_known = read_vectors(path, KNOWN, 2)
    assert n_known == 2
    assert vectors.dtype == np.float32
    np.testing.assert_array_equal(vectors[2:4], np.array([[1, 2], [3, -0.4]], np.float32))
    assert np.isnan(vectors[[0, 1, 4]]).all()


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("moon 1 2 3\n", "DTYPE"),
        ("sun 1 2\nmoon 1 x\n", "DTYPE"),
        ("moon 1 nan\n", "NONFINITE"),
        ("moon 1 1e39\n", "NONFINITE"),
        ("earth 1 2\n", "EMPTY"),
        ("", "EMPTY"),
        ("x" * 100_001 + " 1 2\n", "TABLE_SIZE"),
    ],
)
def test_other_files_of_vectors_are_refused(tmp_path, text, code):
    path = tmp_path / "glove.txt"
    path.write_text(text)
    refused(code, lambda: read_vectors(path, KNOWN, 2))


def test_a_missing_file_of_vectors_is_refused(tmp_path):
    refused("DATA_ROOT", lambda: read_vectors(tmp_path / "none.txt", KNOWN, 2))


# Folders ----------------------------------------------------------------------------------------


def test_a_folder_of_classes_is_split_by_the_seed(three):
    corpus = read_corpus("texts", three, seed=1)
    assert corpus.class_names == ("a", "b", "c")
    assert corpus.split.n == {"train": 24, "val": 3, "test": 3}
    assert corpus.row_ids[0] == "a/000.txt"
    for text, label in zip(corpus.texts, corpus.labels, strict=True):
        assert text.startswith(corpus.class_names[label])
    assert corpus.split.digest == read_corpus("texts", three, seed=1).split.digest
    assert corpus.split.digest != read_corpus("texts", three, seed=2).split.digest


def test_parts_of_a_folder_stay_as_they_are(tmp_path):
    for part, n in (("train", 20), ("test", 3)):
        write(tmp_path / part, a=[f"{part} {k}" for k in range(n)], b=["x"] * n)
    corpus = read_corpus("texts", tmp_path, seed=0)
    assert corpus.split.n == {"train": 36, "val": 4, "test": 6}
    assert all(name.startswith("test/") for name, _ in corpus.rows("test"))


def test_a_class_that_train_has_not_is_refused(tmp_path):
    write(tmp_path / "train", a=["x"], b=["y"])
    write(tmp_path / "test", a=["x"], c=["y"])
    assert "'c'" in refused("CLASSES", lambda: read_corpus("texts", tmp_path, seed=0)).what


def test_latin_1_is_read_and_said_and_binary_files_are_refused(three):
    (three / "a" / "000.txt").write_bytes("Café\r\nthere".encode("latin-1"))
    corpus = read_corpus("texts", three, seed=0)
    assert corpus.texts[0] == "Café\nthere"
    assert [n.code for n in corpus.notices] == ["ENCODING_GUESSED"]
    (three / "a" / "001.txt").write_bytes(b"\x89PNG\0\0")
    assert (
        "a/001.txt" in refused("FORMAT_UNKNOWN", lambda: read_corpus("texts", three, seed=0)).what
    )


def test_links_and_hidden_files_are_left_out(three, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("not for reading")
    (three / "a" / "link.txt").symlink_to(secret)
    (three / "a" / ".hidden").write_text("x")
    (three / "b" / "loop").symlink_to(three)
    corpus = read_corpus("texts", three, seed=0)
    assert len(corpus.texts) == 30
    assert [n.text for n in corpus.notices] == ["2 links to other files were left out."]


def test_texts_that_are_too_large_are_refused(three, monkeypatch):
    monkeypatch.setattr(reading, "MAX_TEXT_BYTES", 100)
    (three / "c" / "009.txt").write_text("x" * 101)
    assert "c/009.txt" in refused("TABLE_SIZE", lambda: read_corpus("texts", three, seed=0)).what
    (three / "c" / "009.txt").write_text("x" * 100)
    assert read_corpus("texts", three, seed=0)
    monkeypatch.setattr(reading, "MAX_BYTES", 300)
    refused("TABLE_SIZE", lambda: read_corpus("texts", three, seed=0))


def test_one_class_no_folder_and_no_path_are_refused(tmp_path):
    write(tmp_path / "one", a=["x", "y", "z"])
    refused("CLASSES", lambda: read_corpus("texts", tmp_path / "one", seed=0))
    refused("DATA_ROOT", lambda: read_corpus("texts", tmp_path / "none", seed=0))
    refused("DATA_ROOT", lambda: read_corpus("20newsgroups", None, seed=0))


def test_test_texts_that_are_trained_on_and_empty_ones_are_counted(three):
    for k in range(10):
        (three / "b" / f"{k:03}.txt").write_text("the same  words\n" if k else " ")
    corpus = read_corpus("texts", three, seed=0)
    said = {notice.code: notice.text for notice in corpus.notices}
    tested = [text for _, text in corpus.rows("test")]
    if "the same  words\n" in tested:
        assert said["OVERLAP"] == "1 of 3 test texts also are in the training part."
    assert said["TEXT_EMPTY"] == "1 of 30 texts are empty; they were kept."


# Tables -----------------------------------------------------------------------------------------


def table(path, lines):
    path.write_text("\n".join(lines) + "\n")
    return path


def test_a_csv_with_named_columns_is_read(tmp_path):
    lines = ["id,Label,Text"] + [f'{k},{k % 2 + 9},"one, {k}"' for k in range(40)]
    corpus = read_corpus("texts", table(tmp_path / "own.csv", lines), seed=0)
    assert corpus.class_names == ("9", "10")  # as numbers
    assert corpus.texts[3] == "one, 3"
    assert corpus.row_ids[3] == "own.csv:5"
    assert corpus.labels.tolist() == [0, 1] * 20


@pytest.mark.parametrize(
    ("lines", "code"),
    [
        (["a,b", "x,y"], "CSV_HEADER"),
        (["text,sentence,label", "x,y,z"], "CSV_HEADER"),
        (["text,label", "x"], "CSV_RAGGED"),
        (["text,label", "x, "], "CSV_RAGGED"),
        (["text,label", '"x,y'], "CSV_RAGGED"),
        ([""], "CSV_HEADER"),
        (["text,label", "x,y"], "CLASSES"),
    ],
)
def test_other_tables_are_refused(tmp_path, lines, code):
    path = table(tmp_path / "own.csv", lines)
    refused(code, lambda: read_corpus("texts", path, seed=0))


def test_a_table_that_is_not_utf_8_and_other_kinds_of_files_are_refused(tmp_path):
    path = tmp_path / "own.csv"
    path.write_bytes("text,label\nCafé,a\n".encode("latin-1"))
    refused("CSV_ENCODING", lambda: read_corpus("texts", path, seed=0))
    other = table(tmp_path / "own.xlsx", ["text,label"])
    refused("FORMAT_UNKNOWN", lambda: read_corpus("texts", other, seed=0))


def test_sst_2_keeps_its_own_parts_and_quotes_are_text(tmp_path):
    for name, n in (("train", 6), ("dev", 2), ("test", 4)):
        table(tmp_path / f"{name}.tsv", [f'a "b {name} {k}\t{k % 2}' for k in range(n)])
    corpus = read_corpus("sst2", tmp_path, seed=0)
    assert corpus.class_names == ("negative", "positive")
    assert corpus.split.n == {"train": 6, "val": 2, "test": 4}
    assert corpus.rows("val") == [("dev.tsv:1", 'a "b dev 0'), ("dev.tsv:2", 'a "b dev 1')]
    table(tmp_path / "test.tsv", ["index\tsentence", "0\twords without a label"])
    refused("LABEL_LIST", lambda: read_corpus("sst2", tmp_path, seed=0))


def test_ag_news_joins_title_and_text_and_passes_a_header_over(tmp_path):
    rows = [f'"{k % 4 + 1}","Title {k}","Text, {k}"' for k in range(20)]
    table(tmp_path / "train.csv", ["Class Index,Title,Description", *rows])
    table(tmp_path / "test.csv", rows[:4])
    corpus = read_corpus("ag_news", tmp_path, seed=0)
    assert corpus.class_names == ("World", "Sports", "Business", "Sci/Tech")
    assert corpus.split.n == {"train": 18, "val": 2, "test": 4}
    assert corpus.rows("test")[1] == ("test.csv:2", "Title 1\nText, 1")
    table(tmp_path / "test.csv", [*rows[:4], '"5","x","y"'])
    refused("LABEL_LIST", lambda: read_corpus("ag_news", tmp_path, seed=0))


# Held-out classes -------------------------------------------------------------------------------


def test_classes_left_out_are_in_no_part_and_unlabelled(three):
    settings = TextConfig(left_out=("b",))
    data = load_texts("texts", str(three), settings, seed=0)
    assert data.class_names == ("a", "c")
    assert data.left_out.row_ids == tuple(f"b/{k:03}.txt" for k in range(10))
    assert data.left_out.targets.tolist() == [-1] * 10
    for part in (data.train, data.val, data.test):
        assert not any(name.startswith("b/") for name in part.row_ids)
        assert set(part.targets.tolist()) == {0, 1}
    assert not any(word.startswith("b") for word in data.vocabulary)
    corpus = read_corpus("texts", three, seed=0, left_out=("b",))
    assert [name for name, _ in corpus.rows(LEFT_OUT)] == list(data.left_out.row_ids)


def test_classes_are_left_out_of_every_part_that_is_given(tmp_path):
    for part, n in (("train", 30), ("test", 6)):
        table(tmp_path / f"{part}.csv", ["label,text", *(f"{'abc'[k % 3]},t{k}" for k in range(n))])
    corpus = read_corpus("texts", tmp_path, seed=0, left_out=("b",))
    names = [name for name, _ in corpus.rows(LEFT_OUT)]
    assert [sum(name.startswith(part) for name in names) for part in ("train", "test")] == [10, 2]
    assert corpus.split.n == {"train": 18, "val": 2, "test": 4}


def test_unknown_classes_and_all_but_one_cannot_be_left_out(three):
    refused("SETTING", lambda: read_corpus("texts", three, seed=0, left_out=("z",)))
    refused("SETTING", lambda: read_corpus("texts", three, seed=0, left_out=("a", "b")))


# Shown ------------------------------------------------------------------------------------------


def test_a_text_is_shown_on_one_line_masked_before_it_is_cut():
    assert shown("One\n\ttwo\u202e three\x00.") == "One two three ."
    for n in range(386, 402):  # wherever the cut falls, no letter of the address is left
        text = shown("x" * n + " zoe@example.org said")
        assert "z" not in text
        assert text.endswith(" …")
        assert len(text) <= 402


def test_named_texts_are_those_of_the_corpus(three, tmp_path):
    corpus = read_corpus("texts", three, seed=0)
    names, texts = zip(*corpus.rows("test"), strict=True)
    assert texts_named("texts", three, names) == list(texts)
    lines = ["text,label", *(f"text {k},{'ab'[k % 2]}" for k in range(20))]
    path = table(tmp_path / "own.csv", lines)
    assert texts_named("texts", path, ["own.csv:4", "own.csv:2"]) == ["text 2", "text 0"]
    refused("DATA_ROOT", lambda: texts_named("texts", path, ["own.csv:99"]))


def test_no_file_outside_of_the_folder_is_shown(three, tmp_path):
    (tmp_path / "secret.txt").write_text("secret")
    (three / "a" / "link.txt").symlink_to(tmp_path / "secret.txt")
    outside = ("../secret.txt", str(tmp_path / "secret.txt"), "a/link.txt", "a", "gone.txt", "\0")
    for name in outside:
        refused("DATA_ROOT", lambda name=name: texts_named("texts", three, [name]))


# Numbers ----------------------------------------------------------------------------------------


def test_vocabulary_has_no_word_of_val_or_test_alone(three):
    corpus = read_corpus("texts", three, seed=0)
    data = to_numbers(corpus, n_words=1000, length=50)
    own = {name: set(words(text)) for name, text in zip(corpus.row_ids, corpus.texts, strict=True)}
    trained = set().union(*(own[name] for name in data.train.row_ids))
    assert set(data.vocabulary[2:]) == trained
    assert trained < set().union(*own.values())


def test_batches_are_padded_to_their_longest_text(tmp_path):
    write(tmp_path, a=["one", "one two three", "one two"], b=["one"] * 3)
    corpus = read_corpus("texts", tmp_path, seed=0)
    data = to_numbers(corpus, n_words=10, length=2)
    every = torch.arange(len(data.train))
    short, long = data.train.inputs([every[:1], every], CPU)
    assert short.dtype == torch.int64
    assert short.shape[1] <= 2
    for row, name in enumerate(data.train.row_ids):
        text = dict(zip(corpus.row_ids, corpus.texts, strict=True))[name]
        known = [w if w in data.vocabulary else "<unknown>" for w in words(text)[:2]]
        shown = [data.vocabulary[k] for k in long[row].tolist()]
        assert shown == known + ["<padding>"] * (long.shape[1] - len(known))


def test_digest_tells_words_labels_and_vectors(three, tmp_path):
    before = load_texts("texts", str(three), TextConfig(), seed=0)
    assert load_texts("texts", str(three), TextConfig(), seed=0).digest == before.digest
    path = tmp_path / "v.txt"
    path.write_text("words 1 2\n")
    settings = TextConfig(dimension=2, embeddings=str(path))
    with_vectors = load_texts("texts", str(three), settings, seed=0)
    assert with_vectors.digest != before.digest
    assert with_vectors.notices[-1].code == "WORDS_MISSING"
    (three / "a" / "000.txt").write_text("other words")
    assert load_texts("texts", str(three), TextConfig(), seed=0).digest != before.digest


def test_reading_texts_needs_no_torch():
    code = "import sys, core.datasets.texts.corpus; print('torch' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=600
    )
    assert done.stdout.strip() == "False"


# Real data --------------------------------------------------------------------------------------


def unpacked(name, into):
    """Unpack an archive of real texts, where there is one."""
    archive = SHARED / f"{name}.tar.xz"
    if not archive.is_file():
        pytest.skip(f"no {archive.name}")
    with tarfile.open(archive) as opened:
        opened.extractall(into, filter="data")
    return into / name


@pytest.mark.nightly
@pytest.mark.slow
def test_the_real_newsgroups_are_split_as_in_the_papers(tmp_path):
    corpus = read_corpus("20newsgroups", unpacked("20_newsgroups", tmp_path), seed=0)
    assert corpus.split.n == {"train": 15_098, "val": 900, "test": 3_999}
    assert len(corpus.class_names) == 20
    headers = ("From: ", "Path: ", "Message-ID: ")
    begun = [text for text in corpus.texts if text.startswith(headers)]
    assert len(begun) < 100  # forwarded messages have headers of their own
    assert sum("writes:" in text for text in corpus.texts) < 100  # and few announce otherwise


def test_the_real_sst_2_has_its_own_parts(tmp_path):
    corpus = read_corpus("sst2", unpacked("sst2", tmp_path), seed=0)
    assert corpus.split.n == {"train": 6_920, "val": 872, "test": 1_821}
    assert 0.49 < corpus.labels.mean() < 0.53


# Texts that the program writes --------------------------------------------------------------------


def test_tickets_are_the_same_messages_each_time_and_fit_their_desks():
    rows = tickets()
    assert len(rows) == N == sum(TEXT_DATA["tickets"].sizes.values())
    assert rows == tickets()
    assert len({row.row_id for row in rows}) == N
    assert {row.label for row in rows} == set(DESKS)
    for row in rows[:300]:
        own = [d for d, texts in DESKS.items() if any(_pattern(t).search(row.text) for t in texts)]
        assert own in ([], [row.label])  # sentences of one desk alone stand at no other


@pytest.mark.nightly
def test_some_tickets_fit_several_desks_and_none_holds_a_sentence_twice():
    every = [_pattern(text) for desk in DESKS.values() for text in desk]
    shared = sum(not any(p.search(row.text) for p in every) for row in tickets())
    assert 0.2 * N < shared < 0.5 * N
    several = [_pattern(text) for both in BOTH.values() for text in both]
    for pattern in (*every, *several, *map(_pattern, ANY)):
        assert max(len(pattern.findall(row.text)) for row in tickets()) == 1, pattern


def _pattern(sentence):
    return re.compile(re.sub(r"\\\{\w+\\\}", ".+?", re.escape(sentence)))


def test_tickets_need_no_path_and_are_opened_by_their_names():
    corpus = read_corpus("tickets", None, seed=0, left_out=("jobs",))
    assert {part: len(rows) for part, rows in corpus.split.rows.items()} == {
        "train": 1000,
        "val": 500,
        "test": 2500,
    }
    assert len(corpus.left_out) == 800
    assert "jobs" not in corpus.class_names
    (name, text), *_ = corpus.rows("test")
    assert texts_named("tickets", None, [name]) == [text]
    refused("DATA_ROOT", lambda: texts_named("tickets", None, ["ticket-9999"]))


def test_finsen_is_one_table_by_its_columns(tmp_path):
    """Columns and shares of the released loader: 70 % train, half of the others test."""
    classes = [" bonds" if k % 3 else "stocks " for k in range(41)]
    rows = [f'Rates,Chile,2023,{name},"Item {k}, up"' for k, name in enumerate(classes)]
    file = tmp_path / "finsen.csv"
    file.write_text("\n".join(["Title,Tag,Time,Category,Content", *rows]), "utf-8")
    corpus = read_corpus("finsen", file, seed=0)
    assert corpus.class_names == ("bonds", "stocks")
    assert corpus.split.n == {"train": 28, "val": 6, "test": 7}  # 13 of 41 are held out
    assert (corpus.texts[4], corpus.row_ids[4]) == ("Item 4, up", "finsen.csv:6")
    assert corpus.labels[:3].tolist() == [1, 0, 0]
    assert read_corpus("finsen", tmp_path, seed=0).texts == corpus.texts
    (tmp_path / "other.csv").write_text("a")
    refused("DATA_ROOT", lambda: read_corpus("finsen", tmp_path, seed=0))
