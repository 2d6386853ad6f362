"""Distances from votes: by hand, a second implementation, properties, floors and real votes."""

import json
import os
import tarfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.special import gammaln, softmax

from core.configs import AuditConfig
from core.errors import Refused
from core.metrics import human
from core.metrics.human import disagreement_groups
from core.metrics.intervals import wilson
from core.metrics.ranked import SortedOutcomes
from core.metrics.top_label import ece
from core.metrics.units import resampled_counts
from core.metrics.votes import (
    CONCENTRATIONS,
    alike_rows,
    ece_floor,
    entropy_rows,
    ideal_model,
    log_likelihoods,
    majority_shares,
    share_ece,
    soft_nll_rows,
    tvd_rows,
    vote_shares,
)
from core.predictions import Groups, Predictions, SamplingDesign, ScoreKind, Task, Votes, Weights
from tests.reference import slow_human as slow

SHARED = Path(os.environ.get("CANDOR_SHARED", Path(__file__).parents[3].parent / "shared"))
CHAOS = SHARED / "data" / "human" / "chaosnli_roberta.tar.xz"
EXACT = {"rtol": 0.0, "atol": 1e-12}
FEW = AuditConfig(n_resamples=100)


def run_of(logits, votes, **more):
    logits = np.asarray(logits, dtype=np.float64)
    task = Task.BINARY if logits.shape[-1] == 2 else Task.MULTICLASS
    votes = Votes.of("votes", np.asarray(votes, dtype=np.float64))
    labels = votes.of_row.argmax(axis=1)
    return Predictions(task, ScoreKind.LOGITS, logits, labels, votes=votes, **more)


def random_run(n=300, k=4, people=20, seed=0, **more):
    rng = np.random.default_rng(seed)
    logits = 2.0 * rng.normal(size=(n, k))
    p = np.exp(logits / 2.0)
    p /= p.sum(axis=1, keepdims=True)
    return run_of(logits, [rng.multinomial(people, row) for row in p], **more)


def values(audit):
    return {name: score.value for name, score in audit.scores.items()}


def test_by_hand():
    p = np.array([[0.5, 0.25, 0.25], [0.1, 0.8, 0.1]])
    audit = human.human_audit(run_of(np.log(p), [[2, 2, 0], [0, 4, 0]]), FEW)
    first = 1.5 * np.log(2.0) - np.log(2.0)  # entropies of (1/2, 1/4, 1/4) and of (1/2, 1/2)
    second = -(0.8 * np.log(0.8) + 0.2 * np.log(0.1))
    expected = {
        "tvd": (0.25 + 0.2) / 2,
        "entropy_gap": (first + second) / 2,
        "entropy_gap_signed": (first + second) / 2,
        "rank": 0.5,  # 0.25 beside 0.25, where people have two votes against none
        "soft_nll": (1.5 * np.log(2.0) - np.log(0.8)) / 2,
        "ece_votes": (0.0 + 0.2) / 2,
    }
    assert values(audit) == pytest.approx(expected, abs=1e-12)
    assert audit.scores["soft_nll"].floor == pytest.approx(np.log(2.0) / 2, abs=1e-12)
    assert (audit.confidence, audit.agreement) == pytest.approx((0.65, 0.75), abs=1e-12)
    assert audit.direction.gap == pytest.approx(-0.1, abs=1e-12)
    assert (audit.n, audit.tied, audit.least, audit.most) == (2, 1, 4.0, 4.0)


@given(st.integers(0, 2**32 - 1), st.integers(2, 6), st.integers(1, 9))
def test_a_second_implementation_gives_the_same(seed, k, people):
    run = random_run(30, k, people, seed)
    judged = human.judged_rows(run)
    logits, votes = run.scores.tolist(), run.votes.of_row.tolist()
    signed = slow.entropy_gaps(logits, votes)
    pairs = [
        (judged.tvd.mean(), slow.tvd(logits, votes)),
        ((judged.entropy - judged.votes_entropy).mean(), slow.mean(signed)),
        (judged.alike.mean(), slow.rank(logits, votes)),
        (judged.soft_nll.mean(), slow.soft_nll(logits, votes)),
        (share_ece(judged.confidence, judged.agreement), slow.ece(logits, votes)),
        (
            alike_rows(run.scores, run.votes.of_row, "column").mean(),
            slow.rank_by_column(logits, votes),
        ),
    ]
    for ours, theirs in pairs:
        np.testing.assert_allclose(ours, theirs, **EXACT)


