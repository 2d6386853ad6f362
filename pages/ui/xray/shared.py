"""What the clinical views share: their place in the link, sources, and what they compute."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core import defaults
from core.arrays import Int
from core.configs import AuditConfig
from core.metrics.clinical.groups import Grouping, Subgroup
from core.predictions import Predictions, Task
from core.reports.html import PageView, sheet_html
from core.screens.kit.numbers import count
from core.screens.kit.sentences import groups_words
from core.screens.xray.film import finding_index, spelled
from core.screens.xray.words import BANNER, PLAIN, TECHNICAL, ClinicSource, FindingWords
from core.studies import clinic, posthoc
from core.studies.clinic import Findings, OneFinding, TemperatureScaled
from core.studies.posthoc import CUT, SHARE, PosthocRows, fit_default
from pages.ui import cache, html_macros, site, state, widgets
from pages.ui.compute import Computation
from pages.ui.escape import esc

HEAVY_CELLS = 20_000  # scores whose resampling would keep a page waiting
AS_READ: Final = "none"  # for the method of recalibration


@dataclass(frozen=True)
class FindingChoice:
    """One finding of a split, as read or recalibrated, and how its curve is smoothed."""

    run: cache.Run
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
        whole = cache.predictions(self.run, self.split)
        known = whole.labelled_rows(self.label)
        known = np.arange(whole.n) if known is None else known
        if not self.recalibrated or fit_default(self.run.splits, self.split) != CUT:
            return known
        return np.intersect1d(known, posthoc.cut_rows(whole, SHARE, defaults.SEED)[1])


def fit_parts(run: cache.Run, split: str) -> PosthocRows:
    """Return the rows that calibrators of a split are fitted on, and those that are reported."""
    fit_on = fit_default(run.splits, split)
    names = {name for name in (fit_on, split) if name != CUT}
    splits = {name: cache.predictions(run, name) for name in run.splits if name in names}
    return posthoc.parts(splits, fit_on, split, share=SHARE, seed=defaults.SEED)


def all_findings(run: cache.Run, split: str) -> Computation[Findings]:
    """Return the step that computes every finding of a split."""
    return Computation(
        function=clinic.findings,
        key=(run.id, run, split),
        words="Intervals and the noise floor of every finding",
        arguments=lambda: (cache.predictions(run, split),),
        draft=run.draft,
        heavy=run.n(split) * len(run.class_names) > HEAVY_CELLS,
    )


def temperature(run: cache.Run, split: str, label: int) -> Computation[TemperatureScaled]:
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
            as_read = clinic.binary_rows(cache.predictions(run, split), choice.label)
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
        return statistics.p, statistics.y, shown, statistics.extents

    return Computation(
        function=clinic.groups,
        key=(choice.run.id, choice, shown),
        words=_words("Subgroups", choice.run, choice.label),
        arguments=arguments,
        draft=True,
        heavy=choice.run.n(choice.split) > HEAVY_CELLS,
    )


def _words(what: str, run: cache.Run, label: int) -> str:
    names = run.class_names
    return f"{what}: {esc(names[label])}" if label < len(names) else what


VIEW = "show"  # of the page Chest X-ray, in the link
FILM, ALL, ONE = "film", "findings", "finding"
VIEW_NAMES = {FILM: "Film", ALL: "All findings", ONE: "One finding"}
FINDING = "of"  # in the link, as on the page Reliability
NAME = "finding"  # of the view Film, in the link: models number their findings differently
SHOWN = "xray.shown"  # the finding that the view Film shows, spelled for comparing
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
        _set(NAME, spelled(names[int(finding)]))


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
    run: cache.Run,
    rows: Predictions,
    split: str,
    parts: PosthocRows | None = None,
    label: int | None = None,
) -> ClinicSource:
    """Return what every figure names; `parts` where only the rows not fitted on are shown.

    With a `label` it is of the rows in which that finding is known to be there or not.
    """
    reported_rows = rows if parts is None else parts.test
    known = None if label is None else reported_rows.labelled_rows(label)
    n = reported_rows.n if known is None else known.size
    rest = ""
    if parts is not None and parts.cut is not None:
        rest = f"the films not fitted on ({count(n)}, seed {parts.cut[1]})"
    names = rows.class_names if rows.task is Task.MULTILABEL else rows.class_names[1:]
    groups = reported_rows.groups
    groups = groups if known is None or groups is None else groups.take(known)
    return ClinicSource(
        run=run.name,
        split=split,
        digest=run.file_digest,
        findings=names,
        n=n,
        synthetic=run.data == "phantom",
        rest=rest,
        groups="" if groups is None else groups_words(groups.name, groups.count),
        recalibrated=parts is not None,
        weights="" if reported_rows.weights is None else reported_rows.weights.name,
    )


def open_finding(index: int) -> None:
    """Show one finding from now on."""
    _set(VIEW, ONE)
    _set(FINDING, str(index))
    state.next_generation()


def nothing(why: str) -> None:
    """Say that a run holds no findings, and offer those that do."""
    html_macros.draw("headline", "This run holds no findings.")
    st.markdown(why)
    with st.container(horizontal=True, key="clinic_samples"):
        for row in cache.rows(kind="sample", sort="name", descending=False):
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
    state.open_run(cache.find(run_id))


def export(sheet: PageView) -> None:
    """Offer a view as one HTML file, with what must be read first in it."""
    widgets.download(
        "This view, HTML",
        lambda: sheet_html(sheet),
        "candor_clinic.html",
        "text/html",
        key="clinic.html",
    )
