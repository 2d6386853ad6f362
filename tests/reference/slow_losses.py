"""Second, slow and obvious implementations of the losses: one row, one bin at a time."""

import math
from itertools import pairwise


def _softmax(z):
    powers = [math.exp(x - max(z)) for x in z]
    return [power / math.fsum(powers) for power in powers]


def _gamma(name, settings, p, bins):
    """The gamma that a loss gives to a sample whose true class has probability p."""
    if name in ("focal", "inverse_focal", "dual_focal", "fcl", "fcl_l1"):
        return settings["gamma"]
    if name == "flsd_53":
        return 5 if p < 0.2 else 3
    if name == "fla_53":
        return 5 if p <= 0.19 else 3
    if name == "fla_532":
        return 5 if p <= 0.19 else 3 if p <= 0.5 else 2
    if name in ("fls_532", "fls_531"):
        return 5  # of the first epoch
    b = bin_of(p, bins["edges"])
    if name == "calfocal_1":
        accuracy = bins["accuracy"][b]
        return 1.0 if math.isnan(accuracy) else math.exp(settings["lambda"] * (p - accuracy))
    return bins["gamma"][b]


def bin_of(p, edges):
    """First bin below its upper edge, last bin from its lower edge, else the first that holds p."""
    n_bins = len(edges) - 1
    for b in range(n_bins):
        above = b == 0 or p >= edges[b]
        below = b == n_bins - 1 or p < edges[b + 1]
        if above and below:
            return b
    raise AssertionError("a bin for every p")


def true_class_loss(name, settings, p, below, bins):
    """A loss of p, the probability of what is true; `below` is the largest one under p."""
    gamma = _gamma(name, settings, p, bins)
    if name == "dual_focal":
        return -((1 - p + below) ** gamma) * math.log(p)
    if name == "inverse_focal" or gamma < 0:
        return -((1 + p) ** abs(gamma)) * math.log(p)
    return -((1 - p) ** gamma) * math.log(p)


def row_loss(name, settings, z, y, bins):
    """The loss of one row over classes, without the batch terms of MMCE."""
    p = _softmax(z)
    squares = math.fsum((q - (k == y)) ** 2 for k, q in enumerate(p))
    if name == "brier":
        return squares
    if name in ("ce", "mmce", "mmce_weighted"):
        return -math.log(p[y])
    if name == "ls":
        eps = settings["smoothing"]
        share = [(1 - eps) * (k == y) + eps / len(p) for k in range(len(p))]
        return -math.fsum(s * math.log(q) for s, q in zip(share, p, strict=True))
    below = max((q for q in p if q < p[y]), default=0.0)
    found = true_class_loss(name, settings, p[y], below, bins)
    if name == "fcl":
        found += settings["lambda"] * squares
    if name == "fcl_l1":
        found += settings["lambda"] * math.fsum(abs(q - (k == y)) for k, q in enumerate(p))
    return found


def label_loss(name, settings, z, y, bins):
    """The loss of one label with logit z."""
    yes = 1 / (1 + math.exp(-z))
    p = yes if y else 1 - yes
    if name == "brier":
        return (yes - y) ** 2
    if name == "ce":
        return -math.log(p)
    if name == "ls":
        eps = settings["smoothing"]
        return -(1 - eps / 2) * math.log(p) - eps / 2 * math.log(1 - p)
    found = true_class_loss(name, settings, p, 0.0, bins)
    if name in ("fcl", "fcl_l1"):
        found += settings["lambda"] * abs(yes - y) ** (2 if name == "fcl" else 1)
    return found


def mmce(confidence, correct, *, weighted):
    """MMCE by its definition: sums over pairs, kernel of width 0.4."""
    rows = list(zip(confidence, correct, strict=True))
    n_hits = sum(correct)
    n_misses = len(rows) - n_hits
    if weighted and not (n_hits and n_misses):
        return 0.0
    total = 0.0
    for c, hit in rows:
        for other, other_hit in rows:
            k = math.exp(-abs(c - other) / 0.4)
            if not weighted:
                total += (hit - c) * (other_hit - other) * k / len(rows) ** 2
            elif hit and other_hit:
                total += (1 - c) * (1 - other) * k / n_hits**2
            elif not hit and not other_hit:
                total += c * other * k / n_misses**2
            else:
                total -= (
                    (1 - c if hit else c)
                    * (1 - other if other_hit else other)
                    * k
                    / (n_hits * n_misses)
                )
    return math.sqrt(total) if weighted else total


def batch_loss(name, settings, logits, targets, *, multilabel, bins=None):
    """The mean over the rows of a batch."""
    one = label_loss if multilabel else row_loss
    rows = []
    for z, y in zip(logits.tolist(), targets.tolist(), strict=True):
        pairs = zip(z, y, strict=True) if multilabel else [(z, y)]
        rows.append(math.fsum(one(name, settings, a, b, bins) for a, b in pairs))
    mean = math.fsum(rows) / len(rows)
    if name in ("mmce", "mmce_weighted"):
        p = [_softmax(z) for z in logits.tolist()]
        confidence = [max(q) for q in p]
        correct = [q.index(max(q)) == y for q, y in zip(p, targets.tolist(), strict=True)]
        mean += settings["lambda"] * mmce(confidence, correct, weighted=name == "mmce_weighted")
    return mean


def equal_mass_bins(confidence, correct, n_bins):
    """Edges interpolated between the sorted confidences, and (count, C, A) of each (low, high]."""
    ranked = sorted(confidence)
    n = len(ranked)
    edges = []
    for k in range(n_bins + 1):
        at = min(k * n / n_bins, n - 1)
        low = min(int(at), n - 1)
        high = min(low + 1, n - 1)
        edges.append(ranked[low] + (at - low) * (ranked[high] - ranked[low]))
    table = []
    for low, high in pairwise(edges):
        inside = [(c, hit) for c, hit in zip(confidence, correct, strict=True) if low < c <= high]
        count = len(inside)
        sums = [math.fsum(column) for column in zip(*inside, strict=True)] or [0.0, 0.0]
        table.append((count, *(s / count if count else math.nan for s in sums)))
    return edges, table


def adafocal_gamma(gamma, gap, *, rate=1.0, gamma_max=20.0, gamma_min=-2.0, s_th=0.2):
    """One gamma after one update, and whether it changed sides."""
    gamma = gamma * math.exp(rate * gap if gamma > 0 else -rate * gap)
    switched = abs(gamma) < s_th
    if switched:
        gamma = -s_th if gamma > 0 else s_th
    return min(max(gamma, gamma_min), gamma_max), switched


def replayed(validation, labels, n_bins, **rule):
    """Bins and gammas of each epoch of AdaFocal, from its validation logits alone."""
    gamma, history = [1.0] * n_bins, []
    for logits in validation:
        p = [_softmax(z) for z in logits]
        confidence = [max(q) for q in p]
        correct = [q.index(max(q)) == y for q, y in zip(p, labels, strict=True)]
        edges, table = equal_mass_bins(confidence, correct, n_bins)
        rows = []
        for b, (count, claimed, right) in enumerate(table):
            gap = claimed - right if count else 0.0
            gamma[b], _ = adafocal_gamma(gamma[b], gap, **rule)
            row = {"lower": edges[b], "upper": edges[b + 1], "count": count, "gap": gap}
            rows.append(row | {"confidence": claimed, "accuracy": right, "gamma": gamma[b]})
        history.append(rows)
    return history
