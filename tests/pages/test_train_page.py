"""The Train page through app.py: one click, the form, the queue, and jobs in every state."""

import json
import os
from dataclasses import replace
from functools import partial
from html import unescape

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from core.errors import LostWorker, UsageError
from core.jobs.local import open_jobs
from core.jobs.records import Failure, Job, JobState
from core.jobs.store import JobStore
from core.losses.catalogue import LOSSES
from core.models import names
from core.process_identity import identity
from core.screens.gamma.view import training_bins_cards
from core.training.config import from_json
from core.training.distributions import learned_logits
from core.training.estimate import Speed, basis
from core.training.folder import JobFolder, Progress, write_progress
from core.training.submission import FIRST
from pages.ui import task
from pages.ui.jobs import machine
from pages.ui.task import Work
from pages.ui.train.form import FORM
from pages.ui.weights_source import weights_of
from tests.core.library.builders import keep_trained
from tests.pages.seen import fine, html, opened

pytestmark = pytest.mark.usefixtures("paused")
CONFIG = from_json(FIRST)
HOSTILE = "**b** ![x](http://x/y) <script> :red[r]"
EVENT = {"event": "epoch", "metrics": {"val_error": 0.021, "val_ece": 0.034, "val_nll": None}}


@pytest.fixture
def page(home):
    return partial(opened, "train")


@pytest.fixture
def keep(home):
    """Return a function that puts a job of some state into the table, with epochs recorded."""

    def kept(job_id, state=JobState.QUEUED, n_epochs=0, config=CONFIG, **changes):
        folder = JobFolder.make(home / "jobs" / job_id, replace(config, name=config.name))
        lines = [json.dumps(EVENT | {"epoch": epoch, "bins": []}) for epoch in range(n_epochs)]
        (folder.path / "events.jsonl").write_text("".join(f"{line}\n" for line in lines))
        times = {} if state is JobState.QUEUED else {"started": 10.0}
        times |= {"ended": 62.0} if state.ended else {}
        job = Job(job_id, "train", config.name, f"g{job_id}", config.digest, 5.0, state=state)
        (added,) = JobStore(home).add([replace(job, **(times | changes))])
        return added

    return kept


def test_trainings_of_one_submission_lead_to_compare_once_all_have_ended(page, keep, library):
    for name in ("first", "second"):
        keep_trained(library, name)
        keep(name, JobState.SUCCEEDED, run=name, group="sweep")
    links = [link.proto for link in fine(page()).get("page_link")]
    (link,) = (one for one in links if one.label == "Compare by setting")
    assert link.query_string == "runs=first%2Csecond&way=sweep"
    library.delete("second")
    assert not any("Compare by" in link.proto.label for link in fine(page()).get("page_link"))
    library.restore("second")
    keep("third", group="sweep")
    assert not any("Compare by" in link.proto.label for link in fine(page()).get("page_link"))


def buttons(test: AppTest) -> list[str]:
    return [button.label for button in test.button]


def links(test: AppTest) -> dict[str, str]:
    """Return what the links on the page itself say, and the query they carry."""
    return {unescape(link.label): link.proto.query_string for link in test.main.page_link}


def test_one_click_queues_adafocal_on_digits_and_opens_it(page):
    test = fine(page().button(key="train.first_one").click().run())
    (job,) = open_jobs().list()
    assert open_jobs().config(job.id) == CONFIG
    assert CONFIG.loss["name"] == "adafocal"
    assert test.query_params["job"] in (job.id, [job.id])
    assert "is waiting, the queue is paused." in html(test)
    test.button(key="job.stop").click().run()
    assert open_jobs().get(job.id).state is JobState.CANCELLED
    assert "was stopped before the end of its first epoch" in html(test)


def test_the_form_begins_with_what_the_click_trains(page):
    test = page()
    test.button(key="train.submit").click().run()
    (job,) = open_jobs().list()
    assert open_jobs().config(job.id) == CONFIG


def round_trip():  # runs as a script of its own
    import json

    import streamlit as st

    from core.training.config import from_json
    from pages.ui.train import form

    for text in st.session_state["configs"]:
        config = from_json(json.loads(text))
        form.fill(config)
        (found,) = form.submitted()
        assert found == config, (found, config)
    st.text("all came back")


