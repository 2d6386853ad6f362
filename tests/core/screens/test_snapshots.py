"""What screens say in their states, held against files that are read when they change.

The numbers are set by hand: what is computed has tests of its own.
"""

import re
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core import codec
from core.checkpoints.names import Match
from core.datasets.shifts import OutsideSet
from core.histories import History
from core.jobs.devices import Device
from core.jobs.records import Job, JobState
from core.library.index import RunRow
from core.losses.bins import AdaFocalRule, CalFocalRule
from core.metrics.ranked import SortedOutcomes
from core.metrics.records import ClassCell, Evidence, Gap, MixedEnd, Score, Statistic, VerdictCode
from core.ood.separation import Separation
from core.predictions import Outcomes
from core.published import published
from core.readers.weights.named_tensors import TensorInfo, WeightGroup, WeightsFile
from core.screens import evaluate as evaluation
from core.screens import runs
from core.screens.gamma import view as gamma
from core.screens.gamma import words as gamma_words
from core.screens.kit.marks import RunMark
from core.screens.kit.sentences import other_sentence, plain_sentence, verdict_sentence
from core.screens.kit.words import speaking_of
from core.screens.ood import tables as ood_tables
from core.screens.ood import view as ood
from core.screens.ood import words as ood_words
from core.screens.published import lines as paper_lines
from core.screens.published.view import fitted_as, published_view
from core.screens.reliability.classes import labels_view
from core.screens.reliability.plain import plain_view
from core.screens.reliability.view import Subject, reliability_view
from core.screens.train import view as curves
from core.screens.train import words as training
from core.studies.ood import ConfidentRows, ScoreSeparation, ShiftEffect
from core.studies.published import FittedScore, OwnNumbers
from core.training.folder import Progress
from tests.core.screens.evaluate.test_evaluation_view import CONFIG, predictions
from tests.core.screens.gamma.gamma_cases import grid
from tests.core.screens.ood.test_ood_view import HAND, MARK, NAMED, shifts
from tests.written import written

EDITIONS = ("technical", "plain")
TERMS = re.compile(
    r"\b(ECE|NLL|AUROC|AUPR|TVD|Holm|logits?|epochs?|bins?|validation|bootstrap|percentile"
    r"|(in|out-of)-distribution|(over-|under-)?confiden(t|ce)|calibrat(ed|ion|ors?)|accuracy"
    r"|temperatures?|learning rate|gammas?|lambda|images?|entropy|slopes?|quantiles?|Wilson"
    r"|prevalence|nodules?|nats|paired|gradients?|loss(es)?)\b|[γλ]|!|\b1 in \d",
    re.IGNORECASE,
)
# What a line may hold all the same: in which files, how it begins, and the words
ALLOWED = [
    ("test_runs", "-:", r"● well calibrated"),  # a verdict in use everywhere
    ("", "drawn:", r"(?<= )(well calibrated|γ changed sign|chosen bin)(?= \|)"),  # in no legend
    ("test_published", "", r"focal γ = \d|cross-entropy"),  # names of losses
    (
        "posthoc",  # names of corrections
        "",
        r"(focal )?temperature scaling|beta calibration|^row: (focal )?temperature( \(shaded\))? \|"
        r"|another curve than Temperature|Temperature first",
    ),
]


def test_plain_words_hold_no_terms_of_the_field():
    """In no sentence, label, caption, head, cell or alternative of a screen in plain words."""
    files = sorted((Path(__file__).parent / "__snapshots__").glob("*/*plain*"))
    assert len(files) >= 8
    for file in files:
        for whole in file.read_text(encoding="utf-8").splitlines():
            line = whole.strip()
            for part, begins, words in ALLOWED:
                if part in f"{file.parent.name}/{file.name}" and line.startswith(begins):
                    line = re.sub(words, "", line, flags=re.IGNORECASE)
            assert not TERMS.search(line), (file.name, whole)


# Reliability

