"""Large arrays in files without a name, in place of memory: for audits of very many rows.

NumPy asks a handler for the memory of its arrays (NEP 49). This one gives a large array pages of a
file in the temporary folder, which the system writes out when memory is short, and which are gone
with the array. It changes where arrays lie, and no number.
"""

import ctypes
import mmap
import os
import sys
import tempfile
from typing import Any, Final

import numba
import numpy as np
from numba import carray  # type: ignore[attr-defined]

SET_HANDLER: Final = 304  # PyDataMem_SetHandler in the table of NumPy's functions for C
SLOTS: Final = 1_024  # arrays in files at a time; more are in memory
PAGE: Final = mmap.PAGESIZE
FAILED: Final = 2**64 - 1  # what mmap returns
FLAGS: Final = getattr(os, "O_TMPFILE", 0) | os.O_RDWR
INT: Final = ctypes.c_int
LONG: Final = ctypes.c_long
NUMBER: Final = ctypes.c_size_t  # an address, or how many bytes
Native = Any  # functions of C, and those that numba compiles, which have types of their own
Slots = Any  # (SLOTS, 2) int64, flat: address and bytes of each array in a file


class _Handler(ctypes.Structure):
    """PyDataMem_Handler of NumPy."""

    _fields_ = (
        ("name", ctypes.c_char * 127),
        ("version", ctypes.c_uint8),
        *((name, NUMBER) for name in ("context", "malloc", "calloc", "realloc", "free")),
    )


def keep_large_in_files(least: int) -> None:
    """Put arrays of so many bytes that NumPy makes from now on into files.

    In this thread, and on Linux alone; a process that does so must not fork, for both would write
    to the same pages. Where the temporary folder has no room for an array, or knows no files
    without a name, the array is in memory.
    """
    if not sys.platform.startswith("linux"):
        return
    slots = (ctypes.c_int64 * (2 * SLOTS))()
    folder = ctypes.create_string_buffer(os.fsencode(tempfile.gettempdir()))
    functions = _functions(ctypes.addressof(folder), least)
    addresses = [function.address for function in functions]
    handler = _Handler(b"candor_files", 1, ctypes.addressof(slots), *addresses)
    name = ctypes.create_string_buffer(b"mem_handler")
    for kept in (slots, folder, functions, handler, name):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(kept))  # for good: an array may be the last
    capsule = _of(ctypes.pythonapi, "PyCapsule_New", ctypes.py_object, NUMBER, NUMBER, NUMBER)
    pointer = _of(ctypes.pythonapi, "PyCapsule_GetPointer", NUMBER, ctypes.py_object, NUMBER)
    # NumPy's own functions for C stand in a table; this one sets the handler.
    table = pointer(np._core.multiarray._ARRAY_API, 0)  # type: ignore[attr-defined]
    address = ctypes.cast(table, ctypes.POINTER(NUMBER))[SET_HANDLER]
    set_handler = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(address)
    set_handler(capsule(ctypes.addressof(handler), ctypes.addressof(name), 0))


def _of(library: ctypes.CDLL, name: str, result: Any, *arguments: Any) -> Native:  # noqa: ANN401  ctypes
    function = library[name]
    function.restype, function.argtypes = result, arguments
    return function


def _functions(folder: int, least: int) -> tuple[Any, ...]:
    """Return malloc, calloc, realloc and free as NumPy calls them, without the interpreter."""
    mapped, unmapped = _mapped(folder), _unmapped()
    libc = ctypes.CDLL(None)
    malloc, size_of = (_of(libc, name, NUMBER, NUMBER) for name in ("malloc", "malloc_usable_size"))
    calloc, realloc = (_of(libc, name, NUMBER, NUMBER, NUMBER) for name in ("calloc", "realloc"))
    free, copy = _of(libc, "free", None, NUMBER), _of(libc, "memcpy", *[NUMBER] * 4)
    number, nothing = numba.uint64, np.uint64(0)
    pointer = numba.types.CPointer(numba.int64)  # type: ignore[no-untyped-call]

    @numba.cfunc(number(pointer, number))
    def take(context: Slots, size: int) -> Any:  # noqa: ANN401
        start = mapped(carray(context, 2 * SLOTS), size) if size >= least else nothing
        return start if start else np.uint64(malloc(size))

    @numba.cfunc(number(pointer, number, number))
    def take_zeros(context: Slots, count: int, size: int) -> Any:  # noqa: ANN401
        slots, n_bytes = carray(context, 2 * SLOTS), count * size
        start = mapped(slots, n_bytes) if n_bytes >= least else nothing
        return start if start else np.uint64(calloc(count, size))

    @numba.cfunc(number(pointer, number, number))
    def resize(context: Slots, start: int, size: int) -> Any:  # noqa: ANN401
        slots = carray(context, 2 * SLOTS)
        before = unmapped(slots, start, False)
        if not before and size < least:
            return np.uint64(realloc(start, size))
        new = mapped(slots, size) if size >= least else nothing
        new = new if new else np.uint64(malloc(size))
        if new and start:
            copy(new, start, min(before if before else np.uint64(size_of(start)), size))
            if not unmapped(slots, start, True):
                free(start)
        return new

    @numba.cfunc(numba.void(pointer, number, number))
    def give(context: Slots, start: int, size: int) -> None:  # noqa: ARG001  as NumPy calls it
        if not unmapped(carray(context, 2 * SLOTS), start, True):
            free(start)

    return take, take_zeros, resize, give


def _mapped(folder: int) -> Native:
    """Return what maps a new file of some bytes, and returns its address; 0 where it cannot."""
    libc = ctypes.CDLL(None)
    open_file = _of(libc, "open", INT, NUMBER, INT, INT)
    reserve = _of(libc, "posix_fallocate", INT, INT, LONG, LONG)
    close = _of(libc, "close", INT, INT)
    map_file = _of(libc, "mmap", NUMBER, NUMBER, NUMBER, INT, INT, INT, LONG)
    access, shared = mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED

    @numba.njit
    def mapped(slots: Slots, size: int) -> Any:  # noqa: ANN401
        for slot in range(0, 2 * SLOTS, 2):
            if slots[slot]:
                continue
            handle = open_file(folder, FLAGS, 0o600)
            if handle < 0:
                return np.uint64(0)
            # All room is taken at once: a full disk is met here and not at some later write.
            start = np.uint64(FAILED)
            if reserve(handle, 0, size) == 0:
                start = np.uint64(map_file(0, size, access, shared, handle, 0))
            close(handle)
            if start == np.uint64(FAILED):
                return np.uint64(0)
            slots[slot], slots[slot + 1] = start, size
            return start
        return np.uint64(0)

    return mapped


def _unmapped() -> Native:
    """Return what tells how many bytes are mapped at an address, 0 if none; and may end it."""
    unmap = _of(ctypes.CDLL(None), "munmap", INT, NUMBER, NUMBER)

    @numba.njit
    def unmapped(slots: Slots, start: int, ended: bool) -> Any:  # noqa: ANN401
        # A mapped file begins at a page, so other addresses need no search.
        if start == 0 or start % PAGE:
            return np.uint64(0)
        for slot in range(0, 2 * SLOTS, 2):
            if slots[slot] == np.int64(start):
                size = np.uint64(slots[slot + 1])
                if ended:
                    unmap(start, size)
                    slots[slot] = 0
                return size
        return np.uint64(0)

    return unmapped
