"""From the name and settings of a loss to the loss; torch."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from core.errors import UsageError
from core.losses.adafocal import BinFocal, CalFocalSample
from core.losses.base import Loss
from core.losses.bins import AdaFocalRule, CalFocalRule, UpdateSchedule
from core.losses.catalogue import REDUCTIONS, checked, named
from core.losses.focal import (
    DualFocal,
    Focal,
    FocalCalibration,
    InverseFocal,
    SampleFocal,
    ScheduledFocal,
)
from core.losses.mmce import Mmce, MmceWeighted
from core.losses.proper import Brier, CrossEntropy, LabelSmoothing
from core.predictions import Task

Settings = Mapping[str, Any]  # checked by the catalogue; each maker knows the types of its own


def build(
    config: Mapping[str, object],
    n_classes: int,
    task: Task = Task.MULTICLASS,
    *,
    reduction: str = "mean",
) -> Loss:
    """Return a loss by its name and settings.

    Parameters
    ----------
    config : mapping
        ``name``, one of `catalogue.LOSSES`, and any of its parameters; others have defaults.
    n_classes : int
        K >= 2 columns of logits; with many labels L >= 1.
    task : Task
        multiclass, binary (two columns) or multilabel.
    reduction : str
        ``mean`` or ``sum`` over the rows.

    Raises
    ------
    UsageError
        SETTING: an unknown loss, parameter or reduction, a value out of range, or a task or number
        of classes that the loss has no form for.
    """
    entry, settings = named(config), checked(config)
    if task not in entry.tasks:
        raise UsageError(
            "SETTING", f"{entry.label} cannot train {task}", f"use it for {', '.join(entry.tasks)}"
        )
    least = 1 if task is Task.MULTILABEL else 2
    if n_classes < least:
        raise UsageError("SETTING", f"{n_classes} classes", f"give at least {least}")
    if reduction not in REDUCTIONS:
        use = " or ".join(REDUCTIONS)
        raise UsageError("SETTING", f"Reduction is {reduction!r}", f"use {use}")
    return MAKERS[str(config["name"])](settings)(task=task, reduction=reduction)


def _bins(settings: Settings) -> dict[str, Any]:  # Any: keyword arguments of two types
    return {
        "n_bins": settings["n_bins"],
        "schedule": UpdateSchedule.of(settings["update_every"]),
    }


def _adafocal(settings: Settings) -> Callable[..., Loss]:
    rule = AdaFocalRule(
        settings["lambda"], settings["gamma_max"], settings["gamma_min"], settings["s_th"]
    )
    return partial(BinFocal, rule, **_bins(settings))


def _fla_532(settings: Settings) -> Callable[..., Loss]:
    text = settings["edges"] == "text"
    edges = (0.19, 0.5) if text else (0.2, 0.5)
    return partial(SampleFocal, edges, (5.0, 3.0, 2.0), right_closed=text)


def _fcl(settings: Settings, *, squared: bool) -> Callable[..., Loss]:
    return partial(
        FocalCalibration,
        settings["gamma"],
        settings["lambda"],
        squared=squared,
        two_sided=settings["two_sided"],
    )


MAKERS: Final[dict[str, Callable[[Settings], Callable[..., Loss]]]] = {
    "ce": lambda _: CrossEntropy,
    "ls": lambda s: partial(LabelSmoothing, s["smoothing"]),
    "brier": lambda _: Brier,
    "mmce": lambda s: partial(Mmce, s["lambda"]),
    "mmce_weighted": lambda s: partial(
        MmceWeighted, s["lambda"], released=s["normalisation"] == "released"
    ),
    "focal": lambda s: partial(Focal, s["gamma"]),
    "flsd_53": lambda _: partial(SampleFocal, (0.2,), (5.0, 3.0), right_closed=False),
    "fla_53": lambda _: partial(SampleFocal, (0.19,), (5.0, 3.0), right_closed=True),
    "fla_532": _fla_532,
    "fls_532": lambda _: partial(ScheduledFocal, (5.0, 3.0, 2.0)),
    "fls_531": lambda _: partial(ScheduledFocal, (5.0, 3.0, 1.0)),
    "inverse_focal": lambda s: partial(InverseFocal, s["gamma"]),
    "calfocal_1": lambda s: partial(CalFocalSample, CalFocalRule(s["lambda"]), **_bins(s)),
    "calfocal_2": lambda s: partial(BinFocal, CalFocalRule(s["lambda"]), **_bins(s)),
    "adafocal": _adafocal,
    "dual_focal": lambda s: partial(DualFocal, s["gamma"]),
    "fcl": lambda s: _fcl(s, squared=True),
    "fcl_l1": lambda s: _fcl(s, squared=False),
}
