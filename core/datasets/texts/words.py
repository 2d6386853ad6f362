"""Texts to words that may be shown, words to numbers, and vectors of words; no torch."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, BinaryIO, Final

import numpy as np
import numpy.typing as npt

from core.arrays import Int
from core.errors import Refused
from core.fields import Field, is_path, is_text

MAX_LENGTH: Final = 100_000
MAX_NAME: Final = 300
FIRST, LAST = "first", "last"  # words of a text that are read


@dataclass(frozen=True)
class TextConfig:
    """How texts become numbers of words; of data of texts alone."""

    vocabulary: Annotated[
        int,
        Field(
            "Vocabulary",
            "Most words, the most frequent of the training part.",
            low=1,
            high=1_000_000,
            step=1000,
        ),
    ] = 20_000
    length: Annotated[
        int,
        Field("Words read", "Of each text; the rest is left out.", low=1, high=MAX_LENGTH, step=50),
    ] = 400
    test_length: Annotated[
        int | None,
        Field(
            "Words read in tests",
            "Of validation and test texts; empty for as many.",
            low=1,
            high=MAX_LENGTH,
            step=50,
        ),
    ] = None
    bert: Annotated[
        str | None,
        Field(
            "Folder of BERT",
            "With config.json, vocab.txt and model.safetensors, on the machine that trains.",
            allows=is_path,
            remedy="give the path of a folder, or null",
        ),
    ] = None
    taken: Annotated[
        str,
        Field(
            "Which words",
            "Last leaves out words that the vocabulary lacks, of short texts too; as released.",
            choices={FIRST: "First words", LAST: "Last words"},
        ),
    ] = FIRST
    dimension: Annotated[
        int, Field("Vector size", "Numbers for each word.", low=1, high=2_000, step=10)
    ] = 100
    embeddings: Annotated[
        str | None,
        Field(
            "Word vectors",
            "A text file such as GloVe's, on the machine that trains. Empty to draw them.",
            allows=is_path,
            remedy="give the path of a file, or null",
        ),
    ] = None
    fixed: Annotated[bool, Field("Keep vectors", "Vectors of the file are not trained.")] = False
    strip: Annotated[
        str,
        Field(
            "Stripped",
            "Of messages of 20 Newsgroups.",
            choices={"all": "Headers, quotes, footers", "headers": "Headers"},
        ),
    ] = "all"
    left_out: Annotated[
        tuple[str, ...],
        Field(
            "Classes left out",
            "Never trained on, and kept as an out-of-distribution split. Divide them by commas.",
            allows=lambda names: (
                len(set(names)) == len(names)
                and all(name.strip() and len(name) <= MAX_NAME and is_text(name) for name in names)
            ),
            remedy="give names of classes, each once",
        ),
    ] = ()


# Words and numbers.
FOOTER_LINES: Final = 15  # at the end of a message, in which a rule begins a signature
SIGNATURE_LINES: Final = 6  # of a last paragraph that holds an address
RULE: Final = re.compile(r"\s*[-_=*~+#/|]{2,}\s*")
QUOTED: Final = re.compile(r"\s*(?:(?:[A-Za-z]{1,4}\s?)?>|[|:}])")
ANNOUNCED: Final = re.compile(
    r"\s*in article\s*<|.*\b(?:writes|wrote|says|said)\s*(?:\.{3}|:)\s*$", re.IGNORECASE
)
# Each begins where a run of its characters does, so that a long run is looked through once.
MAIL: Final = re.compile(
    r"(?<![\w.+%=!/-])[\w.+%=!/-]+@[\w-]+(?:\.[\w-]+)*|(?<![\w.-])[\w.-]+(?:![\w.-]+){2,}"
)
NUMBER: Final = re.compile(r"(?<![\w.])[+(]?\d[\d ()./-]{6,30}\d(?!\w)")
# Spaces, and what hides text or turns its direction.
BLANK: Final = re.compile(r"[\s\x00-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u206f]+")
SHOWN: Final = 400  # characters of a text on a page
LONGEST_MASKED: Final = 100_000  # characters that are looked through for addresses


def without_headers(message: str) -> str:
    """Return a message less its headers: all up to the first empty line."""
    head, gap, body = message.partition("\n\n")
    return body if gap else head


def without_quotes_and_footer(body: str) -> str:
    """Return the body of a message less quotes and signature.

    Returns
    -------
    str
        Less lines that begin with ``>``, ``|``, ``:`` or ``}``, or with ``>`` after up to four
        letters as in ``JD>``; less lines that announce a quote, because they begin with "In
        article <" or end in "writes:" or "wrote:"; less what follows the last line of two or more
        marks such as ``-`` or ``=`` among the last FOOTER_LINES, and a last paragraph of at most
        SIGNATURE_LINES lines that holds an address, unless it is the only one.
    """
    lines = [line for line in body.split("\n") if not (QUOTED.match(line) or ANNOUNCED.match(line))]
    while lines and not lines[-1].strip():
        lines.pop()
    start = max(0, len(lines) - FOOTER_LINES)
    # A rule of dashes near the end begins a signature; further up it divides the text.
    rules = [k for k in range(start, len(lines)) if RULE.fullmatch(lines[k])]
    if rules:
        lines = lines[: rules[-1]]
    while lines and not lines[-1].strip():
        lines.pop()
    # The last paragraph, if it is short and holds an address, and is not all there is.
    begin = next((k + 1 for k in range(len(lines) - 1, -1, -1) if not lines[k].strip()), 0)
    last = lines[begin:]
    if begin and len(last) <= SIGNATURE_LINES and any(MAIL.search(line) for line in last):
        lines = lines[:begin]
    return "\n".join(lines).strip()


def masked(text: str) -> str:
    """Return a text with mail addresses and telephone numbers masked, for people to read.

    Only the first LONGEST_MASKED characters come back.
    """
    return NUMBER.sub("[number]", MAIL.sub("[address]", text[:LONGEST_MASKED]))


def shown(text: str) -> str:
    """Return a text as a page shows it: on one line, addresses masked, cut to SHOWN characters."""
    line = BLANK.sub(" ", masked(text)).strip()
    return line if len(line) <= SHOWN else f"{line[:SHOWN].rstrip()} …"


WORD: Final = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
LONGEST: Final = 40  # characters of a word; longer ones, of encoded files, are left out
PADDING, UNKNOWN = "<padding>", "<unknown>"  # the numbers 0 and 1
LINE_BYTES: Final = 100_000  # of a file of vectors
Vectors = npt.NDArray[np.float32]


def words(text: str) -> list[str]:
    """Return the words of a text in lower case: runs of letters and digits, with apostrophes.

    Mail addresses are no words, nor is what is longer than LONGEST characters.
    """
    lines = text.lower().split("\n")  # no address has a line break, and few lines an address
    plain = "\n".join(MAIL.sub(" ", line) if "@" in line or "!" in line else line for line in lines)
    return [word for word in WORD.findall(plain) if len(word) <= LONGEST]


def vocabulary(texts: Iterable[Sequence[str]], size: int) -> tuple[str, ...]:
    """Return the most frequent words of some texts, ties in alphabetical order.

    `texts`: the words of each text, of the training part alone; `size`: most words.

    Returns
    -------
    tuple of str
        PADDING and UNKNOWN, then the words. A word's number is its place.
    """
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(text)
    ordered = sorted(counts, key=lambda word: (-counts[word], word))
    return (PADDING, UNKNOWN, *ordered[:size])


def numbers(
    texts: Iterable[Sequence[str]], known: Sequence[str], length: int, taken: str = FIRST
) -> tuple[Int, Int]:
    """Return the numbers of some words of texts, one text after another.

    Parameters
    ----------
    texts : iterable of N sequences of str
    known : sequence of str
        As `vocabulary` gives it.
    length : int
        Most words of a text; the rest is left out.
    taken : str
        ``first`` words, or the ``last`` ones that are known.

    Returns
    -------
    numbers : (M,) int64
        UNKNOWN's for a word that is not known, and for a text without words.
    ends : (N + 1,) int64
        Text k is ``numbers[ends[k]:ends[k + 1]]``, at least one number.
    """
    number = {word: k for k, word in enumerate(known)}
    unknown = number[UNKNOWN]
    out: list[int] = []
    ends = [0]
    for text in texts:
        # Known words alone, then the last of them: as the released code reads.
        if taken == LAST:
            words_read = [number[word] for word in text if word in number][-length:]
        else:
            words_read = [number.get(word, unknown) for word in text[:length]]
        out += words_read or [unknown]
        ends.append(len(out))
    return np.array(out, np.int64), np.array(ends, np.int64)


def read_vectors(path: Path, known: Sequence[str], dimension: int) -> tuple[Vectors, int]:
    """Return the vectors that a text file such as GloVe's gives some words.

    Parameters
    ----------
    path : Path
        A word and its numbers a line, divided by spaces. A first line of two whole numbers, as
        word2vec writes it, is passed over.
    known : sequence of V str
    dimension : int
        Numbers that each word should have.

    Returns
    -------
    vectors : (V, dimension) float32
        Rows of NaN for words that the file does not have.
    n_known : int

    Raises
    ------
    Refused
        DATA_ROOT: no such file. TABLE_SIZE, DTYPE, NONFINITE: a line that is too long, has another
        number of numbers, or something else. EMPTY: it has none of the words.
    """
    # As bytes: files of vectors hold words that are no valid UTF-8.
    number = {word.encode(): k for k, word in enumerate(known)}
    vectors = np.full((len(known), dimension), np.nan, np.float32)
    seen: set[int] = set()
    try:
        with path.expanduser().open("rb") as file:
            _fill(file, path.name, number, vectors, seen)
    except OSError as error:
        raise Refused(
            "DATA_ROOT", f"There is no file of word vectors {path.name}", "check text.embeddings"
        ) from error
    if not seen:
        what = f"{path.name} has none of the {len(known) - 2:,} words of the training part"
        raise Refused("EMPTY", what, "use vectors of the texts' language, in lower case")
    return vectors, len(seen)


def _fill(
    file: BinaryIO, name: str, number: Mapping[bytes, int], vectors: Vectors, seen: set[int]
) -> None:
    """Read the lines of a file into the rows of its words; the first line of a word counts."""
    for n, line in enumerate(iter(lambda: file.readline(LINE_BYTES + 1), b""), 1):
        if len(line) > LINE_BYTES:
            raise _line_refused("TABLE_SIZE", f"{name} has more than {LINE_BYTES:,} bytes", n)
        word, _, rest = line.rstrip(b"\r\n ").partition(b" ")
        if n == 1 and word.isdigit() and rest.isdigit():
            continue
        row = number.get(word)
        # Of two million lines only those of known words are parsed.
        if row is None or row in seen:
            continue
        dimension = vectors.shape[1]
        values = rest.split()
        if len(values) != dimension:
            what = f"{name} gives this word {len(values)} numbers, text.dimension is {dimension}"
            raise _line_refused("DTYPE", what, n)
        try:
            numbers_ = [float(value) for value in values]
        except ValueError:
            raise _line_refused("DTYPE", f"{name} holds a cell that is no number", n) from None
        if not all(math.isfinite(value) and abs(value) < 1e6 for value in numbers_):
            raise _line_refused("NONFINITE", f"{name} holds a number that is not finite", n)
        vectors[row] = numbers_
        seen.add(row)


def _line_refused(code: str, what: str, line: int) -> Refused:
    remedy = "give a text file of a word and its numbers a line, as GloVe's are"
    return Refused(code, what, remedy, f"line {line}")
