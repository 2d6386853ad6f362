"""What studies found of a run, kept beside it, so that a page need not compute it again.

Records as the codec writes them, with their arrays, in one safetensors file. It speaks of the rows
whose digests it names and of the program that its numbers depend on, in which comments count for
nothing; for any other it is as if it were not there, and what a page needs is computed. Samples
come with it; a run of one's own is studied in the background once it is kept
(`core.studies.background`).
"""

import ast
import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
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
from core.defaults import SEED, VERSION
from core.disk import JsonError, parse_json, replace_bytes, writing
from core.errors import Refused, UsageError
from core.fields import JsonObject
from core.library import Library, Manifest
from core.predictions import Task
from core.studies.human import HumanStudy, human_study
from core.studies.posthoc import (
    CUT,
    NONE,
    SHARE,
    EvaluatedMethod,
    Fit,
    MethodReport,
    default_methods,
    evaluate,
    fit_default,
    judge,
    parts,
)
from core.studies.temperatures import TemperatureMaps, temperature_curve, temperature_map

ROOT: Final = Path(__file__).parents[2]
STORE: Final = "core.library"  # hands over rows, whose digests are compared, and computes nothing
Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def program_digest(modules: Iterable[str], root: Path = ROOT) -> str:
    """Return a digest of modules and of every module of their package that they import.

    Comments, docstrings and where lines stand do not count; names, constants and sentences do.

    `modules`: dotted names below `root`; `root`: folder of the package.
    """
    trees = modules_of(modules, root)
    for tree in trees.values():
        for node in ast.walk(tree):
            if isinstance(node, Documented) and ast.get_docstring(node, clean=False) is not None:
                del node.body[0]
    return digest(*(f"{name} {ast.dump(trees[name])}" for name in sorted(trees)))


