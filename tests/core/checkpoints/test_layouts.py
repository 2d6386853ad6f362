"""Files as training code leaves them: read, recognised, matched, loaded, and the same answers."""

import argparse
import collections
import re

import pytest

SHUFFLE, SHUFFLE_SIZE = "torchvision:shufflenet_v2_x0_5", (224, 224)


@pytest.fixture
def shuffle(torch, filled):
    """A small network of torchvision with six outputs."""
    from torchvision import models

    torch.manual_seed(1)
    return filled(models.shufflenet_v2_x0_5(weights=None, num_classes=6), size=(64, 64))


@pytest.fixture
def through(torch, parsed, same):
    """Takes a saved value all the way; returns the file, the match and the first candidate."""
    from core.checkpoints.guess import guess
    from core.checkpoints.match import load, match

    def take(value, wanted, model, *, name="net.pt", key=None, sides=(64, 64), fits=True):
        file, into = parsed(value, name)
        group = file.groups[0] if key is None else file.group(key)
        first = guess(file, group)[0]
        assert (first.model, first.fits) == (model, fits)
        shape = {
            "n_outputs": first.n_outputs,
            "channels": first.channels,
            "size": first.size or (32, 32),
        }
        found = match(group.tensors, first.model, **shape)
        assert found.ok, found
        loaded = load(into / group.file, first.model, **shape)
        assert not loaded.training
        held, new = wanted.state_dict(), loaded.state_dict()
        assert all(torch.equal(new[n].double(), held[n].double()) for n in new)
        same(wanted, loaded, first.channels, sides)
        return file, found, first

    return take


def without_counters(net):
    """The state without `num_batches_tracked`, which begin at 0 where they are not given."""
    state = net.state_dict()
    counters = {name for name in state if name.endswith("num_batches_tracked")}
    for name in counters:
        state[name].zero_()
    return {name: one for name, one in state.items() if name not in counters}


# What wraps a network, and what lies beside it --------------------------------------------------


def test_plain_states_of_torch(through, shuffle):
    _, found, first = through(shuffle.state_dict(), shuffle, SHUFFLE)
    assert (found.renamed, found.left) == ("", ())
    assert (first.n_outputs, first.channels, first.size) == (6, 3, SHUFFLE_SIZE)
    assert first.why == "All tensors fit."


def test_safetensors(through, shuffle, torch):
    from safetensors.torch import save

    plain = {name: one.contiguous() for name, one in shuffle.state_dict().items()}
    data = save(plain, {"format": "pt"})
    file, found, _ = through(data, shuffle, SHUFFLE, name="model.safetensors")
    assert file.format == "safetensors"
    assert (found.renamed, found.left) == ("", ())


def data_parallel(torch, net):
    return torch.nn.DataParallel(net)


def compiled(torch, net):
    return torch.compile(net)


def averaged(torch, net):
    return torch.optim.swa_utils.AveragedModel(net)


WRAPPED = {
    "DataParallel": (data_parallel,),
    "torch.compile": (compiled,),
    "compiled DataParallel": (data_parallel, compiled),
    "DataParallel of compiled": (compiled, data_parallel),
    "averaged": (averaged,),
    "averaged DataParallel": (data_parallel, averaged),
}


@pytest.mark.parametrize("kind", WRAPPED)
def test_wrappers_are_taken_off_and_said(torch, through, shuffle, kind):
    net = shuffle
    for wrap in WRAPPED[kind]:
        net = wrap(torch, net)
    state = net.state_dict()
    file, found, _ = through({"epoch": 3, "model_state": state}, shuffle, SHUFFLE)
    assert "was removed" in found.renamed
    assert file.groups[0].key == "model_state"
    assert file.groups[0].ema == kind.startswith("averaged")
    assert found.left == (("n_averaged",) if kind.startswith("averaged") else ())


def test_states_of_before_torch_0_4_1_have_no_counters(through, shuffle):
    kept = without_counters(shuffle)
    assert len(kept) < len(shuffle.state_dict())
    through(kept, shuffle, SHUFFLE)


