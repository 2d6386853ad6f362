"""What the clinical views share: link, sources, and what they speak of, put together once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, cast

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core import defaults
from core.arrays import Int
from core.configs import AuditConfig
from core.inference.client import Answer
from core.inference.film_model import stored_answer
from core.metrics.clinical.groups import Grouping, Subgroup
from core.predictions import Predictions, Task
from core.reports.html import PageView, sheet_html
from core.screens.kit.marks import marks
from core.screens.xray import film as views
from core.screens.xray import saliency
from core.screens.xray.film import (
    FilmScores,
    FindingSummary,
    Reference,
    finding_index,
    finding_keys,
)
from core.screens.xray.words import BANNER, PLAIN, TECHNICAL, ClinicSource, FindingWords
from core.studies import clinic, posthoc
from core.studies.clinic import Findings, OneFinding, TemperatureScaled
from core.studies.posthoc import CUT, SHARE, PosthocRows, fit_default
from core.xray.heat import DEFAULT, METHODS, Frame, Map
from pages.ui import inference, markup, open_runs, site, state, widgets
from pages.ui.compute import Computation
from pages.ui.markup import esc
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

    The `summaries` of that finding, of each model, call it as the first one does, which has it.
    """

    film: FilmEntry
    results: tuple[FilmResult, ...]
    summaries: tuple[FindingSummary, ...]

    @classmethod
    def of(
        cls,
        film: FilmEntry,
        results: Sequence[FilmResult],
        name: str,
        references: Sequence[Reference | None],
        chosen: Mapping[str, float] | None = None,
    ) -> "FilmStudy":
        """Return the study of a finding.

        `references` are what the scores of each model were worth on labelled films, and `chosen`
        the thresholds that a user set, in [0, 1], by spelled finding.
        """
        badges = marks([result.model.run or result.model.id for result in results])
        summaries = tuple(
            FindingSummary(
                scored=result.scored,
                name=name,
                mark=mark,
                known=reference,
                strange=views.strange(
                    result.model.name,
                    model_synthetic=result.model.synthetic,
                    film_synthetic=film.synthetic,
                ),
                doubtful=result.model.synthetic is None,
                chosen=chosen or {},
            )
            for result, mark, reference in zip(results, badges, references, strict=True)
        )
        return cls(film=film, results=tuple(results), summaries=summaries)

    @property
    def main(self) -> FindingSummary:
        """What the first model says."""
        return self.summaries[0]

    @property
    def name(self) -> str:
        """The finding, as the first model calls it."""
        return self.main.name

    @property
    def several(self) -> bool:
        """Whether models are compared."""
        return len(self.results) > 1

    def alone(self, place: int) -> "FilmStudy | None":
        """Return the study of one of the models; None where it does not have the finding."""
        summary = self.summaries[place]
        index = finding_index(summary.scored.findings, self.name)
        if index is None:
            return None
        own = replace(summary, name=summary.scored.findings[index])
        return replace(self, results=(self.results[place],), summaries=(own,))

    @property
    def stranges(self) -> tuple[str, ...]:
        """Why nothing that a model says of this film means anything, of those of which it holds."""
        return tuple(summary.strange for summary in self.summaries if summary.strange)

    @property
    def strange(self) -> bool:
        """Whether nothing that any model says of this film means anything."""
        return len(self.stranges) == len(self.summaries)

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
    def noise(self) -> str:
        """What is known of the labels, of all sets that scores are counted on."""
        noises = [summary.known.source.noise for summary in self.summaries if summary.known]
        return " ".join(dict.fromkeys(noises)) or views.NO_LABELS

    @property
    def note(self) -> str:
        """What a table may not be used for, for each of its rows."""
        return " ".join((BANNER, self.noise, *self.stranges))


# Place in the link, sources and computations.
HEAVY_CELLS = 20_000  # scores whose resampling would keep a page waiting
AS_READ: Final = "none"  # for the method of recalibration


@dataclass(frozen=True)
class FindingChoice:
    """One finding of a split, as read or recalibrated, and how its curve is smoothed."""

    run: open_runs.Run
    split: str
    label: int
    method: str
    smoother: str

    @property
    def recalibrated(self) -> bool:
        """Whether its scores are not as they were read."""
        return self.method != AS_READ

    def shown_rows(self) -> Int:
        """Return the rows that are shown: all with a label, or those not fitted on."""
        whole = open_runs.predictions(self.run, self.split)
        known = whole.labelled_rows(self.label)
        known = np.arange(whole.n) if known is None else known
        if not self.recalibrated or fit_default(self.run.splits, self.split) != CUT:
            return known
        return np.intersect1d(known, posthoc.cut_rows(whole, SHARE, defaults.SEED)[1])


def fit_parts(run: open_runs.Run, split: str) -> PosthocRows:
    """Return the rows that calibrators of a split are fitted on, and those that are reported."""
    fit_on = fit_default(run.splits, split)
    names = {name for name in (fit_on, split) if name != CUT}
    splits = {name: open_runs.predictions(run, name) for name in run.splits if name in names}
    return posthoc.parts(splits, fit_on, split, share=SHARE, seed=defaults.SEED)


def all_findings(run: open_runs.Run, split: str) -> Computation[Findings]:
    """Return the step that computes every finding of a split."""
    return Computation(
        function=clinic.findings,
        key=(run.id, run, split),
        words="Intervals and the noise floor of every finding",
        arguments=lambda: (open_runs.predictions(run, split),),
        draft=run.draft,
        heavy=run.n(split) * len(run.class_names) > HEAVY_CELLS,
    )


