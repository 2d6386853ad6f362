"""Second, slow and obvious implementations of the calibrators: loops over rows, many digits.

By the key of a method: `ts_row` maps one row by what was found, `fit_ts` finds it. A fit that has
no numbers of its own returns the calibrated fitting rows.
"""

import math
from itertools import pairwise
from typing import Any

import mpmath as mp
import numpy as np
from scipy.optimize import minimize

DIGITS = 60


def focal_map_logs(logits, gamma):
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


def ts_row(z, found):
    return _softmax([x / found["temperature"] for x in z])


def focal_map_row(z, found):
    return [math.exp(x) for x in focal_map_logs(z, found["gamma"])]


def focal_ts_row(z, found):
    return focal_map_row([x / found["temperature"] for x in z], found)


def ets_row(z, found):
    sharp, plain = _softmax([x / found["temperature"] for x in z]), _softmax(z)
    a, b, c = found["weights"]
    return [a * s + b * p + c / len(z) for s, p in zip(sharp, plain, strict=True)]


def centred(z):
    return [x - math.fsum(z) / len(z) for x in z]


def vector_row(z, found):
    rows = zip(found["weights"], centred(z), found["bias"], strict=True)
    return _softmax([w * x + b for w, x, b in rows])


def matrix_row(z, found):
    return linear_row(centred(z), found)


def linear_row(z, found):
    rows = zip(found["weights"], found["bias"], strict=True)
    return _softmax([math.fsum(w * x for w, x in zip(row, z, strict=True)) + b for row, b in rows])


def dirichlet_row(z, found):
    return linear_row([math.log(p) for p in _softmax(z)], found)


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
    blocks: list[list[Any]] = []
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


def focal_row(z, gamma):
    """The map of one row from w = q / g(q), in double precision: for rows that are not sharp."""
    q = _softmax(z)
    return _normalised(
        [p / ((1 - p) ** gamma - gamma * p * (1 - p) ** (gamma - 1) * math.log(p)) for p in q]
    )


def mean_nll(rows, labels):
    return -math.fsum(math.log(p[y]) for p, y in zip(rows, labels, strict=True)) / len(labels)


def _lowest(value, start):
    """Walk downhill by differences of values only, from a start and from where that ended."""
    for _ in range(3):
        start = minimize(value, start, method="BFGS", options={"gtol": 1e-9}).x
    return minimize(value, start, method="Nelder-Mead", options={"fatol": 1e-14}).x


def fit_ts(logits, labels):
    (log_t,) = _lowest(lambda x: _tempered_nll(logits, labels, x[0], 0.0), [0.0])
    return {"temperature": math.exp(log_t)}


def fit_focal_map(logits, labels):
    (log_g,) = _lowest(lambda x: _tempered_nll(logits, labels, 0.0, x[0]), [0.1])
    return {"gamma": math.expm1(log_g)}


def fit_focal_ts(logits, labels):
    log_t, log_g = _lowest(lambda x: _tempered_nll(logits, labels, *x), [0.0, 0.1])
    return {"temperature": math.exp(log_t), "gamma": math.expm1(log_g)}


def _tempered_nll(logits, labels, log_t, log_g):
    """In log T and log(gamma + 1), which may take any value."""
    rows = [focal_row([x / math.exp(log_t) for x in z], math.expm1(log_g)) for z in logits]
    return mean_nll(rows, labels)


def fit_ets(logits, labels):
    """Temperature alone first; then weights as squares over their sum, so that none is below 0."""
    found = fit_ts(logits, labels)

    def weighted(x):
        squares = [v * v for v in x]
        return {**found, "weights": [v / math.fsum(squares) for v in squares]}

    best = _lowest(
        lambda x: mean_nll([ets_row(z, weighted(x)) for z in logits], labels), [0.8, 0.5, 0.3]
    )
    return weighted(best)


def fit_vector(logits, labels):
    n_classes = len(logits[0])

    def named(x):
        return {"weights": x[:n_classes], "bias": x[n_classes:] - np.mean(x[n_classes:])}

    start = [1.0] * n_classes + [0.0] * n_classes
    return named(
        _lowest(lambda x: mean_nll([vector_row(z, named(x)) for z in logits], labels), start)
    )


def fit_matrix(logits, labels, penalty, row=matrix_row):
    """Cross-entropy plus lambda mean (off-diagonal^2) plus mu mean (bias^2), lambda = mu."""
    n_classes = len(logits[0])

    def named(x):
        weights = x[: n_classes**2].reshape(n_classes, n_classes)
        return {"weights": weights, "bias": x[n_classes**2 :]}

    def value(x):
        found = named(x)
        off = [found["weights"][i][j] for i in range(n_classes) for j in range(n_classes) if i != j]
        penalised = np.mean(np.square(off)) + np.mean(np.square(found["bias"]))
        return mean_nll([row(z, found) for z in logits], labels) + penalty * penalised

    return named(_lowest(value, np.append(np.eye(n_classes).ravel(), np.zeros(n_classes))))


def fit_dirichlet(logits, labels, penalty):
    return fit_matrix(logits, labels, penalty, dirichlet_row)


def fit_beta(logits, labels):
    """One likelihood a class, in squares of a and b, so that neither is below 0."""
    rows = [_softmax(z) for z in logits]
    n_classes = len(rows[0])
    found = {"a": [], "b": [], "c": []}
    for k in range(n_classes) if n_classes > 2 else [1]:
        p, y = [row[k] for row in rows], [label == k for label in labels]

        def value(x, p=p, y=y):
            s = [x[0] ** 2 * math.log(v) - x[1] ** 2 * math.log(1 - v) + x[2] for v in p]
            signed = [v if hit else -v for v, hit in zip(s, y, strict=True)]
            return math.fsum(math.log1p(math.exp(-v)) for v in signed) / len(signed)

        a, b, c = _lowest(value, [1.0, 1.0, 0.0])
        for name, one in zip("abc", (a * a, b * b, c), strict=True):
            found[name].append(one)
    return found


def fit_spline(logits, labels):
    """Calibrated score of each fitting row, scores all different: a natural spline by its basis.

    With knots t_1 .. t_6 the basis is 1, x and d_k - d_5, k = 1 .. 4, where
    d_k = ((x - t_k)_+^3 - (x - t_6)_+^3) / (t_6 - t_k).
    """
    rows = [_softmax(z) for z in logits]
    at = [1 if len(p) == 2 else p.index(max(p)) for p in rows]
    score = [p[k] for p, k in zip(rows, at, strict=True)]
    order = sorted(range(len(rows)), key=score.__getitem__)
    knots = [k / 5 for k in range(6)]

    def d(x, k, power):
        above = max(x - knots[k], 0.0) ** power - max(x - knots[5], 0.0) ** power
        return above / (knots[5] - knots[k])

    def basis(x):
        return [1.0, x, *(d(x, k, 3) - d(x, 4, 3) for k in range(4))]

    def slopes(x):
        return [0.0, 1.0, *(3 * (d(x, k, 2) - d(x, 4, 2)) for k in range(4))]

    n, total, gaps = len(rows), 0.0, []
    for i in order:
        total += ((at[i] == labels[i]) - score[i]) / n
        gaps.append(total)
    x = [rank / (n - 1) for rank in range(n)]
    weights = np.linalg.lstsq(np.array([basis(v) for v in x]), np.array(gaps), rcond=None)[0]
    new = [0.0] * n
    for i, v in zip(order, x, strict=True):
        new[i] = min(max(score[i] + float(np.dot(slopes(v), weights)), 0.0), 1.0)
    return new
