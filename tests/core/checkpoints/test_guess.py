"""Guessing: every network has its own signature or is said to share it; hints only order."""

import json
import subprocess
import sys

import pytest

from core.checkpoints.guess import (
    PATH,
    LayoutIndex,
    NetworkLayout,
    guess,
    lookup,
    shipped,
    signature,
    stated_side,
)
from core.readers.weights.named_tensors import TensorInfo, WeightGroup, WeightsFile

SAMPLE = [
    *("small_cnn", "resnet110_cifar", "timm:test_vit", "timm:test_efficientnet"),
    *("torchvision:shufflenet_v2_x0_5", "torchvision:regnet_y_400mf", "timm:resnet18"),
    *("torchvision:vit_h_14", "timm:volo_d1_224"),  # another size; refused by `build`
]


def file_of(tensors, hints=None, name="x.pt"):
    group = WeightGroup("", ema=False, tensors=tuple(tensors), file="g")
    return WeightsFile(
        name=name, digest="", format="torch", groups=(group,), hints=hints or {}
    ), group


def shapes_of(network, *, n_outputs=9, channels=3):
    from core.models.build import input_size, outline

    size = input_size(network, (32, 32))
    net = outline(network, n_outputs=n_outputs, channels=channels, size=size)
    return {name: tuple(one.shape) for name, one in net.state_dict().items()}


def infos_of(network, **how):
    return [TensorInfo(name, shape, "F32") for name, shape in shapes_of(network, **how).items()]


def models_of(tensors, hints=None, name="x.pt"):
    return [one.model for one in guess(*file_of(tensors, hints, name))]


def test_guessing_loads_without_torch():
    code = "import sys, core.checkpoints.guess; print({'torch', 'timm'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_the_index_names_what_is_installed():
    from importlib.metadata import version

    data = json.loads(PATH.read_text("utf-8"))
    assert (data["timm"], data["torchvision"]) == (version("timm"), version("torchvision"))
    names = shipped().names()
    assert len(names) > 1_300
    assert {"small_cnn", "resnet50_cifar", "timm:resnet50", "torchvision:resnet50"} <= names


@pytest.mark.nightly
def test_the_index_holds_what_the_installed_networks_give(torch):
    from core.checkpoints.signatures import index

    made = json.loads(json.dumps(index(SAMPLE)))
    stored = json.loads(PATH.read_text("utf-8"))
    layouts = {json.dumps([o["outputs"], o["channels"]]): o["networks"] for o in stored["layouts"]}
    found = set()
    for layout in made["layouts"]:
        networks = layouts[json.dumps([layout["outputs"], layout["channels"]])]
        for key, names in layout["networks"].items():
            assert set(names) <= set(networks[key])
            found |= set(names)
    assert found == {*SAMPLE} - {"timm:volo_d1_224"}
    assert "timm:volo_d1_224" not in shipped().names()
    assert made["sizes"].items() <= stored["sizes"].items()
    assert stored["sizes"]["torchvision:vit_h_14"] == [518, 518]
    assert made["outdated"] == stored["outdated"]
    new = {f"timm:{name}" for name in made["outdated"].values()}
    assert set(made["fixed"]) == set(stored["fixed"]) & (found | new)


@pytest.mark.parametrize("channels", [1, 3, 4])
@pytest.mark.parametrize("network", ["small_cnn", "timm:test_vit", "timm:resnet18"])
def test_classes_and_channels_are_read_off(torch, network, channels):
    first = guess(*file_of(infos_of(network, n_outputs=13, channels=channels)))[0]
    assert first.model.rpartition(":")[2] == network.rpartition(":")[2]
    assert (first.n_outputs, first.channels, first.fits) == (13, channels, True)
    size = {"small_cnn": None, "timm:test_vit": (160, 160), "timm:resnet18": (224, 224)}[network]
    assert first.size == size


@pytest.mark.parametrize(
    ("network", "any_size"),
    [
        ("torchvision:resnet18", True),
        ("torchvision:shufflenet_v2_x0_5", True),
        ("timm:test_efficientnet", True),
        ("torchvision:vit_b_32", False),
        ("torchvision:maxvit_t", False),
        ("timm:mixer_s32_224", False),
        ("timm:deit_tiny_patch16_224", False),
    ],
)
def test_networks_take_other_sizes_where_the_index_says_so(torch, network, any_size):
    from core.models.build import input_size, outline

    height, width = size = input_size(network, (32, 32))
    net = outline(network, n_outputs=9, channels=3, size=size).eval()
    images = torch.empty(1, 3, height + 64, width + 64, device="meta")
    assert shipped().takes_any(network) == any_size
    if any_size:
        assert net(images).shape == (1, 9)
    else:
        with pytest.raises((AssertionError, RuntimeError)):
            net(images)


