"""What rows may belong to is offered, by columns and by names of rows, and never chosen."""

import numpy as np
import pytest

from core import codec
from core.readers.predictions.result import Inspection, ReadOptions
from tests.core.readers.test_groups import IDS, LABELS, PATIENT, WEIGHT, N, P, csv, npz, part, read


def offers(found) -> str:
    return "; ".join(n.text for n in found.notices if n.code == "GROUPS_OFFERED")


def rows(**more) -> bytes:
    return csv(probability=P, label=LABELS, **more)


@pytest.mark.parametrize(
    "name", ["patient", "Patient ID", "patient_id", "PatientID", "subject", "Hospital", "readers"]
)
def test_a_column_with_a_telling_name_whose_values_repeat_is_offered(name):
    found = read(rows(**{name: PATIENT}))
    assert part(found).groups is None
    assert found.inspection.group_columns == (name,)
    shown = f"'{name}'" if " " in name else name
    assert f"group their rows with --group {shown}" in offers(found)
    again = codec.read(Inspection, codec.to_json(found.inspection), stored=True)
    assert again.group_columns == (name,)


def test_the_notice_counts_what_rows_belong_to_and_a_page_has_it_without_the_options():
    found = read(rows(patient=PATIENT))
    belonging = "the column patient suggests 20 patients"
    assert offers(found) == (
        f"{belonging}; group their rows with --group patient, or intervals are too narrow where "
        "they are alike"
    )
    assert found.inspection.belonging == belonging
    assert read(rows(patient=PATIENT), group="patient").inspection.belonging == ""


@pytest.mark.parametrize("name", ["patient age", "reader_age", "sitting", "margin"])
def test_other_names_are_not_offered(name):
    assert read(rows(**{name: PATIENT})).inspection.group_columns == ()


def test_values_that_never_repeat_or_never_differ_are_not_offered():
    found = read(rows(patient=np.arange(N) + 5, site=["a"] * N))
    assert (found.inspection.group_columns, offers(found)) == ((), "")


def test_patients_come_before_sites_whatever_their_order():
    found = read(rows(site=PATIENT % 3, patient=PATIENT))
    assert found.inspection.group_columns == ("patient", "site")
    assert "group their rows with --group patient or --group site" in offers(found)


def test_a_choice_is_not_offered_again_but_stays_in_the_list():
    found = read(rows(patient=PATIENT, site=PATIENT % 3), group="site")
    assert offers(found) == ""
    assert found.inspection.group_columns == ("patient", "site")


def test_names_of_rows_that_share_their_beginning_are_offered():
    found = read(rows(image=IDS))
    assert found.inspection.group_columns == ("id-stem",)
    assert "row names suggest 20 groups; group their rows with --group id-stem" in offers(found)


@pytest.mark.parametrize(
    "ids",
    [
        [f"digits_{k:04d}" for k in range(N)],
        [f"{'cat' if y else 'dog'}.{k}_{k}" for k, y in enumerate(LABELS)],
        [f"image{k}.png" for k in range(N)],
        [f"kind{k % 5}_{k}.png" for k in range(N)],
    ],
    ids=["one series", "each its own", "no parts", "kinds"],
)
def test_names_that_only_count_are_not_offered(ids):
    assert read(rows(image=ids)).inspection.group_columns == ()


def test_beginnings_that_may_be_the_classes_are_not_offered():
    scores = np.random.default_rng(0).dirichlet(np.ones(12), 240).round(6)
    classes = np.arange(240) % 12
    scores[np.arange(240), classes] += 1.0
    scores /= scores.sum(axis=1, keepdims=True)
    ids = np.array([f"class{k}_{i}.png" for i, k in enumerate(classes)])
    found = read(npz(probs=scores, labels=classes, ids=ids), name="x.npz")
    assert found.inspection.group_columns == ()


def test_a_patient_that_names_the_rows_is_a_group_and_no_copy():
    found = read(rows(patient=PATIENT))
    assert "20 patients; group their rows with --group patient" in offers(found)
    assert "ROWS_REPEATED" not in {notice.code for notice in found.notices}


@pytest.mark.parametrize("name", ["id", "image"])
def test_names_of_rows_that_repeat_are_said_with_both_remedies(name):
    found = read(rows(**{name: ["a", "a", *map(str, range(2, N))]}))
    assert found.inspection.group_columns == (name,)
    said = [notice.text for notice in found.notices if notice.code == "ROWS_REPEATED"]
    assert len(said) == 1
    assert f"counted twice; if they belong together, say --group {name}" in said[0]
    assert offers(found) == ""


def test_a_column_of_the_labels_is_offered():
    labels = csv(image=IDS, label=LABELS, patient=PATIENT)
    found = read(csv(image=IDS, p=P), labels)
    assert found.inspection.group_columns == ("patient", "id-stem")


def test_arrays_of_parts_are_offered_by_the_name_they_share():
    two = np.column_stack([1 - P, P])
    arrays = {}
    for name, at in (("val", slice(30)), ("test", slice(30, None))):
        arrays |= {f"{name}_probs": two[at], f"{name}_labels": LABELS[at]}
        arrays |= {f"{name}_patient": PATIENT[at]}
    found = read(npz(**arrays), name="x.npz")
    assert found.inspection.group_columns == ("patient",)
    assert "10 patients" in offers(found)
    assert part(read(npz(**arrays), name="x.npz", group="patient"), "val").groups.count == 10


@pytest.mark.parametrize("name", ["weight", "weights", "sample_weight", "freq", "count_weight"])
def test_a_column_of_weights_is_listed_and_not_used(name):
    found = read(rows(**{name: WEIGHT}))
    assert found.inspection.weight_columns == (name,)
    assert part(found).weights is None
    assert part(read(rows(**{name: WEIGHT}), weight=name)).weights.name == name


def test_what_cannot_be_weights_is_not_listed():
    assert read(rows(weight=-WEIGHT, body_weight=WEIGHT)).inspection.weight_columns == ()


def test_weights_of_a_table_may_all_differ_where_they_are_not_whole():
    shares = np.round(0.5 + np.arange(N) / N, 4)  # one of them is 1
    table = csv(image=IDS, line=np.arange(N), share=shares, w=WEIGHT, text=["a"] * N)
    found = read(rows(image=IDS), tables={"weight": ("t.csv", table)})
    assert found.inspection.weight_columns == ("share", "w")


def test_every_offer_can_be_chosen():
    found = read(rows(image=IDS, patient=PATIENT, site=PATIENT % 3))
    for key in found.inspection.group_columns:
        options = ReadOptions(group=key).to_json()
        chosen = read(rows(image=IDS, patient=PATIENT, site=PATIENT % 3), **options)
        assert part(chosen).groups.name == key
