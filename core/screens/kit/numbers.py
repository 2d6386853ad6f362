"""How numbers are written wherever people read them, and in tables by kind.

Fractions come in, percent and points go out. None and NaN are a dash.
"""

import math
from collections.abc import Callable, Sequence
from typing import Literal

THIN = "\u202f"  # narrow no-break space, before the percent sign
MINUS = "\u2212"
MISSING = "–"
MINUTE, HOUR, DAY = 60, 3_600, 86_400  # seconds
UNDER_ONE, ALMOST_ALL = "fewer than 1", "almost 100"  # of 100
NEARLY_ALL = "nearly all"
MAX_DECIMALS = 4  # of a percentage
MOST_DECIMALS, TINIEST = 6, 5e-7  # of another number; what is smaller would be printed as 0
SMALLEST_WEIGHT = 0.05  # nearer to a whole number it is one
LIKE = 0.00005  # shares closer than this are the same
SMALLEST = 0.00005  # a share nearer to 0 or 1 is not printed in digits


def known(value: float | None) -> bool:
    """Whether there is a finite number to write."""
    return value is not None and math.isfinite(value)


def finite(value: float) -> float | None:
    """Return a number for a table, which has none where it is not finite."""
    return float(value) if math.isfinite(value) else None


def count(n: int) -> str:
    """Return a whole number with commas: 10,000."""
    return f"{n:,}"


def about_count(n: float, most: int) -> str:
    """Return an estimated number of rows, of so many, with three digits at most: 11,500."""
    whole = round(n)
    return count(min(round(whole, min(0, 3 - len(str(abs(whole))))), most))


def weight(total: float) -> str:
    """Return how many rows weighted ones stand for: whole where they do, else one decimal."""
    whole = round(total)
    if 0.0 < total < SMALLEST_WEIGHT:
        return "under 0.1"
    if abs(total - whole) < SMALLEST_WEIGHT:
        return count(whole)
    return f"{total:,.1f}"


def decimals(*percents: float | None) -> int:
    """Return how many decimals a percentage and its bounds need.

    One, as a rule; more where a number that is not 0 (or not 100) would be printed as if it were.
    """
    # A decimal more until nothing that is not 0 or 100 is printed as either.
    for digits in range(1, MAX_DECIMALS):
        half = 0.5 * 10.0**-digits
        edges = (min(abs(p), abs(100.0 - abs(p))) for p in percents if p is not None and known(p))
        if not any(0.0 < edge < half for edge in edges):
            return digits
    return MAX_DECIMALS


def points(value: float | None, *others: float | None, signed: bool = False) -> str:
    """Return a fraction in percentage points: 4.0, or +4.0 when signed.

    `others` are numbers printed beside it (its bounds); all get the same number of decimals.
    """
    return points_alike((value, *others), signed=signed)[0]


def points_alike(values: Sequence[float | None], *, signed: bool = False) -> list[str]:
    """Return fractions in percentage points, all with the same number of decimals."""
    digits = decimals(*(100.0 * value for value in values if value is not None))
    return [_points(value, digits, signed=signed) for value in values]


def _points(value: float | None, digits: int, *, signed: bool) -> str:
    if value is None or not known(value):
        return MISSING
    text = f"{100.0 * value:{'+' if signed else ''}.{digits}f}"
    return _unsigned_zero(text).replace("-", MINUS)


def percent(value: float | None) -> str:
    """Return a fraction in percent: 97.6 %; what would be printed as 0 or 100 is said so."""
    if value is None or not known(value):
        return MISSING
    if 0.0 < value < SMALLEST:
        return f"under 0.01{THIN}%"
    if 0.0 < 1.0 - value < SMALLEST:
        return f"over 99.99{THIN}%"
    return f"{points(value)}{THIN}%"


def span(low: float | None, high: float | None, *, signed: bool = False) -> str:
    """Return an interval in points: 3.8 to 4.9; empty when there is none."""
    if not (known(low) and known(high)):
        return ""
    return f"{points(low, high, signed=signed)} to {points(high, low, signed=signed)}"


def points_span(value: float | None, low: float | None, high: float | None) -> str:
    """Return the interval of a number in points, with the same decimals."""
    if not (known(low) and known(high)):
        return ""
    return f"{points(low, value, high)} to {points(high, value, low)}"


def with_span(value: float | None, low: float | None, high: float | None) -> str:
    """Return a number in points with its interval: 4.3 (3.8 to 4.9)."""
    interval = points_span(value, low, high)
    return f"{points(value, low, high)} ({interval})" if interval else points(value)


def three(value: float | None, *others: float | None) -> str:
    """Return three significant digits of the largest number given: 0.257, 1.23, 123."""
    return three_alike((value, *others))[0]


def three_alike(values: Sequence[float | None]) -> list[str]:
    """Return numbers with three significant digits of the largest, as `three` writes each."""
    # The largest number sets the decimals of all, so that a column lines up.
    largest = max((abs(v) for v in values if v is not None and known(v)), default=0.0)
    whole = math.floor(math.log10(largest)) if largest > 0 else 0
    digits = min(MOST_DECIMALS, max(0, 2 - whole))
    return [_decimal(value, digits) for value in values]


