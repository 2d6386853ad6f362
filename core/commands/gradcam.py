"""``python -m core gradcam``: where on a film a network's score of a finding comes from."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from core import codec
from core.commands.evaluate import (
    MOMENTS_OF_DATA,
    add_checkpoint,
    candidate_of,
    check_numbers,
    leads_to,
    preprocessing_of,
    read_checkpoint,
    source,
)
from core.commands.shared import Json, Parser, emit, printable
from core.errors import UsageError
from core.xray.heat import DEFAULT, METHODS

if TYPE_CHECKING:
    from core.checkpoints.guess import NetworkCandidate
    from core.inference.film_model import FilmModel, Spec
    from core.readers.films.film import Film

ALL: Final = "all"


def add_gradcam(verb: Parser) -> None:
    """Add the options of ``gradcam``."""
    verb.set_defaults(run=_gradcam)
    add_checkpoint(verb)
    verb.add_argument("image", nargs="+", type=Path, metavar="IMAGE", help="PNG, JPEG or DICOM")
    verb.add_argument("--out", type=Path, required=True, metavar="DIR", help="for the maps")
    verb.add_argument("--names", default="", metavar="A,B", help="of the outputs; NIH's for 14")
    verb.add_argument(
        "--finding", action="append", metavar="NAME", help="default: the highest score; or all"
    )
    verb.add_argument("--method", choices=list(METHODS), default=DEFAULT)
    verb.add_argument("--layer", metavar="NAME", help="default: the last that has a plane")
    verb.add_argument("--json", metavar="OUT|-")


def _gradcam(arguments: argparse.Namespace) -> int:
    from core.inference.film_model import output_names
    from core.jobs.local import open_jobs
    from core.readers.sandbox import scratch
    from core.readers.sandbox.read import read_film

    check_numbers(arguments)
    for number, image in enumerate(arguments.image, 1):
        if not leads_to(image, "file"):  # its name is not repeated: it may name a person
            raise UsageError("FILE", f"There is no file for film {number}", "check the path")
    try:
        arguments.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        what = f"{arguments.out.name} cannot be made or is no folder ({error.strerror})"
        raise UsageError("OUTPUT", what, "name another folder") from error
    path, job = source(arguments.checkpoint)
    entries: list[Json] = []
    with scratch.folder("gradcam") as folder:
        file, group = read_checkpoint(path, folder, arguments.group)
        candidate = candidate_of(arguments.model, file, group)
        spec = open_jobs().network(job) if job else None
        model = _model(arguments, candidate, spec, folder / group.file)
        names = tuple(name for name in arguments.names.split(",") if name)
        if names and len(names) != model.n_outputs:
            what = f"{len(names)} names for {model.n_outputs} outputs"
            raise UsageError("SETTING", what, "give one for each output, in order")
        names = names or output_names(
            model.n_outputs, "" if spec is None else spec.data, model.model
        )
        chosen: list[str] = arguments.finding or []
        unknown = [name for name in chosen if name not in names and chosen != [ALL]]
        if unknown:
            what = f"There is no finding {unknown[0]!r:.60}"
            raise UsageError("SETTING", what, f"use {ALL}, or some of {', '.join(names)}")
        every = list(range(len(names)))
        findings = every if chosen == [ALL] else [names.index(name) for name in chosen]
        for number, image in enumerate(arguments.image, 1):
            title = f"film {number}"  # what a file is called may name a person
            film = read_film(image, name=title)
            stored = folder / "film.npy"
            np.save(stored, film.pixels)
            request = {
                "model": codec.to_json(model),
                "film": {"file": str(stored)},
                "method": arguments.method,
                "layer": arguments.layer,
            }
            entries += _entries(request, film, title, names, findings, arguments.out)
    emit(arguments.json, entries)
    if arguments.json != "-":
        for entry in entries:
            score = f"{100 * entry['probability']:.1f} %"
            print(printable(f"{entry['image']}: {entry['finding']} {score}, map in {entry['map']}"))
            for notice in entry["notices"]:
                print(printable(f"  {notice['code']}: {notice['text']}"))
        print(printable(model.note), end="\n" * bool(model.note))
    return 0


def _model(
    arguments: argparse.Namespace, candidate: "NetworkCandidate", spec: "Spec | None", weights: Path
) -> "FilmModel":
    """Return the network with what films go through: as its job says, else as for CheXNet."""
    from core.inference.film_model import FilmModel, shown_to
    from core.models.catalogue import OURS, PUBLIC

    of_code = PUBLIC.get(candidate.model)
    tells = candidate.model not in OURS or (of_code is not None and of_code.size is not None)
    if spec is None and not tells and not (arguments.size and arguments.moments):
        what = f"{candidate.model} takes films of any size, and its file does not say which"
        raise UsageError("SETTING", what, "give --size and --moments, or the id of its training")
    channels = arguments.channels or candidate.channels or 3
    shown = shown_to(spec, channels, candidate.size, candidate.model)
    preprocessing = preprocessing_of(arguments, shown, channels)
    if arguments.moments == MOMENTS_OF_DATA:
        what = "Films have no mean and standard deviation of their own"
        raise UsageError("SETTING", what, "name them with --moments")
    n_outputs = arguments.classes or candidate.n_outputs
    return FilmModel(
        model=candidate.model,
        n_outputs=n_outputs,
        channels=channels,
        preprocessing=preprocessing,
        weights=str(weights),
    )


def _entries(
    request: Json, film: "Film", title: str, names: tuple[str, ...], findings: list[int], out: Path
) -> list[Json]:
    """Write the maps of one film, of its highest score where none is named; an entry each."""
    from core.inference.films import film_saliency
    from core.xray.heat import on_film

    if not findings:
        scores = film_saliency(request | {"findings": [0]})[1]["probabilities"]
        findings = [int(scores.argmax())]
    entries = []
    for finding in findings:
        answer, arrays = film_saliency(request | {"findings": [finding]})
        left, top, right, bottom = answer["frame"]
        height, width = film.pixels.shape
        whole = on_film(arrays["maps"][0], (left, top, right, bottom), (height, width))
        name = f"{title.replace(' ', '-')}-{finding}.npy"
        _save(out / name, whole)
        entries.append(
            {
                "image": title,
                "finding": names[finding],
                "probability": float(arrays["probabilities"][finding]),
                "map": name,
                "raw_max": float(arrays["maps"][0].max()),
                "method": answer["method"],
                "layer": answer["layer"],
                "notices": [notice.to_json() for notice in film.notices],
            }
        )
    return entries


def _save(path: Path, whole: "np.ndarray[Any, np.dtype[np.float32]]") -> None:
    if path.exists():
        what = f"{path.name} is there already"
        raise UsageError("OUTPUT", what, "name an empty folder: nothing is overwritten")
    try:
        np.save(path, whole)
    except OSError as error:
        path.unlink(missing_ok=True)  # half a map is none
        what = f"{path.name} cannot be written ({error.strerror})"
        raise UsageError("OUTPUT", what, "free space, or name another folder") from error
