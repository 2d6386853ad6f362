"""From the name and settings of a loss to the loss, and the proper losses; torch."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from torch import Tensor
from torch.nn import functional

from core.errors import UsageError
from core.losses.base import Loss
from core.losses.bins import AdaFocalRule, CalFocalRule, UpdateSchedule
from core.losses.catalogue import REDUCTIONS, checked, named
from core.losses.focal import (
    BinFocal,
    CalFocalSample,
    DualFocal,
    Focal,
    FocalCalibration,
    InverseFocal,
    SampleFocal,
    ScheduledFocal,
)
from core.losses.mmce import Mmce, MmceWeighted
from core.predictions import Task


class Brier(Loss):
    """Sum over classes of (p - onehot)^2, in [0, 2]; of a label (p - y)^2, in [0, 1].

    References
    ----------
    Brier 1950; Mukhoti et al. 2020, section 5. Two classes give twice what a label gives.

    Examples
    --------
    Two classes give 1/4 + 1/4, twice what the same probability of a label gives:

    >>> import torch
    >>> even, truth = torch.zeros(1, 2), torch.tensor([0])
    >>> float(Brier()(even, truth)), float(Brier(task=Task.MULTILABEL)(even[:, :1], truth[:, None]))
    (0.5, 0.25)
    """

    def losses(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Return the squared distance, (N,) or (N, L)."""
        if self.task is Task.MULTILABEL:
            return self.true_log_odds(logits, targets).neg().sigmoid().square()
        return self.squared_distance(logits, targets)[0]


class CrossEntropy(Loss):
    """-log p of what is true."""

    def losses(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Return -log p, (N,) or (N, L)."""
        return self.cross_entropy(logits, targets)


class LabelSmoothing(Loss):
    """Cross-entropy against targets softened by `smoothing`.

    `smoothing`: in [0, 1): spread over all K classes, so the true class keeps 1 - smoothing +
    smoothing / K; a label has K = 2.

    References
    ----------
    Szegedy et al. 2016; Mueller et al. 2019. Others spread it over the wrong classes only.

    Examples
    --------
    The true class of two keeps 1 - 0.05 / 2 of the target: 0.975 log 1.25 + 0.025 log 5.

    >>> import torch
    >>> logits, truth = torch.tensor([[0.8, 0.2]]).log(), torch.tensor([0])
    >>> round(float(LabelSmoothing(task=Task.MULTICLASS)(logits, truth)), 4)
    0.2578
    """

    def __init__(self, smoothing: float = 0.05, *, task: Task, reduction: str = "mean") -> None:
        super().__init__(task=task, reduction=reduction)
        self.smoothing = smoothing

    def losses(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Return the cross-entropy with softened targets, (N,) or (N, L)."""
        if self.task is Task.MULTILABEL:
            log_odds = self.true_log_odds(logits, targets)
            # -(1 - s/2) log p - (s/2) log(1 - p), where log(1 - p) = log p - log_odds
            return 0.5 * self.smoothing * log_odds - functional.logsigmoid(log_odds)
        return functional.cross_entropy(
            logits, targets, reduction="none", label_smoothing=self.smoothing
        )


Settings = Mapping[str, Any]  # checked by the catalogue; each maker knows the types of its own


def build(
    config: Mapping[str, object],
    n_classes: int,
    task: Task = Task.MULTICLASS,
    *,
    reduction: str = "mean",
) -> Loss:
    """Return a loss by its name and settings.

    `config`: ``name``, one of `catalogue.LOSSES`, and any of its parameters; others have defaults;
    `n_classes`: K >= 2 columns of logits; with many labels L >= 1; `task`: multiclass, binary (two
    columns) or multilabel; `reduction`: ``mean`` or ``sum`` over the rows.

    Raises UsageError SETTING: an unknown loss, parameter or reduction, a value out of range, or a
    task or number of classes that the loss has no form for.
    """
    entry, settings = named(config), checked(config)
    if task not in entry.tasks:
        raise UsageError(
            "SETTING", f"{entry.label} cannot train {task}", f"use it for {', '.join(entry.tasks)}"
        )
    # One label is a question by itself; a softmax over one column would be constant.
    least = 1 if task is Task.MULTILABEL else 2
    if n_classes < least:
        raise UsageError("SETTING", f"{n_classes} classes", f"give at least {least}")
    if reduction not in REDUCTIONS:
        use = " or ".join(REDUCTIONS)
        raise UsageError("SETTING", f"Reduction is {reduction!r}", f"use {use}")
    return MAKERS[str(config["name"])](settings)(task=task, reduction=reduction)


def _bins(settings: Settings) -> dict[str, Any]:  # Any: keyword arguments of two types
    return {"n_bins": settings["n_bins"], "schedule": UpdateSchedule.of(settings["update_every"])}


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
