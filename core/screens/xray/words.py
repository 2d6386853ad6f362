"""The words of the clinical pages: what findings are called, banners, readings; no arithmetic."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Self

from core.predictions import Predictions, Task
from core.screens.kit.numbers import count
from core.screens.kit.records import Column, Swatch, Table
from core.screens.kit.sentences import groups_words
from core.screens.kit.theme import Tone
from core.screens.kit.words import UNIT, with_row_noun
from core.studies.posthoc import PosthocRows

BANNER: Final = "Research use, not a medical device."
MINED: Final = (
    "If these labels are NIH’s, they were mined from reports by a program and are often wrong."
)
LABELS_MAY_ERR: Final = "Reference labels can be wrong."
SYNTHETIC: Final = "Synthetic films and labels."
TOO_FEW: Final = "too few events"
TOO_FEW_FOR_CURVE: Final = "too few events to judge its curve"
WITH_ARTICLE: Final = {
    name: f"{'an' if name[0] in 'aeiou' else 'a'} {name}"
    for name in ("effusion", "mass", "nodule", "pneumothorax", "hernia")
}
EVERYDAY: Final[dict[str, str]] = {
    "atelectasis": "a collapsed part of the lung",
    "cardiomegaly": "an enlarged heart",
    "effusion": "fluid around the lung",
    "infiltration": "a hazy area",
    "mass": "a large spot",
    "nodule": "a small spot",
    "pneumonia": "pneumonia",
    "pneumothorax": "air around the lung",
    "consolidation": "a filled part of the lung",
    "edema": "fluid in the lung",
    "emphysema": "overinflated lungs",
    "fibrosis": "scarred lung",
    "pleural thickening": "a thickened lung lining",
    "hernia": "a hernia of the diaphragm",
}
CHEST: Final = 10  # findings of the NIH's list in a run: then its labels are of that kind
READINGS: Final[dict[Tone, str]] = {
    "over": "says more than it should",
    "under": "says less than it should",
    "sound": "agrees with what was found here",
    "few": "no error beyond chance here",
}


DOTS: Final = (  # the key of dots by tone
    Swatch("says more than it should", "over", "dot"),
    Swatch("says less", "under", "dot"),
    Swatch("within chance", "sound", "ring"),
    Swatch("too few to tell", "few", "ring"),
)


@dataclass(frozen=True, kw_only=True)
class ClinicSource:
    """Where the numbers come from: what every figure, table and file of a clinical page names.

    Run, split and digest are as of the run's file, `findings` as it spells them. The `n` rows may
    be drawn by a program (`synthetic`), or the `rest` of a split that was cut: "the films not
    fitted on, ...". `groups` is what they belong to, as "6,187 patients", empty where each stands
    for itself, and `weights` the column that says how many rows each counts as, if any.
    """

    run: str
    split: str
    digest: str
    findings: tuple[str, ...]
    n: int
    synthetic: bool = False
    rest: str = ""
    groups: str = ""
    weights: str = ""
    recalibrated: bool = False
    plain: bool = False  # whether rows that are no films are pictures, as in plain words

    @classmethod
    def of(
        cls,
        rows: Predictions,
        *,
        run: str,
        split: str,
        digest: str,
        synthetic: bool,
        parts: PosthocRows | None = None,
        label: int | None = None,
    ) -> Self:
        """Return what every figure of some rows names.

        With `parts` only those not fitted on are shown. With a `label` it is of the rows in which
        that finding is known to be there or not.
        """
        shown = rows if parts is None else parts.test
        known = None if label is None else shown.labelled_rows(label)
        n = shown.n if known is None else known.size
        groups = shown.groups
        groups = groups if known is None or groups is None else groups.take(known)
        rest = ""
        if parts is not None and parts.cut is not None:
            rest = f"the films not fitted on ({count(n)}, seed {parts.cut[1]})"
        return cls(
            run=run,
            split=split,
            digest=digest,
            findings=(rows.class_names if rows.task is Task.MULTILABEL else rows.class_names[1:]),
            n=n,
            synthetic=synthetic,
            rest=rest,
            groups="" if groups is None else groups_words(groups.name, groups.count),
            weights="" if shown.weights is None else shown.weights.name,
            recalibrated=parts is not None,
        )

    @property
    def of_films(self) -> bool:
        """Whether the rows are films: any finding is one of the chest."""
        return self.synthetic or any(_key(name) in EVERYDAY for name in self.findings)

    @property
    def films(self) -> str:
        """What the rows are."""
        return "films" if self.of_films else with_row_noun("pictures" if self.plain else UNIT)

    @property
    def reference_class(self) -> str:
        """The reference class: "this test set of 22,433 films"."""
        return f"this {self.split} set of {count(self.n)} {self.films}"

    @property
    def counted(self) -> str:
        """How many rows there are, and of how many groups: "22,433 films of 6,187 groups"."""
        belonging = f" of {self.groups}" if self.groups else ""
        return f"{count(self.n)} {self.films}{belonging}"

    @property
    def noise(self) -> str:
        """What is known of the labels, one sentence."""
        if self.synthetic:
            return SYNTHETIC
        known = sum(_key(name) in EVERYDAY for name in self.findings)
        return MINED if known >= CHEST else LABELS_MAY_ERR

    @property
    def caption(self) -> str:
        """What stands under every figure and table, and in every file."""
        rest = f", {self.rest}" if self.rest else ""
        rest += f", counted by {self.weights}" if self.weights else ""
        rest += f", file digest {self.digest[:8]}" if self.digest else ""
        return f"n = {self.counted}, {self.split} split{rest}. {BANNER} {self.noise}"


def sourced(table: Table, source: ClinicSource, note: str = "") -> Table:
    """Return a table whose every row says where it comes from and what it must not be used for.

    A `note` on the numbers comes first.
    """
    column, caption = Column("source", "source"), f"{note} {source.caption}".strip()
    return Table((*table.columns, column), tuple((*row, caption) for row in table.rows))


def _key(name: str) -> str:
    return name.replace("_", " ").strip().lower()


def finding(name: str) -> str:
    """Return a finding as a label: Pleural Thickening."""
    return name.replace("_", " ")


def labelled_with(name: str) -> str:
    """Return a finding within a sentence: "effusion"."""
    return _key(name) if _key(name) in EVERYDAY else f"“{finding(name)}”"


def _shown(name: str) -> str:
    return WITH_ARTICLE.get(_key(name), labelled_with(name))


def _plain_label(name: str) -> str:
    everyday = EVERYDAY.get(_key(name), _key(name))
    return finding(name) if everyday == _key(name) else f"{everyday} ({finding(name)})"


def _plainly(name: str) -> str:
    return EVERYDAY.get(_key(name), labelled_with(name))


@dataclass(frozen=True)
class FindingWords:
    """What the clinical pages and their findings are called in one edition."""

    page: str  # what the line over a page begins with
    label: Callable[[str], str]  # of a finding: Effusion; fluid around the lung (Effusion)
    inside: Callable[[str], str]  # the same in a sentence: effusion; fluid around the lung
    shown: Callable[[str], str]  # after "labelled as showing": an effusion; fluid around the lung

    def title(self, name: str) -> str:
        """Return the label of a finding, with a capital."""
        label = self.label(name)
        return label[:1].upper() + label[1:]


TECHNICAL: Final = FindingWords("Chest X-ray", finding, labelled_with, _shown)
PLAIN: Final = FindingWords("Chest X-ray", _plain_label, _plainly, _plainly)


def listed(names: Sequence[str]) -> str:
    """Return a list within a sentence."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
