"""Networks that read texts, as the numbers of their words; torch."""

from collections.abc import Callable
from typing import Final

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from core.arrays import Int
from core.models.catalogue import TREE_LSTM

PADDING: Final = 0  # the number behind the end of a text; it never changes an answer
JOIN: Final = 2  # the number that joins the two phrases before it, in texts that are trees
STATE: Final = 150  # numbers in the state of a phrase, and in its memory
DROPPED_STATE: Final = 0.5
WIDTH: Final = 128
WORDS_AT_ONCE: Final = 5
POOLED: Final = 5
LENGTH: Final = 1_000  # words of a text in the released form
DROPPED: Final = 0.3
SPREAD: Final = 0.1  # standard deviation of word vectors that are drawn
TOGETHER: Final = 16  # texts of similar length that go through the convolutions at once on a CPU


class TextCnn(nn.Module):
    """Three convolutions over words, the largest value of each feature, and 128 units.

    A maximum over five places follows the first two convolutions, one over the whole text the
    third; three in ten units are dropped in training. What lies behind the end of a text is 0
    after each layer, as is the least that a ReLU gives, so padding changes no answer. On a CPU a
    batch therefore goes through the convolutions in groups of similar length, each as wide as its
    longest text; a GPU takes it whole.

    `n_words`: V of the vocabulary, padding included; `dimension`: numbers of a word's vector;
    `n_outputs`: K columns of logits.

    References
    ----------
    Lin et al. 2014, *Network in Network*, for the pooling; layers as in the 20 Newsgroups script
    of Kumar et al. 2018, whose convolutions have no padding at the ends of a text, and whose
    maximum moves on by one place where this one moves on by five.
    """

    def __init__(self, n_words: int, dimension: int, n_outputs: int) -> None:
        super().__init__()
        self.embedding = _embedding(n_words, dimension)
        self.convolutions = nn.ModuleList(
            nn.Conv1d(before, WIDTH, WORDS_AT_ONCE, padding=WORDS_AT_ONCE // 2)
            for before in (dimension, WIDTH, WIDTH)
        )
        self.hidden = nn.Linear(WIDTH, WIDTH)
        self.dropout = nn.Dropout(DROPPED)
        self.head = nn.Linear(WIDTH, n_outputs)

    def forward(self, numbers: Tensor) -> Tensor:
        """Return logits (N, K) of texts (N, length) int64."""
        order, groups = by_length(numbers)
        words = self.embedding(torch.cat([group.flatten() for group in groups]))
        parts = words.split([group.numel() for group in groups])
        strongest = torch.cat(
            [
                self._strongest(group, part.view(*group.shape, -1))
                for group, part in zip(groups, parts, strict=True)
            ]
        )
        hidden = functional.relu(self.hidden(strongest[order.argsort()]))
        return self.head(self.dropout(hidden))  # type: ignore[no-any-return]

    def _strongest(self, numbers: Tensor, vectors: Tensor) -> Tensor:
        """Return the largest value of each feature over a text, (n, WIDTH), of (n, length, d)."""
        there = (numbers != PADDING)[:, None].float()
        features = vectors.transpose(1, 2)
        for place, convolution in enumerate(self.convolutions):
            # What lies behind the text is set to 0 again each time: a
            # convolution smears words over the edge.
            features = functional.relu(convolution(features)) * there
            if place < 2:
                features = functional.max_pool1d(features, POOLED, ceil_mode=True)
                there = functional.max_pool1d(there, POOLED, ceil_mode=True)
        return features.amax(dim=2)


class TextCnnReleased(nn.Module):
    """The network of `TextCnn` as Mukhoti et al. released it; parameters as there.

    Convolutions have no padding at the ends of a text, maxima over five places move on by one, and
    a text stands at the end of LENGTH places, of which those before it have vectors of 0 that are
    read like words. Of a longer text the last LENGTH words are read.

    References
    ----------
    Mukhoti et al. 2020, released code, after the 20 Newsgroups script of Kumar et al. 2018.
    """

    def __init__(self, n_words: int, dimension: int, n_outputs: int) -> None:
        super().__init__()
        self.embedding = _embedding(n_words, dimension)
        self.convolutions = nn.ModuleList(
            nn.Conv1d(before, WIDTH, WORDS_AT_ONCE) for before in (dimension, WIDTH, WIDTH)
        )
        self.hidden = nn.Linear(WIDTH, WIDTH)
        self.dropout = nn.Dropout(DROPPED)
        self.head = nn.Linear(WIDTH, n_outputs)

    def forward(self, numbers: Tensor) -> Tensor:
        """Return logits (N, K) of texts (N, length) int64."""
        lengths = (numbers != PADDING).sum(dim=1, keepdim=True)
        # Place k of LENGTH takes word k - LENGTH + length: below 0 it is padding in front.
        from_place = torch.arange(LENGTH, device=numbers.device) - LENGTH + lengths
        aligned = numbers.gather(1, from_place.clamp(min=0)).where(from_place >= 0, PADDING)
        features = self.embedding(aligned).transpose(1, 2)
        for place, convolution in enumerate(self.convolutions):
            features = functional.relu(convolution(features))
            if place < 2:
                features = functional.max_pool1d(features, POOLED, stride=1)
        hidden = functional.relu(self.hidden(features.amax(dim=2)))
        return self.head(self.dropout(hidden))  # type: ignore[no-any-return]


class TextMean(nn.Module):
    """The mean of a text's word vectors, and a linear layer; parameters as of `TextCnn`.

    References
    ----------
    Joulin et al. 2017, *Bag of Tricks for Efficient Text Classification*, without n-grams.
    """

    def __init__(self, n_words: int, dimension: int, n_outputs: int) -> None:
        super().__init__()
        self.embedding = _embedding(n_words, dimension)
        self.head = nn.Linear(dimension, n_outputs)

    def forward(self, numbers: Tensor) -> Tensor:
        """Return logits (N, K) of texts (N, length) int64."""
        mean = functional.embedding_bag(
            numbers, self.embedding.weight, mode="mean", padding_idx=PADDING
        )
        return self.head(mean)  # type: ignore[no-any-return]


class TreeLstm(nn.Module):
    """A binary Tree-LSTM over the trees of phrases, and a linear layer of a phrase's state.

    A leaf with the word vector x has the memory c = W x + a and the state
    h = sigmoid(V x + b) * tanh(c). A node with a left child l and a right child r has five gates,
    each of the form L h_l + R h_r + two biases, and

        c = sigmoid(i) * tanh(u) + sigmoid(f_l) * c_l + sigmoid(f_r) * c_r
        h = sigmoid(o) * tanh(c).

    Half of the units of h are dropped in training before the linear layer. Of a batch, all leaves
    are computed at once, then all nodes whose children are known, level by level.

    Notes
    -----
    A text is a tree in post-order: numbers of words, and JOIN after each two phrases. Which levels
    there are is found on the host, so that each batch waits for a GPU once.

    References
    ----------
    Tai et al. 2015, *Improved Semantic Representations From Tree-Structured Long Short-Term Memory
    Networks*, equations 9 to 14 with words at the leaves alone, as released; 316,800 weights of
    vectors of 300 numbers without the last layer, as in its table 1.
    """

    def __init__(self, n_words: int, dimension: int, n_outputs: int) -> None:
        super().__init__()
        self.embedding = _embedding(n_words, dimension)
        self.leaf = nn.Linear(dimension, 2 * STATE)
        self.left = nn.Linear(STATE, 5 * STATE)
        self.right = nn.Linear(STATE, 5 * STATE)
        self.dropout = nn.Dropout(DROPPED_STATE)
        self.head = nn.Linear(STATE, n_outputs)

    def forward(self, numbers: Tensor) -> Tensor:
        """Return logits (N, K) of trees (N, length) int64."""
        words, levels, roots = _levels(numbers.cpu().numpy())
        device = numbers.device
        leaves = self.embedding(numbers.flatten()[torch.from_numpy(words).to(device)])
        c, o = self.leaf(leaves).chunk(2, dim=1)
        states = torch.cat([o.sigmoid() * c.tanh(), c], dim=1)  # h and c of each node so far
        # Each level adds its nodes behind those that are known, so
        # that places stay as `_levels` counted.
        for level in levels:
            left, right = (states[rows] for rows in torch.from_numpy(level).to(device))
            gates = self.left(left[:, :STATE]) + self.right(right[:, :STATE])
            i, f_left, f_right, o, u = gates.chunk(5, dim=1)
            c = i.sigmoid() * u.tanh()
            c = c + f_left.sigmoid() * left[:, STATE:] + f_right.sigmoid() * right[:, STATE:]
            states = torch.cat([states, torch.cat([o.sigmoid() * c.tanh(), c], dim=1)])
        h = states[torch.from_numpy(roots).to(device), :STATE]
        return self.head(self.dropout(h))  # type: ignore[no-any-return]


FORMS: Final[dict[str, Callable[[int, int, int], nn.Module]]] = {
    "text_cnn": TextCnn,
    "text_cnn_released": TextCnnReleased,
    "text_mean": TextMean,
    TREE_LSTM: TreeLstm,
}


def build_text(name: str, *, n_words: int, dimension: int, n_outputs: int) -> nn.Module:
    """Return a network with new weights, drawn from torch's global generator.

    `name`: one of `FORMS`; `n_words`, `dimension`, `n_outputs`: as of `TextCnn`.
    """
    return FORMS[name](n_words, dimension, n_outputs)


@torch.no_grad()
def take_vectors(net: nn.Module, vectors: Tensor, *, fixed: bool) -> None:
    """Put word vectors into a network; words without keep what was drawn, or are 0 if fixed.

    Parameters
    ----------
    net : nn.Module
        Of `build_text`.
    vectors : (V, dimension) float32 tensor
        Rows of NaN for words without.
    fixed : bool
        Whether no word's vector is trained.
    """
    embedding = net.get_submodule("embedding")
    assert isinstance(embedding, nn.Embedding)
    others = torch.zeros_like(embedding.weight) if fixed else embedding.weight
    embedding.weight.copy_(torch.where(vectors.isnan(), others, vectors))
    embedding.weight.requires_grad_(not fixed)


def _embedding(n_words: int, dimension: int) -> nn.Embedding:
    embedding = nn.Embedding(n_words, dimension, padding_idx=PADDING)
    with torch.no_grad():
        embedding.weight.mul_(SPREAD)
    return embedding


def _levels(numbers: Int) -> tuple[Int, list[Int], Int]:
    """Return in which order the nodes of some trees can be computed.

    Parameters
    ----------
    numbers : (N, length) int64
        Trees in post-order.

    Returns
    -------
    words : (M,) int64
        Places of the words in the flattened numbers: the first M nodes.
    levels : list of (2, n) int64
        Of each further node, its left and its right child, by their places in this order; all
        children of a level are in those before.
    roots : (N,) int64
        Place of each tree's last node.

    Notes
    -----
    The right child of a join is the node before it. A prefix leaves as many phrases open as it has
    words less joins, and the left child is the last node before with as many open as the join.
    """
    flat = numbers.ravel()
    joins = np.flatnonzero(flat == JOIN)
    words = np.flatnonzero((flat != JOIN) & (flat != PADDING))
    there = numbers != PADDING
    n_open = np.cumsum(np.where(numbers == JOIN, -1, there), axis=1)
    key = n_open + (numbers.shape[1] + 1) * np.arange(len(numbers))[:, None]  # by tree, then open
    # Stable: within a tree, places with as many phrases open follow one
    # another, and the one before is the left child.
    order = np.argsort(key, axis=None, kind="stable")
    before = np.empty_like(order)
    before[order[1:]], before[order[0]] = order[:-1], -1
    place = np.full(flat.size, -1)
    place[words] = np.arange(len(words))
    levels, n_known = [], len(words)
    # A join whose children are both known gets the next place; deep
    # trees take as many rounds as they are deep.
    while len(joins):
        children = np.stack([place[before[joins]], place[joins - 1]])
        ready = (children >= 0).all(axis=0)
        levels.append(children[:, ready])
        place[joins[ready]] = n_known + np.arange(ready.sum())
        n_known, joins = n_known + int(ready.sum()), joins[~ready]
    last = np.arange(len(numbers)) * numbers.shape[1] + there.sum(axis=1) - 1
    # A batch of single words has an empty level: each rank's weights all need a gradient.
    return words, levels or [np.empty((2, 0), np.int64)], place[last]


def by_length(numbers: Tensor) -> tuple[Tensor, list[Tensor]]:
    """Return the order of the rows by length, and the numbers in it, cut into groups."""
    if numbers.device.type != "cpu":
        return torch.arange(len(numbers), device=numbers.device), [numbers]
    lengths = (numbers != PADDING).sum(dim=1)
    order = lengths.argsort(stable=True)
    return order, [numbers[rows, : lengths[rows[-1]]] for rows in torch.split(order, TOGETHER)]
