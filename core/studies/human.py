"""A run held against people: temperatures fitted on votes beside those on majority labels."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from core.arrays import Float, Int
from core.calibrators.base import MIN_ROWS
from core.calibrators.stored import Fittable
from core.configs import AuditConfig
from core.defaults import N_BINS, SEED
from core.errors import Refused
from core.metrics.binning import bin_index, equal_width_edges
from core.metrics.estimates import floor_of
from core.metrics.human import HumanAudit, human_audit, judged_rows
from core.metrics.paired import NO_FLOOR, Difference, MetricDraws, difference
from core.metrics.records import Floor
from core.metrics.units import resampled_counts, units
from core.metrics.votes import (
    agreement_rows,
    drawn_ece,
    ece_floor,
    majority_shares,
    share_ece,
    soft_nll_rows,
    tvd_rows,
    vote_shares,
    voted_rows,
)
from core.predictions import Predictions, Weights
from core.studies.posthoc import CUT, SHARE, Fit, PosthocRows, calibrated, fit, fit_default, parts
from core.studies.reliability import Source, loaded

METHODS = ("ts", "focal_ts")
LABELS, VOTES = "labels", "votes"
ERRORS = {"ece": LABELS, "ece_votes": VOTES}
SHOWN = (*ERRORS, "tvd", "soft_nll")
DRAWN_AS = {"ece": "ece", "ece_votes": "ece", "tvd": "brier", "soft_nll": "nll"}
MOST_PAIRS = 200  # rows where model and people differ most


@dataclass(frozen=True)
class FittedOn:
    """A temperature, or focal temperature, fitted on some rows and judged on others."""

    method: str  # ts or focal_ts; empty for the scores as they were read
    target: str  # what it was fitted on: labels, those of the majority of votes, or votes
    parameters: Mapping[str, float]  # as the calibrator names them
    # ece (against the majority), ece_votes, tvd and soft_nll on the judged rows; None where one is
    # infinite
    values: Mapping[str, float | None]
    differences: Mapping[str, Difference]  # from the scores as they were read; empty for these
    refusal: str = ""  # why it could not be fitted


@dataclass(frozen=True, kw_only=True)
class HumanFits:
    """Every fit on the judged rows, the scores as they were read first."""

    # fit_rows, test_rows: rows with votes that were fitted on and judged
    fit_rows: int
    test_rows: int
    # fit_name, test_name: splits they come from; equal where one was cut in two
    fit_name: str
    test_name: str
    methods: tuple[FittedOn, ...] = ()
    refusal: str = ""  # why nothing could be fitted; empty otherwise


@dataclass(frozen=True)
class FarRows:
    """The rows where model and people differ most, by their distance, descending; (M,) each."""

    rows: Int
    tvd: Float
    confidence: Float
    agreement: Float
    answer: Int
    choice: Int


@dataclass(frozen=True)
class HumanStudy:
    """All that the page of human truth shows of a split."""

    audit: HumanAudit
    fits: HumanFits
    far: FarRows


def human_study(
    sources: Mapping[str, Source], split: str, config: AuditConfig | None = None
) -> HumanStudy:
    """Return what the page shows of a split.

    `sources`: the splits with votes: one to fit on, if there is another one, and the one that is
    shown; `config`: of the audit, and of the temperatures' differences; the page's when left out.

    Raises Refused VOTES: it has no votes.
    """
    splits = {name: loaded(source) for name, source in sources.items()}
    shown = splits[split]
    fits = human_fits(splits, split, config=config)
    return HumanStudy(human_audit(shown, config), fits, far_rows(shown))


def far_rows(predictions: Predictions) -> FarRows:
    """Return the rows where model and people differ most; ties in the order of the file."""
    judged = judged_rows(predictions)
    at = np.argsort(-judged.tvd, kind="stable")[:MOST_PAIRS]
    rows = judged.rows[at]
    assert predictions.votes is not None
    return FarRows(
        rows=rows,
        tvd=judged.tvd[at],
        confidence=judged.confidence[at],
        agreement=judged.agreement[at],
        answer=predictions.rows.predicted[rows],
        choice=predictions.votes.of_row[rows].argmax(axis=1),
    )


def human_fits(
    splits: Mapping[str, Predictions],
    split: str,
    fit_on: str | None = None,
    *,
    share: float = SHARE,
    seed: int = SEED,
    config: AuditConfig | None = None,
) -> HumanFits:
    """Return temperatures on votes and on majority labels, judged on rows not fitted on.

    Parameters
    ----------
    splits : mapping of str to Predictions
        With votes, all of them.
    fit_on : str, optional
        Which is fitted on; by default the validation split or another one. Where there is none,
        or it holds the rows that are judged, a share of these is fitted on and the rest judged.
    share, seed : float, int
        As of `core.studies.posthoc.cut`.
    config : AuditConfig, optional
        Level, bins and resamples of the differences.

    Raises
    ------
    UsageError
        As of `core.studies.posthoc.parts`.
    """
    try:
        rows = human_rows(splits, split, fit_on, share=share, seed=seed)
        return _fitted(rows, config or AuditConfig())
    except Refused as refusal:
        return HumanFits(
            fit_rows=0, test_rows=0, fit_name="", test_name=split, refusal=refusal.what
        )


def human_rows(
    splits: Mapping[str, Predictions],
    split: str,
    fit_on: str | None = None,
    *,
    share: float = SHARE,
    seed: int = SEED,
) -> PosthocRows:
    """Return the rows with votes to fit on, and others to judge; parameters as of `human_fits`.

    Raises
    ------
    Refused
        FIT: they are too few.
    UsageError
        As of `core.studies.posthoc.parts`.
    """
    voted = {name: voted_rows(predictions)[1] for name, predictions in splits.items()}
    fit_on = fit_on or fit_default(tuple(voted), split)
    cut = parts(voted, fit_on, split, share=share, seed=seed)
    if fit_on != CUT and cut.same_rows:
        cut = parts(voted, CUT, split, share=share, seed=seed)
    if min(cut.fit.n, cut.test.n) < MIN_ROWS:
        what = f"{voted[split].n} rows with votes are too few to fit on some and judge others"
        raise Refused("FIT", what, "give votes for more rows")
    return cut


def _fitted(cut: PosthocRows, config: AuditConfig) -> HumanFits:
    judged = {("", ""): _Judged.of(cut.test, None)}
    refusals: dict[tuple[str, str], str] = {}
    parameters: dict[tuple[str, str], Mapping[str, float]] = {("", ""): {}}
    for method in METHODS:
        for target in (LABELS, VOTES):
            key = method, target
            method_fit = fit_on_people(method, cut.fit, target)
            if method_fit.calibrator is None:
                refusals[key] = method_fit.refusal
                continue
            parameters[key] = method_fit.calibrator.parameters()
            judged[key] = _Judged.of(cut.test, method_fit.calibrator)
    # All methods share the resamples
    sums: dict[tuple[str, str], list[Float]] = {key: [] for key in judged}
    tables: dict[tuple[str, str], Float] = {}
    for key, own in judged.items():
        # Gaps by bin against labels and votes, and what is averaged, (N, 2 B + 2)
        inside = own.bins[:, None] == np.arange(N_BINS)
        gaps = [inside * (own.confidence - own.agreement[of])[:, None] for of in (LABELS, VOTES)]
        finite = np.where(np.isfinite(own.soft_nll), own.soft_nll, 0.0)
        tables[key] = np.column_stack([*gaps, own.tvd, finite])
    totals: list[Float] = []
    for block in resampled_counts(cut.test.n, config.n_resamples, config.seed, cut.test.sampling):
        totals.append(block.sum(axis=1))
        for key, table in tables.items():
            sums[key].append(block @ table)
    total = np.concatenate(totals)
    draws = {
        key: _metric_draws(cut.test, own, np.concatenate(sums[key]), total, config)
        for key, own in judged.items()
    }
    level = 1.0 - (1.0 - config.level) / (len(METHODS) * len(ERRORS))  # Bonferroni, as Post-hoc
    none = draws["", ""]
    methods = [
        FittedOn(
            method=key[0],
            target=key[1],
            parameters=parameters[key],
            values={name: own[name].value for name in SHOWN},
            differences={name: difference(own[name], none[name], level) for name in SHOWN}
            if key[0]
            else {},
        )
        for key, own in draws.items()
    ]
    methods += [FittedOn(*key, {}, {}, {}, text) for key, text in refusals.items()]
    return HumanFits(
        fit_rows=cut.fit.n,
        test_rows=cut.test.n,
        fit_name=cut.fit_name,
        test_name=cut.test_name,
        methods=tuple(methods),
    )


def fit_on_people(method: str, rows: Predictions, target: str) -> Fit:
    """Return a method fitted on the votes of rows, or on the labels of their majority.

    `method`: one of `METHODS`; `rows`: with votes, all of them; `target`: as of `soft_rows`.
    """
    return fit(method, soft_rows(rows, target))


def soft_rows(predictions: Predictions, target: str) -> Predictions:
    """Return rows to fit on: each once for every class that people gave it, weighted by the share.

    Their NLL is the soft NLL of the rows.

    `predictions`: rows with votes, all of them; `target`: votes: shares of the votes. labels: the
    class with the most votes; classes that are tied for the most share the row equally.
    """
    assert predictions.votes is not None
    votes = predictions.votes.of_row
    shares = vote_shares(votes) if target == VOTES else majority_shares(votes)
    own = np.ones(predictions.n) if predictions.weights is None else predictions.weights.of_row
    row, label = np.nonzero(shares * own[:, None])
    bare = replace(predictions, row_ids=(), groups=None, weights=None, votes=None)
    weights = Weights.of("votes", (shares * own[:, None])[row, label])
    return replace(bare.take(row), labels=label.astype(np.int64), weights=weights)


@dataclass(frozen=True)
class _Judged:
    """One method on the judged rows: what each row says, and against whom."""

    confidence: Float
    agreement: Mapping[str, Float]
    tvd: Float
    soft_nll: Float
    bins: Int

    @classmethod
    def of(cls, rows: Predictions, calibrator: Fittable | None) -> "_Judged":
        after = rows if calibrator is None else calibrated(calibrator, rows)
        assert rows.votes is not None
        shares, majority = vote_shares(rows.votes.of_row), majority_shares(rows.votes.of_row)
        log_p, stats = after.log_probabilities(), after.rows
        return cls(
            confidence=stats.confidence,
            agreement={
                LABELS: agreement_rows(stats.predicted, majority),
                VOTES: agreement_rows(stats.predicted, shares),
            },
            tvd=tvd_rows(np.exp(log_p), shares),
            soft_nll=soft_nll_rows(log_p, shares),
            bins=bin_index(stats.confidence, equal_width_edges(N_BINS)),
        )


def _metric_draws(
    rows: Predictions, own: _Judged, sums: Float, total: Float, config: AuditConfig
) -> dict[str, MetricDraws]:
    weights = np.ones(rows.n) if rows.weights is None else rows.weights.of_row
    gaps = {LABELS: sums[:, :N_BINS], VOTES: sums[:, N_BINS : 2 * N_BINS]}
    numbers: dict[str, tuple[float | None, Float, Floor]] = {}
    for name, target in ERRORS.items():
        residual = own.confidence - own.agreement[target]
        rng = np.random.default_rng([config.seed, 9])
        chance = ece_floor(residual, own.bins, rows.sampling, 200, rng)
        value = share_ece(own.confidence, own.agreement[target], weights)
        numbers[name] = value, drawn_ece(gaps[target], total), floor_of(chance)
    for k, name in enumerate(("tvd", "soft_nll")):
        counted = np.where(weights > 0.0, getattr(own, name), 0.0)  # inf of weight 0 adds nothing
        mean = float(np.average(counted, weights=weights))
        numbers[name] = (
            (mean, sums[:, 2 * N_BINS + k] / total, NO_FLOOR)
            if np.isfinite(mean)
            else (None, np.empty(0), NO_FLOOR)
        )
    return {
        name: MetricDraws(
            metric=DRAWN_AS[name],
            value=value,
            centre=np.nan if value is None else value,
            draws=drawn,
            gap=gaps[ERRORS.get(name, VOTES)].sum(axis=1) / total,
            floor=floor,
            n=rows.n,
            seed=config.seed,
            reason="" if value is not None else "infinite",
            units=units(rows.n, rows.sampling),
            grouped=rows.groups is not None,
        )
        for name, (value, drawn, floor) in numbers.items()
    }
