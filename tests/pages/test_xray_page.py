"""The view Film of the page Chest X-ray through app.py, with real films and a real warm process."""

import io
import re
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch
from PIL import Image, PngImagePlugin
from safetensors.torch import save_file
from streamlit.testing.v1 import AppTest

from core import codec
from core.errors import Refused
from core.inference.client import shared
from core.inference.config import WEIGHTS, EvaluationConfig, Preprocessing, WeightsSource
from core.inference.film_model import EXAMPLES, HELD_OUT, FilmModel
from core.jobs.records import JobState
from core.models.build import build
from core.xray import phantom
from pages.ui import inference, session
from pages.ui.xray import models as xray_models
from tests.pages.evaluate_cases import keep_job
from tests.pages.seen import fine, opened, said, until

pytestmark = pytest.mark.usefixtures("paused", "unsealed")
NAME = "DOE_JANE_19500101.png"
CHEST = "densenet_small"


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    """A network for 14 findings, as a file; its weights are random."""
    torch.manual_seed(0)
    state = build(CHEST, n_outputs=14, channels=1, size=(128, 128)).state_dict()
    path = tmp_path_factory.mktemp("weights") / "chest.safetensors"
    save_file({name: one.contiguous() for name, one in state.items()}, path)
    return path


@pytest.fixture
def xray(paused):
    return partial(opened, "xray")


def film(seed: int = 0, side: int = 200) -> bytes:
    """A PNG with noise, and with a name in its text."""
    noise = np.random.default_rng(seed).normal(110, 40, (side, side)).clip(0, 255)
    texts = PngImagePlugin.PngInfo()
    texts.add_text("PatientName", "DOE^JANE")
    out = io.BytesIO()
    Image.fromarray(noise.astype(np.uint8)).save(out, "PNG", pnginfo=texts)
    return out.getvalue()


def uploader(test: AppTest, words: str):
    return next(one for one in test.file_uploader if words in one.label)


def button(test: AppTest, label: str):
    return next(one for one in test.button if one.label == label)


def labels(test: AppTest) -> list[str]:
    return [one.label for one in test.button]


def drop(test: AppTest, *files: tuple[str, bytes]) -> AppTest:
    uploader(test, "Films:").set_value([(name, data, "image/png") for name, data in files])
    return until(test.run(), lambda: "Reading" not in said(test))


def with_model(test: AppTest, path) -> AppTest:
    uploader(test, "Weights of").set_value((path.name, path.read_bytes(), "application/octet"))
    return until(test.run(), lambda: own_has_looked(test))


def own_has_looked(test: AppTest) -> bool:
    """Whether a model of the session is there, which is then the one shown, and has answered."""
    return bool(test.session_state["xray.models"]) and "The findings of this film" in said(test)


def test_the_examples_are_what_they_are_said_to_be():
    found = [list(phantom.draw(HELD_OUT, index).boxes) for index in EXAMPLES]
    assert found[:4] == [["Consolidation"], ["Nodule"], ["Effusion"], ["Cardiomegaly"]]
    assert len(found[4]) > 1
    assert found[5] == []


def test_the_page_opens_with_its_banner_and_films_before_anything_is_dropped(xray):
    test = fine(xray())
    assert "Research use, not a medical device." in said(test)
    assert [one for one in labels(test) if one.startswith("Synthetic")] == [
        "Synthetic 1 *shown*",
        *(f"Synthetic {i}" for i in range(2, 7)),
    ]
    assert uploader(test, "Films:")
    assert uploader(test, "Weights of")


def test_a_film_that_comes_with_candor_is_shown_before_any_model_is_loaded(xray):
    shared().close()
    test = fine(xray())
    text = said(test)
    assert "Score 71. Of 100 films" in text
    assert "about 51" in text
    assert not shared().warm
    assert "The first answer" not in said(
        fine(xray(film="s3", models="phantom-fcl,phantom-focal-3"))
    )
    assert not shared().warm


@pytest.fixture
def unknown(monkeypatch):
    """Nothing is known of what the sample models were trained on, so they read any film."""
    models = [replace(model, synthetic=None) for model in xray_models.samples()]
    monkeypatch.setattr(xray_models, "samples", lambda: models)


