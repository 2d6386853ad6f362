"""Every network of the catalogue, asked the same questions; then what each alone promises."""

import pytest

from core.errors import UsageError
from core.models.catalogue import MODELS

LARGE = (
    *("resnet50_cifar", "resnet110_released", "resnet50_tiny_imagenet"),
    *("wrn_26_10_cifar", "densenet121_cifar"),
)
NAMES = [
    pytest.param(name, marks=[pytest.mark.nightly] if name in LARGE else []) for name in MODELS
]
# What any network does because of the way it is built: `make soak` looks at the largest too.
BUILT = [pytest.param(name, marks=[pytest.mark.soak] if name in LARGE else []) for name in MODELS]


@pytest.fixture
def made(torch):
    """Makes a network: made("small_cnn", channels=1, size=(8, 8), seed=3)."""
    from core.models.build import build

    def make(name, *, n_outputs=7, channels=3, size=(32, 32), seed=0):
        torch.manual_seed(seed)
        return build(name, n_outputs=n_outputs, channels=channels, size=size)

    return make


def images(torch, n, channels=3, size=(32, 32), seed=1):
    return torch.randn(n, channels, *size, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("channels", "size"), [(1, (8, 8)), (3, (32, 32)), (2, (9, 13))])
def test_images_of_any_size_give_rows_of_finite_logits(torch, made, name, channels, size):
    model = made(name, channels=channels, size=size).eval()
    with torch.no_grad():
        logits = model(images(torch, 2, channels, size))
    assert logits.shape == (2, 7)
    assert logits.dtype == torch.float32
    assert torch.isfinite(logits).all()
    assert not torch.equal(logits[0], logits[1])


@pytest.mark.parametrize("name", NAMES)
def test_gradients_reach_every_parameter(torch, made, name):
    model = made(name).train()
    logits = model(images(torch, 4))
    torch.nn.functional.cross_entropy(logits, torch.tensor([0, 1, 2, 6])).backward()
    dead = [key for key, value in model.named_parameters() if not value.grad.abs().sum() > 0]
    assert dead == []


@pytest.mark.parametrize("name", BUILT)
def test_weights_taken_over_strictly_give_the_same_logits(torch, made, name):
    model, other = made(name, seed=0).train(), made(name, seed=1).eval()
    batch = images(torch, 4)
    with torch.no_grad():
        model(batch)  # moves running statistics, where there are any
        assert not torch.equal(model.eval()(batch), other(batch))
        other.load_state_dict(model.state_dict(), strict=True)
        assert torch.equal(model(batch), other(batch))


@pytest.mark.parametrize("name", BUILT)
def test_weights_are_those_of_the_seed(torch, made, name):
    first, again, other = (made(name, seed=seed).state_dict() for seed in (5, 5, 6))
    assert all(torch.equal(first[key], again[key]) for key in first)
    assert any(not torch.equal(first[key], other[key]) for key in first)


@pytest.mark.parametrize("name", NAMES)
def test_last_layer_makes_the_logits(torch, made, name):
    from core.models.build import last_layer

    model = made(name).eval()
    layer = last_layer(model)
    seen = []
    layer.register_forward_hook(lambda _layer, _inputs, output: seen.append(output))
    with torch.no_grad():
        logits = model(images(torch, 2))
    assert len(seen) == 1
    assert torch.equal(seen[0], logits)


@pytest.mark.parametrize("name", NAMES)
def test_sizes_are_taken_as_they_are_from_8_on(torch, made, name):
    from core.models.build import input_size

    assert input_size(name, (8, 21)) == (8, 21)
    with pytest.raises(UsageError, match=rf"Images of \(32, 7\); {name} takes 8 x 8 or larger"):
        input_size(name, (32, 7))
    with pytest.raises(UsageError, match="SETTING"):
        made(name, size=(7, 32))


def test_unknown_names_and_empty_shapes_are_refused(torch, made):
    from core.models.build import input_size

    with pytest.raises(UsageError, match="SETTING: Model 'small' is unknown"):
        made("small")
    with pytest.raises(UsageError, match="SETTING: Model 'small' is unknown"):
        input_size("small", (32, 32))
    with pytest.raises(UsageError, match="SETTING: 0 outputs; give at least 1"):
        made("small_cnn", n_outputs=0)
    with pytest.raises(UsageError, match="SETTING: 0 channels; give at least 1"):
        made("small_cnn", channels=0)


# The small CNN ----------------------------------------------------------------------------------


def test_small_cnn_has_the_parameters_of_its_widths(made):
    """Convolutions 9 x (3 x 24 + 24 x 48 + 48 x 96), norms 2 x 168, linear 96 x 4 x 10 + 10."""
    model = made("small_cnn", n_outputs=10)
    count = sum(parameter.numel() for parameter in model.parameters())
    assert count == 9 * (72 + 1152 + 4608) + 336 + 3850


@pytest.mark.parametrize("training", [True, False])
def test_small_cnn_answers_a_row_alike_in_any_batch(torch, made, training):
    """Up to rounding, which differs between the kernels of batches of other sizes."""
    model, batch = made("small_cnn").train(training), images(torch, 4, size=(16, 16))
    with torch.no_grad():
        together = model(batch)
        alone = torch.cat([model(row[None]) for row in batch])
        strange = torch.cat([model(torch.stack([row, 100 * batch[0]]))[:1] for row in batch])
    torch.testing.assert_close(together, alone, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(together, strange, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("size", [(2, 2), (3, 3), (8, 8), (5, 4), (2, 7)])
def test_quarters_are_adaptive_average_pooling(torch, size):
    from core.models.small_images import quarters

    maps = images(torch, 2, 3, size)
    wanted = torch.nn.functional.adaptive_avg_pool2d(maps, 2)
    torch.testing.assert_close(quarters(maps), wanted, rtol=1e-6, atol=1e-7)
