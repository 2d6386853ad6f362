"""BERT with one linear layer on top, and its weights from a folder; torch."""

import re
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Final

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor, nn
from torch.nn import functional

from core import codec
from core.errors import Refused, UsageError
from core.fields import Field, JsonObject, check
from core.models.texts import PADDING, by_length

STATED: Final[JsonObject] = {  # of config.json, where it states it
    "model_type": "bert",
    "hidden_act": "gelu",
    "position_embedding_type": "absolute",
    "is_decoder": False,
}
REMEDY: Final = "give a folder of BERT as transformers saves it, such as bert-base-uncased"
Count = Annotated[int, Field("", low=1, high=1_000_000)]
Share = Annotated[float, Field("", low=0, high=1, open_high=True)]


@dataclass(frozen=True)
class BertSizes:
    """What config.json says of a BERT, by its names there; the defaults are BERT base's."""

    vocab_size: Count = 30_522
    hidden_size: Count = 768
    num_hidden_layers: Annotated[int, Field("", low=1, high=200)] = 12
    num_attention_heads: Count = 12
    intermediate_size: Count = 3_072
    max_position_embeddings: Count = 512
    type_vocab_size: Count = 2
    layer_norm_eps: Share = 1e-12
    hidden_dropout_prob: Share = 0.1
    attention_probs_dropout_prob: Share = 0.1
    initializer_range: Share = 0.02

    def __post_init__(self) -> None:
        """Refuse what no network can have."""
        check(self)
        if self.hidden_size % self.num_attention_heads:
            what = f"{self.hidden_size} numbers in {self.num_attention_heads} heads"
            raise UsageError("SETTING", what, "give a multiple")


class BertLayer(nn.Module):
    """Attention and two linear layers, each added to what goes in and normalised."""

    def __init__(self, sizes: BertSizes) -> None:
        super().__init__()
        width, eps = sizes.hidden_size, sizes.layer_norm_eps
        self.n_heads = sizes.num_attention_heads
        self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))
        self.attended = nn.Linear(width, width)
        self.attended_norm = nn.LayerNorm(width, eps)
        self.hidden = nn.Linear(width, sizes.intermediate_size)
        self.output = nn.Linear(sizes.intermediate_size, width)
        self.output_norm = nn.LayerNorm(width, eps)
        self.attention_dropout = sizes.attention_probs_dropout_prob
        self.dropout = nn.Dropout(sizes.hidden_dropout_prob)

    def forward(self, features: Tensor, there: Tensor) -> Tensor:
        """Return (n, length, width) of the same, of which `there` (n, 1, 1, length) is text."""
        query, key, value = (
            layer(features).unflatten(-1, (self.n_heads, -1)).transpose(1, 2)
            for layer in (self.query, self.key, self.value)
        )
        dropped = self.attention_dropout if self.training else 0.0
        # Padding is masked out of attention, so that it changes no answer.
        seen = functional.scaled_dot_product_attention(
            query, key, value, attn_mask=there, dropout_p=dropped
        )
        attended = self.attended(seen.transpose(1, 2).flatten(2))
        features = self.attended_norm(features + self.dropout(attended))
        output = self.output(functional.gelu(self.hidden(features)))
        return self.output_norm(features + self.dropout(output))  # type: ignore[no-any-return]


class Bert(nn.Module):
    """BERT, and a linear layer on its pooled first piece; on a CPU in groups as `TextCnn`.

    References
    ----------
    Devlin et al. 2019, *BERT: Pre-training of Deep Bidirectional Transformers*.
    """

    def __init__(self, sizes: BertSizes, n_outputs: int) -> None:
        super().__init__()
        width = sizes.hidden_size
        self.words = nn.Embedding(sizes.vocab_size, width)
        self.places = nn.Embedding(sizes.max_position_embeddings, width)
        self.kinds = nn.Embedding(
            sizes.type_vocab_size, width
        )  # of sentences; all are of the first
        self.norm = nn.LayerNorm(width, sizes.layer_norm_eps)
        self.layers = nn.ModuleList(BertLayer(sizes) for _ in range(sizes.num_hidden_layers))
        self.pooler = nn.Linear(width, width)
        self.dropout = nn.Dropout(sizes.hidden_dropout_prob)
        self.head = nn.Linear(width, n_outputs)

    def forward(self, numbers: Tensor) -> Tensor:
        """Return logits (N, K) of texts (N, length) int64."""
        order, groups = by_length(numbers)
        pooled = torch.cat([self._pooled(group) for group in groups])[order.argsort()]
        return self.head(self.dropout(pooled))  # type: ignore[no-any-return]

    def _pooled(self, numbers: Tensor) -> Tensor:
        places = self.places.weight[: numbers.shape[1]]
        features = self.dropout(self.norm(self.words(numbers) + places + self.kinds.weight[0]))
        there = (numbers != PADDING)[:, None, None]
        for layer in self.layers:
            features = layer(features, there)
        return self.pooler(features[:, 0]).tanh()  # type: ignore[no-any-return]


