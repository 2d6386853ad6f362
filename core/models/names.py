"""The names of timm's and torchvision's networks, for pages, without torch.

They are asked once of the packages, in a worker process, and kept in the run store by version:
`cache/networks-<timm>-<torchvision>.json`, which may be deleted at any time.
"""

import json
from importlib.metadata import version
from pathlib import Path

from core.disk import read_json, replace_text
from core.library import home


def known() -> tuple[str, ...] | None:
    """Return all ``timm:NAME`` and ``torchvision:NAME`` that were listed, or None before that."""
    try:
        names = read_json(_path())
    except (OSError, ValueError):
        return None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        return None
    return tuple(names)


def listed() -> tuple[str, ...]:
    """Ask timm and torchvision, which import torch, and keep the answer; seconds."""
    import timm
    from torchvision import models  # type: ignore[import-untyped]

    classifiers = models.list_models(module=models)
    names = (
        *(f"timm:{name}" for name in timm.list_models()),
        *(f"torchvision:{name}" for name in classifiers),
    )
    _keep(names)
    return names


def _keep(names: tuple[str, ...]) -> None:
    """Write the list; a disk that is full or read-only only means to ask again next time."""
    try:
        _path().parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        replace_text(_path(), json.dumps(names))
    except OSError:
        return


def _path() -> Path:
    return home() / "cache" / f"networks-{version('timm')}-{version('torchvision')}.json"
