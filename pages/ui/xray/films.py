"""The films of a session: synthetic ones that come with Candor, and those that were dropped.

A dropped film has a number and no name: what its file is called may name a person. Its pixels lie
in the session's folder, are in no cache that sessions share, and go with the session.
"""

import base64
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from hashlib import blake2b
from pathlib import Path, PurePath
from threading import Event
from typing import Any, Final

import numpy as np
import streamlit as st

from core.codes import RefusalCode
from core.errors import Notice, Refused, sentence
from core.inference.film_model import EXAMPLES, HELD_OUT, example
from core.readers.films.film import Film as ReadFilm
from core.readers.sandbox import read as sandbox
from core.readers.tables.strict_tables import BoxList
from core.screens.xray.film import Reference
from core.screens.xray.words import ClinicSource
from core.xray import phantom, picture
from core.xray.heat import Frame, Pixels
from core.xray.phantom import Phantom
from core.xray.picture import DrawnBox, Saliency, SaliencyStyle
from pages.ui import intake, open_runs, session, state, weights_source, widgets
from pages.ui.caching import Results, cached
from pages.ui.intake import FileReading, Intake, SealedFile
from pages.ui.markup import esc
from pages.ui.xray import models
from pages.ui.xray.models import Removal


@st.cache_resource(max_entries=64, show_spinner=False)
def drawn(seed: int, index: int) -> Phantom:
    """Return a synthetic film; its arrays are shared and read-only."""
    film = phantom.draw(seed, index)
    film.pixels.setflags(write=False)
    film.lungs.setflags(write=False)
    return film


@dataclass(frozen=True, eq=False, kw_only=True)
class FilmScene:
    """A film with its saliency and marks, as it is drawn; `key` is equal for equal pictures."""

    key: str
    film: Pixels
    saliency: Saliency | None
    look: SaliencyStyle
    marks: tuple[DrawnBox, ...]
    tag: str

    def drawn(self) -> Pixels:
        """Return the picture, (H, W, 3)."""
        painted = picture.painted(self.film, self.saliency, self.look)
        return picture.marked(painted, self.marks, self.tag)


@st.cache_resource(scope="session", show_spinner=False)
def _pictures() -> Results[str, bytes]:
    return Results(128)


def _encoded(key: str, make: Callable[[], bytes]) -> bytes:
    """Return a picture of this session as a file, painting it first where it is not kept."""
    encoded = _pictures().get(key)
    if encoded is None:
        encoded = make()
        _pictures().put(key, encoded)
    return encoded


def png(scene: FilmScene) -> bytes:
    """Return a scene as PNG."""
    return _encoded(scene.key, lambda: picture.png(scene.drawn()))


def small(scene: FilmScene) -> bytes:
    """Return a scene as a small PNG."""
    return _encoded(f"small {scene.key}", lambda: picture.png(picture.shrunk(scene.drawn())))


def thumb(digest: str, film: Pixels) -> bytes:
    """Return a film as a small JPEG."""
    return _encoded(f"thumb {digest}", lambda: picture.thumb(film))


@cached(32)
def reference(run: open_runs.Run, split: str, source: ClinicSource) -> Reference:
    """Return what the labels of a run say of its scores."""
    return Reference.of(open_runs.predictions(run, split), source)


SECRET: Final = "xray.secret"  # noqa: S105  a key of the session's state
BOXES_KEY: Final = "xray.boxes"
BOX_INTAKE: Final = Intake[FileReading[BoxList]](BOXES_KEY)
BOX_LIST: Final = "List of boxes"
Boxes = Mapping[str, tuple[Frame, ...]]  # by finding, in fractions of the film


def disguised(name: str) -> str:
    """Return what is equal for files of the same name without suffix, and only in this session.

    Lists of boxes name films as their files are called; the name cannot be told from this.
    """
    key: bytes = st.session_state.setdefault(SECRET, secrets.token_bytes(32))
    return blake2b(PurePath(name).stem.encode(), key=key, digest_size=16).hexdigest()


def boxes_of(disguised_name: str) -> Boxes:
    """Return the boxes of a film by its disguised name."""
    return listed().get(disguised_name, {})


def listed() -> Mapping[str, Boxes]:
    """Return all boxes by the disguised name of their film."""
    by_name: dict[str, Boxes] = st.session_state.setdefault(BOXES_KEY, {})
    return by_name


def take_boxes(file: SealedFile) -> None:
    """Read a list; an earlier one is stopped."""
    BOX_INTAKE.start(FileReading.of(sandbox.read_boxes, SealedFile(file.path, BOX_LIST)))


def settle_boxes() -> None:
    """Take in a list that was read or refused."""
    BOX_INTAKE.keep_readings(_keep_boxes)


def _keep_boxes(reading: FileReading[BoxList]) -> None:
    by_name: dict[str, dict[str, tuple[Frame, ...]]] = {}
    for box in reading.result().boxes:
        frame = (  # as fractions of the film, cut at its ends
            max(0.0, box.x / box.width),
            max(0.0, box.y / box.height),
            min(1.0, (box.x + box.w) / box.width),
            min(1.0, (box.y + box.h) / box.height),
        )
        of_film = by_name.setdefault(disguised(PurePath(box.image).name), {})
        of_film[box.finding] = (*of_film.get(box.finding, ()), frame)
    st.session_state[BOXES_KEY] = by_name


