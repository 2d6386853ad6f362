"""Rows that belong together, and rows that stand for several: columns, tables, names of rows."""

import gzip
import io

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from core.errors import Refused, UsageError
from core.predictions import Predictions
from core.readers.formats.contents import FileBytes
from core.readers.predictions.interpret import InterpretedFile, read_source
from core.readers.predictions.result import ReadOptions
from core.readers.sandbox import read as sandbox

RNG = np.random.default_rng(5)
N = 60
LABELS = RNG.integers(0, 2, N)
P = np.clip(0.25 + 0.5 * LABELS + RNG.normal(0, 0.1, N), 0.01, 0.99).round(4)
PATIENT = np.repeat(np.arange(20), 3)
IDS = [f"{p:08d}_{i % 3:03d}.png" for i, p in enumerate(PATIENT)]
WEIGHT = np.where(np.arange(N) % 2, 2, 1)


def csv(**columns) -> bytes:
    lines = [",".join(columns)]
    lines += [",".join(map(str, row)) for row in zip(*columns.values(), strict=True)]
    return ("\n".join(lines) + "\n").encode()


def scores(**more) -> bytes:
    return csv(image=IDS, probability=P, label=LABELS, **more)


def npz(**arrays) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def read(
    data: bytes,
    labels: bytes | None = None,
    name: str = "x.csv",
    tables: dict[str, tuple[str, bytes]] | None = None,
    **options,
) -> InterpretedFile:
    second = None if labels is None else FileBytes.of_bytes("y.csv", labels)
    lists = {key: FileBytes.of_bytes(*table) for key, table in (tables or {}).items()}
    return read_source(FileBytes.of_bytes(name, data), second, ReadOptions(**options), lists)


def part(found: InterpretedFile, split: str = "test") -> Predictions:
    return found.splits[split].predictions()


def refused(*arguments, **options) -> Refused:
    with pytest.raises(Refused) as caught:
        read(*arguments, **options)
    return caught.value


def test_a_column_of_the_scores_says_which_rows_belong_together_and_what_they_count():
    found = read(scores(patient=PATIENT, weight=WEIGHT), group="patient", weight="weight")
    rows = part(found)
    assert (rows.groups.name, rows.groups.count, rows.weights.name) == ("patient", 20, "weight")
    np.testing.assert_array_equal(rows.groups.of_row[::3], rows.groups.of_row[2::3])
    np.testing.assert_array_equal(rows.weights.of_row, WEIGHT)
    assert (found.recipe.group, found.recipe.weight) == ("patient", "weight")
    assert "20 groups by patient" in found.inspection.layout


def test_nothing_is_chosen_unless_the_user_does():
    rows = part(read(scores(patient=PATIENT, weight=WEIGHT)))
    assert (rows.groups, rows.weights) == (None, None)


def test_a_column_of_the_labels_is_joined_as_the_labels_are():
    order = RNG.permutation(N)
    columns = {"image": np.array(IDS)[order], "label": LABELS[order]}
    labels = csv(**columns, patient=PATIENT[order], weight=WEIGHT[order])
    rows = part(read(csv(image=IDS, p=P), labels, group="patient", weight="weight"))
    np.testing.assert_array_equal(rows.labels, LABELS)
    np.testing.assert_array_equal(rows.weights.of_row, WEIGHT)
    same = PATIENT[:, None] == PATIENT
    np.testing.assert_array_equal(rows.groups.of_row[:, None] == rows.groups.of_row, same)


def test_a_column_chosen_for_groups_is_neither_label_nor_score():
    labels = csv(label=LABELS, site=PATIENT % 2)
    rows = part(read(csv(p=P), labels, group="site", in_order=True))
    np.testing.assert_array_equal(rows.labels, LABELS)
    wide = csv(a=P, b=1 - P, share=PATIENT / 100, label=1 - LABELS)
    assert part(read(wide, group="share")).scores.shape == (N, 2)
    held = npz(probs=np.column_stack([1 - P, P]), truth=LABELS, site=PATIENT % 4)
    np.testing.assert_array_equal(part(read(held, name="x.npz", group="site")).labels, LABELS)


def pack(data: bytes) -> bytes:
    return gzip.compress(data, mtime=0)


