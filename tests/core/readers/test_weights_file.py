"""Files of weights as training code leaves them: groups, hints, and what is refused with why."""

import argparse
import io
import pathlib
import pickle
import warnings
import zipfile
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from core import codec
from core.errors import Refused, UsageError
from core.readers.formats.contents import FileBytes
from core.readers.weights.named_tensors import WeightsFile
from core.readers.weights.weights_file import StoredWeights, read_weights_file
from tests import hostile_cases as made


@pytest.fixture(scope="module")
def torch() -> ModuleType:
    """Imported here, so that a process that only collects tests need not."""
    return pytest.importorskip("torch")


def saved(torch: ModuleType, value: object, **how: object) -> bytes:
    out = io.BytesIO()
    torch.save(value, out, **how)
    return out.getvalue()


def read(data: bytes, name: str = "file.pt") -> StoredWeights:
    return read_weights_file(FileBytes.of_bytes(name, data))


def keys(found: StoredWeights) -> list[str]:
    return [one.group.key for one in found.groups]


def state(torch: ModuleType, seed: int = 0) -> dict[str, Any]:
    torch.manual_seed(seed)
    layers = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4))
    return layers.state_dict()


@pytest.mark.parametrize("zipped", [True, False])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_tensors_come_out_bit_by_bit(torch: ModuleType, zipped: bool, dtype: str) -> None:
    wanted = {
        name: one.to(getattr(torch, dtype)) if one.is_floating_point() else one
        for name, one in state(torch).items()
    }
    wanted["0.view.weight"] = wanted["0.weight"].transpose(0, 2)[1:]
    found = read(saved(torch, wanted, _use_new_zipfile_serialization=zipped), "net.pth.tar")
    (one,) = found.groups
    assert [t.name for t in one.group.tensors] == list(wanted)
    for info in one.group.tensors:
        tensor = wanted[info.name]
        assert info.shape == tuple(tensor.shape)
        raw = tensor.contiguous().view(-1).view(torch.uint8).numpy().tobytes()
        assert one.numbers(info.name).tobytes() == raw
    stored = {t.name: t.dtype for t in one.group.tensors}
    short = {"float32": "F32", "float64": "F64", "float16": "F16", "bfloat16": "BF16"}[dtype]
    assert stored["0.weight"] == stored["0.view.weight"] == short
    assert stored["1.num_batches_tracked"] == "I64"


def test_safetensors_are_read_as_they_are(torch: ModuleType) -> None:
    from safetensors.torch import save

    wanted = {**state(torch), "0.half.weight": torch.ones(2, 3).bfloat16()}
    (one,) = read(save(wanted), "net.safetensors").groups
    assert {t.name: t.shape for t in one.group.tensors} == {
        name: tuple(tensor.shape) for name, tensor in wanted.items()
    }
    np.testing.assert_array_equal(one.numbers("0.weight"), wanted["0.weight"].numpy())
    assert one.numbers("0.half.weight").tobytes() == b"\x80\x3f" * 6  # bfloat16 of 1


