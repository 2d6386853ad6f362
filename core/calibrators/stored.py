"""Calibrators by name and settings, as JSON files and as code that needs nothing; numpy only."""

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

SOFTMAX = """\
def softmax(z):
    top = max(z)
    e = [math.exp(x - top) for x in z]
    total = sum(e)
    return [x / total for x in e]
"""

LABELS = '''\
def calibrate_labels(row):
    """Calibrated probability of each label from one row of logits."""
    pairs = [([0.0, s], p) for s, p in zip(row, LABELS)]
    return [(calibrate(z, p) if p else softmax(z))[1] for z, p in pairs]
'''

RISE = """\
def rise(v, x, y):
    if v <= x[0] or v >= x[-1]:
        return y[0] if v <= x[0] else y[-1]
    k = bisect.bisect_right(x, v)
    return y[k - 1] + (y[k] - y[k - 1]) * (v - x[k - 1]) / (x[k] - x[k - 1])
"""


def code(calibrator: Calibrator | PerLabel) -> str:
    """Return Python source that calibrates one row of logits with the standard library only.

    Returns
    -------
    str
        Defines `calibrate(z)`, from a list of K finite logits to K probabilities; a single binary
        logit s is passed as [0.0, s]. For multi-label files `calibrate_labels(row)`, from L
        logits to L probabilities. Agrees with `predict_proba` to 1e-12.

    Raises
    ------
    AuditError
        NOT_FITTED.
    """
    calibrator.parameters()  # raises where there are none
    method = calibrator.make() if isinstance(calibrator, PerLabel) else calibrator
    # Only what the body calls is written out, so that a temperature is five lines.
    body = method.program
    helpers = [SOFTMAX, *([RISE] if "rise(" in body else [])]
    modules = ["bisect"] if "bisect" in "".join([*helpers, body]) else []
    imports = "".join(f"import {name}\n" for name in [*modules, "math"])
    if isinstance(calibrator, PerLabel):
        values = [member and member.constants() for member in calibrator.members_]
        head, tail = f"LABELS = {values!r}\n", [LABELS]
        signature = "def calibrate(z, p):\n"
    else:
        head, tail = f"PARAMETERS = {calibrator.constants()!r}\n", []
        signature = "def calibrate(z, p=PARAMETERS):\n"
    doc = f'    """{calibrator.label}: probabilities from one row of logits."""\n'
    return "\n\n".join([imports + "\n" + head, *helpers, signature + doc + body, *tail])


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

    `name`: a key of `CALIBRATORS`; `task`: multilabel gives one binary calibrator a label;
    `objective`, `search`: handed to the methods that have a choice; others, and values that a
    method does not know, are left at the method's default.

    Raises UsageError SETTING, for unknown names and for a task the method has no form for.

    Examples
    --------
    One search for a whole list of methods: vector scaling has none, and leaves it out.

    >>> [make(name, Task.MULTICLASS, search="grid").settings() for name in ("ts", "vector")]
    [{'objective': 'nll', 'search': 'grid'}, {'centred': True}]
    """
    if name not in CALIBRATORS:
        raise UsageError("SETTING", f"Method is {name!r}", f"use {', '.join(CALIBRATORS)}")
    kind = CALIBRATORS[name]
    if task not in kind.tasks:
        fitting = [other for other, method in CALIBRATORS.items() if task in method.tasks]
        what = f"{kind.label} has no form for {task.value}"
        raise UsageError("SETTING", what, f"use {', '.join(fitting)}")
    given = {"objective": objective, "search": search}
    # `paper` and others are older names; a method that has no such choice ignores the setting,
    # since one pair of settings is asked for a whole list of methods.
    own = {setting: OTHER_NAMES.get(value, value) for setting, value in given.items()}
    taken = {
        setting: value for setting, value in own.items() if value in kind.choices.get(setting, ())
    }
    build = partial(kind, **taken)
    return PerLabel(build) if task is Task.MULTILABEL else build()


def to_json(calibrator: Fittable, fitted_on: Mapping[str, Json] | None = None) -> dict[str, Json]:
    """Return a fitted calibrator as plain JSON: what `from_json` reads.

    `fitted_on`: which rows it was fitted on, for people; as of `core.studies.posthoc.provenance`.
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

    Raises Refused CALIBRATOR: anything that `to_json` cannot have written.
    """
    try:
        file = codec.read(StoredCalibrator, stored, "calibrator", stored=True)
        kind = CALIBRATORS[file.method]
        older = OLDER.get(file.method, {})
        # Order matters: settings that did not exist yet first, then
        # what the file says, in today's words.
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
