"""Whether the shipped networks' heatmaps can be trusted, and how long they take.

``python -m tests.benchmarks.heatmaps`` prints pointing game, overlap and energy on 200 phantoms
that no network was trained on, beside shuffled weights, the film's middle and a point drawn from
the lungs; what leaving the lesion out does; and the times of one film on DenseNet-121.
"""

import statistics
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from safetensors.torch import save_file

from core import codec
from core.inference import films
from core.inference.client import Client
from core.inference.config import MOMENTS, Preprocessing
from core.inference.film_model import FilmModel
from core.library import SAMPLES
from core.models.build import build
from core.xray import phantom
from core.xray.heat import on_film
from core.xray.localisation import hit, localise, pointed

SEED = 7  # of the films; the networks were trained on those of seed 0
N_FILMS = 200
MODELS = ("phantom-ce", "phantom-focal-3", "phantom-fcl")
LESIONS = ("Nodule", "Consolidation")  # findings that may lie anywhere in the lungs
METHODS = ("gradcam", "gradcam++", "hirescam", "xgradcam")
SHAPE = (phantom.SIDE, phantom.SIDE)


@dataclass(frozen=True)
class Case:
    """A held-out film with one of its lesions."""

    index: int
    finding: str

    @property
    def drawn(self) -> phantom.Phantom:
        return phantom.draw(SEED, self.index)


def cases(n: int = N_FILMS) -> list[Case]:
    """Return films with a lesion that may lie anywhere in the lungs, one lesion a film."""
    found = []
    index = 0
    while len(found) < n:
        film = phantom.draw(SEED, index)
        present = [finding for finding in LESIONS if film.present[finding]]
        if present:
            found.append(Case(index, present[index % len(present)]))
        index += 1
    return found


def model(sample: str) -> dict[str, Any]:
    """Return a shipped network as questions name it."""
    how = Preprocessing(SHAPE, (phantom.MEAN,), (phantom.STD,))
    weights = str(SAMPLES / sample / "weights.safetensors")
    film_model = FilmModel(
        model="densenet_small",
        n_outputs=len(phantom.FINDINGS),
        channels=1,
        preprocessing=how,
        weights=weights,
    )
    return codec.to_json(film_model)


def answers(
    sample: str,
    found: list[Case],
    *,
    method: str = "gradcam",
    shuffled: int | None = None,
    without: bool = False,
) -> tuple[list[np.ndarray], np.ndarray]:
    """Return each case's map at film size, and the probability of its finding."""
    finding = [phantom.FINDINGS.index(case.finding) for case in found]
    drawn = [
        {"phantom": [SEED, case.index], **({"without": case.finding} if without else {})}
        for case in found
    ]
    said, arrays = films.saliency_maps(
        {
            "model": model(sample),
            "films": drawn,
            "pairs": [[place, finding[place]] for place in range(len(found))],
            "method": method,
            "layer": None,
            "shuffled": shuffled,
        }
    )
    frames = [tuple(frame) for frame in said["frames"]]
    heats = [on_film(one, frame, SHAPE) for one, frame in zip(arrays["maps"], frames, strict=True)]
    return heats, arrays["probabilities"][np.arange(len(found)), finding]


def boxes(found: list[Case]) -> list[tuple[phantom.Box]]:
    """Return the one box of each case's lesion."""
    return [(case.drawn.boxes[case.finding],) for case in found]


