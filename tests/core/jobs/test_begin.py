"""Of any number of nodes that start a job of a cluster at once, one begins it."""

import subprocess
import sys
from pathlib import Path

import pytest

from core.jobs.slurm import messages
from core.jobs.slurm.messages import Begun
from core.process_identity import ProcessIdentity

ROOT = Path(__file__).parents[3]
STARTERS, ROUNDS = 4, 10
STARTER = """
import sys
from pathlib import Path
from core.jobs.slurm import messages
from tests.core.jobs.test_begin import ROUNDS, STARTERS, start_of
home, who = Path(sys.argv[1]), int(sys.argv[2])
for n in range(ROUNDS):
    job = home / str(n)
    former = messages.begun_of(job)
    (home / f"ready-{n}-{who}").touch()
    while len(list(home.glob(f"ready-{n}-*"))) < STARTERS:
        pass
    print(int(messages.begin(job, start_of(who), former)))
"""


def start_of(pid: int) -> Begun:
    return Begun("7", ProcessIdentity("boot:1", pid, 1, "node"), 0.0, 0)


@pytest.mark.slow
@pytest.mark.parametrize(
    "former", [1, *(pytest.param(n, marks=pytest.mark.nightly) for n in (0, 11))]
)
def test_of_many_starts_at_once_one_begins_a_job(former, tmp_path):
    """As by a controller that crashed and has forgotten what it has started."""
    for n in range(ROUNDS):
        (tmp_path / str(n)).mkdir()
        for start in range(former):
            before = messages.begun_of(tmp_path / str(n))
            assert messages.begin(tmp_path / str(n), start_of(100 + start), before)
    starters = [
        subprocess.Popen(
            [sys.executable, "-c", STARTER, tmp_path, str(who)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )
        for who in range(STARTERS)
    ]
    begun = [[int(word) for word in starter.communicate()[0].split()] for starter in starters]
    for n, of_round in enumerate(zip(*begun, strict=True)):
        assert sum(of_round) == 1
        assert messages.begun_of(tmp_path / str(n)) == start_of(of_round.index(1))
    assert len(begun[0]) == ROUNDS


def test_a_start_follows_only_the_one_that_it_knows(tmp_path):
    assert messages.begun_of(tmp_path) is None
    assert not messages.begin(tmp_path, start_of(1), start_of(9))
    assert messages.begin(tmp_path, start_of(1), None)
    assert not messages.begin(tmp_path, start_of(2), None)
    assert messages.begin(tmp_path, start_of(2), start_of(1))
    assert not messages.begin(tmp_path, start_of(3), start_of(1))
    assert messages.begun_of(tmp_path) == start_of(2)


def test_a_job_is_not_begun_over_what_cannot_be_read(tmp_path):
    (tmp_path / messages.BEGUN).write_text("torn")
    assert messages.begun_of(tmp_path) is None
    assert not messages.begin(tmp_path, start_of(1), None)
    assert list(tmp_path.iterdir()) == [tmp_path / messages.BEGUN]
