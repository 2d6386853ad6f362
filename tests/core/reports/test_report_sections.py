"""Every section of a report is made and every figure of it drawn, for each kind of answers."""

import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from itertools import pairwise

import numpy as np
import pytest

from core.codes import NoticeCode
from core.configs import AuditConfig
from core.errors import Notice, UsageError
from core.metrics import suite
from core.metrics.comparison import compare
from core.metrics.records import BinTable, Evidence, MixedEnd
from core.predictions import Groups, Predictions, ScoreKind, Task, Votes
from core.reports import build, html
from core.reports.document import Edition
from core.reports.study_json import human_fits_json, human_json
from core.screens.xray.words import BANNER, EVERYDAY, MINED
from core.studies.human import human_study
from core.studies.report import ReportedRun, default_comparison, report_numbers

N = 300


def several():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, N)
    logits = rng.normal(size=(N, 3)) + 2 * np.eye(3)[labels]
    strangers = rng.normal(size=(200, 3))
    return (
        Predictions(Task.MULTICLASS, ScoreKind.LOGITS, logits, labels),
        {
            "svhn": Predictions(
                Task.MULTICLASS, ScoreKind.LOGITS, strangers, np.full(200, -1), labelled=False
            )
        },
    )


def one_finding():
    rng = np.random.default_rng(1)
    p = rng.random(N)
    labels = (rng.random(N) < p).astype(np.int64)
    names = ("no", "effusion")
    return Predictions(Task.BINARY, ScoreKind.SIGMOID, p, labels, class_names=names), {}


def asked():
    """Rows that twenty people each voted on, and a model surer than they are."""
    rng = np.random.default_rng(2)
    true = 1.5 * rng.normal(size=(N, 3))
    p = np.exp(true) / np.exp(true).sum(axis=1, keepdims=True)
    votes = np.array([rng.multinomial(20, row) for row in p]).astype(float)
    rows = Predictions(
        Task.MULTICLASS,
        ScoreKind.LOGITS,
        2.5 * true,
        votes.argmax(axis=1),
        votes=Votes.of("crowd.csv", votes),
    )
    return rows, {}


def reported(rows):
    """A run of these rows alone, as a report takes it."""
    return ReportedRun(
        name="m",
        file="m.npz",
        file_digest="ab" * 16,
        split="test",
        splits={"test": rows},
        sizes={"test": rows.n},
        task=rows.task,
        names=rows.class_names,
    )


@pytest.mark.slow
@pytest.mark.parametrize("edition", [Edition.TECHNICAL, Edition.PLAIN])
@pytest.mark.parametrize(
    ("made", "words"),
    [
        (several, ["svhn", "Post-hoc|Correcting"]),
        (one_finding, ["effusion", "TRIPOD", "Metrics with 95.% intervals where one exists"]),
        (asked, ["Of 100 people asked", "votes of crowd.csv"]),
    ],
)
def test_every_section_is_written_and_every_figure_drawn(made, words, edition):
    rows, outside = made()
    run = ReportedRun(
        name="m",
        file="m.npz",
        file_digest="ab" * 16,
        split="test",
        splits={"test": rows},
        sizes={"test": N},
        outside=outside,
        task=rows.task,
        names=rows.class_names,
        voted=() if rows.votes is None else ("test",),
    )
    request = build.ReportRequest(runs=(run,), edition=edition, config=AuditConfig(n_resamples=20))
    files = build.report_files(request)
    for word in words:
        assert re.search(word, files.html, re.IGNORECASE), word
        assert re.search(word, files.markdown, re.IGNORECASE), word
    assert files.html.count("<svg") == files.html.count("<figure ") >= 3
    if edition == Edition.PLAIN:  # no codes: the JSON beside it has them
        assert not re.search(r"\b[0-9a-f]{8,}\b|Wilson|digest", files.html), made.__name__
    assert not re.search(r'="[^"]*\b(nan|inf)\b', files.html)
    curve = made is one_finding and edition is Edition.TECHNICAL  # which the plain edition lacks
    assert ("Discrimination, calibration and net benefit" in files.html) == curve


def crowd(**changes):
    rows, _ = asked()
    given = {
        "name": "m",
        "file": "m.npz",
        "file_digest": "ab" * 16,
        "split": "test",
        "splits": {"test": rows},
        "sizes": {"test": N},
        "voted": ("test",),
    }
    return ReportedRun(**given | changes)