def test_every_config_comes_back_from_the_form_as_it_went_in(home, monkeypatch):
    monkeypatch.setenv("CANDOR_IMPORT", "/data")
    plain = {"data": "cifar10", "model": "resnet50_cifar"}
    configs = [plain | {"loss": {"name": name}} for name in LOSSES]
    configs += [
        plain | {"loss": {"name": name, **preset.settings}}
        for name, entry in LOSSES.items()
        for preset in entry.presets.values()
    ]
    ce = {"loss": {"name": "ce"}}
    configs += [
        plain | ce | {"preset": "cifar"},
        plain | ce | {"preset": "tiny_imagenet", "epochs": 7, "name": "of my own"},
        plain | ce | {"model": "timm:resnet18", "seed": 2**53, "n_train": 12, "clip_norm": 2},
        plain | ce | {"data": "folder", "data_root": "/data/x", "device": "cuda", "devices": 2},
        plain | ce | {"optimizer": {"name": "adamw", "lr": 3e-4}, "schedule": {"name": "cosine"}},
        plain | ce | {"schedule": {"drops": [1 / 3, 2 / 3], "factor": 1}, "deterministic": True},
        plain | ce | {"schedule": {"drops": []}, "precision": "bf16", "split_seed": 4},
        plain | {"data": "digits", "loss": {"name": "fcl", "two_sided": True}, "augment": False},
        ce | {"data": "sst2", "model": "text_mean", "data_root": "/data/sst2"},
        ce | {"data": "sst_binary", "model": "tree_lstm", "data_root": "/data/t", "preset": "sst"},
        ce
        | {
            "data": "20newsgroups",
            "model": "text_cnn",
            "data_root": "/data/n",
            "preset": "newsgroups",
        }
        | {
            "text": {"left_out": ["sci.med", "sci.space"], "embeddings": "/data/g.txt", "length": 9}
        },
    ]
    test = AppTest.from_function(round_trip, default_timeout=600)
    test.session_state["configs"] = [json.dumps(from_json(one).to_json()) for one in configs]
    test.run()
    assert test.text[0].value == "all came back"


def test_parameters_of_a_loss_follow_it_with_defaults_ranges_and_presets(page):
    test = page()
    assert test.number_input(key="train.loss.adafocal.gamma_max").value == 20.0
    assert test.selectbox(key="train.values.adafocal").value == "paper"
    assert "Allowed: −20 to 0." in test.number_input(key="train.loss.adafocal.gamma_min").help
    test.selectbox(key="train.loss").set_value("focal").run()
    gamma = test.number_input(key="train.loss.focal.gamma")
    assert (gamma.value, gamma.min, gamma.max) == (3.0, 0.0, 100.0)
    test.selectbox(key="train.values.focal").set_value("gamma_5").run()
    assert test.number_input(key="train.loss.focal.gamma").value == 5.0
    assert "Komisarenko and Kull 2024" in html(test)
    test.number_input(key="train.loss.focal.gamma").set_value(4.5).run()
    assert test.selectbox(key="train.values.focal").value == "own"
    test.button(key="train.submit").click().run()
    (job,) = open_jobs().list()
    assert open_jobs().config(job.id).loss == {"name": "focal", "gamma": 4.5}


SUMMED_UP = [
    ({}, "150 epochs, seed 0. AdaFocal, preset “As in the tables”."),
    ({"epochs": 1, "seed": 7, "loss": {"name": "ce"}}, "1 epoch, seed 7. Cross-entropy."),
    ({"loss": {"name": "focal", "gamma": 4.5}}, "150 epochs, seed 0. Focal, γ 4.5."),
    (
        {"epochs": 1000, "loss": {"name": "adafocal", "gamma_max": 1e6, "update_every": 1000}},
        "1,000 epochs, seed 0. AdaFocal, λ 1, γ max 1,000,000, γ min −2, S_th 0.2, Bins 15, "
        "Update every 1,000 batches.",
    ),
    (
        {"loss": {"name": "calfocal_1", "lambda": 0.05}},
        "CalFocal, case 1, λ 0.05, Bins 15, Update every epoch.",
    ),
    (
        {"loss": {"name": "fcl", "gamma": 2.5, "two_sided": True}},
        "FCL, γ 2.5, λ 0.5, Both outcomes on.",
    ),
    ({"loss": {"name": "fcl", "gamma": 2.5}}, "FCL, γ 2.5, λ 0.5, Both outcomes off."),
]


def summed_up():  # runs as a script of its own
    import json

    import streamlit as st

    from core.training.config import from_json
    from pages.ui.train import form

    for text in st.session_state["configs"]:
        form.fill(from_json(json.loads(text)))
        st.text(form._standing())


def test_what_is_folded_is_summed_up_in_one_line(home):
    test = AppTest.from_function(summed_up, default_timeout=600)
    test.session_state["configs"] = [json.dumps(FIRST | changes) for changes, _ in SUMMED_UP]
    test.run()
    for line, (_, summary) in zip(test.text, SUMMED_UP, strict=True):
        assert line.value.endswith(summary)


def test_the_line_over_the_folds_says_that_there_is_no_seed(page):
    test = page()
    test.text_input(key="train.seeds").set_value("").run()
    assert "150 epochs, no seed. AdaFocal" in html(test)