@pytest.mark.parametrize(
    "prefix", ["model.", "net.", "backbone.", "network.", "encoder.", "m.net."]
)
def test_prefixes_are_taken_off_and_said(through, shuffle, prefix):
    state = {f"{prefix}{name}": one for name, one in shuffle.state_dict().items()}
    _, found, _ = through({"state_dict": state}, shuffle, SHUFFLE)
    assert found.renamed == "; ".join(
        f"the prefix “{part}.” was removed" for part in prefix[:-1].split(".")
    )


ONE, CLASSES, TABLE = (1,), (6,), (6, 6)
NO_WEIGHTS = {  # as training code registers them, with the words of the step
    "class_weights": (CLASSES, "weights of classes"),
    "loss_fn.pos_weight": (CLASSES, "weights of classes"),
    "criterion.weight": (CLASSES, "states of losses and measures"),
    "temperature": (ONE, "it divides logits"),
    "num_updates": ((), "counters"),
    "decay": ((), "counters"),
    "val_ece.confidences": ((40,), "states of losses and measures"),
    "train_metrics.MulticlassAccuracy.tp": (CLASSES, "states of losses and measures"),
    "test_confmat.confmat": (TABLE, "states of losses and measures"),
}


@pytest.mark.parametrize("prefix", ["", "model.", "module."])
@pytest.mark.parametrize("name", NO_WEIGHTS)
def test_tensors_that_are_no_weights_are_left_out_and_listed(torch, through, shuffle, name, prefix):
    shape, why = NO_WEIGHTS[name]
    state = {f"{prefix}{key}": one for key, one in shuffle.state_dict().items()}
    _, found, _ = through(state | {name: torch.full(shape, 1.5)}, shuffle, SHUFFLE)
    assert found.left == (name,)
    part = name.partition(".")[0]
    assert f"{name} not used ({why}" in found.renamed or f"“{part}.” not used" in found.renamed


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("temperature", (6,)),  # one for each class: it changes answers
        ("class_weights", (6, 6)),
        ("extra.weight", (6,)),
        ("criterion.centers", (6, 20)),
        ("normalize.mean", (3,)),
    ],
)
def test_what_may_change_answers_is_never_left_out(torch, shuffle, parsed, name, shape):
    from core.checkpoints.match import match

    file, _ = parsed(shuffle.state_dict() | {name: torch.ones(shape)})
    found = match(file.groups[0].tensors, SHUFFLE, n_outputs=6, channels=3, size=SHUFFLE_SIZE)
    assert found.unexpected == (name,)


def test_a_temperature_beside_a_network_is_read_as_the_files_own(torch, through, shuffle):
    """The state of gpleiss/temperature_scaling: `model.` and a parameter of one number."""
    state = {f"model.{name}": one for name, one in shuffle.state_dict().items()}
    state["temperature"] = torch.nn.Parameter(torch.ones(1) * 1.5)
    file, found, _ = through(state, shuffle, SHUFFLE)
    assert (file.groups[0].temperature, found.left) == (1.5, ("temperature",))


@pytest.mark.parametrize("number", [0.0, -1.0, float("nan"), 1e9])
def test_no_temperature_is_read_off_what_can_be_none(torch, shuffle, parsed, number):
    file, _ = parsed(shuffle.state_dict() | {"temperature": torch.tensor([number])})
    assert file.groups[0].temperature is None


@pytest.mark.parametrize("namespace", [False, True])
def test_lightning(torch, through, shuffle, namespace):
    """The tree that a Trainer of Lightning 2.6 saves, with a weighted loss and a measure."""
    adam = torch.optim.AdamW(shuffle.parameters())
    steps = torch.optim.lr_scheduler.MultiStepLR(adam, [1, 2])
    settings = {"lr": 0.1, "num_classes": 6}
    state = {f"model.{name}": one for name, one in shuffle.state_dict().items()}
    value = {
        "epoch": 2,
        "global_step": 8,
        "pytorch-lightning_version": "2.6.6",
        "state_dict": collections.OrderedDict(
            state, **{"criterion.weight": torch.ones(6), "val_acc.tp": torch.zeros(6)}
        ),
        "loops": {"fit_loop": {"state_dict": {}, "epoch_progress": {"total": {"ready": 2}}}},
        "callbacks": {
            "ModelCheckpoint{'monitor': 'l'}": {"best_model_score": torch.ones(()), "dirpath": "/x"}
        },
        "optimizer_states": [adam.state_dict()],
        "lr_schedulers": [steps.state_dict()],
        "hparams_name": "kwargs",
        "hyper_parameters": argparse.Namespace(**settings) if namespace else settings,
    }
    file, found, _ = through(value, shuffle, SHUFFLE, name="epoch=1-step=8.ckpt")
    assert found.renamed == "the prefix “model.” was removed; “criterion.”, “val_acc.” not used"
    assert found.left == ("criterion.weight", "val_acc.tp")
    assert file.hints["hyper_parameters.num_classes"] == 6
    assert "/x" not in file.hints.values()
    assert [one.code for one in file.notices] == (["NAMESPACE"] if namespace else [])


