"""What a page computes, step by step: at once where that is quick, else elsewhere, watched.

    step(study, Rows(run, split), setting, words="Studying").computed()

is all that a page writes: the result is the one that is kept for these rows and settings, or comes
of a call here or in a process of its own.

Runs are studied in the background once they are kept, so that their pages open at once. A thread
of the server looks for runs that came lately, whether from a page, a training or a command. A
process that gives way to all others studies them, a few at a time.
"""

import logging
import time
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from functools import partial
from threading import Thread
from typing import Any, Final, Generic, TypeVar

import streamlit as st

from core.metrics.comparison import MOST_RUNS
from core.studies import background
from pages.ui import open_runs, streamlit_internals
from pages.ui.caching import Results, of_draft, once, results
from pages.ui.task import BackgroundTask, Shared, Work, in_background, in_process

SLOT: Final = "fitting"
HEAVY_CELLS: Final = 400_000  # scores; fewer are studied in a second or two
Result = TypeVar("Result")


@dataclass(frozen=True)
class Rows:
    """A split of a run or draft: to a key its digest, to a function its scores.

    A run that is renamed stays what it is.
    """

    run: open_runs.Run = field(compare=False)
    split: str
    id: str = field(init=False)
    digest: str = field(init=False)

    def __post_init__(self) -> None:
        """Take what it is known by."""
        object.__setattr__(self, "id", self.run.id)
        object.__setattr__(self, "digest", self.run.digest(self.split))

    @property
    def draft(self) -> bool:
        """Whether they belong to this session only."""
        return self.run.draft

    @property
    def cells(self) -> int:
        """How many scores it holds."""
        return self.run.n(self.split) * len(self.run.class_names)


@dataclass(frozen=True, kw_only=True)
class Computation(Generic[Result]):
    """One thing to compute."""

    # Of a module: what computes it, here or in a process of its own.
    function: Callable[..., Result]
    # What the result depends on beside the function, the ids of runs and drafts among them.
    key: tuple[Hashable, ...]
    words: str = field(compare=False)  # what is computed, safe in Markdown
    # Returns what the function is called with, as `in_process` takes it.
    arguments: Callable[[], tuple[object, ...]] = field(compare=False)
    draft: bool = field(compare=False)  # it belongs to this session only
    # To compute it here would keep a page waiting: a process of its own does it.
    heavy: bool = field(default=True, compare=False)
    # The result is as large as a file: that of the library goes when nobody is there.
    large: bool = field(default=False, compare=False)
    # Of its task; to begin another step of a slot stops the one that runs.
    slot: str = field(default=SLOT, compare=False)
    # Results of the function that are kept of the library.
    most: int = field(default=256, compare=False)
    # Those that are kept of drafts, else as of `results`.
    drafts: int | None = field(default=None, compare=False)
    # Returns what is kept beside the run, or None.
    stored: Callable[[], Result | None] = field(default=lambda: None, compare=False)

    @property
    def results(self) -> Results[tuple[Hashable, ...], Result]:
        """Where its result is kept."""
        name, most, drafts = self.function.__name__, self.most, self.drafts
        return results(name, draft=self.draft, most=most, drafts=drafts, large=self.large)

    @property
    def known(self) -> Result | None:
        """What was computed before, or is kept beside the run; else None."""
        result = self.results.get(self.key)
        if result is None:
            result = self.stored()
            if result is not None:
                self.keep(result)
        return result

    def keep(self, result: Result) -> None:
        """Keep what was computed."""
        self.results.put(self.key, result)

    def here(self) -> Result:
        """Compute it in this thread; where another one does, wait and take its result."""
        return self.results.computed(self.key, lambda: self.function(*self.arguments()))

    def computed(self) -> Result | None:
        """Return the result; None while it is under way or stopped, which the page then says."""
        return computed([self]).get(self)

    def task(self, done: int = 0, total: int = 1) -> BackgroundTask[Result]:
        """Return the task that computes it elsewhere, the next after so many of so many.

        Sessions that want it at the same time wait for one process together.
        """

        def start() -> Work[Result]:
            keep = partial(self.results.put, self.key)  # its thread has no session to ask
            shared = Shared((self.function, self.key), keep)
            work = in_process(self.function, *self.arguments(), shared=shared)
            work.share = done / total if total > 1 else None
            return work

        return BackgroundTask(
            self.slot, (self.function, *self.key), _text(self, done, total), start
        )


