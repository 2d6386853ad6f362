"""How much the stages do: in full on a GPU, and just enough to show that they run; no torch."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, kw_only=True)
class Size:
    """How much the stages do.

    Attributes
    ----------
    device : str
        ``cuda`` or ``cpu``.
    model : str
        Network of the loops and of the evaluation.
    images, validation : int
        Images to train on, and to validate with after each epoch.
    epochs : int
        Of the loops; the fastest counts.
    compiled_s : float
        The compiled engine trains under the whole recipe, until the end of the first epoch after
        so many seconds.
    evaluated, batch : int
        Images of an evaluation, in batches of so many.
    film_model : str
        Network of the heatmaps.
    films, side : int
        Films at once, and pixels of their sides.
    repeats : int
        How often a loss is timed.
    large_model : str
        Network that a batch of all digits does not fit into the memory with.
    job_s : float
        Seconds that the training with it may take.
    memory_limit : int or None
        Bytes that a process may take in that stage; None leaves it to the device.
    patience : float
        How many times as long as its time a stage may take.
    """

    device: str
    model: str
    images: int
    validation: int
    epochs: int
    compiled_s: float
    evaluated: int
    batch: int
    film_model: str
    films: int
    side: int
    repeats: int
    large_model: str
    job_s: float
    memory_limit: int | None = None
    patience: float = 1.0


SIZES: Final = {
    "full": Size(
        device="cuda",
        model="resnet50_cifar",
        images=45_000,
        validation=5_000,
        epochs=2,
        compiled_s=60.0,
        evaluated=50_000,
        batch=512,
        film_model="torchvision:densenet121",
        films=32,
        side=224,
        repeats=50,
        large_model="torchvision:resnet152",
        job_s=50.0,
    ),
    "small": Size(
        device="cpu",
        model="small_cnn",
        images=128,
        validation=64,
        epochs=1,
        compiled_s=0.0,
        evaluated=64,
        batch=32,
        film_model="densenet_small",
        films=2,
        side=64,
        repeats=1,
        large_model="torchvision:resnet18",
        job_s=200.0,
        memory_limit=3 * 2**30,
        patience=4.0,
    ),
}

# Seconds that each stage may take, in the order in which they run: first what says whether the
# rest can be believed, last what is large. Together they are all the time there is.
ALLOWANCES: Final = {
    "machine": 30,
    "tests": 80,
    "plain": 55,
    "bfloat16": 45,
    "compiled": 100,
    "float32": 40,
    "channels_first": 40,
    "evaluation": 30,
    "heatmaps": 30,
    "nccl": 30,
    "memory": 60,
}
TOTAL_S: Final = 540
