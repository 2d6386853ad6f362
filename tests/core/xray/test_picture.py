import io

import numpy as np
import pytest
from PIL import Image

from core.xray import phantom, picture
from core.xray.picture import DrawnBox, FilmPanel, PictureSheet

GREY = np.full((200, 300), 90, np.uint8)
BANNER = ("Research use, not a medical device.", "Labels are often wrong.")


def opened(data: bytes) -> Image.Image:
    image = Image.open(io.BytesIO(data))
    image.load()
    return image


@pytest.mark.parametrize(
    ("shape", "side", "expected"),
    [
        ((128, 128), 768, (768, 768)),
        ((1024, 512), 768, (768, 384)),
        ((3000, 2), 768, (768, 1)),
    ],
)
def test_the_longer_side_is_what_was_asked_for(shape, side, expected):
    film = np.full(shape, 90, np.uint8)
    found = picture.enlarged(film, side)
    assert found.shape == expected
    assert np.unique(found).tolist() == [90]


def test_a_box_is_drawn_where_it_is_and_leaves_its_inside_alone():
    drawn = picture.marked(picture.coloured(GREY), [DrawnBox((0.25, 0.25, 0.75, 0.75), "")])
    changed = (drawn != 90).any(axis=2)
    rows, columns = np.flatnonzero(changed.any(axis=1)), np.flatnonzero(changed.any(axis=0))
    assert (rows.min(), rows.max()) == (50, 150)
    assert (columns.min(), columns.max()) == (75, 225)
    assert not changed[55:145, 80:220].any()
    assert (drawn == 255).all(axis=2).any()  # white on dark
    assert (drawn < 20).all(axis=2).any()


def test_a_tag_stands_in_two_corners():
    drawn = picture.marked(picture.coloured(GREY), [], "SYNTHETIC")
    changed = (drawn != 90).any(axis=2)
    assert changed[:10, :20].any()
    assert changed[-10:, -20:].any()
    assert not changed[60:140].any()


def test_words_stay_inside_the_picture_at_every_edge():
    for box in ((0.0, 0.0, 0.1, 0.1), (0.9, 0.9, 1.0, 1.0)):
        drawn = picture.marked(picture.coloured(GREY), [DrawnBox(box, "drawn by a radiologist")])
        assert drawn.shape == (200, 300, 3)
        assert (drawn[..., 0] > 200).sum() > 60  # letters


def test_a_picture_has_no_metadata():
    image = opened(picture.png(picture.coloured(GREY)))
    assert image.size == (300, 200)
    assert image.info == {}


def test_a_sheet_spells_the_letter_that_its_font_does_not_have():
    film = picture.coloured(GREY)
    for name, plain in (
        ("Focal γ = 3, λ = \u22121", "Focal gamma = 3, lambda = -1"),
        ("e\u0301té, Zürich,\u00a0\u202ffilm \uff21", "ete, Zurich, film A"),
        ("胸部 net", "?? net"),
    ):
        found, spelled = (
            picture.sheet(PictureSheet(BANNER, one, (FilmPanel(film, one),), (one,)))
            for one in (name, plain)
        )
        assert found == spelled


def test_a_name_without_blanks_stays_within_its_panel():
    """What stands over a panel is drawn between its edges, and all of it is."""
    name = "densenet121-res224-all-chexnet_epoch_07.pth.tar:"
    panels = tuple(FilmPanel(picture.coloured(GREY), one) for one in (f"{name} 74", "B", "C"))
    drawn = np.asarray(opened(picture.sheet(PictureSheet(("",), "", panels, ()))))
    film_from = int(np.flatnonzero((drawn == 90).all(axis=2).any(axis=1))[0])
    width = (picture.SHEET - 2 * picture.EDGE - 2 * 24) // 3
    ink = (drawn[:film_from] < 128).all(axis=2)
    assert ink[:, picture.EDGE : picture.EDGE + width].sum() > 200
    gap = picture.EDGE + width
    assert not ink[:, gap : gap + 24].any()
    two = opened(
        picture.sheet(PictureSheet(("",), "", (FilmPanel(picture.coloured(GREY), "A"),) * 3, ()))
    )
    assert drawn.shape[0] > two.height  # the rest of it is in lines below


def test_a_sheet_holds_panels_of_their_proportions_and_grows_with_its_words():
    panels = (
        FilmPanel(picture.coloured(GREY), "One", "strong"),
        FilmPanel(picture.coloured(GREY), "Two"),
    )
    short = opened(picture.sheet(PictureSheet(BANNER, "Nodule", panels, ("A line.",))))
    long = opened(picture.sheet(PictureSheet(BANNER, "Nodule", panels, ("A line. " * 80,))))
    assert short.width == long.width == picture.SHEET
    assert long.height > short.height + 60
    greys = (np.asarray(short) == 90).all(axis=2)
    width = (picture.SHEET - 2 * picture.EDGE - 24) // 2
    assert greys.sum() == pytest.approx(2 * width * width * 200 / 300, rel=0.01)
    red = np.array([0xB3, 0x26, 0x1E])
    assert (np.asarray(short)[:150] == red).all(axis=2).any()


def test_a_thumb_is_a_small_file_that_shows_the_film_without_saying_more():
    film = phantom.draw(1, 39).pixels
    data = picture.thumb(film)
    image = opened(data)
    assert (image.format, image.mode, max(image.size)) == ("JPEG", "L", picture.THUMB)
    assert not image.getexif()
    shown = np.asarray(image, float)
    assert np.abs(shown - picture.enlarged(film, picture.THUMB)).mean() < 3
    assert len(data) < len(picture.png(film))
