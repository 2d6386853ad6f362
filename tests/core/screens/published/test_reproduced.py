"""A paper's table with runs beside each printed cell, by hand."""

from dataclasses import replace

import pytest

from core.metrics.records import Score
from core.published import Protocol, protocol, published
from core.reports.compare_text import latex_table
from core.screens.kit.numbers import MISSING
from core.screens.kit.records import Column, Table
from core.screens.published.reproduced import (
    corrected,
    fitted_as,
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
    assert printed(number("ece_em", "ts")) == "1.48 ± 0.25 (T = 0.77)"
    assert printed(number("nll", "focal_ts")) == "0.20 ± 0.01 (T = 1.83, γ = 5)"
    assert printed(number("accuracy", "ts")) == "94.3 ± 0.3"


def test_runs_have_mean_and_sample_deviation_with_the_mean_temperature():
    runs = [run(0.010, 0.7), run(0.012, 0.8), run(0.017, 0.9)]
    # of 1.0, 1.2 and 1.7: mean 1.3, squares .09 + .01 + .16 over 2
    assert trained(runs, number("ece_em", "ts")) == "1.30 ± 0.36 (T = 0.80, n = 3)"
    assert trained(runs[:1], number("ece_em", "ts")) == "1.00 (T = 0.70, n = 1)"
    assert trained([run(0.25, 1.0)], number("nll", "ts")) == "0.25 (T = 1.00, n = 1)"
    assert trained([None, *runs[:1]], number("ece_em", "ts")) == "1.00 (T = 0.70, 1 of 2 seeds)"
    assert trained(runs, number("ece_em", "focal_ts")) == MISSING
    focal = [focal_run(0.010, 1.2, 0.37), focal_run(0.014, 1.1, 0.25)]
    # mean 1.2, deviation sqrt(.04 + .04); gammas .37 and .25 have the mean .31
    assert trained(focal, number("ece_em", "focal_ts")) == (
        "1.20 ± 0.28 (T = 1.15, γ = 0.31, n = 2)"
    )
    assert trained([], number("ece_em", "ts")) == MISSING
    assert trained([None, OwnNumbers(why="no rows")], number("ece_em", "ts")) == "no rows"


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
    assert {protocol(row) for row in rows} == {Protocol(objective, search)}


def test_how_a_table_is_fitted_is_said():
    fine = "T = 0.01, 0.02, …, 5.00"
    assert fitted_as(ROWS) == (
        "Fitted on the validation part as in Komisarenko and Kull 2024: "
        f"temperature, {fine}, by ECE of equal mass or NLL; "
        f"focal temperature, {fine}, nine γ, by ECE of equal mass or NLL."
    )
    assert fitted_as(published(paper="adafocal2022", table="3")).endswith(
        "as in Ghosh et al. 2022: ensemble temperature by Brier score, as in its released code."
    )
    assert fitted_as(published(paper="mukhoti2020iclr", table="3")) == ""


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


def test_the_table_has_a_column_here_beside_each_of_the_paper():
    table = reproduced_table(ROWS, {(FOCAL, "ece_em"): [run(0.01, 0.7)]})
    assert len(table.rows) == 3 * 6
    labels = [column.label for column in table.columns]
    assert len(set(labels)) == len(labels)
    keys = [column.key for column in table.columns]
    (line,) = [row for row in table.rows if row[:3] == ("CIFAR-10", "ResNet-50", "Focal γ = 3")]
    at = keys.index("ece_em.ts.paper")
    assert line[at : at + 2] == ("1.48 ± 0.25 (T = 0.77)", "1.00 (T = 0.70, n = 1)")
    assert line[keys.index("nll.ts.here")] == MISSING


def test_a_loss_has_its_base_row_and_its_gamma_row_beside_the_printed_cells():
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
                gamma=(0.75, 1.0, 1.0)[k],
            )
            own[place, metric].append(OwnNumbers(after={"ts": ts, "focal_ts": focal}))
    table = reproduced_table(ROWS, own)
    (line,) = [row for row in table.rows if row[:3] == ("CIFAR-10", "ResNet-50", "Cross-entropy")]
    cells = dict(zip([column.key for column in table.columns], line, strict=True))
    base, gamma = (
        [(cells[f"{m}.{fit}.paper"], cells[f"{m}.{fit}.here"]) for m in values]
        for fit in ("ts", "focal_ts")
    )
    # Means of T: 1.5, 1.6, 1.7 and 2.0, 2.1, 2.2; of gamma 2.75 / 3
    assert base == [
        ("95.0 ± 0.1", "95.0 ± 0.3 (T = 1.60, n = 3)"),
        ("0.16 ± 0.00 (T = 1.59)", "0.17 ± 0.02 (T = 1.60, n = 3)"),
        ("1.03 ± 0.17 (T = 1.72)", "1.10 ± 0.10 (T = 1.60, n = 3)"),
    ]
    assert gamma == [
        ("95.0 ± 0.1 (γ = 1)", "95.0 ± 0.2 (T = 2.10, γ = 0.92, n = 3)"),
        ("0.17 ± 0.01 (T = 2.20, γ = 1)", "0.18 ± 0.02 (T = 2.10, γ = 0.92, n = 3)"),
        ("0.71 ± 0.16 (T = 2.36, γ = 1)", "0.70 ± 0.20 (T = 2.10, γ = 0.92, n = 3)"),
    ]


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
