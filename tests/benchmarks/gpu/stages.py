"""The stages, each a function from its size to plain figures; torch.

``python -m tests.benchmarks.gpu.stages NAME SIZE FILE`` runs one and writes its figures as JSON.
"""

import importlib
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree as ET

import torch

from core.losses.build import build as build_loss
from core.models.build import build
from core.training.config import TrainConfig, from_json
from tests.benchmarks import bench_losses, bench_training
from tests.benchmarks.bench_training import BATCH, EngineRun, seconds_of
from tests.benchmarks.gpu.sizes import SIZES, Size

ROOT: Final = Path(__file__).parents[3]
FINDINGS: Final = 14
NO_MODULE: Final = re.compile(r"ModuleNotFoundError: No module named '([\w.]+)'")
Figures = dict[str, Any]  # Any: plain JSON values


class Missed(Exception):
    """A stage has figures, and they are not what they must be."""

    def __init__(self, reason: str, figures: Figures) -> None:
        super().__init__(reason)
        self.figures = figures


def machine(size: Size) -> Figures:
    """Return what it runs on; `gpu` is None where there is none."""
    there = torch.cuda.is_available()
    return {
        "gpu": torch.cuda.get_device_name() if there else None,
        "memory_mib": torch.cuda.mem_get_info()[1] / 2**20 if there else None,
        "cores": len(os.sched_getaffinity(0)),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
    }


# Tests ------------------------------------------------------------------------------------------


def marked_files() -> list[Path]:
    """Return the files that hold tests marked `gpu`."""
    files = sorted((ROOT / "tests").rglob("test_*.py"))
    return [path for path in files if re.search(r"\bmark\.gpu\b", path.read_text("utf-8"))]


def gpu_tests(size: Size) -> Figures:
    """Run every test marked `gpu`; files that import what is not installed are left out."""
    for package in ("pytest", "hypothesis", "xdist"):
        importlib.import_module(package)
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        options = ["-m", "gpu", "-q", "-p", "no:cacheprovider", f"--junitxml={report}"]
        options += ["--continue-on-collection-errors"]
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *options, *map(str, marked_files())],
            cwd=ROOT,
            check=False,
        )
        if not report.exists():
            raise Missed(f"pytest ended with exit code {done.returncode}", {})
        figures = read_report(report.read_text("utf-8"))
    if figures["failed"]:
        raise Missed(f"{len(figures['failed'])} failed", figures)
    if done.returncode != 0 and not figures["left_out"]:
        raise Missed(f"pytest ended with exit code {done.returncode}", figures)
    if size.device == "cuda" and not figures["passed"]:
        raise Missed("no test ran on the GPU", figures)
    return figures


def read_report(text: str) -> Figures:
    """Return how many tests of a JUnit report passed and were skipped, and which failed.

    Files that import a package which is not there are left out, with its name.
    """
    cases = list(ET.fromstring(text).iter("testcase"))
    failed, left_out = {}, {}
    for case in cases:
        for problem in (*case.iter("failure"), *case.iter("error")):
            name = f"{case.get('classname')}.{case.get('name')}".strip(".")
            lacks = NO_MODULE.search(problem.text or "")
            if lacks and problem.get("message") == "collection failure":
                left_out[name] = lacks[1]
                continue
            failed[name] = (problem.get("message") or "").partition("\n")[0][:200]
    skipped = sum(case.find("skipped") is not None for case in cases)
    passed = len(cases) - skipped - len(failed) - len(left_out)
    return {"passed": passed, "skipped": skipped, "failed": failed, "left_out": left_out}


# Training ---------------------------------------------------------------------------------------


def plain(size: Size) -> Figures:
    """Train with the public recipe's loop in float32, as torch multiplies by default."""
    costs = bench_training.plain_epochs(
        size.model, size.images, size.epochs, torch.device(size.device)
    )
    return {
        "images_per_second": size.images / min(cost.wall_s for cost in costs),
        "epochs_s": [cost.wall_s for cost in costs],
        "memory_mib": peak_mib(),
        "tf32": torch.backends.cudnn.allow_tf32,
    }