def test_the_side_that_a_file_states_is_read():
    tensors = [TensorInfo("x.weight", (7, 9), "F32")]
    assert stated_side(file_of(tensors, {"args.img_size": 96})[0]) == 96
    assert stated_side(file_of(tensors, {"args.img_size": 96.0, "image_size": 4})[0]) is None
    assert stated_side(file_of(tensors)[0]) is None


def test_networks_that_fit_alike_are_all_given_and_said(torch):
    found = guess(*file_of(infos_of("timm:resnet18")))
    assert {"timm:resnet18", "torchvision:resnet18"} <= {one.model for one in found}
    assert found[0].why == f"All tensors fit. {len(found) - 1} other networks fit too."


def test_hints_and_the_name_of_the_file_order_what_fits_alike(torch):
    tensors = infos_of("timm:resnet18")
    assert models_of(tensors)[0] == "torchvision:resnet18"
    assert models_of(tensors, {"arch": "resnet18", "version": 2})[0] == "timm:resnet18"
    others = [one for one in models_of(tensors) if not one.endswith(":resnet18")]
    assert others
    own = others[0].rpartition(":")[2]
    assert models_of(tensors, {"args.model": own})[0] == others[0]
    assert models_of(tensors, name=f"{own}-5c106cde.pth")[0] == others[0]
    assert models_of(tensors, {"args.model": "resnet18"}, f"{own}.pth")[0] == "torchvision:resnet18"


def test_a_hint_does_not_outweigh_the_tensors(torch):
    tensors = infos_of("torchvision:shufflenet_v2_x0_5")
    assert models_of(tensors, {"arch": "resnet18"}) == ["torchvision:shufflenet_v2_x0_5"]


def test_where_nothing_fits_hints_stand_in_and_say_so():
    tensors = [TensorInfo("x.weight", (64, 1, 3, 3), "F32"), TensorInfo("y.weight", (7, 9), "F32")]
    found = guess(*file_of(tensors, {"hyper_parameters.model_name": "timm/resnet18.a1_in1k"}))
    assert [one.model for one in found] == ["torchvision:resnet18", "timm:resnet18"]
    assert {(one.n_outputs, one.channels, one.fits) for one in found} == {(7, 1, False)}
    assert found[0].why == (
        "The file names timm/resnet18.a1_in1k (hyper_parameters.model_name), but the tensors have "
        "other names or shapes."
    )
    counted = {"arch": "resnet18", "args.num_classes": 12}
    assert guess(*file_of(tensors, counted))[0].n_outputs == 12
    assert guess(*file_of(tensors, {"arch": "my_own_net"})) == ()
    assert guess(*file_of(tensors)) == ()


def test_outdated_names_of_timm_are_known():
    tensors = [TensorInfo("x.weight", (7, 9), "F32")]
    assert models_of(tensors, {"arch": "convnext_tiny_in22ft1k"})[:2] == [
        "torchvision:convnext_tiny",
        "timm:convnext_tiny",
    ]
    assert models_of(tensors, {"arch": "vit_base_patch16_224_in21k"}) == [
        "timm:vit_base_patch16_224"
    ]


@pytest.mark.parametrize(
    ("change", "fits"),
    [
        (lambda s: s, True),
        (lambda s: {**s, "n.num_batches_tracked": ()}, True),  # may be there or not
        (lambda s: {**s, "fc.weight": (5, 8), "fc.bias": (5,)}, True),
        (lambda s: {**s, "conv.weight": (8, 1, 3, 3)}, True),
        (lambda s: {**s, "fc.weight": (5, 8)}, False),  # weight and bias disagree
        (lambda s: {**s, "fc.weight": (3,)}, False),
        (lambda s: {**s, "fc.weight": (), "fc.bias": ()}, False),
        (lambda s: {**s, "conv.weight": (8, 3, 5, 5)}, False),
        (lambda s: {**s, "conv.weight": (8,)}, False),
        (lambda s: {**s, "more": (1,)}, False),
        (lambda s: {k: v for k, v in s.items() if k != "n.weight"}, False),
        (lambda s: {**s, "n.weight": (9,)}, False),
    ],
)
def test_only_classes_and_channels_are_open(change, fits):
    shapes = {"conv.weight": (8, 3, 3, 3), "n.weight": (8,), "fc.weight": (3, 8), "fc.bias": (3,)}
    outputs, channels = (("fc.weight", 0), ("fc.bias", 0)), (("conv.weight", 1),)
    layout = NetworkLayout(outputs, channels, {signature(shapes, (*outputs, *channels)): ("own",)})

    found = list(lookup(change(shapes), LayoutIndex((layout,), {}, {})))
    assert [one.network for one in found] == (["own"] if fits else [])
