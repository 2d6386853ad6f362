"""Texts by name: read, cleaned, labelled and split; no torch."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from core.arrays import Int
from core.codes import NoticeCode
from core.datasets import splits
from core.datasets.catalogue import TEXT_DATA
from core.datasets.splits import SPLIT_NAMES, SplitRecord
from core.datasets.texts.reading import (
    DELIMITERS,
    LAYOUT,
    MAX_CLASSES,
    NEGATIVE,
    NEUTRAL,
    POSITIVE,
    Budget,
    TextRow,
    class_folders,
    known_table,
    labelled_table,
    named_text,
    phrases,
)
from core.datasets.texts.words import without_headers, without_quotes_and_footer
from core.errors import Notice, Refused, UsageError

N: Final = 4_800
SEED: Final = 1912
OWN: Final = 0.4  # share of sentences that fit one desk alone; half of the others fit two

SLOTS: Final[Mapping[str, tuple[str, ...]]] = {
    "item": (
        "kettle", "desk lamp", "toaster", "backpack", "blender", "radio", "drill", "tent",
        "coffee grinder", "office chair", "vacuum cleaner", "bicycle pump", "camera", "heater",
    ),
    "day": ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"),
    "city": ("Leeds", "Cork", "Bristol", "Dundee", "Cardiff", "Galway", "Norwich", "Belfast"),
    "n": ("two", "three", "four", "five", "six", "ten"),
    "colour": ("blue", "black", "green", "red", "white", "grey"),
}  # fmt: skip
DESKS: Final[Mapping[str, tuple[str, ...]]] = {
    "account": (
        "I cannot log in since you changed the page.",
        "The link to reset my password has expired.",
        "How do I change the e-mail of my account?",
        "Please delete my account and all that you store about me.",
        "Your site says that my user name is taken, and it is mine.",
        "I get the newsletter {n} times a week and cannot switch it off.",
        "The code that you text me never arrives.",
    ),
    "billing": (
        "The invoice for the {item} adds the tax twice.",
        "My card was charged {n} times for one {item}.",
        "The voucher from {day} was not taken off the total.",
        "I need the invoice with the name of our company in {city}.",
        "Why is there a fee on my statement?",
        "I paid on {day} and still got a reminder.",
        "Can I pay for the {item} in {n} instalments?",
    ),
    "delivery": (
        "The parcel has been in {city} since {day}.",
        "The driver left the {item} with a neighbour I do not know.",
        "Tracking has not moved for {n} days.",
        "Can you send the {item} to my office in {city} instead?",
        "Nobody rang, and the note says that I was out.",
        "I have waited in for the van on {day} for the second time.",
        "Do you deliver the {item} on a Saturday?",
    ),
    "jobs": (
        "I would like to apply for the post in your warehouse in {city}.",
        "My CV and {n} references are attached.",
        "Do you take trainees in autumn?",
        "I have worked behind a counter for {n} years.",
        "Is the post of a buyer in {city} still open?",
        "When will you let applicants know?",
        "I could start on a {day} and work part time.",
    ),
    "repairs": (
        "The {item} hums but does not start.",
        "After {n} weeks the switch of the {item} came off.",
        "Where do I get a spare lid for the {colour} {item}?",
        "The {item} gets hot and smells of burning.",
        "Is a crack in the housing covered by the guarantee?",
        "Your workshop in {city} has had my {item} since {day}.",
        "The manual does not say how to change the fuse.",
    ),
    "returns": (
        "I ordered a {colour} {item} and want to give it back.",
        "How long do I have to return the {item}?",
        "The label for sending it back does not print.",
        "It is not what the picture shows, so I do not want it.",
        "I would rather swap the {colour} one for a {item}.",
        "You have had my return since {day}, and I have heard nothing.",
        "I bought {n} and need only one.",
    ),
}  # fmt: skip
BOTH: Final[Mapping[tuple[str, str], tuple[str, ...]]] = {
    ("account", "billing"): (
        "My old card is still stored on your page.",
        "The address on the order is not mine any more.",
        "I cannot see the order from {day} in my list.",
    ),
    ("billing", "returns"): (
        "I have not had my money back for the {item}.",
        "The refund is less than I paid.",
        "You took off the postage, is that right?",
    ),
    ("delivery", "returns"): (
        "The box was open, and the {item} was not in it.",
        "I got a {colour} {item}, and that is somebody else's.",
        "One of the {n} pieces is missing.",
    ),
    ("repairs", "returns"): (
        "The {item} was broken when I unpacked it.",
        "It worked for {n} days and then no more.",
        "Do I send the {item} to you or to {city}?",
    ),
    ("delivery", "jobs"): ("Do you still look for drivers around {city}?",),
}
ANY: Final = (
    "I wrote to you on {day} already.",
    "It is about the {item}.",
    "I have asked {n} times, so please ring me.",
    "I was told that you could help.",
    "I bought it in your shop in {city}.",
    "What do you need from me?",
    "It is rather urgent.",
)
OPENINGS: Final = ("Hello,", "Good morning,", "Dear team,", "Hi,", "To whom it may concern,", "")
CLOSINGS: Final = ("Thank you.", "Kind regards", "Please help.", "Best wishes", "Thanks", "")


def tickets() -> list[TextRow]:
    """Return N messages, as many for each desk, always the same ones."""
    rng = np.random.default_rng(SEED)
    desks = tuple(DESKS)
    return [
        TextRow(_message(rng, desks[k % len(desks)]), desks[k % len(desks)], f"ticket-{k:04}")
        for k in range(N)
    ]


def _message(rng: np.random.Generator, desk: str) -> str:
    """Return a message for a desk: one to three sentences between an opening and a closing."""
    n = int(rng.choice((1, 2, 3), p=(0.35, 0.45, 0.2)))
    chosen: dict[str, str] = {}  # each sentence once
    while len(chosen) < n:
        # A sentence that fits the desk: it alone, one other as well, or any.
        draw = float(rng.random())
        if draw < OWN:
            sentence = _drawn(rng, DESKS[desk])
        else:
            shared = [text for desks, texts in BOTH.items() if desk in desks for text in texts]
            sentence = _drawn(rng, shared if draw < (1 + OWN) / 2 else ANY)
        # A sentence with a word in each of its slots
        filled = sentence.format(**{slot: _drawn(rng, words) for slot, words in SLOTS.items()})
        chosen.setdefault(sentence, filled)
    parts = (_drawn(rng, OPENINGS), *chosen.values(), _drawn(rng, CLOSINGS))
    return " ".join(part for part in parts if part)


def _drawn(rng: np.random.Generator, texts: tuple[str, ...] | list[str]) -> str:
    return texts[int(rng.integers(len(texts)))]


LEFT_OUT: Final = "left-out"  # the split of classes that are held out
NEWSGROUPS: Final = "20newsgroups"
FINSEN: Final = "finsen"
FINSEN_HELD_OUT: Final = 0.3  # halves of it validate and test; of its released code
SST2: Final = {"0": NEGATIVE, "1": POSITIVE}
SST: Final = "sst_binary"
AG_NEWS: Final = {"1": "World", "2": "Sports", "3": "Business", "4": "Sci/Tech"}
SHORTENED: Final[Mapping[str, Callable[[str], str]]] = {
    "all": lambda message: without_quotes_and_footer(without_headers(message)),
    "headers": without_headers,
}
Parts = Mapping[str, Sequence[TextRow]]  # by part; all of them under "" where none are given


@dataclass(frozen=True, eq=False, kw_only=True)
class TextCorpus:
    """Labelled texts, split."""

    name: str  # key of TEXT_DATA
    class_names: tuple[str, ...]  # K of them
    # Those behind them that texts of the training part alone have, and no answer is
    more_classes: tuple[str, ...]
    # texts, row_ids: tuples of N str
    texts: tuple[str, ...]
    row_ids: tuple[str, ...]
    labels: Int  # (N,) int64: 0 to K - 1, or more in the training part
    split: SplitRecord  # of these N rows
    left_out: tuple[TextRow, ...]  # of classes that are held out; in no part
    notices: tuple[Notice, ...]

    def rows(self, split: str) -> list[tuple[str, str]]:
        """Return name and text of each row of train, val, test or LEFT_OUT, in order."""
        if split == LEFT_OUT:
            return [(row.row_id, row.text) for row in self.left_out]
        return [(self.row_ids[k], self.texts[k]) for k in self.split.rows[split].tolist()]


def read_corpus(
    name: str, root: Path | None, *, seed: int, left_out: Sequence[str] = (), strip: str = "all"
) -> TextCorpus:
    """Return the texts of a data set.

    Parameters
    ----------
    name : str
        Key of TEXT_DATA.
    root : Path or None
        Folder or file; nothing is downloaded. None for texts that the program writes.
    seed : int
        Of the split.
    left_out : sequence of str
        Classes that are held out.
    strip : str
        Of messages of 20 Newsgroups: ``all`` strips headers, quotes and footers, ``headers``
        the headers alone.

    Raises
    ------
    Refused
        DATA_ROOT, CLASSES, EMPTY, and what the readers refuse.
    UsageError
        SETTING: a class to hold out that is not there, or fewer than two that stay.
    """
    if root is None and TEXT_DATA[name].needs_root:
        what = f"No path was named for {TEXT_DATA[name].label}"
        raise Refused("DATA_ROOT", what, "name a folder or file with data_root")
    root, budget = (root or Path()).expanduser(), Budget()
    parts, notices = _READERS[name](root, budget, strip)
    if budget.n_recoded:
        text = f"{budget.n_recoded:,} files are not UTF-8 and were read as Latin-1."
        notices = (*notices, Notice(NoticeCode.ENCODING_GUESSED, text))
    names = _classes(parts, known=tuple(_ORDER.get(name, ())))
    unknown = [label for label in left_out if label not in names]
    if unknown:
        what = f"There is no class {unknown[0][:60]!r} to leave out"
        raise UsageError("SETTING", what, f"use some of {', '.join(names[:30])}")
    stays = tuple(label for label in names if label not in left_out)
    # Neutral phrases of the treebank are trained on and are no
    # answer: their class stands behind the others.
    more = (NEUTRAL,) if name == SST and NEUTRAL in stays else ()
    if len(stays) - len(more) < 2:
        what = f"{len(left_out)} of {len(names)} classes are left out"
        raise UsageError("SETTING", what, "leave at least two to learn")
    # Held-out classes leave every part, and become a set of unfamiliar texts.
    kept = {
        part: [row for row in rows if row.label not in left_out] for part, rows in parts.items()
    }
    rows = [row for part in kept.values() for row in part]
    number = {label: k for k, label in enumerate(stays)}
    labels = np.array([number[row.label] for row in rows], np.int64)
    split, split_notices = _split(name, kept, labels, stays, seed)
    notices = (*notices, *split_notices)
    # Test texts that are trained on, and empty texts
    alike = [" ".join(row.text.split()) for row in rows]
    known = {alike[row] for row in split.rows["train"].tolist()} - {""}
    tested = split.rows["test"].tolist()
    n_same, n_empty = sum(alike[row] in known for row in tested), alike.count("")
    if n_same:
        text = f"{n_same:,} of {len(tested):,} test texts also are in the training part."
        notices = (*notices, Notice(NoticeCode.OVERLAP, text))
    if n_empty:
        text = f"{n_empty:,} of {len(alike):,} texts are empty; they were kept."
        notices = (*notices, Notice(NoticeCode.TEXT_EMPTY, text))
    return TextCorpus(
        name=name,
        class_names=stays[: len(stays) - len(more)],
        more_classes=more,
        texts=tuple(row.text for row in rows),
        row_ids=tuple(row.row_id for row in rows),
        labels=labels,
        split=split,
        left_out=tuple(row for part in parts.values() for row in part if row.label in left_out),
        notices=notices,
    )


def texts_named(
    name: str, root: Path | None, row_ids: Sequence[str], *, strip: str = "all"
) -> list[str]:
    """Return the texts that a run calls by these names.

    `name`, `root`, `strip`: as of `read_corpus`; `row_ids`: paths of files below the folder, or
    names of tables with their lines.

    Raises Refused DATA_ROOT: one of them is not there any more; and what the readers refuse.
    """
    if root is None and TEXT_DATA[name].needs_root:
        raise Refused("DATA_ROOT", "The run names no folder", "train again with data_root")
    root = (root or Path()).expanduser()
    # A file a text: only those are read. Rows of a table need the whole table.
    if name == NEWSGROUPS or (name == "texts" and root.is_dir() and not _tables(root)):
        cleaned = SHORTENED[strip] if name == NEWSGROUPS else str
        return [cleaned(named_text(root, row_id)) for row_id in row_ids]
    parts, _ = _READERS[name](root, Budget(), strip)
    known = {row.row_id: row.text for rows in parts.values() for row in rows}
    gone = [row_id for row_id in row_ids if row_id not in known]
    if gone:
        what = f"The text {gone[0][:120]} is not in its table"
        raise Refused("DATA_ROOT", what, "restore the table that was trained on")
    return [known[row_id] for row_id in row_ids]


def _classes(parts: Parts, known: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of all classes: in their known order, as numbers, or as words."""
    names = {row.label for rows in parts.values() for row in rows}
    if known:
        return known
    if not 2 <= len(names) <= MAX_CLASSES:
        what = f"There are {len(names):,} classes; 2 to {MAX_CLASSES:,} can be told apart"
        raise Refused("CLASSES", what, f"give {LAYOUT}")
    digits = all(name.isascii() and name.isdecimal() and len(name) < 10 for name in names)
    return tuple(sorted(names, key=int) if digits else sorted(names))


