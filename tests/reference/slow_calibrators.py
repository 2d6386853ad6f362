"""Second, slow and obvious implementations of the calibrators: loops over rows, many digits."""

import math
from itertools import pairwise

import mpmath as mp

DIGITS = 60


def focal_map_row(logits, gamma):
    """Logarithms of the focal calibration map of one row, from the definition, in 60 digits."""
    with mp.workdps(DIGITS):
        powers = [mp.exp(mp.mpf(z)) for z in logits]
        total = mp.fsum(powers)
        q = [power / total for power in powers]
        rest = [mp.fsum(q[:k] + q[k + 1 :]) for k in range(len(q))]
        logs = [mp.log1p(-u) if u < 0.5 else mp.log(p) for p, u in zip(q, rest, strict=True)]
        gamma = mp.mpf(gamma)
        # w = 1 / -phi'(q), phi(q) = -(1 - q)^gamma log q
        slopes = [
            u**gamma / p - gamma * u ** (gamma - 1) * log
            for p, u, log in zip(q, rest, logs, strict=True)
        ]
        weights = [1 / slope for slope in slopes]
        norm = mp.fsum(weights)
        return [float(mp.log(w / norm)) for w in weights]


def _softmax(z):
    powers = [math.exp(x - max(z)) for x in z]
    return [power / math.fsum(powers) for power in powers]


def _normalised(q):
    if len(q) == 1:
        return [1.0 - q[0], q[0]]
    total = math.fsum(q)
    return [x / total for x in q] if total else [1.0 / len(q)] * len(q)


def _line(v, x, y):
    """The broken line through (x, y), flat outside."""
    if v <= x[0]:
        return y[0]
    for (x0, y0), (x1, y1) in pairwise(zip(x, y, strict=True)):
        if v <= x1:
            return y0 + (y1 - y0) * (v - x0) / (x1 - x0)
    return y[-1]


def ensemble_row(z, found):
    sharp, plain = _softmax([x / found["temperature"] for x in z]), _softmax(z)
    a, b, c = found["weights"]
    return [a * s + b * p + c / len(z) for s, p in zip(sharp, plain, strict=True)]


def vector_row(z, found):
    rows = zip(found["weights"], z, found["bias"], strict=True)
    return _softmax([w * x + b for w, x, b in rows])


def matrix_row(z, found):
    rows = zip(found["weights"], found["bias"], strict=True)
    return _softmax([math.fsum(w * x for w, x in zip(row, z, strict=True)) + b for row, b in rows])


def dirichlet_row(z, found):
    return matrix_row([math.log(p) for p in _softmax(z)], found)


def isotonic_row(z, found):
    mapped, start = [], 0
    p = _softmax(z)
    for v, size in zip(p[1:] if len(p) == 2 else p, found["sizes"], strict=True):
        part = slice(start, start + int(size))
        mapped.append((_line(v, found["x"][part], found["y"][part]) + 1e-9 * v) / (1 + 1e-9))
        start += int(size)
    return _normalised(mapped)


def isotonic_ordered_row(z, found):
    return _normalised([_line(p, found["x"], found["y"]) + 1e-9 * p for p in _softmax(z)])


def histogram_row(z, found):
    p = _softmax(z)
    mapped = []
    for v, row in zip(p[1:] if len(p) == 2 else p, found["frequencies"], strict=True):
        upper = [(k + 1) / len(row) for k in range(len(row))]
        mapped.append(row[next(k for k, edge in enumerate(upper) if v <= edge)])
    return _normalised(mapped)


def beta_row(z, found):
    p = _softmax(z)
    mapped = []
    rows = zip(p[1:] if len(p) == 2 else p, found["a"], found["b"], found["c"], strict=True)
    for v, a, b, c in rows:
        odds = mp.exp(a * mp.log(v) - b * mp.log(1 - mp.mpf(v)) + c) if v < 1 else mp.inf
        mapped.append(1.0 if odds == mp.inf else float(odds / (1 + odds)))
    return _normalised(mapped)


def spline_row(z, found):
    p = _softmax(z)
    at = 1 if len(p) == 2 else p.index(max(p))
    new = _line(p[at], found["scores"], found["recalibrated"])
    rest = math.fsum(p[:at] + p[at + 1 :])
    return [new if k == at else (1.0 - new) * v / rest for k, v in enumerate(p)]


def pool_adjacent_violators(x, y):
    """Means of the least-squares rising map at each distinct x, by merging neighbours."""
    blocks = []
    for place in sorted(set(x)):
        own = [b for a, b in zip(x, y, strict=True) if a == place]
        blocks.append([math.fsum(own), len(own), [place]])
        while len(blocks) > 1 and blocks[-2][0] / blocks[-2][1] >= blocks[-1][0] / blocks[-1][1]:
            total, count, places = blocks.pop()
            blocks[-1] = [blocks[-1][0] + total, blocks[-1][1] + count, blocks[-1][2] + places]
    return {place: total / count for total, count, places in blocks for place in places}


def fit_isotonic(logits, labels):
    """Calibrated fitting rows: each lies on a knot or a flat piece."""
    rows = [_softmax(z) for z in logits]
    maps = [
        pool_adjacent_violators([p[k] for p in rows], [float(y == k) for y in labels])
        for k in range(len(rows[0]))
    ]
    return [_normalised([maps[k][v] + 1e-9 * v for k, v in enumerate(p)]) for p in rows]


def fit_isotonic_ordered(logits, labels):
    rows = [_softmax(z) for z in logits]
    x = [v for p in rows for v in p]
    y = [float(label == k) for p, label in zip(rows, labels, strict=True) for k in range(len(p))]
    rise = pool_adjacent_violators(x, y)
    return [_normalised([rise[v] + 1e-9 * v for v in p]) for p in rows]


def fit_histogram(logits, labels, n_bins=15):
    rows = [_softmax(z) for z in logits]

    def bin_of(v):
        return next(k for k in range(n_bins) if v <= (k + 1) / n_bins)

    out = []
    for p in rows:
        mapped = []
        for k, v in enumerate(p):
            inside = [
                y == k for q, y in zip(rows, labels, strict=True) if bin_of(q[k]) == bin_of(v)
            ]
            mapped.append(sum(inside) / len(inside))
        out.append(_normalised(mapped))
    return out