def test_a_head_in_a_sequence_is_that_head_and_the_rest_is_said(torch, through, shuffle):
    state = shuffle.state_dict()
    state["fc.1.weight"], state["fc.1.bias"] = state.pop("fc.weight"), state.pop("fc.bias")
    _, found, _ = through(state, shuffle, SHUFFLE)
    assert found.renamed == (
        "fc.1 is fc; what followed that layer, such as a sigmoid, is not applied"
    )


def test_candors_own_checkpoints(torch, through, filled, tmp_path):
    from core.models.build import build
    from core.training import checkpoint

    net = filled(build("small_cnn", n_outputs=10, channels=1, size=(8, 8)), 1, (8, 8))
    sgd = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    sgd.zero_grad()
    net(torch.ones(1, 1, 8, 8)).sum().backward()
    sgd.step()
    state = {"net": net.state_dict(), "optimizer": sgd.state_dict(), "epoch": 4}
    checkpoint.save(tmp_path, 4, state)
    data = (tmp_path / "epoch-00004.pt").read_bytes()
    file, _, first = through(data, net, "small_cnn", name="epoch-00004.pt", sides=(8, 8))
    assert file.groups[0].key == "state.net"
    assert (first.n_outputs, first.channels, first.size) == (10, 1, None)


# timm -------------------------------------------------------------------------------------------


@pytest.fixture
def tiny(torch, filled):
    import timm

    torch.manual_seed(1)
    return filled(timm.create_model("test_resnet", num_classes=4), size=(64, 64))


def test_timms_saver_with_averages_arguments_and_optimizer(torch, through, tiny, tmp_path):
    from timm.utils.checkpoint_saver import CheckpointSaver
    from timm.utils.model_ema import ModelEmaV3

    ema = ModelEmaV3(tiny, decay=0.5)
    adam = torch.optim.AdamW(tiny.parameters(), lr=0.01)
    tiny(torch.ones(1, 3, 64, 64)).sum().backward()
    adam.step()
    ema.update(tiny)
    saver = CheckpointSaver(
        torch.nn.DataParallel(tiny),
        adam,
        args=argparse.Namespace(model="test_resnet", lr=0.01),
        model_ema=ema,
        checkpoint_dir=str(tmp_path),
        recovery_dir=str(tmp_path),
    )
    saver.save_checkpoint(3, metric=0.5)
    data = next(tmp_path.glob("*.pth.tar")).read_bytes()
    name = "timm:test_resnet"
    file, _, first = through(data, ema.module.eval(), name, name="model_best.pth.tar")
    assert [(one.key, one.ema) for one in file.groups] == [
        ("state_dict_ema", True),
        ("state_dict", False),
    ]
    assert "the file names test_resnet (arch)" in first.why
    assert [one.code for one in file.notices] == ["NAMESPACE"]
    through(data, tiny.eval(), name, key="state_dict")


@pytest.mark.parametrize("kind", ["ModelEmaV2", "ModelEmaV3"])
def test_timms_averages_alone(through, tiny, kind):
    import timm.utils

    ema = getattr(timm.utils, kind)(tiny)
    _, found, _ = through({"ema": ema.state_dict()}, tiny, "timm:test_resnet")
    assert found.renamed == "the prefix “module.” was removed"


