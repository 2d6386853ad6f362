"""The Evaluate page through app.py: sources, refusals, the form, and jobs in every state."""

import zipfile
from dataclasses import replace
from functools import partial
from html import unescape
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from core.datasets.shifts import OutsideSet
from core.inference.client import Client, shared
from core.inference.config import WEIGHTS, Preprocessing
from core.jobs.local import open_jobs
from core.jobs.records import Failure, JobState
from core.readers.sandbox import scratch
from core.screens.evaluate import progress_words
from core.training.config import from_json
from core.training.folder import JobFolder, Progress, write_progress
from core.training.submission import FIRST
from pages.ui import session
from pages.ui.evaluate.state import FORM, SHOWN
from tests import onnx_files
from tests.core.readers.test_picture_zips import packed, picture
from tests.pages.evaluate_cases import CONFIG, checkpoint, harmful, keep_job, keep_run
from tests.pages.seen import fine, html, opened, said, until
from tests.pages.test_train_page import buttons, links

pytestmark = pytest.mark.usefixtures("paused", "unsealed")
HOSTILE = "**b** ![x](http://x/y) <script> :red[r]"


@pytest.fixture
def page(home):
    return partial(opened, "evaluate")


def upload(test: AppTest, path: Path) -> AppTest:
    (uploader,) = test.file_uploader
    uploader.set_value((path.name, path.read_bytes(), "application/octet-stream"))
    return until(test.run(), lambda: "Reading" not in said(test))


def keys(test: AppTest) -> list[str]:
    return [button.key for button in test.button]


def matched(test: AppTest) -> AppTest:
    return until(test, lambda: "Matching with" not in said(test))


def test_the_first_visit_says_what_it_does_and_leads_to_a_training(page):
    test = fine(page())
    assert "Evaluate a model on images" in said(test)
    assert "Train AdaFocal on digits" in links(test)
    assert "None yet" in said(test)
    assert not [one for one in test.text_input if one.key == "evaluate.path"]


def test_a_program_is_refused_in_words_and_the_page_goes_on(page, tmp_path):
    test = upload(page(), harmful(tmp_path))
    (error,) = [unescape(one.value) for one in test.error]
    assert "PICKLE_GLOBAL" in error
    assert "posix.system" in error
    assert "convert_checkpoint.py" in error
    assert "Download the converter" in [one.proto.label for one in test.get("download_button")]
    assert test.file_uploader
    fine(upload(test, checkpoint(tmp_path)))


def test_a_bad_file_leaves_what_was_open(page, tmp_path):
    test = upload(page(), checkpoint(tmp_path))
    assert "digits.pt" in said(test)
    bad = tmp_path / "x.csv"
    bad.write_text("a,b\n1,2\n")
    test.button(key="evaluate.close").click().run()
    upload(test, bad)
    assert "STATE_DICT" in said(test)
    assert "under Runs" in said(test)


def test_a_path_is_read_below_the_named_folders_only(page, tmp_path, monkeypatch):
    (tmp_path / "in").mkdir()
    monkeypatch.setenv("CANDOR_IMPORT", str(tmp_path / "in"))
    inside, outside = checkpoint(tmp_path / "in"), harmful(tmp_path)
    test = page()
    test.text_input(key="evaluate.path").set_value(str(outside))
    test.button(key="evaluate.read").click().run()
    assert "FOLDER" in said(test)
    test.text_input(key="evaluate.path").set_value(str(inside))
    test.button(key="evaluate.read").click().run()
    fine(until(test, lambda: "Change weights" in buttons(test)))
    assert "digits.pt" in said(test)


@pytest.mark.parametrize("wanted", ["nosuchjob", "given"])
def test_a_link_to_weights_that_are_gone_is_said(page, home, wanted):
    keep_job(home, "given", JobState.CANCELLED)
    (home / "jobs" / "given" / WEIGHTS).unlink()
    test = page(weights=wanted)
    assert {"nosuchjob": "JOB_UNKNOWN", "given": "keeps no weights"}[wanted] in said(test)
    assert test.file_uploader


