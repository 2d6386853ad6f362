"""The CIFAR forms against published counts, torchvision's ResNet-50 and plain second writings."""

import pytest

from core.models.catalogue import MODELS

STEMS = 3 * 64 * 7 * 7 - 3 * 64 * 3 * 3  # parameters of torchvision's stem more than of ours
LARGE = ("resnet50_cifar", "wrn_26_10_cifar", "resnet110_released", "resnet50_tiny_imagenet")
FORMS = [
    pytest.param(name, marks=[pytest.mark.nightly] if name in LARGE else [])
    for name in MODELS
    if name != "small_cnn"
]


@pytest.fixture(scope="module")
def made(torch):
    """Makes a network of ten outputs in evaluation, with statistics that are not 0 and 1."""
    from core.models.build import build

    def make(name):
        torch.manual_seed(4)
        model = build(name, n_outputs=10, channels=3, size=(32, 32))
        for layer in model.modules():
            if isinstance(layer, torch.nn.BatchNorm2d):
                torch.nn.init.uniform_(layer.running_var, 0.5, 1.5)
                torch.nn.init.uniform_(layer.weight, 0.5, 1.5)
                torch.nn.init.normal_(layer.running_mean, std=0.1)
                torch.nn.init.normal_(layer.bias, std=0.1)
        return model.eval()

    return make


@pytest.fixture
def count(torch):
    """Counts the parameters of a network that takes no memory."""
    from core.models.build import build

    def counted(name):
        with torch.device("meta"):
            model = build(name, n_outputs=10, channels=3, size=(32, 32))
        return sum(parameter.numel() for parameter in model.parameters())

    return counted


@pytest.mark.parametrize("name", list(MODELS))
def test_catalogue_says_how_large_networks_are(count, name):
    said = MODELS[name].millions
    assert said == round(count(name) / 1e6, 1 if said >= 1 else 2)


@pytest.mark.parametrize(
    ("name", "millions"),
    [("resnet110_cifar", 1.7), ("wrn_26_10_cifar", 36.5)],
)
def test_counts_are_those_of_the_papers_tables(count, name, millions):
    """He et al. 2016, table 6; Zagoruyko and Komodakis 2016, table 5 (there WRN-28-10)."""
    assert round(count(name) / 1e6, 1) == millions


def test_counts_are_torchvisions_but_for_stem_and_classes(count):
    """Its published tables; its DenseNet has a norm of 64 channels after the stem too."""
    resnet, densenet = 25_557_032, 7_978_856
    assert count("resnet50_cifar") == resnet - STEMS - (1000 - 10) * (2048 + 1)
    assert count("densenet121_cifar") == densenet - STEMS - 128 - (1000 - 10) * (1024 + 1)


@pytest.mark.parametrize(
    ("name", "shapes"),
    [
        ("resnet50_cifar", [(256, 32), (512, 16), (1024, 8), (2048, 4)]),
        ("resnet110_cifar", [(16, 32), (32, 16), (64, 8)]),
        ("wrn_26_10_cifar", [(160, 32), (320, 16), (640, 8)]),
        ("densenet121_cifar", [(256, 32), (512, 16), (1024, 8), (1024, 4)]),
    ],
)
def test_stages_have_the_widths_and_sizes_of_the_papers_tables(torch, made, name, shapes):
    model, seen = made(name), []
    for path, stage in model.named_children():
        if path.startswith(("layer", "dense")):
            stage.register_forward_hook(lambda _stage, _inputs, maps: seen.append(maps.shape))
    with torch.no_grad():
        model(torch.randn(1, 3, 32, 32))
    assert seen == [(1, width, side, side) for width, side in shapes]


@pytest.mark.parametrize(
    ("name", "convolutions"),
    [
        ("resnet50_cifar", 50 - 1 + 4),  # all layers but the linear one; four projections
        ("resnet110_cifar", 110 - 1),
        ("resnet110_released", 3 * (3 + 4 + 26 + 3) + 1 + 4),
        ("resnet50_tiny_imagenet", 50 - 1 + 4),
        ("wrn_26_10_cifar", 26 - 1 + 3),
        ("densenet121_cifar", 121 - 1),
    ],
)
def test_layers_are_as_many_as_the_names_say(torch, made, name, convolutions):
    layers = [one for one in made(name).modules() if isinstance(one, torch.nn.Conv2d)]
    assert len(layers) == convolutions


@pytest.mark.parametrize("name", FORMS)
def test_convolutions_start_he_normal(torch, name):
    """Over all weights of a network: mean 0, variance 2 / (outputs x area), normal kurtosis."""
    from core.models.build import build

    torch.manual_seed(11)
    model = build(name, n_outputs=10, channels=3, size=(32, 32))
    layers = [one for one in model.modules() if isinstance(one, torch.nn.Conv2d)]
    z = torch.cat(
        [
            one.weight.flatten() * (one.out_channels * one.kernel_size[0] ** 2 / 2) ** 0.5
            for one in layers
        ]
    ).double()
    five = 5 / len(z) ** 0.5  # standard errors, each of a standard normal
    assert abs(z.mean()) < five
    assert abs((z**2).mean() - 1) < five * 2**0.5
    assert abs((z**4).mean() - 3) < five * 96**0.5
    assert all(one.bias is None for one in layers)


