"""ONNX models: what their bytes say, running them confined, and what is refused.

onnxruntime reads what tests/onnx_files.py writes.
"""

import os
import sys
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy

from core.checkpoints.guess import guess, stated_side
from core.errors import Refused
from core.readers.weights import weights_file
from core.readers.weights.named_tensors import MODEL
from tests import plain_user
from tests.onnx_files import FLOAT, UINT8, axis, message, model, node, tensor, value, varint

pytest.importorskip("onnxruntime")
RNG = np.random.default_rng(4)
WEIGHT = RNG.normal(0, 0.3, (192, 10)).astype(np.float32)
BIAS = RNG.normal(size=10).astype(np.float32)
WEIGHTS = [tensor("w", WEIGHT), tensor("b", BIAS)]
FLAT = node("Flatten", ["images"], "flat", attributes=[axis(1)])
GEMM = node("Gemm", ["flat", "w", "b"], "out")
LINEAR = [FLAT, GEMM]


def softmaxed(operator="Softmax"):
    last = node(operator, ["logits"], "p", attributes=[axis(1)] * (operator == "Softmax"))
    return [FLAT, node("Gemm", ["flat", "w", "b"], "logits"), last, node("Identity", ["p"], "out")]


def images(n, seed=0):
    return np.random.default_rng(seed).normal(size=(n, 3, 8, 8)).astype(np.float32)


def by_hand(pixels):
    return pixels.reshape(len(pixels), -1) @ WEIGHT + BIAS


@pytest.fixture
def network(torch, parsed):
    """Makes the network of a model's bytes, as an evaluation does."""
    from core.inference.onnx_network import OnnxNetwork

    def make(data, **settings):
        file, folder = parsed(data, "net.onnx")
        plain = {"layout": "nchw", "outputs": "logits", "many": False} | settings
        return OnnxNetwork(folder / file.groups[0].file, 10, **plain)

    return make


def test_the_graph_says_size_layout_and_outputs(parsed):
    file = parsed(model(LINEAR, WEIGHTS), "net.onnx")[0]
    assert file.format == "onnx"
    assert file.hints == {
        "input_type": "float32", "layout": "nchw", "channels": 3, "height": 8, "width": 8,
        "input_size": 8, "outputs": 10, "nodes": 2, "opset": 17, "producer": "pytorch 2.15",
    }  # fmt: skip
    (candidate,) = guess(file, file.groups[0])
    assert (candidate.model, candidate.n_outputs, candidate.channels) == ("onnx", 10, 3)
    assert candidate.size == (8, 8)
    assert stated_side(file) == 8


@pytest.mark.parametrize(
    ("shape", "hints"),
    [
        (("n", 3, "h", "w"), {"layout": "nchw", "channels": 3}),
        (("n", 8, 6, 3), {"layout": "nhwc", "channels": 3, "height": 8, "width": 6}),
        ((1, 1, 8, 8), {"layout": "nchw", "channels": 1, "height": 8, "width": 8, "input_size": 8}),
        (("n", "c", "h", "w"), {}),
        (("n", 3, 8, 3), {}),  # either
    ],
)
def test_layouts_are_told_by_channels(parsed, shape, hints):
    file = parsed(model(LINEAR, WEIGHTS, shape=shape), "net.onnx")[0]
    of_shape = {"layout", "channels", "height", "width", "input_size"}
    assert {key: value for key, value in file.hints.items() if key in of_shape} == hints


@pytest.mark.parametrize(
    ("operator", "gives"),
    [("Softmax", "probabilities"), ("Sigmoid", "probabilities"), ("LogSoftmax", "logits"),
     ("Relu", None)],
)  # fmt: skip
def test_the_last_operator_says_what_comes_out(parsed, operator, gives):
    file = parsed(model(softmaxed(operator), WEIGHTS), "net.onnx")[0]
    assert file.hints.get("gives") == gives


@pytest.mark.parametrize("batch", ["n", 1, 4])
def test_answers_are_the_models_own_whatever_batch_it_takes(torch, network, batch):
    net = network(model(LINEAR, WEIGHTS, shape=(batch, 3, 8, 8), outputs=(batch, 10)))
    for n in (6, 1):
        found = net(torch.from_numpy(images(n)))
        np.testing.assert_allclose(found, by_hand(images(n)), rtol=1e-4, atol=1e-4)


