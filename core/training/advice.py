"""What is said of a training before it begins: settings that are known to learn badly; no torch."""

from typing import Final

from core.codes import NoticeCode
from core.datasets.catalogue import data_entry
from core.errors import Notice
from core.predictions import Task
from core.training.config import TrainConfig

HEAVY: Final = 1.0  # weight of the distance in FCL from which its first steps overshoot
CALM: Final = 0.02  # a learning rate at which they do not


def advice(config: TrainConfig) -> tuple[Notice, ...]:
    """Return what to know of a config's settings.

    Notes
    -----
    Focal calibration loss adds two losses, so its gradients are two to three times those of
    cross-entropy in the first epoch, and a rate that suits the one is too much for the other. The
    papers' recipe clips gradients. The numbers said are in docs/training.md.
    """
    rate = config.optimizer.lr * (config.batch_size if config.reduction == "sum" else 1)
    weight = config.loss.get("lambda", 0.0)
    overshoots = (
        config.loss["name"] == "fcl"
        and float(weight) >= HEAVY
        and config.clip_norm is None
        and config.optimizer.name == "sgd"
        and rate > CALM
        and data_entry(config.data).task is not Task.MULTILABEL
    )
    if not overshoots:
        return ()
    text = (
        f"FCL with λ = {weight:g} can overshoot in its first steps and then barely learn: of ten "
        "trainings on digits with γ = 4, λ = 1.5 and a rate of 0.05, four ended with 14 to 19 % "
        "of answers wrong, cross-entropy with 1 to 2 %. Clip gradients to norm 2, as the papers' "
        f"recipe does, or start at a rate of {CALM:g}"
    )
    return (Notice(NoticeCode.OVERSHOOT, text),)
