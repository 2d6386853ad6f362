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
from core.views.compare import drawn_words
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
