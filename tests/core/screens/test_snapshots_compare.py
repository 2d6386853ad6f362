"""What Compare says in its states, held against files as `test_snapshots.py` does.

The numbers of each run are set by hand; a difference is that of two of them, and its interval
reaches as far either way as `REACH` says.
"""

from dataclasses import replace

import numpy as np
import pytest

from core.configs import AuditConfig
from core.metrics.comparison import ANSWERS, CLAIMS, Compared, ComparedRows, Comparison, Leader
from core.metrics.paired import PAIRED, Difference
from core.metrics.records import Floor, GroupSummary, Score, WeightSummary
from core.predictions import Task
from core.screens.compare import training
from core.screens.compare.view import compare_view, disagreement_view, plain_view
from core.screens.kit.differences import HIGHER, OFFERED, NamedRun, plain_sentence, sentence
from core.screens.kit.marks import marks
from core.screens.kit.words import speaking_of
from core.studies.comparison import RunAnswers, settings
from tests.core.screens.test_snapshots import EDITIONS, NEAR, OVER, measured
from tests.written import written


def apart(metric, value, low, high):
    return Difference(metric=metric, value=value, low=low, high=high, level=0.975, n=1000)


TIE, WORSE = apart("ece", 0.01, -0.01, 0.03), apart("ece", 0.03, 0.02, 0.053)
EQUAL = apart("ece", 0.0, 0.0, 0.0)
OPEN = apart("ece", 0.01, None, None)
LEADERS = {  # the metric, who leads, and the others minus it, the closest first
    "two of one row": ("ece", 0, {1: OPEN}, 2),
    "two": ("ece", 1, {0: apart("ece", 0.041, 0.036, 0.046)}, 2),
    "two, by accuracy": ("accuracy", 1, {0: apart("accuracy", -0.02, -0.03, -0.01)}, 2),
    "two, by NLL": ("nll", 1, {0: apart("nll", 0.333, 0.307, 0.363)}, 2),
    # a bound that would round to zero is printed with two decimals
    "two tied": ("ece", 0, {1: apart("ece", 0.003, -0.0002, 0.0136)}, 2),
    "three, two tied": ("ece", 0, {1: TIE, 2: WORSE}, 3),
    "three tied": ("ece", 2, {1: TIE, 0: apart("ece", 0.012, -0.008, 0.034)}, 3),
    "three apart": ("ece", 2, {1: WORSE, 0: apart("ece", 0.05, 0.04, 0.06)}, 3),
    "seven, one without": (
        "ece",
        0,
        {i: apart("ece", 0.01 * i, 0.01 * i - 0.006, 0.01 * i + 0.007) for i in range(1, 6)},
        7,
    ),
}


@pytest.mark.parametrize("edition", EDITIONS)
def test_leaders(snapshot, edition):
    names = ("plain", "sharp", "soft", "r3", "r4", "r5", "r6")
    plain = edition == "plain"
    said = {}

    def say(state, found, metric="ece", n=3, bounds=()):
        if not plain:
            said[state] = sentence(names[:n], found, metric)
        elif metric == "ece" and "ece" in found.leaders:
            leader, errors = found.leaders["ece"], [None] * n
            for i, other in (*leader.others.items(), (leader.run, None)):
                errors[i] = 0.022 + (other.value if other else 0.0)
            said[state] = plain_sentence(names[:n], errors, found, bounds)

    for state, (metric, leader, others, n) in LEADERS.items():
        say(state, Comparison("", 0, 0.975, ({},) * n, {metric: Leader(leader, others)}), metric, n)
    missing = Difference("nll", None, None, None, 0.95, 10, {}, "NLL_INFINITE: 2 rows")
    infinite = Comparison("", 0, 0.95, ({}, {"nll": missing}, {}))
    say("no number", infinite, "nll")
    say("no scores", Comparison("", 0, 0.975, ({},) * 3, {}), "nll")
    two = {"ece": Leader(0, {1: WORSE})}
    say("other rows", Comparison("“sharp” has other labels", 0, 0.975, ({},) * 3, two))
    equal = Comparison("", 0, 0.95, ({}, {}), {"ece": Leader(0, {1: EQUAL})}, same=((0, 1),))
    say("equal", equal, n=2)
    some = {"ece": Leader(0, {1: EQUAL, 2: WORSE})}
    say("two of three equal", Comparison("", 0, 0.95, ({},) * 3, some, same=((0, 1),)))
    say("risk", Comparison("", 0, 0.95, ({}, {}), two, event="malignant {1}"), n=2)
    if plain:
        say("chance", Comparison("", 0, 0.95, ({}, {}), two), n=2, bounds=(0.012, 0.012))
        say("chance by run", Comparison("", 0, 0.95, ({}, {}), two), n=2, bounds=(0.031, 0.024))
        ahead = {m: Leader(1, {0: apart(m, 0.1, 0.05, 0.15)}) for m in ("accuracy", "nll")}
        say("ahead in others", Comparison("", 0, 0.95, ({}, {}), two | ahead), n=2)
        many = [f"r{i}" for i in range(13)]
        leaders = {"ece": Leader(0, dict.fromkeys(range(1, 13), WORSE))}
        found = Comparison("", 0, 0.99, ({},) * 13, leaders)
        said["thirteen"] = plain_sentence(many, [0.01 + 0.003 * i for i in range(13)], found)
        said["too few"] = plain_sentence(names[:2], [0.02, None], Comparison("", 0, 0.95, ({}, {})))
    assert written(**said) == snapshot


