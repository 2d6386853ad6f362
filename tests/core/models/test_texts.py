"""Networks for texts: logits of each text alone, whatever stands behind its end or beside it."""

import numpy as np
import pytest
import torch
from torch.nn import functional

from core.errors import UsageError
from core.models.build import last_layer
from core.models.catalogue import (
    MODELS,
    TEXT_MODELS,
    TREE_LSTM,
    checked_model,
    checked_text_model,
)
from core.models.texts import FORMS, TOGETHER, build_text, take_vectors

N_WORDS, DIMENSION, K = 30, 6, 4


@pytest.fixture(params=[name for name in FORMS if name != TREE_LSTM])
def net(request):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        yield build_text(request.param, n_words=N_WORDS, dimension=DIMENSION, n_outputs=K)


def texts(*lengths, padded=None):
    """Texts of random words, padded with 0 to the longest or to a length."""
    generator = torch.Generator().manual_seed(1)
    out = torch.zeros(len(lengths), padded or max(lengths), dtype=torch.int64)
    for row, length in enumerate(lengths):
        out[row, :length] = torch.randint(1, N_WORDS, (length,), generator=generator)
    return out


@pytest.mark.parametrize("lengths", [(1,), (1, 2, 3), (4, 5, 6, 26), (60, 1)])
def test_padding_changes_no_answer(net, lengths):
    net.eval()
    with torch.no_grad():
        narrow, wide = net(texts(*lengths)), net(texts(*lengths, padded=203))
        alone = torch.cat([net(texts(*lengths)[k : k + 1, :n]) for k, n in enumerate(lengths)])
    assert narrow.shape == (len(lengths), K)
    torch.testing.assert_close(narrow, wide)
    torch.testing.assert_close(narrow, alone)


def test_gradients_reach_every_word_that_was_read_and_no_padding(net):
    net.eval()
    numbers = texts(12, 5)
    functional.cross_entropy(net(numbers), torch.tensor([0, 3])).backward()
    assert all(part.grad.abs().sum() > 0 for part in net.parameters())
    read = net.embedding.weight.grad.abs().sum(1)
    assert read[0] == 0
    assert set(torch.nonzero(read).flatten().tolist()) <= set(numbers.unique().tolist())


def test_a_batch_of_all_lengths_gives_the_logits_and_gradients_of_its_texts_alone(net):
    """More texts than go through the convolutions at once, in no order of length."""
    net.eval()
    lengths = [1 + 37 * k % 61 for k in range(2 * TOGETHER + 5)]
    numbers, labels = texts(*lengths), torch.arange(len(lengths)) % K
    together = net(numbers)
    alone = torch.cat([net(numbers[k : k + 1, :n]) for k, n in enumerate(lengths)])
    torch.testing.assert_close(together, alone)
    wanted, found = (
        torch.autograd.grad(functional.cross_entropy(logits, labels), list(net.parameters()))
        for logits in (alone, together)
    )
    for gradient, same in zip(found, wanted, strict=True):
        assert gradient.abs().max() > 0
        torch.testing.assert_close(gradient, same, rtol=1e-5, atol=1e-6)


def test_the_last_layer_makes_the_logits(net):
    assert last_layer(net) is net.head
    assert net.head.weight.shape[0] == K


def test_the_bag_of_words_is_a_linear_layer_of_the_mean():
    torch.manual_seed(0)
    net = build_text("text_mean", n_words=N_WORDS, dimension=DIMENSION, n_outputs=K)
    numbers = texts(7, 3)
    words, weight, bias = (
        part.detach().double().numpy()
        for part in (net.embedding.weight, net.head.weight, net.head.bias)
    )
    expected = np.stack(
        [words[numbers[k, :n].numpy()].mean(0) @ weight.T + bias for k, n in enumerate((7, 3))]
    )
    np.testing.assert_allclose(net(numbers).detach().numpy(), expected, rtol=1e-5, atol=1e-6)


def test_the_convolutions_are_those_of_the_definition():
    """By loops: five words each, ReLU, the largest of five places, and of the whole text."""
    torch.manual_seed(0)
    net = build_text("text_cnn", n_words=N_WORDS, dimension=DIMENSION, n_outputs=K).eval()
    numbers = texts(13)
    maps = net.embedding.weight.detach()[numbers[0]].double().numpy()
    for place, layer in enumerate(net.convolutions):
        weight = layer.weight.detach().double().numpy()
        bias = layer.bias.detach().double().numpy()
        framed = np.pad(maps, ((2, 2), (0, 0)))
        maps = np.array(
            [
                np.maximum(0, np.einsum("oiw,wi->o", weight, framed[t : t + 5]) + bias)
                for t in range(len(maps))
            ]
        )
        if place < 2:
            maps = np.array([maps[t : t + 5].max(0) for t in range(0, len(maps), 5)])
    hidden = torch.from_numpy(maps.max(0)).float()
    logits = net.head(functional.relu(net.hidden(hidden)))
    torch.testing.assert_close(net(numbers)[0], logits, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("fixed", [True, False])
def test_vectors_of_a_file_replace_those_that_were_drawn(net, fixed):
    drawn = net.embedding.weight.detach().clone()
    vectors = torch.full((N_WORDS, DIMENSION), torch.nan)
    vectors[5] = torch.arange(DIMENSION)
    take_vectors(net, vectors, fixed=fixed)
    assert torch.equal(net.embedding.weight[5], vectors[5])
    others = torch.zeros_like(drawn) if fixed else drawn
    assert torch.equal(net.embedding.weight[6:], others[6:])
    assert net.embedding.weight.requires_grad is not fixed


@pytest.mark.parametrize("name", list(FORMS))
def test_millions_of_weights_are_as_stated(name):
    net = build_text(name, n_words=20_002, dimension=100, n_outputs=20)
    millions = sum(part.numel() for part in net.parameters()) / 1e6
    assert round(millions, 1) == TEXT_MODELS[name].millions


def test_names_of_texts_and_images_are_not_mixed():
    assert not TEXT_MODELS.keys() & MODELS.keys()
    with pytest.raises(UsageError, match="text_cnn reads texts"):
        checked_model("text_cnn")
    with pytest.raises(UsageError, match="'small_cnn' reads no texts"):
        checked_text_model("small_cnn")


def test_the_released_form_reads_the_end_of_a_text_behind_places_of_zeros():
    """By the layers of the released code, on 1,000 places that are filled in front."""
    torch.manual_seed(0)
    net = build_text("text_cnn_released", n_words=N_WORDS, dimension=DIMENSION, n_outputs=K).eval()
    numbers = texts(1_004, 7)
    with torch.no_grad():
        for row, n in enumerate((1_004, 7)):
            read = numbers[row, :n][-1_000:]
            vectors = torch.cat(
                [torch.zeros(1_000 - len(read), DIMENSION), net.embedding.weight[read]]
            )
            maps = vectors.T
            for place, layer in enumerate(net.convolutions):
                windows = maps.unfold(1, 5, 1).permute(1, 0, 2)  # positions, channels, five words
                maps = (
                    torch.einsum("pcw,ocw->op", windows, layer.weight) + layer.bias[:, None]
                ).relu()
                maps = maps.unfold(1, 5, 1).amax(2) if place < 2 else maps
            expected = net.head(net.hidden(maps.amax(1)).relu())
            torch.testing.assert_close(net(numbers)[row], expected, rtol=1e-4, atol=1e-5)
    counted = sum(part.numel() for part in net.parameters()) - N_WORDS * DIMENSION
    own = 5 * 128 * (DIMENSION + 2 * 128) + 3 * 128 + 128 * 129 + 129 * K
    assert counted == own
