"""What Chest X-ray says in its states, held against files as `test_snapshots.py` does."""

from dataclasses import astuple, replace

import numpy as np
import pytest

from core.codes import NoticeCode
from core.errors import Notice
from core.metrics.clinical import (
    Bands,
    Classified,
    FlexibleCurve,
    HosmerLemeshow,
    NetBenefit,
    Recalibration,
)
from core.metrics.clinical.groups import Subgroup
from core.metrics.paired import Difference
from core.metrics.records import (
    Floor,
    GroupSummary,
    Score,
    VerdictCode,
    VerdictSubject,
)
from core.predictions import INDEPENDENT, Outcomes, SamplingDesign
from core.published import published
from core.screens.kit.marks import marks
from core.screens.kit.sentences import plain_sentence
from core.screens.kit.words import speaking_of
from core.screens.xray import film, finding, findings, use
from core.screens.xray.figures import Band
from core.screens.xray.film import FilmScores, FindingSummary, Reference, SaliencyFocus
from core.screens.xray.words import PLAIN, TECHNICAL, ClinicSource
from core.studies.clinic import THRESHOLDS, Error, Findings, OneFinding, Recalibrated
from core.studies.posthoc import Fit
from tests.core.screens.test_snapshots import ABOVE, EDITIONS, OVER, SOUND, UNDER, measured
from tests.written import written

NAMES = ("Effusion", "Pleural_Thickening", "lung_cat")
SOURCE = ClinicSource(run="St. Mary", split="test", digest="d" * 32, findings=NAMES, n=22_433)
NOTE = "Research use, not a medical device."
WORDS = {"technical": TECHNICAL, "plain": PLAIN}


@pytest.fixture(autouse=True)
def _of_films():
    with speaking_of("chestxray14"):
        yield


def tenths(*filled):
    """Ten bands of scores, of which some hold films: place, films, labelled, mean score."""
    bands = []
    for i in range(10):
        n, events, mean = {at: rest for at, *rest in filled}.get(i, (0, 0, np.nan))
        share = events / n if n else np.nan
        ends = np.clip([share - 0.04, share + 0.05, share - 0.06, share + 0.07], 0.0, 1.0)
        bands.append(Band(i / 10, (i + 1) / 10, n, events, mean, share, *ends.tolist()))
    return tuple(bands)


# Of films scored 0 to 10, 40 to 50, 70 to 80 and 90 to 100
BANDS = tenths((0, 700, 21, 0.06), (4, 300, 210, 0.46), (7, 260, 143, 0.75), (9, 12, 11, 0.96))


# Films


def seen(model, score, mark, known=None, **more):
    return FindingSummary(
        scored=FilmScores(model, NAMES, (score, 0.172, 0.004)), name="Effusion", mark=mark,
        known=known, **more,
    )  # fmt: skip


