"""What the Gamma page shows: history, epoch and bin, kept in the link, and what is kept of each."""

import pickle
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Literal

import numpy as np
import streamlit as st

from core.errors import AuditError, LibraryError
from core.histories import BinHistory
from core.jobs.records import Job, JobState
from core.jobs.store import LIVE
from core.library.history import from_events
from core.library.index import RunRow, row_of
from core.losses.catalogue import BY_BIN
from core.screens.gamma.figures import HistoryGrid
from core.screens.gamma.view import PLAIN, TECHNICAL, AtEpoch, GammaDynamics, GammaWords
from core.screens.gamma.view import at_epochs as epochs_of
from core.screens.gamma.words import HistoryRule, Rule, learned, replay_cells, replay_run
from core.screens.kit.records import Phrase, Sentence
from core.screens.kit.words import with_row_noun
from core.screens.train.words import TRAIN
from pages.ui import frame, open_runs, plot, selected_runs, site, state, visitor, widgets
from pages.ui import open_runs as runs
from pages.ui.caching import cached, results
from pages.ui.compute import step
from pages.ui.jobs import watch as job_watch
from pages.ui.markup import esc
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
    """A history that this page can open."""

    id: str
    name: str
    # ``queued``, ``live``: a job; ``stopped``: one that ended without a run; ``gammas``: a run that
    # keeps them; ``logits``: a run that keeps validation logits only.
    kind: Kind
    created: str = ""  # of a run; "" for a job
    replays: bool = False  # whether a rule can be replayed on it
    sample: bool = False  # whether it comes with the program

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
    rows = {row.id: row for row in (*open_runs.rows(limit=LISTED), *open_runs.rows(kind="sample"))}
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


# What is shown.
OF_ONE_RUN = ("epoch", "bin", "against")
MOVED = "gamma.moved"
OFFERED = 4  # of the user's own, where nothing is open


def words() -> GammaWords:
    """Return the words of the edition that is switched on."""
    return PLAIN if state.plain() else TECHNICAL


def open_source(source_id: str, *, job: bool = False) -> None:
    """Open another history; what was chosen of the last one is forgotten.

    A job is kept apart from the open run, which every page shares: none of them knows a job.
    """
    st.session_state["app.run"] = None if job else source_id
    if job:
        st.query_params.pop("run", None)
    else:
        st.query_params["run"] = source_id
    keep("job", source_id if job else None)
    for name in OF_ONE_RUN:
        keep(name, None)
    st.session_state[MOVED] = True
    state.next_generation()


def give_way(run_id: str) -> None:
    """Open the run that a job has become."""
    st.session_state["app.run"] = run_id
    st.query_params["run"] = run_id
    keep("job", None)


def chosen(name: str) -> str | None:
    """Return what the link says, or on a page just entered what was chosen before; keep it."""
    value: str | None = st.query_params.get(name)
    if "widget.bin" not in st.session_state:
        value = st.session_state.get(f"set.gamma.{name}") if value is None else value
    keep(name, value)
    return value


def keep(name: str, value: str | None) -> None:
    """Keep a choice in link and session; None is the default and leaves the link short."""
    st.session_state[f"set.gamma.{name}"] = value
    if value is None:
        st.query_params.pop(name, None)
    else:
        st.query_params[name] = value


def place(grid: HistoryGrid) -> tuple[int, int]:
    """Return the chosen epoch, else the newest, and bin, else the one that is held back hardest."""
    # First take over the cell of the maps, or the dot of the diagram, that was clicked since
    if cell := _clicked("gamma"):
        keep_epoch(grid, int(np.abs(grid.epoch - cell[0]).argmin()))
        keep("bin", str(int(cell[1])))
    if dot := _clicked("gamma_epoch"):
        keep("bin", str(int(dot[0]) + 1))
    places = {str(epoch): i for i, epoch in enumerate(grid.epoch.tolist())}
    at = places.get(chosen("epoch") or "", grid.n_updates - 1)
    chosen_bin = (chosen("bin") or "")[:5]
    if chosen_bin.isascii() and chosen_bin.isdecimal() and 1 <= int(chosen_bin) <= grid.n_bins:
        return at, int(chosen_bin) - 1
    unfrozen = ~grid.frozen[at]
    return at, int(np.where(unfrozen | ~unfrozen.any(), grid.gamma[at], -np.inf).argmax())


