"""Calls to a warm process: answers belong to who asked; whatever it does, only it is lost."""

import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event, Thread, Timer

import numpy as np
import pytest

from core import process_identity
from core.errors import AuditError, LostWorker, Refused
from core.inference.client import Client
from tests.core.jobs.conftest import until

ECHO = "tests.core.inference.echo"


@pytest.fixture
def client():
    made = Client(ECHO)
    yield made
    made.close()


def pid(client: Client) -> int:
    return client.call("echo", {}).values["pid"]


def test_one_process_answers_call_after_call(client):
    assert pid(client) == pid(client)
    answer = client.call("echo", {"n": 4, "value": 7})
    assert answer.values["asked"] == {"n": 4, "value": 7}
    np.testing.assert_array_equal(answer.arrays["values"], [7, 7, 7, 7])


def test_it_is_warm_from_its_first_answer_until_it_ends(client):
    assert not client.warm
    with ThreadPoolExecutor(1) as asking:
        first = asking.submit(client.call, "echo", {"wait": 1.0})
        while client._process is None:
            time.sleep(0.01)
        assert not client.warm
        first.result()
    assert client.warm
    with pytest.raises(LostWorker):
        client.call("echo", {"crash": 1})
    assert not client.warm
    pid(client)
    assert client.warm
    client.close()
    assert not client.warm


def test_two_users_with_four_threads_never_get_what_another_asked(client):
    """Two users, four threads, forty calls; half of them are slow enough to overtake."""

    def ask(number: int) -> bool:
        asked = {"n": 1 + number, "value": number, "wait": 0.01 * (number % 3)}
        answer = client.call("echo", asked)
        expected = np.full(1 + number, number)
        return answer.values["asked"] == asked and np.array_equal(answer.arrays["values"], expected)

    with ThreadPoolExecutor(4) as one, ThreadPoolExecutor(4) as other:
        found = [*one.map(ask, range(0, 40, 2)), *other.map(ask, range(1, 40, 2))]
    assert found == [True] * 40


def test_a_refusal_is_raised_and_the_process_stays(client):
    before = pid(client)
    with pytest.raises(AuditError, match="CLASSES: two; ten") as excinfo:
        client.call("echo", {"refuse": 1})
    assert excinfo.value.exit_code == 2
    assert pid(client) == before


@pytest.mark.parametrize(
    ("asked", "error", "code"),
    [
        ({"crash": 1}, LostWorker, "LOST_WORKER"),
        ({"exit": 3}, LostWorker, "LOST_WORKER"),
        ({"garble": 1}, LostWorker, "LOST_WORKER"),
        ({"shift": 1}, LostWorker, "LOST_WORKER"),
        ({"hang": 1}, Refused, "LIMIT_TIME"),
    ],
)
def test_a_process_that_misbehaves_is_replaced(client, asked, error, code):
    before = pid(client)
    with pytest.raises(error) as excinfo:
        client.call("echo", asked, timeout_s=1.0 if "hang" in asked else 30.0)
    assert excinfo.value.code == code
    assert "batch" in excinfo.value.remedy
    assert pid(client) != before


def test_a_process_that_eats_memory_is_ended():
    client = Client(ECHO, memory_bytes=200 * 2**20)
    try:
        with pytest.raises(Refused, match=r"more than 0\.2 GiB") as excinfo:
            client.call("echo", {"eat": 400 * 2**20})
        assert excinfo.value.code == "LIMIT_MEMORY"
        assert client.call("echo", {"value": 5}).arrays["values"][0] == 5
    finally:
        client.close()