def middle_hits(found: list[Case]) -> np.ndarray:
    """Whether the middle of the film lies in each box."""
    point = np.zeros(SHAPE, np.float32)
    point[SHAPE[0] // 2, SHAPE[1] // 2] = 1.0
    return np.array([hit(point, at) for at in boxes(found)])


def lung_hits(found: list[Case]) -> np.ndarray:
    """Whether a point that is uniform over the film's lungs lies in each box."""
    rng = np.random.default_rng(SEED)
    hits = []
    for case, at in zip(found, boxes(found), strict=True):
        point = np.zeros(SHAPE, np.float32)
        places = np.argwhere(case.drawn.lungs)
        point[tuple(places[rng.integers(len(places))])] = 1.0
        hits.append(hit(point, at))
    return np.array(hits)


def main() -> None:
    """Print the tables."""
    found = cases()
    rows = [("the film's middle", pointed(middle_hits(found))),
            ("a point of the lungs", pointed(lung_hits(found)))]  # fmt: skip
    print(f"{len(found)} held-out phantoms, one lesion each\n")
    print("| maps | pointing game | IoU at half | energy in box |\n|---|---|---|---|")
    for name, share in rows:
        print(f"| {name} | {written(share)} | | |")
    for sample in MODELS:
        for method in METHODS if sample == MODELS[0] else METHODS[:1]:
            heats, _ = answers(sample, found, method=method)
            line(f"{sample}, {method}", heats, found)
    for seed in range(3):  # all three networks have the same form
        heats, _ = answers(MODELS[0], found, shuffled=seed)
        line(f"randomised weights, seed {seed}", heats, found)
    print("\n| network | probability, lesion there | left out | falls in | heat in box falls in |")
    print("|---|---|---|---|---|")
    for sample in MODELS:
        print_without(sample, found)
    times()


def line(name: str, heats: list[np.ndarray], found: list[Case]) -> None:
    """Print one row of the table of maps."""
    said = localise(heats, boxes(found))
    print(f"| {name} | {written(said.pointing)} | {written(said.iou)} | {written(said.energy)} |")


def written(share: Any) -> str:
    """Return a share with its interval."""
    return f"{share.value:.3f} ({share.low:.3f} to {share.high:.3f})"


def falls(sample: str, found: list[Case]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return probability and heat in the box, with the lesion and without it."""
    heats, there = answers(sample, found)
    cold, gone = answers(sample, found, without=True)
    within = [in_box(heats, found), in_box(cold, found)]
    return there, gone, within[0], within[1]


def in_box(heats: list[np.ndarray], found: list[Case]) -> np.ndarray:
    """Return the mean raw heat in each case's box."""
    means = []
    for heat, (box,) in zip(heats, boxes(found), strict=True):
        left, top, right, bottom = (round(side) for side in box)
        means.append(heat[top:bottom, left:right].mean())
    return np.array(means)


def print_without(sample: str, found: list[Case]) -> None:
    """Print what leaving the lesion out does."""
    there, gone, hot, cold = falls(sample, found)
    print(
        f"| {sample} | {there.mean():.3f} | {gone.mean():.3f} | {(gone < there).mean():.3f} "
        f"| {(cold < hot).mean():.3f} |"
    )


def times(rounds: int = 7) -> None:
    """Print how long one film takes in the warm process: a real size, 1,024 x 1,024."""
    mean, std = MOMENTS["imagenet"]
    how = Preprocessing((224, 224), mean, std, crop=0.875, cover=True)
    with TemporaryDirectory() as folder, torch.random.fork_rng(devices=[]):
        weights, film = Path(folder) / "w.safetensors", Path(folder) / "film.npy"
        net = build("torchvision:densenet121", n_outputs=14, channels=3, size=(224, 224))
        save_file(net.state_dict(), weights)
        np.save(film, np.random.default_rng(0).integers(0, 256, (1024, 1024), np.uint8))
        film_model = FilmModel(
            model="torchvision:densenet121",
            n_outputs=14,
            channels=3,
            preprocessing=how,
            weights=str(weights),
        )
        about = codec.to_json(film_model)
        asked = {"model": about, "film": {"file": str(film)}, "method": "gradcam", "layer": None}
        client = Client()
        client.call("heat", asked | {"findings": [0]})  # imports and loads
        print("\n| DenseNet-121, one film, warm worker, CPU | median of 7, s |\n|---|---|")
        for name, findings in (("one finding", [0]), ("14 findings", None)):
            took = []
            for _ in range(rounds):
                start = time.perf_counter()
                client.call("heat", asked | {"findings": findings})
                took.append(time.perf_counter() - start)
            print(f"| {name} | {statistics.median(took):.2f} |")
        client.close()


if __name__ == "__main__":
    main()
