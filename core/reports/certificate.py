"""What a report's certificate proves: that neither its bytes, nor its files, nor its numbers moved.

There is no key: whoever changes a report can certify it anew. Held against its files it then fails.
Canonical JSON, whose digest it is, stands first.
"""

import json
import math
import platform
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import numpy as np
import scipy

from core import codec
from core.codes import NoticeCode
from core.configs import AuditConfig
from core.defaults import VERSION
from core.errors import Refused, UsageError
from core.predictions import DIGEST_MORE, Task
from core.readers.predictions.result import ReadOptions
from core.reports.document import Edition
from core.studies.posthoc import loaded
from core.studies.report import ReportedRun

Json = dict[str, Any]  # Any: plain JSON values
# Canonical JSON is as RFC 8785 says: no spaces, keys sorted by their UTF-16 code units, numbers as
# ECMAScript writes them, strings with the fewest escapes. In one point it goes further: whole
# numbers beyond 2^53, such as a seed, are written in full instead of as the nearest double.
FIXED_DIGITS = 21  # ECMAScript: longer numbers have an exponent
FEWEST_ZEROS = -6  # a smaller one has, too


def canonical(value: Any) -> str:  # noqa: ANN401  plain JSON
    """Return a value as canonical JSON.

    `value`: no number that is infinite or undefined.

    Raises ValueError: such a number, or a value of another type.
    """
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, float):
        return number(value)
    if isinstance(value, list | tuple):
        return f"[{','.join(map(canonical, value))}]"
    if isinstance(value, dict):
        keys = sorted(value, key=lambda key: key.encode("utf-16-be", "surrogatepass"))
        return f"{{{','.join(f'{canonical(key)}:{canonical(value[key])}' for key in keys)}}}"
    raise ValueError(f"no JSON for {type(value).__name__}")


def number(value: float) -> str:
    """Return a number as ECMAScript's Number::toString: the shortest digits that give it back."""
    if not math.isfinite(value):
        raise ValueError(f"no JSON for {value}")
    if value == 0.0:
        return "0"
    sign = "-" if value < 0 else ""
    mantissa, _, exponent = f"{abs(value)!r}".partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    # Where the point stands, counted from the first digit.
    n_zeros = len(fraction) - len(fraction.lstrip("0"))
    power = int(exponent or 0) + (len(whole) if whole.strip("0") else -n_zeros)
    digits = digits.rstrip("0")
    if len(digits) <= power <= FIXED_DIGITS:
        return sign + digits + "0" * (power - len(digits))
    if 0 < power <= FIXED_DIGITS:
        return f"{sign}{digits[:power]}.{digits[power:]}"
    if FEWEST_ZEROS < power <= 0:
        return f"{sign}0.{'0' * -power}{digits}"
    point = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{sign}{digits[0]}{point}e{power - 1:+d}"


def digest(value: Any) -> str:  # noqa: ANN401  plain JSON
    """Return the SHA-256 of a value's canonical JSON, in hexadecimal."""
    return sha256(canonical(value).encode("utf-8", "surrogatepass")).hexdigest()


def parsed(data: bytes) -> Any:  # noqa: ANN401  plain JSON
    """Return the value of canonical JSON.

    Raises Refused REPORT: the bytes are no JSON, or not in the canonical form.
    """
    try:
        value = json.loads(data.decode("utf-8"))
        again = canonical(value).encode("utf-8")
    except (ValueError, RecursionError, UnicodeError) as error:
        raise Refused(
            "REPORT", "The report is not JSON", "use the report as it was written"
        ) from error
    if again != data:
        what = "The bytes of the report are not in the canonical form"
        raise Refused("REPORT", what, "use the report as it was written")
    return value


FORMAT: Final = "candor-report-1"
CERTIFICATE, DIGEST = "certificate", "digest"
CORE: Final = Path(__file__).parents[1]


def software() -> dict[str, str]:
    """Return the versions that numbers may depend on."""
    return {
        "candor": VERSION,
        "code": code_digest(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
    }


@cache
def code_digest() -> str:
    """Return the SHA-256 of Candor's modules, by name."""
    state = sha256()
    for path in sorted(CORE.rglob("*.py")):
        text = path.read_bytes()
        state.update(f"{path.relative_to(CORE).as_posix()} {len(text)}\n".encode())
        state.update(text)
    return state.hexdigest()


def certified(content: Mapping[str, Any]) -> Json:
    """Return the content with its certificate: digests of rows, splits, settings, code, and all."""
    asked = {key: content[key] for key in ("settings", "sections", "edition")}
    certificate = {
        "form": "RFC 8785, whole numbers in full",
        "algorithm": "SHA-256; files and rows BLAKE2b-128",
        "rows": [run["rows_digest"] for run in content["runs"]],
        "splits": [run["split"] for run in content["runs"]],
        "settings": digest(asked),
        "code": content["software"]["code"],
    }
    whole = {**content, CERTIFICATE: certificate}
    return whole | {CERTIFICATE: certificate | {DIGEST: digest(whole)}}


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

    def differences(self, run: ReportedRun) -> list[str]:
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
