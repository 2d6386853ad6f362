"""The budgets of rooms."""

from pathlib import Path

import pytest

from tests import size

MODULE = '''
def _once(n: int) -> int:
    """Return it.

    Twice.
    """
    return 2 * n


def _twice(n: int) -> int:
    return n


def public(n: int) -> int:
    return _once(_twice(n)) + _twice(n)
'''


def test_rooms_are_counted_by_folder_and_helpers_by_their_uses(tmp_path: Path) -> None:
    for name in ("app.py", "pages/runs.py", "core/metrics/null.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(MODULE)
    rooms, longest = size.sizes(tmp_path)
    assert rooms == {
        "pages": size.Size(30, 2, 2),
        "core/metrics": size.Size(15, 1, 1),
        "all": size.Size(45, 3, 3),
    }
    assert longest == 2


@pytest.mark.parametrize("field", size.Size._fields)
def test_a_room_over_its_budget_is_named(field: str) -> None:
    budget = size.BUDGETS["core/ood"]
    more = budget._replace(**{field: getattr(budget, field) + 1})
    assert size.over({"core/ood": budget}, size.LONGEST) == []
    (sentence,) = size.over({"core/ood": more}, size.LONGEST)
    assert sentence.startswith("core/ood: ")
    assert field in sentence
    assert size.over({}, size.LONGEST + 1)


def test_the_document_holds_the_budgets() -> None:
    text = size.DOCUMENT.read_text(encoding="utf-8")
    assert size.START + size.table(size.BUDGETS) + size.END in text


def test_rooms_together_may_not_use_the_headroom_of_each() -> None:
    rooms = [budget for room, budget in size.BUDGETS.items() if room != "all"]
    assert sum(room.lines for room in rooms) > size.BUDGETS["all"].lines + 500


def test_no_room_of_this_tree_is_over_its_budget() -> None:
    assert size.over(*size.sizes(size.ROOT)) == []
