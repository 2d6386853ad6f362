"""The library: keep, list, load, change, delete and restore runs; imports our files and index."""

import logging
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from core import defaults
from core.access import LOCAL, RETAINER, Act, Quotas, Visitor, of_process, refuse_over
from core.arrays import Scores
from core.disk import PART, writing
from core.errors import LibraryError, Notice, UsageError
from core.fields import JsonObject
from core.histories import BinHistory, History
from core.library import files, recipes, sharing, trail
from core.library.export import write_npz, write_parquet
from core.library.files import check_tables, describe
from core.library.history import Tables, read_bins, read_history
from core.library.index import DamagedRun, Index, Query, RunRow
from core.library.manifest import (
    BINS,
    HISTORY,
    HISTORY_KIND,
    RUN_ID,
    VALIDATION,
    Manifest,
    RunSource,
    Summary,
    checked_id,
    checked_name,
    checked_tags,
    summarise,
)
from core.metrics.records import Audit
from core.predictions import Predictions
from core.progress import stage

if TYPE_CHECKING:
    from core.readers.predictions.result import ReadResult
    from core.readers.tables.strict_tables import HistoryFile

GONE = f".gone{PART}"  # end of the name of a folder that is being removed for good
_WHEN = "%Y%m%dT%H%M%SZ"
_TRASHED = re.compile(r"([a-z0-9-]+)@([0-9]{8}T[0-9]{6}Z)")


@dataclass(frozen=True)
class TrashedRun:
    """A deleted run that can still be restored; `deleted` is UTC in ISO 8601."""

    id: str
    name: str
    deleted: str


def trash_place(trash: Path, run_id: str) -> Path:
    """Return where a run that is deleted now goes."""
    return trash / f"{run_id}@{datetime.now(UTC).strftime(_WHEN)}"


def newest_trashed(trash: Path, run_id: str) -> Path | None:
    """Return where the last deleted run of an id lies, if there is one."""
    folders = [path for path, trashed, _ in _entries(trash) if trashed == run_id]
    return folders[-1] if folders else None


def listed_trash(trash: Path, visible: Callable[[Path], bool]) -> list[TrashedRun]:
    """Return the deleted runs whose folders are visible, the last deleted first."""
    return [
        TrashedRun(run_id, files.name_of(path) or "(damaged)", when.isoformat())
        for path, run_id, when in reversed(_entries(trash))
        if visible(path)
    ]


def expired_trash(trash: Path) -> list[Path]:
    """Return the folders of the runs that were deleted over TRASH_DAYS ago."""
    oldest = datetime.now(UTC) - timedelta(days=defaults.TRASH_DAYS)
    return [path for path, _, when in _entries(trash) if when < oldest]


def sweep_unfinished(runs: Path) -> None:
    """Remove what a process that died left half-written among the runs, a day later."""
    yesterday = (datetime.now(UTC) - timedelta(days=1)).timestamp()
    parts: list[Path] = []
    for folder in (runs, *runs.glob("*")):
        with suppress(OSError):  # deleted meanwhile
            parts += folder.glob(f".*{PART}")
    for part in parts:
        if part.name.endswith(GONE) or _changed(part) >= yesterday:
            continue
        if part.is_dir():
            shutil.rmtree(part, ignore_errors=True)
        else:
            with suppress(OSError):
                part.unlink()


def _entries(trash: Path) -> list[tuple[Path, str, datetime]]:
    """Return (folder, id, when) of deleted runs, the oldest first."""
    matches = ((path, _TRASHED.fullmatch(path.name)) for path in trash.glob("*@*"))
    entries = [
        (path, match[1], datetime.strptime(match[2], _WHEN).replace(tzinfo=UTC))
        for path, match in matches
        if match
    ]
    return sorted(entries, key=lambda entry: (entry[2], entry[1]))


def _changed(part: Path) -> float:
    """Return when a path last changed; one that is gone or hidden by now changed never."""
    try:
        return part.stat().st_mtime
    except OSError:
        return float("inf")


# The library.
SAMPLES = Path(__file__).parents[2] / "assets" / "samples"
LOG = logging.getLogger(__name__)
Kind = Literal["upload", "history", "train", "evaluate"]
NO_TABLES = Tables()


def home() -> Path:
    """Return the folder all runs live in: CANDOR_HOME, else `.candor` in the user's home.

    Raises UsageError OUTPUT: nobody knows where that user's home is.
    """
    given = os.environ.get("CANDOR_HOME") or "~/.candor"
    try:
        return Path(given).expanduser().absolute()
    except RuntimeError as error:
        what = f"{given[:60]} begins with the home of a user who does not exist here"
        raise UsageError("OUTPUT", what, "set CANDOR_HOME to a path that begins with /") from error


