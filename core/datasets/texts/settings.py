"""How texts become numbers of words: settings of a training; no torch."""

from dataclasses import dataclass
from typing import Annotated, Final

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
