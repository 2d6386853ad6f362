"""Who may see and do what: visitors, their roles, and what an owner may use; errors only.

Without login there is one visitor, `LOCAL`, whose files all of them are. With login each user is
one: known by a digest of issuer and subject, never by a name or an address, so that ids of users
can stand in paths and files. `NEEDS` is the one place that says which act needs which role.
"""

import hashlib
import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import Final

from core.errors import LibraryError, UsageError

LOCAL_OWNER: Final = "local"
OWNER: Final = "CANDOR_OWNER"  # of what a process keeps: set by whoever starts a job
DISK, JOBS, DRAFTS = "CANDOR_QUOTA_DISK_GB", "CANDOR_QUOTA_JOBS", "CANDOR_QUOTA_DRAFTS_GB"
RETENTION: Final = "CANDOR_RETENTION_DAYS"
GB: Final = 10**9
MB: Final = 10**6


class UserRole(IntEnum):
    """What a user may do; each includes those before it."""

    VIEWER = 1
    AUDITOR = 2
    ADMIN = 3


class Act(StrEnum):
    """What is done with runs and jobs; also the word in the audit trail."""

    OPEN = "open"
    EXPORT = "export"
    IMPORT = "import"
    CHANGE = "change"
    DELETE = "delete"
    RESTORE = "restore"
    PURGE = "purge"
    SHARE = "share"
    REVOKE = "revoke"
    TRAIN = "train"
    STOP = "stop"
    QUEUE = "queue"
    READ_TRAIL = "read trail"


NEEDS: Final[Mapping[Act, UserRole]] = {
    Act.OPEN: UserRole.VIEWER,
    Act.EXPORT: UserRole.VIEWER,
    Act.IMPORT: UserRole.AUDITOR,
    Act.CHANGE: UserRole.AUDITOR,
    Act.DELETE: UserRole.AUDITOR,
    Act.RESTORE: UserRole.AUDITOR,
    Act.PURGE: UserRole.AUDITOR,
    Act.SHARE: UserRole.AUDITOR,
    Act.REVOKE: UserRole.AUDITOR,
    Act.TRAIN: UserRole.AUDITOR,
    Act.STOP: UserRole.AUDITOR,
    Act.QUEUE: UserRole.ADMIN,
    Act.READ_TRAIL: UserRole.ADMIN,
}


@dataclass(frozen=True)
class Visitor:
    """Who asks."""

    user: str  # `LOCAL_OWNER`, or what `user_id` made
    role: UserRole
    groups: tuple[str, ...] = ()  # those the user is in, as `group_id` makes them
    group: str = ""  # the one of them that owns what is kept from now on; empty for the user

    @property
    def owner(self) -> str:
        """Who owns what is kept from now on."""
        return self.group or self.user

    @property
    def names(self) -> frozenset[str]:
        """The user and the groups: what may own a run or be given one."""
        return frozenset((self.user, *self.groups))

    @property
    def sees_all(self) -> bool:
        """Whether nothing is hidden."""
        return self.role is UserRole.ADMIN

    @property
    def recorded(self) -> bool:
        """Whether what is done goes into the audit trail: that of every user with a login."""
        return self.user != LOCAL_OWNER

    def sees(self, owner: str, shared_with: Collection[str] = ()) -> bool:
        """Whether a run or job of an owner, shared with some, can be seen."""
        return self.owns(owner) or not self.names.isdisjoint(shared_with)

    def owns(self, owner: str) -> bool:
        """Whether a run or job of an owner may be changed, as far as the role goes."""
        return self.sees_all or owner in self.names

    def may(self, act: Act) -> bool:
        """Whether the role allows an act."""
        return self.role >= NEEDS[act]

    def require(self, act: Act) -> None:
        """Refuse an act that the role does not allow: LibraryError ROLE."""
        if not self.may(act):
            needed = NEEDS[act].name.lower()
            raise LibraryError(
                "ROLE",
                f"Your role is {self.role.name.lower()}, and this needs {needed}",
                "ask an administrator for that role",
            )


LOCAL: Final = Visitor(LOCAL_OWNER, UserRole.ADMIN)
RETAINER: Final = Visitor("retention", UserRole.ADMIN)  # who removes what is too old


def of_process() -> Visitor:
    """Return who a command or a job acts for: it has all files in its hands already."""
    return Visitor(os.environ.get(OWNER) or LOCAL_OWNER, UserRole.ADMIN)


def user_id(issuer: str, subject: str) -> str:
    """Return what a user is called in files, paths and the audit trail."""
    return f"u-{_digest(issuer, subject)}"


def group_id(issuer: str, group: str) -> str:
    """Return what a group of an issuer is called there."""
    return f"g-{_digest(issuer, group)}"


def _digest(*parts: str) -> str:
    text = "\0".join(parts).encode("utf-8", "surrogatepass")  # half a character is one, too
    return hashlib.sha256(text).hexdigest()[:32]


@dataclass(frozen=True)
class Quotas:
    """What one owner may use; None for no limit."""

    # disk, drafts: bytes of runs in the library, deleted ones too, and of uploads that were not
    # kept
    disk: int | None = None
    jobs: int | None = None  # jobs that have not ended
    drafts: int | None = None

    @classmethod
    def of_environment(cls) -> "Quotas":
        """Return what the administrator set; UsageError SETTING for what is no number."""
        jobs = _number(JOBS)
        return cls(_bytes(DISK), None if jobs is None else int(jobs), _bytes(DRAFTS))


def retention() -> float | None:
    """Return after how many days uploads are removed; None for never, UsageError SETTING."""
    return _number(RETENTION)


def refuse_over(quota: int | None, used: int, more: int, what: str, remedy: str) -> None:
    """Refuse bytes that would exceed a quota: LibraryError OVER_QUOTA."""
    if quota is not None and used + more > quota:
        raise LibraryError(
            "OVER_QUOTA",
            f"{what} take {used / MB:,.0f} MB and this adds {more / MB:,.0f} MB; "
            f"the quota is {quota / MB:,.0f} MB",
            remedy,
        )


def _bytes(name: str) -> int | None:
    number = _number(name)
    return None if number is None else int(number * GB)


def _number(name: str) -> float | None:
    text = os.environ.get(name, "").strip()
    if not text:
        return None
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number < float("inf"):
        raise UsageError("SETTING", f"{name} is {text[:40]!r}", "set it to a number from 0 on")
    return number
