"""What a file seems to say about rows that belong together: offered, never chosen."""

import re
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from core.codes import NoticeCode
from core.errors import Notice, Refused
from core.predictions import GROUP_NOUNS as BELONG
from core.predictions import Groups
from core.readers.formats.contents import Contents, Entry, is_text
from core.readers.predictions.groups import GROUP, WEIGHT, LabelAndTableFiles, attach_groups, stems
from core.readers.predictions.options import ID_STEM, ReadOptions
from core.readers.predictions.parts import SplitArrays
from core.readers.predictions.questions import ReadChoice
from core.readers.predictions.roles import SETS, SPLITS, Role, words_of

NAMING: Final = {"id", "ids", "no", "nr", "num", "number", "uid", "key", "code", "name", "index"}
WEIGHTS: Final = (
    {"weight"}, {"weights"}, {"sample", "weight"}, {"sample", "weights"}, {"sampling", "weight"},
    {"freq"}, {"frequency"}, {"count", "weight"},
)  # fmt: skip
FREE: Final = {str(role) for role in (Role.UNUSED, Role.ASIDE, Role.IDS, Role.GROUP, Role.INDEX)}
HEAD: Final = 10_000  # names looked at to tell whether their beginnings repeat
FEWEST: Final = 10  # beginnings of names: fewer are kinds of rows
DATE: Final = re.compile(r"\d{4}-\d\d?-\d\d?|\d\d?[./-]\d\d?[./-](\d{4}|\d\d)\b")
TOO_NARROW: Final = ", or intervals are too narrow where they are alike"
ROWS: Final = {"names", "cases", "studies", "series", "images", "films", "documents"}


@dataclass(frozen=True)
class GroupOffer:
    """A column that may be chosen as that of the groups.

    Attributes
    ----------
    key : str
        What `--group` takes.
    groups : Groups
        Those of the part that is audited.
    noun : str
        What they are, in the plural.
    names_rows : bool
        Whether it is the column that names the rows.
    """

    key: str
    groups: Groups
    noun: str
    names_rows: bool = False

    @property
    def meant(self) -> bool:
        """Whether rows repeat on purpose; names of rows may also have been copied by mistake."""
        return not self.names_rows or self.noun not in ROWS

    @property
    def command(self) -> str:
        """What picks it on the command line."""
        return ReadChoice("", {"group": self.key}).command


def offers(
    part: SplitArrays, added: LabelAndTableFiles, roles: dict[str, str], n_classes: int
) -> tuple[GroupOffer, ...]:
    """Return the columns that may say which rows of a part belong together.

    `roles` say what each entry of the scores is used for. `n_classes` are those of which a row has
    one, as so many beginnings of names may be the classes; 0 where it may have several labels.
    """
    alone = LabelAndTableFiles(added.labels)
    # Columns with a telling name, those of patients before those of sites.
    free = {n for n in part.contents.entries if roles.get(n, str(Role.UNUSED)) in FREE}
    names = [*free] if alone.labels is None else [*free, *alone.labels.entries]
    order = list(BELONG)
    named = [(order.index(word), name, word) for name in names if (word := _word(name))]
    offers_made = []
    for _, name, word in sorted(named):
        if part.contents.table:
            key = name
        else:
            # A key that names an array in every part: test_patient is patient there.
            words = words_of(name)
            inside = [other for other in words if other not in SPLITS]
            several = len(inside) < len(words) and part.split in SPLITS.values()
            key = "_".join(inside) if several else name
        offer = _offer(key, BELONG[word], part, alone)
        if offer is not None:
            offers_made.append(replace(offer, names_rows=roles.get(name) == str(Role.IDS)))
    ids = [name for name, role in roles.items() if role == str(Role.IDS)]
    if part.ids is not None and part.contents.table and len(ids) == 1 and not _word(ids[0]):
        # The column that names the rows, whatever it is called.
        offer = _offer(ids[0], "names", part, alone)
        offers_made += [] if offer is None else [replace(offer, names_rows=True)]
    if part.ids is not None and _stems_repeat(part.ids):
        offer = _offer(ID_STEM, "groups", part, alone)
        if offer is not None and offer.groups.count > max(FEWEST - 1, 2 * n_classes):
            offers_made.append(offer)
    return tuple({offer.key: offer for offer in offers_made}.values())


