"""Loss steps, forward and backward, beside torch's cross-entropy in one run; only ratios count.

Run from the project's folder: python -m tests.benchmarks.bench_losses [--size S|L]
"""

import argparse
import time
from collections.abc import Callable

import torch
from torch.nn import functional

from core.losses.build import build
from core.losses.catalogue import LOSSES

SHAPES = {"S": ((128, 10),), "L": ((128, 10), (1024, 1000))}


def step(loss: Callable[[torch.Tensor, torch.Tensor], torch.Tensor], n: int, k: int) -> float:
    """Do one forward and backward pass of random logits and return the loss."""
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(n, k, generator=generator).requires_grad_()
    targets = torch.randint(0, k, (n,), generator=generator)
    value = loss(logits, targets)
    value.backward()
    return float(value.detach())


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


def timed(loss: Callable[[torch.Tensor, torch.Tensor], torch.Tensor], n: int, k: int) -> float:
    """Return milliseconds of the fastest of several rounds of passes."""
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(n, k, generator=generator).requires_grad_()
    targets = torch.randint(0, k, (n,), generator=generator)
    rounds = []
    for _ in range(8):
        began = time.perf_counter()
        for _ in range(5):
            logits.grad = None
            loss(logits, targets).backward()
        rounds.append((time.perf_counter() - began) / 5)
    return 1000 * min(rounds)


def table(size: str) -> list[str]:
    """Return the lines of a Markdown table: each loss and its time over cross-entropy's."""
    lines = ["| loss | rows x classes | ms | over cross-entropy |", "|---|---|---|---|"]
    for n, k in SHAPES[size]:
        base = timed(functional.cross_entropy, n, k)
        lines.append(f"| torch cross-entropy | {n} x {k} | {base:.3f} | 1.0 |")
        for name, entry in LOSSES.items():
            spent = timed(build({"name": name}, k), n, k)
            lines.append(f"| {entry.label} | {n} x {k} | {spent:.3f} | {spent / base:.1f} |")
        spent = timed(published_adafocal, n, k)
        lines.append(
            f"| AdaFocal, sample by sample | {n} x {k} | {spent:.3f} | {spent / base:.1f} |"
        )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", choices=list(SHAPES), default="L")
    torch.set_num_threads(1)
    print("\n".join(table(parser.parse_args().size)))


if __name__ == "__main__":
    main()
