"""Findings for the clinic: the sentences, tables and badges say what the numbers say."""

import re
from collections import Counter
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, roc_auc_score

from core import published
from core.arrays import log_sigmoid
from core.metrics import clinical
from core.metrics.clinical import Bands, bands
from core.metrics.clinical.groups import grouping
from core.metrics.intervals import exact_interval, wilson
from core.metrics.records import Verdict, VerdictCode
from core.predictions import Groups, Outcomes, Predictions, SamplingDesign, ScoreKind, Task, Weights
from core.reports.html import PageView, sheet_html
from core.screens.kit.numbers import count
from core.screens.kit.records import Phrase, Sentence
from core.screens.kit.words import set_row_noun
from core.screens.xray import findings
from core.screens.xray import (
    use as use_views,
)
from core.screens.xray.figures import Band
from core.screens.xray.finding import (
    badge,
    band_sentence,
    elsewhere,
    finding_view,
    most_miscalibrated_band,
    plain_view,
    sentence,
)
from core.screens.xray.findings import findings_view, order, plain_findings_view
from core.screens.xray.words import BANNER, MINED, READINGS, SYNTHETIC, ClinicSource
from core.studies import clinic as clinic_study
from core.studies.posthoc import NONE

NAMES = ("Effusion", "Nodule", "Hernia")
each = Band.each
N = 4000


def sigmoid(z):
    return np.exp(log_sigmoid(z))


def made(n=N, seed=5, stretch=2.0):
    """Three findings: stretched log-odds, honest ones, and a rare one."""
    rng = np.random.default_rng(seed)
    true = np.column_stack(
        [rng.normal(-1.5, 1.2, n), rng.normal(-1.0, 1.0, n), rng.normal(-5.0, 0.8, n)]
    )
    labels = (rng.random((n, 3)) < sigmoid(true)).astype(np.int64)
    said = sigmoid(true * np.array([stretch, 1.0, 1.0]))
    return Predictions(
        task=Task.MULTILABEL, kind=ScoreKind.SIGMOID, scores=said, labels=labels, class_names=NAMES
    )


def binary(p, y):
    """One finding by itself."""
    return Predictions(Task.BINARY, ScoreKind.SIGMOID, p, y, ("no", "Effusion"))


def source(n=N, names=NAMES, **more):
    return ClinicSource(
        run="the run", split="test", digest="a1b2c3d4e5", findings=names, n=n, **more
    )


@pytest.fixture(scope="module")
def rows():
    return made()


@pytest.fixture(scope="module")
def found(rows):
    return clinic_study.findings(rows)


@pytest.fixture(scope="module")
def stretched(rows):
    return clinic_study.one_finding(clinic_study.binary_rows(rows, 0))


@pytest.fixture(scope="module")
def honest(rows):
    return clinic_study.one_finding(clinic_study.binary_rows(rows, 1))


@pytest.fixture(scope="module")
def rare(rows):
    return clinic_study.one_finding(clinic_study.binary_rows(rows, 2))


def view(found, **more):
    return findings_view(source(**more), found, published.published(dataset="chestxray14"))


def test_the_legend_calls_rows_what_they_are(found):
    set_row_noun("")
    try:
        assert view(found).legend.startswith("After each name: rows labelled with it, and AUROC.")
    finally:
        set_row_noun()


def numbers_of(table):
    keys = [column.key for column in table.columns]
    return [dict(zip(keys, row, strict=True)) for row in table.rows]


def written(subgroups):
    return use_views.group_table(source(), "v", subgroups).written()


def test_findings_are_those_of_scikit_learn_sorted_by_events(rows, found):
    lines = numbers_of(view(found).table.file)
    events = [line["events"] for line in lines]
    assert events == sorted(rows.labels.sum(axis=0).tolist(), reverse=True)
    for line in lines:
        k = NAMES.index(line["finding"])
        y, p = rows.labels[:, k], rows.scores[:, k]
        assert line["auroc"] == pytest.approx(roc_auc_score(y, p), abs=1e-12)
        assert line["auprc"] == pytest.approx(average_precision_score(y, p), abs=1e-12)
        assert line["prevalence"] == pytest.approx(y.mean(), abs=1e-12)
        assert line["source"].count(BANNER) == 1


def test_dots_are_coloured_on_findings_that_are_off_beyond_chance_alone(found):
    opened = view(found)
    assert opened.together.explanation.endswith(
        "; dots are coloured on findings that are off beyond chance"
    )
    # a bin of the honest finding far outside its band, whatever the joint test says
    bins = found.bins[1]
    wild = replace(bins, accuracy=np.where(bins.count > 0, bins.band_high + 0.1, bins.accuracy))
    for verdict, coloured in (("could_be_chance", set()), ("overestimates", {"Nodule"})):
        label = replace(
            found.audit.labels[1], verdict=Verdict(VerdictCode(verdict), ".", p_value=1e-6)
        )
        labels = (found.audit.labels[0], label, found.audit.labels[2])
        shown = replace(
            found,
            audit=replace(found.audit, labels=labels),
            bins=(found.bins[0], wild, found.bins[2]),
        )
        rows = view(shown).together.table.rows
        named = {row[0] for row in rows if READINGS["under"] in row}
        assert named & {"Nodule"} == coloured


