"""smECE: calibration error under a reflected Gaussian kernel, with its own bandwidth; numpy only.

The smoothed gap at t is g(t) = 1/N sum_i (f_i - y_i) sum_k [phi(t - f_i - 2k) + phi(t + f_i - 2k)]
and smECE at bandwidth s is the integral of |g| over [0, 1] (Blasiok & Nakkiran 2023). The reflected
kernel is the heat kernel of [0, 1] without loss at the ends, so in the cosine basis smoothing
multiplies coefficient k by exp(-(pi k s)^2 / 2): the sum over images is exact, at the cost of
one Fourier transform a bandwidth.
"""

import math
from collections.abc import Callable

import numpy as np

from core.arrays import Float
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

    Parameters
    ----------
    ranked : SortedOutcomes
        N rows.
    method : str
        ``exact``: the kernel integral at the smallest bandwidth s with smECE_s <= s.
        ``relplot``: the released version: a coarser grid that halves the weight of confidences
        within about 1e-3 of 0 and 1, bandwidth a multiple of 1/1024.

    Notes
    -----
    Rows are first spread over NODES + 1 grid points by cubic splitting, which keeps the first
    three moments of their positions: for bandwidths of 1/1024 and above the result differs from
    the sum over rows by less than 1e-7.
    """
    if method == "relplot":
        return relplot_smece(ranked)[0]
    nodes = _onto_nodes(ranked)
    spectrum = np.fft.rfft(np.concatenate([nodes, nodes[-2:0:-1]])).real
    return _search(lambda s: _integral(spectrum, s), HALVINGS)[0]


def _search(error_at: Callable[[float], float], halvings: int) -> tuple[float, float]:
    """Return the error at the smallest bandwidth that is at least its error, and the bandwidth."""
    low, high = 0.0, 1.0
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
    mirrored = np.concatenate([grid[:0:-1], grid, grid[-2::-1]])
    length = 2 ** int(np.ceil(np.log2(mirrored.size + n)))
    product = np.fft.rfft(mirrored, length) * np.fft.rfft(kernel, length)
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
    """
    k = np.arange(MODES)
    terms = gaps @ np.cos(np.pi * np.outer(confidence, k)) / n
    terms[:, 1:] *= 2.0
    table = np.cos(np.pi * np.outer(k, np.linspace(0, 1, MODES + 1)))
    trapezoid = np.full(MODES + 1, 1.0 / MODES)
    trapezoid[[0, -1]] /= 2.0

    def error_at(bandwidth: Float) -> Float:
        used = 1 + min(MODES - 1, math.ceil(DECAYED / (np.pi * bandwidth.min())))
        decay = np.exp(-0.5 * (np.pi * np.outer(bandwidth, k[:used])) ** 2)
        return np.asarray(np.abs((terms[:, :used] * decay) @ table[:used]) @ trapezoid)

    low, high = np.zeros(len(gaps)), np.ones(len(gaps))
    for _ in range(DRAW_HALVINGS):
        middle = (low + high) / 2
        wider = middle < error_at(middle)
        low, high = np.where(wider, middle, low), np.where(wider, high, middle)
    return error_at(high)
