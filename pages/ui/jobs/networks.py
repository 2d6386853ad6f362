"""The networks of timm and torchvision, which are asked for their names once."""

from functools import partial
from typing import Final

from core.models import names
from pages.ui.task import Task, in_process

LISTING: Final = Task(
    "networks",
    "",
    "Asking timm and torchvision for their names.",
    partial(in_process, names.listed),
)


def known() -> tuple[str, ...] | None:
    """Return their names; None while that runs elsewhere, which is drawn."""
    return names.known() or LISTING.wait()
