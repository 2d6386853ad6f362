"""The processes that train together: started here by Fabric, or on a cluster's nodes by srun."""

import os
from typing import Final

NODES: Final = "CANDOR_NODES"  # environment variable: on how many nodes srun started the processes


def n_nodes() -> int:
    """Return the nodes whose processes train together."""
    return int(os.environ.get(NODES, "1"))


def by_srun() -> bool:
    """Whether srun has started the processes, all of them."""
    return NODES in os.environ


def leads() -> bool:
    """Whether this process is the first of them."""
    return os.environ.get("SLURM_PROCID" if by_srun() else "LOCAL_RANK", "0") == "0"