@pytest.mark.nightly
def test_tiny_imagenets_form_sees_the_quarters_of_each_map(torch, made):
    """Of 64 x 64 images, as released: a map of 8 x 8 becomes 2 x 2, channel by channel."""
    model, seen = made("resnet50_tiny_imagenet"), []
    model.layer4.register_forward_hook(lambda _stage, _inputs, maps: seen.append(maps))
    model.fc.register_forward_pre_hook(lambda _layer, inputs: seen.append(inputs[0]))
    with torch.no_grad():
        model(torch.randn(2, 3, 64, 64))
    maps, features = seen
    assert maps.shape == (2, 2048, 8, 8)
    wanted = maps.reshape(2, 2048, 2, 4, 2, 4).mean((3, 5)).flatten(1)
    torch.testing.assert_close(features, wanted)


# Second implementations -------------------------------------------------------------------------


@pytest.mark.nightly
def test_resnet50_is_torchvisions_with_another_stem(torch, made):
    from torchvision.models import resnet50

    ours, theirs = made("resnet50_cifar"), resnet50(num_classes=10)
    theirs.conv1 = torch.nn.Conv2d(3, 64, 3, padding=1, bias=False)
    theirs.maxpool = torch.nn.Identity()
    weights = {
        key.replace("shortcut", "downsample"): value for key, value in ours.state_dict().items()
    }
    theirs.load_state_dict(weights, strict=True)
    images = torch.randn(2, 3, 32, 32)
    with torch.no_grad():
        torch.testing.assert_close(ours(images), theirs.eval()(images), rtol=1e-4, atol=1e-4)


class FromWeights:
    """The layers of a network in evaluation, written out; by the names of its weights."""

    def __init__(self, torch, weights):
        self.torch = torch
        self.weights = weights

    def convolved(self, x, path, stride=1):
        kernel = self.weights[f"{path}.weight"]
        side = kernel.shape[-1]
        return self.torch.nn.functional.conv2d(x, kernel, stride=stride, padding=side // 2)

    def normed(self, x, path):
        mean, var, scale, shift = (
            self.weights[f"{path}.{kind}"][:, None, None]
            for kind in ("running_mean", "running_var", "weight", "bias")
        )
        return (x - mean) / (var + 1e-5).sqrt() * scale + shift

    def shortcut(self, x, path, like):
        if f"{path}.0.weight" in self.weights:
            x = self.convolved(x, f"{path}.0", x.shape[-1] // like.shape[-1])
            return self.normed(x, f"{path}.1")
        if x.shape == like.shape:
            return x
        zeros = self.torch.zeros_like(like)
        zeros[:, : x.shape[1]] = x[:, :, ::2, ::2]
        return zeros

    def logits(self, x, path):
        return x.mean((2, 3)) @ self.weights[f"{path}.weight"].T + self.weights[f"{path}.bias"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["resnet110_cifar", pytest.param("wrn_26_10_cifar", marks=pytest.mark.nightly)]
)
def test_basic_networks_are_their_sums(torch, made, name):
    """Convolution, norm, ReLU, convolution, norm, plus the shortcut, ReLU."""
    model, images = made(name), torch.randn(2, 3, 16, 16)
    net = FromWeights(torch, model.state_dict())
    x = net.normed(net.convolved(images, "conv1"), "bn1").relu()
    for stage in (1, 2, 3):
        for index in range(18 if name == "resnet110_cifar" else 4):
            path, stride = f"layer{stage}.{index}", 2 if stage > 1 and index == 0 else 1
            y = net.normed(net.convolved(x, f"{path}.conv1", stride), f"{path}.bn1").relu()
            y = net.normed(net.convolved(y, f"{path}.conv2"), f"{path}.bn2")
            x = (y + net.shortcut(x, f"{path}.shortcut", y)).relu()
    with torch.no_grad():
        torch.testing.assert_close(model(images), net.logits(x, "fc"), rtol=1e-4, atol=1e-4)


@pytest.mark.nightly
def test_densenet_is_its_concatenations(torch, made):
    """Norm, ReLU, 1x1, norm, ReLU, 3x3, before what came in; between stages 1x1 and means."""
    model, images = made("densenet121_cifar"), torch.randn(2, 3, 16, 16)
    net = FromWeights(torch, model.state_dict())
    x = net.convolved(images, "conv1")
    for stage, depth in enumerate((6, 12, 24, 16), 1):
        for index in range(depth):
            path = f"dense{stage}.{index}"
            y = net.convolved(net.normed(x, f"{path}.bn1").relu(), f"{path}.conv1")
            y = net.convolved(net.normed(y, f"{path}.bn2").relu(), f"{path}.conv2")
            x = torch.cat([y, x], 1)
        if stage < 4:
            x = net.convolved(net.normed(x, f"trans{stage}.bn").relu(), f"trans{stage}.conv")
            x = (x[..., ::2, ::2] + x[..., 1::2, ::2] + x[..., ::2, 1::2] + x[..., 1::2, 1::2]) / 4
    wanted = net.logits(net.normed(x, "bn").relu(), "linear")
    with torch.no_grad():
        torch.testing.assert_close(model(images), wanted, rtol=1e-4, atol=1e-4)


def test_names_of_layers_are_those_of_the_released_code(made):
    """So that a published checkpoint of Mukhoti et al. 2020 fits: ResNet-50 and DenseNet-121."""
    assert made("resnet50_cifar").state_dict().keys() >= {
        *("conv1.weight", "bn1.running_var", "layer1.0.shortcut.0.weight", "fc.bias"),
        *("layer1.0.shortcut.1.bias", "layer4.2.conv3.weight", "layer3.5.bn3.num_batches_tracked"),
    }
    assert made("densenet121_cifar").state_dict().keys() >= {
        *("conv1.weight", "dense1.0.bn1.weight", "dense4.15.conv2.weight", "trans3.conv.weight"),
        *("trans1.bn.running_mean", "bn.bias", "linear.weight"),
    }