@pytest.mark.parametrize("edition", EDITIONS)
def test_film(snapshot, edition):
    words, (a, b, c) = WORDS[edition], marks(["a", "b", "c"])
    reference = Reference(SOURCE, (BANDS, BANDS[::-1], BANDS), (0.292, 0.05, 0.01))
    drawn = replace(reference, source=replace(SOURCE, synthetic=True, n=1272))
    named = replace(reference, named=True)
    rarer = replace(reference, prevalence=(0.101, 0.05, 0.01))
    one = seen("CheXNet", 0.74, a, reference)
    unsure = film.strange("CheXNet", model_synthetic=None, film_synthetic=True)
    withheld = film.strange("Phantom net", model_synthetic=True, film_synthetic=False)
    states = {
        "over": [one],
        "under": [seen("CheXNet", 0.43, a, reference)],
        "rare": [seen("CheXNet", 0.004, a, reference)],
        "too few films": [seen("CheXNet", 0.998, a, reference)],
        "no film": [seen("CheXNet", 0.55, a, reference)],
        "no test set": [replace(one, known=None)],
        "synthetic": [replace(one, known=drawn)],
        "named": [replace(one, known=named)],
        "doubtful": [replace(one, strange=unsure, doubtful=True)],
    }
    two, three = seen("Net B", 0.21, b, reference), seen("Net C", 0.52, c, reference)
    lacks = FindingSummary(scored=FilmScores("Net E", ("Mass",), (0.9,)), name="Effusion", mark=c)
    states |= {
        "three": [one, two, three],
        "three reach": [one, seen("Net B", 0.62, b, reference), three],
        "three below": [two, seen("Net C", 0.12, a, reference), seen("Net D", 0.03, c, reference)],
        "two reach": [one, replace(three, mark=b)],
        "two below": [replace(two, mark=a), seen("Net C", 0.12, b, reference)],
        "own thresholds": [one, two, replace(three, known=rarer)],
        "a threshold set": [replace(s, chosen={"effusion": 0.6}) for s in (one, two)],
        "one lacks it": [one, lacks],
        "one withheld": [one, replace(two, strange=withheld)],
        "one doubtful": [one, replace(two, strange=unsure, doubtful=True)],
        "one unknown": [one, replace(two, known=None)],
        "no score": [replace(two, strange=withheld), lacks],
    }
    said = {}
    for state, summaries in states.items():
        said[state] = {
            "sentence": film.sentence(summaries, words), "care": film.care(summaries),
            "sources": film.sources(summaries),
        }  # fmt: skip
    said["withheld"] = [
        film.withheld_sentence(["A", "B"][:n], film_synthetic=synthetic)
        for n, synthetic in ((1, False), (2, True))
    ]
    said["findings"] = film.findings_table([one], words, NOTE)
    said["findings of three"] = film.findings_table(states["own thresholds"], words, NOTE)
    if edition == "technical":
        focus = SaliencyFocus(hit=True, energy=0.625)
        pointed = [replace(one, focus=focus), replace(two, focus=SaliencyFocus(False, 0.25)), lacks]
        others = [replace(one, known=None), replace(two, strange=withheld)]
        others += [replace(three, strange=unsure, doubtful=True)]
        said["models"] = [film.model_table(shown, NOTE) for shown in (pointed, others)]
        said["focus"] = [film.focus_words(summary) for summary in pointed]
        said["icons"] = film.icons(one)
        said["bands"] = film.bands_card(one)
        said["limits"] = [
            film.threshold_words(summary) for summary in (one, replace(one, known=None))
        ]
        said["others"] = [
            film.blank_sentence(), film.unusual(180, 500), film.unusual(1000, 300), unsure,
            withheld, film.strange("A", model_synthetic=False, film_synthetic=True),
        ]  # fmt: skip
    assert written(**said) == snapshot


# All findings and one finding


def scored(metric, value, low=None, high=None, n=4000, reason="", **settings):
    return Score(metric, value, low, high, 0.95, n, settings, reason)


def fourfold(bins):
    """Return bins of four times as many films."""
    return ([4 * n for n in bins[0]], *bins[1:])


RARE = ([3900, 100], [0.01, 0.3], [0.005, 0.215])  # 19.5 and 21.5 of them with it


@pytest.fixture
def make_finding(make_target, make_bins):
    def make(name, code, bins, p_value, auroc, auprc, slope, **changed):
        target = measured(make_target(VerdictCode(code), target=0, bins=make_bins(*bins)))
        scores = {
            "auroc": scored("auroc", auroc, auroc - 0.013, auroc + 0.011),
            "auprc": scored("auprc", auprc, auprc - 0.023, auprc + 0.021),
            "slope": scored("slope", slope, slope - 0.08, slope + 0.09),
        }
        verdict = replace(target.verdict, p_value=p_value, of=VerdictSubject.EVENT)
        metrics = {**target.metrics, **scores}
        return replace(target, name=name, metrics=metrics, verdict=replace(verdict, **changed))

    return make


