"""What the view Film speaks of, put together once for what is drawn and what is saved."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, cast

from core.inference.client import Answer
from core.inference.film_examples import stored_answer
from core.screens.kit.marks import RunMark, marks
from core.screens.kit.records import ScoreTable, Sentence
from core.screens.xray import beside, saliency
from core.screens.xray import film as views
from core.screens.xray.beside import Opinion
from core.screens.xray.film import FilmScores, Reference
from core.screens.xray.saliency import SaliencyFocus
from core.screens.xray.words import BANNER, TECHNICAL, FindingWords, listed
from core.xray.heat import Frame, Map
from core.xray.methods import DEFAULT, METHODS
from pages.ui import inference
from pages.ui.escape import esc
from pages.ui.task import BackgroundTask
from pages.ui.xray.films import FilmEntry
from pages.ui.xray.models import Model

SALIENCY: Final = "heat"
MINUTES_S: Final = 400.0  # a ScoreCAM map of DenseNet-121 takes 130 to 260 s
Json = dict[str, Any]  # Any: plain JSON values


@dataclass(frozen=True, eq=False, kw_only=True)
class FilmResult:
    """What one model says of one film.

    Maps can be taken from `layers`. `maps` are by finding, of a `layer` by a `method`; they are
    empty until a map that was not asked for yet is there.
    """

    model: Model
    scored: FilmScores
    layers: tuple[str, ...]
    maps: Mapping[int, Map]
    frame: Frame
    layer: str
    method: str


def question(
    model: Model,
    film: FilmEntry,
    method: str = DEFAULT,
    layer: str = "",
    finding: int | None = None,
) -> Json:
    """Return what is asked; all findings at once where the method can."""
    return {
        "model": model.payload,
        "film": film.payload,
        "findings": None if METHODS[method].at_once or finding is None else [finding],
        "method": method,
        "layer": layer or None,
    }


def look(model: Model, film: FilmEntry) -> FilmResult | None:
    """Return the scores of a film and Grad-CAM of its findings; None while that is awaited."""
    answer = stored_answer(model.id, film.payload) or _looking(model, question(model, film)).wait()
    return None if answer is None else _film_result(model, answer, None)


def look_as(
    result: FilmResult, film: FilmEntry, method: str, layer: str, finding: int
) -> FilmResult | None:
    """Return what a model says with maps of another method or layer; None while it is awaited."""
    if layer not in result.layers:
        layer = ""
    if method == result.method and layer in ("", result.layer):
        return result
    answer = _looking(result.model, question(result.model, film, method, layer, finding)).wait()
    if answer is None:
        return None
    return _film_result(result.model, answer, None if METHODS[method].at_once else finding)


def _looking(model: Model, request: Json) -> BackgroundTask[Answer]:
    """Return what asks a model; its own slot, for models answer side by side."""
    limit = MINUTES_S if request["method"] in saliency.MINUTES else inference.TIMEOUT_S
    text = f"{esc(model.name)} is reading the film."
    slot = f"xray.look.{model.id}"
    return inference.query(slot, SALIENCY, request, text, patient=True, timeout_s=limit)


def awaits(model: Model, film: FilmEntry) -> bool:
    """Whether the answer of a model has not come."""
    return _looking(model, question(model, film)).running


def _film_result(model: Model, answer: Answer, finding: int | None) -> FilmResult:
    maps = answer.arrays["maps"]
    places = range(len(maps)) if finding is None else [finding]
    scores = tuple(float(p) for p in answer.arrays["probabilities"])
    return FilmResult(
        model=model,
        scored=FilmScores(model.name, model.findings, scores),
        layers=tuple(answer.values["layers"]),
        maps=dict(zip(places, maps, strict=True)),
        frame=cast(Frame, tuple(answer.values["frame"])),
        layer=answer.values["layer"],
        method=answer.values["method"],
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class FilmStudy:
    """What the view speaks of: a film, what models say of it, and one finding.

    Findings are named after the first result, in which `index` counts; `references` are what the
    scores of each were worth on labelled films, and `chosen` the thresholds that a user set, in
    [0, 1], by spelled finding.
    """

    film: FilmEntry
    results: tuple[FilmResult, ...]
    index: int
    references: tuple[Reference | None, ...]
    chosen: Mapping[str, float] = field(default_factory=dict)

    @property
    def main(self) -> FilmResult:
        """What the first model says."""
        return self.results[0]

    @property
    def known(self) -> Reference | None:
        """What films of such scores were labelled with, for the first model."""
        return self.references[0]

    @property
    def several(self) -> bool:
        """Whether models are compared."""
        return len(self.results) > 1

    @property
    def who(self) -> str:
        """The models, within a line."""
        return listed([result.model.name for result in self.results])

    @property
    def marks(self) -> tuple[RunMark, ...]:
        """The models' badges: where a model has a run, that of the run."""
        return marks([result.model.run or result.model.id for result in self.results])

    def alone(self, place: int) -> "FilmStudy | None":
        """Return the study of one of the models; None where it does not have the finding."""
        result = self.results[place]
        index = views.finding_index(result.scored.findings, self.name)
        if index is None:
            return None
        known = self.references[place]
        return replace(self, results=(result,), index=index, references=(known,))

    def opinions(self, focuses: Sequence[SaliencyFocus | None] = ()) -> tuple[Opinion, ...]:
        """Return what each model says, with where its heat points as far as that is given."""
        return tuple(
            Opinion(
                scored=result.scored,
                mark=mark,
                known=reference,
                strange=strange,
                doubtful=result.model.synthetic is None,
                chosen=self.chosen,
                focus=focus,
            )
            for result, mark, reference, strange, focus in zip(
                self.results,
                self.marks,
                self.references,
                self.stranges,
                focuses or [None] * len(self.results),
                strict=True,
            )
        )

    @property
    def stranges(self) -> tuple[str, ...]:
        """Of each model, why nothing that it says of this film means anything, or empty."""
        return tuple(
            views.strange(
                result.model.name,
                model_synthetic=result.model.synthetic,
                film_synthetic=self.film.synthetic,
            )
            for result in self.results
        )

    @property
    def strange(self) -> str:
        """Why nothing that any model says of this film means anything, or empty."""
        return " ".join(self.stranges) if all(self.stranges) else ""

    @property
    def notes(self) -> tuple[str, ...]:
        """What must be said of the film and its models, in every copy."""
        film = (notice.sentence for notice in self.film.notices)
        return (*film, *filter(None, (self.unusual,)), *self.of_models)

    @property
    def of_models(self) -> tuple[str, ...]:
        """What must be said beside the probabilities of these models."""
        notes = (result.model.film_model.note for result in self.results)
        return tuple(dict.fromkeys(filter(None, notes)))

    @property
    def unusual(self) -> str:
        """Say that the film is very small or very long, or empty; synthetic films are small."""
        height, width = self.film.pixels.shape
        return "" if self.film.synthetic else views.unusual(height, width)

    @property
    def care(self) -> tuple[str, ...]:
        """What must be read beside scores; nothing where they say nothing."""
        if self.strange:
            return ()
        if self.several and any(opinion.place(self.name) for opinion in self.opinions()):
            return (beside.DIFFER,)
        return views.care(self.main.scored, self.index, self.known)

    @property
    def sentence(self) -> Sentence:
        """What is said first, in the finding's own name."""
        return self.opening_sentence(TECHNICAL)

    def opening_sentence(self, words: FindingWords) -> Sentence:
        """Return what is said first."""
        if self.several:
            return beside.sentence(self.opinions(), self.name, words)
        scored = self.main.scored
        if self.strange:
            return views.doubtful_sentence(scored, self.index, words)
        return views.sentence(scored, self.index, self.known, words)

    def findings_table(self, words: FindingWords) -> ScoreTable:
        """Return the findings of the film, of one model or of several."""
        if self.several:
            return beside.finding_table(self.opinions(), self.name, words, self.note)
        return views.table(self.main.scored, self.index, self.known, words, self.note)

    @property
    def noise(self) -> str:
        """What is known of the labels, of all sets that scores are counted on."""
        noises = [reference.source.noise for reference in self.references if reference is not None]
        return " ".join(dict.fromkeys(noises)) or views.NO_LABELS

    @property
    def note(self) -> str:
        """What a table may not be used for, for each of its rows."""
        return " ".join(filter(None, (BANNER, self.noise, *self.stranges)))

    @property
    def name(self) -> str:
        """The finding, as the first model calls it."""
        return self.main.scored.findings[self.index]
