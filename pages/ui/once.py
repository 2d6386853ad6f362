"""What a server does once, however many sessions ask for it in the same moment."""

from collections.abc import Callable
from functools import cache, wraps
from threading import Lock
from typing import TypeVar

Result = TypeVar("Result")


def once(function: Callable[[], Result]) -> Callable[[], Result]:
    """Return a function that calls another one once, and gives everybody its result.

    `functools.cache` alone calls it for each thread that comes before the first one is through.
    """
    result, lock = cache(function), Lock()

    @wraps(function)
    def called() -> Result:
        with lock:
            return result()

    return called