PARTS: Final = {  # what a file calls them
    "words": "embeddings.word_embeddings",
    "places": "embeddings.position_embeddings",
    "kinds": "embeddings.token_type_embeddings",
    "norm": "embeddings.LayerNorm",
    "pooler": "pooler.dense",
    "query": "attention.self.query",
    "key": "attention.self.key",
    "value": "attention.self.value",
    "attended": "attention.output.dense",
    "attended_norm": "attention.output.LayerNorm",
    "hidden": "intermediate.dense",
    "output": "output.dense",
    "output_norm": "output.LayerNorm",
}
HEAD: Final = "head."
# Of other tasks, and what older files count; they stay unread.
UNREAD: Final = re.compile(r"(cls|classifier|qa_outputs)\.[\w.]+|(bert\.)?embeddings\.position_ids")


def file_name(own: str) -> str:
    """Return what files call a tensor of the network, such as ``layers.0.query.weight``."""
    *place, part, kind = own.split(".")
    layer = f"encoder.layer.{place[1]}." if place else ""
    return f"{layer}{PARTS[part]}.{kind}"


def _today(name: str) -> str:
    """Return the name that a file's tensor has today, without the network's before it."""
    name = name.removeprefix("bert.").replace("LayerNorm.gamma", "LayerNorm.weight")
    return name.replace("LayerNorm.beta", "LayerNorm.bias")


def read_sizes(config: JsonObject) -> BertSizes:
    """Return the sizes in the config.json of a BERT.

    Raises Refused FORMAT_UNKNOWN: another network, or sizes that none can have.
    """
    # A GPT or a RoBERTa has much the same tensors, and would be loaded and answer nonsense.
    for key, value in STATED.items():
        if config.get(key, value if key != "model_type" else None) != value:
            what = f"config.json says {key} {config.get(key)!r:.40}, and BERT's is {value!r}"
            raise Refused("FORMAT_UNKNOWN", what, REMEDY)
    try:
        names = [field.name for field in fields(BertSizes)]
        return codec.read(BertSizes, {name: config[name] for name in names if name in config})
    except UsageError as error:
        what = f"config.json cannot be of a BERT: {error.what}"
        raise Refused("FORMAT_UNKNOWN", what, REMEDY) from error


def load_bert(path: Path, sizes: BertSizes, n_outputs: int) -> Bert:
    """Return a BERT with every tensor of a file, but its last layer, which is drawn.

    By torch's global generator, with the deviation that config.json states.

    Raises Refused STATE_DICT: a tensor is missing, of another size or unknown, or the file is
    damaged.
    """
    with torch.device("meta"):
        net = Bert(sizes, n_outputs)
    expected = {file_name(own): own for own in net.state_dict() if not own.startswith(HEAD)}
    try:
        with safe_open(path, framework="pt") as file:
            names = [name for name in file.keys() if not UNREAD.fullmatch(name)]  # noqa: SIM118
            # Names and shapes first, without memory: nothing is loaded unless all of it fits.
            shapes = [(_today(name), tuple(file.get_slice(name).get_shape())) for name in names]
            _check(
                shapes, {to: tuple(net.get_parameter(own).shape) for to, own in expected.items()}
            )
            net.to_empty(device="cpu")
            with torch.no_grad():
                for name in names:
                    net.get_parameter(expected[_today(name)]).copy_(file.get_tensor(name))
    except (OSError, SafetensorError) as error:
        raise Refused("STATE_DICT", f"{path.name} is damaged: {error!s:.80}", REMEDY) from error
    nn.init.normal_(net.head.weight, std=sizes.initializer_range)
    nn.init.zeros_(net.head.bias)
    return net


def _check(stored: list[tuple[str, tuple[int, ...]]], expected: dict[str, tuple[int, ...]]) -> None:
    """Refuse tensors that are not exactly the expected ones."""
    given = dict(stored)
    unknown, missing = given.keys() - expected.keys(), expected.keys() - given.keys()
    unlike = [name for name in given if given[name] != expected.get(name)]
    if unknown:
        what = f"has {min(unknown)[:80]}, and BERT has not"
    elif missing:
        what = f"lacks {len(missing)} of BERT's {len(expected)} tensors, such as {min(missing)}"
    elif len(stored) > len(given):
        what = "has a tensor twice, by its name of today and an older one"
    elif unlike:
        name = unlike[0]
        what = f"has {name} of {given[name]}, and config.json makes it {expected[name]}"
    else:
        return
    raise Refused("STATE_DICT", f"The file of weights {what}", REMEDY)