def _decimal(value: float | None, digits: int) -> str:
    if value is None or not known(value):
        return MISSING
    if digits == MOST_DECIMALS and 0.0 < value < TINIEST:
        return f"under {10.0**-MOST_DECIMALS:.{MOST_DECIMALS}f}"
    return _unsigned_zero(f"{value:.{digits}f}").replace("-", MINUS)


def three_span(value: float | None, low: float | None, high: float | None) -> str:
    """Return the interval of a number written by `three`, with the same decimals."""
    if not (known(low) and known(high)):
        return ""
    start, end, _ = three_alike((low, high, value))
    return f"{start} to {end}"


def two(value: float, *, signed: bool = False) -> str:
    """Return a number with two decimals: 0.99, or +0.99 when signed."""
    return _unsigned_zero(f"{value:{'+' if signed else ''}.2f}").replace("-", MINUS)


def two_span(low: float, high: float, *, signed: bool = False) -> str:
    """Return an interval with two decimals: 0.90 to 1.08."""
    return f"{two(low, signed=signed)} to {two(high, signed=signed)}"


def chance(p_value: float) -> str:
    """Return a p-value as it is written: "p = 0.030"."""
    return "p under 0.001" if p_value < 0.001 else f"p = {p_value:.3f}"


def holding(level: float) -> str:
    """Return what intervals at a level are, in plain words."""
    return f"{100 * level:g} in 100 such intervals hold the true value."


def whole_hundred(value: float) -> int:
    """Return a fraction as whole times in 100; 161 of 280 are 57.5, as a quotient a little less."""
    return round(round(100.0 * value, 9))


def in_hundred(value: float | None, low: float | None = None, high: float | None = None) -> str:
    """Return a fraction as times in 100, whole unless that would leave its own interval.

    What only rounds to 0 or 100 is said so.
    """
    if value is None or not known(value):
        return MISSING
    times = whole_hundred(value)
    outside = (low is not None and times < 100.0 * low) or (
        high is not None and times > 100.0 * high
    )
    if outside:
        return points(value, low, high)
    if times == 100 and value < 1.0:
        return ALMOST_ALL
    if times == 0 and value > 0.0:
        return UNDER_ONE
    return str(times)


def hundred_span(low: float | None, high: float | None, value: float | None = None) -> str:
    """Return an interval in times in 100: "0 to 1" where an end only rounds to 0.

    Whole, unless both ends are one number then, or `value`, printed before it, is not whole.
    """
    if low is None or high is None:
        return f"{MISSING} to {MISSING}"
    if value is not None and "." in in_hundred(value, low, high):
        return points_span(value, low, high)
    # Outwards to whole numbers where an end only rounds to 0 or 100.
    start, end = (in_hundred(share) for share in (low, high))
    if start in {UNDER_ONE, ALMOST_ALL}:
        start = str(math.floor(100.0 * low))
    if end in {UNDER_ONE, ALMOST_ALL}:
        end = str(math.ceil(100.0 * high))
    return span(low, high) if start == end and low != high else f"{start} to {end}"


def distinct_counts(*values: float, most: int = 10_000) -> tuple[int, list[str]]:
    """Return shares as counts of 100, or of 1,000 or 10,000 where fewer would hide a difference.

    Counts are never of more than were seen, `most`, but of 100 at least. They are whole numbers, or
    "fewer than 1" where a share is not 0.
    """
    # As coarse as still tells the shares apart, and writes none that is there as 0.
    for of in (100, *(min(of, max(most, 100)) for of in (1_000, 10_000))):
        whole = [round(of * value) for value in values]
        distinct = len(set(whole)) == len(set(values)) or max(values) - min(values) < LIKE
        if distinct and all(n or not value for n, value in zip(whole, values, strict=True)):
            break
    return of, [count(n) if n or not v else UNDER_ONE for n, v in zip(whole, values, strict=True)]


def about_hundred(times: str) -> str:
    """Return times in 100 as a rough number; between 99 and 100 in words."""
    if times == ALMOST_ALL or (times.startswith("99.") and len(times) > len("99.")):
        return NEARLY_ALL
    return times if times == UNDER_ONE else f"about {times}"


def singular(times: str) -> bool:
    """Whether times in 100 are followed by a singular."""
    return times in {"1", UNDER_ONE}


def edges(low: float, high: float) -> tuple[str, str]:
    """Return the edges of a bin, with two decimals or as many as tell them apart.

    An edge that is not 0 or 1 is not printed as if it were, down to a millionth.
    """
    for digits in range(2, 7):
        texts = f"{low:.{digits}f}", f"{high:.{digits}f}"
        true_ends = all(
            float(text) not in {0.0, 1.0} or edge in {0.0, 1.0}
            for text, edge in zip(texts, (low, high), strict=True)
        )
        if true_ends and texts[0] != texts[1]:
            break
    return texts


def _unsigned_zero(text: str) -> str:
    """Drop the sign of what rounds to zero: neither -0.0 nor +0.0 says anything."""
    return text.lstrip("+-") if not text.strip("+-0.") else text


