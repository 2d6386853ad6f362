"""The audit of a split: at once where that is quick, in a process of its own where it is large.

A large one is begun once for all sessions that open it, watched and stopped as any
`BackgroundTask`; while there is no result, what is asked for here is None, and the page shows how
far it is.
"""

from collections.abc import Callable, Hashable
from typing import Final, TypeVar

from core.configs import AuditConfig, BinRule
from core.metrics import suite
from core.metrics.estimates import PreparedTarget
from core.metrics.records import Audit, ClassRow, TargetAudit
from core.metrics.votes import by_majority as labels_by_majority
from core.metrics.votes import voted_rows
from core.predictions import Outcomes
from core.predictions import Task as Kind
from core.screens.kit.numbers import count
from core.studies.human import HumanStudy, human_study
from core.studies.precomputed import RunStudies, studies_of
from core.studies.reliability import (
    SplitAudit,
    TargetRows,
    audit_every_metric,
    audit_split,
    prepare_target,
)
from pages.ui import caching, open_runs
from pages.ui.caching import Results, cached, results
from pages.ui.compute import Computation, Rows, step
from pages.ui.markup import esc
from pages.ui.task import stop_works
from pages.ui.visitor import open_library

INTERVALS: Final = "Computing intervals and the noise floor"
LARGE_CELLS: Final = 20_000_000  # scores; fewer are read in a tenth of a second
LARGE_VOTES: Final = 30_000  # scores with votes; fewer are held against people in two seconds
LARGE_CLAIMS: Final = 200_000  # rows, of each label; fewer are resampled in a second
KEPT: Final = 4  # of each kind; that of a million rows holds 130 MB
Result = TypeVar("Result")


def large(run: open_runs.Run, split: str) -> bool:
    """Whether its audit would keep a page waiting: then a process of its own makes it."""
    rows, classes = run.n(split), len(run.class_names)
    claims = rows * classes if run.task is Kind.MULTILABEL else rows
    return claims > LARGE_CLAIMS or rows * classes > LARGE_CELLS


def audit(run: open_runs.Run, split: str) -> Audit | None:
    """Return the headlines of a split with the product's defaults."""
    if not large(run, split):
        return _audit(run, split)
    opened = _opened(run, split)
    return opened.audit if opened else None


@cached(64, spinner=INTERVALS)
def _audit(run: open_runs.Run, split: str, metrics: tuple[str, ...] = open_runs.HEADLINES) -> Audit:
    """Return the headlines, or with ``()`` every metric, which takes several times as long."""
    return suite.audit(open_runs.predictions(run, split), AuditConfig(metrics=metrics))


def classes(run: open_runs.Run, split: str) -> tuple[ClassRow, ...]:
    """Return the per-class rows of a split whose audit is known; none of many labels."""
    if not large(run, split):
        return _classes(run, split)
    opened = _opened(run, split)
    return opened.classes if opened else ()


@cached(64, spinner=INTERVALS)
def _classes(run: open_runs.Run, split: str) -> tuple[ClassRow, ...]:
    arrays = open_runs.predictions(run, split)
    if arrays.task is Kind.MULTILABEL:
        return ()
    return suite.class_gaps(arrays, AuditConfig().level, p_joint=_audit(run, split).p_joint)


def prepared(run: open_runs.Run, split: str, target: int | None) -> PreparedTarget | None:
    """Return one target of a split whose audit is known, as every slider move reads it."""
    if not large(run, split):
        return _prepared(run, split, target)
    opened = _opened(run, split)
    if opened and target in opened.prepared:
        return opened.prepared[target]
    rows = _target(run, split, target).computed()
    return rows.prepared if rows else None


@cached(8, drafts=16, spinner=INTERVALS, large=True)
def _prepared(run: open_runs.Run, split: str, target: int | None) -> PreparedTarget:
    config, arrays = AuditConfig(), open_runs.predictions(run, split)
    return suite.prepare(arrays, target, n_resamples=config.n_resamples, seed=config.seed)


def diagram(ready: PreparedTarget, *, n_bins: int, rule: str) -> TargetAudit:
    """Return the bins of a target under the chosen rule, with interval and noise floor."""
    return suite.diagram(ready, n_bins=n_bins, rule=BinRule(rule), level=AuditConfig().level)


