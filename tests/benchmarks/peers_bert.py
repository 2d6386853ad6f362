"""BERT beside transformers: pieces of texts, and logits and gradients of the same weights.

    python3 -m venv peers && peers/bin/pip install -r requirements.txt transformers==5.24.0
    peers/bin/python -m tests.benchmarks.peers_bert

A small BERT is drawn and saved by transformers, and loaded here; nothing is downloaded.
"""

import random
import tempfile
from pathlib import Path

import torch
import transformers  # type: ignore[import-not-found]  # in an environment of its own
from transformers import (  # type: ignore[import-not-found]
    BertConfig,
    BertForPreTraining,
    BertForSequenceClassification,
    BertModel,
    BertTokenizer,
)

from core.datasets.texts.pieces import read_object, read_pieces
from core.models.bert import load_bert, read_sizes

LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
WORDS = ("the", "##ing", "cat", "dog", "un", "##able", *"!,.-()'@$中文éß", "ss", "word", "##word")
PIECES = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *LETTERS, *(f"##{c}" for c in LETTERS))
PIECES += WORDS
TEXTS = (
    "The cat's unable-dogs!", "Ünîcödé cafés ÀÉ", "中文 the中dog",
    "a\tb\nc\r d\u00a0e\u2028f\x07g\ufffdh",
    "x" * 101, "İstanbul ẞ straße", "", "[CLS", "$5.00 @me (ok)", "\u0301a\u200db",
    "naïve ΑΒΓ ½ ² ﬁ",
    "hello" * 30, "한국어 test", "\x85a\x0bb",
)  # fmt: skip
RANGES = ((32, 127), (160, 0x3000), (0x3000, 0xD7FF), (0xF900, 0x10000), (0x20000, 0x2FA20))
K, N, LENGTH = 5, 37, 40


def compare_logits(folder: Path) -> None:
    """Print how far logits and gradients of three kinds of saved models are apart."""
    config = BertConfig(
        vocab_size=len(PIECES), hidden_size=48, num_hidden_layers=3, num_attention_heads=4,
        intermediate_size=96, max_position_embeddings=64, num_labels=K, initializer_range=0.3,
    )  # fmt: skip
    for kind in (BertForSequenceClassification, BertForPreTraining, BertModel):
        torch.manual_seed(0)
        saved = kind(config)
        saved.save_pretrained(folder)
        sizes = read_sizes(read_object(folder / "config.json"))
        own = load_bert(folder / "model.safetensors", sizes, K).eval()
        peer = BertForSequenceClassification(config).eval()
        peer.bert.load_state_dict((saved if kind is BertModel else saved.bert).state_dict())
        peer.classifier.load_state_dict(own.head.state_dict())
        numbers = torch.randint(1, len(PIECES), (N, LENGTH))
        numbers[torch.arange(LENGTH) >= torch.randint(1, LENGTH + 1, (N, 1))] = 0
        for dtype in (torch.float32, torch.float64):
            logits = own.to(dtype)(numbers)
            others = peer.to(dtype)(input_ids=numbers, attention_mask=(numbers != 0).long()).logits
            apart = (logits - others).abs().max().item()
            print(
                f"{kind.__name__}, {dtype}: logits to {others.abs().max():.2f}, {apart:.1e} apart"
            )
        logits.square().sum().backward()
        others.square().sum().backward()
        expected = peer.bert.encoder.layer[0].attention.self.query.weight.grad
        apart = (own.layers[0].query.weight.grad - expected).abs().max() / expected.abs().max()
        print(f"{kind.__name__}: gradients in float64 {apart:.1e} apart, relative")


def compare_pieces(folder: Path) -> None:
    """Print which texts are cut otherwise."""
    for lower in (True, False):
        peer = BertTokenizer(vocab={p: k for k, p in enumerate(PIECES)}, do_lower_case=lower)
        peer.save_pretrained(folder)
        own = read_pieces(folder)
        for length in (8, 64, 512):
            numbers, ends = own.numbers(TEXTS, length)
            for k, text in enumerate(TEXTS):
                expected = peer(text, truncation=True, max_length=length)["input_ids"]
                assert numbers[ends[k] : ends[k + 1]].tolist() == expected, text
        draw = random.Random(1)
        drawn = [
            "".join(chr(draw.randrange(*draw.choice(RANGES))) for _ in range(20))
            for _ in range(3_000)
        ]
        n = sum(own.numbers([text], 512)[0].tolist() != peer(text)["input_ids"] for text in drawn)
        case = "lower case" if lower else "cased"
        print(f"{case}: {len(TEXTS)} texts alike; {n} of 3,000 of 20 drawn characters are not")


if __name__ == "__main__":
    print(f"torch {torch.__version__}, transformers {transformers.__version__}")
    with tempfile.TemporaryDirectory() as made:
        compare_logits(Path(made))
    with tempfile.TemporaryDirectory() as made:
        compare_pieces(Path(made))