@pytest.mark.nightly
@pytest.mark.usefixtures("unknown")
def test_a_first_look_says_that_it_takes_longer(xray):
    shared().close()
    test = drop(xray(), (NAME, film()))
    assert "The first answer takes up to a minute" in said(test)
    until(test, lambda: "The findings of this film" in said(test))
    assert "The first answer" not in said(button(fine(test), "Synthetic 2").click().run())


class Silent:
    """A process that is never ready, and answers nothing until it is stopped."""

    warm = False

    def call(self, name, question, *, timeout_s, cancel=None):
        if cancel is not None:  # else a visitor's process is warmed up, by another test's server
            cancel.wait()
        raise Refused("CANCELLED", "It was stopped", "-")


@pytest.mark.usefixtures("unknown")
def test_a_look_is_stopped_and_goes_on_when_told(xray, monkeypatch):
    monkeypatch.setattr(inference, "shared", Silent)
    test = fine(drop(xray(), (NAME, film())))
    assert "The model is reading the film." in said(test)
    button(test, "Stop").click().run()
    assert "The model gave no answer for this film." in said(fine(test))
    assert "Stopped: " in said(test)
    assert "The first answer" not in said(test)
    button(fine(test.run()), "Resume").click().run()
    assert "The model is reading the film." in said(fine(test))
    button(test, "Stop").click().run()


def test_a_real_film_gets_neither_score_nor_heat_from_models_of_synthetic_films(xray):
    test = fine(drop(xray(), (NAME, film())))
    text = said(test)
    assert "No score of this real film is shown." in text
    assert "trained on synthetic films alone" in text
    for words in (
        "Of 100 films scored",
        "gives this film a score of",
        "The findings of this film",
        "strong influence",
        "Consolidation",
    ):
        assert words not in text
    assert not any(one.label == "Finding" for one in test.selectbox)
    assert not test.get("download_button")


def test_a_dropped_film_is_kept_by_number_and_nothing_of_its_file(xray):
    test = fine(drop(xray(), (NAME, film())))
    assert "Film 1 *shown*" in labels(test)
    assert test.query_params["film"] == "f1"
    told = re.sub('base64,[^"]*', "", said(test))  # of pictures, where any letters may follow
    everything = told + repr(test.session_state) + repr(test.query_params)
    for secret in ("DOE", "JANE", "1950"):
        assert secret not in everything
    held = test.session_state["xray.films"]["f1"]
    assert (held.file.stat().st_mode & 0o777) == 0o600
    np.testing.assert_array_equal(np.load(held.file), held.film.pixels)
    assert [one.name for one in held.file.parent.iterdir()] == [held.file.name]


def test_bad_films_are_refused_in_words_and_good_ones_kept(xray):
    test = drop(xray(), ("a.png", film(1)), ("b.png", film(2)[:900]), ("c.pdf", b"%PDF-1.4 x"))
    assert "Film 1 *shown*" in labels(test)
    assert "Film 2" not in labels(test)
    text = said(test)
    assert "IMAGE_TRUNCATED" in text
    assert "FORMAT_UNKNOWN" in text
    assert "**Film 2 of 3: " in text
    assert [one.label for one in test.expander if "refused" in one.label] == ["2 of 3 were refused"]
    assert not test.exception
    button(test, "Close").click()
    assert "IMAGE_TRUNCATED" not in said(test.run())


def test_one_bad_film_needs_no_number(xray):
    text = said(drop(xray(), ("list.csv", b"image,finding,x,y,w,h\n0.png,Mass,1,1,2,2\n")))
    assert "This is not a film: a film is a PNG" in text
    assert "A list of boxes goes into the second field of Add films" in text
    assert "film 1" not in text.lower()


def test_a_full_disk_is_said_of_films(xray, monkeypatch):
    def full(data):
        raise OSError(28, "No space left on device")

    test = xray()
    monkeypatch.setattr(session, "store", full)
    text = said(drop(test, ("a.png", film(1)), ("b.png", film(2))))
    assert "The file could not be stored or read (No space left on device)" in text