def engine(
    size: Size, precision: str, *, compiled: bool = False, channels_last: bool = True
) -> Figures:
    """Train with the engine.

    It compiles what the whole recipe trains, and not what ends after a few epochs.
    """
    epochs = RECIPE_EPOCHS if compiled else size.epochs
    config = bench_training.config_of(size.model, epochs, size.device, precision)
    run = bench_training.engine_run(
        config,
        bench_training.data_of(size.images, size.validation),
        seconds=size.compiled_s if compiled else None,
        channels_last=channels_last,
    )
    return engine_figures(run, size) | {"memory_mib": peak_mib()}


RECIPE_EPOCHS: Final = 350


def engine_figures(run: EngineRun, size: Size) -> Figures:
    """Return images a second, and what AdaFocal takes of an epoch."""
    best = min(run.epochs_s)
    steps = -(-size.images // BATCH)
    adafocal, plain_loss = (loss_ms(name, size) / 1000 for name in ("adafocal", "ce"))
    return {
        "images_per_second": size.images / best,
        "epochs_s": run.epochs_s,
        "compiled": run.compiled,
        "evaluation_images_per_second": size.validation / run.evaluation_s,
        "update_s": run.update_s,
        "update_share": run.update_s / (best + run.update_s),
        "loss_step_ms": 1000 * adafocal,
        "loss_share": steps * (adafocal - plain_loss) / best,
    }


def loss_ms(name: str, size: Size) -> float:
    """Return milliseconds of a loss at a batch of ten classes, forward and backward."""
    loss = build_loss({"name": name}, 10).to(size.device)
    step = bench_losses.stepper(loss, BATCH, 10, size.device)
    step()
    return 1000 * seconds_of(lambda: [step() for _ in range(size.repeats)]) / size.repeats


def peak_mib() -> float | None:
    """Return the most memory that tensors took on the GPU."""
    return torch.cuda.max_memory_allocated() / 2**20 if torch.cuda.is_available() else None


# Inference --------------------------------------------------------------------------------------


def evaluation(size: Size) -> Figures:
    """Evaluate a network in float32, as a job does with a checkpoint."""
    from core.inference.config import Preprocessing
    from core.inference.evaluate import BatchPreprocessor, scores

    device = torch.device(size.device)
    net = bench_training.network(size.model).eval().to(device)
    net = net.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    split = bench_training.data_of(BATCH, size.evaluated).val
    mean, std = bench_training.MEAN, bench_training.STD
    prepare = BatchPreprocessor(Preprocessing((32, 32)), 3, mean, std, device)

    def evaluate() -> object:
        return scores(net, split, prepare, device=device, batch_size=size.batch)

    evaluate()  # moves the images, and lets cuDNN choose
    return {"images_per_second": size.evaluated / seconds_of(evaluate), "memory_mib": peak_mib()}


def heatmaps(size: Size) -> Figures:
    """Draw Grad-CAM's map of every finding of each film."""
    from core.xray import gradcam

    device = torch.device(size.device)
    torch.manual_seed(0)
    sides = (size.side, size.side)
    net = build(size.film_model, n_outputs=FINDINGS, channels=3, size=sides).eval().to(device)
    films = torch.rand((size.films, 3, *sides), device=device)
    layer = gradcam.layers(net, films[:1])[-1]

    def rate(findings: int) -> float:
        pairs = [(film, finding) for film in range(size.films) for finding in range(findings)]

        def draw() -> object:
            return gradcam.film_saliency(net, films, pairs, method="gradcam", layer=layer)

        draw()
        return size.films / seconds_of(draw)

    return {
        "films_per_second": rate(1),
        "films_per_second_of_all": rate(FINDINGS),
        "memory_mib": peak_mib(),
    }


# Devices ----------------------------------------------------------------------------------------


def nccl(size: Size) -> Figures:
    """Train in a process group of one, and hold the weights against those without it."""
    from lightning_fabric import Fabric

    from core.training.parts import connect

    config = digits("small_cnn", size, epochs=2, n_train=256, deterministic=True)
    single = trained_weights(config, connect(config))
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    group = Fabric(accelerator=size.device, devices=1, strategy="ddp")
    group.launch()
    backend = torch.distributed.get_backend()
    values = torch.arange(4.0, device=group.device)
    gathered = group.all_gather(values)
    reduced = group.all_reduce(values, reduce_op="sum")
    torch.distributed.barrier()
    apart = (trained_weights(config, group) - single).abs().max().item()
    torch.distributed.destroy_process_group()
    figures = {"backend": backend, "largest_difference": apart}
    same = torch.equal(reduced, values) and torch.equal(gathered.flatten(), values)
    if not same or apart > 1e-5:
        raise Missed("one device in a group computes something else", figures)
    return figures


def trained_weights(config: TrainConfig, fabric: Any) -> torch.Tensor:
    """Return all weights after a training."""
    from core.training.folder import JobFolder
    from core.training.loop import train
    from core.training.parts import assemble

    parts = assemble(config, bench_training.data_of(config.n_train, config.n_train), fabric)
    with tempfile.TemporaryDirectory() as path:
        train(parts, JobFolder.make(Path(path) / "job", config))
    return torch.cat([weight.detach().flatten().cpu() for weight in parts.net.parameters()])


def memory(size: Size) -> Figures:
    """Queue a training whose batch does not fit, and read the card of its failure."""
    from core.jobs.local import LocalJobs

    if size.memory_limit is not None:
        limit_memory(size.memory_limit)
    config = digits(size.large_model, size, epochs=1, batch_size=1024)
    with tempfile.TemporaryDirectory() as home:
        jobs = LocalJobs(Path(home))
        (job,) = jobs.submit([config], wants=size.device, time_limit=size.job_s)
        while not jobs.get(job.id).state.ended:
            time.sleep(0.1)
            jobs.tick()
        job = jobs.get(job.id)
        print(*jobs.log(job.id), sep="\n")
        figures: Figures = {"state": str(job.state)}
        if job.failure is not None:
            failure = job.failure
            figures |= {"code": failure.code, "what": failure.what, "remedy": failure.remedy}
    expected = "DEVICE_MEMORY" if size.device == "cuda" else "HOST_MEMORY"
    if figures.get("code") != expected or "halve the batch size to 512" not in figures["remedy"]:
        raise Missed(f"the training ended as {figures.get('code', figures['state'])}", figures)
    return figures


def limit_memory(limit: int) -> None:
    """Bound what this process and those that it starts may take."""
    import resource

    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))


