"""Calibrator: what every map from logits to better probabilities shares; numpy only."""

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from core.arrays import Float, Int, log_softmax
from core.calibrators.margins import check_choice, counted, objective_of
from core.errors import AuditError, Refused
from core.predictions import Task

Json = Any  # plain JSON: numbers, strings, booleans, lists and dicts of them
MIN_ROWS = 10  # below it a fit says more about chance than about the model
CLASSES_SHOWN = 5  # of those without a row, in a message
LARGEST = 1e100  # of stored numbers and of logits: their products must stay finite
LOG_OF_ZERO = -745.0  # just below log of the smallest float64: where a ruled-out class stands
ALL_TASKS = (Task.MULTICLASS, Task.BINARY, Task.MULTILABEL)
SINGLE_ANSWER = (Task.MULTICLASS, Task.BINARY)


def not_fitted(label: str) -> AuditError:
    """Return the error of a calibrator that was used before it was fitted."""
    return AuditError("NOT_FITTED", f"{label} has not been fitted", "fit it on labelled rows first")


def cannot_fit(what: str, remedy: str) -> Refused:
    """Return the refusal of a fit, code FIT."""
    return Refused("FIT", what, remedy)


def cannot_restore(what: str) -> Refused:
    """Return the refusal of stored parameters, code CALIBRATOR."""
    return Refused("CALIBRATOR", what, "give a file that Candor saved")


@dataclass(frozen=True)
class FitReport:
    """What a fit did."""

    parameters: Mapping[str, Json]  # plain JSON
    objective: str  # nll, brier, ece, ece_em or ada_ece: what `before` and `after` are
    # before, after: the objective on the fitting rows, unchanged and calibrated; None where
    # infinite
    before: float | None
    after: float | None
    at_bound: bool  # a parameter stands at the end of its range: the data would have it further out
    seconds: float  # wall time
    worse: bool  # the objective rose
    message: str  # what the user should know; empty where there is nothing to say


@dataclass(frozen=True)
class FitDetails:
    """What the fit of one method knows; the objective is measured where it is left out."""

    objective: str = "nll"
    before: float | None = None
    after: float | None = None
    at_bound: bool = False
    message: str = ""


class Words(NamedTuple):
    """What is said of a method: its name in a list, what it does, and where that is otherwise.

    In plain words there is no term of the field; `stated` is of runs that state how sure each
    answer is, and nothing else. Whether answers can change is said after it.
    """

    name: str
    meaning: str
    in_sentence: str = ""
    plain: str = ""
    stated: str = ""


