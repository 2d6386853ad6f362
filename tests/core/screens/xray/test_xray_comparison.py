"""Several models on one film, by hand: A and B know 100 films, C none, D is a stranger here."""

from dataclasses import replace

import pytest

from core.reports.tables import csv_text
from core.screens.kit.marks import marks
from core.screens.xray import film as views
from core.screens.xray.film import FilmScores, FindingSummary, SaliencyFocus
from core.screens.xray.saliency import ALONE, BESIDE, FILMS, FINDINGS, OWN, comparable_words
from core.screens.xray.words import PLAIN, TECHNICAL
from tests.core.screens.xray.test_xray_film import NAMES, NOTE, known, reference

A, B, C, D = marks(["a", "b", "c", "d"])
NAME = "Effusion"
WHERE = "this test set of 100 films"


def opinion(model, score, other=0.01, mark=A, **more):
    scored = FilmScores(model, NAMES, (score, other))
    return FindingSummary(scored=scored, name=NAME, mark=mark, **more)


def of_others(model, findings, scores, **more):
    """A model with findings of its own."""
    return FindingSummary(scored=FilmScores(model, findings, scores), name=NAME, mark=D, **more)


def three(first=0.74, second=0.2, third=0.5):
    """The threshold is 29 %: 29 of the 100 films were labelled with effusion."""
    return (
        opinion("A", first, known=known()),
        opinion("B", second, mark=B, known=known()),
        opinion("C", third, mark=C, known=known()),
    )


def finding_rows(found, words=TECHNICAL):
    return views.findings_table(found, words, NOTE).written()


def test_a_share_of_too_few_films_stands_in_the_file_of_models_alone():
    few = reference([0.75] * 3 + [0.05] * 97, [1] + [0] * 99)
    table = views.model_table((opinion("A", 0.74, known=few),), NOTE)
    cells = table.written()[0].cells
    assert [(cell.value, cell.interval) for cell in cells[2:4]] == [
        ("–", "too few films"),
        ("3", "scored 70 to 80"),
    ]
    assert pytest.approx(1 / 3) in table.file.rows[0]


def test_a_threshold_of_a_finding_that_a_model_lacks_is_not_shown():
    lacking = FindingSummary(
        name=NAME, scored=FilmScores("E", ("Mass",), (0.9,)), mark=D, chosen={"effusion": 0.5}
    )
    found = (opinion("A", 0.74, known=known()), lacking)
    threshold = views.model_table(found, NOTE).written()[1].cells[1]
    assert (threshold.value, threshold.interval) == ("–", "")
    table = views.findings_table(found, TECHNICAL, NOTE)
    assert table.written()[0].cells[1].reason == "has no such finding"
    assert table.file.rows[0] == (NAME, 0.74, 0.29, None, None, NOTE)


def test_the_file_of_models_spells_a_finding_as_each_model_does():
    other = of_others("E", ("effusion",), (0.9,))
    rows = views.model_table((opinion("A", 0.74), other), NOTE).file.rows
    assert [row[1] for row in rows] == ["Effusion", "effusion"]


def test_the_table_of_findings_has_a_column_a_model_and_every_finding_once():
    more = FindingSummary(
        name=NAME, scored=FilmScores("E", ("pleural thickening", "Mass"), (0.3, 0.9)), mark=D
    )
    found = (opinion("A", 0.2, 0.9, known=known()), opinion("B", 0.74, known=known()), more)
    table = views.findings_table(found, TECHNICAL, NOTE)
    assert table.heads == ("Finding", "A", "B", "E", "Threshold")
    rows = table.written()
    assert [row.name for row in rows] == ["Pleural Thickening", "Effusion", "Mass"]
    assert [row.shaded for row in rows] == [False, True, False]
    assert [[cell.value for cell in row.cells] for row in rows[1:]] == [
        ["20", "74", "–", "29.0\u202f%"],
        ["–", "–", "90", "–"],
    ]
    assert [cell.interval for cell in rows[1].cells] == ["below its threshold", "", "", ""]
    assert (rows[1].strong, rows[1].ties) == ({1}, {0})
    assert [cell.value for cell in rows[0].cells[:3]] == ["90", "1", "30"]
    assert finding_rows(found, PLAIN)[1].name == "Fluid around the lung (Effusion)"


def test_of_a_withheld_model_neither_its_own_findings_nor_its_threshold_are_shown():
    first = FindingSummary(name=NAME, scored=FilmScores("E", ("Mass",), (0.9,)), known=known())
    strange = opinion("D", 0.74, mark=D, strange="D saw none.", known=known())
    found = (first, strange)
    assert [row.name for row in finding_rows(found)] == ["Mass"]
    row = views.model_table(found, NOTE).written()[1]
    assert [cell.value for cell in row.cells] == ["–"] * 5
    assert [cell.interval for cell in row.cells[:2]] == ["not shown: trained on other films", ""]


@pytest.mark.parametrize(
    ("other", "last", "under"),
    [
        ({}, "each its own", ["threshold 29.0\u202f%", "threshold not known"]),
        ({"strange": "D saw none."}, "29.0\u202f%", ["", ""]),
        ({"strange": "D?", "doubtful": True}, "29.0\u202f%", ["", "may mean nothing here"]),
    ],
)
def test_a_threshold_is_that_of_a_row_only_where_every_model_of_it_has_it(other, last, under):
    found = (opinion("A", 0.74, known=known()), opinion("D", 0.5, mark=D, **other))
    (row,) = [one for one in finding_rows(found) if one.shaded]
    assert row.cells[-1].value == last
    assert [cell.interval for cell in row.cells[:-1]] == under


def test_the_files_have_names_thresholds_and_what_they_are_not_for():
    found = (
        *three()[:2],
        of_others("=E", ("Mass",), (0.9,)),
    )
    head, *lines = csv_text(views.findings_table(found, TECHNICAL, NOTE).file).splitlines()
    assert head == (
        "finding,score: A,threshold: A,score: B,threshold: B,score: =E,threshold: =E,note"
    )
    assert lines[0] == f'Effusion,0.74,0.29,0.2,0.29,,,"{NOTE}"'
    assert lines[-1] == f'Mass,,,,,0.9,,"{NOTE}"'
    aimed = (replace(found[0], focus=SaliencyFocus(True, 0.625)), *found[1:])
    head, *lines = csv_text(views.model_table(aimed, NOTE).file).splitlines()
    assert head.startswith("model,finding,score,threshold,verdict,peak,energy,band_low,band_high,")
    assert lines[0].startswith("A,Effusion,0.74,0.29,reached,in the box,0.625,0.7")
    assert lines[1].startswith("B,Effusion,0.2,0.29,not reached,,,0.1")
    assert lines[2].startswith("'=E,Effusion,,,,,,")
    assert {line.count(",") for line in lines} == {head.count(",") + NOTE.count(",")}
    brief = views.model_table(aimed, NOTE).file.without(views.LEFT_OUT)
    assert [column.key for column in brief.columns] == (
        [
            "model",
            "score",
            "threshold",
            "verdict",
            "peak",
            "energy",
            "films",
            "share",
            "low",
            "high",
            "reading",
        ]
    )
    assert brief.written()[0][:6] == [
        "A", "74.0\u202f%", "29.0\u202f%", "reached", "in the box", "62.5\u202f%",
    ]  # fmt: skip


def test_strength_is_not_to_be_compared_between_models():
    assert comparable_words([FINDINGS]) == comparable_words([]) == ""
    assert comparable_words([FINDINGS, FILMS]) == BESIDE
    assert comparable_words([OWN, OWN, OWN]) == comparable_words([OWN]) == ALONE
