"""Shapes of losses, Brier's isolines and the linear toy: by hand, and against scikit-learn."""

import math

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from core.losses.linear_toy import (
    brier_isolines,
    calfocal,
    inverse_focal,
    linear_toy,
    moons_net,
)


def test_shapes_by_hand():
    half = np.array([0.5])
    assert inverse_focal(half, 2.0)[0] == pytest.approx(2.25 * math.log(2.0))
    # at the accuracy gamma is 1; 0.3 below it, with lambda 10, exp(-3)
    assert calfocal(half, 0.5, 100.0)[0] == pytest.approx(0.5 * math.log(2.0))
    gamma = math.exp(-3.0)
    assert calfocal(half, 0.8, 10.0)[0] == pytest.approx(0.5**gamma * math.log(2.0))


def test_briers_isolines_are_circles_of_the_area_asked_for():
    third = np.full(3, 1 / 3)
    levels, lines = brier_isolines(third, np.array([0.12]))
    radius = math.sqrt(0.12 * math.sqrt(3.0) / 2.0 / math.pi)
    assert np.linalg.norm(lines[0] - third, axis=1) == pytest.approx(radius, rel=2e-3)
    assert levels[0] == pytest.approx(2 / 3 + radius**2, rel=1e-3)
    # a wide one around a point near an edge is cut there, and still holds its share
    truth = np.array([0.55, 0.3, 0.15])
    levels, lines = brier_isolines(truth, np.array([0.2]))
    assert lines.min() == 0.0
    assert lines[0].sum(axis=1) == pytest.approx(1.0)
    risk = ((lines[0] - truth) ** 2).sum(axis=1) + 1.0 - truth @ truth
    inside = lines[0].min(axis=1) > 1e-9
    assert risk[inside] == pytest.approx(levels[0])
    x, y = lines[0, :, 1] + lines[0, :, 2] / 2, lines[0, :, 2] * math.sqrt(3.0) / 2
    area = 0.5 * abs(np.sum(x[:-1] * y[1:] - x[1:] * y[:-1]))
    assert area / (math.sqrt(3.0) / 4) == pytest.approx(0.2, rel=5e-3)


def test_the_linear_toy_decides_alike_and_is_less_sure_with_focal_loss():
    cross, focal = linear_toy(0.0), linear_toy(1.0)
    fitted = LogisticRegression(C=1e9, fit_intercept=False).fit(cross.points, cross.labels)
    assert cross.weights == pytest.approx(fitted.coef_[0], abs=2e-3)
    assert abs(cross.angle - focal.angle) < 2.0
    assert focal.norms[-1] < 0.7 * cross.norms[-1]
    assert focal.wrong_confidence.mean() < cross.wrong_confidence.mean() - 0.05


@pytest.mark.parametrize("gamma", [0.5, 1.0, 3.0])
def test_the_first_step_of_the_toy_is_down_the_slope_of_focal_loss(gamma):
    """At w = 0, where p = 1/2: the derivative of -(1 - p)^gamma log p by the logit, by hand."""
    slope = 0.5**gamma * (1.0 + gamma * math.log(2.0))  # times that of cross-entropy
    assert linear_toy(gamma).norms[1] == pytest.approx(slope * linear_toy(0.0).norms[1])


@pytest.mark.parametrize("weight", [0.0, 1.5])
def test_the_network_on_moons_is_trained_as_torch_trains_it(torch, weight):
    start, found = moons_net(10.0, weight, 0), moons_net(10.0, weight, 20)
    layers = [torch.tensor(part, requires_grad=True) for part in start.layers]
    adam = torch.optim.Adam(layers, lr=0.01)
    points, labels = torch.tensor(found.points), torch.tensor(found.labels)

    def log_odds():
        first = torch.relu(points @ layers[0] + layers[1])
        second = torch.relu(first @ layers[2] + layers[3])
        return (second @ layers[4] + layers[5])[:, 0]

    for _ in range(20):
        p = torch.sigmoid(torch.where(labels, log_odds(), -log_odds()))
        focal, brier = -((1.0 - p) ** 10.0) * torch.log(p), 2.0 * (1.0 - p) ** 2
        adam.zero_grad()
        (focal + weight * brier).mean().backward()
        adam.step()
    wanted = torch.sigmoid(log_odds()).detach().numpy()
    assert found.probability(found.points) == pytest.approx(wanted, rel=1e-9)
    assert np.abs(wanted - start.probability(found.points)).max() > 0.01


def test_moons_lie_where_two_half_circles_do():
    net = moons_net(10.0, 1.5, 0)
    assert net.labels.mean() == 0.5
    middles = np.where(net.labels[:, None], [1.0, 0.5], [0.0, 0.0])
    radius = np.linalg.norm(net.points - middles, axis=1)
    assert np.std(radius - 1.0) == pytest.approx(0.2, rel=0.15)  # the noise across the arc
    upper = (net.points - middles)[:, 1] > 0.0
    assert (upper != net.labels).mean() > 0.85