@pytest.mark.parametrize("edition", [Edition.TECHNICAL, Edition.PLAIN])
def test_the_verdict_of_a_run_with_votes_names_what_it_is_held_against(edition):
    config = AuditConfig(n_resamples=20)
    request = build.ReportRequest(
        runs=(crowd(),), sections=("verdict", "human"), config=config, edition=edition
    )
    content, document = build.report(request)
    verdict = document.chapters[0].sections[0]
    assert verdict.sentence.second.startswith("Judged against the majority label.")
    if edition is Edition.PLAIN:
        against = "What helps, judged against the majority label: "
        assert verdict.paragraphs[1].startswith(against)
    labels, votes = content["runs"][0]["audit"]["direction"], content["runs"][0]["human"]
    differ = labels["high"] < 0.0 < votes["direction"]["low"]
    assert differ == ("people’s votes it is the opposite: more sure" in verdict.sentence.second)


def test_votes_are_reported_with_the_numbers_of_the_page():
    run, config = crowd(), AuditConfig(n_resamples=20)
    request = build.ReportRequest(runs=(run,), sections=("human",), config=config)
    content, document = build.report(request)
    study = human_study({"test": run.splits["test"]}, "test", config)
    told = content["runs"][0]["human"]
    fits = told.pop("fits")
    assert told == human_json(study.audit)
    assert fits == human_fits_json(study.fits)
    assert fits["methods"]["ts"]["votes"]["parameters"]["temperature"] == pytest.approx(
        2.5, rel=0.1
    )
    (section,) = document.chapters[0].sections
    assert section.sentence.text.startswith(told["text"])
    (table,) = section.tables
    assert len(table.rows) == len(study.fits.methods) == 5
    assert section.caption.endswith("test split, votes of crowd.csv")
    assert section.paragraphs[1] == "Level lines in the figure: a model that knew the true shares."
    drawing = html.document_html(document).split("<svg")[1].split("</svg>")[0]
    knowing, width = study.audit.disagreement.known.size, 'stroke-width="3"'
    level = re.findall(r'<path d="M[\d.]+ ([\d.]+)L[\d.]+ \1"[^>]*' + width, drawing)
    assert len(level) == knowing > 2
    whiskers = re.findall(
        r'<path d="M([\d.]+) ([\d.]+)L\1 ([\d.]+)"[^>]*stroke-width="1.8"', drawing
    )
    assert len(whiskers) == knowing
    top = min(float(end) for _, *ends in whiskers for end in ends)
    assert top > float(re.search(r'height="([\d.]+)"', drawing)[1]) * 0.05  # inside the plot
    plain = build.report(replace(request, edition=Edition.PLAIN))[1].chapters[0].sections[0]
    assert plain.title == "Compared with people"
    assert not plain.tables
    assert "temperature" not in " ".join(plain.paragraphs).lower()


def test_people_are_offered_where_they_voted_and_left_out_with_a_reason_elsewhere():
    run = crowd()
    none = crowd(splits={"test": replace(asked()[0], votes=None)}, voted=())
    assert "human" in build.default_sections((run,))
    assert "human" in build.default_sections((none, run))
    assert "human" not in build.default_sections((none,))
    request = build.ReportRequest(
        runs=(none,), sections=("human",), config=AuditConfig(n_resamples=20)
    )
    content, _ = build.report(request)
    assert content["runs"][0]["left_out"] == {"human": "there are no votes of people"}


def test_a_shift_is_told_by_its_accuracy_as_on_the_page():
    rows, _ = several()
    run = ReportedRun(
        name="m",
        file="m.npz",
        file_digest="ab" * 16,
        split="test",
        splits={"test": rows, "corrupted-fog-5": replace(rows, scores=rows.scores[::-1])},
        sizes={"test": N, "corrupted-fog-5": N},
    )
    request = build.ReportRequest(
        runs=(run,), sections=("ood",), config=AuditConfig(n_resamples=20)
    )
    content, document = build.report(request)
    right = 100 * float((rows.scores[::-1].argmax(axis=1) == rows.labels).mean())
    ((_, shift),) = content["runs"][0]["ood"]["shifts"].items()
    assert 100 * shift["accuracy"] == pytest.approx(right)
    (section,) = document.chapters[0].sections
    assert section.sentence.text.startswith("On images with fog of severity 5, accuracy is")
    assert f"{right:.1f}" in section.sentence.text
    plain = build.report(replace(request, edition=Edition.PLAIN))[1].chapters[0].sections[0]
    assert re.fullmatch(
        r"The alarm flags .+ in 100 pictures with fog of severity 5 and .+ in 100 ordinary "
        r"pictures, by mistake\.",
        plain.paragraphs[0],
    )


