"""What a report of one or several runs holds: the studies of the screens, one after another."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from core.configs import AuditConfig
from core.errors import Notice, Refused
from core.fields import JsonObject
from core.metrics import suite
from core.metrics.comparison import Compared, Comparison, best, compare_all, compared, why_not
from core.metrics.records import Audit, ClassRow
from core.ood.scores import DEFAULT, SCORES
from core.predictions import Predictions, Task
from core.progress import stage
from core.studies import clinic, ood, posthoc
from core.studies.clinic import Findings, OneFinding
from core.studies.comparison import with_risks
from core.studies.human import HumanStudy, human_study
from core.studies.ood import ScoreSeparation, ShiftEffect
from core.studies.posthoc import NONE, SHARE, Fit, MethodReport, PosthocRows, Source, loaded

POSTHOC, OOD, CLINICAL, COMPARE, CLASSES = "posthoc", "ood", "clinical", "compare", "classes"
HUMAN = "human"
OBJECTIVE, SEARCH = "nll", "exact"  # as the page's own
MOST_SETS = 6  # of other inputs beside a run


@dataclass(frozen=True, kw_only=True)
class ReportedRun:
    """A run or a file that is reported."""

    # name, file, file_digest: what it is called, and the file that it came from
    name: str
    file: str
    file_digest: str
    split: str  # the part that is audited
    # splits, outside: the parts with labels, and those without: inputs that belong to none of the
    # classes
    splits: Mapping[str, Source]
    sizes: Mapping[str, int]  # rows of every part
    outside: Mapping[str, Source] = field(default_factory=dict)
    notices: tuple[Notice, ...] = ()  # what the reader said
    # The choices with which reading the file again gives the same
    reading: JsonObject = field(default_factory=dict)
    data: str = ""  # key of the data set that it was trained on; empty where it is not known
    synthetic: bool = False  # whether a program drew its images
    task: Task = Task.MULTICLASS  # what kind of answers its rows hold
    names: tuple[str, ...] = ()  # of its classes or labels
    voted: tuple[str, ...] = ()  # the labelled parts that people voted on


@dataclass(frozen=True, kw_only=True)
class PosthocNumbers:
    """Calibrators fitted on some rows and judged on others; `none` first among `judged`."""

    rows: PosthocRows
    fits: tuple[Fit, ...]
    judged: Mapping[str, MethodReport]

    def judged_on_label(self, label: int) -> dict[str, MethodReport]:
        """Return what each method does to one of many labels: their mean may hide it."""
        calibrators = {NONE: None} | {fit.method: fit.calibrator for fit in self.fits}
        test, out = self.rows.test, {}
        for method, of_all in self.judged.items():
            calibrator = calibrators[method]
            after = test if calibrator is None else posthoc.calibrated(calibrator, test)
            rows = suite.label_predictions(after, label)
            out[method] = posthoc.judge(rows, None, OBJECTIVE, of_all.compared.config)
        return out


@dataclass(frozen=True, kw_only=True)
class OodNumbers:
    """Sets of other inputs beside a run, by their split: what was found, and what must be said.

    `effects` holds, of the run's own images shifted, what that does, and the same of intact ones.
    """

    score: str
    sets: Mapping[str, ScoreSeparation]
    effects: Mapping[str, tuple[ShiftEffect, ShiftEffect]]
    notices: tuple[Notice, ...]


@dataclass(frozen=True, kw_only=True)
class RunNumbers:
    """Everything that the report says of one run.

    `left_out` says by section why a part that was wanted is not there.
    """

    run: ReportedRun
    rows: Predictions
    audit: Audit
    classes: tuple[ClassRow, ...] = ()
    human: HumanStudy | None = None
    posthoc: PosthocNumbers | None = None
    ood: OodNumbers | None = None
    clinical: Findings | OneFinding | None = None
    left_out: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class ReportNumbers:
    """The numbers of every run, and their comparison where there are several."""

    runs: tuple[RunNumbers, ...]
    compared: tuple[Compared, ...] = ()
    comparison: Comparison | None = None


def report_numbers(
    runs: Sequence[ReportedRun], sections: Sequence[str], config: AuditConfig
) -> ReportNumbers:
    """Return the numbers of a report; how far it is goes to whoever listens.

    `sections`: those of HUMAN, POSTHOC, OOD, CLINICAL, COMPARE and CLASSES that are wanted; others
    cost nothing; `config`: of every audit.
    """
    comparing = COMPARE in sections and len(runs) > 1
    of_each = 1 + sum(section in sections for section in (HUMAN, POSTHOC, OOD, CLINICAL))
    steps = _Steps(len(runs) * of_each + comparing)
    numbers = tuple(_run(run, sections, config, steps) for run in runs)
    if not comparing:
        return ReportNumbers(runs=numbers)
    with steps.next("Comparing the runs"):
        both = [compared(of_run.rows, config=config) for of_run in numbers]
        # by ECE, as on the Compare page; where nothing is ranked, the first
        names = [of_run.run.name for of_run in numbers]
        reference = 0 if why_not([run.rows for run in both], names) else best(both, "ece")
        rows = [of_run.rows for of_run in numbers]
        both, comparison = with_risks(both, compare_all(both, names, reference), rows)
    return ReportNumbers(runs=numbers, compared=tuple(both), comparison=comparison)


@dataclass
class _Steps:
    """Parts of the work of equal length."""

    total: int
    done: int = 0

    @contextmanager
    def next(self, words: str) -> Iterator[None]:
        with stage(words, self.done / self.total, (self.done + 1) / self.total, 1):
            yield
        self.done += 1


def _run(
    run: ReportedRun, sections: Sequence[str], config: AuditConfig, steps: _Steps
) -> RunNumbers:
    left_out: dict[str, str] = {}
    with steps.next(f"Auditing {run.name}"):
        rows = loaded(run.splits[run.split])
        audit = suite.audit(rows, config)
        several = rows.task is Task.MULTILABEL
        rows_by_class = (
            () if several else suite.class_gaps(rows, config.level, p_joint=audit.p_joint)
        )
    people = after = ood_numbers = None
    clinical: Findings | OneFinding | None = None
    if HUMAN in sections:
        with steps.next(f"Comparing {run.name} with people"):
            voted = {name: run.splits[name] for name in run.voted}
            if run.split not in voted:
                left_out[HUMAN] = "there are no votes of people"
            else:
                try:
                    people = human_study(voted, run.split, config)
                except Refused as refused:
                    left_out[HUMAN] = refused.what
    if POSTHOC in sections:
        with steps.next(f"Fitting calibrators to {run.name}"):
            try:
                after = _posthoc(run, audit, config)
            except Refused as refused:
                left_out[POSTHOC] = refused.what
    if OOD in sections:
        with steps.next(f"Comparing other inputs with those of {run.name}"):
            ood_numbers = _ood(run, rows, config, left_out)
    if CLINICAL in sections:
        with steps.next(f"Analysing the findings of {run.name}"):
            if several:
                clinical = clinic.findings(rows, config)
            elif rows.task is Task.BINARY:
                clinical = clinic.one_finding(rows, config=config)
        if clinical is None:
            left_out[CLINICAL] = "it needs two classes or many labels"
    return RunNumbers(
        run=run,
        rows=rows,
        audit=audit,
        classes=rows_by_class,
        human=people,
        posthoc=after,
        ood=ood_numbers,
        clinical=clinical,
        left_out=left_out,
    )


def _posthoc(run: ReportedRun, audit: Audit, config: AuditConfig) -> PosthocNumbers:
    fit_on = posthoc.fit_default(list(run.splits), run.split)
    named = {
        name: loaded(source) for name, source in run.splits.items() if name in (fit_on, run.split)
    }
    rows = posthoc.parts(named, fit_on, run.split, share=SHARE, seed=config.seed)
    methods = posthoc.default_methods(rows.test.task, audit)
    judged = {NONE: posthoc.judge(rows.test, None, OBJECTIVE, config)}
    fits = []
    for method in methods:
        evaluated = posthoc.evaluate(method, rows.fit, rows.test, OBJECTIVE, SEARCH, config)
        if evaluated.fit is not None:
            fits.append(evaluated.fit)
        if evaluated.judged is not None:
            judged[method] = evaluated.judged
    return PosthocNumbers(rows=rows, fits=tuple(fits), judged=judged)


def default_comparison(run: ReportedRun) -> dict[str, Source]:
    """Return the default OOD comparison of the page: a shift, and other inputs."""
    shift = ood.shown_shift(name for name in run.splits if name != run.split)
    return ({shift: run.splits[shift]} if shift else {}) | dict(run.outside)


def _ood(
    run: ReportedRun, rows: Predictions, config: AuditConfig, left_out: dict[str, str]
) -> OodNumbers | None:
    sources = default_comparison(run)
    if not sources:
        left_out[OOD] = "there are no unfamiliar images to compare with"
        return None
    sets: dict[str, ScoreSeparation] = {}
    effects: dict[str, tuple[ShiftEffect, ShiftEffect]] = {}
    notices: list[Notice] = []
    score = ""
    for name, source in list(sources.items())[:MOST_SETS]:
        outside = loaded(source)
        offered = [key for key, why in ood.offered(rows, outside).items() if not why]
        score = score or (DEFAULT if DEFAULT in offered else next(iter(offered), ""))
        try:
            notices += ood.check(rows, outside, name, shifted=name in run.splits)
        except Refused as refused:
            left_out[OOD] = refused.what
            continue
        if score not in offered:
            left_out[OOD] = f"{name} has no {SCORES[score].label}" if score else "no score fits"
            continue
        sets[name] = ood.judge(rows, outside, score, config=config)
        if name in run.splits:
            shifted = ood.shift(rows, outside, score, config=config)
            effects[name] = shifted, ood.shift(rows, rows, score, config=config)
        notices += ood.extent_notices(sets[name], name)
    if not sets:
        return None
    return OodNumbers(score=score, sets=sets, effects=effects, notices=tuple(notices))
