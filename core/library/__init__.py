"""The run store: folders are the truth, SQLite an index that can be rebuilt; no torch here."""

from core.library.index import DamagedRun, RunRow
from core.library.manifest import Manifest, RunSource, Summary, summarise
from core.library.store import SAMPLES, Library, StoredSplit, TrashedRun, home, open_library

__all__ = [
    "SAMPLES",
    "DamagedRun",
    "Library",
    "Manifest",
    "RunRow",
    "RunSource",
    "StoredSplit",
    "Summary",
    "TrashedRun",
    "home",
    "open_library",
    "summarise",
]