def test_timms_older_layout_is_renamed_by_its_own_rule(torch, through, filled):
    """ConvNeXt's first files: downsample_layers, dwconv, pwconv, norm, head."""
    import timm

    torch.manual_seed(1)
    net = filled(timm.create_model("test_convnext", num_classes=4), size=(64, 64))
    rules = (
        (r"^stem\.", "downsample_layers.0."),
        (r"\.downsample\.", "."),
        (r"^stages\.(\d)\.(\d)\.", r"downsample_layers.\1.\2."),
        (r"\.blocks\.", "."),
        ("conv_dw", "dwconv"),
        (r"mlp\.fc", "pwconv"),
        (r"^head\.norm\.", "norm."),
        (r"^head\.fc\.", "head."),
    )
    state = {}
    for name, one in net.state_dict().items():
        for pattern, new in rules:
            name = re.sub(pattern, new, name)
        state[name] = one
    assert "downsample_layers.1.0.weight" in state
    assert "stages.0.0.pwconv1.weight" in state
    value = {"model": state, "arch": "timm/test-convnext.r160_in1k"}
    _, found, first = through(value, net, "timm:test_convnext", fits=False)
    assert found.renamed == "timm's own rule for older files"
    assert first.n_outputs == 4


def test_rules_that_change_numbers_are_not_applied(torch, filled):
    """A vision transformer of other images: timm would resample its positions."""
    import timm

    from core.checkpoints.match import match
    from core.readers.weights.named_tensors import TensorInfo

    net = timm.create_model("test_vit", num_classes=4, img_size=128)
    tensors = [TensorInfo(n, tuple(t.shape), "F32") for n, t in net.state_dict().items()]
    found = match(tensors, "timm:test_vit", n_outputs=4, channels=3, size=(160, 160))
    assert [one.partition(" ")[0] for one in found.mismatched] == ["pos_embed"]


@pytest.mark.nightly
def test_rules_that_go_by_the_order_of_tensors_are_not_applied(torch):
    """Next-ViT's rule pairs tensors by their places: of means and variances it sees no names."""
    from core.checkpoints.match import match
    from core.models.build import outline
    from core.readers.weights.named_tensors import TensorInfo

    wanted = {"n_outputs": 4, "channels": 3, "size": (224, 224)}
    state = outline("timm:nextvit_small", **wanted).state_dict()
    old = {name.replace("mlp.fc1", "mlp.conv1"): one for name, one in state.items()}
    names = list(old)
    for i, name in enumerate(names[:-1]):
        if name.endswith("running_mean"):
            names[i : i + 2] = names[i + 1], name
    kinds = {torch.float32: "F32", torch.int64: "I64"}

    def matched(tensors):
        infos = [TensorInfo(n, tuple(t.shape), kinds[t.dtype]) for n, t in tensors.items()]
        return match(infos, "timm:nextvit_small", **wanted)

    for order in (names, list(old)):
        found = matched({name: old[name] for name in order})
        assert (found.ok, found.renamed) == (False, "")
        assert len(found.missing) == len(found.unexpected) == sum("mlp.fc1" in n for n in state)
    assert matched(state).ok


# torchvision ------------------------------------------------------------------------------------


def test_the_training_script_of_torchvision(torch, through, shuffle):
    sgd = torch.optim.SGD(shuffle.parameters(), lr=0.1)
    value = {
        "model": shuffle.state_dict(),
        "optimizer": sgd.state_dict(),
        "lr_scheduler": torch.optim.lr_scheduler.StepLR(sgd, 3).state_dict(),
        "epoch": 89,
        "args": argparse.Namespace(model="shufflenet_v2_x0_5", lr=0.5, device="cuda"),
        "model_ema": torch.optim.swa_utils.AveragedModel(shuffle).state_dict(),
    }
    file, found, first = through(value, shuffle, SHUFFLE, name="model_89.pth")
    assert [one.key for one in file.groups] == ["model_ema", "model"]
    assert found.left == ("n_averaged",)
    assert "the file names shufflenet_v2_x0_5 (args.model)" in first.why