@pytest.mark.slow
def test_a_checkpoint_is_matched_tried_and_queued(page, tmp_path):
    test = matched(upload(page(), checkpoint(tmp_path)))
    assert "All 11 tensors fit Small CNN with 10 outputs" in said(fine(test))
    assert "module." in said(test)
    assert test.radio(key="evaluate.group").value == "state_dict_ema"
    assert test.radio(key="evaluate.pick").value == "small_cnn"
    assert test.selectbox(key="evaluate.data").value == "digits"
    assert test.number_input(key="evaluate.height").value == 8
    test.radio(key="evaluate.group").set_value("state_dict").run()
    matched(test)
    test.multiselect(key="evaluate.kinds").set_value(["corrupted"]).run()
    test.multiselect(key="evaluate.corruptions").set_value(["fog"]).run()
    test.number_input(key="evaluate.limit").set_value(40).run()
    test.button(key="evaluate.try").click().run()
    until(test, lambda: not test.button(key="evaluate.try").disabled)
    assert "guessing" in said(fine(test))  # new weights: no better
    test.button(key="evaluate.submit").click().run()
    (job,) = open_jobs().list()
    config = open_jobs().evaluation(job.id)
    assert config.weights.group == "state_dict"
    assert config.preprocessing == Preprocessing((8, 8))
    assert [one.name for one in config.sets] == [f"corrupted-fog-{k}" for k in (1, 3, 5)]
    assert (config.limit, config.splits, config.channels) == (40, ("val", "test"), 1)
    assert test.query_params["job"] in (job.id, [job.id])
    assert "is waiting, the queue is paused" in said(fine(test))


@pytest.mark.slow
def test_a_zip_of_class_folders_is_evaluated_on_and_belongs_to_the_job(page, tmp_path):
    test = matched(upload(page(), checkpoint(tmp_path)))
    test = matched(test.selectbox(key="evaluate.data").set_value("folder").run())
    assert "restart it with CANDOR_IMPORT=FOLDER" in said(fine(test))  # nothing is refused
    assert test.button(key="evaluate.submit").disabled
    made = {f"{k}/{n}.png": picture(10 * k + n) for k in range(2) for n in range(3)}
    drop_zip(test, packed(tmp_path, {**made, "../out.png": picture()}))
    assert "ARCHIVE_PATH" in said(test)
    drop_zip(test, packed(tmp_path, made))
    assert "6 pictures in 2 folders" in said(fine(matched(test)))  # which asks anew
    assert test.number_input(key="evaluate.height").value == 8  # the pictures' own
    test.button(key="evaluate.submit").click().run()
    (job,) = open_jobs().list()
    root = Path(open_jobs().evaluation(job.id).data_root)
    assert root.is_relative_to(open_jobs().folder(job.id).path)
    (room,) = [room for room in session._ROOMS.values() if (room.folder / "pictures").exists()]
    scratch.remove(room.folder / "pictures")  # the visitor leaves
    found = {str(p.relative_to(root)): p.read_bytes() for p in root.rglob("*.png")}
    assert found == made


def drop_zip(test: AppTest, path: Path) -> AppTest:
    (uploader,) = [one for one in test.file_uploader if "ZIP" in one.label]
    uploader.set_value((path.name, path.read_bytes(), "application/zip"))
    return until(test.run(), lambda: "Reading" not in said(test))


@pytest.mark.slow
def test_a_wrong_number_of_classes_is_mended_by_one_click(page, tmp_path):
    test = matched(upload(page(), checkpoint(tmp_path, 7)))
    assert test.number_input(key="evaluate.n_outputs").value == 7
    test.number_input(key="evaluate.n_outputs").set_value(10).run()
    matched(test)
    assert "9 of 11 tensors fit" in said(test)
    assert "Different shape: 2" in [one.label.split(",")[0] for one in test.expander]
    assert "evaluate.submit" not in keys(test)
    test.button(key="evaluate.outputs").click().run()
    matched(test)
    assert "All 11 tensors fit Small CNN with 7 outputs" in said(test)


