"""Maps on the logit: equal to grad-cam's own, hooks gone, traps of in-place layers avoided."""

import numpy as np
import pytest
import torch
from pytorch_grad_cam import EigenCAM, GradCAM, GradCAMPlusPlus, HiResCAM, ScoreCAM, XGradCAM
from pytorch_grad_cam.utils.image import scale_cam_image
from pytorch_grad_cam.utils.model_targets import ClassifierOutputTarget
from torch import nn

from core.errors import Refused, UsageError
from core.models.build import build
from core.xray.gradcam import film_saliency, layers
from core.xray.heat import METHODS

LIBRARY = {
    "gradcam": GradCAM,
    "gradcam++": GradCAMPlusPlus,
    "hirescam": HiResCAM,
    "xgradcam": XGradCAM,
    "eigencam": EigenCAM,
    "scorecam": ScoreCAM,
}


def network(name, size, n_outputs=5, channels=3):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        return build(name, n_outputs=n_outputs, channels=channels, size=(size, size)).eval()


@pytest.fixture(scope="module")
def small():
    return network("densenet_small", 64, channels=1)


def films(n=2, channels=1, side=64):
    return torch.randn(n, channels, side, side, generator=torch.Generator().manual_seed(4))


def out_of_place(model):
    """grad-cam's hooks see what later layers wrote into a map, so these must not write."""
    for module in model.modules():
        if isinstance(module, nn.ReLU):
            module.inplace = False
    return model


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
@pytest.mark.parametrize("method", list(METHODS))
def test_maps_are_those_of_the_library_after_its_scaling(method):
    model = out_of_place(network("densenet_small", 64, channels=1))
    film = films(1)
    layer = layers(model, film)[-1]
    module = dict(model.named_modules())[layer]
    with LIBRARY[method](model=model, target_layers=[module]) as cam:
        theirs = cam(input_tensor=film, targets=[ClassifierOutputTarget(3)])[0]
    ours = film_saliency(model, film, [(0, 3)], method=method, layer=layer).maps
    scaled = scale_cam_image(scale_cam_image(ours, (64, 64)))  # the library scales twice
    np.testing.assert_allclose(scaled[0], theirs, atol=2e-5)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["gradcam", pytest.param("hirescam", marks=pytest.mark.nightly)])
def test_torchvisions_densenet_is_taken_after_its_last_rectifier(method):
    """As class activation maps of Zhou et al. 2016: classifier weights times rectified maps."""
    model = network("torchvision:densenet121", 224)
    film = films(1, 3, 224)
    offered = layers(model, film)
    assert offered[-1] == "features"
    assert len(offered) == 5
    found = film_saliency(model, film, [(0, 2)], method=method, layer="features")
    with torch.no_grad():
        rectified = model.features(film).relu()[0]
        by_hand = torch.einsum("c,chw->hw", model.classifier.weight[2], rectified) / 49
        logits = model(film)
    np.testing.assert_allclose(found.maps[0], by_hand.clamp(min=0), atol=1e-5)
    np.testing.assert_allclose(found.logits, logits, atol=1e-5)


def test_a_layer_that_is_written_into_afterwards_gives_its_own_maps(small):
    """bn is followed by a rectifier in place: without a copy its map would have no negatives."""
    seen = {}
    handle = small.bn.register_forward_hook(
        lambda _module, _inputs, output: seen.update(maps=output.clone())
    )
    film = films(1)
    logits = small(film)
    handle.remove()
    gradient = torch.autograd.grad(logits[0, 1], small.linear.weight)[0]
    assert gradient.abs().sum() > 0
    assert (seen["maps"] < 0).any()
    found = film_saliency(small, film, [(0, 1)], method="hirescam", layer="bn")
    weights = small.linear.weight[1].detach() / (16 if seen["maps"].shape[-1] == 4 else 64)
    by_hand = torch.einsum("c,chw->hw", weights, seen["maps"][0].relu().detach())
    np.testing.assert_allclose(found.maps[0], by_hand.clamp(min=0).detach(), atol=1e-5)