INTAKE: Final = Intake["FilmReading"]("xray", several=True)
FILMS: Final = "xray.films"
REMOVED, COUNT, DROPPED = "xray.removed", "xray.count", "xray.dropped"
ELSEWHERE: Final = "xray.elsewhere"  # the link led to a film that is not here
FIRST: Final = "s1"
MOST: Final = 24  # films of a session
BOXES: Final = "a list of boxes goes into the second field of Add films"


@dataclass(frozen=True, eq=False, kw_only=True)
class FilmEntry:
    """One film that can be shown to a model.

    The id of a synthetic film stands in the link, that of another is of this session alone.
    `payload` is how the process that holds torch is told of it, `digest` is of what is seen, and
    `boxes` are where findings are, in fractions, as far as that is known.
    """

    id: str
    title: str
    pixels: Pixels
    payload: dict[str, Any]  # plain JSON
    digest: str
    notices: tuple[Notice, ...]
    boxes: Boxes
    synthetic: bool = False


@dataclass(kw_only=True, eq=False)
class FilmReading(FileReading[ReadFilm]):
    """A film that is being read; its `name` says which of those dropped it is."""

    number: int
    disguised_name: str


@dataclass(frozen=True, eq=False)
class DroppedFilm:
    """A dropped film: what was read, where its pixels lie, and its name beyond recognition."""

    film: FilmEntry
    file: Path
    disguised_name: str


def offered() -> dict[str, FilmEntry]:
    """Return all films by id: the dropped ones first, then the synthetic ones."""
    films = {
        film_id: replace(
            held_films()[film_id].film,
            boxes=boxes_of(held_films()[film_id].disguised_name),
        )
        for film_id in _in_order()
    }
    for place, index in enumerate(EXAMPLES):
        phantom_film, side = drawn(HELD_OUT, index), phantom.SIDE
        boxes = {
            name: ((box[0] / side, box[1] / side, box[2] / side, box[3] / side),)
            for name, box in phantom_film.boxes.items()
        }
        film_id = f"s{place + 1}"
        films[film_id] = FilmEntry(
            id=film_id,
            title=f"Synthetic {place + 1}",
            pixels=phantom_film.pixels,
            payload=example(place),
            digest=f"phantom-{HELD_OUT}-{index}",
            notices=(),
            boxes=boxes,
            synthetic=True,
        )
    return films


def _in_order() -> list[str]:
    """Return the ids of the dropped films by number, in whatever order they were read."""
    return sorted(held_films(), key=lambda film_id: int(film_id.removeprefix("f")))


def held_films() -> dict[str, DroppedFilm]:
    """Return the dropped films of this session by id."""
    by_id: dict[str, DroppedFilm] = st.session_state.setdefault(FILMS, {})
    return by_id


def take(*files: SealedFile) -> None:
    """Read dropped films, each by itself, as far as there is room for them."""
    before = len(INTAKE.readings)  # of a drop whose films are not all read yet
    room = max(0, MOST - len(held_films()) - before)
    taken, left = files[:room], files[room:]
    dropped = st.session_state[DROPPED] = before + len(taken)
    readings = []
    for place, file in enumerate(taken, before + 1):
        number = st.session_state[COUNT] = st.session_state.get(COUNT, 0) + 1
        position = "Film" if dropped == 1 else f"Film {place} of {dropped}"
        readings.append(
            FilmReading(
                name=position,
                read=partial(_read, file.path, position),
                files=(file.path,),
                once=True,
                number=number,
                disguised_name=disguised(file.name),
            )
        )
    INTAKE.start(*readings)
    if left:
        intake.remove(file.path for file in left)
        what = f"A session holds {MOST} films; {len(left)} of those dropped were not read"
        INTAKE.refuse(Refused("LIMIT_FILMS", what, "remove some, then drop the others"))


def _read(path: Path, name: str, cancel: Event) -> ReadFilm:
    """Read in a sealed process; runs in a thread, without Streamlit."""
    try:
        return sandbox.read_film(path, name=name, cancel=cancel)
    except Refused as error:
        if error.code == RefusalCode.FORMAT_UNKNOWN:
            raise error.with_remedy(f"{sentence(error.remedy)} {sentence(BOXES)}") from error
        raise


def keep_films() -> bool:
    """Take in films that were read or refused; return whether there were any."""
    return INTAKE.keep_readings(_hold)


def _hold(reading: FilmReading) -> None:
    """Keep a film that was read, and show it."""
    read = reading.result()
    file = session.room().folder / f"film-{secrets.token_hex(8)}.npy"
    file.touch(mode=0o600)
    np.save(file, read.pixels)
    film = FilmEntry(
        id=f"f{reading.number}",
        title=f"Film {reading.number}",
        pixels=read.pixels,
        payload={"file": str(file)},
        digest=read.digest,
        notices=read.notices,
        boxes={},
    )
    held_films()[film.id] = DroppedFilm(film, file, reading.disguised_name)
    choose(film.id)


