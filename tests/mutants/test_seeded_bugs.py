"""The seeded bugs fit the code as it is: one that no longer applies tells nothing."""

import shutil
import subprocess

import pytest

from tests.mutants.run import HERE, KEPT, ROOT, near


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git, which applies the patches")
def test_every_seeded_bug_applies_and_has_tests_beside_it():
    patches = sorted(HERE.glob("*.patch"))
    assert len(patches) >= KEPT
    for patch in patches:
        command = ["git", "apply", "--check", "--recount", str(patch)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        assert done.returncode == 0, f"{patch.name}: {done.stderr}"
        assert all((ROOT / file).exists() for tests in near(patch) for file in tests)
