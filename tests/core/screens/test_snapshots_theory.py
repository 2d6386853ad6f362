"""What Theory says of a gamma and an example, held against files as `test_snapshots.py` does.

Closest temperatures by gamma are set by hand; what else is said follows from formulas whose values
are held in `tests/core/screens/theory`.
"""

import numpy as np
import pytest

from core.calibrators.theory import GRIDS, Sweep
from core.screens.theory import claims, view
from tests.core.screens.test_snapshots import EDITIONS
from tests.written import written

SWEEPS = {
    k: Sweep(
        gammas=np.array([0.5, 1.0, 2.0, 3.0, 5.0, 9.0]),
        temperatures=1.0 / (slope * np.array([0.5, 1.0, 2.0, 3.0, 5.0, 9.0]) + 0.9),
        residuals=np.array([0.01, 0.02, 0.03, 0.04, 0.05, 0.06]) * (k - 1),
    )
    for k, slope in zip(GRIDS, (0.92, 0.61, 0.44), strict=True)
}


def words_of(cards):
    parts = ("title", "explanation", "alt", "caption")
    return {card.key: {part: getattr(card, part) for part in parts} for card in cards}


@pytest.mark.parametrize("edition", EDITIONS)
def test_theory(snapshot, edition):
    if edition == "plain":
        said = {
            f"{gamma:g}, {truth:g}": [view.plain_top(gamma, truth), view.plain_card(gamma, truth)]
            for gamma, truth in ((2.0, 0.8), (0.5, 0.995))
        }
        assert written(**said) == snapshot
        return
    others = (-0.5, 3.0)
    said = {
        "2": view.theory_top(2.0, 0.8), "0.5": view.theory_top(0.5, 0.6),
        "map": words_of(view.map_cards(2.0, 0.8, others)),
        "temperatures": words_of(view.temperature_cards(2.0, SWEEPS)),
        "triangle": words_of(claims.simplex_cards(2.0)),
        "losses": words_of(claims.loss_cards(2.0, (0.55, 0.3, 0.15))),
        "optimum": words_of(view.optimum_cards(0.5, 0.8)),
        "gradient": words_of(view.gradient_cards(2.0, 0.3, others)),
    }  # fmt: skip
    for claim in claims.claims(2.0, 0.8, 0.5, SWEEPS)[:-1]:  # the last is a rounding error
        said[claim.title] = [claim.printed, claim.computed, words_of(filter(None, [claim.card]))]
    assert written(**said) == snapshot