@pytest.mark.parametrize(("film", "told"), [("s2", False), ("s6", True)])
def test_a_synthetic_film_without_the_finding_says_so(xray, film, told):
    """The second one was drawn with a nodule, the sixth with nothing."""
    test = xray(film=film, finding="nodule")
    until(test, lambda: "The findings of this film" in said(test))
    assert ("drawn without a nodule, so there is no box" in said(fine(test))) == told


def test_a_blank_film_gets_no_score(xray):
    out = io.BytesIO()
    Image.new("L", (300, 300), 90).save(out, "PNG")
    test = fine(drop(xray(), ("a.png", out.getvalue())))
    text = said(test)
    assert "This film is blank" in text
    assert "IMAGE_BLANK" in text
    assert "The findings of this film" not in text
    assert "strong influence" not in text


def test_the_link_of_a_film_of_another_session_says_so(xray):
    test = fine(xray(film="f1"))
    assert "of another session" in said(test)
    button(test, "Synthetic 2").click()
    assert "of another session" not in said(fine(test.run()))


@pytest.mark.slow
def test_views_hand_the_finding_over_by_its_name(xray):
    test = xray(finding="effusion")
    until(test, lambda: "The findings of this film" in said(test))
    test.query_params |= {"run": "phantom-ce", "show": "finding"}
    fine(test.run())
    assert test.query_params["of"] == str(phantom.FINDINGS.index("Effusion"))
    test.query_params |= {"of": "0", "show": "film"}
    test.session_state["set.of"] = "0"
    fine(test.run())
    assert test.query_params["finding"] == phantom.FINDINGS[0].lower()


@pytest.mark.parametrize(
    ("labels", "chosen", "key"),
    [
        # a link written where one label was spelled so
        (("Pleural_Thickening", "Pleural Thickening"), "pleural thickening", "Pleural_Thickening"),
        (("Pleural_Thickening", "Pleural Thickening"), "Pleural Thickening", "Pleural Thickening"),
        # one written where two labels were, `Mass` and `mass`
        (("mass", "Nodule"), "Mass", "mass"),
        (("mass", "Nodule"), "Hernia", "top"),  # a finding that this model lacks
    ],
)
@pytest.mark.parametrize("by", ["link", "session"])
def test_a_finding_is_shown_however_the_model_before_spelled_it(
    xray, monkeypatch, labels, chosen, key, by
):
    """The answers are those of the samples, whose last findings are called otherwise here."""
    others = phantom.FINDINGS[:-2]
    models = [replace(model, findings=(*others, *labels)) for model in xray_models.samples()]
    monkeypatch.setattr(xray_models, "samples", lambda: models)
    test = xray(**({"finding": chosen} if by == "link" else {"film": "s1", "show": "findings"}))
    if by == "session":
        test.session_state["set.finding"] = chosen
        test.query_params["show"] = "film"
        test.run()
    fine(until(test, lambda: "The findings of this film" in said(test)))
    (choice,) = [one for one in test.selectbox if one.label == "Finding"]
    assert choice.value == key
    if key != "top":
        assert test.query_params["finding"] in (key, [key])
        assert test.session_state["xray.shown"] == key


def test_a_film_is_removed_brought_back_and_forgotten(xray):
    test = drop(xray(), ("a.png", film()))
    drop(test, ("b.png", film(1)))
    button(test, "Film 1").click()
    test.run()
    file = test.session_state["xray.films"]["f1"].file
    button(test, "Remove film").click()
    fine(test.run())
    assert not any("Film 1" in one for one in labels(test))
    assert "Film 2 *shown*" in labels(test)  # its neighbour
    button(test, "Undo").click()
    fine(test.run())
    assert "Film 1 *shown*" in labels(test)
    button(test, "Remove film").click()
    test.run()
    button(test, "Forget it now").click()
    fine(test.run())
    assert not file.exists()
    assert "Undo" not in labels(test)


@pytest.mark.slow
def test_a_checkpoint_of_14_outputs_gets_the_findings_and_no_number_without_a_test_set(
    xray, weights
):
    test = fine(with_model(drop(xray(), ("a.png", film())), weights))
    text = said(test)
    assert "Pleural Thickening" in text
    assert "no test set of this model is loaded" in text
    assert "is not a frequency" in text or "not a frequency" in text
    assert "This is not the patient’s risk." in text
    assert "Of 100 films" not in text
    (finding,) = [one for one in test.selectbox if one.label == "Finding"]
    scores = [float(one.rsplit(" ", 1)[1]) for one in finding.options[1:]]
    assert scores == sorted(scores, reverse=True)
    assert len(scores) == 14


