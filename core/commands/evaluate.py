"""``python -m core evaluate``: what a model with given weights says of a data set."""

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from core.commands import checkpoint, launcher
from core.commands.shared import Json, Parser, emit, number, printable
from core.errors import UsageError

if TYPE_CHECKING:
    from core.checkpoints.guess import NetworkCandidate
    from core.checkpoints.match import Match
    from core.datasets.shifts import OutsideSet
    from core.inference.config import EvaluationConfig
    from core.inference.preprocessing import Preprocessing
    from core.library.manifest import Manifest
    from core.readers.weights.named_tensors import WeightGroup, WeightsFile

ALL: Final = "corrupted"


def add_evaluate(verb: Parser) -> None:
    """Add the options of ``evaluate``."""
    verb.set_defaults(run=_evaluate)
    checkpoint.add_options(verb)
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
    verb.add_argument("--out", type=Path, metavar="FILE", help="also write the run as .npz")
    verb.add_argument("--json", metavar="OUT|-")
    launcher.add_options(verb)


def _evaluate(arguments: argparse.Namespace) -> int:
    from core.commands.jobs import waited
    from core.jobs.local import open_jobs
    from core.library import open_library
    from core.readers.sandbox import scratch

    jobs, request = open_jobs(), launcher.request_of(arguments)
    _check(arguments)
    path, run = checkpoint.source(arguments.checkpoint)
    with scratch.folder("evaluate") as folder:
        file, group = checkpoint.read(path, folder, arguments.group)
        candidate = checkpoint.candidate_of(arguments.model, file, group)
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
    report = _report(manifest, config, matched)
    if arguments.out:
        open_library().export(manifest.id, arguments.out)
    emit(arguments.json, report)
    if arguments.json != "-":
        _print(report)
    return 0


def _check(arguments: argparse.Namespace) -> None:
    """Refuse what would only be found after hours of work."""
    for path in (arguments.out, arguments.json if arguments.json != "-" else None):
        if path is not None and not Path(path).absolute().parent.is_dir():
            what = f"There is no folder for {Path(path).name}"
            raise UsageError("OUTPUT", what, "make it, or name another")
    checkpoint.check(arguments)


def _config(
    arguments: argparse.Namespace,
    file: "WeightsFile",
    group: "WeightGroup",
    candidate: "NetworkCandidate",
    run: str,
) -> "EvaluationConfig":
    from core.checkpoints.guess import stated_side
    from core.datasets.catalogue import DATASETS
    from core.inference.config import EvaluationConfig, WeightsSource

    data, root = arguments.data, arguments.data_root
    if data not in DATASETS and data and checkpoint.leads_to(Path(data), "dir"):
        if root is not None:
            what = f"{data[:60]} is a folder, and --data-root names another"
            raise UsageError("SETTING", what, "give one of them")
        data, root = "folder", Path(data)
    return EvaluationConfig(
        model=candidate.model,
        n_outputs=arguments.classes or candidate.n_outputs or checkpoint.outputs(group),
        channels=arguments.channels or candidate.channels or 3,
        weights=WeightsSource(file.name, file.digest, group.key, run),
        preprocessing=_preprocessing(
            arguments, candidate, (data, root), stated=stated_side(file), trained_here=bool(run)
        ),
        data=data,
        name=arguments.name,
        data_root=None if root is None else str(root.expanduser().absolute()),
        split_seed=arguments.split_seed,
        splits=tuple(arguments.split or ("val", "test")),
        sets=tuple(outside_set for text in arguments.set for outside_set in _sets(text)),
        limit=arguments.limit,
        batch_size=arguments.batch_size,
        device=arguments.device,
        temperature=_temperature(arguments.temperature, group),
        keep_implausible=arguments.keep_implausible,
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


def _temperature(text: str, group: "WeightGroup") -> float:
    """Return the number of ``--temperature``, or the one that the file states."""
    if text == "file":
        if group.temperature is None:
            what = "The file states no temperature"
            raise UsageError("SETTING", what, "give a number with --temperature")
        return group.temperature
    try:
        return float(text)
    except ValueError:
        what = f"--temperature is {text[:60]!r}"
        raise UsageError("SETTING", what, "give a number, or `file`") from None


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


def _preprocessing(
    arguments: argparse.Namespace,
    candidate: "NetworkCandidate",
    data_and_root: tuple[str, Path | None],
    *,
    stated: int | None,
    trained_here: bool,
) -> "Preprocessing":
    from core.inference.config import first_size
    from core.inference.settings import settings_for_folder, settings_of

    data, root = data_and_root
    channels = arguments.channels or candidate.channels or 3
    if data == "folder" and root is not None and stated is None and not trained_here:
        settings = settings_for_folder(candidate.model, root, channels)
        if settings is not None:
            return checkpoint.preprocessing_of(arguments, settings, channels)
    size = first_size(
        candidate.model, candidate.size, data, stated=stated, trained_here=trained_here
    )
    settings = settings_of(candidate.model, size, channels)
    return checkpoint.preprocessing_of(arguments, settings, channels)


def _match(group: "WeightGroup", config: "EvaluationConfig", weights: Path) -> "Match":
    """Return how the weights fit, before anything is queued."""
    from core.checkpoints.match import match
    from core.models.build import input_size
    from core.models.catalogue import ONNX

    if config.model == ONNX:
        from core.inference.onnx_network import onnx_match

        return onnx_match(weights, config.n_outputs)
    return match(
        group.tensors,
        config.model,
        n_outputs=config.n_outputs,
        channels=config.channels,
        size=input_size(config.model, config.preprocessing.size),
    )


def _report(manifest: "Manifest", config: "EvaluationConfig", matched: "Match") -> Json:
    """Return the run, how its weights were loaded, and the numbers of its test part."""
    from core.configs import AuditConfig
    from core.library import open_library
    from core.metrics.suite import audit
    from core.reports.audit_json import audit_json

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
    return {
        "run": manifest.id,
        "model": config.model,
        "loaded": {"matched": matched.matched, "total": matched.total, "renamed": matched.renamed},
        **{key: audited[key] for key in same},
    }


def _print(report: Json) -> None:
    from core.models.catalogue import ONNX

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