def test_a_word_or_a_number_can_be_given_where_both_may_stand(page):
    test = page()
    key = "train.loss.adafocal.update_every"
    test.selectbox(key=f"{key}.word").set_value("number").run()
    assert "preset “Update every batch”" in unescape(html(fine(test)))
    test.number_input(key=key).set_value(50).run()
    assert test.selectbox(key="train.values.adafocal").value == "every_50"
    test.button(key="train.submit").click().run()
    assert open_jobs().config(open_jobs().list()[0].id).loss["update_every"] == 50


def test_a_sweep_is_one_submission(page):
    test = page()
    test.text_input(key="train.sweep").set_value("loss.lambda = 1, 10").run()
    test.button(key="train.submit").click().run()
    jobs = open_jobs().list()
    assert sorted(open_jobs().config(job.id).loss["lambda"] for job in jobs) == [1.0, 10.0]
    assert len({job.group for job in jobs}) == 1


def test_a_recipe_fills_what_it_speaks_of(page):
    test = page()
    test.selectbox(key="train.preset").set_value("cifar").run()
    fine(test)
    assert test.number_input(key="train.epochs").value == 350
    assert test.number_input(key="train.clip_norm").value == 2.0
    assert test.selectbox(key="train.data").value == "digits"
    test.button(key="train.submit").click().run()
    config = open_jobs().config(open_jobs().list()[0].id)
    assert (config.preset, config.reduction, config.epochs) == ("cifar", "sum", 350)


@pytest.mark.parametrize(
    ("kind", "key", "value", "said"),
    [
        ("text_input", "train.seeds", "x", "SEEDS"),
        ("text_input", "train.drops", "0.9, 0.1", "ascending"),
        ("text_input", "train.drops", "a", "ascending"),
        ("text_input", "train.data_root", "/etc", "FOLDER"),
        ("selectbox", "train.data", "folder", "Enter a folder"),
        ("number_input", "train.lr", 0.0, "optimizer.lr"),
        ("selectbox", "train.model", "by_name", "No network is picked"),
    ],
)
def test_what_cannot_be_trained_is_refused_beside_the_form_and_nothing_is_lost(
    page, kind, key, value, said, home
):
    names._keep(("timm:resnet18",))
    test = page()
    test.number_input(key="train.epochs").set_value(7).run()
    getattr(test, kind)(key=key).set_value(value).run()
    assert said in unescape(test.error[0].value)
    assert test.button(key="train.submit").disabled
    assert test.number_input(key="train.epochs").value == 7
    assert "Save config" not in [one.label for one in test.get("download_button")]


def test_every_declared_field_stands_in_the_form(page):
    test, drawn = page(), set()
    steps = [(None, None), ("schedule", "plateau"), ("model", "by_name"), ("data", "cifar10")]
    steps += [("data", "20newsgroups"), ("optimizer", "adagrad"), ("model", "bert")]
    for name, value in steps:
        if name:
            test.selectbox(key=f"train.{name}").set_value(value).run()
        if value == "20newsgroups":
            test.text_input(key="train.embeddings").set_value("/data/glove.txt").run()
        widgets = [*test.selectbox, *test.number_input, *test.text_input, *test.toggle]
        drawn |= {widget.key for widget in widgets}
    assert {FORM.key(name) for name in FORM.widgets} - drawn == set()


def test_texts_get_a_network_and_a_recipe_and_images_theirs_again(page, monkeypatch):
    monkeypatch.setenv("CANDOR_IMPORT", "/data")
    test = page()
    test.selectbox(key="train.data").set_value("20newsgroups").run()
    assert test.selectbox(key="train.model").options == [
        "Global-pooling CNN", "Global-pooling CNN, released", "Bag of words", "Tree-LSTM",
        "BERT",
    ]  # fmt: skip
    assert test.selectbox(key="train.optimizer").value == "adam"
    assert test.button(key="train.submit").disabled  # no folder yet
    test.text_input(key="train.data_root").set_value("/data/20_newsgroups").run()
    test.text_input(key="train.left_out").set_value("sci.med, sci.space").run()
    test.number_input(key="train.length").set_value(200).run()
    test.button(key="train.submit").click().run()
    config = open_jobs().config(open_jobs().list()[0].id)
    assert (config.data, config.model, config.preset) == ("20newsgroups", "text_cnn", "newsgroups")
    assert (config.text.left_out, config.text.length) == (("sci.med", "sci.space"), 200)
    test = page()
    test.selectbox(key="train.data").set_value("20newsgroups").run()
    test.selectbox(key="train.preset").set_value("newsgroups_released").run()
    assert test.selectbox(key="train.taken").value == "last"
    assert test.number_input(key="train.length").value == 1_000
    test.selectbox(key="train.data").set_value("digits").run()
    assert test.selectbox(key="train.model").value == "small_cnn"
    assert test.selectbox(key="train.optimizer").value == "sgd"
    assert not test.button(key="train.submit").disabled


