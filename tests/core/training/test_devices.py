"""Precision, devices and kinds of answers that a config can ask for."""

from argparse import Namespace
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from lightning_fabric import Fabric
from lightning_fabric.plugins.environments.lightning import LightningEnvironment
from lightning_fabric.plugins.precision.amp import MixedPrecision
from torch.utils._python_dispatch import TorchDispatchMode

from core.errors import UsageError
from core.inference.job import connect as evaluation_connect
from core.models.small_images import SmallCnn
from core.training import loop, ranks
from core.training.__main__ import _train
from core.training.config import from_json
from core.training.folder import TIME_IS_UP, JobFolder
from core.training.parts import ScaledPrecision, assemble, predict, training_rows
from core.training.parts import connect as parts_connect
from tests.core.training.conftest import SMALL

NO_GPU = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


def on_gpu(test):
    return pytest.mark.gpu(NO_GPU(test))


def test_bfloat16_trains_and_is_evaluated_in_float32(trainer):
    exact, *_ = trainer("exact", epochs=12)
    parts, folder, trained = trainer("bf16", epochs=12, precision="bf16")
    assert trained.finished
    errors = [line["metrics"]["val_error"] for line in folder.events()]
    assert errors[-1] < 0.6 < errors[0]
    weights = {value.dtype for value in parts.net.state_dict().values()}
    assert weights == {torch.float32}
    logits = predict(parts, parts.data.val)
    # of bfloat16's 8 bits nothing is left in the logits that are kept
    assert not torch.equal(logits, logits.bfloat16().float())
    assert not torch.equal(logits, predict(exact, exact.data.val))


def test_deterministic_kernels_can_be_asked_for(trainer):
    before = torch.are_deterministic_algorithms_enabled()
    try:
        one, *_ = trainer("one", deterministic=True, epochs=1)
        assert torch.are_deterministic_algorithms_enabled()
        other, *_ = trainer("other", deterministic=True, epochs=1)
    finally:
        torch.use_deterministic_algorithms(before)
    pairs = zip(one.net.parameters(), other.net.parameters(), strict=True)
    assert all(torch.equal(a, b) for a, b in pairs)


class Waits(TorchDispatchMode):
    """Counts how often a number is read off a device."""

    n = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.n += func is torch.ops.aten._local_scalar_dense.default
        return func(*args, **(kwargs or {}))


def float16_steps(plugin, digits, optimizer, **changes):
    """Six steps in float16 on a CPU, the first two beyond its range: the weights after each."""
    precision = plugin("16-mixed", "cpu", torch.amp.GradScaler("cpu", init_scale=2.0**40))
    precision.scaler.set_backoff_factor(2.0**-16)
    fabric = Fabric(accelerator="cpu", devices=1, plugins=[LightningEnvironment(), precision])
    config = from_json({**SMALL, "precision": "16", "optimizer": optimizer, **changes})
    parts = assemble(config, digits, fabric)
    if plugin is not ScaledPrecision:  # a second implementation: Fabric's, which waits
        for group in parts.optimizer.param_groups:
            group["fused"] = False
        parts.optimizer.optimizer._step_supports_amp_scaling = False
        if optimizer["name"] != "adagrad":  # which begins with its sums, of zeros
            parts.optimizer.optimizer.state.clear()
    sums, weights = loop.Sums.zero(fabric.device), []
    for rows in parts.rows.split(25):
        (images,) = digits.train.inputs([rows], fabric.device)
        with Waits() as waits:
            loop.step(parts, rows, images, None, sums)
        weights.append(torch.cat([p.detach().flatten().clone() for p in parts.net.parameters()]))
    return weights, waits.n


