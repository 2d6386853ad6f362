"""Networks of public code: names, counts, what they compute and are shown, in their own layouts."""

import re

import pytest

from core.checkpoints.guess import guess
from core.inference.evaluate import settings_of
from core.models.catalogue import PUBLIC
from core.readers.weights.named_tensors import TensorInfo, WeightGroup, WeightsFile

IMAGENET = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
CIFAR10 = ((0.4914, 0.4822, 0.4465), (0.2023, 0.1994, 0.2010))
OF_DATA = ((), ())
DENSENET = 7_978_856 - 2 * 64 * 49 - (1000 - 18) * 1025  # torchvision's, of greys and 18 outputs

# Parameters with ten classes as the repositories or papers print them, or by hand; what is shown.
COUNTS = {
    "resnet20_akamaster": (269_722, IMAGENET),  # README: 0.27 M, and so on
    "resnet32_akamaster": (464_154, IMAGENET),
    "resnet44_akamaster": (658_586, IMAGENET),
    "resnet56_akamaster": (853_018, IMAGENET),
    "resnet110_akamaster": (1_727_962, IMAGENET),
    "resnet20_bearpaw": (269_722 + 16 * 32 + 64 + 32 * 64 + 128, CIFAR10),  # two projections
    "resnet56_chenyaofo": (853_018 + 16 * 32 + 64 + 32 * 64 + 128, CIFAR10),
    "resnet18_cifar": (11_173_962, OF_DATA),
    "resnet18_kuangliu": (11_173_962, CIFAR10),
    "resnet34_kuangliu": (21_282_122, CIFAR10),
    "resnet50_kuangliu": (23_520_842, CIFAR10),
    "wrn_28_10_cifar": (36_479_194, OF_DATA),
    "wrn_40_2_cifar": (2_243_546, OF_DATA),
    "vgg16_bn_cifar": (14_728_266, CIFAR10),
    "vgg16_bn_chengyangfu": (14_728_266 + 2 * 512 * 513, IMAGENET),
}


@pytest.mark.parametrize("name", COUNTS)
def test_counts_and_moments_are_those_of_the_code(torch, name):
    from core.models.build import outline

    net = outline(name, n_outputs=10, channels=3, size=(32, 32))
    count, moments = COUNTS[name]
    assert sum(one.numel() for one in net.parameters()) == count
    shown = settings_of(name, (32, 32))
    assert (shown.mean, shown.std) == moments
    assert shown.size == (32, 32)


def test_networks_say_how_large_they_are(torch):
    from core.models.build import outline

    for name, entry in PUBLIC.items():
        net = outline(name, n_outputs=10, channels=3, size=(32, 32))
        millions = sum(one.numel() for one in net.parameters()) / 1e6
        assert entry.millions == round(millions, 1 if entry.millions >= 1 else 2), name


def test_films_are_shown_from_minus_1024_to_1024_or_from_0_to_1(torch):
    xrv = settings_of("densenet121_xrv", None, 1)
    assert (xrv.size, xrv.cover) == ((224, 224), True)
    ends = [(pixel - xrv.mean[0]) / xrv.std[0] for pixel in (0, 1)]
    assert ends == [-1024, 1024]
    monai = settings_of("densenet121_monai", (64, 64), 3)
    assert (monai.size, monai.mean, monai.std) == ((64, 64), (0.0,) * 3, (1.0,) * 3)


