import numpy as np
import pytest

from core.configs import AuditConfig
from core.metrics.records import BEYOND_CHANCE
from core.metrics.suite import audit, class_gaps, diagram, prepare
from core.predictions import Predictions, ScoreKind, Task, Weights
from core.screens.reliability.classes import MAX_CLASSES, class_card, gap_tone
from core.screens.reliability.view import (
    Subject,
    audited_view,
    bin_rows,
    pictured,
    reliability_view,
)

SUBJECT = Subject("run", "test", "0123456789")

QUICK = AuditConfig(n_resamples=40)


def many_classes(k=30, n=3000, seed=1):
    rng = np.random.default_rng(seed)
    logits = 2.0 * rng.normal(size=(n, k))
    labels = np.array(
        [rng.choice(k, p=row) for row in np.exp(logits) / np.exp(logits).sum(1)[:, None]]
    )
    return Predictions(Task.MULTICLASS, ScoreKind.LOGITS, 2.0 * logits, labels)


@pytest.fixture(scope="module")
def found():
    return many_classes()


@pytest.fixture(scope="module")
def view(found):
    return audited_view(found, audit(found, QUICK), SUBJECT)


def test_every_figure_has_alt_text_table_caption_and_both_sides(view):
    assert set(view.figures) == {"reliability", "gap", "classes", "risk"}
    for card in view.figures.values():
        assert any(digit in card.alt for digit in "123456789")
        assert card.table.rows
        assert "3,000" in card.caption
        assert card.figure("light").data
        assert card.figure("dark").data


def test_class_figure_keeps_the_widest_gaps_and_its_table_all_classes(view):
    card = view.figures["classes"]
    assert len(card.table.rows) == 30
    assert "the 20 widest of 30" in card.explanation
    drawn = sum(len(trace.x) for trace in card.figure("light").data)
    assert drawn == MAX_CLASSES
    widest = max(abs(row[5]) for row in card.table.rows)
    reach = max(abs(x) for trace in card.figure("light").data for x in trace.x)
    assert reach == pytest.approx(100 * widest)


def test_class_table_counts_every_row_once(view):
    assert sum(row[1] for row in view.parts.rows) == sum(row[2] for row in view.parts.rows) == 3000


def test_a_class_that_was_never_answered_is_listed_and_not_drawn():
    two = Predictions(
        Task.MULTICLASS,
        ScoreKind.PROBABILITIES,
        np.array([[0.9, 0.1, 0.0], [0.2, 0.8, 0.0]]),
        np.array([0, 2]),
        class_names=("a", "b", "c"),
    )
    found = audited_view(two, audit(two, QUICK), SUBJECT)
    assert found.parts.rows[2][-1] == "no such answers"
    assert found.parts.written()[2][3] == "–"
    assert "c" not in found.figures["classes"].figure("light").layout.yaxis.ticktext


def test_risk_card_reads_the_curve_it_draws(view):
    alt = view.figures["risk"].alt
    coverage, risk = view.figures["risk"].table.rows[-1]
    assert coverage == 1.0
    accuracy = next(row for row in view.scores.rows if row[0] == "accuracy")
    assert risk == pytest.approx(1 - accuracy[2])
    assert f"{100 * risk:.1f}\u202f% of all" in alt
    at_half = next(r for c, r in view.figures["risk"].table.rows if c >= 0.495)
    said = float(alt.split("answers: ")[1].split("\u202f")[0])
    assert said == pytest.approx(100 * at_half, abs=1.0)


def test_rows_of_all_bins_are_the_counts_of_the_diagram(found):
    main = audit(found, QUICK).main
    for i, n in enumerate(main.bins.count):
        if n:
            rows = bin_rows(found, None, main.bins, i, found.outcomes(None), limit=7)
            assert rows.total == n
            assert len(rows.table.rows) == min(n, 7)
    texts = rows.text
    assert f"{n:,} images" in texts


def test_rows_show_the_surest_mistakes_first():
    made = Predictions(
        Task.MULTICLASS,
        ScoreKind.PROBABILITIES,
        np.array([[0.75, 0.25], [0.9, 0.1], [0.72, 0.28], [0.85, 0.15], [0.79, 0.21]]),
        np.array([1, 0, 0, 1, 1]),
        class_names=("cat", "dog"),
        row_ids=("w", "x", "y", "z", "v"),
    )
    bins = diagram(prepare(made, None, n_resamples=50, seed=0), n_bins=5, level=0.95).bins
    rows = bin_rows(made, None, bins, 3, made.outcomes(None)).table.rows
    assert rows == (
        ("v", "dog", "cat", 0.79),
        ("w", "dog", "cat", 0.75),
        ("y", "cat", "cat", 0.72),
    )
    assert bin_rows(made, None, bins, 4, made.outcomes(None)).table.rows[0] == (
        "z",
        "dog",
        "cat",
        0.85,
    )


