"""What a Trainer of transformers returns, pickled whole or unpacked, without transformers."""

import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import numpy as np
import pytest

from core.errors import Refused
from core.readers.formats.contents import Contents, FileBytes
from core.readers.formats.parse import read_contents
from tests import hostile_cases as made

z, y = made.LOGITS.astype(np.float32), made.LABELS
METRICS = {"test_loss": 0.25, "test_runtime": np.float64(1.5)}
MODULE = "transformers.trainer_utils"


class PredictionOutput(NamedTuple):
    predictions: object
    label_ids: object
    metrics: object


class EvalLoopOutput(NamedTuple):
    predictions: object
    label_ids: object
    metrics: object
    num_samples: object


class EvalPrediction:
    def __init__(self, predictions: object, label_ids: object, inputs: object = None) -> None:
        self.predictions, self.label_ids = predictions, label_ids
        self.inputs, self.losses = inputs, None
        self.elements = (predictions, label_ids)


@pytest.fixture
def dumped(monkeypatch: pytest.MonkeyPatch) -> Callable[..., bytes]:
    """Pickle as if the classes came from transformers, which then is not there any more."""

    def dump(value: object, protocol: int = 4) -> bytes:
        module = ModuleType(MODULE)
        with monkeypatch.context() as patch:
            patch.setitem(sys.modules, "transformers", ModuleType("transformers"))
            patch.setitem(sys.modules, MODULE, module)
            for kind in (PredictionOutput, EvalLoopOutput, EvalPrediction):
                setattr(module, kind.__name__, kind)
                patch.setattr(kind, "__module__", MODULE)
            return pickle.dumps(value, protocol)

    return dump


def read(data: bytes, name: str = "a.pkl") -> Contents:
    return read_contents(FileBytes.of_bytes(name, data))


OUTPUTS = {
    "prediction": PredictionOutput(z, y, METRICS),
    "loop": EvalLoopOutput(z, y, METRICS, 60),
    "eval": EvalPrediction(z, y),
    "inputs": EvalPrediction(z, y, inputs=z[:, :2]),
}


@pytest.mark.parametrize("kind", OUTPUTS)
@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_outputs_are_predictions_and_label_ids(
    dumped: Callable[..., bytes], kind: str, protocol: int
) -> None:
    got = read(dumped(OUTPUTS[kind], protocol))
    assert list(got.entries) == ["predictions", "label_ids"]
    np.testing.assert_array_equal(got.entries["predictions"], z)
    np.testing.assert_array_equal(got.entries["label_ids"], y)
    text = " ".join(notice.text for notice in got.notices)
    assert ("metrics.test_loss" in text) == (kind in ("prediction", "loop"))
    assert "transformers" not in sys.modules


def test_outputs_of_parts_and_of_several_heads(dumped: Callable[..., bytes]) -> None:
    parts = {"val": PredictionOutput(z, y, None), "test": PredictionOutput(z[:9], y[:9], None)}
    got = read(dumped(parts))
    assert list(got.entries) == [
        "val.predictions", "val.label_ids", "test.predictions", "test.label_ids",
    ]  # fmt: skip
    heads = read(dumped(PredictionOutput((z, z[:, :2]), y, {})))
    assert list(heads.entries) == ["predictions.0", "predictions.1", "label_ids"]
    alone = read(dumped(PredictionOutput(z, None, {})))
    assert list(alone.entries) == ["predictions"]


def test_outputs_in_a_file_of_torch(dumped: Callable[..., bytes], tmp_path: Path) -> None:
    data = dumped(PredictionOutput(z, y, METRICS), 2)
    got = read(made.archive({"a/data.pkl": data, "a/version": b"3"}), "a.pt")
    assert list(got.entries) == ["predictions", "label_ids"]


@pytest.mark.parametrize("kind", [tuple, list])
def test_an_unpacked_output_is_a_pair_and_its_metrics_lie_aside(kind: type) -> None:
    got = read(pickle.dumps(kind((z, y, METRICS))))
    assert list(got.entries) == ["scores", "labels"]
    np.testing.assert_array_equal(got.entries["scores"], z)
    assert "not used: test_loss, test_runtime" in got.notices[0].text


@pytest.mark.parametrize("value", [(z, None, METRICS), (z, y, None), (z, {"a": 1}, METRICS)])
def test_what_is_no_such_output_is_refused(value: object) -> None:
    with pytest.raises(Refused) as caught:
        read(pickle.dumps(value))
    assert caught.value.code == "PICKLE_SHAPE"


@pytest.mark.parametrize(
    "data",
    [
        b"\x80\x02cnumpy\nndarray\n)\x81.",
        b"\x80\x02cnumpy\ndtype\nX\x02\0\0\0f4\x85\x81.",
        b"\x80\x02cbuiltins\nlist\n)\x81.",
        b"\x80\x02K\x01)\x81.",
        b"\x80\x02ctransformers.trainer_utils\nPredictionOutput\n)\x81)R.",
    ],
    ids=["array", "function", "type", "number", "called"],
)
def test_nothing_else_can_be_made_as_an_object(data: bytes) -> None:
    with pytest.raises(Refused) as caught:
        read(data)
    assert caught.value.code == "PICKLE_SHAPE"


def test_other_names_of_transformers_are_refused() -> None:
    for name in ("PreTrainedModel", "PredictionOutputs"):
        data = f"ctransformers.trainer_utils\n{name}\n.".encode()
        with pytest.raises(Refused) as caught:
            read(b"\x80\x02" + data)
        assert caught.value.code == "PICKLE_GLOBAL"
