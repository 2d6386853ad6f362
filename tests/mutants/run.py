"""Put each seeded bug into a copy of the tree and see whether a test turns red.

Every ``*.patch`` beside this file is one small bug in `core`. Run ``make soak``; exits with 1 when
fewer than 95 % are caught. Names given on the command line select patches. The fast tests of the
package that a bug is in run first; while all is green, the other fast ones do, then the slow ones.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
CAUGHT_SHARE = 0.95
KEPT = 153  # bugs that were written; fewer would mean that some were lost
TIMEOUT_S = 1800
ALL = "tests/core"
FAST, SLOW = "not slow and not gpu", "slow and not gpu and not soak"


def copy_tree(target: Path) -> None:
    """Copy what git knows of the tree."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    for name in listed.stdout.splitlines():
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)


def apply(patch: Path, tree: Path, *, back: bool = False) -> None:
    """Apply a patch to the copy, or take it back."""
    command = ["git", "apply", "--recount", *(["--reverse"] if back else []), str(patch)]
    subprocess.run(command, cwd=tree, check=True)


def near(patch: Path) -> str:
    """Return where the tests of the module lie that a patch changes."""
    found = re.search(
        r"^\+\+\+ b/core/(?:(\w+)/)?(?:\w+/)*(\w+)\.py$", patch.read_text(), re.MULTILINE
    )
    assert found, f"{patch.name} changes no module of core"
    package, module = found.groups()
    tests = f"{ALL}/{package}" if package else f"{ALL}/test_{module}.py"
    return tests if (ROOT / tests).exists() else ALL


def passes(tree: Path, tests: str, kind: str) -> bool:
    """Run tests of a kind in the copy until one is red; a hang counts as red."""
    options = ["-x", "-q", "-n", "2", "-m", kind, "-p", "no:cacheprovider"]
    try:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", tests, *options],
            cwd=tree,
            capture_output=True,
            timeout=TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return False
    if done.returncode not in (0, 1, 2):
        raise SystemExit(done.stdout.decode() + done.stderr.decode())
    return done.returncode == 0


def main(names: list[str]) -> int:
    """Try every patch and print what became of it."""
    patches = [p for p in sorted(HERE.glob("*.patch")) if not names or p.stem in names]
    if not names and len(patches) < KEPT:
        raise SystemExit(f"{len(patches)} patches here, expected at least {KEPT}")
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder)
        copy_tree(tree)
        subprocess.run(["git", "init", "-q"], cwd=tree, check=True)
        if not (passes(tree, ALL, FAST) and passes(tree, ALL, SLOW)):
            raise SystemExit("the suite is red without any bug: mend that first")
        survivors = []
        for patch in patches:
            apply(patch, tree)
            stages = ((near(patch), FAST), (ALL, FAST), (ALL, SLOW))
            survived = all(passes(tree, tests, kind) for tests, kind in stages)
            apply(patch, tree, back=True)
            print(f"{'SURVIVED' if survived else 'caught':<9} {patch.stem}", flush=True)
            survivors += [patch.stem] if survived else []
    caught = len(patches) - len(survivors)
    print(f"{caught} of {len(patches)} seeded bugs caught")
    return int(caught < CAUGHT_SHARE * len(patches))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
