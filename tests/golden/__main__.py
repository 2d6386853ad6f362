"""Write what Candor says of many files and shows on its pages into a folder, one text each.

`python -m tests.golden FOLDER` writes them (about 15 minutes), `python -m tests.golden NEW OLD`
writes them and names each that differs from an older folder. A move of code changes none; what
differs is told one by one. Nothing here states what is right: that is what the tests are for.

The files audited are the exports of tools (tests/field_exports.py) and, where it is there, the
shared folder of hostile files; the runs are the samples.
"""

import argparse
import contextlib
import io
import json
import os
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path

from google.protobuf.json_format import MessageToDict

from core.__main__ import main as candor
from core.library import SAMPLES, Library
from tests.field_exports import EXPORTS

SHARED = Path(os.environ.get("CANDOR_SHARED", Path(__file__).parents[3] / "shared")) / "hostile"
FEW = ("--resamples", "60")
VERBS = ("audit", "compare", "calibrate", "apply", "ood", "report", "verify", "train", "evaluate")
VERBS += ("gradcam", "backup", "restore", "samples")
RUNS = (
    *("cifar10-adafocal", "digits-overconfident", "digits-traits"),
    *("digits-crowd", "phantom-ce", "tickets-ce"),
)
PAGES = (
    *("library", "reliability", "posthoc", "ood", "compare", "xray"),
    *("train", "evaluate", "gamma", "published", "theory", "report"),
)
VIEWS = ("film", "findings", "finding")  # of the clinic
RANDOM = ("id", "form_id", "media_file_id", "deferred_file_id")  # of an element
VARIES = (
    (r"\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|\+00:00)?)?", "DATE"),
    (r"\b\d\d:\d\d(:\d\d)? UTC", "TIME"),
    (r"/tmp/[\w./-]*", "PLACE"),
    (r"\bv?0x[0-9a-f]+", "ADDRESS"),
)


def plain(text: str, *folders: Path) -> str:
    """Put words in place of what differs from one run to the next: folders, dates, addresses."""
    for folder in folders:
        text = text.replace(str(folder), "PLACE")
    for pattern, word in VARIES:
        text = re.sub(pattern, word, text)
    return text


