"""Several trainings as one submission: seeds, losses and names."""

import pytest

from core.datasets.texts.words import TextConfig
from core.errors import UsageError
from core.losses.catalogue import subject
from core.published import published
from core.training.config import from_json
from core.training.submission import (
    BERT_BASE,
    FIRST,
    GLOVE,
    IMPORT,
    MOST,
    NO_BERT,
    NO_FOLDER,
    NO_WORDS,
    check_folder,
    reproductions,
    seeds,
    sweep,
    trainings,
)

BASE = from_json(FIRST)
TINY = {"tiny_imagenet": "/data/tiny"}
VECTORS = {GLOVE: "/data/glove.6B.100d.txt"}


@pytest.mark.parametrize(
    ("text", "found"),
    [("0", (0,)), ("0, 1, 2", (0, 1, 2)), (" 7;3 ", (7, 3)), ("1 2", (1, 2)), ("4,4", (4,))],
)
def test_seeds_are_read_in_their_order_and_once(text, found):
    assert seeds(text) == found


@pytest.mark.parametrize("text", ["", "a", "1.5", "-1", "1,,2", "1e3", "٣", "1," * 20, "9" * 20])
def test_what_is_no_list_of_whole_numbers_is_refused(text):
    with pytest.raises(UsageError, match="SEEDS"):
        seeds(text)


def test_long_white_space_is_refused_at_once():
    # A pattern that could split the white space in two ways would not come back from this.
    with pytest.raises(UsageError, match="SEEDS"):
        seeds("0" + "  0" * 600 + "x")


def test_every_loss_meets_every_seed():
    found = trainings(BASE, "", ["ce", "focal"], (0, 5))
    assert [(one.loss["name"], one.seed) for one in found] == [
        ("adafocal", 0),
        ("adafocal", 5),
        ("ce", 0),
        ("ce", 5),
        ("focal", 0),
        ("focal", 5),
    ]
    assert len({one.name for one in found}) == 6
    assert len({one.digest for one in found}) == 6
    assert found[2].loss == {"name": "ce"}


def test_one_training_keeps_its_name_and_several_are_told_apart():
    assert trainings(BASE, "", [], (0,))[0].name == "AdaFocal, small_cnn on digits"
    assert trainings(BASE, "mine", [], (3,))[0].name == "mine"
    names = [one.name for one in trainings(BASE, "mine", ["ce"], (0, 1))]
    assert names[0] == "mine, AdaFocal, seed 0"
    assert names[3] == "mine, Cross-entropy, seed 1"


def test_a_loss_that_does_not_fit_the_data_is_refused():
    films = from_json({"data": "chestxray14", "model": "small_cnn", "loss": {"name": "ce"}})
    with pytest.raises(UsageError, match="cannot train"):
        trainings(films, "", ["mmce"], (0,))


def test_too_many_at_once_are_refused():
    with pytest.raises(UsageError, match="at most"):
        trainings(BASE, "", [], tuple(range(MOST + 1)))


@pytest.mark.parametrize("root", ["~nosuchuser/x", "a\0b", "\ud800", "x" * 5000])
def test_what_cannot_be_a_folder_is_refused(root, monkeypatch, tmp_path):
    monkeypatch.setenv(IMPORT, str(tmp_path))
    with pytest.raises(UsageError, match="FOLDER"):
        check_folder(root)


def test_a_page_reads_only_below_the_folders_it_was_given(tmp_path, monkeypatch):
    inside, outside = tmp_path / "data" / "films", tmp_path / "other"
    check_folder(None)
    monkeypatch.delenv(IMPORT, raising=False)
    with pytest.raises(UsageError, match="FOLDER"):
        check_folder(str(inside))
    monkeypatch.setenv(IMPORT, f"{tmp_path / 'more'}:{tmp_path / 'data'}")
    check_folder(str(inside))
    for wrong in (outside, inside / ".." / ".." / "other", tmp_path / "data2"):
        with pytest.raises(UsageError, match="FOLDER"):
            check_folder(str(wrong))


def test_a_whole_table_is_six_losses_on_three_data_sets_with_each_seed():
    rows = published(paper="komisarenko2024", table="1")
    configs, left_out = reproductions(rows, (0, 1), {}, TINY)
    assert not left_out
    roots = {c.data: c.data_root for c in configs}
    assert roots == {"cifar10": None, "cifar100": None, **TINY}
    assert (
        len({(c.data, c.loss["name"], c.loss.get("gamma"), c.seed) for c in configs}) == 3 * 6 * 2
    )
    recipes = {c.data: (c.model, c.epochs, c.batch_size, c.clip_norm) for c in configs}
    assert recipes == {
        "cifar10": ("resnet50_cifar", 350, 128, 2.0),
        "cifar100": ("resnet50_cifar", 350, 128, 2.0),
        "tiny_imagenet": ("resnet50_tiny_imagenet", 100, 64, 2.0),
    }


