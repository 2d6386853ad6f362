"""Names and texts of others, shortened and made harmless."""

import pytest

from core.screens.kit.text import without_shared_start


@pytest.mark.parametrize(
    ("names", "shorter"),
    [
        (["CIFAR-10, FCL", "CIFAR-10, Focal γ = 3"], ("FCL", "Focal γ = 3")),
        (["A · x, one", "A · x, two", "A · y, two"], ("x, one", "x, two", "y, two")),
        (["digits one", "digits two"], ("digits one", "digits two")),
        (["CIFAR-10, ", "CIFAR-10, FCL"], ("CIFAR-10, ", "CIFAR-10, FCL")),
        (["CIFAR-10, FCL"], ("CIFAR-10, FCL",)),
    ],
)
def test_words_that_all_names_begin_with_are_left_out(names, shorter):
    assert without_shared_start(names) == shorter
