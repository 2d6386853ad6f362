"""`python -m tests.core.training.half_compiled FOLDER`: a job whose second rank has no compiler.

The first one prints a line whenever it runs compiled code.
"""

import sys

import torch

from core.training import ranks
from core.training.__main__ import main

compiled = torch.compile


def compiler(graph, _):
    """Compile on the first rank alone."""
    if not ranks.leads():
        raise OSError("cc1: no such file")

    def run(*inputs):
        print("compiled code runs")
        return graph(*inputs)

    return run


if __name__ == "__main__":
    torch.compile = lambda net, **_: compiled(net, backend=compiler)
    sys.exit(main())
