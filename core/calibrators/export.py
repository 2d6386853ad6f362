"""A fitted calibrator as a few lines of Python that need nothing installed."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from core.calibrators.base import Calibrator
from core.calibrators.isotonic import Isotonic
from core.calibrators.per_label import PerLabel

Constants = Callable[[Any], tuple[object, ...]]  # Any: the calibrator whose parameters are read

# No line walks over all classes once for each class, but those that multiply by a matrix: a row of
# 1,000 classes takes about a millisecond.

SOFTMAX = """\
def softmax(z):
    top = max(z)
    e = [math.exp(x - top) for x in z]
    total = sum(e)
    return [x / total for x in e]
"""

LABELS = '''\
def calibrate_labels(row):
    """Calibrated probability of each label from one row of logits."""
    pairs = [([0.0, s], p) for s, p in zip(row, LABELS)]
    return [(calibrate(z, p) if p else softmax(z))[1] for z, p in pairs]
'''

TEMPERATURE = """\
    (t,) = p
    return softmax([x / t for x in z])
"""

# Below 1e-300 nothing changes in float64: no class moves by more than 1e-15. What the largest class
# leaves to the others is summed without it; from the total, it would be lost in rounding.
FOCAL = """\
    (t, g), i, w = p, z.index(max(z)), []
    e = [math.exp((v - z[i]) / t) for v in z]
    total, rest = sum(e), sum(e[:i] + e[i + 1:])
    for k, v in enumerate(e):
        q = max(v / total, 1e-300)
        u = max((rest if k == i else total - v) / total, 1e-300)
        log_q = math.log1p(-u) if u < 0.5 else math.log(q)
        w.append(log_q - g * math.log(u) - math.log1p(-g * q * log_q / u))
    return softmax(w)
"""

ENSEMBLE = """\
    t, (a, b, c) = p
    sharp, plain = softmax([x / t for x in z]), softmax(z)
    return [a * x + b * y + c / len(z) for x, y in zip(sharp, plain)]
"""

VECTOR = """\
    w, b, centred = p
    shift = centred * sum(z) / len(z)
    z = [x - shift for x in z]
    return softmax([a * x + c for a, x, c in zip(w, z, b)])
"""

MATRIX = """\
    w, b, centred = p
    shift = centred * sum(z) / len(z)
    z = [x - shift for x in z]
    return softmax([sum(a * x for a, x in zip(row, z)) + c for row, c in zip(w, b)])
"""

DIRICHLET = """\
    w, b = p
    top = max(z)
    norm = top + math.log(sum(math.exp(x - top) for x in z))
    z = [x - norm for x in z]
    return softmax([sum(a * x for a, x in zip(row, z)) + c for row, c in zip(w, b)])
"""

RISE = """\
def rise(v, x, y):
    if v <= x[0] or v >= x[-1]:
        return y[0] if v <= x[0] else y[-1]
    k = bisect.bisect_right(x, v)
    return y[k - 1] + (y[k] - y[k - 1]) * (v - x[k - 1]) / (x[k] - x[k - 1])
"""

ONE_VS_REST_END = """\
    q = [1 - q[0], *q] if len(q) == 1 else q
    total = sum(q)
    return [x / total if total else 1 / len(q) for x in q]
"""

ISOTONIC = (
    """\
    pairs = zip(softmax(z)[-len(p):], p)
    q = [(rise(v, x, y) + 1e-9 * v) / (1 + 1e-9) for v, (x, y) in pairs]
"""
    + ONE_VS_REST_END
)

ORDERED = """\
    x, y = p
    q = [rise(v, x, y) + 1e-9 * v for v in softmax(z)]
    total = sum(q)
    return [v / total for v in q]
"""

HISTOGRAM = (
    """\
    q, n = softmax(z)[-len(p):], len(p[0])
    edges = [k / n for k in range(1, n)]
    q = [row[bisect.bisect_left(edges, v)] for v, row in zip(q, p)]
