"""The sample runs: the shipped ones load and teach what they claim; the builder makes them anew."""

import json
import shutil
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest

from core.configs import AuditConfig
from core.errors import Refused, UsageError
from core.inference.film_samples import HOSPITAL
from core.library import SAMPLES, Library, summarise
from core.losses.bins import AdaFocalRule, replay
from core.metrics.suite import audit
from core.predictions import Predictions, ScoreKind, Task
from core.studies.precomputed import studies_of
from core.training import samples

FIRST = ["digits-crowd", "digits-fair", "digits-overconfident", "digits-traits"]
TRAINED = sorted(samples.TRAINED)


@pytest.fixture
def shipped(tmp_path: Path) -> Library:
    return Library(tmp_path / "home", SAMPLES)


def test_shipped_samples_are_listed_without_damage_and_small(shipped):
    assert sorted(row.id for row in shipped.rows(kind="sample")) == sorted(
        [*FIRST, *TRAINED, HOSPITAL]
    )
    assert shipped.damaged() == []
    for name in FIRST:
        files = [path for path in (SAMPLES / name).rglob("*") if path.is_file()]
        assert len(files) == 4
        assert sum(path.stat().st_size for path in files) < 600_000
    files = [path for path in SAMPLES.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 14_000_000


@pytest.mark.parametrize("name", FIRST)
def test_shipped_sample_has_two_disjoint_parts_and_says_what_it_is(name, shipped):
    manifest = shipped.get(name)
    assert list(manifest.splits) == ["val", "test"]
    val, test = (shipped.load(name, split) for split in manifest.splits)
    assert (val.n, test.n) == (299, 899)
    assert not set(val.row_ids) & set(test.row_ids)
    assert test.scores.dtype == np.float32
    assert "8 by 8 pixels" in manifest.description


@pytest.mark.parametrize(
    "name",
    [FIRST[0], HOSPITAL, *(pytest.param(name, marks=pytest.mark.nightly) for name in FIRST[1:])],
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
    assert fair["verdict"] == "could_be_chance"  # 899 rows, 36 of them wrong, show no more
    assert fair["ece"]["value"] < fair["floor_q95"]
    assert fair["accuracy"] > loud["accuracy"] + 0.05


def test_simulated_votes_say_so_and_leave_a_fair_network_surer_than_the_crowd(shipped):
    manifest = shipped.get("digits-crowd")
    assert "No people were asked" in manifest.description
    assert [notice.code for notice in manifest.notices] == ["VOTES_SIMULATED"]
    crowd, fair = (shipped.load(name, "test") for name in ("digits-crowd", "digits-fair"))
    assert "simulated" in crowd.votes.name
    assert (crowd.votes.totals == 50).all()
    assert np.abs(crowd.probabilities() - fair.probabilities()).mean() < 0.01
    assert manifest.metrics["test"]["verdict"] == "could_be_chance"
    study = studies_of(shipped, "digits-crowd").human
    assert study.audit.direction.low > 0.05
    fits = {(fit.method, fit.target): fit for fit in study.fits.methods}
    assert fits["ts", "votes"].differences["ece_votes"].high < 0.0
    assert study.fits.fit_name == "val"


def test_a_crowd_is_the_same_for_the_same_seed_and_mostly_right():
    digits = samples._load()
    images, known = digits.take(slice(100)), digits.take(slice(1_198, None))
    once, again, other = (
        samples.simulated_votes(images, known, 30, np.random.default_rng(seed)).of_row
        for seed in (1, 1, 2)
    )
    assert np.array_equal(once, again)
    assert not np.array_equal(once, other)
    assert (once.sum(axis=1) == 30).all()
    assert (once.argmax(axis=1) == images.digit).mean() > 0.8
    assert 0.1 < (once.max(axis=1) < 30).mean() < 0.9


def test_three_labels_can_be_picked(shipped):
    traits = shipped.load("digits-traits", "test")
    assert traits.task == "multilabel"
    assert traits.class_names == ("even", "loop", "five or more")
    digits = shipped.load("digits-fair", "test").labels
    assert traits.labels.tolist() == [
        [int(d in (0, 2, 4, 6, 8)), int(d in (0, 6, 8, 9)), int(d in (5, 6, 7, 8, 9))]
        for d in digits.tolist()
    ]


@pytest.mark.nightly
def test_builder_makes_the_same_samples_again_in_place_of_the_old(tmp_path, shipped):
    (tmp_path / "new" / "digits-fair").mkdir(parents=True)
    (tmp_path / "new" / "digits-fair" / "leftover").touch()
    for name in (*FIRST, "digits-focal-3"):
        assert samples.build(tmp_path / "new", name, work=tmp_path / "work") == [(name, "built")]
    assert not (tmp_path / "new" / "digits-fair" / "leftover").exists()
    built = Library(tmp_path / "home", tmp_path / "new")
    for name in (*FIRST, "digits-focal-3"):
        old, new = shipped.load(name, "test"), built.load(name, "test")
        assert new.labels.tolist() == old.labels.tolist()
        # processors add in different orders: the same model, not the same last bits
        assert np.abs(new.probabilities() - old.probabilities()).mean() < 0.01
        assert built.get(name).created == shipped.get(name).created


def test_a_sample_stays_where_the_audit_of_the_new_one_fails(tmp_path, monkeypatch):
    old = tmp_path / "digits-fair" / "manifest.json"
    old.parent.mkdir()
    old.touch()
    monkeypatch.setattr(samples, "audit", Mock(side_effect=MemoryError))
    with pytest.raises(MemoryError):
        samples.build(tmp_path, "digits-fair", work=tmp_path / "work")
    assert old.exists()


def test_an_unknown_sample_is_refused(tmp_path):
    with pytest.raises(UsageError, match="use one of digits-overconfident"):
        samples.build(tmp_path / "new", "nothing", work=tmp_path)


@pytest.mark.nightly
def test_a_build_goes_on_where_time_was_up(tmp_path):
    def build(**options):
        ((_, what),) = samples.build(tmp_path / "new", "digits-ce", work=tmp_path, **options)
        return what

    assert build(minutes=0.0) == "not begun, time is up"
    assert build(minutes=1e-4) == "stopped after epoch 1 of 40, build again"
    assert build(minutes=1e-4) == "stopped after epoch 2 of 40, build again"
    assert build() == "built"
    history = Library(tmp_path / "home", tmp_path / "new").history("digits-ce")
    assert sorted(set(history.epoch.tolist())) == list(range(40))


def test_images_may_lie_elsewhere_the_next_time(tmp_path):
    def build(images):
        return samples.build(tmp_path / "new", "cifar10-ce", work=tmp_path, images=images)

    for folder in ("wrong", "other"):
        with pytest.raises(Refused, match=folder):
            build(tmp_path / folder)


def test_images_that_are_not_named_are_left_out_and_a_larger_sample_stays(tmp_path):
    ((_, what),) = samples.build(tmp_path, "cifar10-ce", work=tmp_path)
    assert what == "left out: name the folder of CIFAR-10 images with --images"
    shutil.copytree(SAMPLES / "digits-ce", tmp_path / "digits-ce")
    path = tmp_path / "digits-ce" / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["config"]["epochs"] = 400
    path.write_text(json.dumps(manifest))
    ((_, what),) = samples.build(tmp_path, "digits-ce", work=tmp_path)
    assert what == "kept, a larger one is there"
    assert json.loads(path.read_text()) == manifest


def test_scores_are_halved_only_where_no_shown_digit_changes():
    labels = np.arange(40) % 2
    plain = np.column_stack([np.where(labels == 0, 1.0, -1.0), np.zeros(40)]).astype(np.float32)
    fine = Predictions(Task.MULTICLASS, ScoreKind.LOGITS, plain, labels)
    assert samples.lightest(fine).scores.dtype == np.float16
    shifted = Predictions(Task.MULTICLASS, ScoreKind.LOGITS, plain + np.float32(5000.3), labels)
    assert samples.lightest(shifted).scores.dtype == np.float32


@pytest.mark.parametrize("name", TRAINED)
def test_trained_samples_hold_their_history_and_name_no_machine(name, shipped):
    manifest = shipped.get(name)
    assert manifest.config["data_root"] is None
    history = shipped.history(name)
    assert history.n_epochs == manifest.config["epochs"] == manifest.history.epochs
    error = 1 - manifest.metrics["test"]["accuracy"]
    assert error < (0.05 if name.startswith("digits") else 0.5)
    if "adafocal" in name:
        assert shipped.bins(name).n_epochs == history.n_epochs
    text = (SAMPLES / name / "manifest.json").read_text()
    assert "/" not in manifest.description
    assert "tmp" not in text
    assert "home" not in text


def test_replaying_the_shipped_logits_gives_the_shipped_gammas(shipped):
    """The bins were learned while it trained, the replay reads the logits that were kept."""
    kept = shipped.bins("digits-adafocal")
    val = shipped.load("digits-adafocal", "val")
    found = replay(
        shipped.validation_logits("digits-adafocal"), val.labels, task=val.task,
        rule=AdaFocalRule(), n_bins=15,
    )  # fmt: skip
    np.testing.assert_allclose(found.gamma, kept.gamma, atol=1e-6)
    np.testing.assert_allclose(found.lower, kept.lower, atol=1e-9)