@pytest.mark.slow
def test_every_declared_field_stands_in_the_form(page, tmp_path, monkeypatch):
    monkeypatch.setenv("CANDOR_IMPORT", str(tmp_path))
    test = matched(upload(page(), checkpoint(tmp_path)))
    kinds = ["corrupted", "svhn", "folder"]
    test.multiselect(key="evaluate.kinds").set_value(kinds).run()
    test.selectbox(key="evaluate.moments").set_value("own").run()
    test.selectbox(key="evaluate.crops").set_value(5).run()
    matched(test)
    widgets = [*test.selectbox, *test.number_input, *test.text_input, *test.toggle]
    drawn = {widget.key for widget in widgets}
    declared = {FORM.key(name) for name in (*FORM.widgets, *SHOWN.widgets)}
    others = {"evaluate.layout", "evaluate.outputs"}  # of ONNX models alone
    of_cifar = {"evaluate.cifar10c_root", "evaluate.changed_files"}
    assert declared - drawn == of_cifar | others
    matched(test.selectbox(key="evaluate.data").set_value("cifar100").run())
    assert test.toggle(key="evaluate.changed_files").value is False


@pytest.mark.nightly
@pytest.mark.slow
def test_an_onnx_model_is_tried_and_queued_with_what_was_chosen(
    page, tmp_path, monkeypatch, request
):
    pytest.importorskip("onnxruntime")
    request.addfinalizer(shared(programs=True).close)
    asked, call = set(), Client.call

    def noted(client, *args, **options):
        asked.add(client)
        return call(client, *args, **options)

    monkeypatch.setattr(Client, "call", noted)
    (tmp_path / "net.onnx").write_bytes(onnx_files.linear(n_outputs=10))
    test = matched(upload(page(), tmp_path / "net.onnx"))
    assert "The model runs and gives 10 outputs." in said(fine(test))
    assert not [radio for radio in test.radio if radio.key == "evaluate.pick"]
    assert test.selectbox(key="evaluate.data").value == "digits"
    assert "does not say mean and std" in said(test)
    test.selectbox(key="evaluate.moments").set_value("unit").run()
    test.button(key="evaluate.try").click().run()
    until(test, lambda: not test.button(key="evaluate.try").disabled)
    assert "guessing" in said(fine(test))
    assert asked == {shared(programs=True)}  # a program may never end: no film waits for it
    test.selectbox(key="evaluate.outputs").set_value("probabilities").run()
    test.button(key="evaluate.try").click().run()
    until(test, lambda: not test.button(key="evaluate.try").disabled)
    assert "are no probabilities" in said(test)
    test.selectbox(key="evaluate.outputs").set_value("logits").run()
    test.button(key="evaluate.submit").click().run()
    (job,) = open_jobs().list()
    config = open_jobs().evaluation(job.id)
    assert (config.model, config.n_outputs, config.channels) == ("onnx", 10, 1)
    assert (config.layout, config.outputs, config.name) == ("nchw", "logits", "net.onnx on Digits")
    assert config.preprocessing == Preprocessing((8, 8), (0.0,), (1.0,))


@pytest.mark.slow
def test_what_is_shown_follows_the_network_unless_it_was_changed(page, tmp_path):
    test = matched(upload(page(), checkpoint(tmp_path)))
    test.selectbox(key="evaluate.data").set_value("svhn").run()
    matched(test)
    assert test.number_input(key="evaluate.height").value == 32
    test.selectbox(key="evaluate.moments").set_value("half").run()
    test.selectbox(key="evaluate.data").set_value("digits").run()
    matched(test)
    assert test.number_input(key="evaluate.height").value == 32
    assert test.selectbox(key="evaluate.moments").value == "half"
    test.button(key="evaluate.refill").click().run()
    assert test.number_input(key="evaluate.height").value == 8
    assert test.selectbox(key="evaluate.moments").value == "data"
    test.selectbox(key="evaluate.moments").set_value("own").run()
    test.text_input(key="evaluate.mean").set_value("0.1, x").run()
    assert "mean is" in said(test)
    assert test.button(key="evaluate.submit").disabled


