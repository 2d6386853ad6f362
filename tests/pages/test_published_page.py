"""The Published page through app.py: story, filters in the link, runs beside, nothing to show."""

from functools import partial
from html import unescape
from pathlib import Path

import numpy as np
import pytest

from core.codes import NoticeCode
from core.configs import AuditConfig
from core.errors import Notice
from core.jobs.local import open_jobs
from core.library import SAMPLES, Library, RunSource, summarise
from core.library.history import Tables
from core.metrics.suite import audit
from core.screens.kit.numbers import MISSING
from core.studies import posthoc
from core.training.config import from_json
from core.training.estimate import Speed, basis
from core.training.submission import IMPORT, NO_BERT, NO_WORDS
from pages.ui import published
from pages.ui.jobs import machine, watch
from pages.ui.published import FIRST_RUN
from tests.core.library.builders import keep_trained, small_history
from tests.pages.seen import fine, html, opened, said, table, until

PIXELS = (NoticeCode.REENCODED, NoticeCode.CHANGED_FILES)  # said of other ones than published


@pytest.fixture
def page(home):
    return partial(opened, "published")


def sample():
    return Library(Path("unused"), SAMPLES).get(FIRST_RUN)


def test_a_fresh_home_opens_on_a_story_with_a_sample_beside(page):
    test = fine(page())
    text = said(test).replace("\u202f", " ")
    assert "ECE is 4.35 % with cross-entropy and 1.48 % with focal γ = 3" in text
    ece = sample().metrics["test"]["ece"]["value"]
    assert f"CIFAR-10 (JPEG), Cross-entropy: ECE is {100 * ece:.1f} %" in text
    assert "network Small CNN, not ResNet-50" in text
    assert "own" not in test.query_params
    assert len(table(test, "Published numbers").split("<tr")) == 1 + 1 + 10
    test.multiselect(key="widget.own").set_value([]).run()
    assert "Small CNN" not in said(fine(test))


def test_a_link_restores_every_filter(page):
    test = fine(
        page(
            data="cifar100",
            network="resnet110",
            measure="nll",
            paper="mukhoti2020iclr",
            moment="after",
            loss="ce,mmce",
            own="cifar10-adafocal",
        )
    )
    rows = table(test, "Published numbers")
    assert rows.count("Mukhoti et al. 2020") == 2
    assert "As trained" not in rows
    assert "CIFAR-10 (JPEG), AdaFocal: NLL is 0." in said(test)
    test.selectbox(key="widget.data").set_value("cifar10").run()
    assert test.query_params["network"] == "resnet110"
    assert "data" not in test.query_params
    assert "ResNet-110 on CIFAR-10" in html(fine(test))


def test_a_metric_without_counterpart_is_shown_and_never_compared(page):
    test = fine(page(network="resnet110", measure="auroc", own=FIRST_RUN))
    assert "Runs are not compared on this metric. Runs have theirs on the Out of" in said(test)
    assert "Small CNN" not in said(test)
    assert "widget.own" not in {one.key for one in test.multiselect}


def test_a_link_to_a_paper_opens_on_a_metric_of_its_own(page):
    test = fine(page(paper="komisarenko2024"))
    assert test.selectbox(key="widget.measure").value == "ece_em"
    assert "ECE is" in html(test)
    test.selectbox(key="widget.paper").set_value("mukhoti2020iclr").run()
    assert fine(test).selectbox(key="widget.measure").value == "ece_ew"
    test.selectbox(key="widget.paper").set_value("komisarenko2024").run()
    assert fine(test).selectbox(key="widget.measure").value == "ece_em"
    assert "measure" not in test.query_params
    test = fine(page(data="tiny_imagenet", network="all", paper="komisarenko2024"))
    for paper in ("adafocal2022", "fcl2024", "mukhoti2020iclr", "all", "komisarenko2024"):
        test.selectbox(key="widget.paper").set_value(paper).run()
        assert fine(test).selectbox(key="widget.paper").value == paper


def test_nothing_fits_and_the_way_back(page):
    test = fine(page(paper="komisarenko2024", moment="before", loss="ce"))
    assert "No published number fits these filters." in html(test)
    test.button(key="published.clear").click().run()
    assert "ECE is 4.35" in html(fine(test))
    assert not set(test.query_params) & {"paper", "moment", "loss"}