@given(st.integers(0, 2**32 - 1))
def test_the_order_of_classes_decides_nothing(seed):
    run = random_run(40, 5, 7, seed)
    order = np.random.default_rng(seed).permutation(5)
    turned = run_of(run.scores[:, order], run.votes.of_row[:, order])
    for name, value in vars(human.judged_rows(run)).items():
        np.testing.assert_allclose(getattr(human.judged_rows(turned), name), value, **EXACT)


def test_twice_the_votes_are_as_far_away_but_leave_less_to_chance():
    run = random_run(people=5)
    doubled = run_of(run.scores, 2 * run.votes.of_row)
    once, twice = (human.human_audit(r, FEW) for r in (run, doubled))
    assert values(once) == pytest.approx(values(twice), abs=1e-12)
    assert twice.scores["tvd"].floor < once.scores["tvd"].floor


def test_shares_are_as_far_away_as_their_votes_and_have_no_floor():
    run = random_run()
    shared = human.human_audit(run_of(run.scores, vote_shares(run.votes.of_row)), FEW)
    assert values(shared) == pytest.approx(values(human.human_audit(run, FEW)), abs=1e-12)
    assert shared.scores["tvd"].floor is None
    assert "how many people" in shared.scores["tvd"].reason
    assert (shared.least, shared.mean, shared.known_nll) == (None, None, None)
    assert np.isnan(shared.disagreement.known).all()


def test_one_vote_a_row_gives_the_ordinary_metrics():
    run = random_run(people=1)
    audit = human.human_audit(run, FEW)
    outcomes = run.outcomes(None)
    assert audit.agreement == pytest.approx(outcomes.correct.mean(), abs=1e-12)
    assert audit.scores["ece_votes"].value == pytest.approx(
        ece(SortedOutcomes.of(outcomes)), abs=1e-12
    )
    assert audit.scores["soft_nll"].value == pytest.approx(-run.rows.log_p_true.mean(), abs=1e-12)
    assert audit.scores["tvd"].floor is None
    assert "one vote" in audit.scores["tvd"].reason


def test_ties_of_people_may_come_in_either_order_and_those_of_the_model_not():
    votes = np.array([[3.0, 3.0, 1.0]] * 4)
    scores = np.array([[0.5, 0.4, 0.1], [0.4, 0.5, 0.1], [0.5, 0.25, 0.25], [0.4, 0.4, 0.2]])
    assert alike_rows(scores, votes).tolist() == [True, True, False, True]
    assert alike_rows(scores, votes, "column").tolist() == [False, True, False, True]
    assert majority_shares(votes)[0].tolist() == [0.5, 0.5, 0.0]


def test_rows_without_votes_are_left_out():
    run = random_run(100)
    votes = run.votes.of_row.copy()
    votes[::3] = 0.0
    some = human.human_audit(run_of(run.scores, votes), FEW)
    kept = np.flatnonzero(votes.any(axis=1))
    own = human.human_audit(run.take(kept), FEW)
    assert (some.n, some.n_rows) == (kept.size, 100)
    assert values(some) == values(own)
    with pytest.raises(Refused, match="no votes"):
        human.human_audit(replace(run, votes=None))