def modules_of(modules: Iterable[str], root: Path = ROOT) -> dict[str, ast.Module]:
    """Return modules and what they import of their package, wherever in their lines, parsed."""
    trees: dict[str, ast.Module] = {}
    ahead = list(modules)
    while ahead:
        name = ahead.pop()
        if not name or name in trees or name == STORE:
            continue
        stem = root.joinpath(*name.split("."))
        files = (stem / "__init__.py", stem.with_name(f"{stem.name}.py"))
        path = next((path for path in files if path.is_file()), None)
        if path is None:  # it lies elsewhere, or is a name in a module
            continue
        trees[name] = ast.parse(path.read_bytes())
        ahead.append(name.rpartition(".")[0])
        for node in ast.walk(trees[name]):
            if isinstance(node, ast.Import):
                ahead += [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module and node.module != STORE:
                # Of a package an import may mean a module.
                ahead += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return trees


FILE: Final = "studies.safetensors"
RECORDS: Final = "studies"  # the metadata that holds them
ARRAY: Final = "array"  # the one key of what stands for an array
FITTED: Final = ("cifar10-ce", "digits-overconfident")  # post-hoc opens the first one by itself
SAMPLE: Final = "sample"  # the kind of the runs that come with the program
MOST_SCORES: Final = 5_000_000  # of a run of one's own: a larger one is computed when it is opened
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
        """Return what is kept of a method, or of none."""
        fit = method.fit or Fit(NONE, None)
        return cls(
            calibrator=None if fit.calibrator is None else stored.to_json(fit.calibrator),
            report=fit.report,
            refusal=fit.refusal,
            judged=method.judged,
        )

    def restored(self, name: str) -> EvaluatedMethod:
        """Return the method, fitted; Refused as of `core.calibrators.stored.from_json`."""
        if name == NONE:
            return EvaluatedMethod(None, self.judged)
        calibrator = None if self.calibrator is None else stored.from_json(self.calibrator)
        if calibrator is not None and self.report is not None:
            calibrator.report_ = self.report
        return EvaluatedMethod(Fit(name, calibrator, self.refusal), self.judged)


@dataclass(frozen=True, kw_only=True)
class RunStudies:
    """What pages show of a run at first."""

    version: str  # of the program that computed it
    # fit, test: digests of the split that methods are fitted on, and of the one that pages show.
    # They are equal where Post-hoc cuts that one in two.
    fit: str
    test: str
    # The split that is shown as it was read; its `compared` is what Compare needs
    none: MethodReport
    # Fitted by NLL, with the exact search. Where a split is cut in two, none is among them: it is
    # judged on the same half as they are.
    methods: Mapping[str, StoredMethod]
    # Of the rows that methods are fitted on, by NLL; of many labels those of the first
    maps: TemperatureMaps | None
    human: HumanStudy | None  # the split that is shown held against votes; None where it has none


def studies_of(library: Library, run_id: str) -> RunStudies | None:
    """Return what is kept of a run; None where there is nothing that holds for it here.

    Raises LibraryError: as of `Library.get`.
    """
    manifest = library.get(run_id)
    try:
        with safe_open(library.folder(run_id) / FILE, framework="np") as file:
            records = parse_json((file.metadata() or {})[RECORDS])
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  no mapping
        kept = codec.read(RunStudies, _with_arrays(records, arrays), "studies", stored=True)
    except (OSError, SafetensorError, JsonError, KeyError, UsageError):
        return None
    if (kept.fit, kept.test) != _digests(manifest):
        return None
    if manifest.kind == SAMPLE:
        return kept if kept.version == VERSION else None
    *program, sources = kept.version.split(" ")
    # Sources are compared first: to parse them takes half a second.
    same = sources == _sources() and program[:1] == [VERSION]
    return kept if same or program == [VERSION, _program()] else None


def methods_of(studies: RunStudies) -> dict[str, EvaluatedMethod]:
    """Return what Post-hoc shows at first: none, and the methods that are kept, fitted.

    Nothing where a calibrator cannot be restored.
    """
    try:
        kept = {name: method.restored(name) for name, method in studies.methods.items()}
    except Refused:
        return {}
    whole = {} if studies.fit == studies.test else {NONE: EvaluatedMethod(None, studies.none)}
    return whole | kept


def studied(manifest: Manifest) -> tuple[str, ...]:
    """Return the splits that are studied of a run; none without labels, or of a large one."""
    shown = manifest.headline
    if shown not in manifest.labelled:
        return ()
    fit = fit_default(manifest.labelled, shown)
    splits = (shown,) if fit == CUT else (fit, shown)
    scores = manifest.n_classes * sum(manifest.splits[name].n for name in splits)
    return splits if manifest.kind == SAMPLE or scores <= MOST_SCORES else ()


def keep_studies(library: Library, run_id: str) -> None:
    """Compute what pages show of a run at first, and write it beside the run.

    Nothing is computed where there is nothing to be `studied`.

    Raises LibraryError LIBRARY_WRITE, also where the run was deleted meanwhile, and as of
    `Library.load`.
    """
    manifest = library.get(run_id)
    splits = {name: library.load(run_id, name) for name in studied(manifest)}
    if not splits:
        return
    fit, shown = _digests(manifest)
    # The rows that Post-hoc takes at first; none where they cannot be cut in two
    headline, rows = manifest.headline, None
    test = splits[headline]
    with suppress(Refused):
        fit_on = fit_default(manifest.labelled, headline)
        rows = parts(splits, fit_on, headline, share=SHARE, seed=SEED)
    fitted = rows is not None and test.task is not Task.TOP_LABEL
    if manifest.kind == SAMPLE:
        fitted = manifest.id in FITTED
    none = before = judge(test, None)
    methods, maps, human = dict[str, StoredMethod](), None, None
    if rows is not None and rows.cut is not None:
        half = evaluate(NONE, rows.fit, rows.test, "nll", "exact")
        before, methods[NONE] = half.judged or none, StoredMethod.of(half)
    if rows is not None and fitted:
        for name in default_methods(rows.test.task, before.compared.audit):
            methods[name] = StoredMethod.of(evaluate(name, rows.fit, rows.test, "nll", "exact"))
        with suppress(Refused):  # of rows that nothing can be fitted on: the page says so
            maps = TemperatureMaps(temperature_map(rows, "nll"), temperature_curve(rows, "nll"))
    # Where others than these have votes, too, the page may fit temperatures on those
    voted = {name for name, entry in manifest.splits.items() if entry.votes}
    if headline in voted and voted <= set(splits):
        own = {name: rows for name, rows in splits.items() if name in voted}
        human = human_study(own, headline)
    studies = RunStudies(
        version=VERSION if manifest.kind == SAMPLE else f"{VERSION} {_program()} {_sources()}",
        fit=fit,
        test=shown,
        none=none,
        methods=methods,
        maps=maps,
        human=human,
    )
    arrays: Arrays = {}
    records = json.dumps(_without_arrays(codec.to_json(studies), arrays), allow_nan=False)
    with writing(SafetensorError):
        path = library.folder(run_id) / FILE
        replace_bytes(path, save(arrays, metadata={RECORDS: records}))


def _digests(manifest: Manifest) -> tuple[str, str]:
    """Return the digests of the splits that are fitted on and shown; empty where there is none."""
    splits = studied(manifest) or ("", "")
    fit, shown = (manifest.splits[name].digest if name else "" for name in (splits[0], splits[-1]))
    return fit, shown


@cache
def _program() -> str:
    """Return the digest of the lines that these numbers depend on."""
    return program_digest([__name__])


@cache
def _sources() -> str:
    """Return the digest of the bytes of all sources."""
    sources = sorted(Path(__file__).parents[1].rglob("*.py"))
    return digest(*(path.read_text("utf-8") for path in sources))


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
