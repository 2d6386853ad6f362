"""Second, slow and obvious implementations of every metric: loops over rows, exact sums."""

import math
from itertools import groupby, pairwise
from typing import NamedTuple

import numpy as np


class ByHand(NamedTuple):
    """A value worked out on paper: of which metric, for which claims and outcomes."""

    name: str
    confidence: list[float]
    correct: list[bool]
    value: float


T, F = True, False
BY_HAND = [
    # most confident first: right, wrong, right, wrong: risks 0, 1/2, 1/3, 1/2
    ByHand("aurc", [0.9, 0.8, 0.7, 0.6], [T, F, T, F], (0 + 1 / 2 + 1 / 3 + 1 / 2) / 4),
    # two tied rows, one wrong: expected risks 1/2 and 1/2
    ByHand("aurc", [0.9, 0.9], [T, F], 0.5),
    # 0.4 came true, 0.6 did not: residuals 0.6 and -0.6, but values there differ by 0.2 at most.
    # So w is worth 0.6 * 0.2 / 2, and h = 0.1 and -0.1 takes off 2 * 0.1 * 0.6 - 0.1^2.
    ByHand("smce", [0.4, 0.6], [T, F], 0.06),
    ByHand("pgap", [0.4, 0.6], [T, F], 0.11),
    # 0 came true, 1 did not: w turns from 1 to 0 on the way, h from 1/2 to -1/2
    ByHand("smce", [0.0, 1.0], [T, F], 0.5),
    ByHand("pgap", [0.0, 1.0], [T, F], 0.75),
    # two bins, each of one gap: 0.95 against 1 and 0 in the upper, 0.05 against 0 in the lower
    ByHand("ece", [0.95, 0.95, 0.05, 0.05], [T, F, F, F], (0.45 + 0.05) / 2),
    ByHand("mce", [0.95, 0.95, 0.05, 0.05], [T, F, F, F], 0.45),
    # bins of three rows and of one, gaps 0.3 and 0.1: a plain mean, and the root of a weighted one
    ByHand("ace", [0.3, 0.3, 0.3, 0.9], [F, F, F, T], (0.3 + 0.1) / 2),
    ByHand("rmsce", [0.3, 0.3, 0.3, 0.9], [F, F, F, T], (0.75 * 0.3**2 + 0.25 * 0.1**2) ** 0.5),
]


def softmax_row(logits):
    top = max(logits)
    powers = [math.exp(z - top) for z in logits]
    total = math.fsum(powers)
    return [power / total for power in powers]


def log_softmax_row(logits):
    top = max(logits)
    log_total = math.log(math.fsum(math.exp(z - top) for z in logits))
    return [z - top - log_total for z in logits]


def logit_rows(logits, labels):
    """Confidence, answer, log p of the truth and Brier of each row, in whole numpy arrays."""
    wide, at = np.asarray(logits, dtype=np.float64), np.arange(len(labels))
    gaps = wide - wide.max(axis=1, keepdims=True)
    total = np.exp(gaps).sum(axis=1)
    p = np.exp(gaps) / total[:, None]
    brier = ((p - np.eye(p.shape[1])[labels]) ** 2).sum(axis=1)
    return p.max(axis=1), wide.argmax(axis=1), gaps[at, labels] - np.log(total), brier


def nll(logits, labels):
    return math.fsum(-log_softmax_row(z)[y] for z, y in zip(logits, labels, strict=True)) / len(
        labels
    )


def brier(logits, labels):
    rows = []
    for z, y in zip(logits, labels, strict=True):
        p = softmax_row(z)
        rows.append(math.fsum((p[k] - (k == y)) ** 2 for k in range(len(p))))
    return math.fsum(rows) / len(rows)


def classwise_ece(logits, labels, *, n_bins=15):
    columns = list(zip(*(softmax_row(z) for z in logits), strict=True))
    errors = [
        ece(list(column), [y == k for y in labels], n_bins=n_bins)
        for k, column in enumerate(columns)
    ]
    return math.fsum(errors) / len(errors)


def equal_width_bins(confidence, correct, n_bins):
    """Lists of rows, one a bin: the first bin whose upper edge is not below the confidence."""
    bins = [[] for _ in range(n_bins)]
    for c, y in zip(confidence, correct, strict=True):
        bins[next(k for k in range(n_bins) if c <= (k + 1) / n_bins or k == n_bins - 1)].append(
            (c, y)
        )
    return bins


