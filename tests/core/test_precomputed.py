"""What is kept of the samples: as computed now, and not used for other rows or another program."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

from core import codec
from core.library import SAMPLES, Library
from core.studies import posthoc, precomputed
from core.studies.human import human_study

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


def test_every_sample_has_what_holds_for_it(shipped):
    for name in NAMES:
        assert precomputed.studies_of(shipped, name) is not None, name


@pytest.mark.parametrize(
    "name", [*QUICK, *(pytest.param(n, marks=pytest.mark.slow) for n in NAMES if n not in QUICK)]
)
def test_what_is_kept_is_what_is_computed_now(name, shipped):
    kept = precomputed.studies_of(shipped, name)
    val, test = (shipped.load(name, split) for split in ("val", "test"))
    assert codec.to_json(kept.none) == plain(codec.to_json(posthoc.judge(test, None)))
    voted = {"val": val, "test": test}
    assert (kept.human is None) == (test.votes is None)
    if kept.human is not None:
        study = human_study(voted, "test")
        assert codec.to_json(kept.human) == plain(codec.to_json(study))
    methods = precomputed.methods_of(kept)
    assert tuple(methods) == (posthoc.DEFAULT_METHODS if name in precomputed.FITTED else ())
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
