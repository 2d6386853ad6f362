"""The histories that the Gamma page shows: the open one, or a replay, and one beside it."""

from core.errors import AuditError
from core.screens.gamma.panels import SecondHistory
from core.screens.gamma.view import GammaDynamics, bin_mismatch
from core.screens.kit.run_marks import RunMark, marks
from pages.ui import frame, visitor
from pages.ui.gamma import cache as cache_gamma
from pages.ui.gamma import choices
from pages.ui.gamma.cache import HistorySource
from pages.ui.gamma.choices import REPLAY, TRAINED

Second = tuple[GammaDynamics, RunMark]


def shown(
    source: HistorySource, look: str, against: str | None, offered: list[HistorySource]
) -> tuple[GammaDynamics | None, Second | None]:
    """Return the history and the one beside it; None for what is not chosen or not there yet."""
    replay = None
    if REPLAY in {look, against}:
        settings = choices.replay(source)
        try:
            replay = cache_gamma.replay(settings)
        except AuditError as error:
            frame.refusal(error)
    history = replay if look == REPLAY else cache_gamma.recorded(source)
    if against is None or history is None:
        return history, None
    others = {other.id: other for other in offered} | {TRAINED: source}
    if against != REPLAY and not others[against].job:
        visitor.note(others[against].id)
    second = replay if against == REPLAY else cache_gamma.recorded(others[against])
    mark = marks([source.id, f"{source.id} {against}"])[1]
    return history, None if second is None else (second, mark)


def drawn_over(history: GammaDynamics, second: Second | None) -> SecondHistory | None:
    """Return the second history as it is drawn over the first, where the bins are the same."""
    if second is None or bin_mismatch(history, second[0]):
        return None
    dynamics, mark = second
    dash = "dash" if mark.dash == "solid" else mark.dash  # the first history is solid
    return SecondHistory(dynamics.grid, mark.colour, dash)