def test_hyperparameters_follow_the_filters(page):
    test = fine(page(paper="all", loss="focal_3"))
    (fold,) = [fold for fold in test.expander if fold.label.startswith("Hyper-parameters")]
    rows = fold.dataframe[0].value
    assert fold.label == f"Hyper-parameters in the papers: {len(rows)}"
    assert set(rows["Data"]) <= {"CIFAR-10", "All"} | {d for d in rows["Data"] if "," in d}
    assert set(rows["Network"]) == {"ResNet-50", "All"}
    assert "Focal, any γ" in set(rows["Loss"])
    assert not {"FCL", "AdaFocal", "FLSD-53"} & set(rows["Loss"])
    drops = rows[rows["Setting"] == "LR drops at epochs"]
    assert set(rows[rows["Setting"] == "Training rows"]["Value"]) == {"45,000"}
    assert set(drops["Value"]) == {"150; 250"}
    assert "Mukhoti et al. 2020, app C, D" in set(drops["Source"])
    assert not [f for f in page(plain="true").expander if f.label.startswith("Hyper")]


def test_a_run_of_an_id_that_was_there_before_is_read_anew(home):
    library = Library(home, SAMPLES)
    config = {"data": "cifar10", "model": "resnet50_cifar", "loss": {"name": "ce"}}

    def keep(seed: int, n_epochs: int) -> None:
        made = from_json(config | {"seed": seed}).to_json()
        tables = {"metrics": small_history(n_epochs), "bins": None}
        keep_trained(
            library, "mine", {"test": library.load(FIRST_RUN, "test")}, config=made, **tables
        )

    def read() -> tuple[int, int]:
        history = watch.history_of_run("mine")
        return published._recipes()["mine"][1], len(history.epoch)

    keep(seed=1, n_epochs=2)
    assert read() == (1, 4)
    library.delete("mine")
    assert "mine" not in published._recipes()
    assert watch.history_of_run("mine") is None
    keep(seed=2, n_epochs=3)
    assert read() == (2, 6)


