"""The benchmark of a slider move runs on a small file; nothing is timed here."""

from tests.benchmarks.bench_slider import slowest_move
from tests.benchmarks.peers.data import make_logits


def test_a_move_is_drawn_for_every_rule_and_number_of_bins():
    assert slowest_move(make_logits(300, 5)) > 0