def digits(model: str, size: Size, **settings: object) -> TrainConfig:
    """Return a training on the digits."""
    base = {"data": "digits", "model": model, "loss": {"name": "adafocal"}, "device": size.device}
    return from_json(base | settings)


STAGES: Final[dict[str, Callable[[Size], Figures]]] = {
    "machine": machine,
    "tests": gpu_tests,
    "plain": plain,
    "bfloat16": lambda size: engine(size, "bf16"),
    "compiled": lambda size: engine(size, "bf16", compiled=True),
    "float32": lambda size: engine(size, "32"),
    "channels_first": lambda size: engine(size, "bf16", channels_last=False),
    "evaluation": evaluation,
    "heatmaps": heatmaps,
    "nccl": nccl,
    "memory": memory,
}


def main() -> None:
    """Run a stage; what it raises is on the last lines of its output."""
    name, size, path = sys.argv[1:]
    reason, lacks = "", ""
    try:
        figures = STAGES[name](SIZES[size])
    except Missed as missed:
        figures, reason = missed.figures, str(missed)
    except ModuleNotFoundError as error:
        figures, lacks = {}, f"{error.name} is not installed"
    content = {"figures": figures, "reason": reason or lacks, "left_out": bool(lacks)}
    Path(path).write_text(json.dumps(content))


if __name__ == "__main__":
    main()
