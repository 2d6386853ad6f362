"""Errors without bins: smECE, smCE and the post-processing gap; numpy, scipy.

The smoothed gap at t is g(t) = 1/N sum_i (f_i - y_i) sum_k [phi(t - f_i - 2k) + phi(t + f_i - 2k)]
and smECE at bandwidth s is the integral of |g| over [0, 1] (Blasiok & Nakkiran 2023). The reflected
kernel is the heat kernel of [0, 1] without loss at the ends, so in the cosine basis smoothing
multiplies coefficient k by exp(-(pi k s)^2 / 2): the sum over images is exact, at the cost of
one Fourier transform a bandwidth.

smCE and the post-processing gap look for a function of the claim with slope at most 1. A linear
program finds the one that agrees most with the residuals (smCE), a recursion over the sorted claims
the one that takes most off the squared error (post-processing gap). Up to MOST distinct claims both
are exact; beyond it claims within 1 / MOST are taken at their mean. No claim moves further than
that, so smCE changes by at most 1 / MOST, and the post-processing gap by at most 4 / MOST.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from core.arrays import Float, Int
from core.metrics.binning import equal_width_cuts
from core.metrics.ranked import SortedOutcomes

NODES = 2**15  # grid intervals; cubic splitting onto it errs by less than 1e-7 at bandwidth 1/1024
POINTS = 128  # grid points a bandwidth, as far as there are nodes
HALVINGS = 22  # of the bandwidth's search: 2.4e-7
NARROWEST = 1e-3  # below it no bandwidth is searched, as in the released code
MODES = 256  # cosine terms of a resample
DRAW_HALVINGS = 12
DECAYED = 9.0  # pi k s from which a cosine term is below 3e-18 of itself
RELPLOT_HALVINGS = 10
RELPLOT_DENSITY = 1e-4  # added to the density


def smece(ranked: SortedOutcomes, *, method: str = "exact") -> float:
    """Return the smooth calibration error, in [0, 1]; lower is better.

    `method`: ``exact``: the kernel integral at the smallest bandwidth s with smECE_s <= s.
    ``relplot``: the released version: a coarser grid that halves the weight of confidences within
    about 1e-3 of 0 and 1, bandwidth a multiple of 1/1024.

    Notes
    -----
    Rows are first spread over NODES + 1 grid points by cubic splitting, which keeps the first
    three moments of their positions: for bandwidths of 1/1024 and above the result differs from
    the sum over rows by less than 1e-7.

    Examples
    --------
    >>> from core.predictions import Outcomes
    >>> round(smece(SortedOutcomes.of(Outcomes(np.full(2, 0.5), np.array([True, False])))), 6)
    0.0
    >>> round(smece(SortedOutcomes.of(Outcomes(np.ones(2), np.zeros(2, bool)))), 6)  # sure, wrong
    1.0
    """
    if method == "relplot":
        return relplot_smece(ranked)[0]
    nodes = _onto_nodes(ranked)
    # Mirrored at both ends, a Fourier transform is the cosine transform of [0, 1].
    spectrum = np.fft.rfft(np.concatenate([nodes, nodes[-2:0:-1]])).real
    return _search(lambda s: _integral(spectrum, s), HALVINGS)[0]


def _search(error_at: Callable[[float], float], halvings: int) -> tuple[float, float]:
    """Return the error at the smallest bandwidth that is at least its error, and the bandwidth."""
    low, high = 0.0, 1.0
    # smECE_s does not rise with s, so it crosses s once.
    for _ in range(halvings):
        middle = (low + high) / 2
        if middle < NARROWEST or middle < error_at(middle):
            low = middle
        else:
            high = middle
    return error_at(high), high


def _onto_nodes(ranked: SortedOutcomes) -> Float:
    """Spread each row's gap over the four nearest grid points; mirror what falls outside.

    Groups of ties enter once with their summed gap, so the order of rows does not matter. The
    end nodes are doubled: they stand for themselves and for their own mirror image.
    """
    from core.compiled.nodes import add_to_nodes

    nodes = np.zeros(NODES + 3)  # one more on either side
    add_to_nodes(ranked.confidence, ranked.cuts, ranked.ends, ranked.sum_correct, nodes)
    inner = nodes[1:-1]
    inner[1] += nodes[0]
    inner[-2] += nodes[-1]
    inner[[0, -1]] *= 2.0
    return inner / ranked.total


def _integral(spectrum: Float, bandwidth: float) -> float:
    """Integrate |smoothed gap| by the trapezoid rule, POINTS points a bandwidth.

    Terms past the grid are 0 in float64; a kink costs at most 1 / (8 POINTS^2) of its hump.
    """
    intervals = min(NODES, 2 ** math.ceil(math.log2(POINTS / bandwidth)))
    k = np.arange(intervals + 1.0)
    terms = spectrum[: intervals + 1] * np.exp(-0.5 * (np.pi * k * bandwidth) ** 2)
    heights = np.abs(np.fft.irfft(terms, n=2 * intervals)[: intervals + 1])
    return min(1.0, float(heights.sum() - 0.5 * (heights[0] + heights[-1])))


def relplot_smece(ranked: SortedOutcomes) -> tuple[float, float]:
    """Return the released smECE and its bandwidth."""
    return _search(lambda s: relplot_smece_at(ranked, s), RELPLOT_HALVINGS)


def relplot_smece_at(ranked: SortedOutcomes, bandwidth: float) -> float:
    """Return the released smECE at one bandwidth: sum of |gap| weighted by smoothed density."""
    n_nodes = max(2000, round(20 / bandwidth)) // 2 + 1
    points = np.linspace(0, 1, max(round(10 / bandwidth), 200))
    nodes = np.linspace(0, 1, n_nodes)
    # Each row is shared between the two grid points around it, in gap and in density.
    at = ranked.confidence * (n_nodes - 1)
    base = np.clip(at.astype(np.int64), 0, n_nodes - 2)
    share = at - base
    smoothed = []
    rows = np.ones(ranked.n) if ranked.weights is None else ranked.weights
    for weights in (rows * (ranked.confidence - ranked.correct), rows):
        lower = np.bincount(base, (1 - share) * weights, minlength=n_nodes)
        upper = np.bincount(base + 1, share * weights, minlength=n_nodes)
        grid = np.asarray(lower + upper, dtype=np.float64)
        smoothed.append(np.interp(points, nodes, _convolve(grid, bandwidth)))
    return float(np.abs(smoothed[0]).sum() / (smoothed[1] + RELPLOT_DENSITY).sum())


def _convolve(grid: Float, bandwidth: float) -> Float:
    """Smooth a grid with a Gaussian cut at +-1/2, its mirror images sharing the end nodes."""
    n = grid.size
    t = np.linspace(0, 1, n) - 0.5
    kernel = np.exp(-0.5 * (t / bandwidth) ** 2) / (np.sqrt(2 * np.pi) * bandwidth)
    # The end nodes stand once, not doubled: it is what halves the weight next to 0 and 1.
    mirrored = np.concatenate([grid[:0:-1], grid, grid[-2::-1]])
    length = 2 ** int(np.ceil(np.log2(mirrored.size + n)))
    product = np.fft.rfft(mirrored, length) * np.fft.rfft(kernel, length)
    # The middle copy, moved by half a kernel.
    start = n - 1 + n // 2
    return np.fft.irfft(product, length)[start : start + n]


def smece_draws(gaps: Float, confidence: Float, n: float) -> Float:
    """Return the exact smECE of many resamples at once, each with its own bandwidth.

    Parameters
    ----------
    gaps : (R, C) float64
        Sum of confidence minus outcome of each cell in each resample.
    confidence : (C,) float64 in [0, 1]
        Mean confidence of the cells.
    n : float
        Rows of a resample.

    Returns
    -------
    (R,) float64
        From MODES cosine terms, which resolve bandwidths of 3 / (pi MODES) and above.

    Examples
    --------
    Two sure answers, at 0 and at 1, are both wrong: at a wide bandwidth s all but the first cosine
    fade, and the error (4 / pi) exp(-(pi s)^2 / 2) equals s at 0.456. Where all gaps have one sign,
    smoothing keeps their sum.

    >>> smece_draws(np.array([[-1.0, 1.0], [0.5, 0.5]]), np.array([0.0, 1.0]), 2).round(2).tolist()
    [0.46, 0.5]
    """
    k = np.arange(MODES)
    # Cosine series of the gaps of every resample; all terms but the constant count twice.
    terms = gaps @ np.cos(np.pi * np.outer(confidence, k)) / n
    terms[:, 1:] *= 2.0
    table = np.cos(np.pi * np.outer(k, np.linspace(0, 1, MODES + 1)))
    trapezoid = np.full(MODES + 1, 1.0 / MODES)
    trapezoid[[0, -1]] /= 2.0

    def error_at(bandwidth: Float, rows: Int) -> Float:
        used = 1 + min(MODES - 1, math.ceil(DECAYED / (np.pi * bandwidth.min())))
        decay = np.exp(-0.5 * (np.pi * np.outer(bandwidth, k[:used])) ** 2)
        return np.asarray(np.abs((terms[rows, :used] * decay) @ table[:used]) @ trapezoid)

    # Bandwidths are counted in steps of the grid on which halving [0, 1] ends. The error falls as
    # the bandwidth grows, so the one that equals its error lies between any bandwidth and the
    # error there: far fewer resamples are smoothed than by halving alone, for the same end.
    steps = 2**DRAW_HALVINGS
    low, high = np.zeros(len(gaps)), np.full(len(gaps), float(steps))
    every = rows = np.arange(len(gaps))
    middle = np.full(len(gaps), steps / 16)
    while rows.size:
        error = steps * error_at(middle / steps, rows)
        wider = middle < error
        low[rows] = np.maximum(low[rows], np.where(wider, middle, np.ceil(error) - 1))
        high[rows] = np.minimum(high[rows], np.where(wider, np.ceil(error), middle))
        rows = rows[high[rows] - low[rows] > 1]
        middle = np.floor((low[rows] + high[rows]) / 2)
    return error_at(high / steps, every)


MOST = 1_000  # distinct claims
SLOPE_NODES = 64  # of the even grid that claims of resamples are moved to


@dataclass(frozen=True)
class _Residuals:
    """Distinct claims with the rows that state them: position, outcome minus claim, weight."""

    position: Float
    sum: Float
    weight: Float

    @classmethod
    def of(cls, ranked: SortedOutcomes) -> "_Residuals":
        cuts = ranked.cuts
        if len(cuts) > MOST + 1:
            cuts = np.unique(equal_width_cuts(ranked, MOST))
        weight = np.diff(ranked.sum_weights[cuts]).astype(np.float64)
        total = np.diff(ranked.sum_confidence[cuts])
        gap = np.diff(ranked.sum_correct[cuts]) - total
        exact = len(cuts) == len(ranked.cuts)
        position = ranked.confidence[cuts[:-1]] if exact else total / weight
        return cls(position, np.asarray(gap, dtype=np.float64), weight)


def smce(ranked: SortedOutcomes) -> float:
    """Return the smooth calibration error, in [0, 1]; lower is better.

    `ranked`: N rows with claims c and outcomes t.

    Notes
    -----
    The largest mean of w(c) (t - c) over functions w from [0, 1] to [-1, 1] with
    |w(a) - w(b)| <= |a - b|. Between sorted claims the slope alone binds, so the linear program
    has one variable and two rows for each distinct claim; HiGHS solves it.

    References
    ----------
    Blasiok, Gopalan, Hu and Nakkiran 2023, definition 4.14; equation 7 of the focal calibration
    loss paper.

    Examples
    --------
    Claims of 0.25 and 0.75 that should be 1 and 0. A weighting may change by 0.5 between them,
    at most as from 1 to 0.5: (0.75 - 0.5 x 0.75) / 2, where ECE says 0.75.

    >>> from core.predictions import Outcomes
    >>> ranked = SortedOutcomes.of(Outcomes(np.array([0.25, 0.75]), np.array([True, False])))
    >>> round(smce(ranked), 6)
    0.1875
    """
    from scipy.optimize import linprog
    from scipy.sparse import diags_array, vstack

    residuals = _Residuals.of(ranked)
    n, steps = residuals.position.size, np.diff(residuals.position)
    if n == 1:
        return float(abs(residuals.sum[0]) / ranked.total)
    # Neighbours bind all other pairs, since slopes add up along the line.
    ends = [[-1.0] * (n - 1), [1.0] * (n - 1)]
    rises = diags_array(ends, offsets=(0, 1), shape=(n - 1, n))
    solved = linprog(  # type: ignore[call-overload]  # it takes sparse rows
        -residuals.sum,
        A_ub=vstack([rises, -rises]),
        b_ub=np.tile(steps, 2),
        bounds=(-1.0, 1.0),
        method="highs",
    )
    return float(np.clip(-solved.fun / ranked.total, 0.0, 1.0))


def pgap(ranked: SortedOutcomes) -> float:
    """Return the post-processing gap of the squared error, in [0, 1]; lower is better.

    `ranked`: N rows with claims c and outcomes t.

    Notes
    -----
    Mean (c - t)^2 less the smallest mean (c + h(c) - t)^2 over functions h with
    |h(a) - h(b)| <= |a - b|: the largest mean of 2 h(c) (t - c) - h(c)^2. That c + h(c) stays in
    [0, 1] need not be asked for, since cutting it there brings it nearer to every outcome.

    References
    ----------
    Blasiok, Gopalan, Hu and Nakkiran 2023b, definition 1.2; definition 2.3 of the focal
    calibration loss paper.

    Examples
    --------
    The same claims may be moved by 0.25 each way: a square of 0.75² becomes 0.5².

    >>> from core.predictions import Outcomes
    >>> ranked = SortedOutcomes.of(Outcomes(np.array([0.25, 0.75]), np.array([True, False])))
    >>> round(pgap(ranked), 6)
    0.3125
    """
    residuals = _Residuals.of(ranked)
    change = _best_correction(residuals)
    gain = change @ (2.0 * residuals.sum - residuals.weight * change)
    return float(np.clip(gain / ranked.total, 0.0, 1.0))


def _best_correction(residuals: _Residuals) -> Float:
    """Return the h of the post-processing gap at each claim.

    The best gain from the claims up to one, as a function of h there, is concave; half its slope
    falls in straight pieces. To go one claim on, what lies left of its zero moves left by the
    distance and what lies right moves right, with a flat piece between. From the last zero back,
    each h is the one within reach that is nearest to its own zero.
    """
    position, pull, weight = residuals.position, residuals.sum, residuals.weight
    steps, zeros = np.diff(position), np.empty(position.size)
    zeros[0] = pull[0] / weight[0]
    ends, slopes = np.empty(0), np.array([-weight[0]])
    for j, step in enumerate(steps, start=1):
        # The gain as a function of h here: the one before, its halves a step further apart.
        zero, left = zeros[j - 1], int(np.searchsorted(ends, zeros[j - 1]))
        flat = (zero - step, zero + step)
        ends = np.concatenate([ends[:left] - step, flat, ends[left:] + step])
        slopes = np.concatenate([slopes[: left + 1], [0.0], slopes[left:]]) - weight[j]
        # Half its slope at each end of a piece, with this claim's own pull and weight.
        values = np.concatenate([[0.0], np.cumsum(slopes[1:-1] * np.diff(ends))])
        values += pull[j] - weight[j] * flat[0] - values[left]
        # It falls, so it has one zero: on the piece after the last end where it is above.
        above = int(np.count_nonzero(values > 0.0))
        known = max(above - 1, 0)
        zeros[j] = ends[known] - values[known] / slopes[above]
    # Backwards, each h as close to its own zero as the one after it allows.
    change = zeros.copy()
    for j in range(position.size - 2, -1, -1):
        after = change[j + 1]
        change[j] = min(max(zeros[j], after - steps[j]), after + steps[j])
    return change


def to_nodes(cells: Float, confidence: Float) -> Float:
    """Return sums of cells, (R, C), moved to the nearest node, (R, SLOPE_NODES + 1).

    Parameters
    ----------
    cells : (R, C) float64
    confidence : (C,) float64 in [0, 1]
        Mean of each cell, ascending.
    """
    node = np.rint(confidence * SLOPE_NODES).astype(np.int64)
    first = np.searchsorted(node, np.unique(node))
    out = np.zeros((len(cells), SLOPE_NODES + 1))
    out[:, node[first]] = np.add.reduceat(cells, first, axis=1)
    return out


def smce_draws(gaps: Float, n: float) -> Float:
    """Return smCE of many resamples from gaps at the nodes, (R, SLOPE_NODES + 1); n rows each.

    On an even grid some best w takes values of the grid, so searching those is exact.
    """
    return _best_gain(gaps, np.zeros((1, 1)), (1,)) / n


def pgap_draws(gaps: Float, weight: Float, n: float) -> Float:
    """Return post-processing gaps of resamples from gaps and rows at the nodes, h in small steps.

    Parameters
    ----------
    gaps : (R, SLOPE_NODES + 1) float64
        Sum of claim minus outcome.
    weight : (R or 1, SLOPE_NODES + 1) float64
        Rows.
    n : float
        Rows of a resample.
    """
    return _best_gain(2.0 * gaps, weight, (1, 3)) / n


def _best_gain(pull: Float, weight: Float, shifts: tuple[int, ...]) -> Float:
    """Return the largest sum of pull h - weight h^2 over h of slope at most 1, (R,).

    h takes even steps in [-1, 1], as many within a node's distance as the shifts add up to; its
    sign does not matter here.
    """
    h = np.linspace(-1.0, 1.0, 2 * SLOPE_NODES * sum(shifts) + 1)
    weight = np.broadcast_to(weight, pull.shape)
    best = np.zeros((len(pull), h.size))
    for k in range(pull.shape[1]):
        # The best that a move by each shift in turn reaches: by 1 and 3, all moves of up to 4.
        for shift in shifts if k else ():
            reached = best.copy()
            np.maximum(best[:, shift:], reached[:, :-shift], out=best[:, shift:])
            np.maximum(best[:, :-shift], reached[:, shift:], out=best[:, :-shift])
        best += pull[:, k, None] * h
        if weight.any():
            best -= weight[:, k, None] * h**2
    return np.asarray(best.max(axis=1))
