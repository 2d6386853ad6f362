"""The searches of temperature and focal temperature, in words; standard library only.

One search stands for both methods in a call, so that a ranking of the two compares the methods and
not the grids they were given.
"""

from dataclasses import dataclass

from core.configs import SEARCHES

_FINE = "T = 0.01, 0.02, …, 5.00"
_NINE = "γ = −0.5, −0.25, 0.05, 0.25, 0.37, 0.5, 0.75, 1 and 5"


@dataclass(frozen=True)
class Protocol:
    """What a search is called, and what it tries."""

    label: str
    words: str


PROTOCOLS = {
    "exact": Protocol(
        "Exact",
        "Temperature and focal temperature both search T from 0.01 to 20, on the grids and between "
        "their points, focal temperature with γ from −0.95 to 10. With fewer than 65,536 rows "
        "neither fits these rows worse than a grid would; on other rows either may do worse.",
    ),
    "grid": Protocol(
        "Grid with γ = 0",
        f"Temperature and focal temperature both search {_FINE}; focal temperature with {_NINE}, "
        "and with γ = 0, so it cannot do worse than temperature on the rows it is fitted on.",
    ),
    "komisarenko": Protocol(
        "Komisarenko",
        "The protocol of Komisarenko and Kull 2024, who fit by NLL or by equal-mass ECE: "
        f"temperature and focal temperature both search {_FINE}; focal temperature with {_NINE}. "
        "0 is not among them, so it can do worse than temperature.",
    ),
    "mukhoti": Protocol(
        "Mukhoti",
        "The protocol of Mukhoti et al. 2020, who fit by ECE or AdaECE: temperature and focal "
        "temperature both search T = 0.1, 0.2, …, 10.0. They have no γ; focal temperature takes "
        f"those of Komisarenko and Kull 2024, {_NINE}. 0 is not among them, so it can do worse "
        "than temperature.",
    ),
    "line": Protocol(
        "Line",
        f"Temperature and focal temperature both search {_FINE}; focal temperature for γ = 0 and "
        "γ = 1 only, and then along the line through the two best T, γ from −0.5 to 5.",
    ),
}
assert tuple(PROTOCOLS) == SEARCHES
