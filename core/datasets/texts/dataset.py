"""Texts as numbers of words, split, as a training takes them; imports torch."""

from collections.abc import Iterator, Sequence
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
from core.datasets.texts.corpus import TextCorpus, read_corpus
from core.datasets.texts.settings import FIRST, TextConfig
from core.datasets.texts.trees import JOIN, tokens
from core.datasets.texts.words import Vectors, numbers, read_vectors, vocabulary, words
from core.errors import Notice, UsageError
from core.predictions import Task

PADDING: Final = 0


@dataclass(frozen=True, eq=False)
class TextSplit(LabelledRows):
    """The texts of one split, as numbers of their words.

    Attributes
    ----------
    numbers : (M,) int64 tensor on the CPU
        Of all texts, one after another.
    ends : (N + 1,) int64 array
        Text k is ``numbers[ends[k]:ends[k + 1]]``.
    """

    numbers: Tensor
    ends: Int

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
    """Texts, split.

    Attributes
    ----------
    name : str
        Key of TEXT_DATA.
    class_names : tuple of K str
    n_outputs : int
        K, or more where the training part has classes behind them that no answer is.
    train, val, test : TextSplit
    left_out : TextSplit or None
        Texts of classes that are held out, unlabelled; None where none are.
    vocabulary : tuple of V str
        A word's number is its place; of the training part alone.
    vectors : (V, dimension) float32 array, or None
        Of a file of word vectors, NaN for words that it does not have.
    digest : str
        Of numbers, labels, vocabulary and vectors.
    notices : tuple of Notice
    split : SplitRecord
    task : Task
    """

    name: str
    class_names: tuple[str, ...]
    n_outputs: int
    train: TextSplit
    val: TextSplit
    test: TextSplit
    left_out: TextSplit | None
    vocabulary: tuple[str, ...]
    vectors: Vectors | None
    digest: str
    notices: tuple[Notice, ...]
    split: SplitRecord
    task: Task = Task.MULTICLASS


def to_numbers(
    corpus: TextCorpus, *, n_words: int, length: int, taken: str = FIRST, trees: bool = False
) -> TextDataset:
    """Return a corpus as numbers of words.

    Parameters
    ----------
    corpus : TextCorpus
    n_words : int
        Most words of the vocabulary, which the training part alone decides.
    length : int
        Words of a text that are read.
    taken : str
        Which, as of `numbers`.
    trees : bool
        Keep the trees: words and, after each two phrases, JOIN, which is number 2.

    Raises
    ------
    UsageError
        SETTING: a tree is longer than what is read, or the last words are.
    """
    split = tokens if trees else words
    read = [split(text) for text in corpus.texts]
    trained = (read[row] for row in corpus.split.rows["train"].tolist())
    if trees:
        longest = max(map(len, read))
        if longest > length or taken != FIRST:
            what = f"Trees have up to {longest} words and joins, and are read whole"
            raise UsageError("SETTING", what, f"set text.length to {longest} or more, taken first")
        trained = ([word for word in text if word != JOIN] for text in trained)
    known = vocabulary(trained, n_words)
    if trees:
        known = (*known[:2], JOIN, *known[2:])
    parts = {}
    for part in SPLIT_NAMES:
        rows = corpus.split.rows[part]
        ids = tuple(corpus.row_ids[row] for row in rows.tolist())
        texts = [read[row] for row in rows.tolist()]
        parts[part] = _part(texts, corpus.labels[rows], ids, known, length, taken)
    left_out = None
    if corpus.left_out:
        texts = [split(row.text) for row in corpus.left_out]
        ids = tuple(row.row_id for row in corpus.left_out)
        left_out = _part(texts, np.full(len(ids), -1, np.int64), ids, known, length, taken)
    every = [*parts.values(), *([left_out] if left_out else [])]
    arrays = [array for part in every for array in (part.numbers.numpy(), part.ends)]
    return TextDataset(
        name=corpus.name,
        class_names=corpus.class_names,
        n_outputs=len(corpus.class_names) + len(corpus.more_classes),
        train=parts["train"],
        val=parts["val"],
        test=parts["test"],
        left_out=left_out,
        vocabulary=known,
        vectors=None,
        digest=digest(*arrays, corpus.labels, "\n".join(known)),
        notices=corpus.notices,
        split=corpus.split,
    )


def _part(
    texts: Sequence[Sequence[str]],
    labels: Int,
    row_ids: tuple[str, ...],
    known: Sequence[str],
    length: int,
    taken: str,
) -> TextSplit:
    found, ends = numbers(texts, known, length, taken)
    return TextSplit(torch.from_numpy(labels), row_ids, torch.from_numpy(found), ends)


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
    settings : TextConfig
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
    data = to_numbers(
        corpus,
        n_words=settings.vocabulary,
        length=settings.length,
        taken=settings.taken,
        trees=trees,
    )
    if settings.embeddings is None:
        return data
    path = Path(settings.embeddings)
    vectors, n_found = read_vectors(path, data.vocabulary, settings.dimension)
    n_words = len(data.vocabulary) - 2 - trees
    others = "0" if settings.fixed else "drawn"
    text = f"{path.name} has vectors of {n_found:,} of {n_words:,} words; the others are {others}."
    return replace(
        data,
        vectors=vectors,
        digest=digest(data.digest, vectors),
        notices=(*data.notices, Notice(NoticeCode.WORDS_MISSING, text)),
    )
