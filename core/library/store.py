"""The library: keep, list, load, change, delete and restore runs; imports our files and index."""

import os
import re
import secrets
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from core import defaults
from core.errors import LibraryError, Notice
from core.library import files, recipes
from core.library.export import write_npz
from core.library.index import Damaged, Index, Query, RunRow
from core.library.manifest import (
    SCHEMA_VERSION,
    Manifest,
    Source,
    Summary,
    checked_id,
    checked_name,
    checked_tags,
)
from core.predictions import Predictions

SAMPLES = Path(__file__).parents[2] / "assets" / "samples"
_ALPHABET = "abcdefghijkmnpqrstuvwxyz23456789"  # no l, o, 0, 1: ids are read aloud
_WHEN = "%Y%m%dT%H%M%SZ"
_TRASHED = re.compile(r"([a-z0-9-]+)@([0-9]{8}T[0-9]{6}Z)")


@dataclass(frozen=True)
class Trashed:
    """A deleted run that can still be restored; `deleted` is UTC in ISO 8601."""

    id: str
    name: str
    deleted: str


def home() -> Path:
    """Return the folder all runs live in: CANDOR_HOME, else `.candor` in the user's home."""
    return Path(os.environ.get("CANDOR_HOME") or "~/.candor").expanduser()


def open_library() -> "Library":
    """Return the library of this user with the sample runs that come with the program."""
    return Library(home(), SAMPLES)


class Library:
    """Runs below `home/runs`, and sample runs that are only ever read.

    Parameters
    ----------
    home : Path
        Made when something is first kept; see `home()`.
    samples : Path
        Folder of sample runs; may be missing.
    owner : str
        Who keeps runs from now on; ``local`` without login.
    """

    def __init__(self, home: Path, samples: Path, owner: str = "local") -> None:
        self.home = home
        self.samples = samples
        self.owner = owner
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
        return self._index.rows(Query(search, kind, tag, sort, descending, limit))

    def damaged(self) -> list[Damaged]:
        """Return the folders that hold no readable run."""
        return self._index.damaged()

    def get(self, run_id: str) -> Manifest:
        """Return the manifest of a run.

        Raises
        ------
        LibraryError
            RUN_UNKNOWN, DAMAGED, MANIFEST or SCHEMA_VERSION.
        """
        return files.read_manifest(self._folder(run_id))

    def load(self, run_id: str, split: str) -> Predictions:
        """Return one split of a run, checked against its digest.

        Raises
        ------
        LibraryError
            RUN_UNKNOWN, SPLIT_UNKNOWN or DAMAGED.
        """
        folder = self._folder(run_id)
        return files.read_predictions(folder, files.read_manifest(folder), split)

    def files(self, run_id: str) -> dict[str, str]:
        """Return where each split of a run lies, as absolute paths."""
        folder = self._folder(run_id)
        splits = files.read_manifest(folder).splits
        return {split: str((folder / entry.file).resolve()) for split, entry in splits.items()}

    def keep(
        self,
        name: str,
        splits: Mapping[str, Predictions],
        *,
        source: Source,
        summary: Mapping[str, Summary],
        notices: Sequence[Notice] = (),
        tags: Sequence[str] = (),
    ) -> Manifest:
        """Put a run into the library and return its manifest.

        Parameters
        ----------
        name : str
            What the user calls it; stored as given.
        splits : mapping of str to Predictions
            One or more, of one task, one kind of scores and the same classes.
        source : Source
            File name, digest of its bytes, and the recipe it was read with.
        summary : mapping of str to Summary
            Headline numbers of the splits that were audited.
        notices : sequence of Notice
            What was accepted, but said.
        tags : sequence of str
            Free words.

        Raises
        ------
        LibraryError
            NAME, TAGS, SPLIT_NAME, CLASSES when the splits do not go together, or LIBRARY_WRITE
            when nothing could be written.
        """
        _check_alike(splits)
        stored = {split: files.native(predictions) for split, predictions in splits.items()}
        manifest = describe(name, stored, source=source, summary=summary, notices=notices)
        manifest = replace(manifest, owner=self.owner, tags=checked_tags(tags))
        self._make_home()
        files.write_run(self._runs, manifest, stored)
        return manifest

    def rename(self, run_id: str, name: str) -> Manifest:
        """Give a run another name; samples keep theirs (SAMPLE)."""
        return self._change(run_id, name=checked_name(name))

    def tag(self, run_id: str, tags: Sequence[str]) -> Manifest:
        """Set the tags of a run; samples keep theirs (SAMPLE)."""
        return self._change(run_id, tags=checked_tags(tags))

    def delete(self, run_id: str) -> None:
        """Move a run to the trash, where it stays `defaults.TRASH_DAYS` days."""
        run = self._own(run_id)
        with self._index.locked(), files.writing():
            self._trash.mkdir(exist_ok=True, mode=0o700)
            try:
                run.rename(self._trash / f"{run_id}@{datetime.now(UTC).strftime(_WHEN)}")
            except FileNotFoundError as error:
                raise _unknown(run_id) from error
        self.purge()

    def restore(self, run_id: str) -> Manifest:
        """Bring a deleted run back.

        Raises
        ------
        LibraryError
            RUN_UNKNOWN when the trash does not hold it.
        """
        checked_id(run_id)
        self._make_home()
        with self._index.locked(), files.writing():
            found = [path for path, trashed, _ in self._trashed() if trashed == run_id]
            if not found:
                raise _unknown(run_id)
            found[-1].rename(self._runs / run_id)
        return self.get(run_id)

    def trash(self) -> list[Trashed]:
        """Return the deleted runs, the last deleted first."""
        return [
            Trashed(run_id, _name(path), when.isoformat())
            for path, run_id, when in reversed(self._trashed())
        ]

    def purge(self) -> int:
        """Remove for good what was deleted over TRASH_DAYS ago, and return how many runs.

        What a process that died left half-written is removed as well, a day later.
        """
        oldest = datetime.now(UTC) - timedelta(days=defaults.TRASH_DAYS)
        old = [path for path, _, when in self._trashed() if when < oldest]
        yesterday = (datetime.now(UTC) - timedelta(days=1)).timestamp()
        parts = [*self._runs.glob(f".*{files.PART}")]
        for path in (*old, *(part for part in parts if _changed(part) < yesterday)):
            shutil.rmtree(path, ignore_errors=True)
        return len(old)

    def rebuild_index(self) -> int:
        """Read every folder again and return how many runs are listed."""
        self._make_home()
        with files.writing():
            return self._index.rebuild()

    def export(self, run_id: str, out: Path) -> None:
        """Write a run to one .npz, which `runs import` and NumPy read; see `core.library.export`.

        Raises
        ------
        LibraryError
            RUN_UNKNOWN, DAMAGED, or LIBRARY_WRITE when `out` cannot be written.
        """
        manifest = self.get(run_id)
        write_npz(out, manifest, {split: self.load(run_id, split) for split in manifest.splits})

    def save_recipe(self, fingerprint: str, recipe: dict[str, Any]) -> None:
        """Remember how files of one layout are read; see `core.library.recipes`."""
        recipes.save_recipe(self.home, fingerprint, recipe)

    def load_recipe(self, fingerprint: str) -> dict[str, Any] | None:
        """Return the recipe saved for a layout, or None."""
        return recipes.load_recipe(self.home, fingerprint)

    def _folder(self, run_id: str) -> Path:
        """Return where a run lies; the id is checked before it touches a path."""
        checked_id(run_id)
        for root in (self.samples, self._runs):
            if (root / run_id).is_dir():
                return root / run_id
        raise _unknown(run_id)

    def _own(self, run_id: str) -> Path:
        """Return the folder of a run that may be changed."""
        run = self._folder(run_id)
        if run.parent == self.samples:
            raise LibraryError(
                "SAMPLE",
                f"{run_id} is a sample run, which cannot be changed or deleted",
                "keep a run of your own instead",
            )
        return run

    def _change(self, run_id: str, **fields: object) -> Manifest:
        run = self._own(run_id)
        with self._index.locked(), files.writing():
            manifest = replace(files.read_manifest(run), **fields)  # type: ignore[arg-type]
            files.write_manifest(run, manifest)
        return manifest

    def _make_home(self) -> None:
        with files.writing():
            self.home.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._runs.mkdir(exist_ok=True, mode=0o700)

    def _trashed(self) -> list[tuple[Path, str, datetime]]:
        """Return (folder, id, when) of deleted runs, the oldest first."""
        found = ((path, _TRASHED.fullmatch(path.name)) for path in self._trash.glob("*@*"))
        entries = [(path, match[1], _moment(match[2])) for path, match in found if match]
        return sorted(entries, key=lambda entry: (entry[2], entry[1]))


