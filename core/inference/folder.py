"""What lies in the folder of an evaluation job: its config and its weights; no torch."""

from typing import Final

from core.inference.config import EvaluationConfig, from_json
from core.training.folder import JobFolder

WEIGHTS: Final = "weights.safetensors"
PICTURES: Final = "pictures"  # that were dropped: a folder for each setting that names one


def config_of(folder: JobFolder) -> EvaluationConfig:
    """Return the config of an evaluation; UsageError SETTING or JOB."""
    return from_json(folder.spec())
