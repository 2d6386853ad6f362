"""A fitted calibrator as a few lines of Python that need nothing installed."""

from core.calibrators.base import Calibrator
from core.calibrators.per_label import PerLabel

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

RISE = """\
def rise(v, x, y):
    if v <= x[0] or v >= x[-1]:
        return y[0] if v <= x[0] else y[-1]
    k = bisect.bisect_right(x, v)
    return y[k - 1] + (y[k] - y[k - 1]) * (v - x[k - 1]) / (x[k] - x[k - 1])
"""


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
    method = calibrator.make() if isinstance(calibrator, PerLabel) else calibrator
    body = method.program
    helpers = [SOFTMAX, *([RISE] if "rise(" in body else [])]
    modules = ["bisect"] if "bisect" in "".join([*helpers, body]) else []
    imports = "".join(f"import {name}\n" for name in [*modules, "math"])
    if isinstance(calibrator, PerLabel):
        values = [member and member.constants() for member in calibrator.members_]
        head, tail = f"LABELS = {values!r}\n", [LABELS]
        signature = "def calibrate(z, p):\n"
    else:
        head, tail = f"PARAMETERS = {calibrator.constants()!r}\n", []
        signature = "def calibrate(z, p=PARAMETERS):\n"
    doc = f'    """{calibrator.label}: probabilities from one row of logits."""\n'
    return "\n\n".join([imports + "\n" + head, *helpers, signature + doc + body, *tail])