def tie_groups(confidence, correct):
    rows = sorted(zip(confidence, correct, strict=True), key=lambda row: row[0])
    return [list(group) for _, group in groupby(rows, key=lambda row: row[0])]


def _cut_at(groups, wanted):
    """Cut the groups so that each wanted rank moves to the nearest group end, lower first."""
    ends = [0]
    for group in groups:
        ends.append(ends[-1] + len(group))
    chosen = sorted({min(ends, key=lambda end: (abs(end - rank), end)) for rank in wanted})
    rows = [row for group in groups for row in group]
    return [rows[a:b] for a, b in pairwise(chosen)]


def equal_mass_bins(confidence, correct, n_bins):
    n = len(confidence)
    parts = np.array_split(np.arange(n), min(n_bins, n))
    wanted = [0, *np.cumsum([len(part) for part in parts]).tolist()]
    return _cut_at(tie_groups(confidence, correct), wanted)


def ece_debiased_l1(confidence, correct, *, n_bins=15):
    """By a sum over a fine grid of the normal density in place of the closed form."""
    total = 0.0
    for rows in equal_mass_bins(confidence, correct, n_bins):
        share, own = sum(y for _, y in rows) / len(rows), abs(gap(rows))
        spread = math.sqrt(share * (1 - share) / len(rows))
        steps = [k / 1000 for k in range(-8000, 8001)]
        weights = [math.exp(-z * z / 2) for z in steps]
        chance = math.fsum(w * abs(own + spread * z) for w, z in zip(weights, steps, strict=True))
        total += len(rows) / len(confidence) * (2 * own - chance / math.fsum(weights))
    return max(0.0, total)


