"""What a job asks of a cluster, and the settings file with its defaults."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

from core import codec, fields
from core.disk import JsonError, parse_json
from core.errors import UsageError
from core.fields import Field

SETTINGS: Final = "slurm.json"  # below CANDOR_HOME
WARNING_S: Final = 90  # from the warning of a cluster to the end of the time it gave
_NAME: Final = re.compile(r"[\w.,+-]{1,100}", re.ASCII)
_REMEDY: Final = "give letters, digits, and . , + - _, or null"


def _is_name(text: str) -> bool:
    return _NAME.fullmatch(text) is not None


@dataclass(frozen=True, kw_only=True)
class SlurmRequest:
    """What each job of a submission asks for.

    Raises
    ------
    UsageError
        SETTING: a value out of range.
    """

    partition: Annotated[
        str | None,
        Field("Partition", "The cluster's default where empty.", allows=_is_name, remedy=_REMEDY),
    ] = None
    account: Annotated[
        str | None,
        Field("Account", "Your default account where empty.", allows=_is_name, remedy=_REMEDY),
    ] = None
    nodes: Annotated[int, Field("Nodes", "Machines that train together.", low=1, high=64)] = 1
    gpus: Annotated[
        int, Field("GPUs per node", "0 for the CPU. Each GPU gets a process.", low=0, high=16)
    ] = 0
    cpus: Annotated[int, Field("Cores per process", "", low=1, high=256)] = 4
    memory: Annotated[
        float | None,
        Field(
            "Memory, GiB",
            "Of each node; the cluster's default where empty.",
            low=0,
            high=16_384,
            open_low=True,
            remedy="give above 0, to 16384, or null",
        ),
    ] = None
    minutes: Annotated[
        int,
        Field(
            "Time, minutes",
            "Of each start. A training that needs longer continues in another.",
            low=1,
            high=43_200,
            step=60,
        ),
    ] = 240

    def __post_init__(self) -> None:
        """Refuse a value out of range."""
        fields.check(self)


def defaults(home: Path) -> SlurmRequest:
    """Return the request of the settings file; that of the program where there is none.

    Raises
    ------
    UsageError
        SETTING: the file cannot be read, or holds what a request cannot.
    """
    path = home / SETTINGS
    try:
        return codec.read(SlurmRequest, parse_json(path.read_bytes()), SETTINGS)
    except FileNotFoundError:
        return SlurmRequest()
    except JsonError as error:
        what = f"{path} {error}"
        raise UsageError("SETTING", what, "give a JSON object, each key once") from error
    except OSError as error:
        what = f"{path} cannot be read ({error.strerror})"
        raise UsageError("SETTING", what, "make it readable, or remove it") from error