def test_bert_gets_its_recipe_and_is_read_from_allowed_folders_alone(page, monkeypatch):
    monkeypatch.setenv("CANDOR_IMPORT", "/data")
    test = page()
    test.selectbox(key="train.data").set_value("20newsgroups").run()
    test.text_input(key="train.data_root").set_value("/data/news").run()
    test.text_input(key="train.embeddings").set_value("/data/glove.txt").run()
    test.selectbox(key="train.model").set_value("bert").run()
    assert "Enter the folder of BERT" in test.error[0].value
    test.text_input(key="train.bert").set_value("/etc").run()
    assert "outside the folders" in test.error[0].value
    test.text_input(key="train.bert").set_value("/data/bert").run()
    assert "train.vocabulary" not in {widget.key for widget in test.number_input}
    test.button(key="train.submit").click().run()
    config = open_jobs().config(open_jobs().list()[0].id)
    recipe = {"model": "bert", "preset": "newsgroups_bert", "text": {"bert": "/data/bert"}}
    printed = {"data": "20newsgroups", "loss": dict(config.loss), "data_root": "/data/news"}
    assert config == from_json(recipe | printed | {"augment": config.augment})
    test = page()
    test.selectbox(key="train.data").set_value("20newsgroups").run()
    test.selectbox(key="train.model").set_value("bert").run()
    for way in ({"model": "text_cnn"}, {"data": "digits"}):  # back, or over images
        for key, what in way.items():
            test.selectbox(key=f"train.{key}").set_value(what).run()
        test.selectbox(key="train.data").set_value("20newsgroups").run()
        assert test.selectbox(key="train.preset").value == "newsgroups"
        assert test.number_input(key="train.length").value == 400
        assert test.number_input(key="train.test_length").value is None
        test.selectbox(key="train.model").set_value("bert").run()


def test_word_vectors_are_read_from_allowed_folders_alone(page, monkeypatch):
    monkeypatch.setenv("CANDOR_IMPORT", "/data")
    test = page()
    test.selectbox(key="train.data").set_value("sst2").run()
    test.text_input(key="train.data_root").set_value("/data/sst2").run()
    assert not test.button(key="train.submit").disabled
    test.text_input(key="train.embeddings").set_value("/etc/passwd").run()
    assert test.button(key="train.submit").disabled
    assert "outside the folders" in test.error[0].value


def test_seeds_and_other_losses_are_one_submission(page):
    test = page()
    test.text_input(key="train.seeds").set_value("0, 1, 2").run()
    test.multiselect(key="train.others").set_value(["ce"]).run()
    assert test.button(key="train.submit").label == "Train 6"
    test.number_input(key="train.priority").set_value(3).run()
    test.number_input(key="train.minutes").set_value(5.0).run()
    test.button(key="train.submit").click().run()
    jobs = open_jobs().list()
    assert len(jobs) == 6
    assert len({job.group for job in jobs}) == 1
    assert {(job.priority, job.time_limit) for job in jobs} == {(3, 300.0)}
    configs = [open_jobs().config(job.id) for job in jobs]
    assert sorted((c.loss["name"], c.seed) for c in configs) == sorted(
        (loss, seed) for loss in ("adafocal", "ce") for seed in (0, 1, 2)
    )


def test_the_form_outlives_a_change_of_page(page):
    test = page()
    test.number_input(key="train.epochs").set_value(7).run()
    test.selectbox(key="train.loss").set_value("fcl").run()
    test.switch_page("pages/theory.py").run()
    test.switch_page("pages/train.py").run()
    assert test.number_input(key="train.epochs").value == 7
    assert test.selectbox(key="train.loss").value == "fcl"
    fine(test)


def test_settings_that_are_known_to_learn_badly_are_said_in_the_form(page):
    test = page()
    test.selectbox(key="train.loss").set_value("fcl").run()
    assert "can overshoot" not in html(fine(test))  # at its defaults
    test.selectbox(key="train.values.fcl").set_value("cifar10_resnet110").run()
    assert test.number_input(key="train.loss.fcl.lambda").value == 1.5
    assert "FCL with λ = 1.5 can overshoot" in html(fine(test))
    test.number_input(key="train.clip_norm").set_value(2.0).run()
    assert "can overshoot" not in html(fine(test))
    test.text_input(key="train.seeds").set_value("x").run()  # no config: nothing to say of it


def test_networks_of_timm_and_torchvision_are_searched(page, home):
    names._keep(("timm:resnet18", "torchvision:resnet50"))
    test = page()
    test.selectbox(key="train.model").set_value("by_name").run()
    assert test.selectbox(key="train.network").options == ["timm:resnet18", "torchvision:resnet50"]
    test.selectbox(key="train.network").set_value("timm:resnet18").run()
    test.button(key="train.submit").click().run()
    assert open_jobs().config(open_jobs().list()[0].id).model == "timm:resnet18"


def upload(test: AppTest, data: bytes) -> AppTest:
    (uploader,) = test.file_uploader
    return uploader.set_value(("config.json", data, "application/json")).run()


