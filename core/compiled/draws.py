"""Whole numbers drawn from their laws, many at a time, by inversion.

The terms of a law follow from each other by multiplying and dividing, from its likeliest value
outward, and add up to a table that uniform numbers are looked up in. No logarithm or power is taken
and no product is added to, so every machine draws the same.
"""

import numpy as np
import numpy.typing as npt

from core.compiled.jit import compiled

Float = npt.NDArray[np.float64]
Int = npt.NDArray[np.int64]
Drawn = npt.NDArray[np.int32]

_LEAST = 1e-18  # of the likeliest term: what lies beyond has less than a uniform number can tell
_SPREADS, _MORE = 10.0, 40  # values on either side of the likeliest hold all terms above that
_FLOATS = "Array(float64, 1, 'C', readonly=True)"
_NUMBERS = "Array(int64, 1, 'C', readonly=True)"
_UNIFORM = "Array(float64, 2, 'C', readonly=True)"


@compiled(as_written=True)
def _ratio(value: int, trials: int, rate: float) -> float:
    """Return the term of a value over that before; without trials Poisson, else by the odds."""
    return rate / value if trials == 0 else (trials + 1 - value) * rate / value


@compiled(as_written=True)
def _terms(likeliest: int, trials: int, rate: float, out: Float) -> tuple[int, int]:
    """Write the terms around the likeliest value, 1 in the middle; return where they lie."""
    middle = out.size // 2
    low = high = middle
    out[middle] = 1.0
    # Downwards each term is divided by its ratio, upwards multiplied: no factorial is needed.
    while out[low] > _LEAST and low > 0 and likeliest - middle + low > 0:
        out[low - 1] = out[low] / _ratio(likeliest - middle + low, trials, rate)
        low -= 1
    while out[high] > _LEAST and high < out.size - 1:
        out[high + 1] = out[high] * _ratio(likeliest - middle + high + 1, trials, rate)
        high += 1
    return low, high + 1


@compiled(as_written=True)
def _sum_up(terms: Float) -> None:
    """Turn terms into the share up to each of them; that of the last is 1."""
    total = 0.0
    for k in range(terms.size):
        total += terms[k]
        terms[k] = total
    for k in range(terms.size):
        terms[k] /= total


@compiled(as_written=True)
def _guide(shares: Float) -> Int:
    """Return the place of the lowest uniform number in each of as many even parts of [0, 1)."""
    guide = np.empty(shares.size, np.int64)
    k = 0
    for part in range(guide.size):
        # As many parts as places: from its part a number is hardly a step away.
        while shares[k] * guide.size <= part:
            k += 1
        guide[part] = k
    return guide


@compiled(as_written=True)
def _place(uniform: float, shares: Float, guide: Int) -> int:
    """Return the first place whose share is above a uniform number."""
    k: int = guide[int(uniform * guide.size)]
    while shares[k] <= uniform:
        k += 1
    return k


@compiled(as_written=True)
def _draw(
    likeliest: int, spread: float, law: tuple[int, float], uniform: Float, out: Drawn
) -> None:
    """Draw a value for each uniform number."""
    table = np.empty(2 * (int(_SPREADS * spread) + _MORE) + 1)
    low, high = _terms(likeliest, law[0], law[1], table)
    shares = table[low:high]
    _sum_up(shares)
    guide, first = _guide(shares), likeliest - table.size // 2 + low
    for r in range(uniform.size):
        out[r] = first + _place(uniform[r], shares, guide)


@compiled(f"void({_FLOATS}, {_UNIFORM}, int64[::1], int32[:, ::1])", as_written=True)
def write_poisson(mean: Float, uniform: Float, lines: Int, out: Drawn) -> None:
    """Draw from Poisson laws.

    Parameters
    ----------
    mean : (L,) float64
        At least 0.
    uniform : (L, R) float64
        In [0, 1).
    lines : (L,) int64
        Of `out`, a law each.
    out : (C, R) int32
        Written: the smallest values whose share up to them is above `uniform`.
    """
    for c in range(mean.size):
        _draw(int(mean[c]), np.sqrt(mean[c]), (0, mean[c]), uniform[c], out[lines[c]])


@compiled(f"void({_NUMBERS}, {_FLOATS}, {_UNIFORM}, int32[:, ::1])", as_written=True)
def write_binomial(trials: Int, share: Float, uniform: Float, out: Drawn) -> None:
    """Draw from a binomial law a line.

    Parameters
    ----------
    trials : (C,) int64
        At least 1.
    share : (C,) float64
        Of successes, in [0, 1]. Above one half failures are drawn.
    uniform : (C, R) float64
        In [0, 1).
    out : (C, R) int32
        Written: successes; as many as `write_poisson` has it, or above one half failures.
    """
    for c in range(trials.size):
        # The rarer outcome has the shorter table, and odds that stay finite.
        n, failures = trials[c], share[c] > 0.5
        p = 1.0 - share[c] if failures else share[c]
        spread = np.sqrt(n * p * (1.0 - p))
        _draw(int((n + 1) * p), spread, (n, p / (1.0 - p)), uniform[c], out[c])
        if failures:
            out[c] = n - out[c]


@compiled(f"void({_NUMBERS}, {_FLOATS}, {_NUMBERS}, int32[:, ::1])", as_written=True)
def add_drawn(rows: Int, uniform: Float, more: Int, out: Drawn) -> None:
    """Draw rows one by one, and count each in its category.

    Parameters
    ----------
    rows : (C,) int64
        Of each category; at least one in all.
    uniform : (M,) float64
        In [0, 1).
    more : (R,) int64
        Rows of each resample, M in all.
    out : (C, R) int32
        Added to.
    """
    shares = rows.astype(np.float64)
    _sum_up(shares)
    guide, at = _guide(shares), 0
    for r in range(more.size):
        for _ in range(more[r]):
            out[_place(uniform[at], shares, guide), r] += 1
            at += 1
