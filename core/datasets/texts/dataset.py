"""Texts as numbers of words, split, as a training takes them; imports torch."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from core.arrays import Int, digest
from core.codes import NoticeCode
from core.datasets.base import LabelledRows
from core.datasets.splits import SPLIT_NAMES, SplitRecord
from core.datasets.texts.corpus import LEFT_OUT, TextCorpus, read_corpus
from core.datasets.texts.pieces import CONFIG, WEIGHTS, opened, read_object, read_pieces
from core.datasets.texts.reading import JOIN, tokens
from core.datasets.texts.words import (
    FIRST,
    TextConfig,
    Vectors,
    numbers,
    read_vectors,
    vocabulary,
    words,
)
from core.errors import Notice, UsageError
from core.predictions import Task

PADDING: Final = 0


@dataclass(frozen=True, eq=False)
class TextSplit(LabelledRows):
    """The texts of one split, as numbers of their words."""

    numbers: Tensor  # (M,) int64 tensor on the CPU: of all texts, one after another
    ends: Int  # (N + 1,) int64 array: text k is ``numbers[ends[k]:ends[k + 1]]``

    def inputs(self, batches: Sequence[Tensor], device: torch.device) -> Iterator[Tensor]:
        """Yield for each batch of rows (n, length) int64, as long as its longest text.

        Shorter texts end in PADDING.
        """
        for batch in batches:
            rows = batch.tolist()
            texts = [self.numbers[self.ends[row] : self.ends[row + 1]] for row in rows]
            yield pad_sequence(texts, batch_first=True, padding_value=PADDING).to(device)


@dataclass(frozen=True, eq=False, kw_only=True)
class TextDataset:
    """Texts, split."""

    name: str  # key of TEXT_DATA
    class_names: tuple[str, ...]  # K of them
    n_outputs: int  # K, or more where the training part has classes behind them that no answer is
    train: TextSplit
    val: TextSplit
    test: TextSplit
    # Texts of classes that are held out, unlabelled; None where none are
    left_out: TextSplit | None
    # A word's number is its place; of the training part alone
    vocabulary: tuple[str, ...]
    # (V, dimension) float32 array, or None: of a file of word vectors, NaN for words that it does
    # not have
    vectors: Vectors | None
    digest: str  # of numbers, labels, vocabulary and vectors
    notices: tuple[Notice, ...]
    split: SplitRecord
    task: Task = Task.MULTICLASS


def to_numbers(
    corpus: TextCorpus,
    *,
    n_words: int,
    length: int,
    taken: str = FIRST,
    test_length: int | None = None,
    trees: bool = False,
) -> TextDataset:
    """Return a corpus as numbers of words.

    Parameters
    ----------
    n_words : int
        Most words of the vocabulary, which the training part alone decides.
    length : int
        Words of a text that are read.
    taken : str
        Which, as of `numbers`.
    test_length : int, optional
        Words of a text outside the training part that are read; None for as many.
    trees : bool
        Keep the trees: words and, after each two phrases, JOIN, which is number 2.

    Raises
    ------
    UsageError
        SETTING: a tree is longer than what is read, or the last words are.
    """
    split = tokens if trees else words
    read = {part: [split(text) for text in of] for part, of in _texts(corpus).items()}
    lengths = dict.fromkeys(read, test_length or length) | {"train": length}
    trained = read["train"]
    if trees:
        longest = max(len(text) for of in read.values() for text in of)
        if longest > min(lengths.values()) or taken != FIRST:
            what = f"Trees have up to {longest} words and joins, and are read whole"
            raise UsageError("SETTING", what, f"set text.length to {longest} or more, taken first")
        trained = [[word for word in text if word != JOIN] for text in trained]
    # From the training part alone: a word that only the test part
    # has must be unknown, as it will be in use.
    known = vocabulary(trained, n_words)
    if trees:
        # JOIN takes a fixed place behind padding and unknown, whatever words there are.
        known = (*known[:2], JOIN, *known[2:])
    encoded = {part: numbers(of, known, lengths[part], taken) for part, of in read.items()}
    return _dataset(corpus, known, encoded)


def _texts(corpus: TextCorpus) -> dict[str, list[str]]:
    """Return the texts of each part, and of LEFT_OUT where there are any."""
    parts = (*SPLIT_NAMES, *([LEFT_OUT] if corpus.left_out else []))
    return {part: [text for _, text in corpus.rows(part)] for part in parts}


def _dataset(
    corpus: TextCorpus, known: tuple[str, ...], encoded: Mapping[str, tuple[Int, Int]]
) -> TextDataset:
    """Return a corpus with the numbers and ends of the texts of each part."""
    parts = {}
    for part, (of_words, ends) in encoded.items():
        ids = tuple(row_id for row_id, _ in corpus.rows(part))
        unlabelled = np.full(len(ids), -1, np.int64)
        labels = unlabelled if part == LEFT_OUT else corpus.labels[corpus.split.rows[part]]
        parts[part] = TextSplit(torch.from_numpy(labels), ids, torch.from_numpy(of_words), ends)
    arrays = [array for part in parts.values() for array in (part.numbers.numpy(), part.ends)]
    return TextDataset(
        name=corpus.name,
        class_names=corpus.class_names,
        n_outputs=len(corpus.class_names) + len(corpus.more_classes),
        train=parts["train"],
        val=parts["val"],
        test=parts["test"],
        left_out=parts.get(LEFT_OUT),
        vocabulary=known,
        vectors=None,
        digest=digest(*arrays, corpus.labels, "\n".join(known)),
        notices=corpus.notices,
        split=corpus.split,
    )


def corpus_of(name: str, root: str | None, settings: TextConfig, *, seed: int) -> TextCorpus:
    """Return the texts of a data set themselves; arguments and errors as of `load_texts`."""
    return read_corpus(
        name,
        None if root is None else Path(root),
        seed=seed,
        left_out=settings.left_out,
        strip=settings.strip,
    )


def load_texts(
    name: str, root: str | None, settings: TextConfig, *, seed: int, trees: bool = False
) -> TextDataset:
    """Return a data set of texts as numbers of words.

    Parameters
    ----------
    name : str
        Key of `TEXT_DATA`.
    root : str or None
        Folder or file; nothing is downloaded.
    seed : int
        Of the split.
    trees : bool
        As of `to_numbers`.

    Raises
    ------
    Refused
        What is missing, damaged, too large, or not laid out as it should be.
    UsageError
        SETTING: classes to leave out that are not there, or trees that are cut.
    """
    corpus = corpus_of(name, root, settings, seed=seed)
    if settings.bert is not None:
        return _of_bert(corpus, Path(settings.bert).expanduser(), settings)
    data = to_numbers(
        corpus,
        n_words=settings.vocabulary,
        length=settings.length,
        taken=settings.taken,
        test_length=settings.test_length,
        trees=trees,
    )
    if settings.embeddings is None:
        return data
    path = Path(settings.embeddings)
    vectors, n_known = read_vectors(path, data.vocabulary, settings.dimension)
    n_words = len(data.vocabulary) - 2 - trees
    others = "0" if settings.fixed else "drawn"
    text = f"{path.name} has vectors of {n_known:,} of {n_words:,} words; the others are {others}."
    # Vectors decide what is learned, so they count in the digest of the data.
    return replace(
        data,
        vectors=vectors,
        digest=digest(data.digest, vectors),
        notices=(*data.notices, Notice(NoticeCode.WORDS_MISSING, text)),
    )


def _of_bert(corpus: TextCorpus, folder: Path, settings: TextConfig) -> TextDataset:
    """Return a corpus as numbers of the pieces of words of a BERT; its weights count as data."""
    cut, length = read_pieces(folder), settings.length
    lengths = dict.fromkeys(_texts(corpus), settings.test_length or length) | {"train": length}
    encoded = {part: cut.numbers(of, lengths[part]) for part, of in _texts(corpus).items()}
    data = _dataset(corpus, cut.pieces, encoded)
    with opened(folder / WEIGHTS) as file:
        of_weights = hashlib.file_digest(file, "sha256").hexdigest()
    text = (
        f"Training began with all of BERT that {WEIGHTS} in {folder.name} holds (SHA-256 begins "
        f"{of_weights[:12]}); the last layer, head.weight and head.bias, was new."
    )
    # Weights to begin with count as data: another file of them is another training.
    return replace(
        data,
        digest=digest(data.digest, of_weights, repr(sorted(read_object(folder / CONFIG).items()))),
        notices=(*data.notices, Notice(NoticeCode.PRETRAINED, text)),
    )
