"""Put each seeded bug into a copy of the tree and see whether a test turns red.

Every ``*.patch`` beside this file is one small bug in `core`. Run ``make soak``; exits with 1 when
fewer than 95 % are caught. Names given on the command line select patches. The test that caught a
bug before runs first (``caught_by.json``; ``--write`` keeps what a run learns), then the test files
that name its module; while all is green, the package's fast tests do, then all fast ones, then the
slow and nightly ones. Tests marked soak are left out.
"""

import json
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
CAUGHT_BY = HERE / "caught_by.json"  # the test that turned red, by bug
CAUGHT_SHARE = 0.95
KEPT = 259  # bugs that were written; fewer would mean that some were lost
TIMEOUT_S = 1800
LIMITED = ("prlimit", f"--as={16 << 30}:")  # a bug may make a decoder ask for all memory
AT_ONCE = 2  # bugs tried beside one another, each in a copy of its own
ALL = "tests/core"
FAST = "not slow and not nightly and not soak and not gpu"
SUITE = "not soak and not gpu"
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
    text = patch.read_text()
    changed = re.search(r"^\+\+\+ b/(core(?:/\w+)*)/(\w+)\.py$", text, re.MULTILINE)
    assert changed, f"{patch.name} changes no module of core"
    package, module = changed[1].replace("/", "."), changed[2]
    imports = re.compile(
        rf"from {package}\.{module} import|from {package} import [^\n]*\b{module}\b"
    )
    tests = {file: file.read_text() for file in sorted((ROOT / ALL).rglob("test_*.py"))}
    files = [f for f, t in tests.items() if imports.search(t) or module in f.stem.split("_")]
    # First those that share rare words with the bug: its name, and the lines that it changes.
    lines = re.findall(r"^[-+ @].*", text, re.MULTILINE)
    words = set(re.findall(r"[a-z]{4,}", patch.stem + " ".join(lines)))
    in_files = {word: [file for file in files if word in tests[file]] for word in words}
    scores = {f: sum(1 / len(some) for some in in_files.values() if f in some) for f in files}
    files.sort(key=lambda file: (module not in file.stem, -scores[file]))
    folders = [ROOT / ALL / name for name in package.split(".")[1:2]]
    nearest = [
        [str(f.relative_to(ROOT)) for f in group if f.exists()] for group in (files, folders)
    ]
    return [*filter(None, nearest), [ALL]]


def red_test(tree: Path, tests: Sequence[str], kind: str, n_workers: int = 0) -> str | None:
    """Run tests of a kind in the copy until one is red and return its name; None where none is.

    A hang or a killed run counts as red, and has no name.
    """
    options = ["-x", "-q", "-rfE", "-n", str(n_workers), "-m", kind, "-p", "no:cacheprovider"]
    try:
        done = subprocess.run(
            [*LIMITED, sys.executable, "-m", "pytest", *tests, *options],
            cwd=tree,
            capture_output=True,
            timeout=TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return ""
    if done.returncode in (0, 4, 5):  # all green, no such test any more, none of that kind
        return None
    if done.returncode > 2:
        raise SystemExit(done.stdout.decode() + done.stderr.decode())
    named = re.search(
        r"^(?:FAILED|ERROR) (\S+::.*?)(?: - .*)?$", done.stdout.decode(), re.MULTILINE
    )
    return named[1] if named else ""


def catch(patch: Path, known: str, trees: Queue[Path]) -> str | None:
    """Put one bug into a copy that is free and return the test that is red; None if none is."""
    tree = trees.get()
    apply(patch, tree)
    files, *wider = near(patch)
    stages = [([known], SUITE)] if known else []
    stages += [(files, FAST), (files, SLOW), *((tests, FAST) for tests in wider), ([ALL], SLOW)]
    red = next(
        (t for tests, kind in stages if (t := red_test(tree, tests, kind)) is not None), None
    )
    apply(patch, tree, back=True)
    trees.put(tree)
    print(f"{'SURVIVED' if red is None else 'caught':<9} {patch.stem} {red or ''}", flush=True)
    return red


def main(arguments: list[str]) -> int:
    """Try every patch and print what became of it."""
    names = [name for name in arguments if name != "--write"]
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
        if not names and any(red_test(tree, [ALL], k, AT_ONCE) is not None for k in (FAST, SLOW)):
            raise SystemExit("the suite is red without any bug: mend that first")
        with ThreadPoolExecutor(AT_ONCE) as pool:
            known = json.loads(CAUGHT_BY.read_text())
            was_red = [known.get(patch.stem, "") for patch in patches]
            reds = list(pool.map(catch, patches, was_red, repeat(trees)))
    if "--write" in arguments:
        known |= {patch.stem: red for patch, red in zip(patches, reds, strict=True) if red}
        CAUGHT_BY.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")
    n_survivors = reds.count(None)
    print(f"{len(patches) - n_survivors} of {len(patches)} seeded bugs caught")
    return int(n_survivors > (1 - CAUGHT_SHARE) * len(patches))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
