"""JSON in one form only: equal values, equal bytes.

As RFC 8785 (JSON Canonicalization Scheme): no spaces, keys sorted by their UTF-16 code units,
numbers as ECMAScript writes them, strings with the fewest escapes. In one point it goes further:
whole numbers beyond 2^53, such as a seed, are written in full instead of as the nearest double.
"""

import json
import math
from hashlib import sha256
from typing import Any

from core.errors import Refused

Json = Any  # plain JSON values
FIXED_DIGITS = 21  # ECMAScript: longer numbers have an exponent
FEWEST_ZEROS = -6  # a smaller one has, too


def canonical(value: Json) -> str:
    """Return a value as canonical JSON.

    Parameters
    ----------
    value : plain JSON
        No number that is infinite or undefined.

    Raises
    ------
    ValueError
        Such a number, or a value of another type.
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


def digest(value: Json) -> str:
    """Return the SHA-256 of a value's canonical JSON, in hexadecimal."""
    return sha256(canonical(value).encode("utf-8", "surrogatepass")).hexdigest()


def parsed(data: bytes) -> Json:
    """Return the value of canonical JSON.

    Raises
    ------
    Refused
        REPORT: the bytes are no JSON, or not in the canonical form.
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
