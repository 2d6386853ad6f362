"""What pages and reports say of rows that belong together."""

import csv
import io
from dataclasses import replace

import numpy as np
import pytest

from core.configs import AuditConfig
from core.datasets.shifts import OutsideSet
from core.metrics.comparison import compare, compared
from core.metrics.ranked import SortedOutcomes
from core.metrics.suite import audit
from core.ood.scores import ood_scores
from core.ood.separation import counts_of, thresholds_at
from core.predictions import Groups, Predictions, ScoreKind, Task, Weights
from core.reports.study_json import compare_json
from core.reports.tables import csv_text, lines
from core.screens.compare.view import compare_view
from core.screens.kit.differences import NamedRun, drawn_words
from core.screens.kit.marks import marks
from core.screens.kit.numbers import in_hundred
from core.screens.kit.sentences import verdict_sentence
from core.screens.ood import tables as ood_table
from core.screens.ood.tables import SetRow, shift_view
from core.screens.ood.view import ShownCurve, ood_view
from core.screens.ood.words import plain_view as plain_ood
from core.screens.ood.words import set_name, weight_words
from core.screens.reliability.plain import certainty_groups, plain_view
from core.screens.xray import words as clinic_words
from core.screens.xray.finding import finding_view
from core.screens.xray.finding import plain_view as plain_finding
from core.screens.xray.findings import findings_view
from core.studies import clinic as clinic_study
from core.studies.ood import judge, shift


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
    assert second.endswith(f"120 images of 30 patients count as about {worth} independent ones.")
    alone = verdict_sentence(audit(films(0, grouped=False), AuditConfig(n_resamples=50)).main)
    assert "worth" not in alone.second


def test_plain_words_say_how_many_unrelated_pictures_they_are():
    file = films(0)
    found = audit(file, AuditConfig(n_resamples=50))
    ranked = SortedOutcomes.of(file.outcomes(None))
    view = plain_view(found, found.main, ranked, split="test")
    worth = round(found.main.groups.effective_n)
    assert f"30 patients and count as about {worth} unrelated ones" in (view.limits.text)


def uncut(target):
    """Return a target whose groups are not cut where bins change sides."""
    return replace(target, verdict=replace(target.verdict, ends=()))