# Adam divides small gradients by their own size, and their last bits grow from step to step. In
# the first real one, a skipped step that was counted though would move weights by 4e-3.
@pytest.mark.parametrize(
    ("name", "n_compared"),
    [
        ("adam", 3),
        pytest.param("sgd", 6, marks=pytest.mark.nightly),
        pytest.param("adagrad", 3, marks=pytest.mark.nightly),
    ],
)
def test_float16_skips_steps_without_a_wait_as_fabric_does_with_one(name, n_compared, digits):
    changes = {"optimizer": {"name": name, "lr": 0.01}, "clip_norm": 2.0}
    ours, n_waits = float16_steps(ScaledPrecision, digits, **changes)
    fabrics, n_theirs = float16_steps(MixedPrecision, digits, **changes)
    assert (n_waits, n_theirs > 0) == (0, True)
    assert torch.equal(ours[0], ours[1])  # skipped
    assert not torch.equal(ours[-2], ours[-1])
    for one, other in zip(ours[:n_compared], fabrics[:n_compared], strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("precision", ["16", "tf32"])
def test_some_precisions_are_for_gpus(precision, trainer):
    with pytest.raises(UsageError, match=f"Precision is {precision} on a CPU; use 32 or bf16"):
        trainer(precision=precision, device="cpu")


def test_batch_norm_over_devices_is_for_gpus_and_changes_no_weight(trainer, digits):
    with pytest.raises(UsageError, match="sync_batch_norm is on, and PyTorch has it for GPUs"):
        trainer(sync_batch_norm=True, devices=2, device="cpu")
    one, *_ = trainer(sync_batch_norm=True, model="densenet_small", epochs=1)
    assert not any(isinstance(part, torch.nn.SyncBatchNorm) for part in one.net.modules())
    plain, synced = (
        assemble(replace(one.config, devices=2, sync_batch_norm=sync), digits, one.fabric).net
        for sync in (False, True)
    )
    kinds = {type(part) for part in synced.modules()}
    assert (torch.nn.SyncBatchNorm in kinds, torch.nn.BatchNorm2d in kinds) == (True, False)
    before, after = plain.state_dict(), synced.state_dict()
    assert list(after) == list(before)
    assert all(torch.equal(after[name], before[name]) for name in before)


def test_evaluation_keeps_cudnn_and_leaves_only_tf32_out(trainer):
    seen = []
    parts, *_ = trainer(epochs=1)
    cudnn, matmul = torch.backends.cudnn, torch.backends.cuda.matmul
    assert (cudnn.allow_tf32, matmul.allow_tf32) == (False, False)  # 32 allows none
    parts.net.register_forward_hook(
        lambda *_: seen.append((cudnn.enabled, cudnn.allow_tf32, matmul.allow_tf32))
    )
    cudnn.allow_tf32 = matmul.allow_tf32 = True
    try:
        predict(parts, parts.data.val)
        assert (cudnn.allow_tf32, matmul.allow_tf32) == (True, True)
    finally:
        cudnn.allow_tf32 = matmul.allow_tf32 = False
    assert set(seen) == {(cudnn.enabled, False, False)}


@pytest.mark.parametrize(
    ("n", "kept", "dropped"),
    [
        (9, [4, 5], [4, 4]),
        (10, [4, 4, 2], [4, 4]),
        (8, [4, 4], [4, 4]),
        (3, [3], [3]),
        (1, [1], [1]),
    ],
)
def test_a_smaller_last_batch_is_kept_or_dropped_and_a_lone_row_joins_the_one_before(
    n, kept, dropped
):
    for last, sizes in (("keep", kept), ("drop", dropped)):
        found = loop.batched(torch.arange(n), 4, last)
        assert [len(rows) for rows in found] == sizes
        assert torch.cat(found).tolist() == list(range(sum(sizes)))
        config = from_json({**SMALL, "batch_size": 4, "last_batch": last})
        assert config.n_batches(n) == len(sizes)


def test_a_last_batch_has_two_rows_for_each_device_or_joins_the_one_before():
    for n, sizes in ((11, [4, 7]), (12, [4, 4, 4]), (3, [3])):
        assert [len(rows) for rows in loop.batched(torch.arange(n), 4, "keep", 4)] == sizes
        assert from_json({**SMALL, "batch_size": 4, "devices": 2}).n_batches(n) == len(sizes)


def test_one_of_several_processes_alone_says_that_time_was_up(monkeypatch, tmp_path):
    """Launchers end all processes once one of them ends with another code than 0."""
    monkeypatch.setattr("core.training.job.run", lambda *_, **__: None)
    folder, given = JobFolder.make(tmp_path / "job", from_json(SMALL)), Namespace(seconds=1.0)
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))  # else it stays set
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    assert _train(folder, given) == TIME_IS_UP
    monkeypatch.setenv("LOCAL_RANK", "1")
    assert _train(folder, given) == 0


def batch_sizes(trainer, name, **changes):
    """The parts, the recorded epochs and the sizes of the batches that a network trained on."""
    seen, net = [], SmallCnn(1, 10)
    net.register_forward_hook(
        lambda net, took, _: seen.append(len(took[0])) if net.training else None
    )
    parts, folder, _ = trainer(name, net=lambda: net, n_train=70, epochs=2, **changes)
    return parts, folder.events(), seen


def test_a_network_trains_on_the_batches_that_the_setting_says(trainer):
    loss = {"name": "ce"}
    _, kept, sizes = batch_sizes(trainer, "kept", loss=loss)
    assert sizes == [32, 32, 6] * 2
    parts, dropped, sizes = batch_sizes(trainer, "dropped", loss=loss, last_batch="drop")
    assert sizes == [32, 32] * 2
    counted = [
        sum(v for k, v in line["metrics"].items() if k.startswith("train_bins") and "count" in k)
        for line in (kept[0], dropped[0])
    ]
    assert counted == [70, 64]
    for line in dropped:  # cross-entropy is the mean NLL over what was trained on
        assert line["metrics"]["train_loss"] == pytest.approx(line["metrics"]["train_nll"])
    assert parts.config.to_json()["last_batch"] == "drop"


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_device_that_is_not_there_is_refused(trainer):
    with pytest.raises(UsageError, match="this machine has 0"):
        trainer(device="cuda")


