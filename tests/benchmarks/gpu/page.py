"""From raw figures to docs/gpu.md; no torch."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from tests.benchmarks.gpu.runner import DONE, StageResult, from_json
from tests.benchmarks.gpu.sizes import ALLOWANCES, TOTAL_S

NOTHING: Final = (
    "Nothing has been measured on a GPU yet: no machine with one has run this command. Whatever "
    "the other pages say of speed and memory is of a CPU."
)
LOOPS: Final = {
    "plain": "public recipe, float32, read and augmented on the CPU",
    "float32": "engine, float32",
    "bfloat16": "engine, bfloat16",
    "compiled": "engine, bfloat16, compiled",
    "channels_first": "engine, bfloat16, channels first",
}
WORDS: Final = {
    "machine": "what it runs on",
    "tests": "every test marked `gpu`",
    **LOOPS,
    "evaluation": "evaluation of a checkpoint's network",
    "heatmaps": "Grad-CAM",
    "nccl": "a process group of one device",
    "memory": "a training that runs out of memory",
}
ABSENT: Final = "is not installed"
DASH: Final = "–"


def page(content: Mapping[str, Any] | None) -> str:
    """Return the page as Markdown.

    Parameters
    ----------
    content : dict or None
        What docs/gpu.json holds; None where nothing has been measured.
    """
    lines = [
        "# On a GPU",
        "",
        f"`make gpu` measures everything on this page on one GPU in at most {TOTAL_S // 60} "
        "minutes, and writes the raw figures to `docs/gpu.json`. Each stage is a "
        "process of its own with its own time, so one that fails is written down and the others "
        "go on. Without a GPU the same stages run at small sizes on the CPU into `build/gpu`, and "
        "this page stays as it is. `python3 -m tests.benchmarks.gpu` does the same without "
        "installing anything, under any Python from 3.11 on with torch 2.9 or newer, torchvision, "
        "timm, numpy, scipy, pandas, safetensors, lightning-fabric and numba; a stage that lacks a "
        "package says so.",
        "",
    ]
    if content is None:
        lines += [NOTHING, "", *planned()]
    else:
        results = from_json(content["stages"])
        lines += [machine_line(results, content["seconds"]), "", *stage_table(results)]
        for section in (loop_section, inference_section, device_section, gpu_tests_section):
            lines += section(results)
    return "\n".join(lines).rstrip() + "\n"


def planned() -> list[str]:
    """Return the stages and what each may take."""
    rows = [f"| {WORDS[stage]} | {seconds} |" for stage, seconds in ALLOWANCES.items()]
    return ["| stage | seconds at most |", "|---|---|", *rows]


def machine_line(results: Mapping[str, StageResult], seconds: float) -> str:
    """Return on what and how long it ran."""
    machine = figures_of(results, "machine")
    gpu, memory = machine.get("gpu"), machine.get("memory_mib")
    named = f"{gpu} ({memory:,.0f} MiB)" if gpu else "The CPU, at small sizes: no figure counts"
    programs = ", ".join(
        f"{words} {machine[key]}"
        for key, words in (("python", "Python"), ("torch", "torch"), ("cuda", "CUDA"))
        if machine.get(key)
    )
    cores = f"{machine['cores']} cores" if "cores" in machine else ""
    parts = [part for part in (named, cores, programs) if part]
    return f"{'; '.join(parts)}. All stages together took {seconds:.0f} s."


def stage_table(results: Mapping[str, StageResult]) -> list[str]:
    """Return how each stage went."""
    rows = [
        f"| {WORDS[stage]} | {result.state} | {result.seconds:.0f} | {escaped(result.reason)} |"
        for stage, result in results.items()
    ]
    return ["| stage | how it went | seconds | why |", "|---|---|---|---|", *rows, ""]


def loop_section(results: Mapping[str, StageResult]) -> list[str]:
    """Return images a second of every loop beside the plain one."""
    rows = [stage for stage in LOOPS if figures_of(results, stage)]
    if not rows:
        return []
    base = figures_of(results, "plain").get("images_per_second")
    return [
        "## Training",
        "",
        "AdaFocal on 45,000 random images of 32 x 32 with ResNet-50 in batches of 128; the fastest "
        "epoch, without validation. The public recipe is cross-entropy with torchvision's "
        "transforms image by image in four processes and `.item()` each step; its convolutions "
        f"{tf32_words(results)}. The engine's do so in bfloat16 runs alone; its float32 is exact, "
        "and it stores images with the channels last unless a row says otherwise. AdaFocal's "
        "share is its update of the gammas and what a step of its loss takes more than "
        "cross-entropy, by the clock of the host: where the GPU is the slower, less of it shows.",
        "",
        "| loop | images/s | over the public recipe | first epoch, s | fastest, s | memory, MiB "
        "| AdaFocal, % of an epoch | compiled |",
        "|---|---|---|---|---|---|---|---|",
        *(loop_row(stage, figures_of(results, stage), base) for stage in rows),
        "",
    ]


def loop_row(stage: str, figures: Mapping[str, Any], base: float | None) -> str:
    """Return the row of a loop."""
    rate, epochs = figures["images_per_second"], figures["epochs_s"]
    shares = [figures[key] for key in ("update_share", "loss_share") if key in figures]
    cells = [
        LOOPS[stage],
        f"{rate:,.0f}",
        f"{rate / base:.2f}" if base else DASH,
        f"{epochs[0]:.2f}",
        f"{min(epochs):.2f}",
        number(figures.get("memory_mib")),
        f"{100 * sum(shares):.2f}" if shares else DASH,
        {True: "yes", False: "no", None: DASH}[figures.get("compiled")],
    ]
    return f"| {' | '.join(cells)} |"


def tf32_words(results: Mapping[str, StageResult]) -> str:
    """Return whether the plain loop's convolutions may round to TF32."""
    allowed = figures_of(results, "plain").get("tf32", True)
    return "round to TF32, as torch has it" if allowed else "do not round to TF32"