def open_library() -> "Library":
    """Return the library of this process with the sample runs that come with the program.

    It hides nothing: pages open that of their visitor (`pages.ui.visitor`).
    """
    return Library(home(), SAMPLES, of_process())


@dataclass(frozen=True)
class StoredSplit:
    """A split of a run of this user's library, named: to be loaded where it is computed with."""

    # run_id, split: as `Library.load` takes them
    run_id: str
    split: str
    cells: int  # how many scores it holds

    def load(self) -> Predictions:
        """Return the split; raises as `Library.load`."""
        return open_library().load(self.run_id, self.split)


class Library:
    """Runs below `home/runs`, and sample runs that are only ever read, as a visitor sees them.

    What a visitor may not see is not there: an unknown id and that of somebody else's run are
    refused in the same words.

    `home`: made when something is first kept; see `home()`; `samples`: folder of sample runs; may
    be missing; `visitor`: who asks; `LOCAL`, who sees and may do everything, without login.
    """

    def __init__(self, home: Path, samples: Path, visitor: Visitor = LOCAL) -> None:
        self.home = home
        self.samples = samples
        self.visitor = visitor
        self._runs = home / "runs"
        self._trash = home / "trash"
        self._index = Index(home / "index.sqlite", (samples, self._runs))

    def rows(
        self,
        *,
        search: str = "",
        kind: str | None = None,
        tag: str | None = None,
        sort: str = "created",
        descending: bool = True,
        limit: int | None = None,
    ) -> list[RunRow]:
        """Return the runs that match, in order; see `Query` for the parameters."""
        return self._index.rows(
            Query(
                search=search,
                kind=kind,
                tag=tag,
                sort=sort,
                descending=descending,
                limit=limit,
                names=None if self.visitor.sees_all else self.visitor.names,
            )
        )

    def damaged(self) -> list[DamagedRun]:
        """Return the folders that hold no readable run."""
        return [
            replace(run, own=RUN_ID.fullmatch(run.id) is not None and self._is_own(run.id))
            for run in self._index.damaged()
            if not self._is_own(run.id) or self._sees(self._runs / run.id)
        ]

    def get(self, run_id: str) -> Manifest:
        """Return the manifest of a run.

        Raises LibraryError RUN_UNKNOWN, DAMAGED, MANIFEST or SCHEMA_VERSION.
        """
        return files.read_manifest(self.folder(run_id))

    def load(self, run_id: str, split: str, *, checked: bool = True) -> Predictions:
        """Return one split of a run, checked against its digest unless that was just done.

        Raises LibraryError RUN_UNKNOWN, SPLIT_UNKNOWN or DAMAGED.
        """
        folder = self.folder(run_id)
        return files.read_predictions(folder, files.read_manifest(folder), split, checked=checked)

    def files(self, run_id: str) -> dict[str, str]:
        """Return where each split lies, and under its own name each table beside the manifest."""
        folder = self.folder(run_id)
        manifest = files.read_manifest(folder)
        places = {split: entry.file for split, entry in manifest.splits.items()}
        places |= {name: name for name in manifest.tables}
        return {key: str((folder / place).resolve()) for key, place in places.items()}

    def history(self, run_id: str) -> History:
        """Return the metrics by epoch of a trained run.

        Raises LibraryError RUN_UNKNOWN, DAMAGED, or NO_HISTORY when none was kept.
        """
        return files.read_table(self.folder(run_id), HISTORY, read_history)

    def bins(self, run_id: str) -> BinHistory:
        """Return bins and gammas by epoch of a run; raises as `history` does."""
        return files.read_table(self.folder(run_id), BINS, read_bins)

    def validation_logits(self, run_id: str) -> Scores:
        """Return the logits (E, N, K) of the validation part after each epoch, mapped.

        Rows are those of the split val. Raises as `history` does.
        """
        return files.read_table(self.folder(run_id), VALIDATION, files.read_logits)

    def keep(  # noqa: PLR0913  each is a separate part of a run
        self,
        name: str,
        splits: Mapping[str, Predictions],
        *,
        source: RunSource,
        summary: Mapping[str, Summary],
        notices: Sequence[Notice] = (),
        tags: Sequence[str] = (),
        kind: Kind = "upload",
        tables: Tables = NO_TABLES,
        config: JsonObject | None = None,
        environment: JsonObject | None = None,
        run_id: str | None = None,
    ) -> Manifest:
        """Put a run into the library and return its manifest.

        Parameters
        ----------
        name : str
            What the user calls it; stored as given.
        splits : mapping of str to Predictions
            Of one task, one kind of scores and the same classes; none of a gamma history alone.
        source : RunSource
            File name, digest of its bytes, and the recipe it was read with.
        summary : mapping of str to Summary
            Headline numbers of the splits that were audited.
        notices : sequence of Notice
            What was accepted, but said.
        kind : {'upload', 'history', 'train', 'evaluate'}
            Uploads and gamma histories from elsewhere count against the quota. What a job has spent
            hours on is kept beyond it.
        tables : Tables
            What a training or a gamma history holds by epoch.
        config, environment : dict or None
            Plain JSON: what a training or an evaluation was told, and what it ran on.
        run_id : str, optional
            The id of the job that made or read it, which becomes the run's. One that is there
            already stays as it is: the end of a job may come twice.

        Raises
        ------
        LibraryError
            NAME, TAGS, SPLIT_NAME, CLASSES when the splits do not go together, HISTORY when the
            tables do not, ROLE, OVER_QUOTA, or LIBRARY_WRITE when nothing could be written.
        """
        if run_id is not None and (self._runs / checked_id(run_id)).is_dir():
            return self.get(run_id)
        if kind == "train":
            check_tables(tables, splits)
        manifest = describe(name, splits, source=source, summary=summary, notices=notices)
        if run_id is None or kind == "upload":
            members = [part.members.of_row for part in splits.values() if part.members is not None]
            arrays = [array for part in splits.values() for array in (part.scores, part.labels)]
            self.check_room(sum(array.nbytes for array in (*arrays, *members)))
        manifest = replace(
            manifest,
            id=run_id or manifest.id,
            kind=kind,
            owner=self.visitor.owner,
            tags=checked_tags(tags),
            config=config,
            environment=environment,
            history=tables.entry(),
        )
        self.visitor.require(Act.IMPORT)
        self._make_home()
        if run_id is None:  # else the trail has the job, whose id it is
            trail.record(self.home, self.visitor, Act.IMPORT, manifest.id)
        files.write_run(self._runs, manifest, splits, tables)
        return manifest

    def rename(self, run_id: str, name: str) -> Manifest:
        """Give a run another name; samples keep theirs (SAMPLE)."""
        return self._change(run_id, name=checked_name(name))

    def tag(self, run_id: str, tags: Sequence[str]) -> Manifest:
        """Set the tags of a run; samples keep theirs (SAMPLE)."""
        return self._change(run_id, tags=checked_tags(tags))

    def delete(self, run_id: str) -> None:
        """Move a run to the trash, where it stays `defaults.TRASH_DAYS` days."""
        run = self._own(run_id, Act.DELETE)
        with self._changing(run):
            self._trash.mkdir(exist_ok=True, mode=0o700)
            run.rename(trash_place(self._trash, run_id))
        try:
            self.purge()
        except LibraryError:  # the run is deleted all the same
            LOG.exception("what was deleted long ago cannot be removed")

    def restore(self, run_id: str) -> None:
        """Bring a deleted run back, as it was: also a damaged one.

        Raises LibraryError RUN_UNKNOWN when the trash does not hold it, ROLE.
        """
        checked_id(run_id)
        self.visitor.require(Act.RESTORE)
        self._make_home()
        with self._index.locked(), writing():
            folder = newest_trashed(self._trash, run_id)
            if folder is None or not self.visitor.owns(sharing.owner_of(folder)):
                raise files.unknown(run_id)
            trail.record(self.home, self.visitor, Act.RESTORE, run_id)
            folder.rename(self._runs / run_id)

    def trash(self) -> list[TrashedRun]:
        """Return the deleted runs, the last deleted first."""
        return listed_trash(self._trash, lambda run: self.visitor.owns(sharing.owner_of(run)))

    def purge(self) -> int:
        """Remove for good what was deleted over TRASH_DAYS ago, and return how many runs.

        The index, whose free pages held their names, is made anew.
        """
        by = RETAINER if self.visitor.recorded else self.visitor  # whoever's delete it came with
        n_runs, _ = self._remove(expired_trash(self._trash), by)
        sweep_unfinished(self._runs)
        return n_runs

    def forget_recipes(self, days: float) -> int:
        """Remove for good how files are read, saved more than so many days ago; return how many.

        Recipes name columns, and are everybody's: whoever does not see all removes none.
        """
        self.visitor.require(Act.PURGE)
        if not self.visitor.sees_all:
            return 0
        moment = datetime.now(UTC) - timedelta(days=days)
        return recipes.forget_before(self.home, moment.timestamp())

    def expire(self, days: float) -> int:
        """Remove for good every upload kept more than so many days ago, and return how many.

        Deleted ones go too, and the index, which held their names, is made anew. Runs that were
        trained or evaluated here stay. The bytes are unlinked, not overwritten.

        Raises LibraryError ROLE or LIBRARY_WRITE.
        """
        self.visitor.require(Act.PURGE)
        oldest = datetime.now(UTC) - timedelta(days=days)
        folders = (*self._runs.glob("[!.]*"), *self._trash.glob("*@*"))
        old = [run for run in folders if self.visitor.owns(sharing.owner_of(run))]
        uploads = [run for run in old if files.is_upload_before(run, oldest)]
        n_runs, left = self._remove(uploads, self.visitor)
        if left:
            what = "Some uploads cannot be removed from the disk, even if they are no longer listed"
            raise LibraryError("LIBRARY_WRITE", what, "make CANDOR_HOME writable, then purge again")
        return n_runs

    def _remove(self, folders: Sequence[Path], by: Visitor) -> tuple[int, list[Path]]:
        """Remove folders of runs for good, and those of a removal that was interrupted.

        Returns how many of the runs are gone, and the folders that cannot be removed. Each run is
        whole or not there. The index is made anew before their bytes go: a process that dies
        leaves them to the next removal, which does both.
        """
        n_runs, left = 0, []
        for run in folders:
            with self._index.locked():
                if not run.is_dir():  # another removal has it
                    continue
                trail.record(self.home, by, Act.PURGE, run.name.split("@")[0])
                try:
                    run.rename(self._runs / f".{run.name}{GONE}")
                    n_runs += 1
                except OSError:
                    LOG.exception("a run cannot be removed")
                    left.append(run)
        gone = list(self._runs.glob(f".*{GONE}"))
        if gone:
            try:
                self.rebuild_index()
            except LibraryError:  # as of a full disk: arrays, which hold no names, make room
                for run in gone:
                    shutil.rmtree(run / files.ARRAYS, ignore_errors=True)
                self.rebuild_index()
        for run in gone:
            shutil.rmtree(run, ignore_errors=True)
        return n_runs, [*left, *(run for run in gone if run.exists())]

    def rebuild_index(self) -> int:
        """Read every folder again and return how many runs are listed."""
        self._make_home()
        with writing():
            return self._index.rebuild()

    def export(self, run_id: str, out: Path) -> None:
        """Write a run to one file that `runs import` reads; see `core.library.export`.

        Predictions become an .npz, which NumPy reads too, a gamma history a .parquet.

        Raises LibraryError RUN_UNKNOWN, DAMAGED, or EXPORT when `out` cannot be written.
        """
        manifest = self.get(run_id)
        trail.record(self.home, self.visitor, Act.EXPORT, run_id)
        if manifest.splits:
            write_npz(out, manifest, {split: self.load(run_id, split) for split in manifest.splits})
        else:
            write_parquet(out, files.read_table(self.folder(run_id), BINS, Path.read_bytes))

    def share(self, run_id: str, person: str) -> None:
        """Let a user or group see a run that one owns; they may not change it.

        Raises LibraryError RUN_UNKNOWN, SAMPLE, ROLE, PERSON_UNKNOWN or LIBRARY_WRITE.
        """
        self._share(run_id, Act.SHARE, lambda names: {*names, sharing.checked(person)}, person)

    def revoke(self, run_id: str, person: str) -> None:
        """Take back what `share` gave; raises the same."""
        self._share(run_id, Act.REVOKE, lambda names: names - {sharing.checked(person)}, person)

    def shared_with(self, run_id: str) -> tuple[str, ...]:
        """Return the users and groups that a run is shared with."""
        return sharing.read(self.folder(run_id))

    def owns(self, run_id: str) -> bool:
        """Whether the visitor may change a run, as far as the role goes; no sample."""
        run = self.folder(run_id)
        return self._is_own(run_id) and self.visitor.owns(sharing.owner_of(run))

    def used(self) -> int:
        """Return the bytes on the disk of all runs of the visitor's owner, deleted ones too."""
        folders = (*self._runs.glob("*"), *self._trash.glob("*@*"))
        owner = self.visitor.owner
        return sum(_bytes(run) for run in folders if sharing.owner_of(run) == owner)

    def check_room(self, more: int) -> None:
        """Refuse bytes over the quota of the visitor's owner: LibraryError OVER_QUOTA."""
        quota = Quotas.of_environment().disk
        if quota is not None:
            refuse_over(quota, self.used(), more, "Your runs", "delete runs for good first")

    def folder(self, run_id: str) -> Path:
        """Return where a run lies; the id is checked before it touches a path.

        Raises LibraryError RUN_UNKNOWN.
        """
        checked_id(run_id)
        if (self.samples / run_id).is_dir():
            return self.samples / run_id
        run = self._runs / run_id
        if not run.is_dir() or not self._sees(run):
            raise files.unknown(run_id)
        return run

    def _sees(self, run: Path) -> bool:
        """Whether the visitor may see a run."""
        shared_with: tuple[str, ...] = ()
        with suppress(LibraryError):  # for as long as nobody can tell it is its owner's alone
            shared_with = sharing.read(run)
        return self.visitor.sees_all or self.visitor.sees(sharing.owner_of(run), shared_with)

    def _is_own(self, run_id: str) -> bool:
        """Whether a run may be changed: samples may not."""
        return not (self.samples / run_id).is_dir()

    def _own(self, run_id: str, act: Act, detail: str = "") -> Path:
        """Return the folder of a run that may be changed, once the audit trail has the act."""
        run = self.folder(run_id)
        if not self._is_own(run_id):
            raise LibraryError(
                "SAMPLE",
                f"{run_id} is a sample run, which cannot be changed or deleted",
                "keep a run of your own instead",
            )
        self.visitor.require(act)
        if not self.visitor.owns(sharing.owner_of(run)):
            raise LibraryError(
                "ROLE",
                f"Run {run_id} was shared with you and belongs to somebody else",
                "ask its owner to change it",
            )
        trail.record(self.home, self.visitor, act, run_id, detail)
        return run

    def _share(
        self, run_id: str, act: Act, change: Callable[[set[str]], set[str]], person: str
    ) -> None:
        sharing.checked(person)
        run = self._own(run_id, act, person)
        with self._changing(run):
            sharing.write(run, change(set(sharing.read(run))))

    @contextmanager
    def _changing(self, run: Path) -> Iterator[None]:
        """Keep others from changing runs; RUN_UNKNOWN where one has just deleted this one."""
        with self._index.locked(), writing():
            if not run.is_dir():
                raise files.unknown(run.name)
            yield

    def _change(self, run_id: str, **fields: object) -> Manifest:
        run = self._own(run_id, Act.CHANGE)
        with self._changing(run):
            manifest = replace(files.read_manifest(run), **fields)  # type: ignore[arg-type]
            files.write_manifest(run, manifest)
        return manifest

    def _make_home(self) -> None:
        with writing():
            self.home.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._runs.mkdir(exist_ok=True, mode=0o700)


