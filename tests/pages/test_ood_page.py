"""The page Out of distribution through app.py: sets, files, threshold, links, refusals."""

import html as text_of
import io
import re
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from core.calibrators.temperature import nll_temperature
from core.datasets.shifts import OWN
from core.library import SAMPLES, Library, RunSource
from core.ood import separation
from core.ood.scores import ood_scores
from core.ood.separation import Separation, auroc, counts_of, thresholds_at
from core.predictions import Groups, Predictions, ScoreKind, Task, Weights
from pages.ui.state import distinct_names
from tests.pages.seen import fine, html, opened, said, table

pytestmark = pytest.mark.usefixtures("unsealed")
K = 4
NAMES = ("cat", "dog", "ship", "truck")


@pytest.fixture
def page(home):
    return partial(opened, "ood")


def logits(seed, n, skill):
    rng = np.random.default_rng(seed)
    labels = np.random.default_rng(n).integers(0, K, n)
    return 2 * (rng.normal(size=(n, K)) + skill * np.eye(K)[labels]), labels


def labelled(seed, n=300, skill=2.0):
    return Predictions(Task.MULTICLASS, ScoreKind.LOGITS, *logits(seed, n, skill), NAMES)


def strange(seed, n=200, skill=0.5):
    z, _ = logits(seed, n, skill)
    return Predictions(
        Task.MULTICLASS, ScoreKind.LOGITS, z, np.full(n, -1), class_names=NAMES, labelled=False
    )


PARTS = {
    "val": labelled(1),
    "test": labelled(2),
    "svhn": strange(3),
    "corrupted-fog-1": labelled(4, skill=1.5),
    "corrupted-fog-5": labelled(5, skill=0.5),
}


@pytest.fixture
def keep(home):
    def kept(name="the run", config=None, **splits):
        library = Library(home, SAMPLES)
        source = RunSource("file.npz", "0" * 64, None)
        splits = splits or PARTS
        if config is None:
            return library.keep(name, splits, source=source, summary={}).id
        run_id = re.sub("[^a-z]", "", name)
        return library.keep(
            name,
            splits,
            source=source,
            summary={},
            kind="evaluate",
            config=config,
            environment={},
            run_id=run_id,
        ).id

    return kept


def upload(test: AppTest, name: str, **arrays) -> AppTest:
    data = io.BytesIO()
    np.savez(data, **arrays)
    (uploader,) = test.file_uploader
    return uploader.set_value((name, data.getvalue(), "application/octet-stream")).run()


def noticed(test: AppTest, code: str) -> list[str]:
    """Return the sentences of the notices of a code, which is their tooltip."""
    found = re.findall(f'<li title="{code}">(.*?)</li>', html(test))
    return [text_of.unescape(one) for one in found]


def separated(inside, outside, key="entropy", temperature=1.0):
    return Separation.of(*(ood_scores(one, key, temperature) for one in (inside, outside)))


def missed(found, alarms=0.05):
    return counts_of(found, [thresholds_at(found, [alarms])[0]])[0]


def test_the_sentence_and_the_counts_are_those_of_the_run(page, keep):
    test = fine(page(run=keep(), set="svhn"))
    found = separated(PARTS["test"], PARTS["svhn"])
    counts = missed(found)
    text = html(test)
    assert f"{round(100 * counts.missed)} in 100 street numbers pass the alarm" in text
    assert f">{auroc(found):.3f}</span>" in text
    assert "positive class: out-of-distribution" in text
    rows = table(test, "What the threshold does")
    assert f">{counts.flagged_out}<" in rows
    assert f">{counts.passed_out}<" in rows
    assert "Corrupted test images" in text


def test_a_split_of_the_link_that_holds_other_images_stays_there_and_is_said(page, keep):
    test = fine(page(run=keep(), split="corrupted-fog-5"))
    assert test.query_params["split"] in ("corrupted-fog-5", ["corrupted-fog-5"])
    why = "“corrupted-fog-5” holds no in-distribution rows; these are those of “test”."
    assert why in said(test)
    test.segmented_control(key="widget.split").set_value("val").run()
    assert test.query_params["split"] in ("val", ["val"])
    assert "holds no in-distribution" not in said(fine(test))


@pytest.mark.slow
def test_many_corruptions_are_folded_until_all_are_asked_for(page, keep):
    shifted = {f"corrupted-{name}-5": labelled(k, n=40) for k, name in enumerate(OWN[:11])}
    test = fine(page(run=keep(**{"test": labelled(2)} | shifted)))
    assert "the worst 8 of 11 corruptions from most" in said(test)
    fine(test.toggle("ood.every.corrupted").set_value(True).run())
    assert "images each, 11 corruptions from most" in said(test)