def test_the_commonest_confusions_of_a_bin_are_named_and_counted():
    taken = [(0, 1)] * 3 + [(2, 0)] * 2 + [(1, 2), (2, 1)] + [(0, 0)] * 5
    labels, answers = (np.array(column) for column in zip(*taken, strict=True))
    scores = np.full((labels.size, 3), 0.05)
    scores[np.arange(labels.size), answers] = 0.9
    scores[2] = [0.15, 0.7, 0.15]  # in another bin
    made = Predictions(
        Task.MULTICLASS, ScoreKind.PROBABILITIES, scores, labels, class_names=("cat", "dog", "owl")
    )
    bins = diagram(prepare(made, None, n_resamples=50, seed=0), n_bins=5, level=0.95).bins
    rows = bin_rows(made, None, bins, 4, made.outcomes(None), limit=1)
    assert rows.confusions == ("Most often cat taken for dog (2 times), owl for cat (2).")
    assert not bin_rows(made, None, bins, 3, made.outcomes(None)).confusions  # one, once
    of_cats = made.outcomes(0)
    bins = diagram(prepare(made, 0, n_resamples=50, seed=0), n_bins=5, level=0.95).bins
    assert not bin_rows(made, 0, bins, 4, of_cats).confusions


@pytest.mark.parametrize(
    ("times", "named"),
    [
        ((3, 2, 2, 2), "Most often a taken for b (3 times)."),  # three are second
        ((2, 2, 2, 2), ""),
        ((4, 3, 2, 1), "Most often a taken for b (4 times), b for c (3), c for d (2)."),
        ((1, 1, 1, 1), ""),
    ],
)
def test_confusions_that_are_as_common_as_one_left_out_are_not_named(times, named):
    labels = np.repeat(np.arange(4), times)
    scores = np.full((labels.size, 4), 0.05)
    scores[np.arange(labels.size), (labels + 1) % 4] = 0.85
    made = Predictions(
        Task.MULTICLASS, ScoreKind.PROBABILITIES, scores, labels, ("a", "b", "c", "d")
    )
    bins = diagram(prepare(made, None, n_resamples=50, seed=0), n_bins=5, level=0.95).bins
    assert bin_rows(made, None, bins, 4, made.outcomes(None)).confusions == named


@pytest.fixture(scope="module")
def films():
    rng = np.random.default_rng(5)
    p = rng.random((400, 2)) ** 2
    labels = (rng.random((400, 2)) < p ** [1.0, 2.0]).astype(np.int64)
    return Predictions(Task.MULTILABEL, ScoreKind.SIGMOID, p, labels, class_names=("mass", "fluid"))


def test_rows_of_a_label_say_present_or_absent(films):
    bins = diagram(prepare(films, 1, n_resamples=50, seed=0), n_bins=5, level=0.95).bins
    rows = bin_rows(films, 1, bins, 4, films.outcomes(1)).table.rows
    assert {row[2] for row in rows} == {"present"}
    assert {row[1] for row in rows} <= {"present", "absent"}
    assert rows[0][0].isdigit()
    rows = bin_rows(films, 1, bins, 0, films.outcomes(1)).table.rows
    truths = [row[1] for row in rows]
    assert {row[2] for row in rows} == {"absent"}
    assert truths == sorted(truths, reverse=True)  # films with it, which were missed, first
    assert {"present", "absent"} == set(truths)


def test_labels_are_counted_in_the_sentence_and_the_worst_one_is_drawn(films):
    made = audit(films, QUICK)
    found = audited_view(films, made, SUBJECT)
    assert found.sentence.text == made.main.verdict.text
    assert pictured(made).name == "fluid"
    assert found.figures["reliability"].explanation.startswith("“fluid”, the label with the")
    assert [row[0] for row in found.parts.rows] == ["mass", "fluid"]