def keep_epoch(grid: HistoryGrid, at: int) -> None:
    """Keep an epoch; the newest is the default, so that a live run is followed."""
    keep("epoch", None if at == grid.n_updates - 1 else str(grid.epoch[at]))


def _clicked(name: str) -> tuple[float, ...]:
    """Return the customdata of a new click on a figure; a second click on a place counts too."""
    key = f"figure.{name}"
    points = plot.picked(key)
    now = _numbers(points[0].get("customdata", ())) if points else ()
    clicks: dict[str, tuple[float, ...]] = st.session_state.setdefault("gamma.seen", {})
    before = clicks.get(key, ())
    if now == before:
        return ()
    st.session_state["gamma.seen"] = {**clicks, key: now}
    return now or before


def _numbers(data: object) -> tuple[float, ...]:
    """Return customdata as numbers; a row of an array comes as an object with keys 0, 1, 2."""
    if isinstance(data, Mapping):
        return _numbers([data[key] for key in sorted(data, key=int)])
    if isinstance(data, list | tuple):
        return tuple(number for entry in data for number in _numbers(entry))
    return (float(str(data)),)


def live() -> list[HistorySource]:
    """Return the trainings under way whose loss learns gammas by bin."""
    sources = [_job_source(job) for job in open_jobs().list() if job.state in LIVE]
    return [source for source in sources if source is not None]


def opened() -> tuple[str | None, HistorySource | None]:
    """Return the id that link or session name, and what can be shown of it.

    A job that has succeeded gives way to its run, with what was chosen of it. Where nothing was
    chosen yet, it is a sample, and the page says so.
    """
    source_id = st.query_params.get("run") or st.session_state.get("app.run")
    source = find(source_id) if source_id else None
    if source is not None:
        keep("job", None)
        _note(source.id)
        return source_id, source
    job: Job | None = None
    with suppress(LibraryError):
        job = open_jobs().get(source_id or chosen("job") or "")
    if job is None or job.kind != TRAIN:
        sample = None if source_id else find(site.GAMMA.sample)
        if sample is not None:
            _note(sample.id)
            selected_runs.your_own()
        return source_id, sample
    if job.state is JobState.SUCCEEDED:
        give_way(job.run)
        _note(job.run)
        return job.run, find(job.run)
    if source_id:  # a link that calls a job a run
        open_source(job.id, job=True)
        st.rerun()
    source = _job_source(job)
    if source is not None:
        frame.set_row_noun(open_jobs().config(job.id).data)
    return job.id, source


def _note(run_id: str) -> None:
    """Note that this page is made of a run, for the audit trail and for the words of its rows."""
    visitor.note(run_id)
    frame.set_row_noun(open_library().get(run_id).data)


def _job_source(job: Job) -> HistorySource | None:
    if job.kind != TRAIN:
        return None
    try:
        config = open_jobs().config(job.id)
    except AuditError:  # its folder is damaged: nothing can be shown of it
        return None
    if not by_bin(config.loss):
        return None
    return HistorySource(job.id, job.name or job.id, kind(job))


def kind(job: Job) -> Kind:
    """Return what kind of source a job is."""
    if job.state in LIVE:
        return "live"
    return "stopped" if job.state.ended else "queued"


def nothing(source_id: str | None, offered: list[HistorySource]) -> None:
    """Say that there are no gammas to show, and offer those that there are."""
    text = "No run with gammas is open yet."
    if source_id:
        try:
            text = f"“{runs.find(source_id).name}” has no gammas by bin."
        except LibraryError as gone:
            frame.refusal(gone)
    widgets.eyebrow(words().page)
    widgets.sentence(Sentence((Phrase(text),)))
    widgets.second(with_row_noun(words().about))
    with_gammas = [source for source in offered if source.kind != "logits"]
    users = [source for source in with_gammas if not source.sample]
    samples = sorted(
        (source for source in with_gammas if source.sample),
        key=lambda source: source.id != site.GAMMA.sample,
    )
    with st.container(horizontal=True, key="samples"):
        for i, source in enumerate([*users[:OFFERED], *samples]):
            st.button(
                esc(source.label),
                type="secondary" if i else "primary",
                icon=":material/play_arrow:",
                key=f"gamma.open.{source.id}",
                on_click=open_source,
                args=(source.id,),
                kwargs={"job": source.job},
            )