# Bins of equal width: rows, what they say, how often it is right
OVER = ([0, 100, 0, 180, 720], [0, 0.3, 0, 0.7, 0.99], [0, 0.31, 0, 0.6, 0.95])
UNDER = ([0, 20, 0, 180, 800], [0, 0.3, 0, 0.7, 0.8], [0, 0.2, 0, 0.85, 0.95])
SOUND = ([0, 20, 0, 180, 800], [0, 0.3, 0, 0.7, 0.97], [0, 0.35, 0, 0.69, 0.97])
ABOVE = ([0, 20, 0, 180, 800], [0, 0.3, 0, 0.7, 0.95], [0, 0.3, 0, 0.63, 0.965])  # the floor
FEW = ([0, 2, 0, 10, 40], [0, 0.3, 0, 0.7, 0.95], [0, 0.5, 0, 0.6, 0.925])
ONE = ([0, 1], [0, 0.7], [0, 1])
NEAR = ([0, 20, 0, 180, 800], [0, 0.3, 0, 0.7, 0.95], [0, 0.35, 0, 0.61, 0.96])
EXTREME = ([0, 200, 0, 300, 500], [0, 0.3, 0, 0.7, 0.95], [0, 0.45, 0, 0.69, 0.89])
MODERATE = ([0, 200, 0, 300, 500], [0, 0.3, 0, 0.7, 0.95], [0, 0.15, 0, 0.71, 1])
FALLING = ([0, 200, 0, 300, 500], [0, 0.3, 0, 0.7, 0.95], [0, 0.85, 0, 0.73, 0.72])
UNEVEN = ([0, 200, 0, 300, 500], [0, 0.3, 0, 0.7, 0.95], [0, 0.4, 0, 0.6, 0.97])
FEW_OVER = ([0, 5, 0, 10, 25], [0, 0.3, 0, 0.7, 0.99], [0, 0.2, 0, 0.5, 0.84])
OPPOSITE = ([100, 100, 0, 300, 500], [0.1, 0.3, 0, 0.7, 0.95], [0.18, 0.38, 0, 0.65, 0.9])
RISKS = ([500, 100, 0, 200, 200], [0.1, 0.3, 0, 0.7, 0.95], [0.18, 0.38, 0, 0.65, 0.9])
RARE = ([0, 1000], [0, 0.992], [0, 0.988])
END = MixedEnd(over=False, bins=2, low=0.0, high=0.4, gap=Gap(-0.08, -0.1, -0.06))
ENDS = (END, MixedEnd(over=True, bins=2, low=0.6, high=1.0, gap=Gap(0.05, 0.03, 0.07)))
CAT, DOG = (
    ClassCell(part="answers", name=name, bounds=(0, 1), n=100, stated=0.8, true=true)
    for name, true in (("cat", 0.55), ("dog", 0.87))
)
STATED = ClassCell(part="stated", name="", bounds=(2**-10, 2**-9), n=90, stated=0.002, true=0.02)
MORE = tuple(
    replace(CAT, name=name, n=30, true=true)
    for name, true in (("cow", 0.6), ("sheep", 0.63), ("hen", 0.67))
)
FALLS = (Evidence(statistic=Statistic.SLOPE, value=-0.2, q95=None, low=-0.3, high=-0.1),)
POWERS = {"power_odds": 0.99, "power_spread": 0.96}
# The bins of the target, what it is made of, and what is changed in its verdict; half is that of
# the intervals of the bins, the mean gap and the ECE
VERDICTS: dict[str, tuple[Any, dict[str, Any], dict[str, Any]]] = {
    # (30 + 126 + 712.8) / 1000 = 86.9 % said, (31 + 108 + 684) / 1000 = 82.3 % right
    "over_confident": (OVER, {}, {}),
    "under_confident": (UNDER, {"code": "under_confident"}, {}),
    "sound": (SOUND, {"code": "sound"}, {}),
    "sound_powers": (ABOVE, {"code": "sound"}, POWERS | {"each_class": True}),
    "chance": (FEW, {"code": "could_be_chance", "half": 0.08}, {}),
    "chance_low_power": (
        FEW, {"code": "could_be_chance", "half": 0.08, "power": 0.2}, {"power_odds": 0.31},
    ),
    "chance_open": (
        ABOVE, {"code": "could_be_chance", "power": 0.96}, POWERS | {"open_to": 0.025},
    ),
    "chance_one_row": (ONE, {"code": "could_be_chance", "half": 0.4}, {}),
    "own_interval_excludes_0": (NEAR, {"code": "sound", "half": 0.005}, {}),
    "small": (NEAR, {"code": "off_but_small", "half": 0.006}, {}),
    "small_but_a_class": (
        SOUND, {"code": "off_but_small", "half": 0.006, "statistic": Statistic.CLASSES},
        {"deviant": CAT},
    ),
    "mixed": (UNEVEN, {"code": "mixed"}, {}),
    "mixed_too_extreme": (
        EXTREME, {"code": "mixed", "reading": "too_extreme", "statistic": Statistic.SLOPE}, {},
    ),
    "mixed_too_moderate": (MODERATE, {"code": "mixed", "reading": "too_moderate"}, {}),
    "mixed_falls": (FALLING, {"code": "mixed", "reading": "too_extreme"}, {"evidence": FALLS}),
    "mixed_uneven": (UNEVEN, {"code": "mixed", "reading": "uneven"}, {}),
    "mixed_uneven_fine": (
        UNEVEN, {"code": "mixed", "reading": "uneven", "statistic": Statistic.FINE}, {},
    ),
    "mixed_uneven_with_a_side": (
        FEW_OVER,
        {"code": "mixed", "half": 0.13, "reading": "uneven", "statistic": Statistic.FINE}, {},
    ),
    "mixed_uneven_by_a_class": (
        OVER, {"code": "mixed", "reading": "uneven", "statistic": Statistic.FINE},
        {"classes": (CAT,)},
    ),
    "mixed_by_class": (
        SOUND, {"code": "mixed", "reading": "by_class", "statistic": Statistic.CLASSES},
        {"deviant": CAT},
    ),
    "mixed_by_stated_class": (
        SOUND, {"code": "mixed", "reading": "by_class", "statistic": Statistic.CLASSES},
        {"deviant": STATED},
    ),
    "mixed_opposite": (OPPOSITE, {"code": "mixed", "reading": "opposite"}, {"ends": ENDS}),
    # 180 rows are off by 10 points; the claim of 720 is in their interval
    "costly_bin": (OVER, {}, {"costly": 3}),
    "two_classes_named": (OVER, {}, {"classes": (CAT, DOG)}),
    "five_classes_named": (OVER, {}, {"classes": (CAT, *MORE, DOG)}),
    "rare_errors": (RARE, {"half": 0.003}, {}),
    "event": (OVER, {"code": "overestimates", "target": 1}, {"of": "event"}),
    "event_too_extreme": (
        RISKS, {"code": "underestimates", "target": 1, "reading": "too_extreme"},
        {"ends": ENDS, "of": "event"},
    ),
}  # fmt: skip
SUBJECT = Subject("VGG <b>16</b>", "test", "fe3cdd9e00", ("a", "b", "c", "d", "e"))


