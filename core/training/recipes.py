"""Named recipes: how the papers train; no torch."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final


@dataclass(frozen=True)
class Recipe:
    """Training settings of a paper.

    Attributes
    ----------
    label : str
    settings : mapping
        Values of a config that stand where a user gives none.
    source : str
        Papers and places; what no paper's text says is named.
    """

    label: str
    settings: Mapping[str, Any]  # Any: values of a config
    source: str


def _sgd(epochs: int, batch_size: int, drops: list[float]) -> dict[str, Any]:
    return {
        "epochs": epochs,
        "batch_size": batch_size,
        "optimizer": {"name": "sgd", "lr": 0.1, "momentum": 0.9, "weight_decay": 5e-4},
        "schedule": {"name": "step", "drops": drops, "factor": 0.1},
        "reduction": "sum",
        "clip_norm": 2.0,
        "augment": True,
        "precision": "32",
    }


_SOURCE: Final = (
    "Mukhoti et al. 2020, appendix C and D; Komisarenko and Kull 2024, section 5.1; Ghosh et al. "
    "2022, appendix D. Losses are summed over the batch (the Brier score is averaged) and "
    "gradients clipped in their released code only"
)
PHRASES: Final = 37  # of a sentence of SST
_TEXTS: Final[dict[str, Any]] = {
    "epochs": 50,
    "batch_size": 128,
    "optimizer": {"name": "adam", "lr": 0.001, "weight_decay": 0.0},
    "schedule": {"name": "constant"},
    "keep": "val_error",
}
_WORDS: Final[dict[str, Any]] = {
    "vocabulary": 19_999,
    "length": 1_000,
    "taken": "last",
    "dimension": 100,
    "fixed": True,
}
RECIPES: Final[dict[str, Recipe]] = {
    "cifar": Recipe(
        "The papers' CIFAR recipe: 350 epochs, rate 0.1, 0.01, 0.001 with drops at 150 and 250, "
        "losses summed over batches of 128, gradients clipped to norm 2",
        _sgd(350, 128, [150 / 350, 250 / 350]),
        _SOURCE,
    ),
    "tiny_imagenet": Recipe(
        "The papers' Tiny-ImageNet recipe: 100 epochs, drops at 40 and 60, batches of 64",
        _sgd(100, 64, [0.4, 0.6]),
        "Komisarenko and Kull 2024, section 5.1; Ghosh et al. 2022, appendix D. Losses are "
        "summed over the batch (the Brier score is averaged) and gradients clipped in released "
        "code only",
    ),
    "imagenet": Recipe(
        "The ImageNet recipe of Ghosh et al.: 90 epochs, rate 0.01, 0.001, 0.0001 with drops at 30 "
        "and 60, batches of 128, random parts of the images",
        {
            "epochs": 90,
            "batch_size": 128,
            "optimizer": {"name": "sgd", "lr": 0.01, "momentum": 0.9, "weight_decay": 1e-4},
            "schedule": {"name": "step", "drops": [30 / 90, 60 / 90], "factor": 0.1},
            "augment": True,
            "precision": "32",
        },
        "Ghosh et al. 2022, appendix D. The mean over the batch is PyTorch's default, which they "
        "use where nothing is stated; random parts are those of PyTorch's own ImageNet example, "
        "since the paper states no augmentation and its ImageNet code is not released",
    ),
    "chexnet": Recipe(
        "CheXNet's recipe: Adam at 0.001, batches of 16, the rate divided by 10 where the "
        "validation loss stops falling, the epoch with the lowest validation loss kept. CheXNet "
        "starts from pretrained weights: turn those on as well",
        {
            "epochs": 100,
            "batch_size": 16,
            "optimizer": {"name": "adam", "lr": 0.001, "weight_decay": 0.0},
            "schedule": {"name": "plateau", "factor": 0.1, "patience": 5},
            "keep": "val_loss",
        },
        "Rajpurkar et al. 2017. Its betas are 0.9 and 0.999, its weights pretrained; 100 epochs "
        "and a patience of 5 are those of Focal calibration loss 2024",
    ),
    "chexnet_fcl": Recipe(
        "The recipe of Focal calibration loss for CheXNet: Adam at 0.0001, batches of 32, the rate "
        "divided by 10 where the validation loss stops falling",
        {
            "epochs": 100,
            "batch_size": 32,
            "optimizer": {"name": "adam", "lr": 0.0001, "weight_decay": 0.0},
            "schedule": {"name": "plateau", "factor": 0.1, "patience": 5},
            "keep": "val_loss",
        },
        "Focal calibration loss 2024, section 5, which has a weight decay that it does not state "
        "and no epoch that is kept; the factor and that epoch are CheXNet's",
    ),
    "newsgroups": Recipe(
        "The papers' 20 Newsgroups recipe: 50 epochs, Adam at 0.001, batches of 128, the epoch "
        "with the lowest validation error kept",
        _TEXTS,
        "Mukhoti et al. 2020, appendix D; Focal calibration loss 2024, section 5, for the batch. "
        "Ghosh et al. 2022 keep the last epoch",
    ),
    "newsgroups_released": Recipe(
        "The papers' 20 Newsgroups recipe with the words of the released code: the last 1,000 that "
        "the vocabulary of 19,999 has, quotes and footers kept, GloVe's vectors not trained",
        {
            **_TEXTS,
            "text": {**_WORDS, "strip": "headers"},
        },
        "As above; released code of Mukhoti et al. 2020, which takes its vocabulary from all "
        "messages, here from those of the training part. Name glove.6B.100d.txt as word vectors",
    ),
    "newsgroups_bert": Recipe(
        "BERT on 20 Newsgroups: 10 epochs, AdamW at 0.00002, batches of 32, a rate that rises for "
        "a fifth of an epoch and then falls to 0, 128 pieces of a text in training and 512 in "
        "tests, the epoch with the lowest validation error kept",
        {
            "epochs": 10,
            "batch_size": 32,
            "optimizer": {"name": "adamw", "lr": 2e-5, "weight_decay": 0.01},
            "schedule": {"name": "linear", "warmup": 0.2},
            "keep": "val_error",
            "text": {"length": 128, "test_length": 512, "strip": "headers"},
        },
        "Ghosh et al. 2022, appendix D. Not stated, and taken here: the rate falls in a line, "
        "validation reads as much as tests, all weights decay as by PyTorch's default, and "
        "headers are stripped, as for the CNN. Name a folder of bert-base-uncased",
    ),
    **{
        data: Recipe(
            f"{label} as 20 Newsgroups: 50 epochs, Adam at 0.001, batches of 128, the last 1,000 "
            "words, the epoch with the lowest validation error kept",
            {**_TEXTS, "text": _WORDS},
            "Focal calibration loss 2024, section 5, states batches of 128 for all texts and the "
            f"rest for 20 Newsgroups alone, by the code of Mukhoti et al.; {label} is taken to be "
            "trained alike. Name glove.6B.100d.txt as word vectors",
        )
        for data, label in (("finsen", "FinSen"), ("ag_news", "AG News"))
    },
    "sst": Recipe(
        "The papers' SST recipe: 25 epochs, Adagrad at 0.05, batches of the phrases of about 25 "
        "sentences, the epoch with the lowest validation error kept",
        {
            "epochs": 25,
            "batch_size": 25 * PHRASES,
            "optimizer": {
                "name": "adagrad",
                "lr": 0.05,
                "weight_decay": 1e-4 / PHRASES,
                "vectors_lr": 0.1 * PHRASES,
            },
            "schedule": {"name": "constant"},
            "keep": "val_error",
            "text": {
                "vocabulary": 20_000,
                "length": 400,
                "taken": "first",
                "dimension": 300,
                "fixed": False,
            },
        },
        "Mukhoti et al. 2020, appendix D; Tai et al. 2015, section 5.3, for batches of 25 "
        "sentences and plain steps of 0.1 for word vectors. Both add up the losses of a "
        f"sentence's phrases, {PHRASES} on average, where a row here is one phrase: the same sum "
        f"with the weight decay of 1e-4 and that rate for losses {PHRASES} times as small. Name "
        "glove.840B.300d.txt as word vectors",
    ),
}
