"""What a comparison needs of each run, computed once and kept: a summary that has no rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import streamlit as st

from core.metrics.comparison import Compared, Comparison
from core.metrics.records import Score
from core.predictions import Task
from core.studies import comparison
from pages.ui import cache, studying
from pages.ui.caching import Results, cached, results
from pages.ui.compute import Computation
from pages.ui.escape import esc
from pages.ui.task import BackgroundTask, Call, Work, in_turn

AT_ONCE = 4_000  # rows of all runs; a page waits about a second for as many
RANKED_AT_ONCE = 40_000  # rows of all runs whose ranks are compared; half a second
IN_A_THREAD = 400_000  # scores; a process takes about a second to start
OF_A_PROCESS = 50_000_000  # scores that it reads, about 20 seconds: all that a Stop throws away
RUNS_OF_A_PROCESS = 25  # at most, for the same reason


Key = tuple[str, str, str]


@dataclass(frozen=True)
class ComparedSplit:
    """One split of a run or a draft."""

    run: cache.Run
    split: str

    @property
    def key(self) -> Key:
        """What its result depends on; a run that is renamed stays what it is."""
        return self.run.id, self.split, self.run.digest(self.split)


def _results(run: cache.Run) -> Results[Key, Compared]:
    """Return where a run's result is kept; that of a draft belongs to its session."""
    return results("compared", draft=run.draft)


def compared(runs: Sequence[cache.Run], splits: Sequence[str]) -> list[Compared] | None:
    """Return what is needed of every run; None while it is computed, which is drawn.

    Few rows are read at once, more in a thread, many by processes of their own.
    """
    parts = [ComparedSplit(run, split) for run, split in zip(runs, splits, strict=True)]
    missing = [part for part in parts if _known(part) is None]
    if sum(part.run.n(part.split) for part in missing) <= AT_ONCE:
        bar = st.empty()
        for i, part in enumerate(missing):
            bar.progress(i / len(missing), text=f"{i + 1} of {len(missing)}: {esc(part.run.name)}")
            predictions = cache.predictions(part.run, part.split)
            _results(part.run).put(part.key, comparison.of_drafts([predictions])[0])
        bar.empty()
    else:
        key, text = tuple(part.key for part in parts), f"Resampling the rows of {len(parts)} runs."
        task = BackgroundTask("compare", key, text, partial(_start, missing))
        if task.work is not None and task.work.succeeded:  # what it kept was driven out since
            task.begin()
        if task.wait() is None:
            return None
    return [known for known in map(_known, parts) if known is not None]


def ranked(
    runs: Sequence[cache.Run], splits: Sequence[str], audited: Sequence[Compared], reference: int
) -> Comparison | None:
    """Return the differences of runs from a reference; None while they are computed elsewhere."""
    pairs = list(zip(runs, splits, strict=True))
    names = tuple(run.name for run in runs)
    binary = all(run.task is Task.BINARY for run in runs)

    def arguments() -> tuple[object, ...]:
        rows = [cache.source(run, split) for run, split in pairs] if binary else []
        return audited, names, reference, rows

    return Computation(
        function=comparison.compare_runs,
        key=(*(part for pair in pairs for part in ComparedSplit(*pair).key), names, reference),
        words=f"Comparing {len(runs)} runs.",
        arguments=arguments,
        draft=any(run.draft for run in runs),
        heavy=binary and sum(run.n(split) for run, split in pairs) > RANKED_AT_ONCE,
        slot="compare",
        most=32,
    ).computed()


def with_benefit(
    runs: Sequence[cache.Run], splits: Sequence[str], audited: list[Compared], threshold: float
) -> list[Compared]:
    """Return runs of two classes with their net benefit at a threshold."""
    return [
        comparison.with_benefit(of_run, _benefit(run, split, threshold, of_run.config.level))
        for run, split, of_run in zip(runs, splits, audited, strict=True)
    ]


@cached(64)
def _benefit(run: cache.Run, split: str, threshold: float, level: float) -> Score:
    return comparison.benefit_score(cache.predictions(run, split), threshold, level)


def _known(part: ComparedSplit) -> Compared | None:
    return _results(part.run).get(part.key) or studying.compared(part.run, part.split)


def _cells(part: ComparedSplit) -> int:
    return part.run.n(part.split) * len(part.run.class_names)


def _start(missing: list[ComparedSplit]) -> Work[int]:
    processes = sum(map(_cells, missing)) > IN_A_THREAD
    # What one process reads, in its order: runs of the library, or one draft; a thread, one run
    blocks: list[list[ComparedSplit]] = []
    for part in missing:
        last = blocks[-1] if blocks else []
        cells = sum(map(_cells, [*last, part]))
        full = len(last) == RUNS_OF_A_PROCESS or cells > OF_A_PROCESS
        if last and processes and not (full or part.run.draft or last[-1].run.draft):
            last.append(part)
        else:
            blocks.append([part])
    kept = {part.run: _results(part.run) for part in missing}  # a thread has no session to ask

    def keep(i: int, found: list[Compared]) -> None:
        for part, result in zip(blocks[i], found, strict=True):
            kept[part.run].put(part.key, result)

    calls: list[Call[list[Compared]]] = []
    for block in blocks:
        if block[0].run.draft:
            drafts = [cache.predictions(part.run, part.split) for part in block]
            calls.append((comparison.of_drafts, (drafts,)))
        else:
            ids = [(part.run.id, part.split) for part in block]
            calls.append((comparison.of_library, (ids,)))
    return in_turn(calls, keep, processes=processes)