def test_several_findings_and_films_at_once_are_those_one_by_one(small):
    both = films(3)
    pairs = [(0, 1), (2, 4), (0, 0), (1, 1), (0, 4), (2, 4)]
    layer = layers(small, both[:1])[-1]
    together = film_saliency(small, both, pairs, method="gradcam++", layer=layer)
    for place, (film, finding) in enumerate(pairs):
        alone = film_saliency(small, both[[film]], [(0, finding)], method="gradcam++", layer=layer)
        np.testing.assert_allclose(together.maps[place], alone.maps[0], atol=1e-6)
        np.testing.assert_allclose(together.logits[film], alone.logits[0], atol=1e-5)
    assert not np.allclose(together.maps[0], together.maps[2])


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("method", list(METHODS))
def test_maps_drawn_on_a_gpu_are_those_of_the_cpu(method):
    model, film = network("densenet_small", 64, channels=1), films(1)
    layer = layers(model, film)[-1]
    exact = film_saliency(model, film, [(0, 3)], method=method, layer=layer)
    moved = film_saliency(model.cuda(), film.cuda(), [(0, 3)], method=method, layer=layer)
    np.testing.assert_allclose(moved.logits, exact.logits, rtol=1e-2, atol=1e-3)  # TF32
    np.testing.assert_allclose(moved.maps, exact.maps, rtol=2e-2, atol=2e-2 * exact.maps.max())


def test_nothing_stays_on_the_network(small):
    film = films(1)
    before = {name: tensor.clone() for name, tensor in small.state_dict().items()}
    film_saliency(small, film, [(0, 0)], method="gradcam", layer=layers(small, film)[-1])
    with pytest.raises(RuntimeError, match="expected input"):
        film_saliency(small, films(1, 3), [(0, 0)], method="gradcam", layer="relu")
    assert not any(module._forward_hooks for module in small.modules())
    assert all(parameter.grad is None for parameter in small.parameters())
    assert torch.is_grad_enabled()
    for name, tensor in small.state_dict().items():
        torch.testing.assert_close(tensor, before[name], rtol=0, atol=0)


def test_maps_are_raw_and_not_negative(small):
    film, layer = films(1), "relu"
    found = film_saliency(small, film, [(0, k) for k in range(5)], method="gradcam", layer=layer)
    assert found.maps.min() >= 0
    tops = found.maps.max(axis=(1, 2))
    assert tops.std() > 0  # not scaled to 1
    doubled = network("densenet_small", 64, channels=1)
    with torch.no_grad():
        doubled.linear.weight.mul_(2)
    twice = film_saliency(doubled, film, [(0, k) for k in range(5)], method="gradcam", layer=layer)
    np.testing.assert_allclose(twice.maps, 2 * found.maps, rtol=1e-4, atol=1e-7)


def test_layers_are_one_a_resolution_and_shared_modules_are_left_out():
    model = network("torchvision:resnet18", 224)
    offered = layers(model, films(1, 3, 224))
    assert offered == ("relu", "layer1", "layer2", "layer3", "layer4")


def test_layers_are_whole_stages_where_these_are_modules():
    model = network("torchvision:densenet121", 224)
    stages = ("features.relu0", *(f"features.denseblock{k}" for k in (1, 2, 3)), "features")
    assert layers(model, films(1, 3, 224)) == stages


def test_what_has_no_maps_is_refused():
    flat = nn.Sequential(nn.Flatten(), nn.Linear(64 * 64, 3)).eval()
    with pytest.raises(Refused, match="NO_MAPS"):
        layers(flat, films(1))


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "timm:vit_tiny_patch16_224",
        pytest.param("timm:swin_tiny_patch4_window7_224", marks=pytest.mark.nightly),
    ],
)
def test_patches_and_attention_are_no_maps(name):
    """The patches of a ViT come first; Swin holds channels last and attends in 49 x 49."""
    with pytest.raises(Refused, match="NO_MAPS"):
        layers(network(name, 224), films(1, 3, 224))


@pytest.mark.nightly
def test_channels_that_come_last_are_no_plane():
    offered = layers(network("torchvision:swin_t", 224), films(1, 3, 224))
    assert offered[-1] == "permute"  # back to maps before pooling
    offered = layers(network("torchvision:convnext_tiny", 224), films(1, 3, 224))
    assert offered[-1] == "features"
    assert not any("block" in name for name in offered)


def test_unknown_names_and_numbers_that_are_none_are_refused(small):
    with pytest.raises(UsageError, match="No method is called 'lime'"):
        film_saliency(small, films(1), [(0, 0)], method="lime", layer="relu")
    with pytest.raises(UsageError, match="No layer is called 'nowhere'"):
        film_saliency(small, films(1), [(0, 0)], method="gradcam", layer="nowhere")
    with pytest.raises(Refused, match="NONFINITE"):
        film_saliency(small, films(1) * float("nan"), [(0, 0)], method="gradcam", layer="relu")
