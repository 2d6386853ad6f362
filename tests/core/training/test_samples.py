"""The sample runs: the shipped ones load and teach what they claim; the builder makes them anew."""

from pathlib import Path

import numpy as np
import pytest

from core.configs import AuditConfig
from core.errors import UsageError
from core.library import SAMPLES, Library, summarise
from core.metrics.suite import audit

NAMES = ["digits-fair", "digits-overconfident", "digits-traits"]


@pytest.fixture
def shipped(tmp_path: Path) -> Library:
    return Library(tmp_path / "home", SAMPLES)


def test_shipped_samples_are_listed_without_damage_and_small(shipped):
    assert sorted(row.id for row in shipped.rows(kind="sample")) == NAMES
    assert shipped.damaged() == []
    for name in NAMES:
        files = [path for path in (SAMPLES / name).rglob("*") if path.is_file()]
        assert len(files) == 3
        assert sum(path.stat().st_size for path in files) < 300_000


@pytest.mark.parametrize("name", NAMES)
def test_shipped_sample_has_two_disjoint_parts_and_says_what_it_is(name, shipped):
    manifest = shipped.get(name)
    assert list(manifest.splits) == ["val", "test"]
    val, test = (shipped.load(name, split) for split in manifest.splits)
    assert (val.n, test.n) == (299, 899)
    assert not set(val.row_ids) & set(test.row_ids)
    assert test.scores.dtype == np.float32
    assert "8 by 8 pixels" in manifest.description


@pytest.mark.parametrize(
    "name", [NAMES[0], *(pytest.param(name, marks=pytest.mark.slow) for name in NAMES[1:])]
)
def test_shipped_headline_numbers_are_those_of_an_audit_now(name, shipped):
    now = summarise(audit(shipped.load(name, "test"), AuditConfig()))
    stored = shipped.get(name).metrics["test"]
    assert now["verdict"] == stored["verdict"]
    for key in ("accuracy", "floor_q95"):
        assert now[key] == pytest.approx(stored[key], abs=1e-12)
    for part in ("ece", "gap"):
        assert now[part] == pytest.approx(stored[part], abs=1e-12)


def test_one_sample_is_clearly_over_confident_and_one_is_fair(shipped):
    loud, fair = (shipped.get(n).metrics["test"] for n in ("digits-overconfident", "digits-fair"))
    assert loud["verdict"] == "over_confident"
    assert loud["gap"]["low"] > 0.03
    assert loud["ece"]["value"] > 2 * loud["floor_q95"]
    assert fair["verdict"] == "sound"
    assert fair["ece"]["value"] < fair["floor_q95"]
    assert fair["accuracy"] > loud["accuracy"] + 0.05


def test_three_labels_can_be_picked(shipped):
    traits = shipped.load("digits-traits", "test")
    assert traits.task == "multilabel"
    assert traits.class_names == ("even", "loop", "five or more")
    digits = shipped.load("digits-fair", "test").labels
    assert traits.labels.tolist() == [
        [int(d in (0, 2, 4, 6, 8)), int(d in (0, 6, 8, 9)), int(d in (5, 6, 7, 8, 9))]
        for d in digits.tolist()
    ]


@pytest.mark.slow
def test_builder_makes_the_same_samples_again_in_place_of_the_old(tmp_path, shipped):
    from core.training import samples

    (tmp_path / "new" / "digits-fair").mkdir(parents=True)
    (tmp_path / "new" / "digits-fair" / "leftover").touch()
    assert sorted(samples.build(tmp_path / "new")) == NAMES
    assert not (tmp_path / "new" / "digits-fair" / "leftover").exists()
    built = Library(tmp_path / "home", tmp_path / "new")
    for name in NAMES:
        old, new = shipped.load(name, "test"), built.load(name, "test")
        assert new.labels.tolist() == old.labels.tolist()
        # processors add in different orders: the same model, not the same last bits
        assert np.abs(new.probabilities() - old.probabilities()).mean() < 0.002
        assert built.get(name).created == shipped.get(name).created
    with pytest.raises(UsageError, match="use one of digits-overconfident"):
        samples.build(tmp_path / "new", "nothing")
