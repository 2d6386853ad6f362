"""Every seeded bug can still be put into the tree: code that moved takes its bugs along."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_seeded_bug_still_applies():
    patches = sorted(Path(__file__).parent.glob("*.patch"))
    words = ["git", "apply", "--check", "--recount"]
    moved = [
        patch.stem
        for patch in patches
        if subprocess.run([*words, patch], cwd=ROOT, capture_output=True).returncode
    ]
    assert moved == []