def test_groups_and_hints_of_a_training_that_saved_everything(torch: ModuleType) -> None:
    """As timm and torchvision save: arguments, optimizer, averages, scalars of NumPy, paths."""
    net = torch.nn.Linear(2, 3)
    adam = torch.optim.AdamW(net.parameters())
    net(torch.ones(1, 2)).sum().backward()
    adam.step()
    counts: defaultdict[str, int] = defaultdict(int)
    counts["steps"] = 4
    value = {
        "epoch": 7,
        "arch": "resnet10t",
        "state_dict": net.state_dict(),
        "state_dict_ema": net.state_dict(),
        "optimizer": adam.state_dict(),
        "other_optimizer": adam.state_dict(),
        "args": argparse.Namespace(
            model="resnet10t", lr=0.1, paths=pathlib.PurePosixPath("/data"), momentum=None
        ),
        "best_acc": np.float64(0.5),
        "metric": np.float32(0.25),
        "nothing": float("nan"),
        "counts": counts,
        "milestones": Counter({30: 1}),
        "seen": {1, 2},
        "dtype": torch.bfloat16,
        "device": torch.device("cpu"),
        "size": torch.Size([3, 2]),
        "rng": torch.get_rng_state(),
        "numpy_rng": np.random.default_rng(0).bit_generator.state,
    }
    for zipped in (True, False):
        found = read(saved(torch, value, _use_new_zipfile_serialization=zipped))
        assert keys(found) == ["state_dict_ema", "state_dict"]
        assert [one.group.ema for one in found.groups] == [True, False]
        hints = {"epoch": 7, "arch": "resnet10t", "args.model": "resnet10t", "args.lr": 0.1}
        assert found.hints.items() >= hints.items()
        assert found.hints["best_acc"] == 0.5
        assert found.hints["metric"] == 0.25
        assert found.hints["counts.steps"] == 4
        assert not {"nothing", "args.paths", "args.momentum"} & found.hints.keys()
        assert not any(key.startswith("optimizer") for key in found.hints)
        assert [notice.code for notice in found.notices] == ["NAMESPACE"]


def test_averages_that_are_not_whole_come_last(torch: ModuleType) -> None:
    whole = state(torch)
    part = {name: tensor for name, tensor in whole.items() if "running" not in name}
    assert keys(read(saved(torch, {"ema": part, "net": whole}))) == ["net", "ema"]
    averaged = torch.optim.swa_utils.AveragedModel(torch.nn.Linear(2, 3)).state_dict()
    assert read(saved(torch, averaged)).groups[0].group.ema


def test_states_are_found_at_any_depth_and_optimizers_are_none(torch: ModuleType) -> None:
    net = torch.nn.Linear(2, 3)
    momentum = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    net(torch.ones(1, 2)).sum().backward()
    momentum.step()
    state = {"net": net.state_dict(), "optimizer": momentum.state_dict(), "epoch": 3}
    found = read(saved(torch, {"sum": "x", "state": state}))
    assert keys(found) == ["state.net"]
    assert found.hints == {"sum": "x", "state.epoch": 3}


def test_only_short_texts_are_hints(torch: ModuleType) -> None:
    long = "x" * 201
    kept = {"net": state(torch), "arch": "y" * 200, "log": long, long: 3}
    assert read(saved(torch, kept)).hints == {"arch": "y" * 200}


def test_names_that_python_2_and_old_torch_wrote_are_known(torch: ModuleType) -> None:
    """A state dict as torch 0.3 under Python 2 pickled it: items as one list, CUDA storages."""
    storage = made_storage = np.arange(6, dtype="<f4").tobytes()
    body = (
        b"\x80\x02ccollections\nOrderedDict\nq\x00]q\x01]q\x02(U\x09fc.weightq\x03"
        b"ctorch._utils\n_rebuild_tensor\nq\x04((U\x07storageq\x05ctorch.cuda\nFloatStorage\nq\x06"
        b"U\x041234q\x07U\x06cuda:0q\x08K\x06Ntq\x09QK\x00K\x02K\x03\x86K\x03K\x01\x86tRea\x85R."
    )
    head = b"".join(pickle.dumps(v, 2) for v in (0x1950A86A20F9469CFC6C, 1001, {}))
    tail = pickle.dumps(["1234"], 2) + (6).to_bytes(8, "little") + made_storage
    (one,) = read(head + body + tail, "model.pth.tar").groups
    assert [(t.name, t.shape, t.dtype) for t in one.group.tensors] == [("fc.weight", (2, 3), "F32")]
    assert one.numbers("fc.weight").tobytes() == storage


def test_tensors_with_attributes_and_parameters_are_tensors(torch: ModuleType) -> None:
    parameter = torch.nn.Parameter(torch.ones(2, 3))
    parameter.tag = "x"
    plain = torch.ones(2)
    plain.tag = "y"
    (one,) = read(saved(torch, OrderedDict(weight=parameter, bias=plain))).groups
    np.testing.assert_array_equal(one.numbers("weight"), np.ones((2, 3)))
    np.testing.assert_array_equal(one.numbers("bias"), np.ones(2))


