"""What the view Film speaks of, put together once for what is drawn and what is saved."""

from dataclasses import dataclass

from core.views.clinic_words import MINED
from core.views.xray_film import Reference
from pages.ui.xray_ask import Looked
from pages.ui.xray_films import Film


@dataclass(frozen=True, eq=False)
class Study:
    """What the view speaks of: a film, what models say of it, and one finding.

    Attributes
    ----------
    film : Film
    seen : tuple of Looked
        One a model; the first is the one that words speak of.
    index : int
        Of the finding, in the first model.
    known : Reference or None
        What scores of the first model were worth on labelled films.
    """

    film: Film
    seen: tuple[Looked, ...]
    index: int
    known: Reference | None

    @property
    def main(self) -> Looked:
        """What the first model says."""
        return self.seen[0]

    @property
    def noise(self) -> str:
        """What is known of the labels."""
        return MINED if self.known is None else self.known.source.noise

    @property
    def name(self) -> str:
        """The finding, as the first model calls it."""
        return self.main.scored.findings[self.index]
