"""A folder of BERT as transformers saves it: two layers, fifty pieces, weights that are drawn."""

import json

import torch
from safetensors.torch import save_file

LETTERS = "abcdefghijklmnopqrst"
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
PIECES = (
    *SPECIAL,
    *LETTERS,
    *(f"##{letter}" for letter in LETTERS),
    "cat",
    "dog",
    "##s",
    "!",
    "中",
)
PIECES = tuple(dict.fromkeys(PIECES))
SIZES = {
    "model_type": "bert", "hidden_act": "gelu", "vocab_size": len(PIECES), "hidden_size": 32,
    "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48,
    "max_position_embeddings": 24, "type_vocab_size": 2,
}  # fmt: skip
LAYER = {
    **{f"attention.self.{name}": (32, 32) for name in ("query", "key", "value")},
    "attention.output.dense": (32, 32),
    "intermediate.dense": (48, 32),
    "output.dense": (32, 48),
}


def tensors(prefix="bert.", seed=0):
    """Return the tensors of a BERT by the names of files."""
    generator = torch.Generator().manual_seed(seed)

    def drawn(*shape):
        return 0.3 * torch.randn(*shape, generator=generator)

    def norm(name):
        return {f"{name}.weight": 1 + drawn(32), f"{name}.bias": drawn(32)}

    named = {
        "embeddings.word_embeddings.weight": drawn(len(PIECES), 32),
        "embeddings.position_embeddings.weight": drawn(24, 32),
        "embeddings.token_type_embeddings.weight": drawn(2, 32),
        **norm("embeddings.LayerNorm"),
    }
    for k in range(2):
        layer = f"encoder.layer.{k}"
        for name, (n_out, n_in) in LAYER.items():
            named[f"{layer}.{name}.weight"] = drawn(n_out, n_in)
            named[f"{layer}.{name}.bias"] = drawn(n_out)
        named |= norm(f"{layer}.attention.output.LayerNorm") | norm(f"{layer}.output.LayerNorm")
    named |= {"pooler.dense.weight": drawn(32, 32), "pooler.dense.bias": drawn(32)}
    return {f"{prefix}{name}": tensor for name, tensor in named.items()}


def make(folder, named=None, **config):
    """Write a folder of BERT with these tensors and sizes, and return it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(SIZES | config))
    (folder / "vocab.txt").write_text("".join(f"{piece}\n" for piece in PIECES), "utf-8")
    save_file(tensors() if named is None else named, folder / "model.safetensors")
    return folder