@pytest.fixture
def job(home):
    """The id of an evaluation of a network on synthetic films."""
    wanted = WeightsSource("net.pt", "d" * 32, "state_dict")
    config = EvaluationConfig(
        model=CHEST,
        n_outputs=4,
        channels=1,
        weights=wanted,
        preprocessing=Preprocessing((128, 128)),
        data="phantom",
    )
    keep_job(home, "chestfims234", JobState.SUCCEEDED, config, run="chestfims234")
    state = build(CHEST, n_outputs=4, channels=1, size=(128, 128)).state_dict()
    save_file(
        {name: one.contiguous() for name, one in state.items()},
        home / "jobs" / "chestfims234" / WEIGHTS,
    )
    return "chestfims234"


def shown(test: AppTest) -> list[str]:
    return test.multiselect(key="widget.xray_models").value


def open_beside(test: AppTest, run_id: str) -> AppTest:
    """Open another run, as the choice beside the page does."""
    test.query_params["run"] = run_id
    return fine(test.run())


@pytest.mark.slow
def test_the_model_of_the_open_run_looks_at_the_films(xray, job):
    test = xray(run=job)
    until(test, lambda: test.session_state["xray.models"] and "The findings of" in said(test))
    (model,) = fine(test).session_state["xray.models"]
    assert shown(test) == [model]
    assert test.session_state["xray.models"][model].run == job
    test.multiselect(key="widget.xray_models").set_value(["phantom-fcl"]).run()
    until(test, lambda: "The findings of this film" in said(test))
    assert shown(test) == ["phantom-fcl"]  # not taken back
    assert shown(open_beside(test, "phantom-focal-3")) == ["phantom-focal-3"]
    assert shown(open_beside(test, job)) == [model]
    assert len(test.session_state["xray.models"]) == 1  # read once


@pytest.mark.slow
def test_undo_brings_a_model_back_and_leaves_what_was_picked_since(xray, weights):
    test = with_model(drop(xray(), ("a.png", film())), weights)
    (own,) = test.session_state["xray.models"]
    button(test, "Remove this model").click()
    fine(test.run())
    test.multiselect(key="widget.xray_models").set_value(["phantom-fcl"]).run()
    button(test, "Undo").click()
    fine(test.run())
    assert list(test.session_state["xray.models"]) == [own]
    assert shown(test) == ["phantom-fcl"]


@pytest.mark.slow
def test_a_run_opened_later_leads_whatever_was_picked_before(xray):
    test = xray()
    test.multiselect(key="widget.xray_models").set_value(["phantom-fcl", "phantom-ce"]).run()
    assert test.query_params["models"] in ("phantom-fcl,phantom-ce", ["phantom-fcl,phantom-ce"])
    assert shown(open_beside(test, "phantom-focal-3")) == ["phantom-focal-3"]
    assert shown(open_beside(test, "phantom-fcl")) == ["phantom-fcl"]
    assert shown(open_beside(test, "digits-fair")) == ["phantom-fcl"]  # it has no model for films


@pytest.mark.slow
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"models": "phantom-fcl,phantom-fcl,nosuch"}, "phantom-fcl"),
        ({"run": "phantom-focal-3"}, "phantom-focal-3"),
        ({"run": "phantom-focal-3", "models": "phantom-fcl"}, "phantom-fcl"),
        ({"run": "digits-fair"}, "phantom-ce"),
        ({"run": "nosuchrun"}, "phantom-ce"),
    ],
)
def test_a_link_to_a_sample_run_or_to_models_shows_theirs(xray, query, expected):
    assert shown(fine(xray(**query))) == [expected]


@pytest.mark.slow
def test_a_job_on_synthetic_films_is_one_click_away(xray, job):
    test = xray()
    (jobs,) = [one for one in test.selectbox if "trained or evaluated here" in one.label]
    jobs.select(job)
    until(test.run(), lambda: own_has_looked(test))
    (model,) = fine(test).session_state["xray.models"].values()
    assert model.findings == phantom.FINDINGS
    assert model.synthetic
    assert model.film_model.preprocessing.mean == (phantom.MEAN,)
    assert "No score" not in said(test)


