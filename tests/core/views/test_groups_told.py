"""What pages and reports say of rows that belong together."""

import numpy as np
import pytest

from core.configs import AuditConfig
from core.metrics.comparison import compare, compared
from core.metrics.ranked import Ranked
from core.metrics.suite import audit
from core.ood.study import check
from core.predictions import Groups, Predictions, ScoreKind, Task, Weights
from core.reports.compare_json import compare_json, compare_lines
from core.views import clinic_study, clinic_words
from core.views.clinic_finding import finding_view
from core.views.clinic_findings import findings_view
from core.views.clinic_plain import plain_view as plain_finding
from core.views.compare import Named, compare_view, drawn_words
from core.views.plain import certainty_groups, plain_view
from core.views.sentences import verdict_sentence


def films(seed, *, grouped=True, labelled=True, weights=None):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, 120) if labelled else np.full(120, -1)
    groups = Groups.of("patient", [f"p{k // 4:02}" for k in range(120)]) if grouped else None
    return Predictions(
        Task.MULTICLASS,
        ScoreKind.LOGITS,
        rng.normal(size=(120, 3)) * 2,
        labels,
        labelled=labelled,
        groups=groups,
        weights=weights,
    )


def test_the_page_says_what_films_of_patients_are_worth():
    found = audit(films(0), AuditConfig(n_resamples=50)).main
    worth = round(found.groups.effective_n)
    second = verdict_sentence(found).second
    assert second.endswith(
        f"120 images of 30 groups (patient) are worth about {worth} independent ones here."
    )
    alone = verdict_sentence(audit(films(0, grouped=False), AuditConfig(n_resamples=50)).main)
    assert "worth" not in alone.second


def test_plain_words_say_how_many_unrelated_pictures_they_are():
    file = films(0)
    found = audit(file, AuditConfig(n_resamples=50))
    ranked = Ranked.of(file.outcomes(None))
    view = plain_view(found, found.main, ranked, name="a run", split="test")
    worth = round(found.main.groups.effective_n)
    assert f"30 groups (patient) and tell as much as about {worth} unrelated ones" in (
        view.limits.text
    )


def test_groups_of_certainty_are_as_unsure_as_their_patients():
    alone, grouped = (
        certainty_groups(Ranked.of(file.outcomes(None)), audit(file).main)
        for file in (copies(grouped=False), copies(grouped=True))
    )
    for one, other in zip(alone, grouped, strict=True):
        if one.n:
            assert (other.n, other.right) == (one.n, pytest.approx(one.right))
            assert other.high - other.low > 1.5 * (one.high - one.low)


def copies(*, grouped):
    """Sixty answers, each of them five times."""
    rng = np.random.default_rng(3)
    sure, right = rng.uniform(0.3, 1.0, 60), rng.integers(0, 2, 60)
    groups = Groups.of("patient", np.arange(60).repeat(5).astype(str)) if grouped else None
    return Predictions(
        Task.TOP_LABEL,
        ScoreKind.CONFIDENCE,
        sure.repeat(5),
        right.repeat(5),
        predicted=np.ones(300, dtype=np.int64),
        groups=groups,
    )


@pytest.mark.parametrize("grouped", [True, False])
def test_a_comparison_says_that_groups_are_drawn(grouped):
    runs = [compared(films(0, grouped=grouped))] * 2
    found = compare(runs, ["a", "b"], 0)
    report = compare_json(["a", "b"], runs, found, "ece")
    drawn = [found.differences[1]["ece"]]
    assert drawn_words(drawn) == ("groups of rows" if grouped else "rows")
    assert [("groups" in run) for run in report["runs"]] == [grouped, grouped]
    line = next(line for line in compare_lines(report) if "difference from" in line)
    assert ("30 groups by patient drawn as wholes" in line) is grouped