def test_groups_of_certainty_are_as_unsure_as_their_patients():
    alone, grouped = (
        certainty_groups(SortedOutcomes.of(file.outcomes(None)), uncut(audit(file).main))
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
    report = compare_json(["a", "b"], "AB", runs, found, "ece")
    drawn = [found.differences[1]["ece"]]
    assert drawn_words(drawn) == ("groups of rows" if grouped else "rows")
    assert [("groups" in run) for run in report["runs"]] == [grouped, grouped]
    named = [NamedRun(name, name, "test", "d") for name in "ab"]
    text = " ".join(lines(compare_view(named, runs, found, "ece")))
    assert ("of 30 patients" in text) is grouped
    assert ("groups of rows" in text) is grouped


def test_a_comparison_says_of_how_many_groups_the_images_are_and_what_they_are_worth():
    runs = [compared(films(0)), compared(films(0))]
    named = [NamedRun(name, name, "test", "d") for name in "ab"]
    view = compare_view(named, runs, compare(runs, ["a", "b"], 0), "ece")
    worth = round(runs[0].audit.main.groups.effective_n)
    assert view.eyebrow.endswith("the same 120 images of 30 patients")
    assert view.caption.endswith(f"The images count as about {worth} independent ones.")
    alone = [compared(films(0, grouped=False))] * 2
    view = compare_view(named, alone, compare(alone, ["a", "b"], 0), "ece")
    assert "group" not in view.eyebrow + view.caption


def test_a_comparison_says_the_least_and_the_most_that_images_are_worth():
    first = films(0)
    runs = [compared(one) for one in (first, replace(first, scores=films(1).scores))]
    worth = sorted(round(run.audit.main.groups.effective_n) for run in runs)
    assert worth[0] < worth[1]
    named = [NamedRun(name, name, "test", "d") for name in "ab"]
    view = compare_view(named, runs, compare(runs, ["a", "b"], 0), "ece")
    assert view.caption.endswith(
        f"count as about {worth[0]} to {worth[1]} independent ones, depending on the run."
    )


PATIENTS, EACH = 150, 20  # of the same finding: 20 films tell no more than one


def findings(*, grouped=True):
    rng = np.random.default_rng(2)
    risk = rng.beta(2.0, 4.0, (PATIENTS, 2)).repeat(EACH, axis=0)
    labels = (rng.random((PATIENTS, 2)).repeat(EACH, axis=0) < risk).astype(np.int64)
    patients = np.arange(PATIENTS).repeat(EACH).astype(str)
    groups = Groups.of("patient", patients) if grouped else None
    names = ("Mass", "Nodule")
    return Predictions(
        Task.MULTILABEL, ScoreKind.SIGMOID, risk, labels, class_names=names, groups=groups
    )


@pytest.fixture(scope="module")
def clinic():
    rows = findings()
    known = f"{PATIENTS} patients"
    return rows, clinic_words.ClinicSource(
        run="a run",
        split="test",
        digest="a1b2c3d4",
        findings=rows.class_names,
        n=rows.n,
        groups=known,
    )


def test_one_finding_says_what_its_films_are_worth(clinic):
    rows, source = clinic
    found = clinic_study.one_finding(clinic_study.binary_rows(rows, 0))
    view, worth = finding_view(source, "Mass", found), round(found.audit.groups.effective_n)
    told = f"3,000 films of 150 patients count as about {worth} independent ones for “Mass”."
    assert view.sentence.second.replace("\u202f", " ").replace("\u2009", " ").endswith(f" {told}")
    assert "films of 150 patients, test split" in view.caption
    rarer = int(found.fit.rarer)
    assert rarer < 100
    assert f" with it count as about {rarer} independent ones)" in view.sentence.second
    plain = plain_finding(source, "Mass", rows.outcomes(0), band=3)
    assert plain.care[-1].endswith(f"for this finding they count as about {worth}.")
    alone = findings(grouped=False)
    single = clinic_words.ClinicSource(
        run="a run", split="test", digest="a1b2c3d4", findings=alone.class_names, n=alone.n
    )
    found = clinic_study.one_finding(clinic_study.binary_rows(alone, 0))
    assert "independent ones" not in finding_view(single, "Mass", found).sentence.second
    words = " ".join(plain_finding(single, "Mass", alone.outcomes(0), band=3).care)
    assert "unrelated" not in words


def test_findings_of_many_films_but_few_patients_say_what_these_are_worth(clinic):
    rows, source = clinic
    found = clinic_study.findings(rows)
    view = findings_view(source, found, ())
    worth = int(found.rarer[0])
    assert f", worth {worth} · " in next(one for one in view.small if one.index == 0).note
    assert "Worth: how many independent images" in view.legend
    alone = findings(grouped=False)
    single = clinic_words.ClinicSource(
        run="a run", split="test", digest="a1b2c3d4", findings=alone.class_names, n=alone.n
    )
    view = findings_view(single, clinic_study.findings(alone), ())
    assert "orth" not in view.legend + view.small[0].note


def test_findings_of_enough_patients_are_not_said_to_be_worth_less():
    rng = np.random.default_rng(5)
    risk = rng.uniform(0.2, 0.8, (1200, 1))
    rows = Predictions(
        Task.MULTILABEL,
        ScoreKind.SIGMOID,
        risk,
        (rng.random((1200, 1)) < risk).astype(np.int64),
        class_names=("Mass",),
        groups=Groups.of("patient", (np.arange(1200) // 2).astype(str)),
    )
    found = clinic_study.findings(rows)
    assert not found.few(0)
    source = clinic_words.ClinicSource(
        run="a run", split="test", digest="a1b2c3d4", findings=rows.class_names, n=rows.n
    )
    (small,) = findings_view(source, found, ()).small
    assert "worth" not in small.note


def strange_films(weights=None, *, plain=False):
    """The page's view of films of patients beside weighted ones that are told from them."""
    judged = judge(films(0), films(1, grouped=False, labelled=False, weights=weights), "entropy")
    name = set_name("noise")
    shown = ShownCurve("noise", marks(["noise"])[0], judged)
    named = NamedRun("id", "a run", "test", "abcdef0123456789")
    return judged, ood_view(named, name, shown, [shown], 0.05, "scores as read", plain=plain), shown


def test_the_page_of_strange_inputs_says_what_films_of_patients_are_worth():
    judged, view, _ = strange_films()
    effective_n = round(judged.groups[0].effective_n)
    assert effective_n == 120  # all of them: nothing about it is estimated
    assert view.sentence.second.endswith(
        "The 120 in-distribution images of 30 patients count as 120 independent ones."
    )
    assert (
        "n = 120 of 30 patients, which count as 120 independent ones, against noise, "
        "n = 120;" in view.caption
    )
    assert "weight" not in view.caption + view.reading
    first, second = csv.DictReader(io.StringIO(csv_text(view.counts.file)))
    assert (first["rows"], first["group_column"], first["groups"]) == ("120", "patient", "30")
    assert float(first["effective_n"]) == judged.groups[0].effective_n
    assert (second["groups"], second["effective_n"]) == ("", "120.0")
    assert "worth" not in strange_films(plain=True)[1].sentence.second
    limits = plain_ood(set_name("noise"), judged, view.tally).limits
    assert "The ordinary ones come from 30 patients and count as 120 unrelated ones." in limits


def test_the_page_of_strange_inputs_counts_by_weight_and_says_so():
    weights = Weights.of("films", 0.5 + np.arange(120) % 3)
    judged, view, _ = strange_films(weights)
    counts = counts_of(judged.separation, [thresholds_at(judged.separation, [0.05])[0]])[0]
    flagged = weights.of_row[ood_scores(films(1, labelled=False), "entropy") > counts.threshold]
    assert counts.flagged_out == pytest.approx(flagged.sum(), rel=1e-12)
    assert view.counts.written()[1].cells[0].value == f"{flagged.sum():.1f}"
    assert view.counts.written()[1].cells[2].value == "120"
    assert view.sentence.text.startswith(
        f"{in_hundred(counts.missed)} in 100 inputs of “noise” pass the alarm"
    )
    assert view.reading.endswith(" times in 100. Counts are sums of weights.")
    assert (
        "noise, n = 120, counting as about 93 of equal weight; those of the set count by films;"
        in (view.caption)
    )
    bins = view.figures["density"].table.rows
    assert sum(row[2] for row in bins) == 120
    assert sum(row[3] for row in bins) == pytest.approx(120.0, rel=1e-9)
    assert isinstance(bins[0][2], int)
    assert "images by weight" in view.figures["density"].figure("light").to_json()
    first, second = csv.DictReader(io.StringIO(csv_text(view.counts.file)))
    assert (first["flagged"], first["weight_column"]) == (str(counts.flagged_in), "")
    assert (float(second["flagged"]), second["weight_column"]) == (counts.flagged_out, "films")
    assert (
        "Each picture counts by its weight."
        in plain_ood(set_name("noise"), judged, view.tally).limits
    )


def test_a_column_by_which_both_sets_count_is_named_once():
    def words(name):
        sets = (
            films(0, weights=Weights.of("films", 1.0 + np.arange(120) % 3)),
            films(1, labelled=False, weights=Weights.of(name, 1.0 + np.arange(120) % 2)),
        )
        return weight_words(judge(*sets, "entropy", full=False))

    assert words("films") == "images count by films"
    assert (
        words("shots") == "in-distribution images count by films; those of the set count by shots"
    )


def test_the_table_of_areas_says_what_rows_are_worth_where_they_are_not_independent():
    judged, _, shown = strange_films()
    line = SetRow(
        run="a run",
        mark=shown.mark,
        name=set_name("noise"),
        temperature=None,
        as_read=judged.numbers,
        after={},
    )
    (row,) = (
        row
        for row in csv.DictReader(io.StringIO(csv_text(ood_table.table([line]))))
        if row["score"] == "auroc"
    )
    assert float(row["effective_in"]) == judged.groups[0].effective_n
    assert float(row["effective_out"]) == 120.0
    alone = judge(films(0, grouped=False), films(1, grouped=False, labelled=False), "entropy")
    bare = SetRow(
        run="a run",
        mark=shown.mark,
        name=set_name("noise"),
        temperature=None,
        as_read=alone.numbers,
        after={},
    )
    assert "effective_in" not in csv_text(ood_table.table([bare]))


def test_maps_of_corruptions_say_that_images_are_weighted():
    weights = Weights.of("films", 0.5 + np.arange(120) % 3)
    found = {
        OutsideSet("corrupted", corruption="fog", severity=5): shift(
            films(0), films(1, weights=weights), "entropy"
        )
    }
    named = NamedRun("id", "a run", "test", "abcdef0123456789")
    caption = shift_view(named, "corrupted", found, "entropy, scores as read").caption
    assert "most to least harmful; images count by films; entropy" in caption