def measured(target, half=0.02):
    """Return a target whose mean gap, ECE and accuracy are those of its bins."""
    bins = target.bins
    weight = bins.count / bins.count.sum()
    gap = np.nan_to_num(bins.confidence - bins.accuracy)
    mean, ece, right = (
        float(weight @ each) for each in (gap, np.abs(gap), np.nan_to_num(bins.accuracy))
    )
    score = partial(replace, n=int(bins.count.sum()))
    changes = {
        "ece": score(
            target.metrics["ece"], value=ece, low=max(ece - half, 0), high=ece + 1.1 * half
        ),
        "accuracy": score(
            target.metrics["accuracy"], value=right, low=right - half, high=min(right + half, 1)
        ),
    }
    evidence = tuple(replace(one, value=max(ece, 0.025)) for one in target.verdict.evidence)
    return replace(
        target,
        metrics={**target.metrics, **changes},
        direction=Gap(mean, mean - half, mean + half),
        verdict=replace(target.verdict, evidence=evidence),
    )


@pytest.mark.parametrize("edition", EDITIONS)
def test_verdicts(snapshot, make_target, make_bins, edition):
    said = {}
    for state, (bins, made, changed) in VERDICTS.items():
        half, code = made.get("half", 0.02), VerdictCode(made.get("code", "over_confident"))
        others = {name: value for name, value in made.items() if name not in ("half", "code")}
        target = make_target(code, bins=make_bins(*bins, half=2 * half), **others)
        target = measured(target, half)
        target = replace(target, verdict=replace(target.verdict, **changed))
        if edition == "plain":
            said[state] = plain_sentence(target)
        else:
            said[state] = {"own": verdict_sentence(target), "beside": other_sentence(target)}
    assert written(**said) == snapshot


@pytest.mark.parametrize("edition", EDITIONS)
def test_reliability(snapshot, make_audit, make_target, make_bins, edition):
    # The rows of OVER
    rows = [(said, k < n * right) for n, said, right in zip(*OVER, strict=True) for k in range(n)]
    ranked = SortedOutcomes.of(Outcomes(*(np.array(column) for column in zip(*rows, strict=True))))
    target = measured(make_target(bins=make_bins(*OVER)))
    # By label: the last p-value does not survive looking at five; label 3 is furthest off
    of_labels = (
        ("sound", 0.5, SOUND), ("overestimates", 0.0001, OVER), ("could_be_chance", 0.3, ABOVE),
        ("mixed", 0.0002, FALLING), ("overestimates", 0.04, NEAR),
    )  # fmt: skip
    labels = []
    for i, (code, p_value, bins) in enumerate(of_labels):
        label = measured(make_target(VerdictCode(code), target=0, bins=make_bins(*bins)))
        verdict = replace(label.verdict, p_value=p_value, of="event")
        labels.append(replace(label, name=f"label {i}", verdict=verdict))
    plain = edition == "plain"
    many = replace(make_audit(labels[0], task="multilabel"), labels=tuple(labels))
    view = (
        plain_view(make_audit(target), target, ranked, split="test")
        if plain
        else reliability_view(make_audit(target), SUBJECT)
    )
    of_labels = labels_view(many, plain=plain)
    labelled = {name: getattr(of_labels, name) for name in ("sentence", "figure", "shown")}
    said = {"answers": view, "labels": labelled}
    if plain:
        fewer = replace(target, bins=make_bins([0, 100, 0, 110, 420], *OVER[1:]))
        said["some"] = plain_view(make_audit(target), fewer, ranked, split="test").eyebrow
    assert written(**said) == snapshot


