"""What is kept of runs: as computed now, and not used for other rows or another program."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file, save_file
from scipy.special import expit, softmax

from core import codec
from core.defaults import SEED
from core.errors import LibraryError
from core.library import SAMPLES, Library, RunSource
from core.predictions import Groups, Predictions, ScoreKind, Task, Votes
from core.studies import background, posthoc, precomputed
from core.studies.human import human_study
from core.studies.precomputed import modules_of, program_digest
from core.studies.temperatures import TemperatureMaps, temperature_curve, temperature_map

QUICK = ("digits-overconfident", "digits-traits", "digits-crowd")
NAMES = sorted(folder.name for folder in SAMPLES.iterdir())


@pytest.fixture
def shipped(tmp_path):
    return Library(tmp_path / "home", SAMPLES)


@pytest.fixture
def copied(tmp_path):
    """A library whose one sample may be changed."""
    shutil.copytree(SAMPLES / QUICK[0], tmp_path / "samples" / QUICK[0])
    return Library(tmp_path / "home", tmp_path / "samples")


def plain(value):
    """Records as nested lists of plain values, numbers rounded: processors add differently."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items() if key != "seconds"}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, np.ndarray):
        return pytest.approx(value, abs=1e-9, nan_ok=True)
    return pytest.approx(value, abs=1e-9) if isinstance(value, float) else value


def assert_maps(kept, rows):
    """Assert that the maps are those of the rows, or none where nothing is fitted."""
    if rows is None:
        assert kept.maps is None
        return
    now = TemperatureMaps(temperature_map(rows, "nll"), temperature_curve(rows, "nll"))
    assert codec.to_json(kept.maps) == plain(codec.to_json(now))


def test_every_sample_has_what_holds_for_it(shipped):
    for name in NAMES:
        assert precomputed.studies_of(shipped, name) is not None, name


@pytest.mark.parametrize(
    "name", [*QUICK, *(pytest.param(n, marks=pytest.mark.nightly) for n in NAMES if n not in QUICK)]
)
def test_what_is_kept_is_what_is_computed_now(name, shipped):
    kept = precomputed.studies_of(shipped, name)
    val, test = (shipped.load(name, split) for split in ("val", "test"))
    assert codec.to_json(kept.none) == plain(codec.to_json(posthoc.judge(test, None)))
    voted = {"val": val, "test": test}
    assert (kept.human is None) == (test.votes is None)
    if kept.human is not None:
        of_votes = human_study(voted, "test")
        assert codec.to_json(kept.human) == plain(codec.to_json(of_votes))
    methods = precomputed.methods_of(kept)
    assert methods.pop("none").judged is kept.none
    usual = posthoc.default_methods(test.task, kept.none.compared.audit)
    assert tuple(methods) == (usual if name in precomputed.FITTED else ())
    splits = {"val": val, "test": test}
    both = posthoc.parts(splits, "val", "test", share=posthoc.SHARE, seed=SEED)
    assert_maps(kept, both if methods else None)
    for method, known in methods.items():
        now = posthoc.evaluate(method, val, test, "nll", "exact")
        assert codec.to_json(known.judged) == plain(codec.to_json(now.judged))
        assert codec.to_json(known.fit.report) == plain(
            codec.to_json(replace(now.fit.report, seconds=known.fit.report.seconds))
        ) | {"seconds": known.fit.report.seconds}
        after = known.fit.calibrator.predict_proba(test.scores)
        np.testing.assert_allclose(after, now.fit.calibrator.predict_proba(test.scores), atol=1e-12)


def test_other_rows_another_version_and_a_damaged_file_hold_nothing(copied):
    path = copied.samples / QUICK[0] / precomputed.FILE
    whole = path.read_bytes()
    with safe_open(path, framework="np") as file:
        records = json.loads(file.metadata()[precomputed.RECORDS])
    arrays = load_file(path)
    first = next(iter(arrays))

    def kept(changed, left=arrays):
        save_file(left, path, metadata={precomputed.RECORDS: json.dumps(changed)})
        return precomputed.studies_of(copied, QUICK[0])

    assert kept(records) is not None
    for key in ("version", "fit", "test"):
        assert kept(records | {key: "other"}) is None
    assert kept(records | {"unknown": 1}) is None
    assert kept(records, {key: value for key, value in arrays.items() if key != first}) is None
    path.write_bytes(whole[:-9])
    assert precomputed.studies_of(copied, QUICK[0]) is None
    path.unlink()
    assert precomputed.studies_of(copied, QUICK[0]) is None
    precomputed.keep_studies(copied, QUICK[0])
    assert precomputed.studies_of(copied, QUICK[0]) is not None


