"""`python -m tests.core.training.half_compiled FOLDER`: two ranks, one of them half able.

The second rank cannot compile the network, with `NO_COMPILER` in the environment nothing at all.
The first one prints a line whenever it runs a compiled network.
"""

import os
import sys

import torch

from core.training import ranks
from core.training.__main__ import main

compiled = torch.compile


def compiler(graph, inputs):
    """Compile on the first rank, on the second at most what has no weights."""
    network = len(inputs) > 1
    if not ranks.leads() and (network or "NO_COMPILER" in os.environ):
        raise OSError("cc1: no such file")

    def run(*inputs):
        if network:
            print("a compiled network runs")
        return graph(*inputs)

    return run


if __name__ == "__main__":
    torch.compile = lambda net, **_: compiled(net, backend=compiler)
    sys.exit(main())