# Gamma dynamics

TIED = {"count": [[10, 10, 0]], "lower": [[0.2, 0.9, 1.0]], "upper": [[0.9, 1.0, 1.0]]}
EPOCHS = {  # the history of which the last epoch is spoken of
    "rose_and_fell": grid([[2.3, 1.0, -0.2]], [[0.2, 0.0, 0.0]]),
    "over_two_epochs": grid([[1.0] * 4, [0.34, 1.0, 1.0, 1.8]], np.zeros((2, 4))),
    "stayed_and_fell": grid([[1.0, 1.0, 1.0, 0.5, 1.0]], np.zeros((1, 5))),
    "both_ends_on_one_side": grid([[0.9, 0.9, 0.9, 0.5, 2.0]], np.zeros((1, 5))),
    "both_fell": grid([[0.4, 0.5, 0.8]], np.zeros((1, 3))),
    "equal_decimals": grid([[2.0449, 1.0, 0.3417]], np.zeros((1, 3))),
    "tiny": grid([[2.0, 1.0, 0.0034]], np.zeros((1, 3))),
    "below_zero": grid([[1.0, -0.2, -0.5, -0.3]], np.zeros((1, 4))),
    "says_less": grid([[1.0, 1.5]], [[0.0, -0.3]]),
    "could_be_chance": grid([[1.0, 2.3]], [[0.0, 0.1]], count=[[10, 10]]),
    "one_answer": grid([[1.0, 2.3]], [[0.0, 0.1]], count=[[10, 1]]),
    "equal": grid([[-0.2, -0.2]], [[0.1, -0.1]]),
    "no_answers": grid([[1.0, 1.0]], np.zeros((1, 2)), count=[[0, 0]]),
    "empty_at_a_tie": grid([[1.1, 0.9, 0.75]], np.zeros((1, 3)), **TIED),
    "empty_between": grid([[1.1, 1.0, 0.8]], np.zeros((1, 3)), count=[[10, 0, 9]]),
    "missing_epochs": grid(np.ones((3, 1)), np.zeros((3, 1)), epoch=[1, 2, 9]),
    "missing_epoch": grid(np.ones((2, 1)), np.zeros((2, 1)), epoch=[1, 3]),
}
RULE = gamma_words.HistoryRule(AdaFocalRule(0.5), "from the training settings")
BINS = {"lower": 0.0, "upper": 1 / 15, "count": 4.0, "confidence": 0.06, "accuracy": 0.02}
TRAINED = {"train": 0.03, "train_top": 0.05, "train_own": 0.04}
STEPS = {
    "lower": 1 / 15, "upper": 1 / 15, "count": 1, "confidence": 0.066, "accuracy": 0.06,
    "train": 0.062, "train_top": 0.064, "train_own": 0.063, "own_lower": 0.06, "own_upper": 0.065,
}  # fmt: skip


def dynamics(table, name="a run", learned=RULE, **other):
    origin = f"{learned.rule.label}, λ = {learned.rule.rate:g}"
    return gamma.GammaDynamics(name=name, origin=origin, grid=table, learned=learned, **other)


@pytest.mark.parametrize("edition", EDITIONS)
def test_gammas_of_an_epoch(snapshot, edition):
    said = {}
    for state, table in EPOCHS.items():
        at = table.n_updates - 1
        if edition == "plain":
            said[state] = gamma_words.plain_sentence(table, at)
            continue
        said[state] = {
            "sentence": gamma_words.sentence(table, at),
            "tiles": gamma_words.tiles(table, RULE, at),
            "adafocal": gamma_words.frozen_words(table, RULE.rule, at),
            "calfocal": gamma_words.frozen_words(table, CalFocalRule(0.5), at),
            "missing": gamma_words.missing_words(table),
        }
    assert written(**said) == snapshot


