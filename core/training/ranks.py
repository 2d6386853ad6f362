"""The processes that train together: started here by Fabric, or on a cluster's nodes by srun."""

import os
from typing import Final

from core.errors import UsageError

NODES: Final = "CANDOR_NODES"  # environment variable: on how many nodes srun started the processes
GPUS: Final = "CANDOR_GPUS"  # environment variable: how many the supervisor gave this job


def count_gpus() -> int:
    """Return how many GPUs PyTorch sees: the CPU must not take a GPU's place unsaid.

    Raises UsageError DEVICE: they are fewer than the job was given.
    """
    import torch

    seen = torch.cuda.device_count() if torch.cuda.is_available() else 0
    given = int(os.environ.get(GPUS, "0"))
    if seen >= given:
        return seen
    # PyTorch says why only when it is made to start CUDA.
    why = ""
    try:
        torch.cuda.init()  # type: ignore[no-untyped-call]
    except (RuntimeError, AssertionError) as error:  # of the driver; of a build without CUDA
        why = f" ({str(error).splitlines()[0][:200]})"
    raise UsageError(
        "DEVICE",
        f"The job has {given} GPU{'s' * (given > 1)}, and PyTorch sees {seen or 'none'}{why}",
        "see that driver and PyTorch fit each other, or choose the CPU",
    )


def n_nodes() -> int:
    """Return the nodes whose processes train together."""
    return int(os.environ.get(NODES, "1"))


def by_srun() -> bool:
    """Whether srun has started the processes, all of them."""
    return NODES in os.environ


def leads() -> bool:
    """Whether this process is the first of them."""
    return os.environ.get("SLURM_PROCID" if by_srun() else "LOCAL_RANK", "0") == "0"