@pytest.mark.parametrize("edition", EDITIONS)
def test_findings(snapshot, edition, make_audit, make_finding):
    labels = (
        make_finding("Effusion", "overestimates", fourfold(OVER), 0.0001, 0.873, 0.941, 0.71),
        make_finding("Pleural_Thickening", "sound", fourfold(SOUND), 0.5, 0.801, 0.952, 0.98),
        make_finding("lung_cat", "could_be_chance", fourfold(ABOVE), 0.04, 0.762, 0.948, 1.21),
        make_finding("Hernia", "mixed", RARE, 0.0002, 0.91, 0.21, 0.4, reading="too_extreme"),
    )
    audit = replace(make_audit(labels[0], task="multilabel"), labels=labels, n=4000, n_classes=4)
    # The means of the labels: of ECE (4.78 + 0.28 + 2.46 + 0.7) / 4, in points
    mean = {
        **labels[0].metrics, "auroc": scored("auroc", 0.8365, 0.821, 0.851, labels=4),
        "auprc": scored("auprc", 0.76275, 0.741, 0.784),
        "ece": replace(labels[0].metrics["ece"], value=0.02055, low=0.0142, high=0.0291),
    }  # fmt: skip
    of_all = replace(labels[0], metrics=mean, noise_floor={"ece": Floor(0.0063, 0.0094)})
    found = Findings(
        audit=replace(audit, main=of_all), bins=tuple(label.bins for label in labels),
        events=(3292, 3628, 3566, 41), shares=(0.823, 0.907, 0.8915, 0.01025),
        rarer=(708.0, 372.0, 434.0, 41.0), labelled=(4000, 4000, 4000, 4000),
    )  # fmt: skip
    source = replace(SOURCE, findings=(*NAMES, "Hernia"), n=4000)
    groups = GroupSummary(
        column="patient", n=250, largest=19, design_effect=3.2, effective_n=1250.0
    )
    grouped = replace(audit, main=replace(of_all, groups=groups), unknown=10)
    numbers = published(dataset="chestxray14")

    def shown(source, found):
        if edition == "technical":
            return findings.findings_view(source, found, numbers)
        view = findings.plain_findings_view(source, found)
        return replace(view, together=None, legend="")  # of the full view

    said = {"four": shown(source, found)}
    states = {
        "of patients": (replace(source, groups="250 patients"), replace(found, audit=grouped)),
        "one": (
            replace(source, findings=("Effusion",)),
            replace(found, audit=replace(audit, labels=labels[:1], n_classes=1),
                    bins=found.bins[:1], events=(3292,)),
        ),
    }  # fmt: skip
    for state, shown_of in states.items():
        view = shown(*shown_of)
        said[state] = [view.eyebrow, view.sentence, view.numbers, view.legend, view.caption]
    with speaking_of("cifar10"):
        view = shown(replace(source, findings=("cat",)), states["one"][1])
    said["no finding of the chest"] = [view.numbers, view.table, view.caption]
    assert written(**said) == snapshot


FIT = Recalibration(
    in_the_large=scored("citl", -0.34, -0.42, -0.26), slope=scored("slope", 0.71, 0.64, 0.78),
    intercept=scored("intercept", -0.51, -0.62, -0.4), n=1000, events=823, mean=0.869, rate=0.823,
    observed_expected=scored("observed_expected", 0.947, 0.931, 0.963), rarer=177.0, clipped=0,
    difference=scored("difference", -0.046, -0.066, -0.026), extreme=0, swayed=False,
)  # fmt: skip


@pytest.fixture
def make_one(make_target, make_bins):
    def make(bins=OVER, fit=None, code="overestimates", **changed):
        # As many rows at the mean of each bin as it holds, of them as many with the finding
        rows = [
            (mean, k < n * share) for n, mean, share in zip(*bins, strict=True) for k in range(n)
        ]
        p, y = (np.array(column) for column in zip(*rows, strict=True))
        target = measured(make_target(VerdictCode(code), target=1, bins=make_bins(*bins)))
        metrics = {
            **target.metrics,
            **{m: scored(m, v, v - 0.006, v + 0.007, smoother="lowess")
               for m, v in (("ici", 0.046), ("e50", 0.039), ("e90", 0.097), ("emax", 0.101))},
            "auroc": scored("auroc", 0.873, 0.86, 0.884),
            "auprc": scored("auprc", 0.942, 0.93, 0.95),
            "brier_event": scored("brier_event", 0.0921), "brier": scored("brier", 0.1842),
            "brier_skill": scored("brier_skill", 0.367, 0.32, 0.41),
            "spiegelhalter_z": scored("spiegelhalter_z", 8.31, p_value=0.0001),
        }  # fmt: skip
        floors = {
            **target.noise_floor,
            **{m: Floor(0.007, 0.014) for m in ("ici", "e50", "e90", "emax")},
        }
        verdict = replace(target.verdict, of=VerdictSubject.EVENT, **changed.pop("verdict", {}))
        target = replace(
            target, name="Effusion", metrics=metrics, noise_floor=floors, verdict=verdict
        )
        at = np.array([0.3, 0.7, 0.99])
        # Straight lines: better than treating all from 20 %, and than treating none up to 96 %
        t = np.array(THRESHOLDS)
        model, treat_all = 0.82 - 0.85 * t, 0.83 - 0.9 * t
        gain_low = model - np.maximum(treat_all, 0.0) - 0.004
        return OneFinding(
            p=p, y=y, audit=target, fit=fit or FIT, bins=target.bins,
            curve=FlexibleCurve(
                at=at, observed=at - 0.05, low=at - 0.07, high=at - 0.03, level=0.95,
                rows=np.array([100, 180, 720]), settings={"smoother": "lowess", "exact": "yes"},
            ),
            net=NetBenefit(
                thresholds=t, model=model, low=model - 0.03, high=model + 0.02,
                treat_all=treat_all, gain_low=gain_low, n=1000, events=823,
                level=0.95,
            ),
            flagged=np.select([t <= 0.3, t <= 0.7], [1000, 900], 720),
            flagged_events=np.select([t <= 0.3, t <= 0.7], [823, 792], 684),
            notices=(), **changed,
        )  # fmt: skip

    return make