def test_a_config_is_loaded_whole(page):
    config = from_json({"data": "cifar100", "model": "resnet110_cifar", "loss": {"name": "ls"}})
    test = fine(upload(page(), json.dumps(config.to_json()).encode()))
    test.button(key="train.submit").click().run()
    assert open_jobs().config(open_jobs().list()[0].id) == config


BAD_CONFIGS = [
    (b"{", "is not JSON"),
    (b"\xff", "is not JSON"),
    (b'{"data": NaN}', "is not JSON"),
    (b'{"data": "digits", "data": "cifar10"}', "gives the key 'data' twice"),
    (json.dumps(FIRST | {"devices": 999}).encode(), "Give 1 to 64"),
    (b"[]", "JSON object"),
    (b'{"data": "digits"}', "is missing"),
    (json.dumps(FIRST | {"epoch": 3}).encode(), "unknown key"),
    (json.dumps(FIRST | {"epochs": 0}).encode(), "epochs is 0"),
    (b" " * 70_000, "70000 bytes"),
]


def test_a_bad_config_is_refused_and_the_form_stays(page):
    test = page()
    test.number_input(key="train.epochs").set_value(7).run()
    for data, said in BAD_CONFIGS:
        upload(test, data)
        (error,) = [unescape(one.value) for one in test.error]
        assert said in error
        assert test.number_input(key="train.epochs").value == 7
        assert test.button(key="train.submit").disabled is False
    upload(test, json.dumps(FIRST).encode())
    fine(test)


@pytest.mark.parametrize(
    "changes",
    [
        {"optimizer": {"name": "sgd", "lr": 0.1, "momentum": 0.99999, "weight_decay": 0.0}},
        {"n_train": 10**10},
        {"split_seed": 2**53 - 1, "seed": 2**63 - 1},
    ],
)
def test_a_config_that_was_loaded_comes_back_from_the_drawn_form(page, changes):
    config = from_json(FIRST | changes)
    test = fine(upload(page(), json.dumps(config.to_json()).encode()))
    test.button(key="train.submit").click().run()
    assert open_jobs().config(open_jobs().list()[0].id) == config


NOT_OF_THE_FORM = [
    {"split_seed": 2**60},
    {"n_train": 10**30},
    {"name": " a"},
    {"name": "a\nb"},
    {"data_root": ""},
    {"data_root": "/data/x "},
    {"schedule": {"drops": [k / 1999 for k in range(1, 1999)]}},
]


def test_what_the_form_cannot_hold_is_refused_and_the_form_stays(page, keep):
    test = page()
    for changes in NOT_OF_THE_FORM:
        config = from_json(FIRST | {"epochs": 9} | changes)
        upload(test, json.dumps(config.to_json()).encode())
        (error,) = [unescape(one.value) for one in test.error]
        assert f"{next(iter(changes))}"[:5] in error or "drops" in error
        assert test.number_input(key="train.epochs").value == CONFIG.epochs
        assert fine(test.run()).button(key="train.submit").disabled is False
    keep("mine", JobState.CANCELLED, config=config)
    test = page(job="mine")
    test.button(key="job.duplicate").click().run()
    assert "SETTING" in test.error[0].value
    assert test.query_params["job"] in ("mine", ["mine"])


def test_folders_that_cannot_be_one_are_refused_in_the_form(page):
    test = page()
    for root in ("~nosuchuser/x", "a\0b"):
        test.text_input(key="train.data_root").set_value(root).run()
        assert test.button(key="train.submit").disabled
    fine(test.text_input(key="train.data_root").set_value("").run())


def test_duplicate_keeps_how_a_job_was_submitted(page, keep):
    keep("mine", JobState.CANCELLED, priority=7, time_limit=600.0, wants="cuda:1")
    test = page(job="mine")
    test.button(key="job.duplicate").click().run()
    assert test.number_input(key="train.priority").value == 7
    assert test.number_input(key="train.minutes").value == 10.0
    assert test.selectbox(key="train.device").value == "cuda:1"


def test_several_trainings_say_that_the_first_config_is_saved(page):
    test = page()
    assert [one.label for one in test.get("download_button")] == ["Save config"]
    test.text_input(key="train.seeds").set_value("0, 1").run()
    (save,) = test.get("download_button")
    assert save.label == "Save the first of 2 configs"


def test_networks_that_could_not_be_listed_are_asked_for_again(page):
    lost: Work[tuple[str, ...]] = Work()
    lost.future.set_exception(LostWorker("LOST_WORKER", "it ended", "-"))
    test = page()
    test.session_state[task.WORKS] = {("networks", ""): lost}
    test.selectbox(key="train.model").set_value("by_name").run()
    assert "it ended" in test.error[0].value
    names._keep(("timm:resnet18",))
    test.button(key="networks.again").click().run()
    assert not any("it ended" in one.value for one in test.error)
    assert test.selectbox(key="train.network").options == ["timm:resnet18"]


