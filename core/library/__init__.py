"""The run store: folders are the truth, SQLite an index that can be rebuilt; no torch here."""

from core.library.index import Damaged, RunRow
from core.library.manifest import Manifest, Source, Summary, summarise
from core.library.store import SAMPLES, Library, home, open_library
from core.library.trash import Trashed

__all__ = [
    "SAMPLES",
    "Damaged",
    "Library",
    "Manifest",
    "RunRow",
    "Source",
    "Summary",
    "Trashed",
    "home",
    "open_library",
    "summarise",
]