@pytest.mark.parametrize("edition", EDITIONS)
def test_gamma(snapshot, edition):
    words = {"technical": gamma.TECHNICAL, "plain": gamma.PLAIN}[edition]
    one = dynamics(grid([[1.0, -2.3]], [[0.0, 0.2]], count=[[40, 0]], train=[[0.58, 0.6]]))
    replayed = dynamics(grid([[1.0, -0.1, 2.3], [1.0, -0.2, 2.3]], np.zeros((2, 3))), replayed=True)
    shown = ["eyebrow", "sentence", "numbers", "heatmap", "diagram", "key", "caveats", "caption"]
    if edition == "technical":
        shown += ["update", "panels", "correspondence"]
    views = {
        "trained": gamma.gamma_view(one, 0, 1, words),
        "replayed": gamma.gamma_view(replayed, 1, 0, words),
    }
    said = {key: {name: getattr(view, name) for name in shown} for key, view in views.items()}
    if edition == "technical":
        other = dynamics(grid([[1.5, -0.4]], [[0.2, 0.2]]), name="other")
        fewer = dynamics(grid([[1.0]], [[0.0]]), name="fewer")
        late = dynamics(grid([[1.0, 2.0]], np.zeros((1, 2)), epoch=[7]), name="late")
        forgetful = grid([[np.exp(0.05), np.exp(-0.1)]], [[0.2, -0.4]], count=[[40, 30]])
        rule = gamma_words.HistoryRule(CalFocalRule(0.25), "from the training settings")
        view = gamma.gamma_view(dynamics(forgetful, learned=rule), 0, 0, words)
        said["calfocal"] = {name: getattr(view, name) for name in ("eyebrow", "numbers", "update")}
        said["beside"] = [gamma.difference(one, two, 0) for two in (one, other, late)]
        said["other bins"] = gamma.bin_mismatch(one, fewer)
    assert written(**said) == snapshot


@pytest.mark.parametrize("own", [False, True])
def test_bins_of_a_training(snapshot, own):
    edges = {"own_lower": 0.01, "own_upper": 0.08}
    said = {}
    for state, parts in {
        "all": BINS | TRAINED | edges, "before edges were kept": BINS | TRAINED,
        "the true class alone": BINS | {"train": 0.03}, "no training rows": BINS,
    }.items():  # fmt: skip
        # From bin to bin each part changes by another step
        values = {
            f"val_bins.{b}.{name}": value + b * STEPS[name]
            for b in range(15)
            for name, value in parts.items()
        }
        epoch = np.zeros(len(values), np.int64)
        history = History(epoch, tuple(values), np.array([*values.values()]))
        said[state] = gamma.training_bins_cards(history, own=own)
    assert written(**said) == snapshot


# Out of distribution


@pytest.mark.parametrize("edition", EDITIONS)
def test_ood(snapshot, edition):
    plain = edition == "plain"
    measured = {  # of HAND
        "auroc": (0.949, 0.906, 0.985), "fpr95": (0.51, 0.05, 0.56),
        "aupr_out": (0.951, 0.909, 0.984), "aupr_in": (0.967, 0.942, 0.988),
        "fpr95_in": (0.1, 0.02, 0.18), "detection_error": (0.05, 0.01, 0.09),
    }  # fmt: skip
    numbers = {
        key: Score(metric=key, value=value, low=low, high=high, level=0.95, n=150)
        for key, (value, low, high) in measured.items()
    }
    shown = ood.ShownCurve("SVHN", MARK, replace(HAND.judged, numbers=numbers))
    fog, intact = (
        ShiftEffect(100, right, says, ece, auroc, low=low, high=high)
        for right, says, ece, auroc, low, high in (
            (0.60, 0.82, 0.23, 0.66, 0.502, 0.691), (0.68, 0.724, 0.06, 0.5, 0.583, 0.763),
        )
    )  # fmt: skip

    def view(name, curve=shown, **other):
        drawn = (NAMED, ood_words.set_name(name), curve, [curve], 0.05, "scores as read")
        return ood.ood_view(*drawn, plain=plain, **other)

    energy = Separation.of(np.array([1.0, 2.0]), np.array([0.5, 3.0]))
    energy = ScoreSeparation(score="energy", temperature=1.0, separation=energy, numbers=numbers)
    shifted = view("corrupted-fog-5", effects=(fog, intact))
    street = view("svhn")
    few = replace(shown.judged, separation=Separation.of(np.arange(19.0), np.array([17.0, 18.5])))
    lone = replace(shown.judged, separation=Separation.of(np.arange(20.0), np.array([18.5])))
    parts = ("sentence", "figures", "counts", "caption")
    said = {
        "streets": {name: getattr(street, name) for name in parts} if plain else street,
        "energy": view("svhn", ood.ShownCurve("SVHN", MARK, energy)).sentence,
        "fog": {"sentence": shifted.sentence, "caption": shifted.caption},
        "few": view("svhn", replace(shown, judged=few)).sentence,
        "one": view("svhn", replace(shown, judged=lone)).sentence,
        "few in fog": view(
            "corrupted-fog-5", replace(shown, judged=few), effects=(fog, intact)
        ).sentence,
    }
    for data in ("20newsgroups", ""):
        with speaking_of(data):
            name = ood_words.set_name("strangers")
            said[f"few of {data or 'rows'}"] = ood_words.few_words(name, few, plain=plain)
    if plain:
        said["pictures"] = ood_words.plain_view(
            ood_words.set_name("svhn"), shown.judged, street.tally
        )
    else:
        sure = ConfidentRows(
            np.array([4, 1]), np.array([0.1, 0.2]), np.array([0.99, np.nan]), ("cat", "")
        )
        harm = {
            out: replace(
                effect, confidence=says, ece=says - effect.accuracy + 0.02, auroc=0.97 - says / 2
            )
            for (out, effect), says in zip(shifts().items(), (0.9, 0.82, 0.88, 0.76), strict=True)
        }
        said["maps"] = ood_tables.shift_view(NAMED, "corrupted", harm, "entropy")
        said["most confident"] = [
            ood_tables.certain_table(sure, names, "entropy") for names in ((), tuple("abcde"))
        ]
    assert written(**said) == snapshot


