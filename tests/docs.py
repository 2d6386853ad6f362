"""`python -m tests.docs`: what the pages of `docs` say again of the code; `--write` writes it.

A table stands between `<!-- table -->`, with its name, and `<!-- /table -->`. What its last
columns say beyond the code is the page's own, and stays with the key of its row. So does what
follows the plain words of a metric, each under a heading of its own.
"""

import json
import re
import sys
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple

from core.calibrators import CALIBRATORS
from core.codes import NoticeCode, RefusalCode
from core.datasets.catalogue import DATASETS, TEXT_DATA
from core.fields import REQUIRED, declared
from core.inference.config import EvaluationConfig
from core.jobs.records import SlurmRequest
from core.jobs.slurm.launcher import SlurmLauncher
from core.losses.catalogue import LOSSES
from core.metrics import METRICS
from core.metrics.records import Metric
from core.models.catalogue import MODELS, PUBLIC, TEXT_MODELS
from core.training.config import RECIPES, TrainConfig

DOCS: Final = Path(__file__).resolve().parents[1] / "docs"
BLOCK: Final = re.compile(r"(<!-- table ([\w-]+) -->\n)(.*?)(<!-- /table -->\n)", re.DOTALL)
ENTRY: Final = re.compile(r"^### `(\w+)`\n\n.*\n(?:(?!#).*\n)*", re.MULTILINE)
TO_WRITE: Final = "\n- Formula: \n\n"


class Table(NamedTuple):
    """Heads, and for each key the cells after it; a page words what has no cell or a `draft`."""

    heads: str
    rows: Mapping[str, Sequence[str]]
    drafts: Mapping[str, str] = {}

    def markdown(self, before: str) -> str:
        """Return the table in Markdown, with what it said before in columns of the page."""
        kept: dict[str, list[str]] = {}
        for line in before.splitlines()[2:]:
            key, *cells = (cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1])
            kept[key.strip("`")] = cells
        heads = self.heads.split(", ")
        lines = [f"| {' | '.join(heads)} |", "|" + "---|" * len(heads)]
        for key, own in self.rows.items():
            left = kept.get(key, [*own, self.drafts.get(key, "")])[len(own) :]
            cells = [f"`{key}`", *own, *left, *[""] * len(heads)][: len(heads)]
            cells = [re.sub(r"(?<!\\)\|", r"\\|", cell) for cell in cells]
            lines.append("|" + "".join(f" {cell} |" if cell else "  |" for cell in cells))
        return "\n".join(lines) + "\n"


def _of_metric(metric: Metric) -> tuple[str, ...]:
    ends = " to ".join(f"{end:g}".replace("inf", "∞") for end in metric.range)
    return metric.label, ends, metric.better, metric.refers_to


def _of_config(config: type) -> Table:
    fields = declared(config)
    rows = {
        key: (field.allowed, "" if field.default is REQUIRED else f"`{json.dumps(field.default)}`")
        for key, field in fields.items()
    }
    drafts = {key: field.help for key, field in fields.items()}
    return Table("key, values, default, what it means", rows, drafts)


NETWORKS: Final = {
    key: (net.label, f"{net.millions:g}", net.source)
    for key, net in (MODELS | TEXT_MODELS | PUBLIC).items()
}
CODES: Final = list(RefusalCode)
OTHERS: Final = CODES.index(RefusalCode.USAGE)  # from there on they are of commands, pages and jobs
TABLES: Final[Mapping[str, Table]] = {
    "metrics": Table(
        "key, name, range, better, refers to", {k: _of_metric(m) for k, m in METRICS.items()}
    ),
    "calibrators": Table(
        "key, name, answers, NLL of the fitting rows, tasks, source",
        {
            key: (
                kind.label,
                "kept" if kind.keeps_accuracy else "may change",
                "never rises" if kind.improves_nll else "may rise",
                ", ".join(task.value for task in kind.tasks),
                kind.source,
            )
            for key, kind in CALIBRATORS.items()
        },
    ),
    "losses": Table(
        "key, name, settings, tasks, source",
        {
            key: (
                loss.label,
                ", ".join(f"`{k}` {one.default}" for k, one in loss.parameters.items()) or "none",
                ", ".join(task.value for task in loss.tasks),
                loss.source,
            )
            for key, loss in LOSSES.items()
        },
    ),
    "networks": Table(
        "key, name, million parameters, source",
        {key: NETWORKS[key] for key in MODELS | TEXT_MODELS},
    ),
    "public-networks": Table(
        "key, network, millions, code", {key: NETWORKS[key] for key in PUBLIC}
    ),
    "data": Table(
        "key, name, what it holds, source",
        {key: (it.label, it.plain, it.source) for key, it in (DATASETS | TEXT_DATA).items()},
    ),
    "recipes": Table(
        "key, what it is, source", {key: (one.label, one.source) for key, one in RECIPES.items()}
    ),
    "training": _of_config(TrainConfig),
    "cluster": _of_config(SlurmRequest),
    "evaluation": _of_config(EvaluationConfig),
    "refusals": Table("code, meaning, remedy", dict.fromkeys(CODES[:OTHERS], ())),
    "other-codes": Table("code, meaning, exit code", dict.fromkeys(CODES[OTHERS:], ())),
    "notices": Table(  # rows of two sets that overlap are refused, or it is said of rows alone
        "code, meaning, what to do",
        {code: () for code in NoticeCode if code is not NoticeCode.OVERLAP},
    ),
    "promises": Table(
        "promise, why not", {key: (why,) for key, why in SlurmLauncher.cannot.items()}
    ),
}


def written(text: str) -> str:
    """Return a page with its tables, and with the plain words of its metrics."""
    text = BLOCK.sub(lambda m: m[1] + TABLES[m[2]].markdown(m[3]) + m[4], text)
    entries = {found[1]: found for found in ENTRY.finditer(text)}
    if not entries:
        return text
    own = {key: found[0].split("\n", 3)[3] for key, found in entries.items()}
    blocks = [
        f"### `{key}`\n\n{metric.plain}\n{own.get(key, TO_WRITE)}"
        for key, metric in METRICS.items()
    ]
    places = [found.span() for found in entries.values()]
    if any(end != start for (_, end), (start, _) in pairwise(places)):
        raise ValueError("Something other than metrics stands between their entries")
    return text[: places[0][0]] + "".join(blocks) + text[places[-1][1] :]


def stale() -> dict[Path, str]:
    """Return the pages that are not as they would be written, with what they should be."""
    pages = {path: path.read_text("utf-8") for path in sorted(DOCS.glob("*.md"))}
    return {path: new for path, text in pages.items() if (new := written(text)) != text}


def main(arguments: list[str]) -> int:
    """Name the pages that are not as the code is, or write them."""
    pages = stale()
    for path, text in pages.items():
        print(path.name)
        if "--write" in arguments:
            path.write_text(text, "utf-8")
    return 0 if "--write" in arguments else len(pages)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
