"""Class activation maps on the logit of a finding, and how alike two maps are; torch.

The forward pass, the gradients and the scale are ours, grad-cam weighs the maps of the layer: one
forward for all films and findings, one gradient for each finding, and hooks that are gone when it
returns. Maps are raw, so those of several findings or films can share one scale.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import torch
from pytorch_grad_cam import EigenCAM, GradCAM, GradCAMPlusPlus, HiResCAM, ScoreCAM, XGradCAM
from pytorch_grad_cam.utils.model_targets import ClassifierOutputTarget
from scipy import ndimage
from torch import Tensor, nn
from torch.nn import functional
from torchvision.models import DenseNet  # type: ignore[import-untyped]

from core.arrays import Float
from core.errors import Refused, UsageError
from core.xray.heat import METHODS

Maps = npt.NDArray[np.float32]
Pair = tuple[int, int]  # film, finding
WEIGHINGS: Final = {
    "gradcam": GradCAM,
    "gradcam++": GradCAMPlusPlus,
    "hirescam": HiResCAM,
    "xgradcam": XGradCAM,
    "eigencam": EigenCAM,
}
RECTIFIED: Final = "features"  # torchvision's DenseNet rectifies these after them, without a module
MOST_MAPS: Final = 2_048  # that ScoreCAM looks at the film through


@dataclass(frozen=True, eq=False)
class FilmSaliency:
    """What a network says of some films, and where that comes from."""

    logits: npt.NDArray[np.float32]  # (n, L)
    # (P, h, w), one a pair, at least 0, as large as the layer's maps, not scaled; in the unit of
    # the method
    maps: Maps


def layers(model: nn.Module, film: Tensor) -> tuple[str, ...]:
    """Return the layers that maps can be taken from: the last one of each resolution.

    Parameters
    ----------
    model : nn.Module
        In evaluation mode.
    film : (1, C, H, W) float32 tensor

    Returns
    -------
    tuple of str
        Names of modules, fine to coarse; the last one is what most papers take. Modules that are
        called more than once are left out, as their output is not one.

    Raises
    ------
    Refused
        NO_MAPS: the plane of the film is left before the network's second half, as by transformers
        that cut it into patches.
    """
    # Found by running the film, not by type: any module whose output
    # keeps the film's proportions has maps of it.
    planes: dict[str, tuple[int, int]] = {}
    called: list[str] = []

    def note(name: str) -> Any:  # noqa: ANN401  a hook of torch
        def hook(_module: nn.Module, _inputs: object, output: object) -> None:
            called.append(name)
            if isinstance(output, Tensor) and _is_plane(output, film):
                planes[name] = (output.shape[2], output.shape[3])

        return hook

    # What changes nothing is no map of the film, nor is attention.
    others = (nn.Softmax, nn.Dropout, nn.Identity)
    handles = [
        module.register_forward_hook(note(name))
        for name, module in model.named_modules()
        if name and "attn" not in name and "attention" not in name
        if not isinstance(module, others)
    ]
    try:
        with torch.no_grad():
            model(film)
    finally:
        for handle in handles:
            handle.remove()
    order = [name for name in called if name in planes and called.count(name) == 1]
    # A plane that is left early, as behind the patches of a transformer, is not what is classified.
    if not order or called.index(order[-1]) < len(called) / 2:
        what = "This network has no spatial maps at its end"
        raise Refused("NO_MAPS", what, "use a convolutional network, such as DenseNet-121")
    # Of each resolution the last: the most abstract maps that are as fine.
    chosen: dict[tuple[int, int], str] = {}
    for name in order:
        before = chosen.get(planes[name])
        if before is None or name.count(".") <= before.count("."):  # whole stages before parts
            chosen[planes[name]] = name
    return tuple(chosen[size] for size in sorted(chosen, reverse=True))


def _is_plane(output: Tensor, film: Tensor) -> bool:
    """Whether a layer's output are maps (n, C, h, w) of the film's proportions, but for rounding.

    Maps that hold their channels last have others.
    """
    if output.ndim != 4 or min(output.shape[2:]) < 2:
        return False
    (height, width), (h, w) = film.shape[2:], output.shape[2:]
    return abs(h * width - w * height) <= max(height, width)


def film_saliency(
    model: nn.Module, films: Tensor, pairs: Sequence[Pair], *, method: str, layer: str
) -> FilmSaliency:
    """Return what a network says of films, and maps for pairs of film and finding.

    Parameters
    ----------
    model : nn.Module
        In evaluation mode; its output are logits (n, L).
    films : (n, C, H, W) float32 tensor
        As the network takes them.
    pairs : sequence of (film, finding)
        ScoreCAM takes one.
    method : str
        A key of `core.xray.heat.METHODS`.
    layer : str
        A name from `layers`.

    Raises
    ------
    UsageError
        SETTING: an unknown method or layer.
    Refused
        NONFINITE: the network gives NaN or infinity. LIMIT_TIME: ScoreCAM of too many maps.
    """
    if method not in METHODS:
        use = f"use one of {', '.join(METHODS)}"
        raise UsageError("SETTING", f"No method is called {method!r:.60}", use)
    logits, layer_maps = _forward(model, films, layer)
    outputs, activations = logits.detach().cpu().numpy(), layer_maps.detach().cpu().numpy()
    # NaN would pass through every weighing as a blank map.
    for values in (outputs, activations):
        _check(values)
    if method == "scorecam":
        ((film, finding),) = pairs
        n_maps = activations.shape[1]
        if n_maps > MOST_MAPS:
            what = f"ScoreCAM would run the film {n_maps:,} times"
            remedy = f"choose a layer of at most {MOST_MAPS:,} maps, or another method"
            raise Refused("LIMIT_TIME", what, remedy)
        # ScoreCAM masks the film with each map and runs it again: no gradient, one pass a map.
        cam: Any = ScoreCAM(model, [])
        of_film, targets = activations[[film]], [ClassifierOutputTarget(finding)]
        maps = np.asarray(cam.get_cam_image(films[[film]], None, targets, of_film, None, False))
    elif method == "eigencam":
        maps = _weighed(method, activations, activations)[[film for film, _ in pairs]]
    else:
        maps = _by_gradient(method, logits, layer_maps, activations, pairs)
    _check(maps)
    # Only what speaks for the finding is drawn: negative values of the map are cut (Selvaraju et
    # al. 2017, equation 2).
    return FilmSaliency(outputs, np.maximum(maps, 0.0).astype(np.float32))


def _forward(model: nn.Module, films: Tensor, layer: str) -> tuple[Tensor, Tensor]:
    """Return logits (n, L) and the layer's maps (n, C, h, w) that they were computed from.

    What lies before the layer is computed without a graph.
    """
    with torch.no_grad():
        # The rectified maps have no module to hook, so the head is run here by hand.
        if isinstance(model, DenseNet) and layer == RECTIFIED:
            layer_maps = functional.relu(model.features(films)).requires_grad_()
            with torch.enable_grad():
                pooled = functional.adaptive_avg_pool2d(layer_maps, (1, 1))
                return model.classifier(torch.flatten(pooled, 1)), layer_maps
        with _keeping(model, layer) as outputs:
            logits = model(films)
    return logits, outputs[0]


@contextmanager
def _keeping(model: nn.Module, layer: str) -> Iterator[list[Tensor]]:
    """Yield a list that the output of a layer is put into; from there on gradients are recorded.

    The network goes on with a copy: layers after it may write into their input.
    """
    modules = dict(model.named_modules())
    if layer not in modules:
        use = "choose one of those offered"
        raise UsageError("SETTING", f"No layer is called {layer!r:.60}", use)
    outputs: list[Tensor] = []

    def hook(_module: nn.Module, _inputs: object, output: Tensor) -> Tensor:
        outputs.append(output.detach().requires_grad_())
        torch.set_grad_enabled(True)  # until the forward pass is over
        return outputs[-1].clone()

    handle = modules[layer].register_forward_hook(hook)
    try:
        yield outputs
    finally:
        handle.remove()


def _by_gradient(
    method: str, logits: Tensor, layer_maps: Tensor, activations: Maps, pairs: Sequence[Pair]
) -> Maps:
    """Return one map a pair; a round takes the gradient of one finding of each of its films."""
    maps = np.empty((len(pairs), *activations.shape[2:]), np.float32)
    left = list(enumerate(pairs))
    # Logits of different films do not depend on each other: one backward of their sum gives each
    # film's gradient, one finding of each in a round.
    while left:
        round_of = {film: (place, finding) for place, (film, finding) in reversed(left)}
        left = [entry for entry in left if round_of[entry[1][0]][0] != entry[0]]
        films = sorted(round_of)
        findings = [round_of[film][1] for film in films]
        total = logits[films, findings].sum()
        (gradient,) = torch.autograd.grad(total, layer_maps, retain_graph=True)
        weighed = _weighed(method, activations[films], gradient[films].cpu().numpy())
        maps[[round_of[film][0] for film in films]] = weighed
    return maps


def _weighed(method: str, activations: Maps, gradients: Maps) -> Maps:
    """Return what grad-cam makes of maps and gradients, (n, h, w); it sees no network."""
    cam: Any = WEIGHINGS[method](model=nn.Linear(1, 1), target_layers=[])
    return np.asarray(cam.get_cam_image(None, None, None, activations, gradients, False))


def _check(values: npt.NDArray[np.floating]) -> None:
    if not np.isfinite(values).all():
        what = "The network gives NaN or infinity for a film"
        raise Refused("NONFINITE", what, "check mean, std and the weights; no map was drawn")


# How alike two maps are, and maps of shuffled weights.
MOST: Final = 0.75  # of the weighted modules: a part with more is randomised in smaller steps


def shuffled(model: nn.Module, seed: int) -> nn.Module:
    """Return a copy of a network with all weights randomised."""
    *_, (_, network) = cascade(model, seed)
    return network


def cascade(model: nn.Module, seed: int) -> Iterator[tuple[str, nn.Module]]:
    """Yield a network with ever more of its weights randomised, from the last layer down.

    `model`: not changed.

    Yields
    ------
    (str, nn.Module)
        The part that was drawn last, and the network, the same object each time.
    """
    copy = deepcopy(model)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        # From the logits down: a map that stays the same with a random
        # head does not depend on what was learned.
        for name, modules in reversed(_parts(copy)):
            for module in modules:
                # As when it was made; N(0, 0.02) where it does not say how.
                reset = getattr(module, "reset_parameters", None)
                if reset is not None:
                    reset()
                    continue
                for parameter in module.parameters(recurse=False):
                    nn.init.normal_(parameter, 0.0, 0.02)
            yield name, copy.eval()


def _parts(model: nn.Module) -> list[tuple[str, list[nn.Module]]]:
    """Return modules with weights of their own, in the order they were added, by part."""
    weighted = {
        name: module
        for name, module in model.named_modules()
        if next(module.parameters(recurse=False), None) is not None
    }
    depth = 1
    names = [name.split(".") for name in weighted]
    heads = [name[0] for name in names]
    # Where one part holds nearly all, as a backbone, its children are the parts.
    if names and max(heads.count(head) for head in heads) > MOST * len(names):
        depth = 2
    parts: dict[str, list[nn.Module]] = {}
    for name, module in weighted.items():
        parts.setdefault(".".join(name.split(".")[:depth]), []).append(module)
    return list(parts.items())


SIDE: Final = 64  # both maps are brought to it
WINDOW: Final = 7
C1, C2 = 0.01**2, 0.03**2  # Wang et al. 2004, for values of 0 to 1


def ssim(first: npt.NDArray[np.floating], second: npt.NDArray[np.floating]) -> float:
    """Return the structural similarity of two maps, each scaled to its own largest value.

    Parameters
    ----------
    first, second : (h, w) float
        At least 0; sizes may differ.

    Returns
    -------
    float
        In [-1, 1]; 1 for maps of the same form. 0 where one of them is blank and the other is
        not, 1 where both are.

    References
    ----------
    Wang, Bovik, Sheikh and Simoncelli 2004, equation 13, over windows of 7 x 7 of 64 x 64.
    """
    a, b = _scaled(first), _scaled(second)
    if not a.any() or not b.any():
        return float(a.any() == b.any())
    mean_a, mean_b = _local(a), _local(b)
    var_a, var_b = _local(a * a) - mean_a**2, _local(b * b) - mean_b**2
    # Covariance by window, as E[ab] - E[a] E[b]; both maps lie in 0 to 1, so little is lost.
    shared = _local(a * b) - mean_a * mean_b
    light = (2 * mean_a * mean_b + C1) / (mean_a**2 + mean_b**2 + C1)
    structure = (2 * shared + C2) / (var_a + var_b + C2)
    return float((light * structure).mean())


def _scaled(saliency: npt.NDArray[np.floating]) -> Float:
    values = np.asarray(saliency, np.float64)
    zoom = (SIDE / values.shape[0], SIDE / values.shape[1])
    wide = ndimage.zoom(values, zoom, order=1, mode="nearest", grid_mode=True)
    top = values.max()
    return np.asarray(wide / top if top > 0 else np.zeros_like(wide))


def _local(values: Float) -> Float:
    """Return means over windows that lie wholly inside."""
    edge = WINDOW // 2
    means: Float = ndimage.uniform_filter(values, WINDOW)[edge:-edge, edge:-edge]
    return means