class Calibrator(ABC):
    """A map from logits to probabilities, fitted on one split and used on another.

    Constructors take settings only, as dataclass fields; what a fit finds ends with an
    underscore. Unlike in scikit-learn the input is *logits*: pass log-probabilities where a file
    holds probabilities. -inf is read as a probability of 5e-324.

    Attributes
    ----------
    name, label : str
        Key on the command line, and printed name.
    keeps_accuracy : bool
        The predicted class never changes.
    improves_nll : bool
        As made without settings, it never raises the NLL of the fitting rows.
    tasks : tuple of Task
        What it can be fitted on; multilabel through `PerLabel`.
    source : str
        Where the method comes from.
    words : Words
        What pages and reports say of it.
    marks : dict of str to str
        Parameters that are shown, with the letters a reader knows them by.
    program : str
        Body of `calibrate(z, p)` in Python that needs nothing installed, from logits of one row and
        `constants` to probabilities. No line walks over all classes once for each class, but those
        that multiply by a matrix: a row of 1,000 classes takes about a millisecond.
    stored : dict of str to int
        Parameters with their number of axes.
    choices : dict of str to tuple of str
        Settings that are one of a few words.
    report_ : FitReport
        Of the last fit.
    """

    name: ClassVar[str]
    label: ClassVar[str]
    keeps_accuracy: ClassVar[bool]
    improves_nll: ClassVar[bool]
    tasks: ClassVar[tuple[Task, ...]] = ALL_TASKS
    source: ClassVar[str]
    words: ClassVar[Words]
    marks: ClassVar[dict[str, str]] = {}
    program: ClassVar[str]
    stored: ClassVar[dict[str, int]]
    choices: ClassVar[dict[str, tuple[str, ...]]] = {}
    report_: FitReport

    def __post_init__(self) -> None:
        """Refuse a setting that is not one of its choices."""
        for name, allowed in self.choices.items():
            check_choice(name, getattr(self, name), allowed)

    def fit(
        self,
        logits: npt.NDArray[np.floating],
        labels: Int,
        weights: Float | None = None,
        groups: Int | None = None,
    ) -> Self:
        """Fit on rows with known answers; the input is not changed.

        Parameters
        ----------
        logits : (N, K) or (N,) array of float
            The latter is the logit of class 1 of two.
        labels : (N,) array of int
            In 0..K-1; classes may be missing.
        weights : (N,) float64, optional
            How many rows each stands for: weight 2 is the row twice, a row of weight 0 is absent.
            Those that are not whole are scaled to sum to the number of rows above 0.
        groups : (N,) int64, optional
            Which rows belong together: what is chosen on held-out rows holds whole groups out.

        Raises
        ------
        Refused
            FIT: fewer than 10 rows, or a single class; NONFINITE, LENGTH_MISMATCH, LABEL_RANGE,
            WEIGHTS.
        """
        start = time.perf_counter()
        rows, answers, w = counted(logits, labels, weights)
        z = as_columns(rows)
        y = checked_labels(answers, z)
        # Only a method that holds rows out, to choose a penalty,
        # has to know which rows belong together.
        if groups is None:
            details = self._fit(z, y, w)
        else:
            # The rows of weight 0 are gone from z; groups, given by file row, lose the same ones.
            if weights is not None:
                groups = groups[weights > 0.0]
            details = self._fit_by_group(z, y, w, groups)
        message = "; ".join(filter(None, (details.message, self._absent(z, y))))
        self.report_ = self._reported(replace(details, message=message), z, y, w, start)
        return self

    def predict_log_proba(self, logits: npt.NDArray[np.floating]) -> Float:
        """Return logarithms of calibrated probabilities, (N, K); -inf where one is 0."""
        return self._ordered_log_proba(self._checked(logits))

    def predict_proba(self, logits: npt.NDArray[np.floating]) -> Float:
        """Return calibrated probabilities, (N, K) float64; rows sum to one.

        (N,) logits of a binary task give two columns.
        """
        z = self._checked(logits)
        p: Float = np.exp(self._ordered_log_proba(z))
        p /= p.sum(axis=1, keepdims=True)
        # The confidence that a fit by ECE judged is put back to the last bit: an ulp moves a row
        # over the edge of a bin, and what was fitted would no longer be what is measured.
        if self.keeps_accuracy:
            winner = z.argmax(axis=1)
            confidence = self._confidence(z)
            if confidence is not None:
                p[np.arange(winner.size), winner] = confidence
            _keep_winner(p, winner)
        return p

    def parameters(self) -> dict[str, Json]:
        """Return what the fit found as plain JSON."""
        self._require_fit()
        return {name: np.asarray(getattr(self, f"{name}_")).tolist() for name in self.stored}

    def constants(self) -> tuple[object, ...]:
        """Return what the lines of the program read: the parameters in their order."""
        return tuple(self.parameters().values())

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, Json], **settings: Json) -> Self:
        """Return a fitted calibrator that predicts the same to the last bit.

        `parameters`, `settings`: settings left out are the method's defaults.

        Raises Refused CALIBRATOR: names, shapes or values that no fit can have left.
        """
        if set(parameters) != set(cls.stored):
            raise cannot_restore(f"{cls.name} needs {sorted(cls.stored)}, got {sorted(parameters)}")
        calibrator = cls(**settings)
        for name, n_axes in cls.stored.items():
            setattr(
                calibrator, f"{name}_", _numbers(parameters[name], f"{cls.name}.{name}", n_axes)
            )
        if not calibrator._is_sound() or calibrator.n_classes == 1:
            raise cannot_restore(f"The parameters of {cls.name} are not those of a fit")
        return calibrator

    def settings(self) -> dict[str, Json]:
        """Return the constructor's settings as plain JSON."""
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]

    @abstractmethod
    def _fit(
        self, logits: npt.NDArray[np.floating], labels: Int, weights: Float | None
    ) -> FitDetails:
        """Set the stored parameters from checked rows; every mean over them is by weight."""

    def _fit_by_group(
        self, logits: npt.NDArray[np.floating], labels: Int, weights: Float | None, groups: Int
    ) -> FitDetails:
        """Fit where rows belong together; only what holds rows out needs to know."""
        del groups
        return self._fit(logits, labels, weights)

    def _absent(self, z: npt.NDArray[np.floating], y: Int) -> str:
        """Return which classes were not fitted, or nothing; maps of all classes alike need none."""
        absent = np.flatnonzero(np.bincount(y, minlength=z.shape[1]) == 0)
        if self.keeps_accuracy or not absent.size:
            return ""
        shown = ", ".join(map(str, absent[:CLASSES_SHOWN]))
        more = absent.size - CLASSES_SHOWN
        if absent.size == 1:
            return f"class {shown} has no fitting row: on new rows of it the NLL can be very large"
        also = f" and {more} more" if more > 0 else ""
        listed = f"classes {shown}{also} have no fitting rows"
        return f"{listed}: on new rows of them the NLL can be very large"

    @abstractmethod
    def _log_proba(self, logits: npt.NDArray[np.floating]) -> Float:
        """Return log-probabilities of checked rows."""

    def _confidence(self, logits: npt.NDArray[np.floating]) -> Float | None:
        """Return the winner's probability to the bit that the fit judged, if it judged it."""
        del logits
        return None

    def _is_sound(self) -> bool:
        """Whether restored parameters fit together, and a fit with these settings leaves such."""
        return True

    @property
    def n_classes(self) -> int | None:
        """Number of classes the parameters speak of; None where they fit any."""
        return None

    def _checked(self, logits: npt.NDArray[np.floating]) -> npt.NDArray[np.floating]:
        """Return logits as (N, K) that these parameters can be applied to."""
        self._require_fit()
        z = as_columns(logits)
        # A temperature fits any number of classes; a map of each class only that of its own fit.
        fitted = self.n_classes
        if fitted is not None and fitted != z.shape[1]:
            raise Refused(
                "CLASSES",
                f"{self.label} was fitted on {fitted} classes, the file has {z.shape[1]}",
                "apply it to scores of the same model",
            )
        return z

    def _ordered_log_proba(self, logits: npt.NDArray[np.floating]) -> Float:
        log_p = self._log_proba(logits)
        if self.keeps_accuracy:
            _keep_winner(log_p, logits.argmax(axis=1))
        return log_p

    def _require_fit(self) -> None:
        if not all(hasattr(self, f"{name}_") for name in self.stored):
            raise not_fitted(self.label)

    def _reported(
        self,
        details: FitDetails,
        z: npt.NDArray[np.floating],
        y: Int,
        weights: Float | None,
        start: float,
    ) -> FitReport:
        """Return how a fit went; the objective is measured where the fit left it out."""
        # Searches have measured their objective on the way; closed forms leave both to be measured
        # here, by the same function, so that methods can be ranked.
        before, after = details.before, details.after
        if before is None:
            before = objective_of(log_softmax(z), y, details.objective, weights)
        if after is None:
            after = objective_of(self.predict_log_proba(z), y, details.objective, weights)
        # Summing in another order can raise an unchanged
        # objective by a few ulps, which is not worse.
        worse = after > before + 1e-12
        parts = [details.message] if details.message else []
        if details.at_bound:
            parts.append("a parameter is at the end of its range")
        if worse:
            parts.append(f"the fit made {details.objective} on its own rows worse")
        return FitReport(
            parameters=self.parameters(),
            objective=details.objective,
            before=before if np.isfinite(before) else None,
            after=after if np.isfinite(after) else None,
            at_bound=details.at_bound,
            seconds=time.perf_counter() - start,
            worse=bool(worse),
            message="; ".join(parts),
        )