def step(
    function: Callable[..., Result],
    *given: Hashable,
    words: str,
    heavy: bool | None = None,
    keep_rows: bool = True,
    version: str = "",
    **options: Any,  # noqa: ANN401  as of Computation
) -> Computation[Result]:
    """Return the step that calls a study; options are those of `Computation`.

    `given` is what the function is called with, and the key: `Rows`, which it gets as
    `Predictions`, or in a process of its own as `StoredSplit`; a tuple of them, as a dict by split;
    a step, whose result is known; or anything hashable. Where one of them is of a draft, so is the
    result.

    Steps of more than HEAVY_CELLS scores are heavy by default. With `keep_rows` the rows that are
    read here are kept as those of an open run; else the function gets a `StoredSplit` here, too:
    rows of many runs would drive out those of the open one. `version` tells runs of one id apart
    that were made at different times.
    """
    several = [part if isinstance(part, tuple) else (part,) for part in given]
    rows = [part for parts in several for part in parts if isinstance(part, Rows)]
    if heavy is None:
        heavy = sum(part.cells for part in rows) > HEAVY_CELLS

    def scores(part: object) -> object:
        if isinstance(part, tuple) and part and all(isinstance(one, Rows) for one in part):
            return {one.split: scores(one) for one in part}
        if not isinstance(part, Rows):
            return part.known if isinstance(part, Computation) else part
        read = open_runs.predictions if keep_rows and not heavy else open_runs.source
        return read(part.run, part.split)

    return Computation(
        function=function,
        key=(*dict.fromkeys(part.id for part in rows), *given, version),
        words=words,
        arguments=lambda: tuple(map(scores, given)),
        draft=of_draft(given),
        heavy=heavy,
        **options,
    )


def computed(steps: Sequence[Computation[Result]]) -> dict[Computation[Result], Result]:
    """Return what is known of these steps; what is not is under way, or stopped, and said so.

    Quick ones are computed at once. The others are computed one after another in a process of
    their own; the page is drawn again when one is done.
    """
    bar, known, left = st.empty(), {}, []
    for i, each in enumerate(steps):
        result = each.known
        if result is None and each.heavy:
            left.append(each)
            continue
        if result is None:
            bar.progress(i / len(steps), text=_text(each, i, len(steps)))
            result = each.here()
        task = each.task()
        if task.running:  # another session was faster
            task.stop()
        task.forget()  # it is kept: a session need not hold it, too
        known[each] = result
    bar.empty()
    left.sort(key=lambda each: not each.task().running)  # it goes on, whatever was added
    for each in left:
        result = each.task(len(known), len(steps)).wait()
        if result is None:
            break
        each.keep(result)
        known[each] = result
    return {each: known[each] for each in steps if each in known}


def _text(computation: Computation[Any], done: int, total: int) -> str:
    words = computation.words
    return f"{done + 1} of {total}: {words}" if total > 1 else words


# Studies in the background.
LOOK_S: Final = 2.0  # how often runs are looked for
AGAIN_S: Final = 30.0  # how long to wait after a failure
TRIES: Final = 2
AT_ONCE: Final = 4  # runs that a process studies: one that comes meanwhile is the next
LOG: Final = logging.getLogger("candor")


def begin_studies() -> None:
    """Look for runs to study from now on, where this is a server and no test of a page."""
    if streamlit_internals.serves():
        _begin_studies()


@once
def _begin_studies() -> None:
    Thread(target=_look, name="studies", daemon=True).start()


def _look() -> None:
    tried: Counter[str] = Counter()
    before = 0
    while True:
        before = study_changed(tried, before)
        time.sleep(LOOK_S)


def study_changed(tried: Counter[str], before: int) -> int:
    """Have runs studied if some came or went since a change; return the one that was seen to."""
    changed = background.last_change()
    try:
        while changed != before and study_newest(tried):
            pass
    except Exception:  # of the list, or of a process that died: it is gone on with a while later
        LOG.warning("runs could not be studied", exc_info=True)
        time.sleep(AGAIN_S)
        return before
    return changed


def study_newest(tried: Counter[str]) -> bool:
    """Have the newest runs studied but those that were tried; return whether there were any.

    They are as many as can be compared; of older ones pages compute what they need. Those whose
    process died, perhaps because of one of them, are tried once more, each alone.
    """
    newest = background.newest(MOST_RUNS)
    new = [run for run in newest if not tried[run]][:AT_ONCE]
    run_ids = new or [run for run in newest if tried[run] < TRIES][:1]
    tried.update(run_ids)
    if run_ids:
        in_background(background.study_missing, run_ids)
        tried.update(dict.fromkeys(run_ids, TRIES))
    return bool(run_ids)