@pytest.mark.nightly
def test_a_training_of_ones_own_is_named_in_its_row(page, home):
    library = Library(home, SAMPLES)
    rows, validation = library.load(FIRST_RUN, "test"), library.load(FIRST_RUN, "val")
    config = {"data": "cifar10", "model": "resnet50_cifar", "loss": {"name": "flsd_53"}}
    config["preset"] = "cifar"

    def keep(name, **settings):
        library.keep(
            name,
            {"test": rows, "val": validation},
            source=RunSource("x", "0" * 32),
            summary={"test": summarise(audit(rows, AuditConfig(metrics=("accuracy", "ece"))))},
            config=from_json(config | settings).to_json(),
            environment={},
            kind="train",
            tables=Tables(small_history()),
            run_id=name.split()[0].lower(),
            notices=[Notice(code, "so") for code in PIXELS] if "epochs" in settings else [],
        )

    keep("Tried FLSD", epochs=2, model="small_cnn")
    keep("My FLSD")
    keep("Short FLSD", epochs=1, n_train=500)  # newer, and not as the papers trained
    row = table(fine(page()), "Published numbers").split("FLSD-53")[1].split("</tr>")[0]
    assert "yes: My FLSD" in row
    metrics = sample().metrics["test"]
    assert f"ECE {100 * metrics['ece']['value']:.1f} (" in row
    assert f"accuracy {100 * metrics['accuracy']:.1f}" in row
    test = page(data="cifar10", network="resnet50", paper="komisarenko2024", measure="accuracy")
    test.toggle(key="published.results").set_value(True).run()

    def frame_here():
        (fold,) = [fold for fold in test.expander if fold.label.startswith("Train a table")]
        frame = fold.dataframe[0].value
        return frame[(frame["Data"] == "CIFAR-10") & frame["Source"].str.startswith("here")]

    # its focal temperatures are fitted in a process, one for each metric
    until(test, lambda: MISSING not in frame_here().to_numpy())
    frame = frame_here()
    assert list(frame["Loss"]) == ["FLSD-53", "+ γ"]
    # the paper's nine gammas and 500 T, by NLL in the column of NLL
    fit = posthoc.fit("focal_ts", validation, search="komisarenko").calibrator
    log_p = np.log(fit.predict_proba(rows.scores)[np.arange(rows.n), rows.labels])
    here = f"{-log_p.mean():.2f} ({fit.temperature_:.2f}; γ = {fit.gamma_:g})"
    assert list(frame["NLL"])[1].replace("\u2212", "-") == here
    assert "focal temperature scaling, T = 0.01, 0.02, …, 5.00, nine γ, by" in said(test)
    test = page(data="cifar10", network="resnet50", paper="mukhoti2020iclr", measure="ece")
    test.selectbox(key="published.table").set_value(("mukhoti2020iclr", "1")).run()
    row = ("cifar10", "resnet50", "flsd_53", "mukhoti2020iclr")
    test.multiselect(key="published.rows").set_value([row])
    test.toggle(key="published.results").set_value(True).run()
    (fold,) = [fold for fold in test.expander if fold.label.startswith("Train a table")]
    here = fold.dataframe[0].value["ECE, equal width, as trained"].to_list()[1:]
    assert here == [f"{100 * metrics['ece']['value']:.2f}"]
    assert "over seeds, T in brackets. Runs with the settings of the paper. Fitted" in said(test)
    assert "saw JPEGs" not in said(test)
    assert "Some of these runs read" not in said(test)
    test.selectbox(key="published.own_network").set_value("small_cnn").run()
    (fold,) = [fold for fold in test.expander if fold.label.startswith("Train a table")]
    assert fold.dataframe[0].value["Source"].to_list() == ["paper"]
    test.number_input(key="published.epochs").set_value(2).run()
    (fold,) = [fold for fold in test.expander if fold.label.startswith("Train a table")]
    assert fold.dataframe[0].value["ECE, equal width, as trained"].to_list()[1:] == here
    assert "of the paper but Small CNN and 2 epochs. They do not reproduce it." in said(test)
    assert "saw JPEGs" in said(test)
    assert "read files that are not the published ones" in said(test)


def test_a_table_is_trained_with_the_papers_recipe_at_once(page):
    open_jobs().pause()
    test = fine(page(data="cifar10", network="resnet50", paper="komisarenko2024", measure="ece_em"))
    rows = test.multiselect(key="published.rows")
    focal = [option for option in rows.options if "CIFAR-10 ·" in option and "· Focal" in option]
    assert focal == [f"CIFAR-10 · ResNet-50 · Focal γ = {gamma}" for gamma in (1, 3, 7)]
    place, paper = ("cifar10", "resnet50"), "komisarenko2024"
    rows.set_value([(*place, f"focal_{gamma}", paper) for gamma in (1, 7)]).run()
    assert test.text_input(key="published.seeds.4").value == "0, 1, 2, 3, 4"  # section 5.1
    test.text_input(key="published.seeds.4").set_value("0, 1").run()
    jobs = open_jobs()
    first = from_json(
        {"data": "cifar10", "model": "resnet50_cifar", "preset": "cifar"}
        | {"loss": {"name": "focal", "gamma": 1.0}}
    )
    speed = Speed(
        device="cpu",
        trained=45_000.0,
        evaluated=15_000.0,
        start_s=0.0,
        epoch_s=0.0,
        checkpoint_s=0.0,
    )
    machine.speeds().put(basis(first).digest, speed)
    test = fine(test.run())
    assert "**The first of 4: about" in " ".join(one.value for one in test.markdown)
    assert test.button(key="published.submit").label == "Train 4"
    test.button(key="published.submit").click().run()
    configs = [jobs.config(job.id) for job in jobs.list()]
    kinds = {(c.model, c.loss["gamma"], c.seed, c.epochs) for c in configs}
    assert kinds == {("resnet50_cifar", g, seed, 350) for g in (1.0, 7.0) for seed in (0, 1)}
    assert "4 trainings queued or running." in [one.value for one in fine(test).markdown]
    assert "job" not in test.query_params
    assert "published.submit" not in {button.key for button in test.button}
    test.text_input(key="published.seeds.4").set_value("1, 2").run()
    assert test.button(key="published.submit").label == "Train 2"
    test.text_input(key="published.seeds.4").set_value("many").run()
    assert "Seeds are" in test.error[0].value