# Train

JOB = Job("a1", "train", "AdaFocal on digits", "g", "d" * 8, created=0.0)
HALF = Progress(
    epoch=5, n_epochs=10, batch=2, n_batches=4, images_per_second=999.6, memory=3 * 2**29,
    seconds=9.0, left=42.0,
)  # fmt: skip
VALUES = {"val_error": 0.021, "val_ece": 0.034, "images_per_second": 500.0}
COURSE, NONE = training.JobProgress(5, 10, VALUES), training.JobProgress(0, 10, {})
JOBS = {  # a job, how far it is, whether the queue is paused
    "running": (JobState.RUNNING, {}, COURSE, HALF, False),
    "stopping": (JobState.RUNNING, {"asked": "cancel"}, COURSE, HALF, False),
    "starting": (JobState.STARTING, {"ended": None}, NONE, None, False),
    "waiting": (JobState.QUEUED, {}, COURSE, None, False),
    "waiting, paused": (JobState.QUEUED, {}, COURSE, None, True),
    "waiting, paused, stopping": (JobState.QUEUED, {"asked": "cancel"}, COURSE, None, True),
    "stopped": (JobState.CANCELLED, {}, COURSE, None, False),
    "lost": (JobState.LOST, {}, COURSE, None, False),
    "failed at once": (JobState.FAILED, {}, NONE, None, False),
    "done": (JobState.SUCCEEDED, {}, COURSE, None, False),
}


@pytest.mark.parametrize("edition", EDITIONS)
def test_train(snapshot, edition):
    words = {"technical": training.TECHNICAL, "plain": training.PLAIN}[edition]
    said = {}
    for state, (code, changes, course, progress, paused) in JOBS.items():
        job = replace(JOB, state=code, started=10.0, **({"ended": 62.0} | changes))
        running = replace(job, started=1.0, ended=None) if code is JobState.RUNNING else job
        place = "waiting, next in line"
        said[state] = {
            "sentence": training.sentence(job, course, place, words, paused=paused),
            "tiles": [t for t in words.tiles(running, progress, course) if t.label != "Running"],
        }
    stages = (HALF, replace(HALF, epoch=10, left=None), replace(HALF, epoch=0, stage="Preparing"))
    said["progress"] = [training.progress_words(stage, words) for stage in stages]
    if edition == "technical":
        gpu = Device(slot="cuda:0", name="H100", free=60 * 2**30, total=80 * 2**30)
        cpu = Device(slot="cpu", name="CPU")
        unnamed = Device(slot="cuda:1", name="cuda:1", free=300 * 2**20, total=80 * 2**30)
        devices = ((gpu, ""), (unnamed, ""), (cpu, "“x”"))
        said["devices"] = [training.device_words(*of_device) for of_device in devices]
    assert written(**said) == snapshot


@pytest.mark.parametrize("edition", EDITIONS)
def test_curves(snapshot, edition):
    def run(name, n_epochs=3, **columns):
        rows = [(e, key, values[e]) for key, values in columns.items() for e in range(len(values))]
        epoch, metric, value = zip(*rows, strict=True)
        history = History(np.array(epoch), metric, np.array(value))
        return curves.RunCurves(name, name, history, n_epochs)

    one = run("one", val_error=[0.4, 0.1, 0.2], val_ece=[0.3, 0.05, 0.08], val_nll=[3.0, 2.0, 1.0])
    two = run("two", val_ece=[0.5, 0.35])
    if edition == "plain":
        assert written(alone=curves.cards(curves.PLAIN, [one])) == snapshot
        return
    best = [curves.best_epoch(one, key) for key in ("val_ece", "val_nll", "val_loss")]
    cards = {
        "alone": curves.cards(curves.PANELS, [one]),
        "beside another": curves.cards(curves.PANELS, [one, two]),
    }
    # A value for every line of every panel, each another one, after one epoch of forty
    panels = (*curves.PANELS, *curves.PARTS, *curves.MORE)
    lines = sorted({key for measure in panels for key in measure.lines})
    every = run("every", 40, **{key: [k / 100] for k, key in enumerate(lines, 1)})
    cards["so far"] = [
        {"title": card.title, "explanation": card.explanation, "alt": card.alt,
         "caption": card.caption}
        for card in curves.cards(panels, [every])
    ]  # fmt: skip
    assert written(**cards, best=best) == snapshot