@pytest.mark.slow
def test_the_threshold_lives_in_the_link_and_in_the_session(page, keep):
    run = keep()
    counts = missed(separated(PARTS["test"], PARTS["svhn"]), 0.2)
    test = page(run=run, alarms="20.0", set="svhn")
    assert f">{counts.flagged_out}<" in table(test, "What the threshold does")
    assert test.query_params["alarms"] in ("20", ["20"])
    test.switch_page("pages/theory.py").run()
    test.query_params.clear()
    test.switch_page("pages/ood.py").run()  # entered anew by a link that says nothing of it
    assert f">{counts.flagged_out}<" in table(test, "What the threshold does")


@pytest.mark.slow
def test_score_and_temperature_live_in_the_link(page, keep):
    test = page(run=keep(), score="energy", heat="fitted", set="corrupted-fog-5")
    best = nll_temperature(PARTS["val"].scores, PARTS["val"].labels)[0]
    found = separated(PARTS["test"], PARTS["corrupted-fog-5"], "energy", best)
    text = html(test)
    assert f">{auroc(found):.3f}</span>" in text
    assert "images with fog of severity 5" in text
    assert f"after T = {best:.3g}, fitted on val" in text
    rows = table(test, "AUROC of runs, sets and scores")
    assert f"T = {best:.2f}" in rows
    for key in ("entropy", "msp", "max_logit"):
        area = auroc(separated(PARTS["test"], PARTS["svhn"], key))
        assert f"{area:.3f}<small>" in rows


@pytest.mark.slow
def test_nonsense_in_a_link_is_read_as_the_default(page, keep):
    test = fine(
        page(run=keep(), sets="nothing,x.y", set="z", score="odin", heat="warm", alarms="x")
    )
    right = round(100 * PARTS["corrupted-fog-5"].rows.correct.mean(), 1)
    assert f"On images with fog of severity 5, accuracy is {right}\u202f% (" in html(test)


def test_a_run_without_sets_says_how_to_get_them(page, keep):
    test = page(run=keep(test=labelled(2)))
    assert "No out-of-distribution rows to compare with yet" in html(test)
    assert test.file_uploader


def test_inputs_of_no_class_are_no_run_to_tell_from(page, keep):
    test = page(run=keep(svhn=strange(3)))
    assert "belong to none of the classes" in test.error[0].value
    assert "Open another run" in html(test)


@pytest.mark.slow
def test_a_file_becomes_a_set_of_this_session_and_then_a_run(page, keep, home):
    test = page(run=keep(val=labelled(1), test=labelled(2)))
    part = strange(9, n=150)
    upload(test, "odd ones.npz", logits=part.scores)
    assert not test.error
    found = separated(PARTS["test"], part)
    assert f">{auroc(found):.3f}</span>" in html(test)
    assert "inputs of “odd ones”" in html(test)
    assert "draft-" not in str(dict(test.query_params))
    (keeper,) = [one for one in test.button if one.label == "Keep"]
    keeper.click().run()
    rows = Library(home, SAMPLES).rows(search="odd ones")
    assert len(rows) == 1
    kept = Library(home, SAMPLES).get(rows[0].id)
    assert [entry.role for entry in kept.splits.values()] == ["ood"]
    assert f">{auroc(found):.3f}</span>" in html(test)  # still shown, now from the library


@pytest.mark.slow
def test_sets_of_other_runs_stand_beside_it_only_when_they_are_picked(page, keep):
    other = keep("elsewhere", svhn=strange(8))
    run = keep("one", test=labelled(2))
    test = page(run=run)
    assert "No out-of-distribution rows to compare with yet" in html(test)
    picked = page(run=run, sets=f"{other}.svhn")
    assert "in 100 street numbers" in html(picked)
    assert "SVHN · elsewhere" in html(picked)
    (notice,) = noticed(picked, "OTHER_MODEL")
    assert notice.startswith("“SVHN · elsewhere” comes from another run. If that is another model")


@pytest.mark.slow
def test_another_models_answers_to_the_same_inputs_are_refused(page, keep):
    other = keep("elsewhere", test=labelled(7))
    test = page(run=keep(), sets=f"{other}.test")
    assert "the same inputs, scored anew" in text_of.unescape(test.error[0].value)


