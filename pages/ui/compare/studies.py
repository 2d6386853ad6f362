"""What a comparison needs of each run, computed once and kept: a summary that has no rows."""

from collections.abc import Sequence
from functools import partial

from core.metrics.comparison import Compared, Comparison
from core.metrics.records import Score
from core.predictions import Task
from core.studies import comparison
from pages.ui import audits, cache
from pages.ui.caching import cached
from pages.ui.compute import Computation, Rows, computed, step
from pages.ui.escape import esc
from pages.ui.task import BackgroundTask, Call, Work, in_turn

AT_ONCE = 4_000  # rows of all runs; a page waits about a second for as many
RANKED_AT_ONCE = 40_000  # rows of all runs whose ranks are compared; half a second
IN_A_THREAD = 400_000  # scores; a process takes about a second to start
OF_A_PROCESS = 50_000_000  # scores that it reads, about 20 seconds: all that a Stop throws away
RUNS_OF_A_PROCESS = 25  # at most, for the same reason


def compared(runs: Sequence[cache.Run], splits: Sequence[str]) -> list[Compared] | None:
    """Return what is needed of every run; None while it is computed, which is drawn.

    Few rows are read at once, more in a thread, many by processes of their own.
    """
    parts = [Rows(run, split) for run, split in zip(runs, splits, strict=True)]
    missing = [part for part in parts if _step(part).known is None]
    if sum(part.run.n(part.split) for part in missing) <= AT_ONCE:
        computed([_step(part) for part in missing])
    else:
        text = f"Resampling the rows of {len(parts)} runs."
        task = BackgroundTask("compare", tuple(parts), text, partial(_start, missing))
        if task.work is not None and task.work.succeeded:  # what it kept was driven out since
            task.begin()
        if task.wait() is None:
            return None
    return [known for part in parts if (known := _step(part).known) is not None]


def _step(part: Rows) -> Computation[Compared]:
    run, split = part.run, part.split
    return step(
        comparison.of_source,
        part,
        words=esc(run.name),
        heavy=False,
        stored=lambda: (kept := audits.stored(run, split)) and kept.none.compared,
    )


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
        key=(*(run.id for run in runs), *(Rows(*pair) for pair in pairs), names, reference),
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


def _start(missing: list[Rows]) -> Work[int]:
    processes = sum(part.cells for part in missing) > IN_A_THREAD
    # What one process reads, in its order: runs of the library, or one draft; a thread, one run
    blocks: list[list[Rows]] = []
    for part in missing:
        last = blocks[-1] if blocks else []
        cells = sum(of.cells for of in [*last, part])
        full = len(last) == RUNS_OF_A_PROCESS or cells > OF_A_PROCESS
        if last and processes and not (full or part.run.draft or last[-1].run.draft):
            last.append(part)
        else:
            blocks.append([part])
    steps = {part: _step(part) for part in missing}
    kept = {part: of.results for part, of in steps.items()}  # a thread has no session to ask

    def keep(i: int, found: list[Compared]) -> None:
        for part, result in zip(blocks[i], found, strict=True):
            kept[part].put(steps[part].key, result)

    calls: list[Call[list[Compared]]] = [
        (comparison.of_sources, ([cache.source(part.run, part.split) for part in block],))
        for block in blocks
    ]
    return in_turn(calls, keep, processes=processes)
