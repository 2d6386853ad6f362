"""From what a reader found to a run of the library; imports readers, metrics and the store."""

from collections.abc import Sequence

from core.configs import AuditConfig
from core.library.history import Tables
from core.library.manifest import HISTORY_KIND, Manifest, RunSource, summarise
from core.library.store import Library
from core.metrics.records import Audit
from core.metrics.suite import audit
from core.progress import stage
from core.readers.predictions.result import ReadResult
from core.readers.tables.strict_tables import HistoryFile


def keep_result(
    library: Library,
    name: str,
    file_name: str,
    result: ReadResult,
    *,
    tags: Sequence[str] = (),
    audited: Audit | None = None,
    run_id: str | None = None,
) -> Manifest:
    """Put a file that was read into the library and return the run.

    `result`: splits, notices, digest and recipe; `audited`: the audit of the chosen split, when it
    is at hand; computed otherwise, if it has labels; `run_id`: as of `Library.keep`.
    """
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


def keep_bin_history(library: Library, name: str, file_name: str, history: HistoryFile) -> Manifest:
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
