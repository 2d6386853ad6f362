"""Calibrators by name and settings, and as JSON files; numpy only."""

from collections.abc import Mapping
from dataclasses import fields
from functools import partial
from reprlib import repr as short

from core.calibrators import CALIBRATORS
from core.calibrators.base import Calibrator, Json, cannot_restore
from core.calibrators.per_label import PerLabel
from core.configs import OTHER_NAMES
from core.errors import UsageError
from core.predictions import Task

SCHEMA = 1
PLAIN = (str, int, float, type(None))  # what settings are; bool would pass for int
OLDER = {("ts", "paper"): "mukhoti"}  # searches as files said them before both papers had a name
Fittable = Calibrator | PerLabel


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
        raise UsageError("SETTING", f"method is {name!r}", f"use {', '.join(CALIBRATORS)}")
    kind = CALIBRATORS[name]
    if task not in kind.tasks:
        raise UsageError(
            "SETTING", f"{kind.label} has no form for {task.value}", f"use {', '.join(_for(task))}"
        )
    build = partial(kind, **_taken(kind, objective=objective, search=search))
    return PerLabel(build) if task is Task.MULTILABEL else build()


def _for(task: Task) -> list[str]:
    return [name for name, kind in CALIBRATORS.items() if task in kind.tasks]


def _taken(kind: type[Calibrator], **settings: str) -> dict[str, str]:
    """Return the settings that a method takes."""
    own = {name: OTHER_NAMES.get(value, value) for name, value in settings.items()}
    return {name: value for name, value in own.items() if value in kind.choices.get(name, ())}


def to_json(calibrator: Fittable, fitted_on: Mapping[str, Json] | None = None) -> dict[str, Json]:
    """Return a fitted calibrator as plain JSON: what `from_json` reads.

    Parameters
    ----------
    calibrator : Calibrator or PerLabel
        Fitted.
    fitted_on : mapping
        Which rows it was fitted on, for people; as of `core.studies.posthoc.provenance`.
    """
    task = Task.MULTILABEL if isinstance(calibrator, PerLabel) else Task.MULTICLASS
    return {
        "schema": SCHEMA,
        "method": calibrator.name,
        "task": task.value,
        "settings": calibrator.settings(),
        "parameters": calibrator.parameters(),
        "fitted_on": dict(fitted_on or {}),
    }


def from_json(stored: Json) -> Fittable:
    """Return the calibrator that `to_json` described; it predicts the same to the last bit.

    Raises
    ------
    Refused
        CALIBRATOR: anything that `to_json` cannot have written.
    """
    needed = {"schema", "method", "task", "settings", "parameters", "fitted_on"}
    if not isinstance(stored, Mapping) or set(stored) != needed:
        raise cannot_restore(f"a calibrator has the keys {sorted(needed)}")
    if type(stored["schema"]) is not int or stored["schema"] != SCHEMA:
        raise cannot_restore(f"schema is {short(stored['schema'])}, expected {SCHEMA}")
    kind = CALIBRATORS.get(stored["method"]) if isinstance(stored["method"], str) else None
    if kind is None:
        raise cannot_restore(f"method is {short(stored['method'])}")
    for key in ("parameters", "fitted_on"):
        if not isinstance(stored[key], dict):
            raise cannot_restore(f"{key} is no object")
    settings = _settings(kind, stored["settings"])
    if stored["task"] == Task.MULTILABEL.value and Task.MULTILABEL in kind.tasks:
        return PerLabel(partial(kind, **settings)).restore(stored["parameters"])
    if stored["task"] != Task.MULTICLASS.value:
        raise cannot_restore(f"task of {kind.name} is {short(stored['task'])}")
    return kind.from_parameters(stored["parameters"], **settings)


def _settings(kind: type[Calibrator], settings: Json) -> dict[str, Json]:
    """Return settings that the method takes, checked by its constructor."""
    wrong = cannot_restore(f"the settings of {kind.name} are {short(settings)}")
    names = {field.name for field in fields(kind)}  # type: ignore[arg-type]
    if not isinstance(settings, dict) or set(settings) != names:
        raise wrong
    if not all(type(value) in PLAIN for value in settings.values()):
        raise wrong
    own: dict[str, Json] = {
        key: OLDER.get((kind.name, value), value) for key, value in settings.items()
    }
    try:
        kind(**own)
    except (UsageError, TypeError) as error:
        raise wrong from error
    return own
