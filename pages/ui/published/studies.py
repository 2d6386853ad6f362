"""Runs beside the papers' numbers: what they are, and one metric of each, computed once."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from core.errors import LibraryError
from core.fields import JsonObject
from core.published import PublishedNumber, compared, definition, protocol
from core.screens.kit.marks import marks
from core.screens.published.lines import OwnRun, RunFacts, TrainedRun
from core.screens.published.view import Place, Repeated, corrected, recipe, repetitions
from core.studies.published import OwnNumbers, own_numbers
from pages.ui import cache
from pages.ui.caching import cached
from pages.ui.compute import Computation, Rows, computed, step
from pages.ui.escape import esc
from pages.ui.visitor import open_library


def own_runs(
    runs: Sequence[cache.Run], metric: str, rows: Sequence[PublishedNumber]
) -> tuple[OwnRun, ...]:
    """Return the runs whose numbers are known, after calibrators fitted as those of rows."""
    steps = {run: _step(run, metric, rows) for run in runs}
    known = computed(list(steps.values()))
    own = []
    for run, mark in zip(runs, marks([run.id for run in runs]), strict=True):
        if steps[run] not in known:
            continue
        facts = RunFacts(n=run.n(run.split))
        if not run.draft:
            manifest = open_library().get(run.id)
            config = compared(manifest.config, manifest.class_names)
            weights = (config or {}).get("weights")
            if isinstance(weights, dict):  # an evaluation: of the training that it names
                config = None
                with suppress(LibraryError):
                    training = open_library().get(weights["run"] or "")
                    config = compared(training.config, training.class_names)
            facts = RunFacts.of(config, manifest.source.file, facts.n)
        numbers = known[steps[run]]
        own.append(OwnRun(id=run.id, name=run.name, mark=mark, facts=facts, numbers=numbers))
    return tuple(own)


def _step(run: cache.Run, metric: str, rows: Sequence[PublishedNumber]) -> Computation[OwnNumbers]:
    """Return the step that computes a metric of the papers, of a run, as rows have it."""
    protocols = {row.posthoc: protocol(row) for row in corrected(rows) if row.metric == metric}
    # Calibrators can be fitted where there is a validation split beside the one that is shown.
    splits = [run.split] + ["val"] * ("val" in run.splits and run.split != "val")

    test, *fit = (Rows(run, split) for split in splits)
    return step(
        own_numbers,
        test,
        fit[0] if fit else None,
        metric,
        tuple(protocols.items()),
        words=esc(run.name),
        heavy=True if "focal_ts" in protocols else None,
        keep_rows=False,
    )


def repeated(
    rows: Sequence[PublishedNumber], settings: JsonObject
) -> tuple[Repeated, tuple[str, ...]]:
    """Return the numbers of the runs that repeat rows, and the ids of these runs.

    Settings stand in the place of the paper's, where others were tried. Of all trainings in the
    library; evaluations of theirs show the same test images again.
    """
    metrics = [m for m in dict.fromkeys(row.metric for row in rows) if definition(m).metric]
    steps: dict[tuple[Place, str], list[Computation[OwnNumbers]]] = {}
    ids: list[str] = []
    for place, runs in repetitions(rows, _recipes(), settings).items():
        for run_id in runs:
            with suppress(LibraryError):  # deleted meanwhile
                run = cache.look_up(run_id)
                ids.append(run_id)
                for metric in metrics:
                    of_run = replace(_step(run, metric, rows), slot="reproduced")
                    steps.setdefault((place, metric), []).append(of_run)
    known = computed(list(dict.fromkeys(of for several in steps.values() for of in several)))
    numbers = {key: [known.get(of) for of in several] for key, several in steps.items()}
    return numbers, tuple(dict.fromkeys(ids))


def _recipes() -> dict[str, tuple[str, int]]:
    """Return what every training of the library was trained with, the newest first."""
    recipes = {}
    for row in cache.rows(kind="train"):
        with suppress(LibraryError):  # deleted meanwhile
            of = _recipe(row.id, row.created) if row.split == "test" else None
            if of is not None:
                recipes[row.id] = of
    return recipes


@cached(8192)
def _recipe(run_id: str, created: str) -> tuple[str, int] | None:
    """Return what a run of the library was trained with, which never changes."""
    del created  # part of the key only: a run of the same id made later is another one
    manifest = open_library().get(run_id)
    return recipe(compared(manifest.config, manifest.class_names))


def trained(rows: Sequence[PublishedNumber]) -> dict[Place, TrainedRun]:
    """Return the newest run of the library that was trained as each of the rows was."""
    runs = {}
    for place, ids in repetitions(rows, _recipes()).items():
        with suppress(LibraryError):  # deleted meanwhile
            for run_id in ids[:1]:
                run = open_library().get(run_id)
                runs[place] = TrainedRun(id=run_id, name=run.name, summary=run.metrics.get("test"))
    return runs