def test_channels_last_and_bytes(torch, network):
    """A network of uint8 (N, H, W, C), as TensorFlow's are: cast, then summed by hand."""
    nodes = [node("Cast", ["images"], "cast", attributes=[message(f1="to", f3=FLOAT, f20=2)]),
             node("Flatten", ["cast"], "flat", attributes=[axis(1)]), GEMM]  # fmt: skip
    net = network(model(nodes, WEIGHTS, shape=("n", 8, 8, 3), kind=UINT8), layout="nhwc")
    pixels = np.random.default_rng(1).integers(0, 256, (5, 3, 8, 8)).astype(np.float32)
    found = net(torch.from_numpy(pixels - 0.001))
    expected = by_hand(pixels.transpose(0, 2, 3, 1))
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-2)


def test_probabilities_become_logits_of_the_same_probabilities(torch, network):
    net = network(model(softmaxed(), WEIGHTS), outputs="probabilities", temperature=2)
    logits = by_hand(images(7))
    found = net(torch.from_numpy(images(7)))
    expected = torch.from_numpy(logits / 2).softmax(1)
    torch.testing.assert_close(found.softmax(1), expected, rtol=1e-4, atol=1e-6)
    many = network(model(softmaxed("Sigmoid"), WEIGHTS), outputs="probabilities", many=True)
    within = abs(logits) < 8
    found = many(torch.from_numpy(images(7))).numpy()
    np.testing.assert_allclose(found[within], logits[within], rtol=2e-3, atol=2e-3)


def test_outputs_that_are_not_what_was_chosen_are_refused(torch, network):
    with pytest.raises(Refused, match="every row sums to 1") as caught:
        network(model(softmaxed(), WEIGHTS))(torch.from_numpy(images(3)))
    assert "probabilities" in caught.value.remedy
    with pytest.raises(Refused, match="are no probabilities"):
        network(model(LINEAR, WEIGHTS), outputs="probabilities")(torch.from_numpy(images(3)))


def test_images_of_another_size_are_refused_and_the_model_still_answers(torch, network):
    from core.inference.evaluate import _outputs

    net = network(model(LINEAR, WEIGHTS))
    with pytest.raises(Refused, match="does not take images of 9 x 9") as caught:
        _outputs(net, torch.zeros(2, 3, 9, 9))
    assert caught.value.code == "MODEL_INPUT"
    assert net(torch.from_numpy(images(2))).shape == (2, 10)


@pytest.mark.parametrize("shape", [("n", 3, 8, 8), (2, 3, 8, 8)])
def test_rows_that_are_no_images_are_refused(torch, network, shape):
    """Two rows for each image: the first of them are no answers for all images."""
    twice = [FLAT, node("Gemm", ["flat", "w", "b"], "o"),
             node("Concat", ["o", "o"], "out", attributes=[axis(0)])]  # fmt: skip
    with pytest.raises(Refused, match="The model gives 4 rows for 2 images"):
        network(model(twice, WEIGHTS, shape=shape, outputs=("m", 10)))(torch.zeros(2, 3, 8, 8))


def test_a_model_that_asks_for_too_much_memory_fails_alone(torch, network):
    """A tensor of 4 TB: the confined process refuses, or dies; this one goes on."""
    size = tensor("size", np.array([1_000_000, 1_000_000], np.int64))
    nodes = [
        *LINEAR[:1],
        node("ConstantOfShape", ["size"], "huge"),
        node("ReduceSum", ["huge"], "sum", attributes=[message(f1="keepdims", f3=0, f20=2)]),
        node("Gemm", ["flat", "w", "b"], "logits"),
        node("Add", ["logits", "sum"], "out"),
    ]
    from core.errors import AuditError

    with pytest.raises((AuditError, ValueError)):
        network(model(nodes, [*WEIGHTS, size]))(torch.from_numpy(images(2)))


HOLD = """
import sys
from pathlib import Path
from core.inference.onnx_network import OnnxSession
session = OnnxSession(Path(sys.argv[1]), 2)
print(session._process.pid, flush=True)
sys.stdin.read()
"""


def test_a_plain_users_model_is_outside_the_network_and_without_torch(parsed):
    file, folder = parsed(model(LINEAR, WEIGHTS), "net.onnx")
    weights = folder / file.groups[0].file
    with plain_user.start("-c", HOLD, str(weights.resolve())) as process:
        pid = process.stdout.readline().strip()
        networks = plain_user.networks(pid)
        maps = Path(f"/proc/{pid}/maps").read_text()
        process.stdin.close()
    assert len(networks) == 1
    assert plain_user.networks("self").isdisjoint(networks)
    assert "onnxruntime" in maps
    assert "libtorch" not in maps


