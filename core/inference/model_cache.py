"""The models that a warm process keeps; torch."""

from collections import OrderedDict
from pathlib import Path
from typing import Final

import torch
from torch import nn

from core.datasets.catalogue import data_entry
from core.inference.config import EvaluationConfig
from core.inference.film_model import FilmModel
from core.inference.job import open_model

KEPT: Final = 4  # so that a page that asks again, or compares three, does not wait
CPU: Final = torch.device("cpu")
_models: OrderedDict[tuple[object, ...], nn.Module] = OrderedDict()


def kept_model(config: EvaluationConfig | FilmModel, weights: Path) -> nn.Module:
    """Return a model with its weights, in evaluation mode on the CPU; the last few are kept.

    Refused STATE_DICT where the weights do not fit.
    """
    about = weights.stat()
    size = config.preprocessing.size
    net: tuple[object, ...] = (config.model, config.n_outputs, config.channels, size)
    if isinstance(config, EvaluationConfig):
        many = data_entry(config.data).task  # what probabilities of ONNX models are of
        net += (config.temperature, config.layout, config.outputs, many)
    key = (str(weights), about.st_mtime_ns, *net)
    if key not in _models:
        while len(_models) >= KEPT:
            _models.popitem(last=False)
        _models[key] = open_model(config, weights, CPU)
    _models.move_to_end(key)
    return _models[key]
