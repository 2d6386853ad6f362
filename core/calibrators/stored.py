"""Calibrators by name and settings, and as JSON files; numpy only."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Annotated

from core import codec
from core.calibrators import CALIBRATORS
from core.calibrators.base import Calibrator, Json, cannot_restore
from core.calibrators.per_label import PerLabel
from core.configs import OTHER_NAMES
from core.errors import UsageError
from core.fields import Field, JsonObject
from core.predictions import Task

SCHEMA = 1
OLDER = {"ts": {"paper": "mukhoti"}}  # searches as files said them before both papers had a name
# before it was a setting
ABSENT = {name: {"centred": False} for name in ("vector", "matrix", "dirichlet")}
Fittable = Calibrator | PerLabel


@dataclass(frozen=True)
class StoredCalibrator:
    """A fitted calibrator in a file; `fitted_on` says for people which rows it was fitted on."""

    schema: Annotated[int, Field(low=SCHEMA, high=SCHEMA)]
    method: Annotated[str, Field(allows=CALIBRATORS.__contains__)]
    task: Annotated[Task, Field(choices={Task.MULTICLASS: "Classes", Task.MULTILABEL: "Labels"})]
    settings: JsonObject
    parameters: JsonObject
    fitted_on: JsonObject


def make(name: str, task: Task, *, objective: str = "nll", search: str = "exact") -> Fittable:
    """Return a calibrator to be fitted.

    Parameters
    ----------
    name : str
        A key of `CALIBRATORS`.
    task : Task
        multilabel gives one binary calibrator a label.
    objective, search : str
        Handed to the methods that have a choice; others, and values that a method does not know,
        are left at the method's default.

    Raises
    ------
    UsageError
        SETTING, for unknown names and for a task the method has no form for.
    """
    if name not in CALIBRATORS:
        raise UsageError("SETTING", f"Method is {name!r}", f"use {', '.join(CALIBRATORS)}")
    kind = CALIBRATORS[name]
    if task not in kind.tasks:
        fitting = [other for other, method in CALIBRATORS.items() if task in method.tasks]
        what = f"{kind.label} has no form for {task.value}"
        raise UsageError("SETTING", what, f"use {', '.join(fitting)}")
    given = {"objective": objective, "search": search}
    own = {setting: OTHER_NAMES.get(value, value) for setting, value in given.items()}
    taken = {
        setting: value for setting, value in own.items() if value in kind.choices.get(setting, ())
    }
    build = partial(kind, **taken)
    return PerLabel(build) if task is Task.MULTILABEL else build()


def to_json(calibrator: Fittable, fitted_on: Mapping[str, Json] | None = None) -> dict[str, Json]:
    """Return a fitted calibrator as plain JSON: what `from_json` reads.

    Parameters
    ----------
    calibrator : Calibrator or PerLabel
        Fitted.
    fitted_on : mapping
        Which rows it was fitted on, for people; as of `core.studies.posthoc.provenance`.
    """
    file = StoredCalibrator(
        schema=SCHEMA,
        method=calibrator.name,
        task=Task.MULTILABEL if isinstance(calibrator, PerLabel) else Task.MULTICLASS,
        settings=calibrator.settings(),
        parameters=calibrator.parameters(),
        fitted_on=dict(fitted_on or {}),
    )
    return codec.to_json(file)


def from_json(stored: object) -> Fittable:
    """Return the calibrator that `to_json` described; it predicts the same to the last bit.

    Raises
    ------
    Refused
        CALIBRATOR: anything that `to_json` cannot have written.
    """
    try:
        file = codec.read(StoredCalibrator, stored, "calibrator", stored=True)
        kind = CALIBRATORS[file.method]
        older = OLDER.get(file.method, {})
        named_now = ABSENT.get(file.method, {}) | {
            key: older.get(value, value) if isinstance(value, str) else value
            for key, value in file.settings.items()
        }
        settings = codec.read(kind, named_now, "settings", stored=True).settings()
    except UsageError as error:
        raise cannot_restore(error.what) from error
    if file.task is Task.MULTICLASS:
        return kind.from_parameters(file.parameters, **settings)
    if Task.MULTILABEL not in kind.tasks:
        raise cannot_restore(f"Task is {file.task.value!r}, for which {kind.name} has no form")
    return PerLabel(partial(kind, **settings)).restore(file.parameters)
