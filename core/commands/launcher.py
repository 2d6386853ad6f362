"""Options of verbs that submit jobs: on this machine or in a cluster, and what to ask it for."""

import argparse
from dataclasses import replace
from types import NoneType
from typing import TYPE_CHECKING

from core.commands.shared import Parser
from core.errors import UsageError

if TYPE_CHECKING:
    from core.jobs.slurm.request import SlurmRequest


def add_options(verb: Parser, default: str | None = "local") -> None:
    """Add ``--launcher`` and an option for each field of a request.

    Without a `default` the verb itself works where no launcher is named.
    """
    from core.fields import fields_of
    from core.jobs.records import LOCAL, SLURM
    from core.jobs.slurm.request import SETTINGS, SlurmRequest

    verb.add_argument("--launcher", choices=[LOCAL, SLURM], default=default)
    group = verb.add_argument_group(
        "with --launcher slurm", f"what is left out is as {SETTINGS} in CANDOR_HOME says"
    )
    for name, field in fields_of(SlurmRequest).items():
        kind = next(kind for kind in field.kinds if kind is not NoneType)
        about = f"{field.label}. {field.help}".removesuffix(" ")
        group.add_argument(f"--{name}", type=kind, metavar=kind.__name__.upper(), help=about)


def request_of(arguments: argparse.Namespace, **fixed: int) -> "SlurmRequest | None":
    """Return what is asked of a cluster; None for this machine.

    What is `fixed` does not come from the settings file; options may still say otherwise.

    Raises
    ------
    UsageError
        SETTING: a value out of range, or one for a cluster without ``--launcher slurm``.
    """
    from core.fields import fields_of
    from core.jobs.records import SLURM
    from core.jobs.slurm.request import SlurmRequest, defaults
    from core.library import home

    names = fields_of(SlurmRequest)
    given = {name: value for name in names if (value := getattr(arguments, name)) is not None}
    if arguments.launcher != SLURM:
        if given:
            what = f"--{next(iter(given))} is for a cluster, and the launcher is not slurm"
            raise UsageError("SETTING", what, "add --launcher slurm, or leave it out")
        return None
    return replace(defaults(home()), **fixed | given)