def test_a_comparison_says_of_how_many_groups_the_images_are_and_what_they_are_worth():
    runs = [compared(films(0)), compared(films(0))]
    named = [Named(name, name, "test", "d") for name in "ab"]
    view = compare_view(named, runs, compare(runs, ["a", "b"], 0), "ece")
    worth = round(runs[0].audit.main.groups.effective_n)
    assert view.eyebrow.endswith("the same 120 images of 30 groups (patient)")
    assert view.caption.endswith(f"the images are worth about {worth} independent ones.")
    alone = [compared(films(0, grouped=False))] * 2
    view = compare_view(named, alone, compare(alone, ["a", "b"], 0), "ece")
    assert "group" not in view.eyebrow + view.caption


PATIENTS, EACH = 150, 20  # of the same finding: 20 films tell no more than one


def findings(*, grouped=True):
    rng = np.random.default_rng(2)
    risk = rng.beta(2.0, 4.0, (PATIENTS, 2)).repeat(EACH, axis=0)
    labels = (rng.random((PATIENTS, 2)).repeat(EACH, axis=0) < risk).astype(np.int64)
    patients = np.arange(PATIENTS).repeat(EACH).astype(str)
    groups = Groups.of("patient", patients) if grouped else None
    names = ("Mass", "Nodule")
    return Predictions(Task.MULTILABEL, ScoreKind.SIGMOID, risk, labels, names, groups=groups)


@pytest.fixture(scope="module")
def clinic():
    rows = findings()
    known = f"{PATIENTS} groups (patient)"
    return rows, clinic_words.Source(
        "a run", "test", "a1b2c3d4", rows.class_names, rows.n, groups=known
    )


def test_one_finding_says_what_its_films_are_worth(clinic):
    rows, source = clinic
    found = clinic_study.one_finding(clinic_study.one(rows, 0))
    view, worth = finding_view(source, "Mass", found), round(found.audit.groups.effective_n)
    told = f"3 000 films of 150 groups (patient) are worth about {worth} independent ones here."
    assert view.sentence.second.replace("\u202f", " ").replace("\u2009", " ") == told
    assert "films of 150 groups (patient), test split" in view.caption
    rarer = round(found.fit.rarer)
    assert rarer < 100
    assert f", worth about {rarer} independent ones)" in view.sentence.text
    plain = plain_finding(source, "Mass", rows.outcomes(0), band=3)
    assert plain.care[-1].endswith(f"tell as much as about {worth} unrelated ones.")
    alone = findings(grouped=False)
    single = clinic_words.Source("a run", "test", "a1b2c3d4", alone.class_names, alone.n)
    found = clinic_study.one_finding(clinic_study.one(alone, 0))
    assert finding_view(single, "Mass", found).sentence.second == ""
    words = " ".join(plain_finding(single, "Mass", alone.outcomes(0), band=3).care)
    assert "unrelated" not in words


def test_findings_of_many_films_but_few_patients_say_what_these_are_worth(clinic):
    rows, source = clinic
    found = clinic_study.findings(rows)
    view = findings_view(source, found, ())
    worth = round(found.rarer[0])
    assert f", worth {worth} · " in next(one for one in view.small if one.index == 0).note
    assert "Worth: how many independent films" in view.legend
    alone = findings(grouped=False)
    single = clinic_words.Source("a run", "test", "a1b2c3d4", alone.class_names, alone.n)
    view = findings_view(single, clinic_study.findings(alone), ())
    assert "orth" not in view.legend + view.small[0].note


def test_a_pair_of_sets_says_which_are_drawn_as_groups_and_that_weights_count_nothing():
    weights = Weights.of("w", np.arange(120.0))
    inside, outside = films(0, weights=weights), films(1, grouped=False, labelled=False)
    texts = {note.code: note.text for note in check(inside, outside, "noise")}
    assert texts["GROUPED"] == (
        "120 in-distribution rows of 30 groups by patient; intervals draw whole groups"
    )
    assert "WEIGHTS_UNUSED" in texts
    plain = check(films(0, grouped=False), outside, "noise")
    assert not {note.code for note in plain} & {"GROUPED", "WEIGHTS_UNUSED"}
