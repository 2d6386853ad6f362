"""What goes wrong and what must be said: refusals and notices; imports nothing of ours.

AuditError            code, what, location, remedy; pages and the command line show exactly these
|-- Refused           the input was refused (exit 2)
|-- UsageError        the command or the widget was used wrongly (exit 3)
|-- LibraryError      a run is missing, damaged or in the way (exit 2)
`-- LostWorker        a worker process died or an internal error happened (exit 4)
"""

import re
from dataclasses import dataclass
from typing import Any, Final, Self

OPTION: Final = re.compile(r"(?<![\w-])--[a-z][a-z-]*")


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
    """

    exit_code = 2

    def __init__(self, code: str, what: str, remedy: str, location: str = "") -> None:
        super().__init__(f"{code}: {what}; {remedy}")
        self.code = code
        self.what = what
        self.remedy = remedy
        self.location = location

    @property
    def options(self) -> tuple[str, ...]:
        """Options of the command line in the remedy; a page has controls of its own instead."""
        return tuple(OPTION.findall(self.remedy))

    def __reduce__(self) -> tuple[type[Self], tuple[str, str, str, str]]:
        """Come out of another process as what went in."""
        return type(self), (self.code, self.what, self.remedy, self.location)

    def with_location(self, location: str) -> "Refused":
        """Return a refusal that says the same of another place."""
        return Refused(self.code, self.what, self.remedy, location)

    def with_remedy(self, remedy: str) -> "Refused":
        """Return a refusal that says the same with another remedy."""
        return Refused(self.code, self.what, remedy, self.location)

    def to_json(self) -> dict[str, Any]:  # Any: plain JSON values of several types
        """Return the four fields as plain JSON."""
        return {"code": self.code, "what": self.what, "where": self.location, "remedy": self.remedy}


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


@dataclass(frozen=True)
class Notice:
    """Something accepted, but said: a stable code and one sentence."""

    code: str
    text: str

    def to_json(self) -> dict[str, str]:
        """Return the two fields as plain JSON."""
        return {"code": self.code, "text": self.text}