@pytest.mark.slow
def test_an_evaluation_is_done_again_as_it_was(page, home):
    config = replace(
        CONFIG,
        sets=(
            OutsideSet(kind="corrupted", root=None, corruption="fog", severity=2, seed=7),
            OutsideSet("svhn"),
        ),
        preprocessing=Preprocessing((8, 8), (0.5,), (0.25,), 0.5, crops=5),
        limit=30,
    )
    keep_job(home, "ran", JobState.CANCELLED, config)
    test = page(job="ran")
    test.button(key="job.again").click().run()
    matched(until(test, lambda: "Change weights" in buttons(test)))
    fine(test).button(key="evaluate.submit").click().run()
    (job, _) = open_jobs().list()
    assert open_jobs().evaluation(job.id) == config


def progressing(home: Path, job_id: str) -> None:
    found = Progress(1, 4, 250, 500, 812.4, 3 * 2**30, 20.0, 65.0)
    write_progress(home / "jobs" / job_id, found)


def test_a_running_evaluation_says_how_far_it_is(page, home):
    job = keep_job(home, "waiting", JobState.QUEUED)
    progressing(home, job.id)
    test = fine(page(job=job.id))
    assert "“small_cnn on Digits” is waiting, the queue is paused." in said(test)
    begins = Progress(0, 2, 0, 0, 0.0, 0, 0.0, None, "Reading pictures: 37%")
    assert progress_words(begins) == "Reading pictures: 37%"
    test.button(key="job.stop").click().run()
    assert open_jobs().get(job.id).state is JobState.CANCELLED
    assert "was stopped before it began" in said(fine(test))


@pytest.mark.parametrize("code", ["MEMORY", "HANG", "SIGNAL"])
def test_what_may_be_too_large_is_retried_with_half_the_batch(page, home, code):
    failure = Failure(code, "A batch of 64 does not fit", "halve the batch size")
    keep_job(home, "hurt", JobState.FAILED, failure=failure)
    test = page(job="hurt")
    assert "A batch of 64 does not fit" in said(test)
    assert "failed after 52 s" in said(test)
    test.button(key="job.half").click().run()
    job = open_jobs().list()[0]
    assert open_jobs().evaluation(job.id) == replace(CONFIG, batch_size=32)
    assert (home / "jobs" / job.id / WEIGHTS).exists()


def test_another_failure_is_retried_as_it_was(page, home):
    keep_job(home, "hurt", JobState.FAILED, failure=Failure("STATE_DICT", "no", "-"))
    test = page(job="hurt")
    assert "job.half" not in keys(test)
    test.button(key="job.retry").click().run()
    job = open_jobs().list()[0]
    assert (job.parent, job.relation, job.kind) == ("hurt", "retry", "evaluate")
    assert "Repeats job hurt" in " ".join(links(test))


def test_a_finished_evaluation_says_how_good_it_is_and_opens(page, home, library):
    keep_run(library, "ended")
    keep_job(home, "ended", JobState.SUCCEEDED, run="ended")
    test = fine(page(job="ended"))
    text = said(test)
    assert "is right on 9" in text
    assert "of the 300 test images" in text
    assert "Guessing would be right on 10.0\u202f%." in text
    for name in ("Test part", "Fog, severity 3", "SVHN"):
        assert name in text
    assert "Splits and sets" in text
    test.button(key="job.reliability").click().run()
    box = fine(test).selectbox(key="app.picked")
    assert box.options[box.index] == "small_cnn on Digits"


@pytest.mark.parametrize(
    ("state", "plain"),
    [
        *((state, "false") for state in JobState),
        (JobState.FAILED, "true"),
        (JobState.SUCCEEDED, "true"),
    ],
)
def test_every_state_is_drawn_and_names_stay_text(page, home, library, state, plain):
    config = replace(CONFIG, name=HOSTILE, weights=replace(CONFIG.weights, file=HOSTILE))
    failure = Failure("SIGNAL", HOSTILE, HOSTILE) if state is JobState.FAILED else None
    run = "ended" if state is JobState.SUCCEEDED else ""
    if run:
        keep_run(library, run, config)
    keep_job(home, "first", state, config, failure=failure, run=run)
    for test in (page(job="first", plain=plain), page(plain=plain)):
        bodies = [one.value for kind in ("markdown", "error") for one in getattr(test, kind)]
        bodies += [one.label for one in (*test.button, *test.expander, *test.main.page_link)]
        for mark in ("![x]", "<script>", ":red[r]", "**b**"):
            assert not [body for body in bodies if mark in body]
        assert "<script>" not in html(test)