REACH = {
    "ece": 0.011, "ece_em": 0.012, "smece": 0.013, "classwise_ece": 0.004, "nll": 0.021,
    "brier": 0.014, "accuracy": 0.0151, "auroc": 0.016, "tvd": 0.0171,
}  # fmt: skip
# ECE and accuracy are those of the bins, of CLOSE 180 x 7 and 800 x 1 points of 1,000
CLOSE = ([0, 20, 0, 180, 800], [0, 0.3, 0, 0.7, 0.95], [0, 0.3, 0, 0.63, 0.96])
SHARP = dict(zip(OFFERED, (0.0478, 0.047, 0.046, 0.0123, 0.52, 0.144, 0.823), strict=True))
SOFT = dict(zip(OFFERED, (0.0252, 0.033, 0.034, 0.0112, 0.47, 0.131, 0.8848), strict=True))
PLAIN = dict(zip(OFFERED, (0.0206, 0.027, 0.028, 0.0101, 0.41, 0.122, 0.8874), strict=True))


def between(runs, names, reference, **other):
    """Compare runs by the numbers of each, as far apart as REACH says beyond chance."""
    differences, values = [], {m: {} for m in REACH}
    for i, run in enumerate(runs):
        for m in REACH:
            score = run.score(m)
            if score is not None and score.value is not None:
                values[m][i] = score.value

    def difference(m, i, k):
        value = values[m][i] - values[m][k]
        resampled = {} if m == "auroc" else {"resamples": 1000}
        return Difference(m, value, value - REACH[m], value + REACH[m], 0.982, 1000, resampled)

    for i in range(len(runs)):
        own = [m for m in REACH if i != reference and {i, reference} <= values[m].keys()]
        differences.append({m: difference(m, i, reference) for m in own})
    leaders = {}
    for m, of in values.items():
        if len(of) > 1:
            first, *rest = sorted(of, key=lambda i, m=m, of=of: (-1 if m in HIGHER else 1) * of[i])
            leaders[m] = Leader(first, {i: difference(m, i, first) for i in rest})
    event = runs[reference].rows.event
    return Comparison("", reference, 0.982, tuple(differences), leaders, event=event, **other)


@pytest.fixture
def make_run(make_target, make_bins, make_audit):
    def run(numbers, bins, *, floor=0.012, votes=None, task=Task.MULTICLASS, **changed):
        target = measured(make_target(bins=make_bins(*bins)))
        scores = {
            m: Score(
                metric=m, value=v, low=v - REACH[m] / 2, high=v + REACH[m] / 2, level=0.95, n=1000
            )
            for m, v in numbers.items()
        }
        floors = {m: Floor(0.6 * floor, floor + 0.001 * k) for k, m in enumerate(PAIRED[:4])}
        main = replace(
            target, metrics=scores, noise_floor=floors, groups=changed.pop("groups", None)
        )
        audit = replace(make_audit(main, task=task), **changed)
        claim, names = CLAIMS.get(task, ANSWERS), ("benign", "malignant")
        rows = ComparedRows(n=1000, labels="", ids="", claim=claim, names=names)
        tvd = votes and Score("tvd", votes, votes - 0.011, votes + 0.012, 0.95, 1000)
        return Compared(rows, audit, {}, tvd, AuditConfig())

    return run


def named(names):
    return [NamedRun(f"id{i}", name, "test", "0123456789") for i, name in enumerate(names)]