@pytest.mark.parametrize(("label", "name"), [(0, "mass"), (1, "fluid")])
def test_a_chosen_label_brings_its_own_numbers(films, label, name):
    made = audit(films, QUICK)
    quick = diagram(prepare(films, label, n_resamples=50, seed=0), n_bins=10, level=0.95)
    found = reliability_view(made, SUBJECT, chosen=quick)
    tiles = {tile.label: tile.value for tile in found.numbers}
    assert tiles["AUROC"] == f"{made.labels[label].metrics['auroc'].value:.3f}"
    assert tiles["Present in"] == f"{100 * films.labels[:, label].mean():.1f}"
    assert found.eyebrow == f"Label “{name}”"
    assert "10 equal-width bins" in found.caption


@pytest.mark.parametrize(
    ("weight", "share", "rows"),
    [(1.0, "50.0", "30 images"), (0.25, "20.0", "by weight; 30 images")],  # 30 w / (30 w + 30)
)
def test_rows_that_are_present_are_counted_whatever_they_weigh(weight, share, rows):
    labels = np.repeat([1, 0], 30)
    weights = None if weight == 1.0 else Weights("w", np.where(labels == 1, weight, 1.0))
    p = np.linspace(0.1, 0.9, 60)
    made = Predictions(Task.BINARY, ScoreKind.PROBABILITIES, p, labels, weights=weights)
    found = audited_view(made, audit(made, QUICK), SUBJECT)
    present = next(tile for tile in found.numbers if tile.label == "Present in")
    assert (present.value, present.note) == (share, rows)


def test_a_top_label_file_says_what_it_cannot_support():
    rng = np.random.default_rng(2)
    made = Predictions(
        Task.TOP_LABEL,
        ScoreKind.CONFIDENCE,
        rng.random(200),
        rng.integers(0, 3, 200),
        predicted=rng.integers(0, 3, 200),
    )
    found = audited_view(made, audit(made, QUICK), SUBJECT)
    assert ("nll", "needs full class scores") in found.unavailable.rows
    nll = next(tile for tile in found.numbers if tile.label == "NLL")
    assert (nll.value, nll.note) == ("–", "needs full class scores")


def test_class_card_is_silent_about_markup_in_names(found):
    from core.metrics.records import ClassRow, Gap

    row = ClassRow(
        name="<b>x</b>",
        index=0,
        labelled=5,
        n=5,
        confidence=0.9,
        accuracy=0.8,
        gap=Gap(0.1, 0.05, 0.2),
        ece=None,
    )
    figure = class_card((row,), "95 %", "").figure("light")
    assert figure.layout.yaxis.ticktext == ("&lt;b&gt;x&lt;/b&gt;",)


def two_classes(seed, *, columns):
    """Risks below a half state two points too much, the others half a point too little."""
    rng = np.random.default_rng(seed)
    true = 1 / (1 + np.exp(-rng.normal(-0.3, 1.5, 6000)))
    labels = (rng.random(6000) < true).astype(np.int64)
    p = np.clip(true + 0.022 * ((true > 0.1) & (true < 0.5)) - 0.005 * (true > 0.5), 0, 1)
    scores = np.column_stack([1 - p, p]) if columns else p
    kind = ScoreKind.PROBABILITIES if columns else ScoreKind.SIGMOID
    return Predictions(Task.BINARY, kind, scores, labels)


def one_class_off(seed, by):
    """Four classes, of which the answers of one are right less often than stated."""
    rng = np.random.default_rng(seed)
    logits = 2 * rng.normal(size=(4000, 4))
    true = logits - by * np.eye(4)[0] * (logits.argmax(axis=1) == 0)[:, None]
    labels = (true + rng.gumbel(size=true.shape)).argmax(axis=1)
    return Predictions(Task.MULTICLASS, ScoreKind.LOGITS, logits, labels)


@pytest.mark.parametrize(
    "rows",
    [
        *(two_classes(seed, columns=columns) for seed in (12, 37) for columns in (True, False)),
        *(one_class_off(0, by) for by in (0.0, 0.2, 0.6)),
    ],
)
def test_no_class_is_coloured_where_a_verdict_finds_nothing(rows):
    judged = audit(rows, AuditConfig(metrics=("ece",), n_resamples=200))
    tones = {gap_tone(row) for row in class_gaps(rows, 0.95, p_joint=judged.p_joint)}
    targets = (judged.headline, judged.answers or judged.main)
    if not all(target.verdict.code in BEYOND_CHANCE for target in targets):
        assert tones == {"few"}
