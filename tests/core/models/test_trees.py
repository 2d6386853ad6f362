"""Tree-LSTM: the states of its definition, whatever trees stand in a batch."""

import numpy as np
import pytest
import torch
from torch.nn import functional

from core.datasets.texts.reading import JOIN as TOKEN
from core.datasets.texts.reading import tokens
from core.models.build import last_layer
from core.models.texts import JOIN, STATE, build_text

N_WORDS, DIMENSION, K = 30, 6, 3
TREES = (
    "(((a b) c) (d (e f)))",
    "a",
    "(a b)",
    "((((((a b) c) d) e) f) g)",
    "(a (b (c (d (e (f g))))))",
    "((a b) (c d))",
)


@pytest.fixture
def net():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        made = build_text("tree_lstm", n_words=N_WORDS, dimension=DIMENSION, n_outputs=K)
        torch.nn.init.normal_(made.embedding.weight)  # states that differ more
        yield made.double()


def number(token):
    return JOIN if token == TOKEN else 3 + ord(token) - ord("a")


def batch(*trees):
    rows = [torch.tensor([number(token) for token in tokens(tree)]) for tree in trees]
    return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def defined(net, tree):
    """Logits of a tree of nested pairs of words, by recursion over its definition."""
    weights = {name: part.detach().numpy() for name, part in net.named_parameters()}

    def linear(name, x):
        return weights[f"{name}.weight"] @ x + weights[f"{name}.bias"]

    def state(node):
        if isinstance(node, str):
            c, o = np.split(linear("leaf", weights["embedding.weight"][number(node)]), 2)
        else:
            (h_left, c_left), (h_right, c_right) = map(state, node)
            gates = np.split(linear("left", h_left) + linear("right", h_right), 5)
            i, f_left, f_right, o, u = gates
            c = sigmoid(i) * np.tanh(u) + sigmoid(f_left) * c_left + sigmoid(f_right) * c_right
        return sigmoid(o) * np.tanh(c), c

    return linear("head", state(tree)[0])


NESTED = (
    ((("a", "b"), "c"), ("d", ("e", "f"))),
    "a",
    ("a", "b"),
    (((((("a", "b"), "c"), "d"), "e"), "f"), "g"),
    ("a", ("b", ("c", ("d", ("e", ("f", "g")))))),
    (("a", "b"), ("c", "d")),
)


def test_logits_are_those_of_the_definition(net):
    logits = net.eval()(batch(*TREES)).detach().numpy()
    np.testing.assert_allclose(logits, [defined(net, tree) for tree in NESTED], rtol=1e-12)
    assert np.abs(np.diff(logits, axis=0)).min() > 1e-3  # no two trees are alike


def test_a_batch_gives_the_logits_and_gradients_of_its_trees_alone(net):
    net.eval()
    labels = torch.arange(len(TREES)) % K
    together = net(functional.pad(batch(*TREES), (0, 5)))  # padding changes nothing
    alone = torch.cat([net(batch(tree)) for tree in TREES])
    wanted, found = (
        torch.autograd.grad(functional.cross_entropy(logits, labels), list(net.parameters()))
        for logits in (alone, together)
    )
    for gradient, same in zip(found, wanted, strict=True):
        assert gradient.abs().max() > 0
        torch.testing.assert_close(gradient, same)
    read = found[0].abs().sum(1)  # of word vectors
    assert torch.nonzero(read).flatten().tolist() == [number(word) for word in "abcdefg"]


def test_every_weight_has_a_gradient_though_all_trees_are_words(net):
    """Several devices wait for the gradients of all weights on each."""
    loss = net(batch("a", "b")).sum()
    grads = torch.autograd.grad(loss, list(net.parameters()), allow_unused=True)
    assert all(gradient is not None for gradient in grads)


def test_any_tree_is_read_in_the_order_of_its_words(net):
    rng = np.random.default_rng(0)

    def drawn(words):
        if len(words) == 1:
            return words[0], words[0]
        cut = int(rng.integers(1, len(words)))
        (left, a), (right, b) = drawn(words[:cut]), drawn(words[cut:])
        return (left, right), f"({a} {b})"

    trees = [drawn([*"abcdefghijkl"[: 1 + k % 12]]) for k in range(40)]
    logits = net.eval()(batch(*(text for _, text in trees))).detach().numpy()
    np.testing.assert_allclose(logits, [defined(net, tree) for tree, _ in trees], rtol=1e-10)


def test_there_are_as_many_weights_as_published():
    """316,800 below the last layer in table 1 of Tai et al. 2015, which drops half of a state."""
    net = build_text("tree_lstm", n_words=10, dimension=300, n_outputs=3)
    below = (net.leaf, net.left, net.right)
    assert sum(part.numel() for layer in below for part in layer.parameters()) == 316_800
    assert last_layer(net) is net.head
    assert net.head.weight.shape == (3, STATE)
    assert net.dropout.p == 0.5
