"""python -m core calibrate and apply: what they say, and that both give the same numbers."""

import json
import re

import numpy as np
import pytest

from core.__main__ import main
from core.calibrators.focal_temperature import PAPER_GAMMAS
from core.calibrators.search import PROTOCOLS
from core.calibrators.stored import from_json, to_json
from core.calibrators.temperature import FINE_GRID, MUKHOTI_GRID, Temperature

pytestmark = pytest.mark.usefixtures("unsealed")
RNG = np.random.default_rng(1)
TRUE = 1.5 * RNG.normal(size=(900, 4))
P = np.exp(TRUE) / np.exp(TRUE).sum(axis=1, keepdims=True)
LABELS = np.array([RNG.choice(4, p=row) for row in P])
SHARP = 2.5 * TRUE  # over-confident: the true temperature is 2.5
PROPER = ("accuracy", "nll", "brier")  # scores without a noise floor
TOLD = {"value", "low", "high", "level", "n", "tie", "settings"}
NIGHTLY = [
    pytest.param(name, marks=pytest.mark.nightly)
    for name in ("ts", "focal_ts", "vector", "isotonic")
]


@pytest.fixture
def one_part(tmp_path):
    path = tmp_path / "one.npz"
    np.savez(path, logits=SHARP, labels=LABELS)
    return path


@pytest.fixture
def two_parts(tmp_path):
    return halves(tmp_path)