def test_weight_two_is_the_row_twice():
    run = random_run(60)
    weight = np.arange(60) % 3 + 0.0
    weighted = replace(run, weights=Weights.of("w", weight))
    twice = run.take(np.repeat(np.arange(60), weight.astype(int)))
    ours, theirs = human.human_audit(weighted, FEW), human.human_audit(twice, FEW)
    assert values(ours) == pytest.approx(values(theirs), abs=1e-12)
    assert ours.agreement == pytest.approx(theirs.agreement, abs=1e-12)
    floors = (audit.scores["soft_nll"].floor for audit in (ours, theirs))
    assert next(floors) == pytest.approx(next(floors), abs=1e-12)


def test_the_concentration_counts_a_row_as_often_as_its_weight():
    rng = np.random.default_rng(4)
    means, weight = rng.dirichlet(np.ones(3), 60), np.arange(60) % 3 + 0.0
    totals = rng.integers(2, 9, 60)
    votes = rng.multinomial(totals, means).astype(float)
    votes[::2] = totals[::2, None] * np.eye(3)[votes[::2].argmax(axis=1)]
    twice = np.repeat(np.arange(60), weight.astype(int))
    alone = log_likelihoods(votes[twice], means[twice], np.ones(twice.size))
    assert log_likelihoods(votes, means, weight) == pytest.approx(alone, rel=1e-9)
    assert log_likelihoods(votes, means, np.ones(60)) != pytest.approx(alone, rel=1e-2)


def test_the_likelihood_is_that_of_a_dirichlet_multinomial():
    rng = np.random.default_rng(6)
    means = rng.dirichlet(np.ones(3), 20)
    votes = rng.multinomial(rng.integers(2, 9, 20), means).astype(float)
    totals = votes.sum(axis=1)
    found = log_likelihoods(votes, means, np.ones(20))
    for k in (0, 12, 30):
        exact = sum(
            stats.dirichlet_multinomial.logpmf(v, CONCENTRATIONS[k] * m, n)
            for v, m, n in zip(votes.astype(int), means, totals.astype(int), strict=True)
        )
        orders = gammaln(totals + 1).sum() - gammaln(votes + 1).sum()  # of the same votes
        assert found[k] + orders == pytest.approx(exact, rel=1e-9)


def test_groups_widen_intervals_and_floors():
    run = random_run(100)
    copies = run.take(np.repeat(np.arange(100), 8))
    groups = Groups("patient", np.repeat(np.arange(100), 8))
    rows = human.human_audit(copies).scores
    grouped = human.human_audit(replace(copies, groups=groups)).scores
    for name in ("tvd", "ece_votes"):
        widths = [s[name].high - s[name].low for s in (rows, grouped)]
        assert widths[1] > 1.7 * widths[0]
    assert grouped["ece_votes"].floor > 1.7 * rows["ece_votes"].floor


def test_many_rows_draw_fewer_resamples(monkeypatch):
    drawn = []

    def counted(n, rounds, *more):
        drawn.append(rounds)
        return resampled_counts(n, rounds, *more)

    monkeypatch.setattr(human, "resampled_counts", counted)
    monkeypatch.setattr(human, "HEAVY_ROWS", 50)
    monkeypatch.setattr(human, "N_RESAMPLES_HEAVY", 20)
    human.human_audit(random_run(49), FEW)
    human.human_audit(random_run(50), FEW)
    assert drawn == [100, 20]


def test_a_class_that_people_chose_and_the_model_ruled_out():
    p = np.array([[1.0, 0.0], [0.4, 0.6]])
    run = replace(run_of(np.zeros((2, 2)), [[3, 1], [1, 3]]), scores=p)
    run = replace(run, kind=ScoreKind.PROBABILITIES)
    score = human.human_audit(run, FEW).scores["soft_nll"]
    assert (score.value, score.low, score.high) == (None, None, None)
    assert "probability 0" in score.reason
    assert np.isfinite(score.floor)