def test_other_inputs_are_those_that_the_page_shows_at_first():
    rows, outside = several()
    names = ("test", "corrupted-fog-1", "corrupted-contrast-5")
    noise, fog = "corrupted-gaussian_noise-5", "cifar10c-fog-5"
    run = ReportedRun(
        name="m",
        file="m.npz",
        file_digest="ab" * 16,
        split="test",
        splits=dict.fromkeys(names, rows),
        sizes=dict.fromkeys(names, N),
        outside=outside,
    )
    assert list(default_comparison(run)) == ["corrupted-contrast-5", "svhn"]
    run = replace(run, splits=dict.fromkeys((*names, noise, fog), rows))
    assert list(default_comparison(run)) == [fog, "svhn"]
    assert list(default_comparison(replace(run, split=fog))) == [noise, "svhn"]


def test_many_runs_are_compared_and_what_is_said_of_each_is_left_to_choose():
    rows, _ = several()
    runs = tuple(
        ReportedRun(
            name=f"run {i}",
            file="m.npz",
            file_digest="ab" * 16,
            split="test",
            splits={"test": rows},
            sizes={"test": N},
        )
        for i in range(51)
    )
    assert build.default_sections(runs[:50]) == ("verdict", "compare", "settings")
    assert build.default_sections(runs[:11]) == ("verdict", "compare", "settings")
    assert "posthoc" in build.default_sections(runs[:10])
    assert len(build.ReportRequest(runs=runs[:50]).runs) == 50
    request = build.ReportRequest(
        runs=runs[:11], sections=build.WITH_MANY, config=AuditConfig(n_resamples=20)
    )
    _, document = build.report(request)
    assert document.title == "11 runs"
    keys = [[section.key for section in chapter.sections] for chapter in document.chapters]
    assert keys == [["compare"], *[["verdict"]] * 11, ["settings"]]
    with pytest.raises(UsageError, match="51 runs were named"):
        build.ReportRequest(runs=runs)


def test_a_board_is_told_how_many_findings_are_off_and_which_it_reads_of():
    rng = np.random.default_rng(2)
    p = rng.uniform(0.2, 0.8, (4000, 3))
    true = p - np.array([0.2, 0.0, 0.1])  # the first and the last are expected too often
    rows = Predictions(
        Task.MULTILABEL,
        ScoreKind.SIGMOID,
        p,
        (rng.random(p.shape) < true).astype(np.int64),
        class_names=("Effusion", "Mass", "Nodule"),
    )
    run = reported(rows)
    request = build.ReportRequest(
        runs=(run,),
        sections=("verdict",),
        edition=Edition.BOARD,
        config=AuditConfig(n_resamples=20),
    )
    text = build.report_files(request).html
    assert "Of 3 findings, 2 are expected too often and 1 could be chance." in text
    assert "Corrected for testing 3 findings." in text
    assert "Research use, not a medical device." in text
    assert "×" not in text  # which marks wrong answers
    assert "is about “Effusion”, which is furthest off beyond chance." in text
    every = replace(request, sections=("verdict", "posthoc", "clinical", "settings"))
    page = build.report_files(every).markdown
    assert "expected too often" in page
    assert "| Decision |" in page
    assert page.count("### ") == 1  # one page: no other section


def test_what_helps_is_not_a_correction_that_the_report_finds_no_help(monkeypatch):
    rows, _ = several()
    rows = replace(rows, scores=3.0 * rows.scores)
    request = build.ReportRequest(
        runs=(reported(rows),),
        sections=("verdict", "posthoc"),
        edition=Edition.PLAIN,
        config=AuditConfig(n_resamples=20),
    )
    for one, helps in ((True, "A correction learned"), (False, "No correction that was tried")):
        monkeypatch.setattr("core.reports.sections.any_helps", lambda *_, one=one: one)
        verdict = build.report(request)[1].chapters[0].sections[0]
        assert verdict.paragraphs[1].startswith(f"What helps: {helps}")