def _check_alike(splits: Mapping[str, Predictions]) -> None:
    """Refuse splits that one manifest cannot describe: it says task, kind and classes once."""
    first, *others = splits
    for other in others:
        one, two = splits[first], splits[other]
        if (one.task, one.kind, one.class_names) != (two.task, two.kind, two.class_names):
            raise LibraryError(
                "CLASSES",
                f"{first} is {_kind(one)}, {other} is {_kind(two)}; a run has one set of classes",
                "keep each part as a run of its own",
            )


def _kind(found: Predictions) -> str:
    names = ", ".join(name[:60] for name in found.class_names[:6])
    more = " and more" if found.n_classes > 6 else ""
    return f"{found.task} {found.kind} with {found.n_classes} classes ({names}{more})"


def describe(
    name: str,
    splits: Mapping[str, Predictions],
    *,
    source: Source,
    summary: Mapping[str, Summary],
    notices: Sequence[Notice] = (),
) -> Manifest:
    """Return the manifest of a new upload; the id is drawn at random."""
    first = next(iter(splits.values()))
    return Manifest(
        schema_version=SCHEMA_VERSION,
        id="".join(secrets.choice(_ALPHABET) for _ in range(12)),
        name=checked_name(name),
        kind="upload",
        owner="local",
        created=datetime.now(UTC).isoformat(timespec="milliseconds"),
        description="",
        task=str(first.task),
        scores=str(first.kind),
        n_classes=first.n_classes,
        class_names=first.class_names,
        splits={split: files.entry_of(split, found) for split, found in splits.items()},
        source=source,
        notices=tuple(notices),
        tags=(),
        metrics=dict(summary),
        code_version=defaults.VERSION,
    )


def _changed(path: Path) -> float:
    """Return when a path last changed; one that is gone by now changed never."""
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return float("inf")


def _moment(text: str) -> datetime:
    return datetime.strptime(text, _WHEN).replace(tzinfo=UTC)


def _name(run: Path) -> str:
    try:
        return files.parse_manifest((run / files.MANIFEST).read_text("utf-8")).name
    except (OSError, ValueError, LibraryError):
        return "(damaged)"


def _unknown(run_id: str) -> LibraryError:
    return LibraryError("RUN_UNKNOWN", f"there is no run {run_id}", "pick a run from the list")