@pytest.mark.parametrize("edition", EDITIONS)
def test_one_finding(snapshot, edition, make_one):
    source = replace(SOURCE, n=1000)
    if edition == "plain":
        one, said = make_one(), {}
        columns = zip(*map(astuple, BANDS), strict=True)
        held = Bands(*(np.array(column) for column in columns))
        for i in (0, 4, 5, 7, 9):
            for prevalence in (None, 0.02):
                there = held if prevalence is None else finding.elsewhere(held, 0.31, prevalence)
                state = f"band {i}" + (", carried over" if prevalence else "")
                said[state] = finding.band_sentence(
                    SOURCE, "Effusion", Band.each(there), i, prevalence
                )
        again = replace(SOURCE, recalibrated=True)
        said["none after recalibration"] = finding.band_sentence(again, "Effusion", BANDS, 5)
        overall = plain_sentence(one.audit)
        views = {
            "here": {"overall": overall, "code": VerdictCode.OVERESTIMATES},
            "carried over": {"prevalence": 0.1},
            "could be chance": {"code": VerdictCode.COULD_BE_CHANCE},
        }
        for state, more in views.items():
            said[state] = finding.plain_view(source, "Effusion", one.outcomes, band=6, **more)
        patients = Outcomes(one.p, one.y, np.arange(1000) // 4)
        view = finding.plain_view(
            replace(source, groups="250 patients"), "lung_cat", patients, band=6
        )
        said["of patients"] = [view.sentence, view.care, view.caption]
        with speaking_of("cifar10"):
            said["no finding of the chest"] = finding.plain_view(
                replace(source, findings=("cat",)), "cat", one.outcomes, band=9
            ).sentence
        assert written(**said) == snapshot
        return
    said = {"over": finding.finding_view(source, "Effusion", make_one())}
    sound = {
        "in_the_large": scored("citl", 0.01, -0.07, 0.09),
        "slope": scored("slope", 0.98, 0.9, 1.06),
    }
    enough = {"rarer": 412.0}
    steep = replace(FIT, slope=scored("slope", 1.31, 1.2, 1.42), **enough)
    extreme = replace(FIT, extreme=6, swayed=True, **enough)
    alone = replace(FIT, **sound, **enough)
    none = scored("slope", None, reason="the scores of both outcomes do not overlap")
    states = {
        "few events": make_one(),
        "few events of patients": make_one(
            fit=replace(FIT, rarer=61.4), sampling=SamplingDesign(np.arange(1000) // 4)
        ),
        "no slope": make_one(fit=replace(FIT, slope=none, **enough)),
        "too extreme": make_one(fit=replace(FIT, **enough)),
        "as the headline says": make_one(
            fit=replace(FIT, **enough), verdict={"reading": "too_extreme"}
        ),
        "not spread enough": make_one(UNDER, fit=steep, code="underestimates"),
        "could be chance": make_one(ABOVE, fit=replace(FIT, **enough), code="could_be_chance"),
        "swayed": make_one(fit=extreme),
        "curved": make_one(fit=alone),
        "fits": make_one(SOUND, fit=alone, code="sound"),
    }
    for state, one in states.items():
        said[state] = [finding.sentence(source, one), finding.badge(source, one)]
    rescaled = Notice(NoticeCode.NOT_PROBABILITY, "rescaled")
    said["no probability"] = finding.badge(
        source, replace(states["too extreme"], notices=(rescaled,))
    )
    said["swayed"] += [finding.hanging(source, extreme_one := states["swayed"])]
    said["extremes"] = finding.extremes(
        source, replace(extreme_one, fit=replace(extreme, extreme=1))
    )
    for method in ("beta", "isotonic"):
        changed = Recalibrated(
            fit=Fit(method, None), rows=998,
            before=Error(scored("ece", 0.091, 0.08, 0.102), Floor(0.01, 0.017)),
            difference=Difference("ece", -0.043, -0.056, -0.03, 0.95, 1000),
        )  # fmt: skip
        again = make_one(fit=alone, recalibrated=changed)
        said[method] = [finding.sentence(source, again), finding.badge(source, again)]
    near = Error(scored("ece", 0.0508, 0.04, 0.062), Floor(0.01, 0.017))
    tie = Difference("ece", -0.003, -0.016, 0.01, 0.95, 1000)
    tie = replace(changed, before=near, difference=tie)
    said["tie"] = finding.badge(source, make_one(fit=alone, recalibrated=tie))
    said["waiting"] = finding.waiting("effusion")
    assert written(**said) == snapshot


def test_one_finding_in_use(snapshot, make_one):
    source, one = replace(SOURCE, n=1000), make_one(fit=replace(FIT, rarer=412.0))
    ends = (0.05, 0.3)
    better = replace(one, net=replace(one.net, gain_low=np.full(108, 0.01)))
    near = np.abs(one.net.thresholds - 0.2) < 0.05
    two_spans = replace(one, net=replace(one.net, gain_low=np.where(near, -0.01, 0.01)))
    nowhere = replace(one, net=replace(one.net, gain_low=np.full(108, -0.01)))
    few = make_one()
    benefits = {
        "some": one, "every": better, "two spans": two_spans, "nowhere": nowhere, "few": few,
    }  # fmt: skip
    said = {"benefit": {state: use.benefit_words(of, ends) for state, of in benefits.items()}}
    card = use.decision_card(source, "Effusion", one, (0.001, 0.99))
    hovers = next(t for t in card.figure("light").data if t.name == "the model").hovertext
    pointed = dict(zip((round(100 * t, 1) for t in one.net.thresholds), hovers, strict=True))
    said["decision"] = [card, *(pointed[at] for at in (5, 95, 99))]
    wilson = {"interval": "Wilson"}
    here = Classified(
        threshold=0.5, true_positive=792, false_positive=108, false_negative=31,
        sensitivity=scored("sensitivity", 0.9623, 0.947, 0.973, 823, **wilson),
        specificity=scored("specificity", 0.3898, 0.321, 0.463, 177, **wilson),
        ppv=scored("ppv", 0.88, 0.857, 0.9, 900, **wilson),
        npv=scored("npv", 0.69, 0.594, 0.772, 100, **wilson), prevalence=None,
    )  # fmt: skip
    there = replace(
        here, prevalence=0.02, ppv=scored("ppv", 0.031, 0.028, 0.034),
        npv=scored("npv", 0.998, 0.997, 0.999),
    )  # fmt: skip
    said["threshold"] = vars(use.at_threshold(source, here, there))
    steps = use.threshold_steps(source, one, (0.2, 0.5, 0.0725))
    said["steps"] = [[step.text, " ".join(step.counts)] for step in steps]
    # 31 of 90 with it, where scores of 0.4 on average say 36
    of_pa = replace(
        FIT, n=90, events=31, mean=0.4, rate=31 / 90, rarer=31.0,
        in_the_large=scored("citl", -0.29, -0.81, 0.22), slope=scored("slope", 1.4, 1.1, 1.7),
        intercept=scored("intercept", -0.13, -0.68, 0.41),
        observed_expected=scored("observed_expected", 31 / 36, 0.633, 1.124),
        difference=scored("difference", 31 / 90 - 0.4, -0.153, 0.048),
    )  # fmt: skip
    groups = [
        Subgroup(
            name="AP", fit=FIT, ece=scored("ece", 0.062, 0.05, 0.074), floor=Floor(0.01, 0.019),
            too_few=False, p_value=0.0001,
        ),
        Subgroup(
            name="PA", fit=of_pa,
            ece=scored("ece", 0.031, 0.01, 0.052), floor=Floor(0.02, 0.043), too_few=True,
            p_value=0.3,
        ),
    ]  # fmt: skip
    table = use.group_table(source, "view", groups)
    of_groups = use.group_card(source, "view", groups, table)
    hovers = [text for trace in of_groups.figure("light").data for text in trace.hovertext or ()]
    said["groups"] = [table, of_groups, *hovers]
    test = HosmerLemeshow(statistic=31.26, df=8, p_value=0.00013, groups=10)
    said["Hosmer-Lemeshow"] = [
        use.hosmer_words(test, INDEPENDENT),
        use.hosmer_words(replace(test, p_value=0.0412), INDEPENDENT),
        use.hosmer_words(test, SamplingDesign(np.arange(4))),
    ]
    said["reader"] = use.reader_table(one, 0.5, one.y)
    assert written(**said) == snapshot