@pytest.mark.nightly
def test_what_helps_is_judged_on_the_label_that_the_page_is_about():
    rng = np.random.default_rng(9)
    logits = rng.normal(-1.5, 1.2, (1_200, 8))
    p = 1.0 / (1.0 + np.exp(-logits))
    true = p.copy()
    true[:, 3] *= 0.6
    labels = (rng.random(p.shape) < true).astype(np.int64)
    rows = Predictions(Task.MULTILABEL, ScoreKind.SIGMOID, p, labels)
    config = AuditConfig(n_resamples=200)
    request = build.ReportRequest(
        runs=(reported(rows),),
        sections=("verdict", "posthoc"),
        edition=Edition.PLAIN,
        config=config,
    )
    (numbers,) = report_numbers(request.runs, request.sections, config).runs
    of_label = numbers.posthoc.judged_on_label(3)
    test = numbers.posthoc.rows.test
    own = np.square(test.scores[:, 3] - test.labels[:, 3]).mean()
    brier = of_label["none"].compared.audit.main.metrics["brier"].value
    assert brier == pytest.approx(2.0 * own)
    table = compare([each.compared for each in of_label.values()], list(of_label), 0)
    assert min(of["nll"].high for of in table.differences[1:]) < 0.0
    verdict = build.report(request)[1].chapters[0].sections[0]
    assert "“3”" in verdict.sentence.text
    assert "No correction" not in verdict.paragraphs[1]


def test_what_changes_how_a_verdict_may_be_read_stands_in_every_edition():
    p = np.repeat([0.98, 0.03, 0.95, 0.97, 0.02, 0.96], 3)
    labels = np.repeat([0, 1, 0, 1, 1, 0], 3)
    groups = Groups("patient", np.repeat(np.arange(6), 3))
    rows = Predictions(Task.BINARY, ScoreKind.SIGMOID, p, labels, groups=groups)
    doubled = Notice(NoticeCode.ROWS_REPEATED, "some rows repeat others")
    dialect = Notice(NoticeCode.DIALECT, "read with semicolons")
    run = replace(reported(rows), notices=(doubled, dialect))
    config = AuditConfig(n_resamples=20)
    for edition in Edition:
        request = build.ReportRequest(
            runs=(run,), sections=("verdict", "posthoc"), edition=edition, config=config
        )
        files = build.report_files(request)
        for text in (files.html, files.markdown):
            for said in ("Some rows repeat others", "Only 18 rows", "at or below chance"):
                assert said in text
            assert "6 patients are few" in text
            assert ("semicolons" in text) == (edition is not Edition.BOARD)
            if edition is not Edition.TECHNICAL:
                assert "What helps: No correction could be tried: 9 rows are too few." in text
                assert "None of these corrections" not in text
                assert "Fitted on 9 rows" not in text


def test_one_report_has_one_verdict_on_each_label_and_one_level():
    rng = np.random.default_rng(0)
    p = rng.beta(0.6, 4.0, (300, 14))
    true = np.clip(p * np.linspace(0.6, 1.0, 14), 0.0, 1.0)
    labels = (rng.random(p.shape) < true).astype(np.int64)
    rows = Predictions(Task.MULTILABEL, ScoreKind.SIGMOID, p, labels)
    config = AuditConfig(n_bins=7, level=0.9, n_resamples=200, seed=3)
    request = build.ReportRequest(
        runs=(reported(rows),), sections=("verdict", "clinical"), config=config
    )
    (numbers,) = report_numbers(request.runs, request.sections, config).runs
    pairs = zip(numbers.audit.labels, numbers.clinical.audit.labels, strict=True)
    for label, finding in pairs:
        assert finding.verdict == label.verdict
        assert finding.metrics["ece"] == label.metrics["ece"]


