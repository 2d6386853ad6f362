"""What a warm process can be asked of films: scores, heatmaps, and whether to trust them; torch.

A question names a model as `core.inference.film_model` writes it, and films as
``{"file": path of an (H, W) uint8 .npy}`` or ``{"phantom": [seed, index]}``, with ``"without"``
for a finding that is left out of a phantom.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from core import codec
from core.errors import Refused
from core.inference.evaluate import BatchPreprocessor, frame, prepared_scores
from core.inference.film_model import FilmModel
from core.inference.job import CPU, kept_model
from core.xray import gradcam, phantom
from core.xray.gradcam import cascade, shuffled, ssim
from core.xray.heat import METHODS

Json = dict[str, Any]  # Any: plain JSON values
Arrays = dict[str, npt.NDArray[Any]]  # Any: numbers of several types
Answer = tuple[Json, Arrays]
BATCH: Final = 16  # films at once
MOST_FILMS: Final = 500


def film_saliency(question: Json) -> Answer:
    """Return what a model says of one film, and a map for each finding that is asked for."""
    about = codec.read(FilmModel, question["model"])
    model = kept_model(about, Path(about.weights))
    film = _pixels(question["film"])
    crops = _prepare(about)(film)
    offered = gradcam.layers(model, crops[0])
    layer = question["layer"] or offered[-1]
    findings = range(about.n_outputs) if question["findings"] is None else question["findings"]
    if not METHODS[question["method"]].at_once and len(findings) != 1:
        raise Refused("EMPTY", f"{question['method']} takes one finding", "name one finding")
    # The map is of the middle crop, which is what lies under it on
    # the film; the scores are of all crops.
    pairs = [(0, finding) for finding in findings]
    result = gradcam.film_saliency(
        model, _middle(crops), pairs, method=question["method"], layer=layer
    )
    logits, probabilities = _scores(model, about, crops)
    values = {
        "layers": list(offered),
        "layer": layer,
        "method": question["method"],
        "frame": list(frame(about.preprocessing, (film.shape[2], film.shape[3]))),
    }
    arrays: Arrays = {"logits": logits[0], "probabilities": probabilities[0], "maps": result.maps}
    return values, arrays


def saliency_maps(question: Json) -> Answer:
    """Return maps for pairs of film and finding, and what the model says of each film."""
    about = codec.read(FilmModel, question["model"])
    model = kept_model(about, Path(about.weights))
    if question["shuffled"] is not None:
        model = shuffled(model, question["shuffled"])
    films, pairs = question["films"], question["pairs"]
    if not 0 < len(films) <= MOST_FILMS:
        raise Refused("EMPTY", f"{len(films)} films were requested", f"give 1 to {MOST_FILMS}")
    prepare, frames = _prepare(about), list[tuple[float, ...]]()
    maps: dict[int, gradcam.Maps] = {}
    probabilities = []
    for start in range(0, len(films), BATCH):
        # Films may differ in size: each is prepared alone.
        pixels = [_pixels(film) for film in films[start : start + BATCH]]
        frames += [frame(about.preprocessing, (film.shape[2], film.shape[3])) for film in pixels]
        crops = [torch.cat(crop) for crop in zip(*map(prepare, pixels), strict=True)]
        layer = question["layer"] or gradcam.layers(model, crops[0][:1])[-1]
        # Pairs in any order; each batch answers those of its own
        # films and puts them where they belong.
        places = [place for place, (film, _) in enumerate(pairs) if 0 <= film - start < BATCH]
        batch_pairs = [(pairs[place][0] - start, pairs[place][1]) for place in places]
        result = gradcam.film_saliency(
            model, _middle(crops), batch_pairs, method=question["method"], layer=layer
        )
        maps |= dict(zip(places, result.maps, strict=True))
        probabilities.append(_scores(model, about, crops)[1])
    arrays: Arrays = {
        "maps": np.stack([maps[place] for place in range(len(pairs))]),
        "probabilities": np.concatenate(probabilities),
    }
    return {"frames": [list(edges) for edges in frames]}, arrays


def sanity(question: Json) -> Answer:
    """Return the map of a finding as trained, and as ever more weights are randomised.

    The similarity of each stage is given for every seed; the maps are those of the first one.
    """
    about = codec.read(FilmModel, question["model"])
    model = kept_model(about, Path(about.weights))
    film = _middle(_prepare(about)(_pixels(question["film"])))
    layer = question["layer"] or gradcam.layers(model, film)[-1]
    stages, maps = ["as trained"], []
    pairs = [(0, question["finding"])]
    maps.append(
        gradcam.film_saliency(model, film, pairs, method=question["method"], layer=layer).maps[0]
    )
    similarity: list[list[float]] = []
    # Adebayo et al. 2018: weights are randomised from the last layer down, one part more each time.
    for seed in question["seeds"]:
        drawn = [maps[0]]
        for name, changed in cascade(model, seed):
            result = gradcam.film_saliency(
                changed, film, pairs, method=question["method"], layer=layer
            )
            drawn.append(result.maps[0])
            if not similarity:
                stages.append(name)
                maps.append(result.maps[0])
        similarity.append([ssim(maps[0], other) for other in drawn])
    return {"stages": stages, "similarity": similarity, "layer": layer}, {"maps": np.stack(maps)}


def _prepare(about: FilmModel) -> BatchPreprocessor:
    preprocessing = about.preprocessing
    return BatchPreprocessor(
        preprocessing, about.channels, preprocessing.mean, preprocessing.std, CPU
    )


def _pixels(film: Mapping[str, Any]) -> Tensor:
    """Return a film, (1, 1, H, W) uint8."""
    if "phantom" in film:
        synthetic = phantom.draw(*film["phantom"], without=film.get("without"))
        return torch.from_numpy(synthetic.pixels)[None, None]
    return torch.from_numpy(np.load(film["file"], allow_pickle=False))[None, None]


def _middle(crops: Sequence[Tensor]) -> Tensor:
    """Return the middle crop: the only one, or the one after the four corners."""
    return crops[4] if len(crops) > 1 else crops[0]


def _scores(
    model: nn.Module, about: FilmModel, crops: list[Tensor]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return log-odds and probabilities, (n, L) float64 each, over all crops."""
    with torch.inference_mode():
        outputs = prepared_scores(model, crops, about.preprocessing, many=True).double()
        if about.preprocessing.gives_probabilities:
            return torch.logit(outputs).numpy(), outputs.numpy()
        return outputs.numpy(), outputs.sigmoid().numpy()
