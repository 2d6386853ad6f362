"""Runs and drafts as pages open them, and their arrays, which are shared read-only."""

from dataclasses import dataclass

from core.errors import LibraryError, Notice
from core.library import StoredSplit
from core.library.index import RunRow
from core.predictions import Predictions, RowStats, Task
from pages.ui import session, visitor
from pages.ui.caching import Results, results
from pages.ui.visitor import open_library

HEADLINES = ("accuracy", "nll", "brier", "ece", "aurc", "auroc", "auprc")


@dataclass(frozen=True, kw_only=True)
class Run:
    """What a page needs to know of a run or a draft, without its arrays."""

    id: str
    name: str
    kind: str
    splits: tuple[str, ...]
    split: str
    digests: tuple[str, ...]
    lengths: tuple[int, ...]  # rows of each, as `digests`
    task: Task
    file_digest: str
    class_names: tuple[str, ...]
    notices: tuple[Notice, ...]
    outside: tuple[str, ...] = ()
    data: str = ""  # key of the data set that a training or evaluation names

    @property
    def draft(self) -> bool:
        """Whether it lives in this session only."""
        return self.kind == "draft"

    def digest(self, split: str) -> str:
        """Return the digest of one split."""
        return self.digests[(*self.splits, *self.outside).index(split)]

    def n(self, split: str) -> int:
        """Return the number of rows of one split."""
        return self.lengths[(*self.splits, *self.outside).index(split)]


def find(run_id: str) -> Run:
    """Return the draft or run of that id.

    Raises LibraryError RUN_UNKNOWN when neither this session nor the library holds it;
    NO_PREDICTIONS when it is a gamma history; NO_LABELS when nothing in it can be audited.
    """
    run = look_up(run_id)
    note(run)
    if not run.splits:
        raise LibraryError(
            "NO_LABELS",
            f"{run.name} holds inputs that belong to none of the classes",
            "open it on the Out of distribution page, or pick a run with labels",
        )
    return run


def find_or_none(run_id: str) -> Run | None:
    """Return the draft or run of that id; None where it was deleted, or cannot be audited."""
    try:
        return find(run_id)
    except LibraryError:
        return None


def note(run: Run) -> None:
    """Note that this page is made of a draft or run: for the trail and `visitor.check`."""
    (visitor.note_draft if run.draft else visitor.note)(run.id)


def look_up(run_id: str) -> Run:
    """Return the draft or run of that id, also one without labels; raises as `find`."""
    draft = session.drafts().get(run_id) if run_id.startswith(session.DRAFT) else None
    if draft is None:
        manifest = open_library().get(run_id)
        if not manifest.splits:
            raise LibraryError(
                "NO_PREDICTIONS",
                f"{manifest.name} is a gamma history and holds no predictions",
                "pick a run that holds predictions",
            )
        outside = tuple(split for split in manifest.splits if split not in manifest.labelled)
        entries = [manifest.splits[split] for split in (*manifest.labelled, *outside)]
        return Run(
            id=manifest.id,
            name=manifest.name,
            kind=manifest.kind,
            splits=manifest.labelled,
            outside=outside,
            split=manifest.headline,
            digests=tuple(entry.digest for entry in entries),
            lengths=tuple(entry.n for entry in entries),
            task=Task(manifest.task),
            file_digest=manifest.source.digest,
            class_names=manifest.class_names,
            notices=manifest.notices,
            data=manifest.data,
        )
    return run_of(draft)


def run_of(draft: session.Draft) -> Run:
    """Return what a page needs to know of a draft."""
    splits = draft.result.splits
    first = next(iter(splits.values()))
    return Run(
        id=draft.id,
        name=draft.name,
        kind="draft",
        splits=tuple(splits),
        split=draft.result.chosen_split,
        digests=tuple(part.digest for part in splits.values()),
        lengths=tuple(part.n for part in splits.values()),
        task=first.task,
        file_digest=draft.result.digest,
        class_names=first.class_names,
        notices=draft.result.notices,
    )


def predictions(run: Run, split: str) -> Predictions:
    """Return the arrays of one split."""
    if run.draft:
        draft = session.drafts().get(run.id)
        if draft is None:
            raise LibraryError("RUN_UNKNOWN", "The draft is gone", "upload the file again")
        return draft.result.splits[split]
    return _library_split(run, split, checked=True)


def source(run: Run, split: str) -> Predictions | StoredSplit:
    """Return the scores of a draft, and where those of a stored run lie."""
    if run.draft:
        return predictions(run, split)
    return StoredSplit(run.id, split, run.n(split) * len(run.class_names))


def adopt_row_stats(run: Run, split: str, rows: RowStats | None) -> None:
    """Take what another process read in the arrays of a split, which it has also checked."""
    arrays = predictions(run, split) if run.draft else _library_split(run, split, checked=False)
    if rows is not None:
        arrays.set_row_stats(rows)


def _library_split(run: Run, split: str, *, checked: bool) -> Predictions:
    kept: Results[tuple[str, str, str], Predictions]
    kept = results("predictions", draft=False, most=8, large=True)
    return kept.computed(
        (run.id, split, run.digest(split)),  # one replaced is loaded again
        lambda: open_library().load(run.id, split, checked=checked),
        spinner="Loading the run",
    )


def rows(**query: object) -> list[RunRow]:
    """Return the library's runs; read each time, the index answers in milliseconds."""
    return open_library().rows(**query)  # type: ignore[arg-type]


def openable(limit: int) -> list[RunRow]:
    """Return the newest runs that hold predictions: all that pages can open."""
    return [row for row in rows(limit=limit) if row.splits]
