"""Second, slow and obvious implementations of the distances between a model and people."""

import math

from tests.reference.slow_metrics import log_softmax_row, softmax_row


def shares(votes):
    return [n / math.fsum(votes) for n in votes]


def entropy(p):
    return -math.fsum(x * math.log(x) for x in p if x > 0.0)


def mean(values):
    values = list(values)
    return math.fsum(values) / len(values)


def tvd(logits, votes):
    return mean(
        math.fsum(abs(p - h) for p, h in zip(softmax_row(z), shares(n), strict=True)) / 2
        for z, n in zip(logits, votes, strict=True)
    )


def entropy_gaps(logits, votes):
    return [
        entropy(softmax_row(z)) - entropy(shares(n)) for z, n in zip(logits, votes, strict=True)
    ]


def alike(z, n):
    """Whether the model puts each class above every class that has fewer votes."""
    classes = range(len(n))
    return all(z[a] > z[b] for a in classes for b in classes if n[a] > n[b])


def rank(logits, votes):
    return mean(alike(z, n) for z, n in zip(logits, votes, strict=True))


def rank_by_column(logits, votes):
    """The share of rows whose sorted columns are the same, ties in the order of the columns."""
    return mean(
        sorted(range(len(z)), key=z.__getitem__) == sorted(range(len(n)), key=n.__getitem__)
        for z, n in zip(logits, votes, strict=True)
    )


def soft_nll(logits, votes):
    return mean(
        -math.fsum(h * lp for h, lp in zip(shares(n), log_softmax_row(z), strict=True) if h > 0)
        for z, n in zip(logits, votes, strict=True)
    )


def ece(logits, votes, *, n_bins=15):
    bins = {}
    for z, n in zip(logits, votes, strict=True):
        p, h = softmax_row(z), shares(n)
        top = max(range(len(p)), key=p.__getitem__)
        k = next(k for k in range(n_bins) if p[top] <= (k + 1) / n_bins or k == n_bins - 1)
        bins.setdefault(k, []).append(p[top] - h[top])
    return math.fsum(abs(math.fsum(gaps)) for gaps in bins.values()) / len(logits)


def binomial_distance(n, q):
    """The mean of |X / n - q| for X votes of n that each fall to a class with probability q."""
    return math.fsum(
        math.comb(n, k) * q**k * (1 - q) ** (n - k) * abs(k / n - q) for k in range(n + 1)
    )