def rows(task, kind, seed=0, **more):
    """A few rows of scores that are too sure."""
    rng = np.random.default_rng(seed)
    logits = 3 * rng.normal(size=(240, 3))
    labels = np.array([rng.choice(3, p=p) for p in softmax(logits / 2, axis=1)])
    if task is Task.MULTICLASS:
        scores, right = logits, labels
    elif task is Task.BINARY:
        scores, right = expit(logits[:, 0]), (logits[:, 1] < logits[:, 0]).astype(np.int64)
    elif task is Task.MULTILABEL:
        scores, right = logits, (rng.random((240, 3)) < expit(logits / 2)).astype(np.int64)
    else:
        scores, right = expit(logits[:, 0]), labels
        more["predicted"] = np.ones(240, np.int64)
    return Predictions(task, kind, scores, right, **more)


LOGITS = Task.MULTICLASS, ScoreKind.LOGITS
GROUPS = Groups("patient", np.arange(240) // 4)
PATIENTS = "one split of patients"
RUNS = {
    "one split, cut in two": {"test": rows(*LOGITS)},
    PATIENTS: {"test": rows(*LOGITS, groups=GROUPS)},
    "val and test": {"val": rows(*LOGITS), "test": rows(*LOGITS, seed=1)},
    "the same rows twice": {"val": rows(*LOGITS), "test": rows(*LOGITS)},
    "two classes": {"test": rows(Task.BINARY, ScoreKind.PROBABILITIES)},
    "many labels": {"test": rows(Task.MULTILABEL, ScoreKind.LOGITS)},
    "answers only": {"test": rows(Task.TOP_LABEL, ScoreKind.CONFIDENCE)},
}


def keep(library, splits):
    return library.keep("run", splits, source=RunSource("f.npz", "0" * 32), summary={})


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(
            name,
            marks=() if name in {"one split, cut in two", "many labels"} else pytest.mark.nightly,
        )
        for name in RUNS
    ],
)
def test_a_run_of_ones_own_is_studied_as_its_pages_compute_it(name, shipped):
    splits = RUNS[name]
    run = keep(shipped, splits)
    assert precomputed.studies_of(shipped, run.id) is None
    precomputed.keep_studies(shipped, run.id)
    kept = precomputed.studies_of(shipped, run.id)
    test = splits["test"]
    assert codec.to_json(kept.none) == plain(codec.to_json(posthoc.judge(test, None)))
    fit_on = posthoc.fit_default(list(splits), "test")
    parts = posthoc.parts(splits, fit_on, "test", share=posthoc.SHARE, seed=SEED)
    methods = precomputed.methods_of(kept)
    before = posthoc.judge(parts.test, None).compared.audit
    fitted = () if test.task is Task.TOP_LABEL else posthoc.default_methods(test.task, before)
    if name != "the same rows twice":  # told from a cut by nothing that is kept
        assert sorted(methods) == sorted(("none", *fitted))
    assert_maps(kept, parts if fitted else None)
    for method, known in methods.items():
        now = posthoc.evaluate(method, parts.fit, parts.test, "nll", "exact")
        assert codec.to_json(known.judged) == plain(codec.to_json(now.judged))
        if method != "none" and now.fit.calibrator is not None:
            logits = posthoc.logits_of(parts.test)
            after = known.fit.calibrator.predict_proba(logits)
            np.testing.assert_allclose(after, now.fit.calibrator.predict_proba(logits), atol=1e-12)


def voted(seed=0):
    votes = np.random.default_rng(seed).multinomial(9, [0.5, 0.3, 0.2], 240).astype(float)
    return rows(*LOGITS, seed=seed, votes=Votes.of("crowd", votes))


@pytest.mark.parametrize(
    "val",
    [
        voted(1),
        *(pytest.param(val, marks=pytest.mark.nightly) for val in (rows(*LOGITS, seed=1), None)),
    ],
)
def test_a_run_with_votes_is_held_against_them_as_its_page_does(val, shipped):
    splits = {"test": voted()} if val is None else {"val": val, "test": voted()}
    run = keep(shipped, splits)
    precomputed.keep_studies(shipped, run.id)
    own = {name: part for name, part in splits.items() if part.votes is not None}
    now = codec.to_json(human_study(own, "test"))
    assert codec.to_json(precomputed.studies_of(shipped, run.id).human) == plain(now)


def test_where_a_split_that_is_not_studied_has_votes_people_are_left_to_the_page(shipped):
    run = keep(shipped, {"train": voted(1), "val": rows(*LOGITS, seed=2), "test": voted()})
    precomputed.keep_studies(shipped, run.id)
    assert precomputed.studies_of(shipped, run.id).human is None