@pytest.mark.parametrize("device", ["auto", "cpu"])
def test_the_cpu_never_stands_in_for_a_gpu_that_the_job_was_given(device, monkeypatch):
    """A driver that is too old, as torch says it."""

    def too_old():
        raise RuntimeError("The NVIDIA driver on your system is too old (found 11040).\nMore")

    monkeypatch.setenv("CANDOR_GPUS", "1")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.cuda, "init", too_old)
    train = from_json({**SMALL, "device": device})
    evaluate = SimpleNamespace(model="small_cnn", device=device)
    for connect, config in ((parts_connect, train), (evaluation_connect, evaluate)):
        with pytest.raises(UsageError) as caught:
            connect(config)
        assert caught.value.code == "DEVICE"
        assert caught.value.what == (
            "The job has 1 GPU, and PyTorch sees none (The NVIDIA driver on your system is too old "
            "(found 11040).)"
        )


@pytest.mark.parametrize(("given", "seen", "counts"), [("0", 0, 0), ("2", 2, 2), ("2", 1, None)])
def test_pytorch_must_see_as_many_gpus_as_were_given(given, seen, counts, monkeypatch):
    monkeypatch.setenv("CANDOR_GPUS", given)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: seen > 0)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: seen)
    monkeypatch.setattr(torch.cuda, "init", lambda: None)
    if counts is None:
        with pytest.raises(UsageError, match="The job has 2 GPUs, and PyTorch sees 1;"):
            ranks.count_gpus()
    else:
        assert ranks.count_gpus() == counts


def test_the_seed_and_nothing_else_decides_the_weights(trainer):
    one, *_ = trainer("one", epochs=1)
    torch.rand(7)
    same, *_ = trainer("same", epochs=1)
    other, *_ = trainer("other", epochs=1, seed=1)
    head = "head.weight" if "head.weight" in dict(one.net.named_parameters()) else None
    key = head or next(iter(dict(one.net.named_parameters())))
    weights = [dict(parts.net.named_parameters())[key] for parts in (one, same, other)]
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])


def test_a_share_of_the_training_part_is_drawn_once_by_its_seed(trainer, digits):
    parts, *_ = trainer(n_train=100, epochs=1)
    assert len(parts.rows) == 100 == len(set(parts.rows.tolist()))
    assert torch.equal(parts.rows, training_rows(parts.config, len(digits.train)))
    again, *_ = trainer("again", n_train=100, epochs=1, seed=5)
    assert torch.equal(again.rows, parts.rows)
    other, *_ = trainer("other", n_train=100, epochs=1, split_seed=5)
    assert not torch.equal(other.rows, parts.rows)
    with pytest.raises(UsageError, match="the training part has 997 images"):
        trainer("more", n_train=998)


def test_the_learning_rate_falls_as_the_schedule_says(trainer):
    schedule = {"name": "step", "drops": [0.5], "factor": 0.5}
    _, folder, _ = trainer(n_train=32, epochs=4, schedule=schedule)
    assert [line["metrics"]["lr"] for line in folder.events()] == [0.05, 0.05, 0.025, 0.025]


def test_adam_remembers_its_moments_when_it_goes_on(trainer):
    options = {"optimizer": {"name": "adamw", "lr": 0.01}, "epochs": 2}
    through, *_ = trainer("through", **options)
    trainer("pieces", seconds=0.0, **options)
    resumed, *_ = trainer("pieces", **options)
    pairs = zip(through.net.parameters(), resumed.net.parameters(), strict=True)
    assert all(torch.equal(a, b) for a, b in pairs)


def test_images_are_shifted_only_when_augmentation_is_asked_for(trainer):
    plain, *_ = trainer("plain", augment=False, epochs=1)
    shifted, *_ = trainer("shifted", augment=True, epochs=1)
    weights = [next(iter(parts.net.parameters())) for parts in (plain, shifted)]
    assert not torch.equal(*weights)


@on_gpu
@pytest.mark.parametrize("precision", ["32", "tf32", "bf16", "16"])
def test_a_step_on_a_gpu_never_waits_for_it(precision, trainer):
    parts, *_ = trainer(device="cuda", epochs=1, precision=precision)
    order = parts.rows[:32].split(32)
    (images,) = parts.data.train.images(list(order), parts.fabric.device)
    sums = loop.Sums.zero(parts.fabric.device)
    torch.cuda.set_sync_debug_mode("error")
    try:
        loop.step(parts, order[0].pin_memory(), images, None, sums)  # raises where it waits
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert sums.n_steps == 1


@on_gpu
@pytest.mark.parametrize("precision", ["32", "tf32", "bf16", "16"])
def test_a_gpu_trains_digits_in_every_precision(precision, trainer):
    _, folder, trained = trainer(
        device="cuda", precision=precision, n_train=None, epochs=40, batch_size=128
    )
    assert trained.finished
    assert folder.events()[-1]["metrics"]["val_error"] < 0.05


@on_gpu
def test_going_on_on_a_gpu_ends_close_to_training_through(trainer):
    through, *_ = trainer("through", device="cuda", deterministic=True)
    trainer("pieces", device="cuda", deterministic=True, seconds=0.0)
    resumed, *_ = trainer("pieces", device="cuda", deterministic=True)
    for a, b in zip(through.net.parameters(), resumed.net.parameters(), strict=True):
        np.testing.assert_allclose(b.detach().cpu(), a.detach().cpu(), atol=1e-5)
