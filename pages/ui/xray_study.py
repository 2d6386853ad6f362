"""What the view Film speaks of, put together once for what is drawn and what is saved."""

from dataclasses import dataclass

from core.views import xray_film as views
from core.views.clinic_words import BANNER
from core.views.records import Sentence
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
    def strange(self) -> str:
        """Why nothing that the first model says of this film means anything, or empty."""
        return self.strange_to(self.main)

    def strange_to(self, seen: Looked) -> str:
        """Why nothing that a model says of this film means anything, or empty."""
        model = seen.model
        return views.strange(
            model.name, model_synthetic=model.synthetic, film_synthetic=self.film.synthetic
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """What must be said of the film itself, in every copy."""
        return (*(notice.text for notice in self.film.notices), *filter(None, (self.unusual,)))

    @property
    def unusual(self) -> str:
        """Say that the film is very small or very long, or empty; synthetic films are small."""
        height, width = self.film.pixels.shape
        return "" if self.film.synthetic else views.unusual(height, width)

    @property
    def care(self) -> tuple[str, ...]:
        """What must be read beside a score; nothing where the score says nothing."""
        return () if self.strange else views.care(self.main.scored, self.index, self.known)

    @property
    def sentence(self) -> Sentence:
        """What is said first, in the finding's own name."""
        return self.said(plain=False)

    def said(self, *, plain: bool) -> Sentence:
        """Return what is said first."""
        scored, several = self.main.scored, len(self.seen) > 1
        if self.strange:
            kind = self.main.model.synthetic
            return views.strange_sentence(
                scored, self.index, model_synthetic=kind, plain=plain, several=several
            )
        return views.sentence(scored, self.index, self.known, plain=plain, several=several)

    @property
    def noise(self) -> str:
        """What is known of the labels."""
        return views.NO_LABELS if self.known is None else self.known.source.noise

    @property
    def note(self) -> str:
        """What a table may not be used for, for each of its rows."""
        return " ".join(filter(None, (BANNER, self.noise, self.strange)))

    @property
    def name(self) -> str:
        """The finding, as the first model calls it."""
        return self.main.scored.findings[self.index]
