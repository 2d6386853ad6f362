"""The workloads: what Candor and each library that offers it compute, and when they agree."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tests.benchmarks.peers import libraries, ours
from tests.benchmarks.peers.data import SIZES, Data, make_logits, make_scores
from tests.benchmarks.peers.ours import Values

HUNDREDTH_OF_A_POINT = 1e-4
Tool = Callable[[Any], Values]


@dataclass(frozen=True, kw_only=True)
class Workload:
    """Numbers that are asked of the same data.

    Attributes
    ----------
    label : str
        In the table.
    candor : dict of str to callable
        Candor's ways, given what `opened` returns; the first is the reference in float64.
    peers : dict of str to callable
        Libraries, given the data.
    tolerance : callable
        Rows to the largest difference from the reference at which a number is right.
    make : callable
        Rows and classes to data.
    sizes : tuple of str
        At which it is measured.
    opened : callable or None
        Data to what Candor keeps between two such numbers; None where it keeps nothing.
    """

    label: str
    candor: Mapping[str, Tool]
    peers: Mapping[str, Tool]
    tolerance: Callable[[int], float] = lambda _rows: HUNDREDTH_OF_A_POINT
    make: Callable[[int, int], Any] = make_logits
    sizes: tuple[str, ...] = tuple(SIZES)
    opened: Callable[[Any], Any] | None = Data.predictions

    @property
    def tools(self) -> dict[str, Tool]:
        """Every tool by name, Candor first."""
        return {**self.candor, **self.peers}


WORKLOADS = {
    "ece": Workload(
        label="softmax, confidence, ECE of 15 bins",
        candor={"Candor": ours.ece},
        peers={
            "scipy": libraries.scipy_ece,
            "relplot": libraries.relplot_ece,
            "torchmetrics": libraries.torchmetrics_ece,
            "torch-uncertainty": libraries.torch_uncertainty_ece,
            "probmetrics": libraries.probmetrics_ece,
            "netcal": libraries.netcal_ece,
            "uncertainty-calibration": libraries.uncertainty_calibration_ece,
        },
    ),
    "proper": Workload(
        label="accuracy, NLL, Brier, ECE",
        candor={"Candor": ours.proper},
        peers={
            "scikit-learn": libraries.scikit_learn_proper,
            "torch-uncertainty": libraries.torch_uncertainty_proper,
            "probmetrics": libraries.probmetrics_proper,
        },
    ),
    "equal_mass": Workload(
        label="ECE, equal mass",
        candor={"Candor": ours.equal_mass},
        peers={
            "torch-uncertainty": libraries.torch_uncertainty_equal_mass,
            "netcal": libraries.netcal_equal_mass,
            "uncertainty-calibration": libraries.uncertainty_calibration_equal_mass,
        },
    ),
    "smooth": Workload(
        label="smECE",
        candor={"Candor": ours.smooth},
        peers={
            "relplot": libraries.relplot_smooth,
            "torch-uncertainty": libraries.torch_uncertainty_smooth,
            "probmetrics": libraries.probmetrics_smooth,
        },
        tolerance=lambda _rows: 1e-3,  # what relplot's search for a bandwidth stops at
    ),
    "temperature": Workload(
        label="T by NLL",
        candor={"Candor": ours.temperature},
        peers={
            "scikit-learn": libraries.scikit_learn_temperature,
            "torch-uncertainty": libraries.torch_uncertainty_temperature,
            "probmetrics": libraries.probmetrics_temperature,
            "netcal": libraries.netcal_temperature,
        },
        tolerance=lambda _rows: 1e-3,
        opened=None,
    ),
    "grid": Workload(
        label="T on a grid of 100 by ECE",
        candor={"Candor": ours.grid},
        peers={
            "scipy": libraries.scipy_grid,
            "relplot": libraries.relplot_grid,
            "torchmetrics": libraries.torchmetrics_grid,
        },
        sizes=("S", "M"),  # the peers judge every T anew: two minutes each at L
        opened=None,
    ),
    "classwise": Workload(
        label="classwise ECE",
        candor={"Candor": ours.classwise},
        peers={
            "torchmetrics": libraries.torchmetrics_classwise,
            "torch-uncertainty": libraries.torch_uncertainty_classwise,
            "netcal": libraries.netcal_classwise,
            "uncertainty-calibration": libraries.uncertainty_calibration_classwise,
        },
    ),
    "resamples": Workload(
        label="1,000 resamples of ECE",
        candor={
            "Candor, every binning": ours.whole_target,
            "Candor, one binning": ours.single_binning,
        },
        peers={
            "scipy": libraries.scipy_resamples,
            "torchmetrics": libraries.torchmetrics_resamples,
        },
        # percentiles of other draws: about half a standard error of the ECE
        tolerance=lambda rows: 0.2 / math.sqrt(rows),
    ),
    "ood": Workload(
        label="AUROC, AUPR both ways, FPR at 95 % TPR",
        candor={"Candor": ours.separation},
        peers={
            "scikit-learn": libraries.scikit_learn_separation,
            "pytorch-ood": libraries.pytorch_ood_separation,
            "torch-uncertainty": libraries.torch_uncertainty_separation,
        },
        make=make_scores,
        sizes=("S", "L", "XL"),  # M has as many rows as S
        opened=None,
    ),
}
