"""Texts as BERT reads them: in pieces of words, by the vocabulary of its folder; no torch."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import Any, Final

import numpy as np

from core.arrays import Int
from core.disk import JsonError, parse_json
from core.errors import Refused

START, END, UNKNOWN, PADDING = "[CLS]", "[SEP]", "[UNK]", "[PAD]"
WEIGHTS: Final = "model.safetensors"
CONFIG: Final = "config.json"
PICKLED: Final = "pytorch_model.bin"
UNPICKLE: Final = (
    "save the model with a recent transformers, or run `python assets/convert_checkpoint.py "
    f"{PICKLED} --out {WEIGHTS}` there if you trust that file"
)
INSIDE: Final = "##"  # begins a piece inside a word
LONGEST: Final = 100  # characters of a word; longer ones are UNKNOWN
MOST_BYTES: Final = 64 * 2**20  # of a vocabulary or a file of settings
PUNCTUATION: Final = re.compile(r"[!-/:-@\[-`{-~]")  # in ASCII, more than Unicode calls so
CHINESE: Final = re.compile(
    "[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002a6df\U0002a700-\U0002ceaf"
    "\U0002f800-\U0002fa1f]"
)


class _Spacing(dict[int, str | None]):
    """What `str.translate` puts in the place of each character: spaces around words of one."""

    def __init__(self, *, accents: bool) -> None:
        super().__init__()
        self._left_out = ("Cc", "Cf", "Co") if accents else ("Cc", "Cf", "Co", "Mn")

    def __missing__(self, code: int) -> str | None:
        char = chr(code)
        category = unicodedata.category(char)
        self[code] = char
        if char in "\t\n\r" or category[0] == "Z":
            self[code] = " "
        elif code == 0xFFFD or category in self._left_out:
            self[code] = None
        elif category[0] == "P" or PUNCTUATION.match(char) or CHINESE.match(char):
            self[code] = f" {char} "
        return self[code]


@dataclass(frozen=True)
class WordPieces:
    """How a BERT cuts texts.

    References
    ----------
    Devlin et al. 2019, section 3; Wu et al. 2016, section 4.1. As `transformers` cuts texts, but
    that the name of a special piece in a text is text.
    """

    pieces: tuple[str, ...]  # V of them: a piece's number is its place; PADDING's is 0
    lower: bool  # texts are put in lower case, without accents

    def numbers(self, texts: Iterable[str], length: int) -> tuple[Int, Int]:
        """Return the numbers of the first pieces of texts, one text after another.

        Parameters
        ----------
        texts : iterable of N str
        length : int
            Most pieces of a text, START and END included.

        Returns
        -------
        numbers : (M,) int64
        ends : (N + 1,) int64
            Text k is ``numbers[ends[k]:ends[k + 1]]``, START to END.
        """
        number = {piece: k for k, piece in enumerate(self.pieces)}
        spacing = _Spacing(accents=not self.lower)
        cut: dict[str, list[int]] = {}
        out: list[int] = []
        ends = [0]
        for text in texts:
            # Accents come apart from their letters, and are then left out as marks.
            plain = unicodedata.normalize("NFD", text) if self.lower else text
            spaced = plain.translate(spacing)
            read = [number[START]]
            for word in (spaced.lower() if self.lower else spaced).split():
                # Nothing behind what is read is cut, in texts of any length.
                if len(read) >= length:
                    break
                if word not in cut:
                    cut[word] = _cut(word, number)
                read += cut[word]
            # END counts in the length, also where the text was cut.
            out += [*read[: length - 1], number[END]]
            ends.append(len(out))
        return np.array(out, np.int64), np.array(ends, np.int64)


def _cut(word: str, number: Mapping[str, int]) -> list[int]:
    """Return the pieces of a word, each the longest that fits; UNKNOWN's where none does."""
    cut: list[int] = []
    start = 0 if len(word) <= LONGEST else len(word)
    while start < len(word):
        # Greedy, the longest piece first; a rest that no piece fits makes the whole word unknown.
        for end in range(len(word), start, -1):
            piece = (INSIDE if start else "") + word[start:end]
            if piece in number:
                cut.append(number[piece])
                start = end
                break
        else:
            return [number[UNKNOWN]]
    return cut or [number[UNKNOWN]]