# Evaluate

FITS = {
    "model": "resnet50_cifar", "n_outputs": 10, "matched": 120, "total": 120,
    "renamed": "the prefix “module.” was removed", "likely_outputs": 10,
    "left": [], "missing": [], "unexpected": [], "mismatched": [],
}  # fmt: skip


@pytest.mark.parametrize("edition", EDITIONS)
def test_evaluate(snapshot, edition):
    words = {"technical": evaluation.TECHNICAL, "plain": evaluation.PLAIN}[edition]
    test, fog, snow = (
        evaluation.line(name, role, predictions(*n))
        for name, role, n in (
            ("test", "test", (1000, 950)), ("corrupted-fog-3", "shifted", (100, 62, 0.8)),
            ("corrupted-snow-3", "shifted", (100, 58)),
        )
    )  # fmt: skip
    accuracy = replace(test.score, low=0.935, high=0.962)
    test = replace(test, score=accuracy, ece=replace(test.ece, low=0.036, high=0.064))
    judged = evaluation.judged(CONFIG, (test, fog, snow), words)
    job = Job("a1", "evaluate", "mine", "g", "d" * 8, created=0.0, state=JobState.RUNNING)
    fit = codec.read(Match, FITS)
    names = [f"fc.{i}" for i in range(12)]
    changes = {"matched": 108, "missing": names, "renamed": "", "likely_outputs": 100}
    changes |= {"model": "timm:resnet18", "unexpected": ["head.weight"]}
    misfit = codec.read(Match, FITS | changes)
    fits = evaluation.plain_fit_words if edition == "plain" else evaluation.fit_words
    said = {
        "judged": {"against": judged.against, "worst": judged.worst, "papers": judged.papers},
        "done": evaluation.sentence(job, "", judged, words, paused=False),
        "running": evaluation.sentence(job, "", None, words, paused=False),
        "sets": evaluation.table((test, fog, snow), words),
        "fit": [fits(fit), fits(misfit)],
    }
    of_labels = evaluation.SplitResult(
        split="test", role="test", n=900, ece=test.ece, confidence=None,
        score=replace(accuracy, metric="auroc", value=0.913, low=0.893, high=0.931),
    )  # fmt: skip
    films = replace(CONFIG, data="chestxray14", data_root="/x", n_outputs=3)
    guesses = {
        "labels": (films, of_labels),
        "labels, guessed": (
            films,
            replace(of_labels, score=replace(of_labels.score, value=0.53, low=0.49, high=0.58)),
        ),
        "guessed": (
            CONFIG,
            replace(test, split="val", score=replace(accuracy, value=0.105, low=0.09, high=0.12)),
        ),
        "too few": (
            CONFIG,
            replace(test, n=9, score=replace(accuracy, value=0.222, low=0.063, high=0.547)),
        ),
    }
    for state, (config, result) in guesses.items():
        found = evaluation.judged(config, (result,), words)
        said[state] = [
            evaluation.sentence(job, "", found, words, paused=False),
            evaluation.table((result,), words),
        ]
    if edition == "technical":
        tensors = tuple(
            TensorInfo(f"t{i}", shape, "F32") for i, shape in enumerate(((64, 3, 3, 3), (10,)))
        )
        ema = WeightGroup("state_dict_ema", True, tensors, "group-0.safetensors")
        lone = WeightGroup("", False, tensors[:1], "group-1.safetensors")
        hints = {"arch": "resnet18", "epoch": 3}
        file = WeightsFile(
            name="a.pt", digest="d" * 32, format="torch", groups=(ema, lone), hints=hints
        )
        said["misfit"] = {**evaluation.lists(misfit), "shown": evaluation.shown(misfit.missing)}
        said["all shown"] = evaluation.shown(misfit.missing[:10])
        said["groups"] = [
            text
            for group in (ema, lone)
            for text in (evaluation.group_label(group), evaluation.group_words(group))
        ]
        said["file"] = [evaluation.file_words(file), evaluation.hints(file)]
        limited = replace(CONFIG, limit=50, sets=(OutsideSet("svhn"),))
        said["captions"] = [
            evaluation.caption(config, (test, fog), "c" * 32) for config in (CONFIG, limited)
        ]
    assert written(**said) == snapshot


# Runs

SUMMARY = {
    "accuracy": 0.9359, "ece": {"value": 0.0397, "low": 0.0356, "high": 0.0441},
    "floor_q95": 0.0046, "gap": {"gap": 0.0398, "low": 0.035, "high": 0.044},
    "verdict": "over_confident",
}  # fmt: skip
ROW = RunRow(
    id="abc", name="=HYPERLINK(1)", kind="upload", owner="local",
    created="2026-11-20T18:52:00+00:00", task="multiclass", n=10_000, n_classes=10, split="test",
    splits=("test",), tags=("CIFAR-10",), metrics=SUMMARY,
)  # fmt: skip


