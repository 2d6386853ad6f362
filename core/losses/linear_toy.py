"""Losses as curves; a linear classifier on four clusters, and a network on two moons; numpy."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from core.arrays import Bool, Float, sigmoid

RAYS = 180  # of a closed line
ACROSS = np.array([1.0, -1.0, 0.0]) / np.sqrt(2.0)
UP = np.array([1.0, 1.0, -2.0]) / np.sqrt(6.0)


def inverse_focal(p: Float, gamma: float) -> Float:
    """Return -(1 + p)^gamma log p; Ghosh et al. 2022, equation 1.

    Examples
    --------
    At p = 1 / e it is 1 + 1 / e:

    >>> round(float(inverse_focal(np.exp(-1.0), 1.0)), 4)
    1.3679
    """
    return np.asarray(-((1.0 + p) ** gamma) * np.log(p))


def calfocal(p: Float, accuracy: float, rate: float) -> Float:
    """Return focal loss with gamma = exp(rate (p - accuracy)); Ghosh et al. 2022, equation 2.

    Examples
    --------
    Where p is the accuracy gamma is 1, not 0: half of log 2.

    >>> round(float(calfocal(np.array(0.5), 0.5, 10.0)), 4)
    0.3466
    """
    gamma = np.exp(rate * (p - accuracy))
    return np.asarray(-np.exp(gamma * np.log1p(-p)) * np.log(p))


def brier_isolines(truth: Float, shares: Float) -> tuple[Float, Float]:
    """Return lines of equal expected Brier score over three classes.

    Parameters
    ----------
    truth : (3,) float64
        How often each class is there; above 0, sum 1.
    shares : (S,) float64 in (0, 1)
        Shares of the triangle's area that the lines enclose.

    Returns
    -------
    levels : (S,) float64
        The score on each line.
    lines : (S, RAYS + 1, 3) float64
        Circles around the truth, cut where they leave the triangle.

    Notes
    -----
    The expected score is 1 - |truth|^2 + |p - truth|^2.
    """
    angle = np.linspace(0.0, 2.0 * np.pi, RAYS + 1)[:, None]
    ray = np.cos(angle) * ACROSS + np.sin(angle) * UP
    with np.errstate(divide="ignore"):
        # How far each ray goes until an entry is 0.
        reach = np.where(ray < 0.0, truth / -ray, np.inf).min(axis=1)
    tried = np.linspace(0.0, reach.max(), 2_000)
    cut = np.minimum(tried[:, None], reach[:-1])
    # Sectors of a circle, cut at the edge, as shares of the
    # triangle, whose sides have length sqrt 2.
    area = 0.5 * (cut**2).sum(axis=1) * 2.0 * np.pi / RAYS / (np.sqrt(3.0) / 2.0)
    radius = np.interp(shares, area, tried)
    lines = truth + np.minimum(radius[:, None], reach)[..., None] * ray
    return 1.0 - truth @ truth + radius**2, np.maximum(lines, 0.0)


POINTS, FLIPPED = 400, 0.1
SPREAD = 0.45  # of a cluster, whose middles are the corners of a square of side 2
RATE, STEPS = 2.0, 500


@dataclass(frozen=True, eq=False)
class LinearToy:
    """What a training ended with."""

    points: Float  # (N, 2)
    labels: Bool  # (N,), some of them flipped
    weights: Float  # (2,)
    norms: Float  # (STEPS + 1,), norm of the weights after each step

    @property
    def wrong_confidence(self) -> Float:
        """Confidence of the answers that are wrong."""
        p = sigmoid(self.points @ self.weights)
        wrong = (p > 0.5) != self.labels
        return np.asarray(np.maximum(p, 1.0 - p)[wrong])

    @property
    def angle(self) -> float:
        """Direction of the weights, in degrees."""
        return float(np.degrees(np.arctan2(self.weights[1], self.weights[0])))


@lru_cache(maxsize=32)
def linear_toy(gamma: float) -> LinearToy:
    """Train sigma(w1 x1 + w2 x2) with focal loss of gamma, 0 for cross-entropy, from w = 0.

    Notes
    -----
    The gradient of focal loss by the logit is that of cross-entropy times
    g = (1 - p)^gamma - gamma p (1 - p)^(gamma - 1) log p, p the probability of what is true.

    References
    ----------
    Mukhoti et al. 2020, appendix G: two clusters a class at the corners of a square, linearly
    separable, 10 % of the labels flipped, no intercept. Spread, rate and steps are ours.
    """
    rng = np.random.default_rng(0)
    corner = rng.integers(0, 4, POINTS)
    middles = np.array([[-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [1.0, 1.0]])
    points = middles[corner] + SPREAD * rng.standard_normal((POINTS, 2))
    labels = (corner >= 2) != (rng.random(POINTS) < FLIPPED)
    sign = np.where(labels, 1.0, -1.0)
    weights, norms = np.zeros(2), np.zeros(STEPS + 1)
    for step in range(STEPS):
        log_odds = sign * (points @ weights)
        p, miss = sigmoid(log_odds), sigmoid(-log_odds)
        log_p = -np.logaddexp(0.0, -log_odds)
        # g of the docstring with sigmoid(-logit) for 1 - p, which keeps its digits.
        factor = miss**gamma - gamma * p * miss ** (gamma - 1.0) * log_p if gamma else 1.0
        weights = weights + RATE * ((factor * miss * sign) @ points) / POINTS
        norms[step + 1] = np.linalg.norm(weights)
    return LinearToy(points, labels, weights, norms)


MOONS, NOISE = 400, 0.2
HIDDEN, EPOCHS, ADAM_RATE = 10, 500, 0.01
DECAYS = (0.9, 0.999)  # of Adam's means of gradients and of their squares
Layers = list[Float]  # weights and offsets of three layers in turn


@dataclass(frozen=True, eq=False)
class MoonsNet:
    """A network of two hidden layers, and what it was trained on."""

    points: Float  # (N, 2)
    labels: Bool  # (N,), which moon
    layers: Layers  # weights (I, O) and offsets (O,) of each layer

    def probability(self, points: Float) -> Float:
        """Return the probability of the second moon at (M, 2) points."""
        return sigmoid(_activations(self.layers, points)[-1][:, 0])


@lru_cache(maxsize=4)
def moons_net(gamma: float, weight: float, epochs: int = EPOCHS) -> MoonsNet:
    """Train on two noisy moons with -(1 - p)^gamma log p + weight 2 (1 - p)^2, p of what is true.

    The second term is the squared distance of both classes, as focal calibration loss has it.

    References
    ----------
    Focal calibration loss 2024, appendix A.11: noise 0.2, two hidden layers of 10, Adam, 500
    epochs. The paper names no data: two moons, their points, the rate, whole batches and rectified
    units are ours.
    """
    rng = np.random.default_rng(0)
    labels = np.arange(MOONS) % 2 == 1
    turn = np.pi * rng.random(MOONS)
    x = np.where(labels, 1.0 - np.cos(turn), np.cos(turn))
    y = np.where(labels, 0.5 - np.sin(turn), np.sin(turn))
    points = np.stack([x, y], axis=1) + NOISE * rng.standard_normal((MOONS, 2))
    layers: Layers = []
    # Weights and offsets uniform in 1 / sqrt(inputs) either way, as
    # PyTorch draws those of a linear layer.
    for fan_in, fan_out in ((2, HIDDEN), (HIDDEN, HIDDEN), (HIDDEN, 1)):
        reach = fan_in**-0.5
        layers += [
            rng.uniform(-reach, reach, (fan_in, fan_out)),
            rng.uniform(-reach, reach, fan_out),
        ]
    sign = np.where(labels, 1.0, -1.0)
    means = [np.zeros_like(part) for part in layers]
    squares = [np.zeros_like(part) for part in layers]
    for step in range(1, epochs + 1):
        shown = _activations(layers, points)
        log_odds = sign * shown[-1][:, 0]
        p, miss = sigmoid(log_odds), sigmoid(-log_odds)
        log_p = -np.logaddexp(0.0, -log_odds)
        # Minus the derivative by the logit: g (1 - p) of the focal term,
        # and 4 weight p (1 - p)^2 of the distance.
        slope = miss ** (gamma + 1.0) - gamma * p * miss**gamma * log_p + 4.0 * weight * p * miss**2
        for i, gradient in enumerate(_gradients(layers, shown, (-sign * slope / MOONS)[:, None])):
            means[i] += (1.0 - DECAYS[0]) * (gradient - means[i])
            squares[i] += (1.0 - DECAYS[1]) * (gradient**2 - squares[i])
            # Adam with both means corrected for their start at 0 (Kingma and Ba 2015, algorithm 1).
            spread = np.sqrt(squares[i] / (1.0 - DECAYS[1] ** step)) + 1e-8
            layers[i] = layers[i] - ADAM_RATE * means[i] / (1.0 - DECAYS[0] ** step) / spread
    return MoonsNet(points, labels, layers)


def _activations(layers: Layers, points: Float) -> Layers:
    """Return what each layer is shown, and the log odds, (M, 1)."""
    shown = [points]
    for i in range(0, len(layers), 2):
        out = shown[-1] @ layers[i] + layers[i + 1]
        shown.append(np.maximum(out, 0.0) if i < len(layers) - 2 else out)
    return shown


def _gradients(layers: Layers, shown: Layers, back: Float) -> Layers:
    """Return the gradients of all parts of the layers, from that of the log odds, (M, 1)."""
    gradients: Layers = []
    for i in range(len(layers) - 2, -1, -2):
        inputs = shown[i // 2]
        gradients[:0] = [inputs.T @ back, back.sum(axis=0)]
        back = (back @ layers[i].T) * (inputs > 0.0)
    return gradients