def parquet(data: bytes) -> bytes:
    names, *rows = [line.split(",") for line in data.decode().splitlines()]
    file = io.BytesIO()
    columns = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    pyarrow.parquet.write_table(pa.table(columns), file)
    return file.getvalue()


@pytest.mark.parametrize(
    ("name", "change"),
    [("t.csv", bytes), ("t.csv.gz", pack), ("t.parquet", parquet)],
)
def test_a_table_of_its_own_is_joined_by_the_names_of_the_rows(name, change):
    order = RNG.permutation(N)
    lines = {"film": np.array(IDS)[order], "age": order + 20, "Patient ID": PATIENT[order]}
    lines["count"] = WEIGHT[order]
    table = (name, change(csv(**lines)))
    tables = {"group": table, "weight": table}
    rows = part(read(scores(), tables=tables, group="Patient ID", weight="count"))
    assert rows.groups.name == "Patient ID"
    same = PATIENT[:, None] == PATIENT
    np.testing.assert_array_equal(rows.groups.of_row[:, None] == rows.groups.of_row, same)
    np.testing.assert_array_equal(rows.weights.of_row, WEIGHT)


def test_names_in_a_table_may_lack_folders_and_suffixes():
    table = csv(film=[name[:-4] for name in IDS], patient=PATIENT)
    rows = part(read(scores(), tables={"group": ("t.csv", table)}, group="patient"))
    assert rows.groups.count == 20


def test_a_name_may_come_again_with_the_same_value_but_not_with_another():
    twice = csv(film=IDS + IDS[:1], patient=[*PATIENT, PATIENT[0]])
    read(scores(), tables={"group": ("t.csv", twice)}, group="patient")
    clash = csv(film=IDS + IDS[:1], patient=[*PATIENT, 7])
    found = refused(scores(), tables={"group": ("t.csv", clash)}, group="patient")
    assert found.code == "GROUPS"
    assert "1 name has different values in the table: 00000000_000.png" in found.what


def test_rows_without_an_entry_are_named():
    table = csv(film=IDS[2:], patient=PATIENT[2:])
    found = refused(scores(), tables={"group": ("t.csv", table)}, group="patient")
    assert found.code == "GROUPS"
    assert "2 of 60 rows are not in the table: 00000000_000.png, 00000000_001.png" in found.what
    gaps = [*map(str, PATIENT[:-1]), ""]
    found = refused(scores(patient=gaps), group="patient")
    assert (found.code, found.location) == ("GROUPS", "row 59 (line 61)")
    assert "1 of 60 rows has no patient" in found.what


def test_a_table_without_names_is_taken_in_order_and_that_is_said():
    found = read(csv(p=P, label=LABELS), tables={"group": ("t.csv", csv(who=PATIENT))}, group="who")
    assert part(found).groups.count == 20
    assert any("who was matched by row order" in notice.text for notice in found.notices)
    short = {"group": ("t.csv", csv(who=PATIENT[1:]))}
    assert refused(csv(p=P, label=LABELS), tables=short, group="who").code == "LENGTH_MISMATCH"


@pytest.mark.parametrize("value", ["x", "-1", "", "inf"])
def test_what_is_no_weight_is_refused_by_its_row(value):
    found = refused(scores(w=[*WEIGHT[:-1], value]), weight="w")
    assert (found.code, found.location) == ("WEIGHTS", "row 59 (line 61)")
    assert "1 row has no weight in w" in found.what


def test_an_unknown_column_is_refused_with_those_there_are():
    found = refused(scores(patient=PATIENT), group="Patient")
    assert found.code == "AMBIGUOUS_KEYS"
    assert found.remedy == "use one of image, probability, label, patient"
    found = refused(scores(), tables={"weight": ("t.csv", csv(film=IDS, w=WEIGHT))}, weight="v")
    assert (found.remedy, found.location) == ("use one of film, w", "table of weights")
    assert found.file == "t.csv"


def test_one_column_cannot_be_two_things():
    found = refused(scores(), group="label", labels_key="label")
    assert "'label' is named with --group and with --labels-key" in found.what


def test_rows_of_one_group_only_are_refused():
    assert refused(scores(site=["a"] * N), group="site").code == "GROUPS"


