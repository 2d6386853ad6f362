"""Builds what is made from the small models of films: a second hospital, and stored answers; torch.

Only the command line may import this module.
"""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np
import torch
from safetensors.numpy import save_file

from core import codec
from core.arrays import digest
from core.calibrators.stored import Fittable, make
from core.configs import AuditConfig
from core.disk import writing
from core.inference.evaluate import BatchPreprocessor, prepared_scores
from core.inference.film_model import ANSWERS, EXAMPLES, MODELS, example, film_model
from core.inference.films import film_saliency
from core.inference.job import CPU, kept_model
from core.library import RunSource, summarise
from core.library.files import describe, read_manifest, read_predictions, write_run
from core.metrics.suite import audit
from core.predictions import Predictions, ScoreKind, Task
from core.training.samples import CREATED, lightest
from core.xray import phantom
from core.xray.heat import DEFAULT

MODEL: Final = "phantom-ce"  # whose films the second hospital sends
HOSPITAL: Final = "phantom-hospital"
HOME: Final = ("val", "test")  # splits of the model's own films that it did not learn from
RECALIBRATION: Final = "beta"
FREQUENCIES: Final = {"Nodule": 0.1, "Consolidation": 0.35, "Effusion": 0.15, "Cardiomegaly": 0.12}
SEED: Final = 2
SIZES: Final = {"val": 1000, "test": 2000}
BATCH: Final = 100


def build(out: Path) -> list[tuple[str, str]]:
    """Build what the models of films that lie below `out` are the base of; say what became of it.

    Raises LibraryError LIBRARY_WRITE or DISK_FULL.
    """
    outcomes = []
    for model_id in MODELS:
        if (out / model_id).is_dir():
            model = codec.to_json(film_model(read_manifest(out / model_id), out))
            films = [example(place) for place in range(len(EXAMPLES))]
            plain = {"model": model, "findings": None, "method": DEFAULT, "layer": None}
            # Answered as the warm process would, so that a page
            # cannot tell the stored from the computed.
            answers = [film_saliency({**plain, "film": film}) for film in films]
            values = answers[0][0]  # the same of every film: all have one size
            about = {**values, "films": films}
            arrays = {
                name: np.stack([arrays[name] for _, arrays in answers])
                for name in ("probabilities", "maps")
            }
            with writing():
                save_file(arrays, out / model_id / ANSWERS, metadata={"about": json.dumps(about)})
            outcomes.append((f"{model_id}, films", "built"))
    if (out / MODEL).is_dir():
        _build_hospital(out)
        outcomes.append((HOSPITAL, "built"))
    return outcomes


def _build_hospital(out: Path) -> None:
    """Score films of other frequencies, in place of what was there."""
    source = read_manifest(out / MODEL)
    # Each finding is recalibrated where the model comes from.
    home = [read_predictions(out / MODEL, source, name) for name in HOME]
    scores = np.concatenate([split.scores for split in home])
    truth = np.concatenate([split.labels for split in home])
    # Fitted where the model comes from: calibrated at home, it is off elsewhere by the shift alone.
    calibrator = make(RECALIBRATION, Task.MULTILABEL).fit(scores, truth)
    splits, start = {}, 0
    # Films of a seed are numbered on, so that no film stands in both splits.
    for name, n in SIZES.items():
        splits[name] = _scored(out, range(start, start + n), calibrator)
        start += n
    labels = [split.labels for split in splits.values()]
    with writing():
        shutil.rmtree(out / HOSPITAL, ignore_errors=True)
    manifest = describe(
        "Phantom films, another hospital",
        splits,
        source=RunSource("Phantom films", digest(*labels)),
        summary={"test": summarise(audit(splits["test"], AuditConfig()))},
    )
    usual = phantom.PREVALENCE
    frequencies = ", ".join(
        f"{name.lower()} {100 * here:.0f} in 100 films rather than {100 * usual[name]:.0f}"
        for name, here in FREQUENCIES.items()
        if here != usual[name]
    )
    manifest = replace(
        manifest,
        id=HOSPITAL,
        kind="sample",
        created=CREATED,
        description=(
            f"The model of “{source.name}”, recalibrated on 3,000 films of its own that it did not "
            "learn from (beta calibration), on 2,000 films of a made-up second hospital. Findings "
            f"look the same there but are not as frequent: {frequencies}. What has become rarer "
            "is now over-confident, what has become more frequent under-confident. Images: "
            "synthetic chest films, 128 by 128 pixels, of no person."
        ),
        tags=("phantom", "another hospital"),
        config=source.config,
        environment=source.environment,
    )
    write_run(out, manifest, splits)


def _scored(out: Path, rows: range, calibrator: Fittable) -> Predictions:
    """Return what the model says of films of the second hospital."""
    about = film_model(read_manifest(out / MODEL), out)
    model, settings = kept_model(about, Path(about.weights)), about.preprocessing
    prepare = BatchPreprocessor(settings, about.channels, settings.mean, settings.std, CPU)
    logits, labels = [], []
    for start in range(rows.start, rows.stop, BATCH):
        films = [
            phantom.draw(SEED, row, frequencies=FREQUENCIES)
            for row in range(start, min(start + BATCH, rows.stop))
        ]
        pixels = torch.from_numpy(np.stack([film.pixels for film in films]))[:, None]
        with torch.inference_mode():
            logits.append(prepared_scores(model, prepare(pixels), settings, many=True).numpy())
        labels += [[film.present[finding] for finding in phantom.FINDINGS] for film in films]
    return lightest(
        Predictions(
            Task.MULTILABEL,
            ScoreKind.SIGMOID,
            calibrator.predict_proba(np.concatenate(logits)).astype(np.float32),
            np.array(labels, np.int64),
            class_names=phantom.FINDINGS,
        )
    )
