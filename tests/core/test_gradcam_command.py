"""The verb gradcam: a checkpoint and films in, maps at film size and their scores out."""

import json

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import save_file

from core.__main__ import main
from core.models.build import build
from core.xray import gradcam, phantom
from core.xray.heat import on_film

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def network():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        return build("densenet_small", n_outputs=4, channels=1, size=(128, 128)).eval()


@pytest.fixture
def files(tmp_path, network):
    save_file(network.state_dict(), tmp_path / "net.safetensors")
    film = phantom.draw(4, 0).pixels
    Image.fromarray(film).save(tmp_path / "DOE JANE.png")
    (tmp_path / "out").mkdir()
    return [str(tmp_path / "net.safetensors"), str(tmp_path / "DOE JANE.png")], tmp_path / "out"


def said(capsys, *arguments):
    code = main(["gradcam", *arguments, "--json", "-"])
    return code, json.loads(capsys.readouterr().out)


def test_maps_lie_on_the_film_with_their_scores(files, capsys, network):
    (checkpoint, film), out = files
    names = ("--names", ",".join(phantom.FINDINGS))
    arguments = (checkpoint, film, "--out", str(out), *names)
    code, found = said(capsys, *arguments, "--finding", "Effusion", "--finding", "Nodule")
    assert code == 0
    assert [one["finding"] for one in found] == ["Effusion", "Nodule"]
    pixels = torch.from_numpy(phantom.draw(4, 0).pixels)[None, None].float() / 255
    shown = (pixels - phantom.MEAN) / phantom.STD
    by_hand = gradcam.heat(network, shown, [(0, 2), (0, 0)], method="gradcam", layer="relu")
    for place, one in enumerate(found):
        whole = np.load(out / one["map"])
        assert whole.dtype == np.float32
        expected = on_film(by_hand.maps[place], (0.0, 0.0, 1.0, 1.0), (128, 128))
        np.testing.assert_allclose(whole, expected, atol=1e-5)
        assert one["raw_max"] == pytest.approx(by_hand.maps[place].max(), rel=1e-4)
        assert (one["method"], one["layer"], one["image"]) == ("gradcam", "relu", "film 1")
    probability = 1 / (1 + np.exp(-by_hand.logits[0, 2]))
    assert found[0]["probability"] == pytest.approx(probability, rel=1e-5)


def test_without_a_finding_the_highest_score_is_shown_and_no_file_name(files, capsys):
    (checkpoint, film), out = files
    code = main(["gradcam", checkpoint, film, film, "--out", str(out)])
    text = capsys.readouterr().out
    assert code == 0
    assert text.count("map in film-") == 2
    assert "DOE" not in text + " ".join(path.name for path in out.iterdir())
    _, found = said(capsys, checkpoint, film, "--out", str(out), "--finding", "all")
    highest = max(found, key=lambda one: one["probability"])
    assert f"film 1: {highest['finding']}" in text


@pytest.mark.parametrize(
    ("more", "code"),
    [
        (["--finding", "Measles"], "SETTING"),
        (["--names", "a,b"], "SETTING"),
        (["--layer", "nowhere"], "SETTING"),
        (["--out", "/nowhere/at/all"], "OUTPUT"),
    ],
)
def test_what_cannot_be_done_is_said(files, capsys, more, code):
    (checkpoint, film), out = files
    exit_code, found = said(capsys, checkpoint, film, "--out", str(out), *more)
    assert exit_code == 3
    assert found["error"]["code"] == code


def test_a_file_that_is_no_film_is_refused(files, capsys, tmp_path):
    (checkpoint, _), out = files
    (tmp_path / "text.png").write_text("no film")
    exit_code, found = said(capsys, checkpoint, str(tmp_path / "text.png"), "--out", str(out))
    assert exit_code == 2
    assert "text.png" not in json.dumps(found)
