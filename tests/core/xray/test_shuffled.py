"""Weights drawn anew from the last layer down, on a copy."""

from itertools import pairwise

import torch
from torch import nn

from core.models.build import build
from core.xray.gradcam import cascade, shuffled


def network():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return build("densenet_small", n_outputs=4, channels=1, size=(64, 64)).eval()


def changed(before, after):
    pairs = zip(before.state_dict().items(), after.state_dict().values(), strict=True)
    return {name for (name, one), other in pairs if not torch.equal(one, other)}


def test_weights_go_part_by_part_from_the_head_down():
    model = network()
    kept = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    stages, found = [], []
    for name, copy in cascade(model, 3):
        stages.append(name)
        found.append({key for key in changed(model, copy) if key.endswith("weight")})
    assert stages == ["linear", "bn", "dense2", "trans1", "dense1", "conv1"]
    assert found[0] == {"linear.weight"}
    assert all(a <= b for a, b in pairwise(found))
    convolutions = {
        f"{name}.weight" for name, one in model.named_modules() if isinstance(one, nn.Conv2d)
    }
    assert convolutions <= found[-1]
    assert all(torch.equal(tensor, kept[name]) for name, tensor in model.state_dict().items())


def test_a_part_that_holds_nearly_all_is_told_apart():
    with torch.random.fork_rng(devices=[]):
        model = build("torchvision:densenet121", n_outputs=2, channels=3, size=(224, 224))
    stages = [name for name, _ in cascade(model, 0)]
    assert stages[:3] == ["classifier", "features.norm5", "features.denseblock4"]
    assert stages[-1] == "features.conv0"


def test_a_seed_gives_the_same_weights_and_leaves_the_global_draws_alone():
    state = torch.random.get_rng_state()
    first, second, other = shuffled(network(), 5), shuffled(network(), 5), shuffled(network(), 6)
    assert torch.equal(torch.random.get_rng_state(), state)
    assert changed(first, second) == set()
    assert "conv1.weight" in changed(first, other)
    assert not first.training


def test_modules_that_do_not_say_how_are_drawn_too():
    class Odd(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = nn.Parameter(torch.ones(3))
            self.last = nn.Linear(3, 2)

        def forward(self, x):
            return self.last(self.scale * x)

    assert "scale" in changed(Odd(), shuffled(Odd(), 0))