def halves(folder):
    path = folder / "two.npz"
    np.savez(
        path,
        val_logits=SHARP[:400],
        val_labels=LABELS[:400],
        test_logits=SHARP[400:],
        test_labels=LABELS[400:],
    )
    return path


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Return what was said of two parts at their temperature, and the folder of what was saved."""
    folder = tmp_path_factory.mktemp("saved")
    said = folder / "said.json"
    words = ["--methods", "ts", "--save", str(folder), "--json", str(said)]
    assert main(["calibrate", str(halves(folder)), *words]) == 0
    return json.loads(said.read_text()), folder


def part(folder, logits, labels):
    np.savez(folder / "part.npz", logits=logits, labels=labels)
    return folder / "part.npz"


def call(capsys, *arguments):
    assert main([str(one) for one in arguments]) == 0
    return json.loads(capsys.readouterr().out)


def refused(capsys, *arguments):
    code = main([str(one) for one in arguments])
    return code, capsys.readouterr().err.split(":")[0]


def codes(report):
    return {notice["code"] for notice in report["notices"]}


def test_report_has_every_key_and_the_temperature_is_found(two_parts, capsys):
    found = call(capsys, "calibrate", two_parts, "--methods", "ts,focal_ts", "--json", "-")
    assert (found["fit"], found["test"], found["n_fit"], found["n_test"]) == (
        "val",
        "test",
        400,
        500,
    )
    assert found["cut"] is None
    assert not codes(found) & {"CUT", "SAME_ROWS"}
    ts = found["methods"]["ts"]
    assert ts["parameters"]["temperature"] == pytest.approx(2.5, rel=0.15)
    assert (ts["objective"], ts["at_bound"], ts["answers_changed"]) == ("nll", False, 0)
    assert ts["after"] < ts["before"]
    assert ts["fit_seconds"] > 0
    for key in ("accuracy", "nll", "brier", "ece", "ece_em", "classwise_ece", "smece"):
        before, after = (one["metrics"][key]["value"] for one in (found["none"], ts))
        difference = ts["difference"][key]
        assert set(difference) == TOLD
        assert difference["value"] == pytest.approx(after - before, abs=1e-15)
        assert difference["low"] <= difference["value"] <= difference["high"]
        assert ("q95" in ts["noise_floor"].get(key, {})) == (key not in PROPER)
    assert ts["difference"]["ece"]["high"] < 0  # beyond chance
    assert ts["difference"]["accuracy"]["value"] == 0


@pytest.mark.nightly
def test_vector_scaling_is_tried_by_itself_where_one_class_is_too_likely(tmp_path, capsys):
    rng = np.random.default_rng(2)
    true = 2.5 * rng.normal(size=(3_000, 4))  # enough rows for the classes of half of them
    labels = (true + rng.gumbel(size=true.shape)).argmax(axis=1)
    usual = call(capsys, "calibrate", part(tmp_path, true, labels), "--json", "-")
    moved = part(tmp_path, true + np.array([0.0, 0.0, 0.0, 1.5]), labels)
    assert list(usual["methods"]) == ["ts", "focal_map", "focal_ts"]
    assert "vector" in call(capsys, "calibrate", moved, "--json", "-")["methods"]


@pytest.mark.slow
def test_reported_rows_are_those_that_were_not_fitted_on(saved):
    from core.metrics.suite import audit
    from core.predictions import Predictions, ScoreKind, Task

    found, _ = saved
    t = found["methods"]["ts"]["parameters"]["temperature"]
    rows = Predictions(Task.MULTICLASS, ScoreKind.LOGITS, SHARP[400:] / t, LABELS[400:])
    own = audit(rows).main.metrics
    for key in ("nll", "ece", "brier"):
        value = found["methods"]["ts"]["metrics"][key]["value"]
        assert value == pytest.approx(own[key].value, abs=1e-12)


@pytest.mark.slow
def test_one_part_is_cut_in_two_and_says_so(one_part, capsys):
    found = call(capsys, "calibrate", one_part, "--methods", "ts", "--json", "-")
    assert (found["n_fit"], found["n_test"]) == (450, 450)
    assert found["cut"] == {"share": 0.5, "seed": 0}
    assert "CUT" in codes(found)
    again = call(capsys, "calibrate", one_part, "--methods", "ts", "--json", "-")
    other = call(capsys, "calibrate", one_part, "--methods", "ts", "--seed", "1", "--json", "-")
    temperatures = [
        one["methods"]["ts"]["parameters"]["temperature"] for one in (found, again, other)
    ]
    assert temperatures[0] == temperatures[1] != temperatures[2]


@pytest.mark.slow
def test_reporting_the_rows_that_were_fitted_on_is_warned_of(one_part, capsys):
    found = call(capsys, "calibrate", one_part, "--methods", "ts", "--fit", "test", "--json", "-")
    assert (found["n_fit"], found["n_test"]) == (900, 900)
    assert "SAME_ROWS" in codes(found)


@pytest.mark.parametrize(
    "method",
    ["histogram", *NIGHTLY],
)
@pytest.mark.slow
@pytest.mark.usefixtures("sealed")
def test_saved_calibrator_gives_the_same_numbers_when_applied(two_parts, tmp_path, capsys, method):
    found = call(
        capsys, "calibrate", two_parts, "--methods", method, "--save", tmp_path / "s", "--json", "-"
    )
    out = tmp_path / "out.npz"
    assert (
        main(["apply", str(tmp_path / "s" / f"{method}.json"), str(two_parts), "--out", str(out)])
        == 0
    )
    capsys.readouterr()
    audited = call(capsys, "audit", out, "--json", "-")
    assert (audited["n"], audited["splits"]) == (500, {"val": 400, "test": 500})
    for key, score in found["methods"][method]["metrics"].items():
        if score["value"] is None:
            assert audited["metrics"][key]["value"] is None
        else:
            assert audited["metrics"][key]["value"] == pytest.approx(score["value"], abs=1e-12)


@pytest.mark.slow
def test_saved_calibrator_says_what_it_was_fitted_on(one_part, saved, tmp_path, capsys):
    call(capsys, "calibrate", one_part, "--methods", "ts", "--save", tmp_path, "--json", "-")
    cut = {"split": "test", "scores": "logits", "rows": 450, "cut": {"share": 0.5, "seed": 0}}
    whole = {"split": "val", "scores": "logits", "rows": 400, "cut": None}
    for folder, fitted_on in ((saved[1], whole), (tmp_path, cut)):
        said = json.loads((folder / "ts.json").read_text())["fitted_on"]
        assert len(said.pop("digest")) >= 32
        assert said == fitted_on


def test_rows_count_by_weight_in_the_fit_and_in_what_is_reported(tmp_path, capsys):
    """The same numbers as from a file that repeats the rows, and others than without weights."""
    wrong = SHARP.argmax(axis=1) != LABELS
    weights = np.where(wrong, 3, RNG.integers(0, 3, 900))
    again = np.repeat(np.arange(900), weights)
    parts = {"val": np.arange(900) < 400, "test": np.arange(900) >= 400}
    whole, twice = {}, {}
    for part, rows in parts.items():
        own = again[rows[again]]
        whole |= {f"{part}_logits": SHARP[rows], f"{part}_labels": LABELS[rows]}
        whole |= {f"{part}_n": weights[rows]}
        twice |= {f"{part}_logits": SHARP[own], f"{part}_labels": LABELS[own]}
    np.savez(tmp_path / "whole.npz", **whole)
    np.savez(tmp_path / "repeated.npz", **twice)
    methods = ("--methods", "ts,isotonic,beta", "--json", "-", "--save", tmp_path / "s")
    plain = call(capsys, "calibrate", tmp_path / "whole.npz", *methods)
    assert "weights" not in json.loads((tmp_path / "s" / "ts.json").read_text())["fitted_on"]
    repeated = call(capsys, "calibrate", tmp_path / "repeated.npz", *methods)
    found = call(capsys, "calibrate", tmp_path / "whole.npz", "--weight", "n", *methods)
    for method in ("ts", "isotonic", "beta"):
        one, other = found["methods"][method], repeated["methods"][method]
        for key in ("before", "after"):
            assert one[key] is None or one[key] == pytest.approx(other[key], rel=1e-9)
        for key in ("accuracy", "nll", "brier", "ece", "classwise_ece"):
            values = [report["metrics"][key]["value"] for report in (one, other)]
            assert values[0] is values[1] is None or values[0] == pytest.approx(values[1], rel=1e-6)
        ece = one["metrics"]["ece"]["value"]
        assert abs(ece - plain["methods"][method]["metrics"]["ece"]["value"]) > 1e-3
    temperatures = [
        report["methods"]["ts"]["parameters"]["temperature"] for report in (found, repeated, plain)
    ]
    assert temperatures[0] == pytest.approx(temperatures[1], rel=1e-9)
    assert abs(temperatures[0] - temperatures[2]) > 0.1
    stored = json.loads((tmp_path / "s" / "ts.json").read_text())
    assert stored["fitted_on"]["weights"] == "n"
    assert from_json(stored).temperature_ == temperatures[0]


@pytest.mark.slow
def test_saved_code_gives_the_same_probabilities(saved, tmp_path, capsys):
    _, folder = saved
    names = {}
    exec((folder / "ts.py").read_text(), names)
    out = tmp_path / "out.npz"
    main(["apply", str(folder / "ts.json"), str(folder / "two.npz"), "--out", str(out)])
    capsys.readouterr()
    mine = [names["calibrate"](row) for row in SHARP[:5].tolist()]
    np.testing.assert_allclose(np.load(out)["val_probabilities"][:5], mine, atol=1e-12)


@pytest.mark.slow
def test_ensemble_temperature_is_fitted_by_brier_as_released(two_parts, capsys):
    methods = call(
        capsys, "calibrate", two_parts, "--methods", "ets,ts", "--objective", "brier", "--json", "-"
    )["methods"]
    temperatures = np.arange(0.05, 5.0, 0.01)  # T first, within 0.05 and 5
    q = np.exp(SHARP[:400] / temperatures[:, None, None])
    q /= q.sum(axis=2, keepdims=True)
    brier = ((q - np.eye(4)[LABELS[:400]]) ** 2).sum(axis=2).mean(axis=1)
    best = temperatures[brier.argmin()]
    assert methods["ets"]["objective"] == "brier"
    assert methods["ets"]["parameters"]["temperature"] == pytest.approx(best, abs=0.011)
    assert methods["ts"]["objective"] == "nll"


@pytest.mark.parametrize("named", [(), ("--methods", "ts,spline")])
def test_an_objective_that_no_method_knows_is_refused(two_parts, capsys, named):
    assert main(["calibrate", str(two_parts), *named, "--objective", "brier"]) == 3
    assert "can be fitted by brier; name some of ets" in capsys.readouterr().err


def test_objective_and_search_reach_the_fit(two_parts, capsys):
    """The paper's grid has few values of gamma, and the NLL's exact optimum is none of them."""
    options = ["calibrate", two_parts, "--methods", "focal_ts", "--json", "-"]
    exact = call(capsys, *options)["methods"]["focal_ts"]
    chosen = ("--search", "komisarenko", "--objective", "ece")
    paper = call(capsys, *options, *chosen)["methods"]["focal_ts"]
    assert exact["parameters"]["gamma"] not in PAPER_GAMMAS
    assert paper["parameters"]["gamma"] in PAPER_GAMMAS
    assert paper["parameters"]["temperature"] in FINE_GRID
    assert (exact["objective"], paper["objective"]) == ("nll", "ece")
    assert paper["settings"] == {"objective": "ece", "search": "komisarenko"}


def test_a_paper_sets_methods_search_and_objectives(two_parts, tmp_path, capsys):
    """Ghosh et al.: T of a tenth by ECE of equal mass, the ensemble by Brier, and a spline."""
    out = tmp_path / "out.json"
    options = ["calibrate", str(two_parts), "--by", "adafocal2022", "--json", str(out)]
    assert main(options) == 0
    assert "As in Ghosh et al. 2022, section 6: temperature scaling, T = 0.1, 0.2" in (
        capsys.readouterr().out
    )
    methods = json.loads(out.read_text())["methods"]
    assert {name: method["settings"] for name, method in methods.items()} == {
        "ts": {"objective": "ada_ece", "search": "mukhoti"},
        "ets": {"objective": "brier"},
        "spline": {},
    }
    assert methods["ts"]["parameters"]["temperature"] in MUKHOTI_GRID
    assert "ada_ece" in methods["spline"]["metrics"]
    assert json.loads(out.read_text())["by"] == "adafocal2022"


def test_what_is_said_of_a_paper_is_of_the_methods_that_were_fitted(two_parts, tmp_path, capsys):
    out = tmp_path / "out.json"
    options = ["--by", "adafocal2022", "--methods", "ets,vector", "--json", str(out)]
    assert main(["calibrate", str(two_parts), *options]) == 0
    (line,) = (text for text in capsys.readouterr().out.splitlines() if text.startswith("As in"))
    assert "appendix E: ensemble temperature scaling by Brier, as in the code of" in line
    assert "spline" not in line
    assert "vector" not in line
    methods = json.loads(out.read_text())["methods"]
    assert methods["ets"]["settings"] == {"objective": "brier"}


@pytest.mark.parametrize("other", [("--search", "exact"), ("--objective", "nll")])
def test_what_a_paper_sets_is_not_set_otherwise(two_parts, capsys, other):
    assert main(["calibrate", str(two_parts), "--by", "mukhoti2020iclr", *other]) == 3
    assert "--by mukhoti2020iclr sets the search, and fits by ece or ada_ece" in (
        capsys.readouterr().err
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("search", "named", "grid"),
    [
        ("paper", "komisarenko", FINE_GRID),
        ("komisarenko", "komisarenko", FINE_GRID),
        ("mukhoti", "mukhoti", MUKHOTI_GRID),
    ],
)
def test_one_search_in_a_call_is_that_of_both_methods(
    two_parts, tmp_path, capsys, search, named, grid
):
    out = tmp_path / "out.json"
    options = ["--methods", "ts,focal_ts", "--search", search, "--json", str(out)]
    assert main(["calibrate", str(two_parts), *options]) == 0
    said = capsys.readouterr().out
    for method in json.loads(out.read_text())["methods"].values():
        assert method["settings"]["search"] == named
        assert method["parameters"]["temperature"] in grid
    assert said.count(PROTOCOLS[named].words) == 1


@pytest.mark.slow
def test_error_that_was_fitted_by_is_among_the_metrics(two_parts, capsys):
    options = ["calibrate", two_parts, "--methods", "ts", "--json", "-"]
    found = call(capsys, *options, "--objective", "ada_ece")
    ts = found["methods"]["ts"]
    before, after = (one["metrics"]["ada_ece"] for one in (found["none"], ts))
    assert before["low"] <= before["value"] <= before["high"]
    assert ts["difference"]["ada_ece"]["value"] == pytest.approx(after["value"] - before["value"])
    assert ts["difference"]["ada_ece"]["high"] < 0
    usual = call(capsys, *options)
    assert "ada_ece" not in usual["none"]["metrics"]
    for key, score in usual["none"]["metrics"].items():
        assert found["none"]["metrics"][key] == score


def test_method_that_cannot_be_fitted_leaves_a_reason_and_the_others(tmp_path, capsys):
    path = tmp_path / "few.npz"
    np.savez(
        path,
        val_logits=SHARP[:5],
        val_labels=LABELS[:5],
        test_logits=SHARP[5:],
        test_labels=LABELS[5:],
    )
    found = call(capsys, "calibrate", path, "--methods", "ts,isotonic", "--json", "-")
    assert found["methods"]["ts"] == {"reason": "5 rows are too few"}
    assert found["none"]["metrics"]["accuracy"]["n"] == 895


@pytest.mark.slow
def test_many_labels_are_calibrated_one_by_one(tmp_path, capsys):
    rng = np.random.default_rng(2)
    logits = rng.normal(-1.0, 1.0, size=(600, 2))
    labels = (rng.random((600, 2)) < 1 / (1 + np.exp(-logits))).astype(int)
    path = tmp_path / "labels.npz"
    np.savez(path, sigmoid=1 / (1 + np.exp(-2 * logits)), labels=labels)
    found = call(capsys, "calibrate", path, "--methods", "ts,ets,beta", "--json", "-")
    ts = found["methods"]["ts"]
    assert [one["temperature"] for one in ts["parameters"]["labels"]] == pytest.approx(
        [2.0, 2.0], rel=0.5
    )
    assert ts["metrics"]["ece"]["value"] < found["none"]["metrics"]["ece"]["value"]
    assert ts["answers_changed"] == 0
    for method in found["methods"].values():
        assert ("metrics" in method) != ("reason" in method)


def of_scores(said):
    return [line for line in said.splitlines() if "accuracy " in line]


@pytest.mark.slow
def test_lines_for_people_name_methods_differences_and_notices(one_part, capsys):
    assert main(["calibrate", str(one_part), "--methods", "ts,vector"]) == 0
    said = capsys.readouterr().out
    assert "fitted on 450 rows of test, reported on 450 other rows of test" in said
    assert "temperature 2." in said
    assert all(re.search(r"  ece \d\.\d{4} \(chance: up to ", line) for line in of_scores(said))
    assert "answers changed" in said
    assert "CUT: " in said


def test_confidences_of_the_answer_alone_are_recalibrated_and_have_no_temperature(tmp_path, capsys):
    path = tmp_path / "top.csv"
    rows = [f"{k % 3},{(k + (k % 4 == 0)) % 3},0.{k % 9 + 1}" for k in range(60)]
    path.write_text("label,predicted,confidence\n" + "\n".join(rows))
    assert main(["calibrate", str(path)]) == 0
    scored = [line.split()[0] for line in of_scores(capsys.readouterr().out)]
    assert [name for name in scored if name != "ece"] == ["none", "vector", "beta", "isotonic"]
    assert main(["calibrate", str(path), "--methods", "ts"]) == 0
    assert "ts               not fitted: Temperature scaling has no form" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (["--methods", "platt"], "SETTING"),
        (["--methods", ","], "SETTING"),
        (["--fit", "train"], "SPLIT"),
        pytest.param(["--test", "train"], "SPLIT", marks=pytest.mark.nightly),
        (["--share", "0.95"], "SETTING"),
        pytest.param(["--seed", "-1"], "SETTING", marks=pytest.mark.nightly),
        pytest.param(["--seed", str(2**63)], "SETTING", marks=pytest.mark.nightly),
        (["--search", "all"], "USAGE"),
    ],
)
def test_wrong_options_are_wrong_usage(one_part, capsys, options, code):
    assert refused(capsys, "calibrate", one_part, *options) == (3, code)


@pytest.mark.parametrize(
    "text", ["", "no json", "[" * 100_000, "{}", "[]", '{"schema": 1}', "\xff"]
)
def test_file_that_is_no_calibrator_is_refused(one_part, tmp_path, capsys, text):
    stored = tmp_path / "stored.json"
    stored.write_bytes(text.encode("latin-1"))
    out = tmp_path / "out.npz"
    assert refused(capsys, "apply", stored, one_part, "--out", out) == (2, "CALIBRATOR")
    assert not out.exists()


@pytest.mark.parametrize(
    ("value", "said"),
    [("NaN", "is not JSON"), ('2.5, "temperature": 3.0', "gives the key 'temperature' twice")],
)
def test_a_calibrator_edited_into_no_number_or_two_is_refused(
    one_part, tmp_path, capsys, value, said
):
    text = json.dumps(to_json(Temperature.from_parameters({"temperature": 2.5})))
    stored, out = tmp_path / "ts.json", tmp_path / "out.npz"
    stored.write_text(text.replace('"temperature": 2.5', f'"temperature": {value}'))
    assert main(["apply", str(stored), str(one_part), "--out", str(out)]) == 2
    assert capsys.readouterr().err.startswith(f"CALIBRATOR: ts.json {said}; ")
    assert not out.exists()


@pytest.mark.slow
def test_apply_refuses_other_classes_and_odd_places(one_part, two_parts, tmp_path, capsys):
    call(capsys, "calibrate", two_parts, "--methods", "vector", "--save", tmp_path, "--json", "-")
    stored = tmp_path / "vector.json"
    p = np.exp(SHARP - SHARP.max(axis=1, keepdims=True))
    probabilities = tmp_path / "probabilities.npz"
    np.savez(probabilities, probs=p / p.sum(axis=1, keepdims=True), labels=LABELS)
    out = tmp_path / "out.npz"
    assert refused(capsys, "apply", stored, probabilities, "--out", out) == (2, "CALIBRATOR")
    three = tmp_path / "three.npz"
    np.savez(three, logits=SHARP[:, :3], labels=np.minimum(LABELS, 2))
    out = tmp_path / "out.npz"
    assert refused(capsys, "apply", stored, three, "--out", out) == (2, "CLASSES")
    assert refused(capsys, "apply", stored, one_part, "--out", tmp_path / "o.csv") == (3, "OUTPUT")
    assert refused(capsys, "apply", tmp_path / "none.json", one_part, "--out", out) == (3, "FILE")
    folder = tmp_path / "missing" / "o.npz"
    assert refused(capsys, "apply", stored, one_part, "--out", folder) == (2, "EXPORT")


def test_two_parts_with_the_same_rows_are_told_as_one(tmp_path, capsys):
    path, rows = tmp_path / "twice.npz", {"logits": SHARP[:200], "labels": LABELS[:200]}
    np.savez(path, **{f"{part}_{k}": v for part in ("val", "test") for k, v in rows.items()})
    words = ("calibrate", path, "--methods", "ts", "--fit", "val")
    assert "SAME_ROWS" in codes(call(capsys, *words, "--json", "-"))
    assert main([str(word) for word in words]) == 0
    assert "the same rows, so better than on new ones" in capsys.readouterr().out