def output(*arguments: object) -> str:
    """Return the exit code and all that a command prints."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = candor([str(a) for a in arguments])
        except SystemExit as end:  # argparse: help and wrong usage
            code = end.code if isinstance(end.code, int) else 1
    text = out.getvalue()
    with contextlib.suppress(ValueError):
        text = json.dumps(json.loads(text), indent=1, ensure_ascii=False) + "\n"
    return f"exit {code}\n{text}{err.getvalue()}"


def audits(place: Path) -> Iterator[tuple[str, str]]:
    """Audit every file there is: numbers, questions and refusals."""
    for export in EXPORTS:
        folder = place / export.name
        folder.mkdir()
        files = export.write(folder)
        labels = ("--labels", files[1]) if len(files) == 2 else ()
        yield (
            f"audit/exports/{export.name}",
            output("audit", files[0], *labels, *FEW, "--json", "-"),
        )
    for manifest in sorted(SHARED.glob("**/manifest.json")):
        for number, case in enumerate(json.loads(manifest.read_text())["cases"]):
            given = [*case.get("args", ())]
            for i, argument in enumerate(given[:-1]):
                if argument == "--labels":
                    given[i + 1] = str(manifest.parent / given[i + 1])
            text = output("audit", manifest.parent / case["file"], *given, *FEW, "--json", "-")
            yield f"audit/{manifest.parent.name}/{number:03d}-{case['file']}", text
    for split in sorted(SAMPLES.glob("*/predictions/*.safetensors")):
        yield (
            f"audit/samples/{split.parents[1].name}-{split.stem}",
            output("audit", split, *FEW, "--json", "-"),
        )


def commands(place: Path) -> Iterator[tuple[str, str]]:
    """Run the commands that write of the sample runs, and ask each for its help."""
    for verb in VERBS:
        yield f"help/{verb}", output(verb, "--help")
    for group in ("runs", "jobs"):
        yield f"help/{group}", output(group, "--help")
    sample = {run.id: SAMPLES / run.id / "predictions" for run in Library(place, SAMPLES).rows()}
    for run, folder in sorted(sample.items()):
        for edition, form in (*product(("technical", "plain", "board"), ("html", "markdown")),):
            name = f"report/{run}-{edition}.{form}"
            yield (
                name,
                output("report", run, "--edition", edition, "--format", form, *FEW, "--out", "-"),
            )
        yield f"report/{run}.json", output("report", run, "--format", "json", *FEW, "--out", "-")
        test, val = folder / "test.safetensors", folder / "val.safetensors"
        if val.exists():
            yield (
                f"calibrate/{run}",
                output("calibrate", val, "--test", test, *FEW, "--json", "-"),
            )
    losses = [run for run in sorted(sample) if run.startswith("cifar10-")]
    files = [sample[run] / "test.safetensors" for run in losses]
    yield "compare/cifar10", output("compare", *files, *FEW, "--json", "-")
    yield (
        "ood/digits",
        output(
            "ood",
            sample["cifar10-ce"] / "test.safetensors",
            "--ood",
            sample["cifar10-focal-3"] / "test.safetensors",
            "--json",
            "-",
        ),
    )
    yield "runs/list", output("runs", "list")


def elements(block: object, depth: int = 0) -> Iterator[str]:
    """Write an element tree of a page, one element a line, what it holds as JSON."""
    for child in getattr(block, "children", {}).values():
        proto = getattr(child, "proto", None)
        held = {} if proto is None else MessageToDict(proto, preserving_proto_field_name=True)
        held = {k: v for k, v in held.items() if k not in RANDOM}
        yield "  " * depth + f"{child.type} {json.dumps(held, sort_keys=True, ensure_ascii=False)}"
        yield from elements(child, depth + 1)


def pages(place: Path) -> Iterator[tuple[str, str]]:
    """Open every page with every run in both editions."""
    from tests.pages.seen import opened

    sys.argv = ["app.py", "--i-know"]
    for script, run, edition in product(PAGES, RUNS, ({}, {"plain": "true"})):
        views = VIEWS if script == "xray" else (None,)
        for view in views:
            query = {"run": run, **edition, **({"show": view} if view else {})}
            if script == "compare":
                query = {"runs": f"{run},digits-ce,cifar10-ce", **edition}
            name = "-".join(filter(None, (script, view, run, *edition)))
            test = opened(script, **query)
            text = "\n".join(elements(test._tree))
            errors = "\n".join(f"EXCEPTION {one.value}" for one in test.exception)
            yield f"pages/{name}", f"{text}\n{errors}"


def write(target: Path, parts: Sequence[str]) -> None:
    """Write all texts of some parts into a folder."""
    makers = {"audits": audits, "commands": commands, "pages": pages}
    with tempfile.TemporaryDirectory() as scratch:
        home = Path(scratch) / "home"
        os.environ["CANDOR_HOME"] = str(home)
        for part in parts:
            for name, text in makers[part](Path(scratch)):
                path = target / f"{name}.txt"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(plain(text, Path(scratch), SHARED, Path.cwd()))


def differing(new: Path, old: Path) -> list[str]:
    """Name the texts that are not the same in two folders, or in one of them only."""
    names = {p.relative_to(top) for top in (new, old) for p in top.rglob("*.txt")}
    return [
        str(name)
        for name in sorted(names)
        if not ((new / name).exists() and (old / name).exists())
        or (new / name).read_bytes() != (old / name).read_bytes()
    ]


def main() -> None:
    """Write, and compare where an older folder is named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("new", type=Path)
    parser.add_argument("old", type=Path, nargs="?")
    parser.add_argument("--only", choices=("audits", "commands", "pages"), action="append")
    given = parser.parse_args()
    write(given.new, given.only or ("audits", "commands", "pages"))
    if given.old:
        names = differing(given.new, given.old)
        print("\n".join(names) or "nothing differs")
        sys.exit(bool(names))


if __name__ == "__main__":
    main()
