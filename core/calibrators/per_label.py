"""One binary calibrator a label, for multi-label files; numpy only."""

import time
from collections.abc import Callable, Mapping
from typing import Self

import numpy as np
import numpy.typing as npt

from core.arrays import Float, Int, log_sigmoid, sigmoid
from core.calibrators.base import (
    Calibrator,
    FitReport,
    Json,
    cannot_fit,
    cannot_restore,
    not_fitted,
)
from core.codes import RefusalCode
from core.errors import Refused


class PerLabel:
    """The same method fitted on every label by itself.

    `make`: returns a new calibrator of the method.

    Attributes
    ----------
    members_ : tuple of (Calibrator or None)
        One a label; None where a label could not be fitted and keeps its probabilities.
    report_ : FitReport
        Mean objective over the labels that were fitted; `message` names the others.

    Examples
    --------
    Of ten rows with the logit log 16 eight have the first label, so that 16/17 becomes 0.8; all
    have the second, of which nothing can be learned, and it keeps its 16/17.

    >>> from core.calibrators.temperature import Temperature
    >>> z, y = np.full((10, 2), np.log(16.0)), np.ones((10, 2), int)
    >>> y[:2, 0] = 0
    >>> PerLabel(Temperature).fit(z, y).predict_proba(z[:1]).round(4).tolist()
    [[0.8, 0.9412]]
    """

    def __init__(self, make: Callable[[], Calibrator]) -> None:
        self.make = make
        self.name = make().name
        self.label = f"{make().label}, label by label"
        self.members_: tuple[Calibrator | None, ...] = ()
        self.names: tuple[str, ...] = ()  # of the labels, for messages

    def fit(
        self,
        logits: npt.NDArray[np.floating],
        labels: Int,
        weights: Float | None = None,
        groups: Int | None = None,
    ) -> Self:
        """Fit on logits, (N, L), and 0/1 labels, (N, L); weights, groups as of a calibrator.

        A label that is -1 is not known: the row counts in no fit of it.

        Raises Refused FIT, where no label can be fitted; LENGTH_MISMATCH, WEIGHTS.
        """
        if logits.ndim != 2 or logits.shape != labels.shape:
            raise Refused(
                "LENGTH_MISMATCH",
                f"Logits are {logits.shape} and labels {labels.shape}",
                "give one 0/1 label for each logit",
            )
        start = time.perf_counter()
        members: list[Calibrator | None] = []
        reasons: list[str] = []
        # A label that is always or never there keeps its probabilities and is named; only where
        # none can be fitted the file is refused.
        for k in range(logits.shape[1]):
            try:
                members.append(self._fitted(logits[:, k], labels[:, k], weights, groups))
            except Refused as refusal:
                if refusal.code != RefusalCode.FIT:
                    raise
                members.append(None)
                reasons.append(f"{self._name(k)} is left as it is: {refusal.what}")
        if not any(members):
            raise cannot_fit(reasons[0], "give rows in which a label is present and absent")
        self.members_ = tuple(members)
        self.report_ = self._reported(reasons, start)
        return self

    def _fitted(
        self,
        logits: npt.NDArray[np.floating],
        labels: Int,
        weights: Float | None,
        groups: Int | None,
    ) -> Calibrator:
        known = labels >= 0
        if not known.all():
            logits, labels = logits[known], labels[known]
            weights = None if weights is None else weights[known]
            groups = None if groups is None else groups[known]
            if not labels.size or (weights is not None and not weights.any()):
                raise cannot_fit("No row with a weight has it labelled", "label more rows")
        return self.make().fit(logits, labels, weights, groups)

    def predict_log_proba(self, logits: npt.NDArray[np.floating]) -> Float:
        """Return the logarithm of each label's calibrated probability, (N, L)."""
        return self._each(
            logits, lambda member, column: member.predict_log_proba(column), log_sigmoid
        )

    def _each(
        self,
        logits: npt.NDArray[np.floating],
        predict: Callable[[Calibrator, npt.NDArray[np.floating]], Float],
        unchanged: Callable[[npt.NDArray[np.floating]], Float],
    ) -> Float:
        """Return what each label's calibrator says of its presence, (N, L)."""
        if not self.members_:
            raise not_fitted(self.label)
        if logits.ndim != 2 or logits.shape[1] != len(self.members_):
            raise Refused(
                "CLASSES",
                f"Fitted on {len(self.members_)} labels, the file has shape {logits.shape}",
                "apply it to scores of the same model",
            )
        # Each label is a question of two classes, of which the second is its presence.
        return np.stack(
            [
                unchanged(column) if member is None else predict(member, column)[:, 1]
                for member, column in zip(self.members_, logits.T, strict=True)
            ],
            axis=1,
        )

    def predict_log_odds(self, logits: npt.NDArray[np.floating]) -> Float:
        """Return the calibrated logit of each label, (N, L): log p - log(1 - p)."""
        self.predict_log_proba(logits)  # refuses what does not fit
        return np.stack(
            [
                column.astype(np.float64)
                if member is None
                else np.subtract(*member.predict_log_proba(column).T[::-1])
                for member, column in zip(self.members_, logits.T, strict=True)
            ],
            axis=1,
        )

    def predict_proba(self, logits: npt.NDArray[np.floating]) -> Float:
        """Return the calibrated probability of each label, (N, L) float64."""
        return self._each(logits, lambda member, column: member.predict_proba(column), sigmoid)

    def parameters(self) -> dict[str, Json]:
        """Return the parameters of each label as plain JSON; null where it keeps its own."""
        if not self.members_:
            raise not_fitted(self.label)
        return {"labels": [member and member.parameters() for member in self.members_]}

    def restore(self, parameters: Mapping[str, Json]) -> Self:
        """Take over stored parameters.

        Raises Refused CALIBRATOR.
        """
        labels = parameters.get("labels")
        if set(parameters) != {"labels"} or not isinstance(labels, list) or not any(labels):
            raise cannot_restore("A multi-label calibrator needs a list of labels")
        if not all(label is None or isinstance(label, dict) for label in labels):
            raise cannot_restore("A label’s parameters are not an object")
        members: list[Calibrator | None] = []
        for label in labels:
            member = None
            if label is not None:
                member = type(self.make()).from_parameters(label, **self.settings())
                if member.n_classes not in (None, 2):
                    what = f"A label has the parameters of {member.n_classes} classes"
                    raise cannot_restore(what)
            members.append(member)
        self.members_ = tuple(members)
        return self

    def settings(self) -> dict[str, Json]:
        """Return the settings of the method."""
        return self.make().settings()

    def _name(self, k: int) -> str:
        return f"“{self.names[k]}”" if self.names else f"label {k}"

    def _reported(self, reasons: list[str], start: float) -> FitReport:
        reports = [member.report_ for member in self.members_ if member is not None]
        messages = [
            f"{self._name(k)}: {member.report_.message}"
            for k, member in enumerate(self.members_)
            if member is not None and member.report_.message
        ]
        before, after = (
            None if None in values else float(np.mean(values))
            for values in ([getattr(r, when) for r in reports] for when in ("before", "after"))
        )
        return FitReport(
            parameters=self.parameters(),
            objective=reports[0].objective,
            before=before,
            after=after,
            at_bound=any(report.at_bound for report in reports),
            seconds=time.perf_counter() - start,
            worse=any(report.worse for report in reports),
            message="; ".join([*reasons, *messages]),
        )
