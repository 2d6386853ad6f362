"""What lies in the folder of an evaluation job: its config and its weights; no torch."""

from pathlib import Path
from typing import Final

from core.disk import parse_json
from core.inference.config import EvaluationConfig, from_json
from core.training.folder import JobFolder

WEIGHTS: Final = "weights.safetensors"
PICTURES: Final = "pictures"  # that were dropped: a folder for each setting that names one


def config_of(folder: JobFolder) -> EvaluationConfig:
    """Return the config of an evaluation.

    Raises
    ------
    UsageError
        SETTING, or JOB when the folder holds none.
    """
    path: Path = folder.path / "spec.json"
    try:
        return from_json(parse_json(path.read_text("utf-8")))
    except (OSError, ValueError) as error:
        raise folder.without_spec() from error