"""
    + ONE_VS_REST_END
)

# The gap is a class's logit less the log-sum-exp of the others; of the largest class, whose others
# would be lost in rounding, they are summed without it.
BETA = (
    """\
    q, i = [], z.index(max(z))
    e, rest = [math.exp(v - z[i]) for v in z], z[:i] + z[i + 1:]
    total, top = sum(e), max(rest)
    lead = z[i] - top - math.log(sum(math.exp(v - top) for v in rest))
    for k, (a, b, c) in enumerate(p, start=len(z) - len(p)):
        gap = lead if k == i else z[k] - z[i] - math.log(total - e[k])
        low = math.log1p(math.exp(-abs(gap)))
        s = a * (min(gap, 0.0) - low) + b * (max(gap, 0.0) + low) + c
        q.append(softmax([0.0, s])[1])
"""
    + ONE_VS_REST_END
)

SPLINE = """\
    (x, y), q = p, softmax(z)
    k = 1 if len(z) == 2 else q.index(max(q))
    new = rise(q[k], x, y)
    rest = [(1 - new) * v for v in softmax(z[:k] + z[k + 1:])]
    return rest[:k] + [new] + rest[k:]
"""


def _isotonic(c: Isotonic) -> tuple[object, ...]:
    ends = np.concatenate([[0], np.cumsum(c.sizes_)]).astype(int)
    return tuple((c.x_[a:b].tolist(), c.y_[a:b].tolist()) for a, b in pairwise(ends))


BODIES: dict[str, tuple[str, Constants]] = {
    "ts": (TEMPERATURE, lambda c: (float(c.temperature_),)),
    "focal_map": (FOCAL, lambda c: (1.0, float(c.gamma_))),
    "focal_ts": (FOCAL, lambda c: (float(c.temperature_), float(c.gamma_))),
    "ets": (ENSEMBLE, lambda c: (float(c.temperature_), c.weights_.tolist())),
    "vector": (VECTOR, lambda c: (c.weights_.tolist(), c.bias_.tolist(), c.centred)),
    "matrix": (MATRIX, lambda c: (c.weights_.tolist(), c.bias_.tolist(), c.centred)),
    "dirichlet": (DIRICHLET, lambda c: (c.weights_.tolist(), c.bias_.tolist())),
    "isotonic": (ISOTONIC, _isotonic),
    "isotonic_ordered": (ORDERED, lambda c: (c.x_.tolist(), c.y_.tolist())),
    "histogram": (HISTOGRAM, lambda c: tuple(c.frequencies_.tolist())),
    "spline": (SPLINE, lambda c: (c.scores_.tolist(), c.recalibrated_.tolist())),
    "beta": (BETA, lambda c: tuple(np.stack([c.a_, c.b_, c.c_], axis=1).tolist())),
}


def code(calibrator: Calibrator | PerLabel) -> str:
    """Return Python source that calibrates one row of logits with the standard library only.

    Parameters
    ----------
    calibrator : Calibrator or PerLabel
        Fitted.

    Returns
    -------
    str
        Defines `calibrate(z)`, from a list of K finite logits to K probabilities; a single binary
        logit s is passed as [0.0, s]. For multi-label files `calibrate_labels(row)`, from L
        logits to L probabilities. Agrees with `predict_proba` to 1e-12.

    Raises
    ------
    AuditError
        NOT_FITTED.
    """
    calibrator.parameters()  # raises where there are none
    body, constants = BODIES[calibrator.name]
    helpers = [SOFTMAX, *([RISE] if "rise(" in body else [])]
    modules = ["bisect"] if "bisect" in "".join([*helpers, body]) else []
    imports = "".join(f"import {name}\n" for name in [*modules, "math"])
    if isinstance(calibrator, PerLabel):
        values = [member and constants(member) for member in calibrator.members_]
        head, tail = f"LABELS = {values!r}\n", [LABELS]
        signature = "def calibrate(z, p):\n"
    else:
        head, tail = f"PARAMETERS = {constants(calibrator)!r}\n", []
        signature = "def calibrate(z, p=PARAMETERS):\n"
    doc = f'    """{calibrator.label}: probabilities from one row of logits."""\n'
    return "\n\n".join([imports + "\n" + head, *helpers, signature + doc + body, *tail])
