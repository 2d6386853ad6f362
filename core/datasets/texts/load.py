"""Texts by name as a training takes them; imports torch."""

from dataclasses import replace
from pathlib import Path

from core.arrays import digest
from core.codes import NoticeCode
from core.datasets.texts.corpus import TextCorpus, read_corpus
from core.datasets.texts.dataset import TextDataset, to_numbers
from core.datasets.texts.settings import TextConfig
from core.datasets.texts.words import read_vectors
from core.errors import Notice


def corpus_of(name: str, root: str | None, settings: TextConfig, *, seed: int) -> TextCorpus:
    """Return the texts of a data set themselves; arguments and errors as of `load_texts`."""
    return read_corpus(
        name,
        None if root is None else Path(root),
        seed=seed,
        left_out=settings.left_out,
        strip=settings.strip,
    )


def load_texts(name: str, root: str | None, settings: TextConfig, *, seed: int) -> TextDataset:
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

    Raises
    ------
    Refused
        What is missing, damaged, too large, or not laid out as it should be.
    UsageError
        SETTING: classes to leave out that are not there.
    """
    corpus = corpus_of(name, root, settings, seed=seed)
    data = to_numbers(corpus, n_words=settings.vocabulary, length=settings.length)
    if settings.embeddings is None:
        return data
    path = Path(settings.embeddings)
    vectors, n_found = read_vectors(path, data.vocabulary, settings.dimension)
    n_words = len(data.vocabulary) - 2
    text = f"{path.name} has vectors of {n_found:,} of {n_words:,} words; the others are drawn."
    return replace(
        data,
        vectors=vectors,
        digest=digest(data.digest, vectors),
        notices=(*data.notices, Notice(NoticeCode.WORDS_MISSING, text)),
    )
