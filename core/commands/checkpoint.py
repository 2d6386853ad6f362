"""What the verbs that open a checkpoint share: its file, its network, and what that is shown."""

import argparse
import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from core.commands.shared import Json, Parser
from core.errors import Refused, UsageError

if TYPE_CHECKING:
    from core.checkpoints.guess import NetworkCandidate
    from core.inference.preprocessing import Preprocessing
    from core.readers.weights.named_tensors import WeightGroup, WeightsFile

MOMENTS_OF_DATA: Final = "data"
OWN_CODE: Final = "run your code with assets/predict_to_file.py and upload the predictions"
USUAL: Final = {  # millions of parameters of those of libraries that are compared, too
    "torchvision:resnet18": 11.7, "torchvision:resnet34": 21.8, "torchvision:resnet50": 25.6,
    "torchvision:resnet101": 44.5, "torchvision:densenet121": 8.0, "torchvision:vgg16_bn": 138.4,
    "torchvision:mobilenet_v2": 3.5, "torchvision:efficientnet_b0": 5.3,
    "torchvision:convnext_tiny": 28.6, "torchvision:vit_b_16": 86.6, "torchvision:swin_t": 28.3,
    "timm:vit_base_patch16_224": 86.6, "timm:vit_small_patch16_224": 22.1,
    "timm:efficientnet_b0": 5.3, "timm:convnext_tiny": 28.6,
}  # fmt: skip
ALIKE: Final = (0.6, 1.5)  # of their numbers that a file's are


def add_options(verb: Parser) -> None:
    """Add the checkpoint, and the options that say which network it is and what it is shown."""
    verb.add_argument("checkpoint", metavar="CHECKPOINT", help="a file, or the id of a training")
    verb.add_argument("--model", metavar="NAME", help="small_cnn, timm:NAME, torchvision:NAME ...")
    verb.add_argument("--classes", type=int, metavar="K", help="default: what the weights have")
    verb.add_argument("--channels", type=int, metavar="C", help="default: what the weights have")
    verb.add_argument("--group", metavar="KEY", help="which state of the file, as state_dict_ema")
    verb.add_argument("--size", type=int, metavar="PIXELS", help="side of the network's images")
    verb.add_argument("--crop", type=float, metavar="SHARE", help="of the scaled image, to 1")
    verb.add_argument("--crops", type=int, choices=[1, 5, 10], help="parts that are averaged")
    verb.add_argument("--average", choices=["logits", "probabilities"])
    verb.add_argument("--moments", help="data, imagenet, half, unit, bytes ...")


def check(arguments: argparse.Namespace) -> None:
    """Refuse numbers that are none; UsageError SETTING."""
    for key in ("size", "classes", "channels"):
        value = getattr(arguments, key)
        if value is not None and value < 1:
            raise UsageError("SETTING", f"--{key} is {value}", "give a whole number from 1")


def leads_to(path: Path, kind: str) -> bool:
    """Whether a path is a ``file`` or a ``dir``; one that cannot be looked at is neither."""
    try:
        return path.is_file() if kind == "file" else path.is_dir()
    except OSError:
        return False


def source(named: str) -> tuple[Path, str]:
    """Return the file that was named, or the last checkpoint of the training that was."""
    path = Path(named)
    if leads_to(path, "file"):
        return path, ""
    from core.jobs.local import open_jobs
    from core.jobs.store import is_id

    if is_id(named):
        saved = sorted(open_jobs().folder(named).checkpoints.glob("epoch-*.pt"))
        if saved:
            return saved[-1], named
        raise UsageError("JOB", f"Training {named} left no checkpoint", "name a file of weights")
    raise UsageError("FILE", f"There is no file {path.name[:100]}", "check the path")


def read(path: Path, into: Path, key: str | None) -> "tuple[WeightsFile, WeightGroup]":
    """Read a file of weights in a sealed process; return it and the group that is meant."""
    from core.readers.sandbox.read import read_weights

    file = read_weights(path, into=into, name=path.name)
    keys = [group.key for group in file.groups]
    if key is not None and key not in keys:
        known = ", ".join(repr(known_key) for known_key in keys)
        raise UsageError("SETTING", f"The file has no group {key!r}", f"use one of {known}")
    return file, file.groups[0] if key is None else file.group(key)


def candidate_of(
    model: str | None, file: "WeightsFile", group: "WeightGroup"
) -> "NetworkCandidate":
    """Return the network that was named, or the one whose tensors these are.

    Refused STATE_DICT where it cannot be told, with the network that is nearest; UsageError SETTING
    for a name that none has, with names near it.
    """
    from core.checkpoints.guess import NetworkCandidate, guess
    from core.checkpoints.index import shipped
    from core.models.catalogue import BY_NAME, ONNX, OURS

    candidates = guess(file, group)
    if model is None:
        if not candidates or not candidates[0].fits:
            raise _untold(file, group, [candidate.model for candidate in candidates])
        return candidates[0]
    if model not in {*OURS, ONNX} and not BY_NAME.fullmatch(model):
        near = shipped().near(model)
        remedy = f"use {', '.join(near)}" if near else f"none has a name like it: {OWN_CODE}"
        raise UsageError("SETTING", f"There is no network {model[:60]!r}", remedy)
    same = [candidate for candidate in candidates if candidate.model == model]
    return (
        same[0]
        if same
        else NetworkCandidate(model=model, n_outputs=0, channels=0, size=None, why="", fits=False)
    )


def _untold(file: "WeightsFile", group: "WeightGroup", named: list[str]) -> Refused:
    """Return why a network cannot be told: what the nearest lacks, or that none is near."""
    from core.checkpoints.match import nearest
    from core.models.catalogue import OURS

    n = sum(math.prod(tensor.shape) for tensor in group.tensors) / 1e6
    sizes = {name: entry.millions for name, entry in OURS.items()} | USUAL
    alike = [name for name, size in sizes.items() if ALIKE[0] * size <= n <= ALIKE[1] * size]
    best = nearest(group.tensors, dict.fromkeys([*named, *alike]), outputs(group))
    what = f"No network here has exactly the tensors of {file.name[:60]}"
    if best is None:
        return Refused("STATE_DICT", what, f"name it with --model; if none fits, {OWN_CODE}")
    remedy = f"take out or add these tensors, name another with --model, or {OWN_CODE}"
    return Refused("STATE_DICT", f"{what}. {best.refusal().what}", remedy)


def outputs(group: "WeightGroup") -> int:
    """Return how many outputs the last weights of a group make: a first guess, then matched."""
    matrices = [tensor.shape for tensor in group.tensors if len(tensor.shape) >= 2]
    return matrices[-1][0] if matrices else 1


def preprocessing_of(
    arguments: argparse.Namespace, settings: "Preprocessing", channels: int
) -> "Preprocessing":
    """Return what images go through: the network's settings, changed as the options say.

    UsageError SETTING for moments of an unknown name.
    """
    from core.inference.preprocessing import MOMENTS, with_moments

    changed: Json = {
        key: getattr(arguments, key)
        for key in ("crop", "crops", "average")
        if getattr(arguments, key) is not None
    }
    if arguments.moments == MOMENTS_OF_DATA:
        changed |= {"mean": (), "std": ()}
    elif arguments.moments is not None:
        if arguments.moments not in MOMENTS:
            known = ", ".join((MOMENTS_OF_DATA, *MOMENTS))
            what = f"Moments are {arguments.moments!r}"
            raise UsageError("SETTING", what, f"use one of {known}")
        settings = with_moments(settings, arguments.moments, channels)
    if arguments.size:
        changed["size"] = (arguments.size, arguments.size)
    return replace(settings, **changed)