def test_rows_are_trained_as_the_released_code_has_them_where_no_paper_says():
    rows = published(paper="fcl2024", dataset="tiny_imagenet")
    configs, _ = reproductions(rows, (0,), {}, TINY)
    assert {c.batch_size for c in configs} == {128}
    by_loss = {c.loss["name"]: c for c in configs}
    assert by_loss["brier"].reduction == "mean"
    assert {c.reduction for name, c in by_loss.items() if name != "brier"} == {"sum"}
    assert by_loss["mmce_weighted"].loss["normalisation"] == "released"


def test_what_is_trained_for_a_row_is_matched_with_it_again():
    for table in ("1", "3"):
        rows = published(paper="fcl2024", table=table, dataset="cifar10")
        configs, _ = reproductions(rows, (0,), {}, {"cifar10": "/data/cifar"})
        printed = {row.method for row in rows}
        assert printed == {m for c in configs for m in subject(c.to_json()).methods} & printed
        assert {c.data_root for c in configs} == {"/data/cifar"}


def test_rows_that_cannot_be_trained_here_are_named():
    rows = published(paper="adafocal2022", table="2", method="adafocal")
    _, left_out = reproductions(rows, (0,), {}, {})
    why = {(row.dataset, row.model): reason for row, reason in left_out.items()}
    assert why["imagenet", "resnet50"] == why["imagenet", "densenet121"] == NO_FOLDER
    assert why["imagenet", "resnet110"].startswith("Cannot be trained here")
    assert why["20newsgroups", "bert_base_uncased"] == NO_FOLDER
    assert why["20newsgroups", "gp_cnn"] == why["tiny_imagenet", "resnet50"] == NO_FOLDER


@pytest.mark.parametrize(("data", "gamma_and_lambda"), [("finsen", (4, 4)), ("ag_news", (4, 3))])
def test_rows_of_other_texts_are_trained_as_20_newsgroups(data, gamma_and_lambda):
    rows = published(paper="fcl2024", table="1", dataset=data, posthoc="none")
    configs, left_out = reproductions(rows, (1,), {}, {data: "/data/here"}, VECTORS)
    assert not left_out
    assert {c.text.embeddings for c in configs} == {VECTORS[GLOVE]}
    assert {(c.model, c.data_root, c.epochs, c.batch_size) for c in configs} == {
        ("text_cnn_released", "/data/here", 50, 128)
    }
    fcl = next(c.loss for c in configs if c.loss["name"] == "fcl")
    assert (fcl["gamma"], fcl["lambda"]) == gamma_and_lambda  # table 5
    assert {m for c in configs for m in subject(c.to_json()).methods} >= {r.method for r in rows}


def test_texts_are_not_trained_without_word_vectors():
    rows = published(paper="mukhoti2020iclr", table="1", dataset="20newsgroups")
    configs, left_out = reproductions(rows, (0,), {}, {"20newsgroups": "/data/news"})
    assert not configs
    assert set(left_out.values()) == {NO_WORDS}


def test_rows_of_bert_are_trained_from_its_folder():
    rows = published(paper="adafocal2022", model="bert_base_uncased")
    news = {"20newsgroups": "/data/news"}
    _, left_out = reproductions(rows, (0,), {}, news, VECTORS)
    assert set(left_out.values()) == {NO_BERT}
    configs, left_out = reproductions(rows, (0,), {}, news, {BERT_BASE: "/data/bert"})
    assert not left_out
    assert {(c.model, c.preset, c.keep) for c in configs} == {
        ("bert", "newsgroups_bert", "val_error")
    }
    assert {c.text for c in configs} == {
        TextConfig(length=128, test_length=512, bert="/data/bert", strip="headers")
    }
    assert len(configs) == len({row.method for row in rows})
    assert {m for c in configs for m in subject(c.to_json()).methods} >= {r.method for r in rows}


def test_the_epoch_kept_is_that_of_the_paper():
    """Ghosh et al., D.3: the last of 20 Newsgroups, the lowest validation error of Tiny-ImageNet.

    The others take the best of 20 Newsgroups and the last of Tiny-ImageNet.
    """
    roots = TINY | {"20newsgroups": "/data/news"}
    for paper, data, kept in (
        ("adafocal2022", "20newsgroups", "last"),
        ("adafocal2022", "tiny_imagenet", "val_error"),
        ("mukhoti2020iclr", "20newsgroups", "val_error"),
        ("komisarenko2024", "tiny_imagenet", "last"),
    ):
        rows = published(paper=paper, dataset=data)
        configs, _ = reproductions(rows, (0,), {}, roots, VECTORS)
        assert {c.keep for c in configs} == {kept}
    both = published(dataset="20newsgroups", model="gp_cnn", method="flsd_53")
    configs, _ = reproductions(both, (0,), {}, roots, VECTORS)
    assert {c.keep for c in configs} == {"last", "val_error"}


