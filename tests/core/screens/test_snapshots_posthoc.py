"""What Post-hoc says in its states, held against files as `test_snapshots.py` does.

Errors of methods are set by hand; a difference is that of two of them, and its interval reaches as
far either way as `REACH` says.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from core.calibrators import CALIBRATORS
from core.calibrators.base import FitReport
from core.calibrators.search import Landscape
from core.configs import AuditConfig
from core.metrics.binning import BinSums
from core.metrics.comparison import ANSWERS, CLAIMS, Compared, ComparedRows, Comparison
from core.metrics.paired import Difference
from core.metrics.records import ClassCell, ClassRow, Floor, Gap
from core.predictions import Predictions, ScoreKind, Task
from core.screens.kit.differences import NamedRun
from core.screens.kit.marks import marks
from core.screens.kit.words import speaking_of
from core.screens.posthoc import view, words
from core.studies.posthoc import NONE, Fit, MethodReport, PosthocRows
from core.studies.temperatures import (
    ConfidentAnswers,
    FocalPoint,
    InnateCalibration,
    TemperatureStep,
    TemperatureWalk,
)
from tests.core.screens.test_snapshots import EDITIONS, OVER, measured
from tests.written import written

NAMED = NamedRun("run1", "sharp <b>", "test", "0123456789")
REACH = {"ece": 0.006, "nll": 0.02, "brier": 0.004, "accuracy": 0.008}
AS_READ = {"ece": 0.081, "nll": 0.52, "brier": 0.144, "accuracy": 0.874, "floor": 0.012}
TS = AS_READ | {"ece": 0.031, "nll": 0.41, "brier": 0.127, "floor": 0.013}
LEAST = AS_READ | {"ece": 0.016, "nll": 0.415, "brier": 0.129, "floor": 0.014}
SMALL = AS_READ | {"ece": 0.011}  # within its floor
ROSE = {"ece": 0.021, "nll": 0.571, "brier": 0.153}
# Bins of rows of which 823 in 1,000 are right, as of OVER; 0.1 x 1 + 0.4 x 3 + 0.5 x 3.4 points off
COOLED = ([0, 100, 0, 400, 500], [0, 0.3, 0, 0.72, 0.95], [0, 0.31, 0, 0.75, 0.984])
FOCAL = ([0, 100, 0, 300, 600], [0, 0.3, 0, 0.7, 0.92], [0, 0.31, 0, 0.74, 0.95])
# The errors of each method and the answers that it changes
STATES: dict[str, dict[str, dict[str, Any]]] = {
    "best of five": {
        NONE: AS_READ, "ts": TS, "focal_ts": TS | {"ece": 0.034},
        "focal_map": TS | {"ece": 0.052}, "isotonic": LEAST | {"changed": 25},
    },
    "better than half": {NONE: AS_READ | {"ece": 0.023}, "ts": TS | {"ece": 0.009}},
    "at a price": {NONE: AS_READ, "histogram": TS | ROSE},
    "at a price that could be chance": {NONE: AS_READ, "histogram": TS | {"nll": 0.53}},
    "where a claim of 0 came true": {NONE: AS_READ, "histogram": TS | {"nll": None}},
    "changes answers, as many right": {NONE: AS_READ, "isotonic": LEAST | {"changed": 1}},
    "changes answers, fewer by chance": {
        NONE: AS_READ, "isotonic": LEAST | {"changed": 31, "accuracy": 0.868},
    },
    "changes answers, more by chance": {
        NONE: AS_READ, "isotonic": LEAST | {"changed": 37, "accuracy": 0.879},
    },
    "changes answers, more right": {
        NONE: AS_READ, "isotonic": LEAST | {"changed": 43, "accuracy": 0.901},
    },
    "changes answers, fewer by under 1": {
        NONE: AS_READ, "isotonic": LEAST | {"changed": 52, "accuracy": 0.8652},
    },
    "none helps": {
        NONE: SMALL, "ts": SMALL | {"ece": 0.012}, "focal_map": SMALL | {"ece": 0.034},
        "beta": SMALL | {"ece": 0.038},
    },
    "the only one does not help": {NONE: AS_READ, "ts": AS_READ | {"ece": 0.0805}},
    "by likelihood alone": {NONE: AS_READ, "ts": AS_READ | {"ece": 0.077, "nll": 0.47}},
    "by likelihood alone, at a price": {
        NONE: AS_READ,
        "vector": AS_READ | {"ece": 0.0812, "nll": 0.45, "brier": 0.151, "changed": 17},
    },
}  # fmt: skip


def compared(runs, names, reference):
    """Compare runs as `compare` does, with intervals of a set width."""
    audits = [run.audit.main.metrics for run in runs]
    differences = []
    for i in range(len(audits)):
        own = {}
        for metric, reach in REACH.items():
            pair = [audits[k][metric].value for k in (i, reference)]
            if i == reference or metric not in audits[i]:
                continue
            settings = {"resamples": 1000}
            value = None if None in pair else pair[0] - pair[1]
            ends = (None, None) if value is None else (value - reach, value + reach)
            own[metric] = Difference(metric, value, *ends, 0.975, 1000, settings)
        differences.append(own)
    event = runs[reference].rows.event
    return Comparison("", reference, 0.975, tuple(differences), event=event)


@pytest.fixture(autouse=True)
def _by_hand(monkeypatch):
    for module in (view, words):
        monkeypatch.setattr(module, "compare", compared)


@pytest.fixture
def make_report(make_target, make_bins, make_audit):
    def report(numbers, *, task=Task.MULTICLASS, classes=(), names=("cat", "dog"), **changed):
        bins = make_bins(*changed.pop("bins", OVER))
        target = measured(make_target(changed.pop("code", "over_confident"), bins=bins))
        scores = dict(target.metrics)
        for metric, reach in REACH.items():
            value = numbers[metric]
            ends = (None, None) if value is None else (value - reach / 2, value + reach / 2)
            scores[metric] = replace(
                scores[metric], value=value, low=ends[0], high=ends[1], reason=""
            )
        verdict = replace(target.verdict, classes=changed.pop("off", ()))
        floor = {"ece": Floor(0.5 * numbers["floor"], numbers["floor"])}
        main = replace(target, metrics=scores, noise_floor=floor, verdict=verdict)
        audit = replace(make_audit(main, task=task), n_classes=len(names), **changed)
        rows = ComparedRows(n=1000, labels="", ids="", claim=CLAIMS.get(task, ANSWERS), names=names)
        compared = Compared(rows, audit, {}, None, AuditConfig())
        return MethodReport(compared, numbers.get("changed", 0), tuple(classes))

    return report


def answers(name, gap, n=250, p_value=0.001):
    right = None if gap is None else 0.8 - gap.gap
    says = None if gap is None else 0.8
    return ClassRow(
        name=name, index=0, labelled=250, n=n, confidence=says, accuracy=right, gap=gap, ece=None,
        p_value=p_value,
    )  # fmt: skip


def said_of(judged, edition, fits=()):
    comparison = compared([one.compared for one in judged.values()], list(judged), 0)
    if edition == "plain":
        return words.plain_sentence(judged, comparison, fits)
    return words.sentence(judged, comparison, fits)


@pytest.mark.parametrize("edition", EDITIONS)
def test_corrections(snapshot, make_report, edition):
    said = {}
    for state, methods in STATES.items():
        judged = {name: make_report(numbers) for name, numbers in methods.items()}
        said[state] = said_of(judged, edition)
    refused = Fit("ts", None, "5 rows are too few")
    said["none fitted"] = said_of({NONE: make_report(AS_READ)}, edition, [refused])
    said["none chosen"] = said_of({NONE: make_report(AS_READ)}, edition)
    event = {"task": Task.BINARY, "names": ("no", "pneumonia")}
    risk = {
        NONE: make_report(AS_READ, **event),
        "isotonic": make_report(LEAST | {"accuracy": 0.9, "changed": 68}, **event),
    }
    said["risk"] = said_of(risk, edition)
    # OVER holds 823 events in 1,000, of which one answer for all is right more often than 81.49 %
    constant = make_report(LEAST | {"accuracy": 0.8149, "changed": 310}, **event)
    wrong = make_report(AS_READ | {"accuracy": 0.714}, **event)
    said["risk by one answer"] = said_of({NONE: wrong, "beta": constant}, edition)
    assert written(**said) == snapshot


@pytest.mark.parametrize("edition", EDITIONS)
def test_corrections_of_classes(snapshot, make_report, make_target, edition):
    """What a mean over classes, or labels, hides."""
    names = ("cat", "dog", "cow", "sheep")
    gaps = (Gap(-0.02, -0.05, 0.01), Gap(0.03, 0.01, 0.05), Gap(-0.04, -0.06, -0.02))
    sheep = Gap(0.21, 0.16, 0.26)
    was = [answers(name, gap) for name, gap in zip(names, (*gaps, sheep), strict=True)]
    off = [
        ClassCell(part="answers", name=name, bounds=(0, 1), n=250, stated=0.8, true=true)
        for name, true in (("sheep", 0.59), ("cow", 0.84))
    ]
    none = make_report(AS_READ, classes=was, names=names, off=tuple(off))
    # All are less sure: sheep less wrong, cow and cat worse, dog on the other side by chance
    cooled = [
        answers("cat", Gap(-0.09, -0.12, -0.06)), answers("dog", Gap(-0.031, -0.052, -0.01)),
        answers("cow", Gap(-0.112, -0.132, -0.092)), answers("sheep", Gap(0.14, 0.09, 0.19)),
    ]  # fmt: skip
    still = (replace(off[0], true=0.66), replace(off[1], true=0.912))
    ts = make_report(TS, classes=cooled, names=names, off=still)
    mended = [
        answers("cat", Gap(0.01, -0.02, 0.04)), answers("dog", Gap(0.02, 0.0, 0.04)),
        answers("cow", Gap(-0.03, -0.05, -0.01)), answers("sheep", Gap(0.006, -0.014, 0.026)),
    ]  # fmt: skip
    numbers = LEAST | {"changed": 130, "accuracy": 0.902}
    vector = make_report(numbers, classes=mended, names=names)
    silent = [*mended[:3], answers("sheep", None, n=0, p_value=None)]
    silenced = make_report(numbers, classes=silent, names=names)
    level = make_report(AS_READ | {"ece": 0.079, "changed": 140}, classes=mended, names=names)
    lower_nll = AS_READ | {"ece": 0.078, "nll": 0.46, "changed": 150}
    fits = make_report(lower_nll, classes=mended, names=names)
    said = {
        "further off": said_of({NONE: none, "ts": ts}, edition),
        "brought together": said_of({NONE: none, "ts": ts, "vector": vector}, edition),
        "no longer an answer": said_of({NONE: none, "vector": silenced}, edition),
        "one mended": said_of({NONE: none, "vector": level}, edition),
        "one mended, and fits better": said_of({NONE: none, "vector": fits}, edition),
    }
    five = [answers(name, Gap(0.4, 0.35, 0.45)) for name in "abcde"]
    now = [answers(name, Gap(0.01 * k, -0.02, 0.08)) for k, name in enumerate("abcde")]
    wide = answers("sheep", Gap(0.15, 0.02, 0.28))
    both = {"classes": (*five, wide), "names": (*"abcde", "sheep"), "off": (off[0],)}
    less_wide = answers("sheep", Gap(0.14, 0.01, 0.27))
    leaves = make_report(AS_READ | {"ece": 0.08, "changed": 160}, classes=(*now, less_wide))
    said["many mended, one not"] = said_of(
        {NONE: make_report(AS_READ, **both), "beta": leaves}, edition
    )
    errors = ((0.02, 0.021), (0.09, 0.011), (0.12, 0.013), (0.15, 0.014), (0.18, 0.017))
    labels = []
    for k in (0, 1):
        targets = []
        for i, pair in enumerate(errors):
            target = make_target(target=0)
            ece = replace(target.metrics["ece"], value=pair[k], low=pair[k] - 0.008)
            ece = replace(ece, high=pair[k] + 0.009)
            targets.append(replace(target, name=f"label {i}", metrics={"ece": ece}))
        labels.append(tuple(targets))
    of_labels = {"task": Task.MULTILABEL, "names": tuple("abcde")}
    many = {
        NONE: make_report(AS_READ | {"ece": 0.112}, **of_labels, labels=labels[0]),
        "beta": make_report(AS_READ | {"ece": 0.107, "changed": 86}, **of_labels, labels=labels[1]),
    }
    said["labels mended"] = said_of(many, edition)
    helped = {**many, "beta": make_report(LEAST | {"changed": 87}, **of_labels, labels=labels[1])}
    said["labels"] = said_of(helped, edition)
    assert written(**said) == snapshot


@pytest.mark.parametrize("edition", EDITIONS)
def test_posthoc(snapshot, make_report, edition):
    def rows(n, task=Task.MULTICLASS):
        return Predictions(task, ScoreKind.LOGITS, np.zeros((n, 3)), np.zeros(n, np.int64))

    def fitted(method, message="", **parameters):
        one = CALIBRATORS[method].from_parameters(parameters)
        one.report_ = FitReport(
            parameters=parameters, objective="nll", before=0.52, after=0.41, at_bound=False,
            seconds=0.1, worse=False, message=message,
        )  # fmt: skip
        return Fit(method, one)

    parts = PosthocRows(fit_from=rows(299), test_from=rows(1000), fit_name="val", test_name="test")
    fits = [
        fitted("ts", temperature=1.68),
        fitted("focal_ts", "a parameter is at the end of its range", temperature=1.43, gamma=-0.25),
        Fit("matrix", None, "299 rows are too few for 12 numbers"),
    ]
    right = {"accuracy": 0.823}
    judged = {
        NONE: make_report(AS_READ | right | {"ece": 0.0478}, bins=OVER),
        "ts": make_report(TS | right | {"ece": 0.030}, bins=COOLED),
        "focal_ts": make_report(TS | right | {"ece": 0.0308, "nll": 0.404}, bins=FOCAL),
    }
    make = view.plain_view if edition == "plain" else view.posthoc_view
    said = {"view": make(NAMED, parts, fits, judged)}
    numbers = (np.arange(400), np.arange(400, 1000))
    cut = replace(parts, fit_from=rows(1000), fit_name="test", cut=(0.4, 7), numbers=numbers)
    same = replace(parts, fit_from=rows(1000), fit_name="test")
    for state, of in {
        "cut": cut, "same": same, "same, two names": replace(same, fit_name="val")
    }.items():  # fmt: skip
        shown = make(NAMED, of, fits, judged)
        said[state] = [shown.eyebrow, shown.sentence, shown.caption]
    for data in ("20newsgroups", ""):
        with speaking_of(data):
            shown = make(NAMED, same, fits, judged)
        said[f"same, of {data or 'rows'}"] = [shown.eyebrow, shown.sentence, shown.caption]
    alone = make(NAMED, parts, fits[:1], {name: judged[name] for name in (NONE, "ts")})
    said["one"] = [alone.table, alone.caption]
    said["none"] = make(NAMED, parts, [fits[2]], {NONE: judged[NONE]})
    every = (*CALIBRATORS, NONE)
    said["meaning"] = {
        of.value: [words.meaning(one, of, plain=edition == "plain") for one in every]
        for of in (Task.MULTICLASS, Task.TOP_LABEL)
    }
    assert written(**said) == snapshot


def step(temperature, gamma, ece, nll, bins):
    """One step of a walk, of bins of count, confidence and accuracy."""
    count, says, right = map(np.array, bins)
    sums = BinSums(count, count * says, count * right)
    gap = float((sums.confidence - sums.hits).sum() / count.sum())
    return TemperatureStep(
        temperature=temperature, gamma=gamma, bins=sums, ece=ece, nll=nll, gap=gap
    )


def test_temperatures(snapshot, make_report):
    values = np.array([[0.61, 0.52, 0.57], [0.58, 0.44, 0.49]])
    places = (np.array([-0.5, 0.25]), np.array([0.5, 1.25, 2.0]), values)
    line = np.linspace(0.9, 1.7, 25)
    said = {}
    for objective, rows in (("nll", (800, 5000)), ("ece", (800, 800))):
        card = view.landscape_card(Landscape(objective, *places), line, rows, NAMED)
        said[objective] = {
            "title": card.title, "explanation": card.explanation, "alt": card.alt,
            "caption": card.caption, "table": card.table,
        }  # fmt: skip
    badges = marks(["a", "b"])
    runs = [
        ("<b>sharp</b>", badges[0], np.array([1.1, 1.5])),
        ("soft", badges[1], np.array([0.7, 0.9])),
    ]
    gammas = np.array([-0.5, 1.0])
    said["curves"] = [view.curves_card(some, gammas, "ada_ece") for some in (runs, runs[:1])]
    read = step(1.0, 0.0, 0.0478, 0.52, OVER)
    own = step(1.5, 0.0, 0.033, 0.43, (*COOLED[:1], [0, 0.3, 0, 0.75, 0.96], COOLED[2]))
    cool = step(1.68, 0.0, 0.030, 0.41, COOLED)
    focal = step(1.43, -0.25, 0.0308, 0.404, FOCAL)
    no_map = step(1.43, 0.0, 0.036, 0.42, (*FOCAL[:1], [0, 0.3, 0, 0.71, 0.93], FOCAL[2]))
    walk = TemperatureWalk(
        steps=(read, no_map, own, cool), marks={"nll": 1.68, "ece": 1.68},
        focal=FocalPoint(-0.25, 1.43), used=900, rows=1000, target=None,
    )  # fmt: skip
    along = replace(walk, steps=(focal, no_map), marks={}, target=1)
    said["walk"] = [view.walk_card(walk, at, NAMED) for at in (own, focal)]
    for name, steps in {"T": view.at_temperatures(walk), "γ": view.at_gammas(along)}.items():
        said[name] = [f"{at.written}: {at.sentence}{' *' * at.marked}" for at in steps]
    before, after = make_report(AS_READ), make_report(TS)
    tie = Difference("ece", -0.002, -0.009, 0.005, 0.95, 1000)
    sharp = InnateCalibration(
        temperature=1.68, at_bound=False, before=before, after=after,
        gap=Difference("ece", -0.05, -0.056, -0.044, 0.95, 1000),
        sure_before=ConfidentAnswers(0.62, 0.96), sure_after=ConfidentAnswers(0.31, 0.991),
    )  # fmt: skip
    calm = replace(
        sharp, temperature=1.07, gap=tie,
        before=make_report(AS_READ | {"ece": 0.024, "floor": 0.015}),
        after=make_report(TS | {"ece": 0.022, "floor": 0.016}),
        sure_before=ConfidentAnswers(0.57, 0.971), sure_after=ConfidentAnswers(0.0, np.nan),
    )  # fmt: skip
    bound = replace(
        sharp, temperature=20.0, at_bound=True,
        before=make_report(AS_READ | {"ece": 0.123, "floor": 0.017}),
        after=make_report(TS | {"ece": 0.061, "floor": 0.018}),
        gap=Difference("ece", -0.062, -0.067, -0.057, 0.95, 1000),
        sure_before=ConfidentAnswers(0.88, 0.942), sure_after=ConfidentAnswers(0.26, 0.985),
    )  # fmt: skip
    every = {"sharp": sharp, "calm": calm, "bound": bound}
    badges = marks([*every])
    rows = [(name, mark, one) for (name, one), mark in zip(every.items(), badges, strict=True)]
    said["innate"] = {
        "table": view.innate_table(rows), "near": view.innate_summary(every),
        "none near": view.innate_summary({"sharp": sharp, "bound": bound}),
        "none near, a tie": view.innate_summary({"x": replace(calm, temperature=1.3)}),
    }  # fmt: skip
    assert written(**said) == snapshot
