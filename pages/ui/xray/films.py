"""The films of a session: synthetic ones that come with Candor, and those that were dropped.

A dropped film has a number and no name: what its file is called may name a person. Its pixels lie
in the session's folder, are in no cache that sessions share, and go with the session.
"""

import secrets
from concurrent.futures import Future
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event
from typing import Any, Final

import numpy as np
import streamlit as st

from core.codes import RefusalCode
from core.errors import AuditError, LostWorker, Notice, Refused
from core.readers.films.film import Film as ReadFilm
from core.readers.sandbox import read as sandbox
from core.xray import phantom
from core.xray.heat import Pixels
from pages.ui import session
from pages.ui.xray import boxes as xray_boxes
from pages.ui.xray import film_cache as cache_xray
from pages.ui.xray import names as xray_names
from pages.ui.xray.boxes import Boxes
from pages.ui.xray.film_cache import HELD_OUT

FILMS, READING, REFUSED = "xray.films", "xray.reading", "xray.refused"
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
    pixels: Pixels
    payload: dict[str, Any]  # plain JSON
    digest: str
    notices: tuple[Notice, ...]
    boxes: Boxes
    synthetic: bool = False


@dataclass(frozen=True, kw_only=True)
class FilmReading:
    """A film that is being read; `position` says which of those dropped it is."""

    number: int
    position: str
    stored: Path
    disguised_name: str
    future: "Future[ReadFilm]"
    cancel: Event


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
    return own | {film.id: film for film in map(_synthetic, range(len(cache_xray.EXAMPLES)))}


def _in_order() -> list[str]:
    """Return the ids of the dropped films by number, in whatever order they were read."""
    return sorted(held_films(), key=lambda film_id: int(film_id.removeprefix("f")))


def held_films() -> dict[str, DroppedFilm]:
    """Return the dropped films of this session by id."""
    by_id: dict[str, DroppedFilm] = st.session_state.setdefault(FILMS, {})
    return by_id


def readings() -> list[FilmReading]:
    """Return the films that are being read."""
    pending: list[FilmReading] = st.session_state.setdefault(READING, [])
    return pending


def refusals() -> list[AuditError]:
    """Return why films of the last drop were refused."""
    errors: list[AuditError] = st.session_state.setdefault(REFUSED, [])
    return errors


def _synthetic(place: int) -> FilmEntry:
    index = cache_xray.EXAMPLES[place]
    phantom_film = cache_xray.drawn(HELD_OUT, index)
    side = phantom.SIDE
    boxes = {
        name: ((box[0] / side, box[1] / side, box[2] / side, box[3] / side),)
        for name, box in phantom_film.boxes.items()
    }
    return FilmEntry(
        id=f"s{place + 1}",
        title=f"Synthetic film {place + 1}",
        pixels=phantom_film.pixels,
        payload={"phantom": [HELD_OUT, index]},
        digest=f"phantom-{HELD_OUT}-{index}",
        notices=(),
        boxes=boxes,
        synthetic=True,
    )


def take(files: list[tuple[str, memoryview]]) -> None:
    """Read dropped films in sealed processes, each by itself."""
    refusals().clear()
    before = len(readings())  # of a drop whose films are not all read yet
    st.session_state[DROPPED] = dropped = before + len(files)
    for place, (name, data) in enumerate(files, 1):
        if len(held_films()) + len(readings()) >= MOST:
            left = len(files) - place + 1
            what = f"a session holds {MOST} films; {left} of those dropped were not read"
            st.session_state[DROPPED] -= left
            refusals().append(Refused("LIMIT_FILMS", what, "remove some, then drop the others"))
            return
        number = st.session_state[COUNT] = st.session_state.get(COUNT, 0) + 1
        position = "the film" if dropped == 1 else f"the {nth(before + place)} of those dropped"
        try:
            stored = session.store(data)
        except OSError as error:
            what = f"{position} could not be stored ({error.strerror})"
            refusals().append(LostWorker("LOST_WORKER", what, "free disk space there"))
            return
        cancel = Event()
        session.room().works.add(cancel)
        future = session.in_thread(_read, stored, position, cancel)
        disguised_name = xray_names.disguised(name)
        readings().append(
            FilmReading(
                number=number,
                position=position,
                stored=stored,
                disguised_name=disguised_name,
                future=future,
                cancel=cancel,
            )
        )


def nth(place: int) -> str:
    """Return a place in words: 2nd, 11th."""
    ending = {1: "st", 2: "nd", 3: "rd"}.get(place % 10, "th")
    return f"{place}{'th' if place % 100 in {11, 12, 13} else ending}"


def _read(path: Path, name: str, cancel: Event) -> ReadFilm:
    """Read in a sealed process and remove the bytes; runs in a thread, without Streamlit."""
    try:
        return sandbox.read_film(path, name=name, cancel=cancel)
    finally:
        path.unlink(missing_ok=True)


def settle() -> bool:
    """Take in films that were read or refused; return whether there were any."""
    done = [reading for reading in readings() if reading.future.done()]
    for reading in done:
        readings().remove(reading)
        session.room().works.discard(reading.cancel)
        try:
            _hold(reading, reading.future.result())
        except AuditError as error:
            refusal = error.with_location(reading.position)
            if error.code == RefusalCode.FORMAT_UNKNOWN:
                refusal = refusal.with_remedy(f"{error.remedy}; {BOXES}")
            if error.code != RefusalCode.CANCELLED:
                refusals().append(refusal)
        except OSError as error:
            what = f"{reading.position} could not be kept ({error.strerror})"
            refusals().append(LostWorker("LOST_WORKER", what, "free disk space there"))
    return bool(done)


def _hold(reading: FilmReading, read: ReadFilm) -> None:
    """Keep a film that was read, and show it."""
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


def stop() -> None:
    """Stop reading; what was read stays."""
    for reading in readings():
        reading.cancel.set()


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
