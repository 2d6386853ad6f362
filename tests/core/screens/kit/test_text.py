"""Names and texts of others, shortened and made harmless."""

import pytest

from core.errors import Notice
from core.screens.kit.text import without_shared_start
from core.screens.kit.words import noticed, speaking_of


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


def test_rows_of_notices_are_films_where_films_are_spoken_of():
    notes = (
        Notice("GROUPED", "40 rows of 10 patients. Rows of one patient are alike."),
        Notice("GAP", "1 row left out, row 12 of the file; rowing stays."),
    )
    with speaking_of("chestxray14"):
        assert [note.text for note in noticed(notes)] == [
            "40 films of 10 patients. Films of one patient are alike.",
            "1 film left out, row 12 of the file; rowing stays.",
        ]
    with speaking_of("cifar10"):
        assert noticed((Notice("A", "A row of 9; 4 row names; a Row."),))[0].text == (
            "An image of 9; 4 row names; an Image."
        )
    with speaking_of(""):
        assert noticed(notes) == notes
