"""Loss steps, forward and backward, beside torch's cross-entropy in one run; only ratios count.

Run from the project's folder: python -m tests.benchmarks.bench_losses [--size S|L]
Times are of the processor: other work on the machine stretches the clock.
"""

import argparse
import statistics
import time
from collections.abc import Callable

import torch
from torch.nn import functional

from core.losses.build import build
from core.losses.catalogue import LOSSES

SHAPES = {"S": ((128, 10),), "L": ((128, 10), (1024, 1000))}
ROUNDS, BLOCK_S = 15, 0.06  # the clock of the processor may advance by 4 ms at a time
Loss = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


def drawn(n: int, k: int, device: str = "cpu") -> tuple[torch.Tensor, torch.Tensor]:
    """Return random logits that take gradients, and targets."""
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(n, k, generator=generator).to(device).requires_grad_()
    return logits, torch.randint(0, k, (n,), generator=generator).to(device)


def stepper(loss: Loss, n: int, k: int, device: str = "cpu") -> Callable[[], torch.Tensor]:
    """Return a function that does one forward and backward pass and returns the loss."""
    logits, targets = drawn(n, k, device)

    def step() -> torch.Tensor:
        logits.grad = None
        value = loss(logits, targets)
        value.backward()
        return value.detach()

    return step


def published_adafocal(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """AdaFocal as algorithm 1 reads: a gamma for one sample after another, then the sum."""
    gammas = [1.0] * 15
    log_p = functional.log_softmax(logits, dim=-1).gather(1, targets[:, None]).squeeze(1)
    p = log_p.exp()
    chosen = []
    for value in p.tolist():
        at = next((b for b in range(15) if value < (b + 1) / 15), 14)
        chosen.append(gammas[at])
    return ((1 - p + 1e-20) ** torch.tensor(chosen) * -log_p).mean()


def step_ms(step: Callable[[], object], least_s: float = BLOCK_S) -> float:
    """Return the milliseconds of the processor that a step takes, as the mean of a block."""
    began, calls = time.process_time(), 0
    while (spent := time.process_time() - began) < least_s or not calls:
        step()
        calls += 1
    return 1000 * spent / calls


def compare(
    n: int, k: int, rounds: int = ROUNDS, least_s: float = BLOCK_S
) -> dict[str, tuple[float, float]]:
    """Return the milliseconds of each loss, and how many times those of torch's cross-entropy.

    The least of all rounds, and the median of their ratios: in each round cross-entropy is timed
    right before each loss.
    """
    base = stepper(functional.cross_entropy, n, k)
    steps = {
        "torch cross-entropy": base,
        **{entry.label: stepper(build({"name": name}, k), n, k) for name, entry in LOSSES.items()},
        "AdaFocal, sample by sample": stepper(published_adafocal, n, k),
    }
    spent: dict[str, list[tuple[float, float]]] = {name: [] for name in steps}
    for _ in range(rounds):
        for name, step in steps.items():
            spent[name].append((step_ms(base, least_s), step_ms(step, least_s)))
    return {
        name: (min(own for _, own in pairs), statistics.median(own / other for other, own in pairs))
        for name, pairs in spent.items()
    }


def table(size: str, rounds: int = ROUNDS, least_s: float = BLOCK_S) -> list[str]:
    """Return the lines of a Markdown table: each loss and its time over cross-entropy's."""
    heads = [f"{n:,} x {k:,}, ms | over cross-entropy" for n, k in SHAPES[size]]
    columns = [compare(n, k, rounds, least_s) for n, k in SHAPES[size]]
    lines = [f"| loss | {' | '.join(heads)} |", "|---" * (1 + 2 * len(heads)) + "|"]
    for name in columns[0]:
        cells = " | ".join(f"{ms:.3f} | {ratio:.2f}" for ms, ratio in (c[name] for c in columns))
        lines.append(f"| {name} | {cells} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", choices=list(SHAPES), default="L")
    torch.set_num_threads(1)
    print("\n".join(table(parser.parse_args().size)))


if __name__ == "__main__":
    main()