def every_metric(run: open_runs.Run, split: str) -> Audit | None:
    """Return the audit with all metrics, which takes several times as long."""
    if not large(run, split):
        return _audit(run, split, ())
    return _step(run, split, audit_every_metric, words="Computing every metric of").computed()


def human(run: open_runs.Run, split: str) -> HumanStudy | None:
    """Return a split held against the votes of people."""
    heavy = run.n(split) * len(run.class_names) > LARGE_VOTES
    most = KEPT if heavy else 16
    return step(
        human_study,
        tuple(Rows(run, name) for name in voted(run)),
        split,
        words=f"Comparing “{esc(run.name)}” with people",
        heavy=heavy,
        large=heavy,
        slot="human_study",
        most=most,
        drafts=most,
        stored=lambda: (kept := stored(run, split)) and kept.human,
    ).computed()


def stored(run: open_runs.Run, split: str = "") -> RunStudies | None:
    """Return what is kept beside a run, that of the split that its pages show; else None."""
    if run.draft or split not in ("", run.split):
        return None
    studies: Results[tuple[str, tuple[str, ...]], RunStudies]
    studies = results("studies", draft=False, most=64)
    key = run.id, run.digests  # a run that was replaced is read again
    kept = studies.get(key)
    if kept is None:
        kept = studies_of(open_library(), run.id)
        if kept is not None:  # else it may be there the next time
            studies.put(key, kept)
    return kept


def voted(run: open_runs.Run) -> list[str]:
    """Return the splits that have votes."""
    if run.draft:
        return [name for name in run.splits if open_runs.predictions(run, name).votes is not None]
    entries = open_library().get(run.id).splits
    return [name for name in run.splits if entries[name].votes]


@cached(64, drafts=64)
def by_majority(run: open_runs.Run, split: str) -> bool:
    """Whether labels are what most people chose, where there are votes."""
    if run.task in {Kind.TOP_LABEL, Kind.MULTILABEL} or split not in voted(run):
        return False
    rows = open_runs.predictions(run, split)
    if rows.votes is None or not rows.votes.voted.size:
        return False
    _, some, votes = voted_rows(rows)
    return labels_by_majority(votes.of_row, some.labels)


def outcomes(run: open_runs.Run, split: str, target: int | None) -> Outcomes:
    """Return what a diagram that is drawn says of each row, in the file's order."""
    rows = _target(run, split, target).known if large(run, split) else None
    return rows.outcomes if rows else open_runs.predictions(run, split).outcomes(target)


def known(run: open_runs.Run, split: str) -> Audit | None:
    """Return the headlines of a split where they are known, or quick to make."""
    if not large(run, split):
        return _audit(run, split)
    opened = _split(run, split).known
    return opened.audit if opened else None


def move_results(draft: open_runs.Run, run: open_runs.Run) -> None:
    """Keep for a run what is known of the draft that it was, so that nothing is computed again."""
    for split in run.splits:
        opened = _split(draft, split).known if large(draft, split) else None
        if opened:
            _split(run, split).keep(opened)


def discard(draft_id: str) -> None:
    """Stop what runs for a draft, and let go of what came of it."""
    stop_works(lambda key: caching.names(key, draft_id))
    caching.discard(draft_id)


def _split(run: open_runs.Run, split: str) -> Computation[SplitAudit]:
    return _step(run, split, audit_split, open_runs.HEADLINES, words="Auditing")


def _opened(run: open_runs.Run, split: str) -> SplitAudit | None:
    opened = _split(run, split).computed()
    if opened is not None:
        open_runs.adopt_row_stats(run, split, opened.rows)
    return opened


def _target(run: open_runs.Run, split: str, target: int | None) -> Computation[TargetRows]:
    name = "the answers" if target is None else f"“{esc(run.class_names[target])}”"
    return _step(run, split, prepare_target, target, words=f"Analysing {name} in")


def _step(
    run: open_runs.Run, split: str, function: Callable[..., Result], *given: Hashable, words: str
) -> Computation[Result]:
    """Return the step that calls a function on the scores of a large split."""
    size = f"{count(run.n(split))} rows of {count(len(run.class_names))} classes"
    return step(
        function,
        Rows(run, split),
        *given,
        words=f"{words} “{esc(run.name)}”, {size}.",
        heavy=True,
        large=True,
        slot=function.__name__,
        most=KEPT,
    )
