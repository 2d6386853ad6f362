"""The cached part of the Gamma page; a kept history never changes, so id and date are its key."""

import pickle
from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Literal

from core.errors import LibraryError
from core.histories import BinHistory
from core.library.history import from_events
from core.library.index import RunRow, row_of
from core.losses.catalogue import BY_BIN
from core.screens.gamma.figures import HistoryGrid
from core.screens.gamma.view import PLAIN, TECHNICAL, AtEpoch, GammaDynamics
from core.screens.gamma.view import at_epochs as epochs_of
from core.screens.gamma.words import HistoryRule, Rule, learned, replay_cells, replay_run
from pages.ui import cache, visitor
from pages.ui.caching import cached, results
from pages.ui.compute import step
from pages.ui.escape import esc
from pages.ui.jobs import watch as job_watch
from pages.ui.visitor import open_jobs, open_library

LISTED = 500  # newest runs that are looked through; a link reaches all
MOST_SENT = 6_000  # epochs by bins, some 100 bytes each
HEAVY_CELLS = 3_000_000  # logits; fewer are replayed in a fraction of a second
Kind = Literal["queued", "live", "stopped", "gammas", "logits"]
LABELS: dict[Kind, str] = {
    "queued": " (waiting)",
    "live": " (training now)",
    "stopped": " (stopped)",
    "logits": " (replay only)",
}


@dataclass(frozen=True)
class HistorySource:
    """A history that this page can open.

    Attributes
    ----------
    id, name : str
    kind : str
        ``queued``, ``live``: a job; ``stopped``: one that ended without a run; ``gammas``: a run
        that keeps them; ``logits``: a run that keeps validation logits only.
    created : str
        Of a run; "" for a job.
    replays : bool
        Whether a rule can be replayed on it.
    sample : bool
        Whether it comes with the program.
    """

    id: str
    name: str
    kind: Kind
    created: str = ""
    replays: bool = False
    sample: bool = False

    @property
    def job(self) -> bool:
        """Whether it is a job: no run of the library, and of no other page."""
        return self.kind in {"queued", "live", "stopped"}

    @property
    def label(self) -> str:
        """The name with what it is."""
        return self.name + LABELS.get(self.kind, "")


@cached(4096)
def _keeps(run_id: str, created: str) -> tuple[bool, bool]:
    """Return whether a run keeps gammas, and validation logits."""
    del created  # part of the key only: a run of the same id made later is another one
    history = open_library().get(run_id).history
    if history is None:
        return False, False
    return history.bins is not None, history.validation is not None


def kept() -> list[HistorySource]:
    """Return the newest runs and all samples with gammas, then those with logits only."""
    rows = {row.id: row for row in (*cache.rows(limit=LISTED), *cache.rows(kind="sample"))}
    sources = [_source(row) for row in rows.values()]
    return sorted(
        (source for source in sources if source is not None),
        key=lambda source: source.kind != "gammas",
    )


def find(run_id: str) -> HistorySource | None:
    """Return what can be shown of a run, however old; None where there is no such run.

    A kept correction has the history of the run that it corrects.
    """
    try:
        manifest = open_library().get(run_id)
    except LibraryError:
        return None
    corrected = (manifest.source.recipe or {}).get("calibrated")
    if isinstance(corrected, dict):
        return find(str(corrected.get("run", "")))
    return _source(row_of(manifest))


def _source(row: RunRow) -> HistorySource | None:
    try:
        gammas, logits = _keeps(row.id, row.created)
    except LibraryError:  # deleted meanwhile
        return None
    if not gammas and not logits:
        return None
    return HistorySource(
        row.id,
        row.name,
        "gammas" if gammas else "logits",
        row.created,
        replays=logits and "val" in row.splits,
        sample=row.kind == "sample",
    )


def by_bin(loss: Mapping[str, object]) -> bool:
    """Return whether a loss learns gammas by bin."""
    return loss.get("name") in BY_BIN


def recorded(source: HistorySource) -> GammaDynamics | None:
    """Return the gammas that were trained with; None for a job before its first epoch."""
    return written(source) if source.job else stored(source)


def stored(source: HistorySource) -> GammaDynamics:
    """Return the gammas that a run of the library keeps."""
    return replace(_stored(source.id, source.created), name=source.name)


@cached(16, spinner="Loading the history")
def _stored(run_id: str, created: str) -> GammaDynamics:
    del created
    library = open_library()
    manifest = library.get(run_id)
    loss = (manifest.config or {}).get("loss")
    return dynamics("", library.bins(run_id), loss, manifest.source.digest)


def written(source: HistorySource) -> GammaDynamics | None:
    """Return what a job has written so far, None before its first epoch.

    Read again only when its events have grown.
    """
    at = job_watch.recorded(source.id)
    history = None if at is None else _written(source.id, at)
    return None if history is None else replace(history, name=source.name)


@cached(16)
def _written(job_id: str, at: job_watch.Recorded) -> GammaDynamics | None:
    del at  # part of the key only
    jobs = open_jobs()
    _, bins = from_events(jobs.folder(job_id).lines())
    config = jobs.config(job_id)
    return None if bins is None else dynamics("", bins, config.loss, config.digest)


def dynamics(
    name: str, bins: BinHistory, loss: Mapping[str, object] | None, digest: str = ""
) -> GammaDynamics:
    """Return a history with the rule that it followed, as far as that is known."""
    grid = HistoryGrid.of(bins)
    history_rule = learned(loss, grid)
    return GammaDynamics(
        name=name, origin=origin(history_rule.rule), grid=grid, learned=history_rule, digest=digest
    )


def origin(rule: Rule | None) -> str:
    """Return what is said of a rule beside a name."""
    return "λ not known" if rule is None else f"{rule.label}, λ = {rule.rate:g}"


def at_epochs(history: GammaDynamics, *, plain: bool) -> tuple[AtEpoch, ...]:
    """Return what is shown after every epoch, computed once for all looks at a history.

    Of long histories nothing: it would be megabytes.
    """
    if history.grid.gamma.size > MOST_SENT:
        return ()
    content = blake2b(pickle.dumps((history, plain)), digest_size=16).hexdigest()
    kept = results("gamma.epochs", draft=visitor.shows_draft(), most=16)
    steps: tuple[AtEpoch, ...]
    steps = kept.computed(content, lambda: epochs_of(history, PLAIN if plain else TECHNICAL))
    return steps


@dataclass(frozen=True)
class ReplaySettings:
    """A replay that is wanted."""

    source: HistorySource
    rule: Rule
    n_bins: int


def replay(settings: ReplaySettings) -> GammaDynamics | None:
    """Return a replay as a history to be shown; None while it is computed elsewhere."""
    source = settings.source
    bins = step(
        replay_run,
        source.id,
        settings.rule,
        settings.n_bins,
        words=f"Replaying the rule on {esc(source.name)}",
        heavy=replay_cells(source.id) > HEAVY_CELLS,
        version=source.created,
        most=32,
    ).computed()
    if bins is None:
        return None
    history_rule = HistoryRule(settings.rule, "from the replay settings")
    name = f"replay, {origin(settings.rule)}"
    return GammaDynamics(
        name=source.name,
        origin=name,
        grid=HistoryGrid.of(bins),
        learned=history_rule,
        replayed=True,
    )