def test_the_process_has_limits(torch, network):
    if not sys.platform.startswith("linux"):
        pytest.skip("limits are Linux's")
    net = network(model(LINEAR, WEIGHTS))
    child = Path(f"/proc/{net._session._process.pid}")
    limits = (child / "limits").read_text()
    space = next(line for line in limits.splitlines() if line.startswith("Max address space"))
    assert "unlimited" not in space
    status = (child / "status").read_text()
    assert "NoNewPrivs:\t1" in status
    if os.geteuid() == 0:
        assert "Uid:\t65534" in status


def in_attribute(inner):
    """A graph within an If, which holds a tensor of another file."""
    graph = message(f1=[], f2="then", f5=[inner])
    return node("If", ["c"], "out", attributes=[message(f1="then_branch", f6=graph, f20=5)])


OUTSIDE = message(f1=[10], f2=1, f8="b", f13=message(f1="location", f2="/etc/passwd"), f14=1)
CONSTANT = node("Constant", [], "b", attributes=[message(f1="value", f5=OUTSIDE, f20=4)])
TWO = message(f1=LINEAR, f5=WEIGHTS, f11=[value("images", FLOAT, ("n", 3, 8, 8))] * 2,
              f12=[value("out", FLOAT, ("n", 10))])  # fmt: skip
# Parsers of protobuf keep the lower 32 bits: of a key, and of an enumeration.
PLACE = message(f1="location", f2="etc/passwd")
LONG = varint(2**32 | 13 << 3 | 2) + varint(len(PLACE)) + PLACE
LONG_KEYS = message(f1=10, f2=1, f8="b") + LONG + varint(2**32 | 14 << 3) + varint(1)
CONTRIB = message(f1="Gelu", f4=["x"], f5=["y"], f7=[node("Add", ["x", "x"], "y")],
                  f9=[message(f2=17)], f10="com.microsoft")  # fmt: skip