def choose(film_id: str) -> None:
    """Show a film; elsewhere the link of a film of this session leads to the first one."""
    st.query_params["film"] = film_id
    st.session_state.pop(ELSEWHERE, None)


def remove(film_id: str) -> None:
    """Take a film out and show its neighbour; it can be brought back until another is removed."""
    place = _in_order().index(film_id)
    dropped = held_films().pop(film_id)
    rest = _in_order()
    choose(rest[min(place, len(rest) - 1)] if rest else FIRST)

    def bring_back() -> None:
        held_films()[film_id] = dropped
        choose(film_id)

    models.set_aside(REMOVED, Removal(dropped.film.title, dropped.file, bring_back))


MAX_MB = 128
KEPT = (
    "Only the pixels of a film are kept, for this session: its name, its tags and everything else "
    "in the file are dropped. Text burnt into the picture stays."
)


def choice_of_film(available: Mapping[str, FilmEntry]) -> FilmEntry:
    """Draw the films to choose from, with the ways to add and remove; return the chosen one."""
    if st.query_params.get("film", FIRST) not in available:
        st.session_state[ELSEWHERE] = True
    chosen = state.choice("film", list(available), FIRST)
    with st.container(horizontal=True, vertical_alignment="bottom", key="xray_strip"):
        with st.container(horizontal=True, gap="small", key="xray_films"):
            for film in available.values():
                shown = film.id == chosen
                key = f"xray_chosen.{film.id}" if shown else f"xray_film.{film.id}"
                with st.container(width=80, gap="xxsmall", key=key):
                    encoded = base64.b64encode(thumb(film.digest, film.pixels)).decode()
                    st.html(f'<img class="c-thumb" alt="" src="data:image/jpeg;base64,{encoded}">')
                    st.button(
                        f"{film.title} *shown*" if shown else film.title,
                        key=f"xray.pick.{film.id}",
                        type="secondary" if shown else "tertiary",
                        on_click=choose,
                        args=(film.id,),
                        width="stretch",
                    )
        with st.container(width=160, gap="xsmall", key="xray_add"):
            _add()
            with st.popover("Add model", icon=":material/add:", key="xray.add_model"):
                models.add_model()
            if not available[chosen].synthetic:
                st.button(
                    "Remove film",
                    key="xray.remove",
                    icon=":material/delete:",
                    type="tertiary",
                    on_click=remove,
                    args=(chosen,),
                )
    st.session_state["widget.film"] = chosen
    if st.session_state.get(ELSEWHERE):
        notice = "That film was of another session, or was removed: films are kept for one session."
        widgets.caption(f"{notice} This is {available[chosen].title}.")
    # what is being read and what was refused, of weights, boxes and films
    weights = weights_source.intake(models.SLOT)
    weights.progress(partial(weights_source.stop, models.SLOT))
    BOX_INTAKE.progress()
    INTAKE.progress()
    weights.refused()
    n = sum(refusal.error.code != RefusalCode.LIMIT_FILMS for refusal in INTAKE.refusals)
    INTAKE.refused(f"{n} of {st.session_state.get(DROPPED)} were refused")
    # which film and which model were removed last, to bring them back
    for kind, key in (("", REMOVED), ("_model", models.REMOVED)):
        removal: Removal | None = st.session_state.get(key)
        if removal is None:
            continue
        with st.container(horizontal=True, vertical_alignment="center", key=f"xray.removed{kind}"):
            st.markdown(f"{esc(removal.name)} was removed from this session.")
            st.button("Undo", key=f"xray.undo{kind}", on_click=models.undo, args=(key,))
            st.button(
                "Forget it now",
                key=f"xray.forget{kind}",
                type="tertiary",
                on_click=models.forget,
                args=(key,),
            )
    return available[chosen]


def _add() -> None:
    key = f"xray.add.{INTAKE.drops}"
    with st.popover("Add films", icon=":material/add_photo_alternate:", key=key):
        INTAKE.zone(
            "Films: PNG, JPEG or DICOM, several at once",
            take,
            accept_multiple_files=True,
            max_upload_size=MAX_MB,
        )
        widgets.caption(KEPT)
        if not session.sealed():
            widgets.caption("On this system films are read under a time limit only.")
        # a list of lesions, and what came of it
        BOX_INTAKE.zone(
            "Boxes of lesions on them: NIH’s list, or columns image, finding, x, y, w, h",
            take_boxes,
            max_upload_size=MAX_MB,
        )
        BOX_INTAKE.refused()
        if listed():
            own = held_films().values()
            with_box = sum(film.disguised_name in listed() for film in own)
            rest = len(listed()) - with_box
            widgets.caption(
                f"The list has boxes for {with_box} of the {len(own)} films of this session, and "
                f"for {rest} {'film' if rest == 1 else 'films'} that are not here."
            )