@pytest.mark.slow
def test_another_models_file_of_the_same_inputs_is_said(page, keep):
    test = page(run=keep())
    rng = np.random.default_rng(8)
    other = PARTS["test"].scores + rng.normal(size=(300, K))
    upload(test, "other.npz", logits=other, labels=PARTS["test"].labels)
    (notice,) = noticed(test, "OVERLAP")
    assert notice.startswith("“other” looks like the in-distribution inputs again")


@pytest.mark.slow
def test_a_file_of_this_session_stays_out_of_the_link(page, keep):
    test = page(run=keep(), sets="corrupted-fog-5")
    upload(test, "odd.npz", logits=strange(9).scores)
    assert "inputs of “odd”" in html(test)
    assert test.query_params["sets"] in ("corrupted-fog-5", ["corrupted-fog-5"])
    assert "set" not in test.query_params


@pytest.mark.slow
def test_a_table_is_read_with_the_columns_of_the_runs_groups_and_weights(page, keep):
    patients = np.arange(300) // 3
    own = replace(
        PARTS["test"],
        groups=Groups.of("patient", patients.astype(str)),
        weights=Weights.of("films", 1.0 + patients % 3),
    )
    test = page(run=keep(test=own))
    part, who, films = strange(9, n=150), np.arange(150) // 5, 1.0 + np.arange(150) % 2
    lines = [",".join(("a", "b", "c", "d", "patient", "films"))]
    lines += [
        ",".join((*map(repr, z), f"q{p}", repr(w)))
        for z, p, w in zip(part.scores.tolist(), who.tolist(), films.tolist(), strict=True)
    ]
    (uploader,) = test.file_uploader
    uploader.set_value(("odd.csv", "\n".join(lines).encode(), "text/csv")).run()
    assert not test.error
    scores = (ood_scores(one, "entropy") for one in (own, part))
    found = Separation.of(*scores, (patients, who), (own.weights.of_row, films))
    counts = counts_of(found, [thresholds_at(found, [0.05])[0]])[0]
    assert f">{auroc(found):.3f}</span>" in html(test)
    rows = table(test, "What the threshold does")
    assert f">{counts.flagged_out:.0f}<" in rows
    assert f">{films.sum():.0f}<" in rows
    assert "rows count by films" in html(test)
    worth = [round(number) for number in separation.effective_sizes(found)]
    assert (
        f"The 300 in-distribution rows of 100 patients count as about {worth[0]} "
        "independent ones. The 150 out-of-distribution rows of 30 patients count as about "
        f"{worth[1]} independent ones." in text_of.unescape(html(test))
    )
    assert html(test).count('title="WEIGHTED"') == 2


