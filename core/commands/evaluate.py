"""``python -m core evaluate``, and what the verbs that open a checkpoint share."""

import argparse
import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from core.commands.jobs import add_launcher, request_of, waited
from core.commands.shared import Json, Parser, emit, number, printable
from core.errors import Refused, UsageError

if TYPE_CHECKING:
    from core.checkpoints.guess import NetworkCandidate
    from core.checkpoints.names import Match
    from core.datasets.shifts import OutsideSet
    from core.inference.config import EvaluationConfig, Preprocessing
    from core.readers.weights.named_tensors import WeightGroup, WeightsFile

ALL: Final = "corrupted"
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


def add_checkpoint(verb: Parser) -> None:
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


def check_numbers(arguments: argparse.Namespace) -> None:
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


def read_checkpoint(path: Path, into: Path, key: str | None) -> "tuple[WeightsFile, WeightGroup]":
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
    from core.checkpoints.guess import NetworkCandidate, guess, shipped
    from core.checkpoints.match import nearest
    from core.models.catalogue import BY_NAME, ONNX, OURS

    candidates = guess(file, group)
    if model is None:
        if not candidates or not candidates[0].fits:
            # What the nearest network lacks, or that none is near
            n = sum(math.prod(tensor.shape) for tensor in group.tensors) / 1e6
            sizes = {name: entry.millions for name, entry in OURS.items()} | USUAL
            alike = [name for name, own in sizes.items() if ALIKE[0] * own <= n <= ALIKE[1] * own]
            names = dict.fromkeys([*(candidate.model for candidate in candidates), *alike])
            best = nearest(group.tensors, names, outputs(group))
            what = f"No network here has exactly the tensors of {file.name[:60]}"
            if best is None:
                remedy = f"name it with --model; if none fits, {OWN_CODE}"
                raise Refused("STATE_DICT", what, remedy)
            remedy = f"take out or add these tensors, name another with --model, or {OWN_CODE}"
            raise Refused("STATE_DICT", f"{what}. {best.refusal().what}", remedy)
        return candidates[0]
    if model not in {*OURS, ONNX} and not BY_NAME.fullmatch(model):
        near = shipped().near(model)
        remedy = f"use {', '.join(near)}" if near else f"none has a name like it: {OWN_CODE}"
        raise UsageError("SETTING", f"There is no network {model[:60]!r}", remedy)
    none = NetworkCandidate(model=model, n_outputs=0, channels=0, size=None, why="", fits=False)
    return next((candidate for candidate in candidates if candidate.model == model), none)


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
    from core.inference.config import MOMENTS, with_moments

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


def add_evaluate(verb: Parser) -> None:
    """Add the options of ``evaluate``."""
    verb.set_defaults(run=_evaluate)
    add_checkpoint(verb)
    verb.add_argument("--data", required=True, metavar="NAME|DIR")
    verb.add_argument("--data-root", type=Path, metavar="DIR")
    verb.add_argument("--split-seed", type=int, default=0)
    verb.add_argument("--split", action="append", metavar="NAME", help="default: val and test")
    verb.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME[=DIR]",
        help="also svhn, folder=DIR, cifar10c-fog-3=DIR, corrupted-fog-3, or corrupted for all",
    )
    verb.add_argument(
        "--limit", type=int, metavar="N", help="only N images of each, at even distances"
    )
    verb.add_argument("--batch-size", type=int, default=64)
    verb.add_argument("--device", default="auto", choices=["auto", "cpu", "cuda"])
    verb.add_argument("--name", default="", help="what the run is called")
    verb.add_argument(
        "--temperature", default="1", metavar="T|file", help="divide logits by it, or by the file's"
    )
    verb.add_argument("--layout", choices=["nchw", "nhwc"], help="of an ONNX model")
    verb.add_argument("--outputs", choices=["logits", "probabilities"], help="of an ONNX model")
    verb.add_argument(
        "--keep-implausible", action="store_true", help="even if it guesses with high confidence"
    )
    verb.add_argument(
        "--changed-files",
        action="store_true",
        help="read CIFAR's files although their MD5 sums are not the published ones",
    )
    verb.add_argument("--out", type=Path, metavar="FILE", help="also write the run as .npz")
    verb.add_argument("--json", metavar="OUT|-")
    add_launcher(verb)