@pytest.mark.parametrize("edition", EDITIONS)
def test_runs(snapshot, make_target, edition):
    words = {"technical": runs.TECHNICAL, "plain": runs.PLAIN}[edition]
    gaps = {"under_confident": -0.153, "mixed": 0.001, "sound": 0.001, "could_be_chance": 0.02}
    rows = [ROW, replace(ROW, task="multilabel", n_classes=14), replace(ROW, metrics=None)]
    rows += [
        replace(ROW, metrics=SUMMARY | {"verdict": code, "gap": {**SUMMARY["gap"], "gap": gap}})
        for code, gap in {**gaps, "underestimates": -0.02}.items()
    ]
    rows.append(replace(ROW, task="", n=0, n_classes=0, split="", splits=(), metrics=None))
    table = runs.run_table(rows, words=words)
    columns = {name: getattr(table, name) for name in ("task", "interval", "direction", "tones")}
    targets = [
        make_target(VerdictCode(code), target=0) for code in ("sound", "over_confident", "mixed")
    ]
    labels = [
        replace(target, verdict=replace(target.verdict, p_value=p))
        for target, p in zip(targets, (0.5, 0.0001, 0.0001), strict=True)
    ]
    alone = [
        runs.verdict(row.metrics, task, words, alone=True)
        for row, task in ((ROW, "multiclass"), (ROW, "multilabel"), (rows[5], "binary"))
    ]
    alone.append(runs.verdict(rows[-2].metrics, "binary", words, alone=True))
    alone.append(runs.verdict(SUMMARY, "multilabel", words, alone=True, labels=labels))
    pages = ((ROW, 250, 250, 2000), (ROW, 3, 1750, 1753), (ROW, 250, 0, 250), (ROW, 1, 0, 1))
    captions = [
        runs.run_table([row] * n, first=first, total=total, words=words).caption
        for row, n, first, total in pages
    ]
    assert written(columns=columns, alone=alone, captions=captions) == snapshot


# Published

STORY = paper_lines.Filters(
    data="cifar10", network="resnet50", metric="ece_ew", paper="mukhoti2020iclr"
)


def score(value, low, high):
    return Score("ece", value, low, high, 0.95, 10_000)


@pytest.mark.parametrize("edition", EDITIONS)
def test_published(snapshot, edition):
    words = {"technical": paper_lines.TECHNICAL, "plain": paper_lines.PLAIN}[edition]
    after = {"ts": FittedScore(score=score(0.014, 0.0, 0.0206), temperature=1.21)}
    numbers = OwnNumbers(before=score(0.0443, 0.0296, 0.0527), after=after)
    small = {"data": "folder", "model": "small_cnn", "loss": {"name": "ce"}, "n_train": 10_000}
    alike = {"data": "cifar10", "model": "resnet50_cifar"}
    facts = {
        "Mine": paper_lines.RunFacts.of(small, "CIFAR-10 (JPEG)", 10_000),
        "Unknown": paper_lines.RunFacts(n=5),
        "Alike": paper_lines.RunFacts.of(alike, "", 10_000),
    }
    own = [
        paper_lines.OwnRun(
            id=name, name=name, mark=RunMark(name[0], k, "solid"), facts=fact, numbers=numbers
        )
        for k, (name, fact) in enumerate(facts.items())
    ]
    summary = {"accuracy": 0.95, "ece": {"value": 0.03, "low": 0.02, "high": 0.04}}
    place = ("cifar10", "resnet50", "flsd_53", "mukhoti2020iclr")
    trained = {place: paper_lines.TrainedRun(id="a1", name="Trained", summary=summary)}
    doubted = paper_lines.Filters(
        data="cifar10", network="densenet121", metric="smece", paper="fcl2024"
    )
    view = published_view(STORY, words, own, trained)
    said = {
        "story": {name: getattr(view, name) for name in ("sentence", "remark", "figure", "table")},
        "own runs": [text for _, text in view.beside],
    }
    if edition == "technical":
        said["doubted"] = published_view(doubted, words, (), {}).sentence
        few = {"data": "20newsgroups", "model": "text_mean", "n_train": 5000}
        of_texts = paper_lines.RunFacts.of(few, "20newsgroups", 3000)
        said["texts"] = of_texts.differences("20newsgroups", "gp_cnn")
        tables = (("komisarenko2024", "1"), ("adafocal2022", "3"), ("adafocal2022", "5"))
        tables += (("adafocal2022", "2"),)  # as trained alone
        said["fitted"] = [fitted_as(published(paper=p, table=t)) or "–" for p, t in tables]
    assert written(**said) == snapshot
