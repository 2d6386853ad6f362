"""The manifest of a run that is about to be kept; imports our files only."""

import secrets
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

from core import defaults
from core.errors import Notice
from core.library import files
from core.library.checks import check_alike
from core.library.manifest import SCHEMA_VERSION, Manifest, RunSource, Summary, checked_name
from core.predictions import Predictions

_ALPHABET: Final = "abcdefghijkmnpqrstuvwxyz23456789"  # no l, o, 0, 1: ids are read aloud


def describe(
    name: str,
    splits: Mapping[str, Predictions],
    *,
    source: RunSource,
    summary: Mapping[str, Summary],
    notices: Sequence[Notice] = (),
) -> Manifest:
    """Return the manifest of a new upload; the id is drawn at random.

    Raises
    ------
    LibraryError
        NAME, SPLIT_NAME, or CLASSES when the splits do not go together.
    """
    check_alike(splits)
    first = next(iter(splits.values()), None)
    return Manifest(
        schema_version=SCHEMA_VERSION,
        id="".join(secrets.choice(_ALPHABET) for _ in range(12)),
        name=checked_name(name),
        kind="upload",
        owner="local",
        created=datetime.now(UTC).isoformat(timespec="milliseconds"),
        description="",
        task=str(first.task) if first else "",
        scores=str(first.kind) if first else "",
        n_classes=first.n_classes if first else 0,
        class_names=first.class_names if first else (),
        splits={name: files.entry_of(name, files.native(part)) for name, part in splits.items()},
        source=source,
        notices=tuple(notices),
        tags=(),
        metrics=dict(summary),
        code_version=defaults.VERSION,
    )