GELU = node("Gelu", ["flat"], "out", "com.microsoft")
REFUSED = {
    "in another file, by long keys": (model(LINEAR, [WEIGHTS[0], LONG_KEYS]), "damaged"),
    "in another file, by a long number": (
        model(LINEAR, [WEIGHTS[0], message(f1=10, f2=1, f8="b", f14=2**32 + 1)]),
        "lie in another file",
    ),
    "the runtime's own, by a function": (model([FLAT, GELU], [], f25=CONTRIB), "com.microsoft"),
    "weights in another file": (model(LINEAR, [WEIGHTS[0], OUTSIDE]), "lie in another file"),
    "of a constant": (model([*LINEAR, CONSTANT], WEIGHTS), "lie in another file"),
    "within a graph": (model([*LINEAR, in_attribute(OUTSIDE)], WEIGHTS), "lie in another file"),
    "custom": (model([FLAT, node("Mine", ["flat"], "out", "evil.ops")], []), "evil.ops"),
    "two inputs": (message(f1=8, f2="x", f7=TWO, f8=[message(f2=17)]), "2 inputs"),
    "texts": (model(LINEAR, WEIGHTS, shape=("n", 64), kind=7), "2 axes"),
    "segmentation": (model(LINEAR, WEIGHTS, outputs=("n", 3, 8, 8)), "output has 4 axes"),
    "cut off": (model(LINEAR, WEIGHTS)[:-40], "cut off or damaged"),
    "no graph": (message(f1=8, f2="x", f8=[message(f2=17)]), "0 inputs"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_is_refused_says_why_and_what_to_do(parsed, kind):
    data, why = REFUSED[kind]
    with pytest.raises(Refused, match=why) as caught:
        parsed(data, "net.onnx")
    assert caught.value.code in {"FORMAT_UNKNOWN", "MODEL_INPUT", "MODEL_OUTPUT"}
    assert caught.value.remedy


def test_without_onnxruntime_the_line_that_installs_it_and_the_script_are_named(
    parsed, monkeypatch
):
    monkeypatch.setattr(weights_file, "INSTALLED", False)
    with pytest.raises(Refused, match="is not installed") as caught:
        parsed(model(LINEAR, WEIGHTS), "net.onnx")
    assert "pip install onnxruntime" in caught.value.remedy
    assert "predict_to_file.py" in caught.value.remedy


def session_of(data, folder):
    """Start the process that runs a model which nobody has looked at."""
    from core.inference.onnx_network import OnnxSession

    safetensors.numpy.save_file({MODEL: np.frombuffer(data, np.uint8)}, folder / "x")
    return OnnxSession(folder / "x", 1)


def test_the_process_opens_no_file_that_a_model_names(torch, tmp_path):
    if not sys.platform.startswith("linux"):
        pytest.skip("limits are Linux's")
    place = [("location", "etc/passwd"), ("offset", "0"), ("length", "40")]
    entries = [message(f1=name, f2=text) for name, text in place]
    outside = message(f1=10, f2=1, f8="b", f13=entries, f14=1)
    with pytest.raises(ValueError, match=r"24$|passwd"):  # EMFILE
        session_of(model(LINEAR, [WEIGHTS[0], outside]), tmp_path)


def test_the_runtime_leaves_no_number_of_this_machine_behind(torch, tmp_path, monkeypatch):
    from core.inference import onnx_network
    from core.readers.sandbox.child_process import environment

    home = tmp_path / "home"
    home.mkdir()
    places = {"HOME": str(home), "XDG_CACHE_HOME": str(home / "cache")}
    monkeypatch.setattr(onnx_network, "environment", lambda: environment() | places)
    session_of(model(LINEAR, WEIGHTS), tmp_path).run(images(1))
    assert not list(home.iterdir())


def test_a_model_that_poses_as_onnxruntimes_own_format_is_read_as_it_was_judged(torch, tmp_path):
    data = message(f2=b"\0\0ORTM" + 40 * b"x") + model(LINEAR, WEIGHTS)
    assert data[4:8] == b"ORTM"  # where the format's name stands
    session = session_of(data, tmp_path)
    np.testing.assert_allclose(session.run(images(2)), by_hand(images(2)), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("line", ['{"shape": [1e999]}', 9_000 * "[", '{"shape": 3}', "x"])
def test_whatever_a_process_that_was_taken_over_answers_it_counts_as_lost(
    torch, tmp_path, monkeypatch, line
):
    from core.errors import LostWorker
    from core.inference import onnx_network

    told = [sys.executable, "-c", "import sys; print(sys.argv[1])", line]
    monkeypatch.setattr(onnx_network, "command", lambda *_, **__: told)
    with pytest.raises(LostWorker):
        session_of(b"", tmp_path)


def test_functions_of_the_file_itself_are_no_custom_operators(torch, network):
    """As torch's exporter writes them: a domain of its own, defined within the file."""
    function = message(f1="Twice", f4=["x"], f5=[], f7=[node("Add", ["x", "x"], "y")],
                       f9=[message(f2=17)], f10="own")  # fmt: skip
    function += message(f5=["y"])
    nodes = [FLAT, node("Gemm", ["flat", "w", "b"], "half"), node("Twice", ["half"], "out", "own")]
    data = model(nodes, WEIGHTS, f25=function) + message(f8=[message(f1="own", f2=1)])
    found = network(data)(torch.from_numpy(images(3)))
    np.testing.assert_allclose(found, 2 * by_hand(images(3)), rtol=1e-4, atol=1e-4)


def test_operators_that_the_runtime_does_not_know_are_refused_before_a_job(parsed):
    from core.inference.onnx_network import onnx_match

    unknown = node("Noth\x1b[31ming", ["flat"], "out")
    file, folder = parsed(model([FLAT, unknown], []), "net.onnx")
    with pytest.raises(Refused, match="ONNX Runtime does not run this model") as caught:
        onnx_match(folder / file.groups[0].file, 10)
    assert "Noth?[31ming" in caught.value.what


@pytest.mark.parametrize("seed", range(3))
def test_changed_bytes_are_read_or_refused(seed):
    rng = np.random.default_rng(seed)
    data = np.frombuffer(model(softmaxed(), WEIGHTS), np.uint8)
    for _ in range(700):
        changed = data.copy()
        places = rng.integers(0, 600, rng.integers(1, 4))
        changed[-places] = rng.integers(0, 256, len(places))
        changed = changed[: rng.integers(1, len(data) + 1)] if rng.random() < 0.3 else changed
        with suppress(Refused):
            weights_file.read_onnx(memoryview(changed))