@pytest.mark.slow
def test_a_model_of_real_films_says_that_synthetic_ones_mean_nothing(xray, weights):
    test = fine(with_model(xray(film="s1"), weights))
    assert "No score" not in said(test)
    assert "nothing is known of what this model was trained on" in said(test)
    assert "This is not the patient" not in said(test)


@pytest.mark.slow
def test_heat_below_the_threshold_is_hidden_until_it_is_asked_for(xray, weights):
    test = with_model(drop(xray(), ("a.png", film())), weights)
    (box,) = [one for one in test.number_input if "Hide heat" in one.label]
    assert box.value == 50.0  # nothing is known of its frequency
    box.set_value(100.0)
    fine(test.run())
    assert "No heatmap" in said(test)
    assert "strong influence" not in said(test)
    button(test, "Show anyway").click()
    fine(test.run())
    assert "No heatmap" not in said(test)
    assert "strong influence" in said(test)


@pytest.mark.nightly
@pytest.mark.slow
def test_slow_methods_are_computed_on_request_and_scaled_to_themselves(xray, weights):
    test = with_model(drop(xray(), ("a.png", film())), weights)
    (box,) = [one for one in test.number_input if "Hide heat" in one.label]
    box.set_value(0.0)
    test.query_params["method"] = "scorecam"
    fine(test.run())
    text = said(test)
    assert "takes minutes" in text
    assert "wait until it is done" in text
    button(test, "Compute ScoreCAM").click()
    until(test.run(), lambda: "ScoreCAM on the logit" in said(test))
    assert "strongest in this picture alone" in said(fine(test))
    assert "Do not compare pictures" in said(test)


@pytest.mark.nightly
@pytest.mark.slow
def test_a_sanity_check_shows_how_the_map_changes(xray, weights):
    test = with_model(drop(xray(), ("a.png", film())), weights)
    (box,) = [one for one in test.number_input if "Hide heat" in one.label]
    box.set_value(0.0)
    test.run()
    button(test, "Sanity check of this map").click()
    until(test.run(), lambda: "all weights randomised" in said(test))
    fine(test)
    assert "as trained: 1.00" in said(test)


@pytest.mark.slow
def test_boxes_go_to_the_films_of_their_names_and_maps_are_compared_with_them(xray, weights):
    test = with_model(drop(xray(), (NAME, film()), ("other.png", film(1))), weights)
    rows = ["image,finding,x,y,w,h", f"{NAME},Effusion,102.4,512,204.8,256", "x.png,Mass,1,1,9,9"]
    uploader(test, "Boxes of").set_value(("boxes.csv", "\n".join(rows).encode(), "text/csv"))
    until(test.run(), lambda: "list of boxes in a sealed" not in said(test))
    assert "boxes for 1 of the 2 films of this session, and for 1 film that" in said(test)
    assert "DOE" not in re.sub('base64,[^"]*', "", said(test)) + repr(test.session_state)
    test.query_params["finding"] = "effusion"
    test.query_params["film"] = "f1"
    until(test.run(), lambda: "The findings of this film" in said(test))
    (box,) = [one for one in test.number_input if "Hide heat" in one.label]
    box.set_value(0.0)
    fine(test.run())
    alts = [one.proto.imgs[0].alt for one in test.get("image")]
    (effusion,) = [alt for alt in alts if "Effusion" in alt]
    assert effusion.startswith("Film 1. 1 box where Effusion is.")
    assert "of it lies in the box" in effusion
    button(test, "Compare on 1 film").click()
    until(test.run(), lambda: "There are too few films" in said(test))
    fine(test)


