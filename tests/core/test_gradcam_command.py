"""The verb gradcam: a checkpoint and films in, maps at film size and their scores out."""

import errno
import json

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import save_file

from core.__main__ import main
from core.commands.gradcam import _save
from core.errors import UsageError
from core.models.build import build
from core.xray import gradcam, phantom
from core.xray.heat import on_film

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("unsealed")]


LOOKS = ("--size", "128", "--crop", "1", "--moments", "half")  # as its file does not say
DRAWN = [phantom.draw(4, index).pixels for index in range(40)]


def shown(films):
    return (torch.from_numpy(np.stack(films))[:, None] / 255 - 0.5) / 0.5


@pytest.fixture(scope="module")
def network():
    """A random network whose outputs are alike on average, so that films differ in the highest."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        net = build("densenet_small", n_outputs=4, channels=1, size=(128, 128)).eval()
    with torch.no_grad():
        net.linear.bias -= net(shown(DRAWN)).mean(0)
    return net


@pytest.fixture
def files(tmp_path, network):
    save_file(network.state_dict(), tmp_path / "net.safetensors")
    Image.fromarray(DRAWN[0]).save(tmp_path / "DOE JANE.png")
    return [str(tmp_path / "net.safetensors"), str(tmp_path / "DOE JANE.png")], tmp_path / "out"


def said(capsys, *arguments):
    code = main(["gradcam", *LOOKS, *arguments, "--json", "-"])
    return code, json.loads(capsys.readouterr().out)


@pytest.mark.usefixtures("sealed")
def test_maps_lie_on_the_film_with_their_scores(files, capsys, network):
    (checkpoint, film), out = files
    names = ("--names", ",".join(phantom.FINDINGS))
    arguments = (checkpoint, film, "--out", str(out), *names)
    code, found = said(capsys, *arguments, "--finding", "Effusion", "--finding", "Nodule")
    assert code == 0
    assert [one["finding"] for one in found] == ["Effusion", "Nodule"]
    pairs = [(0, 2), (0, 0)]
    by_hand = gradcam.film_saliency(
        network, shown(DRAWN[:1]), pairs, method="gradcam", layer="relu"
    )
    for place, one in enumerate(found):
        whole = np.load(out / one["map"])
        assert whole.dtype == np.float32
        expected = on_film(by_hand.maps[place], (0.0, 0.0, 1.0, 1.0), (128, 128))
        np.testing.assert_allclose(whole, expected, atol=1e-5)
        assert one["raw_max"] == pytest.approx(by_hand.maps[place].max(), rel=1e-4)
        assert (one["method"], one["layer"], one["image"]) == ("gradcam", "relu", "film 1")
    probability = 1 / (1 + np.exp(-by_hand.logits[0, 2]))
    assert found[0]["probability"] == pytest.approx(probability, rel=1e-5)


@pytest.mark.nightly
def test_without_a_finding_the_highest_score_is_shown_and_no_file_name(files, capsys):
    (checkpoint, film), out = files
    code = main(["gradcam", checkpoint, film, film, "--out", str(out), *LOOKS])
    text = capsys.readouterr().out
    assert code == 0
    assert text.count("map in film-") == 2
    assert "DOE" not in text + " ".join(path.name for path in out.iterdir())
    code, found = said(capsys, checkpoint, film, "--out", str(out), "--finding", "all")
    assert (code, found["error"]["code"]) == (3, "OUTPUT")  # nothing is written over
    for path in out.iterdir():
        path.unlink()
    _, found = said(capsys, checkpoint, film, "--out", str(out), "--finding", "all")
    highest = max(found, key=lambda one: one["probability"])
    assert f"film 1: {highest['finding']}" in text


def test_each_film_has_its_own_highest_finding(files, capsys, network, tmp_path):
    (checkpoint, _), out = files
    with torch.no_grad():
        highest = network(shown(DRAWN)).argmax(1).tolist()
    other = next(index for index, finding in enumerate(highest) if finding != highest[0])
    paths = [str(tmp_path / f"{index}.png") for index in (0, other)]
    for index, path in zip((0, other), paths, strict=True):
        Image.fromarray(DRAWN[index]).save(path)
    names = ("--names", ",".join(phantom.FINDINGS))
    _, found = said(capsys, checkpoint, *paths, "--out", str(out), *names)
    expected = [phantom.FINDINGS[highest[index]] for index in (0, other)]
    assert [one["finding"] for one in found] == expected


@pytest.mark.parametrize(
    ("more", "code"),
    [
        (["--finding", "Measles"], "SETTING"),
        (["--names", "a,b"], "SETTING"),
        (["--layer", "nowhere"], "SETTING"),
        (["--out", "/dev/null/at/all"], "OUTPUT"),
        (["--out", "/dev/null"], "OUTPUT"),
        (["--moments", "data"], "SETTING"),
    ],
)
def test_what_cannot_be_done_is_said(files, capsys, more, code):
    (checkpoint, film), out = files
    exit_code, found = said(capsys, checkpoint, film, "--out", str(out), *more)
    assert exit_code == 3
    assert found["error"]["code"] == code


def test_a_network_of_any_size_needs_what_it_was_shown(files, capsys):
    (checkpoint, film), out = files
    assert main(["gradcam", checkpoint, film, "--out", str(out)]) == 3
    assert "--size and --moments" in capsys.readouterr().err


def test_a_densenet_of_torchxrayvision_is_shown_films_as_its_code_does(capsys, tmp_path):
    """From -1024 to 1024, eighteen findings by name, its op_threshs left off and said."""
    from torchvision.models import densenet121

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(5)
        net = densenet121(num_classes=18).eval()
        net.features.conv0 = torch.nn.Conv2d(1, 64, 7, 2, 3, bias=False)
    with torch.no_grad():
        net.features.conv0.weight /= 1024  # random weights would saturate
    state = {**net.state_dict(), "op_threshs": torch.full((18,), 0.1)}
    torch.save(state, tmp_path / "all.pt")
    pixels = np.add.outer(np.arange(224), np.arange(224)).astype(np.uint8)
    Image.fromarray(pixels).save(tmp_path / "film.png")
    (tmp_path / "out").mkdir()
    arguments = [str(tmp_path / "all.pt"), str(tmp_path / "film.png"), "--finding", "Fracture"]
    assert main(["gradcam", *arguments, "--out", str(tmp_path / "out")]) == 0
    film = (2 * torch.from_numpy(pixels)[None, None].float() / 255 - 1) * 1024
    with torch.no_grad():
        logits = net(film)[0]
    assert logits.abs().max() < 5
    said = capsys.readouterr().out
    assert f"Fracture {100 * logits.sigmoid()[15]:.1f} %" in said
    assert "op_threshs are left off" in said


def test_a_missing_film_is_not_named(files, capsys):
    (checkpoint, _), out = files
    assert main(["gradcam", checkpoint, "/nowhere/DOE JANE.png", "--out", str(out)]) == 3
    error = capsys.readouterr().err
    assert "film 1" in error
    assert "DOE" not in error


def test_a_training_says_what_it_was_shown(capsys, tmp_path, monkeypatch, network):
    """The job's config decides size, moments and names; here one of phantoms."""
    from core.jobs.local import LocalJobs
    from core.training.config import from_json

    monkeypatch.setenv("CANDOR_HOME", str(tmp_path / "home"))
    jobs = LocalJobs(tmp_path / "home")
    config = {"data": "phantom", "model": "densenet_small", "loss": {"name": "ce"}}
    jobs.pause()
    (job,) = jobs.submit([from_json(config)])
    jobs.cancel(job.id)
    saved = jobs.folder(job.id).checkpoints
    saved.mkdir(parents=True, exist_ok=True)
    torch.save({"state": {"net": network.state_dict()}}, saved / "epoch-00001.pt")
    Image.fromarray(DRAWN[0]).save(tmp_path / "film.png")
    (tmp_path / "out").mkdir()
    arguments = [job.id, str(tmp_path / "film.png"), "--out", str(tmp_path / "out")]
    assert main(["gradcam", *arguments, "--finding", "Effusion", "--json", "-"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    film = (torch.from_numpy(DRAWN[0])[None, None] / 255 - phantom.MEAN) / phantom.STD
    with torch.no_grad():
        expected = network(film).sigmoid()[0, 2]
    assert found["probability"] == pytest.approx(float(expected), rel=1e-5)


def test_a_file_that_is_no_film_is_refused(files, capsys, tmp_path):
    (checkpoint, _), out = files
    (tmp_path / "text.png").write_text("no film")
    exit_code, found = said(capsys, checkpoint, str(tmp_path / "text.png"), "--out", str(out))
    assert exit_code == 2
    assert "text.png" not in json.dumps(found)


def test_half_a_map_is_not_left_on_a_full_disk(tmp_path, monkeypatch):
    def full(path, _):
        path.write_bytes(b"half")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(np, "save", full)
    with pytest.raises(UsageError, match="No space left"):
        _save(tmp_path / "map.npy", np.zeros((2, 2), np.float32))
    assert not list(tmp_path.iterdir())