@pytest.mark.parametrize("edition", [Edition.TECHNICAL, Edition.PLAIN])
def test_every_section_of_a_report_follows_its_settings(edition):
    rows, outside = several()
    splits = {"val": replace(rows, scores=rows.scores[::-1], labels=rows.labels[::-1])}
    splits |= {"test": rows, "corrupted-fog-5": replace(rows, scores=0.8 * rows.scores)}
    run = replace(reported(rows), splits=splits, outside=outside)
    flat = replace(reported(replace(rows, scores=0.7 * rows.scores)), name="flat")
    config = AuditConfig(n_bins=7, level=0.9, n_resamples=40, seed=3)
    request = build.ReportRequest(
        runs=(run, flat), sections=("posthoc", "ood", "compare"), edition=edition, config=config
    )
    numbers = report_numbers(request.runs, request.sections, config)
    first = numbers.runs[0]
    ece = first.audit.main.metrics["ece"]
    assert (ece.settings["n_bins"], ece.level) == (7, 0.9)
    for other in (first.posthoc.judged["none"].compared, numbers.compared[0]):
        assert other.audit.main.metrics["ece"] == ece
        assert (other.draws["ece"].draws.size, other.draws["ece"].seed) == (40, 3)
        assert other.draws["ece"].value == ece.value
    after = first.posthoc.judged
    between = [compare([after[m].compared for m in ("none", "ts")], ["", ""], 0)]
    eces = [one.audit.main.metrics["ece"].value for one in numbers.runs]
    assert numbers.comparison.reference == np.argmin(eces)
    for comparison in (*between, numbers.comparison):
        difference = comparison.differences[1 - comparison.reference]["ece"]
        assert difference.level == 0.9
        assert difference.settings["n_bins"] == 7
        assert difference.settings["seed"] == 3
    for judged in first.ood.sets.values():
        assert {score.level for score in judged.numbers.values()} == {0.9}
        assert judged.numbers["fpr95"].settings["seed"] == 3
        assert judged.numbers["fpr95"].settings["resamples"] == 40
    (_, intact), *_ = first.ood.effects.values()
    assert intact.ece == ece.value
    right = first.audit.main.metrics["accuracy"]
    assert (intact.low, intact.high) == (right.low, right.high)
    chapters = build.report(request)[1].chapters
    captions = [part.caption for chapter in chapters for part in chapter.sections]
    assert not any("95\u202f%" in text or "95 in 100" in text for text in captions)
    assert sum("90\u202f%" in text or "90 in 100" in text for text in captions) >= 3


def intervals(numbers, place=""):
    """Yield (place, low, high) of all that has an interval, without edges of bins."""
    ends = [("low", "high"), ("ci_low", "ci_high"), ("band_low", "band_high")]
    if is_dataclass(numbers):
        ends = ends[1:] if isinstance(numbers, BinTable) else ends
        for low, high in ends:
            if getattr(numbers, low, None) is not None and getattr(numbers, high) is not None:
                yield place, np.asarray(getattr(numbers, low)), np.asarray(getattr(numbers, high))
        parts = ((field.name, getattr(numbers, field.name)) for field in fields(numbers))
    elif isinstance(numbers, Mapping):
        parts = numbers.items()
    elif isinstance(numbers, tuple):
        parts = enumerate(numbers)
    else:
        return
    for name, part in parts:
        if not isinstance(part, Evidence | MixedEnd):  # at 95 %, by which a verdict is settled
            yield from intervals(part, f"{place}.{name}")


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param(several()[0], id="several"),
        pytest.param(asked()[0], id="asked", marks=pytest.mark.nightly),
        pytest.param(one_finding()[0], id="finding", marks=pytest.mark.nightly),
    ],
)
def test_every_interval_of_a_report_is_wider_at_a_higher_level(rows):
    run = replace(reported(rows), voted=() if rows.votes is None else ("test",))
    other = replace(reported(replace(rows, scores=0.8 * rows.scores)), name="other")
    sections = ("human", "posthoc", "clinical", "compare", "classes")
    by_level = []
    for level in (0.8, 0.95, 0.99):
        config = AuditConfig(level=level, n_resamples=200)
        numbers = report_numbers((run, other), sections, config)
        by_level.append({place: (low, high) for place, low, high in intervals(numbers)})
    assert set(by_level[0]) == set(by_level[1]) == set(by_level[2])
    for place in by_level[0]:
        widths = [np.nan_to_num(np.subtract(*ends[place][::-1])) for ends in by_level]
        if {"differences", "leaders"} & set(
            place.split(".")
        ):  # few draws beyond a bound give it a normal quantile
            del widths[1]
        for narrow, wide in pairwise(widths):
            assert (narrow <= wide + 1e-12).all(), place
        if "ece_debiased" not in place:  # an estimate of 0 has an end that no level moves
            assert (widths[0] < widths[-1]).any() or not widths[-1].any(), place