# Names as each repository has them: for one of our networks, where they stand in its files.
LAYOUTS = {
    "resnet20_akamaster": (("^", "module."), {"module.layer2.0.bn1.weight", "module.linear.bias"}),
    "resnet110_bearpaw": (
        (r"\.shortcut\.", ".downsample."),
        {"layer1.0.downsample.0.weight", "layer3.17.conv3.weight", "fc.weight"},
    ),
    "resnet56_chenyaofo": (
        (r"\.shortcut\.", ".downsample."),
        {"layer2.0.downsample.1.running_var", "layer3.8.conv2.weight"},
    ),
    "resnet18_cifar": (("$", ""), {"layer2.0.shortcut.0.weight", "fc.weight"}),
    "resnet34_kuangliu": (
        ("^", "module."),
        {"module.layer2.0.shortcut.0.weight", "module.linear.weight"},
    ),
    "wrn_28_10_cifar": (
        ("$", ""),
        {"block1.layer.0.convShortcut.weight", "block3.layer.3.bn2.bias", "bn1.weight", "fc.bias"},
    ),
    "wrn_28_10_bmsookim": (
        ("$", ""),
        {"layer1.0.shortcut.0.bias", "layer3.3.conv2.bias", "conv1.bias", "linear.weight"},
    ),
    "vgg16_bn_cifar": (("$", ""), {"features.40.weight", "features.41.bias", "classifier.weight"}),
    "vgg16_bn_chengyangfu": (
        (r"^features\.", "features.module."),
        {"features.module.40.weight", "classifier.1.weight", "classifier.6.bias"},
    ),
    "densenet121_xrv": (
        ("$", ""),
        {"features.denseblock4.denselayer16.conv2.weight", "op_threshs", "classifier.bias"},
    ),
    "densenet121_monai": (
        (r"(denselayer\d+)\.|^classifier\.", lambda m: f"{m[1]}.layers." if m[1] else MONAI_HEAD),
        {"features.denseblock1.denselayer1.layers.norm1.weight", "class_layers.out.bias"},
    ),
}
MONAI_HEAD = "class_layers.out."


@pytest.mark.parametrize("name", LAYOUTS)
def test_files_in_the_layout_of_the_code_are_told_and_fit(torch, name):
    from core.checkpoints.match import match
    from core.models.build import outline

    (pattern, new), some = LAYOUTS[name]
    n_outputs, channels = (18, 1) if name == "densenet121_xrv" else (10, 3)
    net = outline(name, n_outputs=n_outputs, channels=channels, size=(32, 32))
    shapes = {re.sub(pattern, new, key): tuple(one.shape) for key, one in net.state_dict().items()}
    shapes |= {"op_threshs": (18,)} if name == "densenet121_xrv" else {}
    assert some <= shapes.keys()
    tensors = tuple(TensorInfo(key, shape, "F32") for key, shape in shapes.items()
                    if not key.endswith("num_batches_tracked"))  # fmt: skip
    group = WeightGroup("state_dict", ema=False, tensors=tensors, file="g")
    file = WeightsFile(name="model.th", digest="", format="torch", groups=(group,), hints={})
    first = guess(file, group)[0]
    assert (first.model, first.n_outputs, first.channels, first.fits) == (
        name, n_outputs, channels, True,
    )  # fmt: skip
    found = match(tensors, name, n_outputs=n_outputs, channels=channels, size=(32, 32))
    assert found.ok
    assert found.left == (("op_threshs",) if name == "densenet121_xrv" else ())
    assert ("op_threshs not used" in found.renamed) == (name == "densenet121_xrv")


def test_a_densenet_for_colours_is_not_taken_for_one_of_films(torch):
    from core.models.build import outline

    net = outline("torchvision:densenet121", n_outputs=10, channels=3, size=(224, 224))
    tensors = tuple(
        TensorInfo(key, tuple(one.shape), "F32") for key, one in net.state_dict().items()
    )
    group = WeightGroup("", ema=False, tensors=tensors, file="g")
    file = WeightsFile(name="x.pt", digest="", format="torch", groups=(group,), hints={})
    assert {one.model for one in guess(file, group)} == {
        "torchvision:densenet121",
        "timm:densenet121",
    }


# What they compute, written out again ------------------------------------------------------------


