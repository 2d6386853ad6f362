"""Put each seeded bug into a copy of the tree and see whether a test turns red.

Every ``*.patch`` beside this file is one small bug in `core`. Run ``make soak``; exits with 1 when
fewer than 95 % are caught. Names given on the command line select patches. Test files that name
the module with the bug run first; while all is green, the package's fast tests do, then all fast
ones, then the slow and nightly ones. Tests marked soak are left out.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import repeat
from pathlib import Path
from queue import Queue

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
CAUGHT_SHARE = 0.95
KEPT = 259  # bugs that were written; fewer would mean that some were lost
TIMEOUT_S = 1800
LIMITED = ("prlimit", f"--as={16 << 30}:")  # a bug may make a decoder ask for all memory
AT_ONCE = 2  # bugs tried beside one another, each in a copy of its own
ALL = "tests/core"
FAST = "not slow and not nightly and not soak and not gpu"
SLOW = "(slow or nightly) and not soak and not gpu"


def copy_tree(target: Path) -> None:
    """Copy what git knows of the tree, and the machine code that is kept beside it."""
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
    kept = Path("core/compiled/__pycache__")
    if (ROOT / kept).is_dir():
        shutil.copytree(ROOT / kept, target / kept)


def apply(patch: Path, tree: Path, *, back: bool = False) -> None:
    """Apply a patch to the copy, or take it back."""
    command = ["git", "apply", "--recount", *(["--reverse"] if back else []), str(patch)]
    subprocess.run(command, cwd=tree, check=True)


def near(patch: Path) -> list[list[str]]:
    """Return what may see a patch: test files that name its module, its package's, all."""
    changed = re.search(r"^\+\+\+ b/(core(?:/\w+)*)/(\w+)\.py$", patch.read_text(), re.MULTILINE)
    assert changed, f"{patch.name} changes no module of core"
    package, module = changed[1].replace("/", "."), changed[2]
    imports = re.compile(
        rf"from {package}\.{module} import|from {package} import [^\n]*\b{module}\b"
    )
    files = [
        file
        for file in sorted((ROOT / ALL).rglob("test_*.py"))
        if imports.search(file.read_text()) or module in file.stem.split("_")
    ]
    files.sort(key=lambda file: module not in file.stem)
    folders = [ROOT / ALL / name for name in package.split(".")[1:2]]
    nearest = [
        [str(f.relative_to(ROOT)) for f in group if f.exists()] for group in (files, folders)
    ]
    return [*filter(None, nearest), [ALL]]


def passes(tree: Path, tests: Sequence[str], kind: str, n_workers: int = 0) -> bool:
    """Run tests of a kind in the copy until one is red; a hang or a killed run counts as red."""
    options = ["-x", "-q", "-n", str(n_workers), "-m", kind, "-p", "no:cacheprovider"]
    try:
        done = subprocess.run(
            [*LIMITED, sys.executable, "-m", "pytest", *tests, *options],
            cwd=tree,
            capture_output=True,
            timeout=TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return False
    if done.returncode > 2 and done.returncode != 5:
        raise SystemExit(done.stdout.decode() + done.stderr.decode())
    return done.returncode in (0, 5)  # 5: none of that kind


def survives(patch: Path, trees: Queue[Path]) -> bool:
    """Put one bug into a copy that is free, and tell whether every test stays green."""
    tree = trees.get()
    apply(patch, tree)
    files, *wider = near(patch)
    stages = [(files, FAST), (files, SLOW), *((tests, FAST) for tests in wider), ([ALL], SLOW)]
    survived = all(passes(tree, tests, kind) for tests, kind in stages)
    apply(patch, tree, back=True)
    trees.put(tree)
    print(f"{'SURVIVED' if survived else 'caught':<9} {patch.stem}", flush=True)
    return survived


def main(names: list[str]) -> int:
    """Try every patch and print what became of it."""
    patches = [p for p in sorted(HERE.glob("*.patch")) if not names or p.stem in names]
    if not names and len(patches) < KEPT:
        raise SystemExit(f"{len(patches)} patches here, expected at least {KEPT}")
    with tempfile.TemporaryDirectory() as folder:
        trees: Queue[Path] = Queue()
        for k in range(AT_ONCE):
            tree = Path(folder) / str(k)
            copy_tree(tree)
            subprocess.run(["git", "init", "-q"], cwd=tree, check=True)
            trees.put(tree)
        if not names and not all(passes(tree, [ALL], kind, AT_ONCE) for kind in (FAST, SLOW)):
            raise SystemExit("the suite is red without any bug: mend that first")
        with ThreadPoolExecutor(AT_ONCE) as pool:
            n_survivors = sum(pool.map(survives, patches, repeat(trees)))
    print(f"{len(patches) - n_survivors} of {len(patches)} seeded bugs caught")
    return int(n_survivors > (1 - CAUGHT_SHARE) * len(patches))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