def test_each_data_set_of_the_rows_has_its_folder(page, tmp_path, monkeypatch):
    monkeypatch.setenv(IMPORT, str(tmp_path))
    open_jobs().pause()
    test = fine(page(data="cifar10", network="resnet50", paper="komisarenko2024", measure="ece_em"))
    place = ("resnet50", "focal_1", "komisarenko2024")
    rows = [(data, *place) for data in ("cifar10", "tiny_imagenet")]
    test.multiselect(key="published.rows").set_value(rows).run()
    test.text_input(key="published.seeds.4").set_value("0").run()
    assert test.button(key="published.submit").label == "Train"
    left_out = "No folder is entered: Tiny-ImageNet · ResNet-50 · Focal γ = 1."
    assert left_out in html(fine(test))
    test.text_input(key="published.root.tiny_imagenet").set_value(str(tmp_path)).run()
    assert left_out not in html(fine(test))
    test.button(key="published.submit").click().run()
    jobs = open_jobs()
    configs = [jobs.config(job.id) for job in jobs.list()]
    assert {c.data: c.data_root for c in configs} == {
        "cifar10": None, "tiny_imagenet": str(tmp_path)
    }  # fmt: skip


def test_tables_of_texts_have_a_field_for_word_vectors(page, tmp_path, monkeypatch):
    monkeypatch.setenv(IMPORT, str(tmp_path))
    open_jobs().pause()
    vectors = str(tmp_path / "glove.txt")
    test = fine(page(data="20newsgroups", network="gp_cnn", paper="fcl2024"))
    row = ("20newsgroups", "gp_cnn", "fcl", "fcl2024")
    test.multiselect(key="published.rows").set_value([row]).run()
    test.text_input(key="published.root.20newsgroups").set_value(str(tmp_path)).run()
    assert NO_WORDS in unescape(html(fine(test)))
    assert "published.submit" not in {button.key for button in test.button}
    test.text_input(key="published.begins.glove.6B.100d.txt").set_value("/etc/passwd").run()
    assert "outside the folders" in test.error[0].value
    test.text_input(key="published.begins.glove.6B.100d.txt").set_value(vectors).run()
    fine(test).button(key="published.submit").click().run()
    jobs = open_jobs()
    (config,) = (jobs.config(job.id) for job in jobs.list())
    assert (config.model, config.text.embeddings) == ("text_cnn_released", vectors)


def test_tables_of_bert_have_a_field_for_its_folder(page, tmp_path, monkeypatch):
    monkeypatch.setenv(IMPORT, str(tmp_path))
    open_jobs().pause()
    test = fine(page(data="20newsgroups", network="bert_base_uncased", paper="adafocal2022"))
    row = ("20newsgroups", "bert_base_uncased", "adafocal", "adafocal2022")
    test.multiselect(key="published.rows").set_value([row]).run()
    test.text_input(key="published.root.20newsgroups").set_value(str(tmp_path)).run()
    assert NO_BERT in unescape(html(fine(test)))
    assert "published.begins.glove.6B.100d.txt" not in {field.key for field in test.text_input}
    test.text_input(key="published.begins.bert-base-uncased").set_value(str(tmp_path)).run()
    fine(test).button(key="published.submit").click().run()
    (config,) = (open_jobs().config(job.id) for job in open_jobs().list())
    assert (config.model, config.text.bert) == ("bert", str(tmp_path))


def test_what_another_tab_has_queued_is_not_queued_twice(page):
    open_jobs().pause()
    link = {"data": "cifar10", "network": "resnet50", "paper": "komisarenko2024"}
    tabs = [fine(page(measure="ece_em", **link)) for _ in range(2)]
    for test in tabs:
        row = ("cifar10", "resnet50", "focal_1", "komisarenko2024")
        test.multiselect(key="published.rows").set_value([row]).run()
        test.text_input(key="published.seeds.4").set_value("0").run()
    for test in tabs:
        test.button(key="published.submit").click().run()
        assert "1 training queued or running." in [one.value for one in fine(test).markdown]
    assert len(open_jobs().list()) == 1