def test_measuring_can_be_stopped(page):
    test = page()
    test.button(key="train.measure").click().run()
    assert any("Timing" in one.value for one in test.markdown)
    test.button(key="train.speed.stop").click().run()
    fine(test)
    assert any("Stopped: Timing" in one.value for one in test.markdown)
    (work,) = test.session_state[task.WORKS].values()
    assert work.stopped
    test.number_input(key="train.epochs").set_value(3).run()
    assert test.button(key="train.speed.resume")  # it takes as long however many epochs there are
    test.selectbox(key="train.model").set_value("resnet110_cifar").run()
    assert test.button(key="train.measure")


def test_the_time_is_told_once_it_was_measured(page):
    machine.speeds().put(
        basis(CONFIG).digest,
        Speed(
            device="cpu", trained=997 / 2, evaluated=1e9, start_s=0.0, epoch_s=0.0, checkpoint_s=0.0
        ),
    )
    test = fine(page())
    assert any("About 5 min" in one.value for one in test.markdown)  # 150 epochs of two seconds
    test.selectbox(key="train.model").set_value("resnet110_cifar").run()
    assert test.button(key="train.measure")


def test_the_time_of_texts_is_told_in_texts():
    config = from_json({"data": "texts", "model": "text_mean", "loss": {"name": "ce"}})
    speed = Speed(
        device="cpu", trained=500, evaluated=1e3, start_s=0.0, epoch_s=0.0, checkpoint_s=0.0
    )
    told = machine._estimate(speed, [config])
    assert told.startswith("500 texts a second")
    assert "the number of texts is known" in told


def test_a_run_of_the_same_settings_is_pointed_out(page, keep, library):
    keep_trained(library, "ended")
    keep("ended", JobState.SUCCEEDED, run="ended")
    test = fine(page())
    assert any("Trained before" in one.value for one in test.markdown)
    test.number_input(key="train.epochs").set_value(3).run()
    assert not any("Trained before" in one.value for one in test.markdown)
    test.number_input(key="train.epochs").set_value(CONFIG.epochs).run()
    assert any("Trained before" in one.value for one in test.markdown)
    library.delete("ended")
    assert not any("Trained before" in one.value for one in test.run().markdown)


def test_a_run_of_another_folder_is_another(page, keep, library, monkeypatch, tmp_path):
    monkeypatch.setenv("CANDOR_IMPORT", str(tmp_path))
    config = from_json(FIRST | {"data": "folder", "data_root": str(tmp_path / "a")})
    keep_trained(library, "ended")
    keep("ended", JobState.SUCCEEDED, config=config, run="ended")
    test = upload(page(), json.dumps(config.to_json()).encode())
    assert any("Trained before" in one.value for one in test.markdown)
    test.text_input(key="train.data_root").set_value(str(tmp_path / "b")).run()
    fine(test)
    assert not any("Trained before" in one.value for one in test.markdown)


def test_the_list_says_where_each_training_stands(page, keep):
    for i, state in enumerate(JobState):
        me = identity(os.getpid())
        live = {"supervisor": me} if state in {JobState.STARTING, JobState.RUNNING} else {}
        keep("abcdefgh"[i], state, **live)
    half = Progress(4, 10, 0, 5, 1234.4, 2**30, 9.0, 42.0)
    write_progress(open_jobs().folder("c").path, half)
    text = html(fine(page()))
    for said in ("waiting, the queue is paused", "starting", "done after 52 s", "failed after"):
        assert said in text
    assert "Epoch 5 of 10, about 40 s left, 1,234 images/s, 1.0 GiB" in text
    texts = from_json({"data": "tickets", "model": "text_mean", "loss": {"name": "ce"}})
    open_jobs().folder("c").specify(texts)
    assert "1,234 texts/s" in html(fine(page()))
    assert 'style="width:40.0%"' in text


def test_the_queue_is_paused_and_goes_on(page, keep):
    keep("queued", wants="cuda:7")
    test = page(job="queued")
    assert "It starts when the queue resumes." in html(test)
    assert "Resume queue" in buttons(test)
    test = page()
    assert "Resume queue" in buttons(test)
    open_jobs().cancel("queued")
    test.button(key="queue.unpause").click().run()
    assert not open_jobs().paused
    open_jobs().pause()
    test.run()
    assert "Resume queue" in buttons(test)


def test_jobs_are_stopped_and_moved_to_the_front_in_the_list(page, keep):
    keep("first")
    keep("next")
    test = page()
    assert [b.key for b in test.button if b.key.startswith("queue.front")] == ["queue.front.next"]
    told = [unescape(b.label) for b in test.button if b.key.startswith("queue.stop")]
    assert set(told) == {f"Stop *{CONFIG.name}*"}
    test.button(key="queue.front.next").click().run()
    assert open_jobs().get("next").priority > open_jobs().get("first").priority
    test.button(key="queue.stop.first").click().run()
    assert open_jobs().get("first").state is JobState.CANCELLED