def test_plain_bands_are_called_off_only_where_the_finding_is():
    p = np.repeat([0.15, 0.55], 2000)
    y = np.arange(4000) % 2000 < np.repeat([900, 1100], 2000)  # 45 in 100 where it says 15
    said = {
        code: plain_view(source(), "Nodule", Outcomes(p, y), band=1, code=code).sentence.second
        for code in (VerdictCode.UNDERESTIMATES, VerdictCode.SOUND)
    }
    assert "it understates here" in said[VerdictCode.UNDERESTIMATES]
    assert "understates" not in said[VerdictCode.SOUND]
    fits = np.arange(4000) % 2000 < np.repeat([300, 1100], 2000)
    for code in (VerdictCode.SOUND, VerdictCode.COULD_BE_CHANCE):  # of the band, not of the model
        view = plain_view(source(), "Nodule", Outcomes(p, fits), band=1, code=code)
        assert ": it agrees with what was found here." in view.sentence.second
        assert READINGS["sound"] in view.card.table.rows[1]


def test_a_risk_stated_twice_over_never_seems_kept():
    for (n, events), tone in (((200, 2), "few"), ((20_000, 400), "sound"), ((20_000, 200), "over")):
        assert each(band(n, events, 0.02, 0))[0].tone == tone


def test_a_band_beyond_its_own_interval_alone_is_not_named():
    one = band(100, 17, 0.25)
    low, high = exact_interval(one.events, one.count, 0.995)
    among_ten = replace(one, least=low, most=high)
    assert one.mean[2] > one.ci_high[2] - 0.01
    assert each(replace(one, mean=one.ci_high + 0.01))[2].tone == "over"
    assert each(replace(among_ten, mean=one.ci_high + 0.01))[2].tone == "few"


def test_a_slope_that_the_joint_test_does_not_confirm_could_be_chance(stretched):
    opened = sentence(source(), stretched)
    assert "too extreme" in opened.text.lower()
    assert "lope" not in opened.second  # the headline has the word, and a tile the number
    chance = Verdict(VerdictCode.COULD_BE_CHANCE, ".", 0.06)
    audit = replace(stretched.audit, verdict=chance)
    text = sentence(source(), replace(stretched, audit=audit)).second
    assert "The spread of its scores could be chance (slope" in text
    assert "taken alone its interval excludes 1" in text


def test_rare_findings_get_no_verdict_and_no_colour(rows, found):
    assert rows.labels[:, 2].sum() < 200
    small = {one.name: one for one in view(found).small}
    tones = {name: {t.name for t in one.card.figure("light").data} for name, one in small.items()}
    assert tones["Hernia"] == {"well calibrated", "few"}
    assert "over" in tones["Effusion"]
    assert small["Hernia"].note.endswith("too few events")
    plain_view = plain_findings_view(source(), found)
    plain = {row.name: row.cells[0].value for row in plain_view.table.written()}
    assert plain == {
        "Fluid around the lung (Effusion)": "gets chances that differ more than they should",
        "A small spot (Nodule)": "could be chance",
        "A hernia of the diaphragm (Hernia)": "could be chance",
    }


def test_printed_numbers_stand_beside_findings_of_the_same_name_only(found):
    shown = view(found)
    assert shown.table.heads[4:6] == ("CheXNet (BCE), published", "FCL, published")
    effusion = next(row for row in shown.table.written() if row.name == "Effusion")
    assert [cell.value for cell in effusion.cells[3:5]] == ["0.864", "0.886"]
    mean = shown.table.written()[-1]
    assert mean.cells[3].value == f"{np.mean([0.8638, 0.7802, 0.9164]):.3f}"
    assert "do not match its columns" in shown.notes[0]
    renamed = view(found, names=("cat", "dog", "bird"))
    assert "published" not in " ".join(renamed.table.heads)
    assert not renamed.notes
    assert not view(found, synthetic=True).notes
    assert len(renamed.table.written()[0].cells) == len(renamed.table.heads) - 1


def test_bins_hold_every_film_once(found, rows):
    table = numbers_of(view(found).together.table)
    for k, name in enumerate(NAMES):
        mine = [line for line in table if line["finding"] == name]
        assert sum(line["count"] for line in mine) == N
        seen = sum(line["count"] * line["labelled"] for line in mine)
        assert seen == pytest.approx(rows.labels[:, k].sum())


def band(count, events, mean=0.25, i=2):
    """Ten bands of which one holds films."""
    n, k = (np.zeros(10, dtype=np.int64) for _ in range(2))
    n[i], k[i] = count, events
    low, high = wilson(k, n, 0.95)
    nan = np.full(10, np.nan)
    said, share = nan.copy(), nan.copy()
    said[i], share[i] = mean, events / count
    ends = np.arange(11) / 10
    sure = exact_interval(k, n, 0.95)  # one band holds films
    return Bands(ends[:-1], ends[1:], n, k, said, share, low, high, *sure)


@given(st.integers(1, 3000), st.data(), st.floats(0.2, 0.3))
def test_the_numerator_is_the_observed_events_of_the_band(n, data, mean):
    events = data.draw(st.integers(0, n))
    said = band_sentence(source(), "Effusion", each(band(n, events, mean)), 2)
    text = f"{said.text} {said.second}"
    assert not re.search(r"\b1 in \d", text)
    if n < 20:
        films, were = "film" if n == 1 else "films", "was" if events == 1 else "were"
        assert text.startswith(f"Only {n} {films} of this test set of ")
        assert f", too few to tell: {events} of them {were} labelled as showing" in text
        assert "in 100" not in text
        assert "states" not in text
        return
    value = re.search(r"%, (?:about )?(fewer than 1|nearly all|[\d.]+)", text)[1]
    share = 100 * events / n
    if value == "fewer than 1":
        assert 0 < share <= 0.5
    elif value == "nearly all":
        assert 99 < share < 100
    else:
        assert float(value) == round(share) or abs(float(value) - share) <= 0.05
    ends = exact_interval(np.array([events]), np.array([n]), 0.95)
    low, high = (100 * float(end[0]) for end in ends)
    overstates, understates = 100 * mean > high, 100 * mean < low
    assert ("overstates" in text) == overstates
    assert ("understates" in text) == understates