@pytest.mark.slow
def test_who_moves_on_quickly_does_not_end_the_process_that_answers(home, weights, tmp_path):
    model = FilmModel(
        model=CHEST,
        n_outputs=14,
        channels=1,
        preprocessing=Preprocessing((128, 128), (0.5,), (0.25,)),
        weights=str(weights),
    )
    base = {"model": codec.to_json(model), "findings": [0], "layer": None}
    slow = base | {"film": {"phantom": [3, 0]}, "method": "scorecam"}
    then = base | {"film": {"phantom": [3, 1]}, "method": "gradcam"}
    script = tmp_path / "script.py"
    script.write_text(
        "import streamlit as st\nfrom pages.ui import inference\n"
        "tasks = [inference.query('look', 'heat', one, 'Looking.', patient=True)\n"
        f"         for one in ({slow!r}, {then!r})]\n"
        "for task in tasks:\n    if task.work is None:\n        task.begin()\n"
        "if all(task.work and task.work.succeeded for task in tasks):\n    st.write('both')\n"
    )
    test = AppTest.from_file(str(script), default_timeout=600).run()
    until(test, lambda: "both" in said(test))
    assert "both" in said(test)


@pytest.mark.nightly
def test_a_densenet_of_torchxrayvision_has_its_findings_and_says_what_is_left_off(xray, tmp_path):
    torch.manual_seed(0)
    state = build("densenet121_xrv", n_outputs=18, channels=1, size=(224, 224)).state_dict()
    torch.save({**state, "op_threshs": torch.full((18,), 0.1)}, tmp_path / "all.pt")
    test = with_model(drop(xray(), ("a.png", film())), tmp_path / "all.pt")
    (model,) = fine(test).session_state["xray.models"].values()
    assert (model.findings[0], model.findings[9], model.findings[17]) == (
        *("Atelectasis", "Pleural_Thickening", "Enlarged Cardiomediastinum"),
    )
    how = model.film_model.preprocessing
    assert [(end - how.mean[0]) / how.std[0] for end in (0, 1)] == [-1024, 1024]
    assert (how.size, how.cover, how.crop) == ((224, 224), True, 1)
    assert "op_threshs are left off" in said(test)


@pytest.mark.nightly
@pytest.mark.slow
def test_ten_crops_change_what_is_asked_of_the_model(xray, weights):
    test = with_model(drop(xray(), ("a.png", film())), weights)
    (ten,) = [one for one in test.toggle if "Ten crops" in one.label]
    ten.set_value(True)
    until(test.run(), lambda: "The findings of this film" in said(test))
    (model,) = test.session_state["xray.models"].values()
    how = model.film_model.preprocessing
    assert (how.crops, how.average, how.crop) == (10, "probabilities", 0.875)
    assert len(how.mean) == 1


@pytest.mark.slow
def test_models_side_by_side_look_findings_up_by_name_each_on_its_own_scale(xray, weights):
    """A nodule is 1 of 4 outputs there and 6 of 14 here."""
    test = with_model(xray(film="s1"), weights)
    (own,) = test.session_state["xray.models"]
    (picked,) = [one for one in test.multiselect if one.label == "Models"]
    picked.set_value(["phantom-ce", own])
    until(test.run(), lambda: "Not its kind of film" in said(test))
    assert "No heatmap" in said(fine(test))  # below 50 %: no test set of this model is known
    (box,) = [one for one in test.number_input if "Hide heat" in one.label]
    box.set_value(0.0)
    fine(test.run())
    assert said(test).count("strong influence") == 2
    assert "compare where the heat lies, not how strong" in said(test)
    test.query_params["scale"] = "films"  # of films of people there is none; the one shown counts
    until(test.run(), lambda: said(test).count("one scale for all films here") == 2)
    fine(test)


@pytest.mark.slow
def test_other_settings_drop_what_scores_were_counted_on(xray, weights):
    test = with_model(drop(xray(), ("a.png", film())), weights)
    assert said(test).count("Text in the picture is kept") == 2  # at the film and at the downloads
    (own,) = test.session_state["xray.models"]
    models = test.session_state["xray.models"]
    models[own] = replace(models[own], run="some-run")
    test.session_state["xray.counted"] = {own: "other-run"}
    (ten,) = [one for one in test.toggle if "Ten crops" in one.label]
    ten.set_value(True)
    until(test.run(), lambda: "The findings of this film" in said(test))
    assert test.session_state["xray.models"][own].run == ""
    assert test.session_state["xray.counted"] == {own: ""}
    assert "no test set of this model is loaded" in said(test)