def test_many_submissions_are_folded(page, keep):
    for i in range(15):
        keep("abcdefghijkmnpq"[i], JobState.CANCELLED)
    test = page()
    assert "3 earlier" in buttons(test)
    test.button(key="queue.more").click().run()
    assert sum("stopped after 52 s" in one for one in html(test).split("<p")) == 15


def test_a_running_job_shows_numbers_and_curves(page, keep):
    keep("running", JobState.RUNNING, n_epochs=3, supervisor=identity(os.getpid()), slots=("cpu",))
    write_progress(
        open_jobs().folder("running").path, Progress(3, 150, 0, 5, 1e3, 2**30, 9.0, 42.0)
    )
    test = fine(page(job="running"))
    text = html(test)
    assert "Training “AdaFocal, small_cnn on digits”." in text
    assert "about 40 s" in text
    for title in ("Error", "ECE"):
        assert f'<h2 class="c-title">{title} <small>validation' in text
    test.button(key="job.stop").click().run()
    assert open_jobs().get("running").asked == "cancel"
    assert "Stopping" in html(test)
    assert test.button(key="job.stop").disabled


def test_the_bins_of_a_training_are_drawn_once(page, keep, monkeypatch):
    keep("mine", JobState.CANCELLED)
    parts = {"lower": 0.0, "upper": 1.0, "count": 4.0, "confidence": 0.75, "accuracy": 0.5}
    parts |= {"train": 0.5, "train_top": 0.625, "train_own": 0.375}
    bins = {f"val_bins.{b}.{name}": parts[name] for b in range(15) for name in parts}
    bins |= learned_logits(np.array([1, 2]), np.array([3.0, 4.0]), 1)
    event = {"event": "epoch", "epoch": 0, "bins": [], "metrics": EVENT["metrics"] | bins}
    (open_jobs().folder("mine").path / "events.jsonl").write_text(f"{json.dumps(event)}\n")
    built = []

    def cards(history, own, other):
        built.append(own)
        return training_bins_cards(history, own, other)

    monkeypatch.setattr("pages.ui.train.watch.training_bins_cards", cards)
    test = fine(page(job="mine"))
    for title in ("Calibration error by bin", "Largest logit by learned epoch"):
        assert title in html(test)
    for text in ("underlined in grey", "10 to 14", "a training row is answered right"):
        assert text in unescape(html(test))
    test.selectbox(key="widget.trained").set_value("own").run()
    assert built == [False, True]
    assert "in bins of its own" in html(fine(test))


def test_a_failed_job_says_why_and_is_tried_again(page, keep):
    failure = Failure("DISK_FULL", "The disk is full", "free some space, then resume")
    keep("bad", JobState.FAILED, n_epochs=2, failure=failure)
    (open_jobs().folder("bad").path / "log.txt").write_text("first\nlast line\n")
    test = page(job="bad")
    said = unescape(test.error[0].value)
    for word in ("The disk is full", "Free some space", "DISK_FULL"):
        assert word in said
    assert "failed after epoch 2 of 150" in html(test)
    assert "last line" in test.code[0].value
    assert "Resume" not in buttons(test)
    test.button(key="job.retry").click().run()
    again = open_jobs().list()[0]
    assert (again.parent, again.relation) == ("bad", "retry")
    assert test.query_params["job"] in (again.id, [again.id])
    assert any("Repeats job bad" in label for label in links(test))


def test_a_stopped_job_is_resumed_as_a_new_one(page, keep):
    keep("cut", JobState.CANCELLED, n_epochs=2)
    checkpoints = open_jobs().folder("cut").checkpoints
    checkpoints.mkdir()
    (checkpoints / "epoch-00002.pt").write_bytes(b"x")
    test = page(job="cut")
    test.button(key="job.resume").click().run()
    fine(test)
    again = open_jobs().list()[0]
    assert (again.parent, again.relation) == ("cut", "resume")
    assert any("Continues job cut" in label for label in links(test))
    back = page(job="cut")
    assert any(f"Resumed as job {again.id}" in label for label in links(back))