def as_columns(logits: npt.NDArray[np.floating]) -> npt.NDArray[np.floating]:
    """Return logits as (N, K), finite; a binary logit becomes the columns 0 and itself.

    Examples
    --------
    A class that is ruled out stays at a finite distance, so that logits can be divided and added:

    >>> as_columns(np.array([2.0])).tolist(), as_columns(np.array([[1.0, -np.inf]])).tolist()
    ([[0.0, 2.0]], [[1.0, -744.0]])
    """
    if logits.ndim not in (1, 2) or logits.size == 0:
        raise Refused("HEADER_SHAPE", f"Logits have shape {logits.shape}", "give (N, K) or (N,)")
    if logits.ndim == 2 and logits.shape[1] < 2:
        raise Refused("CLASSES", "One class only", "give at least two columns, or a binary score")
    # One logit s is that of class 1: softmax of (0, s) is sigmoid(s), so that
    # two classes are no special case from here on.
    z = np.column_stack([np.zeros_like(logits), logits]) if logits.ndim == 1 else logits
    low, high = float(z.min()), float(z.max())
    if np.isnan(low) or high == np.inf:
        raise Refused("NONFINITE", "A logit is NaN or +inf", "remove these rows or fix the model")
    if low == -np.inf:
        # Ruled-out classes go below all others, at a finite distance from the winner
        wide = z.astype(np.float64)
        top = wide.max(axis=1, keepdims=True)
        if np.isneginf(top).any():
            raise Refused("NONFINITE", "Every class of a row is ruled out", "remove these rows")
        lowest = np.where(np.isneginf(wide), np.inf, wide).min(axis=1, keepdims=True)
        z = np.where(np.isneginf(wide), np.minimum(top + LOG_OF_ZERO, lowest), wide)
        low = float(z.min())
    # Products of logits with weights of up to 1e100 must stay below 1e308.
    if max(-low, high) > LARGEST:
        what = f"Logits reach {max(-low, high):.3g}, beyond {LARGEST:g}"
        raise Refused("NONFINITE", what, "divide them, or give probabilities")
    return z


