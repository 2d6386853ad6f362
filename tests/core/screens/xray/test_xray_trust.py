import numpy as np
import pytest

from core.screens.xray import saliency
from core.screens.xray.saliency import CENTRE, LUNGS, MODEL, SHUFFLED, Sanity
from core.xray.localisation import Localisation, MeanOverFilms


def found(n, **shares):
    """Pointing of some maps; all else is the same."""
    rest = MeanOverFilms(0.3, 0.2, 0.4)
    return {
        key: Localisation(n, MeanOverFilms(*share), rest, rest) for key, share in shares.items()
    }


@pytest.mark.parametrize(
    ("last", "words"),
    [(0.9, "Do not trust it"), (0.6, "in part"), (0.1, "depends on what was learned")],
)
def test_what_random_weights_do_to_the_map_is_said(last, words):
    text = Sanity(("as trained", "head", "all"), ((1.0, 0.8, last),)).text
    assert words in text
    assert f"{last:.2f}" in text


def test_one_lucky_draw_of_weights_does_not_decide():
    draws = ((1.0, 0.9), (1.0, 0.1), (1.0, -0.1), (1.0, 0.0), (1.0, 0.1))
    text = Sanity(("as trained", "all"), draws).text
    assert "is 0.20 on average (−0.10 to 0.90 in 5 draws)" in text
    assert "depends on what was learned" in text


def test_first_and_last_stage_are_always_shown():
    for n in (1, 2, 5, 8, 17, 200):
        shown = Sanity(tuple(map(str, range(n))), ((1.0,) * n,)).shown
        assert shown[0] == 0
        assert shown[-1] == n - 1
        assert len(shown) == len(set(shown)) == min(n, saliency.MOST_SHOWN)


def test_a_map_is_better_only_where_no_interval_reaches_it():
    better = found(60, model=(0.8, 0.7, 0.9), shuffled=(0.1, 0.05, 0.2), centre=(0.1, 0.0, 0.2))
    assert "beyond what every map beside it" in saliency.pointing_text(better, "nodule")
    tied = better | found(60, lungs=(0.6, 0.5, 0.71))
    text = saliency.pointing_text(tied, "nodule")
    assert "beyond" not in text
    assert text.endswith("or nearly: anywhere in the lungs.")
    assert "about 80 (70 to 90; 60 films)" in text


def test_few_films_tell_nothing():
    text = saliency.pointing_text(found(5, model=(1.0, 0.6, 1.0), centre=(0.0, 0.0, 0.4)), "mass")
    assert text.endswith("There are too few films to tell one map from another.")


def test_tables_and_figures_hold_every_map():
    maps = found(
        60,
        **{MODEL: (0.8, 0.7, 0.9), SHUFFLED: (0.1, 0.0, 0.2), CENTRE: (0.2, 0.1, 0.3)},
        **{LUNGS: (0.05, 0.0, 0.1)},
    )
    card = saliency.pointing_card(maps, "nodule", "n = 60")
    assert [row[0] for row in card.table.rows] == list(saliency.KINDS.values())
    assert card.table.rows[0][2:5] == (0.8, 0.7, 0.9)
    assert "Always the centre: 20 of 100 (10 to 30)." in card.alt
    drawn = card.figure("light")
    dots = [trace for trace in drawn.data if trace.mode == "markers"]
    np.testing.assert_allclose([dot.x[0] for dot in dots], [80, 10, 20, 5])
    rows = saliency.pointing_table(maps).written()
    assert [row.shaded for row in rows] == [True, False, False, False]
    assert rows[0].cells[0].value == "80.0"


def test_the_similarity_is_drawn_stage_by_stage():
    sanity = Sanity(("as trained", "head", "conv1"), ((1.0, 0.3, 0.1), (1.0, 0.5, -0.3)))
    card = saliency.similarity_card(sanity, "seed 0")
    assert "head 0.40; conv1 −0.10" in card.alt
    for side in ("light", "dark"):
        drawn = card.figure(side)
        assert list(drawn.data[0].y) == pytest.approx([1.0, 0.4, -0.1])
        assert list(drawn.data[0].error_y.array) == pytest.approx([0.0, 0.1, 0.2])
        assert drawn.layout.yaxis.range[0] < -0.1