def _split(
    name: str, parts: Parts, labels: Int, class_names: Sequence[str], seed: int
) -> tuple[SplitRecord, tuple[Notice, ...]]:
    """Return the split: the source's own parts, and what is missing of them by the seed."""
    n = {part: len(rows) for part, rows in parts.items()}
    sizes = TEXT_DATA[name].sizes
    # A whole with the sizes that the papers state: cut in their proportions.
    if "" in n and sizes:
        total, there = sum(sizes.values()), len(labels)
        n_val, n_test = (round(sizes[part] * there / total) for part in ("val", "test"))
        return splits.by_counts(there, n_val, n_test, seed), ()
    if name == FINSEN:
        held_out = math.ceil(FINSEN_HELD_OUT * len(labels))
        return splits.by_counts(len(labels), held_out // 2, -(-held_out // 2), seed), ()
    if "" in n:
        return splits.stratified(labels, class_names, seed, rows_are="texts"), ()
    if len(n) == len(SPLIT_NAMES):
        return splits.as_given(n["train"], n["val"], n["test"], seed), ()
    if "test" in n:
        return splits.held_out(n["train"], n["test"], seed), ()
    text = "There is no part test, so val is the test part, and a tenth of train validates."
    notice = Notice(NoticeCode.VAL_AS_TEST, text)
    return splits.held_out(n["train"], n["val"], seed), (notice,)


# Readers ----------------------------------------------------------------------------------------


def _newsgroups(root: Path, budget: Budget, strip: str) -> tuple[Parts, tuple[Notice, ...]]:
    """Return the messages of a folder of groups."""
    _check_folder(root, NEWSGROUPS, "one folder for each group, one file for each message")
    rows, skipped = class_folders(root, "", budget, SHORTENED[strip])
    return {"": rows}, _skipped(skipped)


def _sst2(root: Path, budget: Budget, _strip: str) -> tuple[Parts, tuple[Notice, ...]]:
    """Return the sentences of train.tsv, dev.tsv and test.tsv."""
    files = {"train": "train.tsv", "val": "dev.tsv", "test": "test.tsv"}
    _check_folder(root, "sst2", ", ".join(files.values()))
    return {
        part: known_table(root / file, "\t", budget, SST2, label=-1) for part, file in files.items()
    }, ()


def _sst(root: Path, budget: Budget, _strip: str) -> tuple[Parts, tuple[Notice, ...]]:
    """Return all phrases of the sentences of train.txt, and those of dev.txt and test.txt whole."""
    files = {"train": "train.txt", "val": "dev.txt", "test": "test.txt"}
    _check_folder(root, SST, ", ".join(files.values()))
    return {
        part: phrases(root / file, budget, every=part == "train") for part, file in files.items()
    }, ()


def _ag_news(root: Path, budget: Budget, _strip: str) -> tuple[Parts, tuple[Notice, ...]]:
    """Return the items of train.csv and test.csv, title and text together."""
    _check_folder(root, "ag_news", "train.csv and test.csv, without or with a header line")
    return {
        part: known_table(root / f"{part}.csv", ",", budget, AG_NEWS, label=0)
        for part in ("train", "test")
    }, ()


def _finsen(root: Path, budget: Budget, _strip: str) -> tuple[Parts, tuple[Notice, ...]]:
    """Return the items of one CSV file, or of the only one in a folder."""
    tables = sorted(root.glob("*.csv")) if root.is_dir() else [root]
    if len(tables) != 1:
        what = f"The folder {root} holds {len(tables)} CSV files"
        raise Refused("DATA_ROOT", what, "name the file of FinSen with data_root")
    return {"": labelled_table(tables[0], budget, ("content",), ("category",))}, ()


def _texts(root: Path, budget: Budget, _strip: str) -> tuple[Parts, tuple[Notice, ...]]:
    """Return any folder or table of texts."""
    if root.is_file():
        return {"": labelled_table(root, budget)}, ()
    _check_folder(root, "texts", LAYOUT)
    tables = _tables(root)
    if tables:
        read = {part: labelled_table(path, budget) for part, path in tables.items()}
        return _same_classes(read), ()
    present = [part for part in SPLIT_NAMES if (root / part).is_dir()]
    if "train" not in present or len(present) < 2:
        rows, skipped = class_folders(root, "", budget, str)
        return {"": rows}, _skipped(skipped)
    parts, skipped = {}, 0
    for part in present:
        parts[part], links = class_folders(root, part, budget, str)
        skipped += links
    return _same_classes(parts), _skipped(skipped)


def _tables(root: Path) -> dict[str, Path]:
    """Return the tables of a folder by part, where train and another one are there."""
    tables = {
        part: root / f"{part}{suffix}"
        for part in SPLIT_NAMES
        for suffix in DELIMITERS
        if (root / f"{part}{suffix}").is_file()
    }
    return tables if "train" in tables and len(tables) > 1 else {}


def _same_classes(parts: Parts) -> Parts:
    """Return the parts; refuse a class that train has not."""
    known = {row.label for row in parts["train"]}
    for part, rows in parts.items():
        if strange := {row.label for row in rows} - known:
            what = f"The part {part} has the class {min(strange)[:60]!r} and train has not"
            raise Refused("CLASSES", what, "give both the same classes")
    return parts


def _skipped(n: int) -> tuple[Notice, ...]:
    if not n:
        return ()
    return (Notice(NoticeCode.FILES_SKIPPED, f"{n:,} links to other files were left out."),)


def _check_folder(root: Path, name: str, layout: str) -> None:
    if not root.is_dir():
        what = f"There is no folder {root}"
        remedy = f"name the folder of {TEXT_DATA[name].label} with data_root; it holds {layout}"
        raise Refused("DATA_ROOT", what, remedy)


_ORDER: Final[Mapping[str, tuple[str, ...]]] = {
    "sst2": tuple(SST2.values()),
    SST: (NEGATIVE, POSITIVE, NEUTRAL),
    "ag_news": tuple(AG_NEWS.values()),
}
_READERS: Final[Mapping[str, Callable[[Path, Budget, str], tuple[Parts, tuple[Notice, ...]]]]] = {
    NEWSGROUPS: _newsgroups,
    "sst2": _sst2,
    SST: _sst,
    "ag_news": _ag_news,
    FINSEN: _finsen,
    "tickets": lambda *_: ({"": tickets()}, ()),
    "texts": _texts,
}