def _evaluate(arguments: argparse.Namespace) -> int:
    from core.configs import AuditConfig
    from core.jobs.local import open_jobs
    from core.library import open_library
    from core.metrics.suite import audit
    from core.models.catalogue import ONNX
    from core.readers.sandbox import scratch
    from core.reports.study_json import audit_json

    jobs, request = open_jobs(), request_of(arguments)
    # What would only be noticed after hours of work
    for place in (arguments.out, arguments.json if arguments.json != "-" else None):
        if place is not None and not Path(place).absolute().parent.is_dir():
            what = f"There is no folder for {Path(place).name}"
            raise UsageError("OUTPUT", what, "make it, or name another")
    check_numbers(arguments)
    path, run = source(arguments.checkpoint)
    with scratch.folder("evaluate") as folder:
        file, group = read_checkpoint(path, folder, arguments.group)
        candidate = candidate_of(arguments.model, file, group)
        if arguments.moments is None and file.hints.get("input_type") == "uint8":
            arguments.moments = "bytes"
        config = _config(arguments, file, group, candidate, run)
        matched = _match(group, config, folder / group.file)
        if not matched.ok and arguments.classes is None and matched.likely_outputs:
            config = replace(config, n_outputs=matched.likely_outputs)
            matched = _match(group, config, folder / group.file)
        if not matched.ok:
            raise matched.refusal()
        (job,) = jobs.submit([config], weights=folder / group.file, request=request)
    manifest = open_library().get(waited(jobs, job).run)
    split = manifest.headline
    predictions = open_library().load(manifest.id, split)
    audited = audit_json(
        manifest.source.file,
        manifest.source.digest,
        {name: entry.n for name, entry in manifest.splits.items()},
        split,
        manifest.notices,
        audit(predictions, AuditConfig()),
    )
    same = ("n", "splits", "split", "notices", "metrics")
    report = {
        "run": manifest.id,
        "model": config.model,
        "loaded": {"matched": matched.matched, "total": matched.total, "renamed": matched.renamed},
        **{key: audited[key] for key in same},
    }
    if arguments.out:
        open_library().export(manifest.id, arguments.out)
    emit(arguments.json, report)
    if arguments.json != "-":
        loaded = report["loaded"]
        renamed = f" ({loaded['renamed']})" if loaded["renamed"] else ""
        print(printable(f"run {report['run']}: {report['model']}"))
        if report["model"] != ONNX:
            print(printable(f"{loaded['matched']} of {loaded['total']} tensors loaded{renamed}"))
        for key in ("accuracy", "ece", "nll"):
            if key in report["metrics"]:
                print(f"  {key:<14} {number(report['metrics'][key]['value']):>10}")
        for notice in report["notices"]:
            print(printable(f"{notice['code']}: {notice['text']}"))
    return 0