def inference_section(results: Mapping[str, StageResult]) -> list[str]:
    """Return how fast networks are evaluated and maps drawn."""
    heat, evaluated = figures_of(results, "heatmaps"), figures_of(results, "evaluation")
    rows = []
    if evaluated:
        rate, memory = evaluated["images_per_second"], number(evaluated["memory_mib"])
        what = "evaluation, ResNet-50, images of 32 x 32, float32"
        rows.append(f"| {what} | {rate:,.0f} images/s | {memory} |")
    if heat:
        memory = number(heat["memory_mib"])
        rows += [
            f"| Grad-CAM, DenseNet-121, films of 224 x 224, {findings} "
            f"| {heat[key]:,.1f} films/s | {memory} |"
            for findings, key in (
                ("one finding", "films_per_second"),
                ("14 findings", "films_per_second_of_all"),
            )
        ]
    if not rows:
        return []
    return ["## Inference", "", "| what | speed | memory, MiB |", "|---|---|---|", *rows, ""]


def device_section(results: Mapping[str, StageResult]) -> list[str]:
    """Return what became of a process group and of a batch that does not fit."""
    group, card = figures_of(results, "nccl"), figures_of(results, "memory")
    lines = []
    if group:
        lines += [
            f"- A process group of one device ({group['backend']}): after two epochs the largest "
            "difference of any weight from the training without it is "
            f"{group['largest_difference']:.1g}."
        ]
    if card.get("what"):
        lines += [
            f"- A batch that does not fit: the job is {card['state']} as `{card['code']}`: "
            f"“{card['what'].strip()}”, and its page says “{card['remedy']}”."
        ]
    return ["## Devices", "", *lines, ""] if lines else []


def gpu_tests_section(results: Mapping[str, StageResult]) -> list[str]:
    """Return what the tests said."""
    tests = figures_of(results, "tests")
    if not tests:
        return []
    failed: Sequence[str] = [
        f"- `{name}`: {escaped(message)}" for name, message in tests["failed"].items()
    ]
    counts = f"{tests['passed']} passed, {len(failed)} failed, {tests['skipped']} skipped."
    left_out = [f"- `{name}`: {lacks} {ABSENT}" for name, lacks in tests["left_out"].items()]
    return ["## Tests marked `gpu`", "", counts, "", *failed, *left_out]


def figures_of(results: Mapping[str, StageResult], stage: str) -> Mapping[str, Any]:
    """Return the figures of a stage, none where it has none."""
    result = results.get(stage)
    return {} if result is None else result.figures


def number(value: float | None) -> str:
    """Write a whole number, a dash for none."""
    return DASH if value is None else f"{value:,.0f}"


def escaped(text: str) -> str:
    """Keep a text in its cell."""
    return " ".join(text.split()).replace("|", "\\|")


def failures(content: Mapping[str, Any]) -> list[str]:
    """Return the stages that failed or for which no time was left, with their reasons."""
    return [
        f"{stage}: {result.reason}"
        for stage, result in from_json(content["stages"]).items()
        if result.state != DONE and not result.reason.endswith(ABSENT)
    ]