@pytest.mark.slow
@pytest.mark.parametrize(
    "head", [pytest.param("classifier", marks=pytest.mark.nightly), "classifier.0"]
)
def test_chexnet(torch, through, filled, head):
    """DataParallel of a module with a DenseNet of before torch 0.4, its head before a sigmoid."""
    from torchvision import models

    torch.manual_seed(1)
    net = filled(models.densenet121(weights=None, num_classes=14), size=(64, 64))
    state = {}
    for name, one in without_counters(net).items():
        old = re.sub(r"(denselayer\d+\.(?:norm|conv))([12])\.", r"\1.\2.", name)
        state[f"module.densenet121.{old.replace('classifier', head)}"] = one
    assert "module.densenet121.features.denseblock1.denselayer1.norm.1.weight" in state
    value = {"epoch": 1, "arch": "DenseNet121", "state_dict": state, "best_loss": 0.1}
    _, found, first = through(value, net, "torchvision:densenet121", name="model.pth.tar")
    assert "norm.1 is norm1, conv.2 is conv2 (old DenseNet)" in found.renamed
    assert ("such as a sigmoid" in found.renamed) == (head == "classifier.0")
    assert first.n_outputs == 14


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "parts"),
    [pytest.param("inception_v3", "AuxLogits", marks=pytest.mark.nightly), ("googlenet", "aux")],
)
def test_heads_that_only_train_are_left_aside_and_said(torch, through, filled, name, parts):
    from torchvision import models

    torch.manual_seed(1)
    net = models.get_model(name, weights=None, num_classes=5, aux_logits=True, init_weights=False)
    net = filled(net, size=(299, 299))
    _, found, _ = through(net.state_dict(), net, f"torchvision:{name}", sides=(299, 299))
    assert found.renamed == "heads that only serve training (aux) not used"
    assert found.left
    assert all(one.startswith(parts) for one in found.left)


# The released code of the papers ----------------------------------------------------------------

RELEASED = {  # name of the file, our network, and some names of its tensors as released
    "resnet50_cross_entropy_350.model": ("resnet50_cifar", "layer1.0.shortcut.0.weight"),
    "resnet110_mmce_best_200.model": ("resnet110_released", "layer3.25.conv3.weight"),
    "wide_resnet_mmce_350.model": ("wrn_26_10_cifar", "layer1.0.downsample.1.running_var"),
    "densenet121_brier_score_350.model": ("densenet121_cifar", "dense4.15.conv2.weight"),
    "resnet50_ti_focal_loss_100.model": ("resnet50_tiny_imagenet", "layer4.0.downsample.0.weight"),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.nightly] * (not name.startswith("resnet110")))
        for name in RELEASED
    ],
)
def test_networks_of_the_released_code(torch, through, filled, name):
    """focal_calibration and AdaFocal: DataParallel's state, alone in the file."""
    from core.models.build import build

    model, tensor = RELEASED[name]
    torch.manual_seed(1)
    net = filled(build(model, n_outputs=10, channels=3, size=(32, 32)))
    state = net.state_dict()
    if "downsample" in tensor:
        state = {n.replace("shortcut", "downsample"): one for n, one in state.items()}
    assert tensor in state
    assert {"fc.weight", "linear.weight"} & state.keys()
    value = {f"module.{key}": one for key, one in state.items()}
    _, found, first = through(value, net, model, name=name, sides=(32, 32))
    assert (first.n_outputs, first.channels, first.size) == (10, 3, None)
    said = [
        "the prefix “module.” was removed",
        *(["downsample is shortcut"] if "downsample" in tensor else []),
    ]
    assert found.renamed == "; ".join(said)


def test_a_linear_layer_named_so_is_fc(torch, through, filled):
    """As in akamaster's code with shortcuts of option B."""
    from core.models.build import build

    torch.manual_seed(1)
    net = filled(build("resnet20_bearpaw", n_outputs=10, channels=3, size=(32, 32)))
    state = {re.sub("^fc", "module.linear", name): one for name, one in net.state_dict().items()}
    state = {n if n.startswith("module.") else f"module.{n}": one for n, one in state.items()}
    _, found, _ = through({"net": state, "acc": 95.1}, net, "resnet20_bearpaw", sides=(32, 32))
    assert found.renamed == "the prefix “module.” was removed; linear is fc"