def test_many_members_are_fine_in_a_file_of_torch(torch: ModuleType) -> None:
    value = {f"layers.{i}.weight": torch.ones(1) for i in range(2_100)}
    assert len(read(saved(torch, value)).groups[0].group.tensors) == 2_100


class OfTheirOwn:
    """A class whose name a pickle asks for, as whole networks do."""


def scripted(torch: ModuleType) -> bytes:
    return made.archive({"net/data.pkl": b"", "net/constants.pkl": b"", "net/code/a.py": b""})


CONVERT = "assets/convert_checkpoint.py"
EVIL = {
    "whole network": (lambda torch: saved(torch, torch.nn.Linear(2, 3)), "PICKLE_GLOBAL", CONVERT),
    "network beside": (
        lambda torch: saved(torch, {"model": OfTheirOwn(), "w": {"fc.weight": torch.ones(1)}}),
        "PICKLE_GLOBAL",
        CONVERT,
    ),
    "call": (lambda torch: saved(torch, {"a": made.Evil()}), "PICKLE_GLOBAL", CONVERT),
    "older call": (
        lambda torch: saved(torch, made.ByPrefix(), _use_new_zipfile_serialization=False),
        "PICKLE_GLOBAL",
        CONVERT,
    ),
    "program": (scripted, "TORCHSCRIPT", CONVERT),
    "real program": (
        lambda torch: script_bytes(torch),
        "TORCHSCRIPT",
        CONVERT,
    ),
    "tar": (lambda torch: bytes(257) + b"ustar" + bytes(300), "FORMAT_UNKNOWN", CONVERT),
    "stride 0": (
        lambda torch: saved(torch, {"weight": torch.zeros(1).expand(10**6, 10**6)}),
        "TENSOR_SIZE",
        "clone",
    ),
    "stride 0, small": (
        lambda torch: saved(torch, {"weight": torch.zeros(1).expand(6, 3)}),
        "TENSOR_SIZE",
        "clone",
    ),
    "much from little": (
        lambda torch: saved(torch, {f"{i}.weight": WIDE(torch) for i in range(40)}),
        "TENSOR_SIZE",
        "clone",
    ),
    "complex": (
        lambda torch: saved(torch, {"weight": torch.ones(2, dtype=torch.complex64)}),
        "DTYPE",
        CONVERT,
    ),
    "predictions": (
        lambda torch: saved(torch, {"logits": torch.ones(9, 3), "labels": torch.ones(9)}),
        "STATE_DICT",
        "under Runs",
    ),
    "onnx": (lambda torch: made.ONNX, "FORMAT_UNKNOWN", ""),
    "keras": (lambda torch: made.KERAS, "FORMAT_UNKNOWN", "model.state_dict()"),
    "hdf5": (lambda torch: b"\x89HDF\r\n\x1a\n" + bytes(99), "FORMAT_UNKNOWN", "state_dict()"),
    "gguf": (lambda torch: b"GGUF\3\0\0\0" + bytes(99), "FORMAT_UNKNOWN", "state_dict()"),
    "arrays": (lambda torch: made.npz(logits=made.LOGITS), "STATE_DICT", "under Runs"),
    "table": (lambda torch: made.CSV, "STATE_DICT", "under Runs"),
    "plain pickle": (lambda torch: made.pickled({"a": 1}, 2), "STATE_DICT", "under Runs"),
    "memory": (
        lambda torch: made.archive(
            {"a/data.pkl": b"\x80\x02c__builtin__\nbytearray\n\x8a\x05\x00\xf2\x05*\x01\x85R."}
        ),
        "PICKLE_LIMIT",
        "",
    ),
    "deflated": (
        lambda torch: deflated(saved(torch, {"weight": torch.zeros(10)})),
        "ARCHIVE_RATIO",
        "torch.save",
    ),
    "control in a name": (
        lambda torch: saved(torch, {"fc\x1b[2J.weight": torch.ones(1)}),
        "PICKLE_SHAPE",
        "",
    ),
    "too many states": (
        lambda torch: saved(torch, {str(i): {"weight": torch.ones(1)} for i in range(17)}),
        "PICKLE_LIMIT",
        "alone",
    ),
}
_wide: list[object] = []


