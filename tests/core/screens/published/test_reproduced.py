"""A paper's table with runs under each printed row, by hand."""

from dataclasses import replace

import pytest

from core.metrics.records import Score
from core.published import FitProtocol, protocol, published
from core.reports.tables import latex_table
from core.screens.kit.numbers import MISSING
from core.screens.kit.records import Column, Table
from core.screens.published.view import (
    corrected,
    printed,
    recipe,
    repetitions,
    reproduced_table,
    trained,
)
from core.studies.published import FittedScore, OwnNumbers
from core.training.config import from_json

ROWS = published(paper="komisarenko2024", table="1")
FOCAL = ("cifar10", "resnet50", "focal_3", "komisarenko2024")


def number(metric, posthoc):
    (row,) = published(
        paper="komisarenko2024", table="1", dataset=FOCAL[0], method=FOCAL[2],
        metric=metric, posthoc=posthoc,
    )  # fmt: skip
    return row


SCORE = Score("ada_ece", 0.0, None, None, 0.95, 10_000)


def run(value, temperature):
    score = replace(SCORE, value=value)
    return OwnNumbers(before=score, after={"ts": FittedScore(score=score, temperature=temperature)})


def focal_run(value, temperature, gamma):
    score = replace(SCORE, value=value)
    return OwnNumbers(
        after={"focal_ts": FittedScore(score=score, temperature=temperature, gamma=gamma)}
    )


def test_printed_cells_are_those_of_the_paper():
    assert printed(number("ece_em", "ts")) == "1.48 ± 0.25 (0.77)"
    assert printed(number("nll", "focal_ts")) == "0.20 ± 0.01 (1.83)"
    assert printed(number("accuracy", "ts")) == "94.3 ± 0.3"


def test_runs_have_mean_and_sample_deviation_with_the_mean_temperature():
    runs = [run(0.010, 0.7), run(0.012, 0.8), run(0.017, 0.9)]
    # of 1.0, 1.2 and 1.7: mean 1.3, squares .09 + .01 + .16 over 2
    assert trained(runs, number("ece_em", "ts")) == "1.30 ± 0.36 (0.80)"
    assert trained(runs[:1], number("ece_em", "ts")) == "1.00 (0.70)"
    assert trained([run(0.25, 1.0)], number("nll", "ts")) == "0.25 (1.00)"
    assert trained([None, *runs[:1]], number("ece_em", "ts")) == "1.00 (0.70; 1 of 2 seeds)"
    assert trained([None, *runs[:1]], number("accuracy", "ts")) == "1.0 (1 of 2 seeds)"
    assert trained(runs, number("ece_em", "focal_ts")) == MISSING
    assert trained([], number("ece_em", "ts")) == MISSING
    assert trained([None, OwnNumbers(why="no rows")], number("ece_em", "ts")) == "no rows"


def test_gammas_are_those_that_were_tried():
    runs = [focal_run(0.010, 1.2, 0.37), focal_run(0.014, 1.1, -0.25), focal_run(0.012, 1.3, 0.37)]
    # mean 1.2, deviation sqrt((.04 + .04) / 2); no seed has the mean of the gammas
    assert trained(runs, number("ece_em", "focal_ts")) == (
        "1.20 ± 0.20 (1.20; γ = \u22120.25, 0.37, 0.37)"
    )
    assert trained(runs[::2], number("ece_em", "focal_ts")) == "1.10 ± 0.14 (1.25; γ = 0.37)"


