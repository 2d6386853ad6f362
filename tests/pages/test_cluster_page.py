"""The Train page where SLURM is at hand: two programs of its names stand for a cluster."""

import json
from functools import partial
from html import unescape

import pytest

from core.jobs.local import open_jobs
from core.jobs.records import SLURM, SlurmRequest
from core.jobs.slurm import controller
from core.jobs.slurm.launcher import SlurmLauncher
from pages.ui.jobs import machine
from tests.pages.seen import fine, opened

SAYS = {
    "sbatch": 'sed -n "s/.*job-name=//p" "$1" > "$0.name"; echo Submitted batch job 7',
    "squeue": 'echo "7|$(cat "$(dirname "$0")/sbatch.name")|PENDING|Resources"',
    "srun": "", "scancel": "", "scontrol": "",
}  # fmt: skip


@pytest.fixture
def page(home):
    machine.has_cluster.clear()
    controller._ask_controller.cache_clear()
    yield partial(opened, "train")
    machine.has_cluster.clear()
    controller._ask_controller.cache_clear()


@pytest.fixture
def slurm(tmp_path, monkeypatch):
    for name, says in SAYS.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{says}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")


def test_without_a_cluster_there_is_nothing_to_choose(page, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    keys = [box.key for box in page().selectbox]
    assert "train.data" in keys
    assert machine.CHOICE not in keys


def test_a_training_goes_to_the_cluster_with_what_the_form_asks_for(page, slurm, home):
    home.mkdir(exist_ok=True)
    (home / "slurm.json").write_text(json.dumps({"partition": "gpu", "cpus": 2}))
    test = page()
    assert test.selectbox(key=machine.CHOICE).value == "local"
    test.selectbox(key=machine.CHOICE).set_value(SLURM).run()
    fine(test)
    assert test.text_input(key="cluster.partition").value == "gpu"
    assert not any(box.key == "train.device" for box in test.selectbox)
    said = "\n".join(block.value for block in test.markdown)
    assert all(sentence in said for sentence in SlurmLauncher.cannot.values())
    test.number_input(key="cluster.minutes").set_value(30).run()
    test.button(key="train.submit").click().run()
    fine(test)
    (job,) = open_jobs().list()
    assert (job.launcher, job.cluster) == (SLURM, "7")
    assert job.request == SlurmRequest(partition="gpu", cpus=2, minutes=30)
    shown = unescape(str([block.proto.body for block in test.get("html")]))
    assert "waiting in the cluster" in shown
    assert "SLURM 7 (Resources)" in shown
    assert "To the front" not in [button.label for button in test.button]


def test_a_row_of_a_paper_goes_to_the_cluster_that_is_chosen(page, slurm):
    at = {"data": "cifar10", "network": "resnet50", "paper": "komisarenko2024"}
    test = fine(opened("published", measure="ece_em", **at))
    row = ("cifar10", "resnet50", "focal_1", "komisarenko2024")
    test.multiselect(key="published.rows").set_value([row]).run()
    test.text_input(key="published.seeds.4").set_value("0").run()
    test.selectbox(key=machine.CHOICE).set_value(SLURM).run()
    test.number_input(key="cluster.minutes").set_value(30).run()
    test.button(key="published.submit").click().run()
    fine(test)
    (job,) = open_jobs().list()
    assert (job.launcher, job.request) == (SLURM, SlurmRequest(minutes=30))
    assert not open_jobs().config(job.id).sync_batch_norm
    # On several GPUs the whole batch is normalised, as on the one of the paper
    test.number_input(key="cluster.gpus").set_value(2).run()
    test.button(key="published.submit").click().run()
    fine(test)
    others = [one.id for one in open_jobs().list() if one.id != job.id]
    assert [open_jobs().config(one).sync_batch_norm for one in others] == [True]


def test_a_request_out_of_range_is_said_and_not_submitted(page, slurm):
    test = page()
    test.selectbox(key=machine.CHOICE).set_value(SLURM).run()
    test.text_input(key="cluster.partition").set_value("no such").run()
    assert "partition is 'no such'" in unescape(test.error[0].value)
    assert test.button(key="train.submit").disabled


def test_a_settings_file_that_cannot_be_read_is_said(page, slurm, home):
    home.mkdir(exist_ok=True)
    (home / "slurm.json").write_text("{")
    test = page()
    test.selectbox(key=machine.CHOICE).set_value(SLURM).run()
    assert "slurm.json is not JSON" in unescape(test.error[0].value)
    assert test.number_input(key="cluster.nodes").value == 1