def test_two_share_the_memory_an_idle_process_goes_first_and_then_the_larger(tmp_path, monkeypatch):
    first = Client(ECHO, memory_bytes=1_000)
    second = Client(ECHO, memory_bytes=1_000, sibling=first)
    resident: dict[int, int] = {}
    monkeypatch.setattr("core.inference.client._resident", lambda pid: resident.get(pid, 0))
    resident |= {pid(first): 900}
    resident |= {pid(second): 300}
    gates = tmp_path / "0", tmp_path / "1"
    try:
        with ThreadPoolExecutor(2) as pool:
            answer = pool.submit(second.call, "echo", {"until": str(gates[0])})
            until(lambda: not first.warm)  # 1,200 together
            gates[0].touch()
            assert answer.result()
            resident[pid(first)] = 800
            smaller = pool.submit(second.call, "echo", {"until": str(gates[1])})
            until(second._lock.locked)
            larger = pool.submit(first.call, "echo", {"hang": 1})
            with pytest.raises(Refused, match="LIMIT_MEMORY"):
                larger.result()
            gates[1].touch()
            assert smaller.result()
    finally:
        first.close()
        second.close()


def test_a_call_that_is_stopped_ends_at_once_and_others_go_on(client):
    cancel = Event()
    Timer(0.3, cancel.set).start()
    with pytest.raises(Refused, match="CANCELLED"):
        client.call("echo", {"hang": 1}, cancel=cancel)
    assert client.call("echo", {"value": 5}).arrays["values"][0] == 5


def test_a_process_that_ended_for_want_of_work_is_started_again(client):
    before = pid(client)
    assert client._process is not None
    client._process.kill()
    client._process.wait()
    assert pid(client) != before


def test_a_large_request_is_within_the_time_though_nobody_reads(client):
    """Larger than a pipe holds, to a process that is at work elsewhere."""
    began = time.monotonic()
    with pytest.raises(Refused, match="LIMIT_TIME"):
        Client("tests.core.inference.deaf").call("echo", {"text": "x" * 300_000}, timeout_s=2.0)
    assert time.monotonic() - began < 60
    assert len(client.call("echo", {"text": "x" * 300_000}).values["asked"]["text"]) == 300_000


def test_a_process_that_cannot_start_is_said_in_words():
    with pytest.raises(LostWorker, match="LOST_WORKER"):
        Client("tests.core.inference.no_such_module").call("echo", {"text": "x" * 300_000})


def test_a_process_that_ends_in_peace_is_asked_again_once(client):
    with pytest.raises(LostWorker, match="code 0"):
        client.call("echo", {"leave": 1})
    assert client.call("echo", {"value": 2}).arrays["values"][0] == 2


def test_a_call_that_waits_for_its_turn_can_be_stopped(client, tmp_path):
    gate = tmp_path / "gate"
    cancel = Event()
    Timer(0.5, cancel.set).start()
    with ThreadPoolExecutor(1) as pool:
        slow = pool.submit(client.call, "echo", {"until": str(gate), "value": 3})
        time.sleep(0.2)
        with pytest.raises(Refused, match="CANCELLED"):
            client.call("echo", {}, cancel=cancel)
        assert not slow.done()
        gate.touch()
        assert slow.result().arrays["values"][0] == 3


PARENT = """
import sys, time
from threading import Thread
from core.inference.client import Client
client = Client("tests.core.inference.busy")
Thread(target=client.call, args=("last", {"path": sys.argv[1]})).start()
time.sleep(600)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looked up in /proc")
def test_a_process_in_the_middle_of_a_call_ends_with_the_one_that_asked(tmp_path):
    said = tmp_path / "pid"
    command = [sys.executable, "-c", PARENT, str(said)]
    with subprocess.Popen(command, cwd=Path(__file__).parents[3]) as parent:
        until(lambda: said.exists() and said.read_text())
        worker = process_identity.identity(int(said.read_text()))
        assert process_identity.alive(worker)
        parent.kill()
    until(lambda: not process_identity.alive(worker))


def test_it_stays_when_the_thread_that_asked_first_has_ended(client):
    found: list[int] = []
    first = Thread(target=lambda: found.append(pid(client)))
    first.start()
    first.join()
    time.sleep(0.5)
    assert [pid(client)] == found
