"""Boxes around lesions: NIH's list and the plain form, and what cannot be a box."""

import csv
import os
from pathlib import Path

import pytest

from core.errors import Refused
from core.readers.formats.contents import FileBytes
from core.readers.sandbox import read as sandbox
from core.readers.tables.strict_tables import Box, BoxList, finding_name, read_boxes_file

SHARED = Path(os.environ.get("CANDOR_SHARED", Path(__file__).parents[3].parent / "shared"))
REAL = SHARED / "data" / "chestxray14" / "boxes.csv"
NIH = (
    b"Image Index,Finding Label,Bbox [x,y,w,h],,,\n"
    b"00013118_008.png,Atelectasis,225.084745762712,547.019216763771,86.7796610169491,79.5,,,\n"
    b"00014716_007.png,Infiltrate,686.101694915254,131.543498411017,185.491525423729,313.5,,,\n"
)
PLAIN = b"image,finding,x,y,w,h\nfilm_1.png,Effusion,102.5,480,210,190.25\n"


def read(data: bytes) -> BoxList:
    return read_boxes_file(FileBytes.of_bytes("boxes", data))


def refusal(data: bytes) -> Refused:
    with pytest.raises(Refused) as caught:
        read(data)
    return caught.value


def test_nihs_list_is_read_with_its_odd_header() -> None:
    first, second = read(NIH).boxes
    assert first == Box(
        image="00013118_008.png", finding="Atelectasis",
        x=225.084745762712, y=547.019216763771, w=86.7796610169491, h=79.5,
    )  # fmt: skip
    assert (second.finding, second.h, second.width) == ("Infiltration", 313.5, 1024)
    assert read(NIH.replace(b"\n", b"\r\n")) == read(NIH)
    assert read(NIH.replace(b",,,\n", b"\n")) == read(NIH)


def test_the_plain_form_is_read_in_any_order_and_case() -> None:
    box = Box(image="film_1.png", finding="Effusion", x=102.5, y=480, w=210, h=190.25)
    assert read(PLAIN).boxes == (box,)
    turned = b"W,H,X,Y,Finding,Image,note\n210,190.25,102.5,480,effusion,film_1.png,seen twice\n"
    assert read(turned).boxes == (box,)


def test_a_film_of_another_size_says_so() -> None:
    data = b"image,finding,x,y,w,h,image_width,image_height\na,Mass,1500,20,400,30,2000,60\n"
    assert (read(data).boxes[0].width, read(data).boxes[0].height) == (2000, 60)
    assert refusal(data.replace(b",20,400,30,", b",20,400,70,")).code == "BOX_RANGE"  # to 90 of 60
    tall = data.replace(b"1500,20,400,30,2000,60", b"20,1000,30,500,60,2000")
    assert read(tall).boxes[0].h == 500
    assert refusal(tall.replace(b"20,1000,30,", b"20,1000,70,")).code == "BOX_RANGE"


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("Pleural Thickening", "Pleural_Thickening"), ("pleural_thickening", "Pleural_Thickening"),
        (" Infiltrate ", "Infiltration"), ("Infiltration", "Infiltration"), ("mass", "Mass"),
    ],
)  # fmt: skip
def test_findings_are_spelt_one_way(said: str, name: str) -> None:
    assert finding_name(said) == name


@pytest.mark.parametrize(
    "box",
    [
        "-20,0,50,50", "0,-20,50,50", "1000,0,50,50", "0,1000,50,50",  # beyond each edge
        "5,5,0,9", "5,5,9,-1", "nan,5,9,9", "5,inf,9,9", "5,5,DOE^JANE,9", "5,5,,9", "5,5,1_0,9",
    ],
)  # fmt: skip
def test_what_cannot_be_a_box_is_refused_with_its_row(box: str) -> None:
    found = refusal(PLAIN + f"film_2.png,Mass,{box}\n".encode())
    assert (found.code, found.location) == ("BOX_RANGE", "row 1")
    assert "DOE" not in str(found)


def test_rounding_beyond_an_edge_is_allowed() -> None:
    data = PLAIN + b"film_2.png,Mass,-5,1000,20,29\n"
    assert read(data).boxes[1].x == -5


def test_a_missing_column_is_named() -> None:
    found = refusal(PLAIN.replace(b"finding", b"what"))
    assert (found.code, "No column finding" in found.what) == ("BOX_COLUMNS", True)


def test_boxes_cross_over(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(NIH)
    found = sandbox.read_boxes(path, name="boxes")
    assert found.boxes == read(NIH).boxes
    assert len(found.digest) == 32


@pytest.mark.skipif(not REAL.exists(), reason="needs the shared folder (CANDOR_SHARED)")
def test_real_boxes_are_read() -> None:
    with REAL.open() as file:
        rows = list(csv.DictReader(file))
    boxes = read(REAL.read_bytes()).boxes
    assert [(box.image, box.x, box.h) for box in boxes] == [
        (row["image"], float(row["x"]), float(row["h"])) for row in rows
    ]
