"""Trees of the Stanford Sentiment Treebank: read strictly, by phrases, and turned into numbers."""

import pytest

from core.datasets.texts.corpus import LEFT_OUT, read_corpus, texts_named
from core.datasets.texts.dataset import load_texts
from core.datasets.texts.reading import LONGEST_TREE, Budget, phrases, tokens
from core.datasets.texts.words import TextConfig
from core.errors import AuditError, Refused, UsageError
from core.models.texts import JOIN

NOT_GOOD = "(1 (2 It) (1 (1 (2 is) (1 not)) (3 Good)))"
GOOD = "(4 (3 Good) (2 film))"
NEUTRAL = "(2 (2 A) (4 film))"
NAME = "sst_binary"


@pytest.fixture
def root(tmp_path):
    (tmp_path / "train.txt").write_text(f"{NOT_GOOD}\n{NEUTRAL}\n{GOOD}\n", "utf-8")
    (tmp_path / "dev.txt").write_text(f"{NEUTRAL}\n{GOOD}\n", "utf-8")
    (tmp_path / "test.txt").write_text(f"{NOT_GOOD}\r\n{GOOD}\r\n", "utf-8")
    return tmp_path


def test_every_phrase_of_a_training_sentence_is_a_row_and_test_sentences_are_whole(root):
    corpus = read_corpus(NAME, root, seed=0)
    assert corpus.class_names == ("negative", "positive")
    assert corpus.more_classes == ("neutral",)
    names = (*corpus.class_names, *corpus.more_classes)
    rows = [
        (name, text, names[corpus.labels[row]])
        for row, (name, text) in enumerate(corpus.rows("train"))
    ]
    assert rows == [
        ("train.txt:1.1", "It", "neutral"),
        ("train.txt:1.2", "is", "neutral"),
        ("train.txt:1.3", "not", "negative"),
        ("train.txt:1.4", "(is not)", "negative"),
        ("train.txt:1.5", "Good", "positive"),
        ("train.txt:1.6", "((is not) Good)", "negative"),
        ("train.txt:1.7", "(It ((is not) Good))", "negative"),
        ("train.txt:3.1", "Good", "positive"),
        ("train.txt:3.2", "film", "neutral"),
        ("train.txt:3.3", "(Good film)", "positive"),
    ]  # the second sentence is neutral as a whole, and so is the first of dev.txt
    assert corpus.rows("val") == [("dev.txt:2", "(Good film)")]
    assert corpus.rows("test") == [
        ("test.txt:1", "(It ((is not) Good))"), ("test.txt:2", "(Good film)")
    ]  # fmt: skip
    assert texts_named(NAME, root, ["test.txt:2"]) == ["(Good film)"]


def test_trees_become_words_and_joins_in_post_order(root):
    assert tokens("((is not) -LRB-)") == ["is", "not", "<join>", "-lrb-", "<join>"]
    data = load_texts(NAME, str(root), TextConfig(), seed=0, trees=True)
    assert data.vocabulary[JOIN] == "<join>"
    assert (len(data.class_names), data.n_outputs) == (2, 3)
    first = [data.vocabulary[k] for k in data.test.numbers[: data.test.ends[1]]]
    assert first == ["it", "is", "not", "<join>", "good", "<join>", "<join>"]
    # other networks read the same words without their tree
    words = load_texts(NAME, str(root), TextConfig(), seed=0)
    first = [words.vocabulary[k] for k in words.test.numbers[: words.test.ends[1]]]
    assert first == ["it", "is", "not", "good"]


def test_words_with_vectors_are_counted_without_the_joins(root):
    path = root / "glove.txt"
    path.write_text(") 1 2\nit 3 4\nfilm 5 6\n", "utf-8")
    settings = TextConfig(dimension=2, embeddings=str(path))
    data = load_texts(NAME, str(root), settings, seed=0, trees=True)
    assert "vectors of 2 of 5 words" in data.notices[-1].text


@pytest.mark.parametrize("settings", [{"length": 6}, {"taken": "last"}])
def test_trees_are_read_whole_or_not(root, settings):
    with pytest.raises(UsageError, match=r"set text\.length to 7 or more, taken first"):
        load_texts(NAME, str(root), TextConfig(**settings), seed=0, trees=True)


def test_neutral_phrases_can_be_left_out_of_training(root):
    data = load_texts(NAME, str(root), TextConfig(left_out=("neutral",)), seed=0, trees=True)
    assert (data.class_names, data.n_outputs) == (("negative", "positive"), 2)
    assert len(data.train) == 7
    assert len(data.left_out) == 3
    corpus = read_corpus(NAME, root, seed=0, left_out=["neutral"])
    assert [text for _, text in corpus.rows(LEFT_OUT)] == ["It", "is", "film"]
    with pytest.raises(UsageError, match="leave at least two"):
        read_corpus(NAME, root, seed=0, left_out=["negative"])


@pytest.mark.parametrize(
    ("tree", "why"),
    [
        ("(5 film)", "no label of 0 to 4"),
        ("(film)", "no label of 0 to 4"),
        ("(23 film)", "no label of 0 to 4"),
        ("(3 (2 a) (2 b)", "brackets do not close"),
        ("(", "no label of 0 to 4"),
        ("(3 )", "neither one word nor two nodes"),
        ("(3 a b)", "neither one word nor two nodes"),
        ("(3 (2 a))", "neither one word nor two nodes"),
        ("(3 (2 a) b)", "neither one word nor two nodes"),
        ("(3 (2 a) (2 b) (2 c))", "neither one word nor two nodes"),
        ("(3 a) (3 b)", "outside its brackets"),
        ("(3 a))", "outside its brackets"),
        ("good film", "outside its brackets"),
        ("a fine film\t1", "outside its brackets"),
    ],
)
def test_lines_that_are_no_tree_are_refused_with_their_place(root, tree, why):
    with (root / "train.txt").open("a", encoding="utf-8") as file:
        file.write(tree + "\n")
    with pytest.raises(Refused, match=why) as caught:
        read_corpus(NAME, root, seed=0)
    assert (caught.value.code, caught.value.location) == ("FORMAT_UNKNOWN", "train.txt, line 4")
    assert "train.txt, dev.txt and test.txt" in caught.value.remedy


def test_depth_needs_no_recursion_and_length_has_a_limit(tmp_path):
    deep = 1_200
    tree = "(0 (2 a) " * deep + "(2 a)" + ")" * deep
    path = tmp_path / "train.txt"
    path.write_text(tree, "utf-8")
    assert len(tree) > LONGEST_TREE
    with pytest.raises(Refused, match="more than 10,000 characters") as caught:
        phrases(path, Budget(), every=True)
    assert caught.value.code == "TABLE_SIZE"
    deep = 990
    path.write_text("(0(2 a)" * deep + "(2 a)" + ")" * deep, "utf-8")
    assert len(phrases(path, Budget(), every=True)) == 2 * deep + 1


def test_a_missing_file_is_named(root):
    (root / "dev.txt").unlink()
    with pytest.raises(AuditError, match=r"dev\.txt cannot be read"):
        read_corpus(NAME, root, seed=0)
    with pytest.raises(AuditError, match=r"it holds train\.txt, dev\.txt, test\.txt"):
        read_corpus(NAME, root / "none", seed=0)
