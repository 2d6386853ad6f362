"""Networks of timm and torchvision: names, sizes, channels, logits."""

import pytest

from core.errors import UsageError


@pytest.fixture(scope="module")
def made(torch):
    """Makes a network of seven outputs: made("timm:test_vit", channels=1, seed=3)."""
    from core.models.build import build, input_size

    def make(name, channels=3, seed=0):
        torch.manual_seed(seed)
        size = input_size(name, (32, 32))
        return build(name, n_outputs=7, channels=channels, size=size), size

    return make


# One of each way to come by a head, a size or a first convolution; small ones where there are.
QUICK = ["timm:test_vit", "torchvision:shufflenet_v2_x0_5"]
SLOW = [
    *("timm:test_efficientnet", "timm:test_nfnet.r160_in1k", "timm:test_mambaout", "timm:dla46x_c"),
    *("timm:levit_256d", "timm:resnetv2_18"),
    *("torchvision:squeezenet1_1", "torchvision:googlenet", "torchvision:inception_v3"),
    *("torchvision:resnet18", "torchvision:efficientnet_b1", "torchvision:densenet121"),
]
NAMES = [*QUICK, *(pytest.param(name, marks=pytest.mark.nightly) for name in SLOW)]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("channels", [1, 3])
def test_one_last_layer_makes_the_logits(torch, made, name, channels):
    from core.models.build import last_layer

    model, size = made(name, channels)
    layer, seen = last_layer(model), []
    layer.register_forward_hook(lambda _layer, _inputs, output: seen.append(output))
    batch = torch.randn(2, channels, *size, generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        for mode in (False, True):
            logits = model.train(mode)(batch)
            assert logits.shape == (2, 7)
            assert logits.dtype == torch.float32
            assert torch.isfinite(logits).all()
    assert len(seen) == 2
    assert layer.weight.shape[0] == 7
    if name.endswith("squeezenet1_1"):  # its logits are means of ReLU of the layer's maps
        torch.testing.assert_close(seen[1].relu().mean((2, 3)), logits)
    else:
        assert torch.equal(seen[1].flatten(1), logits)


@pytest.mark.parametrize("name", QUICK)
@pytest.mark.parametrize("channels", [2, 3])
def test_weights_are_those_of_the_seed_and_all_are_trained(torch, made, name, channels):
    (first, size), (again, _), (other, _) = (made(name, channels, seed) for seed in (5, 5, 6))
    weights = [dict(model.named_parameters()) for model in (first, again, other)]
    assert all(torch.equal(one, weights[1][key]) for key, one in weights[0].items())
    assert any(not torch.equal(one, weights[2][key]) for key, one in weights[0].items())
    batch = torch.randn(3, channels, *size, generator=torch.Generator().manual_seed(1))
    torch.nn.functional.cross_entropy(first(batch), torch.tensor([0, 1, 6])).backward()
    dead = [key for key, value in weights[0].items() if value.grad is None]
    assert dead == []


def test_new_first_convolution_keeps_its_shape_but_for_the_channels(torch, made):
    """Of torchvision, by the shape of its weights: 24 maps by 3 x 3, every second point."""
    first = made("torchvision:shufflenet_v2_x0_5", channels=5)[0].conv1[0]
    assert first.weight.shape == (24, 5, 3, 3)
    assert first.in_channels == 5
    assert first.stride == (2, 2)
    scale = (first.weight.detach().abs().max() * (5 * 3 * 3) ** 0.5).item()
    assert 0.9 < scale <= 1.0  # PyTorch's own: uniform up to 1 / sqrt(fan in)


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("timm:test_vit", (160, 160)),
        ("timm:resnet50", (224, 224)),
        ("timm:convnext_base.fb_in22k_ft_in1k_384", (384, 384)),
        ("torchvision:resnet50", (224, 224)),
        ("torchvision:inception_v3", (299, 299)),
        ("torchvision:vit_h_14", (518, 518)),
    ],
)
def test_sizes_are_the_networks_own(torch, name, size):
    from core.models.build import build, input_size

    assert input_size(name, (32, 32)) == size
    assert input_size(name, (1000, 4)) == size
    with pytest.raises(UsageError, match=r"Images of \(32, 32\) for .*; resize them to"):
        build(name, n_outputs=7, channels=3, size=(32, 32))


@pytest.mark.nightly
def test_network_of_another_size_than_its_builders_takes_its_own(torch):
    from core.models.public import torchvision_model, torchvision_size

    with torch.device("meta"):
        model = torchvision_model("vit_h_14", 3, 7)
        assert model(torch.empty(1, 3, *torchvision_size("vit_h_14"))).shape == (1, 7)


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("timm:resnet51", "use timm:resnet"),
        ("timm:convnext_base.fb_in22k_ft_in1k_385", "timm:convnext_base.fb_in22k_ft_in1k_384"),
        ("timm:resnet50.nothing_like_it_0", "use "),
        ("timm:q", r"use a name that timm.list_models\(\) gives"),
        ("torchvision:resnet51", "torchvision:resnet50"),
        ("torchvision:raft_large", "use "),  # made for optical flow
        ("torchvision:q", r"use a name that torchvision.list_models\(\) gives"),
    ],
)
def test_unknown_names_are_refused_with_near_ones(torch, name, remedy):
    from core.models.build import build, input_size

    for act in (
        lambda: input_size(name, (32, 32)),
        lambda: build(name, n_outputs=7, channels=3, size=(224, 224)),
    ):
        with pytest.raises(UsageError, match=f"SETTING: Model '{name}' is unknown; .*{remedy}"):
            act()


@pytest.mark.parametrize(
    "name",
    ["deit_tiny_distilled_patch16_224", "repvit_m0_9", "volo_d1_224", "gemma4_vit_167m_enc"],
)
def test_networks_without_one_head_are_refused(torch, name):
    """Averaged heads, one that is only used in training, and none at all."""
    from core.models.build import build, input_size

    with pytest.raises(UsageError, match=f"timm:{name} do not come from one last layer"):
        build(f"timm:{name}", n_outputs=7, channels=3, size=input_size(f"timm:{name}", (8, 8)))


def test_pretrained_weights_are_those_of_the_file_but_for_the_last_layer(
    torch, tmp_path, monkeypatch
):
    from torchvision import models

    from core.models.public import torchvision_model

    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    there = models.get_model("shufflenet_v2_x0_5", weights=None)
    url = models.get_model_weights("shufflenet_v2_x0_5").DEFAULT.url
    (tmp_path / "hub" / "checkpoints").mkdir(parents=True)
    torch.save(there.state_dict(), tmp_path / "hub" / "checkpoints" / url.rpartition("/")[2])
    net = torchvision_model("shufflenet_v2_x0_5", 3, 7, pretrained=True)
    own, given = net.state_dict(), there.state_dict()
    assert own["fc.weight"].shape == (7, 1024)
    for name in given.keys() - {"fc.weight", "fc.bias"}:
        assert torch.equal(own[name], given[name])
