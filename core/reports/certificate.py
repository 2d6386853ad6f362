"""What a report's certificate proves: that neither its bytes, nor its files, nor its numbers moved.

There is no key: whoever changes a report can certify it anew. Held against its files it then fails.
"""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from core import codec
from core.codes import NoticeCode
from core.configs import AuditConfig
from core.errors import Refused, UsageError
from core.predictions import DIGEST_MORE, Task
from core.readers.predictions.result import ReadOptions
from core.reports.document import Edition
from core.reports.report_json import (
    CERTIFICATE,
    DIGEST,
    FORMAT,
    canonical,
    certified,
    digest,
    parsed,
)
from core.studies.posthoc import loaded
from core.studies.report import ReportedRun

MOST_BYTES: Final = 64 * 2**20
SAME: Final = 1e-9  # of a number: other processors round its last digits otherwise
RUN_TEXTS: Final = ("name", "file", "file_digest", "rows_digest", "split")
ABOUT: Final = ("software", CERTIFICATE)  # of the program that wrote it
ROWS: Final = re.compile(r"runs\[\d+\]\.rows_digest")
NOTICES: Final = re.compile(r"runs\[\d+\]\.audit\.notices")
# What was guessed stands in `reading`: read again with it, it is no guess.
GUESSED: Final = (
    NoticeCode.SCORES_GUESSED,
    NoticeCode.KEYS_GUESSED,
    NoticeCode.UNITS,
    NoticeCode.DATED,
)


@dataclass(frozen=True, kw_only=True)
class StatedRun:
    """What a report states of one run, checked; `votes` is empty where it has none."""

    name: str
    file: str
    file_digest: str
    rows_digest: str
    split: str
    reading: dict[str, Any]
    votes: str = ""

    def beside(self, run: ReportedRun) -> list[str]:
        """Return what differs in the file and its rows."""
        if self.votes and run.split not in run.voted:
            what = f"the report holds the votes of {self.votes}, which are not here"
            return [f"{self.name}: {what}; name them with --votes"]
        read = loaded(run.splits[run.split])
        rows = read.digest_as(self.rows_digest)
        if rows != self.rows_digest and read.task is Task.BINARY and read.scores.ndim == 1:
            # versions before numbered the two classes that a column of one event names
            numbered = replace(read, class_names=("0", "1")).digest_as(self.rows_digest)
            rows = numbered if numbered == self.rows_digest else rows
        both = (
            ("the file", self.file_digest, run.file_digest),
            (f"the rows of {self.split}", self.rows_digest, rows),
        )
        return [
            f"{self.name}: {what} differs, digest {theirs[:12]} in the report, {own[:12]} here"
            for what, theirs, own in both
            if theirs != own
        ]


@dataclass(frozen=True, kw_only=True)
class StatedReport:
    """A report whose bytes agree with its certificate."""

    content: Mapping[str, Any]
    runs: tuple[StatedRun, ...]
    sections: tuple[str, ...]
    edition: Edition
    config: AuditConfig


def opened(path: Path) -> StatedReport:
    """Return the report in a file.

    Raises Refused REPORT: it is too large, no canonical JSON, no report, or not what its
    certificate says.
    """
    if path.stat().st_size > MOST_BYTES:
        raise _refused("The report is larger than 64 MiB")
    return stated(path.read_bytes())


def stated(data: bytes) -> StatedReport:
    """Return the report in these bytes; as `opened`."""
    content = parsed(data)
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise _refused("The file is not a report of this version of Candor")
    try:
        certificate = content[CERTIFICATE]
        rest = {key: value for key, value in certificate.items() if key != DIGEST}
        if digest(content | {CERTIFICATE: rest}) != certificate[DIGEST]:
            raise _refused("The content of the report does not match its certificate")
        if certified({k: v for k, v in content.items() if k != CERTIFICATE}) != content:
            raise _refused("The certificate names other rows, splits, settings or code")
        if not isinstance(content["runs"], list) or not content["runs"]:
            raise _refused("Something in the report is missing or of the wrong type")
        runs = (
            StatedRun(
                reading=ReadOptions.from_json(run["reading"]).to_json(),
                votes=_text(run.get("votes", "")),
                **{key: _text(run[key]) for key in RUN_TEXTS},
            )
            for run in content["runs"]
        )
        return StatedReport(
            content=content,
            runs=tuple(runs),
            sections=tuple(map(_text, content["sections"])),
            edition=Edition(content["edition"]),
            config=codec.read(AuditConfig, content["settings"], "settings"),
        )
    except (KeyError, TypeError, ValueError, AttributeError, UsageError) as error:
        raise _refused("Something in the report is missing or of the wrong type") from error


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _refused(what: str) -> Refused:
    return Refused("REPORT", what, "use the report as it was written")


def differences(stated_content: Mapping[str, Any], again: Mapping[str, Any]) -> list[str]:
    """Return a line for everything that differs, numbers from their ninth digit on aside.

    Where another version of Candor wrote it, the first line says so, if there are others.
    """
    plain = parsed(canonical(again).encode())
    kept = {key: value for key, value in plain.items() if key not in ABOUT}
    theirs = {key: value for key, value in stated_content.items() if key not in ABOUT}
    lines = list(_differing("", theirs, kept))
    code = stated_content["software"]["code"]
    if lines and code != again["software"]["code"]:
        lines.insert(0, "The report was written by another version of Candor.")
    return lines


def _differing(place: str, theirs: Any, own: Any) -> Iterator[str]:  # noqa: ANN401  plain JSON
    if isinstance(theirs, Mapping) and isinstance(own, Mapping):
        for key in sorted({*theirs, *own}):
            if key in theirs and key in own:
                yield from _differing(f"{place}.{key}".lstrip("."), theirs[key], own[key])
            else:
                where = "the report alone" if key in theirs else "the files alone"
                yield f"{place}.{key}".lstrip(".") + f": in {where}"
    elif isinstance(theirs, list) and isinstance(own, list):
        if NOTICES.fullmatch(place):
            theirs, own = _unguessed(theirs), _unguessed(own)
        if len(theirs) != len(own):
            yield f"{place}: {len(theirs)} entries in the report, {len(own)} from the files"
        for i, pair in enumerate(zip(theirs, own, strict=False)):
            yield from _differing(f"{place}[{i}]", *pair)
    else:
        same, numbers = theirs == own, (int, float)
        if isinstance(theirs, bool) or isinstance(own, bool):
            same = theirs is own
        elif isinstance(theirs, numbers) and isinstance(own, numbers):
            same = math.isclose(theirs, own, rel_tol=SAME, abs_tol=1e-12)
        elif ROWS.fullmatch(place) and isinstance(theirs, str) and isinstance(own, str):
            # A digest of versions before was held against the rows by itself.
            same |= not theirs.startswith((own[: len(DIGEST_MORE)], DIGEST_MORE))
        if not same:
            yield f"{place}: {theirs!r} in the report, {own!r} from the files"


def _unguessed(notices: list[Any]) -> list[Any]:
    """Return notices less those of choices with which the file is read again."""
    return [n for n in notices if not (isinstance(n, Mapping) and n.get("code") in GUESSED)]