def test_the_curve_of_a_report_names_the_level_of_its_intervals():
    rows, _ = one_finding()
    text = build.report_files(
        build.ReportRequest(
            runs=(reported(rows),),
            sections=("clinical",),
            config=AuditConfig(level=0.9, n_resamples=20),
        )
    ).html
    assert "Wilson 90" in text
    assert "simultaneous 90" in text
    assert "95\u202f%" not in text


def test_a_board_of_chest_films_says_that_its_labels_were_mined():
    rng = np.random.default_rng(4)
    p = rng.random((60, len(EVERYDAY)))
    rows = Predictions(
        Task.MULTILABEL,
        ScoreKind.SIGMOID,
        p,
        (rng.random(p.shape) < p).astype(np.int64),
        class_names=tuple(name.title() for name in EVERYDAY),
    )
    run = reported(rows)
    for edition in Edition:
        request = build.ReportRequest(
            runs=(run,),
            sections=("verdict",),
            edition=edition,
            config=AuditConfig(n_resamples=20),
        )
        files = build.report_files(request)
        for text in (files.html, files.markdown):
            assert BANNER in text
            assert MINED in text
        assert "pictures" not in files.html


@pytest.mark.parametrize("edition", [Edition.PLAIN, Edition.BOARD])
def test_the_headline_of_many_labels_counts_unknown_ones(edition):
    rng = np.random.default_rng(4)
    p = rng.random((60, 3))
    labels = (rng.random(p.shape) < p).astype(np.int64)
    labels[:7, 1] = -1
    rows = Predictions(Task.MULTILABEL, ScoreKind.SIGMOID, p, labels)
    config = AuditConfig(n_resamples=20)
    request = build.ReportRequest(
        runs=(reported(rows),), sections=("verdict",), edition=edition, config=config
    )
    verdict = build.report(request)[1].chapters[0].sections[0]
    assert "7 of 180 labels are unknown" in verdict.sentence.second


def board_of(monkeypatch, p_values):
    """Return the board page of three findings, each off by itself, at these p-values."""
    rng = np.random.default_rng(2)
    p = rng.uniform(0.2, 0.8, (4000, 3))
    true = p - np.array([0.2, 0.15, 0.1])  # the first is off most
    rows = Predictions(
        Task.MULTILABEL,
        ScoreKind.SIGMOID,
        p,
        (rng.random(p.shape) < true).astype(np.int64),
        class_names=("Effusion", "Mass", "Nodule"),
    )
    audited = suite.audit(rows, AuditConfig(n_resamples=20))
    labels = tuple(
        replace(label, verdict=replace(label.verdict, p_value=p_value))
        for label, p_value in zip(audited.labels, p_values, strict=True)
    )
    assert {label.verdict.code for label in labels} == {"overestimates"}
    monkeypatch.setattr(suite, "audit", lambda *_: replace(audited, labels=labels))
    run = reported(rows)
    request = build.ReportRequest(runs=(run,), sections=("verdict",), edition=Edition.BOARD)
    return build.report(request)[1].chapters[0].sections[0]


def test_the_headline_of_a_board_is_of_what_is_off_when_all_findings_were_looked_at(monkeypatch):
    # Holm: 3 x 0.012 = 0.036; 2 x 0.03 = 0.06; 0.06 again: only the second stays beyond chance.
    verdict = board_of(monkeypatch, (0.03, 0.012, 0.04))
    assert verdict.sentence.text.startswith("This model expects “Mass” more often than it is there")
    assert "1 is expected too often and 2 could be chance." in verdict.sentence.second
    assert "is about “Mass”, which is furthest off beyond chance." in verdict.sentence.second


def test_the_headline_of_a_board_claims_nothing_where_no_finding_is_off(monkeypatch):
    # Holm: 3 x 0.02 = 0.06, and no other is smaller.
    verdict = board_of(monkeypatch, (0.02, 0.03, 0.04))
    first, _ = verdict.sentence.parts
    assert first.tone == "ink"
    assert first.text == (
        "This model looks as if it expects “Effusion” as often as it should; what is off could be "
        "chance."
    )
    assert "All 3 findings could be chance." in verdict.sentence.second
    assert "is about “Effusion”, which looks furthest off." in verdict.sentence.second
    assert verdict.icons.tone == "quiet"
    assert verdict.paragraphs[1].startswith("What helps: More films with known answers.")