def test_rows_that_people_agree_with_alike_have_an_interval_all_the_same():
    rows = run_of(np.tile([1.0, 0.0], (10, 1)), np.tile([3.0, 1.0], (10, 1)))
    audit = human.human_audit(rows, FEW)
    low, high = (float(end) for end in wilson(np.array(7.5), np.array(10), 0.95))
    assert (audit.fullest.low, audit.fullest.high) == pytest.approx((low, high))
    assert 0.4 < low < 0.5
    confidence = 1.0 / (1.0 + np.exp(-1.0))
    ends = confidence - high, confidence - low
    assert (audit.direction.low, audit.direction.high) == pytest.approx(ends)
    groups = audit.disagreement
    assert (groups.low[0], groups.high[0]) == pytest.approx(ends)


def test_a_few_rows_far_from_the_others_lengthen_their_side():
    run = run_of(np.tile([4.0, 0.0], (60, 1)), np.r_[[[0, 9]] * 2, [[9, 0]] * 58])
    score = human.human_audit(run, AuditConfig(n_resamples=2_000)).scores["tvd"]
    rows = human.judged_rows(run).tvd
    error = rows.std() / np.sqrt(rows.size)
    wide = stats.t.ppf(0.975, 59) * np.sqrt(60 / 59)
    lean = stats.skew(rows) / np.sqrt(60) * (1 + 2 * wide**2) / 6
    assert score.value - score.low == pytest.approx(min(wide * error, score.value), rel=0.06)
    assert score.high - score.value == pytest.approx((wide + lean) * error, rel=0.06)
    assert lean > 0.6


def test_all_rows_ranked_alike_are_not_all_rows_there_are():
    score = human.human_audit(run_of([[2.0, 1.0]] * 30, [[5, 3]] * 30), FEW).scores["rank"]
    low, high = wilson(np.array(30), np.array(30), 0.95)
    assert (score.value, score.low, score.high) == pytest.approx((1.0, float(low), float(high)))


@pytest.mark.parametrize("groups", [None, Groups("person", np.zeros(5, dtype=np.int64))])
def test_one_row_or_group_has_no_spread(groups):
    run = random_run(1 if groups is None else 5)
    audit = human.human_audit(replace(run, groups=groups), FEW)
    score = audit.scores["tvd"]
    assert (score.low, score.high) == (None, None)
    assert score.reason.startswith("one row has" if groups is None else "one group has")
    low, high = wilson(np.array(audit.agreement), np.array(1), 0.95)
    assert audit.direction.low == pytest.approx(audit.confidence - high)
    assert audit.direction.high == pytest.approx(audit.confidence - low)


def test_equal_disagreement_stays_together():
    entropy = np.array([0.0] * 70 + [0.1] * 10 + [0.5] * 20)
    assert disagreement_groups(entropy, np.ones(100)).tolist() == [0] * 70 + [1] * 10 + [2] * 20


@pytest.mark.parametrize("people", [2, 5, 100])
@pytest.mark.parametrize("model", ["knows", "too_sure", "knows_nothing"])
def test_the_floor_is_what_a_model_that_knows_would_show(people, model):
    rng = np.random.default_rng([people, len(model)])
    n = 1_000
    true = np.array([rng.dirichlet(4.0 * row) for row in rng.dirichlet([2.0, 1.0, 1.0], n)])
    true = np.maximum(true, 1e-12)
    votes = rng.multinomial(people, true / true.sum(axis=1, keepdims=True)).astype(float)
    p = {"knows": true, "too_sure": true**2, "knows_nothing": rng.dirichlet([1, 1, 1], n)}[model]
    p = p / p.sum(axis=1, keepdims=True)
    known = ideal_model(votes, np.log(p), np.ones(n), 0)
    shares = vote_shares(votes)
    entropies = entropy_rows(true) - entropy_rows(shares)
    truth = {
        "tvd": tvd_rows(true, shares),
        "entropy_gap": np.abs(entropies),
        "entropy_gap_signed": entropies,
        "rank": alike_rows(true, votes),
        "soft_nll": soft_nll_rows(np.log(true), shares),
    }
    for name, rows in truth.items():
        chance = 4.0 * rows.std() / np.sqrt(n)
        allowed = chance + 0.04 * rows.mean()
        assert abs(getattr(known, name).mean() - rows.mean()) < allowed, name


