"""BERT: by hand what it computes, and that all of a file is loaded or nothing."""

import math

import pytest
import torch

from core.errors import Refused
from core.models.bert import load_bert, read_sizes
from core.models.build import last_layer
from tests.bert_folder import PIECES, SIZES, make, tensors

N_OUTPUTS = 3
HEADS = {
    "cls.predictions.bias": torch.zeros(4),
    "cls.seq_relationship.weight": torch.zeros(2, 32),
    "classifier.weight": torch.zeros(7, 32),
    "bert.embeddings.position_ids": torch.arange(24)[None],
}


def loaded(folder, **sizes):
    torch.manual_seed(0)
    return load_bert(folder / "model.safetensors", read_sizes(SIZES | sizes), N_OUTPUTS).eval()


@pytest.fixture
def folder(tmp_path):
    return make(tmp_path / "bert")


def normal(x, named, name):
    """Return rows of mean 0 and variance 1, times the weight, plus the bias."""
    centred = x - x.mean(dim=-1, keepdim=True)
    scaled = centred / (centred.square().mean(dim=-1, keepdim=True) + 1e-12).sqrt()
    return scaled * named[f"{name}.weight"] + named[f"{name}.bias"]


def linear(x, named, name):
    return x @ named[f"{name}.weight"].T + named[f"{name}.bias"]


def pooled(numbers, named):
    """Return Devlin et al.'s network for one text, head by head."""
    named = {name.removeprefix("bert."): tensor.double() for name, tensor in named.items()}
    x = torch.stack([named["embeddings.word_embeddings.weight"][k] for k in numbers])
    x = x + named["embeddings.position_embeddings.weight"][: len(numbers)]
    x = normal(
        x + named["embeddings.token_type_embeddings.weight"][0], named, "embeddings.LayerNorm"
    )
    for k in range(2):
        at = f"encoder.layer.{k}"
        q, key, v = (
            linear(x, named, f"{at}.attention.self.{n}") for n in ("query", "key", "value")
        )
        heads = []
        for head in range(4):
            of = slice(8 * head, 8 * head + 8)
            heads.append((q[:, of] @ key[:, of].T / math.sqrt(8)).softmax(dim=1) @ v[:, of])
        attended = linear(torch.cat(heads, dim=1), named, f"{at}.attention.output.dense")
        x = normal(x + attended, named, f"{at}.attention.output.LayerNorm")
        hidden = linear(x, named, f"{at}.intermediate.dense")
        hidden = hidden * 0.5 * (1 + torch.erf(hidden / math.sqrt(2)))
        x = normal(x + linear(hidden, named, f"{at}.output.dense"), named, f"{at}.output.LayerNorm")
    return linear(x[0], named, "pooler.dense").tanh()


def test_logits_are_those_of_the_network_in_the_paper(folder):
    net = loaded(folder).double()
    generator = torch.Generator().manual_seed(1)
    lengths = [3, 24, 1, 11, 7] * 5  # more texts than go through at once, none in order
    texts = [torch.randint(1, len(PIECES), (n,), generator=generator) for n in lengths]
    numbers = torch.nn.utils.rnn.pad_sequence(texts, batch_first=True)
    with torch.no_grad():
        logits = net(numbers)
    expected = torch.stack([pooled(text.tolist(), tensors()) for text in texts])
    expected = expected @ net.head.weight.T + net.head.bias
    torch.testing.assert_close(logits, expected, rtol=0, atol=1e-12)


def test_the_last_layer_alone_is_new(folder):
    net = loaded(folder)
    assert last_layer(net) is net.head
    assert net.head.weight.std().item() == pytest.approx(0.02, rel=0.25)
    assert not net.head.bias.any()
    assert torch.equal(
        net.layers[1].query.bias, tensors()["bert.encoder.layer.1.attention.self.query.bias"]
    )
    torch.manual_seed(1)
    other = load_bert(folder / "model.safetensors", read_sizes(SIZES), N_OUTPUTS)
    unlike = [k for k, v in other.state_dict().items() if not torch.equal(v, net.state_dict()[k])]
    assert unlike == ["head.weight"]


def test_older_names_and_heads_of_other_tasks_are_known(tmp_path, folder):
    older = {
        name.replace("LayerNorm.weight", "LayerNorm.gamma").replace(
            "LayerNorm.bias", "LayerNorm.beta"
        ): tensor
        for name, tensor in tensors().items()
    }
    expected = loaded(folder).state_dict()
    for k, named in enumerate((older, tensors(""), tensors() | HEADS)):
        state = loaded(make(tmp_path / str(k), named)).state_dict()
        assert all(torch.equal(state[name], tensor) for name, tensor in expected.items())


def _without(name):
    return {key: tensor for key, tensor in tensors().items() if key != name}


@pytest.mark.parametrize(
    ("named", "what"),
    [
        (
            _without("bert.pooler.dense.bias"),
            "lacks 1 of BERT's 39 tensors, such as pooler.dense.bias",
        ),
        (
            tensors() | {"bert.encoder.layer.2.output.dense.bias": torch.zeros(32)},
            "has encoder.layer.2.output",
        ),
        (
            tensors() | {"bert.pooler.dense.bias": torch.zeros(31)},
            r"has pooler.dense.bias of \(31,\)",
        ),
        (tensors() | {"pooler.dense.bias": torch.zeros(32)}, "has a tensor twice"),
    ],
)
def test_all_of_a_file_is_loaded_or_nothing(tmp_path, named, what):
    with pytest.raises(Refused, match=what):
        loaded(make(tmp_path / "bert", named))


def test_a_damaged_file_is_refused(folder):
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(Refused, match="damaged"):
        loaded(folder)


@pytest.mark.parametrize(
    ("config", "what"),
    [
        ({"model_type": "roberta"}, "model_type 'roberta'"),
        ({"hidden_act": "relu"}, "hidden_act 'relu'"),
        ({"position_embedding_type": "relative_key"}, "relative_key"),
        ({"num_attention_heads": 5}, "32 numbers in 5 heads"),
        ({"num_hidden_layers": 10**9}, "num_hidden_layers"),
        ({"hidden_size": "32"}, "hidden_size"),
    ],
)
def test_other_networks_are_refused(config, what):
    with pytest.raises(Refused, match=what):
        read_sizes(SIZES | config)
    with pytest.raises(Refused, match="model_type None"):
        read_sizes({})