def temperature(run: open_runs.Run, split: str, label: int) -> Computation[TemperatureScaled]:
    """Return the step that fits temperatures of a finding and judges them."""

    def arguments() -> tuple[object, ...]:
        rows = fit_parts(run, split)
        return tuple(clinic.binary_rows(part, label) for part in (rows.fit, rows.test))

    return Computation(
        function=clinic.temperature_scaled,
        key=(run.id, run, split, label),
        words=_words("Temperatures", run, label),
        arguments=arguments,
        draft=run.draft,
        heavy=run.n(split) > HEAVY_CELLS,
    )


def one_finding(choice: FindingChoice) -> Computation[OneFinding]:
    """Return the step that computes one finding."""
    run, split = choice.run, choice.split

    config = AuditConfig(smoother=choice.smoother)

    def arguments() -> tuple[object, ...]:
        if not choice.recalibrated:
            as_read = clinic.binary_rows(open_runs.predictions(run, split), choice.label)
            return as_read, None, "", config
        rows = fit_parts(run, split)
        test, fit = (clinic.binary_rows(part, choice.label) for part in (rows.test, rows.fit))
        return test, fit, choice.method, config

    return Computation(
        function=clinic.one_finding,
        key=(run.id, choice),
        words=_words("Intervals, curve and decision curve", run, choice.label),
        arguments=arguments,
        draft=run.draft,
        heavy=run.n(split) > HEAVY_CELLS,
    )


def subgroups(choice: FindingChoice, shown: Grouping) -> Computation[tuple[Subgroup, ...]]:
    """Return the step that computes subgroups of the rows shown, by a table of this session."""

    def arguments() -> tuple[object, ...]:
        statistics = one_finding(choice).known
        assert statistics is not None
        return statistics.p, statistics.y, shown, statistics.sampling

    return Computation(
        function=clinic.groups,
        key=(choice.run.id, choice, shown),
        words=_words("Subgroups", choice.run, choice.label),
        arguments=arguments,
        draft=True,
        heavy=choice.run.n(choice.split) > HEAVY_CELLS,
    )


def _words(what: str, run: open_runs.Run, label: int) -> str:
    names = run.class_names
    return f"{what}: {esc(names[label])}" if label < len(names) else what


VIEW = "show"  # of the page Chest X-ray, in the link
FILM, ALL, ONE = "film", "findings", "finding"
VIEW_NAMES = {FILM: "Film", ALL: "All findings", ONE: "One finding"}
FINDING = "of"  # in the link, as on the page Reliability
NAME = "finding"  # of the view Film, in the link: models number their findings differently
SHOWN = "xray.shown"  # the finding that the view Film shows, as `finding_keys` calls it
LAST, NAMES = "xray.view", "xray.names"  # the view shown last, and the findings of its run
RECALIBRATE = "recal"
SAMPLE = "phantom-hospital"  # of the views of findings, until a run is chosen


def banner(place: DeltaGenerator, noise: str) -> None:
    """Draw what must be known before anything else, with what is known of the labels."""
    with place:
        widgets.banner(BANNER, noise)


def last_view(view: str) -> str | None:
    """Return the view that was shown last, if any, and keep the one that is shown now."""
    last: str | None = st.session_state.get(LAST)
    st.session_state[LAST] = view
    return last


def to_film() -> None:
    """Show the finding that was shown of the open run on the view Film, by its name."""
    names, finding = st.session_state.get(NAMES, ()), st.session_state.get(f"set.{FINDING}", "")
    if finding.isdecimal() and int(finding) < len(names):
        _set(NAME, finding_keys(names)[int(finding)])


def from_film(names: Sequence[str]) -> None:
    """Show the finding of the view Film of the open run, by its name; another where it has none."""
    index = finding_index(names, st.session_state.get(SHOWN, ""))
    if index is not None:
        _set(FINDING, str(index))


def _set(name: str, value: str) -> None:
    st.session_state[f"set.{name}"] = st.query_params[name] = value


def words() -> FindingWords:
    """Return the words of the edition that is switched on."""
    return PLAIN if state.plain() else TECHNICAL


def source(
    run: open_runs.Run,
    rows: Predictions,
    split: str,
    parts: PosthocRows | None = None,
    label: int | None = None,
) -> ClinicSource:
    """Return what every figure names; `parts` and `label` as of `ClinicSource.of`."""
    return ClinicSource.of(
        rows,
        run=run.name,
        split=split,
        digest=run.file_digest,
        synthetic=run.data == "phantom",
        parts=parts,
        label=label,
    )


def open_finding(index: int) -> None:
    """Show one finding from now on."""
    _set(VIEW, ONE)
    _set(FINDING, str(index))
    state.next_generation()


def nothing(why: str) -> None:
    """Say that a run holds no findings, and offer those that do."""
    markup.draw("headline", "This run holds no findings.")
    st.markdown(why)
    with st.container(horizontal=True, key="clinic_samples"):
        for row in open_runs.rows(kind="sample", sort="name", descending=False):
            if row.task == Task.MULTILABEL:
                st.button(
                    esc(row.name),
                    icon=":material/play_arrow:",
                    key=f"clinic.sample.{row.id}",
                    on_click=_open,
                    args=(row.id,),
                )
    st.page_link(site.HOME.script, label="Pick or drop a run", icon=site.HOME.icon)


def _open(run_id: str) -> None:
    state.open_run(open_runs.find(run_id))


def export(sheet: PageView) -> None:
    """Offer a view as one HTML file, with what must be read first in it."""
    widgets.download(
        "This view, HTML",
        lambda: sheet_html(sheet),
        "candor_clinic.html",
        "text/html",
        key="clinic.html",
    )
