"""What a page may choose: labels by every name, recipes where they fit, readings in plain words."""

import io
import json

import numpy as np
import pytest

from core.errors import Refused
from core.predictions import ScoreKind, Task
from core.readers.formats.contents import FileBytes
from core.readers.predictions.interpret import InterpretedFile, read_source
from core.readers.predictions.result import Inspection, NeedsChoice, ReadOptions
from tests import hostile_cases as made

z, p, y = made.LOGITS, made.PROBABILITIES, made.LABELS
sig, findings = made.SIGMOID, made.FINDINGS


def read(name: str, data: bytes, options: ReadOptions | None = None) -> InterpretedFile:
    return read_source(FileBytes.of_bytes(name, data), None, options or ReadOptions())


def inspection(name: str, data: bytes, options: ReadOptions | None = None) -> Inspection:
    try:
        return read(name, data, options).inspection
    except NeedsChoice as refusal:
        return refusal.inspection


def said(found: InterpretedFile) -> str:
    return " ".join(notice.text for notice in found.notices)


@pytest.mark.parametrize("place", ["last", "first"])
def test_labels_that_savetxt_wrote_as_fractions_are_found(place: str) -> None:
    matrix = np.c_[z, y] if place == "last" else np.c_[y, z]
    out = io.BytesIO()
    np.savetxt(out, matrix)
    found = read("a.txt", out.getvalue())
    got = found.splits["test"].predictions()
    np.testing.assert_array_equal(got.labels, y)
    np.testing.assert_allclose(got.scores, z)
    column = f"column {made.K + 1 if place == 'last' else 1}"
    assert f"labels from {column}" in said(found)
    assert column in found.inspection.labels_keys


SCORED = ("{}_score", "{}_prob", "prob_{}")


@pytest.mark.parametrize("form", SCORED)
def test_labels_named_like_their_scores_are_found(form: str) -> None:
    header = ("id", *(form.format(n) for n in "ABC"), "C", "A", "B")
    rows = [[made.IDS[i], *sig[i, :3], *findings[i, [2, 0, 1]]] for i in range(made.N)]
    found = read("a.csv", made.table(header, rows))
    got = found.splits["test"].predictions()
    assert (got.task, got.class_names) == (Task.MULTILABEL, ("A", "B", "C"))
    np.testing.assert_array_equal(got.labels, findings[:, :3])
    assert "labels from A, B, C" in said(found)


def test_several_columns_of_labels_are_one_choice_in_the_form_of_the_command_line() -> None:
    header = ("s1", "s2", "edema", "mass", "site")
    rows = [[*sig[i, :2], *findings[i, :2], 7] for i in range(made.N)]
    data = made.table(header, rows)
    keys = inspection("a.csv", data).labels_keys
    assert keys == ("edema", "mass", "site", "edema,mass")
    options = ReadOptions(scores_key="s1,s2", labels_key=keys[-1])
    got = read("a.csv", data, options).splits["test"].predictions()
    np.testing.assert_array_equal(got.labels, findings[:, :2])


def test_a_choice_for_unclear_scores_is_not_taken_for_others() -> None:
    """What values say of themselves is part of the form, and the same before and after a choice."""
    for write in (arrays, table):
        unclear, clear, logits = (inspection(*write(s)).fingerprint for s in (sig, p, z))
        assert len({unclear, clear, logits}) == 3
        other = np.round(0.9 * sig, 6)
        assert inspection(*write(other)).fingerprint == unclear
        told = inspection(*write(sig), ReadOptions(ScoreKind.LOGITS, labels_key="label"))
        assert (told.kind, told.fingerprint) == (ScoreKind.LOGITS, unclear)


def test_single_values_and_empty_arrays_beside_the_scores_are_no_hindrance() -> None:
    odd = {"temperature": np.array(1.5), "note": np.array("20%"), "none": np.empty((0, 3))}
    found = read("a.npz", made.npz(logits=z, labels=y, **odd))
    assert found.inspection.kind is ScoreKind.LOGITS
    assert inspection("a.npz", made.npz(a=z, b=z, labels=y, **odd)).kind is None


def arrays(scores: np.ndarray) -> tuple[str, bytes]:
    return "a.npz", made.npz(scores=scores, label=y)


def table(scores: np.ndarray) -> tuple[str, bytes]:
    header = [*(f"s_{k}" for k in range(made.K)), "label", "other"]
    return "a.csv", made.table(header, [[*scores[i], y[i], 1] for i in range(made.N)])


def test_a_reading_that_nobody_asked_for_is_not_said_to_be_asked_for() -> None:
    for scores in (sig, p):
        for reading in inspection(*arrays(scores)).readings:
            assert "you said" not in reading.why_not


ESC = "\x1b[31mcat"


@pytest.mark.parametrize("form", ["npz", "pkl"])
def test_class_names_that_steer_a_terminal_are_cleaned_and_said(form: str) -> None:
    whole = {"logits": z, "labels": y, "class_names": np.array([ESC, "a\u202eb", "owl", "rat"])}
    found = read(f"a.{form}", made.npz(**whole) if form == "npz" else made.pickled(whole))
    assert found.splits["test"].class_names == ("?[31mcat", "a?b", "owl", "rat")
    assert "control characters became question marks in class_names" in said(found)


@pytest.mark.parametrize("form", ["json", "csv", "parquet"])
def test_row_names_that_steer_a_terminal_are_cleaned_and_said(form: str) -> None:
    ids = [*made.IDS[:-3], ESC, "a\u202eb", "two\nlines"]
    columns = {"id": ids, **{f"c{k}": z[:, k].tolist() for k in range(made.K)}, "label": y.tolist()}
    rows = list(zip(*columns.values(), strict=True))
    data = {
        "json": json.dumps([dict(zip(columns, row, strict=True)) for row in rows]).encode(),
        "csv": made.table(list(columns), [[f'"{row[0]}"', *row[1:]] for row in rows]),
        "parquet": made.parquet(columns),
    }[form]
    found = read(f"a.{form}", data)
    assert found.splits["test"].row_ids == (*ids[:-3], "?[31mcat", "a?b", "two\nlines")
    assert "control characters became question marks in id" in said(found)


def test_a_key_or_column_that_steers_a_terminal_is_refused() -> None:
    keys = {"logits": z, "labels": y, ESC: y}
    for name, data in (("a.npz", made.npz(**keys)), ("a.pkl", made.pickled(keys))):
        with pytest.raises(Refused) as caught:
            read(name, data)
        assert caught.value.code == "CSV_HEADER"
        assert "\x1b" not in str(caught.value)
