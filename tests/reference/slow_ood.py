"""Second, slow and obvious implementations of out-of-distribution numbers: pairs and loops."""

import math
from fractions import Fraction


def entropy(logits, temperature=1.0):
    """Entropy of the softmax of one row, by sums that lose nothing."""
    z = [float(v) / temperature for v in logits]
    top = max(z)
    powers = [math.exp(v - top) for v in z]
    total = math.fsum(powers)
    log_p = [v - top - math.log(total) for v in z]
    return -math.fsum(math.exp(lp) * lp for lp in log_p if lp > -math.inf)


def one_minus_largest(logits, temperature=1.0):
    z = [float(v) / temperature for v in logits]
    top = max(z)
    powers = [math.exp(v - top) for v in z]
    return 1.0 - max(powers) / math.fsum(powers)


def energy(logits, temperature=1.0):
    z = [float(v) / temperature for v in logits]
    top = max(z)
    return -temperature * (top + math.log(math.fsum(math.exp(v - top) for v in z)))


def auroc(inside, outside):
    """Share of pairs that are ordered rightly, ties one half: exact."""
    wins = sum(2 if out > own else 1 if out == own else 0 for own in inside for out in outside)
    return Fraction(wins, 2 * len(inside) * len(outside))


def thresholds(inside, outside):
    """Every place where rows can be cut, from flagging all to flagging none."""
    return [-math.inf, *sorted({*inside, *outside})]


def aupr(positives, negatives):
    """Average precision: sum of precision times the rise of recall, best score first."""
    area, before = Fraction(0), 0
    for score in sorted({*positives, *negatives}, reverse=True):
        found = sum(value >= score for value in positives)
        seen = found + sum(value >= score for value in negatives)
        area += Fraction(found - before, len(positives)) * Fraction(found, seen)
        before = found
    return area


def fpr(positives, negatives, share=Fraction(95, 100)):
    """Share of negatives at the highest score that finds that share of the positives."""
    for score in sorted({*positives, *negatives}, reverse=True):
        if Fraction(sum(value >= score for value in positives), len(positives)) >= share:
            return Fraction(sum(value >= score for value in negatives), len(negatives))
    raise AssertionError


def detection_error(inside, outside):
    return min(
        Fraction(sum(v <= t for v in outside), 2 * len(outside))
        + Fraction(sum(v > t for v in inside), 2 * len(inside))
        for t in thresholds(inside, outside)
    )


def kernel(own, out):
    return 1.0 if out > own else 0.5 if out == own else 0.0


def delong_variance(inside, outside):
    """Variance of the AUROC by the structural components of DeLong et al. 1988."""
    by_out = [math.fsum(kernel(x, y) for x in inside) / len(inside) for y in outside]
    by_in = [math.fsum(kernel(x, y) for y in outside) / len(outside) for x in inside]
    return variance_of_mean(by_out) + variance_of_mean(by_in)


def delong_difference_variance(one, other):
    """Variance of the difference of two AUROCs on the same rows."""
    total = 0.0
    for side in (0, 1):
        gaps = []
        for i in range(len(one[side])):
            gap = []
            for inside, outside in (one, other):
                rows = outside if side == 0 else inside
                own = (inside, outside)[side][i]
                pairs = (kernel(own, r) if side == 0 else kernel(r, own) for r in rows)
                gap.append(math.fsum(pairs) / len(rows))
            gaps.append(gap[0] - gap[1])
        total += variance_of_mean(gaps)
    return total


def variance_of_mean(values):
    n = len(values)
    centre = math.fsum(values) / n
    return math.fsum((v - centre) ** 2 for v in values) / max(n - 1, 1) / n