def checked_labels(labels: Int, z: npt.NDArray[np.floating]) -> Int:
    """Return labels as (N,) int64 that a fit can use."""
    n, n_classes = z.shape
    y = labels.astype(np.int64, copy=False)
    if y.shape != (n,):
        raise Refused(
            "LENGTH_MISMATCH", f"{n} rows of logits, labels {y.shape}", "give one label per row"
        )
    if n < MIN_ROWS:
        few = "1 row is" if n == 1 else f"{n} rows are"
        raise cannot_fit(f"{few} too few", f"give at least {MIN_ROWS} rows")
    if y.min() < 0 or y.max() >= n_classes:
        raise Refused(
            "LABEL_RANGE", f"Labels run {y.min()}..{y.max()}", f"expected 0..{n_classes - 1}"
        )
    # With one class alone the best map says 1 for it, whatever the logits: that is no calibration.
    if (y == y[0]).all():
        raise cannot_fit(
            f"Every row to fit on has the label {y[0]}", "give rows of at least two classes"
        )
    return y


def _keep_winner(values: Float, winner: Int) -> None:
    """Undo what rounding did to ties: the winner's value is the first of the largest.

    A map that keeps the order in exact arithmetic can make two classes equal in float64. The
    others give way: equal rows must keep equal confidences, or bins would tear them apart.
    """
    rows = np.flatnonzero(values.argmax(axis=1) != winner)
    at = winner[rows, None]
    own = values[rows[:, None], at]
    earlier = np.arange(values.shape[1]) < at
    values[rows] = np.minimum(values[rows], np.where(earlier, np.nextafter(own, -np.inf), own))


def _numbers(value: Json, name: str, n_axes: int) -> Float:
    """Return stored numbers as float64 with the right number of axes."""
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise cannot_restore(f"{name} is not a rectangular table of numbers") from error
    # A file may hold strings, ragged lists or objects; nothing but real numbers goes on.
    if array.dtype.kind not in "iuf" or array.ndim != n_axes or array.size == 0:
        raise cannot_restore(f"{name} must be numbers with {n_axes} axes")
    if not (np.abs(array) <= LARGEST).all():
        raise cannot_restore(f"{name} holds a number that is not finite, or beyond {LARGEST:g}")
    return array.astype(np.float64)