@pytest.mark.parametrize(
    ("paper", "table", "metric", "posthoc", "objective", "search"),
    [
        ("komisarenko2024", "1", "ece_em", "ts", "ada_ece", "komisarenko"),
        ("komisarenko2024", "1", "nll", "focal_ts", "nll", "komisarenko"),  # section 5.1
        ("mukhoti2020iclr", "1", "ece_ew", "ts", "ece", "mukhoti"),
        ("mukhoti2020iclr", "2", "ece_em", "ts", "ada_ece", "mukhoti"),
        ("mukhoti2020iclr", "11", "nll", "ts", "ece", "mukhoti"),  # "cross validated on ECE"
        ("fcl2024", "6", "ece_em", "ts", "ece", "mukhoti"),  # the T of ECE for other metrics
        ("adafocal2022", "1", "ece_em", "ts", "ada_ece", "mukhoti"),
        ("adafocal2022", "6", "ece_sweep_em", "ts", "ece", "mukhoti"),  # below the table
        ("adafocal2022", "3", "ece_ew", "ets", "brier", "exact"),
    ],
)
def test_calibrators_are_fitted_as_the_papers_say(paper, table, metric, posthoc, objective, search):
    rows = published(paper=paper, table=table, metric=metric, posthoc=posthoc)
    assert {protocol(row) for row in rows} == {FitProtocol(objective, search)}


def test_calibrators_are_those_of_the_paper_with_the_most_numbers_of_them():
    of_all = published(dataset="cifar10", model="resnet50", metric="ece_em")
    assert next(row.paper for row in of_all if row.posthoc == "ts") == "komisarenko2024"
    after = published(
        paper="mukhoti2020iclr", dataset="cifar10", model="resnet50", metric="ece_em", posthoc="ts"
    )
    assert corrected(of_all) == list(after)


def test_only_runs_of_the_papers_recipe_repeat_it_one_a_seed():
    given = {"data": "cifar10", "model": "resnet50_cifar", "preset": "cifar"}
    focal = given | {"loss": {"name": "focal", "gamma": 3.0}}
    configs = {
        "newest": focal | {"name": "again", "data_root": "/data", "device": "cpu"},
        "seed 1": focal | {"seed": 1},
        "older": focal,
        "own values": from_json(focal).to_json() | {"seed": 2, "preset": None},
        "one epoch": focal | {"seed": 3, "epochs": 1},
        "few images": focal | {"seed": 4, "n_train": 500},
        "not augmented": focal | {"seed": 5, "augment": False},
        "two GPUs": focal | {"seed": 7, "devices": 2, "sync_batch_norm": True},
        "statistics a GPU": focal | {"seed": 8, "devices": 2},
        "another gamma": focal | {"seed": 6, "loss": {"name": "focal", "gamma": 2.0}},
    }
    recipes = {name: recipe(from_json(config).to_json()) for name, config in configs.items()}
    assert repetitions(ROWS, recipes)[FOCAL] == ("newest", "seed 1", "own values", "two GPUs")
    assert repetitions(ROWS, recipes, {"epochs": 1})[FOCAL] == ("one epoch",)
    assert recipe(None) is None
    assert recipe({"data": "cifar10", "weights": {"run": "older"}}) is None


def test_runs_of_texts_without_word_vectors_or_of_another_epoch_do_not_repeat_a_row():
    given = {
        "data": "20newsgroups", "model": "text_cnn_released", "loss": {"name": "ce"},
        "preset": "newsgroups_released", "data_root": "/news",
    }  # fmt: skip
    last = given | {"text": {"embeddings": "/data/glove.txt"}, "keep": "last"}
    configs = {
        "drawn": given | {"keep": "last"},
        "last": last,
        "best": last | {"seed": 1, "keep": "val_error"},
    }
    recipes = {name: recipe(from_json(config).to_json()) for name, config in configs.items()}
    rows = published(dataset="20newsgroups", model="gp_cnn", method="ce")
    found = repetitions(rows, recipes)
    place = ("20newsgroups", "gp_cnn", "ce")
    assert found[(*place, "adafocal2022")] == ("last",)
    assert found[(*place, "mukhoti2020iclr")] == ("best",)