def test_the_floor_of_known_shares_is_the_binomial_distance():
    people, shares = 8, np.array([0.7, 0.2, 0.1])
    rng = np.random.default_rng(0)
    votes = rng.multinomial(people, shares, size=1_000).astype(float)
    logits = np.log(np.tile(shares, (1_000, 1)))
    known = ideal_model(votes, logits, np.ones(1_000), 0)
    exact = sum(slow.binomial_distance(people, q) for q in shares.tolist()) / 2
    assert known.tvd.mean() == pytest.approx(exact, abs=0.01)


def test_so_few_votes_hide_entropy_as_miller_and_madow_say():
    rng = np.random.default_rng(1)
    true = rng.dirichlet([20.0, 20.0, 20.0], 1_000)
    votes = rng.multinomial(50, true).astype(float)
    audit = human.human_audit(run_of(np.log(true), votes), FEW)
    assert audit.known_nll - audit.scores["soft_nll"].floor == pytest.approx(2 / 100, abs=0.002)


@pytest.mark.parametrize("people", [2, pytest.param(5, marks=pytest.mark.nightly)])
def test_one_knowing_model_in_twenty_is_beyond_a_bound(people):
    """Nearly all people agree about most rows: own votes alone put 3 models in 5 beyond it."""
    beyond = dict.fromkeys(("tvd", "soft_nll", "rank"), 0)
    for seed in range(20):
        rng = np.random.default_rng([seed, people])
        logits = 1.5 * rng.normal(size=(300, 5))
        logits[np.arange(300), rng.integers(0, 5, 300)] += np.where(rng.random(300) < 0.3, 1.0, 7.0)
        votes = rng.multinomial(people, softmax(logits, axis=1)).astype(float)
        scores = human.human_audit(run_of(logits, votes), FEW).scores
        for name in beyond:
            off = scores[name].value - scores[name].bound
            beyond[name] += off < 0.0 if name == "rank" else off > 0.0
    assert max(beyond.values()) <= 4, beyond  # 5 % of 20, within three standard deviations


def test_the_ece_floor_holds_its_level():
    rng = np.random.default_rng(2)
    above = 0
    for _ in range(100):
        confidence = rng.uniform(0.3, 1.0, 200)
        true = np.clip(confidence + rng.uniform(-0.3, 0.3, 200), 0.0, 1.0)
        confidence = confidence + (true - confidence).mean()
        agreement = rng.binomial(5, true) / 5
        index = np.zeros(200, dtype=np.int64)
        chance = ece_floor(confidence - agreement, index, SamplingDesign(), 100, rng)
        above += abs((confidence - agreement).mean()) > np.quantile(chance, 0.95)
    assert above <= 12  # 5 % of 100, within three standard deviations


def test_votes_are_refused_with_their_place():
    with pytest.raises(Refused, match="-1 votes for class 1") as refusal:
        Votes.of("v.csv", np.array([[1.0, 2.0], [3.0, -1.0]]))
    assert (refusal.value.code, refusal.value.location) == ("VOTES", "row 1")
    with pytest.raises(Refused, match="without votes"):
        Votes.of("v.csv", np.zeros((2, 2)))
    with pytest.raises(Refused, match=r"1e\+308 votes for a class") as refusal:
        Votes.of("v.csv", np.array([[1.0, 2.0], [1e308, 1e308]]))
    assert refusal.value.location == "row 1"
    with pytest.raises(Refused, match=r"sum to 1\.5"):
        Votes.of("v.csv", np.array([[0.5, 1.0], [0.5, 0.5]]))
    with pytest.raises(Refused, match=r"v\.csv has 2 rows of 3"):
        replace(random_run(3, 3), votes=Votes.of("v.csv", np.ones((2, 3))))
    run = random_run(3, 3)
    with pytest.raises(Refused, match="Votes are for classes"):
        replace(run, task=Task.MULTILABEL, labels=np.zeros((3, 3), dtype=np.int64))
    rounded = Votes.of("v.csv", np.array([[0.33, 0.33, 0.33], [np.nan] * 3]))
    assert rounded.of_row.sum(axis=1).tolist() == [1.0, 0.0]
    assert not rounded.counted


