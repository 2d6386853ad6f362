"""All measures of a model beside people from their definitions, for arrays; numpy only.

Written from docs/metrics.md for sets too large for `slow_human`; shares no code with `core`.
"""

import numpy as np


def probabilities(logits):
    """Return the softmax of (N, K) logits."""
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def entropies(p):
    """Return the entropy of each row in nats, with 0 log 0 = 0."""
    logs = np.zeros_like(p)
    np.log(p, out=logs, where=p > 0.0)
    return -np.einsum("nk,nk->n", p, logs)


def alike(logits, votes):
    """Return whether the model puts each class above every class with fewer votes."""
    fewer = votes[:, :, None] > votes[:, None, :]
    below = logits[:, :, None] > logits[:, None, :]
    return ~(fewer & ~below).any(axis=(1, 2))


def by_bin(confidence, agreement, n_bins=15):
    """Return count, mean confidence and agreement of each bin (b / B, (b + 1) / B] with rows."""
    uppers = np.array([(b + 1) / n_bins for b in range(n_bins)])
    index = (confidence[:, None] > uppers[:-1]).sum(axis=1)
    return [
        (inside.sum(), confidence[inside].mean(), agreement[inside].mean())
        for inside in (index == b for b in range(n_bins))
        if inside.any()
    ]


def by_disagreement(entropy, n_groups=10):
    """Return the rows of each group: equal entropies lie in the tenth of the middle of them."""
    groups = {}
    rounded = np.round(entropy, 12)
    for level in sorted(set(rounded.tolist())):
        rows = np.flatnonzero(rounded == level)
        middle = (rounded < level).sum() + rows.size / 2
        tenth = min(int(n_groups * middle / entropy.size), n_groups - 1)
        groups.setdefault(tenth, []).extend(rows.tolist())
    return [np.array(rows) for _, rows in sorted(groups.items())]


def measures(logits, votes):
    """Return every number of the audit of (N, K) logits against (N, K) votes, by name."""
    p = probabilities(logits)
    h = votes / votes.sum(axis=1, keepdims=True)
    rows = np.arange(len(p))
    answer = p.argmax(axis=1)
    confidence, agreement = p[rows, answer], h[rows, answer]
    gap = entropies(p) - entropies(h)
    log_p = logits - np.logaddexp.reduce(logits, axis=1)[:, None]
    bins = by_bin(confidence, agreement)
    groups = by_disagreement(entropies(h))
    return {
        "tvd": (0.5 * np.abs(p - h).sum(axis=1)).mean(),
        "entropy_gap": np.abs(gap).mean(),
        "entropy_gap_signed": gap.mean(),
        "rank": alike(logits, votes).mean(),
        "soft_nll": -(h * log_p).sum(axis=1).mean(),
        "ece_votes": sum(n * abs(c - a) for n, c, a in bins) / len(p),
        "least soft_nll": entropies(h).mean(),
        "confidence": confidence.mean(),
        "agreement": agreement.mean(),
        "bins": bins,
        "groups": [
            (g.size, entropies(h)[g].mean(), confidence[g].mean(), agreement[g].mean())
            for g in groups
        ],
    }
