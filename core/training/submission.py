"""One submission of several trainings: the same config with other losses and seeds; no torch."""

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any, Final

from core.datasets.catalogue import TEXT_DATA, data_entry
from core.errors import UsageError
from core.fields import fields_of
from core.losses.catalogue import LOSSES, OF_TINY_IMAGENET, losses_of
from core.models.catalogue import BERT, TEXT_MODELS
from core.published import PublishedNumber, networks_of
from core.training.config import OptimizerConfig, TrainConfig, from_json

MOST: Final = 100  # trainings of one submission
SEED_DIGITS: Final = 19  # of the largest seed, 2**63 - 1
NO_FOLDER: Final = "No folder is entered"
GLOVE: Final = "glove.6B.100d.txt"  # the word vectors that the papers' texts are trained with
GLOVE_OF: Final = {"sst_binary": "glove.840B.300d.txt"}  # where they are others
BERT_BASE: Final = "bert-base-uncased"
NO_BERT: Final = f"The paper begins with {BERT_BASE}, and no folder of it is entered"
NO_WORDS: Final = "The paper trains with GloVe's word vectors, and no file of them is entered"
NOT_STATED: Final = "Cannot be trained here, or the paper does not state the settings"
IMPORT: Final = "CANDOR_IMPORT"  # folders that a page may read from, separated as in PATH
FIRST: Final[dict[str, Any]] = {  # what one click trains; half a minute on two cores
    "data": "digits",
    "model": "small_cnn",
    "loss": {"name": "adafocal"},
    "epochs": 150,
    "batch_size": 64,
    "optimizer": {"name": "sgd", "lr": 0.1, "momentum": 0.9, "weight_decay": 5e-4},
    "augment": False,
}


def seeds(text: str) -> tuple[int, ...]:
    """Return the seeds in a text such as ``0, 1, 2``, each once.

    Raises UsageError SEEDS: it holds something other than whole numbers.
    """
    parts = [part.split() for part in text.replace(";", ",").split(",")]
    words = [word for part in parts for word in part]
    fits = (word.isascii() and word.isdecimal() and len(word) <= SEED_DIGITS for word in words)
    if not all(parts) or not all(fits):
        raise UsageError(
            "SEEDS", f"Seeds are {text.strip()[:60]!r}", "give whole numbers such as 0, 1, 2"
        )
    return tuple(dict.fromkeys(int(word) for word in words))


def sweep(text: str, loss: str) -> dict[str, tuple[float, ...]]:
    """Return the values of each setting in a text such as ``loss.gamma = 1, 2; optimizer.lr = .1``.

    `text`: empty for none; `loss`: its numeric settings can be swept, and those of the optimiser.

    Raises UsageError SETTING: no such setting, or something other than numbers.
    """
    known = {
        **{f"loss.{name}": field for name, field in LOSSES[loss].parameters.items()},
        **{f"optimizer.{name}": field for name, field in fields_of(OptimizerConfig).items()},
    }
    # Only what is a number has a lowest value.
    known = {name: field for name, field in known.items() if field.low is not None}
    values: dict[str, tuple[float, ...]] = {}
    for part in filter(str.strip, text.split(";")):
        name, _, numbers = (word.strip() for word in part.partition("="))
        if name in values:
            raise UsageError("SETTING", f"{name} is given twice", "give all its values at once")
        if name not in known:
            what = f"{name[:60]!r} cannot be swept"
            raise UsageError("SETTING", what, f"use {', '.join(known)}")
        whole = float not in known[name].kinds
        try:
            numbers_ = [int(n) if whole else float(n) for n in numbers.split(",")]
        except ValueError as error:
            what = f"Values of {name} are {numbers[:60]!r}"
            kind = "whole numbers" if whole else "numbers"
            raise UsageError("SETTING", what, f"give {kind} such as 1, 2, 3") from error
        values[name] = tuple(dict.fromkeys(numbers_))
    return values


