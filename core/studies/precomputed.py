"""What studies found of a sample, kept beside it, so that a page need not compute it again.

Records as the codec writes them, with their arrays, in one safetensors file. It speaks of the rows
whose digests it names and of one version of the program; for any other it is as if it were not
there, and what a page needs is computed.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from core import codec
from core.arrays import digest
from core.calibrators import stored
from core.calibrators.base import FitReport
from core.defaults import VERSION
from core.disk import JsonError, parse_json, replace_bytes, writing
from core.errors import Refused, UsageError
from core.fields import JsonObject
from core.library import Library
from core.predictions import Task
from core.studies.human import HumanStudy, human_study
from core.studies.posthoc import (
    DEFAULT_METHODS,
    EvaluatedMethod,
    Fit,
    MethodReport,
    evaluate,
    judge,
)

FILE: Final = "studies.safetensors"
RECORDS: Final = "studies"  # the metadata that holds them
ARRAY: Final = "array"  # the one key of what stands for an array
FITTED: Final = ("cifar10-ce", "digits-overconfident")  # post-hoc opens the first one by itself
Arrays = dict[str, npt.NDArray[Any]]  # Any: the file says which dtype


@dataclass(frozen=True, kw_only=True)
class StoredMethod:
    """An `EvaluatedMethod` whose calibrator is as a file holds it."""

    calibrator: JsonObject | None
    report: FitReport | None
    refusal: str
    judged: MethodReport | None

    @classmethod
    def of(cls, method: EvaluatedMethod) -> Self:
        """Return what is kept of a method."""
        fit = method.fit
        assert fit is not None
        return cls(
            calibrator=None if fit.calibrator is None else stored.to_json(fit.calibrator),
            report=fit.report,
            refusal=fit.refusal,
            judged=method.judged,
        )

    def restored(self, name: str) -> EvaluatedMethod:
        """Return the method, fitted; Refused as of `core.calibrators.stored.from_json`."""
        calibrator = None if self.calibrator is None else stored.from_json(self.calibrator)
        if calibrator is not None and self.report is not None:
            calibrator.report_ = self.report
        return EvaluatedMethod(Fit(name, calibrator, self.refusal), self.judged)


@dataclass(frozen=True, kw_only=True)
class SampleStudies:
    """What pages show of a sample at first.

    Attributes
    ----------
    version : str
        Of the program that computed it.
    fit, test : str
        Digests of the rows that methods are fitted on, and of those that all of it speaks of.
    none : MethodReport
        The test part as it was read; its `compared` is what Compare needs.
    methods : mapping of str to StoredMethod
        Fitted by NLL, with the exact search.
    human : HumanStudy or None
        The test part held against votes; None where it has none.
    """

    version: str
    fit: str
    test: str
    none: MethodReport
    methods: Mapping[str, StoredMethod]
    human: HumanStudy | None


def studies_of(library: Library, run_id: str) -> SampleStudies | None:
    """Return what is kept of a sample; None where there is nothing that holds for it here."""
    try:
        kept = _read(library.samples / run_id / FILE)
    except (OSError, SafetensorError, JsonError, KeyError, UsageError):
        return None
    splits = library.get(run_id).splits
    same = (kept.version, kept.fit, kept.test) == (
        VERSION,
        *(splits[name].digest if name in splits else "" for name in ("val", "test")),
    )
    return kept if same else None


def methods_of(studies: SampleStudies) -> dict[str, EvaluatedMethod]:
    """Return the methods that are kept, fitted; none where a calibrator cannot be restored."""
    try:
        return {name: method.restored(name) for name, method in studies.methods.items()}
    except Refused:
        return {}


def keep_studies(library: Library, run_id: str) -> None:
    """Compute what pages show of a sample at first, and write it beside the sample.

    Raises
    ------
    LibraryError
        LIBRARY_WRITE, and as of `Library.load`.
    """
    test, val = (library.load(run_id, name) for name in ("test", "val"))
    voted = {name: rows for name, rows in (("val", val), ("test", test)) if rows.votes is not None}
    fitted = DEFAULT_METHODS if run_id in FITTED and test.task is not Task.MULTILABEL else ()
    studies = SampleStudies(
        version=VERSION,
        fit=val.digest,
        test=test.digest,
        none=judge(test, None),
        methods={
            name: StoredMethod.of(evaluate(name, val, test, "nll", "exact")) for name in fitted
        },
        human=human_study(voted, "test") if "test" in voted else None,
    )
    arrays: Arrays = {}
    records = json.dumps(_without_arrays(codec.to_json(studies), arrays), allow_nan=False)
    with writing(SafetensorError):
        path = library.samples / run_id / FILE
        replace_bytes(path, save(arrays, metadata={RECORDS: records}))


def _read(path: Path) -> SampleStudies:
    with safe_open(path, framework="np") as file:
        records = parse_json((file.metadata() or {})[RECORDS])
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  no mapping
    return codec.read(SampleStudies, _with_arrays(records, arrays), "studies", stored=True)


def _without_arrays(value: Any, arrays: Arrays) -> Any:  # noqa: ANN401  plain JSON values
    """Return JSON in which every array is a name; equal ones are kept once."""
    if isinstance(value, dict):
        return {key: _without_arrays(item, arrays) for key, item in value.items()}
    if isinstance(value, list):
        return [_without_arrays(item, arrays) for item in value]
    if not isinstance(value, np.ndarray):
        return value
    name = digest(value)
    arrays[name] = np.ascontiguousarray(value)
    return {ARRAY: name}


def _with_arrays(value: Any, arrays: Arrays) -> Any:  # noqa: ANN401  plain JSON values
    if isinstance(value, dict):
        if list(value) == [ARRAY]:
            return arrays[value[ARRAY]]
        return {key: _with_arrays(item, arrays) for key, item in value.items()}
    return [_with_arrays(item, arrays) for item in value] if isinstance(value, list) else value