def WIDE(torch: ModuleType) -> object:  # noqa: N802  one tensor, however often it is asked for
    if not _wide:
        _wide.append(torch.zeros(100_000))
    return _wide[0]


def script_bytes(torch: ModuleType) -> bytes:
    out = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that torch.jit is deprecated
        torch.jit.save(torch.jit.script(torch.nn.Linear(2, 3)), out)
    return out.getvalue()


def deflated(data: bytes) -> bytes:
    with zipfile.ZipFile(io.BytesIO(data)) as packed:
        parts = {name: packed.read(name) for name in packed.namelist()}
    return made.archive(parts, zipfile.ZIP_DEFLATED)


@pytest.mark.parametrize("kind", EVIL)
def test_what_is_no_plain_weights_is_refused_with_a_remedy(
    torch: ModuleType, kind: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    make, code, remedy = EVIL[kind]
    name = "file" if kind in ("table", "arrays") else "file.pt"
    with pytest.raises(Refused) as caught:
        read(make(torch), name)
    assert (caught.value.code, remedy in caught.value.remedy) == (code, True)
    assert list(tmp_path.iterdir()) == []


def test_a_refused_network_is_named(torch: ModuleType) -> None:
    with pytest.raises(Refused, match=r"asks for torch\.nn\.modules\.linear\.Linear"):
        read(saved(torch, {"model": torch.nn.Linear(2, 3)}))


# What crosses over ------------------------------------------------------------------------------

GOOD = {
    "name": "a.pt",
    "digest": "00",
    "format": "torch",
    "groups": [
        {
            "key": "state_dict",
            "ema": False,
            "tensors": [{"name": "fc.weight", "shape": [2, 3], "dtype": "F32"}],
            "file": "group-0.safetensors",
            "temperature": 1.5,
        }
    ],
    "hints": {"epoch": 3, "arch": "x"},
    "notices": [{"code": "NAMESPACE", "text": "t"}],
}


def changed(change: Callable[[dict[str, object]], object]) -> Mapping[str, object]:
    data = pickle.loads(pickle.dumps(GOOD))
    change(data)
    return data


def test_json_gives_the_same_again() -> None:
    file = codec.read(WeightsFile, GOOD, stored=True)
    assert codec.read(WeightsFile, codec.to_json(file), stored=True) == file
    assert file.group("state_dict").tensors[0].shape == (2, 3)
    with pytest.raises(KeyError):
        file.group("other")


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d.pop("hints"),
        lambda d: d.update(more=1),
        lambda d: d.update(format="keras"),
        lambda d: d.update(name=3),
        lambda d: d.update(groups=[]),
        lambda d: d.update(groups=d["groups"] * 2),
        lambda d: d["hints"].update(x=[1]),
        lambda d: d["groups"][0].update(ema=1),
        lambda d: d["groups"][0].update(file="../x"),
        lambda d: d["groups"][0].update(file=".."),
        lambda d: d["groups"][0].update(temperature=0.0),
        lambda d: d["groups"][0].update(tensors=[]),
        lambda d: d["groups"][0].update(tensors=d["groups"][0]["tensors"] * 2),
        lambda d: d["groups"][0]["tensors"][0].update(shape=[2.0]),
        lambda d: d["groups"][0]["tensors"][0].update(shape=[-1]),
        lambda d: d["groups"][0]["tensors"][0].update(shape=[0, 2**62]),
        lambda d: d["groups"][0]["tensors"][0].update(dtype="C64"),
    ],
)
def test_json_of_any_other_form_is_refused(change: Callable[[dict[str, object]], object]) -> None:
    with pytest.raises(UsageError):
        codec.read(WeightsFile, changed(change), stored=True)