def swept(base: TrainConfig, values: Mapping[str, Sequence[float]]) -> tuple[TrainConfig, ...]:
    """Return a config for every combination of the values of settings, named by them.

    An automatic name has the swept settings once, behind it: it is that of their defaults.
    """
    of_loss = [key.partition(".")[2] for key in values if key.startswith("loss.")]
    plain = {key: value for key, value in base.loss.items() if key not in of_loss}
    # A name that somebody gave stays in front; an automatic one would repeat the loss's settings.
    automatic = base.name == replace(base, name="").name
    begins = replace(base, loss=plain, name="").name if automatic else base.name
    configs = []
    for combination in product(*values.values()):
        data, name = base.to_json(), begins
        for key, value in zip(values, combination, strict=True):
            section, _, setting = key.partition(".")
            data[section] |= {setting: value}
            name = f"{name}, {setting} = {value:g}"
        configs.append(from_json(data | {"name": name}))
    return tuple(configs)


def trainings(
    base: TrainConfig,
    named: str,
    others: Sequence[str],
    seeds_: Sequence[int],
    values: Mapping[str, Sequence[float]] | None = None,
) -> tuple[TrainConfig, ...]:
    """Return a config for each loss and seed, of the first loss for each value of a sweep.

    Parameters
    ----------
    base : TrainConfig
        Its loss comes first.
    named : str
        What the user called it; empty for names that say loss, network and data.
    others : sequence of str
        Losses beside it, with their defaults.
    seeds_ : sequence of int
        One training of each loss with each.
    values : mapping, optional
        From `sweep`; other losses are swept over settings of the optimiser only.

    Raises
    ------
    UsageError
        SETTING: too many, what the optimiser does not read, or a loss that does not fit the data.
    """
    of_vectors = base.of_texts and base.optimizer.name == "adagrad"
    # A sweep over what is not read would train the same thing several times.
    reads = {"momentum": base.optimizer.name == "sgd", "vectors_lr": of_vectors}
    for key in values or {}:
        setting = key.removeprefix("optimizer.")
        if not reads.get(setting, True):
            label = fields_of(OptimizerConfig)["name"].choices[base.optimizer.name]
            of = "trainings of texts by Adagrad" if setting == "vectors_lr" else "SGD"
            these = f"are of {'texts' if base.of_texts else 'images'}, by {label}"
            text = f"{key} is a setting of {of}, and these {these}"
            raise UsageError("SETTING", text, "leave it out")
    losses = [base.loss, *({"name": other} for other in dict.fromkeys(others))]
    of_all = {key: v for key, v in (values or {}).items() if key.startswith("optimizer.")}
    # Counted before anything is built: three settings of ten values are a thousand trainings.
    n_first, n_other = (math.prod(map(len, v.values())) for v in (values or {}, of_all))
    n = (n_first + n_other * (len(losses) - 1)) * len(seeds_)
    if n > MOST:
        raise UsageError("SETTING", f"{n} trainings at once", f"submit at most {MOST}")
    configs = []
    for loss in losses:
        name = named
        if named and len(losses) > 1:
            name = f"{named}, {LOSSES[str(loss['name'])].label}"
        own = (values or {}) if loss is base.loss else of_all
        for config in swept(replace(base, loss=loss, name=name), own):
            for seed in seeds_:
                of_seed = f"{config.name}, seed {seed}" if len(seeds_) > 1 else config.name
                configs.append(replace(config, seed=seed, name=of_seed))
    return tuple(configs)


RECIPE_OF: Final = {
    **dict.fromkeys(("cifar10", "cifar100"), "cifar"),
    "tiny_imagenet": "tiny_imagenet",
    "imagenet": "imagenet",
    "20newsgroups": "newsgroups_released",
    "sst_binary": "sst",
    "finsen": "finsen",
    "ag_news": "ag_news",
}
# What a paper does otherwise than the recipe, by paper and data.
OWN: Final[dict[tuple[str, str], dict[str, Any]]] = {
    ("adafocal2022", "20newsgroups"): {"keep": "last"},  # appendix D.3
    ("adafocal2022", "tiny_imagenet"): {"keep": "val_error"},
    ("fcl2024", "tiny_imagenet"): {"batch_size": 128},  # section 5
}