def test_a_table_of_two_moments_has_a_column_of_each():
    rows = published(paper="mukhoti2020iclr", table="1")
    place = ("cifar10", "resnet50", "ce", "mukhoti2020iclr")
    table = reproduced_table(rows, {(place, "ece_ew"): [run(0.01, 2.5)]})
    assert [column.label for column in table.columns] == [
        "Data", "Network", "Loss", "Source",
        "ECE, equal width, as trained", "ECE, equal width, after temperature",
    ]  # fmt: skip
    assert len(table.rows) == 10 * 4 + 1  # the last has what was trained
    assert [
        row[2:] for row in table.rows if row[:3] == ("CIFAR-10", "ResNet-50", "Cross-entropy")
    ] == [
        ("Cross-entropy", "paper", "4.35", "1.35 (2.50)"),
        ("Cross-entropy", "here, n = 1", "1.00", "1.00 (2.50)"),
    ]


def test_a_loss_has_its_base_row_and_its_gamma_row_as_printed():
    """Cross-entropy on CIFAR-10 in table 1 of Komisarenko and Kull, and three seeds of it."""
    place = ("cifar10", "resnet50", "ce", "komisarenko2024")
    values = {  # of three seeds: after temperature, and after focal temperature
        "accuracy": [(0.947, 0.948), (0.950, 0.950), (0.953, 0.952)],
        "nll": [(0.15, 0.16), (0.17, 0.18), (0.19, 0.20)],
        "ece_em": [(0.0100, 0.0050), (0.0110, 0.0070), (0.0120, 0.0090)],
    }
    own = {}
    for metric, (*seeds,) in values.items():
        own[place, metric] = []
        for k, (base, gamma) in enumerate(seeds):
            ts = FittedScore(score=replace(SCORE, value=base), temperature=1.5 + k / 10)
            focal = FittedScore(
                score=replace(SCORE, value=gamma),
                temperature=2.0 + k / 10,
                gamma=(1.0, 0.75, 1.0)[k],
            )
            own[place, metric].append(OwnNumbers(after={"ts": ts, "focal_ts": focal}))
    table = reproduced_table(ROWS, own)
    heads = ["Data", "Loss", "Source", "Accuracy", "NLL", "ECE, equal mass"]
    assert [column.label for column in table.columns] == heads
    assert len(table.rows) == 3 * 6 * 2 + 2
    at = table.rows.index(
        ("CIFAR-10", "Cross-entropy", "paper", "95.0 ± 0.1", "0.16 ± 0.00 (1.59)",
         "1.03 ± 0.17 (1.72)")
    )  # fmt: skip
    # Means of T: 1.5, 1.6, 1.7 and 2.0, 2.1, 2.2
    gammas = "γ = 0.75, 1, 1"
    assert table.rows[at + 1 : at + 5] == (
        ("CIFAR-10", "Cross-entropy", "here, n = 3", "95.0 ± 0.3", "0.17 ± 0.02 (1.60)",
         "1.10 ± 0.10 (1.60)"),
        ("CIFAR-10", "+ γ = 1", "paper", "95.0 ± 0.1", "0.17 ± 0.01 (2.20)", "0.71 ± 0.16 (2.36)"),
        ("CIFAR-10", "+ γ", "here, n = 3", "95.0 ± 0.2", f"0.18 ± 0.02 (2.10; {gammas})",
         f"0.70 ± 0.20 (2.10; {gammas})"),
        ("CIFAR-10", "Focal γ = 1", "paper", "95.0 ± 0.1", "0.17 ± 0.01 (1.05)",
         "1.05 ± 0.25 (1.13)"),
    )  # fmt: skip
    lines = latex_table(table).splitlines()
    assert lines[0] == r"\begin{tabular}{lrrrrr}"
    assert r"CIFAR-10 & + $\gamma$ = 1 & paper & 95.0 $\pm$ 0.1" in lines[4 + at + 2]


def test_latex_is_a_plain_tabular():
    table = Table((Column("a", "Loss"), Column("b", "ECE, %")), (("Focal γ = 3", "1.48 ± 0.25"),))
    assert latex_table(table).splitlines() == [
        r"\begin{tabular}{lr}",
        r"\hline",
        r"Loss & ECE, \% \\",
        r"\hline",
        r"Focal $\gamma$ = 3 & 1.48 $\pm$ 0.25 \\",
        r"\hline",
        r"\end{tabular}",
    ]