def _config(
    arguments: argparse.Namespace,
    file: "WeightsFile",
    group: "WeightGroup",
    candidate: "NetworkCandidate",
    run: str,
) -> "EvaluationConfig":
    from core.checkpoints.guess import stated_side
    from core.datasets.catalogue import DATASETS
    from core.inference.config import EvaluationConfig, WeightsSource, first_size
    from core.inference.evaluate import settings_for_folder, settings_of
    from core.jobs.local import open_jobs

    data, root = arguments.data, arguments.data_root
    if data not in DATASETS and data and leads_to(Path(data), "dir"):
        if root is not None:
            what = f"{data[:60]} is a folder, and --data-root names another"
            raise UsageError("SETTING", what, "give one of them")
        data, root = "folder", Path(data)
    channels, stated = arguments.channels or candidate.channels or 3, stated_side(file)
    settings = None
    if data == "folder" and root is not None and stated is None and not run:
        settings = settings_for_folder(candidate.model, root, channels)
    if settings is None:
        known_by = open_jobs().folder(run).config().data if run else data
        size = first_size(
            candidate.model, candidate.size, known_by, stated=stated, trained_here=bool(run)
        )
        settings = settings_of(
            candidate.model, size, channels, data=known_by, file=file.name, trained_here=bool(run)
        )
    preprocessing = preprocessing_of(arguments, settings, channels)
    sets = tuple(outside_set for text in arguments.set for outside_set in _sets(text))
    if arguments.temperature != "file":
        try:
            temperature = float(arguments.temperature)
        except ValueError:
            what = f"--temperature is {arguments.temperature[:60]!r}"
            raise UsageError("SETTING", what, "give a number, or `file`") from None
    elif group.temperature is None:
        what = "The file states no temperature"
        raise UsageError("SETTING", what, "give a number with --temperature")
    else:
        temperature = group.temperature
    return EvaluationConfig(
        model=candidate.model,
        n_outputs=arguments.classes or candidate.n_outputs or outputs(group),
        channels=channels,
        weights=WeightsSource(file.name, file.digest, group.key, run),
        preprocessing=preprocessing,
        data=data,
        name=arguments.name,
        data_root=None if root is None else str(root.expanduser().absolute()),
        split_seed=arguments.split_seed,
        splits=tuple(arguments.split or ("val", "test")),
        sets=sets,
        limit=arguments.limit,
        batch_size=arguments.batch_size,
        device=arguments.device,
        temperature=temperature,
        keep_implausible=arguments.keep_implausible,
        changed_files=arguments.changed_files,
        **_of_onnx(arguments, file),
    )


def _of_onnx(arguments: argparse.Namespace, file: "WeightsFile") -> dict[str, str]:
    """Return what must be known of an ONNX model: as named, else as its graph says; or ask."""
    from core.models.catalogue import ONNX

    if file.format != ONNX:
        given = {"layout": arguments.layout, "outputs": arguments.outputs}
        return {key: value for key, value in given.items() if value is not None}
    if arguments.moments is None:
        what = "An ONNX file does not say which pixels its network was trained on"
        known = "imagenet, half (−1 to 1), unit (0 to 1), bytes (0 to 255), cifar10, cifar100, data"
        raise UsageError("SETTING", what, f"name them with --moments: {known}")
    layout = arguments.layout or file.hints.get("layout")
    if layout is None:
        what = "The model does not say whether channels come first or last"
        raise UsageError("SETTING", what, "give --layout nchw or --layout nhwc")
    outputs = arguments.outputs or file.hints.get("gives", "logits")
    return {"layout": str(layout), "outputs": str(outputs)}


def _sets(text: str) -> "list[OutsideSet]":
    from core.datasets.shifts import OWN, SEVERITIES, OutsideSet, parse_name

    name, _, root = text.partition("=")
    if name == ALL:
        return [
            OutsideSet(ALL, corruption=corruption, severity=s)
            for corruption in OWN
            for s in SEVERITIES
        ]
    absolute = str(Path(root).expanduser().absolute()) if root else None
    if name == "folder":
        return [OutsideSet("folder", root=absolute)]
    outside_set = parse_name(name)
    if outside_set is None:
        raise UsageError("SETTING", f"There is no set {name!r}", "see python -m core evaluate -h")
    return [replace(outside_set, root=absolute)]


def _match(group: "WeightGroup", config: "EvaluationConfig", weights: Path) -> "Match":
    """Return how the weights fit, before anything is queued."""
    from core.checkpoints.match import match
    from core.models.build import input_size
    from core.models.catalogue import ONNX

    if config.model == ONNX:
        from core.inference.onnx_network import onnx_match

        in_bytes = config.preprocessing.in_bytes
        return onnx_match(weights, config.n_outputs, in_bytes=in_bytes)
    return match(
        group.tensors,
        config.model,
        n_outputs=config.n_outputs,
        channels=config.channels,
        size=input_size(config.model, config.preprocessing.size),
    )