def read_pieces(folder: Path) -> WordPieces:
    """Return how the BERT of a folder in Hugging Face's layout cuts texts.

    From vocab.txt and tokenizer_config.json, else from tokenizer.json.

    Raises Refused DATA_ROOT: no such folder, or no vocabulary in it. FORMAT_UNKNOWN: another kind
    of tokenizer, or a vocabulary without the special pieces.
    """
    path = folder / "vocab.txt"
    if _is_file(path):
        pieces = [line.removesuffix("\r") for line in _text(path).split("\n")]
        pieces = pieces[:-1] if pieces[-1] == "" else pieces
        path = folder / "tokenizer_config.json"
        stated = read_object(path) if _is_file(path) else {}
        kind, words = stated.get("tokenizer_class"), stated.get("word_tokenizer_type", "basic")
        basic = stated.get("do_basic_tokenize", True) is True and words == "basic"
        if not basic or kind not in (None, "BertTokenizer", "BertTokenizerFast"):
            raise _other(path, f"is of another tokenizer than BERT's: {kind!r:.40}")
        lower = stated.get("do_lower_case", True)
    else:
        path = folder / "tokenizer.json"
        whole = read_object(path)
        model, stated = (_part(whole, name) for name in ("model", "normalizer"))
        vocabulary = _part(model, "vocab")
        pieces = sorted(vocabulary, key=lambda piece: str(vocabulary[piece]).zfill(9))
        kinds = model.get("type"), stated.get("type"), _part(whole, "pre_tokenizer").get("type")
        # A piece's number is its place in the matrix of vectors: a gap would shift all that follow.
        in_order = [vocabulary[piece] for piece in pieces] == list(range(len(pieces)))
        if kinds != ("WordPiece", "BertNormalizer", "BertPreTokenizer") or not in_order:
            raise _other(path, f"is no tokenizer of BERT: {kinds[0]!r:.40}")
        lower = stated.get("lowercase", True)
    chinese = stated.get("tokenize_chinese_chars", stated.get("handle_chinese_chars", True))
    # A tokenizer that cuts otherwise than the model was trained with gives other answers, silently.
    if chinese is not True or stated.get("strip_accents") not in (None, lower):
        raise _other(path, "treats accents or Chinese characters otherwise than BERT")
    lacking = {START, END, UNKNOWN, PADDING}.difference(pieces)
    if lacking or pieces[0] != PADDING or len(set(pieces)) != len(pieces):
        why = f"lacks {min(lacking)}" if lacking else f"repeats a piece, or has no {PADDING} first"
        raise _other(folder, f"has a vocabulary that {why}")
    return WordPieces(tuple(pieces), bool(lower))


def _is_file(path: Path) -> bool:
    """Whether there is such a file, and one may look."""
    with suppress(OSError):
        return path.is_file()
    return False


@contextmanager
def opened(path: Path) -> Iterator[BufferedReader]:
    """Open a file of a BERT's folder; Refused DATA_ROOT where it cannot be read."""
    try:
        with path.open("rb") as file:
            yield file
    except OSError as error:
        what = f"{path.parent.name}, the folder of BERT, has no {path.name} that can be read"
        remedy = f"name with text.bert a folder with config.json, vocab.txt and {WEIGHTS}"
        if path.name == WEIGHTS and _is_file(path.with_name(PICKLED)):
            what, remedy = f"{what}, but {PICKLED}, which is a program", UNPICKLE
        raise Refused("DATA_ROOT", what, remedy) from error


def _text(path: Path) -> str:
    with opened(path) as file:
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise _other(path, f"has more than {MOST_BYTES // 2**20} MiB")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _other(path, "is not UTF-8") from error


def read_object(path: Path) -> dict[str, Any]:  # Any: plain JSON
    """Return a JSON object of a BERT's folder; Refused as of `read_pieces`."""
    try:
        return _part({"": parse_json(_text(path))}, "")
    except JsonError as error:
        raise _other(path, str(error)) from error


def _part(whole: Mapping[str, Any], name: str) -> dict[str, Any]:
    part = whole.get(name)
    return part if isinstance(part, dict) else {}


def _other(path: Path, what: str) -> Refused:
    remedy = "give a folder of BERT as transformers saves it, such as bert-base-uncased"
    return Refused("FORMAT_UNKNOWN", f"{path.name} {what}", remedy)
