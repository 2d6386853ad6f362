"""Pieces of words: by hand how texts are cut, and which folders are refused."""

import json
from itertools import pairwise

import pytest

from core.datasets.texts.pieces import WordPieces, read_pieces
from core.errors import Refused
from tests.bert_folder import PIECES, make

CASED = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "É", "e", "C", "##at", "c", "##a")


def cut(texts, length=24, *, pieces=PIECES, lower=True):
    numbers, ends = WordPieces(pieces, lower=lower).numbers(texts, length)
    return [[pieces[k] for k in numbers[a:b]] for a, b in pairwise(ends)]


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("", []),
        ("Cats!", ["cat", "##s", "!"]),  # the longest piece first
        ("dogcat", ["dog", "##c", "##a", "##t"]),  # cat is no piece inside a word
        ("café DÔG", ["c", "##a", "##f", "##e", "dog"]),
        ("cat\u200b\x07s\u00a0dog\t\ncat", ["cat", "##s", "dog", "cat"]),
        ("cat中dog", ["cat", "中", "dog"]),
        ("cat.dog", ["cat", "[UNK]", "dog"]),
        ("catz dog", ["[UNK]", "dog"]),  # all of a word, or nothing
        ("a" * 100 + " " + "a" * 101, ["a", *["##a"] * 99, "[UNK]"]),
        ("[SEP]", ["[UNK]", "s", "##e", "##p", "[UNK]"]),
    ],
)
def test_texts_are_cut_as_by_hand(text, pieces):
    assert cut([text], 200) == [["[CLS]", *pieces, "[SEP]"]]


def test_a_long_text_keeps_its_ends_and_leaves_no_trace_in_the_next():
    assert cut(["cats cats", "dog"], 5) == [
        ["[CLS]", "cat", "##s", "cat", "[SEP]"],
        ["[CLS]", "dog", "[SEP]"],
    ]


def test_case_and_accents_stay_where_the_folder_says_so():
    assert cut(["É Cat e"], pieces=CASED, lower=False) == [
        ["[CLS]", "É", "C", "##at", "e", "[SEP]"]
    ]
    assert cut(["É Cat e"], pieces=CASED) == [["[CLS]", "e", "c", "##at", "e", "[SEP]"]]


def _tokenizer_json(**changes):
    vocab = {piece: k for k, piece in reversed(list(enumerate(PIECES)))}
    return {
        "model": {"type": "WordPiece", "vocab": vocab},
        "normalizer": {"type": "BertNormalizer", "lowercase": False, "strip_accents": None},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        **changes,
    }


def test_both_layouts_of_a_folder_are_read(tmp_path):
    folder = make(tmp_path / "bert")
    assert read_pieces(folder) == WordPieces(PIECES, lower=True)
    (folder / "tokenizer_config.json").write_text('{"do_lower_case": false}')
    assert read_pieces(folder) == WordPieces(PIECES, lower=False)
    (folder / "vocab.txt").unlink()
    (folder / "tokenizer.json").write_text(json.dumps(_tokenizer_json()))
    assert read_pieces(folder) == WordPieces(PIECES, lower=False)


@pytest.mark.parametrize(
    ("files", "what"),
    [
        ({}, "has no tokenizer.json that can be read"),
        ({"vocab.txt": "[PAD]\n[UNK]\n[CLS]\ncat\n"}, r"lacks \[SEP\]"),
        ({"vocab.txt": "cat\n[PAD]\n[UNK]\n[CLS]\n[SEP]\n"}, r"no \[PAD\] first"),
        ({"vocab.txt": "\n".join([*PIECES, "cat"])}, "repeats a piece"),
        ({"vocab.txt": "[PAD]\n", "tokenizer_config.json": "{"}, "tokenizer_config.json"),
        ({"tokenizer.json": json.dumps(_tokenizer_json(model={"type": "BPE"}))}, "'BPE'"),
        (
            {"vocab.txt": "\n".join(PIECES), "tokenizer_config.json": '{"strip_accents": false}'},
            "treats accents",
        ),
        (
            {
                "vocab.txt": "\n".join(PIECES),
                "tokenizer_config.json": '{"tokenizer_class": "BertJapaneseTokenizer"}',
            },
            "another tokenizer than BERT's: 'BertJapaneseTokenizer'",
        ),
    ],
)
def test_other_folders_are_refused(tmp_path, files, what):
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(Refused, match=what):
        read_pieces(tmp_path)