def duration(seconds: float) -> str:
    """Return a time as people say it: 40 s, 3 min 20 s, 2 h 5 min, 3 days 4 h."""
    whole = max(0, round(seconds))
    if whole < MINUTE:
        return f"{whole} s"
    if whole < HOUR:
        return _two(whole, MINUTE, "min", 1, "s")
    if whole < DAY:
        return _two(whole, HOUR, "h", MINUTE, "min")
    days = "day" if whole < 2 * DAY else "days"
    return _two(whole, DAY, days, HOUR, "h")


def _two(whole: int, unit: int, name: str, under: int, small: str) -> str:
    rest = whole % unit // under
    return f"{whole // unit} {name}" + (f" {rest} {small}" if rest else "")


def about(seconds: float) -> str:
    """Return a time that is only estimated, without digits that it does not deserve."""
    for step, below in ((5, 2 * MINUTE), (MINUTE, 2 * HOUR), (HOUR, 2 * DAY)):
        if seconds < below:
            return f"about {duration(max(step, step * round(seconds / step)))}"
    return f"about {duration(DAY * round(seconds / DAY))}"


def memory(size: int) -> str:
    """Return bytes in MiB or GiB."""
    return f"{size / 2**30:.1f} GiB" if size >= 2**30 else f"{size / 2**20:.0f} MiB"


# Forms of tables, by kind.
Kind = Literal[
    "text",
    "count",  # 10,000
    "weight",  # 12.5, of weighted rows
    "share",  # 97.6 %
    "percent",  # 97.6 %, with as many decimals as its interval needs
    "unsigned_points",  # 4.0
    "points",  # +4.0
    "number",  # 0.257, three digits of the largest of value and ends
    "change",  # +0.257
    "three_alone",  # 0.257, three digits of the largest value of the column
    "decimals",  # 0.900, three decimals
    "two",  # 0.99; a fit without an interval is not shown
    "signed_two",  # +0.02
    "hundred",  # 98, of 100
    "hundred_alone",
]
Ends = float | None
NumberWriter = Callable[[float, Ends, Ends], tuple[str, str]]


def _two_with_ends(value: float, low: Ends, high: Ends, *, signed: bool = False) -> tuple[str, str]:
    if low is None or high is None:
        return MISSING, ""
    return two(value, signed=signed), two_span(low, high, signed=signed)


def _decimals(value: float, low: Ends, high: Ends) -> tuple[str, str]:
    ends = f"{low:z.3f} to {high:z.3f}" if known(low) and known(high) else ""
    return f"{value:z.3f}".replace("-", MINUS), ends.replace("-", MINUS)


def _change(value: float, low: Ends, high: Ends) -> tuple[str, str]:
    text, start, end = (
        _with_sign(number, three(number, value, low, high)) for number in (value, low, high)
    )
    return text, f"{start} to {end}" if known(low) else ""


def _with_sign(number: float | None, text: str) -> str:
    plain = not known(number) or text.startswith(MINUS) or not text.strip("0.")
    return text if plain else f"+{text}"


FORMS: dict[Kind, NumberWriter] = {
    "text": lambda value, *_: (str(value), ""),
    "count": lambda value, *_: (count(int(value)), ""),
    "weight": lambda value, *_: (weight(value), ""),
    "share": lambda value, low, high: (percent(value), span(low, high)),
    "percent": lambda value, low, high: (f"{points(value, low, high)}{THIN}%", span(low, high)),
    "unsigned_points": lambda value, low, high: (points(value, low, high), span(low, high)),
    "points": lambda value, low, high: (
        points(value, low, high, signed=True),
        span(low, high, signed=True),
    ),
    "number": lambda value, low, high: (three(value, low, high), three_span(value, low, high)),
    "change": _change,
    "three_alone": lambda value, *_: (three(value), ""),
    "decimals": _decimals,
    "two": _two_with_ends,
    "signed_two": lambda value, low, high: _two_with_ends(value, low, high, signed=True),
    "hundred": lambda value, low, high: (
        in_hundred(value, low, high),
        hundred_span(low, high, value) if known(low) and known(high) else "",
    ),
    "hundred_alone": lambda value, *_: (in_hundred(value), ""),
}


def alike(rows: Sequence[tuple[float, Ends, Ends]], kind: Kind) -> list[tuple[str, str]]:
    """Return values and intervals of a column as `FORMS` writes them, with equal decimals."""
    every = [number for row in rows for number in row]
    if kind == "three_alone":
        return [(text, "") for text in three_alike([value for value, *_ in rows])]
    if kind in {"points", "unsigned_points", "percent"}:
        texts = points_alike(every, signed=kind == "points")
    elif kind == "number":
        texts = three_alike(every)
    elif kind == "change":
        texts = list(map(_with_sign, every, three_alike(every)))
    else:
        return [FORMS[kind](*row) for row in rows]
    unit = f"{THIN}%" if kind == "percent" else ""
    return [
        (f"{texts[i]}{unit}", f"{texts[i + 1]} to {texts[i + 2]}" if known(every[i + 1]) else "")
        for i in range(0, len(texts), 3)
    ]
