"""Whoever reads what a command prints may stop reading: it ends at once and without a complaint."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from core.library import Library
from tests.core.library.builders import SOURCE, headline, small

ROOT = Path(__file__).parents[2]
UNREAD = 141  # what a shell says of a command that SIGPIPE ended
PIPE = 2**16  # bytes that a pipe holds


@pytest.fixture
def home(tmp_path):
    """A library whose list is several times what a pipe holds."""
    library = Library(tmp_path / "home", tmp_path / "samples")
    kept = library.keep("x", {"test": small()}, source=SOURCE, summary={"test": headline()})
    runs = library.home / "runs"
    manifest = json.loads((runs / kept.id / "manifest.json").read_text())
    for i in range(3 * PIPE // 300):
        run = runs / f"many-{i}"
        (run / "predictions").mkdir(parents=True)
        (run / "predictions" / "test.safetensors").touch()
        text = json.dumps(manifest | {"id": run.name, "name": "n" * 300})
        (run / "manifest.json").write_text(text)
    return library.home


def ended(words, home, *, lines=0, both=False, unbuffered=""):
    """Run a command whose reader takes some lines and goes; return its code and its complaints."""
    out, into = os.pipe()
    with os.fdopen(out, "rb") as reader:
        if not lines:
            reader.close()  # before anything can be written
        process = subprocess.Popen(
            [sys.executable, "-m", "core", *words],
            cwd=ROOT,
            env=os.environ | {"CANDOR_HOME": str(home), "PYTHONUNBUFFERED": unbuffered},
            stdout=into,
            stderr=into if both else subprocess.PIPE,
        )
        os.close(into)
        for _ in range(lines):
            assert reader.readline()
    with process:
        errors = b"" if both else process.stderr.read()
    return process.returncode, errors.decode()


@pytest.mark.parametrize("words", [["runs", "list"], ["runs", "list", "--json", "-"]])
def test_a_list_cut_short_by_head_ends_quietly(home, words):
    assert ended(words, home, lines=1) == (UNREAD, "")


@pytest.mark.parametrize(
    "words",
    [["runs", "list"], ["runs", "show", "digits-fair"], ["jobs", "pause"], ["runs", "--help"]],
)
def test_little_that_nobody_reads_is_no_error_either(tmp_path, words):
    """What fits the buffer is written as the process ends: too late for a handler of errors."""
    assert ended(words, tmp_path / "home") == (UNREAD, "")


def test_without_a_buffer_the_first_line_finds_the_closed_pipe(tmp_path):
    assert ended(["runs", "list"], tmp_path / "home", unbuffered="1") == (UNREAD, "")


def test_what_prints_nothing_does_not_notice(tmp_path):
    assert ended(["jobs"], tmp_path / "home") == (0, "")


@pytest.mark.parametrize("words", [["runs", "show", "nothing"], ["runs", "--unknown"]])
def test_a_refusal_that_nobody_reads_is_quiet_too(tmp_path, words):
    code, _ = ended([*words, "--json", "-"], tmp_path / "home", both=True)
    assert code == UNREAD


@pytest.mark.nightly
@pytest.mark.slow
def test_an_audit_cut_short_ends_quietly(tmp_path):
    rng = np.random.default_rng(0)
    np.savez(
        path := tmp_path / "a.npz", logits=rng.normal(size=(90, 3)), labels=rng.integers(0, 3, 90)
    )
    command = ["audit", str(path), "--resamples", "10", "--bins", "1000"]
    assert ended([*command, "--json", "-"], tmp_path / "home", lines=1) == (UNREAD, "")
    assert ended(command, tmp_path / "home") == (UNREAD, "")


def test_a_command_without_an_output_goes_on(tmp_path):
    """`>&-`: Python then has no stdout at all."""
    done = subprocess.run(
        ["/bin/sh", "-c", f'exec "{sys.executable}" -m core runs list >&-'],
        cwd=ROOT,
        env=os.environ | {"CANDOR_HOME": str(tmp_path / "home")},
        stderr=subprocess.PIPE,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