def test_the_stem_of_the_names_says_which_rows_belong_together():
    rows = part(read(scores(), group="id-stem"))
    assert (rows.groups.name, rows.groups.count) == ("id-stem", 20)
    assert refused(csv(p=P, label=LABELS), group="id-stem").code == "GROUPS"


def test_parts_of_a_table_keep_their_own_rows():
    split = np.where(np.arange(N) < 30, "val", "test")
    found = read(scores(split=split, patient=PATIENT, w=WEIGHT), group="patient", weight="w")
    assert [part(found, name).groups.count for name in ("val", "test")] == [10, 10]
    np.testing.assert_array_equal(part(found).weights.of_row, WEIGHT[30:])


def test_one_name_stands_for_the_arrays_of_all_parts():
    two = np.column_stack([1 - P, P])
    arrays = {}
    for name, rows in (("val", slice(30)), ("test", slice(30, None))):
        arrays |= {f"{name}_probs": two[rows], f"{name}_labels": LABELS[rows]}
        arrays |= {f"{name}_patient": PATIENT[rows]}
    for key in ("patient", "test_patient"):
        found = read(npz(**arrays), name="x.npz", group=key)
        assert [part(found, name).groups.count for name in ("val", "test")] == [10, 10]


def test_groups_of_another_length_are_refused():
    arrays = npz(probs=np.column_stack([1 - P, P]), labels=LABELS, patient=PATIENT[1:])
    found = refused(arrays, name="x.npz", group="patient")
    assert (found.code, found.what) == (
        "LENGTH_MISMATCH",
        "The scores have 60 rows, patient has 59",
    )


def test_rows_for_each_annotator_may_belong_to_their_image():
    image = [f"i{k}" for k in PATIENT]
    table = csv(image=image, annotator=list("abc") * 20, probability=P, label=LABELS)
    assert "one for each annotator" in refused(table).what
    assert part(read(table, group="image")).groups.count == 20


@pytest.mark.parametrize(
    "data",
    [b"\x1f\x8b", pack(b"a,b\n1,2\n")[:-9], b"\x1f\x8b" + b"x" * 40],
    ids=["two bytes", "cut short", "not packed"],
)
def test_a_damaged_gzip_file_is_refused(data):
    found = refused(scores(), tables={"group": ("t.csv.gz", data)}, group="b")
    assert (found.code, found.file) == ("FORMAT_UNKNOWN", "t.csv.gz")


def test_a_gzip_file_that_grows_too_much_is_refused():
    bomb = pack(b"a,b\n" + b"0" * 2**25)
    found = refused(scores(), tables={"group": ("t.csv.gz", bomb)}, group="b")
    assert found.code == "ARCHIVE_RATIO"


def test_groups_and_weights_leave_the_sealed_process(tmp_path):
    (tmp_path / "x.csv").write_bytes(scores(w=WEIGHT / 3))
    (tmp_path / "t.csv.gz").write_bytes(pack(csv(film=IDS, patient=PATIENT)))
    options = ReadOptions(group="patient", weight="w")
    tables = {"group": (tmp_path / "t.csv.gz", "t.csv.gz")}
    found = sandbox.read(tmp_path / "x.csv", tables=tables, options=options)
    here = part(
        read(
            scores(w=WEIGHT / 3),
            tables={"group": ("t.csv", csv(film=IDS, patient=PATIENT))},
            group="patient",
            weight="w",
        )
    )
    assert found.splits["test"].digest == here.digest
    assert found.splits["test"].groups.name == "patient"
    alone = sandbox.read(tmp_path / "x.csv", options=ReadOptions(weight="w"))
    assert alone.digest != found.digest


def test_choices_are_part_of_a_recipe():
    options = ReadOptions(group="patient", weight="w")
    assert ReadOptions.from_json(options.to_json()) == options
    with pytest.raises(UsageError):
        ReadOptions.from_json({"group": 3})


def test_weights_that_leave_one_group_are_refused():
    first = np.array(PATIENT) == PATIENT[0]
    found = refused(
        scores(patient=PATIENT, weight=first.astype(int)), group="patient", weight="weight"
    )
    assert found.code == "GROUPS"
    assert found.what == "Every row with a weight above 0 is of one patient"
