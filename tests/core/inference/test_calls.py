"""The real warm process: matching, a quick look, pictures; several users at once get their own."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from core import codec
from core.datasets.base import ResidentSplit
from core.datasets.load import load
from core.datasets.shifts import OutsideSet
from core.errors import AuditError
from core.inference.client import Client
from core.inference.config import Preprocessing
from core.inference.evaluate import spread
from core.models.build import build
from tests.core.inference.test_job import CONFIG

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def client():
    made = Client()
    yield made
    made.close()


def tensors(net):
    dtypes = {torch.float32: "F32", torch.int64: "I64"}
    return [[k, list(v.shape), dtypes[v.dtype]] for k, v in net.state_dict().items()]


def small(seed):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return build("small_cnn", n_outputs=10, channels=1, size=(8, 8)).eval()


def test_matching_says_how_tensors_fit_and_what_the_network_is_shown(client):
    asked = {"tensors": tensors(small(0)), "model": "small_cnn", "n_outputs": 10, "channels": 1}
    found = client.call("matching", asked | {"size": [8, 8]}).values
    assert found["match"]["matched"] == found["match"]["total"] == len(asked["tensors"])
    assert found["settings"]["size"] == [8, 8]
    wrong = client.call("matching", asked | {"n_outputs": 3, "size": None}).values
    assert wrong["match"]["likely_outputs"] == 10
    resnet = client.call("matching", asked | {"model": "torchvision:resnet18", "size": None}).values
    assert resnet["settings"] == {
        "size": [224, 224], "mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225],
        "crop": 0.875, "cover": True, "interpolation": "bilinear", "crops": 1, "average": "logits",
    }  # fmt: skip
    timm = client.call("matching", asked | {"model": "timm:vit_tiny_patch16_224", "size": None})
    assert timm.values["settings"]["interpolation"] == "bicubic"
    assert codec.read(Preprocessing, timm.values["settings"]).scaled == (
        248,
        248,
    )  # as timm, which rounds down
    with pytest.raises(AuditError, match="unknown"):
        client.call("matching", asked | {"model": "timm:no_such_net", "size": None})


def test_two_users_in_four_threads_get_their_own_models_answers(client, tmp_path):
    digits = load("digits", root=None, split_seed=0)
    assert isinstance(digits.val, ResidentSplit)
    pixels = (digits.val.pixels.float() / 255 - digits.mean[0]) / digits.std[0]
    nets = [small(seed) for seed in range(4)]
    paths = [tmp_path / f"{number}.safetensors" for number in range(4)]
    for net, path in zip(nets, paths, strict=True):
        save_file(net.state_dict(), path)
    with torch.inference_mode():
        expected = [net(pixels).numpy() for net in nets]

    def ask(number):
        which, n = number % 4, 3 + number % 20
        asked = {"config": CONFIG.to_json(), "weights": str(paths[which]), "split": "val", "n": n}
        answer = client.call("trying", asked)
        rows = spread(300, n)
        np.testing.assert_array_equal(answer.arrays["labels"], digits.val.targets[rows])
        return np.allclose(answer.arrays["scores"], expected[which][rows], atol=1e-5)

    with ThreadPoolExecutor(4) as one, ThreadPoolExecutor(4) as other:
        found = [*one.map(ask, range(0, 40, 2)), *other.map(ask, range(1, 40, 2))]
    assert found == [True] * 40


def test_a_file_that_was_replaced_is_read_again(client, tmp_path):
    path = tmp_path / "net.safetensors"
    asked = {"config": CONFIG.to_json(), "weights": str(path), "split": "val", "n": 2}
    save_file(small(0).state_dict(), path)
    before = client.call("trying", asked).arrays["scores"]
    path.unlink()
    save_file(small(1).state_dict(), path)
    assert not np.allclose(client.call("trying", asked).arrays["scores"], before)


def test_pictures_are_those_of_the_rows_in_their_order(client):
    digits = load("digits", root=None, split_seed=0)
    assert isinstance(digits.test, ResidentSplit)
    noisy = OutsideSet("corrupted", corruption="contrast", severity=5)
    config = replace(CONFIG, sets=(noisy,)).to_json()
    ids = [digits.test.row_ids[row] for row in (7, 0, 499)]
    asked = {"config": config, "split": "test", "rows": [7, 0, 499], "row_ids": ids}
    found = client.call("pictures", asked).arrays["images"]
    np.testing.assert_array_equal(found, digits.test.pixels[[7, 0, 499]])
    changed = client.call("pictures", asked | {"split": noisy.name}).arrays["images"]
    assert changed.shape == found.shape
    assert not np.array_equal(changed, found)
    for wrong in ({"rows": [500]}, {"rows": [-1]}, {"row_ids": ids[::-1]}):
        with pytest.raises(AuditError, match="not those that were evaluated"):
            client.call("pictures", asked | wrong)
    few = replace(CONFIG, limit=10).to_json()
    third = {"config": few, "rows": [3], "row_ids": [digits.test.row_ids[150]]}
    found = client.call("pictures", asked | third).arrays["images"]
    np.testing.assert_array_equal(found, digits.test.pixels[[150]])


def test_pictures_of_a_training_without_ids_go_by_its_labels(client):
    stored = {"data": "digits", "model": "small_cnn", "loss": {"name": "ce"}}
    digits = load("digits", root=None, split_seed=0).test
    assert isinstance(digits, ResidentSplit)
    rows = [7, 0]
    labels = digits.targets[rows].tolist()
    asked = {"config": stored, "split": "test", "rows": rows, "row_ids": None, "labels": labels}
    found = client.call("pictures", asked | {"n": 500}).arrays["images"]
    np.testing.assert_array_equal(found, digits.pixels[rows])
    for wrong in ({"labels": [labels[0], labels[1] + 1], "n": 500}, {"n": 499}):
        with pytest.raises(AuditError, match="not those that were evaluated"):
            client.call("pictures", asked | wrong)


def test_the_same_weights_under_another_network_are_matched_again(client, tmp_path):
    path = tmp_path / "net.safetensors"
    save_file(small(0).state_dict(), path)
    asked = {"weights": str(path), "split": "val", "n": 2}
    client.call("trying", asked | {"config": CONFIG.to_json()})
    other = replace(CONFIG, model="resnet110_cifar").to_json()
    with pytest.raises(AuditError, match="STATE_DICT"):
        client.call("trying", asked | {"config": other})
