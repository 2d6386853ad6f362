"""The films of a session: synthetic ones that come with Candor, and those that were dropped.

A dropped film has a number and no name: what its file is called may name a person. Its pixels lie
in the session's folder, are in no cache that sessions share, and go with the session.
"""

import secrets
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any, Final

import numpy as np
import streamlit as st

from core.codes import RefusalCode
from core.errors import Notice, Refused, sentence
from core.inference.film_examples import EXAMPLES, HELD_OUT, example
from core.readers.films.film import Film as ReadFilm
from core.readers.sandbox import read as sandbox
from core.xray import phantom
from core.xray.heat import Pixels
from pages.ui import intake, session
from pages.ui.intake import FileReading, Intake, SealedFile
from pages.ui.xray import boxes as xray_boxes
from pages.ui.xray import film_cache
from pages.ui.xray.boxes import Boxes

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

    Attributes
    ----------
    id : str
        In the link of synthetic films, of this session alone otherwise.
    title : str
    label : str
        The title in two words, under a thumbnail.
    pixels : (H, W) uint8
    payload : dict
        How the process that holds torch is told of it.
    digest : str
        Of what is seen.
    notices : tuple of Notice
        Of the reading.
    boxes : mapping
        Where findings are, in fractions, as far as that is known.
    synthetic : bool
    """

    id: str
    title: str
    label: str
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
    own = {
        film_id: replace(
            held_films()[film_id].film,
            boxes=xray_boxes.boxes_of(held_films()[film_id].disguised_name),
        )
        for film_id in _in_order()
    }
    return own | {film.id: film for film in map(_synthetic, range(len(EXAMPLES)))}


def _in_order() -> list[str]:
    """Return the ids of the dropped films by number, in whatever order they were read."""
    return sorted(held_films(), key=lambda film_id: int(film_id.removeprefix("f")))


def held_films() -> dict[str, DroppedFilm]:
    """Return the dropped films of this session by id."""
    by_id: dict[str, DroppedFilm] = st.session_state.setdefault(FILMS, {})
    return by_id


def _synthetic(place: int) -> FilmEntry:
    index = EXAMPLES[place]
    phantom_film = film_cache.drawn(HELD_OUT, index)
    side = phantom.SIDE
    boxes = {
        name: ((box[0] / side, box[1] / side, box[2] / side, box[3] / side),)
        for name, box in phantom_film.boxes.items()
    }
    return FilmEntry(
        id=f"s{place + 1}",
        title=f"Synthetic film {place + 1}",
        label=f"Synthetic {place + 1}",
        pixels=phantom_film.pixels,
        payload=example(place),
        digest=f"phantom-{HELD_OUT}-{index}",
        notices=(),
        boxes=boxes,
        synthetic=True,
    )


def take(*files: SealedFile) -> None:
    """Read dropped films, each by itself, as far as there is room for them."""
    before = len(INTAKE.readings)  # of a drop whose films are not all read yet
    room = max(0, MOST - len(held_films()) - before)
    st.session_state[DROPPED] = before + len(files[:room])
    INTAKE.start(*(_reading(file, before + i) for i, file in enumerate(files[:room], 1)))
    left = files[room:]
    if left:
        intake.remove(file.path for file in left)
        what = f"A session holds {MOST} films; {len(left)} of those dropped were not read"
        INTAKE.refuse(Refused("LIMIT_FILMS", what, "remove some, then drop the others"))


def _reading(file: SealedFile, place: int) -> FilmReading:
    number = st.session_state[COUNT] = st.session_state.get(COUNT, 0) + 1
    dropped = st.session_state[DROPPED]
    position = "Film" if dropped == 1 else f"Film {place} of {dropped}"
    return FilmReading(
        name=position,
        read=partial(_read, file.path, position),
        files=(file.path,),
        once=True,
        number=number,
        disguised_name=xray_boxes.disguised(file.name),
    )


def _read(path: Path, name: str, cancel: Event) -> ReadFilm:
    """Read in a sealed process; runs in a thread, without Streamlit."""
    try:
        return sandbox.read_film(path, name=name, cancel=cancel)
    except Refused as error:
        if error.code == RefusalCode.FORMAT_UNKNOWN:
            raise error.with_remedy(f"{sentence(error.remedy)} {sentence(BOXES)}") from error
        raise


def settle() -> bool:
    """Take in films that were read or refused; return whether there were any."""
    return INTAKE.settle(_hold)


def _hold(reading: FilmReading) -> None:
    """Keep a film that was read, and show it."""
    read = reading.result()
    file = session.room().folder / f"film-{secrets.token_hex(8)}.npy"
    file.touch(mode=0o600)
    np.save(file, read.pixels)
    film = FilmEntry(
        id=f"f{reading.number}",
        title=f"Film {reading.number}",
        label=f"Film {reading.number}",
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
    forget_removed()
    place = _in_order().index(film_id)
    st.session_state[REMOVED] = held_films().pop(film_id)
    rest = _in_order()
    choose(rest[min(place, len(rest) - 1)] if rest else FIRST)


def removed() -> DroppedFilm | None:
    """Return the film that was removed last."""
    dropped_film: DroppedFilm | None = st.session_state.get(REMOVED)
    return dropped_film


def bring_back() -> None:
    """Undo the last removal."""
    dropped_film = removed()
    if dropped_film is not None:
        held_films()[dropped_film.film.id] = dropped_film
        st.session_state[REMOVED] = None
        choose(dropped_film.film.id)


def forget_removed() -> None:
    """Remove the bytes of the film that was removed last."""
    dropped_film = removed()
    if dropped_film is not None:
        dropped_film.file.unlink(missing_ok=True)
    st.session_state[REMOVED] = None