def _offer(key: str, noun: str, part: SplitArrays, added: LabelAndTableFiles) -> GroupOffer | None:
    """Return the offer of a column whose values repeat, each row having one."""
    try:
        grouped, _ = attach_groups(part, added, ReadOptions(group=key))
    except Refused:
        return None
    groups = grouped.groups
    if groups is None or groups.of_row.size != len(part.scores):
        return None
    return GroupOffer(key, groups, noun) if groups.count < groups.of_row.size else None


def _word(name: str) -> str:
    """Return what a column's name says that rows belong to; nothing where it says anything else."""
    words = [word for word in words_of(name) if word not in NAMING and word not in SPLITS]
    word = words[0].removesuffix("id") if len(words) == 1 and not name.startswith(SETS) else ""
    singular = word.removesuffix("s")
    return word if word in BELONG else singular if singular in BELONG else ""


def _stems_repeat(ids: Entry) -> bool:
    head = ids[:HEAD]
    names = [str(name).strip() for name in head.tolist()]
    if all(DATE.match(name) for name in names):
        return False  # months are no groups
    cut, bare = stems(head).tolist(), [name.rpartition(".")[0] or name for name in names]
    numbered = sum(stem != name for stem, name in zip(cut, bare, strict=True))
    return numbered * 2 >= len(head) and len(set(cut)) < len(head)


def repeating_columns(table: Contents) -> tuple[str, ...]:
    """Return the columns of a table whose values come again, as those of groups do."""
    sizes = {n: (len(set(e.tolist())), e.size) for n, e in table.entries.items() if e.ndim == 1}
    return tuple(name for name, (distinct, rows) in sizes.items() if 1 < distinct < rows)


def weight_columns(contents: Contents, labels: Contents | None) -> tuple[str, ...]:
    """Return the columns that may say how many rows each row stands for."""
    entries = {**contents.entries, **({} if labels is None else labels.entries)}
    called = {n: e for n, e in entries.items() if set(words_of(n)) in WEIGHTS and e.ndim == 1}
    numbers = {n: e.astype(np.float64) for n, e in called.items() if not is_text(e)}
    return tuple(n for n, e in numbers.items() if np.all(np.isfinite(e) & (e >= 0.0)) and e.any())


def weight_candidates(table: Contents) -> tuple[str, ...]:
    """Return the columns of a table that hold numbers, but those that number its lines.

    What cannot be a weight is offered, too: choosing it says in which row and why.
    """
    names = []
    for name, entry in table.entries.items():
        if entry.ndim != 1:
            continue
        if is_text(entry):  # most of which is numbers, as where a cell is empty
            head = [str(cell).strip() for cell in entry[:HEAD].tolist()]
            fits = 2 * sum(cell.replace(".", "", 1).isdecimal() for cell in head) > len(head)
        else:
            first = float(entry[0]) if entry.size else 0.0
            lines = np.arange(entry.size) + first
            fits = first not in {0.0, 1.0} or entry.size < 2 or bool(np.any(entry != lines))
        names += [name] if fits else []
    return tuple(names)


def unfit_columns(option: str, columns: tuple[str, ...], added: LabelAndTableFiles) -> list[Notice]:
    """Say that nothing in an added table can be chosen."""
    if option not in added.tables or columns:
        return []
    why = {
        GROUP: "each column has one value throughout, or another in every row",
        WEIGHT: "no column holds numbers other than those of its lines",
    }
    text = f"nothing of the table of {option}s can be chosen: {why[option]}"
    return [Notice(NoticeCode.TABLE_UNFIT, text)]


def belonging(columns: tuple[GroupOffer, ...], part: SplitArrays) -> str:
    """Return what suggests groups; empty where nothing does, or groups were chosen."""
    first = next((offer for offer in columns if offer.meant), None)
    if part.groups is not None or first is None:
        return ""
    names = "row names suggest" if first.key == ID_STEM else f"the column {first.key} suggests"
    return f"{names} {first.groups.count:,} {first.noun}"


def candidate_notices(columns: tuple[GroupOffer, ...], part: SplitArrays) -> list[Notice]:
    """Say of rows that seem to belong together which options would choose what they belong to."""
    what = belonging(columns, part)
    commands = [offer.command for offer in columns if offer.meant]
    remedy = f"group their rows with {' or '.join(commands[:3])}"
    return [Notice(NoticeCode.GROUPS_OFFERED, f"{what}; {remedy}{TOO_NARROW}")] if what else []