def printed_settings(row: PublishedNumber) -> dict[str, Any] | None:
    """Return the settings of the training that a row of the papers is printed of.

    None where its data, network or loss cannot be trained here, or are not stated.
    """
    networks = {name: key for key, name in reversed(networks_of(row.dataset).items())}
    losses = losses_of(row.method, row.dataset, row.model)
    preset, network = RECIPE_OF.get(row.dataset), networks.get(row.model)
    own = OWN.get((row.paper, row.dataset), {})
    # Another recipe, of which what other networks do otherwise is no part.
    if network == BERT:
        preset, own = "newsgroups_bert", {}
    if preset is None or network is None or not losses:
        return None
    if row.dataset == "tiny_imagenet" and row.model == "resnet50":
        network = OF_TINY_IMAGENET
    settings = {"data": row.dataset, "model": network, "loss": losses[0], "preset": preset}
    settings |= own
    if row.method == "brier":  # the released code sums every other loss over the batch
        settings["reduction"] = "mean"
    if row.dataset in TEXT_DATA:
        vectors = {"embeddings": GLOVE_OF.get(row.dataset, GLOVE)}
        settings["text"] = {"bert": BERT_BASE} if network == BERT else vectors
    return settings


def reproductions(
    rows: Sequence[PublishedNumber],
    seeds_: Sequence[int],
    settings: Mapping[str, Any],
    roots: Mapping[str, str],
    paths: Mapping[str, str] | None = None,
) -> tuple[tuple[TrainConfig, ...], dict[PublishedNumber, str]]:
    """Return the trainings that rows of the papers are printed of, and the rows without any.

    Parameters
    ----------
    rows : sequence of PublishedNumber
        Several numbers of one training count once.
    seeds_ : sequence of int
        One training of each with each.
    settings : mapping
        Of a config, in the place of the paper's: a smaller model and fewer epochs.
    roots : mapping
        The folder of each data set that is not to be downloaded.
    paths : mapping, optional
        Of each file of word vectors and of BERT's folder, by its name; without it nothing is
        trained that begins with it.

    Returns
    -------
    configs, left_out
        No two configs alike. Why each of the other rows is left out.

    Raises
    ------
    UsageError
        SETTING: too many at once, or settings that do not fit.
    """
    model = settings.get("model")
    configs: dict[str, TrainConfig] = {}
    left_out: dict[PublishedNumber, str] = {}
    # A training stands in several rows, one a metric: paper, data, network and method name it.
    for row in {(row.paper, row.dataset, row.model, row.method): row for row in rows}.values():
        printed = printed_settings(row)
        names = (printed or {}).get("text", {})
        begins = {key: (paths or {}).get(name) for key, name in names.items()}
        if printed is None:
            left_out[row] = NOT_STATED
        elif model is not None and (model in TEXT_MODELS) != (row.dataset in TEXT_DATA):
            rows_of = "texts" if row.dataset in TEXT_DATA else "images"
            left_out[row] = f"The chosen network does not read {rows_of}"
        elif data_entry(row.dataset).needs_root and not roots.get(row.dataset):
            left_out[row] = NO_FOLDER
        elif not all(begins.values()):
            left_out[row] = NO_BERT if "bert" in begins else NO_WORDS
        else:
            if begins:
                printed["text"] = begins
            base = from_json({**printed, "data_root": roots.get(row.dataset), **settings})
            # Two papers that print the same training share its digest, and it is trained once.
            for config in trainings(base, "", (), seeds_):
                configs.setdefault(config.digest, config)
    if len(configs) > MOST:
        raise UsageError("SETTING", f"{len(configs)} trainings at once", f"submit at most {MOST}")
    return tuple(configs.values()), left_out


def folder_remedy(data: str, label: str) -> str:
    """Return which folder to enter for a data set of DATASETS or TEXTS, called `label`."""
    if data == "folder":
        return "enter a folder with one subfolder for each class"
    return f"enter the folder that holds {label}"


def check_folder(root: str | None) -> None:
    """Refuse a data folder that a page may not read from; the command line may read any.

    Raises UsageError FOLDER.
    """
    if root is None:
        return
    # Resolved on both sides: a link or `..` inside an allowed folder must not lead out of it.
    allowed = [
        Path(folder).resolve() for folder in os.environ.get(IMPORT, "").split(os.pathsep) if folder
    ]
    try:
        path = Path(root).expanduser().resolve()
    except (OSError, RuntimeError, ValueError) as error:
        what = f"{root[:200]!r} cannot be a folder"
        raise UsageError("FOLDER", what, "give the full path of a folder") from error
    if any(path.is_relative_to(folder) for folder in allowed):
        return
    what = "This server may not read folders yet"
    if allowed:
        folders = ", ".join(str(folder) for folder in allowed)
        what = f"{root[:200]!r} lies outside the folders that this server may read ({folders})"
    raise UsageError(
        "FOLDER", what, f"restart it with {IMPORT}=FOLDER, or use the command line: python -m core"
    )