def test_icons_are_the_interval_and_few_films_have_none():
    icons = each(band(400, 68))[2].icons
    assert (icons.low, icons.filled, icons.high) == (14, 17, 21)
    assert each(band(19, 3))[2].icons is None
    none = band_sentence(source(), "Effusion", each(band(19, 3)), 4)
    assert none.text == "No film scores 40 to 50\u202f%. Choose a lower band."
    after = replace(source(), recalibrated=True)
    none = band_sentence(after, "Effusion", each(band(19, 3)), 0)
    assert none.text == "No film scores 0 to 10\u202f% after recalibration. Choose a higher band."


def test_another_prevalence_moves_the_odds_of_what_was_found():
    there = elsewhere(band(400, 68), 0.10, 0.02)
    odds = 0.17 / 0.83 * (0.02 / 0.98) / (0.10 / 0.90)
    assert there.share[2] == pytest.approx(odds / (1 + odds))
    assert there.mean[2] == 0.25
    said = band_sentence(source(), "Effusion", each(there), 2, 0.02)
    assert said.text.startswith("Where 2 in 100 films carry the label, of 100 that the model")
    assert "if nothing else differs from this test set" in said.text


def test_no_events_are_carried_nowhere():
    p = np.linspace(0.05, 0.95, 400)
    none = np.zeros(400, bool)
    there, here = (
        plain_view(source(), "Effusion", Outcomes(p, none), band=1, prevalence=to)
        for to in (0.02, None)
    )
    assert here.icons is not None
    assert (there.icons, there.note, there.sentence) == (here.icons, here.note, here.sentence)


def test_plain_view_names_its_set_and_that_it_is_no_risk(stretched):
    at = most_miscalibrated_band(bands(stretched.p, stretched.y))
    shown = plain_view(source(), "Effusion", stretched.outcomes, band=at)
    assert "this test set of 4,000 films" in shown.sentence.text.replace("\u202f", " ")
    assert BANNER in shown.caption
    assert any("carried the label" in text for text in shown.care)
    held = bands(stretched.p, stretched.y)
    lines = numbers_of(shown.card.table)
    assert [line["events"] for line in lines] == held.events.tolist()
    marked = [t for t in shown.card.figure("light").data if t.name and t.marker.size == 15]
    assert [t.customdata[0] for t in marked] == [at]


def test_words_for_what_the_labels_are_worth():
    nih = tuple(row.metric.removeprefix("auroc_") for row in published.published(method="bce"))
    chest = ClinicSource(run="r", split="test", digest="0" * 8, findings=nih, n=5)
    assert MINED in chest.caption
    assert MINED not in source().caption
    assert source(synthetic=True).noise == SYNTHETIC
    assert (source().films, source(names=("cat",)).films) == ("films", "images")


@pytest.mark.slow
def test_badge_is_for_scores_that_are_clearly_no_probabilities(stretched, honest):
    assert badge(source(), honest) is None
    # 10.8 points, of which a perfect model shows about one
    assert badge(source(), stretched).title == "Off by 10.8 points (ECE)"
    error = stretched.audit.metrics["ece"]
    metrics = {**stretched.audit.metrics, "ece": replace(error, value=error.value + 0.02)}
    further = replace(stretched, audit=replace(stretched.audit, metrics=metrics))
    weak = badge(source(), further)
    assert weak.title == "This score is not a probability"
    assert not weak.alarm
    straight = {**stretched.audit.metrics, "ici": honest.audit.metrics["ici"]}
    held = replace(stretched, fit=honest.fit, audit=replace(stretched.audit, metrics=straight))
    assert badge(source(), held) is None  # mean, slope and curve hold their ideals
    assert badge(source(), replace(stretched, audit=honest.audit)) is None  # within the floor
    audit = stretched.audit
    for value, told in ((0.0101, True), (0.0099, False)):  # beyond a tiny floor, by a point or less
        metrics = {**audit.metrics, "ece": replace(audit.metrics["ece"], value=value)}
        floors = {**audit.noise_floor, "ece": replace(audit.noise_floor["ece"], q95=0.001)}
        slight = replace(stretched, audit=replace(audit, metrics=metrics, noise_floor=floors))
        assert (badge(source(), slight) is not None) == told
    rng = np.random.default_rng(1)
    p = sigmoid(rng.normal(-4.5, 1.6, N))
    y = (rng.random(N) < p).astype(np.int64)
    at = 0.024  # the operating point, which is moved to one half
    odd = np.where(p < at, p / (2 * at), 1 - (1 - p) / (2 * (1 - at)))
    strong = clinic_study.one_finding(binary(odd, y))
    said = badge(source(), strong)
    assert said.alarm
    assert "may have been rescaled, or findings may be rarer" in said.text
    assert "may have been rescaled, or findings may be rarer" not in weak.text