def sweep_bins(confidence, correct):
    n = len(confidence)
    groups = tie_groups(confidence, correct)
    good = [[row for group in groups for row in group]]
    for n_bins in range(2, n):
        index = [min(n_bins - 1, r * n_bins // n) for r in range(n)]
        wanted = [0, *(r for r in range(1, n) if index[r] != index[r - 1]), n]
        bins = _cut_at(groups, wanted)
        shares = [sum(y for _, y in rows) / len(rows) for rows in bins]
        if any(b < a for a, b in pairwise(shares)):
            break
        good = bins
    return good


def gap(rows):
    return math.fsum(c - y for c, y in rows) / len(rows)


def _weighted(bins, power=1):
    n = sum(len(rows) for rows in bins)
    return math.fsum(len(rows) / n * abs(gap(rows)) ** power for rows in bins if rows)


def accuracy(confidence, correct):
    return sum(map(bool, correct)) / len(correct)


def error(confidence, correct):
    return sum(not y for y in correct) / len(correct)


def ece(confidence, correct, *, n_bins=15):
    return _weighted(equal_width_bins(confidence, correct, n_bins))


def ece_answer(logits, labels, *, n_bins=15):
    rows = [softmax_row(z) for z in logits]
    answers = [max(range(len(p)), key=p.__getitem__) for p in rows]
    right = [k == y for k, y in zip(answers, labels, strict=True)]
    return ece([p[k] for p, k in zip(rows, answers, strict=True)], right, n_bins=n_bins)


def ece_em(confidence, correct, *, n_bins=15):
    return _weighted(equal_mass_bins(confidence, correct, n_bins))


def ada_ece(confidence, correct, *, n_bins=15):
    n, ordered = len(confidence), sorted(confidence)
    edges = [_interpolate(ordered, k * n / n_bins) for k in range(n_bins + 1)]
    total = 0.0
    for low, high in pairwise(edges):
        rows = [(c, y) for c, y in zip(confidence, correct, strict=True) if c > low and c <= high]
        total += len(rows) / n * abs(gap(rows)) if rows else 0.0
    return total


def _interpolate(ordered, at):
    below = min(int(at), len(ordered) - 1)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (at - below) * (ordered[above] - ordered[below])


def mce(confidence, correct, *, n_bins=15):
    return max(abs(gap(rows)) for rows in equal_width_bins(confidence, correct, n_bins) if rows)


def ace(confidence, correct, *, n_bins=15):
    gaps = [abs(gap(rows)) for rows in equal_width_bins(confidence, correct, n_bins) if rows]
    return math.fsum(gaps) / len(gaps)


def rmsce(confidence, correct, *, n_bins=15):
    return math.sqrt(_weighted(equal_width_bins(confidence, correct, n_bins), power=2))


def ece_debiased(confidence, correct, *, n_bins=15):
    total = 0.0
    for rows in equal_mass_bins(confidence, correct, n_bins):
        if len(rows) >= 2:
            share = sum(y for _, y in rows) / len(rows)
            chance = share * (1 - share) / (len(rows) - 1)
            total += len(rows) / len(confidence) * (gap(rows) ** 2 - chance)
    return math.sqrt(max(total, 0.0))


def ece_sweep(confidence, correct):
    return _weighted(sweep_bins(confidence, correct))


def ece_sweep_ew(confidence, correct):
    rows, n = sorted(zip(confidence, correct, strict=True)), len(confidence)
    good = [rows]
    for n_bins in range(2, n):
        edges = [k / n_bins for k in range(n_bins + 1)]
        bins = [
            [r for r in rows if low < r[0] <= high or (r[0] == low == 0.0)]
            for low, high in pairwise(edges)
        ]
        shares = [sum(y for _, y in of) / len(of) for of in bins if of]
        if any(b < a for a, b in pairwise(shares)):
            break
        good = bins
    return _weighted(good)


def ks(confidence, correct):
    rows, largest = [], 0.0
    for group in tie_groups(confidence, correct):
        rows += group
        largest = max(largest, abs(math.fsum(c - y for c, y in rows)))
    return largest / len(rows)


def s99_share(confidence, correct):
    return sum(c >= 0.99 for c in confidence) / len(confidence)


def s99_accuracy(confidence, correct):
    sure = [y for c, y in zip(confidence, correct, strict=True) if c >= 0.99]
    return sum(sure) / len(sure) if sure else math.nan


def aurc(confidence, correct):
    """Mean risk over coverages; each row of a tie is wrong with its group's error rate."""
    expected = []
    for group in reversed(tie_groups(confidence, correct)):
        expected += [sum(not y for _, y in group) / len(group)] * len(group)
    risks = [math.fsum(expected[:k]) / k for k in range(1, len(expected) + 1)]
    return math.fsum(risks) / len(risks)


def auroc(confidence, correct):
    positive = [c for c, y in zip(confidence, correct, strict=True) if y]
    negative = [c for c, y in zip(confidence, correct, strict=True) if not y]
    if not positive or not negative:
        return math.nan
    wins = sum((p > q) + 0.5 * (p == q) for p in positive for q in negative)
    return wins / (len(positive) * len(negative))


def auroc_error(confidence, correct):
    """DeLong's standard error from the placements of every single row."""
    positive = [c for c, y in zip(confidence, correct, strict=True) if y]
    negative = [c for c, y in zip(confidence, correct, strict=True) if not y]
    beaten = [np.mean([(p > q) + 0.5 * (p == q) for q in negative]) for p in positive]
    beating = [np.mean([(p > q) + 0.5 * (p == q) for p in positive]) for q in negative]
    return math.sqrt(
        np.var(beaten, ddof=1) / len(positive) + np.var(beating, ddof=1) / len(negative)
    )


def auprc(confidence, correct):
    positives = sum(map(bool, correct))
    if not positives:
        return math.nan
    area = 0.0
    for threshold in sorted(set(confidence), reverse=True):
        flagged = [y for c, y in zip(confidence, correct, strict=True) if c >= threshold]
        new = sum(y for c, y in zip(confidence, correct, strict=True) if c == threshold)
        area += new / positives * sum(flagged) / len(flagged)
    return area


def smece_at(confidence, correct, bandwidth, n_points=4001):
    """Kernel integral by its definition: every row and its mirror images 2k +- f."""
    t = np.linspace(0, 1, n_points)
    smoothed = np.zeros(n_points)
    for c, y in zip(confidence, correct, strict=True):
        for k in range(-4, 5):
            for image in (2 * k + c, 2 * k - c):
                smoothed += (c - y) * np.exp(-0.5 * ((t - image) / bandwidth) ** 2)
    heights = np.abs(smoothed) / (len(confidence) * bandwidth * math.sqrt(2 * math.pi))
    return float(np.trapezoid(heights, t))


def smece(confidence, correct):
    low, high = 0.0, 1.0
    for _ in range(22):
        middle = (low + high) / 2
        if middle < 1e-3 or middle < smece_at(confidence, correct, middle):
            low = middle
        else:
            high = middle
    return smece_at(confidence, correct, high)


def smce(confidence, correct):
    """The dual: move residuals along the line at the price of the way, or drop them at price 1."""
    from scipy.optimize import linprog

    values = sorted(set(confidence))
    n, m = len(confidence), len(values)
    residual = [
        math.fsum(y - c for c, y in zip(confidence, correct, strict=True) if c == value) / n
        for value in values
    ]
    # forward and backward flow between neighbours, then what is dropped of either sign
    prices = [b - a for a, b in pairwise(values)] * 2 + [1.0] * (2 * m)
    balance = np.zeros((m, len(prices)))
    for j in range(m - 1):
        balance[[j, j + 1], j] = 1, -1
        balance[[j, j + 1], m - 1 + j] = -1, 1
    balance[:, 2 * (m - 1) :] = np.hstack([np.eye(m), -np.eye(m)])
    return linprog(prices, A_eq=balance, b_eq=residual, method="highs-ipm").fun


def pgap(confidence, correct):
    """The best corrected claims as a start and rises from 0 to twice the distance."""
    from scipy.optimize import lsq_linear

    near = [round(c, 9) for c in confidence]  # the solver knows no bounds without a width
    values = sorted(set(near))
    rises = np.tril(np.ones((len(values), len(values))))
    rows = rises[[values.index(c) for c in near]]
    most = [1.0] + [2.0 * (b - a) for a, b in pairwise(values)]
    outcomes = np.array(correct, dtype=float)
    best = lsq_linear(rows, outcomes, (0.0, most), method="bvls", tol=1e-14)
    before = math.fsum((c - y) ** 2 for c, y in zip(confidence, correct, strict=True))
    return (before - 2.0 * best.cost) / len(confidence)


def lowess(confidence, correct):
    """Local lines over the nearest two thirds of the rows, row by row; within [0, 1]."""
    n = len(confidence)
    near = min(max(int(n * (2 / 3) + 1e-10), 2), n)
    found = []
    for here in confidence:
        reach = sorted(abs(c - here) for c in confidence)[near - 1]
        weight = [
            (1 - min(abs(c - here) / reach, 1) ** 3) ** 3 if reach else float(c == here)
            for c in confidence
        ]
        total = math.fsum(weight)
        pairs = list(zip(weight, confidence, correct, strict=True))
        x = math.fsum(w * c for w, c, _ in pairs) / total
        y = math.fsum(w * t for w, _, t in pairs) / total
        spread = max(math.fsum(w * (c - x) ** 2 for w, c, _ in pairs) / total, 1e-12)
        rise = math.fsum(w * (c - x) * (t - y) for w, c, t in pairs) / total / spread
        found.append(min(max(y + rise * (here - x), 0.0), 1.0))
    return found


def curve_distances(confidence, correct):
    smooth = lowess(confidence, correct)
    return sorted(abs(s - c) for s, c in zip(smooth, confidence, strict=True))


def quantile(ordered, share):
    at = share * (len(ordered) - 1)
    low = math.floor(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (at - low) * (ordered[high] - ordered[low])


def ici(confidence, correct):
    return math.fsum(curve_distances(confidence, correct)) / len(confidence)


def e50(confidence, correct):
    return quantile(curve_distances(confidence, correct), 0.5)


def e90(confidence, correct):
    return quantile(curve_distances(confidence, correct), 0.9)


def emax(confidence, correct):
    return curve_distances(confidence, correct)[-1]


def spiegelhalter_z(confidence, correct):
    rows = list(zip(confidence, correct, strict=True))
    variance = math.fsum((1 - 2 * p) ** 2 * p * (1 - p) for p, _ in rows)
    if variance == 0:
        return math.nan
    return math.fsum((y - p) * (1 - 2 * p) for p, y in rows) / math.sqrt(variance)


def brier_event(confidence, correct):
    return math.fsum((p - y) ** 2 for p, y in zip(confidence, correct, strict=True)) / len(correct)


def brier_skill(confidence, correct):
    share = sum(correct) / len(correct)
    if share in (0, 1):
        return math.nan
    rows = zip(confidence, correct, strict=True)
    return 1 - math.fsum((p - y) ** 2 for p, y in rows) / len(correct) / (share * (1 - share))
