"""What sessions cost, in small: the benchmark's visitor on the server of the browser tests."""

import asyncio

import pytest
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from pages.ui.xray.film import LOOKING
from tests.benchmarks import bench_sessions as bench
from tests.benchmarks.bench_sessions import SHORT_STAYS
from tests.benchmarks.visitor import Failed, Step, Visitor, visiting
from tests.e2e.conftest import PATIENCE_S, awaited, start

pytestmark = pytest.mark.e2e
DRAWN = {"bidi_component", "dataframe"}  # figures and tables
LINKS = ("/", "/reliability?run=digits-overconfident", "/gamma?run=digits-adafocal")


def test_two_sessions_at_once_get_the_first_page(server):
    async def both() -> list[Step]:
        return await asyncio.gather(bench.first_page(server), bench.first_page(server))

    for step in awaited(both()):
        assert step.seconds > 0
        assert step.n_scripts >= 1
        assert step.n_bytes > 10_000
    assert bench.cpu_s(server) > 0
    assert bench.resident_mib(server) > 50


@pytest.mark.nightly
def test_a_crowd_and_a_browser_get_the_page_and_stay(server):
    median, slowest, n_alive, browser, cpu = awaited(bench.crowded(server, 2, "/")).split(" | ")
    assert n_alive == "2"
    assert 0 < float(median.split()[0]) <= float(slowest.split()[0])
    assert float(browser.split()[0]) > 0
    assert float(cpu.split()[0]) > 0


def test_who_was_cut_off_is_not_alive(server):
    async def cut_off() -> bool:
        async with visiting(server.url) as visitor:
            await visitor.go("/")
            await visitor.socket.close()
            return await bench.is_alive(visitor)

    assert not awaited(cut_off())


@pytest.mark.parametrize(
    "link", [LINKS[1], *(pytest.param(link, marks=pytest.mark.nightly) for link in LINKS[::2])]
)
def test_nothing_that_is_drawn_is_sent_again_unchanged(server, link):
    async def twice() -> tuple[set[str], set[str]]:
        async with visiting(server.url) as visitor:
            await visitor.go(link)
            first = set(visitor.sent)
            await visitor.go(visitor.link)
            return first, set(visitor.sent)

    first, again = awaited(twice())
    assert first & DRAWN
    assert not again & DRAWN


@pytest.mark.nightly
def test_moves_reach_the_page(server):
    async def moved() -> list[str]:
        async with visiting(server.url) as visitor:
            await visitor.go(LINKS[1])
            headlines = [visitor.headline]
            await visitor.switch(bench.PLAIN, True)
            headlines.append(visitor.headline)
            await visitor.switch(bench.PLAIN, False)
            step = await visitor.slide(bench.BINS, 40)
            assert step.n_bytes > 10_000
            assert "bidi_component" in visitor.sent
            return headlines

    technical, plain = awaited(moved())
    assert technical != plain


def test_an_error_on_the_page_is_raised():
    visitor = Visitor(socket=None)
    message = ForwardMsg()
    message.delta.new_element.alert.body = "**Something went wrong**  \n`INTERNAL`"
    with pytest.raises(Failed, match="went wrong"):
        visitor._take(message)


@pytest.mark.nightly
def test_parts_that_draw_themselves_anew_are_waited_for(server):
    """A film without an answer draws itself anew until there is one."""

    async def film() -> str:
        async with visiting(server.url) as visitor:
            await visitor.go("/xray")
            return visitor.headline

    headline = awaited(film())
    assert headline
    assert LOOKING not in headline


@pytest.mark.parametrize(
    ("acts", "cut", "megabytes", "n_rounds", "n_before", "room_mib"),
    [
        *(
            pytest.param("dropped", False, 50, *rounds, marks=pytest.mark.nightly)
            # The first has room for what one of four sessions would keep, at the least.
            for rounds in ((4, 1, 50.0), (5, 4, 0.0))
        ),
        *(
            pytest.param(acts, cut, megabytes, 20, 4, 0.0, marks=pytest.mark.soak)
            for acts in ("dropped", "kept")
            for cut in (False, True)
            for megabytes in (1, 50, 500)
        ),
    ],
)
def test_sessions_that_leave_give_back_what_they_held(
    tmp_path, acts, cut, megabytes, n_rounds, n_before, room_mib
):
    """And nobody comes, who would have garbage collected."""
    few = {"n_before": n_before, "room_mib": room_mib}
    running = start(tmp_path / "home", tmp_path / "log.txt", *bench.LEFT_SOON, app=SHORT_STAYS)
    try:
        leaver = bench.Leaver(acts, cut=cut)
        before, _, rest = awaited(
            bench.left(running, leaver, megabytes, n_rounds, PATIENCE_S, **few)
        )
        assert rest <= bench.MOST_GROWTH * before + room_mib
    finally:
        running.stop()