def test_another_network_is_given_once_to_the_rows_that_it_reads():
    rows = published(paper="mukhoti2020iclr", table="1")
    roots = {"20newsgroups": "/data/news"}
    configs, left_out = reproductions(rows, (0, 1), {"model": "small_cnn"}, roots)
    assert {(c.data, c.model) for c in configs} == {
        ("cifar10", "small_cnn"), ("cifar100", "small_cnn")
    }  # fmt: skip
    losses = {row.method for row in rows if row.dataset == "cifar10"}
    assert len(configs) == len({c.digest for c in configs}) == 2 * 2 * len(losses)
    reasons = {why for row, why in left_out.items() if row.model == "gp_cnn"}
    assert reasons == {"The chosen network does not read texts"}
    configs, left_out = reproductions(rows, (0,), {"model": "text_mean"}, roots, VECTORS)
    assert {c.data for c in configs} == {"20newsgroups"}
    assert "The chosen network does not read images" in left_out.values()


def test_a_table_with_too_many_seeds_is_refused():
    rows = published(paper="komisarenko2024", table="1")
    with pytest.raises(UsageError, match="108 trainings at once"):
        reproductions(rows, range(6), {}, TINY)


def test_a_sweep_meets_every_seed_and_names_its_values():
    focal = from_json(FIRST | {"loss": {"name": "focal"}})
    values = sweep("loss.gamma = 1, 2.5; optimizer.lr = 0.1,0.05 ", "focal")
    assert values == {"loss.gamma": (1.0, 2.5), "optimizer.lr": (0.1, 0.05)}
    found = trainings(focal, "mine", ["ce"], (0, 1), values)
    of_focal = [
        (c.loss["gamma"], c.optimizer.lr, c.seed) for c in found if c.loss["name"] == "focal"
    ]
    assert of_focal == [(g, lr, s) for g in (1.0, 2.5) for lr in (0.1, 0.05) for s in (0, 1)]
    # other losses have no gamma, and the optimiser's values
    assert [(c.optimizer.lr, c.seed) for c in found[8:]] == [
        (0.1, 0),
        (0.1, 1),
        (0.05, 0),
        (0.05, 1),
    ]
    assert found[3].name == "mine, Focal, gamma = 1, lr = 0.05, seed 1"
    assert found[0].optimizer.momentum == focal.optimizer.momentum
    assert len({c.digest for c in found}) == len({c.name for c in found}) == 12


@pytest.mark.parametrize(
    ("optimiser", "setting", "what"),
    [
        ("adam", "momentum", "is a setting of SGD, and these are of images, by Adam"),
        (
            "sgd",
            "vectors_lr",
            "is a setting of trainings of texts by Adagrad, and these are",
        ),
        (
            "adagrad",
            "vectors_lr",
            "is a setting of trainings of texts by Adagrad, and these are",
        ),
    ],
)
def test_a_setting_that_the_optimiser_does_not_read_is_not_swept(optimiser, setting, what):
    config = from_json(FIRST | {"loss": {"name": "ce"}, "optimizer": {"name": optimiser}})
    values = sweep(f"optimizer.{setting} = 0.1, 0.2", "ce")
    with pytest.raises(UsageError, match=f"optimizer.{setting} {what}"):
        trainings(config, "", [], (0,), values)


def test_a_swept_setting_is_in_an_automatic_name_once():
    focal = from_json(FIRST | {"loss": {"name": "focal", "gamma": 1.0}})
    for named in ("", focal.name):  # of the page, and of the command
        found = trainings(focal, named, [], (0,), {"loss.gamma": (2.0, 3.0)})
        assert [one.name for one in found] == [
            "Focal, small_cnn on digits, gamma = 2", "Focal, small_cnn on digits, gamma = 3"
        ]  # fmt: skip
    mine = trainings(focal, "Focal (gamma = 1)", [], (0,), {"loss.gamma": (2.0,)})
    assert mine[0].name == "Focal (gamma = 1), gamma = 2"
    lr = trainings(focal, "", [], (0,), {"optimizer.lr": (0.1,)})
    assert lr[0].name == "Focal (gamma = 1), small_cnn on digits, lr = 0.1"


def test_whole_numbers_stay_whole():
    assert sweep("loss.n_bins=5, 10, 10", "adafocal") == {"loss.n_bins": (5, 10)}
    assert sweep("  ", "adafocal") == {}


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("loss.gamma = 1", "'loss.gamma' cannot be swept; use loss.lambda"),
        ("loss.lambda = 1; loss.lambda = 2", "loss.lambda is given twice"),
        ("optimizer.name = sgd", "cannot be swept"),
        ("loss.n_bins = 5, 7.5", "give whole numbers"),
        ("loss.lambda = many", "give numbers"),
        ("loss.lambda", "give numbers"),
    ],
)
def test_what_cannot_be_swept_is_refused(text, what):
    with pytest.raises(UsageError, match=what):
        sweep(text, "adafocal")


def test_values_of_a_sweep_out_of_range_are_refused():
    with pytest.raises(UsageError, match=r"loss\.s_th is 1\.5"):
        trainings(BASE, "", [], (0,), {"loss.s_th": (0.2, 1.5)})
    with pytest.raises(UsageError, match="104 trainings"):
        trainings(BASE, "", [], (0, 1), {"loss.lambda": range(1, 53)})
