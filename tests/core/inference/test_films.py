"""Films in the warm process: scores, maps, where they lie, and nobody gets another's."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from core import codec
from core.errors import AuditError, Refused, UsageError
from core.inference import films
from core.inference.client import Client
from core.inference.config import Preprocessing
from core.inference.evaluate import BatchPreprocessor, frame
from core.inference.film_model import FilmModel
from core.inference.job import CPU
from core.models.build import build
from core.xray import gradcam, phantom

HOW = Preprocessing((128, 128), (phantom.MEAN,), (phantom.STD,))


def network(seed):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return build("densenet_small", n_outputs=4, channels=1, size=(128, 128)).eval()


def model(folder, seed, how=HOW):
    path = folder / f"{seed}.safetensors"
    if not path.exists():
        save_file(network(seed).state_dict(), path)
    film_model = FilmModel(
        model="densenet_small", n_outputs=4, channels=1, preprocessing=how, weights=str(path)
    )
    return codec.to_json(film_model)


def question(about, film, **more):
    plain = {"findings": None, "method": "gradcam", "layer": None}
    return {"model": about, "film": film, **plain, **more}


def shown(index):
    pixels = torch.from_numpy(phantom.draw(2, index).pixels)[None, None].float() / 255
    return (pixels - phantom.MEAN) / phantom.STD


def test_scores_and_maps_are_those_of_the_network_itself(tmp_path):
    said, arrays = films.film_saliency(question(model(tmp_path, 0), {"phantom": [2, 1]}))
    net, film = network(0), shown(1)
    with torch.no_grad():
        logits = net(film)[0].double()
    np.testing.assert_allclose(arrays["logits"], logits, atol=1e-5)
    np.testing.assert_allclose(arrays["probabilities"], logits.sigmoid(), atol=1e-6)
    pairs = [(0, finding) for finding in range(4)]
    by_hand = gradcam.film_saliency(net, film, pairs, method="gradcam", layer="relu").maps
    np.testing.assert_allclose(arrays["maps"], by_hand, atol=1e-5)
    assert arrays["maps"].shape == (4, 16, 16)
    assert said["layer"] == said["layers"][-1] == "relu"
    assert said["frame"] == [0, 0, 1, 1]


def test_a_film_in_a_file_is_as_good_as_a_drawn_one(tmp_path):
    np.save(tmp_path / "film.npy", phantom.draw(2, 1).pixels)
    about = model(tmp_path, 0)
    drawn = films.film_saliency(question(about, {"phantom": [2, 1]}, findings=[2]))[1]
    read = films.film_saliency(question(about, {"file": str(tmp_path / "film.npy")}, findings=[2]))[
        1
    ]
    for name in ("logits", "maps"):
        np.testing.assert_array_equal(drawn[name], read[name])


@pytest.mark.parametrize(
    ("how", "size", "seen"),
    [
        (Preprocessing((224, 224), crop=0.875), (1024, 1024), (1 / 16, 1 / 16, 15 / 16, 15 / 16)),
        (Preprocessing((224, 224), crop=0.875), (512, 1024), (1 / 16, 1 / 16, 15 / 16, 15 / 16)),
        # A film twice as wide as high, covering: the middle half of its width is scaled.
        (
            Preprocessing((224, 224), crop=0.875, cover=True),
            (512, 1024),
            (0.25 + 0.5 / 16, 1 / 16, 0.75 - 0.5 / 16, 15 / 16),
        ),
        (Preprocessing((64, 128)), (100, 100), (0, 0, 1, 1)),
        (Preprocessing((64, 128), cover=True), (100, 100), (0, 0.25, 1, 0.75)),
    ],
)
def test_the_frame_is_what_the_middle_crop_shows(how, size, seen):
    assert frame(how, size) == pytest.approx(seen)


def test_the_frame_agrees_with_what_prepare_cuts_out():
    """A film that is white in its frame and black elsewhere is seen white all over."""
    how = Preprocessing((64, 64), (0.0,), (1.0,), crop=0.5, cover=True)
    film = np.zeros((96, 256), np.uint8)
    left, top, right, bottom = frame(how, film.shape)
    film[round(top * 96) : round(bottom * 96), round(left * 256) : round(right * 256)] = 255
    pixels = torch.from_numpy(film)[None, None]
    (seen,) = BatchPreprocessor(how, 1, how.mean, how.std, CPU)(pixels)
    assert seen.shape == (1, 1, 64, 64)
    assert (seen[..., 2:-2, 2:-2] == 1).all()
    assert seen.mean() > 0.98


def test_maps_of_a_wide_film_lie_where_the_network_looked(tmp_path):
    np.save(tmp_path / "wide.npy", np.pad(phantom.draw(2, 1).pixels, ((0, 0), (64, 64))))
    film = {"file": str(tmp_path / "wide.npy")}
    how = Preprocessing((128, 128), HOW.mean, HOW.std, cover=True)
    about = model(tmp_path, 0, how)
    said, arrays = films.film_saliency(question(about, film))
    assert said["frame"] == [0.25, 0.0, 0.75, 1.0]
    asked = {"films": [film], "pairs": [[0, 2]], "method": "gradcam", "layer": None}
    many = films.saliency_maps({"model": about, "shuffled": None, **asked})
    assert many[0]["frames"] == [said["frame"]]
    np.testing.assert_allclose(many[1]["maps"][0], arrays["maps"][2], atol=1e-5)
    plain = films.film_saliency(question(about, {"phantom": [2, 1]}))[1]
    np.testing.assert_allclose(arrays["maps"], plain["maps"], atol=1e-5)


def test_ten_crops_average_sigmoids_and_maps_are_of_the_middle(tmp_path):
    ten = Preprocessing(
        (112, 112), HOW.mean, HOW.std, crop=0.875, crops=10, average="probabilities"
    )
    said, arrays = films.film_saliency(question(model(tmp_path, 0, ten), {"phantom": [2, 1]}))
    net, film = network(0), shown(1)
    corners = [film[..., y : y + 112, x : x + 112] for y in (0, 16) for x in (0, 16)]
    five = [*corners, film[..., 8:120, 8:120]]
    with torch.no_grad():
        sigmoids = [net(one).double().sigmoid() for crop in five for one in (crop, crop.flip(-1))]
    expected = torch.stack(sigmoids).mean(0)[0]
    np.testing.assert_allclose(arrays["probabilities"], expected, atol=1e-6)
    np.testing.assert_allclose(arrays["logits"], torch.logit(expected), atol=1e-4)
    middle = gradcam.film_saliency(net, five[4], [(0, 0)], method="gradcam", layer="relu").maps[0]
    np.testing.assert_allclose(arrays["maps"][0], middle, atol=1e-5)
    assert said["frame"] == [1 / 16, 1 / 16, 15 / 16, 15 / 16]


def test_many_films_at_once_are_those_one_by_one(tmp_path):
    about = model(tmp_path, 0)
    drawn = [{"phantom": [2, index]} for index in range(19)]  # more than a batch
    pairs = [[18, 1], [0, 0], [3, 2], [3, 3], [17, 1]]
    asked = {"model": about, "films": drawn, "pairs": pairs, "method": "gradcam", "layer": None}
    said, arrays = films.saliency_maps(asked | {"shuffled": None})
    assert arrays["probabilities"].shape == (19, 4)
    assert said["frames"] == [[0, 0, 1, 1]] * 19
    for place, (film, finding) in enumerate(pairs):
        one = films.film_saliency(question(about, drawn[film], findings=[finding]))[1]
        np.testing.assert_allclose(arrays["maps"][place], one["maps"][0], atol=1e-5)
        np.testing.assert_allclose(arrays["probabilities"][film], one["probabilities"], atol=1e-6)
    other = films.saliency_maps(asked | {"shuffled": 1})[1]
    assert not np.allclose(other["maps"], arrays["maps"], atol=1e-3)
    again = films.saliency_maps(asked | {"shuffled": None})[1]
    np.testing.assert_array_equal(again["maps"], arrays["maps"])  # the kept model is untouched
    with pytest.raises(Refused, match="EMPTY"):
        films.saliency_maps(asked | {"films": [], "shuffled": None})


def test_a_lesion_can_be_left_out_of_a_drawn_film(tmp_path):
    index = next(k for k in range(50) if phantom.draw(2, k).present["Nodule"])
    about = model(tmp_path, 0)
    whole = films.film_saliency(question(about, {"phantom": [2, index]}))[1]
    without = films.film_saliency(question(about, {"phantom": [2, index], "without": "Nodule"}))[1]
    assert not np.array_equal(whole["logits"], without["logits"])


def test_the_sanity_check_goes_from_trained_to_all_anew(tmp_path):
    asked = question(model(tmp_path, 0), {"phantom": [2, 1]}, finding=1, seeds=[0, 1])
    said, arrays = films.sanity(asked)
    assert said["stages"][:2] == ["as trained", "linear"]
    assert said["stages"][-1] == "conv1"
    first, second = said["similarity"]
    assert first[0] == second[0] == pytest.approx(1.0)
    assert min(first[1:]) < 0.9
    assert len(first) == len(second) == len(said["stages"])
    assert first[1:] != second[1:]  # other weights were drawn
    alone = films.sanity(asked | {"seeds": [1]})[0]
    assert alone["similarity"] == [second]
    assert arrays["maps"].shape == (len(said["stages"]), 16, 16)


def test_what_cannot_be_asked_is_refused(tmp_path):
    about = model(tmp_path, 0)
    with pytest.raises(Refused, match="scorecam takes one finding"):
        films.film_saliency(question(about, {"phantom": [2, 1]}, method="scorecam"))
    with pytest.raises(UsageError, match="Mean has 0 numbers"):
        FilmModel(
            model="densenet_small",
            n_outputs=4,
            channels=1,
            preprocessing=Preprocessing((64, 64)),
            weights="w",
        )
    assert codec.to_json(codec.read(FilmModel, about)) == about


@pytest.mark.nightly
@pytest.mark.parametrize("n_calls", [64, pytest.param(160, marks=pytest.mark.soak)])
def test_four_threads_get_their_own_maps(n_calls, tmp_path):
    """Calls of several models, films, findings and methods: none is another's."""
    abouts = [model(tmp_path, seed) for seed in range(3)]
    methods = ("gradcam", "hirescam", "gradcam++", "xgradcam")

    def asked(call):
        rng = np.random.default_rng(call)
        film = {"phantom": [2, int(rng.integers(8))]}
        finding, method = int(rng.integers(4)), str(rng.choice(methods))
        return question(abouts[int(rng.integers(3))], film, findings=[finding], method=method)

    expected = {call: films.film_saliency(asked(call))[1] for call in range(n_calls)}
    client = Client()
    try:
        with ThreadPoolExecutor(4) as threads:
            found = list(threads.map(lambda call: client.call("heat", asked(call)), range(n_calls)))
        with pytest.raises(AuditError, match="No layer"):
            client.call("heat", asked(0) | {"layer": "nowhere"})
    finally:
        client.close()
    for call, answer in enumerate(found):
        for name, values in expected[call].items():
            np.testing.assert_allclose(answer.arrays[name], values, atol=1e-5)