def _bytes(run: Path) -> int:
    """Return how much a folder holds; a file or folder that goes meanwhile holds nothing."""
    n_bytes = 0
    for folder, folders, names in os.walk(run):
        for name in (*folders, *names):
            with suppress(OSError):
                n_bytes += os.lstat(os.path.join(folder, name)).st_size  # noqa: PTH118  # many
    return n_bytes


# A file that was read becomes a run.
def keep_result(
    library: Library,
    name: str,
    file_name: str,
    result: "ReadResult",
    *,
    tags: Sequence[str] = (),
    audited: Audit | None = None,
    run_id: str | None = None,
) -> Manifest:
    """Put a file that was read into the library and return the run.

    `result`: splits, notices, digest and recipe; `audited`: the audit of the chosen split, when it
    is at hand; computed otherwise, if it has labels; `run_id`: as of `Library.keep`.
    """
    # Late: a library opens without the metrics, which take a while to import.
    from core.configs import AuditConfig
    from core.metrics.suite import audit

    split = result.chosen_split
    summary = {}
    if result.splits[split].labelled:
        summary[split] = summarise(audited or audit(result.splits[split], AuditConfig()))
    scores = sum(predictions.scores.size for predictions in result.splits.values())
    with stage("Writing the scores", 0.0, 1.0, scores):
        return library.keep(
            name,
            result.splits,
            source=RunSource(file_name, result.digest, result.recipe.to_json()),
            summary=summary,
            notices=result.notices,
            tags=tags,
            run_id=run_id,
        )


def keep_bin_history(
    library: Library, name: str, file_name: str, history: "HistoryFile"
) -> Manifest:
    """Put a gamma history that was read from a file into the library and return the run.

    `history`: bins by epoch, notices, digest. The run is of kind ``history``.
    """
    source = RunSource(file_name, history.digest)
    return library.keep(
        name,
        {},
        source=source,
        summary={},
        notices=history.notices,
        kind=HISTORY_KIND,
        tables=Tables(bins=history.bins),
    )