def test_what_cannot_be_cut_in_two_and_what_is_large_has_no_methods(shipped, monkeypatch):
    one = keep(shipped, {"test": rows(*LOGITS).take(np.array([0]))})
    precomputed.keep_studies(shipped, one.id)
    assert precomputed.methods_of(precomputed.studies_of(shipped, one.id)) == {}
    monkeypatch.setattr(precomputed, "MOST_SCORES", 3 * 240 - 1)
    large = keep(shipped, RUNS["one split, cut in two"])
    precomputed.keep_studies(shipped, large.id)
    assert precomputed.studies_of(shipped, large.id) is None


def test_a_program_with_other_sources_uses_nothing_that_is_kept(shipped, monkeypatch):
    run = keep(shipped, RUNS["two classes"])
    precomputed.keep_studies(shipped, run.id)
    monkeypatch.setattr(precomputed, "_sources", lambda: "other")
    assert precomputed.studies_of(shipped, run.id) is not None  # a comment, or another page
    monkeypatch.setattr(precomputed, "_program", lambda: "other")
    assert precomputed.studies_of(shipped, run.id) is None
    assert precomputed.studies_of(shipped, QUICK[0]) is not None  # a test above holds samples


SOURCES = {
    "pack/__init__.py": "",
    "pack/study.py": (
        '"""Study."""\nfrom pack.rows import mean\n\n\n'
        "def study(x):\n    from pack import chance\n\n    return mean(x) + chance.SHARE\n"
    ),
    "pack/rows.py": 'def mean(x):\n    """Mean."""\n    return sum(x) / len(x)\n',
    "pack/chance.py": 'class Chance:\n    "A share."\n\n\nSHARE = 0.05\n',
    "pack/page.py": "from pack.study import study\n\nWORDS = 'mean'\n",
}


@pytest.mark.parametrize(
    ("file", "old", "new", "drops"),
    [
        ("rows", "    return", "    # of all rows\n\n    return", False),
        ("rows", "/ len(x)", "/ len(x)  # never empty", False),
        ("rows", '"""Mean."""', '"""Return the mean."""', False),
        ("rows", '    """Mean."""\n', "", False),
        ("chance", "A share", "What chance does", False),
        ("study", '"""Study."""\n', "", False),
        ("page", "'mean'", "'average'", False),
        ("rows", "/ len(x)", "/ (len(x) - 1)", True),
        ("chance", "0.05", "0.06", True),
        ("study", "chance.SHARE", "2 * chance.SHARE", True),
        ("__init__", "", "import pack.page\n", True),
    ],
)
def test_what_is_kept_depends_on_no_comment_and_on_every_constant(tmp_path, file, old, new, drops):
    (tmp_path / "pack").mkdir()
    for name, text in SOURCES.items():
        (tmp_path / name).write_text(text)
    before = program_digest(["pack.study"], tmp_path)
    assert program_digest(["pack.study"], tmp_path) == before
    path = tmp_path / "pack" / f"{file}.py"
    text = path.read_text()
    path.write_text(text.replace(old, new) if old else new)
    assert path.read_text() != text
    assert (program_digest(["pack.study"], tmp_path) != before) is drops


def test_what_is_kept_depends_on_the_modules_that_compute_it_and_on_no_others():
    names = set(modules_of(["core.studies.precomputed"]))
    within = ["metrics.comparison", "metrics.votes", "calibrators.spline"]
    within += [
        "calibrators.search",
        "compiled.rows",
        "compiled.sums",
        "predictions",
        "defaults",
        "studies.posthoc",
    ]
    assert {f"core.{name}" for name in within} <= names
    rooms = ("screens", "commands", "reports", "jobs", "library", "training", "readers")
    assert not {name for name in names if name.startswith(tuple(f"core.{room}" for room in rooms))}


def test_a_run_that_is_deleted_meanwhile_leaves_nothing_behind(shipped, monkeypatch):
    run = keep(shipped, RUNS["two classes"])

    def deleting(*arguments):
        shipped.delete(run.id)
        return posthoc.judge(*arguments)

    monkeypatch.setattr(precomputed, "judge", deleting)
    with pytest.raises(LibraryError):
        precomputed.keep_studies(shipped, run.id)
    assert not list(shipped.home.rglob("*studies*"))
    shipped.restore(run.id)
    assert shipped.load(run.id, "test").n == 240


def test_runs_are_studied_one_by_one_whatever_becomes_of_another(shipped, monkeypatch):
    monkeypatch.setattr("os.nice", lambda _: None)
    monkeypatch.setattr(background, "open_library", lambda: shipped)
    runs = [keep(shipped, RUNS["two classes"]) for _ in range(2)]
    background.study_missing([runs[0].id, "gone", runs[1].id])
    assert all(precomputed.studies_of(shipped, run.id) for run in runs)
    monkeypatch.setattr(precomputed, "judge", None)  # what is there is not studied again
    background.study_missing([run.id for run in runs])