@pytest.fixture(scope="module")
def chaos():
    if not CHAOS.exists():
        pytest.skip("needs the votes of the shared folder (CANDOR_SHARED)")
    with tarfile.open(CHAOS) as archive:
        return {
            Path(member.name).name: [json.loads(line) for line in archive.extractfile(member)]
            for member in archive.getmembers()
            if member.isfile()
        }


def chaos_rows(chaos, data, seed):
    """Logits and votes of the pairs that people voted on, classes in the order of the votes."""
    file = {"SNLI": "chaosNLI_snli.jsonl", "MNLI": "chaosNLI_mnli_m.jsonl"}[data]
    votes = {row["uid"]: row["label_count"] for row in chaos[file]}
    parts = (chaos[f"{data}_{part}_roberta-base_{seed}.json"] for part in ("dev", "test"))
    rows = [row for part in parts for row in part if row["uid"] in votes]
    logits = np.array([row["logits"] for row in rows])[:, [0, 2, 1]]
    return logits, np.array([votes[row["uid"]] for row in rows], dtype=np.float64)


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("data", ["SNLI", "MNLI"])
def test_chaosnli_agrees_with_a_second_implementation(chaos, data, seed):
    logits, votes = chaos_rows(chaos, data, seed)
    audit = human.human_audit(run_of(logits, votes), FEW)
    z, n = logits.tolist(), votes.tolist()
    signed = slow.entropy_gaps(z, n)
    expected = {
        "tvd": slow.tvd(z, n),
        "entropy_gap": slow.mean(map(abs, signed)),
        "entropy_gap_signed": slow.mean(signed),
        "rank": slow.rank(z, n),
        "soft_nll": slow.soft_nll(z, n),
        "ece_votes": slow.ece(z, n),
    }
    assert values(audit) == pytest.approx(expected, rel=0.0, abs=1e-12)
    assert audit.n == {"SNLI": 1514, "MNLI": 1569}[data]
    for name in ("tvd", "entropy_gap", "ece_votes"):
        assert audit.scores[name].value > audit.scores[name].bound


# Baan et al. 2022, table 1, as their released notebook prints it: RoBERTa of three seeds on the
# 1,514 SNLI pairs of ChaosNLI, before and after division of the logits by 2.
PUBLISHED = {
    (0, 1): {"ece": 0.147, "rank": 0.625, "entropy_gap": 0.310, "tvd": 0.259},
    (1, 1): {"ece": 0.119, "rank": 0.596, "entropy_gap": 0.273, "tvd": 0.249},
    (2, 1): {"ece": 0.141, "rank": 0.627, "entropy_gap": 0.314, "tvd": 0.261},
    (0, 2): {"ece": 0.036, "rank": 0.625, "entropy_gap": 0.208, "tvd": 0.217},
    (1, 2): {"ece": 0.030, "rank": 0.596, "entropy_gap": 0.236, "tvd": 0.222},
    (2, 2): {"ece": 0.020, "rank": 0.627, "entropy_gap": 0.198, "tvd": 0.214},
}


@pytest.mark.parametrize(("seed", "temperature"), PUBLISHED)
def test_chaosnli_gives_the_published_table(chaos, seed, temperature):
    logits, votes = chaos_rows(chaos, "SNLI", seed)
    run = run_of(logits / temperature, votes)
    judged = human.judged_rows(run)
    ours = {
        "ece": ece(SortedOutcomes.of(run.outcomes(None)), n_bins=10),  # against the majority
        "rank": alike_rows(run.scores, votes, "column").mean(),
        "entropy_gap": np.abs(judged.entropy - judged.votes_entropy).mean(),
        "tvd": judged.tvd.mean(),
    }
    assert ours == pytest.approx(PUBLISHED[seed, temperature], rel=0.0, abs=0.0005 + 1e-9)