@pytest.mark.slow
def test_a_table_is_read_with_the_groups_of_a_run_without_weights(page, keep):
    groups = Groups.of("patient", (np.arange(300) // 3).astype(str))
    test = page(run=keep(test=replace(PARTS["test"], groups=groups)))
    rows = zip(strange(9, n=150).scores.tolist(), np.arange(150) // 5, strict=True)
    lines = ["a,b,c,d,patient", *(",".join((*map(repr, z), f"q{p}")) for z, p in rows)]
    (uploader,) = test.file_uploader
    uploader.set_value(("odd.csv", "\n".join(lines).encode(), "text/csv")).run()
    assert not test.error
    assert "The 150 out-of-distribution rows of 30 patients" in html(test)
    assert "count by" not in html(test)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("column", "said"),
    [
        ("other", "odd.csv has no patient of its own: each of its rows counts as one."),
        ("patient", "odd.csv: 1 of 150 rows has no patient: each of its rows counts as one."),
    ],
)
def test_a_table_without_the_runs_groups_is_read_and_says_so(page, keep, column, said):
    groups = Groups.of("patient", (np.arange(300) // 3).astype(str))
    test = page(run=keep(test=replace(PARTS["test"], groups=groups)))
    who = ["", *(f"q{k // 5}" for k in range(1, 150))]
    rows = zip(strange(9, n=150).scores.tolist(), who, strict=True)
    lines = [f"a,b,c,d,{column}", *(",".join((*map(repr, z), name)) for z, name in rows)]
    (uploader,) = test.file_uploader
    uploader.set_value(("odd.csv", "\n".join(lines).encode(), "text/csv")).run()
    assert not test.error
    assert said in noticed(test, "KEYS_GUESSED")


@pytest.mark.slow
def test_an_export_brings_the_groups_and_weights_of_its_run(page, keep):
    groups = Groups.of("patient", (np.arange(300) // 3).astype(str))
    weights = Weights.of("films", 1.0 + np.arange(300) % 2)
    test = page(run=keep(test=replace(PARTS["test"], groups=groups, weights=weights)))
    upload(
        test,
        "odd.npz",
        test_logits=strange(9, n=150).scores,
        test_labels=np.arange(150) % 4,
        test_groups=(np.arange(150) // 5).astype(str),
        group_name=np.array("patient"),
        test_weights=np.ones(150),
        weight_name=np.array("films"),
    )
    assert "The 150 out-of-distribution rows of 30 patients" in html(test)
    assert "counts as one" not in html(test)


@pytest.mark.slow
def test_a_discarded_file_is_gone(page, keep):
    test = page(run=keep())
    upload(test, "odd.npz", logits=strange(9).scores)
    assert "inputs of “odd”" in html(test)
    (button,) = [one for one in test.button if one.label == "Discard"]
    button.click().run()
    assert "inputs of “odd”" not in html(test)
    assert "On images with fog" in html(test)


@pytest.mark.slow
def test_openoods_file_is_told_by_its_confidence(page, keep):
    stated = Predictions(
        Task.TOP_LABEL,
        ScoreKind.CONFIDENCE,
        np.random.default_rng(0).uniform(0.3, 1, 200),
        np.random.default_rng(1).integers(0, K, 200),
        class_names=NAMES,
        predicted=np.random.default_rng(2).integers(0, K, 200),
    )
    test = page(run=keep(test=stated))
    rng = np.random.default_rng(5)
    upload(
        test,
        "svhn.npz",
        pred=rng.integers(0, K, 90),
        conf=rng.normal(size=90),
        label=-np.ones(90, int),
    )
    assert not test.error
    assert "Max probability" in html(test)
    assert "Entropy of the answer" not in html(test)


@pytest.mark.slow
def test_a_reading_of_inputs_of_no_class_promises_no_accuracy(page, keep):
    test = page(run=keep())
    percent = 100 * np.random.default_rng(6).dirichlet(np.ones(K), 50)
    upload(test, "percent.npz", probabilities=percent)
    assert "On the command line: --units percent" in html(test)
    assert "First row: says" in html(test)
    assert "Accuracy and ECE appear" not in html(test)
    (button,) = [one for one in test.button if one.key and one.key.startswith("ood.pick.")]
    button.click().run()
    assert not test.error
    assert "inputs of “percent”" in html(test)


@pytest.mark.slow
def test_bad_files_are_refused_in_words(page, keep):
    test = page(run=keep())
    upload(test, "narrow.npz", logits=strange(9).scores[:, :3])
    assert "has scores of 3 classes, the run of 4" in text_of.unescape(test.error[0].value)
    assert "On images with fog" in html(test)
    test = page(run=keep())
    (uploader,) = test.file_uploader
    uploader.set_value(("bad.npz", b"PK\x03\x04nonsense", "application/octet-stream")).run()
    assert test.error
    assert "On images with fog" in html(test)


@pytest.mark.slow
def test_the_runs_own_rows_are_refused_as_a_set_and_overlap_is_said(page, keep):
    run = keep()
    test = page(run=run)
    upload(test, "again.npz", logits=PARTS["test"].scores)
    assert "has the same scores as the in-distribution rows" in text_of.unescape(
        test.error[0].value
    )
    test = page(run=run)
    upload(test, "chosen.npz", logits=PARTS["val"].scores)
    assert "has the same scores as the part val" in text_of.unescape(test.error[0].value)
    test = page(run=run)
    assert "OTHER_MODEL" not in html(test)
    mixed = np.concatenate([PARTS["svhn"].scores, PARTS["test"].scores[:5]])
    upload(test, "mixed.npz", logits=mixed)
    assert not test.error
    (notice,) = noticed(test, "OVERLAP")
    assert notice.startswith("5 of 205 rows of mixed score exactly as an in-distribution row")


@pytest.mark.slow
def test_a_corruption_that_changes_nothing_is_shown_with_a_word(page, keep):
    run = keep(**PARTS | {"corrupted-saturate-1": PARTS["test"]})
    test = fine(page(run=run, sets="svhn,corrupted-saturate-1"))
    (notice,) = noticed(test, "UNCHANGED")
    assert "this corruption changed nothing" in notice
    assert "0.500" in table(test, "AUROC of runs, sets and scores")


@pytest.mark.slow
def test_runs_are_compared_on_the_same_rows(page, keep):
    run = keep("one")
    worse = PARTS | {"test": labelled(12), "svhn": strange(13, skill=1.5)}
    other = keep("two", **worse)
    test = page(run=run, beside=other, sets="svhn")
    rows = table(test, "AUROC of runs, sets and scores")
    assert "Difference from the open run" in rows
    gap = auroc(separated(worse["test"], worse["svhn"])) - auroc(
        separated(PARTS["test"], PARTS["svhn"])
    )
    assert f"{gap:+.3f}".replace("-", "\u2212") in rows or ">tie<" in rows


@pytest.mark.slow
def test_the_papers_stand_beside_a_corresponding_run_on_official_sets_only(page, keep):
    config = {"data": "cifar10", "model": "resnet110_released", "loss": {"name": "adafocal"}}
    parts = PARTS | {
        "cifar10c-gaussian_noise-5": labelled(6, skill=1.0),
        "corrupted-gaussian_noise-5": labelled(7, skill=1.0),
    }
    test = page(run=keep("adafocal", config, **parts), sets=",".join(list(parts)[2:]))
    rows = table(test, "AUROC of runs, sets and scores")
    assert rows.count("Ghosh et al. 2022, table 8") == 2
    assert "0.9609" in rows
    assert "0.8496" in rows
    test = page(run=keep("another", config | {"model": "small_cnn"}, **parts))
    assert "Ghosh" not in table(test, "AUROC of runs, sets and scores")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("origin", "limit", "data", "beside"),
    [
        ("adafocal", None, "cifar10", True),
        ("adafocal", 100, "cifar10", False),
        ("adafocal", None, "cifar100", False),
        ("", None, "cifar10", False),
        ("gone", None, "cifar10", False),
    ],
)
def test_an_evaluation_corresponds_to_its_training(page, keep, origin, limit, data, beside):
    config = {"data": "cifar10", "model": "resnet110_released", "loss": {"name": "adafocal"}}
    keep("adafocal", config, test=labelled(2))
    weights = {"file": "x", "digest": "0", "group": "", "run": origin}
    evaluated = {"data": data, "model": "resnet110_released", "weights": weights, "limit": limit}
    test = page(run=keep("evaluated", evaluated))
    assert ("Ghosh" in table(test, "AUROC of runs, sets and scores")) == beside


@pytest.mark.slow
def test_a_run_without_validation_part_has_no_temperature(page, keep):
    test = page(run=keep(test=labelled(2), svhn=strange(3)))
    assert any("No temperature" in one.value for one in test.caption)
    assert "Entropy, T" not in html(test)


def test_many_labels_are_told_why_there_is_nothing_to_score(page):
    test = fine(page(run="digits-traits"))
    assert "gives one yes or no for each label.</h1>" in html(test)


@pytest.mark.slow
def test_hostile_names_are_text_everywhere(page, keep):
    name = "<b>**x**</b> ![x](http://x/y) :red[r]"
    test = page(run=keep(name))
    upload(test, f"{name.replace('/', '')}.npz", logits=strange(9).scores)
    assert "<b>**x**" not in html(test)
    said = [one.value for kind in (test.markdown, test.error, test.caption) for one in kind]
    said += [option.content for one in test.segmented_control for option in one.proto.options]
    assert not any("![x](" in one or ":red[r]" in one for one in said)


def test_a_dropped_file_stands_beside_the_run_that_it_was_dropped_beside_only(page, keep):
    run, other = keep("run"), keep("another", config={})
    test = page(run=run)
    upload(test, "mine.npz", logits=strange(9).scores)
    assert "inputs of “mine”" in html(test)
    chosen = test.session_state["app.ood_sets"]
    assert chosen[run][0].startswith("draft-")
    test.query_params["run"] = other
    test.run()
    assert chosen[other]
    assert not any(one.startswith("draft-") for one in chosen[other])


def test_runs_of_one_name_are_told_apart_in_lists():
    assert distinct_names({"a1": "net", "b2": "net", "c3": "other"}) == {
        "a1": "net (a1)", "b2": "net (b2)", "c3": "other",
    }  # fmt: skip
    days = {"a1": "2026-11-27T23:30:00+00:00", "b2": "2026-11-28T00:10:00+00:00"}
    named = {"a1": "net", "b2": "net", "c3": "other"}
    assert distinct_names(named, days) == {
        "a1": "net (27 Nov 2026)", "b2": "net (28 Nov 2026)", "c3": "other",
    }  # fmt: skip
    hours = days | {"a1": "2026-11-28T00:09:00+00:00"}
    assert distinct_names(named, hours)["a1"] == "net (28 Nov 2026, 00:09)"
    assert distinct_names(named, hours | {"a1": hours["b2"]})["a1"] == "net (a1)"  # one minute
    turned = distinct_names({"a1": "net\u202e", "b2": "net\u2066"})
    assert turned == {"a1": "net  (a1)", "b2": "net  (b2)"}