def test_a_bent_curve_is_told_though_mean_and_slope_fit(honest):
    """Of scores of 20, 40, 60 and 80 % the inner two overdo what the outer two underdo."""
    said, came = np.repeat([0.2, 0.4, 0.6, 0.8], 1000), np.repeat([0.25, 0.22, 0.78, 0.75], 1000)
    y = (np.tile(np.arange(1000) / 1000, 4) < came).astype(np.int64)
    bent = clinic_study.one_finding(binary(said, y))
    assert bent.fit.in_the_large.low < 0 < bent.fit.in_the_large.high
    assert bent.fit.slope.low < 1 < bent.fit.slope.high
    text = finding_view(source(), "Effusion", bent).sentence.second
    off = 100 * bent.audit.metrics["ici"].value
    assert f"Mean and slope fit; its curve is off by {off:.1f} points (ICI)" in text
    assert "off by 11.5 points" in badge(source(), bent).text  # (5 + 18 + 18 + 5) / 4
    assert (
        "The spread of its scores fits" in finding_view(source(), "Edema", honest).sentence.second
    )


@pytest.mark.parametrize("events", [0, 121])
def test_no_badge_from_a_curve_of_too_few_events(events):
    """What the page says of the curve itself then: too few events."""
    said = np.repeat([0.2, 0.4, 0.6, 0.8], 60)
    came = np.repeat([0.25, 0.22, 0.78, 0.75], 60) if events else np.zeros(240)
    y = (np.tile(np.arange(60) / 60, 4) < came).astype(np.int64)
    found = clinic_study.one_finding(binary(said, y))
    assert found.fit.events == events
    if events:  # the curve alone would be beyond chance
        assert found.audit.metrics["ici"].value > found.audit.noise_floor["ici"].q95
    assert badge(source(), found) is None
    assert badge(source(), replace(found, fit=replace(found.fit, swayed=True))) is None
    assert "Too few events" in finding_view(source(), "Effusion", found).sentence.second