class Written:
    """Layers of a network in evaluation, by the names of its weights."""

    def __init__(self, torch, net):
        self.f, self.w = torch.nn.functional, net.state_dict()
        self.torch = torch

    def conv(self, x, path, stride=1):
        kernel = self.w[f"{path}.weight"]
        bias = self.w.get(f"{path}.bias")
        return self.f.conv2d(x, kernel, bias, stride, kernel.shape[-1] // 2)

    def norm(self, x, path):
        mean, var, scale, shift = (
            self.w[f"{path}.{kind}"][:, None, None]
            for kind in ("running_mean", "running_var", "weight", "bias")
        )
        return (x - mean) / (var + 1e-5).sqrt() * scale + shift

    def linear(self, x, path):
        return x @ self.w[f"{path}.weight"].T + self.w[f"{path}.bias"]


def akamaster(net, x):
    x = net.norm(net.conv(x, "conv1"), "bn1").relu()
    for stage in (1, 2, 3):
        for block in range(3):
            path, stride = f"layer{stage}.{block}", 2 if stage > 1 and block == 0 else 1
            y = net.norm(net.conv(x, f"{path}.conv1", stride), f"{path}.bn1").relu()
            y = net.norm(net.conv(y, f"{path}.conv2"), f"{path}.bn2")
            if stride == 2:
                wider = net.torch.zeros_like(y)
                quarter = y.shape[1] // 4
                wider[:, quarter : 3 * quarter] = x[:, :, ::2, ::2]
                x = wider
            x = (y + x).relu()
    return net.linear(x.mean((2, 3)), "linear")


def xternalz(net, x):
    x = net.conv(x, "conv1")
    for stage in (1, 2, 3):
        for block in range(6):
            path, stride = f"block{stage}.layer.{block}", 2 if stage > 1 and block == 0 else 1
            y = net.norm(x, f"{path}.bn1").relu()
            if block == 0:
                x = net.conv(y, f"{path}.convShortcut", stride)
            y = net.norm(net.conv(y, f"{path}.conv1", stride), f"{path}.bn2").relu()
            x = x + net.conv(y, f"{path}.conv2")
    return net.linear(net.norm(x, "bn1").relu().mean((2, 3)), "fc")


def bmsookim(net, x):
    x = net.conv(x, "conv1")
    for stage in (1, 2, 3):
        for block in range(1):
            path, stride = f"layer{stage}.{block}", 2 if stage > 1 and block == 0 else 1
            y = net.conv(net.norm(x, f"{path}.bn1").relu(), f"{path}.conv1")
            y = net.conv(net.norm(y, f"{path}.bn2").relu(), f"{path}.conv2", stride)
            x = y + net.conv(x, f"{path}.shortcut.0", stride)
    return net.linear(net.norm(x, "bn1").relu().mean((2, 3)), "linear")


def chengyangfu(net, x):
    place = 0
    for count in (1, 1, 2, 2, 2):
        for _ in range(count):
            x = net.norm(net.conv(x, f"features.{place}"), f"features.{place + 1}").relu()
            place += 3
        x, place = net.f.max_pool2d(x, 2), place + 1
    x = net.linear(x.flatten(1), "classifier.1").relu()
    return net.linear(net.linear(x, "classifier.4").relu(), "classifier.6")


def huyvnphan(net, x):
    x = net.norm(net.conv(x, "conv1"), "bn1").relu()
    x = net.f.max_pool2d(x, 3, 2, 1)
    for stage in (1, 2, 3, 4):
        for block in range(2):
            path, stride = f"layer{stage}.{block}", 2 if stage > 1 and block == 0 else 1
            y = net.norm(net.conv(x, f"{path}.conv1", stride), f"{path}.bn1").relu()
            y = net.norm(net.conv(y, f"{path}.conv2"), f"{path}.bn2")
            if stride == 2:
                x = net.norm(net.conv(x, f"{path}.shortcut.0", 2), f"{path}.shortcut.1")
            x = (y + x).relu()
    return net.linear(x.mean((2, 3)), "fc")


@pytest.mark.parametrize("written", [akamaster, xternalz, bmsookim, chengyangfu, huyvnphan])
def test_networks_are_their_sums(torch, filled, written):
    from core.models.build import build
    from core.models.public import wide_resnet

    torch.manual_seed(1)
    names = {akamaster: "resnet20_akamaster", xternalz: "wrn_40_2_cifar",
             chengyangfu: "vgg11_bn_chengyangfu", huyvnphan: "resnet18_huyvnphan"}  # fmt: skip
    net = filled(
        wide_resnet(10, 2, 3, 10, biased=True)
        if written is bmsookim
        else build(names[written], n_outputs=10, channels=3, size=(32, 32))
    )
    images = torch.randn(3, 3, 32, 32)
    with torch.no_grad():
        wanted = written(Written(torch, net), images)
        torch.testing.assert_close(net(images), wanted, rtol=1e-4, atol=1e-5)
    assert (wanted[0] - wanted[1]).abs().max() > 1e-4
