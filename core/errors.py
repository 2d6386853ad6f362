"""What goes wrong and what must be said: refusals and notices; imports nothing of ours.

AuditError            code, what, location, remedy; pages and the command line show exactly these
|-- Refused           the input was refused (exit 2)
|-- UsageError        the command or the widget was used wrongly (exit 3)
|-- LibraryError      a run is missing, damaged or in the way (exit 2)
`-- LostWorker        a worker process died or an internal error happened (exit 4)
"""

import errno
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, Self

OPTION: Final = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
WORD: Final = re.compile(r"[a-z][a-z'-]*[,:;.]?(?=\s|$)")  # no file name, option, key or symbol
ENDS: Final = (".", "?", "!")


def sentence(text: str) -> str:
    """Return a clause as a sentence: with a capital, unless a name opens it, and a full stop."""
    opened = text[:1].upper() + text[1:] if WORD.match(text) else text
    return opened if not opened or opened.endswith(ENDS) else f"{opened}."


class AuditError(Exception):
    """An error a user can act on.

    Parameters
    ----------
    code : str
        Stable upper-case code, for example ``LENGTH_MISMATCH``.
    what : str
        The thing, the value found and the value expected.
    remedy : str
        What the user can do about it.
    location : str
        Row, column, key or member; empty when the whole input is meant.
    file : str
        Name of the file that was refused; empty where none was. `about` gives it.
    """

    exit_code = 2

    def __init__(
        self, code: str, what: str, remedy: str, location: str = "", file: str = ""
    ) -> None:
        super().__init__(f"{code}: {what}; {remedy}")
        self.code = code
        self.what = what
        self.remedy = remedy
        self.location = location
        self.file = file

    @property
    def options(self) -> tuple[str, ...]:
        """Options of the command line in the remedy; a page has controls of its own instead."""
        return tuple(OPTION.findall(self.remedy))

    def __reduce__(self) -> tuple[type[Self], tuple[str, str, str, str, str]]:
        """Support pickling between processes."""
        return type(self), self.fields

    @property
    def fields(self) -> tuple[str, str, str, str, str]:
        """Code, what, remedy, location and file, in the order in which they are given."""
        return self.code, self.what, self.remedy, self.location, self.file

    def named(self, file: str = "", *, titled: str = "") -> str:
        """Return what was found behind the name of the file, unless the reader has seen it there.

        `file`: what the page calls it, where that is another name; `titled`: a name that is in the
        title above.
        """
        name = file or self.file
        said = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", f"{self.what} {self.location}")
        return self.what if said or name in ("", titled) else f"{name}: {self.what}"

    def with_location(self, location: str) -> "Refused":
        """Return a refusal that says the same of another place."""
        return Refused(self.code, self.what, self.remedy, location, self.file)

    def with_remedy(self, remedy: str) -> "Refused":
        """Return a refusal that says the same with another remedy."""
        return Refused(self.code, self.what, remedy, self.location, self.file)

    def to_json(self) -> dict[str, Any]:  # Any: plain JSON values of several types
        """Return the fields as plain JSON, the file only where there is one."""
        file = {"file": self.file} if self.file else {}
        return {
            "code": self.code,
            "what": self.what,
            "where": self.location,
            "remedy": self.remedy,
            **file,
        }


class Refused(AuditError):
    """The input was refused; nothing was computed from it."""


class UsageError(AuditError):
    """A command or option was used wrongly."""

    exit_code = 3


class LibraryError(AuditError):
    """A run is missing, damaged or in the way."""


class LostWorker(AuditError):
    """A worker process died, or an internal error happened."""

    exit_code = 4


def lacking(error: BaseException) -> AuditError | None:
    """Return what to say of an error that means: no memory, no processes, or no disk; else None."""
    number = error.errno if isinstance(error, OSError) else None
    # A library that was not mapped; llvmlite raises an error of its own after that one.
    raised = f"{error}{error.__cause__}{error.__context__}"
    unmapped = isinstance(error, ImportError | OSError) and "failed to map segment" in raised
    if number in {errno.ENOSPC, errno.EDQUOT}:
        what = "The disk is full; what was being written is not there"
        return LibraryError("DISK_FULL", what, "free some space, then try again")
    if number == errno.EFBIG:
        what = "A file may not become so large here; what was being written is not there"
        return LibraryError("DISK_FULL", what, "raise ulimit -f, then try again")
    if number == errno.ENAMETOOLONG:
        what = "A path, or a name in it, is too long for this disk"
        return UsageError("OUTPUT", what, "name a shorter one, or set CANDOR_HOME to one")
    if number in {errno.EMFILE, errno.ENFILE}:
        what = "Too many files are open"
        return LostWorker("LOST_WORKER", what, "raise ulimit -n, then try again")
    no_thread = isinstance(error, RuntimeError) and "new thread" in str(error)
    if number == errno.EAGAIN or no_thread:
        what = "No further process or thread may be started"
        return LostWorker(
            "LOST_WORKER", what, "end other programs, or raise ulimit -u or -v; try again"
        )
    if isinstance(error, MemoryError) or number == errno.ENOMEM or unmapped:
        what = "There is not enough memory for this"
        return LostWorker("LOST_WORKER", what, "free some, raise ulimit -v, or use fewer rows")
    return None


def changed(name: str) -> Refused:
    """Return the refusal of a file that somebody wrote to meanwhile."""
    what = f"{name} was written to while it was read"
    return Refused("CHANGED", what, "wait until it is complete, then start again", file=name)


@contextmanager
def about(file: str) -> Iterator[None]:
    """Name the file in an error that names none: the one that was being read when it arose."""
    try:
        yield
    except AuditError as error:
        error.file = error.file or file
        raise


@dataclass(frozen=True)
class Notice:
    """Something accepted, but said: a stable code and one sentence."""

    code: str
    text: str

    @property
    def sentence(self) -> str:
        """The text as a sentence."""
        return sentence(self.text)

    def to_json(self) -> dict[str, str]:
        """Return the two fields as plain JSON."""
        return {"code": self.code, "text": self.text}