@pytest.mark.slow
def test_recalibration_speaks_of_the_other_rows(rows, stretched):
    half = np.arange(N) % 2 == 0
    one = clinic_study.binary_rows(rows, 0)
    fit, test = one.take(np.flatnonzero(half)), one.take(np.flatnonzero(~half))
    found = clinic_study.one_finding(test, fit, "beta")
    changed = found.recalibrated
    assert (changed.rows, found.fit.n) == (N // 2, N // 2)
    assert changed.before.score.value == clinic_study.error(test).score.value
    assert changed.difference.value == pytest.approx(
        found.audit.metrics["ece"].value - changed.before.score.value
    )
    assert changed.difference.high < 0
    assert abs(found.fit.slope.value - 1) < abs(stretched.fit.slope.value - 1) / 3
    said = badge(source(N // 2), found)
    assert said.title == "Recalibrated by beta calibration"
    assert "beyond chance" in said.text


def near_zero(n=6, seed=3, event=1):
    """Scores that keep their word, but for a few films that were scored next to 0."""
    rng = np.random.default_rng(seed)
    p = sigmoid(rng.normal(-1.0, 1.0, N))
    y = (rng.random(N) < p).astype(np.int64)
    p[:n], y[:n] = 4e-13, event
    return binary(p, y), n


@pytest.mark.slow
def test_a_handful_of_films_next_to_zero_is_counted_and_gives_no_verdict_on_the_spread():
    rows, n = near_zero()
    found = clinic_study.one_finding(rows)
    rest = clinical.recalibration(found.p[n:], found.y[n:])
    assert rest.slope.low < 1 < rest.slope.high
    assert found.fit.slope.high < 1
    shown = finding_view(source(), "Effusion", found)
    assert "too extreme" not in shown.sentence.text
    assert shown.sentence.text.startswith("No error beyond chance for “Effusion”: ")
    assert shown.sentence.second.startswith("No verdict on the spread of its scores")
    said = "6 films within a millionth of 0 or 1"
    assert said in shown.numbers[1].note
    assert said in shown.caption
    assert f"depends much on {said}" in shown.sentence.second
    lines = {line["number"]: line["reason"] for line in numbers_of(shown.table)}
    assert {k for k, note in lines.items() if said in note} == {"citl", "slope", "intercept"}
    assert shown.badge is None
    group = written(clinic_study.groups(found.p, found.y, grouping(["PA"] * N)))
    assert not group[0].strong & {4, 5}
    single = clinic_study.one_finding(near_zero(1)[0])
    assert (
        "depends much on 1 film within a millionth"
        in finding_view(source(), "Effusion", single).caption
    )


@pytest.mark.slow
def test_a_film_next_to_zero_that_fits_is_counted_and_nothing_hangs_on_it():
    rows, _ = near_zero(1, event=0)
    shown = finding_view(source(), "Effusion", clinic_study.one_finding(rows))
    assert "1 film within a millionth" in shown.numbers[1].note
    words = shown.caption + shown.sentence.text + shown.sentence.second
    assert "depends much on" not in words
    assert "No verdict" not in words


def test_a_skill_without_an_interval_says_why():
    p = np.linspace(0.01, 0.3, 200)
    few = Predictions(Task.BINARY, ScoreKind.SIGMOID, p, (np.arange(200) % 40 == 39).astype(int))
    shown = finding_view(source(), "Effusion", clinic_study.one_finding(few))
    tile = next(tile for tile in shown.numbers if tile.label == "Brier score")
    assert tile.interval.startswith("skill ")
    assert "(" not in tile.interval
    assert "only 5 of the rarer outcome" in tile.note


def test_overconfident_scores_next_to_zero_still_have_their_badge():
    rng = np.random.default_rng(2)
    true = rng.normal(0.0, 3.0, N // 2)
    y = (rng.random(N // 2) < sigmoid(true)).astype(np.int64)
    true, y = np.append(true, -true), np.append(y, 1 - y)  # on average it is right
    said = sigmoid(3.0 * true)
    found = clinic_study.one_finding(binary(said, y))
    assert found.fit.extreme
    assert found.fit.in_the_large.low < 0 < found.fit.in_the_large.high
    assert badge(source(), found).title == "Off by 10.7 points (ECE)"  # chance shows about one
    metrics = found.audit.metrics  # neither slope nor curve speaks: Spiegelhalter's test does
    straight = replace(found.audit, metrics=metrics | {"ici": replace(metrics["ici"], value=0.0)})
    found = replace(found, fit=replace(found.fit, swayed=True), audit=straight)
    assert badge(source(), found).title == "Off by 10.7 points (ECE)"


@pytest.mark.slow
def test_isotonic_regression_gets_no_verdict_on_the_spread(stretched):
    one = clinic_study.binary_rows(made(), 0)
    half = np.arange(N) % 2 == 0
    fit, test = one.take(np.flatnonzero(half)), one.take(np.flatnonzero(~half))
    found = clinic_study.one_finding(test, fit, "isotonic")
    for fit_ in (found.fit, replace(found.fit, swayed=False)):
        shown = finding_view(source(N // 2), "Effusion", replace(found, fit=fit_))
        assert shown.sentence.second.startswith("No verdict on the spread of its scores")
        assert "isotonic regression leaves few steps" in shown.sentence.second
        assert ("millionth" in shown.sentence.second) == fit_.swayed


def test_the_view_of_one_finding_labels_both_intercepts(stretched, rare):
    shown = finding_view(source(), "Effusion", stretched)
    in_the_large, slope = shown.numbers[:2]
    assert (in_the_large.label, in_the_large.note) == ("Calibration in the large", "ideal 0")
    assert (slope.label, slope.note) == ("Calibration slope", "ideal 1")
    (intercept,) = (row for row in shown.rows if row.name == "Intercept, with slope")
    assert intercept.notes[0] == "of the regression that also fits the slope; ideal 0"
    assert intercept.cells[0].value not in ("", "–")
    assert "too extreme" in shown.sentence.text.lower()
    lines = {line["number"]: line for line in numbers_of(shown.table)}
    fit = clinical.recalibration(stretched.p, stretched.y)
    assert lines["slope"]["value"] == fit.slope.value
    assert lines["citl"]["value"] == fit.in_the_large.value != lines["intercept"]["value"]
    mean = float(np.mean((stretched.p - stretched.y) ** 2))
    assert float(shown.numbers[3].value) == pytest.approx(mean, rel=0.005)
    few = finding_view(source(), "Hernia", rare)
    assert "Too few events to judge its curve" in few.sentence.second
    assert few.numbers[1].value != "–"  # weak calibration is still shown
    assert {t.name for t in few.curve.figure("light").data} >= {"flexible curve", "few"}
    assert few.curve.explanation.startswith("too few events")


def test_the_key_names_every_reading_that_is_drawn(honest, stretched, rare):
    drawn = set()
    for one in (honest, stretched, rare):
        shown = finding_view(source(), "Effusion", one)
        traces = {trace.name for trace in shown.curve.figure("light").data}
        dots = traces & {"over", "under", "sound", "few"}
        assert dots <= {swatch.tone for swatch in shown.key}
        drawn |= dots
    assert {"few", "over"} <= drawn


def test_decision_words_follow_the_numbers(stretched):
    net = stretched.net
    for i in (5, 20, 60):
        t = net.thresholds[i]
        called = stretched.p >= t
        hits, false = (called & stretched.y).sum(), (called & ~stretched.y).sum()
        assert net.model[i] == pytest.approx((hits - false * t / (1 - t)) / N)
        assert stretched.flagged[i] == called.sum()
        assert stretched.flagged_events[i] == hits
    card = use_views.decision_card(source(), "Effusion", stretched, (0.05, 0.4))
    figure = card.figure("light")
    model = next(t for t in figure.data if t.name == "the model")
    assert (model.x[0], model.x[-1]) == pytest.approx((5, 40))
    for text, t, value in zip(model.hovertext, model.x, model.y, strict=True):
        i = int(np.argmin(np.abs(net.thresholds - t / 100)))
        share = stretched.flagged_events[i] / stretched.flagged[i]
        assert ("so better than treating none" in text) == (net.low[i] > 0)
        assert ("which may be chance" in text) == (net.low[i] <= 0 < share - t / 100)
        assert ("not above the threshold" in text) == (share <= t / 100)
        assert (value > 0) == (share > t / 100)
    said = use_views.benefit_words(stretched, (0.05, 0.4))
    inside = (net.thresholds >= 0.0499) & (net.thresholds <= 0.4001)
    assert (net.gain_low[inside] > 0).any() == ("is better" in said)
    useless = replace(stretched, net=replace(net, gain_low=np.full_like(net.gain_low, -1.0)))
    assert use_views.benefit_words(useless, (0.05, 0.4)).startswith(
        "Following the model is at no threshold"
    )
    assert "95\u202f% band" in card.explanation
    assert "The simultaneous 95\u202f% band contains the whole curve" in card.caption


def test_a_benefit_of_few_events_is_drawn_and_not_claimed():
    rng = np.random.default_rng(4)
    y = np.arange(4000) < 150
    p = sigmoid(np.where(y, 1.0, -4.0) + rng.normal(0.0, 1.0, y.size))
    found = clinic_study.one_finding(binary(p, y.astype(np.int64)))
    assert (found.net.gain_low > 0).any()  # the band alone would say so
    assert use_views.benefit_words(found, (0.05, 0.4)).startswith("Too few events (under 200")
    figure = use_views.decision_card(source(), "Hernia", found, (0.05, 0.4)).figure("light")
    hovers = next(trace for trace in figure.data if trace.name == "the model").hovertext
    assert "so better than" not in " ".join(hovers)


@pytest.mark.slow
def test_decisions_honour_the_patients_of_films(stretched):
    pairs = stretched.p.repeat(2), stretched.y.repeat(2)
    patients = Groups("patient", np.arange(N).repeat(2))
    plain, paired = (
        clinic_study.one_finding(
            Predictions(
                task=Task.BINARY,
                kind=ScoreKind.SIGMOID,
                scores=pairs[0],
                labels=pairs[1].astype(np.int64),
                class_names=("no", "Effusion"),
                groups=groups,
            )
        )
        for groups in (None, patients)
    )
    assert np.all(paired.net.low <= stretched.net.low)
    assert np.all(plain.net.low[10:50] > stretched.net.low[10:50])
    once = plain_view(source(), "Effusion", stretched.outcomes, band=1)
    twice = plain_view(source(), "Effusion", paired.outcomes, band=1)
    narrow = plain_view(source(), "Effusion", plain.outcomes, band=1)
    width = [
        one["ci_high"] - one["ci_low"]
        for one in (numbers_of(shown.card.table)[1] for shown in (narrow, once, twice))
    ]
    assert width[0] < width[1] <= width[2]


def test_a_threshold_in_this_set_and_elsewhere(stretched):
    here = clinical.classified(stretched.p, stretched.y, 0.2)
    there = clinical.classified(stretched.p, stretched.y, 0.2, prevalence=0.02)
    use = use_views.at_threshold(source(), here, there)
    rows = {line["number"]: line["value"] for line in numbers_of(use.table.file)}
    se, sp = rows["Sensitivity"], rows["Specificity"]
    ppv = next(v for k, v in rows.items() if k.startswith("PPV, prev"))
    assert ppv == pytest.approx(se * 0.02 / (se * 0.02 + (1 - sp) * 0.98))
    assert use_views.ASSUMED in repr(use.table.rows)
    assert use_views.at_threshold(source(), here, None).table.rows == use.table.rows[:4]
    sensitivity = use.table.written()[0].cells
    assert sensitivity[0].value == f"{100 * se:.1f}\u202f%"
    assert sensitivity[1].value == count(int(stretched.y.sum()))
    assert use.table.written()[-1].cells[1].value == ""  # a value carried over counts no films


@pytest.mark.parametrize("prevalence", [None, 0.3, 0.02])
def test_each_step_of_the_threshold_counts_what_is_classified(stretched, prevalence):
    thresholds = (0.001, 0.1, 0.2, 0.35, 0.99)
    steps = use_views.threshold_steps(source(), stretched, thresholds, prevalence)
    share = stretched.y.mean() if prevalence is None else prevalence
    of = 100 if share >= 0.05 else 1_000
    for step, at in zip(steps, thresholds, strict=True):
        here = clinical.classified(stretched.p, stretched.y, at)
        assert step.text == use_views.at_threshold(source(), here, None).text
        caught, missed, alarms, alone = step.films
        assert min(step.films) >= 0
        assert caught + missed == round(of * share)
        assert sum(step.films) == of
        assert caught == pytest.approx((caught + missed) * here.sensitivity.value, abs=0.5)
        assert alone == pytest.approx((alarms + alone) * here.specificity.value, abs=0.5)


def test_a_film_in_many_that_is_missed_is_never_none(stretched):
    p = np.r_[0.05, np.full(399, 0.6), np.full(1_600, 0.01)]
    y = np.arange(2_000) < 400
    (step,) = use_views.threshold_steps(source(), replace(stretched, p=p, y=y), [0.1])
    assert step.films == (20, 0, 0, 80)
    assert step.counts == ("20", "fewer than 1", "0", "80")


def test_weights_move_the_films_of_a_step_and_not_its_sentence(stretched):
    sampling = SamplingDesign(weights=np.where(stretched.y, 3.0, 1.0))
    (step,) = use_views.threshold_steps(source(), replace(stretched, sampling=sampling), [0.2])
    (plain,) = use_views.threshold_steps(source(), stretched, [0.2])
    share = 3 * stretched.y.sum() / (3 * stretched.y.sum() + (~stretched.y).sum())
    assert step.text == plain.text
    assert sum(step.films[:2]) == round(100 * share)


def test_films_that_a_threshold_gets_wrong_come_nearest_first():
    p = np.array([0.9, 0.2, 0.1, 0.6, 0.7, 0.3])
    y = np.array([True, True, True, False, False, False])
    some = SimpleNamespace(p=p, y=y)
    assert use_views.wrong_films(some, 0.3, missed=True).tolist() == [1, 2]
    assert use_views.wrong_films(some, 0.3, missed=False).tolist() == [5, 3, 4]


def some_bands(counts, means, shares):
    """Bands of tenths with these films, promises and observed shares."""
    n, edges = np.array(counts), np.arange(0, 11) / 10
    events = np.rint(n * np.array(shares)).astype(np.int64)
    low, high = wilson(events, n, 0.95)
    sure = exact_interval(events, n, 0.995)
    return Bands(edges[:-1], edges[1:], n, events, np.array(means), events / n, low, high, *sure)


def test_the_band_to_speak_of_is_the_one_that_was_missed_most():
    means = np.arange(10) / 10 + 0.05
    shares = means.copy()
    shares[3], shares[6] = means[3] - 0.1, means[6] + 0.3  # over and, by more, understated
    assert most_miscalibrated_band(some_bands([2000] * 10, means, shares)) == 6
    assert (
        most_miscalibrated_band(some_bands([2000] * 6 + [19] + [2000] * 3, means, shares)) == 3
    )  # few films
    assert (
        most_miscalibrated_band(some_bands([500] * 8 + [900, 500], means, means)) == 8
    )  # the fullest


def test_numbers_of_a_subgroup_are_strong_where_they_miss_their_ideal(stretched):
    groups = grouping(["AP" if i % 2 else "PA" for i in range(N)])
    found = clinic_study.groups(stretched.p, stretched.y, groups)
    ideals = ("observed_expected", 1.0), ("in_the_large", 0.0), ("slope", 1.0), ("intercept", 0.0)
    for one, row in zip(found, written(found), strict=True):
        scores = [(getattr(one.fit, name), ideal) for name, ideal in ideals]
        away = {2 + i for i, (s, ideal) in enumerate(scores) if not s.low <= ideal <= s.high}
        assert 4 in away  # log-odds are stretched: the slope is off
        assert row.strong == away | ({6} if one.ece.value > one.floor.q95 else set())
        assert row.ties == frozenset()
    chance = [replace(found[0], p_value=0.03), replace(found[1], p_value=0.04)]  # 0.06 by Holm
    assert [row.strong for row in written(chance)] == [frozenset()] * 2


def test_subgroups_with_few_events_have_no_verdict_on_their_curve(stretched):
    groups = grouping(["AP" if i % 40 else "PA" for i in range(N)])
    found = clinic_study.groups(stretched.p, stretched.y, groups)
    rows = {row.name: row for row in written(found)}
    assert rows["PA"].notes == ("too few events: its curve is not judged",)
    assert rows["PA"].strong == {2, 3, 6}  # O:E, calibration in the large and ECE are judged
    assert rows["PA"].ties == {0, 1, 4, 5}
    assert rows["AP"].strong
    lines = {
        line["group"]: line for line in numbers_of(use_views.group_table(source(), "v", found).file)
    }
    assert lines["AP"]["n"] + lines["PA"]["n"] == N
    assert lines["AP"]["slope"] == pytest.approx(stretched.fit.slope.value, abs=0.05)


@pytest.mark.slow
def test_temperatures_of_a_stretched_finding(rows):
    half = np.arange(N) % 2 == 0
    one = clinic_study.binary_rows(rows, 0)
    fit, test = one.take(np.flatnonzero(half)), one.take(np.flatnonzero(~half))
    heated = clinic_study.temperature_scaled(fit, test)
    assert heated.fits[0].calibrator.parameters()["temperature"] == pytest.approx(2.0, abs=0.25)
    assert heated.errors[NONE].score.value == clinic_study.error(test).score.value
    assert heated.differences["ts"].high < 0
    line = findings.temperature_rows(source(), {0: heated})[0]
    assert line.name == "Effusion"
    assert line.strong >= {3}
    assert findings.temperature_summary({0: heated}).startswith(
        "A temperature of its own lowers the calibration error beyond chance in 1 of 1 findings."
    )
    table = numbers_of(findings.temperature_table(source(), {0: heated}, "of half"))
    assert [line["method"] for line in table] == [NONE, "ts", "focal_ts"]
    assert {line["source"] for line in table} == {"of half"}


def test_one_outcome_only_is_said_and_drawn():
    rng = np.random.default_rng(0)
    rows = Predictions(
        task=Task.MULTILABEL,
        kind=ScoreKind.SIGMOID,
        scores=rng.random((60, 2)),
        labels=np.column_stack([np.zeros(60, dtype=np.int64), np.arange(60) % 2]),
        class_names=("Effusion", "Mass"),
    )
    found = clinic_study.findings(rows)
    shown = findings_view(source(60, rows.class_names), found, ())
    assert {row.name: row.cells[2].value for row in shown.table.written()}["Effusion"] == "–"
    one = clinic_study.one_finding(clinic_study.binary_rows(rows, 0))
    full = finding_view(source(60, rows.class_names), "Effusion", one)
    assert one.curve is None
    assert full.numbers[1].value == "–"
    full.curve.figure("light")
    full.outcomes.figure("dark")
    use_views.decision_card(source(60), "Effusion", one, (0.01, 0.5)).figure("light")


def test_the_file_of_a_view_carries_both_banners_and_no_markup(stretched):
    hostile = ClinicSource(
        run="<script>x</script>", split="test", digest="0" * 8, findings=("<b>x</b>",), n=N
    )
    shown = finding_view(hostile, "<b>x</b>", stretched)
    html = sheet_html(
        PageView(
            eyebrow=shown.eyebrow,
            banners=(BANNER, MINED),
            sentence=shown.sentence,
            numbers=shown.numbers,
            paragraphs=("said",),
            cards=(shown.curve,),
            tables=(("All numbers", shown.table),),
            caption=shown.caption,
        )
    )
    body = html.split("<main>")[1].split("</main>")[0]
    assert body.count(f"<strong>{BANNER}</strong>") == body.count(f"<strong>{MINED}</strong>") == 2
    assert "<script>x" not in html
    assert "<b>x</b>" not in body
    assert "c-hundred" not in body


def test_a_file_draws_a_hundred_films(stretched):
    """Of 400 films 68: 17 in 100, 14 to 21."""
    icons = each(band(400, 68))[2].icons
    sheet = PageView(
        eyebrow="e",
        banners=(),
        sentence=Sentence((Phrase("s"),)),
        caption="",
        icons=("<b>100</b>", icons),
    )
    html = sheet_html(sheet).split("<main>")[1]
    drawn = html.split("c-hundred")[1].split("</div>")[0]
    kinds = Counter(re.findall('<i class="([a-z]*)"', drawn))
    assert kinds == {"sure": 14, "found": 3, "might": 4, "": 79}
    assert "<h3>&lt;b&gt;100&lt;/b&gt;</h3>" in html
    assert f'aria-label="{icons.text}"' in html
    for told in icons.key:
        assert f"</i>{told}</span>" in html


def test_every_copy_says_what_it_is(found, stretched):
    plain = plain_view(source(), "Effusion", stretched.outcomes, band=1)
    full = finding_view(source(), "Effusion", stretched)
    decision = use_views.decision_card(source(), "Effusion", stretched, (0.1, 0.4))
    for card in (plain.card, full.curve, full.outcomes, decision):
        notes = [note.text for note in card.figure("dark").layout.annotations]
        assert BANNER in notes
        assert BANNER in card.caption
        assert all(BANNER in line["source"] for line in numbers_of(card.table))
    for table in (view(found).table.file, view(found).together.table, full.table):
        assert all(BANNER in line["source"] for line in numbers_of(table))


def test_order_and_table_names_are_stable(found):
    assert order(found) == tuple(sorted(range(3), key=lambda k: -found.events[k]))


def test_a_reader_stands_next_to_the_model_with_kappa_and_net_benefit():
    calls = np.repeat([True, True, False, False], [20, 5, 10, 15])
    actual = np.repeat([True, False, True, False], [20, 5, 10, 15])
    found = use_views.kappa(calls, actual, 0.95)
    assert found.value == pytest.approx(0.4)  # agreed 0.7, by chance 0.5
    half = 1.959964 * (0.7 * 0.3 / 50) ** 0.5 / 0.5
    assert (found.low, found.high) == pytest.approx((0.4 - half, 0.4 + half), abs=1e-6)
    assert use_views.kappa(calls | True, actual | True, 0.95).value is None
    assert use_views.reads(["Yes", " no", "1", "0.0"]).tolist() == [True, False, True, False]
    assert use_views.reads(["yes", "unsure"]) is None
    analysis = clinic_study.one_finding(
        Predictions(Task.BINARY, ScoreKind.PROBABILITIES, np.where(calls, 0.3, 0.1), actual * 1)
    )
    table = use_views.reader_table(analysis, 0.2, actual)
    rows = {row.name: row.cells for row in table.rows}
    assert rows["Net benefit"]["model"].value == pytest.approx(20 / 50 - 5 / 50 * 0.2 / 0.8)
    assert rows["Net benefit"]["reader"].value == pytest.approx(30 / 50)  # right on every film
    assert rows["Sensitivity"]["model"].value == pytest.approx(20 / 30)
    assert rows["Cohen’s kappa"]["model"].value == pytest.approx(0.4)
    assert rows["Cohen’s kappa"]["reader"].value == 1.0
    assert rows["Cohen’s kappa"]["reader_low"] < 0.9


def test_kappa_counts_films_by_weight_and_by_patient():
    rng = np.random.default_rng(3)
    actual = rng.random(200) < 0.5
    calls = actual ^ (rng.random(200) < 0.2)
    weights = np.where(actual & ~calls, 10.0, 0.5)
    found = use_views.kappa(calls, actual, 0.95, SamplingDesign(None, weights))
    # the same from films repeated as often as they count, twice over
    times = (2 * weights).astype(int)
    c, a = calls.repeat(times), actual.repeat(times)
    agreed = np.mean(c == a)
    by_chance = np.mean(c) * np.mean(a) + np.mean(~c) * np.mean(~a)
    assert found.value == pytest.approx((agreed - by_chance) / (1 - by_chance), abs=1e-12)
    assert use_views.kappa(calls, actual, 0.95).value > found.value + 0.3
    p = np.where(calls, 0.3, 0.1)
    rows = Predictions(
        Task.BINARY,
        ScoreKind.PROBABILITIES,
        p,
        actual * 1,
        weights=Weights.of("films", weights),
    )
    table = use_views.reader_table(clinic_study.one_finding(rows), 0.2, calls)
    (shown,) = (row.cells for row in table.rows if row.name == "Cohen’s kappa")
    assert shown["reader"].value == pytest.approx(found.value)
    # each film four times over is worth no more than once
    once = use_views.kappa(calls, actual, 0.95)
    patients = SamplingDesign(np.arange(200).repeat(4))
    often = use_views.kappa(calls.repeat(4), actual.repeat(4), 0.95, patients)
    assert often.value == pytest.approx(once.value)
    assert often.high - often.low == pytest.approx(once.high - once.low, rel=0.01)


@pytest.mark.parametrize("agree", [True, False])
def test_kappa_of_films_that_all_agree_has_wilsons_width(agree):
    actual = np.repeat([True, False], [4, 6])
    found = use_views.kappa(actual if agree else ~actual, actual, 0.95)
    z2 = 1.959964**2
    by_chance = 0.4 * 0.4 + 0.6 * 0.6 if agree else 2 * 0.4 * 0.6
    share = 10 / (10 + z2) if agree else z2 / (10 + z2)
    other = (share - by_chance) / (1 - by_chance)
    ends = (other, 1.0) if agree else (-by_chance / (1 - by_chance), other)
    assert (found.low, found.high) == pytest.approx(ends, abs=1e-6)