@pytest.mark.parametrize(("slots", "said"), [(("cpu",), True), (("cuda:0",), False)])
def test_a_resume_with_other_threads_is_said_where_it_is_offered(
    page, keep, monkeypatch, slots, said
):
    monkeypatch.setenv("OMP_NUM_THREADS", "4")
    keep("cut", JobState.CANCELLED, n_epochs=2, slots=slots)
    folder = open_jobs().folder("cut")
    lines = [json.loads(line) for line in folder.lines()]
    for line in lines:
        line["metrics"]["threads"] = 2
    (folder.path / "events.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    words = "Trained with 2 threads so far; resumed here it uses 4"
    assert words not in html(page(job="cut"))  # nothing to resume from
    folder.checkpoints.mkdir()
    (folder.checkpoints / "epoch-00002.pt").write_bytes(b"x")
    test = fine(page(job="cut"))
    assert "Resume" in buttons(test)
    assert (words in html(test)) == said


def test_a_finished_job_opens_its_run(page, keep, library):
    keep_trained(library, "ended")
    keep("ended", JobState.SUCCEEDED, run="ended")
    test = fine(page(job="ended"))
    assert {"Open in Reliability", "Open in Gamma dynamics"} <= set(buttons(test))
    test.button(key="job.reliability").click().run()
    fine(test)
    assert test.query_params["run"] in ("ended", ["ended"])
    assert "a run" in test.selectbox(key="app.picked").options
    assert "file digest" in html(test)


def test_a_model_of_texts_is_not_offered_images(page, keep, library):
    keep_trained(library, "ended")
    texts = from_json({"data": "sst2", "model": "text_mean", "loss": {"name": "ce"}})
    for config, offered in ((texts, False), (CONFIG, True)):
        job_id = "texts" if config is texts else "images"
        keep(job_id, JobState.SUCCEEDED, run="ended", config=config)
        assert ("Evaluate on other images" in links(fine(page(job=job_id)))) is offered
    with pytest.raises(UsageError, match="trained on texts"):
        weights_of(open_jobs(), open_jobs().get("texts"))


def test_a_finished_job_whose_run_was_deleted_says_so(page, keep, library):
    keep_trained(library, "ended")
    keep("ended", JobState.SUCCEEDED, run="ended")
    library.delete("ended")
    test = fine(page(job="ended"))
    assert any("no longer in the library" in one.value for one in test.markdown)


def test_curves_are_compared_with_another_run(page, keep):
    keep("mine", JobState.CANCELLED, n_epochs=3)
    test = fine(page(job="mine", against="cifar10-ce"))
    text = html(test)
    assert "CIFAR-10 (JPEG), Cross-entropy, dashed" in text
    test.selectbox(key="widget.against").set_value("").run()
    assert "dashed" not in html(test)
    assert "against" not in test.query_params


def test_a_job_is_not_compared_with_its_own_run(page, keep, library):
    keep_trained(library, "kept")
    keep("ended", JobState.SUCCEEDED, run="kept")
    keep("mine", JobState.CANCELLED, n_epochs=3)
    assert "a run" in fine(page(job="mine")).selectbox(key="widget.against").options
    assert "a run" not in fine(page(job="ended")).selectbox(key="widget.against").options


def test_what_it_is_compared_with_may_be_gone(page, keep):
    keep("mine", JobState.CANCELLED, n_epochs=3)
    test = fine(page(job="mine", against="nosuchrun"))
    assert "dashed" not in html(test)


def test_duplicate_fills_the_form(page, keep):
    config = from_json(FIRST | {"epochs": 9, "loss": {"name": "fcl", "gamma": 2.0}, "seed": 5})
    keep("mine", JobState.CANCELLED, config=config)
    test = page(job="mine")
    test.button(key="job.duplicate").click().run()
    fine(test)
    assert "job" not in test.query_params
    assert test.number_input(key="train.epochs").value == 9
    assert test.text_input(key="train.seeds").value == "5"
    assert test.number_input(key="train.loss.fcl.gamma").value == 2.0
    test.button(key="train.submit").click().run()
    assert open_jobs().config(open_jobs().list()[0].id) == config
    changed = page(job="mine")
    changed.button(key="job.duplicate").click().run()
    changed.selectbox(key="train.loss").set_value("ce").run()
    changed.button(key="train.submit").click().run()
    assert open_jobs().list()[0].name == "Cross-entropy, small_cnn on digits"


def test_two_refusals_stand_on_one_page(page):
    test = page()
    test.text_input(key="train.seeds").set_value("none").run()
    upload(test, b"{")
    said = " ".join(unescape(one.value) for one in test.error)
    assert "SEEDS" in said
    assert "is not JSON" in said


def test_a_busy_device_names_its_job(page, keep):
    keep("running", JobState.RUNNING, supervisor=identity(os.getpid()), slots=("cpu",))
    assert "Devices here: CPU, busy with AdaFocal, small_cnn on digits." in html(fine(page()))


def test_hostile_names_are_text_everywhere(page, keep):
    config = replace(CONFIG, name=HOSTILE)
    keep("evi", JobState.FAILED, n_epochs=1, config=config, failure=Failure("X", HOSTILE, HOSTILE))
    for test in (page(), page(job="evi")):
        assert "<script>" not in html(test)
        marked = [e.value for e in (*test.markdown, *test.error, *test.caption)]
        marked += [link.label for link in test.main.page_link]
        assert not any("**b**" in one or ":red[" in one for one in marked)