def test_the_train_page_lists_evaluations_and_leaves_them_to_their_page(page, home):
    keep_job(home, "first", JobState.QUEUED)
    test = fine(opened("train"))
    assert "Trainings and evaluations" in said(test)
    assert "small_cnn on Digits" in links(test)
    other = fine(opened("train", job="first"))
    assert "“small_cnn on Digits” is waiting" in said(other)
    assert "Evaluate ·" in said(other)


def test_the_gamma_page_knows_no_evaluations(page, home):
    keep_job(home, "first", JobState.QUEUED)
    test = opened("gamma", run="first")
    assert "No run with gammas is open yet." in said(test)


def test_a_training_is_compared_with_trainings_only(page, home):
    keep_job(home, "first", JobState.CANCELLED)
    (job,) = open_jobs().submit([from_json(FIRST)])
    test = fine(opened("train", job=job.id))
    assert "first" not in test.selectbox(key="widget.against").options
    back = fine(opened("evaluate", job=job.id))
    assert "Train ·" in said(back)


def test_weights_dropped_on_runs_are_opened_here(page, tmp_path):
    test = opened("library")
    upload(test, checkpoint(tmp_path))
    until(test, lambda: "STATE_DICT" in said(test))
    test.button(key="import.weights").click().run()
    until(test, lambda: "Change weights" in buttons(test))
    assert "digits.pt" in said(test)


def test_models_dropped_on_runs_are_opened_here_too(page, tmp_path):
    """An ONNX model opens; a program of torch.export is told here how to become one."""
    pytest.importorskip("onnxruntime")
    (tmp_path / "net.onnx").write_bytes(onnx_files.linear(n_outputs=10))
    with zipfile.ZipFile(tmp_path / "net.pt2", "w") as program:
        program.writestr("net/archive_format", "pt2")
    expected = {"net.onnx": "net.onnx", "net.pt2": "torch.onnx.export"}
    for name, words in expected.items():
        test = opened("library")
        upload(test, tmp_path / name)
        until(test, lambda test=test: "under Evaluate, which runs the model" in said(test))
        test.button(key="import.weights").click().run()
        until(test, lambda test=test, words=words: words in said(test))
        assert "Evaluate" in said(test)


def test_finished_trainings_are_offered_at_once(page, home, library):
    keep_run(library, "trained")
    config = from_json(FIRST)
    folder = JobFolder.make(home / "jobs" / "trained", config)
    folder.checkpoints.mkdir()
    checkpoint(folder.checkpoints).rename(folder.checkpoints / "epoch-00003.pt")
    from core.jobs.records import Job
    from core.jobs.store import JobStore

    job = Job("trained", "train", config.name, "g", config.digest, 5.0, state=JobState.SUCCEEDED)
    JobStore(home).add([replace(job, run="trained", started=1.0, ended=2.0)])
    test = fine(page())
    test.button(key="evaluate.take").click().run()
    until(test, lambda: "Change weights" in buttons(test))
    assert test.query_params["weights"] in ("trained", ["trained"])
    assert test.session_state["evaluate.kinds"] == ["corrupted"]
    assert test.session_state["evaluate.data"] == "digits"
    assert test.session_state["evaluate.splits"] == ["val", "test"]


def test_what_a_file_says_of_itself_stays_text(page, tmp_path):
    test = upload(page(), checkpoint(tmp_path, arch="![x](http://h/p.png)/small_cnn"))
    (radio,) = [one for one in test.radio if one.label == "Detected network"]
    (caption,) = [one for one in radio.proto.captions if "the file names" in one]
    assert "![x](" not in caption
