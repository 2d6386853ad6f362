"""What a page says of weights: names, counts, and the lists of a network that does not fit."""

from core import codec
from core.checkpoints.names import Match
from core.readers.weights.named_tensors import TensorInfo, WeightGroup
from core.screens import evaluate

NOTHING = {"left": [], "missing": [], "unexpected": [], "mismatched": []}
FITS = {
    "model": "resnet50_cifar",
    "n_outputs": 10,
    "matched": 120,
    "total": 120,
    "renamed": "the prefix “module.” was removed",
    "likely_outputs": 10,
    **NOTHING,
}


def group(key: str = "", *, ema: bool = False) -> WeightGroup:
    shapes = ((64, 3, 3, 3), (64,), (10, 64), (10,))
    tensors = tuple(TensorInfo(f"t{i}", shape, "F32") for i, shape in enumerate(shapes))
    return WeightGroup(key, ema, tensors, "group-0.safetensors")


def test_a_misfit_names_every_list_and_the_likely_number_of_classes():
    names = [f"fc.{i}" for i in range(12)]
    data = FITS | {"matched": 108, "missing": names, "renamed": "", "likely_outputs": 100}
    fit = codec.read(Match, data | {"model": "timm:resnet18", "unexpected": ["head.weight"]})
    assert not fit.ok
    assert fit.other_outputs == 100
    assert evaluate.fit_words(fit) == (
        "108 of 120 tensors fit resnet18 from timm with 10 outputs. Every tensor must fit."
    )
    assert list(evaluate.lists(fit)) == ["missing", "unexpected"]
    lines = evaluate.shown(fit.missing).splitlines()
    assert lines == [*names[:10], "and 2 more"]
    rows = evaluate.all_names(fit).rows
    assert len(rows) == 13
    assert rows[-1] == ("unexpected", "head.weight")


def test_large_counts_are_in_millions():
    assert evaluate.millions(23_512_130) == "23.5 million"
    assert evaluate.millions(58_186) == "58,186"