@pytest.mark.parametrize("edition", EDITIONS)
def test_compare(snapshot, make_run, edition):
    def shown(names, runs, comparison, search="", metric="ece"):
        if edition == "plain":
            return plain_view(named(names), runs, comparison, search)
        return compare_view(named(names), runs, comparison, metric, search)

    names = ("CIFAR-10, plain", "CIFAR-10, sharp <b>", "CIFAR-10, soft")
    runs = [make_run(PLAIN, CLOSE), make_run(SHARP, OVER), make_run(SOFT, NEAR, floor=0.014)]
    view = shown(names, runs, between(runs, names, 0))
    parts = ["eyebrow", "sentence", "forest", "curves", "diagrams", "table", "caption"]
    said = {"three": {part: getattr(view, part) for part in parts}}
    parts = ("eyebrow", "sentence", "table", "caption")
    reason = replace(between(runs, names, 0), reason="“soft” has different labels", leaders={})
    states = {"other rows": (names, runs, replace(reason, differences=({},) * 3))}
    group = GroupSummary(column="patient", n=250, largest=9, design_effect=3.2, effective_n=312.0)
    of_groups = {"groups": group, "weights": WeightSummary("weight", 640.4)}
    others = of_groups | {"groups": replace(group, design_effect=3.4, effective_n=294.0)}
    grouped = [make_run(PLAIN, CLOSE, **of_groups), make_run(SHARP, OVER, **others)]
    states["groups and weights"] = (names[:2], grouped, between(grouped, names, 0))
    votes = [make_run(PLAIN, CLOSE, votes=0.213), make_run(SHARP, OVER, votes=0.261), runs[2]]
    states["votes"] = (names, votes, between(votes, names, 1))
    of_risk = [
        make_run(one | {"auroc": area}, bins, task=Task.BINARY)
        for one, area, bins in ((PLAIN, 0.91, CLOSE), (SHARP, 0.88, OVER))
    ]
    states["risk"] = (names[:2], of_risk, between(of_risk, names, 0))
    for state, shown_runs in states.items():
        view = shown(*shown_runs)
        said[state] = {part: getattr(view, part) for part in parts}
    for data in ("20newsgroups", ""):
        with speaking_of(data):
            view = shown(names, runs, between(runs, names, 0))
        columns = [column.label for column in view.table.shown]
        said[data or "rows"] = [view.eyebrow, view.sentence, " | ".join(columns), view.caption]
    if edition == "technical":
        for metric in ("nll", "accuracy"):
            view = shown(names, runs, between(runs, names, 0), metric=metric)
            said[metric] = [view.sentence, view.forest and view.forest.alt, view.table.heads]
        view = shown(names, votes, between(votes, names, 1), metric="tvd")
        said["by distance"] = [view.sentence, view.forest, view.caption]
        view = shown(names[:2], of_risk, between(of_risk, names, 0), metric="auroc")
        said["by AUROC"] = [view.sentence, view.forest and view.forest.title, view.caption]
        answers = [
            RunAnswers(np.array([0, 1, 0, 0]), np.array([0.9, 0.6, 0.5, 0.99]), ("cat", "dog")),
            RunAnswers(np.array([0, 0, 1, 1]), np.array([0.91, 0.7, 0.8, 0.55]), ("cat", "dog")),
        ]
        for some in (answers, answers[:1] * 2):
            said[f"answers of {len(said)}"] = disagreement_view(
                marks(["a", "b"]), some, np.array([0, 0, 1, 1])
            )
        focal = {"data": "digits", "model": "small_cnn", "loss": {"name": "focal", "gamma": 1.0}}
        recipes = [focal, focal | {"seed": 1}, focal | {"loss": {"name": "focal", "gamma": 2.0}}]
        trained = [settings({"name": "x", **recipe}) for recipe in recipes]
        said["sweep"] = [
            training.sweep_card(named(names), runs, trained, "loss.gamma", metric)
            for metric in ("ece", "nll")
        ]
        said["seeds"] = training.seeds_table(named(names), runs, trained)
        said["scatter"] = training.scatter_card(named(names), runs, "accuracy", "nll")
    # Thirteen, of which six stand out
    crowd = [make_run(PLAIN | {"ece": 0.0206 + 0.007 * i}, CLOSE) for i in range(13)]
    many = [f"run {i}" for i in range(13)]
    view = shown(many, crowd, between(crowd, many, 3), "run 1")
    said["thirteen"] = [
        view.sentence,
        view.forest and view.forest.explanation,
        view.forest and view.forest.alt,
        view.listed,
    ]
    assert written(**said) == snapshot
